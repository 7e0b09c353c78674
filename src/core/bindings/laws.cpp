// Tails and quantiles of laws, for Python.
#include "laws.h"

#include "bindings.h"

namespace psips {

namespace {

// What comes last of each row is where the law is looked at, before it what the law is; up to two numbers.
double parameter(double value) {
    if (std::isnan(value)) return value;
    require(value > 0.0 && value <= 1e9, "expected parameters of laws above 0 and up to 1e9");
    return value;
}

Tails tails_of(const std::string& law, double a, double b, double x) {
    if (std::isnan(a + b) || std::isnan(x)) return {NAN, NAN};
    if (law == "normal") return normal_tails(x);
    if (law == "chi-square") return chi_square_tails(a, x);
    if (law == "student") return students_tails(a, x);
    if (law == "f") return f_tails(a, b, x);
    require(law == "beta", "the laws are normal, chi-square, student, f and beta");
    return beta_tails(a, b, x, 1.0 - x);
}

double quantile_of(const std::string& law, double a, double b, double above) {
    if (std::isnan(a + b) || !(above >= 0.0 && above <= 1.0)) return NAN;
    if (law == "normal") return normal_quantile(above);
    if (law == "chi-square") return chi_square_quantile(a, above);
    if (law == "student") return students_quantile(a, above);
    require(law == "beta", "the laws with quantiles are normal, chi-square, student and beta");
    return beta_quantile(a, b, above);
}

nb::object tails(const std::string& law, const Array2<const double>& given) {
    const Mat<const double> rows = view(given);
    require(rows.m == 3, "given must have three columns");
    Table<double> found(rows.n, 2);
    for (Index k = 0; k < rows.n; ++k) {
        const Tails one = tails_of(law, parameter(rows(k, 0)), parameter(rows(k, 1)), rows(k, 2));
        found(k, 0) = one.below;
        found(k, 1) = one.above;
    }
    return to_numpy(static_cast<const Mat<double>&>(found));
}

nb::object quantiles(const std::string& law, const Array2<const double>& given) {
    const Mat<const double> rows = view(given);
    require(rows.m == 3, "given must have three columns");
    Floats found(rows.n);
    for (Index k = 0; k < rows.n; ++k)
        found[k] = quantile_of(law, parameter(rows(k, 0)), parameter(rows(k, 1)), rows(k, 2));
    return to_numpy(static_cast<const Vec<double>&>(found));
}

}  // namespace

void bind_laws(nb::module_& m) {
    m.def("tails", &tails, nb::arg("law"), nb::arg("given"), "Both tails (n, 2) of a law, by rows (n, 3): what it is, where.");
    m.def("quantiles", &quantiles, nb::arg("law"), nb::arg("given"),
          "Quantiles (n,) of a law, by rows (n, 3): what it is, and the probability above.");
}

}  // namespace psips
