// Evidence from each arm's results alone, where no covariance of all arms is known; for any distribution.
//
// The claim "i beats j by more than o in objective c", mu_i - mu_j > o, is tested with two capitals. Let
// U_a(m) be a process made of the values of arm a in c that is large if these show that its mean is above
// m. What is needed of it: it is nonnegative; at the mean of the arm it starts from an expectation of at
// most 1 and stays a supermartingale; and it does not increase in m. D_a(m) is the same of the negated
// values, "the mean is below m": it does not decrease in m. The evidence of the claim is
//
//     E = inf over all m of log U_i(m) + log D_j(m - o).
//
// If the claim is false, mu_i <= mu_j + o, put m = mu_i: U_i(m) = U_i(mu_i) and D_j(m - o) <= D_j(mu_j),
// so that E <= log U_i(mu_i) + log D_j(mu_j), at every time.
//
// Capitals. q + (1 - q) W(m): a share q is kept and never staked, so that log U >= log q. W is an average
// over a few stakes that are fixed beforehand, with weights that sum to 1. With n values of mean x-hat,
// e = x-hat - m, and s^2 the mean square of their deviations from x-hat:
//
// * normal, a known variance: shifts of the mean that are half normal with precision rho / variance, as in
//   mixture.h, W = (1 + n / rho)^(-1/2) 2 Phi(v) exp(v^2 / 2), v = n e / sqrt(variance (n + rho)).
//
// * student, normal noise of unknown variance. The values less m, all divided by the size of the first,
//   have a law that depends on t, the mean less m in standard deviations, alone. Let f_t be the density of
//   these scale-free values. f_t / f_0 is a likelihood ratio of ever more observations, a martingale in
//   their history if m is the mean; W is its average over a half normal t > 0 of precision rho. As the
//   scale 1 / u of the values is integrated out by du / u,
//
//       f_t  ~  int u^(n - 1) exp(-(u^2 (s^2 + e^2) - 2 u t e + t^2) n / 2) du,
//
//   and then t over its law, with Q = s^2 + e^2 rho / (n + rho),
//
//       W = (rho / (n + rho))^(1/2) ((s^2 + e^2) / Q)^(n / 2) 2 F(k),
//
//   k^2 = n e^2 / ((n + rho) Q), F(k) = P(Z <= k chi_n), Z normal and chi_n independent of it.
//   P(Z > z) <= exp(-z^2 / 2) / 2 for z > 0, hence F(k) >= 1 - (1 + k^2)^(-n / 2) / 2, which is used; for
//   e <= 0 W is taken for 0. With u scaled by the root of s^2 + e^2, f_t / f_0 is seen to depend on
//   e / (s^2 + e^2)^(1/2) alone, and to increase with it as t > 0: W does not increase in m.
//
// * bounded, values of any distribution from f to g: with y = (x - m) / (m - f) >= -1 and a stake
//   0 < l < 1, W = prod (1 + l y): each factor is at least 0 and has mean 1 if m is the mean given the past.
//   The stake is b (m - f) / (g - f), a factor 1 + b (x - m) / (g - f), or MOST if that is less, a factor
//   1 - l + l (x - f) / (m - f): neither increases in m. Instead of W a bound is computed, from four
//   moments. With u = l y,
//
//       log(1 + u) = u - u^2 / 2 + u^3 / 3 - u^4 int_0^1 r^3 / (1 + u r) dr,
//
//   and the integral falls in u: as u >= -l, it is at most its value at -l, which makes
//
//       log(1 + l y) >= l y - (l y)^2 / 2 + (l y)^3 / 3 - h(l) y^4,
//       h(l) = -log(1 - l) - l - l^2 / 2 - l^3 / 3,
//
//   with equality at y = -1. The bound is poor for large y; so where m - f is less than half of x-hat - f,
//   that at the half is taken, which W is not below.
//
// * binary, values f or g: the same, and W = (1 + l (g - m) / (m - f))^ones (1 - l)^zeros exactly.
//
// Two arms. Normal, bounded, binary: at the true means every value multiplies one part of one of the two
// capitals by a factor whose mean given all of the past is at most 1, whichever arm was chosen. So U_i D_j
// is a nonnegative supermartingale, and P(E >= L at any time) <= exp(-L). Student: W is a martingale in the
// history of the scale-free values alone, and whoever chooses the arms sees more; the product is none. But
// results of different arms are independent, and the n-th value of an arm does not depend on when it was
// asked for. So the suprema of U_i and of D_j over all counts are independent, whoever chooses; each is
// above x with probability at most 1 / x, and their product above exp(L') with probability at most
// (1 + L') exp(-L'). E is counted as E - log(1 + E): again P(it ever reaches L) <= exp(-L).
//
// The infimum is bounded from below by cells: on [l, r] the capitals are at least U_i(r) and D_j(l - o).
// Beyond the last cells, well outside of x-hat_j + o and x-hat_i, the kept shares serve.
//
// An objective may be missing in some results if that does not depend on its value: counts and moments are
// those of the values there are.
#pragma once

