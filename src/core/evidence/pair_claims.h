// What the data prove of two answers, at every time and under any sampling: that one dominates the other,
// or that it escapes it.
//
// The claim "answer i beats answer j along y up to the tolerance epsilon" is y.(mu_i - mu_j + epsilon) > 0;
// what is tested is another number than 0, and the lead y.D-hat grows by y.epsilon. Nothing else changes, as
// the law of the estimates does not depend on what is tested. "x dominates z" claims it of each objective,
// "z escapes x" of some direction: each objective, each two of them together, and all. Evidence of one
// claim: mixture.h, or capital.h where noise is not one covariance for all arms, or values are missing.
//
// Linear problems: the self-normalised bound of theta y, with the parameter bound B, holds for all pairs at
// once: 2 E = (y.D-hat / ||x - z||_{V^-1} - sqrt(xi) B)^2 / s^2 - log det(V / xi).
//
// What follows from all claims together: closed_testing.h.
#pragma once

#include "constraint.h"
#include "evidence/mixture.h"
#include "linalg.h"

namespace psips {

inline const double LOG_FOUR = 2.0 * std::log(2.0);

// Directions y (m, d): each objective, each two of them together, and all.
inline Index count_directions(Index d) { return d + d * (d - 1) / 2 + (d > 2 ? 1 : 0); }
inline void set_directions(const Mat<const double>& Sigma, const Mat<double>& Y) {
    const Index d = Y.cols();
    for (Index c = 0; c < d; ++c) Y(c, c) = 1.0;
    Index row = d;
    for (Index c = 0; c < d; ++c)
        for (Index e = 0; e < c; ++e) {
            Y(row, c) = 1.0 / std::sqrt(Sigma(c, c));
            Y(row++, e) = 1.0 / std::sqrt(Sigma(e, e));
        }
    if (d > 2)
        for (Index c = 0; c < d; ++c) Y(row, c) = 1.0 / std::sqrt(Sigma(c, c));
}

class PairClaims {
public:
    PairClaims(const Model& model, const Belief& belief)
        : model_(model), belief_(belief), facts_{model.facts, model.give}, by_objective_(claims_by_objective(model)),
          Y_(by_objective_ ? model.d : count_directions(model.d), model.d), variance_(Y_.rows()) {
        look_along();
        refresh();
    }

    const Mat<double>& directions() const { return Y_; }  // (m, d) that "z escapes x" looks along
    const Vec<double>& variances() const { return variance_; }  // (m,) of one measurement along each
    bool by_objective() const { return by_objective_; }
    double log_volume() const { return volume_; }  // log det(V / xi) of a linear problem, 0 otherwise

    // After V has changed.
    void refresh() {
        if (model_.unstructured) return;
        Table<double> L(model_.h, model_.h);
        cholesky(belief_.V, model_.h, L);
        volume_ = -static_cast<double>(model_.h) * std::log(model_.xi);
        for (Index i = 0; i < model_.h; ++i) volume_ += 2.0 * std::log(L(i, i));
    }

    // Estimate of an answer in an objective.
    double value(Index a, Index c) const {
        if (model_.unstructured) return belief_.theta(a, c);
        double total = 0.0;
        for (Index i = 0; i < model_.h; ++i) total += model_.Z(a, i) * belief_.theta(i, c);
        return total;
    }

    // ||z_i - z_j||^2 in V^-1.
    double squared_distance(Index i, Index j) const {
        double square = 0.0;
        for (Index k = 0; k < model_.h; ++k) {
            double along = 0.0;
            for (Index f = 0; f < model_.h; ++f) along += (model_.Z(i, f) - model_.Z(j, f)) * belief_.F(f, k);
            square += along * along;
        }
        return square;
    }

    // E of "x dominates z": the least over the objectives; 0 if an exact metric says no. Where it is below
    // `enough`, some such value.
    double dominance(Index x, Index z, double enough) const {
        if (!facts_.may_dominate_within(x, z)) return 0.0;
        double least = INF;
        for (Index c = 0; c < model_.d && least != 0.0; ++c) least = std::min(least, along(c, x, z, enough));
        return least;
    }

    // E of "x does not dominate z": the most over the directions, of which those that combine objectives
    // are held to log 4 more; infinite if an exact metric says so.
    double escape(Index z, Index x, double enough) const {
        if (!facts_.may_dominate_beyond(x, z)) return INF;
        double most = 0.0;
        for (Index row = 0; row < Y_.rows(); ++row) {
            const double spare = row < model_.d ? 0.0 : LOG_FOUR;
            most = std::max(most, along(row, z, x, enough + spare) - spare);
            if (most >= enough) break;
        }
        return most;
    }

private:
    void look_along() {
        if (by_objective_) {
            for (Index c = 0; c < model_.d; ++c) Y_(c, c) = 1.0;
            return;
        }
        set_directions(model_.Sigma, Y_);
        for (Index k = 0; k < Y_.rows(); ++k)
            for (Index c = 0; c < model_.d; ++c)
                for (Index e = 0; e < model_.d; ++e)
                    if (Y_(k, c) != 0.0) variance_[k] += Y_(k, c) * Y_(k, e) * model_.Sigma(c, e);
    }

    // E of "i beats j along a direction"; where it is below `enough`, some such value.
    double along(Index row, Index i, Index j, double enough) const {
        if (by_objective_) return two_capitals(model_, belief_, i, j, row).evidence(model_.slack[row], enough);
        double lead = 0.0;
        for (Index c = 0; c < model_.d; ++c)
            if (Y_(row, c) != 0.0) lead += Y_(row, c) * (value(i, c) - value(j, c) - model_.slack[c]);
        if (lead <= 0.0) return 0.0;
        return model_.unstructured ? of_arms(row, i, j, lead, enough) : of_features(row, i, j, lead);
    }

    double of_arms(Index row, Index i, Index j, double lead, double enough) const {
        const double first = belief_.N[i], second = belief_.N[j], variance = variance_[row];
        if (first == 0.0 || second == 0.0) return 0.0;
        const double most = 0.5 * lead * lead / (variance * (1.0 / first + 1.0 / second)) + LOG_FOUR;
        if (most < enough) return most * enough / (enough + LOG_FOUR + 4.0);  // for people to read only
        const double s = std::sqrt(variance);
        return mixture_evidence(first, second, s, s, lead);
    }

    double of_features(Index row, Index i, Index j, double lead) const {
        if (model_.kind != ParameterSet::ball) return 0.0;
        double bound = 0.0;
        for (Index c = 0; c < model_.d; ++c) bound += Y_(row, c) * model_.ball[c];
        const double spread = std::sqrt(std::max(squared_distance(i, j), 1e-300));
        const double clear = lead / spread - std::sqrt(model_.xi) * bound;
        if (clear <= 0.0) return 0.0;
        return std::max(0.5 * (clear * clear / variance_[row] - volume_), 0.0);
    }

    const Model& model_;
    const Belief& belief_;
    Facts facts_;
    bool by_objective_;
    Table<double> Y_;
    Floats variance_;
    double volume_ = 0.0;
};

}  // namespace psips
