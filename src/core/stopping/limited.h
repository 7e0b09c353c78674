// `glr` with limits: every piece of the alternative has its evidence.
//
// `two-stage` is the baseline: with half of delta it first finds the answers that keep the limits, and then, with
// the other half, their front.
#pragma once

#include "likelihood_ratio.h"
#include "stopping/common.h"

namespace psips {

enum class Stages { together, two };

inline const double HALF_OF_DELTA = std::log(2.0);  // what it adds to a threshold

template <class P>
void renew_limited(RunState<P>& run) {
    refresh_selection(run);
}

template <class P>
Index judge_within(RunState<P>& run, Stages stages) {
    const Index t = run.results();
    Evidence weighed{0.0, glr_threshold(run.model, run.calibration, static_cast<double>(t))};
    bool stops = false;
    if (is_time(t, run.latest.fresh)) {
        const bool two = stages == Stages::two;
        const Selection now(run.posterior.mu, run.model);
        weighed = weigh_part(run, run.calibration, now.allowed, now.inside, two ? Part::front : Part::whole);
        if (two) {
            const Evidence other = weigh_part(run, run.calibration, now.allowed, now.inside, Part::allowed);
            if (other.found - other.threshold < weighed.found - weighed.threshold) weighed = other;
            weighed.threshold += HALF_OF_DELTA;
        }
        stops = weighed.suffices();
    }
    run.outcome.threshold = weighed.threshold;
    run.outcome.evidence = weighed.found;
    run.outcome.stopped = stops ? 1.0 : 0.0;
    return JUDGED;
}

template <class P>
Index judge_limited(RunState<P>& run) {
    return judge_within(run, Stages::together);
}

template <class P>
Index judge_two_stage(RunState<P>& run) {
    return judge_within(run, Stages::two);
}

// Which of the two stages is not done; the first, to go on with, if both are.
template <class P>
Part open_stage(const Search<P>& s, const Calibration& calibration, const Selection& now) {
    for (const Part part : {Part::allowed, Part::front}) {
        const Evidence weighed = weigh_part(s, calibration, now.allowed, now.inside, part);
        if (weighed.found < weighed.threshold + HALF_OF_DELTA) return part;
    }
    return Part::allowed;
}

}  // namespace psips