#include <cmath>
#include <cstddef>

#include "records.h"

namespace psips {

// Precisions of the mixture, in results, and their weights. A mixture is tightest for arms with some ten
// times as many results as rho.
inline constexpr double RHOS[] = {5.0, 80.0};
inline const double LOG_WEIGHTS[] = {std::log(0.1), std::log(0.9)};
inline constexpr Index MIXED = 2;
// Stakes b, each half of the one before: of few values, or without much noise, large ones win.
inline constexpr double STAKES[] = {3.8, 1.9, 0.95, 0.475, 0.2375, 0.11875, 0.059375, 0.0296875, 0.01484375};
inline constexpr double MOST_STAKED = 0.95;  // of a capital
inline constexpr double KEPT = 0.1;          // q
inline const double LOG_KEPT = std::log(KEPT);
inline const double LOG_STAKED = std::log1p(-KEPT);
inline const double LOG_PART = LOG_STAKED - std::log(static_cast<double>(std::size(STAKES)));

enum class ValueLaw { normal, student, bounded, binary };  // what is known of an objective's values

// Whether claims are made of each objective alone, with the evidence of this file.
inline bool claims_by_objective(const Model& model) {
    return model.noise->mode != NoiseMode::shared || model.noise->partial;
}

inline ValueLaw law_of(const Model& model, Index c) {
    const NoiseModel& noise = *model.noise;
    if (noise.mode == NoiseMode::shared || noise.mode == NoiseMode::each) return ValueLaw::normal;
    if (noise.binary[c] != 0.0) return ValueLaw::binary;
    return noise.low[c] > -INF ? ValueLaw::bounded : ValueLaw::student;
}

// What is known of the values of an arm in one objective.
struct ArmValues {
    double count = 0.0, mean = 0.0;
    double second = 0.0, third = 0.0, fourth = 0.0;  // moments about the mean; normal: the known variance
    double floor = 0.0, width = 0.0;                 // least value, and how far the largest is from it

