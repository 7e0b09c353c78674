// Which ties there are around a truth, and the cone that they make.
//
// The truth is the nearest point of a piece of the alternative, with everything that is within `kappa` standard
// errors of a tie there made a tie. A lead that equals the tolerance may have a sure sign or not: both readings
// count where the two are alike in size, `reach` standard errors.
//
// Answers that are surely dominated, or surely break a limit, are left out. Two answers are linked if their
// relation is open: a tie between them decides whether one holds the other back, or a limit whether the one
// that does is allowed. A structure is made of all that are linked with the answer that the piece is about; of
// more than can be worked out, of some of them, those of the piece first.
#pragma once

#include <memory>

#include "near_ties/tie_cone.h"
#include "selection.h"

namespace psips {

inline constexpr Index MOST_TIED = 16;              // answers of a structure; of more the first that are found
inline constexpr Index COORDINATES = 24;            // .. and its dimensions
inline constexpr double ROUNDING_STEP = 1.0 / 16.0; // to which covariances of ties are rounded
inline constexpr double ALIKE = 0.99999;            // the largest correlation of ties
inline constexpr double TOO_SMALL = 1e-6;  // standard errors below which the nearest point does not say which side it is on

inline Sign sign_of(double value, double width) {
    return value > width ? Sign::positive : value < -width ? Sign::negative : Sign::tie;
}

// A truth, and what is sure there.
template <class P>
class Surroundings {
public:
    Surroundings(const P& p, const LimitModel& limits, const Mat<double>& point, double kappa, double reach)
        : p(p), limits(limits), point(point), kappa(kappa), reach(reach), state(p.n) {
        for (Index a = 0; a < p.n; ++a) state[a] = kept_all(a);
    }
    const P& p;
    const LimitModel& limits;
    Mat<double> point;  // (n, d)
    double kappa, reach;
    List<Sign> state;  // (n,) whether an answer surely keeps all limits, surely breaks one, or neither

