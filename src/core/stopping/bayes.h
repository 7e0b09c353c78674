// `bayes`: stop when the posterior probability of the alternative of S_hat is at most delta.
#pragma once

#include "probability.h"
#include "stopping/common.h"

namespace psips {

template <class P>
Index judge_bayes(RunState<P>& run) {
    cover_for_learner(run);
    run.stream().seed(run.key, run.results(), Purpose::stop);
    const double log_inverse = run.calibration.log_inverse;
    run.outcome.threshold = log_inverse;
    run.outcome.evidence = -log_probability_of_change(run, -log_inverse);
    run.outcome.stopped = run.outcome.evidence >= run.outcome.threshold ? 1.0 : 0.0;
    return JUDGED;
}

}  // namespace psips
