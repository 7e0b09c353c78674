// Claims about a predicted set, and the evidence that later results give for them.
//
// Let S1 be a set that was predicted from the results told until time t_1.
//
// Pieces. A list of convex cones, fixed at t_1, that covers Alt(S1): for each ordered pair of S1 the piece
// "i below j" (j at least i in every objective), and for each z outside S1 the leaves of a tree that
// branches on objectives: "z is at least x_1 in c_1, .., x_m in c_m". The list is complete. If S(theta) is
// not S1, either a member of S1 is dominated by another; or no member dominates another and some z in
// S(theta) is outside S1, as otherwise S(theta) would be a proper subset of S1, and a member left out would
// be dominated by one of S(theta), a member too. This z is dominated by no x in S1: it is above x
// somewhere, or equal to it. So at every node some branch holds, and theta is in a leaf. Every leaf is
// kept; how deep the tree goes is a matter of cost.
//
// Claims. On the piece (z; x_k, c_k) each y >= 0 gives f(theta) = sum_k y_k (x_k - z)(c_k) <= 0: the claim
// "f > 0" is false there. A few y are fixed at t_1 with weights that sum to 1: the multipliers of the
// projection of theta_hat(t_1) on the piece, and each constraint alone.
//
// Evidence for one claim, from results told after t_1 only. f is a sum of one part for each arm involved,
// f = sum_a G_a.mu_a, and G_a.x is N(G_a.mu_a, s_a^2) for a result x of arm a. After n_a results let
// v_a = s_a^2 / n_a, V = diag(v), e_a the mean of G_a.x less its expectation at theta. The ratio of the
// likelihood with the parts' means shifted by u to that of theta is exp(u'V^-1 e - u'V^-1 u / 2), a product
// over results in which each factor has mean 1 given the past, whichever arm was chosen: from t_1 on a
// nonnegative martingale of mean 1. So is its average over any law of u that is fixed at t_1. With q_a > 0
// the variances v_a that are expected at the stop, and 1 a vector of ones, that law is
//
//     u = D r + eta,   r = q / 1'q,   eta ~ N(0, R),   R = kappa (diag(q) - q q' / 1'q),
//
// D > 0 a normal of mean m and variance tau^2 given that it is positive, independent of eta. The lead f
// grows by D (1'r = 1, R 1 = 0), and eta lets the arms share it otherwise than expected. Integrating eta,
// then D, with W = (V + R)^-1, H = V^-1 - W, c = W r, B = r'W r,
//
//     log E(e) = e'He / 2 + psi(c'e) - log det(I + V^-1 R) / 2,
//     psi(A) = log of the mean over D of exp(D A - D^2 B / 2).
//
// The least of it over theta with f <= 0. These are the e with 1'e >= f_hat, f_hat the estimate of f. As
// R 1 = 0, (V + R) 1 = V 1 and so W V 1 = 1, H V 1 = 0, c'V 1 = 1: moving e along V 1 changes c'e only, and
// psi increases because D > 0. So the least is at 1'e = f_hat. There e = V 1 f_hat / 1'v + w with 1'w = 0,
// and log E depends on w through w'Hw / 2 + psi(c'w + A_0), A_0 = f_hat / 1'v. For a given c'w = a, w'Hw is
// at least a^2 / h, with
//
//     h = (sum_a v_a^2 / q_a / (1'v)^2 - 1 / 1'q) / kappa + 1 / 1'v - B,
//
// found from H V = W R: Hw = nu 1 + mu c is solved by w = V b with R b = mu (r - v / 1'v), that is
// b = (mu / kappa) (1 / 1'q - v / (q 1'v)) + constant. What is left, the least of a^2 / (2 h) + psi(A_0 + a),
// is convex in one variable; psi lies above its tangent at A_0 - h l, of slope g, so that
//
//     h l^2 / 2 + psi(A_0 - h l) - h (l - g)^2 / 2
//
// is a lower bound for every l, and exact at l = g. It is taken after a few Newton steps. Where f_hat <= 0,
// or an arm involved has no result yet, E is taken to be 0, which is below it.
//
// An average is at most the largest value, so at e = V 1 f_hat / 1'v, where the ratio is largest for u = e,
// log E <= f_hat^2 / (2 1'v): the likelihood ratio of a claim, which is cheap, bounds its evidence.
//
// Evidence for a piece: the logarithm of the weighted sum of E over its y. If theta is in the piece, all
// its claims are false and the sum of the least E is at most that of the E at theta, a nonnegative
// martingale of mean 1. By Ville's inequality P(it ever reaches L) <= exp(-L).
//
// With a tolerance (constraint.h) the pieces have offsets: "j is above i by more than epsilon in every
// objective", for i in S1 and any other answer j, and "z is above x_k by more than epsilon in c_k". They
// cover all theta at which S1 is not right, by definition: either some j dominates a member i beyond the
// tolerance, or no x in S1 dominates some z outside within it, and at every node some branch holds. On a
// piece each y >= 0 gives f(theta) + sum_k y_k epsilon(c_k) <= 0; f is tested against a number other than
// 0, so that its lead grows by that, and the rest stands as it is.
//
// A set. If S(theta) is not S1 (with a tolerance: if S1 is not right), theta lies in some piece, and the
// first such piece of the list is fixed by theta and the results until t_1. Stopping with S1 needs every
// piece, hence that one, to have reached L. So P(stop with S1, which is wrong) <= exp(-L): the number of
// claims does not count. A piece that has reached L once is settled for ever. Which sets are predicted, and
// L of each: stopping/predicted.h.
#pragma once

