// Bringing the candidate set up to date, and its cover where that is less work than to build it.
#pragma once

#include "cover_build.h"
#include "draws.h"

namespace psips {

// Whether z, alone of all answers, has moved into the Pareto set; it is no member.
template <class P>
bool joins_set(Search<P>& s, Index z) {
    const Mat<double>&mu = s.posterior.mu, &facts = s.posterior.facts.values;
    if (dominates(mu, facts, s.front.dominator[z], z)) return false;
    for (const Index x : s.front.listed())
        if (dominates(mu, facts, x, z)) return false;
    return true;
}

// Whether theta has another Pareto set than S_hat, whatever the tolerance.
template <class P>
bool has_changed(Search<P>& s) {
    if (P::separate && s.pulled >= 0 && !s.front.inside[s.pulled]) return joins_set(s, s.pulled);
    return find_change(s, s.posterior.mu, s.model.level, s.model.even, s.front.size->live, 0.0);
}

// Candidate set without a cover: keep S_hat unless theta has another Pareto set.
template <class P>
void refresh_candidate_set(Search<P>& s) {
    s.posterior.refresh_means(s.pulled);
    const bool whole = s.front.size->members + s.front.size->live == s.model.n;
    if (!whole || has_changed(s)) update_candidate_set(s.posterior.mu, s.posterior.facts.values, s.front);
}

// Bring the numbers of a built cover up to date; false if it has to be built again.
template <class P>
bool refresh_cover(Search<P>& s) {
    const P& p = s.posterior;
    Cover& cover = s.cover;
    if (is_stale(cover, s.belief.tally->results)) return false;
    const Index only = P::separate ? p.refresh_means(s.pulled) : -1;  // the one arm pulled since the last time, if it is one
    p.refresh_listed(s.front.listed());
    p.refresh_listed(s.front.live());
    if (has_changed(s)) return false;
    double moved = p.displacement(cover, s.draw.row);
    const double grown = std::sqrt(p.variance_growth(cover.R));
    if (!P::separate) moved *= grown;  // from the covariance of a result as it is now to that at that time
    const double left_out = (cover.reach->left_out - moved) / grown;
    const double nearest = refresh_records(p, cover, 0, cover.life->records, only);
    if (nearest < 0.0) return false;
    cover.reach->nearest = nearest;
    return left_out > 0.0 && left_out * left_out > nearest * nearest + 2.0 * MARGIN * cover.reach->spare;
}

}  // namespace psips
