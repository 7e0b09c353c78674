// The answers that keep the limits, and their Pareto set by the objectives, which can be empty.
//
// Metrics that are only limited are not objectives.
#pragma once

#include "posterior.h"

namespace psips {

inline bool may_keep(const LimitModel& limits, Index z) {  // z breaks no limit on an exact metric
    return limits.kept.size() == 0 || limits.kept[z] > 0.0;
}

inline bool has_limits(const LimitModel& limits) { return limits.metric.size() + limits.kept.size() > 0; }

// Whether z keeps all limits at the means `mu`.
inline bool keeps_limits(const Mat<double>& mu, const LimitModel& limits, Index z) {
    if (!may_keep(limits, z)) return false;
    for (Index l = 0; l < limits.metric.size(); ++l) {
        const Index c = limits.metric[l];
        const double value = mu(z, c) - limits.factor[l] * mu(limits.control, c);
        if (applies(limits, z, l) && limits.sign[l] * value < limits.bound[l]) return false;
    }
    return true;
}

// Whether x is at least as good as z in all objectives, exact ones included, and better in one.
inline bool dominates_by_objectives(const Mat<double>& mu, const Mat<double>& facts, const Vec<double>& aims, Index x,
                                    Index z) {
    bool better = false;
    for (Index c = 0; c < aims.size(); ++c) {
        if (aims[c] <= 0.0) continue;
        if (mu(x, c) < mu(z, c)) return false;
        better = better || mu(x, c) > mu(z, c);
    }
    for (Index e = 0; e < facts.cols(); ++e) {
        if (facts(x, e) < facts(z, e)) return false;
        better = better || facts(x, e) > facts(z, e);
    }
    return better;
}

// Write who keeps the limits, and who of these is Pareto-optimal.
inline void select(const Mat<double>& mu, const Mat<double>& facts, const LimitModel& limits, const Vec<bool>& allowed,
                   const Vec<bool>& inside) {
    const Index n = mu.rows();
    for (Index z = 0; z < n; ++z) allowed[z] = keeps_limits(mu, limits, z);
    for (Index z = 0; z < n; ++z) {
        inside[z] = allowed[z];
        for (Index x = 0; x < n && inside[z]; ++x)
            if (x != z && allowed[x]) inside[z] = !dominates_by_objectives(mu, facts, limits.aims, x, z);
    }
}

struct Selection {
    Flags allowed, inside;
    Selection(const Mat<double>& mu, const Model& model) : allowed(model.n), inside(model.n) {
        select(mu, model.facts, *model.limits, allowed, inside);
    }
};

// Put the members that `inside` says, and the others, into their lists.
inline void list_front(Front& front) {
    front.size->members = front.size->live = 0;
    for (Index z = 0; z < front.inside.size(); ++z) {
        if (front.inside[z]) {
            front.members[front.size->members++] = z;
        } else {
            front.outside[front.size->live++] = z;
        }
    }
}

// Bring the candidate set up to date.
template <class P>
void refresh_selection(Search<P>& s) {
    s.posterior.refresh_all();
    Flags allowed(s.model.n);
    select(s.posterior.mu, s.model.facts, *s.model.limits, allowed, s.front.inside);
    list_front(s.front);
}

}  // namespace psips
