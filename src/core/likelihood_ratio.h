// The evidence against every other set, and what it must exceed.
//
// The evidence is the likelihood ratio: half the squared distance of theta_hat to the alternative, in the metric
// of the counts. With the calibration `measured` each piece has a level of its own (spending.h), and what counts
// is the piece that falls short most. Pieces come from a cover, or from a list where answers have to keep limits:
// one rule for both.
#pragma once

#include "alternative.h"
#include "cover_build.h"
#include "near_ties/tie_levels.h"
#include "spending.h"

namespace psips {

inline constexpr double CERTAIN = 690.0;  // nats of evidence beyond which a float knows no chance

struct Evidence {
    double found, threshold;
    bool suffices() const { return found >= threshold; }
};

// ---------------------------------------------------------------- the nearest piece

inline void remember_nearest(Draw& draw, const Piece& piece) {
    *draw.nearest = {piece.answer(), piece.m, piece.kind};
    for (Index k = 0; k < piece.m; ++k) {
        draw.nearest_xs[k] = piece[k].second;
        draw.nearest_cs[k] = piece[k].metric;
    }
}

// The likelihood ratio of theta_hat against Alt(S_hat), or `ceiling` if it is larger; without limits.
template <class P>
double likelihood_ratio(Search<P>& s, double ceiling, Piece& nearest) {
    s.posterior.refresh_all();
    const double square = best_response(s.posterior, s.front.listed(), 2.0 * ceiling, nearest);
    remember_nearest(s.draw, nearest);
    return 0.5 * square;
}
template <class P>
double likelihood_ratio(Search<P>& s, double ceiling) {
    Piece nearest(std::max(s.front.size->members, s.model.d));
    return likelihood_ratio(s, ceiling, nearest);
}

// A value that the likelihood ratio is at most: by the piece that was nearest last time.
template <class P>
double bound_of_ratio(Search<P>& s) {
    const P& p = s.posterior;
    const auto [z, m, kind] = *s.draw.nearest;
    if (z < 0 || m == 0) return INF;
    const Vec<Index> members = s.front.listed();
    const bool pair = kind == Kind::pair;
    if (s.front.inside[z] != pair && !(pair && p.tolerant)) return INF;  // a member does not escape
    Piece piece(m);
    piece.kind = kind;
    for (Index k = 0; k < m; ++k)
        if (!s.front.inside[s.draw.nearest_xs[k]]) return INF;
    if (P::separate) p.refresh_means(s.pulled);
    p.refresh_listed(Vec<Index>{&s.draw.nearest->answer, 1});
    p.refresh_listed(members);
    for (Index k = 0; k < m; ++k) piece.add(lead_of(z, s.draw.nearest_xs[k], s.draw.nearest_cs[k], p.slack));
    const double square = project(p, piece);
    if (!pair && Alternative<P>(p, members).is_held_back(piece)) return INF;  // its nearest point is not in Alt any more
    return 0.5 * square;
}

// The likelihood ratio if it is below the threshold, or a bound that is; else the threshold.
template <class P>
double ratio_up_to(Search<P>& s, double threshold) {
    const double bound = bound_of_ratio(s);
    return bound < threshold ? bound : likelihood_ratio(s, threshold);
}

// ---------------------------------------------------------------- a level for each piece

// Results of arm `a` that have metric c.
template <class P>
double results_with(const Search<P>& s, Index a, Index c) {
    if (s.model.noise->partial) return std::max(s.belief.noise_estimate->count(a, c, c), 1.0);
    return s.posterior.N[a];
}

// About how many results inform a constraint: twice the variance that it has by one result of either answer over
// that which it has, N_z + N_x where these are balanced.
inline double informing(const Search<Independent>& s, const Constraint& f) {
    const Cube<double>& C = s.posterior.C;
    const Index z = f.first, x = f.second, c = f.metric;
    const double one = f.one * f.one * C(z, c, c), two = f.two * f.two * C(x, c, c);
    const double alone = one * results_with(s, z, c) + two * results_with(s, x, c);
    return (two > 0.0 ? 2.0 : 1.0) * alone / (one + two);
}
// With features its variance over what another result takes off it, of the arm that is most informative, which is
// the same where they are balanced.
inline double informing(const Search<Linear>& s, const Constraint& f) {
    const Linear& p = s.posterior;
    const Index h = p.W.cols();
    Floats apart(h), along(h);  // V^-1 (z - x)
    double square = 0.0, most = 1e-300;
    for (Index i = 0; i < h; ++i) {
        apart[i] = f.one * p.W(f.first, i) + f.two * p.W(f.second, i);
        square += apart[i] * apart[i];
    }
    for (Index i = 0; i < h; ++i)
        for (Index j = 0; j < h; ++j) along[i] += p.F(i, j) * apart[j];
    for (Index a = 0; a < p.A.rows(); ++a) {
        double found = 0.0;
        for (Index i = 0; i < h; ++i) found += p.A(a, i) * along[i];
        most = std::max(most, found * found);
    }
    return square / most;
}
// All of them where the posterior is joint.
inline double informing(const Search<Joint>& s, const Constraint&) { return static_cast<double>(s.belief.tally->results); }

// About how many results inform a piece: the fewest of any of its constraints.
template <class P>
double results_informing(const Search<P>& s, const Piece& piece) {
    double few = static_cast<double>(s.belief.tally->results);
    for (Index k = 0; k < piece.m; ++k)
        if (piece.y[k] > 0.0) few = std::min(few, informing(s, piece[k]));
    return few;
}

// The evidence against a piece of the alternative of a set, and its level: what the calibration asks of all pieces, or,
// if it is `measured`, the level of a lone tie, or of the ties around the piece.
template <class P>
Evidence weigh_piece(const Search<P>& s, const Calibration& calibration, const Vec<bool>& inside, const Piece& piece,
                     double square, bool with_ties) {
    const double t = static_cast<double>(s.belief.tally->results), found = 0.5 * square;
    if (calibration.code != CalibrationCode::measured) return {found, glr_threshold(s.model, calibration, t)};
    const double log_rate = log_spent(calibration, results_informing(s, piece), t);
    double level = lone_level(log_rate);
    if (with_ties && found < highest_level(level, s.model.d)) {
        const Wanted wanted{log_rate, level, std::max(found, level)};
        level = level_with_ties(s.posterior, *s.model.limits, inside, piece, wanted, s.ties);
    }
    return {found, level};
}

// Whether the evidence does not suffice, by the nearest piece alone.
template <class P>
bool nearest_falls_short(Search<P>& s, const Calibration& calibration, double least) {
    if (bound_of_ratio(s) < least || likelihood_ratio(s, least) < least) return true;
    Piece nearest(std::max(s.front.size->members, s.model.d));
    const double ratio = likelihood_ratio(s, highest_level(least, s.model.d), nearest);
    if (nearest.answer() < 0) return false;
    const Evidence weighed = weigh_piece(s, calibration, s.front.inside, nearest, 2.0 * ratio, true);
    return weighed.threshold - weighed.found > 0.0;
}

// ---------------------------------------------------------------- all pieces

// The records of a complete cover, as pieces.
template <class P>
class CoverPieces {
public:
    explicit CoverPieces(const Search<P>& s) : s_(s) {}
    Index room() const { return std::max(DEPTH, s_.model.d); }
    Index size() const { return s_.cover.life->records; }
    double distance_sq(Index k, Piece& piece) const {
        const Vec<double>& slack = s_.posterior.slack;
        const RecordShape& shape = s_.cover.of(k);
        const bool pair = shape.kind == Kind::pair;
        piece.clear();
        piece.kind = shape.kind;
        if (pair)  // all metrics, though some may be met already
            for (Index c = 0; c < s_.model.d; ++c) piece.add(lead_of(shape.answer, s_.cover.term(k, 0).rival, c, slack));
        for (Index i = 0; i < shape.constraints; ++i) {
            const RecordTerm& term = s_.cover.term(k, i);
            if (!pair) piece.add(lead_of(shape.answer, term.rival, term.objective, slack));
            piece.y[pair ? term.objective : i] = s_.cover.y(k, i);
        }
        return s_.cover.r[k] * s_.cover.r[k];
    }

private:
    const Search<P>& s_;
};

// All pieces of an alternative, or of a part of it.
template <class P>
class ListedPieces {
public:
    explicit ListedPieces(Alternative<P>& alternative) : alternative_(alternative), names_(alternative.list()) {}
    Index room() const { return alternative_.room(); }
    Index size() const { return static_cast<Index>(names_.size()); }
    const PieceName& name(Index k) const { return names_[within(k, size())]; }
    double distance_sq(Index k, Piece& piece) const { return alternative_.distance_sq(name(k), piece); }

private:
    Alternative<P>& alternative_;
    std::vector<PieceName> names_;
};

// Evidence and level of the piece that falls short most. Ties are looked at around the piece that falls short
// most without them, or around all pieces if none does.
template <class P, class Pieces>
Evidence weigh_pieces(const Search<P>& s, const Calibration& calibration, const Vec<bool>& inside, const Pieces& pieces) {
    Piece piece(pieces.room());
    Evidence worst{CERTAIN, glr_threshold(s.model, calibration, static_cast<double>(s.belief.tally->results))};
    Index at = -1;
    bool every = false;
    for (const bool with_ties : {false, true}) {
        double most = -INF;
        const Index first = at;
        for (Index k = 0; k < pieces.size(); ++k) {
            if (with_ties && !every && k != first) continue;
            const double square = pieces.distance_sq(k, piece);
            const Evidence weighed = weigh_piece(s, calibration, inside, piece, square, with_ties);
            if (const double by = weighed.threshold - weighed.found; by > most) worst = weighed, at = k, most = by;
        }
        every = most <= 0.0;
    }
    return worst;
}

// ---------------------------------------------------------------- of a set

// Evidence for the set that the cover was built for.
template <class P>
Evidence weigh_cover(Search<P>& s, const Calibration& calibration) {
    const double threshold = glr_threshold(s.model, calibration, static_cast<double>(s.belief.tally->results));
    if (calibration.code != CalibrationCode::measured) return {likelihood_ratio(s, INF), threshold};
    if (!is_complete(s.cover)) return {0.0, threshold};
    return weigh_pieces(s, calibration, s.front.inside, CoverPieces<P>(s));
}

// Evidence for a set of answers that keep limits, or for a part of the claims that make it up.
template <class P>
Evidence weigh_part(const Search<P>& s, const Calibration& calibration, const Vec<bool>& allowed, const Vec<bool>& inside,
                    Part part = Part::whole) {
    Alternative<P> alternative(s.posterior, *s.model.limits, allowed, inside, part);
    return weigh_pieces(s, calibration, inside, ListedPieces<P>(alternative));
}

// Evidence for the data as they stand, in full. `spare` is the largest inflation of any draw.
template <class P>
Evidence weigh_ratio(Search<P>& s, const Calibration& calibration, double spare) {
    if (has_limits(*s.model.limits)) {
        s.posterior.refresh_all();
        const Selection now(s.posterior.mu, s.model);
        return weigh_part(s, calibration, now.allowed, now.inside);
    }
    build_cover(s, spare);
    return weigh_cover(s, calibration);
}

}  // namespace psips
