// Top-Two Thompson Sampling (Russo 2016), for one objective: the leader of a posterior draw, or with probability 1/2
// its challenger, the best of the first further draw in which the leader is not.
//
// That draw is made at once, whatever its probability: the leader l loses on the union of the half-spaces
// x_j > x_l; pick one in proportion to its probability, draw inside it, and keep the draw with probability
// 1 / how many of them hold it.
#pragma once

#include "baselines/standing.h"
#include "draws.h"

namespace psips {

// Draw every arm's mean from the posterior; the best.
template <class P>
Index draw_leader(RunState<P>& run) {
    begin_draw(run, 1.0);
    look_at_all(run, 1.0);
    Index best = 0;
    for (Index a = 0; a < run.model.K; ++a)
        if (run.draw.values(a, 0) > run.draw.values(best, 0)) best = a;
    return best;
}

// By arm, the probability that it is above the leader, relative to the largest; their sum.
template <class P>
double weigh_challengers(const RunState<P>& run, Index leader, const Vec<double>& weight) {
    const Mat<double>& mu = run.posterior.mu;
    const Cube<double>& C = run.posterior.record.C;
    double top = -INF, total = 0.0;
    for (Index j = 0; j < run.model.K; ++j) {
        const double spread = std::sqrt(C(leader, 0, 0) + C(j, 0, 0));
        weight[j] = j == leader ? -INF : log_tail((mu(leader, 0) - mu(j, 0)) / spread);
        top = std::max(top, weight[j]);
    }
    for (Index j = 0; j < run.model.K; ++j) {
        weight[j] = std::exp(weight[j] - top);
        total += weight[j];
    }
    return total;
}

// Draw all means given that arm j is above the leader.
template <class P>
void draw_above(RunState<P>& run, Index j, Index leader) {
    const Mat<double>&mu = run.posterior.mu, &values = run.draw.values;
    const Cube<double>& C = run.posterior.record.C;
    draw_leader(run);
    const double v_j = C(j, 0, 0), v_l = C(leader, 0, 0), spread = std::sqrt(v_j + v_l);
    const double gap = mu(leader, 0) - mu(j, 0);
    const double wanted = spread * run.stream().normal_above(gap / spread) - gap;
    const double shift = (wanted - (values(j, 0) - values(leader, 0))) / (v_j + v_l);
    values(j, 0) += shift * v_j;
    values(leader, 0) -= shift * v_l;
}

template <class P>
Index top_two_arm(RunState<P>& run) {
    const Index K = run.model.K, leader = draw_leader(run);
    Stream& stream = run.stream();
    if (stream.uniform() < 0.5) return leader;
    Floats weight(K);
    const double total = weigh_challengers(run, leader, weight);
    Index challenger = leader;
    for (Index turn = 0; turn < MOST_DRAWS; ++turn) {
        double u = stream.uniform() * total;
        Index j = 0;
        for (Index k = 0; k < K; ++k) {
            if (weight[k] > 0.0 && u > 0.0) j = k;
            u -= weight[k];
        }
        draw_above(run, j, leader);
        Index held = 1;
        challenger = j;  // above the leader, up to rounding
        for (Index k = 0; k < K; ++k) {
            if (k == j || k == leader || !(run.draw.values(k, 0) > run.draw.values(leader, 0))) continue;
            ++held;
            if (run.draw.values(k, 0) > run.draw.values(challenger, 0)) challenger = k;
        }
        if (held == 1 || stream.uniform() * static_cast<double>(held) < 1.0) break;
    }
    return challenger;
}

template <class P>
Index choose_top_two(RunState<P>& run) {
    Index arm = first_arm(run);
    if (arm < 0) {
        run.stream().seed(run.key, run.learner.tally->asked, Purpose::learn);
        arm = top_two_arm(run);
    }
    run.learner.pending[arm] += 1.0;
    return arm;
}

}  // namespace psips
