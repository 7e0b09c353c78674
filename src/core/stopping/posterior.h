// `posterior`: stop when none of M draws of the inflated posterior is in the alternative.
#pragma once

#include "first_hit.h"
#include "stopping/common.h"

namespace psips {

template <class P>
Index judge_posterior(RunState<P>& run) {
    calibrate_draws(run);
    cover_for_draws(run);
    run.stream().seed(run.key, run.results(), Purpose::stop);
    run.outcome.log_hit = first_hit(run, STOPPER, std::sqrt(run.outcome.inflation), run.outcome.log_budget);
    run.outcome.stopped = run.outcome.log_hit == INF ? 1.0 : 0.0;
    return JUDGED;
}

}  // namespace psips
