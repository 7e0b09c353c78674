// APE (Kone et al. 2023): the arm that is least clear, or its nearest rival; M(i, j) is compared with b_i + b_j, as
// published (standing.h).
#pragma once

#include "baselines/standing.h"

namespace psips {

// By how much it is clear that an arm is in S_hat, or that it is not.
struct ApeIndices {
    ApeIndices(const Model& model, const Belief& belief, const Front& front, const Vec<double>& n, double log_inverse)
        : points(model.K, model.d), radius(model.K), index(model.K) {
        Ints everyone(model.K);
        for (Index a = 0; a < model.K; ++a) everyone[a] = a;
        standardise(model, belief, everyone, points);
        for (Index a = 0; a < model.K; ++a) radius[a] = radius_after(n[a], log_inverse);
        for (Index i = 0; i < model.K; ++i) {
            const bool inside = front.inside[i];
            index[i] = inside ? INF : -INF;
            for (Index j = 0; j < model.K; ++j) {
                if (j == i) continue;
                const double lead = best_lead(points, i, j);
                index[i] = inside ? std::min(index[i], lead - radius[i] - radius[j])
                                  : std::max(index[i], -lead - radius[i] - radius[j]);
            }
        }
    }
    Table<double> points;  // (K, d)
    Floats radius, index;  // (K,)
};

// The less pulled of the arm b_t with the smallest index, and its nearest rival c_t.
template <class P>
Index ape_arm(const RunState<P>& run) {
    const Index K = run.model.K;
    Floats n(K);
    for (Index a = 0; a < K; ++a) n[a] = run.belief.N[a] + run.learner.pending[a];
    const ApeIndices found(run.model, run.belief, run.front, n, run.calibration.log_inverse);
    Index unclear = 0;
    for (Index i = 0; i < K; ++i)
        if (found.index[i] < found.index[unclear]) unclear = i;
    Index rival = unclear;
    double least = INF;
    for (Index j = 0; j < K; ++j) {
        if (j == unclear) continue;
        const double lead = best_lead(found.points, unclear, j) - found.radius[j];
        if (lead < least) rival = j, least = lead;
    }
    return n[rival] < n[unclear] ? rival : unclear;
}

template <class P>
Index choose_ape(RunState<P>& run) {
    Index arm = first_arm(run);
    if (arm < 0) arm = ape_arm(run);
    run.learner.pending[arm] += 1.0;
    return arm;
}

// Stop when all indices are at least 0.
template <class P>
Index judge_ape(RunState<P>& run) {
    cover_for_learner(run);
    const ApeIndices found(run.model, run.belief, run.front, run.belief.N, run.calibration.log_inverse);
    return conclude_settled(run, std::count_if(found.index.begin(), found.index.end(), [](double i) { return i >= 0.0; }));
}

}  // namespace psips
