// The candidate set S_hat = S(theta_hat), and the answers that could still change it.
#pragma once

#include "pareto.h"
#include "records.h"

namespace psips {

// Make S_hat the Pareto set of the current means; every other answer is live.
//
// Only old members and answers that no old member dominates can belong to it, so what is sorted is a small
// part of the answers; n d operations otherwise. All of this is about plain domination, which is
// transitive, whatever the tolerance.
inline void update_candidate_set(const Mat<double>& mu, const Mat<double>& facts, Front& front) {
    const Index n = mu.rows(), old = front.size->members;
    Ints rivals(n);
    Index count = 0;
    for (Index z = 0; z < n; ++z) {
        bool dominated = false;
        if (!front.inside[z]) {
            dominated = old > 0 && dominates(mu, facts, front.dominator[z], z);
            for (Index k = 0; k < old && !dominated; ++k)
                if (dominates(mu, facts, front.members[k], z)) {
                    front.dominator[z] = front.members[k];
                    dominated = true;
                }
        }
        if (!dominated) rivals[count++] = z;
    }
    Table<double> points(count, mu.cols() + facts.cols());
    Flags best(count);
    join_metrics(mu, facts, rivals.first(count), points);
    pareto_set(points, best);
    front.size->members = 0;
    for (Index k = 0; k < count; ++k) {
        front.inside[rivals[k]] = best[k];
        if (best[k]) front.members[front.size->members++] = rivals[k];
    }
    for (Index k = 0; k < count; ++k) {
        if (best[k]) continue;
        for (const Index x : front.listed())
            if (dominates(mu, facts, x, rivals[k])) {
                front.dominator[rivals[k]] = x;
                break;
            }
    }
    front.size->live = 0;
    for (Index z = 0; z < n; ++z) {
        if (front.inside[z]) continue;
        Index& dominator = front.dominator[z];
        if (!front.inside[dominator]) dominator = front.dominator[dominator];  // what dominates it dominates z
        front.outside[front.size->live++] = z;
    }
}

}  // namespace psips
