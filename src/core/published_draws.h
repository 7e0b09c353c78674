// Algorithm 1's inner loop, literally: the reference for everything faster.
//
// Posterior draws v_1, v_2, ... are made one at a time and read twice, by the stopping rule (inflated by c)
// and by the min learner (inflated by 1 / eta).
#pragma once

#include "draws.h"

namespace psips {

// One whole posterior draw into draw.theta.
template <class P>
void draw_point(Search<P>& s) {
    s.draw.made->literals += 1.0;
    if constexpr (P::separate) {
        for (Index a = 0; a < s.model.n; ++a) s.posterior.draw_answer(*s.draw.stream, 1.0, a, s.draw.theta);
    } else {
        s.posterior.draw_theta(*s.draw.stream, 1.0, s.draw.theta);
    }
}

// The answers at `point` (h, d) into draw.values.
template <class P>
void write_answers(Search<P>& s, const Mat<double>& point) {
    for (Index a = 0; a < s.model.n; ++a) {
        if constexpr (P::separate)
            for (Index c = 0; c < s.model.d; ++c) s.draw.values(a, c) = point(a, c);
        else
            P::image(s.posterior.Z, point, a, s.draw.values);
    }
}

// theta_hat + scale v for the draw v, and its answers into draw.values.
template <class P>
void inflate(Search<P>& s, double scale, const Mat<double>& point) {
    const Mat<double>&mean = s.posterior.theta, &drawn = s.draw.theta;
    for (Index i = 0; i < point.rows(); ++i)
        for (Index c = 0; c < point.cols(); ++c) point(i, c) = mean(i, c) + scale * (drawn(i, c) - mean(i, c));
    write_answers(s, point);
}

struct SharedHits {
    double stop, learn;  // logs of m_{t,delta} and m_t, infinite if not found
};

// Draw for both readers. The rule stops if m_{t,delta} is infinite. A scale of 0 stands for a reader who
// does not read. The learner's hit is left in `point`; it is in Theta too, the stopping rule's need not be.
template <class P>
SharedHits shared_draws(Search<P>& s, double stop_scale, double log_budget, double learn_scale, const Mat<double>& point) {
    Table<double> trial(s.model.h, s.model.d);
    bool stops = stop_scale > 0.0, learns = learn_scale > 0.0;
    SharedHits hits{INF, INF};
    Index outside = 0;
    double index = 0.0;
    while (stops || learns) {
        index += 1.0;
        draw_point(s);
        if (stops) {
            inflate(s, stop_scale, trial);
            if (changes_set(s, s.draw.values)) {
                hits.stop = std::log(index);
                stops = false;
            } else if (std::log(index) >= log_budget) {
                break;
            }
        }
        if (learns) {
            inflate(s, learn_scale, trial);
            if (changes_set(s, s.draw.values) && (in_theta(s.model, trial) || ++outside >= OUTSIDE_THETA)) {
                hits.learn = std::log(index);
                learns = false;
                std::copy(trial.data, trial.data + trial.rows() * trial.cols(), point.data);
            }
        }
        if (index >= MOST_DRAWS && !stops) break;
        const bool endless = index >= MOST_DRAWS && !(log_budget < INF);  // no number of draws would do
        if (endless || asked_to_halt(s.draw)) {  // no hit is no reason to stop then
            hits.stop = std::min(hits.stop, std::log(index));
            break;
        }
    }
    return hits;
}

// Log of the number of draws from the posterior on Theta_t until one is in the alternative.
//
// Theta_t = { ||lambda_a|| < radius in Sigma^-1 for every arm } is a product over the arms (without
// features), so each arm is drawn until it is inside.
inline double in_ball_hit(Search<Independent>& s, double scale, double radius, const Mat<double>& point) {
    const Mat<double>& precision = s.model.P;
    Index outside = 0;
    for (Index index = 1; index < MOST_DRAWS; ++index) {
        s.draw.made->literals += 1.0;
        for (Index a = 0; a < s.model.K; ++a)
            for (Index k = 0; k < MOST_DRAWS; ++k) {
                s.posterior.draw_answer(*s.draw.stream, scale, a, point);
                double square = 0.0;
                for (Index c = 0; c < s.model.d; ++c)
                    for (Index e = 0; e < s.model.d; ++e) square += point(a, c) * precision(c, e) * point(a, e);
                if (square < radius * radius || asked_to_halt(s.draw)) break;
            }
        if (asked_to_halt(s.draw)) break;
        if (changes_set(s, point) && (in_theta(s.model, point) || ++outside >= OUTSIDE_THETA))
            return std::log(static_cast<double>(index));
    }
    return INF;
}

}  // namespace psips