#include "projection.h"

namespace psips {

inline constexpr Index LEAF_CONSTRAINTS = 3;  // of a leaf, at most
inline constexpr double NEAR_TIMES = 3.0, NEAR_PLUS = 6.0;  // leaves beyond this, by the nearest squared distance, are not split
inline constexpr double JOINT_WEIGHT = 0.8;   // of the direction of the projection
inline constexpr double CLAIM_KAPPA = 0.7;    // how far the arms' shares of the lead are expected to be off
inline constexpr double CLAIM_CENTRE = 0.5, CLAIM_SPREAD = 0.6;  // m and tau of the lead to come, in leads predicted
inline constexpr double LEAST_AIM = 1.0;      // the forecast goes by leads of at least this many standard errors
inline constexpr double CLAIM_MARGIN = 1.5;   // nats that a claim's ratio is expected to have above its evidence at the stop
inline constexpr Index FORECAST_SWEEPS = 200;  // at most
inline constexpr double FORECAST_STEP = 0.05;  // by how much one of them raises the counts

// Pieces "answer z[k] is above xs(k, i) in cs(k, i) for all i < length[k]".
struct PieceList {
    PieceList(Index room, Index constraints)
        : z(room), length(room), xs(room, constraints), cs(room, constraints), y(room, constraints) {}
    Index size = 0, pairs = 0;  // how many pieces there are, and how many of them, first, are "i below j"
    Ints z, length;             // (room,)
    Table<Index> xs, cs;        // (room, R)
    Table<double> y;            // (room, R) multipliers of the projection

    void write(Index k, const Piece& piece) {
        z[k] = piece.answer();
        length[k] = piece.m;
        for (Index i = 0; i < piece.m; ++i) {
            xs(k, i) = piece[i].second;
            cs(k, i) = piece[i].metric;
            y(k, i) = piece.y[i];
        }
    }
    void read(Index k, const Vec<double>& slack, Piece& piece) const {
        piece.clear();
        for (Index i = 0; i < length[k]; ++i) {
            piece.add(lead_of(z[k], xs(k, i), cs(k, i), slack));
            piece.y[i] = y(k, i);
        }
    }
};

// The leaves of answers' trees.
template <class P>
class AnswerTrees {
public:
    AnswerTrees(const P& p, const Vec<Index>& members, PieceList& pieces)
        : p_(p), members_(members), pieces_(pieces), leaf_(pieces.xs.cols()), child_(pieces.xs.cols()),
          closed_(most(p.d)), square_(most(p.d)), shift_(p.shift_rows(), p.d) {}

