// The posterior of the answers' means, as every search sees it: means, covariances, draws, moves.
//
// Three kinds, chosen once per call (`with_posterior`), never inside a loop over answers:
// Independent: answers are arms, their means are independent; arm a has the covariance C[a] with the
//   lower Cholesky factor R[a].
// Linear: theta ~ N(., Sigma (x) V^-1), seen through the rows W = Z F, F F^T = V^-1.
// Joint: one covariance G of all answers in all objectives (entry a d + c is objective c of answer
//   a): arms that share items, or linear problems in which values are missing or noise differs by arm.
//
// A shift is a move of the means along constraints, the covariance with sum_k y_k f_k. Independent: it
// holds the moves of the arms, and only rows of the piece are written; Linear: whitened, answer a moves
// by its row of W times it; Joint: how theta moves.
#pragma once

#include <cmath>

#include "constraint.h"
#include "linalg.h"

namespace psips {

struct PosteriorView {
    Posterior& record;
    Index n, d;
    bool diagonal, tolerant;
    Mat<double> mu, theta, F, A, Z, Sigma;
    Vec<double> N, slack, unit;
    Facts facts;

    explicit PosteriorView(Posterior& p)
        : record(p), n(p.mu.rows()), d(p.mu.cols()), diagonal(p.diagonal), tolerant(p.tolerant), mu(p.mu),
          theta(p.theta), F(p.F), A(p.A), Z(p.Z), Sigma(p.Sigma), N(p.N), slack(p.slack), unit(p.unit),
          facts{p.facts, p.give} {}

    double lead(Index z, Index x, Index c) const { return psips::lead(mu, slack, z, x, c); }

    // Offsets that are a part of the control's mean follow its estimate.
    void follow_control() const {
        if (record.control < 0) return;
        for (Index c = 0; c < d; ++c)
            if (record.relative[c] > 0.0) slack[c] = -record.relative[c] * std::abs(mu(record.control, c));
    }

    // Row a of `out` becomes row a of M theta.
    static void image(const Mat<double>& M, const Mat<double>& theta, Index a, const Mat<double>& out) {
        const Vec<double> row = M[a], to = out[a];
        to.fill(0.0);
        for (Index i = 0; i < theta.rows(); ++i)
            for (Index c = 0; c < theta.cols(); ++c) to[c] += row[i] * theta(i, c);
    }

    // What no variance has grown beyond since the factors were `then`: the largest eigenvalue of
    // M = R^-1 C R^-T is at most 1 + ||M - I||, of any arm; linear: of the covariance of a result.
    double variance_growth(const Cube<double>& then) const {
        double most = 1.0;
        const Cube<double>& R = record.R;
        if (record.room.size() == 0) return most;
        const Mat<double> X = record.room[0], M = record.room[1];
        for (Index a = 0; a < R.size(); ++a) {
            bool same = true;
            for (Index c = 0; c < d; ++c)
                for (Index e = 0; e <= c; ++e) same = same && R(a, c, e) == then(a, c, e);
            if (same) continue;
            for (Index j = 0; j < d; ++j)
                for (Index c = 0; c < d; ++c) {
                    double rest = R(a, c, j);
                    for (Index e = 0; e < c; ++e) rest -= then(a, c, e) * X(e, j);
                    X(c, j) = rest / then(a, c, c);
                }
            double square = 0.0, above = 0.0;
            for (Index c = 0; c < d; ++c)
                for (Index e = 0; e < d; ++e) {
                    M(c, e) = c == e ? -1.0 : 0.0;
                    for (Index j = 0; j < d; ++j) M(c, e) += X(c, j) * X(e, j);
                    square += M(c, e) * M(c, e);
                }
            for (Index c = 0; c < d; ++c) above = std::max(above, M(c, c));
            if (d > 1) above = std::sqrt(square);
            most = std::max(most, 1.0 + above);
        }
        return most;
    }
};

// ||x[a] - then[a]||^2 in the inverse of R[a] R[a]^T.
inline double precision_form(const Cube<double>& R, Index a, const Mat<double>& x, const Mat<double>& then,
                             const Vec<double>& row) {
    const Index d = row.size();
    const double *here = x[a].whole(d), *there = then[a].whole(d), *factor = R[a].data;
    double* along = row.data;
    double square = 0.0;
    for (Index c = 0; c < d; ++c) {
        double rest = here[c] - there[c];
        for (Index e = 0; e < c; ++e) rest -= factor[c * d + e] * along[e];
        along[c] = rest / factor[c * d + c];
        square += along[c] * along[c];
    }
    return square;
}

// ---------------------------------------------------------------- arms on their own

struct Independent : PosteriorView {
    static constexpr bool separate = true, joint = false;
    Cube<double> C, R;

