// Evidence for the claims of a predicted set in linear problems.
//
// Pieces and claims are those of claims.h, with one other answer x in each piece, so that a claim is
// f(theta) = u'theta y > 0, u = x - z, y >= 0. What is told after t_1 is a linear regression of y.(result) on
// the arms' features, with h unknowns and noise of variance s^2 = y'Sigma y. Let J = sum a a' over these
// results: the design, which may depend on them. As in claims.h, the ratio of the likelihood with theta y
// shifted by w to that of the truth is exp((w'Je - w'Jw / 2) / s^2), e the error of least squares, a product
// over results in which each factor has mean 1 given the past; its average over a law of w that is fixed at
// t_1 is a nonnegative martingale of mean 1 from t_1 on. Neither a prior nor a bound on theta is needed.
//
// The law is that of claims.h with matrices for vectors. V = s^2 J^-1 is the covariance of e;
// Q = s^2 beta C_1, C_1 the inverse of the design until t_1, is the one expected at the stop, with beta so that
// u'Qu is what the lead predicted needs; and
//
//     w = D r + eta,   r = Q u / u'Q u,   eta ~ N(0, R),   R = kappa (Q - Q u u'Q / u'Q u).
//
// As u'r = 1 and R u = 0, the steps there hold with u instead of the vector of ones: W V u = u, H V u = 0,
// c'V u = 1, and moving e along V u changes c'e only. What is needed is
//
//     v = u'V u,   q = u'Q u,   u'V Q^-1 V u,   k = u'Q (V + kappa Q)^-1 Q u,
//     left = 1 - kappa k / q,   B = k / (q^2 left),
//     log det(I + V^-1 R) = log det(I + kappa V^-1 Q) + log left,
//     h = (u'V Q^-1 V u / v^2 - 1 / q) / kappa + 1 / v - B,
//
// the last from H w = nu u + mu c, which is solved by w = V b with R b = mu (r - V u / v), that is
// b = (mu / kappa) Q^-1 (r - V u / v) and a multiple of u. Before J is regular the evidence is taken to be 0.
#pragma once

#include "predicted/account.h"

