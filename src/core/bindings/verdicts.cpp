// What the data prove: verdicts on options and limits, and what open ones lack.
#include "bindings.h"
#include "evidence/limit_evidence.h"
#include "evidence/open_verdicts.h"

namespace psips {

namespace {

nb::tuple settle_answers(const Record<Model>& model, const Record<Belief>& belief, const Record<Front>& front,
                         double log_inverse, const Array1<const Index>& known) {
    require(view(known).n == model->n, "known must have an entry for each answer");
    ClosedTest test(*model, *belief, *front, log_inverse, view(known));
    {
        nb::gil_scoped_release release;
        test.run();
    }
    return nb::make_tuple(to_numpy(Vec<Index>(test.verdict)), to_numpy(Vec<Index>(test.rival)));
}

nb::tuple open_verdicts(const Record<Model>& model, const Record<Belief>& belief, const Record<Front>& front,
                        double log_inverse, const Array1<const Index>& known) {
    require(view(known).n == model->n, "known must have an entry for each answer");
    OpenVerdicts found(*model, *belief, *front, log_inverse, view(known));
    {
        nb::gil_scoped_release release;
        found.describe_open();
    }
    return nb::make_tuple(to_numpy(Vec<Index>(found.verdict)), to_numpy(Vec<Index>(found.rival)),
                          to_numpy(Vec<Index>(found.objective)), to_numpy(Vec<double>(found.least)),
                          to_numpy(Vec<double>(found.most)), to_numpy(Vec<double>(found.need)));
}

nb::object further_results(const Record<Model>& model, const Record<Belief>& belief, const Record<Belief>& trial,
                           const Array1<const bool>& candidates, const Array1<const double>& levels,
                           const Array2<const Index>& comparisons, const Array2<const Index>& arms,
                           const Array2<const double>& weights) {
    const Mat<const Index> pairs = view(comparisons), which = view(arms);
    const Mat<const double> suited = view(weights);
    const Index rows = pairs.rows(), n = model->n;
    require(has_shape(pairs, rows, 2) && has_shape(view(levels), rows) && has_shape(which, rows, which.cols()) &&
                has_shape(suited, rows, which.cols()) && view(candidates).n == n,
            "candidates (n,), levels (m,), comparisons (m, 2), arms (m, s), weights (m, s) do not fit together");
    Table<Index> extra(which.rows(), which.cols());
    {
        nb::gil_scoped_release release;
        Forecast forecast(*model, *belief, *trial);
        for (Index row = 0; row < pairs.rows(); ++row)
            forecast.settle(view(candidates)[pairs(row, 0)], pairs(row, 0), pairs(row, 1), view(levels)[row], which[row],
                            suited[row], extra[row]);
    }
    return to_numpy(Mat<Index>(extra));
}

nb::tuple evidence_within(const Record<Model>& model, const Record<Belief>& belief) {
    const Index n = model->n, L = model->limits->metric.size();
    Table<double> kept(n, L), broken(n, L);
    Block<double> leads(n, n, model->d);
    {
        nb::gil_scoped_release release;
        LimitEvidence(*model, *belief).write(kept, broken, leads);
    }
    return nb::make_tuple(to_numpy(Mat<double>(kept)), to_numpy(Mat<double>(broken)), to_numpy(Cube<double>(leads)));
}

// ---------------------------------------------------------------- for tests

static_assert(sizeof(ArmValues) == 7 * sizeof(double));

ArmValues arm_values(const Vec<const double>& row) {  // its members in their order
    return {row[0], row[1], row[2], row[3], row[4], row[5], row[6]};
}

nb::object capital_evidence(int law, const Array2<const double>& first, const Array2<const double>& second,
                            double offset, double enough) {
    const Mat<const double> i = view(first), j = view(second);
    Floats found(i.rows());
    for (Index row = 0; row < i.rows(); ++row)
        found[row] = TwoCapitals(static_cast<ValueLaw>(law), arm_values(i[row]), arm_values(j[row])).evidence(offset, enough);
    return to_numpy(Vec<double>(found));
}

template <class T, std::size_t N>
nb::tuple tuple_of(const T (&numbers)[N]) {
    nb::list all;
    for (const T number : numbers) all.append(number);
    return nb::tuple(all);
}

void bind_tests(nb::module_& m) {
    nb::module_ tests = testing(m);
    tests.def("mixture_evidence", &mixture_evidence);
    tests.def("directions", [](const Array2<const double>& Sigma) {
        const Index d = view(Sigma).rows();
        Table<double> Y(count_directions(d), d);
        set_directions(view(Sigma), Y);
        return to_numpy(Mat<double>(Y));
    });
    tests.def("capital", [](int law, const Array1<const double>& arm, double m) {
        return capital(static_cast<ValueLaw>(law), arm_values(view(arm)), m);
    });
    tests.def("counted", [](int law, double both) { return counted(static_cast<ValueLaw>(law), both); });
    tests.def("capital_evidence", &capital_evidence);
    tests.attr("RHOS") = tuple_of(RHOS);
    tests.attr("LOG_WEIGHTS") = tuple_of(LOG_WEIGHTS);
    tests.attr("STAKES") = tuple_of(STAKES);
    tests.attr("KEPT") = KEPT;
    tests.attr("MOST_STAKED") = MOST_STAKED;
    tests.attr("LARGEST_EXPONENT") = LARGEST_EXPONENT;
    tests.attr("TIGHT") = TwoCapitals::TIGHT;
    tests.attr("ASTRAY") = ASTRAY;
}

}  // namespace

void bind_verdicts(nb::module_& m) {
    m.def("settle_answers", &settle_answers, nb::arg("model"), nb::arg("belief"), nb::arg("front"), nb::arg("log_inverse"),
          nb::arg("known"), "Verdicts and rivals (n,) by closed testing; `known` are verdicts known otherwise, or OPEN.");
    m.def("open_verdicts", &open_verdicts, nb::arg("model"), nb::arg("belief"), nb::arg("front"), nb::arg("log_inverse"),
          nb::arg("known"),
          "Verdicts and rivals, and of open ones: objective, least and largest difference, and level needed.");
    m.def("further_results", &further_results, nb::arg("model"), nb::arg("belief"), nb::arg("trial"), nb::arg("candidates"),
          nb::arg("levels"), nb::arg("comparisons"), nb::arg("arms"), nb::arg("weights"),
          "How many further results (m, s) settle each comparison (m, 2), if the estimates stay as they are.");
    m.def("evidence_within", &evidence_within, nb::arg("model"), nb::arg("belief"),
          "Evidence that limits are kept (n, L), broken (n, L), and of leads (n, n, d).");
    m.attr("OPEN") = static_cast<Index>(OPEN);
    m.attr("IN") = static_cast<Index>(IN);
    m.attr("OUT") = static_cast<Index>(OUT);
    bind_tests(m);
}

}  // namespace psips
