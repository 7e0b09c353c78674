// Small dense matrices: Cholesky factors, solves, inverses, the nonnegative quadratic program. Each once.
#pragma once

#include <cmath>

#include "array.h"

namespace psips {

// Lower Cholesky factor of the leading (n, n) block, `at(i, j)` its entries; what is above the
// diagonal is not written. False, and it ends, where the i-th pivot is not above `least(i)`.
template <class At, class Least>
bool factor_above(Index n, const At& at, const Mat<double>& L, const Least& least) {
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j <= i; ++j) {
            double total = at(i, j);
            for (Index k = 0; k < j; ++k) total -= L(i, k) * L(j, k);
            if (i == j) {
                if (!(total > least(i))) return false;
                L(i, i) = std::sqrt(total);
            } else {
                L(i, j) = total / L(j, j);
            }
        }
    return true;
}

// The same where pivots must be above `least` of the diagonal.
template <class At>
bool factor_lower(Index n, const At& at, const Mat<double>& L, double least) {
    return factor_above(n, at, L, [&](Index i) { return least * at(i, i); });
}

// Lower factor with zeros above the diagonal; pivots below `floor` are raised to it, NaN is kept.
inline void cholesky(const Mat<double>& S, Index n, const Mat<double>& L, double floor = -INF) {
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j <= i; ++j) {
            double total = S(i, j);
            for (Index k = 0; k < j; ++k) total -= L(i, k) * L(j, k);
            L(i, j) = i == j ? std::sqrt(total < floor ? floor : total) : total / L(j, j);
        }
        for (Index j = i + 1; j < n; ++j) L(i, j) = 0.0;
    }
}

// Solve L x = b in place for the leading n rows.
inline void solve_lower(const Mat<double>& L, Index n, const Vec<double>& x) {
    for (Index i = 0; i < n; ++i) {
        for (Index k = 0; k < i; ++k) x[i] -= L(i, k) * x[k];
        x[i] /= L(i, i);
    }
}

// F, upper triangular, with F F^T = V^-1: L^-T with V = L L^T.
inline void factor_of_inverse(const Mat<double>& V, const Mat<double>& F) {
    const Index h = V.rows();
    Table<double> L(h, h);
    cholesky(V, h, L);
    for (Index j = 0; j < h; ++j)  // column j of L^-1 is row j of L^-T
        for (Index i = 0; i < h; ++i) {
            if (i < j) {
                F(j, i) = 0.0;
                continue;
            }
            double total = i == j ? 1.0 : 0.0;
            for (Index k = j; k < i; ++k) total -= L(i, k) * F(j, k);
            F(j, i) = total / L(i, i);
        }
}

// Inverse of the leading (m, m) block of a positive definite matrix.
inline void invert(const Mat<double>& S, Index m, const Mat<double>& out) {
    Table<double> L(m, m), inner(m, m);  // S = L L^T; L^-1
    cholesky(S, m, L, 1e-300);
    for (Index j = 0; j < m; ++j)
        for (Index i = j; i < m; ++i) {
            double total = i == j ? 1.0 : 0.0;
            for (Index k = j; k < i; ++k) total -= L(i, k) * inner(k, j);
            inner(i, j) = total / L(i, i);
        }
    for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < m; ++j) {
            double total = 0.0;
            for (Index k = std::max(i, j); k < m; ++k) total += inner(k, i) * inner(k, j);
            out(i, j) = total;
        }
}

// The same, and the inverse itself.
inline void factor_of_inverse(const Mat<double>& V, const Mat<double>& F, const Mat<double>& inverse) {
    factor_of_inverse(V, F);
    for (Index i = 0; i < F.rows(); ++i)
        for (Index j = 0; j <= i; ++j) {
            double total = 0.0;
            for (Index k = 0; k < F.cols(); ++k) total += F(i, k) * F(j, k);
            inverse(i, j) = total;
            inverse(j, i) = total;
        }
}

// theta = F F^T B.
inline void solve_by_factor(const Mat<double>& F, const Mat<double>& B, const Mat<double>& theta) {
    const Index h = B.rows(), d = B.cols();
    Table<double> inner(h, d);
    for (Index j = 0; j < h; ++j)
        for (Index i = 0; i < h; ++i)
            for (Index c = 0; c < d; ++c) inner(j, c) += F(i, j) * B(i, c);
    for (Index i = 0; i < h; ++i)
        for (Index c = 0; c < d; ++c) {
            double total = 0.0;
            for (Index j = 0; j < h; ++j) total += F(i, j) * inner(j, c);
            theta(i, c) = total;
        }
}

// F F^T = V^-1 becomes (V + a a^T)^-1, by one update of rank one; the squared length of F^T a is
// handed to `accept` first, and false returned if it refuses. V'^-1 = F (I - g u u^T)^2 F^T, u = F^T a.
template <class Accept>
bool update_factor(const Mat<double>& F, const Vec<double>& a, const Accept& accept) {
    const Index h = F.rows();
    Floats u(h);
    double q = 0.0;
    for (Index j = 0; j < h; ++j) {
        for (Index i = 0; i < h; ++i) u[j] += F(i, j) * a[i];
        q += u[j] * u[j];
    }
    if (!accept(q)) return false;
    if (q > 0.0) {
        const double g = (1.0 - 1.0 / std::sqrt(1.0 + q)) / q;
        for (Index i = 0; i < h; ++i) {
            double projected = 0.0;
            for (Index j = 0; j < h; ++j) projected += F(i, j) * u[j];
            for (Index j = 0; j < h; ++j) F(i, j) -= g * projected * u[j];
        }
    }
    return true;
}