    bool is_objective(Index c) const { return limits.aims[c] > 0.0; }
    double error_of_lead(Index a, Index b, Index c) const {
        return std::sqrt(std::max(p.lead_variance(a, b, c, p.distance_sq(a, b)), 0.0));
    }
    Sign above(Index z, Index x, Index c) const {  // z is above x by more than the tolerance
        return sign_of(lead(point, p.slack, z, x, c), kappa * error_of_lead(z, x, c));
    }
    Sign kept(Index z, Index l) const {
        if (!applies(limits, z, l)) return Sign::positive;
        const Constraint f = limit_of(limits, z, l, 1.0);
        return sign_of(value_at(point, f), kappa * std::sqrt(p.cov(f, f)));
    }
    // Whether `a` surely breaks a limit, or a member that keeps all surely dominates it.
    bool is_out(const Vec<Index>& members, Index a) const {
        if (state[a] == Sign::negative) return true;
        for (const Index x : members)
            if (x != a && state[x] == Sign::positive && p.facts.may_dominate_beyond(x, a) && is_surely_above(x, a)) return true;
        return false;
    }
    // Whether noise decides if one of two answers holds the other back.
    bool is_open(Index a, Index b) const {
        bool tie = false, forth = p.facts.may_dominate_within(a, b), back = p.facts.may_dominate_within(b, a);
        for (Index c = 0; c < p.d; ++c) {
            if (!is_objective(c)) continue;
            const Sign over = above(a, b, c), under = above(b, a, c);
            const double level = std::abs(point(a, c) - point(b, c));
            tie = tie || over == Sign::tie || under == Sign::tie || level <= kappa * error_of_lead(a, b, c);
            forth = forth && under != Sign::positive;
            back = back && over != Sign::positive;
        }
        return (forth && (tie || state[a] == Sign::tie)) || (back && (tie || state[b] == Sign::tie));
    }
    // List the answers linked with that of the piece, as many as there is room for; how many, 0 if it is out.
    Index linked(const Vec<Index>& members, const Piece& piece, const Vec<Index>& arms) const {
        const Index z = piece.answer();
        if (is_out(members, z)) return 0;
        Flags seen(p.n);
        for (Index a = 0; a < p.n; ++a) seen[a] = is_out(members, a);
        bool controlled = false;  // limits refer to a control, so that they move together
        for (const double factor : limits.factor) controlled = controlled || factor != 0.0;
        arms[0] = z;
        seen[z] = true;
        Index k = 1;
        const auto link = [&](Index a, Index b) {
            if (seen[b] || k == arms.size()) return;
            const bool one_limit = controlled && state[a] == Sign::tie && state[b] == Sign::tie;
            if (!one_limit && !is_open(a, b)) return;
            seen[b] = true;
            arms[k++] = b;
        };
        for (Index i = 0; i < k; ++i) {
            for (Index q = 0; q < piece.m; ++q) link(arms[i], piece[q].second);
            for (Index b = 0; b < p.n; ++b) link(arms[i], b);
        }
        return k;
    }

private:
    Sign kept_all(Index z) const {
        if (!may_keep(limits, z)) return Sign::negative;
        Sign least = Sign::positive;
        for (Index l = 0; l < limits.metric.size(); ++l) least = std::min(least, kept(z, l));
        return least;
    }
    bool is_surely_above(Index x, Index a) const {  // in all objectives
        for (Index c = 0; c < p.d; ++c)
            if (is_objective(c) && above(x, a, c) != Sign::positive) return false;
        return true;
    }
};

// The ties of some answers made exact, and their cone.
template <class P>
class TieStructure {
public:
    TieStructure(const Surroundings<P>& around, const Vec<Index>& arms)
        : around_(around), p_(around.p), arms_(arms.size()), k_(arms.size()), L_(around.limits.metric.size()), number_(p_.d),
          group_(p_.d, k_), place_(p_.d, k_), basis_(k_ * (p_.d + L_)), factor_(k_ * (p_.d + L_), COORDINATES) {
        std::copy(arms.begin(), arms.end(), arms_.begin());
        std::sort(arms_.begin(), arms_.end());
        for (Index c = 0; c < p_.d; ++c) {
            number_[c] = objectives_;
            if (around.is_objective(c)) ++objectives_;
        }
        cluster();
        list_ties();
        whiten();
    }
    bool has_ties() const { return rank_ > 0; }
    bool fits() const { return rank_ <= COORDINATES; }
    // At the truth the constraints of the piece hold.
    std::unique_ptr<TieCone> cone(const Piece& piece) const {
        auto cone = std::make_unique<TieCone>(k_, objectives_, L_, rank_, p_.tolerant);
        put_coordinates(*cone);
        for (Index c = 0; c < p_.d; ++c)
            if (around_.is_objective(c))
                for (Index i = 0; i < k_; ++i)
                    for (Index j = 0; j < k_; ++j)
                        if (i != j) put_leads(*cone, c, i, j);
        for (Index i = 0; i < k_; ++i) {
            for (Index l = 0; l < L_; ++l) put_limit(*cone, i, l);
            for (Index j = 0; j < k_; ++j) {
                cone->holds(i, j) = p_.facts.may_dominate_within(arms_[i], arms_[j]);
                cone->beats(i, j) = p_.facts.may_dominate_beyond(arms_[i], arms_[j]);
            }
        }
        put_truth(*cone, piece);
        return cone;
    }

private:
    // ------------------------------------------------------------ exact ties

    // In each objective, the nearest tie first: answers in groups, with places. Within a group the places
    // differ by 0 or by the tolerance where there is a tie.
    void cluster() {
        Table<bool> links(k_, k_);
        for (Index i = 0; i < k_; ++i)
            for (Index j = 0; j < i; ++j) links(i, j) = around_.is_open(arms_[i], arms_[j]);
        for (Index c = 0; c < p_.d; ++c) {
            if (!around_.is_objective(c)) continue;
            for (Index i = 0; i < k_; ++i) group_(c, i) = i;
            for (Index merged = 1; merged < k_ && merge_nearest(links, c); ++merged) {
            }
        }
    }
    bool merge_nearest(const Mat<bool>& links, Index c) {  // false if no two are close enough
        const Vec<Index> group = group_[c];
        const Vec<double> place = place_[c];
        const double slack = -p_.slack[c];
        double best = around_.kappa + 1e-9, apart = 0.0;
        Index one = -1, two = -1;
        for (Index i = 0; i < k_; ++i)
            for (Index j = 0; j < i; ++j) {
                if (group[i] == group[j] || !links(i, j)) continue;
                const double ahead = around_.point(arms_[i], c) - around_.point(arms_[j], c);
                const double width = std::max(around_.error_of_lead(arms_[i], arms_[j], c), 1e-300);
                for (const double side : {-1.0, 0.0, 1.0}) {
                    const double off = std::abs(ahead - side * slack) / width;
                    if ((side == 0.0 || slack != 0.0) && off < best) best = off, one = i, two = j, apart = side * slack;
                }
            }
        if (one < 0) return false;
        const double shift = place[one] - apart - place[two];
        const Index old = group[two];
        for (Index i = 0; i < k_; ++i)
            if (group[i] == old) {
                group[i] = group[one];
                place[i] += shift;
            }
        return true;
    }

