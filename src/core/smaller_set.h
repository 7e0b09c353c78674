// The smaller of the sets that a tolerance allows.
//
// With a tolerance several sets are right. Users expect the one without any member that another member matches, up
// to the tolerance in every objective, and beats by more than the tolerance in one. Estimates a little either
// side of a tie decide whether such a member belongs to S_hat; the set without it is a candidate of its own, with
// its own alternative and its own evidence.
#pragma once

#include "likelihood_ratio.h"

namespace psips {

// By how many standard errors x matches z up to the tolerance; -1 if x cannot replace z.
//
// x can replace z if it matches z in every objective and beats it by more than the tolerance in one.
template <class P>
double replacement_margin(const P& p, const Vec<double>& aims, Index x, Index z) {
    const double apart = p.distance_sq(x, z);
    if (apart <= 0.0 || !p.facts.may_dominate_within(x, z)) return -1.0;
    double least = INF;
    bool beats = false;
    for (Index e = 0; e < p.facts.give.size(); ++e)
        beats = beats || p.facts.values(x, e) - p.facts.values(z, e) > p.facts.give[e];
    for (Index c = 0; c < p.d; ++c) {
        if (aims[c] == 0.0) continue;
        const double spare = -p.lead(z, x, c);
        if (spare < 0.0) return -1.0;
        beats = beats || p.lead(x, z, c) > 0.0;
        least = std::min(least, spare / std::sqrt(p.lead_variance(x, z, c, apart)));
    }
    return beats ? least : -1.0;
}

struct Replacement {
    double margin;  // -1 if there is none
    Index place;    // of the member, or -1
};

// The remaining member that replaces z by the largest margin.
template <class P>
Replacement best_replacement(const P& p, const Vec<double>& aims, const Vec<Index>& members, const Vec<bool>& gone, Index z) {
    Replacement best{-1.0, -1};
    for (Index k = 0; k < members.size(); ++k) {
        if (gone[k] || members[k] == z) continue;
        if (const double margin = replacement_margin(p, aims, members[k], z); margin > best.margin) best = {margin, k};
    }
    return best;
}

// Mark the members that a remaining one replaces; how many.
//
// The relation is not transitive and can be circular, so the order matters: the member that is matched most
// safely goes first, and whichever has replaced another stays.
template <class P>
Index mark_replaced(const P& p, const Vec<double>& aims, const Vec<Index>& members, const Vec<bool>& gone) {
    const Index count = members.size();
    Floats safest(count);
    Flags needed(count);
    for (Index k = 0; k < count; ++k) safest[k] = best_replacement(p, aims, members, gone, members[k]).margin;
    Index out = 0;
    for (Index round = 0; round < count; ++round) {
        Index at = -1;
        for (Index k = 0; k < count; ++k)
            if (safest[k] >= 0.0 && !needed[k] && (at < 0 || safest[k] > safest[at])) at = k;
        if (at < 0) break;
        safest[at] = -1.0;
        const Replacement found = best_replacement(p, aims, members, gone, members[at]);
        if (found.margin < 0.0) continue;
        gone[at] = needed[found.place] = true;
        ++out;
    }
    return out;
}

// Take the members that are marked out of the candidate set.
inline void take_out(Front& front, const Vec<bool>& gone) {
    for (Index k = 0; k < gone.size(); ++k)
        if (gone[k]) front.inside[front.members[k]] = false;
    Index left = 0;
    for (Index k = 0; k < gone.size(); ++k)
        if (!gone[k]) front.members[left++] = front.members[k];
    front.size->members = left;
    front.size->live = 0;
    for (Index z = 0; z < front.inside.size(); ++z) {
        if (front.inside[z]) continue;
        front.outside[front.size->live++] = z;
        if (!front.inside[front.dominator[z]]) front.dominator[z] = front.members[0];
    }
}

struct SmallerSet {
    Index left_out;     // members
    Evidence evidence;  // for the rest, if some are left out
};

// Leave out of S_hat what another member replaces, and weigh the evidence for the rest: `s.front` has the smaller
// set. `spare` is the largest inflation of any draw.
template <class P>
SmallerSet weigh_smaller(Search<P>& s, const Calibration& calibration, double spare) {
    const P& p = s.posterior;
    const bool limited = has_limits(*s.model.limits);
    if (limited) {
        refresh_selection(s);
    } else {
        p.refresh_all();
        update_candidate_set(p.mu, p.facts.values, s.front);
    }
    Flags gone(s.front.size->members);
    const Index out = mark_replaced(p, s.model.limits->aims, s.front.listed(), gone);
    if (out == 0) return {0, {0.0, INF}};
    take_out(s.front, gone);
    if (limited) {
        const Selection now(p.mu, s.model);
        return {out, weigh_part(s, calibration, now.allowed, s.front.inside)};
    }
    cover_alternative(s, spare);
    return {out, weigh_cover(s, calibration)};
}

}  // namespace psips
