// The noise of an arm as its results show it, and the covariance of the arm's mean that follows.
//
// Known noise: Sigma_a is given. Unknown noise, `own`: Sigma_a is estimated from the results of the
// arm; its correlations are shrunk towards 0 by d + 1 results, and its variances towards that of the
// other arms as far as these are alike (moderation.h): with the variance s0^2 and the d0 degrees of
// freedom that they are worth, a variance is (d0 s0^2 + nu s^2) / (d0 + nu). An arm whose results are
// all the same in an objective that varies elsewhere (a score of 5 out of 5) has a variance as if one
// more result lay STAND_IN standard deviations of the others away. `pooled`: from the results of all
// arms.
//
// A mean then follows Student's t, not a normal law, and what stopping rules look at is its far tail.
// So the covariance is inflated: with `level` the square z^2 of the normal quantile that the rule looks
// at, by the t^2 / z^2 at which Student's t has the tail that the normal has at z. By Wallace (1959)
//
//     t^2 = nu (exp(z^2 ((8 nu + 3) / (8 nu + 1))^2 / nu) - 1),
//
// slightly more than exact for nu < 3. Directions that combine d objectives are allowed for with d - 1
// degrees of freedom less.
//
// Missing values: with n_p results of the pattern p of objectives and E_p the rows of the identity that
// it has, the precision of the mean is sum_p n_p E_p' (E_p Sigma E_p')^-1 E_p, and the mean is the
// weighted least squares estimate. The scatter of two objectives comes from the results that have both.
#pragma once

#include <cmath>

#include "linalg.h"
#include "records.h"

namespace psips {

inline constexpr double ENOUGH = 1.0;     // degrees of freedom from which on noise counts as known
inline constexpr double OUTLYING = 4.0;   // times the common variance: from there an arm's is its own
inline constexpr double STAND_IN = 2.0;   // standard deviations at which a result is imagined
inline constexpr double LATEST = 60.0;    // exponent from which on Student's tail is as good as infinite
inline constexpr Index SHRINKINGS = 64;   // of correlations that do not fit together, each by half

// t^2 / z^2 of equal tails, z^2 the level.
inline double students_share(double freedom, double level) {
    if (level <= 0.0) return 1.0;
    const double bend = (8.0 * freedom + 3.0) / (8.0 * freedom + 1.0);
    double exponent = level * bend * bend / freedom;
    if (exponent > LATEST) exponent = LATEST;
    return freedom * std::expm1(exponent) / level;
}

// Halve correlations until a covariance is positive definite; none is left then. Its factor goes to R.
inline void make_definite(const Mat<double>& Sigma, const Mat<double>& R) {
    const Index d = Sigma.rows();
    const auto at = [&](Index i, Index j) { return Sigma(i, j); };
    for (Index round = 0; round < SHRINKINGS && !factor_lower(d, at, R, 1e-12); ++round)
        for (Index c = 0; c < d; ++c)
            for (Index e = 0; e < d; ++e)
                if (c != e) Sigma(c, e) *= 0.5;
}

class NoiseEstimator {
public:
    NoiseEstimator(const NoiseModel& model, NoiseEstimate& found) : noise(model), s(found) {}
    const NoiseModel& noise;
    NoiseEstimate& s;

    bool is_estimated() const { return noise.mode == NoiseMode::own || noise.mode == NoiseMode::pooled; }

    // Add a result x (d,) with NaN where a value is missing.
    void take(Index arm, const Vec<const double>& x) const {
        const Index d = x.size();
        Index pattern = 0;
        for (Index c = 0; c < d; ++c)
            if (!std::isnan(x[c])) {
                pattern += Index{1} << c;
                if (s.count(arm, c, c) == 0.0) s.origin(arm, c) = x[c];
            }
        for (Index c = 0; c < d; ++c) {
            if (std::isnan(x[c])) continue;
            const double here = x[c] - s.origin(arm, c);
            if (s.higher.size() > 0) {
                s.higher(arm, c, 0) += here * here * here;
                s.higher(arm, c, 1) += here * here * here * here;
            }
            for (Index e = 0; e < d; ++e)
                if (!std::isnan(x[e])) {
                    s.count(arm, c, e) += 1.0;
                    s.sums(arm, c, e) += here;
                    s.cross(arm, c, e) += here * (x[e] - s.origin(arm, e));
                }
            if (s.seen.rows() > 0) s.seen_sums(arm, pattern, c) += here;
        }
        if (s.seen.rows() > 0) s.seen(arm, pattern) += 1.0;
    }

    // The sum of products of two objectives around the means of the arm.
    double products(Index arm, Index c, Index e) const {
        const double n = s.count(arm, c, e);
        if (n == 0.0) return 0.0;
        return s.cross(arm, c, e) - s.sums(arm, c, e) * s.sums(arm, e, c) / n;
    }

