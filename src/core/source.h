// Results of pulls: the n-th result of an arm depends on the key, the arm and n alone.
//
// Rules that are compared with the same key therefore get the same noise. `student` is t with 3 degrees of
// freedom and `lognormal` is skewed; both have the covariance given, and no rule here is made for them.
#pragma once

#include <numbers>

#include "records.h"

namespace psips {

// A standard normal becomes a log-normal of mean 0 and variance 1, of shape 1.
inline double skewed(double g) { return (std::exp(g - 0.5) - 1.0) / std::sqrt(std::numbers::e - 1.0); }

// means[arm] + L[arm] g.
inline void add_noise(const Source& source, Index arm, const Vec<double>& g, const Vec<double>& x) {
    for (Index c = 0; c < x.size(); ++c) {
        x[c] = source.means(arm, c);
        for (Index e = 0; e <= c; ++e) x[c] += source.L(arm, c, e) * g[e];
    }
}

// Write the `nth` result of `arm` into x (d,).
inline void pull(const Source& source, Key key, Index arm, Index nth, const Vec<double>& x) {
    const Index d = x.size();
    Stream stream;
    const std::uint64_t arms = static_cast<std::uint64_t>(source.means.rows());  // unsigned: it may wrap around
    const std::uint64_t counter = static_cast<std::uint64_t>(nth) * arms + static_cast<std::uint64_t>(arm);
    stream.seed(key, static_cast<Index>(counter), Purpose::noise);
    Floats g(d);
    switch (source.kind) {
        case SourceKind::gaussian:
            for (Index c = 0; c < d; ++c) g[c] = stream.normal();
            add_noise(source, arm, g, x);
            for (Index c = 0; c < d; ++c)
                if (source.high[c] != source.low[c])  // 0 or 1: a success on its side of 0
                    x[c] = x[c] * source.high[c] > 0.0 ? source.high[c] : source.low[c];
            return;
        case SourceKind::student: {
            for (Index c = 0; c < d; ++c) g[c] = stream.normal();
            double square = 0.0;
            for (int k = 0; k < 3; ++k) {
                const double one = stream.normal();
                square += one * one;
            }
            for (Index c = 0; c < d; ++c) g[c] /= std::sqrt(square);
            return add_noise(source, arm, g, x);
        }
        case SourceKind::lognormal:
            for (Index c = 0; c < d; ++c) g[c] = skewed(stream.normal());
            return add_noise(source, arm, g, x);
        case SourceKind::bernoulli:
            for (Index c = 0; c < d; ++c) {
                const double success = (source.means(arm, c) - source.low[c]) / (source.high[c] - source.low[c]);
                x[c] = stream.uniform() < success ? source.high[c] : source.low[c];
            }
            return;
        case SourceKind::resample: {
            const Index first = source.starts[arm], last = source.starts[arm + 1];
            const Index row = first + static_cast<Index>(stream.uniform() * static_cast<double>(last - first));
            for (Index c = 0; c < d; ++c) x[c] = source.rows(row, c);
            return;
        }
    }
}

}  // namespace psips
