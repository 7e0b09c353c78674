// Tails and quantiles of the normal, gamma and beta laws, and so of chi-square, Student's and F.
#pragma once

#include <cmath>
#include <numbers>
#include <utility>

#include "array.h"

namespace psips {

inline constexpr Index TERMS = 1'000'000;  // of a series or fraction, at most; it takes about 10 sqrt(a)

// Both tails of a law; the smaller has all its digits.
struct Tails {
    double below, above;
};

// log Gamma(n + 1) less Stirling's formula for it.
inline double stirling_rest(double n) {
    if (n < 16.0) return std::lgamma(n + 1.0) - (n + 0.5) * std::log(n) + n - 0.5 * std::log(2.0 * std::numbers::pi);
    const double square = n * n;
    return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 / square) / square) / square) / square) / n;
}

// x log(x / m) + m - x, without loss of digits where x is next to m (Loader 2000).
inline double deviance(double x, double m) {
    const double v = (x - m) / (x + m);
    if (!(std::abs(v) < 0.1)) return x * std::log(x / m) + m - x;
    double power = 2.0 * x * v, total = (x - m) * v;
    for (int j = 3; j < 41; j += 2) total += (power *= v * v) / j;
    return total;
}

inline constexpr double NEARLY_ZERO = 1e-300;  // instead of 0, by which nothing can be divided

// A continued fraction b_0 + a_1 / (b_1 + a_2 / ...), by Lentz's method: `next(k)` returns a_k and b_k.
template <class Next>
double continued_fraction(double first, const Next& next) {
    const auto nonzero = [](double v) { return std::abs(v) < NEARLY_ZERO ? NEARLY_ZERO : v; };
    double found = nonzero(first), c = found, d = 0.0;
    for (Index k = 1; k <= TERMS; ++k) {
        const auto [a, b] = next(static_cast<double>(k));
        d = 1.0 / nonzero(b + a * d);
        c = nonzero(b + a / c);
        found *= c * d;
        if (std::abs(c * d - 1.0) < 1e-16) break;
    }
    return found;
}

// The gamma law of shape a at x: its series below a + 1, its continued fraction above.
inline Tails gamma_tails(double a, double x) {
    if (!(x > 0.0)) return {0.0, 1.0};
    if (x == INF) return {1.0, 0.0};
    const double front = std::exp(-stirling_rest(a) - deviance(a, x)) / std::sqrt(2.0 * std::numbers::pi * a);
    if (x < a + 1.0) {  // front = x^a e^-x / Gamma(a + 1)
        double term = 1.0, total = 1.0;
        for (Index k = 1; k <= TERMS && term > 1e-17 * total; ++k) total += term *= x / (a + static_cast<double>(k));
        return {front * total, 1.0 - front * total};
    }
    const auto next = [&](double k) { return std::pair{-k * (k - a), x + 2.0 * k + 1.0 - a}; };
    const double above = front * a / continued_fraction(x + 1.0 - a, next);
    return {1.0 - above, above};
}

// The beta law of shapes a and b below x = 1 - y, by a fraction that converges fast up to about the mean.
inline double beta_below(double a, double b, double x, double y) {
    const double n = a + b;
    const double rest = stirling_rest(n) - stirling_rest(a) - stirling_rest(b) - deviance(a, n * x) - deviance(b, n * y);
    const double front = std::exp(rest) * std::sqrt(b / (2.0 * std::numbers::pi * a * n));  // x^a y^b / (a B(a, b))
    const auto next = [&](double k) {
        const double m = std::floor(0.5 * k), at = a + k - 1.0;
        const double top = k == 2.0 * m ? m * (b - m) * x : -(a + m) * (n + m) * x;
        return std::pair{top / (at * (at + 1.0)), 1.0};
    };
    return front / continued_fraction(1.0, next);
}

