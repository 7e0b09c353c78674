// `glr`: stop when the likelihood ratio against every other set is large.
//
// The evidence is told at the stop only: before it, a bound from an earlier round may have been enough to go on.
// `weigh_ratio` (likelihood_ratio.h) has it in full.
#pragma once

#include "likelihood_ratio.h"
#include "stopping/common.h"

namespace psips {

template <class P>
Index judge_glr(RunState<P>& run) {
    cover_for_draws(run);
    const Index t = run.results();
    Evidence weighed{0.0, glr_threshold(run.model, run.calibration, static_cast<double>(t))};
    if (run.calibration.code != CalibrationCode::measured) {
        weighed.found = ratio_up_to(run, weighed.threshold);
    } else if (is_time(t, run.latest.fresh) && !nearest_falls_short(run, run.calibration, weighed.threshold)) {
        cover_for_learner(run);
        weighed = weigh_ratio(run, run.calibration, run.cover.reach->spare);
    }
    run.outcome.threshold = weighed.threshold;
    run.outcome.stopped = weighed.suffices() ? 1.0 : 0.0;
    run.outcome.evidence = weighed.suffices() ? weighed.found : 0.0;
    return JUDGED;
}

}  // namespace psips
