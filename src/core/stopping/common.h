// What stopping rules share. Each is one step, taken after the candidate set was brought up to date.
#pragma once

#include "run_state.h"
#include "thresholds.h"

namespace psips {

inline constexpr Index JUDGED = 0;    // what a stopping rule returns,
inline constexpr Index PREDICT = -2;  // .. or, instead of an arm: a set is to be predicted

// Inflation and budget for the results told so far.
template <class P>
void calibrate_draws(RunState<P>& run) {
    const double t = static_cast<double>(run.results());
    run.outcome.inflation = draw_inflation(run.model, run.calibration, t);
    run.outcome.log_budget = log_draw_budget(run.calibration, t, run.front.size->members);
}

// A cover reaches as far as inflated draws and the learner's.
template <class P>
void cover_for_draws(RunState<P>& run) {
    run.outcome.inflation = draw_inflation(run.model, run.calibration, static_cast<double>(run.results()));
    run.cover.reach->spare = std::max(run.outcome.inflation, 1.0 / run.options.eta);
}

// A cover reaches as far as the learner's draws: the rule itself draws nothing.
template <class P>
void cover_for_learner(RunState<P>& run) {
    run.cover.reach->spare = std::max(1.0, 1.0 / run.options.eta);
}

template <class P>
Index judge_never(RunState<P>& run) {
    calibrate_draws(run);
    cover_for_draws(run);
    return JUDGED;
}

}  // namespace psips
