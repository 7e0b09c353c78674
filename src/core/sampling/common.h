// What sampling rules share: which arms come first, and how weights become an arm.
#pragma once

#include "belief/belief.h"
#include "run_state.h"

namespace psips {

inline constexpr Index NO_ARM = -1;

// An arm to pull before anything is judged, not asked for yet; NO_ARM if there is none.
//
// Without features: the first of the arms with the fewest results, while they have too few, or such that
// all of them are the same. With features: of the arms that span the others, until those with results do.
template <class P>
Index unseen_arm(const RunState<P>& run) {
    const Model& model = run.model;
    const Vec<double>&pulls = run.belief.pulls, &pending = run.learner.pending;
    Index first = NO_ARM;
    if (run.stays_informed() && model.noise->least <= 1) return first;
    if (model.unstructured) {
        double fewest = static_cast<double>(model.noise->least);
        for (Index a = 0; a < model.K; ++a)
            if (pulls[a] + pending[a] < fewest) first = a, fewest = pulls[a] + pending[a];
        const Vec<double>& freedom = run.belief.noise_estimate->freedom;
        if (first >= 0 || freedom.size() == 0) return first;
        fewest = INF;
        for (Index a = 0; a < model.K; ++a)
            if (freedom[a] < ENOUGH && pending[a] == 0.0 && pulls[a] < fewest) first = a, fewest = pulls[a];
    } else if (run.belief.tally->spanned == 0) {
        for (Index k = model.spanning.size() - 1; k >= 0; --k) {
            const Index a = model.spanning[k];
            if (pulls[a] + pending[a] == 0.0) first = a;
        }
    }
    return first;
}

// An arm that is to be pulled whatever the rule; NO_ARM, and the ask is counted, if there is none.
template <class P>
Index opening_arm(RunState<P>& run) {
    const Index arm = unseen_arm(run);
    if (arm >= 0)
        run.learner.pending[arm] += 1.0;
    else
        run.learner.tally->asked += 1;
    return arm;
}

// Whether results suffice to judge; if not, the rule was asked ahead of the first ones.
template <class P>
bool is_informed(RunState<P>& run) {
    run.informed = run.stays_informed() || ready(run.model, run.belief);
    return run.informed;
}

// gamma, the weight of w_exp in the mixture.
template <class P>
double exploration_share(const RunState<P>& run) {
    return std::pow(static_cast<double>(run.learner.tally->asked), -run.options.alpha);
}

// From weights `w` (K,) to an arm: the one that is most behind, or a draw.
template <class P>
Index follow(RunState<P>& run, const Vec<double>& w, double gamma, bool track) {
    const Index K = run.model.K;
    const double *share = w.whole(K), *even = run.model.explore.whole(K), *N = run.belief.N.whole(K);
    double *played = run.learner.played.whole(K), *pending = run.learner.pending.whole(K);
    Index arm = 0;
    double u = 0.0, deficit = -INF;
    if (!track) {
        run.stream().seed(run.key, run.learner.tally->asked, Purpose::pull);
        u = run.stream().uniform();
    }
    for (Index a = 0; a < K; ++a) {
        const double weight = (1.0 - gamma) * share[a] + gamma * even[a];
        played[a] += weight;
        if (track) {
            const double behind = played[a] - N[a] - pending[a];
            if (behind > deficit) arm = a, deficit = behind;
        } else {
            if (weight > 0.0 && u > 0.0) arm = a;
            u -= weight;
        }
    }
    pending[arm] += 1.0;
    return arm;
}

// Where results do not suffice yet: by the exploration weights.
template <class P>
Index explore(RunState<P>& run) {
    return follow(run, run.model.explore, 0.0, run.tracks());
}

}  // namespace psips
