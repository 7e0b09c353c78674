// `predicted`: a set is predicted, then proven from later results.
//
// The evidence for a set and the proof of it are in predicted/claims.h. Here is which sets are predicted, and
// when.
//
// Of delta, the share CERTIFIED is for the certificates (evidence/), which need no prediction, and the rest
// for the accounts; delta below is that rest.
//
// A set is predicted when AGREE posterior draws in a row have S_hat for their Pareto set. Its account is
// opened then: what was told until that moment, and the pieces with their claims. The j-th set to be
// predicted has the share p_j = SHARE (1 - SHARE)^(j - 1) of delta: its pieces must reach
// L_j = log(1 / (delta p_j)). A set that was predicted before goes on with its account, unless all claims of
// a piece look false: the claims cover more than Alt(S1), and one with the wrong witness cannot be proven
// though S1 is right. Then the same set is predicted again.
//
// Stop when all pieces of the last account of S_hat are settled. Proof: the j-th account is opened at a
// stopping time, and from then on the argument for one set holds given the past, so that P(stop by it, and it
// is wrong) <= delta p_j. These sum to at most delta, over any number of accounts, for every theta and however
// the arms are chosen.
//
// With a tolerance several sets are right, and with many options S_hat keeps changing among them. The account
// stays in force while its set is right at the estimates and no other is expected to be proven sooner
// (psips.session.predictions), and the run stops with its set. The proof does not mention S_hat. (With an
// account for each S_hat every change would raise the level, and a run with 200 options would not end.)
//
// Verdicts on single answers are given by either: by the accounts (predicted/account.h), the certificates
// taking these for known. P(any is wrong) is at most delta in all. The rule also stops when no verdict is open.
//
// Now and then (AccountDue::renewed) a set whose account takes longer than was expected is predicted again, if
// that is expected to cost clearly less than was spent: psips.session.predictions. This and what the sampling
// rule does (sampling/predicted.h) is decided by what was told, so that the proof does not change.
#pragma once

#include "draws.h"
#include "predicted/linear_claims.h"
#include "stopping/common.h"

namespace psips {

inline constexpr double CERTIFIED = 0.05;  // of delta goes to the certificates that are looked at besides the accounts
inline constexpr Index AGREE = 30;         // posterior draws that must agree before a set is predicted

// Whether AGREE posterior draws have the Pareto set S_hat. They are whole draws, so that the answer does not
// depend on what was asked.
template <class P>
bool draws_agree(RunState<P>& run) {
    for (Index k = 0; k < AGREE; ++k) {
        run.draw.made->literals += 1.0;
        begin_draw(run, 1.0);
        look_at_all(run, 1.0);
        if (changes_set(run, run.draw.values)) return false;
    }
    return true;
}

// With a tolerance, whether the answer of `hint` has not escaped its rival yet. Members must escape all answers
// then, not only those that may be members themselves, and `all_settled` remembers only rivals of that kind.
inline bool has_open_rival(const Model& model, const Belief& belief, const Front& front, bool tolerant, double log_inverse,
                           const Vec<Index>& verdict, const Hint& hint) {
    const Index z = static_cast<Index>(hint.answer), x = static_cast<Index>(hint.rival);
    if (!tolerant || x < 0 || z == x || verdict[z] != OPEN) return false;
    if (!front.inside[z] || front.inside[x]) return false;
    const ClosedTest test(model, belief, front, log_inverse, verdict);
    const double enough = test.level(ClaimKind::escapes, 0, model.n);
    return test.claims.escape(z, x, enough) < enough;
}

// Whether certificates settle all that the account of S_hat leaves open.
template <class P>
bool is_certified(RunState<P>& run) {
    Account& account = run.account;
    Ints verdict(run.model.n);
    if (same_set(run.front.inside, account.inside)) add_verdicts(account, verdict);
    const double log_inverse = run.calibration.log_inverse - std::log(CERTIFIED);
    Hint& hint = hint_of(account.hint);
    if (has_open_rival(run.model, run.belief, run.front, run.posterior.tolerant, log_inverse, verdict, hint)) return false;
    return all_settled(run.model, run.belief, run.front, log_inverse, verdict, hint);
}

// Results at which S_hat is looked at, though the account can prove its set.
inline double next_look(const Front& front, const Account& account) {
    if (same_set(front.inside, account.inside)) return account.due->renewed;
    return std::min(account.due->renewed, account.due->other);
}

template <class P>
Index judge_predicted(RunState<P>& run) {
    const double told = static_cast<double>(run.results());
    cover_for_learner(run);
    if (run.account.level[0] > 0.0) weigh_claims(run.model, run.belief, run.account);
    const bool hopeful = conclude(run.posterior, run.front, run.account, run.outcome);
    if (run.outcome.stopped == 1.0 || is_certified(run)) {
        run.outcome.stopped = 1.0;
    } else if (told > 0.0 && (!hopeful || told >= next_look(run.front, run.account))) {
        run.stream().seed(run.key, run.results(), Purpose::stop);
        if (draws_agree(run)) return PREDICT;
    }
    return JUDGED;
}

}  // namespace psips
