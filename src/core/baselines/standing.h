// What the baselines share: means in units of the noise, and the standing of arms in an elimination.
//
// In units of one measurement's standard deviation in each objective, M(i, j) is by how much arm i is above arm
// j where it does best, max_c (mu_i - mu_j)(c), on the estimates, and m(i, j) = -M(i, j) by how much j is above i
// in every objective.
#pragma once

#include <numbers>

#include "sampling/common.h"
#include "stopping/common.h"

namespace psips {

// The radius b = sqrt(2 beta(n) / n) of an arm's estimates after n pulls, beta(n) = log(1 / delta) + log log n: the
// threshold with which the methods are compared; it is not proven.
inline double radius_after(double n, double log_inverse) {
    return std::sqrt(2.0 * (log_inverse + std::log(std::log(std::max(n, std::numbers::e)))) / n);
}

// The means of some arms in units of the standard deviations: `points` (size, d).
inline void standardise(const Model& model, const Belief& belief, const Vec<Index>& arms, const Mat<double>& points) {
    for (Index c = 0; c < model.d; ++c) {
        const double scale = std::sqrt(model.Sigma(c, c));
        for (Index i = 0; i < arms.size(); ++i) points(i, c) = belief.theta(arms[i], c) / scale;
    }
}

// M(i, j).
inline double best_lead(const Mat<double>& points, Index i, Index j) {
    double most = points(i, 0) - points(j, 0);
    for (Index c = 1; c < points.cols(); ++c) most = std::max(most, points(i, c) - points(j, c));
    return most;
}

inline Standing standing_of(const BaselineState& baseline, Index a) { return static_cast<Standing>(baseline.standing[a]); }
inline void set_standing(BaselineState& baseline, Index a, Standing standing) { baseline.standing[a] = static_cast<Index>(standing); }
inline bool is_active(const BaselineState& baseline, Index a) { return standing_of(baseline, a) == Standing::active; }

// The active arms, as a list, in `room` (K,).
inline Vec<Index> active_arms(const BaselineState& baseline, const Vec<Index>& room) {
    Index size = 0;
    for (Index a = 0; a < baseline.standing.size(); ++a)
        if (is_active(baseline, a)) room[size++] = a;
    return room.first(size);
}

// The arm with the fewest pulls, of the active ones or of all; NO_ARM if there is none.
template <class P>
Index least_pulled(const RunState<P>& run, bool only_active) {
    const Vec<double>&N = run.belief.N, &pending = run.learner.pending;
    Index arm = NO_ARM;
    for (Index a = 0; a < run.model.K; ++a) {
        if (only_active && !is_active(run.baseline, a)) continue;
        if (arm < 0 || N[a] + pending[a] < N[arm] + pending[arm]) arm = a;
    }
    return arm;
}

// Make the accepted arms the candidate set.
inline void adopt_accepted(const BaselineState& baseline, Front& front) {
    front.size->members = 0;
    for (Index a = 0; a < baseline.standing.size(); ++a) {
        front.inside[a] = standing_of(baseline, a) == Standing::accepted;
        if (front.inside[a]) front.members[front.size->members++] = a;
    }
}

// Say how many arms are settled, and stop when all are.
template <class P>
Index conclude_settled(RunState<P>& run, Index settled) {
    run.outcome.evidence = static_cast<double>(settled);
    run.outcome.threshold = static_cast<double>(run.model.K);
    run.outcome.stopped = settled == run.model.K ? 1.0 : 0.0;
    return JUDGED;
}

// An arm without a result, or any while the first results are not in yet; NO_ARM, and the ask is counted.
template <class P>
Index first_arm(RunState<P>& run) {
    Index arm = unseen_arm(run);
    if (arm >= 0) return arm;
    run.learner.tally->asked += 1;
    return is_informed(run) ? NO_ARM : least_pulled(run, false);
}

}  // namespace psips
