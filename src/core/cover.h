// A cover of the alternative by sets whose posterior probability is known exactly.
//
// A record (z; x_k, c_k, y_k, g_k) covers the piece "z above x_k in objective c_k for all k". Within group g
// the multipliers y of the projection give the linear form f_g = sum_{k in g} y_k (z - x_k)(c_k), which is
// >= 0 on the piece; f has mean -gap and covariance Gamma = L L^T. Groups are formed so that Gamma has no
// positive entry off the diagonal: then L^-1 >= 0 and the piece lies in { e >= b }, where e is the
// standardised L^-1 (f + gap) and b = L^-1 gap, whose probability is prod_j P(N > b_j / scale). The groups
// come in an order in which b >= 0 (cover_build.h), so that the set is never larger than the half-space
// tangent to the piece. With one group it is that half-space; with a diagonal Sigma there is one group for
// each objective, and "i is below j" is covered by itself.
//
// The structure is kept between rounds and its numbers are refreshed: a record stays valid, if a little
// loose, whatever theta becomes. Pieces with less than e^-28 of the largest one's mass are left out when the
// cover is built, and it is built again before that margin can have shrunk to e^-20: precision only grows,
// so no distance shrinks by more than theta moves. (Of noise that is estimated it may fall;
// PosteriorView::variance_growth bounds by how much.)
//
// The life of a cover. eager: there is none, because hits come within a few literal draws; when they do not,
// it is built. built: it is complete, and refreshed before each round, or built again where it cannot be.
// full: it did not fit; draws are literal, and it is tried again in the next round. leaving: the learner's
// hits came at once, so the next round begins without one.
#pragma once

#include "projection.h"

namespace psips {

inline constexpr double NATS = 28.0;        // pieces with less than e^-NATS of the largest piece's mass are left out
inline constexpr double FEWER_NATS = 14.0;  // the same for one answer, whose probability is an estimate anyway
inline constexpr double MARGIN = 20.0;      // what must remain of NATS while the cover is used
inline constexpr Index DEPTH = 12;          // constraints a record can hold

inline bool is_eager(const Cover& cover) { return cover.life->stage == Stage::eager; }
inline bool is_complete(const Cover& cover) { return cover.life->stage == Stage::built; }
inline void dismiss(Cover& cover) { cover.life->stage = Stage::eager; }

inline void begin_round(Cover& cover) {  // let a cover go that was leaving; the others are a round older
    if (cover.life->stage == Stage::leaving) cover.life->stage = Stage::eager;
    cover.life->age += 1;
}

inline void begin_building(Cover& cover) { *cover.life = {Stage::built, 0, 0, 0}; }

// Whether the records are not worth refreshing: too old, or too many rejected proposals.
inline bool is_stale(const Cover& cover, Index results) {
    const CoverLife& life = *cover.life;
    return life.stage != Stage::built || life.age > 32 + results / 64 || life.rejected > 16 + life.age / 2;
}

// A record in use: its constraints, and its numbers by group.
struct CoverRecord {
    RecordShape& shape;
    const RecordTerm* terms;
    Vec<double> y, gap, b;
    Mat<double> L;

    CoverRecord(const Cover& cover, Index k)
        : shape(cover.of(k)), terms(&cover.term(k, 0)), y(cover.y[k]), gap(cover.gap[k]), b(cover.b[k]), L(cover.L[k]) {}
    const RecordTerm& operator[](Index i) const { return terms[within(i, DEPTH)]; }
    bool is_about(Index a) const {
        if (shape.answer == a) return true;
        for (Index k = 0; k < shape.constraints; ++k)
            if (terms[k].rival == a) return true;
        return false;
    }
};

// One constraint a group, all independent.
template <class P>
double refresh_independent(const P& p, CoverRecord& one) {
    double square = 0.0;
    const Index z = one.shape.answer;
    for (Index k = 0; k < one.shape.constraints; ++k) {
        const auto [x, c, g] = one[k];
        one.gap[g] = -one.y[k] * p.lead(z, x, c);
        for (Index f = 0; f < g; ++f) one.L(g, f) = 0.0;
        one.L(g, g) = one.y[k] * std::sqrt(p.lead_variance(z, x, c, 1.0));
        one.b[g] = one.gap[g] / one.L(g, g);
        const double ahead = std::max(one.b[g], 0.0);
        square += ahead * ahead;
    }
    return std::sqrt(square);
}

// gap and the lower half of Gamma, in L.
template <class P>
void sum_groups(const P& p, CoverRecord& one) {
    const Index z = one.shape.answer;
    for (Index g = 0; g < one.shape.groups; ++g) {
        one.gap[g] = 0.0;
        for (Index f = 0; f <= g; ++f) one.L(g, f) = 0.0;
    }
    for (Index k = 0; k < one.shape.constraints; ++k) {
        const auto [x, c, g] = one[k];
        one.gap[g] -= one.y[k] * p.lead(z, x, c);
        for (Index j = 0; j <= k; ++j) {
            const auto [v, e, f] = one[j];
            if (p.diagonal && g != f) continue;
            const double shared = one.y[k] * one.y[j] * lead_cov(p, z, x, c, v, e);
            one.L(std::max(g, f), std::min(g, f)) += g == f && j != k ? 2.0 * shared : shared;
        }
    }
}

// Write gap, L and b of a record; its distance, -1 if its groups clash (a positive entry off the diagonal).
template <class P>
double refresh_record(const P& p, CoverRecord& one) {
    if (p.diagonal && P::separate && one.shape.groups == one.shape.constraints) return refresh_independent(p, one);
    sum_groups(p, one);
    double square = 0.0;
    for (Index g = 0; g < one.shape.groups; ++g) {
        double rest = one.gap[g];
        if (p.diagonal) {
            one.L(g, g) = std::sqrt(one.L(g, g));
        } else {
            const double least = 1e-12 * one.L(g, g);
            for (Index f = 0; f <= g; ++f) {
                double total = one.L(g, f);
                for (Index k = 0; k < f; ++k) total -= one.L(g, k) * one.L(f, k);
                if (f < g) {
                    if (total > least) square = -INF;
                    one.L(g, f) = std::min(total, 0.0) / one.L(f, f);
                    rest -= one.L(g, f) * one.b[f];
                } else {
                    if (total <= least) square = -INF;
                    one.L(g, g) = std::sqrt(std::max(total, least));
                }
            }
        }
        one.b[g] = rest / one.L(g, g);
        const double ahead = std::max(one.b[g], 0.0);
        square += ahead * ahead;
    }
    return square >= 0.0 ? std::sqrt(square) : -1.0;
}

// Refresh records `first` to `last`; the smallest distance. Of independent arms only those that are about
// arm `only`, unless it is negative.
template <class P>
double refresh_records(const P& p, Cover& cover, Index first, Index last, Index only) {
    double nearest = INF;
    for (Index k = first; k < last; ++k) {
        CoverRecord one(cover, k);
        if (only < 0 || one.is_about(only)) {
            cover.mass(k, STOPPER) = -1.0;
            cover.mass(k, LEARNER) = -1.0;
            cover.r[k] = refresh_record(p, one);
        }
        nearest = std::min(nearest, cover.r[k]);
    }
    return nearest;
}

}  // namespace psips
