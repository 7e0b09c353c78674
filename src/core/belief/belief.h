// What the results say: counts, sums and the posterior N(theta, Sigma (x) V^-1).
//
// Without features everything is diagonal in the arms and theta holds their means. With features
// V = xi I + sum a a^T, and a factor F with F F^T = V^-1 is kept, both by rank-one updates. Without a
// regularisation (xi = 0, least squares) there is neither F nor theta before the arms with results span
// all arms: both are 0 until then.
#pragma once

#include "belief/fitted_noise.h"
#include "belief/moderation.h"

namespace psips {

inline constexpr Index REFACTOR_EVERY = 512;  // rank-one updates of F between two fresh factorisations
inline constexpr Index EARLY = 4;             // least squares: F is fresh with fewer results a feature,
inline constexpr double LEAP = 100.0;         // .. and where a result is worth more than this many before
inline constexpr double CLEAR = 1e-6;         // squared distance from the others' span that an arm must have

// Whether the arms with results span all arms: Gram-Schmidt, the longest remainder first.
inline bool spans(const Mat<const double>& frame, const Vec<const double>& pulls) {
    const Index K = frame.rows(), r = frame.cols();
    Table<double> rest(K, r);
    const auto inner = [&](Index a, Index b) {
        double total = 0.0;
        for (Index i = 0; i < r; ++i) total += rest(a, i) * rest(b, i);
        return total;
    };
    for (Index a = 0; a < K; ++a)
        if (pulls[a] > 0.0)
            for (Index i = 0; i < r; ++i) rest(a, i) = frame(a, i);
    for (Index round = 0; round < r; ++round) {
        Index longest = -1;
        double most = CLEAR;
        for (Index a = 0; a < K; ++a) {
            const double square = inner(a, a);
            if (square > most) longest = a, most = square;
        }
        if (longest < 0) return false;
        for (Index a = 0; a < K; ++a) {
            if (a == longest) continue;
            const double along = inner(a, longest);
            for (Index i = 0; i < r; ++i) rest(a, i) -= along / most * rest(longest, i);
        }
        rest[longest].fill(0.0);
    }
    return true;
}

inline bool is_least_squares(const Model& model) { return model.spanning.size() > 0; }

// Bring F and theta of a linear problem up to date with V, B and the pulls.
inline void refit(const Model& model, Belief& belief) {
    BeliefTally& tally = *belief.tally;
    tally.updates = 0;
    if (is_least_squares(model)) tally.spanned = spans(model.frame, belief.pulls) ? 1 : 0;
    if (model.xi > 0.0 || tally.spanned == 1) {
        factor_of_inverse(belief.V, belief.F);
        solve_by_factor(belief.F, belief.B, belief.theta);
    }
}

inline void count_result(Belief& belief, Index arm) {
    belief.pulls[arm] += 1.0;
    belief.N[arm] += 1.0;
    ++belief.tally->results;
}

// Take one complete result x (d,) into the mean of an arm, without features.
inline void average(Belief& belief, Index arm, const Vec<const double>& x) {
    count_result(belief, arm);
    for (Index c = 0; c < x.size(); ++c) {
        belief.B(arm, c) += x[c];
        belief.theta(arm, c) = belief.B(arm, c) / belief.N[arm];
    }
}

// F after one more result of an arm, V being up to date; false if the arms do not span all arms yet.
inline bool update_precision_factor(const Model& model, Belief& belief, Index arm) {
    BeliefTally& tally = *belief.tally;
    ++tally.updates;
    const bool careful = is_least_squares(model);  // otherwise older logs would not replay to the bit
    bool fresh = tally.updates >= REFACTOR_EVERY;
    if (careful) {
        fresh = fresh || tally.results < EARLY * model.h;
        if (tally.spanned == 0 && belief.pulls[arm] == 1.0 && spans(model.frame, belief.pulls)) {
            tally.spanned = 1;
            fresh = true;
        }
        if (tally.spanned == 0 && model.xi == 0.0) return false;
    }
    const auto accept = [&](double q) { return !(careful && q > LEAP); };
    if (fresh || !update_factor(belief.F, model.A[arm], accept)) {
        tally.updates = 0;
        factor_of_inverse(belief.V, belief.F);
    }
    return true;
}

// One result x (d,) of an arm; NaN where a value is missing.
inline void learn(const Model& model, Belief& belief, Index arm, const Vec<const double>& x) {
    NoiseEstimate& noise = *belief.noise_estimate;
    const bool is_estimated = noise.C.size() > 0;  // noise is estimated, or values are missing
    if (model.unstructured) {
        if (model.noise->partial)
            count_result(belief, arm);
        else
            average(belief, arm, x);
        if (is_estimated) take_in(*model.noise, noise, belief.N, arm, x, belief.theta);
        return;
    }
    count_result(belief, arm);
    const Vec<double> row = model.A[arm];
    for (Index i = 0; i < model.h; ++i) {
        for (Index j = 0; j < model.h; ++j) belief.V(i, j) += row[i] * row[j];
        for (Index c = 0; c < model.d; ++c) belief.B(i, c) += row[i] * x[c];
    }
    for (Index c = 0; c < model.d; ++c) belief.sums(arm, c) += x[c];
    const NoiseEstimator estimator(*model.noise, noise);
    if (is_estimated) estimator.take(arm, x);
    if (!update_precision_factor(model, belief, arm)) return;
    solve_by_factor(belief.F, belief.B, belief.theta);
    if (is_estimated) settle_fit(estimator, model.A, belief.pulls, belief.theta);
}

// Whether results suffice to judge. Without features: once every arm has one. With features: once the
// arms with results span all arms; at once with a regularisation that was asked for. Either: not before
// the noise is known well enough, nor before every answer's value of every exact metric is.
inline bool ready(const Model& model, const Belief& belief) {
    if (belief.tally->spanned != 1) return false;
    if (model.unstructured)
        for (Index a = 0; a < model.K; ++a)
            if (belief.pulls[a] == 0.0) return false;
    for (const double freedom : belief.noise_estimate->freedom)
        if (freedom < ENOUGH) return false;
    for (Index z = 0; z < model.facts.rows(); ++z)
        for (const double fact : model.facts[z])
            if (std::isnan(fact)) return false;
    return true;
}

}  // namespace psips
