// Pareto sets and pulls; for tests: random numbers, projections, candidate sets, covers, draws, AdaHedge.
#include "bindings.h"
#include "first_hit.h"
#include "sampling/gains.h"
#include "sampling/hedge.h"
#include "source.h"

namespace psips {

namespace {

nb::object pareto_mask(const Array2<const double>& mu) {
    const Mat<const double> given = view(mu);
    Table<double> points(given.n, given.m);
    std::copy(given.data, given.data + given.n * given.m, points.data);
    Flags keep(given.n);
    pareto_set(points, keep);
    return to_numpy(static_cast<const Vec<bool>&>(keep));
}

Array1<double> pull_one(const Record<Source>& source, const Array1<const std::uint64_t>& key, Index arm, Index nth,
                        Array1<double> x) {
    require(view(x).n == source->means.cols(), "x must have an entry for each metric");
    require(arm >= 0 && arm < source->means.rows(), "there is no such arm");
    pull(*source, key_of(key), arm, nth, view(x));
    return x;
}

void solve(const Array2<const double>& G, const Array1<const double>& b, const Array1<double>& y) {
    const Index m = view(b).n;
    require(has_shape(view(G), m, m) && has_shape(view(y), m), "G must be (m, m), and b and y (m,)");
    NonnegativeQP qp(m);
    std::copy(view(b).begin(), view(b).end(), qp.b.data);
    std::copy(view(G).data, view(G).data + m * m, qp.G.data);
    qp.solve(view(y));
}

// ---------------------------------------------------------------- for tests

Stream& stream_in(const Array1<std::uint64_t>& words) { return *reinterpret_cast<Stream*>(view(words).first(4).data); }

void seed(const Array1<std::uint64_t>& words, const Array1<const std::uint64_t>& key, std::int64_t counter, std::uint64_t purpose) {
    stream_in(words).seed(key_of(key), counter, static_cast<Purpose>(purpose));
}

void fill(const std::string& kind, const Array1<std::uint64_t>& words, double parameter, const Array1<double>& out) {
    Stream& stream = stream_in(words);
    for (double& one : view(out)) {
        if (kind == "normal") one = stream.normal();
        if (kind == "uniform") one = stream.uniform();
        if (kind == "exponential") one = stream.exponential();
        if (kind == "normal_above") one = stream.normal_above(parameter);
        if (kind == "log_geometric") one = stream.log_geometric(parameter);
        if (kind == "log_tail") one = log_tail(one);
    }
}

// Project on "z above xs in cs"; `at` (n, d) becomes the answers at the nearest point.
double nearest(const Record<Posterior>& record, Index z, const Array1<Index>& xs, const Array1<Index>& cs,
               const Array1<double>& y, const Array2<double>& at) {
    return with_posterior(*record, [&](const auto& p) {
        Piece piece(view(xs).n);
        for (Index k = 0; k < view(xs).n; ++k) piece.add(lead_of(z, view(xs)[k], view(cs)[k], p.slack));
        const double square = project(p, piece);
        for (Index k = 0; k < piece.m; ++k) view(y)[k] = piece.y[k];
        Table<double> shift(p.shift_rows(), p.d);
        p.shift_along(piece, shift);
        for (Index a = 0; a < p.n; ++a)
            for (Index c = 0; c < p.d; ++c) view(at)(a, c) = p.shifted(a, c, shift, a == z || piece.is_over(a));
        return square;
    });
}

bool change(const Record<SearchState>& search, const Array2<double>& values, const Array1<double>& slack, bool whole) {
    return with_search(*search, [&](auto& s) {
        if (whole) return changes_set(s, view(values));
        return find_change(s, view(values), view(slack), s.posterior.facts.give, s.front.size->live, 0.0);
    });
}

void update(const Array2<double>& mu, const Record<Front>& front) {
    Table<double> facts(view(mu).n, 0);
    update_candidate_set(view(mu), facts, *front);
}

double variance_growth(const Record<Posterior>& posterior, const Array3<double>& then) {
    return with_posterior(*posterior, [&](const auto& p) { return p.variance_growth(view(then)); });
}

// How samples of first hits are made; the broken ones are for tests that must notice.
enum class Way : Index { hits, eager_hits, careless, loose, unthinned };

struct Samples {
    Vec<double> log_index;  // (samples,)
    Cube<double> points;    // (samples, h, d)
    Mat<double> gains;      // (samples, K)
};

// Log of how many draws it takes until a proposal is kept. Careless: whatever earlier sets contain the point.
template <class P>
double proposed_hit(Search<P>& s, Way way, double scale, double limit, const Mass& mass) {
    const double seen = way == Way::careless ? -1.0 : limit;  // -1 hides every earlier set
    double total = 0.0;
    for (Index k = 0; k < MOST_DRAWS; ++k) {
        total += std::exp(s.draw.stream->log_geometric(mass.log()));
        const double pick = s.draw.stream->uniform() * mass.sum;
        if (propose(s, scale, seen, LEARNER, pick, false)) break;
    }
    return std::log(total);
}

template <class P>
void sample_hits(Search<P>& s, Way way, Key key, double scale, Reader who, double log_budget, const Samples& out) {
    const bool bounded = way == Way::loose || way == Way::unthinned;
    const double limit = bounded ? 15.0 * scale : INF;
    const Mass mass = weigh_sets(s, bounded ? 1.2 * scale : scale, limit, LEARNER);
    if (way == Way::unthinned) s.cover.scale[LEARNER] = scale;
    for (Index k = 0; k < out.log_index.n; ++k) {
        s.draw.stream->seed(key, k, Purpose::stop);
        if (way == Way::eager_hits) dismiss(s.cover);
        if (way == Way::hits || way == Way::eager_hits) {
            s.cover.reach->spare = std::max(s.cover.reach->spare, scale * scale);
            out.log_index[k] = first_hit(s, who, scale, log_budget);
            if (out.log_index[k] == INF) continue;
        } else {
            out.log_index[k] = proposed_hit(s, way, scale, limit, mass);
        }
        posterior_gains(s, scale, out.gains[k]);
        const Mat<double>& made = P::separate ? s.draw.values : s.draw.theta;
        for (Index i = 0; i < s.model.h; ++i)
            for (Index c = 0; c < s.model.d; ++c) out.points(k, i, c) = made(i, c);
    }
}

void first_hits(const Record<SearchState>& search, const std::string& way, const Array1<const std::uint64_t>& key, double scale,
                bool stopper, double log_budget, const Array1<double>& log_index, const Array3<double>& points,
                const Array2<double>& gains) {
    const char* const ways[] = {"hits", "eager_hits", "careless", "loose", "unthinned"};
    Index named = 0;
    while (way != ways[named])
        if (++named == 5) throw nb::value_error("no such way to make hits");
    with_search(*search, [&](auto& s) {
        const Samples out{view(log_index), view(points), view(gains)};
        sample_hits(s, static_cast<Way>(named), key_of(key), scale, stopper ? STOPPER : LEARNER, log_budget, out);
    });
}

// How many sets of the cover contain each point (samples, h, d).
void count_sets(const Record<SearchState>& search, const Array3<double>& points, const Array1<double>& counts) {
    with_search(*search, [&](auto& s) {
        using P = std::remove_cvref_t<decltype(s.posterior)>;
        for (Index k = 0; k < view(counts).n; ++k) {
            const Mat<double> point = view(points)[k];
            for (Index a = 0; a < s.model.n; ++a) {
                if constexpr (P::separate)
                    for (Index c = 0; c < s.model.d; ++c) s.draw.values(a, c) = point(a, c);
                else
                    P::image(s.posterior.Z, point, a, s.draw.values);
            }
            view(counts)[k] = 0.0;
            for (Index j = 0; j < s.cover.life->records; ++j)
                if (contains(s, CoverRecord(s.cover, j))) view(counts)[k] += 1.0;
        }
    });
}

void build(const Record<SearchState>& search, double spare) {
    with_search(*search, [&](auto& s) { build_cover(s, spare); });
}

bool refresh(const Record<SearchState>& search) {
    return with_search(*search, [&](auto& s) {
        s.cover.life->age += 1;
        return refresh_cover(s);
    });
}

void bind_search_tests(nb::module_ tests) {
    tests.def("seed", &seed);
    tests.def("fill", &fill);
    tests.def("nearest", &nearest);
    tests.def("change", &change);
    tests.def("update_candidate_set", &update);
    tests.def("variance_growth", &variance_growth);
    tests.def("first_hits", &first_hits);
    tests.def("count_sets", &count_sets);
    tests.def("build_cover", &build);
    tests.def("refresh_cover", &refresh);
    tests.def("hedge_weights", [](const Array1<double>& G, double gap, const Array1<double>& w) {
        hedge_weights(view(G), gap, view(w));
    });
    tests.def("hedge_feed", [](const Array1<double>& G, double gap, const Array1<double>& w, const Array1<double>& gains) {
        return hedge_feed(view(G), gap, view(w), view(gains));
    });
    tests.def("shares_of_pulls", [](const Array1<double>& N, const Array1<double>& gains, const Array1<double>& costs,
                                    const Array1<double>& thrift, double gamma, const Array1<double>& w) {
        shares_of_pulls(view(N), view(gains), view(costs), view(thrift), gamma, view(w));
    });
    tests.def("most_informative", [](const Array1<double>& gains, const Array1<double>& costs, const Array1<double>& thrift,
                                     double gamma, const Array1<double>& w) {
        most_informative(view(gains), view(costs), view(thrift), gamma, view(w));
    });
    tests.attr("DRIFT") = DRIFT;
    tests.def("keep_busy", [](Index rounds) {  // work that Ctrl-C cannot reach
        nb::gil_scoped_release released;
        Stream stream;
        double total = 0.0;
        for (Index k = 0; k < rounds; ++k) total += stream.uniform();
        return total;
    });
}

}  // namespace

void bind_search(nb::module_& m) {
    m.def("pareto_mask", &pareto_mask, nb::arg("mu"), "Mask of the points (n, d) that no other dominates.");
    m.def("pull", &pull_one, nb::arg("source"), nb::arg("key"), nb::arg("arm"), nb::arg("nth"), nb::arg("x").noconvert(),
          "Write the nth result of an arm into x (d,), which is returned.");
    m.def("solve_nnqp", &solve, nb::arg("G"), nb::arg("b"), nb::arg("y").noconvert(),
          "Write the y >= 0 (m,) with the least y'Gy / 2 - b.y.");
    bind_search_tests(testing(m));
}

}  // namespace psips
