// The alternative Alt(S) of a set S: its pieces, and its point nearest to theta_hat.
//
// Alt(S) is made of convex pieces, in three kinds:
//
//   broken   a member i breaks limit l: one constraint;
//   below    j is above a member i in every objective, beyond the tolerance. Without a tolerance j is
//            a member: if an answer outside is above i and keeps the limits, it enters, or what
//            dominates it is above i. With one j is any answer, and one outside keeps all limits too;
//   enters   z outside S keeps all limits, and is above each x in S in some objective.
//
// The first two are one projection each. The last is a tree whose nodes are lists of constraints: the
// limits, and "z above x_k in objective c_k". Project theta on them; if some x in S still dominates z at
// the nearest point p, branch on the objective in which z is to get above it. Whatever lies in the
// child is at least as far from p as the half-space it adds, hence, p being a projection on a
// convex set,
//
//     distance(child)^2 >= distance(node)^2 + lead_c^2 / Var((z - x)(c))
//
// with lead_c that of x over z at p. A node is therefore worth at least its own value plus the
// largest, over x, of the smallest, over c, of these terms: children are visited in that order and
// most of them are never projected. Trees of different answers are opened in the order of the bounds
// at their roots.
//
// With V = V_w the squared distance is F(w) = min_{lambda in Alt(S)} sum_a w_a ||(theta - lambda)^T a||^2 in
// Sigma^-1, the best response to the design w.
#pragma once

#include <vector>

#include "selection.h"
#include "projection.h"

namespace psips {

enum class PieceKind : Index { broken, below, enters };

struct PieceName {
    PieceKind kind;
    Index answer;  // the member i, or z
    Index other;   // the limit l, the answer j, or -1
};

// Which pieces are looked at: all; those that decide who keeps the limits; or, of those who do, the front.
enum class Part : Index { whole, allowed, front };

template <class P>
class Alternative {
public:
    // Of a set of members where there are no limits.
    Alternative(const P& p, const Vec<Index>& members)
        : Alternative(p, nullptr, Part::whole, {}, members.size()) {
        for (Index k = 0; k < members.size(); ++k) {
            members_[k] = members[k];
            inside_[members[k]] = true;
        }
    }
    // Of the answers that are marked, where some keep the limits; or a part of it.
    Alternative(const P& p, const LimitModel& limits, const Vec<bool>& allowed, const Vec<bool>& inside,
                Part part = Part::whole)
        : Alternative(p, &limits, part, allowed, count(inside)) {
        Index k = 0;
        for (Index z = 0; z < n_; ++z) {
            inside_[z] = inside[z];
            if (inside[z]) members_[k++] = z;
        }
    }

    Index room() const { return room_; }  // constraints that any of them can have
    PieceName name() const { return nearest_name_; }  // of what `respond` has found

    // Squared distance from theta_hat to the alternative, or `ceiling` if that is less: the search goes
    // no further. `nearest` becomes the nearest piece; its answer is -1 if nothing lies below the
    // ceiling. 0, and no constraints, if theta_hat is on the boundary.
    double respond(double ceiling, Piece& nearest) {
        begin(ceiling, nearest);
        each_broken([&](Index i, Index l) { consider({PieceKind::broken, i, l}); });
        each_below([&](Index i, Index j) {
            const double apart = p_.distance_sq(j, i);
            if (apart <= 0.0) return;  // equal answers never part
            double least = 0.0;
            for (const Index c : objectives()) {
                const double gap = -p_.lead(j, i, c);
                if (gap > 0.0) least = std::max(least, gap * gap / p_.lead_variance(j, i, c, apart));
            }
            if (least < best_) consider({PieceKind::below, i, j});
        });
        search_trees();
        return best_;
    }

    // The pieces, by name, in the order of the answers that they are about: the order in which a draw picks one.
    std::vector<PieceName> list() const {
        std::vector<PieceName> found;
        each_broken([&](Index i, Index l) { found.push_back({PieceKind::broken, i, l}); });
        each_below([&](Index i, Index j) { found.push_back({PieceKind::below, i, j}); });
        for (Index z = 0; z < n_; ++z)
            if (may_enter(z)) found.push_back({PieceKind::enters, z, -1});
        std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.answer < b.answer; });
        return found;
    }

    // Squared distance to one piece; its constraints, or those of the branch that is nearest, go to `nearest`.
    double distance_sq(const PieceName& name, Piece& nearest) {
        begin(INF, nearest);
        if (name.kind == PieceKind::enters) {
            Floats root(d_);
            const Index holder = open(name.answer, root);
            if (holder >= 0) descend(name.answer, holder, root);
        } else {
            consider(name);
        }
        return best_;
    }

    // Whether a member still dominates the piece's answer at the nearest point of the piece.
    bool is_held_back(const Piece& piece) {
        Floats bounds(d_);
        return hardest(piece.answer(), piece, bounds) >= 0;
    }

