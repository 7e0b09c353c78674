// How often noise leads from a tie to a wrong set that looks sure: one cone, all wrong sets.
//
// At a truth some constraints are ties: their value is 0 up to a small difference, and everything else
// is many standard errors away and stays there. In the coordinates u (m,) of the ties, in which the
// noise is a standard normal, everything is a cone: which set the estimates have, and whether it is
// wrong, depends on the direction of u alone, and the evidence against all other sets at r u is
// r^2 g(u). With u uniform on the sphere, E the evidence, X the estimates,
//
//     P(the set is wrong, E >= c) = E_u[ wrong(u) P(chi2_m >= c / g(u)) ].
//
// In log time the estimates are a stationary Ornstein-Uhlenbeck process, and regions far out are entered
// at about -c d/dc of this probability times in an e-fold of measurements: for a lone tie (m = 1,
// g = 1/2) that is (c / 4 pi)^(1/2) exp(-c). All wrong sets are in it at once.
#pragma once

#include <algorithm>

#include "near_ties/directions.h"

namespace psips {

inline constexpr double LEVEL_WITH = 1e-9;   // a value below this is 0: the constraint is met with equality
inline constexpr double NEARBY = 1e-3;       // wrong directions with a smaller squared distance do not count

// The sign of a value at the truth, where it is certain.
enum class Sign : Index { negative = -1, tie = 0, positive = 1 };

// Answers that tie: k answers in d objectives with L limits, m coordinates. The value of a tie at u is a product
// of u with a vector: at(z, c) - at(x, c), or limit(z, l).
struct TieCone {
    Index k, d, L, m;
    bool tolerant;
    Block<double> at;     // (k, d, m)
    Block<double> limit;  // (k, L, m)
    Block<Sign> above;    // (k, k, d) z is above x in c by more than the tolerance
    Block<Sign> order;    // (k, k, d) z is above x in c
    Table<Sign> kept;     // (k, L) z keeps limit l
    Block<bool> leads;    // (k, k, d) at the truth z is above x in c by more than the tolerance
    Table<bool> keeps;    // (k, L) at the truth z keeps limit l
    Table<bool> holds;    // (k, k) by exact metrics x can dominate z within the tolerance
    Table<bool> beats;    // (k, k) by exact metrics x can dominate z beyond the tolerance

    TieCone(Index k, Index d, Index L, Index m, bool tolerant)
        : k(k), d(d), L(L), m(m), tolerant(tolerant), at(k, d, m), limit(k, L, m), above(k, k, d), order(k, k, d),
          kept(k, L), leads(k, k, d), keeps(k, L), holds(k, k), beats(k, k) {}

    double lead_at(const Vec<double>& u, Index z, Index x, Index c) const {
        double total = 0.0;
        for (Index i = 0; i < m; ++i) total += (at(z, c, i) - at(x, c, i)) * u[i];
        return total;
    }
    bool truly_keeps(Index z) const {
        for (Index l = 0; l < L; ++l)
            if (!keeps(z, l)) return false;
        return true;
    }
    bool truly_leads_somewhere(Index z, Index x) const {
        for (Index c = 0; c < d; ++c)
            if (leads(z, x, c)) return true;
        return false;
    }
    bool truly_leads_everywhere(Index z, Index x) const {
        for (Index c = 0; c < d; ++c)
            if (!leads(z, x, c)) return false;
        return true;
    }
    // Whether the truth lies in a piece of the alternative of a set.
    bool is_wrong(const Vec<bool>& inside) const {
        for (Index z = 0; z < k; ++z)
            if (inside[z] ? leaves(inside, z) : enters(inside, z)) return true;
        return false;
    }

private:
    bool leaves(const Vec<bool>& inside, Index z) const {
        if (!truly_keeps(z)) return true;
        for (Index x = 0; x < k; ++x)
            if (x != z && beats(x, z) && (inside[x] || tolerant) && truly_keeps(x) && truly_leads_everywhere(x, z)) return true;
        return false;
    }
    bool enters(const Vec<bool>& inside, Index z) const {
        if (!truly_keeps(z)) return false;
        for (Index x = 0; x < k; ++x)
            if (x != z && inside[x] && holds(x, z) && !truly_leads_somewhere(z, x)) return false;
        return true;
    }
};

// One direction: the set that it leads to, and how far that is from its alternative.
class ConeSearch {
public:
    explicit ConeSearch(const TieCone& cone)
        : cone_(cone), value_(cone.k, cone.d), bound_(cone.k, cone.L), inside_(cone.k), point_(cone.m),
          rows_(cone.k + cone.d + cone.L + 1, cone.m), y_(cone.k + cone.d + cone.L + 1) {}

