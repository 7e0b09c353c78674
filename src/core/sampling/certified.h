// `directed` with the stopping rule `certified`, where there is no one covariance for all arms.
//
// Every other pull aims at an open verdict, which the posterior may take to be settled: evidence that holds
// for any noise grows more slowly than that of a normal posterior for arms that lie far apart, as stakes are
// limited by the range of values, and variances have to be learned. Draws from the posterior do not fall there
// any more. So half of the pulls go by these draws, and half to the two answers of the verdict that the stopping
// rule found weakest: to the one whose mean is less well known, over what a pull costs.
#pragma once

#include "sampling/directed.h"

namespace psips {

// The one of two arms whose mean is less well known, for the cost of a pull.
template <class P>
Index less_known_arm(const RunState<P>& run, Index z, Index x) {
    const Cube<double>& C = run.belief.noise_estimate->C;
    const Vec<double>&N = run.belief.N, &pending = run.learner.pending, &costs = run.model.costs;
    double lead = 0.0;
    const double first = N[z] / (N[z] + pending[z]), second = N[x] / (N[x] + pending[x]);
    for (Index c = 0; c < run.model.d; ++c) {
        const double of_z = first * C(z, c, c), of_x = second * C(x, c, c);
        lead += (of_z / costs[z] - of_x / costs[x]) / (of_z / costs[z] + of_x / costs[x]);
    }
    return lead >= 0.0 ? z : x;
}

template <class P>
Index choose_certified(RunState<P>& run) {
    const Index first = opening_arm(run);
    if (first >= 0) return first;
    const Index z = static_cast<Index>(run.outcome.hint[0]), x = static_cast<Index>(run.outcome.hint[1]);
    if (run.learner.tally->asked % 2 == 0 || x < 0 || z == x) return direct(run);
    const Index arm = less_known_arm(run, z, x);
    run.learner.played[arm] += 1.0;
    run.learner.pending[arm] += 1.0;
    return arm;
}

}  // namespace psips
