// What open verdicts lack: how wide their intervals are, and which further results would close them.
#pragma once

#include "evidence/closed_testing.h"

namespace psips {

inline constexpr double MOST_RESULTS = 1e9;  // of one arm; whatever needs more is not going to be settled
inline constexpr double ROUGH = 1e-3;        // relative error allowed in them
inline constexpr Index GROWTHS = 200;        // of an interval that is too short, at most
inline constexpr Index STEPS = 200;          // of the search for a number of results, at most

// Fewest results to add to two counts until 1 / N_i + 1 / N_j is at most `variance`.
inline double results_needed(double first, double second, double variance) {
    if (variance <= 0.0) return INF;
    const double even = 2.0 / variance, larger = std::max(first, second);
    if (even >= larger) return 2.0 * even - first - second;
    return std::max(1.0 / (variance - 1.0 / larger) - std::min(first, second), 0.0);
}

// The closed test with what people are shown of open verdicts.
class OpenVerdicts : public ClosedTest {
public:
    OpenVerdicts(const Model& model, const Belief& belief, const Front& front, double log_inverse, const Vec<const Index>& known)
        : ClosedTest(model, belief, front, log_inverse, known), objective(model.n), least(model.n), most(model.n),
          need(model.n), model_(model), belief_(belief), front_(front), tolerant_(is_tolerant(model)) {}

    // Of open verdicts: the objective in which answer and rival are to be told apart, the least and the most
    // that their difference in it can be, and the level that their claims are held to. The rival is the
    // `decisive` one without features and with one covariance; results of a linear problem bear on all
    // comparisons, so there it is the rival with the least evidence, or the most; and so it is where claims
    // are made by objective.
    Ints objective;
    Floats least, most, need;

    void describe_open() {
        run();
        for (Index z = 0; z < model_.n; ++z) {
            if (verdict[z] != OPEN) continue;
            if (model_.unstructured && !claims.by_objective()) {
                const Index x = decisive(z, front_.inside[z] ? level(ClaimKind::escapes) : level_either());
                if (x >= 0) rival[z] = x;
            }
            if (rival[z] >= 0) describe_pair(z, rival[z]);
        }
    }

private:
    void describe_pair(Index z, Index x) {
        const bool inside = front_.inside[z];
        need[z] = verdict[x] == IN ? level(ClaimKind::within) : level_either();
        if (inside) need[z] = level(ClaimKind::escapes);
        // a candidate needs one objective to be ahead in, the others are behind in each
        double best = -INF;
        for (Index c = 0; c < model_.d; ++c) {
            double lead = claims.value(z, c) - claims.value(x, c);
            lead += model_.slack[c] * (inside ? -1.0 : 1.0);
            lead /= spread_of(z, x, c);
            if (lead > best) best = lead, objective[z] = c;
        }
        const Index c = objective[z];
        if (claims.by_objective()) {
            const double spread = spread_of(z, x, c);
            least[z] = least_lead(model_, belief_, z, x, c, spread, need[z]);
            most[z] = -least_lead(model_, belief_, x, z, c, spread, need[z]);
        } else {
            const double lead = claims.value(z, c) - claims.value(x, c), width = half_width(z, x, c, need[z]);
            least[z] = lead - width, most[z] = lead + width;
        }
    }

    // What differences of two answers in c are compared with.
    double spread_of(Index i, Index j, Index c) const {
        if (!claims.by_objective()) return std::sqrt(model_.Sigma(c, c));
        const Cube<double>& C = belief_.noise_estimate->C;
        return std::sqrt(C(i, c, c) + C(j, c, c));
    }

    // How far D-hat_c can be from D_c, either side, before E reaches L.
    double half_width(Index i, Index j, Index c, double L) const {
        const double s = std::sqrt(model_.Sigma(c, c));
        if (!model_.unstructured) {
            const double spread = s * std::sqrt(2.0 * L + claims.log_volume());
            return std::sqrt(claims.squared_distance(i, j)) * (spread + std::sqrt(model_.xi) * model_.ball[c]);
        }
        const double first = belief_.N[i], second = belief_.N[j];
        const auto falls_short = [&](double width) { return mixture_evidence(first, second, s, s, width) < L; };
        const double unit = s * std::sqrt(2.0 * (1.0 / first + 1.0 / second));
        double low = unit * std::sqrt(std::max(L - LOG_FOUR, 0.0));  // E is at most (width / unit)^2 + log 4
        double high = unit * std::sqrt(L);
        for (Index k = 0; k < GROWTHS && falls_short(high); ++k) {
            low = high;
            high *= 1.5;
        }
        for (Index k = 0; k < BISECTIONS && !(high - low <= 1e-6 * high); ++k) {
            const double middle = 0.5 * (low + high);
            (falls_short(middle) ? low : high) = middle;
        }
        return high;
    }

