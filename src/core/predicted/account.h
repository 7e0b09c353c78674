// Accounts: a predicted set, the claims that prove it, and what was told since.
//
// Verdicts on single answers. Each piece belongs to one answer: the leaves of z's tree to z, outside S1, and
// "i below j" to i. The answers have an order, fixed at t_1: those outside S1 before its members. A verdict
// is given, OUT or IN, when all pieces of the answer and of those before it are settled.
// P(any of them is wrong, ever) <= exp(-L): let a be the first answer in the order whose verdict would be
// wrong. If it is outside S1, it is in S(theta), no member dominates it, and theta is in a leaf of its tree.
// If it is a member, all outside S1 are rightly out, S(theta) is a subset of S1, one of it dominates a, and
// theta is in "a below j". So theta is in a piece of a, the first of which is fixed by theta and what was
// told until t_1, and no wrong verdict is given before that piece has reached L. With a tolerance the first
// wrong verdict is of an answer that no member dominates within it, or of a member that some answer
// dominates beyond it, and theta is in one of its pieces by definition.
//
// The evidence is in claims.h and, with features, linear_claims.h; which sets are predicted, and L of each,
// in stopping/predicted.h.
#pragma once

#include "evidence/closed_testing.h"
#include "predicted/claims.h"
#include "predicted/lead_evidence.h"

