// What the data prove of limits, and of two answers where there are limits.
//
// The claims of answer z: "it keeps limit l", "it breaks limit l", and "it beats x in objective c up to the
// tolerance". Each has evidence that reaches L, ever, with probability at most exp(-L) if the claim is false:
// that of one arm, or of two of which one is multiplied by a limit's factor, from mixture.h where one
// covariance of all results is known, and from capital.h otherwise. What follows from them together:
// `psips.session.constrained_verdicts`.
#pragma once

#include "constraint.h"
#include "evidence/mixture.h"

namespace psips {

class LimitEvidence {
public:
    LimitEvidence(const Model& model, const Belief& belief)
        : model_(model), limits_(*model.limits), belief_(belief), by_objective_(claims_by_objective(model)) {}

    // E of "z keeps limit l" (`side` 1), or "breaks it" (-1); 0 where none is known.
    double of_limit(Index z, Index l, double side) const {
        const Index c = limits_.metric[l];
        const double factor = limits_.factor[l], sign = side * limits_.sign[l], bound = side * limits_.bound[l];
        if (factor == 0.0) return above(z, c, sign, bound);
        if (z != limits_.control) return factor < 0.0 ? 0.0 : ahead(z, limits_.control, c, sign, factor, bound);
        const double left = 1.0 - factor;
        return left > 0.0 ? above(z, c, sign, bound / left) : above(z, c, -sign, bound / -left);
    }

    // E of "z beats x in c up to the tolerance"; 0 in what is only limited.
    double of_lead(Index z, Index x, Index c) const {
        if (x == z || limits_.aims[c] == 0.0) return 0.0;
        if (by_objective_) return two_capitals(model_, belief_, z, x, c).evidence(model_.slack[c], 0.0);
        const double lead = belief_.theta(z, c) - belief_.theta(x, c) - model_.slack[c], s = deviation(c);
        return mixture_evidence(belief_.N[z], belief_.N[x], s, s, lead);
    }

    // Evidence that limits are kept (n, L), broken (n, L), and of leads (n, n, d). A limit that says nothing
    // of an answer has infinite evidence that it is kept.
    void write(const Mat<double>& kept, const Mat<double>& broken, const Cube<double>& leads) const {
        for (Index z = 0; z < model_.n; ++z) {
            for (Index l = 0; l < limits_.metric.size(); ++l) {
                const bool says = applies(limits_, z, l);
                kept(z, l) = says ? of_limit(z, l, 1.0) : INF;
                broken(z, l) = says ? of_limit(z, l, -1.0) : 0.0;
            }
            for (Index x = 0; x < model_.n; ++x)
                for (Index c = 0; c < model_.d; ++c) leads(z, x, c) = of_lead(z, x, c);
        }
    }

private:
    double deviation(Index c) const { return std::sqrt(model_.Sigma(c, c)); }

    // E of "the mean of arm a in c, times `sign`, is above m".
    double above(Index a, Index c, double sign, double m) const {
        if (by_objective_) {
            const ArmValues arm = describe(model_, belief_, a, c, sign);
            return std::max(capital(law_of(model_, c), arm, m), 0.0);
        }
        const double lead = sign * belief_.theta(a, c) - m;
        if (lead <= 0.0 || belief_.N[a] <= 0.0) return 0.0;
        return std::max(log_mixture(belief_.N[a], deviation(c), lead).value, 0.0);
    }

    // E of "the mean of z less `factor` > 0 times that of x, times `sign`, is above m".
    double ahead(Index z, Index x, Index c, double sign, double factor, double m) const {
        if (by_objective_) {
            ArmValues second = describe(model_, belief_, x, c, -sign);
            second.scale(factor);
            return TwoCapitals(law_of(model_, c), describe(model_, belief_, z, c, sign), second).evidence(m, 0.0);
        }
        const double lead = sign * (belief_.theta(z, c) - factor * belief_.theta(x, c)) - m, s = deviation(c);
        return mixture_evidence(belief_.N[z], belief_.N[x], s, factor * s, lead);
    }

    const Model& model_;
    const LimitModel& limits_;
    const Belief& belief_;
    bool by_objective_;
};

}  // namespace psips
