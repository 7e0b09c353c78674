// Calibrations: the inflation c(t, delta), the budget M(t, delta) and the threshold beta(t, delta).
//
// `heuristic` and `proven` are the paper's; `sharp` was measured by simulation, not proven.
//
// With a tolerance the proofs stand. That of beta says how far theta_hat is from the truth, at all
// times: if S_hat is not right, the truth is in Alt(S_hat), and the likelihood ratio is below beta.
// That of the draws bounds the posterior mass of Alt(S_hat) from below, if the truth is in it, by
// the points whose leads in the half-spaces of one piece are at least those of the truth; offsets
// of the half-spaces do not enter.
#pragma once

#include <cmath>
#include <utility>

#include "records.h"

namespace psips {

inline constexpr double EULER = 2.718281828459045;
inline constexpr double PEELING = 2.0;                  // the exponent s > 1 of the peeling
inline constexpr double LOG_ZETA = 0.4977003024707453;  // log zeta(2) = log(pi^2 / 6)

// W-bar_{-1}(x) = -W_{-1}(-e^-x), x >= 1: the root w >= 1 of w - log w = x, by Newton's method.
inline double lambert_bar(double x) {
    if (x <= 1.0) return 1.0;
    double w = x + std::log(x) + std::min(0.5, 1.0 / std::sqrt(x));
    for (int round = 0; round < 60; ++round) {
        const double step = (w - std::log(w) - x) / (1.0 - 1.0 / w);
        w -= step;
        if (std::abs(step) <= 1e-14 * w) break;
    }
    return w;
}

// Lemma concentration_threshold at confidence delta = exp(-log_inverse).
inline double beta(const Model& model, const Calibration& calibration, double t, double log_inverse) {
    const double K = static_cast<double>(model.K), h = static_cast<double>(model.h), d = static_cast<double>(model.d);
    if (model.unstructured) {
        const double peel = std::log(1.0 + d / (2.0 * PEELING) * std::log(std::max(t, K) / K));
        const double terms = K * PEELING + K * LOG_ZETA + log_inverse;
        const double x = 2.0 / (d * K) * terms + 2.0 * PEELING / d * peel + 1.0;
        return 0.5 * d * K * lambert_bar(x);
    }
    const double volume = std::log(calibration.extent * t / (h * model.xi) + 1.0);
    const double root = std::sqrt(log_inverse + 0.5 * d * h * volume) + calibration.bias;
    return root * root;
}

// c after t results: draws have this many times the posterior's covariance.
inline double draw_inflation(const Model& model, const Calibration& calibration, double t) {
    t = std::max(t, EULER);
    switch (calibration.code) {
        case CalibrationCode::proven:
            return beta(model, calibration, t, calibration.log_inverse + std::log(2.0)) / calibration.log_inverse;
        case CalibrationCode::sharp: return 1.0;
        default: return 1.0 + std::log(std::log(t)) / calibration.log_inverse;
    }
}

// log M after t results, with so many answers in S_hat: so many draws without a hit prove the set.
inline double log_draw_budget(const Calibration& calibration, double t, Index members) {
    t = std::max(t, EULER);
    const double log_inverse = calibration.log_inverse;
    double log_m = 0.0;
    if (calibration.code == CalibrationCode::proven) {
        const double failures = log_inverse + std::log(2.0) + PEELING * std::log(t) + LOG_ZETA;
        log_m = std::log(failures) + log_inverse - calibration.log_q[members];
    } else {
        log_m = log_inverse + std::log(std::log(t) + log_inverse);
        if (calibration.code == CalibrationCode::sharp) log_m += std::log(calibration.kappa);
    }
    return log_m < 36.0 ? std::log(std::ceil(std::exp(log_m))) : log_m;  // whole draws, as far as a float can tell
}

// One step of Algorithm 2, "Estimate and Halve" (without features): the radius B.
//
// `estimate` holds p and C, 0 before the first step. They follow U and u only when these have
// fallen to half of them; as printed the comparison is the other way round, and the proof that B
// settles needs this one.
inline double radius_of_rewards(const Model& model, const Belief& belief, const Front& front,
                                const Calibration& calibration, double t, Spread& estimate) {
    const Index d = model.d;
    const Vec<Index> members = front.listed();
    const double width = std::sqrt(beta(model, calibration, t, 2.0 * std::log(t)));
    const Vec<double>& N = belief.N;
    const Mat<double>& theta = belief.theta;
    double u = 0.0, U = 0.0;
    Floats x(d);
    for (Index i = 0; i < model.K; ++i)
        for (Index j = -1; j < members.size(); ++j) {  // -1: the arm itself, not its lead over a member
            const Index other = j < 0 ? -1 : members[j];
            if (other == i) continue;
            double inverse = 1.0 / N[i];
            if (other >= 0) inverse += 1.0 / N[other];
            for (Index c = 0; c < d; ++c) x[c] = other < 0 ? theta(i, c) : theta(i, c) - theta(other, c);
            double square = 0.0;
            for (Index c = 0; c < d; ++c)
                for (Index e = 0; e < d; ++e) square += x[c] * model.P(c, e) * x[e];
            const double bound = width * std::sqrt(inverse) + std::sqrt(square);
            if (other < 0) {
                u = std::max(u, bound);
            } else {
                U = std::max(U, front.inside[i] ? bound : 2.0 * bound);
            }
        }
    if (estimate.spread == 0.0 || estimate.spread >= 2.0 * U) estimate.spread = U;
    if (estimate.centre == 0.0 || 2.0 * u <= estimate.centre) estimate.centre = u;
    return estimate.spread + estimate.centre;
}

}  // namespace psips