    // ------------------------------------------------------------ coordinates

    Index first_of_group(Index c, Index i) const {
        Index first = 0;
        while (group_(c, first) != group_(c, i)) ++first;
        return first;
    }
    // Leads over the first of each group, and the limits that are ties.
    void list_ties() {
        for (Index c = 0; c < p_.d; ++c)
            if (around_.is_objective(c))
                for (Index i = 0; i < k_; ++i)
                    if (const Index first = first_of_group(c, i); first < i)
                        basis_.add(lead_of(arms_[i], arms_[first], c, p_.slack));
        for (Index i = 0; i < k_; ++i)
            for (Index l = 0; l < L_; ++l)
                if (around_.kept(arms_[i], l) == Sign::tie) basis_.add(limit_of(around_.limits, arms_[i], l, 1.0));
    }
    void put_coordinates(TieCone& cone) const {  // in the order of the basis
        Index q = 0;
        for (Index c = 0; c < p_.d; ++c)
            if (around_.is_objective(c))
                for (Index i = 0; i < k_; ++i)
                    if (first_of_group(c, i) < i) {
                        for (Index j = 0; j < rank_; ++j) cone.at(i, number_[c], j) = factor_(q, j);
                        ++q;
                    }
        for (Index i = 0; i < k_; ++i)
            for (Index l = 0; l < L_; ++l)
                if (around_.kept(arms_[i], l) == Sign::tie) {
                    for (Index j = 0; j < rank_; ++j) cone.limit(i, l, j) = factor_(q, j);
                    ++q;
                }
    }
    static double rounded(double value) { return ROUNDING_STEP * std::floor(value / ROUNDING_STEP + 0.5); }

    // A factor of the covariance of the ties, up to its scale, rounded, so that ties that hardly differ are
    // worked out once. Lengths are rounded in the logarithm, and partial correlations after Fisher's
    // transformation; so what is rounded is a covariance still. There are as many coordinates as independent
    // ties: with features others are sums of these, and stay so. It ends where there are too many.
    void whiten() {
        const Index m = basis_.m;
        Table<double> exact(m, COORDINATES);
        Ints pivot(COORDINATES);  // the independent ties
        const double scale = m > 0 ? std::sqrt(std::max(p_.cov(basis_[0], basis_[0]), 1e-300)) : 1.0;
        for (Index i = 0; i < m; ++i) {
            const double own = std::max(p_.cov(basis_[i], basis_[i]), 1e-300);
            double left = own, rest = 1.0;
            for (Index j = 0; j < rank_; ++j) {
                double total = p_.cov(basis_[i], basis_[pivot[j]]);
                for (Index q = 0; q < j; ++q) total -= exact(i, q) * exact(pivot[j], q);
                exact(i, j) = total / exact(pivot[j], j);
                double alike = exact(i, j) / std::sqrt(std::max(left, 1e-300));
                alike = std::tanh(rounded(std::atanh(std::max(std::min(alike, ALIKE), -ALIKE))));
                factor_(i, j) = alike * std::sqrt(rest);
                rest *= 1.0 - alike * alike;
                left -= exact(i, j) * exact(i, j);
            }
            if (!(left > 1e-10 * own)) {
                add_up(exact, pivot, i);
                continue;
            }
            if (rank_ == COORDINATES) {
                ++rank_;
                return;
            }
            pivot[rank_] = i;
            exact(i, rank_) = std::sqrt(left);
            factor_(i, rank_++) = std::sqrt(rest);
            const double length = std::exp(rounded(std::log(std::sqrt(own) / scale)));
            for (Index j = 0; j < rank_; ++j) factor_(i, j) *= length;
        }
    }
    // Tie i as the sum of independent ones that it is.
    void add_up(const Mat<double>& exact, const Vec<Index>& pivot, Index i) {
        factor_[i].fill(0.0);
        Floats left(rank_);
        for (Index j = 0; j < rank_; ++j) left[j] = exact(i, j);
        for (Index j = rank_ - 1; j >= 0; --j) {
            const double share = left[j] / exact(pivot[j], j);
            for (Index q = 0; q <= j; ++q) {
                left[q] -= share * exact(pivot[j], q);
                factor_(i, q) += share * factor_(pivot[j], q);
            }
        }
    }

