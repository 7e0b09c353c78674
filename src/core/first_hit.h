// The first posterior draw in the alternative: literally, or by jumping to it.
//
// Literal: draw until a point lies in the alternative. First hit: with sets H_k of known posterior
// probability p_k that cover it, P = sum p_k <= 1, each draw makes a proposal with probability P: choose k
// with probability p_k / P, draw conditioned on H_k, keep the point if no earlier set contains it. Per draw
// a kept point has exactly the law of the posterior on the union, so the wait for a proposal is
// Geometric(P) draws, and the first kept point in the alternative has the index and the law of the literal
// loop's hit.
#pragma once

#include "cover_refresh.h"

namespace psips {

inline constexpr double FREQUENT = 0.3;  // above this P hits are frequent: draw literally
inline constexpr double DRIFT = 1e-3;    // of the stopping rule's scale, before the sets are weighed again
inline constexpr double NO_HIT = -1.0;   // sentinel: no hit yet
inline constexpr Index TRIES = 16;       // literal draws before a cover is built for an eager front, at least

// Add the linear forms of a record at the point drawn to `e`, by group.
template <class P>
void add_forms(Search<P>& s, const CoverRecord& one, const Vec<double>& e) {
    for (Index i = 0; i < one.shape.constraints; ++i) {
        const auto [x, c, g] = one[i];
        e[g] += one.y[i] * lead(s.draw.values, s.posterior.slack, one.shape.answer, x, c);
    }
}

// Whether a record's set contains the point: L^-1 f >= 0.
template <class P>
bool contains(Search<P>& s, const CoverRecord& one) {
    const Vec<double>& e = s.draw.forms;
    for (Index g = 0; g < one.shape.groups; ++g) e[g] = 0.0;
    add_forms(s, one, e);
    for (Index g = 0; g < one.shape.groups; ++g) {
        for (Index f = 0; f < g; ++f) e[g] -= one.L(g, f) * e[f];
        e[g] /= one.L(g, g);
        if (e[g] < 0.0) return false;
    }
    return true;
}

// Shift the point drawn so that it is a draw conditioned on a record's set.
//
// The standardised forms e become independent normals above b / scale; the point follows by regression:
// coefficients L^-T (e' - e) on the groups' directions.
template <class P>
void condition_on(Search<P>& s, const CoverRecord& one, double scale) {
    const Vec<double>& e = s.draw.forms;
    const Index groups = one.shape.groups;
    for (Index g = 0; g < groups; ++g) e[g] = one.gap[g];
    add_forms(s, one, e);
    for (Index g = 0; g < groups; ++g) {
        for (Index f = 0; f < g; ++f) e[g] -= one.L(g, f) * e[f];
        e[g] /= one.L(g, g);
    }
    for (Index g = 0; g < groups; ++g) e[g] = scale * s.draw.stream->normal_above(one.b[g] / scale) - e[g];
    for (Index g = groups - 1; g >= 0; --g) {
        for (Index f = g + 1; f < groups; ++f) e[g] -= one.L(f, g) * e[f];
        e[g] /= one.L(g, g);
    }
    Piece piece(DEPTH);
    for (Index j = 0; j < one.shape.constraints; ++j) {
        piece.add(lead_of(one.shape.answer, one[j].rival, one[j].objective, s.posterior.slack));
        piece.y[j] = one.y[j] * e[one[j].group];
    }
    s.posterior.shift_along(piece, s.draw.shift);
    s.posterior.shift_point(piece, s.draw.shift, s.draw.values, s.draw.theta);
}

// Bound of the probability of set k at scales from `below` to `above`.
inline double probability_of_set(const Cover& cover, Index k, double above, double below) {
    double value = 1.0;
    for (Index g = 0; g < cover.of(k).groups; ++g) {
        const double b = cover.b(k, g);
        value *= 0.5 * std::erfc(b * SQRT_HALF / (b > 0.0 ? above : below));
    }
    return value;
}

struct Mass {
    double sum, top;  // the sum of the sets' probabilities is sum e^top
    double log() const { return std::log(sum) + top; }
};

// Probabilities of the cover's sets into draw.p, relative to e^top.
//
// They are kept while a set does not change: for the learner, whose scale is constant, as they are; for
// the stopping rule, whose scale drifts, as bounds that hold for a while (cover.scale), which the proposals
// make up for.
template <class P>
Mass weigh_sets(Search<P>& s, double scale, double limit, Reader who) {
    Cover& cover = s.cover;
    const Vec<double>& p = s.draw.p;
    const Index size = cover.life->records;
    Mass mass{0.0, 0.0};
    if (limit < 20.0 * scale) {  // nothing underflows
        const double drift = who == STOPPER ? DRIFT : 0.0;
        if (!(cover.scale[who] * (1.0 - drift) <= scale && scale <= cover.scale[who])) {
            cover.scale[who] = scale * (1.0 + 0.9 * drift);
            for (Index k = 0; k < size; ++k) cover.mass(k, who) = -1.0;
        }
        const double above = cover.scale[who];
        for (Index k = 0; k < size; ++k) {
            p[k] = 0.0;
            if (cover.r[k] > limit) continue;
            double& kept = cover.mass(k, who);
            if (kept < 0.0) kept = probability_of_set(cover, k, above, above * (1.0 - drift));
            p[k] = kept;
            mass.sum += kept;
        }
        return mass;
    }
    cover.scale[who] = 0.0;
    mass.top = -INF;
    for (Index k = 0; k < size; ++k) {
        p[k] = -INF;
        if (cover.r[k] > limit) continue;
        p[k] = 0.0;
        for (Index g = 0; g < cover.of(k).groups; ++g) p[k] += log_tail(cover.b(k, g) / scale);
        mass.top = std::max(mass.top, p[k]);
    }
    for (Index k = 0; k < size; ++k) {
        p[k] = std::exp(p[k] - mass.top);
        mass.sum += p[k];
    }
    return mass;
}

// Make the answer that a record is about; if `foreign`, its rivals too. Without foreign ones these are
// members, which are made already.
template <class P>
void look_at_record(Search<P>& s, const CoverRecord& one, double scale, bool foreign) {
    look_at(s, one.shape.answer, scale);
    if (!foreign) return;
    for (Index i = 0; i < one.shape.constraints; ++i) look_at(s, one[i].rival, scale);
}

inline Index pick_set(const Draw& draw, Index size, double pick) {  // -1 if none has a probability that a float can hold
    Index k = -1;
    for (Index j = 0; j < size; ++j)
        if (draw.p[j] > 0.0) {
            k = j;
            pick -= draw.p[j];
            if (pick <= 0.0) break;
        }
    return k;
}

// Draw the point from a record's set; answers come into being when they are first looked at.
template <class P>
void draw_from(Search<P>& s, const CoverRecord& one, double scale, bool foreign) {
    const Vec<Index> members = s.front.listed();
    begin_draw(s, scale);
    if (P::separate)
        for (const Index x : members) look_at(s, x, scale);
    look_at_record(s, one, scale, foreign || !P::separate);
    condition_on(s, one, scale);
    if (!P::separate) {
        s.draw.made->number += 1.0;  // theta has moved, and all answers with it
        for (const Index x : members) look_at(s, x, scale);
        look_at_record(s, one, scale, foreign);
    }
}

// Draw from a set of the cover; whether the point is kept and in the alternative. A point that lies in the
// piece it was drawn for needs no further look.
template <class P>
bool propose(Search<P>& s, double scale, double limit, Reader who, double pick, bool foreign) {
    const P& p = s.posterior;
    Cover& cover = s.cover;
    Draw& draw = s.draw;
    const Index k = pick_set(draw, cover.life->records, pick);
    if (k < 0) return false;
    const bool bounded = scale < cover.scale[who] || (who == STOPPER && cover.scale[who] > 0.0);
    if (bounded && draw.stream->uniform() * draw.p[k] > probability_of_set(cover, k, scale, scale)) return false;
    const CoverRecord one(cover, k);
    draw_from(s, one, scale, foreign);
    for (Index j = 0; j < k; ++j) {
        if (cover.r[j] > limit) continue;
        const CoverRecord earlier(cover, j);
        look_at_record(s, earlier, scale, foreign);
        if (contains(s, earlier)) return false;
    }
    const Index z = one.shape.answer;
    const bool pair = one.shape.kind == Kind::pair;
    *draw.piece = {z, pair ? one[0].rival : -1};
    const bool inside = pair ? dominates_beyond(draw.values, p.slack, z, one[0].rival)
                             : !dominated_within(draw.values, p.slack, p.facts, s.front.listed(), z);
    if (inside) return true;
    for (const Index a : s.front.live()) look_at(s, a, scale);
    if (find_change(s, draw.values, p.slack, p.facts.give, s.front.size->live, 0.0)) return true;
    cover.life->rejected += 1;
    return false;
}

// Literal draws that cost about as much as building a cover.
template <class P>
Index tries_before_cover(const Search<P>& s) {
    const Index n = s.model.n;
    return TRIES + (P::separate ? std::min<Index>(n / 4, 240) : std::min<Index>(n / 32, 32));
}

struct EarlyHit {
    double log_index;  // of the first hit; NO_HIT if none of the draws was one
    Index outside;     // the learner's hits outside Theta
};

// A few literal draws, without a cover.
template <class P>
EarlyHit early_hit(Search<P>& s, Reader who, double scale, double log_budget) {
    Index outside = 0;
    for (Index index = 1; index <= tries_before_cover(s); ++index) {
        const double log_index = std::log(static_cast<double>(index));
        if (literal_draw(s, scale)) {
            if (who == STOPPER || allowed(s, scale)) return {log_index, outside};
            ++outside;
        }
        if (log_index >= log_budget) return {INF, outside};
    }
    return {NO_HIT, outside};
}

// Literal draws where hits are frequent; `index` were made.
template <class P>
double frequent_hit(Search<P>& s, Reader who, double scale, double log_budget, double index, Index outside) {
    const bool learner = who == LEARNER;
    while (index < MOST_DRAWS && !asked_to_halt(s.draw)) {
        index += 1.0;
        if (literal_draw(s, scale)) {
            ++outside;
            if (!learner || allowed(s, scale) || outside >= OUTSIDE_THETA) {
                if (index <= 2.0 && learner) s.cover.life->stage = Stage::leaving;  // the learner's hits come at once
                return std::log(index);
            }
        }
        if (std::log(index) >= log_budget) return INF;
    }
    return learner ? INF : std::log(std::max(index, 1.0));
}

// Log of the index of the first hit, by jumps; infinite if above `log_budget`.
//
// `made` draws were no hits. After a hit draw.piece says where it is, and draw.values holds the point for
// the answers that were drawn. The LEARNER's hits are in Theta too; where next to none are, because
// theta_hat is far outside, the last of OUTSIDE_THETA others must do. The STOPPER looks at the alternative
// alone: a posterior that lies outside Theta is no evidence that S_hat is right.
template <class P>
double later_hit(Search<P>& s, Reader who, double scale, double log_budget, Index made, Index outside) {
    const bool learner = who == LEARNER;
    const double nearest = std::max(s.cover.reach->nearest, 0.0);
    const double limit = std::sqrt(nearest * nearest + 2.0 * MARGIN * scale * scale);
    Mass mass{1.0, 0.0};
    if (is_complete(s.cover)) mass = weigh_sets(s, scale, limit, who);
    const double index = static_cast<double>(made);
    if (mass.log() > std::log(FREQUENT)) return frequent_hit(s, who, scale, log_budget, index, outside);
    double log_index = made > 0 ? std::log(index) : -INF;
    for (Index k = 0; k < MOST_DRAWS && !asked_to_halt(s.draw); ++k) {
        const double jump = s.draw.stream->log_geometric(mass.log()), larger = std::max(jump, log_index);
        log_index = larger + std::log1p(std::exp(std::min(jump, log_index) - larger));
        if (log_index > log_budget + 1e-12) return INF;
        s.draw.made->proposals += 1.0;
        const double pick = s.draw.stream->uniform() * mass.sum;
        if (propose(s, scale, limit, who, pick, false)) {
            ++outside;
            if (!learner || allowed(s, scale) || outside >= OUTSIDE_THETA) return log_index;
        }
    }
    return learner ? INF : log_index;
}

// Log of the index of the first draw in the alternative.
template <class P>
double first_hit(Search<P>& s, Reader who, double scale, double log_budget) {
    EarlyHit early{NO_HIT, 0};
    Index made = 0;
    if (is_eager(s.cover)) {
        early = early_hit(s, who, scale, log_budget);
        if (early.log_index != NO_HIT) return early.log_index;
        made = tries_before_cover(s);
        build_cover(s, s.cover.reach->spare);
    }
    return later_hit(s, who, scale, log_budget, made, early.outside);
}

}  // namespace psips
