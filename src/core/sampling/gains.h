// The min learner's move: from a posterior draw in the alternative to the arms' gains.
//
// `posterior` is the published learner: lambda_t is the draw itself. `projected` keeps of the draw only
// which convex piece of the alternative it fell in, and takes the point of that piece nearest to theta in
// the metric of the counts: the gains are then free of posterior noise. `directed` pulls for that piece at
// once instead of feeding the gains to AdaHedge.
#pragma once

#include "cover.h"
#include "draws.h"

namespace psips {

inline constexpr double SAME_GAIN = 1e-9;  // gains that differ by less, in relation to them, are the same

// Gains of the published learner: of the draw that hit, completed where it was not.
template <class P>
void posterior_gains(Search<P>& s, double scale, const Vec<double>& gains) {
    if (P::separate) look_at_all(s, scale);
    s.posterior.gains_of_point(s.draw.values, s.draw.theta, gains);
}

// Multipliers of a piece when arms and objectives are independent: in each objective z and the x above the
// common level meet at their pooled mean.
inline void pool_means(const Independent& p, Piece& piece) {
    const Index z = piece.answer(), m = piece.m;
    for (Index c = 0; c < p.d; ++c) {
        double level = p.mu(z, c);
        for (Index turn = 0; turn < m + 2; ++turn) {  // each time one more of the x is below the level
            double weight = 1.0 / p.C(z, c, c), total = weight * p.mu(z, c);
            for (Index k = 0; k < m; ++k) {
                const Index x = piece[k].second;
                const double other = p.mu(x, c) - p.slack[c];
                if (piece[k].metric == c && other > level) {
                    weight += 1.0 / p.C(x, c, c);
                    total += other / p.C(x, c, c);
                }
            }
            const double pooled = total / weight;
            if (pooled <= level) break;
            level = pooled;
        }
        for (Index k = 0; k < m; ++k) {
            const Index x = piece[k].second;
            if (piece[k].metric == c) piece.y[k] = std::max(p.mu(x, c) - p.slack[c] - level, 0.0) / p.C(x, c, c);
        }
    }
}

// Add the constraints of the piece that are violated at its nearest point, until none is.
template <class P>
void add_violated(Search<P>& s, Index z, Piece& piece) {
    const P& p = s.posterior;
    const Vec<Index>& choice = s.draw.choice;
    Index listed = -1;
    while (piece.m > listed) {
        listed = piece.m;
        if (piece.m > 0) project(p, piece);
        if (P::separate) s.draw.shift[z].fill(0.0);  // where the piece has no constraint yet
        p.shift_along(piece, s.draw.shift);
        for (Index i = 0; i < s.front.size->members; ++i) {
            const Index c = choice[i], x = s.front.members[i];
            if (c < 0) continue;
            const double at_z = p.shifted(z, c, s.draw.shift, true), at_x = p.shifted(x, c, s.draw.shift, false);
            if (at_x - at_z - p.slack[c] > FREE * p.unit[c]) {
                piece.add(lead_of(z, x, c, p.slack));
                choice[i] = -1;
            }
        }
    }
}

// Project on the piece "z above each member, in the objective where the draw has it most". Constraints come
// into the piece when they are violated.
template <class P>
void nearest_in_escape(Search<P>& s, Index z, Piece& piece) {
    const P& p = s.posterior;
    const Vec<Index>& choice = s.draw.choice;  // -1 once listed
    piece.clear();
    for (Index i = 0; i < s.front.size->members; ++i) {
        const Index x = s.front.members[i];
        choice[i] = -1;
        if (!p.facts.may_dominate_within(x, z)) continue;
        double most = -INF;
        for (Index c = 0; c < p.d; ++c) {
            const double ahead = lead(s.draw.values, p.slack, z, x, c) / p.unit[c];
            if (ahead > most) most = ahead, choice[i] = c;
        }
        if (p.lead(z, x, choice[i]) < 0.0) {
            piece.add(lead_of(z, x, choice[i], p.slack));
            choice[i] = -1;
        }
    }
    if constexpr (P::separate) {
        if (p.diagonal) {
            if (piece.m > 0) pool_means(p, piece);
            return;
        }
    }
    add_violated(s, z, piece);
}

// Gains of the projected learner; false if theta is on the piece's edge (rounding).
template <class P>
bool projected_gains(Search<P>& s, const Vec<double>& gains) {
    const P& p = s.posterior;
    const auto [z, below] = *s.draw.piece;
    if (is_eager(s.cover)) {
        p.refresh_listed(Vec<Index>{&s.draw.piece->above, 1});
        p.refresh_listed(s.front.listed());
    }
    Piece piece(std::max(s.front.size->members, p.d));
    if (below >= 0) {
        for (Index c = 0; c < p.d; ++c) piece.add(lead_of(z, below, c, p.slack));
        project(p, piece);
    } else {
        nearest_in_escape(s, z, piece);
    }
    if (piece.m == 0) return false;
    p.shift_along(piece, s.draw.shift);
    p.gains_of_shift(piece, s.draw.shift, gains);
    return true;
}

// Each arm's share of the pulls; a part gamma of it is forced.
//
// An arm's share of what is spent is N_a g_a, its share of the squared distance to the nearest point: it is
// paid for as much as it keeps the piece away. That is information-directed selection (You, Qin, Wang, Yang
// 2023), with the posterior's draw as the choice of the piece. The share of the pulls is that over the cost
// of one.
inline void shares_of_pulls(const Vec<double>& N, const Vec<double>& gains, const Vec<double>& costs,
                            const Vec<double>& thrift, double gamma, const Vec<double>& w) {
    const Index K = N.size();
    const double *n = N.whole(K), *g = gains.whole(K), *cost = costs.whole(K), *even = thrift.whole(K);
    double *share = w.whole(K), total = 0.0;
    for (Index a = 0; a < K; ++a)
        if (g[a] != 0.0) total += n[a] * g[a] / cost[a];
    for (Index a = 0; a < K; ++a) {
        share[a] = g[a] != 0.0 ? n[a] * g[a] / cost[a] / total : 0.0;
        share[a] = (1.0 - gamma) * (total > 0.0 ? share[a] : even[a]) + gamma * even[a];
    }
}

// The same where arms inform each other: all of it to the most informative arm.
//
// An arm without results has no share in the squared distance, though it may be more informative than all
// others. Of arms that are equally informative, up to rounding, the first is taken.
inline void most_informative(const Vec<double>& gains, const Vec<double>& costs, const Vec<double>& thrift, double gamma,
                             const Vec<double>& w) {
    double most = 0.0;
    for (Index a = 0; a < gains.size(); ++a) most = std::max(most, gains[a] / costs[a]);
    const double forced = most > 0.0 ? gamma : 1.0;
    double left = 1.0 - forced;
    for (Index a = 0; a < gains.size(); ++a) {
        w[a] = forced * thrift[a];
        if (gains[a] / costs[a] >= (1.0 - SAME_GAIN) * most) {
            w[a] += left;
            left = 0.0;
        }
    }
}

inline void weights_for_piece(const Model& model, const Vec<double>& N, const Vec<double>& gains, double gamma,
                              const Vec<double>& w) {
    if (model.unstructured)
        shares_of_pulls(N, gains, model.costs, model.thrift, gamma, w);
    else
        most_informative(gains, model.costs, model.thrift, gamma, w);
}

}  // namespace psips
