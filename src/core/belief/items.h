// Results that share items: the posterior of a mixed model, and its two kinds of variance.
//
// A result of arm a on item b is mu_a + u_b + e, with u_b ~ N(0, U) common to the item and e ~ N(0, Sigma_a).
// With P_a = Sigma_a^-1, n_ab results of a on b and M_b = U^-1 + sum_a n_ab P_a, the items' effects
// integrated out, item b adds to the precision V (K d, K d)
//
//     diag_a(n_ab P_a) - (n_ab P_a M_b^-1 n_cb P_c)_ac
//
// and one further result of a adds H' Q^-1 H, of rank d: H takes the means to what the result is expected to
// be less its mean given the item so far, and Q = Sigma_a + M_b^-1. U = 0 is no items; a large U compares
// within items only. U that is too large costs precision but claims none that is not there: the covariance
// of any weighted mean grows with U.
#pragma once

#include "linalg.h"

namespace psips {

class ItemModel {
public:
    // `precision` (K, d, d) of one result of each arm, `between` (d, d) a factor of U.
    ItemModel(const Cube<const double>& precision, const Mat<const double>& between)
        : P(precision), root(between), K(precision.size()), d(between.rows()), spread(d, d) {}
    Cube<const double> P;
    Mat<const double> root;
    Index K, d;
    Table<double> spread;  // M^-1 of the item looked at last

    // Look at an item with `count` (K,) results: M^-1 = root (I + root' S root)^-1 root', S = sum_a n_a P_a,
    // with U = root root'; U may be 0.
    void look_at(const Vec<const double>& count) {
        Table<double> S(d, d), inner(d, d), inverse(d, d), half(d, d);
        for (Index a = 0; a < K; ++a)
            if (count[a] > 0.0)
                for (Index i = 0; i < d; ++i)
                    for (Index j = 0; j < d; ++j) S(i, j) += count[a] * P(a, i, j);
        for (Index i = 0; i < d; ++i)
            for (Index j = 0; j < d; ++j) {
                inner(i, j) = i == j ? 1.0 : 0.0;
                for (Index k = 0; k < d; ++k)
                    for (Index m = 0; m < d; ++m) inner(i, j) += root(k, i) * S(k, m) * root(m, j);
            }
        invert(inner, d, inverse);
        for (Index i = 0; i < d; ++i)
            for (Index j = 0; j < d; ++j)
                for (Index k = 0; k < d; ++k) half(i, j) += root(i, k) * inverse(k, j);
        for (Index i = 0; i < d; ++i)
            for (Index j = 0; j < d; ++j) {
                double total = 0.0;
                for (Index k = 0; k < d; ++k) total += half(i, k) * root(j, k);
                spread(i, j) = total;
            }
    }

    // Of the next result of an arm, with the covariance `within`, on an item with `count` results: the factor
    // L of Q, and L^-1 H (d, K d).
    void forecast(Index arm, const Vec<const double>& count, const Mat<const double>& within, const Mat<double>& L,
                  const Mat<double>& H) {
        look_at(count);
        H.fill(0.0);
        for (Index i = 0; i < d; ++i) {
            H(i, arm * d + i) = 1.0;
            for (Index a = 0; a < K; ++a)
                if (count[a] > 0.0)
                    for (Index j = 0; j < d; ++j)
                        for (Index k = 0; k < d; ++k) H(i, a * d + j) -= count[a] * spread(i, k) * P(a, k, j);
        }
        Table<double> Q(d, d);
        for (Index i = 0; i < d; ++i)
            for (Index j = 0; j < d; ++j) Q(i, j) = within(i, j) + spread(i, j);
        cholesky(Q, d, L);
        for (Index i = 0; i < d; ++i)
            for (Index j = 0; j < K * d; ++j) {
                for (Index k = 0; k < i; ++k) H(i, j) -= L(i, k) * H(k, j);
                H(i, j) /= L(i, i);
            }
    }

