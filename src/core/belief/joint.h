// Linear problems in which the precision of theta has no simple form.
//
// A result x of arm a with the objectives in p, of the covariance S, adds a a^T (x) Q to the precision
// V (h d, h d) of theta, and a (x) Q x to B, with Q = E^T (E S E^T)^-1 E and E the rows of the identity that
// p has. theta = V^-1 B is exact, whatever is missing. Entry i d + c is row i of theta in objective c.
#pragma once

#include "linalg.h"

namespace psips {

// Add results of `arms` (T,) to V and B; rows (K, h), precisions Q (T, d, d), values (T, d).
inline void add_rows(const Mat<const double>& rows, const Vec<const Index>& arms, const Cube<const double>& Q,
                     const Mat<const double>& values, const Mat<double>& V, const Mat<double>& B) {
    const Index h = rows.cols(), d = values.cols();
    for (Index t = 0; t < values.rows(); ++t) {
        const Vec<const double> a = rows[arms[t]];
        for (Index i = 0; i < h; ++i)
            for (Index c = 0; c < d; ++c) {
                for (Index e = 0; e < d; ++e) B(i, c) += a[i] * Q(t, c, e) * values(t, e);
                for (Index j = 0; j < h; ++j)
                    for (Index e = 0; e < d; ++e) V(i * d + c, j * d + e) += a[i] * a[j] * Q(t, c, e);
            }
    }
}

// F, a factor of V^-1, theta (h, d), and the covariances X (h d, n d) of theta with the answers Z (n, h), and
// G of the answers; V is positive definite.
inline void solve_joint(const Mat<double>& V, const Mat<double>& B, const Mat<const double>& Z, const Mat<double>& F,
                        const Mat<double>& theta, const Mat<double>& X, const Mat<double>& G) {
    const Index n = Z.rows(), h = Z.cols(), d = B.cols(), wide = V.rows();
    Table<double> inverse(wide, wide);
    factor_of_inverse(V, F, inverse);
    for (Index i = 0; i < wide; ++i) {
        double mean = 0.0;
        for (Index j = 0; j < h; ++j)
            for (Index e = 0; e < d; ++e) mean += inverse(i, j * d + e) * B(j, e);
        theta(i / d, i % d) = mean;
        for (Index z = 0; z < n; ++z)
            for (Index c = 0; c < d; ++c) {
                double total = 0.0;
                for (Index j = 0; j < h; ++j) total += inverse(i, j * d + c) * Z(z, j);
                X(i, z * d + c) = total;
            }
    }
    for (Index z = 0; z < n; ++z)
        for (Index c = 0; c < d; ++c)
            for (Index k = 0; k < n * d; ++k) {
                double total = 0.0;
                for (Index i = 0; i < h; ++i) total += Z(z, i) * X(i * d + c, k);
                G(z * d + c, k) = total;
            }
}

}  // namespace psips
