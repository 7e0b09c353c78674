// Elimination (Auer et al. 2016): all arms not yet accepted or dropped, in turn.
//
// It does better with the radius of the difference itself, sqrt(b_i^2 + b_j^2), than with the sum b_i + b_j, and with
// log(K / delta) instead of log(1 / delta): one share of delta for each arm. (With log(1 / delta) it errs in up
// to half of the runs at delta 0.1 on a staircase of ten arms; the sum b_i + b_j, as published, takes 14% more
// samples on COV-BOOST at delta 0.1 and 38% more at 0.01.)
#pragma once

#include "baselines/standing.h"

namespace psips {

// Accept P2 and drop what is not in A1; i and j run over the active arms.
inline void close_round(const Model& model, const Belief& belief, BaselineState& baseline, double log_inverse) {
    Ints room(model.K);
    const Vec<Index> active = active_arms(baseline, room);
    const Index size = active.size();
    Table<double> points(size, model.d);
    Floats b(size);
    Flags A1(size), P1(size);
    standardise(model, belief, active, points);
    const double shared = log_inverse + std::log(static_cast<double>(model.K));  // a share of delta for each arm
    for (Index i = 0; i < size; ++i) b[i] = radius_after(belief.N[active[i]], shared);
    for (Index i = 0; i < size; ++i) {  // A1: nothing active surely dominates it
        A1[i] = true;
        for (Index j = 0; j < size && A1[i]; ++j) A1[i] = !(-best_lead(points, i, j) > std::hypot(b[i], b[j]));
    }
    for (Index i = 0; i < size; ++i) {  // P1: surely above each of A1 in some objective
        P1[i] = A1[i];
        for (Index j = 0; j < size && P1[i]; ++j)
            if (A1[j] && j != i) P1[i] = !(best_lead(points, i, j) < std::hypot(b[i], b[j]));
    }
    for (Index j = 0; j < size; ++j) {  // P2: and not needed any more to drop one of the others
        if (!A1[j]) {
            set_standing(baseline, active[j], Standing::dropped);
        } else if (P1[j]) {
            bool needed = false;
            for (Index i = 0; i < size && !needed; ++i)
                needed = A1[i] && !P1[i] && best_lead(points, i, j) <= std::hypot(b[i], b[j]);
            if (!needed) set_standing(baseline, active[j], Standing::accepted);
        }
    }
}

// Once every active arm has a result more, accept and drop arms.
template <class P>
void eliminate(RunState<P>& run) {
    double over = INF;
    for (Index a = 0; a < run.model.K; ++a)
        if (is_active(run.baseline, a)) over = std::min(over, run.belief.N[a]);
    if (!(over < INF && over > static_cast<double>(run.baseline.rounds[0]))) return;
    run.baseline.rounds[0] = static_cast<Index>(over);
    close_round(run.model, run.belief, run.baseline, run.calibration.log_inverse);
}

template <class P>
Index choose_elimination(RunState<P>& run) {
    Index arm = unseen_arm(run);
    if (arm < 0) {
        run.learner.tally->asked += 1;
        eliminate(run);
        arm = least_pulled(run, true);
        if (arm < 0) arm = least_pulled(run, false);  // all is decided, yet another stopping rule goes on
    }
    run.learner.pending[arm] += 1.0;
    return arm;
}

// Stop when no arm is active; the answer is what was accepted, once and for all.
template <class P>
Index judge_elimination(RunState<P>& run) {
    if (run.outcome.stopped == 0.0) eliminate(run);
    Index settled = 0;
    for (Index a = 0; a < run.model.K; ++a)
        if (!is_active(run.baseline, a)) ++settled;
    if (settled == run.model.K) adopt_accepted(run.baseline, run.front);
    return conclude_settled(run, settled);
}

}  // namespace psips