    // The rival that decides how long an open verdict takes; -1 if the estimates do not tell. Of a candidate
    // z, which has to escape all: the one that takes the most results, as far as a test for one fixed time
    // shows. Of others, which one is enough to dominate: the one that takes the fewest.
    Index decisive(Index z, double L) const {
        const bool inside = front_.inside[z];
        const Index rows = inside ? claims.directions().rows() : model_.d;
        Floats scale(rows);  // variance along each row, times the nats it needs
        for (Index row = 0; row < rows; ++row)
            scale[row] = claims.variances()[row] * (row < model_.d ? L : L + LOG_FOUR);
        const Facts facts{model_.facts, model_.give};
        Index found = -1;
        double best = inside ? 0.0 : INF;
        for (Index x = 0; x < model_.n; ++x) {
            if (x == z || !(inside || front_.inside[x]) || (verdict[x] == OUT && !tolerant_)) continue;
            if (inside ? !facts.may_dominate_beyond(x, z) : !facts.may_dominate_within(x, z)) continue;
            const double total = results_needed(belief_.N[z], belief_.N[x], 0.5 * clearness(z, x, scale));
            if (inside ? total >= best && claims.escape(z, x, L) < L : total < best) best = total, found = x;
        }
        return found;
    }

    // Squared lead over variance for each nat: a candidate's largest over the rows, of others the least.
    double clearness(Index z, Index x, const Vec<double>& scale) const {
        const bool inside = front_.inside[z];
        double ratio = inside ? 0.0 : INF;
        for (Index row = 0; row < scale.size(); ++row) {
            double lead = 0.0;
            for (Index c = 0; c < model_.d; ++c) {
                const double ahead = belief_.theta(z, c) - belief_.theta(x, c);
                lead += claims.directions()(row, c) * ((inside ? ahead : -ahead) - model_.slack[c]);
            }
            lead = std::max(lead, 0.0);
            const double found = lead * lead / scale[row];
            ratio = inside ? std::max(ratio, found) : std::min(ratio, found);
        }
        return ratio;
    }

    const Model& model_;
    const Belief& belief_;
    const Front& front_;
    bool tolerant_;
};

// How many further results settle a comparison, if the estimates stay as they are.
class Forecast {
public:
    // `trial` is a copy of `belief`, changed in the course.
    Forecast(const Model& model, const Belief& belief, Belief& trial)
        : model_(model), belief_(belief), trial_(trial), claims_(model, trial) {}

    // For an open answer z and its rival x, whose claims are held to L: `arms` are distinct arms, `weights`
    // the counts that suit the comparison best up to a common factor. With the counts raised to the least
    // multiple of the weights, not lowered where they are above, the claims hold. `extra` becomes what that
    // adds to each arm, zeros where no number of results is enough.
    void settle(bool inside, Index z, Index x, double L, const Vec<const Index>& arms, const Vec<const double>& weights,
                const Vec<Index>& extra) {
        double low = INF, top = 0.0;  // up to `low` nothing is added
        for (Index k = 0; k < arms.size(); ++k)
            if (weights[k] > 0.0) {
                low = std::min(low, belief_.N[arms[k]] / weights[k]);
                top = std::max(top, weights[k]);
            }
        // The claims' evidence is convex in the counts: once enough, more is enough as well.
        double high = INF, step = 1.0 / top, reach = low + step;
        for (Index round = 0; round < STEPS; ++round) {
            const double most = raise_counts(arms, weights, reach, extra);
            if (holds(inside, z, x, L))
                high = reach;
            else if (most > MOST_RESULTS)
                break;
            else
                low = reach;
            if (high == INF) {
                step *= 4.0;
                reach += step;
            } else if ((high - low) * top > std::max(0.5, ROUGH * most)) {
                reach = 0.5 * (low + high);
            } else {
                break;
            }
        }
        if (high < INF) raise_counts(arms, weights, high, extra);
        for (Index k = 0; k < arms.size(); ++k) {
            trial_.N[arms[k]] = belief_.N[arms[k]];
            if (high == INF) extra[k] = 0;
        }
    }

private:
    // Whether a candidate z escapes x, or x dominates any other z, at L.
    bool holds(bool inside, Index z, Index x, double L) {
        claims_.refresh();
        return (inside ? claims_.escape(z, x, L) : claims_.dominance(x, z, L)) >= L;
    }

    // Make of the trial the belief with no count below `reach` times its weight; the largest number added.
    double raise_counts(const Vec<const Index>& arms, const Vec<const double>& weights, double reach,
                        const Vec<Index>& extra) {
        double most = 0.0;
        for (Index k = 0; k < arms.size(); ++k) {
            const Index a = arms[k];
            const double added = std::max(std::floor(reach * weights[k] - belief_.N[a] + 0.5), 0.0);
            extra[k] = added < 9e18 ? static_cast<Index>(added) : 0;
            trial_.N[a] = belief_.N[a] + added;
            most = std::max(most, added);
        }
        if (model_.unstructured) return most;
        for (Index i = 0; i < model_.h; ++i)
            for (Index j = 0; j < model_.h; ++j) {
                double total = belief_.V(i, j);
                for (Index k = 0; k < arms.size(); ++k)
                    total += static_cast<double>(extra[k]) * model_.A(arms[k], i) * model_.A(arms[k], j);
                trial_.V(i, j) = total;
            }
        factor_of_inverse(trial_.V, trial_.F);
        return most;
    }

    const Model& model_;
    const Belief& belief_;
    Belief& trial_;
    PairClaims claims_;
};

}  // namespace psips
