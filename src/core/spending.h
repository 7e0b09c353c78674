// What the likelihood ratio must exceed, and how delta is spent.
//
// With beta(t, delta) of Lemma concentration_threshold the truth is nearer than that at all times with
// probability 1 - delta (`proven`). `heuristic` is log(1/delta) + log log(1 + t).
//
// `measured` bounds how often a wrong set is entered. In log time the errors of the estimates are a stationary
// process: each e-fold of measurements adds the same risk at the same level. So delta is spent over e-folds:
// with x the log of the measurements, at a rate of
//
//     r(x) = SPENT delta / E     between x = low and x = high, and falling on either side, as
//     1 / (1 + (distance / WIDTH)^2)^TAIL,
//
// E the e-folds that this amounts to. Each piece of the alternative must have the evidence at which the rate of
// entries into wrong sets, at the least favourable truth near it, has fallen to r (near_ties/). For a lone tie
// the rate at level c is (c / 4 pi)^(1/2) exp(-c). The rate counts every entry, and looks come at intervals, so
// that errors are fewer than what is spent: integrating how often such a rule errs says so, and SPENT makes
// that delta.
//
// The measurements that count early are those that inform the piece: among hundreds of options two have few
// while there are many in all.
#pragma once

#include <numbers>

#include "thresholds.h"

namespace psips {

inline constexpr double SPENT = 1.2;  // of delta by the rate of entries, of which a wrong stop is not each
inline constexpr double WIDTH = 2.0, TAIL = 2.0;  // how spending falls before and after the e-folds expected
inline constexpr Index LOOKS_PER_EFOLD = 200;   // looks while the measurements grow e-fold

// Whether to look after t results, of which `fresh` were not judged.
//
// The first LOOKS_PER_EFOLD results are looked at one by one, later ones about LOOKS_PER_EFOLD times while they grow e-fold, and
// always at the end of a table that spans such a time. From LOOKS_PER_EFOLD^2 on a period of 1 + t / LOOKS_PER_EFOLD would have no
// multiple among the results that have it.
inline bool is_time(Index t, Index fresh) {
    Index period = 1 + std::max(t, Index{0}) / LOOKS_PER_EFOLD;
    if (period > LOOKS_PER_EFOLD) {
        Index power = LOOKS_PER_EFOLD;
        while (2 * power <= period) power *= 2;
        period = power;
    }
    const Index before = t - fresh;  // rounded down, though it may be negative
    return t / period > before / period - (before % period < 0 ? 1 : 0);
}

// Log of what is spent in an e-fold after t results, of which some inform a piece.
inline double log_spent(const Calibration& calibration, double informing, double t) {
    const double early = std::max(calibration.low - std::log(std::max(informing, 1.0)), 0.0) / WIDTH;
    const double late = std::max(std::log(std::max(t, 1.0)) - calibration.high, 0.0) / WIDTH;
    const double fall = std::log1p(early * early) + std::log1p(late * late);
    return calibration.log_rate - TAIL * fall;
}

// Log of the rate at which delta is spent between two logs of measurements.
inline double spending(double delta, double low, double high) {
    const double start = low / WIDTH;  // the tails: integrals of (1 + y^2)^-2 up to here, and without end
    const double before = 0.5 * (start / (1.0 + start * start) + std::atan(start));
    const double efolds = high - low + WIDTH * (before + 0.25 * std::numbers::pi);
    return std::log(SPENT * delta / efolds);
}

// The level c at which a lone tie is entered at a rate: (c / 4 pi)^(1/2) e^-c.
inline double lone_level(double log_rate) {
    double c = std::max(-log_rate, 0.5);
    for (int round = 0; round < 8; ++round)
        c = std::max(0.5 * std::log(c / (4.0 * std::numbers::pi)) - log_rate, 0.5);
    return c;
}

// z^2 of the normal at whose tail the rule looks where its threshold is lowest: Student's law is given this
// tail where the noise is estimated.
inline double looked_at(double log_rate) { return 2.0 * lone_level(log_rate); }

// A level above all that ties may ask for, given that of a lone one.
inline double highest_level(double level, Index d) { return level + 5.0 + static_cast<double>(d); }

// What the likelihood ratio must exceed after t results, or at least.
inline double glr_threshold(const Model& model, const Calibration& calibration, double t) {
    if (calibration.code == CalibrationCode::proven) return beta(model, calibration, t, calibration.log_inverse);
    if (calibration.code == CalibrationCode::measured) return lone_level(log_spent(calibration, t, t));
    return calibration.log_inverse + std::log(std::log(1.0 + std::max(t, EULER)));
}

}  // namespace psips
