// At which rate wrong sets are entered at every level of evidence, for a cone of ties; kept for cones met before.
#pragma once

#include "near_ties/tie_cone.h"
#include "records.h"

namespace psips {

inline constexpr Index LEVELS_KEPT = 40;       // levels at which rates are kept, from 0.5 on
inline constexpr double LEVEL_GROWTH = 1.15;

inline double level_on_grid(Index i) { return 0.5 * power(LEVEL_GROWTH, i); }

// Logs of the rates at which wrong sets are entered at the levels of the grid: -c d/dc of the tail, in which the
// density f of chi2_m enters as x f(x) at x = c / g(u).
inline void tabulate_rates(const Vec<double>& squares, const Vec<double>& weights, Index m, const Vec<double>& rates) {
    const double half = 0.5 * static_cast<double>(m);
    for (Index i = 0; i < rates.size(); ++i) {
        const double c = level_on_grid(i);
        double total = 0.0;
        for (Index s = 0; s < squares.size(); ++s) {
            const double x = c / squares[s];
            total += weights[s] * std::exp(half * std::log(x) - x);
        }
        rates[i] = std::log(std::max(total, 1e-300)) - std::lgamma(half);
    }
}

// The level, `least` or more, at which the log rate has fallen to `wanted`.
inline double level_of_rate(const Vec<double>& rates, double wanted, double least) {
    const Index last = rates.size() - 1;
    Index i = last;
    while (i >= 0 && rates[i] <= wanted) --i;
    if (i < 0) return least;
    const double c = level_on_grid(i);
    if (i == last) return std::max(c + rates[i] - wanted, least);
    const double share = (rates[i] - wanted) / (rates[i] - rates[i + 1]);
    return std::max(c + share * (level_on_grid(i + 1) - c), least);
}

// A number that tells cones apart.
class ConeName {
public:
    explicit ConeName(const TieCone& cone) : name_(cone.tolerant ? 1 : 0) {
        for (const Index extent : {cone.k, cone.d, cone.m}) mix(static_cast<double>(extent));
        for (Index i = 0; i < cone.k; ++i) {
            for (Index j = 0; j < cone.k; ++j) {
                mix(cone.holds(i, j));
                mix(cone.beats(i, j));
                for (Index c = 0; c < cone.d; ++c) {
                    mix(cone.above(i, j, c));
                    mix(cone.order(i, j, c));
                    mix(cone.leads(i, j, c));
                }
            }
            for (Index c = 0; c < cone.d; ++c)
                for (Index q = 0; q < cone.m; ++q) mix(cone.at(i, c, q));
            for (Index l = 0; l < cone.L; ++l) {
                mix(cone.kept(i, l));
                mix(cone.keeps(i, l));
                for (Index q = 0; q < cone.m; ++q) mix(cone.limit(i, l, q));
            }
        }
    }
    Index number() const { return name_ + 1; }

private:
    static constexpr Index PRIME = 2147483647;
    void mix(double value) {
        const double part = std::min(9e15, std::max(-9e15, 1024.0 * value + 1048576.5));  // NaN: -9e15
        name_ = (name_ * 1000003 + static_cast<Index>(part)) % PRIME;
        if (name_ < 0) name_ += PRIME;
    }
    void mix(bool flag) { mix(flag ? 1.0 : 0.0); }
    void mix(Sign sign) { mix(static_cast<double>(static_cast<Index>(sign))); }
    Index name_;
};

// Logs of the rates of a cone at the levels of the grid; those of before if it is known.
inline Vec<double> rates_of(const TieCone& cone, const TieRates& known) {
    const Index name = ConeName(cone).number(), place = name % known.names.size();
    if (known.names[place] != name) {
        Floats squares(DIRECTIONS), weights(DIRECTIONS);
        const Index found = wrong_directions(cone, *known.stream, squares, weights);
        tabulate_rates(squares.first(found), weights.first(found), cone.m, known.rates[place]);
        known.names[place] = name;
    }
    return known.rates[place];
}

}  // namespace psips
