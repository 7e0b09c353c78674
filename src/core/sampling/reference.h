// For comparison: arms at random, in turn, or by the optimal weights w* of the truth.
#pragma once

#include "sampling/common.h"

namespace psips {

template <class P>
Index choose_uniform(RunState<P>& run) {
    const Index arm = opening_arm(run);
    if (arm >= 0) return arm;
    Floats w(run.model.K);
    w.fill(1.0 / static_cast<double>(run.model.K));
    return follow(run, w, 0.0, false);
}

template <class P>
Index choose_round_robin(RunState<P>& run) {  // the arm with the fewest results
    Index arm = opening_arm(run);
    if (arm >= 0) return arm;
    const Vec<double>&N = run.belief.N, &pending = run.learner.pending;
    arm = 0;
    for (Index a = 0; a < run.model.K; ++a)
        if (N[a] + pending[a] < N[arm] + pending[arm]) arm = a;
    pending[arm] += 1.0;
    return arm;
}

template <class P>
Index choose_oracle(RunState<P>& run) {
    const Index arm = opening_arm(run);
    return arm >= 0 ? arm : follow(run, run.options.target, 0.0, run.tracks());
}

// Only what comes before any rule: NO_ARM if a rule written in Python is to choose.
template <class P>
Index choose_opening(RunState<P>& run) {
    return opening_arm(run);
}

// By the exploration weights alone, while no result can be judged.
template <class P>
Index choose_exploring(RunState<P>& run) {
    const Index arm = opening_arm(run);
    return arm >= 0 ? arm : explore(run);
}

}  // namespace psips