    void scale(double factor) {  // the same of the values times a positive number
        mean *= factor;
        second *= factor * factor;
        third *= factor * factor * factor;
        fourth *= (factor * factor) * (factor * factor);
        floor *= factor;
        width *= factor;
    }
};

// What is known of arm a in c; `sign` -1 negates its values. Where results to come are imagined, N is
// above the results told: more of the same.
inline ArmValues describe(const Model& model, const Belief& belief, Index a, Index c, double sign) {
    const NoiseEstimate& s = *belief.noise_estimate;
    const NoiseModel& noise = *model.noise;
    ArmValues out;
    const double n = s.count(a, c, c);
    if (n == 0.0) return out;
    const double first = s.sums(a, c, c) / n, second = s.cross(a, c, c) / n;
    out.count = n * belief.N[a] / belief.pulls[a];
    out.mean = sign * (s.origin(a, c) + first);
    out.second = std::max(second - first * first, 0.0);
    const ValueLaw law = law_of(model, c);
    if (law == ValueLaw::normal) out.second = noise.given(a, c, c);
    if (law == ValueLaw::bounded) {
        const double third = s.higher(a, c, 0) / n, fourth = s.higher(a, c, 1) / n;
        out.third = sign * (third - 3.0 * first * second + 2.0 * (first * first * first));
        const double rest = first * first * (6.0 * second - 3.0 * first * first);
        out.fourth = std::max(fourth - 4.0 * first * third + rest, 0.0);
    }
    if (law == ValueLaw::bounded || law == ValueLaw::binary) {
        out.floor = sign > 0.0 ? noise.low[c] : -noise.high[c];
        out.width = noise.high[c] - noise.low[c];
    }
    return out;
}

inline constexpr double LARGEST_EXPONENT = 700.0;  // exponents are cut here

namespace capital_parts {

inline double relative_to_kept(double log_value) { return std::exp(std::min(log_value - LOG_KEPT, LARGEST_EXPONENT)); }

// Normal values, of known variance or not: sum of the parts staked over the share kept.
inline double normal_parts(ValueLaw law, const ArmValues& arm, double e) {
    const double n = arm.count, square = arm.second;
    double total = 1.0;
    for (Index k = 0; k < MIXED; ++k) {
        const double more = n + RHOS[k];
        double one = LOG_STAKED + LOG_WEIGHTS[k] - 0.5 * std::log1p(n / RHOS[k]);
        if (law == ValueLaw::normal) {
            const double v = n * e / std::sqrt(square * more);
            one += std::log(std::erfc(-v * SQRT_HALF)) + 0.5 * v * v;
        } else {
            const double inner = square + e * e * RHOS[k] / more;
            one += 0.5 * n * std::log((square + e * e) / inner);
            one += std::log(2.0 - std::exp(-0.5 * n * std::log1p(n * e * e / more / inner)));
        }
        total += relative_to_kept(one);
    }
    return total;
}

// The same of values in a range; m is `above` over the least of them, the mean e in units of that over m.
inline double bounded_parts(ValueLaw law, const ArmValues& arm, double ones, double above) {
    const double e = (arm.mean - arm.floor - above) / above, twice = above * above;
    const double second = arm.second / twice, third = arm.third / (above * above * above);
    const double square = second + e * e;
    const double cube = third + e * (3.0 * second + e * e);
    const double fourth = arm.fourth / (twice * twice) + e * (4.0 * third + e * (6.0 * second + e * e));
    double total = 1.0;
    for (const double b : STAKES) {
        const double stake = std::min(b * above / arm.width, MOST_STAKED), left = std::log1p(-stake);
        double one;
        if (law == ValueLaw::binary) {
            one = ones * std::log1p(stake * (arm.width / above - 1.0)) + (1.0 - ones) * left;
        } else {
            const double bend = -left - stake * (1.0 + stake * (0.5 + stake / 3.0));
            one = stake * (e - stake * (0.5 * square - stake * cube / 3.0)) - bend * fourth;
        }
        total += relative_to_kept(LOG_PART + arm.count * one);
    }
    return total;
}

}  // namespace capital_parts

// log U(m), or less: how much the values say against a mean of m or below.
inline double capital(ValueLaw law, const ArmValues& arm, double m) {
    const double e = arm.mean - m;
    if (arm.count < 2.0 || (law == ValueLaw::student && e <= 0.0)) return LOG_KEPT;
    if (law == ValueLaw::normal || law == ValueLaw::student) {
        if (arm.second <= 0.0) return LOG_KEPT;
        return LOG_KEPT + std::log(capital_parts::normal_parts(law, arm, e));
    }
    double above = m - arm.floor;
    const double ones = (arm.mean - arm.floor) / arm.width;
    if (above <= 0.0) return ones > 0.0 ? INF : LOG_KEPT;
    if (law == ValueLaw::bounded) above = std::max(above, 0.5 * (arm.mean - arm.floor));
    return LOG_KEPT + std::log(capital_parts::bounded_parts(law, arm, ones, above));
}

// The evidence of two capitals whose logarithms sum up to `both`.
inline double counted(ValueLaw law, double both) {
    if (both <= 0.0) return 0.0;
    return law == ValueLaw::student ? both - std::log1p(both) : both;
}

// E of "the first beats the second by more than `offset`", a lower bound; `second` is described with its
// values negated. Where E is below `enough`, some number that is too.
class TwoCapitals {
public:
    static constexpr double TIGHT = 0.02;  // nats to which the infimum is found