    static Index most(Index d) { return d <= 4 ? 4 * d : d + 8; }  // leaves of a tree

    // Write the leaves of z's tree after the pieces there are; leaves within `near` are split. Return how
    // many there are, and the nearest squared distance.
    std::pair<Index, double> grow(Index z, double near) {
        const Index root = safest(z), d = p_.d;
        closed_.fill(false);
        count_ = 0;
        for (Index c = 0; c < d; ++c) {
            leaf_.clear();
            leaf_.add(lead_of(z, root, c, p_.slack));
            place(leaf_, count_++);
        }
        for (Index open = next_open(); open >= 0; open = next_open()) {
            Index x = -1;
            if (pieces_.length[pieces_.size + open] < LEAF_CONSTRAINTS && count_ + d - 1 <= most(d) && square_[open] <= near) {
                pieces_.read(pieces_.size + open, p_.slack, leaf_);
                x = still_dominated(p_, leaf_, members_, shift_);
            }
            if (x < 0)
                closed_[open] = true;
            else
                split(open, x);
        }
        double nearest = INF;
        for (Index i = 0; i < count_; ++i) nearest = std::min(nearest, square_[i]);
        return {count_, nearest};
    }

private:
    // The member that dominates z most clearly.
    Index safest(Index z) const {
        Index root = members_[0];
        double most = -INF;
        for (const Index x : members_) {
            double lead = INF;
            for (Index c = 0; c < p_.d; ++c) {
                const double spread = std::sqrt(p_.lead_variance(z, x, c, p_.distance_sq(z, x)));
                lead = std::min(lead, (p_.mu(x, c) - p_.mu(z, c) - p_.slack[c]) / spread);
            }
            if (lead > most && p_.facts.may_dominate_within(x, z)) root = x, most = lead;
        }
        return root;
    }
    Index next_open() const {  // the nearest
        Index open = -1;
        for (Index i = 0; i < count_; ++i)
            if (!closed_[i] && (open < 0 || square_[i] < square_[open])) open = i;
        return open;
    }
    void place(Piece& piece, Index leaf) {
        square_[leaf] = project(p_, piece);
        pieces_.write(pieces_.size + leaf, piece);
    }
    void split(Index open, Index x) {  // the leaf read last; its first child takes its place
        for (Index c = p_.d - 1; c >= 0; --c) {
            child_.take(leaf_);
            child_.add(lead_of(leaf_.answer(), x, c, p_.slack));
            place(child_, c == 0 ? open : count_++);
        }
    }

