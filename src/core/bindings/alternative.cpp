// The alternative of a set, the evidence against it, and what it must exceed.
#include "bindings.h"
#include "smaller_set.h"

namespace psips {

namespace {

// ---------------------------------------------------------------- the nearest point

struct Found {
    double square = 0.0;
    Table<double> shift, change;
    Floats gains;
    template <class P>
    explicit Found(const P& p) : shift(p.shift_rows(), p.d), change(p.shift_rows(), p.d), gains(p.N.size()) {}
    template <class P>
    void move_along(const P& p, const Piece& nearest) {
        response_gains(p, nearest, shift, gains);
        p.unwhiten(shift, change);
    }
};

template <class From, class To>
void copy(const From& given, const To& to) {  // arrays from Python that are only read
    std::copy(given.data(), given.data() + given.size(), to.data);
}

nb::tuple respond(const Record<Posterior>& record, const Array1<const Index>& inside, double ceiling) {
    require(!std::isnan(ceiling), "the ceiling is not a number");
    require(view(inside).n <= record->mu.rows(), "there are more members than answers");
    for (const Index z : view(inside)) require(z >= 0 && z < record->mu.rows(), "a member is none of the answers");
    Ints members(view(inside).size());
    copy(inside, members);
    return with_posterior(*record, [&](const auto& p) {
        Piece nearest(std::max(members.size(), p.d));
        Found found(p);
        {
            nb::gil_scoped_release released;
            found.square = best_response(p, members, ceiling, nearest);
            found.move_along(p, nearest);
        }
        Ints name(3), rivals(nearest.m), metrics(nearest.m);
        name[0] = nearest.answer();
        name[1] = nearest.m;
        name[2] = static_cast<Index>(nearest.kind);
        for (Index k = 0; k < nearest.m; ++k) {
            rivals[k] = nearest[k].second;
            metrics[k] = nearest[k].metric;
        }
        return nb::make_tuple(found.square, to_numpy(name), to_numpy(rivals), to_numpy(metrics),
                              to_numpy(nearest.y.first(nearest.m)), to_numpy(found.change), to_numpy(found.gains));
    });
}


nb::tuple respond_limited(const Record<Posterior>& record, const Record<LimitModel>& limits, const Array1<const bool>& allowed,
                          const Array1<const bool>& inside) {
    const Index n = record->mu.rows();
    require(view(allowed).n == n && view(inside).n == n, "allowed and inside must have an entry for each answer");
    const Flags keeping(n), members(n);
    copy(allowed, keeping);
    copy(inside, members);
    return with_posterior(*record, [&](const auto& p) {
        Found found(p);
        Alternative alternative(p, *limits, keeping, members);
        Piece nearest(alternative.room());
        {
            nb::gil_scoped_release released;
            found.square = alternative.respond(INF, nearest);
            found.move_along(p, nearest);
        }
        const PieceName name = alternative.name();
        Ints piece(3);
        if (nearest.answer() >= 0) {
            piece[0] = static_cast<Index>(name.kind);
            piece[1] = name.answer;
            piece[2] = name.other;
        }
        return nb::make_tuple(found.square, to_numpy(piece), to_numpy(found.gains));
    });
}

nb::tuple selected(const Array2<const double>& mu, const Array2<const double>& facts, const Record<LimitModel>& limits) {
    require(view(facts).n == view(mu).n, "means and facts are not of the same answers");
    const Table<double> means(view(mu).n, view(mu).m), exact(view(facts).n, view(facts).m);
    copy(mu, means);
    copy(facts, exact);
    Flags allowed(means.rows()), inside(means.rows());
    select(means, exact, *limits, allowed, inside);
    return nb::make_tuple(to_numpy(allowed), to_numpy(inside));
}

// ---------------------------------------------------------------- evidence

std::pair<double, double> plain(const Evidence& weighed) { return {weighed.found, weighed.threshold}; }

template <class Weigh>
auto weigh(const Record<SearchState>& search, const Weigh& use) {
    nb::gil_scoped_release released;
    return with_search(*search, use);
}

void bind_ratio(nb::module_& m) {
    m.def("weigh_ratio", [](const Record<SearchState>& search, const Record<Calibration>& calibration, double spare) {
        return plain(weigh(search, [&](auto& s) { return weigh_ratio(s, *calibration, spare); }));
    }, nb::arg("search"), nb::arg("calibration"), nb::arg("spare"),
          "Evidence and threshold for the data as they stand; `spare` is the largest inflation of any draw.");
    m.def("weigh_smaller", [](const Record<SearchState>& search, const Record<Calibration>& calibration, double spare) {
        const SmallerSet found = weigh(search, [&](auto& s) { return weigh_smaller(s, *calibration, spare); });
        return nb::make_tuple(found.left_out, found.evidence.found, found.evidence.threshold);
    }, nb::arg("search"), nb::arg("calibration"), nb::arg("spare"),
          "Leave out of the candidate set what another member replaces: how many, evidence and threshold for the rest.");
    m.def("is_time", [](Index t, Index fresh) {
        require(t >= 0 && fresh >= 0, "there cannot be fewer than 0 results");
        return is_time(t, fresh);
    }, nb::arg("t"), nb::arg("fresh"), "Whether `glr` looks after t results, `fresh` of them new.");
    m.def("log_spent", [](const Record<Calibration>& calibration, double informing, double t) {
        return log_spent(*calibration, informing, t);
    }, nb::arg("calibration"), nb::arg("informing"), nb::arg("t"), "Log of what is spent in an e-fold after t results.");
    m.def("lone_level", &lone_level, nb::arg("log_rate"), "The level at which a lone tie is entered at a rate.");
    m.def("looked_at", &looked_at, nb::arg("log_rate"), "z^2 of the normal at whose tail the rule looks.");
    m.def("spending", &spending, nb::arg("delta"), nb::arg("low"), nb::arg("high"),
          "Log of the rate at which delta is spent between two logs of measurements.");
    m.attr("SPENT") = SPENT;
    m.attr("LOOKS_PER_EFOLD") = LOOKS_PER_EFOLD;
    m.attr("DIRECTIONS") = DIRECTIONS;
}

// ---------------------------------------------------------------- for tests

using Array = Array2<const double>;
using Array3D = Array3<const double>;

template <class To>
void copy_signs(const double* from, To& to, Index count) {
    for (Index i = 0; i < count; ++i) to.data[i] = from[i] > 0.0 ? Sign::positive : from[i] < 0.0 ? Sign::negative : Sign::tie;
}
template <class To>
void copy_flags(const double* from, To& to, Index count) {
    for (Index i = 0; i < count; ++i) to.data[i] = from[i] != 0.0;
}

Index wrong_in_cone(const Array3D& at, const Array3D& limit, const Array3D& above, const Array3D& order, const Array& kept,
                    const Array3D& leads, const Array& keeps, const Array& holds, const Array& beats, bool tolerant,
                    const Array1<double>& squares, const Array1<double>& weights) {
    const Index k = view(at).n, d = view(at).m, m = view(at).r, L = view(limit).m;
    require(has_shape(view(limit), k, L, m) && has_shape(view(above), k, k, d) && has_shape(view(order), k, k, d) &&
                has_shape(view(kept), k, L) && has_shape(view(leads), k, k, d) && has_shape(view(keeps), k, L) &&
                has_shape(view(holds), k, k) && has_shape(view(beats), k, k),
            "these arrays are not of one cone");
    TieCone cone(k, d, L, m, tolerant);
    copy(at, cone.at);
    copy(limit, cone.limit);
    copy_signs(above.data(), cone.above, k * k * d);
    copy_signs(order.data(), cone.order, k * k * d);
    copy_signs(kept.data(), cone.kept, k * L);
    copy_flags(leads.data(), cone.leads, k * k * d);
    copy_flags(keeps.data(), cone.keeps, k * L);
    copy_flags(holds.data(), cone.holds, k * k);
    copy_flags(beats.data(), cone.beats, k * k);
    Stream stream;
    return wrong_directions(cone, stream, view(squares), view(weights));
}

// At which radius along each of the moves (W, K, d) from the truth the rule stops; infinite if far.
template <class P>
void stopping_radii(Search<P>& s, const Calibration& calibration, double start, double most, const Mat<const double>& truth,
                    const Cube<const double>& moves, const Vec<double>& radii) {
    for (Index w = 0; w < moves.size(); ++w) {
        double r = start;
        radii[w] = INF;
        for (Index turn = 0; turn < 12 && r <= most; ++turn) {
            for (Index a = 0; a < truth.rows(); ++a)
                for (Index c = 0; c < truth.cols(); ++c) s.belief.theta(a, c) = truth(a, c) + r * moves(w, a, c);
            const Evidence weighed = weigh_ratio(s, calibration, 1.0);
            if (weighed.suffices()) radii[w] = r;
            if (weighed.suffices() || weighed.found <= 1e-3 * weighed.threshold) break;
            r *= std::sqrt(weighed.threshold / weighed.found) + 1e-9;
        }
    }
}

// Follow a run that looks at `times`, with fixed shares; the look at which it stops, or -1. The estimates of the
// stop are left in the search. `normals` (times, m) become the coordinates of the ties.
template <class P>
Index walk(Search<P>& s, const Calibration& calibration, const Vec<const double>& shares, const Mat<const double>& truth,
           const Mat<const double>& T, const Vec<const double>& times, const Mat<double>& normals) {
    const Index K = truth.rows(), d = truth.cols(), m = normals.cols();
    for (Index i = 0; i < times.size(); ++i) {
        const double t = times[i], keep = i > 0 ? std::sqrt(times[i - 1] / t) : 0.0, fresh = std::sqrt(1.0 - keep * keep);
        if (i > 0)
            for (Index q = 0; q < m; ++q) normals(i, q) = keep * normals(i - 1, q) + fresh * normals(i, q);
        if (0.5 * squared_length(normals[i]) < lone_level(log_spent(calibration, t, t))) continue;
        s.belief.tally->results = static_cast<Index>(t);
        for (Index a = 0; a < K; ++a) {
            s.belief.N[a] = s.belief.pulls[a] = shares[a] * t;
            for (Index c = 0; c < d; ++c) {
                double total = 0.0;
                for (Index q = 0; q < m; ++q) total += T(a * d + c, q) * normals(i, q);
                s.belief.theta(a, c) = truth(a, c) + total / std::sqrt(t);
            }
        }
        if (weigh_ratio(s, calibration, 1.0).suffices()) return i;
    }
    return -1;
}

void bind_tests(nb::module_ m) {
    m.def("wrong_in_cone", &wrong_in_cone, "Squared distances and weights of wrong directions of a cone; how many.");
    m.def("stopping_radii", [](const Record<SearchState>& search, const Record<Calibration>& calibration, double start, double most,
                               const Array& truth, const Array3D& moves, const Array1<double>& radii) {
        weigh(search, [&](auto& s) { stopping_radii(s, *calibration, start, most, view(truth), view(moves), view(radii)); });
    });
    m.def("walk", [](const Record<SearchState>& search, const Record<Calibration>& calibration, const Array1<const double>& shares,
                     const Array& truth, const Array& T, const Array1<const double>& times, const Array2<double>& normals) {
        return weigh(search, [&](auto& s) {
            return walk(s, *calibration, view(shares), view(truth), view(T), view(times), view(normals));
        });
    });
    m.def("lambert_bar", &lambert_bar);
    m.def("beta", [](const Record<Model>& model, const Record<Calibration>& calibration, double t, double log_inverse) {
        return beta(*model, *calibration, t, log_inverse);
    });
    m.def("inflation_and_budget", [](const Record<Model>& model, const Record<Calibration>& calibration, double t, Index members) {
        return std::pair{draw_inflation(*model, *calibration, t), log_draw_budget(*calibration, t, members)};
    });
}

}  // namespace

void bind_alternative(nb::module_& m) {
    m.def("respond", &respond, nb::arg("posterior"), nb::arg("inside"), nb::arg("ceiling"),
          "Best response: squared distance to the alternative of the set with members `inside`, or the ceiling if that is "
          "less; the nearest piece as (answer, constraints, kind), its rivals, metrics and multipliers; the change "
          "lambda - theta; gains by arm.");
    m.def("respond_limited", &respond_limited, nb::arg("posterior"), nb::arg("limits"), nb::arg("allowed"), nb::arg("inside"),
          "The same where answers have to keep limits: squared distance, piece (kind, answer, other), gains by arm.");
    m.def("selected", &selected, nb::arg("mu"), nb::arg("facts"), nb::arg("limits"),
          "Which answers keep the limits, and the set asked for.");
    bind_ratio(m);
    bind_tests(testing(m));
}

}  // namespace psips
