// PSIPS as published: stopping rule and learner read the same posterior draws.
#pragma once

#include "published_draws.h"
#include "sampling/hedged.h"
#include "stopping/common.h"

namespace psips {

// Inflation and budget, and the radius of Algorithm 2 if it is in use.
template <class P>
Index judge_never_published(RunState<P>& run) {
    run.learner.tally->fresh = 0;
    calibrate_draws(run);
    if (run.options.halves)
        radius_of_rewards(run.model, run.belief, run.front, run.calibration, static_cast<double>(run.results()),
                          *run.learner.estimate);
    return JUDGED;
}

// Stop when none of M draws is in the alternative; the learner's hit is found on the way.
template <class P>
Index judge_published(RunState<P>& run) {
    judge_never_published(run);
    run.stream().seed(run.key, run.results(), Purpose::stop);
    const bool learns = run.options.learner != LearnerKind::none && !run.options.halves;
    const SharedHits hits = shared_draws(run, std::sqrt(run.outcome.inflation), run.outcome.log_budget,
                                         learns ? 1.0 / std::sqrt(run.options.eta) : 0.0, run.learner.point);
    run.outcome.log_hit = hits.stop;
    run.outcome.log_learned = hits.learn;
    run.outcome.stopped = hits.stop == INF ? 1.0 : 0.0;
    run.learner.tally->fresh = hits.learn < INF ? 1 : 0;
    return JUDGED;
}

// Take the hit of the shared draws, or of further ones; its scale, 0 if none.
template <class P>
double find_published_hit(RunState<P>& run) {
    Learner& learner = run.learner;
    double scale = 1.0 / std::sqrt(run.options.eta);
    run.stream().seed(run.key, learner.tally->asked, Purpose::learn);
    if (run.options.halves) {
        if constexpr (P::separate) {
            const double radius = learner.estimate->spread + learner.estimate->centre;
            scale = std::sqrt(8.0) * radius;
            run.outcome.log_learned = in_ball_hit(run, scale, radius, learner.point);
        }
    } else if (learner.tally->fresh == 0) {
        run.outcome.log_learned = shared_draws(run, 0.0, INF, scale, learner.point).learn;
    }
    learner.tally->fresh = 0;
    if (run.outcome.log_learned == INF) return 0.0;
    run.draw.made->number += 1.0;
    write_answers(run, learner.point);
    run.draw.drawn.fill(static_cast<Index>(run.draw.made->number));
    std::copy(learner.point.data, learner.point.data + run.model.h * run.model.d, run.draw.theta.data);
    return changes_set(run, run.draw.values) ? scale : 0.0;
}

// Learn from that hit, by the rule that the options name.
template <class P>
Index choose_published(RunState<P>& run) {
    const Index arm = opening_arm(run);
    if (arm >= 0) return arm;
    if (!is_informed(run)) return explore(run);
    Floats w(run.model.K), gains(run.model.K);
    const double scale = find_published_hit(run);
    bool hit = scale > 0.0;
    if (hit && run.options.learner == LearnerKind::posterior)
        posterior_gains(run, scale, gains);
    else if (hit)
        hit = projected_gains(run, gains);
    const double gamma = exploration_share(run);
    if (run.options.learner == LearnerKind::directed) {
        weights_for_piece(run.model, run.belief.N, gains, gamma, w);
        return follow(run, w, 0.0, run.tracks());
    }
    hedge(run.learner, hit, gains, w);
    return follow(run, w, gamma, run.tracks());
}

}  // namespace psips
