// Verdicts: which answers are in the Pareto set, and which are not, by closed testing.
//
// The claims of two answers and their evidence E are those of pair_claims.h: if a claim is false,
// P(E >= L at any time) <= exp(-L).
//
// One set. Suppose that S is the Pareto set, s of n answers. Then these claims are false:
//
// * within: "x dominates z" for x and z in S, s (s - 1) of them. In some objective x does not beat z, and
//   the evidence of "x dominates z" is the least over the objectives;
// * from outside: "x dominates z" for z in S and x outside, s (n - s) of them;
// * escapes: a z outside S has an x in S that is nowhere worse. The claims "z beats x" along the m
//   directions looked at are false: (n - s) m claims, as x is fixed by z and the truth. (Those that combine
//   objectives are held to log 4 more and count for a quarter in m.)
//
// Each kind has a share of delta, which may depend on s, and each claim of it an equal part: its level is
// log(number / (share delta)). S is rejected when a claim of the first two kinds reaches its level, or when
// a z outside S has beaten every x in S somewhere, each at the level of escapes. By the union bound the
// Pareto set is rejected, ever, with probability at most delta. (Linear: the claims along one y fail
// together, so that the level is log(m / delta) for all.)
//
// All sets. A verdict is what the sets that are not rejected agree on. They are not listed. Let it be known
// that each of them contains the answers I and none of O, so that its size is from |I| to n - |O|, and let
// the levels be the largest of these sizes.
//
// * If some x in I dominates z at the level within, a set with z has both in it and is rejected: z is out.
//   If x is not in I, the level from outside must be reached too.
// * If z beats every x that is not in O somewhere at the level of escapes, a set without z is rejected: z is
//   in.
//
// I and O grow, the levels fall, and this goes on until nothing is added. The last claims cost little: with
// all others settled, "x dominates z" within |I| + 1 answers.
//
// What is known otherwise, with its own share of delta, may be put into I and O beforehand.
//
// With a tolerance the claims are those up to epsilon, and what is proven is that a set R is right
// (constraint.h): every z in R escapes all other answers, whatever is known of these, and every z outside is
// dominated within the tolerance by some x in R. Let S be the Pareto set of the truth, s answers.
//
// * If z in R is dominated by more than epsilon, it is not in S, and some x in S dominates it so, as what
//   dominates a better one does too: for each z outside S one x, fixed by the truth. The claims "z escapes
//   x" are false: (n - s) m of them.
// * If z outside R is dominated within the tolerance by no x in R, neither is what dominates z, and no such
//   answer is in R, as it would dominate z too. So z may be taken from S. For each x in R the claim "x
//   dominates z within the tolerance" is false: s (s - 1) claims within S, s (n - s) from outside.
//
// These are the numbers above, so the shares and levels are the same, with one difference: a verdict does
// not say who is in S, hence not its size, nor whether x is: the levels are the largest of all sizes and of
// both kinds. R, the answers with the verdict `in`, is wrong, ever, with probability at most delta once no
// verdict is open. Before that, `in` says that nothing dominates the answer by more than epsilon, and `out`
// that it is dominated, or that the rival dominates it within the tolerance.
#pragma once

#include "evidence/pair_claims.h"

namespace psips {

enum class ClaimKind { within, outside, escapes };

inline constexpr double SHARE_WITHIN = 0.6;  // of delta, with all three kinds; escapes have the rest
inline constexpr double SHARE_OUTSIDE = 0.05;

// The part of delta that a kind of claims has if the Pareto set has s of n answers.
inline double share_of_delta(ClaimKind kind, Index n, Index s) {
    const double outside = s < n ? SHARE_OUTSIDE : 0.0;
    const double within = s < 2 ? 0.0 : s < n ? SHARE_WITHIN : 1.0;
    if (kind == ClaimKind::within) return within;
    return kind == ClaimKind::outside ? outside : 1.0 - within - outside;
}

// Evidence that a claim needs with so many directions and sets of `least` to `most` answers.
inline double level_of_claims(const Model& model, Index directions, ClaimKind kind, Index least, Index most,
                              double log_inverse) {
    const double m = static_cast<double>(model.d) + 0.25 * static_cast<double>(directions - model.d);
    if (!model.unstructured) return std::log(m) + log_inverse;
    const Index n = model.n;
    const Index first = std::max(least, Index{kind == ClaimKind::within ? 2 : 1});
    const Index last = std::min(most, n - (kind == ClaimKind::within ? 0 : 1));
    double claims = 1.0;
    for (Index s = first; s <= last; ++s) {
        const double in = static_cast<double>(s), rest = static_cast<double>(n - s);
        double number = rest * m;
        if (kind == ClaimKind::within) number = in * (in - 1.0);
        if (kind == ClaimKind::outside) number = in * rest;
        claims = std::max(claims, number / share_of_delta(kind, n, s));
    }
    return std::log(claims) + log_inverse;
}

class ClosedTest {
public:
    // `known` are verdicts known otherwise, or OPEN.
    ClosedTest(const Model& model, const Belief& belief, const Front& front, double log_inverse, const Vec<const Index>& known)
        : claims(model, belief), verdict(model.n), rival(model.n), strength(model.n), model_(model), front_(front),
          log_inverse_(log_inverse), tolerant_(is_tolerant(model)), inner_(model.n), by_(model.n), weighed_(model.n) {
        for (Index z = 0; z < model.n; ++z) verdict[z] = known[z];
    }