    // ------------------------------------------------------------ what is sure, and what holds at the truth

    // Whether a value is positive, or too small to tell and the other one is.
    static bool is_positive(double value, double error, double otherwise) {
        return (std::abs(value) <= TOO_SMALL * error ? otherwise : value) > 0.0;
    }
    void put_leads(TieCone& cone, Index c, Index i, Index j) const {
        const Index a = arms_[i], b = arms_[j], at = number_[c];
        const double slack = -p_.slack[c], error = around_.error_of_lead(a, b, c);
        double ahead = around_.point(a, c) - around_.point(b, c);
        bool same = group_(c, i) == group_(c, j);
        const double exact = place_(c, i) - place_(c, j);
        same = same && std::abs(ahead - place_(c, i) + place_(c, j)) <= 2.0 * around_.kappa * error;  // both tie with a third
        if (same) ahead = exact;
        const double tiny = 1e-9 * (error + slack), beyond = ahead - slack, below = ahead + slack;
        const bool tie = same && std::abs(beyond) <= tiny;
        bool level = same && std::abs(ahead) <= tiny;
        if (same && slack <= around_.reach * error)
            level = std::min(std::min(std::abs(ahead), std::abs(beyond)), std::abs(below)) <= tiny;
        cone.above(i, j, at) = tie ? Sign::tie : beyond > 0.0 ? Sign::positive : Sign::negative;
        cone.order(i, j, at) = level ? Sign::tie : ahead > 0.0 ? Sign::positive : Sign::negative;
        cone.leads(i, j, at) = tie ? is_positive(lead(around_.point, p_.slack, a, b, c), error, p_.lead(a, b, c)) : beyond > 0.0;
    }
    void put_limit(TieCone& cone, Index i, Index l) const {
        cone.kept(i, l) = around_.kept(arms_[i], l);
        cone.keeps(i, l) = cone.kept(i, l) == Sign::positive;
        if (cone.kept(i, l) != Sign::tie) return;
        const Constraint f = limit_of(around_.limits, arms_[i], l, 1.0);
        cone.keeps(i, l) = is_positive(value_at(around_.point, f), std::sqrt(p_.cov(f, f)), value_at(p_.mu, f));
    }
    Index place_of(Index a) const {  // among the answers of the structure; -1 if it is none of them
        for (Index i = 0; i < k_; ++i)
            if (arms_[i] == a) return i;
        return -1;
    }
    // The constraints of the piece hold; its answer leads where it is level.
    void put_truth(TieCone& cone, const Piece& piece) const {
        const bool even = !p_.tolerant;
        for (Index q = 0; q < piece.m; ++q) {
            const Constraint& f = piece[q];
            const Index z = place_of(f.first), x = place_of(f.second);
            if (f.limit != 0) {
                const Index l = std::abs(f.limit) - 1;
                if (z >= 0 && cone.kept(z, l) == Sign::tie) cone.keeps(z, l) = f.limit > 0;
            } else if (z >= 0 && x >= 0 && cone.above(z, x, number_[f.metric]) == Sign::tie) {
                cone.leads(z, x, number_[f.metric]) = true;
                if (even) cone.leads(x, z, number_[f.metric]) = false;
            }
        }
        const Index z = place_of(piece.answer());
        if (!even || z < 0) return;
        for (Index j = 0; j < k_; ++j)
            for (Index c = 0; c < cone.d; ++c)
                if (j != z && !cone.leads(z, j, c) && !cone.leads(j, z, c)) cone.leads(z, j, c) = true;
    }

    const Surroundings<P>& around_;
    const P& p_;
    Ints arms_;
    Index k_, L_, objectives_ = 0, rank_ = 0;
    Ints number_;          // (d,) of each metric among the objectives
    Table<Index> group_;   // (d, k)
    Table<double> place_;  // (d, k)
    Piece basis_;          // the ties
    Table<double> factor_; // .. in coordinates
};

}  // namespace psips
