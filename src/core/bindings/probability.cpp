// Posterior probabilities for Python.
#include "probability.h"

#include "bindings.h"

namespace psips {

namespace {

nb::tuple survey_of(Record<SearchState> search, const Array1<const std::uint64_t>& key) {
    Floats changes(search->model->n);
    double made = 0.0;
    const Key name = key_of(key);
    {
        nb::gil_scoped_release released;
        made = with_search(*search, [&](auto& s) { return survey(s, name, changes); });
    }
    return nb::make_tuple(to_numpy(static_cast<const Vec<double>&>(changes)), made);
}

std::pair<double, double> change_probability_of(Record<SearchState> search, const Array1<const std::uint64_t>& key, Index draws) {
    const Key name = key_of(key);
    nb::gil_scoped_release released;
    const LogEstimate found = with_search(*search, [&](auto& s) { return change_probability(s, name, draws); });
    return {found.log_p, found.error};
}

nb::tuple probabilities_of(Record<SearchState> search, const Array1<const std::uint64_t>& key, Index draws,
                           const Array1<double>& changes, double common) {
    const Index n = search->model->n;
    Floats optimal(n), spread(n);
    const Key name = key_of(key);
    const Vec<double> common_changes = view(changes);
    const bool none = common_changes.n == 0 && n <= FEW_ANSWERS;
    require(none || common_changes.n == n, "changes must have an entry for each answer");
    {
        nb::gil_scoped_release released;
        with_search(*search, [&](auto& s) { probabilities(s, name, draws, common_changes, common, optimal, spread); });
    }
    return nb::make_tuple(to_numpy(static_cast<const Vec<double>&>(optimal)),
                          to_numpy(static_cast<const Vec<double>&>(spread)));
}

}  // namespace

void bind_probability(nb::module_& m) {
    m.def("survey", &survey_of, nb::arg("search"), nb::arg("key"),
          "In how many plain draws each answer enters or leaves the set, and how many draws there are.");
    m.def("change_probability", &change_probability_of, nb::arg("search"), nb::arg("key"), nb::arg("draws"),
          "Log of the posterior probability of the alternative, and its relative standard error.");
    m.def("probabilities", &probabilities_of, nb::arg("search"), nb::arg("key"), nb::arg("draws"), nb::arg("changes"),
          nb::arg("common"), "By answer, the posterior probability of being Pareto-optimal and its standard error.");
    m.attr("FEW_ANSWERS") = FEW_ANSWERS;
}

}  // namespace psips
