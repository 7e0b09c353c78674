// `projected` and `posterior`: AdaHedge against the point of the drawn piece that is nearest to theta, or
// against the point drawn, as published.
#pragma once

#include "sampling/directed.h"
#include "sampling/hedge.h"

namespace psips {

// AdaHedge's weights into `w`; it is then fed the gains of the hit.
inline void hedge(Learner& learner, bool hit, const Vec<double>& gains, const Vec<double>& w) {
    hedge_weights(learner.gains, learner.gap[0], w);
    if (hit) learner.gap[0] = hedge_feed(learner.gains, learner.gap[0], w, gains);
}

template <class P>
Index choose_projected(RunState<P>& run) {
    const Index arm = opening_arm(run);
    if (arm >= 0) return arm;
    if (!is_informed(run)) return explore(run);
    Floats w(run.model.K), gains(run.model.K);
    const bool hit = draw_alternative(run) > 0.0 && projected_gains(run, gains);
    hedge(run.learner, hit, gains, w);
    return follow(run, w, exploration_share(run), run.tracks());
}

template <class P>
Index choose_posterior(RunState<P>& run) {
    const Index arm = opening_arm(run);
    if (arm >= 0) return arm;
    if (!is_informed(run)) return explore(run);
    Floats w(run.model.K), gains(run.model.K);
    const double scale = draw_alternative(run);
    if (scale > 0.0) posterior_gains(run, scale, gains);
    hedge(run.learner, scale > 0.0, gains, w);
    return follow(run, w, exploration_share(run), run.tracks());
}

}  // namespace psips
