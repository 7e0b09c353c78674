// Budgets: what may be spent in all.
#pragma once

#include "run_state.h"

namespace psips {

inline constexpr Index NO_ROOM = -3;             // sentinel for an arm: none is cheap enough
inline constexpr double BUDGET_ROUNDING = 1e-9;  // of the budget, so that ten times 0.1 is 1

// The arm just chosen if the budget has room for it, or else another that fits: the one furthest behind the
// weights played; NO_ROOM if all cost too much.
template <class P>
Index within_budget(RunState<P>& run, Index arm) {
    const Vec<double>&pulls = run.belief.pulls, &costs = run.model.costs, &pending = run.learner.pending;
    double left = run.room.left * (1.0 + BUDGET_ROUNDING);
    for (Index a = 0; a < run.model.K; ++a) left -= costs[a] * (pulls[a] + pending[a]);
    if (left >= 0.0) return arm;
    pending[arm] -= 1.0;
    left += costs[arm];
    Index found = NO_ROOM;
    double behind = 0.0;
    for (Index a = 0; a < run.model.K; ++a) {
        const double here = run.learner.played[a] - pulls[a] - pending[a];
        if (costs[a] <= left && (found < 0 || here > behind)) found = a, behind = here;
    }
    if (found >= 0) pending[found] += 1.0;
    return found;
}

}  // namespace psips
