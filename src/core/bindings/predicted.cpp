// Predicted sets for Python: their pieces and claims, and the accounts that are kept of the evidence.
#include "bindings.h"
#include "predicted/linear_claims.h"
#include "stopping/predicted.h"

namespace psips {

namespace {

nb::tuple to_python(const PieceList& pieces) {
    const Index P = pieces.size;
    return nb::make_tuple(to_numpy(pieces.z.first(P)), to_numpy(pieces.length.first(P)), to_numpy(pieces.xs.first(P)),
                          to_numpy(pieces.cs.first(P)), to_numpy(pieces.y.first(P)));
}

nb::tuple to_python(const Claims& claims) {
    const Index D = claims.size;
    const Cube<double> G{claims.G.data, D, claims.G.m, claims.G.r};
    return nb::make_tuple(to_numpy(static_cast<const Vec<Index>&>(claims.first)), to_numpy(claims.involved.first(D)),
                          to_numpy(claims.arms.first(D)), to_numpy(G), to_numpy(claims.s.first(D)),
                          to_numpy(claims.q.first(D)), to_numpy(claims.log_weight.first(D)),
                          to_numpy(claims.offset.first(D)), to_numpy(claims.lead.first(D)), to_numpy(claims.aim.first(D)));
}

// Pieces of Alt(S1), S1 where `inside`; their claims; how many pieces are pairs.
nb::tuple predict(Record<Posterior> posterior, const Array1<const bool>& inside, double level) {
    return with_posterior(*posterior, [&](const auto& p) {
        const Vec<const bool> flags = view(inside);
        require(flags.n == p.n, "inside must have an entry for each answer");
        Flags chosen(flags.size());
        std::copy(flags.begin(), flags.end(), chosen.begin());
        Index members = 0;
        for (const bool one : chosen) members += one;
        require(members > 0, "a set without members is not predicted");
        PieceList pieces(room_for_pieces(p, members), std::max(p.d, LEAF_CONSTRAINTS));
        std::unique_ptr<Claims> claims;
        {
            nb::gil_scoped_release released;
            p.refresh_all();
            list_pieces(p, chosen, pieces);
            claims = std::make_unique<Claims>(pieces, p.d);
            list_claims(p, pieces, level, *claims);
        }
        return nb::make_tuple(to_python(pieces), to_python(*claims), pieces.pairs);
    });
}

void weigh_account(Record<Model> model, Record<Belief> belief, Record<Account> account) {
    nb::gil_scoped_release released;
    weigh_again(*model, *belief, *account);
}

bool conclude_account(Record<Posterior> posterior, Record<Front> front, Record<Account> account,
                      const Array1<double>& outcome) {
    require(view(outcome).n == static_cast<Index>(sizeof(Outcome) / sizeof(double)), "outcome has another number of entries");
    Outcome& written = *reinterpret_cast<Outcome*>(outcome.data());
    return with_posterior(*posterior, [&](const auto& p) { return conclude(p, *front, *account, written); });
}

void verdicts_by(Record<Account> account, const Array1<Index>& verdict) {
    require(view(verdict).n == account->inside.n, "verdict must have an entry for each answer");
    add_verdicts(*account, view(verdict));
}

// For tests: what one lead gives.
double evidence_of_lead(const Array1<double>& v, const Array1<double>& q, double lead, double centre, double square,
                        double kappa) {
    return lead_evidence(view(v), view(q), lead, {centre, square, kappa});
}

// For tests: the arm of two that stands most in the way of a false piece being settled.
Index adversary(const Account& account, const Mat<double>& theta, Index piece) {
    const Index which = account.best[piece];
    double against[2] = {0.0, 0.0};
    for (Index a = 0; a < 2; ++a) {
        const Index arm = account.arms(which, a);
        for (Index c = 0; c < theta.cols(); ++c)
            against[arm == 0 ? 0 : 1] -= account.G(which, a, c) * (account.mean(arm, c) - theta(arm, c));
    }
    return against[0] > against[1] ? 0 : 1;
}

// For tests: tell an account of two arms results with this noise (T, d), from result `first` on, until a
// piece is settled; whether it was. The arms take turns, or an adversary chooses.
bool tell_until_settled(Record<Account> account, const Array2<double>& theta, const Array1<double>& N,
                        const Array2<double>& B, const Array2<const double>& noise, Index first, Index piece,
                        bool adversarial) {
    const Mat<double> truth = view(theta), sums = view(B);
    const Mat<const double> errors = view(noise);
    Belief belief{};
    belief.pulls = view(N);
    belief.B = belief.theta = sums;
    for (Index t = 0; t < errors.rows(); ++t) {
        Index arm = (first + t) % 2;
        if (adversarial && std::min(account->n[0], account->n[1]) > 0.0) arm = adversary(*account, truth, piece);
        belief.pulls[arm] += 1.0;
        for (Index c = 0; c < truth.cols(); ++c) sums(arm, c) += truth(arm, c) + errors(t, c);
        weigh_arms(belief, *account);
        if (account->settled[piece]) return true;
    }
    return false;
}

// For tests: whether the answer of `hint` has an open rival outside the set, which `all_settled` does not remember;
// and whether no verdict is open.
std::pair<bool, bool> certified(Record<SearchState> search, double log_inverse, const Array1<double>& hint) {
    Hint remembered = hint_of(view(hint));
    const Ints nothing(search->model->n);
    const bool open = has_open_rival(*search->model, *search->belief, *search->front, search->posterior->tolerant, log_inverse,
                                     nothing, remembered);
    return {open, all_settled(*search->model, *search->belief, *search->front, log_inverse, nothing, remembered)};
}

}  // namespace

void bind_predicted(nb::module_& m) {
    m.def("predict", &predict, nb::arg("posterior"), nb::arg("inside"), nb::arg("level"),
          "Pieces of the alternative of the set `inside`, their claims, and how many pieces are pairs.");
    m.def("weigh_account", &weigh_account, nb::arg("model"), nb::arg("belief"), nb::arg("account"),
          "Look at all of an account that was away.");
    m.def("conclude_account", &conclude_account, nb::arg("posterior"), nb::arg("front"), nb::arg("account"),
          nb::arg("outcome").noconvert(), "Write what an account says into `outcome`; whether it can prove its set.");
    m.def("verdicts_by", &verdicts_by, nb::arg("account"), nb::arg("verdict").noconvert(), "Write the verdicts that an account gives.");
    nb::module_ tests = testing(m);
    tests.def("lead_evidence", &evidence_of_lead);
    tests.def("linear_evidence",
              [](Record<Model> model, Record<Account> account, const Array2<double>& F, Index o, double lead) {
                  return linear_evidence(*model, *account, view(F), o, lead);
              });
    tests.def("tell_until_settled", &tell_until_settled);
    tests.def("certified", &certified);
    tests.attr("CENTRE") = CLAIM_CENTRE;
    tests.attr("SPREAD") = CLAIM_SPREAD;
    tests.attr("MARGIN") = CLAIM_MARGIN;
    tests.attr("LINEAR_KAPPA") = LINEAR_KAPPA;
    m.attr("UNSEEN") = UNSEEN;
    m.attr("CERTIFIED") = CERTIFIED;
}

}  // namespace psips
