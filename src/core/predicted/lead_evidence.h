// Evidence that an estimated lead gives for a claim "f > 0": the likelihood ratio averaged over a law of
// shifts that was fixed in advance. The law and the proof are in claims.h.
#pragma once

#include <cmath>

#include "array.h"

namespace psips {

inline constexpr double TIGHT = 1e-3;  // nats to which the least evidence is found

// Of the shift u = D r + eta: D ~ N(centre, square) given D > 0, eta ~ N(0, kappa (diag(q) - q q' / 1'q)).
struct ShiftLaw {
    double centre, square, kappa;
};

struct LogAverage {
    double value, slope;
};

// psi(A), the log of the mean over D of exp(D A - D^2 B / 2), and its slope.
inline LogAverage log_average(double A, double B, const ShiftLaw& law) {
    const double shrink = 1.0 + B * law.square, width = std::sqrt(law.square / shrink);
    const double u = (A + law.centre / law.square) * width;
    double value = -0.5 * (std::log(shrink) + law.centre * law.centre / law.square), hazard;
    value -= std::log(std::erfc(-law.centre / std::sqrt(2.0 * law.square)));
    if (u > -8.0) {
        const double tail = std::erfc(-u * 0.7071067811865476);
        value += std::log(tail) + 0.5 * u * u;
        hazard = 0.7978845608028654 * std::exp(-0.5 * u * u) / tail;
    } else {  // the tail's series
        const double p = 1.0 / (u * u), series = 1.0 - p * (1.0 - 3.0 * p * (1.0 - 5.0 * p));
        value += std::log(0.7978845608028654 / -u * series);
        hazard = -u / series;
    }
    return {value, (u + hazard) * width};
}

// What the least evidence depends on besides the lead and the law.
struct LeadSums {
    double v = 0.0;            // 1'v
    double q = 0.0;            // 1'q
    double off = 0.0;          // sum of v_a^2 / q_a
    double B = 0.0;            // r'W r
    double determinant = 0.0;  // log det(I + V^-1 R)
};

// Least log E over all theta with f <= 0; a lower bound, tight to TIGHT.
inline double least_evidence(const LeadSums& sums, double lead, const ShiftLaw& law) {
    const double A = lead / sums.v, B = sums.B;
    const double h = std::max((sums.off / (sums.v * sums.v) - 1.0 / sums.q) / law.kappa + 1.0 / sums.v - B, 0.0);
    const double slope = law.square / (1.0 + B * law.square);
    double at = 0.0, best = -INF;
    for (int step = 0; step < 12; ++step) {
        const LogAverage psi = log_average(A - h * at, B, law);
        const double miss = at - psi.slope;
        best = std::max(best, 0.5 * h * (at * at - miss * miss) + psi.value);
        if (0.5 * h * miss * miss < TIGHT) break;
        at -= miss / (1.0 + h * slope);
    }
    return best - 0.5 * sums.determinant;
}

// The same from the variances of the parts of f: v (A,) as they are, q (A,) as they are expected at the stop.
inline double lead_evidence(const Vec<double>& v, const Vec<double>& q, double lead, const ShiftLaw& law) {
    if (lead <= 0.0) return -INF;
    LeadSums sums;
    double left = 0.0, squares = 0.0;
    for (Index a = 0; a < v.size(); ++a) {
        const double both = v[a] + law.kappa * q[a];
        sums.v += v[a];
        sums.q += q[a];
        left += q[a] * v[a] / both;
        squares += q[a] * q[a] / both;
        sums.off += v[a] * v[a] / q[a];
        sums.determinant += std::log(both / v[a]);
    }
    left /= sums.q;  // 1 - kappa q'(V + kappa Q)^-1 q / 1'q
    sums.determinant += std::log(left);
    sums.B = squares / (sums.q * sums.q * left);
    return least_evidence(sums, lead, law);
}

}  // namespace psips
