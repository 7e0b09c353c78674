// AdaHedge (de Rooij, van Erven, Grunwald, Koolen 2014), in gains.
//
// State: cumulative gains G (K,) and the cumulative mixability gap Delta, which sets the learning rate
// eta = log K / Delta. At Delta = 0 the rate is infinite and the weights are uniform on the leaders.
#pragma once

#include <cmath>

#include "array.h"

namespace psips {

// The weights to play next.
inline void hedge_weights(const Vec<double>& G, double gap, const Vec<double>& w) {
    const Index K = G.size();
    const double best = *std::max_element(G.begin(), G.end());
    double total = 0.0;
    if (gap <= 0.0) {
        for (Index k = 0; k < K; ++k) total += w[k] = G[k] == best ? 1.0 : 0.0;
    } else {
        const double eta = std::log(static_cast<double>(K)) / gap;
        for (Index k = 0; k < K; ++k) {
            const double behind = eta * (G[k] - best);
            total += w[k] = behind > -60.0 ? std::exp(behind) : 0.0;  // less adds nothing to a sum of 1
        }
    }
    for (Index k = 0; k < K; ++k) w[k] /= total;
}

// Take in the gains of a round in which `w` was played; the new Delta. The mix gain is
// log(sum w exp(eta g)) / eta; arms without gain need no exponential.
inline double hedge_feed(const Vec<double>& G, double gap, const Vec<double>& w, const Vec<double>& gains) {
    const Index K = G.size();
    double hedge = 0.0;
    for (Index k = 0; k < K; ++k) hedge += w[k] * gains[k];
    if (gap <= 0.0) {
        double before = G[0], after = G[0] + gains[0];
        for (Index k = 0; k < K; ++k) {
            before = std::max(before, G[k]);
            G[k] += gains[k];
            after = std::max(after, G[k]);
        }
        return gap + std::max(0.0, after - before - hedge);
    }
    if (K == 1) {
        G[0] += gains[0];
        return gap;
    }
    const double eta = std::log(static_cast<double>(K)) / gap;
    double top = 0.0;
    for (Index k = 0; k < K; ++k)
        if (w[k] > 0.0) top = std::max(top, gains[k]);
    double excess = 0.0;  // sum w (exp(eta (g - top)) - exp(-eta top))
    const double floor = std::exp(-eta * top);
    for (Index k = 0; k < K; ++k) {
        if (gains[k] != 0.0 && w[k] > 0.0) excess += w[k] * (std::exp(eta * (gains[k] - top)) - floor);
        G[k] += gains[k];
    }
    const double mix = top + std::log(std::max(floor + excess, 1e-300)) / eta;
    return gap + std::max(0.0, mix - hedge);
}

}  // namespace psips