    explicit Independent(Posterior& p) : PosteriorView(p), C(p.C), R(p.R) {}

    void fill(Index a) const {  // the covariance of arm a's mean and its factor: Sigma / N_a, or its own
        if (record.own.size() > 0) {
            for (Index c = 0; c < d; ++c)
                for (Index e = 0; e < d; ++e) C(a, c, e) = record.own(a, c, e);
            cholesky(C[a], d, R[a]);
            return;
        }
        const double number = N[a], root = std::sqrt(number);
        for (Index c = 0; c < d; ++c)
            for (Index e = 0; e < d; ++e) {
                C(a, c, e) = Sigma(c, e) / number;
                R(a, c, e) = record.L(c, e) / root;
            }
    }
    // Bring means and covariances up to date; the arm whose covariance has changed if it is one, else -1.
    // `pulled` is the only arm with results since the last time, -1 if that is not known.
    Index refresh_means(Index pulled = -1) const {
        if (pulled >= 0 && record.own.size() == 0 && record.control < 0) return refresh_arm(pulled);
        Index arm = -1, changed = 0;
        for (Index a = 0; a < n; ++a) {
            for (Index c = 0; c < d; ++c) mu(a, c) = theta(a, c);
            const bool stale = record.own.size() > 0 && C(a, 0, 0) != record.own(a, 0, 0);
            if (record.known[a] != N[a] || record.pooled || stale) {
                record.known[a] = N[a];
                fill(a);
                arm = a;
                ++changed;
            }
        }
        follow_control();
        if (record.room.size() > 0)
            for (Index c = 0; c < d; ++c) {
                double total = 0.0;
                for (Index a = 0; a < n; ++a) total += C(a, c, c) * N[a];
                unit[c] = std::sqrt(total / static_cast<double>(n));
            }
        return changed == 1 ? arm : -1;
    }
    Index refresh_arm(Index a) const {
        for (Index c = 0; c < d; ++c) mu(a, c) = theta(a, c);
        if (record.known[a] == N[a]) return -1;
        record.known[a] = N[a];
        fill(a);
        return a;
    }
    void refresh_listed(const Vec<Index>&) const {}
    void refresh_all() const { refresh_means(); }

    double mean_cov(Index a, Index c, Index b, Index e) const { return a == b ? C(a, c, e) : 0.0; }
    double cov(const Constraint& f, const Constraint& g) const {
        double total = 0.0;
        if (f.first == g.first) total += f.one * g.one * C(f.first, f.metric, g.metric);
        if (f.first == g.second) total += f.one * g.two * C(f.first, f.metric, g.metric);
        if (f.second == g.first) total += f.two * g.one * C(f.second, f.metric, g.metric);
        if (f.second == g.second) total += f.two * g.two * C(f.second, f.metric, g.metric);
        return total;
    }
    double cov_with_mean(const Constraint& f, Index a, Index c) const {
        return f.one * mean_cov(f.first, f.metric, a, c) + f.two * mean_cov(f.second, f.metric, a, c);
    }
    // What `lead_variance` needs of z and x whatever the objective; 0 if they are equal.
    double distance_sq(Index, Index) const { return 1.0; }
    double lead_variance(Index z, Index x, Index c, double) const { return C(z, c, c) + C(x, c, c); }