    PairClaims claims;
    Ints verdict;     // (n,) Verdict
    Ints rival;       // (n,) OUT: dominates the answer; -1 if that was known otherwise. OPEN and no candidate: the
                      // candidate nearest to dominating it. Else the answer it is hardest to tell from.
    Floats strength;  // (n,) E of it

    double level(ClaimKind kind, Index least, Index most) const {
        return level_of_claims(model_, claims.directions().rows(), kind, least, most, log_inverse_);
    }
    double level(ClaimKind kind) const { return levels_[static_cast<int>(kind)]; }  // that open claims are held to
    double level_either() const { return std::max(level(ClaimKind::within), level(ClaimKind::outside)); }

    // Settle what can be settled.
    void run() {
        begin();
        for (Index before = -1; high_ - low_ != before;) {  // one verdict a round at least
            before = high_ - low_;
            set_levels();
            look_inside();
            rule_out();
            rule_in();
        }
    }

private:
    bool is_open_candidate(Index z) const { return front_.inside[z] && verdict[z] == OPEN; }
    bool is_open_other(Index z) const { return !front_.inside[z] && verdict[z] == OPEN; }

    void begin() {
        Index size = 0;  // answers that will not be out
        for (Index z = 0; z < model_.n; ++z)
            if (verdict[z] == IN || is_open_candidate(z)) ++size;
        // No open answer but a candidate is held to less than this, whatever else is settled.
        faint_ = level(ClaimKind::within, size + 1, size + 1);
        low_ = 0, high_ = model_.n;
        for (Index z = 0; z < model_.n; ++z) {
            strength[z] = 0.0;
            rival[z] = -1;
            if (verdict[z] == IN) {
                ++low_;
            } else if (verdict[z] == OUT) {
                --high_;
            } else if (!front_.inside[z]) {
                rival[z] = front_.dominator[z];
                for (const Index x : front_.listed()) {
                    const double found = claims.dominance(x, z, faint_);
                    if (found > strength[z]) strength[z] = found, rival[z] = x;
                }
            }
        }
    }

    void set_levels() {
        const Index least = tolerant_ ? 0 : low_, most = tolerant_ ? model_.n : high_;
        for (const ClaimKind kind : {ClaimKind::within, ClaimKind::outside, ClaimKind::escapes})
            levels_[static_cast<int>(kind)] = level(kind, least, most);
    }

    void look_inside() {  // evidence of "x dominates z" for x in I
        if (tolerant_) return;
        for (const Index x : front_.listed()) {
            if (verdict[x] != IN || weighed_[x]) continue;
            weighed_[x] = true;
            for (Index z = 0; z < model_.n; ++z) {
                if (!is_open_other(z)) continue;
                const double found = claims.dominance(x, z, faint_);
                if (found > inner_[z]) inner_[z] = found, by_[z] = x;
            }
        }
    }

    void rule_out() {
        const double within = level(ClaimKind::within), either = level_either();
        for (Index z = 0; z < model_.n; ++z) {
            if (!is_open_other(z)) continue;
            if (inner_[z] >= within) rival[z] = by_[z];
            if (inner_[z] >= within || strength[z] >= either) {
                verdict[z] = OUT;
                --high_;
            }
        }
    }