inline Tails beta_tails(double a, double b, double x, double y) {
    if (!(x > 0.0)) return {0.0, 1.0};
    if (!(y > 0.0)) return {1.0, 0.0};
    if (x > (a + 1.0) / (a + b + 2.0)) {
        const double above = beta_below(b, a, y, x);
        return {1.0 - above, above};
    }
    const double below = beta_below(a, b, x, y);
    return {below, 1.0 - below};
}

inline Tails normal_tails(double z) {
    const double above = 0.5 * std::erfc(std::abs(z) * std::numbers::sqrt2 / 2.0);
    return z < 0.0 ? Tails{above, 1.0 - above} : Tails{1.0 - above, above};
}
inline Tails chi_square_tails(double freedom, double x) { return gamma_tails(0.5 * freedom, 0.5 * x); }
inline Tails students_tails(double freedom, double t) {
    const double whole = freedom + t * t;
    const double above = 0.5 * beta_tails(0.5 * freedom, 0.5, freedom / whole, t * t / whole).below;
    return t < 0.0 ? Tails{above, 1.0 - above} : Tails{1.0 - above, above};
}
inline Tails f_tails(double above, double below, double ratio) {  // the degrees of freedom of both
    if (ratio <= 0.0) return {0.0, 1.0};
    const double whole = above * ratio + below;
    if (whole == INF) return {1.0, 0.0};
    return beta_tails(0.5 * above, 0.5 * below, above * ratio / whole, below / whole);
}

// The x > 0 at which a decreasing function has the value p.
template <class F>
double inverse(const F& falling, double p) {
    double low = 1.0, high = 1.0;
    for (int k = 0; k < 1000 && falling(high) > p; ++k) low = high, high *= 2.0;
    for (int k = 0; k < 1000 && falling(low) < p; ++k) high = low, low *= 0.5;
    for (int k = 0; k < 200; ++k) {
        const double middle = 0.5 * (low + high);
        if (!(middle > low && middle < high)) break;
        (falling(middle) > p ? low : high) = middle;
    }
    return 0.5 * (low + high);
}

// The x > 0 of which the law `tails` has p above, by the smaller of its tails.
template <class Law>
double quantile(const Law& tails, double p) {
    if (p <= 0.0 || p >= 1.0) return p <= 0.0 ? INF : 0.0;
    if (p <= 0.5) return inverse([&](double x) { return tails(x).above; }, p);
    return inverse([&](double x) { return -tails(x).below; }, p - 1.0);
}

// What has the probability p above: of a law around 0, by the probability |p - 1/2| between it and 0.
template <class Law>
double symmetric_quantile(const Law& tails, double p) {
    if (p == 0.5 || p <= 0.0 || p >= 1.0) return p == 0.5 ? 0.0 : p <= 0.0 ? INF : -INF;
    const double tail = std::min(p, 1.0 - p);
    const double size = inverse([&](double x) { return tails(x).above; }, tail);
    return p < 0.5 ? size : -size;
}
inline double normal_quantile(double p) {
    if (std::abs(p - 0.5) > 0.25) return symmetric_quantile(normal_tails, p);
    if (p == 0.5) return 0.0;
    const auto falling = [](double z) { return -0.5 * std::erf(z * std::numbers::sqrt2 / 2.0); };
    return std::copysign(inverse(falling, -std::abs(p - 0.5)), 0.5 - p);
}
inline double students_quantile(double freedom, double p) {
    return symmetric_quantile([&](double t) { return students_tails(freedom, t); }, p);
}
inline double chi_square_quantile(double freedom, double p) {
    return quantile([&](double x) { return chi_square_tails(freedom, x); }, p);
}
inline double beta_quantile(double a, double b, double p) {  // by the odds x / (1 - x)
    if (p <= 0.0) return 1.0;
    const double odds = quantile([&](double o) { return beta_tails(a, b, o / (1.0 + o), 1.0 / (1.0 + o)); }, p);
    return odds / (1.0 + odds);
}

}  // namespace psips
