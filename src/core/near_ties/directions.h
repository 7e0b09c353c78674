// Directions on a sphere, evenly or around the ties, with their weights.
//
// Far out a direction counts if it is nearly along one of the ties. So directions are not drawn uniformly for
// m > 3, but around the ties, and weighted (balance heuristic): t = cos(angle) to a tie picked in turn has
// t^2 ~ Beta(9/2, (m - 1)/2) instead of Beta(1/2, (m - 1)/2).
#pragma once

#include <numbers>

#include "linalg.h"
#include "random.h"

namespace psips {

inline constexpr Index DIRECTIONS = 1024;
inline constexpr Index AROUND = 9;  // degrees of freedom of the square of the length along a tie
inline constexpr Index UNIFORM = 8; // one direction in so many is uniform

// x^n for n >= 0, by squaring.
inline double power(double x, Index n) {
    double result = 1.0;
    for (; n > 0; n >>= 1) {
        if (n & 1) result *= x;
        x *= x;
    }
    return result;
}

inline double squared_length(const Vec<double>& v) {
    double total = 0.0;
    for (const double x : v) total += x * x;
    return total;
}

// Give a vector the length 1; 0 if it has no direction, else 1.
inline Index normalise(const Vec<double>& v) {
    const double length = squared_length(v);
    if (length <= 0.0) return 0;
    for (double& x : v) x /= std::sqrt(length);
    return 1;
}

// For m > 3: one in UNIFORM uniformly, the others around the ties. The same for every cone of this size.
inline void directions_around(const Mat<double>& ties, Stream& stream, const Mat<double>& u, const Vec<double>& weight) {
    constexpr std::uint64_t step = 0x9E3779B97F4A7C15;
    const Index N = u.rows(), m = u.cols(), J = ties.rows(), plain = N / UNIFORM;
    std::uint64_t words[4];
    for (Index i = 0; i < 4; ++i) words[i] = step * static_cast<std::uint64_t>(2 * i + m);
    stream.set(words);
    for (Index i = 0; i < 64; ++i) stream.uniform();  // until its bits are mixed
    const double half = 0.5 * static_cast<double>(m - 1), around = 0.5 * static_cast<double>(AROUND);
    double ratio = std::lgamma(0.5) - std::lgamma(0.5 + half);
    ratio = 2.0 * std::exp(ratio - std::lgamma(around) + std::lgamma(around + half));
    for (Index s = 0; s < N; ++s) {
        const Index tie = std::min(static_cast<Index>(stream.uniform() * static_cast<double>(J)), J - 1);
        const double side = s % 2 == 0 ? 1.0 : -1.0;
        double along = 0.0, length = 0.0;
        for (Index i = 0; i < m; ++i) {
            u(s, i) = stream.normal();
            along += u(s, i) * ties(tie, i);
        }
        if (s >= plain) {
            for (Index i = 0; i < AROUND; ++i) {
                const double g = stream.normal();
                length += g * g;
            }
            for (Index i = 0; i < m; ++i) u(s, i) += (side * std::sqrt(length) - along) * ties(tie, i);
        }
        length = squared_length(u[s]);
        for (Index i = 0; i < m; ++i) u(s, i) /= std::sqrt(length);
        double drawn = 0.0;
        for (Index j = 0; j < J; ++j) {
            double cosine = 0.0;
            for (Index i = 0; i < m; ++i) cosine += u(s, i) * ties(j, i);
            drawn += ratio * power(std::abs(cosine), AROUND - 1) / 2.0;
        }
        const double n_plain = static_cast<double>(plain), others = static_cast<double>(N - plain);
        weight[s] = 1.0 / (n_plain + others * drawn / static_cast<double>(J));
    }
}

// Write directions of length 1 into `u` (DIRECTIONS, m), and weights that sum to 1; how many there are.
inline Index spread_directions(const Mat<double>& ties, Stream& stream, const Mat<double>& u, const Vec<double>& weight) {
    const Index m = u.cols();
    if (m == 1) {
        u(0, 0) = -1.0;
        u(1, 0) = 1.0;
        weight[0] = weight[1] = 0.5;
        return 2;
    }
    const double N = static_cast<double>(DIRECTIONS);
    if (m > 3) {
        directions_around(ties, stream, u, weight);
        return DIRECTIONS;
    }
    const double golden = std::numbers::pi * (3.0 - std::sqrt(5.0));  // angle between neighbours of a spiral
    for (Index s = 0; s < DIRECTIONS; ++s) {
        const double at = static_cast<double>(s);
        weight[s] = 1.0 / N;
        if (m == 2) {
            const double angle = 2.0 * std::numbers::pi * (at + 0.5) / N;
            u(s, 0) = std::cos(angle);
            u(s, 1) = std::sin(angle);
        } else {
            const double angle = golden * at, height = 1.0 - (2.0 * at + 1.0) / N;
            const double across = std::sqrt(1.0 - height * height);
            u(s, 0) = across * std::cos(angle);
            u(s, 1) = across * std::sin(angle);
            u(s, 2) = height;
        }
    }
    return DIRECTIONS;
}

}  // namespace psips