    // Squared distance 2 g(u) from u, of length 1, to the alternative of its set; -1 if the set is right.
    double wrong_distance_sq(const Vec<double>& u) {
        u_ = u;
        find_set();
        return cone_.is_wrong(inside_) ? distance_sq() : -1.0;
    }

private:
    // ------------------------------------------------------------ the set

    double product(const Mat<double>& vectors, Index row) const {
        double total = 0.0;
        for (Index i = 0; i < cone_.m; ++i) total += vectors(row, i) * u_[i];
        return total;
    }
    void find_set() {
        for (Index z = 0; z < cone_.k; ++z) {
            for (Index c = 0; c < cone_.d; ++c) value_(z, c) = product(cone_.at[z], c);
            for (Index l = 0; l < cone_.L; ++l) bound_(z, l) = product(cone_.limit[z], l);
        }
        Flags allowed(cone_.k);
        for (Index z = 0; z < cone_.k; ++z) inside_[z] = allowed[z] = is_allowed(z);
        for (Index z = 0; z < cone_.k; ++z)
            for (Index x = 0; x < cone_.k && inside_[z]; ++x)
                if (x != z && allowed[x]) inside_[z] = !dominates(x, z);
    }
    bool is_allowed(Index z) const {  // z keeps all limits in the direction
        for (Index l = 0; l < cone_.L; ++l) {
            const Sign sign = cone_.kept(z, l);
            if (sign == Sign::negative || (sign == Sign::tie && bound_(z, l) < 0.0)) return false;
        }
        return true;
    }
    bool dominates(Index x, Index z) const {  // x is above z in every objective in the direction
        if (!cone_.holds(x, z)) return false;
        for (Index c = 0; c < cone_.d; ++c) {
            const Sign sign = cone_.order(x, z, c);
            if (sign == Sign::negative || (sign == Sign::tie && value_(x, c) < value_(z, c))) return false;
        }
        return true;
    }

    // ------------------------------------------------------------ its evidence

    double distance_sq() {  // at most 1, the distance of the tip
        double best = 1.0;
        for (Index z = 0; z < cone_.k; ++z) {
            if (!inside_[z]) {
                best = std::min(best, to_enter(z, best));
                continue;
            }
            for (Index l = 0; l < cone_.L; ++l) {
                if (cone_.kept(z, l) != Sign::tie) continue;
                double length = 1e-300;
                for (Index i = 0; i < cone_.m; ++i) length += cone_.limit(z, l, i) * cone_.limit(z, l, i);
                best = std::min(best, bound_(z, l) * bound_(z, l) / length);
            }
            for (Index j = 0; j < cone_.k; ++j)
                if (j != z && cone_.beats(j, z) && (inside_[j] || cone_.tolerant)) best = std::min(best, to_fall_below(z, j));
        }
        return best;
    }
    void put_lead(Index q, Index z, Index x, Index c) {
        for (Index i = 0; i < cone_.m; ++i) rows_(q, i) = cone_.at(z, c, i) - cone_.at(x, c, i);
    }
    Index put_limits(Index z) {  // what z needs to keep its limits; how many constraints, -1 if it never does
        Index q = 0;
        for (Index l = 0; l < cone_.L; ++l) {
            if (cone_.kept(z, l) == Sign::negative) return -1;
            if (cone_.kept(z, l) == Sign::positive) continue;
            for (Index i = 0; i < cone_.m; ++i) rows_(q, i) = cone_.limit(z, l, i);
            ++q;
        }
        return q;
    }
    // Squared distance of u to where the first q rows are not negative; that point.
    double project(Index q) {
        NonnegativeQP qp(q);
        bool behind = false;
        for (Index k = 0; k < q; ++k) {
            for (Index j = 0; j <= k; ++j) {
                double total = 0.0;
                for (Index i = 0; i < cone_.m; ++i) total += rows_(k, i) * rows_(j, i);
                qp.G(k, j) = qp.G(j, k) = total;
            }
            for (Index i = 0; i < cone_.m; ++i) qp.b[k] -= rows_(k, i) * u_[i];
            behind = behind || qp.b[k] > 0.0;
        }
        std::copy(u_.begin(), u_.end(), point_.begin());
        if (!behind) return 0.0;
        if (q == 1) {
            y_[0] = qp.b[0] / std::max(qp.G(0, 0), 1e-300);
        } else {
            qp.solve(y_);
        }
        double square = 0.0;
        for (Index k = 0; k < q; ++k) {
            square += qp.b[k] * y_[k];
            for (Index i = 0; i < cone_.m; ++i) point_[i] += y_[k] * rows_(k, i);
        }
        return std::max(square, 0.0);
    }
    // Which member dominates z at the point by most, not one of those in `done`; -1 if none does.
    Index dominator(Index z, const Vec<Index>& done) const {
        Index worst = -1;
        double most = LEVEL_WITH;
        for (Index x = 0; x < cone_.k; ++x) {
            if (!inside_[x] || x == z || !cone_.holds(x, z)) continue;
            if (std::find(done.begin(), done.end(), x) != done.end()) continue;
            double behind = INF;
            for (Index c = 0; c < cone_.d; ++c) {
                if (cone_.above(z, x, c) == Sign::positive) behind = -1.0;
                if (cone_.above(z, x, c) == Sign::tie) behind = std::min(behind, -cone_.lead_at(point_, z, x, c));
            }
            if (behind > most) worst = x, most = behind;
        }
        return worst;
    }
    // Squared distance to where z keeps its limits and leads each member somewhere, or the ceiling.
    double to_enter(Index z, double ceiling) {
        const Index base = put_limits(z);
        double best = ceiling;
        if (base < 0) return best;
        Ints over(cone_.k + 1), tried(cone_.k + 1);  // by depth: from whom to escape, the next objective to try
        bool fresh = true;
        for (Index depth = 0; depth >= 0;) {
            if (fresh) {
                const double square = project(base + depth);
                over[depth] = -1;
                tried[depth] = 0;
                if (square < best) {
                    over[depth] = dominator(z, over.first(depth));
                    if (over[depth] < 0) best = square;
                }
                fresh = false;
            }
            const Index x = over[depth];
            Index c = tried[depth];
            while (x >= 0 && c < cone_.d && cone_.above(z, x, c) != Sign::tie) ++c;  // it never gets above it there
            if (x < 0 || c >= cone_.d) {
                --depth;
                continue;
            }
            tried[depth] = c + 1;
            put_lead(base + depth, z, x, c);
            ++depth;
            fresh = true;
        }
        return best;
    }
    // Squared distance to where j, which keeps its limits, dominates i beyond the tolerance; infinite if never.
    double to_fall_below(Index i, Index j) {
        Index q = inside_[j] ? 0 : put_limits(j);
        if (q < 0) return INF;
        for (Index c = 0; c < cone_.d; ++c) {
            if (cone_.above(j, i, c) == Sign::negative) return INF;
            if (cone_.above(j, i, c) == Sign::tie) put_lead(q++, j, i, c);
        }
        return project(q);
    }

