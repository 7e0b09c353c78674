// How results become a posterior: arms, features, estimated noise, items.
#include "belief/belief.h"
#include "belief/items.h"
#include "belief/joint.h"
#include "bindings.h"
#include "draws.h"

namespace psips {

namespace {

using In1 = Array1<const double>;
using In2 = Array2<const double>;
using In3 = Array3<const double>;
using Places = Array1<const Index>;

// Of the noise of K arms in d metrics: whether both are of the same metrics.
void require_noise(const In3& precision, const In2& between) {
    const Index d = view(between).n;
    require(has_shape(view(between), d, d) && has_shape(view(precision), view(precision).n, d, d),
            "precision must have the shape (K, d, d), between (d, d)");
}

void add_items(const In2& counts, const In3& sums, const In3& precision, const In2& between, const Array2<double>& V,
               const Array1<double>& B) {
    require_noise(precision, between);
    const Index J = view(counts).n, K = view(precision).n, d = view(between).n;
    require(has_shape(view(counts), J, K) && has_shape(view(sums), J, K, d), "counts must be (J, K), sums (J, K, d)");
    require(has_shape(view(V), K * d, K * d) && has_shape(view(B), K * d), "V must be (K d, K d), B (K d,)");
    nb::gil_scoped_release release;
    ItemModel(view(precision), view(between)).add_all(view(counts), view(sums), view(V), view(B));
}

void preview_items(const In2& counts, const Places& places, const In3& precision, const In3& within, const In2& between,
                   const Array3<double>& H) {
    require_noise(precision, between);
    const Index K = view(precision).n, d = view(between).n;
    require(has_shape(view(counts), view(counts).n, K) && has_shape(view(places), K) && has_shape(view(within), K, d, d),
            "counts must be (J, K), places (K,), within (K, d, d)");
    require(has_shape(view(H), K, d, K * d), "H must be (K, d, K d)");
    for (const Index place : view(places)) require(place >= 0, "a place is negative");
    nb::gil_scoped_release release;
    ItemModel model(view(precision), view(between));
    look_ahead(model, view(counts), view(places), view(within), view(H));
}

void add_item_result(Index arm, const In1& result, const In1& count, const In2& sum, const In3& precision,
                     const In2& within, const In2& between, const Array2<double>& V, const Array2<double>& F,
                     const Array2<double>& G, const Array1<double>& B) {
    require_noise(precision, between);
    const Index K = view(precision).n, d = view(between).n, wide = K * d;
    require(arm >= 0 && arm < K, "there is no such arm");
    require(has_shape(view(result), d) && has_shape(view(count), K) && has_shape(view(sum), K, d) &&
                has_shape(view(within), d, d),
            "result must be (d,), count (K,), sum (K, d), within (d, d)");
    require(has_shape(view(V), wide, wide) && has_shape(view(F), wide, wide) && has_shape(view(G), wide, wide) &&
                has_shape(view(B), wide),
            "V, F and G must be (K d, K d), B (K d,)");
    nb::gil_scoped_release release;
    ItemModel model(view(precision), view(between));
    add_result(model, arm, view(result), view(count), view(sum), view(within), {view(V), view(F), view(G), view(B)});
}

void expect_item_noise(const Places& arms, const Places& items, const In2& values, const In2& counts,
                       const In3& precision, const In2& between, const In2& means, const Array3<double>& residuals,
                       const Array3<double>& spreads, const Array1<double>& shares) {
    require_noise(precision, between);
    const Index T = view(arms).n, K = view(precision).n, d = view(between).n, J = view(counts).n;
    require(has_shape(view(items), T) && has_shape(view(values), T, d) && has_shape(view(counts), J, K) &&
                has_shape(view(means), K, d),
            "items must be (T,), values (T, d), counts (J, K), means (K, d)");
    require(has_shape(view(residuals), K, d, d) && has_shape(view(spreads), K, d, d) && has_shape(view(shares), K),
            "residuals and spreads must be (K, d, d), shares (K,)");
    for (Index t = 0; t < T; ++t)
        require(view(arms)[t] >= 0 && view(arms)[t] < K && view(items)[t] >= 0 && view(items)[t] < J,
                "there is no such arm or item");
    nb::gil_scoped_release release;
    ItemModel model(view(precision), view(between));
    expect_noise(model, view(arms), view(items), view(values), view(counts), view(means),
                 {view(residuals), view(spreads), view(shares)});
}

void bind_items(nb::module_& m) {
    m.def("add_items", &add_items, nb::arg("counts"), nb::arg("sums"), nb::arg("precision"), nb::arg("between"),
          nb::arg("V").noconvert(), nb::arg("B").noconvert(), "Write the precision V and B of all results that share items.");
    m.def("preview_items", &preview_items, nb::arg("counts"), nb::arg("places"), nb::arg("precision"), nb::arg("within"),
          nb::arg("between"), nb::arg("H").noconvert(), "Write what the next result of each arm, on its item, tells.");
    m.def("add_item_result", &add_item_result, nb::arg("arm"), nb::arg("result"), nb::arg("count"), nb::arg("sum"),
          nb::arg("precision"), nb::arg("within"), nb::arg("between"), nb::arg("V").noconvert(), nb::arg("F").noconvert(),
          nb::arg("G").noconvert(), nb::arg("B").noconvert(), "Take in one result of an item.");
    m.def("expect_item_noise", &expect_item_noise, nb::arg("arms"), nb::arg("items"), nb::arg("values"),
          nb::arg("counts"), nb::arg("precision"), nb::arg("between"), nb::arg("means"), nb::arg("residuals").noconvert(),
          nb::arg("spreads").noconvert(), nb::arg("shares").noconvert(),
          "Write what the variances within items are the means of (an EM step).");
}

void bind_joint(nb::module_& m) {
    m.def(
        "add_rows",
        [](const In2& rows, const Places& arms, const In3& precisions, const In2& values, const Array2<double>& V,
           const Array2<double>& B) {
            const Index h = view(rows).m, d = view(values).m, T = view(values).n;
            require(has_shape(view(arms), T) && has_shape(view(precisions), T, d, d), "arms must be (T,), precisions (T, d, d)");
            require(has_shape(view(V), h * d, h * d) && has_shape(view(B), h, d), "V must be (h d, h d), B (h, d)");
            for (const Index arm : view(arms)) require(arm >= 0 && arm < view(rows).n, "there is no such arm");
            nb::gil_scoped_release release;
            add_rows(view(rows), view(arms), view(precisions), view(values), view(V), view(B));
        },
        nb::arg("rows"), nb::arg("arms"), nb::arg("precisions"), nb::arg("values"), nb::arg("V").noconvert(),
        nb::arg("B").noconvert(), "Add results of arms (T,) to V and B; precisions (T, d, d), values (T, d).");
    m.def(
        "solve_joint",
        [](const Array2<double>& V, const Array2<double>& B, const In2& Z, const Array2<double>& F,
           const Array2<double>& theta, const Array2<double>& X, const Array2<double>& G) {
            const Index n = view(Z).n, h = view(Z).m, d = view(B).m, wide = h * d;
            require(has_shape(view(V), wide, wide) && has_shape(view(F), wide, wide) && has_shape(view(B), h, d) &&
                        has_shape(view(theta), h, d) && has_shape(view(X), wide, n * d) && has_shape(view(G), n * d, n * d),
                    "V and F must be (h d, h d), B and theta (h, d), X (h d, n d), G (n d, n d)");
            nb::gil_scoped_release release;
            solve_joint(view(V), view(B), view(Z), view(F), view(theta), view(X), view(G));
        },
        nb::arg("V").noconvert(), nb::arg("B").noconvert(), nb::arg("Z"), nb::arg("F").noconvert(),
        nb::arg("theta").noconvert(), nb::arg("X").noconvert(), nb::arg("G").noconvert(),
        "Write F, a factor of V^-1, theta, and the covariances X and G.");
    m.def(
        "factor_of_inverse",
        [](const Array2<double>& V, const Array2<double>& F, const Array2<double>& G) {
            const Index wide = view(V).n;
            require(has_shape(view(V), wide, wide) && has_shape(view(F), wide, wide) && has_shape(view(G), wide, wide),
                    "V, F and G must be square, and of one size");
            nb::gil_scoped_release release;
            factor_of_inverse(view(V), view(F), view(G));
        },
        nb::arg("V").noconvert(), nb::arg("F").noconvert(), nb::arg("G").noconvert(),
        "Write F, a factor of V^-1, and G = V^-1; V is positive definite.");
}

}  // namespace

void bind_beliefs(nb::module_& m) {
    m.def(
        "learn",
        [](const Record<Model>& model, const Record<Belief>& belief, Index arm, const In1& x) {
            require(!model->joint, "joint results are not learned one by one");
            require(arm >= 0 && arm < model->K, "there is no such arm");
            require(view(x).n == model->d, "x must have an entry for each metric");
            learn(*model, *belief, arm, view(x));
        },
        nb::arg("model"), nb::arg("belief"), nb::arg("arm"), nb::arg("x"),
        "Take in one result (d,) of an arm; NaN where a value is missing.");
    m.def(
        "refit", [](const Record<Model>& model, const Record<Belief>& belief) {
            require(!model->unstructured, "without features there is nothing to fit");
            refit(*model, *belief);
        },
        nb::arg("model"), nb::arg("belief"), "Bring F and theta of a linear problem up to date with V, B and the pulls.");
    m.def(
        "spans", [](const In2& frame, const In1& pulls) {
            require(view(frame).n == view(pulls).n, "frame and pulls are not of the same arms");
            return spans(view(frame), view(pulls));
        },
        nb::arg("frame"),
        nb::arg("pulls"), "Whether the arms with results span all arms.");
    m.def("students_share", &students_share, nb::arg("freedom"), nb::arg("level"), "t^2 / z^2 of equal tails, z^2 the level.");
    m.def("least_freedom", &least_freedom, nb::arg("delta"), "From how many degrees of freedom on other arms count.");
    m.attr("ENOUGH") = ENOUGH;
    m.attr("ROUNDING") = ROUNDING;
    bind_items(m);
    bind_joint(m);
    nb::module_ tests = testing(m);
    tests.def("is_ready", [](const Record<Model>& model, const Record<Belief>& belief) { return ready(*model, *belief); });
    tests.def("is_in_theta", [](const Record<Model>& model, const Array2<double>& theta) { return in_theta(*model, view(theta)); });
    tests.def("take_in", [](const Record<NoiseModel>& noise, const Record<NoiseEstimate>& found, const Array1<double>& N,
                            Index arm, const Array1<double>& x, const Array2<double>& theta) {
        take_in(*noise, *found, view(N), arm, view(x), view(theta));
    });
}

}  // namespace psips
