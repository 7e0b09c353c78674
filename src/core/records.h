// The state of a run, as the session's records hold it.
//
// A record of `psips.state.records` is a block of 64-bit words: an array is a pointer and its
// extents, another record a pointer, a number one word. These structs have the same layout, so that a
// record is read where it lies: nothing is copied, and what changes is changed for both sides. A
// test compares names and places with those in Python (`layout` in bindings/).
#pragma once

#include "array.h"
#include "random.h"

namespace psips {

struct Flag {  // a boolean that takes a whole word
    std::int64_t word;
    operator bool() const { return word != 0; }
};

// A short array whose places have names: S has one member for each.
template <class S>
struct Slots {
    S* data;
    Index n;
    S* operator->() const { return n == static_cast<Index>(sizeof(S) / 8) ? data : (out_of_range(), data); }
    S& operator*() const { return *operator->(); }
};

enum class Kind : Index { pair, escape };  // pieces: "i is below j", "z escapes"

// ---------------------------------------------------------------- the problem

// What is known of the noise: one covariance for all arms, one for each, none.
enum class NoiseMode : std::int64_t { shared, each, pooled, own };

struct NoiseModel {
    NoiseMode mode;
    Flag partial;        // results may lack values
    Cube<double> given;  // (K, d, d) covariance of one result of each arm, where it is needed
    Mat<double> guess;   // (d, d) what it is believed to be
    double worth;        // results that the belief is worth, 0 for none
    Vec<double> binary;  // (d,) 1 where values are 0 or 1
    Vec<double> low;     // (d,) least and largest value there can be; infinite if not known
    Vec<double> high;    // (d,)
    Index least;         // results of each arm before anything is judged
};

// Limit l holds of answer z if sign (m[z, metric] - factor m[control, metric]) >= bound.
struct LimitModel {
    Vec<Index> metric;   // (L,)
    Vec<double> sign;    // (L,) 1 or -1
    Vec<double> factor;  // (L,) 0 where the control has no part in it
    Vec<double> bound;   // (L,)
    Index control;       // 0 if no limit needs it
    Vec<double> aims;    // (d,) 1 where a metric is an objective, 0 where it is only limited
    Vec<double> kept;    // (n,) 0 where an exact metric breaks a limit, else 1; (0,) if none is limited
};

enum class ParameterSet : std::int64_t { everything, ball, box };

// A problem. Without features h = n = K, and A and Z are empty: both stand for the identity.
struct Model {
    Flag unstructured;
    Flag diagonal;         // Sigma is diagonal
    Index K, n, h, d;      // arms, answers, rows of theta, objectives
    Mat<double> A;         // (K, h) features of the arms, or (0, 0)
    Mat<double> Z;         // (n, h) features of the answers, or (0, 0)
    Mat<double> Sigma;     // (d, d) covariance of one measurement
    Mat<double> L;         // (d, d) its lower Cholesky factor
    Mat<double> P;         // (d, d) its inverse
    double xi;             // regularisation; 0 without features, or for least squares
    ParameterSet kind;     // Theta
    Vec<double> ball;      // (d,) radii: ||theta e_c||_2 <= ball[c]
    Mat<double> low;       // (h, d) box, or (0, 0)
    Mat<double> high;      // (h, d) box, or (0, 0)
    Vec<double> explore;   // (K,) w_exp: uniform, or the G-optimal design
    Vec<double> costs;     // (K,) of one pull of each arm
    Vec<double> thrift;    // (K,) w_exp for rules that mind costs: these shares of what is spent
    Mat<double> frame;     // (K, r) arms in coordinates with orthogonal columns, of mean square 1
    Vec<Index> spanning;   // (r,) arms that span the others, to be pulled first; (0,) if not asked for
    NoiseModel* noise;
    Vec<double> unit;      // (d,) standard deviation of one measurement, to compare objectives in
    Vec<double> slack;     // (d,) offset of every lead: minus the tolerance, or zeros
    Vec<double> relative;  // (d,) where the tolerance is a part of a control's mean, that part; else 0
    Index control;         // the control's place among the answers; -1 if nothing is relative
    Vec<double> level;     // (d,) zeros: no offset
    Mat<double> facts;     // (n, e) exact metrics that are objectives, NaN while unknown
    Vec<double> give;      // (e,) their tolerances
    Vec<double> even;      // (e,) zeros: no tolerance
    LimitModel* limits;
    Flag joint;            // means of answers and objectives are correlated in no simple way
};

// ---------------------------------------------------------------- what is known

struct Prior {  // per objective, of the variances of arms (Smyth 2004); rows of NoiseEstimate::prior
    enum Row : Index { variance, degrees, least };
};

struct Fitted {
    double now, then;  // results, and how many there were when the prior was estimated
};

struct NoiseEstimate {  // sums over results, less the first value of the arm; empty if the noise is known
    Mat<double> origin;     // (K, d) the first value seen
    Cube<double> count;     // (K, d, d) results that have both objectives
    Cube<double> sums;      // (K, d, d) of the first objective over these
    Cube<double> cross;     // (K, d, d) of the products of both
    Cube<double> higher;    // (K, d, 2) of cubes and fourth powers; empty if no objective has a range
    Mat<double> seen;       // (K, 2^d) results by pattern of objectives; (0, 0) if none is missing
    Cube<double> seen_sums; // (K, 2^d, d) their sums
    Cube<double> C;         // (K, d, d) covariance of each arm's mean; with features: FittedNoise
    Vec<double> freedom;    // (K,) degrees of freedom of the noise; below 1 it is not known yet
    Vec<double> level;      // (1,) z^2
    Mat<double> prior;      // (3, d) see Prior
    Slots<Fitted> fitted;
};

// Matrices of NoiseEstimate::C where the noise is estimated around a linear fit.
enum FittedNoise : Index { COVARIANCE, FACTOR, INVERSE, UNIT };

struct BeliefTally {
    Index results, updates, spanned;  // results told; rank-one updates since F was factored; arms span
};

struct Belief {
    Vec<double> pulls;       // (K,) results of each arm
    Vec<double> N;           // (K,) the same, with those that a prior is worth
    Mat<double> B;           // (h, d) sum of a x^T
    Mat<double> theta;       // (h, d) posterior mean
    Mat<double> V;           // (h, h) precision, (0, 0) without features; (h d, h d) if joint
    Mat<double> F;           // (h, h) factor of V^-1, likewise
    Slots<BeliefTally> tally;
    Mat<double> sums;        // (K, d) of the results of each arm, (0, 0) without features
    NoiseEstimate* noise_estimate;
    Mat<double> G;           // (n d, n d) covariance of all answers' means if joint, (0, 0) otherwise
    Mat<double> X;           // (h d, n d) that of theta with them, likewise; G itself without features
};

struct Posterior {
    Flag separate;           // answers are independent
    Flag diagonal;           // objectives are independent
    Mat<double> mu;          // (n, d) means of the answers
    Cube<double> C;          // (n, d, d) covariance of each arm's mean; (0, 0, 0) if linear
    Cube<double> R;          // (n, d, d) its lower Cholesky factor; linear: (1, d, d) L if it is estimated
    Vec<double> known;       // (n,) pulls that C and R stand for; (0,) if linear
    Mat<double> W;           // (n, h) whitened answers; (0, 0) if separate
    Vec<double> N;           // (K,) pulls of each arm, or weights
    Mat<double> theta;       // (h, d) mean of the parameter
    Mat<double> F;           // (h, h) factor of V^-1; (0, 0) if separate; (h d, h d) if joint
    Mat<double> A;           // (K, h) features of the arms; (0, 0) if separate
    Mat<double> Z;           // (n, h) features of the answers; (0, 0) if separate
    Mat<double> Sigma;       // (d, d) covariance of one measurement, as given or fitted
    Mat<double> L;           // (d, d) its lower Cholesky factor
    Mat<double> P;           // (d, d) its inverse
    Vec<double> unit;        // (d,) its standard deviations: what leads are compared in
    Vec<double> slack;       // (d,) offset of leads
    Flag tolerant;           // it is not 0
    Vec<double> relative;    // (d,) which part of a control's mean it is, 0 where it is a number
    Index control;           // the control; -1 if nothing is relative
    Cube<double> own;        // (K, d, d) covariance of each arm's mean, if it is not Sigma / N_a
    Flag pooled;             // a result of one arm changes that of all
    Cube<double> room;       // (2, d, d) if the covariance can grow, (0, 0, 0) otherwise
    Mat<double> G;           // (n d, n d) covariance of all answers' means if joint, (0, 0) otherwise
    Mat<double> X;           // (h d, n d) that of theta with them, likewise
    Cube<double> H;          // (K, d, n d) what the next result of each arm tells; linear: (K, d, d)
    Mat<double> facts;       // (n, e) exact metrics
    Vec<double> give;        // (e,) their tolerances
};

// ---------------------------------------------------------------- the candidate set and its alternative

struct FrontSize {
    Index members, live;
};

struct Front {  // the candidate set S_hat
    Vec<bool> inside;     // (n,) S_hat
    Vec<Index> members;   // (n,) S_hat as a list, the first size->members
    Vec<Index> outside;   // (n,) the other answers; the first size->live could escape
    Vec<Index> dominator; // (n,) for each answer outside, a member that dominates it
    Slots<FrontSize> size;
    Vec<Index> listed() const { return members.first(size->members); }
    Vec<Index> live() const { return outside.first(size->live); }
};

enum class Stage : Index { eager, built, full, leaving };

struct CoverLife {
    Stage stage;
    Index records, age, rejected;  // since it was built: rounds, rejected proposals
};

struct CoverReach {
    double nearest;   // distance of the nearest piece
    double left_out;  // from which on pieces were left out
    double spare;     // the largest inflation of any draw that it has to serve
};

struct RecordShape {
    Index answer, constraints;
    Kind kind;
    Index groups;
};

struct RecordTerm {
    Index rival, objective, group;
};

enum Reader : Index { STOPPER, LEARNER };  // whose draws a cover serves

struct Cover {
    Mat<Index> shape;     // (records, 4) RecordShape
    Cube<Index> terms;    // (records, DEPTH, 3) RecordTerm
    Mat<double> y;        // (records, DEPTH)
    Mat<double> gap;      // (records, DEPTH) by group
    Cube<double> L;       // (records, DEPTH, DEPTH) by group
    Mat<double> b;        // (records, DEPTH) by group
    Vec<double> r;        // (records,) distance of theta: norm of the positive part of b
    Mat<double> mass;     // (records, 2) bounds of the probability at `scale`; -1 if not known
    Vec<double> scale;    // (2,) largest scale of each reader's draws
    Mat<double> theta;    // (h, d) where theta was when the records were made
    Cube<double> R;       // (n, d, d) factors of the arms' covariances then; linear: (1, d, d), or none
    Mat<double> V;        // (h, h) precision then, (0, 0) without features
    Slots<CoverLife> life;
    Slots<CoverReach> reach;
    RecordShape& of(Index k) const { return *reinterpret_cast<RecordShape*>(shape[k].data); }
    RecordTerm& term(Index k, Index i) const { return *reinterpret_cast<RecordTerm*>(&terms(k, i, 0)); }
};

struct DrawTally {
    double proposals, literals;  // made so far
    double number;               // of the current draw
    double halt;                 // not 0 if someone asked the draws to end
};

struct DrawPiece {
    Index above, below;  // z of "z escapes" or j of "i below j"; i, or -1
};

struct NearestPiece {
    Index answer, constraints;
    Kind kind;
};

struct Draw {
    Slots<Stream> stream;
    Mat<double> theta;      // (h, d) the draw; linear problems, or once it is complete
    Mat<double> values;     // (n, d) its answers, as far as they were needed
    Vec<Index> drawn;       // (n,) number of the draw in which an answer's values were made
    Slots<DrawTally> made;
    Slots<DrawPiece> piece; // of Alt in which the point was found
    Vec<double> p;          // (records,) probabilities of the cover's sets, relative to the largest
    Vec<Index> choice;      // (room,) objective for each member that is not among the rivals yet
    Vec<double> forms;      // (room,) linear forms of a record's groups
    Mat<double> shift;      // (h, d) see posterior.h
    Vec<double> at_z, at_x; // (d,) means of z and of a rival somewhere else
    Vec<double> row;        // (d,)
    Slots<NearestPiece> nearest;  // the piece of Alt that was nearest last time
    Vec<Index> nearest_xs;  // (room,) its rivals
    Vec<Index> nearest_cs;  // (room,) its objectives
};

struct TieRates {  // rates of the structures of ties that were worked out last
    Vec<Index> names;   // (KEPT,)
    Mat<double> rates;  // (KEPT, GRID)
    Slots<Stream> stream;
};

struct SearchState {
    Model* model;
    Belief* belief;
    Posterior* posterior;
    Front* front;
    Cover* cover;
    Draw* draw;
    TieRates* ties;
};

enum Verdict : Index { OPEN, IN, OUT };  // of an answer: undecided, optimal, dominated

// ---------------------------------------------------------------- rules

enum class CalibrationCode : std::int64_t { heuristic, proven, sharp, measured };

struct Calibration {
    CalibrationCode code;
    double log_inverse;  // log(1 / delta)
    double kappa;        // of sharp
    Vec<double> log_q;   // (n + 1,) log q(t, delta) by |S_hat|, proven only
    double extent;       // max ||a||^2, linear
    double bias;         // sqrt(xi d L_M^2 / (2 lambda_min(Sigma))), linear
    double log_rate;     // measured: log of what is spent in an e-fold of measurements
    double low;          // .. from this log of measurements
    double high;         // .. to this one
};

enum class LearnerKind : std::int64_t { none, posterior, projected, directed };
enum class Tracking : std::int64_t { track, mixture };
enum class GoalKind : Index { whole, count, settle };

struct Goal {
    GoalKind kind;
    Index aim;  // how many, or which answer
};

struct Options {
    LearnerKind learner;
    Tracking tracking;
    double eta;
    Flag halves;  // eta by Algorithm 2, "Estimate and Halve", instead of that number
    double alpha;
    Calibration* calibration;
    Vec<double> target;  // (K,) weights of the oracle, (0,) otherwise
    Slots<Goal> goal;    // what 'certified' is to prove
};

struct LearnerTally {
    Index asked, fresh;  // asks made; whether `point` is fresh
};

struct Spread {
    double spread, centre;  // p_t and C_t of Algorithm 2, 0 if not yet set
};

struct Learner {
    Vec<double> gains;    // (K,) cumulative gains of AdaHedge
    Vec<double> gap;      // (1,) its cumulative mixability gap
    Vec<double> played;   // (K,) sum of the weights played
    Vec<double> pending;  // (K,) asked and not yet told
    Slots<Spread> estimate;
    Mat<double> point;    // (h, d) the learner's hit among the shared literal draws
    Slots<LearnerTally> tally;
};

struct Design {  // a design to respond to, for Track-and-Stop
    Posterior* posterior;  // with weights instead of pulls
    Mat<double> V;         // (h, h) its precision, (0, 0) without features
};

enum class Standing : Index { active, accepted, dropped };

struct BaselineState {  // state of the baselines
    Vec<Index> standing;  // (K,) Standing
    Vec<Index> rounds;    // (1,) rounds of the elimination that are over
    Vec<double> logs;     // (K,) logarithms of Track-and-Stop's weights, the largest 0
    Design* design;
};

struct AccountDue {
    double late, renewed, other;  // results told at which the account is late, predicted again, compared
};

struct Account {  // a predicted set, the claims that prove it, and what was told since
    Vec<double> level;       // (1,) L; 0 if there is no account
    Slots<AccountDue> due;
    Vec<bool> inside;        // (n,) S1
    Vec<double> N1;          // (K,) results told until the prediction
    Mat<double> B1;          // (h, d) and their sums
    Mat<double> V1;          // (h, h) linear: V of these, and
    Mat<double> C1;          // (h, h) its inverse; (0, 0) without features
    Vec<Index> z;            // (P,) of the pieces
    Vec<Index> length;       // (P,)
    Mat<Index> xs;           // (P, R)
    Vec<Index> first;        // (P + 1,) and what else `Claims` has
    Vec<Index> involved;     // (D,)
    Mat<Index> arms;         // (D, A); linear: answers
    Cube<double> G;          // (D, A, d)
    Mat<double> s;           // (D, A)
    Mat<double> q;           // (D, A)
    Vec<double> log_weight;  // (D,)
    Vec<double> offset;      // (D,)
    Vec<double> lead;        // (D,)
    Vec<bool> settled;       // (P,)
    Vec<Index> left;         // (P,) pieces not settled, the first size[0]
    Vec<Index> size;         // (1,)
    Vec<double> n;           // (K,) results told since, as last weighed; -1 if never
    Mat<double> mean;        // (n, d) and their means; linear: of the answers, by these results
    Mat<double> W;           // (n, h) linear: answers whitened by these results; (0, 0) without features
    Vec<double> value;       // (P,) largest score of a piece's claims: likelihood ratio, log-weight added
    Vec<Index> best;         // (P,) the claim that has it
    Mat<double> work;        // (2, A)
    Vec<bool> touched;       // (n,)
    Vec<Index> order;        // (n,) in which answers get their verdicts
    Vec<Index> owner;        // (P,) the answer that a piece belongs to
    Vec<double> hint;        // (2,) an open answer and its rival, or -1
};

struct Outcome {  // what the stopping rule says of the results told so far
    double stopped;
    double log_hit;      // log of the index of the first draw in the alternative
    double log_budget;   // log of how many draws it must not be among
    double inflation;
    double log_learned;  // log of the index of the learner's first hit
    double evidence;
    double threshold;
    double hint[2];      // an open answer and its rival, or -1; 'predicted': claims that hold, all
};

struct Room {
    double left, budget;  // what may be spent, pending asks included, now and in all; or inf
};

struct Latest {
    Index arm, fresh;  // of the result just pulled; results that were not judged yet
};

struct Run {
    SearchState* search;
    Options* options;
    Learner* learner;
    BaselineState* baseline;
    Account* account;
    Slots<Outcome> outcome;
    Slots<Key> key;      // of all draws
    Slots<Room> room;
    Slots<Latest> latest;
    Vec<double> result;  // (d,) the one just pulled
};

enum class SourceKind : std::int64_t { gaussian, bernoulli, resample, student, lognormal };

struct Source {  // where results come from
    SourceKind kind;
    Mat<double> means;   // (K, d), maximised
    Cube<double> L;      // (K, d, d) Cholesky factor of the noise of each arm; (0, d, d) if it has none
    Vec<double> low;     // (d,) value of a failure: bernoulli, and of objectives that are 0 or 1
    Vec<double> high;    // (d,) value of a success; that of a failure where there are none
    Mat<double> rows;    // (R, d) recorded results, sorted by arm, resample
    Vec<Index> starts;   // (K + 1,) where each arm's rows begin
};

}  // namespace psips