    void rule_in() {
        const double enough = level(ClaimKind::escapes);
        for (const Index z : front_.listed()) {
            if (verdict[z] != OPEN) continue;
            strength[z] = INF;
            for (Index x = 0; x < model_.n; ++x) {
                if (x == z || !(tolerant_ || verdict[x] != OUT)) continue;
                const double found = claims.escape(z, x, enough);
                if (found < strength[z]) strength[z] = found, rival[z] = x;
            }
            if (strength[z] >= enough) {
                verdict[z] = IN;
                ++low_;
            }
        }
    }

    const Model& model_;
    const Front& front_;
    double log_inverse_;
    bool tolerant_;
    double levels_[3] = {0.0, 0.0, 0.0};
    double faint_ = 0.0;
    Index low_ = 0, high_ = 0;  // sizes that the set can have
    Floats inner_;              // (n,) evidence of "x dominates z" for x in I,
    Ints by_;                   // (n,) .. and which x
    Flags weighed_;             // (n,) whether x was one of these
};

// An open answer and its rival, or -1, which stopping rules remember: (2,) of a record.
struct Hint {
    double answer, rival;
};
inline Hint& hint_of(const Vec<double>& two) { return *reinterpret_cast<Hint*>(two.first(2).data); }

// Whether the answer of a hint is open still, by the rivals that could settle it.
inline bool is_still_open(const ClosedTest& test, const Front& front, const Hint& hint) {
    const Index z = static_cast<Index>(hint.answer), x = static_cast<Index>(hint.rival), size = front.size->members;
    if (x < 0 || z == x || test.verdict[z] != OPEN) return false;
    if (front.inside[z]) {
        const double L = test.level(ClaimKind::escapes, size - 1, size - 1);
        return front.inside[x] && test.claims.escape(z, x, L) < L;
    }
    const double L = test.level(ClaimKind::within, size + 1, size + 1);
    for (const Index member : front.listed())
        if (test.claims.dominance(member, z, L) >= L) return false;
    return true;
}

// Whether no verdict is open. `known` (n,) has what is known otherwise, IN for candidates only and OUT for
// others only, and OPEN; `hint` remembers an answer that was open, and its rival.
inline bool all_settled(const Model& model, const Belief& belief, const Front& front, double log_inverse,
                        const Vec<const Index>& known, Hint& hint) {
    ClosedTest test(model, belief, front, log_inverse, known);
    if (is_still_open(test, front, hint)) return false;
    test.run();
    Index weakest = -1;
    for (Index z = 0; z < model.n; ++z)
        if (test.verdict[z] == OPEN && (weakest < 0 || test.strength[z] < test.strength[weakest])) weakest = z;
    if (weakest < 0) return true;
    hint = {static_cast<double>(weakest), static_cast<double>(test.rival[weakest])};
    return false;
}

// Whether enough answers are IN (count), or one is not OPEN (settle); or no verdict is open. `hint` is set to
// an open answer that it takes, and its rival: of candidates the one that would be proven soonest if its
// evidence went on growing as it has.
inline bool reached(const Model& model, const Belief& belief, const Front& front, double log_inverse, const Goal& goal,
                    Hint& hint) {
    Ints nothing(model.n);
    ClosedTest test(model, belief, front, log_inverse, nothing);
    test.run();
    Index proven = 0, unsettled = 0, wanted = -1;
    double soonest = INF;
    for (Index z = 0; z < model.n; ++z) {
        if (test.verdict[z] == IN) ++proven;
        if (test.verdict[z] != OPEN) continue;
        ++unsettled;
        if (!front.inside[z] || test.rival[z] < 0) continue;
        double wait = (test.level(ClaimKind::escapes) - test.strength[z]) / (test.strength[z] + 1.0);
        if (model.unstructured) wait /= 1.0 / belief.N[z] + 1.0 / belief.N[test.rival[z]];
        if (wait < soonest) wanted = z, soonest = wait;
    }
    if (goal.kind != GoalKind::count) wanted = goal.aim;
    hint.rival = -1.0;
    if (wanted >= 0) hint = {static_cast<double>(wanted), static_cast<double>(test.rival[wanted])};
    if (goal.kind == GoalKind::count) return proven >= goal.aim || unsettled == 0;
    return test.verdict[wanted] != OPEN;
}

}  // namespace psips