    // V (K d, K d) and B (K d,) of all results; `counts` (J, K) and `sums` (J, K, d) by item and arm.
    void add_all(const Mat<const double>& counts, const Cube<const double>& sums, const Mat<double>& V,
                 const Vec<double>& B) {
        Floats common(d);
        Table<double> PM(K * d, d);  // n_a P_a M^-1
        B.fill(0.0);
        V.fill(0.0);
        for (Index b = 0; b < counts.rows(); ++b) {
            look_at(counts[b]);
            weigh(counts[b], sums[b], PM, common);
            for (Index a = 0; a < K; ++a) {
                if (!(counts(b, a) > 0.0)) continue;
                for (Index i = 0; i < d; ++i)
                    for (Index j = 0; j < d; ++j) {
                        B[a * d + i] += P(a, i, j) * (sums(b, a, j) - counts(b, a) * common[j]);
                        V(a * d + i, a * d + j) += counts(b, a) * P(a, i, j);
                    }
                take_common(counts[b], PM, a, V);
            }
        }
    }

private:
    // n_a P_a M^-1 of the item looked at, and the effect that it is expected to have if all means are 0.
    void weigh(const Vec<const double>& n, const Mat<const double>& x, const Mat<double>& PM, const Vec<double>& common) {
        Floats total(d);
        for (Index a = 0; a < K; ++a)
            if (n[a] > 0.0)
                for (Index i = 0; i < d; ++i)
                    for (Index j = 0; j < d; ++j) {
                        total[i] += P(a, i, j) * x(a, j);
                        PM(a * d + i, j) = 0.0;
                        for (Index k = 0; k < d; ++k) PM(a * d + i, j) += n[a] * P(a, i, k) * spread(k, j);
                    }
        for (Index i = 0; i < d; ++i) {
            common[i] = 0.0;
            for (Index j = 0; j < d; ++j) common[i] += spread(i, j) * total[j];
        }
    }

    void take_common(const Vec<const double>& n, const Mat<double>& PM, Index a, const Mat<double>& V) {
        for (Index c = 0; c < K; ++c)
            if (n[c] > 0.0)
                for (Index i = 0; i < d; ++i)
                    for (Index j = 0; j < d; ++j) {
                        double less = 0.0;
                        for (Index k = 0; k < d; ++k) less += PM(a * d + i, k) * P(c, k, j);
                        V(a * d + i, c * d + j) -= n[c] * less;
                    }
    }
};

// L^-1 H (K, d, K d) for the next result of each arm, on the item `places` (K,); a place beyond the items there
// are is one without results. A result adds ||L^-1 H x||^2 to the squared length of a change x (K d,) of the
// means.
inline void look_ahead(ItemModel& model, const Mat<const double>& counts, const Vec<const Index>& places,
                       const Cube<const double>& within, const Cube<double>& H) {
    Floats nothing(model.K);
    Table<double> L(model.d, model.d);
    for (Index a = 0; a < model.K; ++a) {
        const Vec<const double> here = places[a] < counts.rows() ? counts[places[a]] : Vec<const double>{nothing.data, nothing.n};
        model.forecast(a, here, within[a], L, H[a]);
    }
}

// What the means are known by: V, a factor F of V^-1, G = F F' and B = V times the means.
struct ItemPosterior {
    Mat<double> V, F, G;
    Vec<double> B;