    void draw_answer(Stream& stream, double scale, Index a, const Mat<double>& values) const {
        double* to = values[a].whole(d);
        const double *mean = mu[a].data, *factor = R[a].data;
        Stream local = stream;  // in registers meanwhile
        for (Index c = 0; c < d; ++c) to[c] = local.normal();
        stream = local;
        for (Index c = d - 1; c >= 0; --c) {
            double total = 0.0;
            for (Index e = diagonal ? c : 0; e <= c; ++e) total += factor[c * d + e] * to[e];
            to[c] = mean[c] + scale * total;
        }
    }
    void draw_theta(Stream&, double, const Mat<double>&) const {}  // answers are drawn one by one
    void answer_at(Stream& stream, double scale, const Mat<double>&, Index a, const Mat<double>& values) const {
        draw_answer(stream, scale, a, values);
    }

    void shift_along(const Piece& piece, const Mat<double>& shift) const {
        for (Index k = 0; k < piece.m; ++k) {
            shift[piece[k].first].fill(0.0);
            shift[piece[k].second].fill(0.0);
        }
        for (Index k = 0; k < piece.m; ++k) {
            const Constraint& f = piece[k];
            for (Index e = 0; e < d; ++e) {
                shift(f.first, e) += piece.y[k] * f.one * C(f.first, e, f.metric);
                if (f.two != 0.0) shift(f.second, e) += piece.y[k] * f.two * C(f.second, e, f.metric);
            }
        }
    }
    double shifted(Index a, Index c, const Mat<double>& shift, bool touched) const {
        return touched ? mu(a, c) + shift(a, c) : mu(a, c);
    }
    // Move a point drawn: its `values` here, its theta in linear problems.
    void shift_point(const Piece& piece, const Mat<double>& shift, const Mat<double>& values, const Mat<double>&) const {
        for (Index k = -1; k < piece.m; ++k) {
            const Index a = k < 0 ? piece.answer() : piece[k].second;
            for (Index c = 0; c < d; ++c) {
                values(a, c) += shift(a, c);
                shift(a, c) = 0.0;  // an arm that comes twice is moved once
            }
        }
    }
    // How far theta is from where it was when the cover was built, in the metric of that time.
    double displacement(const Cover& cover, const Vec<double>& row) const {
        double square = 0.0;
        for (Index a = 0; a < n; ++a)
            for (Index c = 0; c < d; ++c)
                if (theta(a, c) != cover.theta(a, c)) {
                    square += precision_form(cover.R, a, theta, cover.theta, row);
                    break;
                }
        return std::sqrt(square);
    }

    // By arm, what a pull adds to the squared distance of a point drawn from theta_hat: N_a g(a) are the
    // arms' shares of it, ||values[a] - mu[a]||^2 in C[a]^-1.
    void gains_of_point(const Mat<double>& values, const Mat<double>&, const Vec<double>& gains) const {
        Floats row(d);
        for (Index a = 0; a < n; ++a) gains[a] = precision_form(R, a, values, mu, row) / N[a];
    }
    // The same for theta_hat moved by the shift along a piece: arm a moves by s = C[a] v, v its
    // multipliers, and its share is s'C[a]^-1 s = v.s.
    void gains_of_shift(const Piece& piece, const Mat<double>& shift, const Vec<double>& gains) const {
        gains.fill(0.0);
        for (Index k = 0; k < piece.m; ++k) {
            const Constraint& f = piece[k];
            gains[f.first] += piece.y[k] * f.one * shift(f.first, f.metric) / N[f.first];
            if (f.two != 0.0) gains[f.second] += piece.y[k] * f.two * shift(f.second, f.metric) / N[f.second];
        }
    }
    // How theta changes by a shift.
    void unwhiten(const Mat<double>& shift, const Mat<double>& change) const {
        std::copy(shift.data, shift.data + shift.rows() * shift.cols(), change.data);
    }
    Index shift_rows() const { return n; }
};

// ---------------------------------------------------------------- features

struct Linear : PosteriorView {
    static constexpr bool separate = false, joint = false;
    Mat<double> W;
    Index h;

    explicit Linear(Posterior& p) : PosteriorView(p), W(p.W), h(p.theta.rows()) {}

    Index refresh_means(Index = -1) const {
        for (Index a = 0; a < n; ++a) image(Z, theta, a, mu);
        follow_control();
        return -1;
    }
    void refresh_listed(const Vec<Index>& which) const {
        for (const Index a : which) {
            image(Z, theta, a, mu);
            image(Z, F, a, W);
        }
    }
    void refresh_all() const {
        refresh_means();
        for (Index a = 0; a < n; ++a) image(Z, F, a, W);
    }

