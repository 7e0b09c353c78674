// `directed` where answers have to keep limits: draw a piece of the alternative with probability proportional to
// exp of minus half its squared distance, which is about its posterior mass, and pull for it.
//
// `two-stage` pulls to find who keeps the limits, then for the front of these.
#pragma once

#include "sampling/common.h"
#include "sampling/gains.h"
#include "stopping/limited.h"

namespace psips {

// Draw a piece; its gains by arm.
template <class P>
void draw_gains(RunState<P>& run, const Selection& now, Part part, const Vec<double>& gains) {
    Alternative<P> alternative(run.posterior, *run.model.limits, now.allowed, now.inside, part);
    const ListedPieces<P> pieces(alternative);
    Piece piece(pieces.room());
    Floats weight(pieces.size());
    double nearest = INF, total = 0.0;
    for (Index k = 0; k < pieces.size(); ++k) {
        weight[k] = pieces.distance_sq(k, piece);
        nearest = std::min(nearest, weight[k]);
    }
    for (double& one : weight) {
        one = std::exp(0.5 * (nearest - one));
        total += one;
    }
    run.stream().seed(run.key, run.learner.tally->asked, Purpose::learn);
    double left = run.stream().uniform() * total;
    Index drawn = -1;
    for (Index k = 0; k < pieces.size(); ++k) {
        if (drawn < 0 || left > 0.0) drawn = k;
        left -= weight[k];
    }
    gains.fill(0.0);
    if (drawn < 0) return;
    pieces.distance_sq(drawn, piece);
    Table<double> shift(run.posterior.shift_rows(), run.posterior.d);
    response_gains(run.posterior, piece, shift, gains);
}

template <class P>
Index choose_within(RunState<P>& run, Stages stages) {
    if (const Index arm = opening_arm(run); arm >= 0) return arm;
    if (!is_informed(run)) return explore(run);
    const Selection now(run.posterior.mu, run.model);
    const Part part = stages == Stages::two ? open_stage(run, run.calibration, now) : Part::whole;
    Floats gains(run.model.K), w(run.model.K);
    draw_gains(run, now, part, gains);
    weights_for_piece(run.model, run.belief.N, gains, exploration_share(run), w);
    return follow(run, w, 0.0, run.tracks());
}

template <class P>
Index choose_limited(RunState<P>& run) {
    return choose_within(run, Stages::together);
}

template <class P>
Index choose_two_stage(RunState<P>& run) {
    return choose_within(run, Stages::two);
}

}  // namespace psips
