// How far the variances of many arms inform each other (Smyth 2004).
//
// The variances of arms are taken as draws, sigma_a^2 = d0 s0^2 / chi^2_d0. Then s_a^2 / s0^2, on nu_a
// degrees of freedom, has the law F(nu_a, d0), and an arm's variance is estimated by
// (d0 s0^2 + nu_a s_a^2) / (d0 + nu_a) on d0 + nu_a degrees of freedom. d0 is the least number on a grid
// whose likelihood is within CAUTION of the largest: few arms, or arms whose variances differ without a
// pattern, lend each other little or nothing.
//
// One arm among many may still be far noisier than all others, and no prior knows of it. If its variance
// looks larger than OUTLYING times the common one, it is left as it is. With few results it may not look
// so: an arm with NOISIER times the variance passes for an ordinary one with the probability
// P(chi^2_nu <= nu OUTLYING / NOISIER). So the others count from that nu on at which this is at most half
// of delta (`least_freedom`).
#pragma once

#include "belief/noise_estimate.h"

namespace psips {

inline constexpr Index FEWEST_ARMS = 6;        // arms from which on estimated variances can inform each other
inline constexpr double GROWTH = 1.05;    // of the results, after which s0^2 and d0 are estimated again
inline constexpr double CAUTION = 2.0;    // nats below the largest likelihood that d0 is looked for
inline constexpr Index DOUBLINGS = 9;     // d0 is looked for among 1, 2, 4, ..
inline constexpr double NOISIER = 100.0;  // variance of an arm that must not pass for an ordinary one

// From how many degrees of freedom on other arms count.
inline double least_freedom(double delta) {
    for (double nu = 1.0; nu < 1e4; nu += 1.0) {
        const double half = 0.5 * nu * OUTLYING / NOISIER;  // of the argument of chi^2; small
        const double passes = std::pow(half, 0.5 * nu) * std::exp(-half) / std::tgamma(0.5 * nu + 1.0);
        if (passes <= 0.5 * delta) return nu;
    }
    return 1e4;
}

inline double digamma(double x) {  // x > 0
    double below = 0.0;
    for (int step = 0; step < 6 && x < 6.0; ++step) {
        below -= 1.0 / x;
        x += 1.0;
    }
    const double q = 1.0 / (x * x);
    const double series = q * (1.0 / 12.0 - q * (1.0 / 120.0 - q * (1.0 / 252.0 - q / 240.0)));
    return below + std::log(x) - 0.5 / x - series;
}

// Log density of log(s^2 / s0^2) where s^2 / s0^2 has the law F(nu, d0).
inline double log_likelihood(double nu, double d0, double log_ratio) {
    const double whole = 0.5 * (nu + d0), a = 0.5 * nu, b = 0.5 * d0;
    const double found = std::lgamma(whole) - std::lgamma(a) - std::lgamma(b);
    const double scaled = std::log(nu / d0) + log_ratio;
    return found + a * scaled - whole * std::log1p(std::exp(std::min(scaled, 700.0)));
}

// Estimate s0^2 and d0 of an objective, zeros where arms do not inform each other.
inline void fit_prior(const NoiseEstimator& estimator, Index c) {
    NoiseEstimate& s = estimator.s;
    const Index K = s.count.size();
    Floats logs(K), nu(K);
    Index m = 0;
    double centre = 0.0;
    for (Index a = 0; a < K; ++a) {
        const double free = s.count(a, c, c) - 1.0, total = estimator.products(a, c, c);
        if (free >= 1.0 && total > 0.0) {
            logs[m] = std::log(total / free), nu[m] = free;
            centre += logs[m] - digamma(0.5 * free) + std::log(0.5 * free);
            ++m;
        }
    }
    s.prior(Prior::variance, c) = 0.0;
    s.prior(Prior::degrees, c) = 0.0;
    if (m < FEWEST_ARMS) return;
    centre /= static_cast<double>(m);
    const auto degrees = [](Index k) { return static_cast<double>(Index{1} << k); };
    const auto level = [&](double d0) { return centre + digamma(0.5 * d0) - std::log(0.5 * d0); };
    Floats found(DOUBLINGS);
    Index best = 0;
    for (Index k = 0; k < DOUBLINGS; ++k) {
        const double d0 = degrees(k), at = level(d0);
        for (Index j = 0; j < m; ++j) found[k] += log_likelihood(nu[j], d0, logs[j] - at);
        if (found[k] > found[best]) best = k;
    }
    Index k = 0;
    while (found[k] < found[best] - CAUTION) ++k;
    if (k > 0) {
        s.prior(Prior::degrees, c) = degrees(k);
        s.prior(Prior::variance, c) = std::exp(level(degrees(k)));
    }
}

// In how many objectives results of an arm have not varied; those of one result count.
inline Index flat_objectives(const NoiseEstimator& estimator, Index arm) {
    Index found = 0;
    for (Index c = 0; c < estimator.s.count.m; ++c)
        if (estimator.s.count(arm, c, c) == 1.0 || estimator.is_flat(arm, c)) ++found;
    return found;
}

// Take in a result and settle the arms that it says something of.
inline void take_in(const NoiseModel& noise, NoiseEstimate& found, const Vec<double>& N, Index arm,
                    const Vec<const double>& x, const Mat<double>& theta) {
    const NoiseEstimator estimator(noise, found);
    const bool own = noise.mode == NoiseMode::own;
    const Index flat = flat_objectives(estimator, arm);
    estimator.take(arm, x);
    Fitted& fitted = *found.fitted;
    fitted.now += 1.0;
    const bool due = own && fitted.now >= GROWTH * fitted.then;
    if (due) {
        fitted.then = fitted.now;
        for (Index c = 0; c < x.size(); ++c)
            if (noise.binary[c] == 0.0) fit_prior(estimator, c);
    }
    if (due || noise.mode == NoiseMode::pooled) return estimator.settle_all(N, theta);
    estimator.settle(N, arm, theta);
    if (own && flat_objectives(estimator, arm) < flat)  // this may be the first arm to vary
        for (Index a = 0; a < N.size(); ++a)
            if (estimator.has_flat(a)) estimator.settle(N, a, theta);
}

}  // namespace psips
