// `certified`: stop when no verdict is open, or the goal is reached.
#pragma once

#include "evidence/closed_testing.h"
#include "stopping/common.h"

namespace psips {

template <class P>
Index judge_certified(RunState<P>& run) {
    cover_for_learner(run);
    const double log_inverse = run.calibration.log_inverse;
    const Goal& goal = *run.options.goal;
    Hint hint{run.outcome.hint[0], run.outcome.hint[1]};
    bool settled = false;
    if (goal.kind == GoalKind::whole) {
        Ints nothing(run.model.n);
        settled = all_settled(run.model, run.belief, run.front, log_inverse, nothing, hint);
    } else {
        settled = reached(run.model, run.belief, run.front, log_inverse, goal, hint);
    }
    run.outcome.hint[0] = hint.answer;
    run.outcome.hint[1] = hint.rival;
    run.outcome.stopped = settled ? 1.0 : 0.0;
    return JUDGED;
}

}  // namespace psips