    TwoCapitals(ValueLaw law, const ArmValues& first, const ArmValues& second) : law_(law), first_(first), second_(second) {}

    double evidence(double offset, double enough) {
        double low = offset - second_.mean, high = first_.mean;
        if (first_.count == 0.0 || second_.count == 0.0 || high <= low) return 0.0;
        const double margin = OUTSIDE * (high - low);
        low -= margin, high += margin;
        best_ = INF;
        if (!search(low, high, offset, enough)) return counted(law_, best_);
        return counted(law_, bound_by_cells(low, high, offset, enough));
    }

private:
    static constexpr double OUTSIDE = 1.0;  // leads: how far cells go beyond the two means
    static constexpr double GOLDEN = 0.6180339887498949;
    static constexpr Index SEARCH = 12;    // steps of the search for it
    static constexpr Index HALVINGS = 12;  // of a cell, at most

    struct Cell {
        double left, right;
        double below, above;  // the capitals that bound the two: of the second, of the first
    };
    double up(double m) const { return capital(law_, first_, m); }
    double down(double m, double offset) const { return capital(law_, second_, offset - m); }

    // Golden section; false once the evidence is seen to be below `enough`.
    bool search(double low, double high, double offset, double enough) {
        double left = low, right = high;
        double known = 0.0, value = INF;  // a point looked at, and what is there
        for (Index k = 0; k < SEARCH; ++k) {
            const double m = k > 0 ? left + right - known : right - GOLDEN * (right - left);
            const double here = up(m) + down(m, offset);
            best_ = std::min(best_, here);
            if (counted(law_, best_) < enough) return false;
            if (k > 0 && (here < value) == (m > known))
                left = std::min(m, known);
            else if (k > 0)
                right = std::max(m, known);
            if (here < value) known = m, value = here;
        }
        return true;
    }

    double bound_by_cells(double low, double high, double offset, double enough) {
        double bound = LOG_KEPT + std::min(up(low), down(high, offset));
        Cell cells[HALVINGS + 2];
        cells[0] = {low, high, down(low, offset), up(high)};
        const double narrow = (high - low) * std::ldexp(1.0, -HALVINGS);
        for (Index size = 1; size > 0;) {
            const Cell cell = cells[--size];
            const double m = 0.5 * (cell.left + cell.right);
            const bool whole = cell.right - cell.left <= narrow || size > HALVINGS || !(cell.left < m && m < cell.right);
            if (whole || cell.below + cell.above >= best_ - TIGHT) {
                bound = std::min(bound, cell.below + cell.above);
                if (counted(law_, bound) < enough) break;
                continue;
            }
            const double above = up(m), below = down(m, offset);
            best_ = std::min(best_, above + below);
            cells[size++] = {cell.left, m, cell.below, above};
            cells[size++] = {m, cell.right, below, cell.above};
        }
        return bound;
    }

    ValueLaw law_;
    ArmValues first_, second_;
    double best_ = INF;  // of the points looked at
};

inline TwoCapitals two_capitals(const Model& model, const Belief& belief, Index i, Index j, Index c) {
    return {law_of(model, c), describe(model, belief, i, c, 1.0), describe(model, belief, j, c, -1.0)};
}

inline constexpr Index BISECTIONS = 64;  // of an interval, at most: its ends are neighbouring numbers then

// By how much i is proven to beat j in c at the level L; -inf if by nothing.
inline double least_lead(const Model& model, const Belief& belief, Index i, Index j, Index c, double spread, double L) {
    TwoCapitals both = two_capitals(model, belief, i, j, c);
    double high = describe(model, belief, i, c, 1.0).mean + describe(model, belief, j, c, -1.0).mean;
    double step = spread, low = high - step;
    while (both.evidence(low, L) < L) {
        high = low;
        step *= 2.0;
        low -= step;
        if (!(step < 1e9 * spread)) return -INF;
    }
    for (Index k = 0; k < BISECTIONS && !(high - low <= 1e-4 * step); ++k) {
        const double middle = 0.5 * (low + high);
        (both.evidence(middle, L) < L ? high : low) = middle;
    }
    return low;
}

}  // namespace psips
