// Building a cover of the alternative, see cover.h.
//
// "i is below j" gives one record. "z escapes" gives the leaves of a branch-and-bound tree: while some
// member still dominates z at the nearest point, branch on the objective in which z gets above it. Any cut
// through the tree is a cover.
#pragma once

#include "candidate_set.h"
#include "cover.h"

namespace psips {

inline constexpr Index MANY = 100;                      // answers beyond which not every one is looked at
inline constexpr Index EVERY_NODE = Index{1} << 60;     // nodes of a tree, without a bound
inline constexpr double REFINE = 4.0;  // nodes within e^-REFINE of the largest are split until they touch Alt

// Renumber the groups so that each comes when its b is the largest of those left.
//
// Then b >= 0, and { e >= b } lies in the half-space b.e >= b.b tangent to the piece: its distance is the
// piece's own. In another order b can be negative, and the set far too large. (If every b left were
// negative, those in place would be the projection's whole support, but every multiplier of a group is
// positive; putting a group in place raises the multipliers of the others, because G has no positive
// entry off the diagonal.)
template <class P>
void order_groups(const P& p, Index z, Index kept, RecordTerm* terms, const Vec<double>& y, const Mat<double>& G) {
    const Index groups = G.rows();
    Floats rest(groups);  // gap of each group, given that those in place are at 0
    Ints place(groups);
    for (Index k = 0; k < kept; ++k) rest[terms[k].group] -= y[k] * p.lead(z, terms[k].rival, terms[k].objective);
    place.fill(-1);
    for (Index position = 0; position < groups; ++position) {
        Index chosen = -1;
        double most = -INF;
        for (Index g = 0; g < groups; ++g) {
            if (place[g] >= 0) continue;
            const double b = rest[g] / std::sqrt(std::max(G(g, g), 1e-300));
            if (chosen < 0 || b > most) chosen = g, most = b;
        }
        place[chosen] = position;
        for (Index g = 0; g < groups; ++g) {  // condition the others on it
            if (place[g] >= 0) continue;
            const double share = G(g, chosen) / std::max(G(chosen, chosen), 1e-300);
            rest[g] -= share * rest[chosen];
            for (Index f = 0; f < groups; ++f)
                if (place[f] < 0) G(g, f) -= share * G(chosen, f);
        }
    }
    for (Index k = 0; k < kept; ++k) terms[k].group = place[terms[k].group];
}

// Merge the first two groups that pull the same way; false if none do.
inline bool merge_alike(Index groups, Index kept, RecordTerm* terms, const Mat<double>& G) {
    for (Index g = 0; g < groups; ++g)
        for (Index f = 0; f < g; ++f) {
            if (!(G(g, f) > 0.0)) continue;
            for (Index k = 0; k < kept; ++k)
                if (terms[k].group == g) terms[k].group = f;
            for (Index k = 0; k < kept; ++k)
                if (terms[k].group > g) --terms[k].group;
            return true;
        }
    return false;
}

// One group an objective, then merge groups that pull the same way; how many. The groups are numbered so
// that no entry of b is negative.
template <class P>
Index form_groups(const P& p, Index z, Index kept, RecordTerm* terms, const Vec<double>& y) {
    Index groups = 0;
    for (Index k = 0; k < kept; ++k) {
        terms[k].group = groups;
        for (Index j = 0; j < k; ++j)
            if (terms[j].objective == terms[k].objective) terms[k].group = terms[j].group;
        if (terms[k].group == groups) ++groups;
    }
    while (!p.diagonal) {
        Table<double> G(groups, groups);
        for (Index k = 0; k < kept; ++k)
            for (Index j = 0; j < kept; ++j)
                G(terms[k].group, terms[j].group) +=
                    y[k] * y[j] * lead_cov(p, z, terms[k].rival, terms[k].objective, terms[j].rival, terms[j].objective);
        if (!merge_alike(groups, kept, terms, G)) {
            if (groups > 1) order_groups(p, z, kept, terms, y, G);
            break;
        }
        --groups;
    }
    return groups;
}

// Add the record of a piece, projected, with as many groups as the signs allow.
template <class P>
void store_record(Search<P>& s, const Piece& piece) {
    const P& p = s.posterior;
    Cover& cover = s.cover;
    const Index r = cover.life->records, z = piece.answer();
    if (r >= cover.r.size()) {
        cover.life->stage = Stage::full;
        return;
    }
    RecordTerm* terms = &cover.term(r, 0);
    const Vec<double> y = cover.y[r];
    Index kept = 0;
    for (Index j = 0; j < piece.m; ++j) {
        if (!(piece.y[j] > 0.0)) continue;
        y[kept] = piece.y[j];
        terms[kept].rival = piece[j].second;
        terms[kept++].objective = piece[j].metric;
    }
    if (kept == 0) {  // theta is in the piece: any of its constraints will do
        y[0] = 1.0;
        terms[0].rival = piece[0].second;
        terms[0].objective = piece[0].metric;
        kept = 1;
    }
    cover.of(r) = {z, kept, piece.kind, form_groups(p, z, kept, terms, y)};
    if (refresh_records(p, cover, r, r + 1, -1) < 0.0) {  // one group is always valid
        cover.of(r).groups = 1;
        for (Index k = 0; k < kept; ++k) terms[k].group = 0;
        refresh_records(p, cover, r, r + 1, -1);
    }
    cover.life->records = r + 1;
}

// How far z is from reaching x in some objective, whatever the tolerance; -1 if it has, -2 if x never
// dominates it.
template <class P>
double distance_from(const P& p, Index z, Index x) {
    if (!p.facts.may_dominate_within(x, z)) return -2.0;
    const double near = p.distance_sq(z, x);
    double least = INF;
    for (Index c = 0; c < p.d; ++c) {
        const double ahead = p.mu(x, c) - p.mu(z, c);
        if (ahead < 0.0) return -1.0;
        least = std::min(least, ahead * ahead / p.lead_variance(z, x, c, near));
    }
    return std::sqrt(least);
}

// The member that dominates z most safely, and z's distance from its level.
template <class P>
std::pair<Index, double> safest_dominator(const P& p, Index z, const Vec<Index>& members) {
    Index best = members[0];
    double distance = -2.0;
    for (const Index x : members)
        if (const double far = distance_from(p, z, x); far > distance) best = x, distance = far;
    return {best, std::max(distance, -1.0)};
}

struct Leaves {
    double nearest;  // squared distance
    Index looked_at; // nodes
};

// Store the leaves of the tree of "z escapes", whose nearest point so far is at `nearest`. After `nodes`
// nodes those that are left are stored as they are: a cover still, if a loose one, and no distance to go by.
template <class P>
Leaves store_leaves(Search<P>& s, Index z, Index dominator, const Vec<Index>& members, double nearest, double spare,
                    Index nodes) {
    const P& p = s.posterior;
    const Index d = p.d, room = d * DEPTH + 1;
    Ints lengths(room);  // of the nodes on the stack: their constraints "above x in c"
    Table<Index> over(room, DEPTH), in(room, DEPTH);
    Piece piece(DEPTH);
    Index top = 0, seen = 0;
    for (Index c = 0; c < d; ++c, ++top) lengths[top] = 1, over(top, 0) = dominator, in(top, 0) = c;
    while (top > 0 && is_complete(s.cover)) {
        --top;
        ++seen;
        piece.clear();
        for (Index k = 0; k < lengths[top]; ++k) piece.add(lead_of(z, over(top, k), in(top, k), p.slack));
        const double square = project(p, piece);
        if (square > nearest + 2.0 * NATS * spare) continue;
        if (seen <= nodes && square < nearest + 2.0 * REFINE * spare) {
            const Index x = still_dominated(p, piece, members, s.draw.shift), m = piece.m;
            if (x < 0) {
                nearest = std::min(nearest, square);
            } else if (m < DEPTH) {
                for (Index c = 0; c < d; ++c, ++top) {
                    lengths[top] = m + 1;
                    for (Index k = 0; k < m; ++k) over(top, k) = piece[k].second, in(top, k) = piece[k].metric;
                    over(top, m) = x;
                    in(top, m) = c;
                }
                continue;
            }
        }
        store_record(s, piece);
    }
    return {nearest, seen};
}

// Store "i is below j"; its squared distance, infinite if clearly above `most`.
template <class P>
double store_pair(Search<P>& s, Index i, Index j, double most) {
    const P& p = s.posterior;
    const double near = p.distance_sq(j, i);
    if (near <= 0.0 || !p.facts.may_dominate_beyond(j, i)) return INF;  // they never part
    Piece piece(p.d);
    piece.kind = Kind::pair;
    double square = 0.0, farthest = 0.0;
    for (Index c = 0; c < p.d; ++c) {
        piece.add(lead_of(j, i, c, p.slack));
        const double ahead = std::max(-p.lead(j, i, c), 0.0);
        piece.y[c] = ahead / p.lead_variance(j, i, c, near);
        square += ahead * piece.y[c];
        farthest = std::max(farthest, ahead * piece.y[c]);
    }
    if (farthest > most) return INF;
    if (p.d > DEPTH) {
        s.cover.life->stage = Stage::full;
        return square;
    }
    if (!p.diagonal) square = project(p, piece);
    store_record(s, piece);
    return square;
}

// Cover the points at which z enters, or leaves, the Pareto set; S_hat is up to date.
//
// A member leaves where another answer is above it in every objective, and another answer enters where it
// escapes from all the others (of more than MANY, from the members: a wider set, and fewer to look at).
// How far that is at least, and how many nodes of a tree were looked at, which `nodes` bounds. If it is
// farther than `most`, the cover is not complete.
template <class P>
std::pair<double, Index> build_around(Search<P>& s, Index z, double most, Index nodes) {
    const Index n = s.model.n;
    const Vec<Index> members = s.front.listed();
    begin_building(s.cover);
    Leaves found{INF, 0};
    if (s.front.inside[z]) {
        for (Index j = 0; j < n; ++j)
            if (j != z && is_complete(s.cover))
                found.nearest = std::min(found.nearest, store_pair(s, z, j, found.nearest + 2.0 * FEWER_NATS));
    } else {
        const auto [dominator, distance] = safest_dominator(s.posterior, z, members);
        if (distance > most) return {distance, 0};
        if (n <= MANY) {
            Ints others(n - 1);
            for (Index a = 0; a < n - 1; ++a) others[a] = a < z ? a : a + 1;
            found = store_leaves(s, z, dominator, others, found.nearest, 1.0, nodes);
        } else {
            found = store_leaves(s, z, dominator, members, found.nearest, 1.0, nodes);
        }
    }
    double distance = std::sqrt(found.nearest);
    s.cover.reach->nearest = distance;
    for (Index k = 0; k < s.cover.life->records; ++k) distance = std::min(distance, s.cover.r[k]);
    return {distance, found.looked_at};
}

// Note where theta is, and how well it is known.
template <class P>
void remember_theta(Search<P>& s) {
    const P& p = s.posterior;
    Cover& cover = s.cover;
    std::copy(p.theta.data, p.theta.data + s.model.h * s.model.d, cover.theta.data);
    for (Index a = 0; a < cover.R.size(); ++a)
        for (Index c = 0; c < s.model.d; ++c)
            for (Index e = 0; e <= c; ++e) cover.R(a, c, e) = p.record.R(a, c, e);
    for (Index i = 0; i < cover.V.rows(); ++i)
        for (Index j = 0; j < cover.V.rows(); ++j) cover.V(i, j) = s.belief.V(i, j);
}

// The live answers in order, then the others: whatever a record is about is kept up to date.
template <class P>
void list_live(Search<P>& s, const Vec<double>& distance, double limit) {
    Front& front = s.front;
    const Index n = s.model.n;
    for (Index k = 0; k < s.cover.life->records; ++k) distance[s.cover.of(k).answer] = 0.0;
    if (!is_complete(s.cover)) return;
    front.size->live = 0;
    Index rest = n - front.size->members;
    for (Index z = 0; z < n; ++z)
        if (!front.inside[z] && distance[z] <= limit) front.outside[front.size->live++] = z;
    for (Index z = 0; z < n; ++z)
        if (!front.inside[z] && distance[z] > limit) front.outside[--rest] = z;
}

// Cover the alternative of the set in `s.front`; `spare` is the largest inflation of any draw.
template <class P>
void cover_alternative(Search<P>& s, double spare) {
    const P& p = s.posterior;
    Front& front = s.front;
    const Vec<Index> members = front.listed();
    remember_theta(s);
    begin_building(s.cover);
    double nearest = INF;
    for (const Index i : members) {  // "i is below j": j is above i in every objective
        const Index above = p.tolerant ? s.model.n : members.size();
        for (Index k = 0; k < above; ++k) {
            const Index j = p.tolerant ? k : members[k];
            if (i != j && is_complete(s.cover))
                nearest = std::min(nearest, store_pair(s, i, j, nearest + 2.0 * NATS * spare));
        }
    }
    Floats distance(s.model.n);  // escapes, the nearest first: it tells what else can matter
    Index first = -1;
    double closest = INF;
    for (const Index z : front.live()) {
        distance[z] = distance_from(p, z, front.dominator[z]);
        if (distance[z] * distance[z] <= nearest + 2.0 * NATS * spare)
            std::tie(front.dominator[z], distance[z]) = safest_dominator(p, z, members);
        if (distance[z] < closest) first = z, closest = distance[z];
    }
    for (Index i = -1; i < front.size->live; ++i) {
        const Index z = i < 0 ? first : front.outside[i];
        if (z < 0 || (i >= 0 && z == first)) continue;
        if (is_complete(s.cover) && distance[z] * distance[z] <= nearest + 2.0 * NATS * spare)
            nearest = store_leaves(s, z, front.dominator[z], members, nearest, spare, EVERY_NODE).nearest;
    }
    const double limit = std::sqrt(nearest + 2.0 * NATS * spare);
    *s.cover.reach = {std::sqrt(nearest), limit, spare};
    list_live(s, distance, limit);
}

// Make S_hat and its cover from scratch.
template <class P>
void build_cover(Search<P>& s, double spare) {
    s.posterior.refresh_all();
    update_candidate_set(s.posterior.mu, s.posterior.facts.values, s.front);
    cover_alternative(s, spare);
}

}  // namespace psips