    const P& p_;
    Vec<Index> members_;
    PieceList& pieces_;
    Piece leaf_, child_;
    Index count_ = 0;
    Flags closed_;
    Floats square_;
    Table<double> shift_;
};

// The members of a set, as a list, in `room` (n,).
inline Vec<Index> listed(const Vec<bool>& inside, const Vec<Index>& room) {
    Index size = 0;
    for (Index a = 0; a < inside.size(); ++a)
        if (inside[a]) room[size++] = a;
    return room.first(size);
}

// Room for the pieces that cover Alt(S1), S1 of `members` answers.
template <class P>
Index room_for_pieces(const P& p, Index members) {
    const Index above = p.tolerant ? p.n : members;  // answers that a member can be below
    return members * (above - 1) + (p.n - members) * AnswerTrees<P>::most(p.d);
}

// Pieces that cover Alt(S1), S1 where `inside`.
template <class P>
void list_pieces(const P& p, const Vec<bool>& inside, PieceList& pieces) {
    Ints room(p.n);
    const Vec<Index> members = listed(inside, room);
    Piece pair(pieces.xs.cols());
    double nearest = INF;
    for (const Index i : members)
        for (Index k = 0; k < (p.tolerant ? p.n : members.size()); ++k) {
            const Index j = p.tolerant ? k : members[k];
            if (i == j || !p.facts.may_dominate_beyond(j, i)) continue;
            pair.clear();
            for (Index c = 0; c < p.d; ++c) pair.add(lead_of(j, i, c, p.slack));
            nearest = std::min(nearest, project(p, pair));
            pieces.write(pieces.size++, pair);
        }
    pieces.pairs = pieces.size;
    AnswerTrees<P> trees(p, members, pieces);
    for (Index z = 0; z < p.n; ++z)  // how near the alternative is, with trees as coarse as they can be
        if (!inside[z]) nearest = std::min(nearest, trees.grow(z, 0.0).second);
    const double near = P::separate ? NEAR_TIMES * nearest + NEAR_PLUS : -1.0;
    for (Index z = 0; z < p.n; ++z)
        if (!inside[z]) pieces.size += trees.grow(z, near).first;
}

// Directions of the pieces: those of piece k are first[k], .., first[k + 1] - 1.
struct Claims {
    static constexpr Index ARMS = LEAF_CONSTRAINTS + 1;
    Claims(const PieceList& pieces, Index d) : Claims(pieces, room_for(pieces), d) {}
    Index size = 0;
    Ints first;           // (P + 1,)
    Ints involved;        // (D,) number of arms
    Table<Index> arms;    // (D, ARMS)
    Block<double> G;      // (D, ARMS, d)
    Table<double> s;      // (D, ARMS) variance of one result's part
    Table<double> q;      // (D, ARMS) variances of the parts expected at the stop; linear: of f, first
    Floats log_weight;    // (D,)
    Floats offset;        // (D,) what a tolerance adds to the lead
    Floats lead;          // (D,) predicted, at least its standard error
    Floats aim;           // (D,) predicted, what the forecast goes by

private:
    Claims(const PieceList& pieces, Index room, Index d)
        : first(pieces.size + 1), involved(room), arms(room, ARMS), G(room, ARMS, d), s(room, ARMS), q(room, ARMS),
          log_weight(room), offset(room), lead(room), aim(room) {
        q.fill(1.0);
    }
    static Index room_for(const PieceList& pieces) {
        Index room = 0;
        for (Index k = 0; k < pieces.size; ++k) room += pieces.length[k] + 1;
        return room;
    }
};

// Direction y of piece k becomes the next claim.
template <class P>
void add_claim(const P& p, const PieceList& pieces, Index k, const Vec<double>& y, double weight, Claims& claims) {
    const Index o = claims.size++, d = p.d;
    const Vec<Index> arms = claims.arms[o];
    const Mat<double> G = claims.G[o];
    arms[0] = pieces.z[k];
    Index n = 1;
    for (Index i = 0; i < pieces.length[k]; ++i) {
        if (!(y[i] > 0.0)) continue;
        const Index x = pieces.xs(k, i), c = pieces.cs(k, i);
        Index at = n;
        for (Index a = 1; a < n; ++a)
            if (arms[a] == x) at = a;
        if (at == n) arms[n++] = x;
        G(at, c) += y[i];
        G(0, c) -= y[i];
        claims.offset[o] -= y[i] * p.slack[c];
    }
    claims.involved[o] = n;
    double lead = claims.offset[o], variance = 0.0;
    for (Index a = 0; a < n; ++a) {
        for (Index c = 0; c < d; ++c) {
            lead += G(a, c) * p.mu(arms[a], c);
            for (Index e = 0; e < d; ++e) claims.s(o, a) += G(a, c) * G(a, e) * p.Sigma(c, e);
        }
        if (P::separate) variance += claims.s(o, a) / p.N[arms[a]];
    }
    if (!P::separate) variance = claims.s(o, 0) * p.distance_sq(pieces.z[k], arms[1]);  // z and one other
    claims.log_weight[o] = std::log(weight);
    claims.lead[o] = std::max(lead, std::sqrt(variance));
    claims.aim[o] = std::max(lead, LEAST_AIM * std::sqrt(variance));
}

// About how many results of each arm, N (K,), take each piece's first claim to its level.
inline void forecast(const Claims& claims, double level, const Vec<double>& N) {
    const double want = level + CLAIM_MARGIN;
    const Index P = claims.first.size() - 1;
    N.fill(1e-6);
    for (Index k = 0; k < P; ++k) {
        const Index o = claims.first[k];
        for (Index a = 0; a < claims.involved[o]; ++a) {
            const double square = claims.aim[o] * claims.aim[o];
            const double alone = 0.5 * want * claims.s(o, a) * static_cast<double>(claims.involved[o]) / square;
            double& results = N[claims.arms(o, a)];
            results = std::max(results, alone);
        }
    }
    for (Index sweep = 0; sweep < FORECAST_SWEEPS; ++sweep) {
        bool short_of = false;
        for (Index k = 0; k < P; ++k) {
            const Index o = claims.first[k];
            double variance = 0.0, counts = 0.0;
            for (Index a = 0; a < claims.involved[o]; ++a) {
                variance += claims.s(o, a) / N[claims.arms(o, a)];
                counts += N[claims.arms(o, a)];
            }
            if (!(claims.aim[o] * claims.aim[o] < 2.0 * variance * want)) continue;
            short_of = true;
            for (Index a = 0; a < claims.involved[o]; ++a) {
                double& results = N[claims.arms(o, a)];
                results += FORECAST_STEP * counts * (claims.s(o, a) / results) / variance;
            }
        }
        if (!short_of) return;
    }
}

// The claims of piece k: the direction of the projection, then each constraint, the clearest first.
template <class P>
void add_claims(const P& p, const PieceList& pieces, Index k, const Vec<double>& alone, Claims& claims) {
    const Index m = pieces.length[k], z = pieces.z[k];
    Index several = 0, clearest = 0;
    double most = -INF;
    for (Index i = 0; i < m; ++i) {
        if (pieces.y(k, i) > 0.0) ++several;
        const Index x = pieces.xs(k, i), c = pieces.cs(k, i);
        double gap = p.mu(x, c) - p.mu(z, c) - p.slack[c];
        gap /= std::sqrt(p.lead_variance(z, x, c, p.distance_sq(z, x)));
        if (gap > most) clearest = i, most = gap;
    }
    const double rest = (1.0 - JOINT_WEIGHT) / static_cast<double>(m);
    if (several > 1) add_claim(p, pieces, k, pieces.y[k], JOINT_WEIGHT, claims);
    for (Index step = 0; step < m; ++step) {
        const Index i = step == 0 ? clearest : step <= clearest ? step - 1 : step;
        alone[i] = 1.0;
        add_claim(p, pieces, k, alone, several > 1 || step > 0 ? rest : JOINT_WEIGHT + rest, claims);
        alone[i] = 0.0;
    }
}

// Directions, weights and forecasts of the pieces.
template <class P>
void list_claims(const P& p, const PieceList& pieces, double level, Claims& claims) {
    Floats alone(pieces.xs.cols());
    for (Index k = 0; k < pieces.size; ++k) {
        claims.first[k] = claims.size;
        add_claims(p, pieces, k, alone, claims);
    }
    claims.first[pieces.size] = claims.size;
    if (!P::separate) {
        for (Index o = 0; o < claims.size; ++o)
            claims.q(o, 0) = 0.5 * (claims.aim[o] * claims.aim[o]) / (level + CLAIM_MARGIN);
        return;
    }
    Floats N(p.n);
    forecast(claims, level, N);
    for (Index o = 0; o < claims.size; ++o)
        for (Index a = 0; a < claims.involved[o]; ++a) claims.q(o, a) = claims.s(o, a) / N[claims.arms(o, a)];
}

}  // namespace psips