    double mean_cov(Index a, Index c, Index b, Index e) const {
        double total = 0.0;
        for (Index i = 0; i < W.cols(); ++i) total += W(a, i) * W(b, i);
        return total * Sigma(c, e);
    }
    double cov(const Constraint& f, const Constraint& g) const {
        const Vec<double> ff = W[f.first], fs = W[f.second], gf = W[g.first], gs = W[g.second];
        double total = 0.0;
        for (Index i = 0; i < W.cols(); ++i)
            total += (f.one * ff[i] + f.two * fs[i]) * (g.one * gf[i] + g.two * gs[i]);
        return total * Sigma(f.metric, g.metric);
    }
    double cov_with_mean(const Constraint& f, Index a, Index c) const {
        double total = f.one * mean_cov(f.first, f.metric, a, c);
        if (f.two != 0.0) total += f.two * mean_cov(f.second, f.metric, a, c);
        return total;
    }
    double distance_sq(Index z, Index x) const {
        double total = 0.0;
        for (Index i = 0; i < W.cols(); ++i) {
            const double apart = W(z, i) - W(x, i);
            total += apart * apart;
        }
        return total;
    }
    double lead_variance(Index, Index, Index c, double distance) const { return distance * Sigma(c, c); }

    void draw_theta(Stream& stream, double scale, const Mat<double>& out) const {  // mean + scale F G L^T
        Floats row(d);
        for (Index i = 0; i < h; ++i)
            for (Index c = 0; c < d; ++c) out(i, c) = theta(i, c);
        for (Index j = 0; j < h; ++j) {
            for (Index c = 0; c < d; ++c) row[c] = stream.normal();
            for (Index c = d - 1; c >= 0; --c) {
                double total = 0.0;
                for (Index e = 0; e <= c; ++e) total += record.L(c, e) * row[e];
                row[c] = scale * total;
            }
            for (Index i = 0; i < h; ++i)
                for (Index c = 0; c < d; ++c) out(i, c) += F(i, j) * row[c];
        }
    }
    void answer_at(Stream&, double, const Mat<double>& point, Index a, const Mat<double>& values) const {
        image(Z, point, a, values);
    }

    void shift_along(const Piece& piece, const Mat<double>& shift) const {
        shift.fill(0.0);
        for (Index k = 0; k < piece.m; ++k) {
            if (piece.y[k] == 0.0) continue;
            const Constraint& f = piece[k];
            for (Index i = 0; i < shift.rows(); ++i) {
                const double along = piece.y[k] * (f.one * W(f.first, i) + f.two * W(f.second, i));
                for (Index e = 0; e < d; ++e) shift(i, e) += along * Sigma(e, f.metric);
            }
        }
    }
    double shifted(Index a, Index c, const Mat<double>& shift, bool) const {
        double total = mu(a, c);
        for (Index i = 0; i < shift.rows(); ++i) total += W(a, i) * shift(i, c);
        return total;
    }
    void shift_point(const Piece&, const Mat<double>& shift, const Mat<double>&, const Mat<double>& point) const {
        for (Index i = 0; i < h; ++i)
            for (Index c = 0; c < d; ++c) {
                double total = point(i, c);
                for (Index j = 0; j < h; ++j) total += F(i, j) * shift(j, c);
                point(i, c) = total;
            }
    }
    double displacement(const Cover& cover, const Vec<double>&) const {  // covariance of a result as it is now
        double square = 0.0;
        for (Index i = 0; i < h; ++i)
            for (Index j = 0; j < h; ++j)
                for (Index c = 0; c < d; ++c) {
                    const double along = cover.V(i, j) * (theta(i, c) - cover.theta(i, c));
                    for (Index e = 0; e < d; ++e) square += along * record.P(c, e) * (theta(j, e) - cover.theta(j, e));
                }
        return std::sqrt(std::max(square, 0.0));
    }

