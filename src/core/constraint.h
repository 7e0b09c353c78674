// Constraints: what every piece of the alternative is made of.
//
// A constraint is f(m) = one m[first, metric] + two m[second, metric] + offset >= 0: a lead of one
// answer over another, up to a tolerance; a limit that is kept or broken; a limit against a control.
// A piece of the alternative is where some of them hold, so it is convex.
//
// With a tolerance epsilon every lead has the offset slack = -epsilon. "x dominates z within the
// tolerance" if z leads x by more than epsilon nowhere (and is not level with it everywhere);
// "j dominates i beyond the tolerance" if j leads i by epsilon everywhere. Without one both are
// domination; with one neither is transitive.
//
// A metric without noise is no coordinate of a point: it is the same at all of them. Its values are
// facts, with tolerances `give`. Where z is above x in one of them by more, x never dominates z within
// the tolerance; where j is below i in one of them, j never dominates i beyond it. Equal values are
// real ties.
#pragma once

#include "records.h"

namespace psips {

struct Constraint {
    Index first, second, metric;
    double one, two, offset;
    Index limit;  // 0 for a lead; l + 1 for limit l that is kept, -(l + 1) for one that is broken
};

inline Constraint lead_of(Index z, Index x, Index c, const Vec<double>& slack) {  // z is above x in c
    return {z, x, c, 1.0, -1.0, slack[c], 0};
}

// Whether limit l says anything of z: not that the control is equal to itself.
inline bool applies(const LimitModel& limits, Index z, Index l) {
    return limits.factor[l] != 1.0 || z != limits.control;
}

// z keeps limit l (`side` 1), or breaks it (-1).
inline Constraint limit_of(const LimitModel& limits, Index z, Index l, double side) {
    const double sign = side * limits.sign[l], factor = limits.factor[l];
    Constraint f{z, z, limits.metric[l], sign, 0.0, -side * limits.bound[l], side > 0.0 ? l + 1 : -l - 1};
    if (factor != 0.0) {
        if (z == limits.control) {
            f.one = sign * (1.0 - factor);
        } else {
            f.second = limits.control;
            f.two = -sign * factor;
        }
    }
    return f;
}

inline double value_at(const Mat<double>& mu, const Constraint& f) {
    return f.one * mu(f.first, f.metric) + f.two * mu(f.second, f.metric) + f.offset;
}

inline double lead(const Mat<double>& values, const Vec<double>& slack, Index z, Index x, Index c) {
    return values(z, c) - values(x, c) + slack[c];
}

// A list of constraints with the multipliers of the projection on where they hold.
class Piece {
public:
    explicit Piece(Index room) : y(room), at_(room) {}
    Kind kind = Kind::escape;
    Index m = 0;
    Floats y;

    Constraint& operator[](Index k) { return at_[k]; }
    const Constraint& operator[](Index k) const { return at_[k]; }
    Index answer() const { return at_[0].first; }  // the one that the piece is about
    Index room() const { return at_.size(); }
    void clear() { m = 0; }
    void add(const Constraint& f) {
        at_[m] = f;
        y[m++] = 0.0;
    }
    bool is_over(Index x) const {  // whether x is listed as one that the answer is to be above
        for (Index k = 0; k < m; ++k)
            if (at_[k].limit == 0 && at_[k].second == x) return true;
        return false;
    }
    void take(const Piece& other) {
        kind = other.kind;
        m = other.m;
        for (Index k = 0; k < m; ++k) at_[k] = other.at_[k], y[k] = other.y[k];
    }

private:
    List<Constraint> at_;
};

// ---------------------------------------------------------------- points

inline bool dominates_within(const Mat<double>& values, const Vec<double>& slack, Index x, Index z) {
    const Index d = slack.size();
    const double *of_z = values[z].whole(d), *of_x = values[x].whole(d), *offset = slack.data;
    bool behind = false;
    for (Index c = 0; c < d; ++c) {
        const double ahead = of_z[c] - of_x[c] + offset[c];
        if (ahead > 0.0) return false;
        if (ahead < 0.0) behind = true;
    }
    return behind;
}

inline bool dominates_beyond(const Mat<double>& values, const Vec<double>& slack, Index j, Index i) {
    const Index d = slack.size();
    const double *of_j = values[j].whole(d), *of_i = values[i].whole(d), *offset = slack.data;
    bool above = false;
    for (Index c = 0; c < d; ++c) {
        const double ahead = of_j[c] - of_i[c] + offset[c];
        if (ahead < 0.0) return false;
        if (ahead > 0.0) above = true;
    }
    return above;
}

// ---------------------------------------------------------------- exact metrics and tolerances

struct Facts {
    Mat<double> values;  // (n, e)
    Vec<double> give;    // (e,)

    // Whether x can dominate z within the tolerance: z is above it by more in none of them.
    bool may_dominate_within(Index x, Index z) const {
        for (Index e = 0; e < give.size(); ++e)
            if (values(z, e) - values(x, e) > give[e]) return false;
        return true;
    }
    // Whether j can dominate i beyond the tolerance: it is above by more in all, or level without one.
    bool may_dominate_beyond(Index j, Index i) const {
        for (Index e = 0; e < give.size(); ++e) {
            const double ahead = values(j, e) - values(i, e);
            if (ahead < 0.0 || (give[e] > 0.0 && ahead <= give[e])) return false;
        }
        return true;
    }
};

inline bool is_tolerant(const Model& model) {  // be it a number or a part of the control's mean
    bool some = model.control >= 0;
    for (const double give : model.give) some = some || give != 0.0;
    for (const double slack : model.slack) some = some || slack != 0.0;
    return some;
}

inline bool dominated_within(const Mat<double>& values, const Vec<double>& slack, const Facts& facts,
                             const Vec<Index>& members, Index z) {  // by a member
    for (const Index x : members)
        if (facts.may_dominate_within(x, z) && dominates_within(values, slack, x, z)) return true;
    return false;
}

}  // namespace psips
