// Posterior probabilities: of the alternative of S_hat, and of each answer being Pareto-optimal.
//
// The sets H_k of a cover have known probabilities p_k, P = sum p_k. A proposal chooses k with probability p_k / P,
// draws the posterior conditioned on H_k and keeps the point if no earlier set contains it; hence for any event A
// inside the union
//
//     P(A) = P E[ 1{kept and in A} ],
//
// and the mean over proposals is unbiased with a relative error that does not depend on how small P(A) is, as long as
// A fills a fair share of the union. Whatever changes the Pareto set lies in the alternative, which the cover
// contains. Where hits are frequent, plain draws serve.
#pragma once

#include "first_hit.h"

namespace psips {

inline constexpr Index LOOK = 32;   // draws between two looks at whether the matter is clear
inline constexpr double FAR = 9.0;  // standard deviations beyond which a change is not looked for: 1e-19
inline constexpr double REACH = 6.0;  // the same for an arm that would have to spoil a change just found
inline constexpr Index FEWEST_DRAWS = 20, DRAWS_IN_ALL = 20'000;  // for an answer at least; for all of them about

// Bounds of the work, in steps of about two nanoseconds; they are counted, not timed, so that the same question has
// the same answer everywhere.
inline constexpr Index FEW_ANSWERS = 30;        // up to which each has draws of its own and only trees are bounded
inline constexpr double SURVEY_WORK = 1e8;      // common draws, for all answers
inline constexpr double LEAST_SURVEY = 8.0;     // such draws, whatever they cost
inline constexpr double ENOUGH_CHANGES = 10.0;  // in them
inline constexpr double SINGLE_WORK = 1e8;      // draws for single answers
inline constexpr double NODES = 2000.0;         // of an answer's tree, at most
inline constexpr double SET_WORK = 1e8;         // draws for the whole set

struct CoverMass {
    Mass mass{1.0, 0.0};
    double limit = 0.0;  // distance of the sets that count; 0 where plain draws serve
};

template <class P>
CoverMass mass_of_cover(Search<P>& s, double nats) {
    if (!is_complete(s.cover)) return {};
    const double nearest = std::max(s.cover.reach->nearest, 0.0), limit = std::sqrt(nearest * nearest + 2.0 * nats);
    const Mass mass = weigh_sets(s, 1.0, limit, LEARNER);
    if (mass.log() > std::log(FREQUENT)) return {};
    return {mass, limit};
}

// Whether answer a could reach z at the point drawn but by a deviation of REACH.
template <class P>
bool may_reach(const Search<P>& s, Index a, Index z) {
    if constexpr (P::separate) {
        const P& p = s.posterior;
        if (s.draw.drawn[a] == static_cast<Index>(s.draw.made->number)) return true;
        for (Index c = 0; c < p.d; ++c)
            if (!(s.draw.values(z, c) - p.mu(a, c) <= REACH * std::sqrt(p.C(a, c, c)))) return false;
    }
    return true;
}

// Whether z enters or leaves the Pareto set at the point drawn, as far as it is drawn. An arm that could not reach z
// is left undrawn.
template <class P>
bool changes_place(Search<P>& s, Index z) {
    look_at(s, z, 1.0);
    for (Index a = 0; a < s.model.n; ++a) {
        if (a == z || !may_reach(s, a, z)) continue;
        look_at(s, a, 1.0);
        if (dominates(s.draw.values, s.posterior.facts.values, a, z)) return s.front.inside[z];
    }
    return !s.front.inside[z];
}

struct LogEstimate {
    double log_p;  // -inf without a hit
    double error;  // relative standard error; without a hit, the log of the probability that one would mean
};

// Log P(Alt(S_hat) | data) from at most `draws` points; with `who` >= 0: that this answer enters or leaves the set, if
// the cover is one of that. It ends early once the probability is clearly above e^log_ceiling.
template <class P>
LogEstimate estimate_change(Search<P>& s, Index draws, double log_ceiling, Index who) {
    const auto [mass, limit] = mass_of_cover(s, who < 0 ? NATS : FEWER_NATS);
    const double log_P = mass.log();
    double hits = 0.0, made = 0.0;
    for (Index k = 0; k < draws; ++k) {
        made += 1.0;
        bool hit;
        if (limit == 0.0) {
            hit = literal_draw(s, 1.0);
        } else {
            const double pick = s.draw.stream->uniform() * mass.sum;
            hit = propose(s, 1.0, limit, LEARNER, pick, who >= 0);
        }
        if (hit && (who < 0 || changes_place(s, who))) hits += 1.0;
        if ((k + 1) % LOOK == 0 && hits > 0.0) {
            const double share = hits / made, spread = std::sqrt(share * (1.0 - share) / made);
            if (share > 4.0 * spread && std::log(share - 4.0 * spread) + log_P > log_ceiling) break;
        }
    }
    if (hits == 0.0) return {-INF, log_P - std::log(made)};
    const double spread = std::sqrt((1.0 - hits / (made + 1.0)) / hits);  // not 0 if all of a few were hits
    return {log_P + std::log(hits / made), spread};
}

// Log of P(Alt(S_hat) | data), with two standard errors added; 0 where it is clearly too large.
template <class P>
double log_probability_of_change(Search<P>& s, double log_delta) {
    if (is_eager(s.cover)) {
        Index hits = 0;
        for (Index k = 0; k < 16; ++k)
            if (literal_draw(s, 1.0)) ++hits;
        if (static_cast<double>(hits) > 4.0 + 16.0 * std::exp(log_delta)) return 0.0;
        build_cover(s, s.cover.reach->spare);
    }
    const double log_P = mass_of_cover(s, NATS).mass.log();
    if (log_P <= log_delta) return log_P;  // the cover contains the alternative
    if (log_P > log_delta + 3.0 && log_P < 0.0) return 0.0;
    const auto [log_p, error] = estimate_change(s, 1024, log_delta, -1);
    if (log_p == -INF) return error + std::log(3.0);  // no hit in 1024: below that with 95%
    return log_p + std::log1p(2.0 * error);
}

// Log P(Alt(S_hat) | data) and its relative standard error, from scratch.
template <class P>
LogEstimate change_probability(Search<P>& s, Key key, Index draws) {
    build_cover(s, 1.0);
    s.draw.stream->seed(key, s.belief.tally->results, Purpose::estimate);
    const double each = 10.0 * static_cast<double>(s.cover.life->records) + 4.0 * static_cast<double>(s.model.n * s.model.d);
    draws = std::min(draws, std::max(5 * FEWEST_DRAWS, static_cast<Index>(SET_WORK / each)));
    const LogEstimate found = estimate_change(s, draws, INF, -1);
    return {found.log_p, found.log_p > -INF ? found.error : INF};
}

// Bring the candidate set up to date, and begin the draws of all answers' places.
template <class P>
void begin_places(Search<P>& s, Key key) {
    s.posterior.refresh_all();
    update_candidate_set(s.posterior.mu, s.posterior.facts.values, s.front);
    s.draw.stream->seed(key, s.belief.tally->results, Purpose::places);
}

// In how many plain draws each answer enters or leaves the set, `changes` (n,); how many draws there are.
template <class P>
double survey(Search<P>& s, Key key, const Vec<double>& changes) {
    const Index n = s.model.n, d = s.model.d;
    begin_places(s, key);
    const Mat<double>& facts = s.posterior.facts.values;
    Flags keep(n);
    Ints everyone(n);
    for (Index a = 0; a < n; ++a) everyone[a] = a;
    Table<double> points(n, d + facts.cols());
    double made = 0.0, spent = 0.0;
    while (made < LEAST_SURVEY || (spent < SURVEY_WORK && made < static_cast<double>(DRAWS_IN_ALL))) {
        made += 1.0;
        begin_draw(s, 1.0);
        look_at_all(s, 1.0);
        join_metrics(s.draw.values, facts, everyone, points);
        pareto_set(points, keep);
        Index optimal = 0;
        for (Index z = 0; z < n; ++z) {
            if (keep[z]) ++optimal;
            if (keep[z] != s.front.inside[z]) changes[z] += 1.0;
        }
        const double each = d > 3 ? 2.0 * static_cast<double>(optimal) : 100.0;
        spent += static_cast<double>(n) * (4.0 * static_cast<double>(d) + each + static_cast<double>(s.model.Z.cols()));
    }
    return made;
}

// By answer, the posterior probability of being Pareto-optimal and its standard error. Leads must be without a
// tolerance. Of more than FEW_ANSWERS `changes` and `common` are what a `survey` gave, just before; otherwise zeros.
//
// Each answer has a cover and draws of its own, so that its probability of changing place is accurate however small it
// is. Where the change is farther than FAR, it is given as 0 with a bound for the error; where none of the draws shows
// it, the error is what one of them would have meant. Of more than FEW_ANSWERS that is done for those that hardly ever
// change in draws common to all, if draws of their own tell more (the error is that of P / draws, of common ones that
// of 1 / draws), one after the other, as far as SINGLE_WORK goes; the others are given the share of common draws.
template <class P>
class Places {
public:
    Places(Search<P>& s, Index draws, const Vec<double>& changes, double common)
        : s_(s), n_(s.model.n), each_(std::min(draws, std::max(FEWEST_DRAWS, DRAWS_IN_ALL / std::max(n_, Index{1})))),
          others_(static_cast<double>(n_ <= MANY ? n_ : s.front.size->members)), changes_(changes), common_(common) {
        const double n = static_cast<double>(n_);
        const double most = std::max(static_cast<double>(FEWEST_DRAWS), SINGLE_WORK / n / others_);
        nodes_ = static_cast<Index>(n_ > FEW_ANSWERS ? std::min(NODES, most) : NODES);
    }
    void estimate(const Vec<double>& optimal, const Vec<double>& spread) {
        for (Index z = 0; z < n_; ++z) {
            double distance = 0.0;
            const bool alone = is_alone(z, distance);
            const auto [change, error] = !alone ? shared(z) : distance > FAR ? too_far(distance) : single(z);
            spread[z] = error;
            optimal[z] = s_.front.inside[z] ? 1.0 - change : change;
        }
    }

private:
    struct Change {
        double p, error;
    };
    // Whether z is to have draws of its own; its cover is built then.
    bool is_alone(Index z, double& distance) {
        const bool few = n_ <= FEW_ANSWERS;
        if (!few && !(changes_[z] < ENOUGH_CHANGES && spent_ <= SINGLE_WORK)) return false;
        Index seen;
        std::tie(distance, seen) = build_around(s_, z, FAR, nodes_);
        const double records = static_cast<double>(s_.cover.life->records), n = static_cast<double>(n_);
        spent_ += 30.0 * n + 300.0 * records + static_cast<double>(seen) * (300.0 + 20.0 * others_);
        if (few || distance > FAR) return true;
        return mass_of_cover(s_, FEWER_NATS).mass.log() < std::log(static_cast<double>(each_) / common_);
    }
    Change shared(Index z) const {
        const double hits = std::max(changes_[z], 1.0);  // without one, the error is what one would mean
        return {changes_[z] / common_, std::sqrt(hits * (1.0 - hits / (common_ + 1.0))) / common_};
    }
    Change too_far(double distance) const {
        return {0.0, static_cast<double>(std::max(n_, s_.model.d)) * std::exp(log_tail(distance))};
    }
    Change single(Index z) {
        const double records = static_cast<double>(s_.cover.life->records);
        spent_ += static_cast<double>(each_) * (10.0 * records + 8.0 * static_cast<double>(n_ * s_.model.d));
        const auto [log_p, error] = estimate_change(s_, each_, INF, z);
        const double change = std::exp(log_p);
        return {change, log_p > -INF ? change * error : std::exp(error)};
    }

    Search<P>& s_;
    Index n_, each_, nodes_ = 0;
    double others_;
    Vec<double> changes_;
    double common_, spent_ = 0.0;
};

template <class P>
void probabilities(Search<P>& s, Key key, Index draws, const Vec<double>& changes, double common,
                   const Vec<double>& optimal, const Vec<double>& spread) {
    if (common == 0.0) begin_places(s, key);
    Places<P>(s, draws, changes, common).estimate(optimal, spread);
}

}  // namespace psips