// min_{y >= 0} y'Gy / 2 - b.y for the leading m, by an active set on G.
class NonnegativeQP {
public:
    explicit NonnegativeQP(Index m) : G(m, m), b(m), m_(m), s_(m), index_(m), C_(m, m), free_(m), blocked_(m) {}
    Table<double> G;
    Floats b;

    void solve(const Vec<double>& y) {
        double largest = 0.0;
        for (Index k = 0; k < m_; ++k) {
            y[k] = 0.0;
            largest = std::max(largest, std::abs(b[k]));
        }
        const double tolerance = 1e-12 * largest;
        for (Index round = 0; round < 8 * m_ + 8; ++round) {
            const Index enter = steepest(y, tolerance);
            if (enter < 0) return;
            free_[enter] = true;
            for (Index step = 0; step < 16 * m_ + 64 && !settle(enter, y); ++step) {
            }
        }
    }

private:
    Index steepest(const Vec<double>& y, double tolerance) const {
        Index enter = -1;
        double most = tolerance;
        for (Index k = 0; k < m_; ++k) {
            if (free_[k] || blocked_[k]) continue;
            double slope = b[k];
            for (Index j = 0; j < m_; ++j)
                if (free_[j]) slope -= G(k, j) * y[j];
            if (slope > most) enter = k, most = slope;
        }
        return enter;
    }
    // One step towards the minimum over the free ones; whether it is reached, or `enter` is out.
    bool settle(Index enter, const Vec<double>& y) {
        Index p = 0;
        for (Index k = 0; k < m_; ++k)
            if (free_[k] && k != enter) index_[p++] = k;
        if (free_[enter]) index_[p++] = enter;  // last, so that only its row can be dependent
        const auto block = [&](Index i, Index j) { return G(index_[i], index_[j]); };
        if (!factor_lower(p, block, C_, 1e-13)) return exchange(p, enter, y);
        for (Index i = 0; i < p; ++i) {
            double total = b[index_[i]];
            for (Index k = 0; k < i; ++k) total -= C_(i, k) * s_[k];
            s_[i] = total / C_(i, i);
        }
        for (Index i = p - 1; i >= 0; --i) {
            double total = s_[i];
            for (Index k = i + 1; k < p; ++k) total -= C_(k, i) * s_[k];
            s_[i] = total / C_(i, i);
        }
        double step = 1.0;
        for (Index i = 0; i < p; ++i)
            if (s_[i] <= 0.0) step = std::min(step, y[index_[i]] / (y[index_[i]] - s_[i]));
        if (step >= 1.0) {
            for (Index i = 0; i < p; ++i) y[index_[i]] = s_[i];
            blocked_.fill(false);
            return true;
        }
        drop(p, step, y);
        return false;
    }
    void drop(Index p, double step, const Vec<double>& y) {
        bool dropped = false;
        for (Index i = 0; i < p; ++i) {
            const Index k = index_[i];
            y[k] += step * (s_[i] - y[k]);
            if (s_[i] <= 0.0 && y[k] <= 1e-14 * std::abs(s_[i]) + 1e-300) {
                y[k] = 0.0;
                free_[k] = false;
                dropped = true;
            }
        }
        if (dropped) return;
        Index worst = index_[0];  // rounding: drop one
        for (Index i = 0; i < p; ++i)
            if (s_[i] <= 0.0) worst = index_[i];
        y[worst] = 0.0;
        free_[worst] = false;
    }
    // The entering row depends on the others, u_enter = sum a_i u_i: exchange it for the first that reaches 0.
    bool exchange(Index p, Index enter, const Vec<double>& y) {
        Index leave = -1;
        double step = INF;
        for (Index i = p - 2; i >= 0; --i) {
            double total = C_(p - 1, i);
            for (Index k = i + 1; k < p - 1; ++k) total -= C_(k, i) * s_[k];
            s_[i] = total / C_(i, i);
            if (s_[i] > 1e-12 && y[index_[i]] < step * s_[i]) leave = i, step = y[index_[i]] / s_[i];
        }
        if (leave < 0) {  // no point satisfies them all: it adds nothing here
            free_[enter] = false;
            blocked_[enter] = true;
            y[enter] = 0.0;
            return true;
        }
        for (Index i = 0; i < p - 1; ++i) y[index_[i]] = std::max(y[index_[i]] - step * s_[i], 0.0);
        y[enter] += step;
        y[index_[leave]] = 0.0;
        free_[index_[leave]] = false;
        return false;
    }
    Index m_;
    Floats s_;
    Ints index_;
    Table<double> C_;
    Flags free_, blocked_;
};

}  // namespace psips