private:
    Alternative(const P& p, const LimitModel* limits, Part part, const Vec<bool>& allowed, Index members)
        : p_(p), limits_(limits), part_(part), allowed_(allowed), n_(p.n), d_(p.d), objectives_(p.d), inside_(p.n),
          members_(members), room_((limits ? limits->metric.size() : 0) + std::max(members, p.d)), work_(room_),
          shift_(p.shift_rows(), p.d), at_z_(p.d), added_(p.d) {
        for (Index c = 0; c < d_; ++c)
            if (!limits || limits->aims[c] > 0.0) objectives_[aims_++] = c;
    }
    static Index count(const Vec<bool>& marked) { return std::count(marked.begin(), marked.end(), true); }

    Vec<Index> objectives() const { return objectives_.first(aims_); }
    bool may_be_inside(Index z) const { return !limits_ || may_keep(*limits_, z); }

    // ------------------------------------------------------------ which pieces there are

    template <class Use>
    void each_broken(const Use& use) const {  // (i, l)
        if (!limits_ || part_ == Part::front) return;
        for (Index i = 0; i < n_; ++i)
            if (part_ == Part::allowed ? allowed_[i] : inside_[i])
                for (Index l = 0; l < limits_->metric.size(); ++l)
                    if (applies(*limits_, i, l)) use(i, l);
    }
    template <class Use>
    void each_below(const Use& use) const {  // (i, j)
        if (part_ == Part::allowed || aims_ == 0) return;
        const Index rivals = p_.tolerant ? n_ : members_.size();
        for (const Index i : members_)
            for (Index k = 0; k < rivals; ++k) {
                const Index j = p_.tolerant ? k : members_[k];
                if (i == j || !p_.facts.may_dominate_beyond(j, i)) continue;
                if (inside_[j] || (may_be_inside(j) && (part_ == Part::whole || allowed_[j]))) use(i, j);
            }
    }
    bool may_enter(Index z) const {
        if (!may_be_inside(z)) return false;
        if (part_ == Part::allowed) return !allowed_[z];
        return !inside_[z] && (part_ == Part::whole || allowed_[z]);
    }

    // ------------------------------------------------------------ their constraints

    void put_limits(Index z) {
        if (!limits_) return;
        for (Index l = 0; l < limits_->metric.size(); ++l)
            if (applies(*limits_, z, l)) work_.add(limit_of(*limits_, z, l, 1.0));
    }
    void put_root(Index z) {  // of the tree of z
        work_.clear();
        work_.kind = Kind::escape;
        if (part_ != Part::front) put_limits(z);
    }
    void put(const PieceName& name) {  // of a piece that is one projection
        work_.clear();
        if (name.kind == PieceKind::broken) {
            work_.kind = Kind::escape;
            work_.add(limit_of(*limits_, name.answer, name.other, -1.0));
            return;
        }
        work_.kind = Kind::pair;
        for (const Index c : objectives()) work_.add(lead_of(name.other, name.answer, c, p_.slack));
        if (!inside_[name.other] && part_ == Part::whole) put_limits(name.other);
    }

    // ------------------------------------------------------------ the search

    void begin(double ceiling, Piece& nearest) {
        best_ = ceiling;
        nearest_ = &nearest;
        nearest.clear();
        nearest.kind = Kind::pair;
        nearest[0].first = -1;
    }
    void consider(const PieceName& name) {
        put(name);
        keep(project(p_, work_), name);
    }
    void keep(double square, const PieceName& name) {
        if (!(square <= best_) || (square == best_ && work_.m > 0)) return;
        best_ = square;
        nearest_name_ = name;
        nearest_->take(work_);
        if (work_.m == 0) (*nearest_)[0].first = name.answer;
    }

    // The member that costs z most to escape from at the nearest point of a piece; -1 if none dominates it
    // there. `bounds` becomes what getting above that member adds to the squared distance at least, by
    // objective.
    Index hardest(Index z, const Piece& piece, const Vec<double>& bounds) {
        const bool moved = piece.m > 0;
        if (moved) p_.shift_along(piece, shift_);
        for (Index c = 0; c < d_; ++c) at_z_[c] = moved ? p_.shifted(z, c, shift_, true) : p_.mu(z, c);
        Index found = -1;
        double most = -1.0;
        for (const Index x : members_) {
            if (piece.is_over(x) || !p_.facts.may_dominate_within(x, z)) continue;
            if (!lies_behind(x, piece)) continue;
            const double apart = p_.distance_sq(z, x);
            double least = INF;
            for (const Index c : objectives()) {
                const double behind = added_[c];
                added_[c] = behind * behind / p_.lead_variance(z, x, c, apart);
                least = std::min(least, added_[c]);
            }
            if (least > most) {
                found = x;
                most = least;
                for (const Index c : objectives()) bounds[c] = added_[c];
            }
        }
        return found;
    }
    // Whether the answer whose means are `at_z_` is behind x in all objectives; by how much goes to `added_`.
    bool lies_behind(Index x, const Piece& piece) {
        bool touched = false;  // a control that limits refer to
        for (Index k = 0; k < piece.m; ++k) touched = touched || (piece[k].limit != 0 && piece[k].second == x);
        for (const Index c : objectives()) {
            const double at_x = piece.m > 0 ? p_.shifted(x, c, shift_, touched) : p_.mu(x, c);
            added_[c] = at_x - at_z_[c] - p_.slack[c];
            if (added_[c] <= FREE * p_.unit[c]) return false;
        }
        return true;
    }

    // The root of the tree of z: whom to escape from first, -1 if there is no one, or nothing to be
    // found; `bounds` becomes what is known of its children.
    Index open(Index z, const Vec<double>& bounds) {
        put_root(z);
        const double square = work_.m > 0 ? project(p_, work_) : 0.0;
        if (work_.m > 0 && square >= best_) return -1;
        const Index x = part_ == Part::allowed ? -1 : hardest(z, work_, bounds);
        if (x < 0) keep(square, {PieceKind::enters, z, -1});
        for (const Index c : objectives()) bounds[c] += square;
        return x;
    }

    // Depth first, the most promising child first.
    void descend(Index z, Index holder, const Vec<double>& root) {
        Table<double> bounds(members_.size() + 1, d_);  // by depth: what is known of the children not yet visited
        Ints over(members_.size() + 1);
        put_root(z);
        const Index base = work_.m;
        over[0] = holder;
        for (const Index c : objectives()) bounds(0, c) = root[c];
        for (Index depth = 0; depth >= 0;) {
            const Index c = smallest(bounds[depth]);
            if (c < 0 || !(bounds(depth, c) < best_)) {  // NaN is not followed
                --depth;
                continue;
            }
            bounds(depth, c) = INF;
            work_.m = base + depth;
            work_.add(lead_of(z, over[depth], c, p_.slack));
            const double value = project(p_, work_);
            if (!(value < best_)) continue;
            const Index x = hardest(z, work_, bounds[depth + 1]);
            if (x < 0) {
                keep(value, {PieceKind::enters, z, -1});
                continue;
            }
            over[++depth] = x;
            for (const Index e : objectives()) bounds(depth, e) += value;
        }
    }
    Index smallest(const Vec<double>& bounds) const {  // the objective; -1 if there is none
        Index found = -1;
        for (const Index c : objectives())
            if (found < 0 || bounds[c] < bounds[found] || std::isnan(bounds[found])) found = c;
        return found;
    }

    void search_trees() {
        Table<double> roots(n_, d_);
        Ints holder(n_);
        Floats floor(n_);  // the smallest entry of each root
        floor.fill(INF);
        for (Index z = 0; z < n_; ++z) {
            if (!may_enter(z)) continue;
            holder[z] = open(z, roots[z]);
            if (holder[z] < 0 && work_.m == 0) return;  // nothing holds z back: theta_hat is on the boundary
            if (const Index c = smallest(roots[z]); holder[z] >= 0 && c >= 0 && roots(z, c) < INF) floor[z] = roots(z, c);
        }
        for (Index turn = 0; turn < n_; ++turn) {
            const Index z = std::min_element(floor.begin(), floor.end()) - floor.begin();
            if (!(floor[z] < best_)) return;
            floor[z] = INF;
            descend(z, holder[z], roots[z]);
        }
    }

    const P& p_;
    const LimitModel* limits_;
    Part part_;
    Vec<bool> allowed_;
    Index n_, d_;
    Ints objectives_;
    Index aims_ = 0;  // how many metrics are objectives
    Flags inside_;
    Ints members_;
    Index room_;
    Piece work_;
    Table<double> shift_;  // how the nearest point of a piece lies from theta_hat
    Floats at_z_, added_;
    double best_ = INF;
    Piece* nearest_ = nullptr;
    PieceName nearest_name_{PieceKind::enters, -1, -1};
};

// Squared distance from theta_hat to Alt(S), S its Pareto set without limits; see `Alternative::respond`.
template <class P>
double best_response(const P& p, const Vec<Index>& members, double ceiling, Piece& nearest) {
    return Alternative<P>(p, members).respond(ceiling, nearest);
}

// Gains by arm of the point nearest to theta_hat in a piece: g(a) = ||(theta - lambda)^T a||^2 in Sigma^-1 is the
// gradient of F at w, and, whatever the other weights, F(w) <= w . g.
template <class P>
void response_gains(const P& p, const Piece& piece, const Mat<double>& shift, const Vec<double>& gains) {
    shift.fill(0.0);
    p.shift_along(piece, shift);
    p.gains_of_shift(piece, shift, gains);
}

}  // namespace psips
