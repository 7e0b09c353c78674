// The loop, and the rules it knows.
#include "bindings.h"
#include "run.h"

namespace psips {

namespace {

Index run_loop(const Record<Run>& record, const Rules& rules, std::optional<Record<Source>> source,
               std::optional<Array1<const std::uint64_t>> noise, Index mode, Index results) {
    const Source* from = source ? source->at : nullptr;
    const Key key = noise ? key_of(*noise) : Key{0, 0};
    require(mode == static_cast<Index>(Mode::tell) || mode == static_cast<Index>(Mode::ask) || mode == static_cast<Index>(Mode::run),
            "the core has no such mode");
    require(mode != static_cast<Index>(Mode::run) || (source && noise), "a run needs a source and the key of its noise");
    const Model& model = *record->search->model;
    require(!source || from->means.cols() == model.d, "the source is not one of this problem");
    nb::gil_scoped_release release;
    return with_run(*record, [&](auto& run) { return drive(run, rules, from, key, static_cast<Mode>(mode), results); });
}

}  // namespace

void bind_run(nb::module_& m) {
    nb::class_<Rules>(m, "Rules", "The steps of a run: which arm, the candidate set, whether to stop.")
        .def("__init__", [](Rules* self, const std::string& choose, const std::string& renew, const std::string& judge) {
            new (self) Rules{place_of(SAMPLING<Independent>, choose), place_of(RENEWING<Independent>, renew),
                             place_of(STOPPING<Independent>, judge)};
        })
        .def("__reduce__", [](nb::handle self) {  // for copies of sessions
            const Rules& rules = nb::cast<const Rules&>(self);
            const auto name = [](std::string_view one) { return std::string(one); };
            return nb::make_tuple(self.type(), nb::make_tuple(name(SAMPLING<Independent>[rules.choose].name),
                                                              name(RENEWING<Independent>[rules.renew].name),
                                                              name(STOPPING<Independent>[rules.judge].name)));
        });
    m.def("drive", &run_loop, nb::arg("run"), nb::arg("rules"), nb::arg("source").none(), nb::arg("noise_key").none(),
          nb::arg("mode"), nb::arg("results"),
          "Judge the data as they stand (TELL), return the next arm (ASK), or pull from a source until the rule stops (RUN).");
    m.attr("TELL") = static_cast<Index>(Mode::tell);
    m.attr("ASK") = static_cast<Index>(Mode::ask);
    m.attr("RUN") = static_cast<Index>(Mode::run);
    m.attr("PREDICT") = PREDICT;
    m.attr("NO_ROOM") = NO_ROOM;
    m.attr("NO_ARM") = NO_ARM;
}

}  // namespace psips