    // One more value that is v.mean, less `surprise`, with variance 1: an update of rank one.
    void update(const Vec<double>& v, double surprise) {
        const Index wide = v.size();
        Floats u(wide), w(wide);
        double q = 0.0;
        for (Index k = 0; k < wide; ++k)
            if (v[k] != 0.0)
                for (Index j = 0; j < wide; ++j) u[j] += F(k, j) * v[k];
        for (Index j = 0; j < wide; ++j) q += u[j] * u[j];
        for (Index k = 0; k < wide; ++k)
            for (Index j = 0; j < wide; ++j) w[k] += F(k, j) * u[j];
        const double g = (1.0 - 1.0 / std::sqrt(1.0 + q)) / q;
        for (Index k = 0; k < wide; ++k) {
            B[k] += v[k] * surprise;
            for (Index j = 0; j < wide; ++j) {
                F(k, j) -= g * w[k] * u[j];
                G(k, j) -= w[k] * w[j] / (1.0 + q);
                V(k, j) += v[k] * v[j];
            }
        }
    }
};

// Take in one result x (d,) of an arm by d updates of rank one. `count` (K,) and `sum` (K, d) are those of its
// item, not yet with this result; `within` (d, d) is Sigma_a of its arm.
inline void add_result(ItemModel& model, Index arm, const Vec<const double>& x, const Vec<const double>& count,
                       const Mat<const double>& sum, const Mat<const double>& within, ItemPosterior posterior) {
    const Index d = model.d;
    Table<double> L(d, d), H(d, model.K * d);
    model.forecast(arm, count, within, L, H);
    Floats surprise(d);
    for (Index i = 0; i < d; ++i) {
        surprise[i] = x[i];
        for (Index a = 0; a < model.K; ++a)
            for (Index j = 0; j < d; ++j)
                for (Index k = 0; k < d; ++k) surprise[i] -= model.spread(i, k) * model.P(a, k, j) * sum(a, j);
    }
    solve_lower(L, d, surprise);
    for (Index i = 0; i < d; ++i) posterior.update(H[i], surprise[i]);
}

// What the variances within items are the means of, by those so far: one step of EM.
struct ItemNoise {
    Cube<double> residuals;  // (K, d, d) sums over results of each arm of r r', r the residual less the
                             // expected effect of its item,
    Cube<double> spreads;    // (K, d, d) .. and of M^-1
    Vec<double> shares;      // (K,) how many results remain, less what the items' effects took
};

// Of results `values` (T, d) of `arms` (T,) on `items` (T,).
inline void expect_noise(ItemModel& model, const Vec<const Index>& arms, const Vec<const Index>& items,
                         const Mat<const double>& values, const Mat<const double>& counts, const Mat<const double>& means,
                         const ItemNoise& noise) {
    const Index J = counts.rows(), K = model.K, d = model.d;
    Table<double> effect(J, d);
    Block<double> spread(J, d, d);
    Floats r(d);
    for (Index t = 0; t < arms.size(); ++t)
        for (Index i = 0; i < d; ++i)
            for (Index j = 0; j < d; ++j)
                effect(items[t], i) += model.P(arms[t], i, j) * (values(t, j) - means(arms[t], j));
    for (Index b = 0; b < J; ++b) {
        model.look_at(counts[b]);
        for (Index i = 0; i < d; ++i) {
            r[i] = 0.0;
            for (Index j = 0; j < d; ++j) {
                r[i] += model.spread(i, j) * effect(b, j);
                spread(b, i, j) = model.spread(i, j);
            }
        }
        for (Index i = 0; i < d; ++i) effect(b, i) = r[i];
    }
    for (Index a = 0; a < K; ++a) {
        noise.residuals[a].fill(0.0);
        noise.spreads[a].fill(0.0);
        noise.shares[a] = 0.0;
    }
    for (Index t = 0; t < arms.size(); ++t) {
        const Index a = arms[t], b = items[t];
        double taken = 0.0;
        for (Index i = 0; i < d; ++i) {
            r[i] = values(t, i) - means(a, i) - effect(b, i);
            for (Index j = 0; j < d; ++j) {
                taken += model.P(a, i, j) * spread(b, j, i);
                noise.spreads(a, i, j) += spread(b, i, j);
            }
        }
        for (Index i = 0; i < d; ++i)
            for (Index j = 0; j < d; ++j) noise.residuals(a, i, j) += r[i] * r[j];
        noise.shares[a] += std::max(1.0 - taken / static_cast<double>(d), 0.0);
    }
}

}  // namespace psips