    // Whether an arm has several results in an objective, and all are the same.
    bool is_flat(Index arm, Index c) const {
        const bool several = s.count(arm, c, c) >= 2.0 && noise.binary[c] == 0.0 && noise.worth == 0.0;
        return several && !(products(arm, c, c) > 0.0);
    }

    bool has_flat(Index arm) const {
        for (Index c = 0; c < s.count.m; ++c)
            if (is_flat(arm, c)) return true;
        return false;
    }

    // Make of sums of products `out` (d, d), with `free` degrees each, a covariance; its degrees of
    // freedom, 0 if a variance is not known yet. Binary values are those of the arms first .. last - 1.
    double normalise(Index first, Index last, const Mat<double>& free, const Mat<double>& out) const {
        const Index d = out.rows();
        double least = INF;
        Floats sd(d);
        for (Index c = 0; c < d; ++c) {
            least = std::min(least, free(c, c));
            if (is_unknown(free(c, c), out(c, c), c)) return 0.0;
            sd[c] = std::sqrt(std::max(out(c, c), 0.0) / free(c, c));
        }
        for (Index c = 0; c < d; ++c)
            for (Index e = 0; e < d; ++e) {
                if (c == e) continue;
                const double spread = sd[c] * sd[e] * (free(c, e) + static_cast<double>(d) + 1.0);
                out(c, e) = spread > 0.0 ? out(c, e) / spread : 0.0;
            }
        for (Index c = 0; c < d; ++c) {
            if (noise.binary[c] != 0.0 && noise.worth == 0.0) sd[c] = std::sqrt(binary_variance(first, last, c));
            out(c, c) = sd[c] * sd[c];
        }
        for (Index c = 0; c < d; ++c)
            for (Index e = 0; e < d; ++e)
                if (c != e) out(c, e) *= sd[c] * sd[e];
        return least - (static_cast<double>(d) - 1.0);
    }

    // Bring C, the degrees of freedom and, if values are missing, the mean of an arm up to date.
    void settle(const Vec<double>& N, Index arm, const Mat<double>& theta) const {
        const Index d = theta.cols();
        Table<double> Sigma(d, d);
        const double freedom = definite_covariance(arm, Sigma);
        settle_by(Sigma, freedom, N, arm, theta);
    }

    // The same for all arms with results.
    void settle_all(const Vec<double>& N, const Mat<double>& theta) const {
        const Index d = theta.cols();
        Table<double> common(d, d);
        const bool pooled = noise.mode == NoiseMode::pooled;
        const double freedom = pooled ? definite_covariance(0, common) : 0.0;
        for (Index a = 0; a < N.size(); ++a) {
            if (!(N[a] > 0.0)) continue;
            if (pooled)
                settle_by(common, freedom, N, a, theta);
            else
                settle(N, a, theta);
        }
    }

private:
    bool is_unknown(double free, double sum, Index c) const {
        return free <= 0.0 || (noise.binary[c] == 0.0 && !(sum > 0.0));
    }

    // Variance of values that are 0 or 1, with one of each added to the results.
    double binary_variance(Index first, Index last, Index c) const {
        double total = 0.0, ones = 0.0;
        for (Index a = first; a < last; ++a) {
            const double n = s.count(a, c, c);
            total += n;
            ones += std::abs(n * s.origin(a, c) + s.sums(a, c, c));
        }
        const double share = (ones + 1.0) / (total + 2.0);
        return share * (1.0 - share);
    }

    // Variance where all results of an arm are the same; 0 if those of all arms are.
    double flat_variance(Index arm, Index c) const {
        double total = 0.0, free = 0.0;
        for (Index a = 0; a < s.count.size(); ++a) {
            const double here = products(a, c, c);
            if (here > 0.0) {
                total += here;
                free += s.count(a, c, c) - 1.0;
            }
        }
        if (free == 0.0) return 0.0;
        return STAND_IN * STAND_IN * total / (free * (s.count(arm, c, c) + 1.0));
    }

