// Projections on the convex pieces of the alternative, in the metric of the posterior.
//
// With G_kl the covariance of f_k and f_l and b_k = -f_k at theta_hat, the squared distance of theta_hat to
// where all f_k >= 0 is max_{y >= 0} 2 b.y - y'Gy, and the nearest point shifts theta along sum_k y_k f_k.
#pragma once

#include "posterior.h"

namespace psips {

inline constexpr double FREE = 1e-10;  // a lead below this many standard deviations of one measurement is none

// Covariance of the leads (z - x)(c) and (z - v)(e).
template <class P>
double lead_cov(const P& p, Index z, Index x, Index c, Index v, Index e) {
    return p.cov(Constraint{z, x, c, 1.0, -1.0, 0.0, 0}, Constraint{z, v, e, 1.0, -1.0, 0.0, 0});
}

template <class P>
double project_on_two(const P& p, Piece& piece) {
    const double first = -value_at(p.mu, piece[0]), second = -value_at(p.mu, piece[1]);
    const double a = p.cov(piece[0], piece[0]), b = p.cov(piece[0], piece[1]), c = p.cov(piece[1], piece[1]);
    const double determinant = a * c - b * b;
    Floats& y = piece.y;
    y[0] = c * first - b * second;
    y[1] = a * second - b * first;
    if (y[0] > 0.0 && y[1] > 0.0 && determinant > 1e-12 * a * c) {
        y[0] /= determinant;
        y[1] /= determinant;
    } else {  // one constraint is enough
        y[0] = std::max(first, 0.0) / a;
        y[1] = 0.0;
        if (second > b * y[0]) {
            y[0] = 0.0;
            y[1] = std::max(second, 0.0) / c;
        }
    }
    return first * y[0] + second * y[1];
}

// Squared distance to a piece; its multipliers go to piece.y.
template <class P>
double project(const P& p, Piece& piece) {
    const Index m = piece.m;
    if (m == 0) return 0.0;
    if (m == 1) {
        const double gap = -value_at(p.mu, piece[0]);
        piece.y[0] = gap <= 0.0 ? 0.0 : gap / p.cov(piece[0], piece[0]);
        return gap <= 0.0 ? 0.0 : gap * piece.y[0];
    }
    if (m == 2) return project_on_two(p, piece);
    NonnegativeQP qp(m);
    for (Index k = 0; k < m; ++k) {
        qp.b[k] = -value_at(p.mu, piece[k]);
        for (Index j = 0; j <= k; ++j) qp.G(j, k) = qp.G(k, j) = p.cov(piece[k], piece[j]);
    }
    qp.solve(piece.y);
    double square = 0.0;
    for (Index k = 0; k < m; ++k) square += qp.b[k] * piece.y[k];
    return std::max(square, 0.0);
}

// Which member dominates the piece's answer most at the piece's nearest point; -1 if none does, and the
// nearest point lies in the alternative.
template <class P>
Index still_dominated(const P& p, const Piece& piece, const Vec<Index>& members, const Mat<double>& shift) {
    const Index z = piece.answer();
    p.shift_along(piece, shift);
    Floats at_z(p.d);
    for (Index c = 0; c < p.d; ++c) at_z[c] = p.shifted(z, c, shift, true);
    Index worst = -1;
    double most = FREE;
    for (const Index x : members) {
        if (piece.is_over(x) || !p.facts.may_dominate_within(x, z)) continue;
        double behind = INF;
        for (Index c = 0; c < p.d; ++c) {
            behind = std::min(behind, (p.shifted(x, c, shift, false) - at_z[c] - p.slack[c]) / p.unit[c]);
            if (behind <= 0.0) break;
        }
        if (behind > most) worst = x, most = behind;
    }
    return worst;
}

}  // namespace psips
