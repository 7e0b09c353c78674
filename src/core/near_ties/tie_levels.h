// What the evidence must reach, by the near-ties around the nearest other truth.
//
// If the truth were the least favourable one near the data, how often would noise take the estimates into a
// wrong set that looks as sure as this one? The nearest point of a piece of the alternative is taken for the
// truth, with what is within KAPPA standard errors of a tie there made a tie (tie_structure.h): this structure
// has a rate at every level (tie_cone.h), and the evidence must reach the level at which the rate has fallen to
// what may be spent in an e-fold of measurements. More ties can make the rate smaller, too: the largest level
// counts of those of nested structures, which have the ties within KAPPA, 3/4, 1/2, 1/4 and 0 of it.
#pragma once

#include "near_ties/tie_rates.h"
#include "near_ties/tie_structure.h"

namespace psips {

inline constexpr double KAPPA = 2.0;  // standard errors within which something may be a tie
inline constexpr Index NESTED = 4;    // structures besides that of the exact ties

struct Wanted {
    double log_rate;  // that may be spent in an e-fold
    double lone;      // the level of a lone tie at that rate, which is the least
    double enough;    // a level above this need not be the largest
};

// The evidence that a piece must have against the set of members that are marked.
template <class P>
double level_with_ties(const P& p, const LimitModel& limits, const Vec<bool>& inside, const Piece& piece, const Wanted& wanted,
                       const TieRates& known) {
    Table<double> point(p.n, p.d);
    Ints members(p.n), arms(MOST_TIED);
    Index count = 0;
    for (Index a = 0; a < p.n; ++a) {
        if (inside[a]) members[count++] = a;
        for (Index c = 0; c < p.d; ++c) {
            double total = p.mu(a, c);
            for (Index k = 0; k < piece.m; ++k)
                if (piece.y[k] != 0.0) total += piece.y[k] * p.cov_with_mean(piece[k], a, c);
            point(a, c) = total;
        }
    }
    double level = wanted.lone;
    const Index readings = p.tolerant ? 2 : 1;  // of a lead that equals the tolerance
    for (Index turn = 0; turn < readings * (NESTED + 1) && level <= wanted.enough; ++turn) {
        const double share = static_cast<double>(NESTED - turn / readings) / static_cast<double>(NESTED);
        const Surroundings<P> around(p, limits, point, std::max(KAPPA * share, 1e-3), turn % readings == 0 ? 0.5 : 3.0);
        for (Index k = around.linked(members.first(count), piece, arms); k > 0; --k) {
            const TieStructure<P> ties(around, arms.first(k));
            if (!ties.fits()) continue;
            if (ties.has_ties()) level = level_of_rate(rates_of(*ties.cone(piece), known), wanted.log_rate, level);
            break;
        }
    }
    return level;
}

}  // namespace psips
