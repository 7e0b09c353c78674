// Student's law: its tail, by the incomplete beta function, and its quantiles.
#pragma once

#include <numbers>

#include "array.h"

namespace psips {

// The continued fraction of the incomplete beta function I_x(a, b), by Lentz's method; x below
// (a + 1) / (a + b + 2), where it converges fast.
inline double beta_fraction(double a, double b, double x) {
    constexpr double TINY = 1e-300;
    const auto nonzero = [](double v) { return std::abs(v) < TINY ? TINY : v; };
    double c = 1.0, d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0)), found = d;
    for (int m = 1; m <= 2000; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0));
        for (const double step : {even, odd}) {
            d = 1.0 / nonzero(1.0 + step * d);
            c = nonzero(1.0 + step / c);
            found *= d * c;
        }
        if (std::abs(d * c - 1.0) < 1e-15) break;
    }
    return found;
}

// log Gamma(a + 1/2) - log Gamma(a); by its expansion where the difference would lose digits.
inline double log_gamma_step(double a) {
    if (a < 1e3) return std::lgamma(a + 0.5) - std::lgamma(a);
    return 0.5 * std::log(a) - 1.0 / (8.0 * a) + 1.0 / (192.0 * a * a * a);
}

// P(T > t) for t >= 0: half of I_x(a, 1/2), a = freedom / 2, x = freedom / (freedom + t^2).
inline double students_tail(double freedom, double t) {
    const double a = 0.5 * freedom, y = t * t / (freedom + t * t), x = freedom / (freedom + t * t);
    if (!(y > 0.0)) return 0.5;
    const double log_front = a * (y < 0.5 ? std::log1p(-y) : std::log(x)) + 0.5 * std::log(y) + log_gamma_step(a) -
                             0.5 * std::log(std::numbers::pi);
    if (x < (a + 1.0) / (a + 2.5)) return 0.5 * std::exp(log_front) * beta_fraction(a, 0.5, x) / a;
    return 0.5 - std::exp(log_front) * beta_fraction(0.5, a, y);
}

// The t that is exceeded with the probability p, 0 < p < 1/2.
inline double students_quantile(double freedom, double p) {
    double low = 0.0, high = 1.0;
    for (int k = 0; k < 1000 && students_tail(freedom, high) > p; ++k) low = high, high *= 2.0;
    for (int k = 0; k < 200 && high - low > 1e-15 * high; ++k) {
        const double middle = 0.5 * (low + high);
        (students_tail(freedom, middle) > p ? low : high) = middle;
    }
    return 0.5 * (low + high);
}

}  // namespace psips
