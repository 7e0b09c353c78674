// Pareto sets: x dominates z if it is at least z in every objective and above it in one; equal points do
// not dominate each other.
#pragma once

#include <cmath>

#include "array.h"

namespace psips {

// Whether x dominates z by `mu` (n, d) and the exact metrics `facts` (n, e).
inline bool dominates(const Mat<double>& mu, const Mat<double>& facts, Index x, Index z) {
    bool above = false;
    for (Index c = 0; c < facts.cols(); ++c) {
        if (facts(x, c) < facts(z, c)) return false;
        if (facts(x, c) > facts(z, c)) above = true;
    }
    for (Index c = 0; c < mu.cols(); ++c) {
        if (mu(x, c) < mu(z, c)) return false;
        if (mu(x, c) > mu(z, c)) above = true;
    }
    return above;
}

inline bool dominates(const Mat<double>& mu, Index x, Index z) { return dominates(mu, Mat<double>{}, x, z); }

// Points in lexicographic order from objective `first` on, largest first: only earlier ones dominate a point. NaN
// comes last: an order that it breaks leads std::sort out of the array.
inline void sort_points(const Mat<double>& mu, Index first, const Vec<Index>& order) {
    for (Index k = 0; k < mu.rows(); ++k) order[k] = k;
    std::sort(order.begin(), order.end(), [&](Index a, Index b) {
        for (Index c = first; c < mu.cols(); ++c)
            if (mu(a, c) != mu(b, c)) {
                if (mu(a, c) > mu(b, c)) return true;
                if (mu(a, c) < mu(b, c)) return false;
                if (const bool last = std::isnan(mu(a, c)); last != std::isnan(mu(b, c))) return !last;
            }
        return a < b;
    });
}

// The largest third objective among points that come no later in the second: a Fenwick tree of maxima.
class Staircase {
public:
    explicit Staircase(const Mat<double>& mu) : mu_(mu), rank_(mu.rows()), tree_(mu.rows() + 1) {
        Ints order(mu.rows());
        sort_points(mu, 1, order);
        tree_.fill(-INF);
        Index place = 0;
        for (Index k = 0; k < mu.rows(); ++k) {
            if (k == 0 || mu(order[k], 1) != mu(order[k - 1], 1)) ++place;
            rank_[order[k]] = place;
        }
    }
    bool dominates(Index z) const {
        for (Index i = rank_[z]; i > 0; i -= i & -i)
            if (tree_[i] >= mu_(z, 2)) return true;
        return false;
    }
    void add(Index z) {
        for (Index i = rank_[z]; i <= mu_.rows(); i += i & -i) tree_[i] = std::max(tree_[i], mu_(z, 2));
    }

private:
    Mat<double> mu_;
    Ints rank_;
    Floats tree_;
};

// Mark the points that no other dominates; n log n for d <= 3, then n |S| d.
inline void pareto_set(const Mat<double>& mu, const Vec<bool>& keep) {
    const Index n = mu.rows(), d = mu.cols();
    Ints order(n), found(n);
    sort_points(mu, 0, order);
    std::unique_ptr<Staircase> staircase(d == 3 ? new Staircase(mu) : nullptr);
    double best = -INF;  // d = 2: largest second objective so far
    Index size = 0;
    for (Index k = 0; k < n; ++k) {
        const Index z = order[k];
        if (k > 0 && std::equal(mu[z].begin(), mu[z].end(), mu[order[k - 1]].begin())) {
            keep[z] = keep[order[k - 1]];
            continue;
        }
        bool dominated = false;
        if (d == 1) {
            dominated = k > 0 && mu(order[0], 0) > mu(z, 0);
        } else if (d == 2) {
            dominated = mu(z, 1) <= best;
            best = std::max(best, mu(z, 1));
        } else if (d == 3) {
            dominated = staircase->dominates(z);
            if (!dominated) staircase->add(z);
        } else {
            for (Index j = 0; j < size && !dominated; ++j) dominated = dominates(mu, found[j], z);
            if (!dominated) found[size++] = z;
        }
        keep[z] = !dominated;
    }
}

// Some rows of `mu` and `facts` next to each other.
inline void join_metrics(const Mat<double>& mu, const Mat<double>& facts, const Vec<Index>& rows, const Mat<double>& points) {
    const Index d = mu.cols();
    for (Index k = 0; k < points.rows(); ++k) {
        for (Index c = 0; c < d; ++c) points(k, c) = mu(rows[k], c);
        for (Index c = 0; c < facts.cols(); ++c) points(k, d + c) = facts(rows[k], c);
    }
}

}  // namespace psips
