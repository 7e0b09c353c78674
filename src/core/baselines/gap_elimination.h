// Baselines that divide a budget: empirical gap elimination, EGE-SR and EGE-SH.
//
// Kone, Kaufmann and Richert (2024), "Bandit Pareto Set Identification: the Fixed Budget Setting", written down from
// its description of the method. There are rounds. At the end of each, every active arm has been pulled equally
// often; with S the Pareto set of the active arms' means, each active arm has an empirical gap (psips.problem.gaps,
// among the active arms), and those with the largest gaps leave: they are accepted if they are in S and dropped if
// not. The arm that is left in the end is accepted. All results of an arm count, in every round.
//
// An arm that alone dominates another has a gap no larger than the other's, so of equal gaps the dropped arm leaves
// first: its dominator is still needed. Gaps are in units of one measurement's standard deviation in each objective.
//
// EGE-SR: K - 1 rounds, one arm leaves in each. Round r ends at n_r = ceil((T - K) / (logbar(K) (K + 1 - r))) pulls
//   of every active arm, with logbar(K) = 1/2 + sum_{i=2..K} 1/i, as in successive rejects (Audibert et al. 2010).
// EGE-SH: R = ceil(log2 K) rounds, after each of which the half with the smaller gaps stays, rounded up. Round r adds
//   floor(T / (|A_r| R)) pulls of every active arm, as in sequential halving (Karnin et al. 2013).
#pragma once

#include "baselines/standing.h"

namespace psips {

// Pulls of each active arm at the end of the round after `over` others.
inline double end_of_round(Index K, double budget, bool halving, Index over) {
    if (!halving) {
        double logbar = 0.5;
        for (Index i = 2; i <= K; ++i) logbar += 1.0 / static_cast<double>(i);
        return std::max(1.0, std::ceil((budget - static_cast<double>(K)) / (logbar * static_cast<double>(K - over))));
    }
    const double rounds = std::ceil(std::log2(static_cast<double>(K)));
    Index size = K;
    double pulls = 0.0;
    for (Index round = 0; round <= over; ++round) {
        pulls += std::max(1.0, std::floor(budget / (static_cast<double>(size) * rounds)));
        size = (size + 1) / 2;
    }
    return pulls;
}

// The Pareto set of `points` (n, d) and the gap of each.
inline void empirical_gaps(const Mat<double>& points, const Vec<bool>& inside, const Vec<double>& gaps) {
    const Index n = gaps.size();
    for (Index i = 0; i < n; ++i) {
        inside[i] = true;
        for (Index j = 0; j < n; ++j)
            if (best_lead(points, i, j) <= 0.0 && best_lead(points, j, i) > 0.0) inside[i] = false;
    }
    for (Index i = 0; i < n; ++i) {
        if (inside[i]) continue;
        gaps[i] = -INF;
        for (Index j = 0; j < n; ++j)
            if (inside[j]) gaps[i] = std::max(gaps[i], -best_lead(points, i, j));
    }
    for (Index i = 0; i < n; ++i) {
        if (!inside[i]) continue;
        gaps[i] = INF;
        for (Index j = 0; j < n; ++j) {
            if (j == i) continue;
            const double behind = best_lead(points, j, i);
            if (inside[j])
                gaps[i] = std::min({gaps[i], best_lead(points, i, j), behind});
            else
                gaps[i] = std::min(gaps[i], std::max(behind, 0.0) + gaps[j]);
        }
    }
}

// Let `leave` active arms go.
template <class P>
void close_budgeted_round(RunState<P>& run, Index leave) {
    Ints room(run.model.K);
    const Vec<Index> active = active_arms(run.baseline, room);
    const Index size = active.size();
    Table<double> points(size, run.model.d);
    Flags inside(size);
    Floats gaps(size);
    standardise(run.model, run.belief, active, points);
    empirical_gaps(points, inside, gaps);
    for (Index turn = 0; turn < leave; ++turn) {
        Index gone = -1;
        for (Index i = 0; i < size; ++i) {
            if (!is_active(run.baseline, active[i])) continue;
            const bool dropped_first = gone >= 0 && gaps[i] == gaps[gone] && inside[gone] && !inside[i];
            if (gone < 0 || gaps[i] > gaps[gone] || dropped_first) gone = i;
        }
        set_standing(run.baseline, active[gone], inside[gone] ? Standing::accepted : Standing::dropped);
    }
}

// Close the rounds that are over; how many arms are active.
template <class P>
Index eliminate_by_gaps(RunState<P>& run, bool halving) {
    const Index K = run.model.K;
    Index active = 0;
    for (Index round = 0; round <= K; ++round) {
        double least = INF;
        active = 0;
        for (Index a = 0; a < K; ++a)
            if (is_active(run.baseline, a)) {
                ++active;
                least = std::min(least, run.belief.N[a]);
            }
        if (active == 1) {
            for (Index a = 0; a < K; ++a)
                if (is_active(run.baseline, a)) set_standing(run.baseline, a, Standing::accepted);
            active = 0;
        }
        if (active == 0 || least < end_of_round(K, run.room.budget, halving, run.baseline.rounds[0])) break;
        close_budgeted_round(run, halving ? active / 2 : 1);
        run.baseline.rounds[0] += 1;
    }
    return active;
}

// The active arm with the fewest pulls; of all arms when the rounds are over.
template <class P>
Index choose_ege(RunState<P>& run, bool halving) {
    Index arm = unseen_arm(run);
    if (arm < 0) {
        run.learner.tally->asked += 1;
        arm = least_pulled(run, eliminate_by_gaps(run, halving) > 0);
    }
    run.learner.pending[arm] += 1.0;
    return arm;
}

// End when no arm is active; the answer is what was accepted, once and for all.
template <class P>
Index judge_ege(RunState<P>& run, bool halving) {
    const Index active = run.outcome.stopped == 0.0 ? eliminate_by_gaps(run, halving) : 0;
    if (active == 0) adopt_accepted(run.baseline, run.front);
    return conclude_settled(run, run.model.K - active);
}

template <class P>
Index choose_ege_sr(RunState<P>& run) { return choose_ege(run, false); }
template <class P>
Index choose_ege_sh(RunState<P>& run) { return choose_ege(run, true); }
template <class P>
Index judge_ege_sr(RunState<P>& run) { return judge_ege(run, false); }
template <class P>
Index judge_ege_sh(RunState<P>& run) { return judge_ege(run, true); }

}  // namespace psips