    void gains_of_point(const Mat<double>&, const Mat<double>& point, const Vec<double>& gains) const {
        Table<double> change(h, d);
        for (Index i = 0; i < h; ++i)
            for (Index c = 0; c < d; ++c) change(i, c) = point(i, c) - theta(i, c);
        gains_of_change(change, gains);
    }
    void gains_of_shift(const Piece&, const Mat<double>& shift, const Vec<double>& gains) const {
        Table<double> change(h, d);
        unwhiten(shift, change);
        gains_of_change(change, gains);
    }
    void unwhiten(const Mat<double>& shift, const Mat<double>& change) const {  // F shift
        for (Index i = 0; i < h; ++i)
            for (Index c = 0; c < d; ++c) {
                double total = 0.0;
                for (Index j = 0; j < h; ++j) total += F(i, j) * shift(j, c);
                change(i, c) = total;
            }
    }
    Index shift_rows() const { return W.cols(); }

private:
    // g(a) = ||change^T a||^2 in Sigma^-1; the change is whitened on the way.
    void gains_of_change(const Mat<double>& change, const Vec<double>& gains) const {
        for (Index i = 0; i < h; ++i)
            for (Index c = 0; c < d; ++c) {
                for (Index e = 0; e < c; ++e) change(i, c) -= record.L(c, e) * change(i, e);
                change(i, c) /= record.L(c, c);
            }
        for (Index a = 0; a < gains.size(); ++a) {
            gains[a] = 0.0;
            for (Index c = 0; c < d; ++c) {
                double along = 0.0;
                for (Index i = 0; i < h; ++i) along += A(a, i) * change(i, c);
                gains[a] += along * along;
            }
        }
    }
};

// ---------------------------------------------------------------- items, missing values with features

struct Joint : PosteriorView {
    static constexpr bool separate = false, joint = true;
    Mat<double> G, X;
    Index h;
    bool features;  // answers are rows of Z; without features they are rows of theta

    explicit Joint(Posterior& p) : PosteriorView(p), G(p.G), X(p.X), h(p.theta.rows()), features(p.A.rows() > 0) {}

    Index refresh_means(Index = -1) const {
        for (Index a = 0; a < n; ++a) image(Z, theta, a, mu);
        follow_control();
        return -1;
    }
    void refresh_listed(const Vec<Index>& which) const {
        for (const Index a : which) image(Z, theta, a, mu);
    }
    void refresh_all() const { refresh_means(); }

    double mean_cov(Index a, Index c, Index b, Index e) const { return G(a * d + c, b * d + e); }
    double cov(const Constraint& f, const Constraint& g) const {
        const Index ff = f.first * d + f.metric, fs = f.second * d + f.metric;
        const Index gf = g.first * d + g.metric, gs = g.second * d + g.metric;
        double total = f.one * g.one * G(ff, gf);
        total += f.one * g.two * G(ff, gs);
        total += f.two * g.one * G(fs, gf);
        return total + f.two * g.two * G(fs, gs);
    }
    double cov_with_mean(const Constraint& f, Index a, Index c) const {
        return f.one * mean_cov(f.first, f.metric, a, c) + f.two * mean_cov(f.second, f.metric, a, c);
    }
    double distance_sq(Index, Index) const { return 1.0; }
    double lead_variance(Index z, Index x, Index c, double) const {
        const Constraint f{z, x, c, 1.0, -1.0, 0.0, 0};
        return cov(f, f);
    }

    void draw_theta(Stream& stream, double scale, const Mat<double>& out) const {  // mean + scale F g
        for (Index i = 0; i < h; ++i)
            for (Index c = 0; c < d; ++c) out(i, c) = theta(i, c);
        for (Index j = 0; j < h * d; ++j) {
            const double g = scale * stream.normal();
            for (Index i = 0; i < h; ++i)
                for (Index c = 0; c < d; ++c) out(i, c) += F(i * d + c, j) * g;
        }
    }
    void answer_at(Stream&, double, const Mat<double>& point, Index a, const Mat<double>& values) const {
        image(Z, point, a, values);
    }