    const TieCone& cone_;
    Vec<double> u_;
    Table<double> value_, bound_;  // (k, d), (k, L): of u at every coordinate and limit
    Flags inside_;                 // (k,) the set that the direction leads to
    Floats point_;                 // (m,) of the piece that is worked on, nearest to u
    Table<double> rows_;           // its constraints
    Floats y_;                     // .. and multipliers
};

// The ties as vectors of length 1, each one once; the first rows of `found`, and how many.
inline Index list_ties(const TieCone& cone, const Mat<double>& found) {
    Index J = 0;
    for (Index z = 0; z < cone.k; ++z) {
        for (Index x = 0; x < z; ++x)
            for (Index c = 0; c < cone.d; ++c) {
                if (cone.above(z, x, c) != Sign::tie && cone.above(x, z, c) != Sign::tie) continue;
                for (Index i = 0; i < cone.m; ++i) found(J, i) = cone.at(z, c, i) - cone.at(x, c, i);
                J += normalise(found[J]);
            }
        for (Index l = 0; l < cone.L; ++l) {
            if (cone.kept(z, l) != Sign::tie) continue;
            for (Index i = 0; i < cone.m; ++i) found(J, i) = cone.limit(z, l, i);
            J += normalise(found[J]);
        }
    }
    return J;
}

// Write the squared distances 2 g(u) of wrong directions and their weights; how many there are.
inline Index wrong_directions(const TieCone& cone, Stream& stream, const Vec<double>& squares, const Vec<double>& weights) {
    Table<double> ties(cone.k * (cone.k - 1) / 2 * cone.d + cone.k * cone.L + 1, cone.m);
    const Index count = list_ties(cone, ties);
    Table<double> u(DIRECTIONS, cone.m);
    Floats weight(DIRECTIONS);
    const Index N = spread_directions(ties.first(count), stream, u, weight);
    ConeSearch search(cone);
    Index found = 0;
    for (Index s = 0; s < N; ++s) {
        const double square = search.wrong_distance_sq(u[s]);
        if (square > NEARBY) {
            squares[found] = square;
            weights[found++] = weight[s];
        }
    }
    return found;
}

}  // namespace psips
