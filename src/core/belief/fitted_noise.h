// Noise around a linear fit: one covariance for all arms, estimated from the residuals.
//
// With n results, h rows of theta and r_a the distance of the mean of arm a from the fit, the sum of
// squares around the fit is that around the means of the arms plus sum_a N_a r_a r_a^T, and has n - h
// degrees of freedom. Correlations and Student's tail are as in noise_estimate.h. A model that does not
// fit makes the noise look larger. With a regularisation the residuals are larger than those of least
// squares, which takes no more degrees of freedom.
//
// What is estimated is kept in four matrices (d, d) (`FittedNoise`), which the posterior reads instead of
// what would be given: the covariance of one result with Student's tail, its lower Cholesky factor, its
// inverse, and in the first row of the last its standard deviations.
#pragma once

#include "belief/noise_estimate.h"

namespace psips {

// Residuals that are less of the values are rounding: features have 12 digits.
inline constexpr double ROUNDING = 1e-10;

// Sums of products (d, d) around the fit; their degrees of freedom.
inline double residual_products(const NoiseEstimator& estimator, const Mat<double>& A, const Vec<double>& pulls,
                                const Mat<double>& theta, const Mat<double>& out) {
    const NoiseModel& noise = estimator.noise;
    const NoiseEstimate& s = estimator.s;
    const Index d = out.rows();
    double total = -static_cast<double>(theta.rows());
    Floats rest(d), size(d);
    for (Index c = 0; c < d; ++c)
        for (Index e = 0; e < d; ++e) out(c, e) = noise.worth * noise.guess(c, e);
    for (Index a = 0; a < A.rows(); ++a) {
        const double n = pulls[a];
        if (n == 0.0) continue;
        total += n;
        for (Index c = 0; c < d; ++c) {
            rest[c] = s.origin(a, c) + s.sums(a, c, c) / n;
            size[c] += n * rest[c] * rest[c];
            for (Index i = 0; i < A.cols(); ++i) rest[c] -= A(a, i) * theta(i, c);
        }
        for (Index c = 0; c < d; ++c)
            for (Index e = 0; e < d; ++e) out(c, e) += estimator.products(a, c, e) + n * rest[c] * rest[e];
    }
    for (Index c = 0; c < d; ++c)
        if (out(c, c) < ROUNDING * ROUNDING * size[c]) out(c, c) = 0.0;  // results lie on the fit
    return noise.worth + std::max(total, 0.0);
}

// Bring the covariance and its degrees of freedom up to date with the results.
inline void settle_fit(const NoiseEstimator& estimator, const Mat<double>& A, const Vec<double>& pulls,
                       const Mat<double>& theta) {
    const NoiseEstimate& s = estimator.s;
    const Index d = theta.cols();
    Table<double> Sigma(d, d), free(d, d);
    free.fill(residual_products(estimator, A, pulls, theta, Sigma));
    s.freedom[0] = estimator.normalise(0, A.rows(), free, Sigma);
    if (s.freedom[0] < ENOUGH) return;
    const Mat<double> factor = s.C[FACTOR];
    make_definite(Sigma, factor);  // correlations of 1, but for rounding
    const double share = students_share(s.freedom[0], s.level[0]);
    for (Index c = 0; c < d; ++c) {
        for (Index e = 0; e < d; ++e) {
            s.C(COVARIANCE, c, e) = share * Sigma(c, e);
            factor(c, e) *= std::sqrt(share);
        }
        s.C(UNIT, 0, c) = std::sqrt(s.C(COVARIANCE, c, c));
    }
    invert(s.C[COVARIANCE], d, s.C[INVERSE]);
}

}  // namespace psips