    // The covariance of one result of an arm; its degrees of freedom, 0 if a variance is not known yet.
    double covariance(Index arm, const Mat<double>& out) const {
        const Index d = out.rows();
        if (!is_estimated()) {
            for (Index c = 0; c < d; ++c)
                for (Index e = 0; e < d; ++e) out(c, e) = noise.given(arm, c, e);
            return INF;
        }
        const bool own = noise.mode == NoiseMode::own;
        const Index first = own ? arm : 0, last = own ? arm + 1 : s.count.size();
        Table<double> free(d, d);
        for (Index c = 0; c < d; ++c)
            for (Index e = 0; e < d; ++e) {
                free(c, e) = noise.worth;
                out(c, e) = noise.worth * noise.guess(c, e);
                for (Index a = first; a < last; ++a) {
                    if (s.count(a, c, e) < 2.0) continue;  // one result has no scatter
                    free(c, e) += s.count(a, c, e) - 1.0;
                    out(c, e) += products(a, c, e);
                }
            }
        if (own)
            for (Index c = 0; c < d; ++c) {
                if (is_flat(arm, c)) out(c, c) = free(c, c) * flat_variance(arm, c);
                if (is_unknown(free(c, c), out(c, c), c)) return 0.0;
            }
        const double least = normalise(first, last, free, out);
        return own ? shrink_variances(free, out) : least;
    }

    // Shrink the variances of a covariance towards those of other arms; its degrees of freedom. A
    // variance that is far larger than theirs, or of too few results to tell, stays as it is.
    double shrink_variances(const Mat<double>& free, const Mat<double>& out) const {
        const Index d = out.rows();
        double least = INF;
        for (Index c = 0; c < d; ++c) {
            const double own = out(c, c), nu = free(c, c), common = s.prior(Prior::variance, c);
            double worth = s.prior(Prior::degrees, c);
            if (noise.binary[c] != 0.0 || nu < s.prior(Prior::least, c) || own > OUTLYING * common) worth = 0.0;
            least = std::min(least, nu + worth);
            if (worth > 0.0) {
                const double share = std::sqrt((worth * common / own + nu) / (worth + nu));
                for (Index e = 0; e < d; ++e) {
                    out(c, e) *= share;
                    out(e, c) *= share;
                }
            }
        }
        return least - (static_cast<double>(d) - 1.0);
    }

    // Mean (d,) of results that lack values and its covariance (d, d), all objectives seen.
    void weighted_mean(Index arm, const Mat<double>& Sigma, const Vec<double>& mean, const Mat<double>& C) const {
        const Index d = Sigma.rows();
        Table<double> precision(d, d), sub(d, d), inverse(d, d);
        Floats right(d);
        Ints there(d);
        for (Index pattern = 1; pattern < s.seen.cols(); ++pattern) {
            const double n = s.seen(arm, pattern);
            if (n == 0.0) continue;
            Index m = 0;
            for (Index c = 0; c < d; ++c)
                if ((pattern >> c) & 1) there[m++] = c;
            for (Index i = 0; i < m; ++i)
                for (Index j = 0; j < m; ++j) sub(i, j) = Sigma(there[i], there[j]);
            invert(sub, m, inverse);
            for (Index i = 0; i < m; ++i)
                for (Index j = 0; j < m; ++j) {
                    precision(there[i], there[j]) += n * inverse(i, j);
                    right[there[i]] += inverse(i, j) * s.seen_sums(arm, pattern, there[j]);
                }
        }
        invert(precision, d, C);
        for (Index c = 0; c < d; ++c) {
            mean[c] = s.origin(arm, c);
            for (Index e = 0; e < d; ++e) mean[c] += C(c, e) * right[e];
        }
    }

    // The same, positive definite: the scatter of pairs, with missing values, need not fit together.
    double definite_covariance(Index arm, const Mat<double>& out) const {
        const double freedom = covariance(arm, out);
        Table<double> R(out.rows(), out.rows());
        if (!(freedom < ENOUGH)) make_definite(out, R);
        return freedom;
    }

    // `settle` where the covariance of one result and its freedom are there.
    void settle_by(const Mat<double>& Sigma, double freedom, const Vec<double>& N, Index arm,
                   const Mat<double>& theta) const {
        const Index d = theta.cols();
        s.freedom[arm] = freedom;
        for (Index c = 0; c < d; ++c)
            if (s.count(arm, c, c) == 0.0) s.freedom[arm] = 0.0;
        if (s.freedom[arm] < ENOUGH) {
            if (noise.partial)
                for (Index c = 0; c < d; ++c)
                    theta(arm, c) = s.origin(arm, c) + s.sums(arm, c, c) / std::max(s.count(arm, c, c), 1.0);
            return;
        }
        const Mat<double> C = s.C[arm];
        if (noise.partial) {
            weighted_mean(arm, Sigma, theta[arm], C);
        } else {
            for (Index c = 0; c < d; ++c)
                for (Index e = 0; e < d; ++e) C(c, e) = Sigma(c, e) / N[arm];
        }
        if (!is_estimated()) return;
        const double share = students_share(s.freedom[arm], s.level[0]);
        for (Index c = 0; c < d; ++c)
            for (Index e = 0; e < d; ++e) C(c, e) *= share;
    }
};

}  // namespace psips
