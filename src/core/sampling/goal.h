// `directed` with a goal other than the whole set: pull for what it takes.
//
// The stopping rule names the claim that the goal waits for (`reached` in evidence/closed_testing.h): an answer
// and a rival, the one that there is the least evidence about. A candidate is to be proven not to be below the
// rival: the alternative is the piece "the rival is above it in every objective". Any other answer is to be
// proven to be below: of the half-spaces "it is above the rival in objective c" the nearest is taken. Arms are
// pulled as they keep the nearest point of that piece away (`weights_for_piece`); what is forced keeps the
// others in view.
#pragma once

#include <array>

#include "sampling/directed.h"

namespace psips {

// The piece where the claim of z and x fails, projected.
template <class P>
void piece_of_claim(const Search<P>& s, Index z, Index x, Piece& piece) {
    const P& p = s.posterior;
    piece.clear();
    if (s.front.inside[z]) {
        for (Index c = 0; c < p.d; ++c) piece.add(lead_of(x, z, c, p.slack));
    } else {
        double nearest = INF;
        Index at = 0;
        for (Index c = 0; c < p.d; ++c) {
            piece.clear();
            piece.add(lead_of(z, x, c, p.slack));
            if (const double square = project(p, piece); square < nearest) at = c, nearest = square;
        }
        piece.clear();
        piece.add(lead_of(z, x, at, p.slack));
    }
    project(p, piece);
}

template <class P>
Index choose_for_goal(RunState<P>& run) {
    const Index first = opening_arm(run);
    if (first >= 0) return first;
    const Index z = static_cast<Index>(run.outcome.hint[0]), x = static_cast<Index>(run.outcome.hint[1]);
    if (x < 0 || z == x || !is_informed(run)) return direct(run);
    dismiss(run.cover);
    std::array<Index, 2> both{z, x};
    run.posterior.refresh_listed({both.data(), 2});
    Piece piece(run.model.d);
    piece_of_claim(run, z, x, piece);
    run.posterior.shift_along(piece, run.draw.shift);
    Floats w(run.model.K), gains(run.model.K);
    run.posterior.gains_of_shift(piece, run.draw.shift, gains);
    weights_for_piece(run.model, run.belief.N, gains, exploration_share(run), w);
    return follow(run, w, 0.0, run.tracks());
}

}  // namespace psips
