// `directed` with the stopping rule `predicted`: pull for the claims of the predicted set.
//
// The pulls aim at claims while the set predicted stands: at the least settled piece, at its claim with the
// largest likelihood ratio, and there at arms with probabilities proportional to what they add to the
// variance of its lead, over what a pull costs. While S_hat is another set the rule goes on as before the
// prediction: a false claim never settles, and pulls that wait for it would never tell enough of the other
// arms to predict again. In linear problems a result bears on all claims, and the rule goes on as before too.
//
// An account may be of no use though S1 is right and no claim looks false: a witness that looked safe at t_1
// may nearly tie with the answer it is to dominate. So while an account takes longer than was expected, the
// share ASIDE of the pulls go as before the prediction, which informs on other witnesses.
#pragma once

#include "predicted/account.h"
#include "sampling/directed.h"

namespace psips {

inline constexpr double ASIDE = 0.1;  // of the pulls, while an account takes longer than was expected

// Whether there are open claims to aim at.
template <class P>
bool has_open_claims(const RunState<P>& run) {
    return run.account.size[0] > 0 && stands(run.posterior, run.front, run.account);
}

// The clearest claim of the least settled piece.
inline Index claim_to_settle(const Account& account, const Vec<double>& pending, const Mat<double>& theta) {
    const bool waiting = std::any_of(pending.begin(), pending.end(), [](double asked) { return asked > 0.0; });
    double least = INF;
    Index claim = -1;
    for (Index i = 0; i < account.size[0]; ++i) {
        const Index k = account.left[i];
        PieceScore found{0.0, account.value[k], account.best[k]};
        if (waiting) found = score_piece(account, k, pending, theta);
        if (found.score < least) claim = found.claim, least = found.score;
    }
    return claim;
}

// An arm of the least settled piece, for its clearest claim.
inline Index arm_for_claim(const Account& account, const Vec<double>& costs, const Vec<double>& pending,
                           const Mat<double>& theta, Stream& stream) {
    const Index claim = claim_to_settle(account, pending, theta);
    const Vec<double> adds = account.work[0];
    double total = 0.0;
    for (Index a = 0; a < account.involved[claim]; ++a) {
        const Index arm = account.arms(claim, a);
        const double n = account.n[arm] + pending[arm];
        if (n <= 0.0) return arm;
        adds[a] = account.s(claim, a) / n / costs[arm];
        total += adds[a];
    }
    double u = stream.uniform() * total;
    Index arm = account.arms(claim, 0);
    for (Index a = 0; a < account.involved[claim]; ++a) {
        if (u > 0.0) arm = account.arms(claim, a);
        u -= adds[a];
    }
    return arm;
}

template <class P>
Index choose_predicted(RunState<P>& run) {
    const Index first = opening_arm(run);
    if (first >= 0) return first;
    if (!run.model.unstructured || !has_open_claims(run)) return direct(run);
    Learner& learner = run.learner;
    run.stream().seed(run.key, learner.tally->asked, Purpose::pull);
    const bool late = static_cast<double>(run.results()) >= run.account.due->late;
    if (late && run.stream().uniform() < ASIDE) return direct(run);
    dismiss(run.cover);
    const Index arm = arm_for_claim(run.account, run.model.costs, learner.pending, run.belief.theta, run.stream());
    learner.pending[arm] += 1.0;
    learner.played[arm] += 1.0;  // as if weights had said so: others are not behind for it
    return arm;
}

}  // namespace psips
