// Evidence of one claim about two arms where one covariance of all results is known.
//
// "Arm i beats arm j along y >= 0", y.(mu_i - mu_j) > 0, is tested against y.(mu_i - mu_j) <= 0. For an arm
// with true mean m after N results of mean x-hat and variance s^2 = y'Sigma y, the ratio of the likelihood
// averaged over shifts of m to that of m is a nonnegative martingale of mean 1, however the arms are chosen;
// so is the product over two arms. The shifts of i are mostly positive, those of j mostly negative: normal
// with precision rho / s^2, mixed over a few rho, and a mass q of the wrong sign is kept. With
// v = N e / (s sqrt(N + rho)), e = x-hat - m,
//
//     g(e) = sum_rho weight (1 + N / rho)^(-1/2) 2 ((1 - q) Phi(v) + q Phi(-v)) exp(v^2 / 2),
//
// and the product is g_i(e_i) g_j(-e_j). Log g is convex (a cumulant generating function) and smallest at
// some e < 0; so over all means with y.(mu_i - mu_j) <= 0, that is over e_i - e_j >= y.D-hat > 0, the
// product is smallest on the line of equality, and its logarithm E there is found by a line search. By
// Ville's inequality, if the claim is false, P(E >= L at any time) <= exp(-L).
//
// Without one covariance for all arms, or with missing values: capital.h.
#pragma once

#include "evidence/capital.h"

namespace psips {

inline constexpr double ASTRAY = 0.1;  // mass q of the shifts of the wrong sign: a far better known arm needs them

struct LogMixture {
    double value, slope, curvature;  // log g(e), its slope and about its curvature
};

inline LogMixture log_mixture(double N, double s, double e) {
    double top = -INF, total = 0.0, slope = 0.0, curve = 0.0;
    for (Index k = 0; k < MIXED; ++k) {
        const double root = N / (s * std::sqrt(N + RHOS[k])), v = root * e;
        const double sides = 2.0 * ASTRAY + (1.0 - 2.0 * ASTRAY) * std::erfc(-v * SQRT_HALF);
        const double one = LOG_WEIGHTS[k] + std::log(sides) + 0.5 * (v * v - std::log1p(N / RHOS[k]));
        const double tilt = (1.0 - 2.0 * ASTRAY) * 0.7978845608028654 * std::exp(-0.5 * v * v) / sides;
        if (one > top) {
            const double shrink = std::exp(top - one);
            total *= shrink;
            slope *= shrink;
            curve *= shrink;
            top = one;
        }
        const double share = std::exp(one - top);
        total += share;
        slope += share * root * (v + tilt);
        curve += share * root * root;
    }
    return {top + std::log(total), slope / total, curve / total};
}

// E of "i beats j" for arms with `first` and `second` results; a lower bound, 0 if none. `lead` is y.D-hat,
// s and t the standard deviations of y.x of one measurement of i and of j.
inline double mixture_evidence(double first, double second, double s, double t, double lead) {
    constexpr double TIGHT = 1e-3;  // nats to which the line search bounds its minimum from below
    if (lead <= 0.0 || first <= 0.0 || second <= 0.0) return 0.0;
    const double wide = RHOS[MIXED - 1];
    double low = -4.0 * s * std::sqrt(first + wide) / first;  // here g_i falls, and there g_j does
    double high = lead + 4.0 * t * std::sqrt(second + wide) / second;
    double e = lead * second / (first + second), best = 0.0;
    for (int round = 0; round < 100; ++round) {
        const LogMixture a = log_mixture(first, s, e), b = log_mixture(second, t, lead - e);
        const double slope = a.slope - b.slope;
        const double fall = slope > 0.0 ? slope * (e - low) : -slope * (high - e);
        best = a.value + b.value - fall;  // a convex function lies above its tangent
        if (fall < TIGHT) break;
        (slope > 0.0 ? high : low) = e;
        e -= slope / (a.curvature + b.curvature);
        if (e <= low || e >= high) e = 0.5 * (low + high);
    }
    return std::max(best, 0.0);
}

}  // namespace psips