namespace psips {

inline constexpr double UNSEEN = -1e9;   // score of a claim with an arm that has no result yet
inline constexpr double REFUTED = 2.0;   // a claim trails for good if its score is this far below -L

struct ClaimRatio {
    double ratio;  // log likelihood ratio, negative if the claim trails; UNSEEN
    double lead;
};

// Likelihood ratio of claim o; `v` (A,) becomes the variances of its parts. Results that are pending count as
// if their arm's mean stayed as it is, and the lead were at least its standard error: a claim that trails is
// not to have all of a batch. `theta` (K, d) are the means of arms without a result since.
inline ClaimRatio ratio_of(const Account& account, Index o, const Vec<double>& pending, const Mat<double>& theta,
                           const Vec<double>& v) {
    double lead = account.offset[o], total = 0.0, before = 0.0;
    bool waiting = false;
    for (Index a = 0; a < account.involved[o]; ++a) {
        const Index arm = account.arms(o, a);
        const double n = account.n[arm];
        if (n + pending[arm] <= 0.0) return {UNSEEN, 0.0};
        waiting = waiting || pending[arm] > 0.0;
        v[a] = account.s(o, a) / (n + pending[arm]);
        total += v[a];
        before += account.s(o, a) / std::max(n, 1.0);
        for (Index c = 0; c < account.mean.cols(); ++c)
            lead += account.G(o, a, c) * (n > 0.0 ? account.mean(arm, c) : theta(arm, c));
    }
    if (waiting) lead = std::max(lead, std::sqrt(before));
    const double ratio = 0.5 * lead * lead / total;
    return {lead > 0.0 ? ratio : -ratio - 1.0, lead};
}

struct PieceScore {
    double most = UNSEEN;  // the largest ratio of a piece's claims: it bounds the evidence
    double score = -INF;   // the largest sum of ratio and log-weight,
    Index claim = 0;       // and whose it is
    void add(Index o, double ratio, double log_weight) {
        most = std::max(most, ratio);
        if (ratio + log_weight > score) score = ratio + log_weight, claim = o;
    }
};

inline PieceScore score_piece(const Account& account, Index k, const Vec<double>& pending, const Mat<double>& theta) {
    PieceScore found;
    found.claim = account.first[k];
    for (Index o = account.first[k]; o < account.first[k + 1]; ++o)
        found.add(o, ratio_of(account, o, pending, theta, account.work[0]).ratio, account.log_weight[o]);
    return found;
}

// Sums exponentials by their logarithms.
struct LogSum {
    double top = -INF, total = 0.0;
    void add(double value) {
        if (value > top) {
            total = 1.0 + total * std::exp(top - value);
            top = value;
        } else {
            total += std::exp(value - top);
        }
    }
    double value() const { return total > 0.0 ? top + std::log(total) : -INF; }
};

// The law of shifts along claim o, in leads that were predicted.
inline ShiftLaw law_of(const Account& account, Index o, double kappa) {
    const double scale = CLAIM_SPREAD * account.lead[o];
    return {CLAIM_CENTRE * account.lead[o], scale * scale, kappa};
}

// Log of the weighted sum of E over the claims of a piece; those that trail add 0.
inline double piece_evidence(const Account& account, Index k, const Vec<double>& nothing, const Mat<double>& theta) {
    LogSum sum;
    const Vec<double> v = account.work[0];
    for (Index o = account.first[k]; o < account.first[k + 1]; ++o) {
        const ClaimRatio found = ratio_of(account, o, nothing, theta, v);
        if (found.ratio <= 0.0) continue;
        const Index parts = account.involved[o];
        const double evidence =
            lead_evidence(v.first(parts), account.q[o].first(parts), found.lead, law_of(account, o, CLAIM_KAPPA));
        sum.add(evidence + account.log_weight[o]);
    }
    return sum.value();
}

// Keep the pieces for which `settle` is false on the list of those left.
template <class Settle>
void settle_pieces(Account& account, const Settle& settle) {
    Index stay = 0;
    for (Index i = 0; i < account.size[0]; ++i) {
        const Index k = account.left[i];
        settle(k);
        if (!account.settled[k]) account.left[stay++] = k;
    }
    account.size[0] = stay;
}

// Bring the account of a problem without features up to date with the results told.
inline void weigh_arms(const Belief& belief, Account& account) {
    const Index K = belief.B.rows(), d = belief.B.cols();
    bool some = false;
    for (Index a = 0; a < K; ++a) {
        const double n = belief.pulls[a] - account.N1[a];
        account.touched[a] = n != account.n[a];
        if (!account.touched[a]) continue;
        some = true;
        account.n[a] = n;
        for (Index c = 0; c < d; ++c) account.mean(a, c) = (belief.B(a, c) - account.B1(a, c)) / std::max(n, 1.0);
    }
    if (!some) return;
    Floats nothing(K);
    const double level = account.level[0];
    settle_pieces(account, [&](Index k) {
        bool touched = account.touched[account.z[k]];
        for (Index j = 0; j < account.length[k]; ++j) touched = touched || account.touched[account.xs(k, j)];
        if (!touched) return;
        const PieceScore found = score_piece(account, k, nothing, belief.theta);
        account.value[k] = found.score;
        account.best[k] = found.claim;
        if (found.most >= level) account.settled[k] = piece_evidence(account, k, nothing, belief.theta) >= level;
    });
}

// Write the verdicts that an account gives.
inline void add_verdicts(Account& account, const Vec<Index>& verdict) {
    const Vec<bool> open = account.touched;
    open.fill(account.level[0] == 0.0);
    for (Index i = 0; i < account.size[0]; ++i) open[account.owner[account.left[i]]] = true;
    for (const Index a : account.order) {
        if (open[a]) return;
        verdict[a] = account.inside[a] ? IN : OUT;
    }
}

inline bool same_set(const Vec<bool>& inside, const Vec<bool>& other) {
    return std::equal(inside.begin(), inside.end(), other.begin(), other.end());
}

// Whether all claims of some piece look false.
inline bool refuted(const Account& account) {
    for (Index i = 0; i < account.size[0]; ++i) {
        const double value = account.value[account.left[i]];
        if (UNSEEN + 10.0 < value && value < -account.level[0] - REFUTED) return true;
    }
    return false;
}

// Whether the set is right, up to the tolerance, at the estimates.
template <class P>
bool is_right(const P& p, const Vec<bool>& inside) {
    Ints room(inside.size());
    const Vec<Index> members = listed(inside, room);
    p.refresh_means();
    for (Index z = 0; z < inside.size(); ++z) {
        if (!inside[z] && !dominated_within(p.mu, p.slack, p.facts, members, z)) return false;
        for (const Index i : members)
            if (i != z && p.facts.may_dominate_beyond(z, i) && dominates_beyond(p.mu, p.slack, z, i)) return false;
    }
    return true;
}

// Whether the account's set is right at the estimates. That is S_hat; with a tolerance several sets are right,
// and S_hat keeps changing among them while noise decides between options that match.
template <class P>
bool stands(const P& p, const Front& front, const Account& account) {
    if (account.level[0] == 0.0) return false;
    return same_set(front.inside, account.inside) || (p.tolerant && is_right(p, account.inside));
}

// Write what the account says. False if it cannot prove its set: this does not stand, or all claims of a piece
// look false.
template <class P>
bool conclude(const P& p, const Front& front, const Account& account, Outcome& outcome) {
    const bool right = stands(p, front, account);
    outcome.threshold = account.level[0];
    outcome.hint[1] = static_cast<double>(account.z.size());                     // all pieces,
    outcome.hint[0] = static_cast<double>(account.z.size() - account.size[0]);  // those that are settled
    outcome.evidence = 0.0;
    outcome.stopped = 0.0;
    if (right) {
        outcome.evidence = account.level[0];
        for (Index i = 0; i < account.size[0]; ++i)
            outcome.evidence = std::min(outcome.evidence, std::max(account.value[account.left[i]], 0.0));
        if (account.size[0] == 0) outcome.stopped = 1.0;
    }
    return right && !refuted(account);
}

}  // namespace psips