    void shift_along(const Piece& piece, const Mat<double>& shift) const {
        shift.fill(0.0);
        for (Index k = 0; k < piece.m; ++k) {
            if (piece.y[k] == 0.0) continue;
            const Constraint& f = piece[k];
            const Index first = f.first * d + f.metric, second = f.second * d + f.metric;
            for (Index i = 0; i < shift.rows(); ++i)
                for (Index e = 0; e < d; ++e)
                    shift(i, e) += piece.y[k] * (f.one * X(i * d + e, first) + f.two * X(i * d + e, second));
        }
    }
    double shifted(Index a, Index c, const Mat<double>& shift, bool) const {
        double total = mu(a, c);
        if (!features) return total + shift(a, c);
        for (Index i = 0; i < shift.rows(); ++i) total += Z(a, i) * shift(i, c);
        return total;
    }
    void shift_point(const Piece&, const Mat<double>& shift, const Mat<double>&, const Mat<double>& point) const {
        for (Index i = 0; i < h; ++i)
            for (Index c = 0; c < d; ++c) point(i, c) += shift(i, c);
    }
    double displacement(const Cover& cover, const Vec<double>&) const {
        double square = 0.0;
        for (Index i = 0; i < h; ++i)
            for (Index c = 0; c < d; ++c) {
                double along = 0.0;
                for (Index j = 0; j < h; ++j)
                    for (Index e = 0; e < d; ++e) along += cover.V(i * d + c, j * d + e) * (theta(j, e) - cover.theta(j, e));
                square += along * (theta(i, c) - cover.theta(i, c));
            }
        return std::sqrt(std::max(square, 0.0));
    }

    void gains_of_point(const Mat<double>&, const Mat<double>& point, const Vec<double>& gains) const {
        Table<double> change(h, d);
        for (Index i = 0; i < h; ++i)
            for (Index c = 0; c < d; ++c) change(i, c) = point(i, c) - theta(i, c);
        gains_of_change(change, gains);
    }
    // With items a pull adds what its next result says about the move.
    void gains_of_shift(const Piece&, const Mat<double>& shift, const Vec<double>& gains) const {
        if (features) return gains_of_change(shift, gains);
        const Cube<double>& H = record.H;
        for (Index a = 0; a < gains.size(); ++a) {
            gains[a] = 0.0;
            for (Index i = 0; i < d; ++i) {
                double along = 0.0;
                for (Index b = 0; b < shift.rows(); ++b)
                    for (Index c = 0; c < d; ++c) along += H(a, i, b * d + c) * shift(b, c);
                gains[a] += along * along;
            }
        }
    }
    void unwhiten(const Mat<double>& shift, const Mat<double>& change) const {
        std::copy(shift.data, shift.data + shift.rows() * shift.cols(), change.data);
    }
    Index shift_rows() const { return features ? h : n; }

private:
    // In the inverse of the arm's own covariance.
    void gains_of_change(const Mat<double>& change, const Vec<double>& gains) const {
        for (Index a = 0; a < gains.size(); ++a) {
            gains[a] = 0.0;
            for (Index c = 0; c < d; ++c) {
                double along = 0.0;
                for (Index e = 0; e <= c; ++e)
                    for (Index i = 0; i < h; ++i) along += record.H(a, c, e) * A(a, i) * change(i, e);
                gains[a] += along * along;
            }
        }
    }
};

// Call `use` with the posterior of a record as what it is.
template <class Use>
decltype(auto) with_posterior(Posterior& record, const Use& use) {
    if (record.separate) {
        Independent p(record);
        return use(p);
    }
    if (record.G.rows() > 0) {
        Joint p(record);
        return use(p);
    }
    Linear p(record);
    return use(p);
}

// ---------------------------------------------------------------- what searches look at together

template <class P>
struct Search {
    const Model& model;
    Belief& belief;
    const P& posterior;
    Front& front;
    Cover& cover;
    Draw& draw;
    TieRates& ties;
    Index pulled = -1;  // the only arm with results since the posterior was refreshed; -1 if that is not known

    Search(SearchState& search, const P& p)
        : model(*search.model), belief(*search.belief), posterior(p), front(*search.front), cover(*search.cover),
          draw(*search.draw), ties(*search.ties) {}
};

template <class Use>
decltype(auto) with_search(SearchState& search, const Use& use) {
    return with_posterior(*search.posterior, [&](const auto& p) {
        Search s(search, p);
        return use(s);
    });
}

}  // namespace psips
