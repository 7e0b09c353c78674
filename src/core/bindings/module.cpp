// The extension module `psips._core`.
#include "bindings.h"

NB_MODULE(_core, m) {
    m.doc() = "The compiled core: everything that a run does between two answers to people.";
    // A thread of the user's that holds a session when Python ends is no mistake to report.
    nb::set_leak_warnings(false);
    psips::bind_records(m);
    psips::bind_predicted(m);
    psips::bind_probability(m);
    psips::bind_laws(m);
    psips::bind_run(m);
    psips::bind_search(m);
    psips::bind_alternative(m);
    psips::bind_beliefs(m);
    psips::bind_verdicts(m);
    psips::bind_build_info(m);
}
