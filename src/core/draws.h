// Posterior draws, made only as far as needed, and whether they change the set.
//
// Whether a point lies in the alternative is often settled by a few answers: arms, or answers of a linear
// problem, come into being when they are first needed.
#pragma once

#include <atomic>

#include "posterior.h"

namespace psips {

inline constexpr Index MOST_DRAWS = 1'000'000;  // draws after which a learner goes without a hit
inline constexpr Index OUTSIDE_THETA = 100;   // hits outside Theta after which a learner takes one of them

inline bool asked_to_halt(const Draw& draw) {  // by another thread, see psips.interruptible
    return std::atomic_ref<double>(draw.made->halt).load(std::memory_order_relaxed) != 0.0;
}

// Begin a draw: nothing of it is made yet, but for theta of a linear problem.
template <class P>
void begin_draw(Search<P>& s, double scale) {
    s.draw.made->number += 1.0;
    s.posterior.draw_theta(*s.draw.stream, scale, s.draw.theta);
}

// Make the values of answer a at the point drawn, if they are not made yet.
template <class P>
void look_at(Search<P>& s, Index a, double scale) {
    const Index number = static_cast<Index>(s.draw.made->number);
    if (s.draw.drawn[a] == number) return;
    s.posterior.answer_at(*s.draw.stream, scale, s.draw.theta, a, s.draw.values);
    s.draw.drawn[a] = number;
}

template <class P>
void look_at_all(Search<P>& s, double scale) {
    for (Index a = 0; a < s.model.n; ++a) look_at(s, a, scale);
}

// Whether `values` (n, d) lie in the alternative of the candidate set; draw.piece becomes (j, i) for
// "i is below j" or (z, -1) for "z escapes". `others` answers outside are looked at. If `scale` is not 0,
// what is not made yet of the point drawn is made with it.
template <class P>
bool find_change(Search<P>& s, const Mat<double>& values, const Vec<double>& slack, const Vec<double>& give, Index others,
                 double scale) {
    const Vec<Index> members = s.front.listed();
    const Facts facts{s.posterior.facts.values, give};
    const bool lazily = scale > 0.0, tolerant = s.posterior.tolerant;
    DrawPiece& piece = *s.draw.piece;
    if (lazily)
        for (const Index x : members) look_at(s, x, scale);
    const auto is_below = [&](Index i, Index j) {
        return facts.may_dominate_beyond(j, i) && dominates_beyond(values, slack, j, i);
    };
    for (const Index i : members)
        for (const Index j : members)
            if (i != j && is_below(i, j)) {
                piece = {j, i};
                return true;
            }
    for (Index k = 0; k < others; ++k) {
        const Index z = s.front.outside[k];
        if (lazily) look_at(s, z, scale);
        if (tolerant)
            for (const Index i : members)
                if (is_below(i, z)) {
                    piece = {z, i};
                    return true;
                }
        const Index x = s.front.dominator[z];
        if (facts.may_dominate_within(x, z) && dominates_within(values, slack, x, z)) continue;
        if (!dominated_within(values, slack, facts, members, z)) {
            if (lazily) std::swap(s.front.outside[k], s.front.outside[k / 2]);  // sooner next time
            piece = {z, -1};
            return true;
        }
    }
    return false;
}

// Whether the point with all of `values` (n, d) lies in the alternative.
template <class P>
bool changes_set(Search<P>& s, const Mat<double>& values) {
    const P& p = s.posterior;
    return find_change(s, values, p.slack, p.facts.give, s.model.n - s.front.size->members, 0.0);
}

// One posterior draw, as far as needed; whether it is in the alternative.
template <class P>
bool literal_draw(Search<P>& s, double scale) {
    s.draw.made->literals += 1.0;
    begin_draw(s, scale);
    const P& p = s.posterior;
    return find_change(s, s.draw.values, p.slack, p.facts.give, s.front.size->live, scale);
}

// Whether theta (h, d) belongs to the parameter set.
inline bool in_theta(const Model& model, const Mat<double>& theta) {
    if (model.kind == ParameterSet::ball) {
        for (Index c = 0; c < theta.cols(); ++c) {
            double square = 0.0;
            for (Index i = 0; i < theta.rows(); ++i) square += theta(i, c) * theta(i, c);
            if (square > model.ball[c] * model.ball[c]) return false;
        }
    } else if (model.kind == ParameterSet::box) {
        for (Index i = 0; i < theta.rows(); ++i)
            for (Index c = 0; c < theta.cols(); ++c)
                if (theta(i, c) < model.low(i, c) || theta(i, c) > model.high(i, c)) return false;
    }
    return true;
}

// Whether the point drawn is in Theta; it is completed first if that has to be looked at.
template <class P>
bool allowed(Search<P>& s, double scale) {
    if (s.model.kind == ParameterSet::everything) return true;
    if (!P::separate) return in_theta(s.model, s.draw.theta);
    look_at_all(s, scale);
    return in_theta(s.model, s.draw.values);
}

}  // namespace psips
