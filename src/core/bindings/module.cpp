// The extension module `psips._core`.
#include "bindings.h"

NB_MODULE(_core, m) {
    m.doc() = "The compiled core: everything that a run does between two answers to people.";
    psips::bind_records(m);
    psips::bind_predicted(m);
    psips::bind_probability(m);
    psips::bind_run(m);
    psips::bind_search(m);
    psips::bind_alternative(m);
    psips::bind_beliefs(m);
    psips::bind_verdicts(m);
    psips::bind_build_info(m);
}