namespace psips {

inline constexpr double LINEAR_KAPPA = 0.5;  // how far the design is expected to be off; h - 1 directions pay for it
inline constexpr double REGULAR = 1e-9;      // a pivot of J below this much of V's is taken to be 0

// J becomes the design since the prediction; whether it is regular.
inline bool later_design(const Belief& belief, const Account& account, const Mat<double>& J) {
    const Index h = J.rows();
    Table<double> L(h, h);
    for (Index i = 0; i < h; ++i)
        for (Index j = 0; j < h; ++j) J(i, j) = belief.V(i, j) - account.V1(i, j);
    const auto pivot = [&](Index i) { return REGULAR * belief.V(i, i); };
    return factor_above(h, [&](Index i, Index j) { return J(i, j); }, L, pivot);
}

// Least log E of claim o, whose lead is estimated; F F' = J^-1.
inline double linear_evidence(const Model& model, const Account& account, const Mat<double>& F, Index o, double lead) {
    const Index h = model.h, z = account.arms(o, 0), x = account.arms(o, 1);
    const double s = account.s(o, 0);
    LeadSums sums;
    sums.q = account.q(o, 0);
    double c1 = 0.0;
    Floats u(h), inward(h), outward(h);  // u, C_1 u, J^-1 u
    for (Index i = 0; i < h; ++i) {
        u[i] = model.Z(x, i) - model.Z(z, i);
        sums.determinant -= 2.0 * std::log(F(i, i));
    }
    for (Index i = 0; i < h; ++i) {
        const double along = account.W(x, i) - account.W(z, i);
        sums.v += s * along * along;
        for (Index j = 0; j < h; ++j) {
            inward[i] += account.C1(i, j) * u[j];
            outward[j] += F(j, i) * along;
        }
    }
    for (Index i = 0; i < h; ++i) c1 += u[i] * inward[i];
    const double beta = sums.q / (s * c1);
    Table<double> M(h, h), L(h, h);  // J^-1 + kappa beta C_1
    for (Index i = 0; i < h; ++i)
        for (Index j = 0; j < h; ++j) {
            sums.off += s * outward[i] * account.V1(i, j) * outward[j] / beta;
            M(i, j) = LINEAR_KAPPA * beta * account.C1(i, j);
            for (Index k = 0; k < h; ++k) M(i, j) += F(i, k) * F(j, k);
        }
    cholesky(M, h, L);
    solve_lower(L, h, inward);  // L^-1 C_1 u
    double k = 0.0;
    for (Index i = 0; i < h; ++i) {
        k += s * beta * beta * inward[i] * inward[i];
        sums.determinant += 2.0 * std::log(L(i, i));
    }
    const double left = 1.0 - LINEAR_KAPPA * k / sums.q;
    sums.determinant += std::log(left);
    sums.B = k / (sums.q * sums.q * left);
    return least_evidence(sums, lead, law_of(account, o, LINEAR_KAPPA));
}

// Means of the answers and the answers whitened, by the results since the prediction.
inline void fit_later(const Model& model, const Belief& belief, const Account& account, const Mat<double>& F) {
    const Index h = model.h, d = model.d;
    Table<double> later(h, d), theta(h, d);
    for (Index i = 0; i < h; ++i)
        for (Index c = 0; c < d; ++c) later(i, c) = belief.B(i, c) - account.B1(i, c);
    solve_by_factor(F, later, theta);
    for (Index a = 0; a < model.n; ++a) {
        PosteriorView::image(model.Z, theta, a, account.mean);
        for (Index k = 0; k < h; ++k) {
            account.W(a, k) = 0.0;
            for (Index i = 0; i <= k; ++i) account.W(a, k) += model.Z(a, i) * F(i, k);
        }
    }
}

// Bring the account of a linear problem up to date with the results told.
inline void weigh_linear(const Model& model, const Belief& belief, Account& account) {
    const Index h = model.h, d = model.d;
    Table<double> J(h, h), F(h, h);
    if (!later_design(belief, account, J)) return;
    factor_of_inverse(J, F);
    fit_later(model, belief, account, F);
    const double level = account.level[0];
    settle_pieces(account, [&](Index k) {
        const Index z = account.z[k], x = account.xs(k, 0), from = account.first[k], to = account.first[k + 1];
        double square = 0.0;
        for (Index f = 0; f < h; ++f) {
            const double apart = account.W(x, f) - account.W(z, f);
            square += apart * apart;
        }
        const auto lead_of_claim = [&](Index o) {
            double lead = account.offset[o];
            for (Index c = 0; c < d; ++c) lead += account.G(o, 1, c) * (account.mean(x, c) - account.mean(z, c));
            return lead;
        };
        PieceScore found{-INF, UNSEEN, account.best[k]};
        for (Index o = from; o < to; ++o) {
            const double lead = lead_of_claim(o);
            const double ratio = 0.5 * lead * lead / std::max(account.s(o, 0) * square, 1e-300);
            found.add(o, lead > 0.0 ? ratio : -ratio - 1.0, account.log_weight[o]);
        }
        account.value[k] = found.score;
        account.best[k] = found.claim;
        LogSum sum;
        if (!(found.most < level))
            for (Index o = from; o < to; ++o)
                if (const double lead = lead_of_claim(o); lead > 0.0)
                    sum.add(linear_evidence(model, account, F, o, lead) + account.log_weight[o]);
        account.settled[k] = sum.value() >= level;
    });
}

// Bring an account up to date with the results told.
inline void weigh_claims(const Model& model, const Belief& belief, Account& account) {
    if (model.unstructured)
        weigh_arms(belief, account);
    else
        weigh_linear(model, belief, account);
}

// The same for one that was away: all of it is looked at.
inline void weigh_again(const Model& model, const Belief& belief, Account& account) {
    account.n.fill(-1.0);
    Index stay = 0;
    for (Index k = 0; k < account.z.size(); ++k)
        if (!account.settled[k]) account.left[stay++] = k;
    account.size[0] = stay;
    weigh_claims(model, belief, account);
}

}  // namespace psips
