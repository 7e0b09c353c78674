// `directed`: draw a piece of the alternative and pull for it; the rule has no memory.
#pragma once

#include "first_hit.h"
#include "sampling/common.h"
#include "sampling/gains.h"

namespace psips {

// Draw the min learner's point; the scale of the draw, 0 if there was no hit.
template <class P>
double draw_alternative(RunState<P>& run) {
    run.stream().seed(run.key, run.learner.tally->asked, Purpose::learn);
    const double scale = 1.0 / std::sqrt(run.options.eta);
    run.outcome.log_learned = first_hit(run, LEARNER, scale, INF);
    return run.outcome.log_learned < INF ? scale : 0.0;
}

template <class P>
Index direct(RunState<P>& run) {
    if (!is_informed(run)) return explore(run);
    Floats w(run.model.K), gains(run.model.K);
    if (draw_alternative(run) > 0.0) projected_gains(run, gains);
    weights_for_piece(run.model, run.belief.N, gains, exploration_share(run), w);
    return follow(run, w, 0.0, run.tracks());
}

template <class P>
Index choose_directed(RunState<P>& run) {
    const Index arm = opening_arm(run);
    return arm >= 0 ? arm : direct(run);
}

}  // namespace psips
