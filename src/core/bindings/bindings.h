// What the files that know Python share: records and arrays as arguments, arrays as results.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <string>
#include <string_view>

#include "records.h"

namespace nb = nanobind;

namespace psips {

void bind_build_info(nb::module_& m);
void bind_records(nb::module_& m);
void bind_run(nb::module_& m);
void bind_search(nb::module_& m);
void bind_predicted(nb::module_& m);
void bind_probability(nb::module_& m);
void bind_laws(nb::module_& m);
void bind_alternative(nb::module_& m);
void bind_beliefs(nb::module_& m);
void bind_verdicts(nb::module_& m);

// The submodule of what only tests call.
inline nb::module_ testing(nb::module_& m) {
    if (nb::hasattr(m, "testing")) return nb::borrow<nb::module_>(m.attr("testing"));
    return m.def_submodule("testing", "Parts of the core, for its tests.");
}

// A record handed over from Python: the struct that lies in its block.
template <class T>
struct Record {
    T* at = nullptr;
    T& operator*() const { return *at; }
    T* operator->() const { return at; }
};

template <class T>
inline constexpr const char* record_name = nullptr;
template <> inline constexpr const char* record_name<NoiseModel> = "NoiseModel";
template <> inline constexpr const char* record_name<LimitModel> = "LimitModel";
template <> inline constexpr const char* record_name<Model> = "Model";
template <> inline constexpr const char* record_name<NoiseEstimate> = "NoiseEstimate";
template <> inline constexpr const char* record_name<Belief> = "Belief";
template <> inline constexpr const char* record_name<Posterior> = "Posterior";
template <> inline constexpr const char* record_name<Front> = "Front";
template <> inline constexpr const char* record_name<Cover> = "Cover";
template <> inline constexpr const char* record_name<Draw> = "Draw";
template <> inline constexpr const char* record_name<TieRates> = "TieRates";
template <> inline constexpr const char* record_name<SearchState> = "SearchState";
template <> inline constexpr const char* record_name<Calibration> = "Calibration";
template <> inline constexpr const char* record_name<Options> = "Options";
template <> inline constexpr const char* record_name<Learner> = "Learner";
template <> inline constexpr const char* record_name<Design> = "Design";
template <> inline constexpr const char* record_name<BaselineState> = "BaselineState";
template <> inline constexpr const char* record_name<Account> = "Account";
template <> inline constexpr const char* record_name<Run> = "Run";
template <> inline constexpr const char* record_name<Source> = "Source";

// Arrays from Python. Of one that is only read a copy will do, if it is not contiguous or has other numbers; one
// that is written to is bound with `noconvert`, so that it is refused then.
template <class T>
using Array1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array3 = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// Arguments that do not belong together: ValueError.
inline void require(bool fits, const char* otherwise) {
    if (!fits) throw nb::value_error(otherwise);
}
template <class A>
void require_aligned(const A& a) {
    require(reinterpret_cast<std::uintptr_t>(a.data()) % alignof(typename A::Scalar) == 0, "an array is not aligned");
}
template <class T>
bool has_shape(const Vec<T>& v, Index n) {
    return v.n == n;
}
template <class T>
bool has_shape(const Mat<T>& v, Index n, Index m) {
    return v.n == n && v.m == m;
}
template <class T>
bool has_shape(const Cube<T>& v, Index n, Index m, Index r) {
    return v.n == n && v.m == m && v.r == r;
}

template <class T>
Vec<T> view(const Array1<T>& a) {
    require_aligned(a);
    return {a.data(), static_cast<Index>(a.shape(0))};
}
template <class T>
Mat<T> view(const Array2<T>& a) {
    require_aligned(a);
    return {a.data(), static_cast<Index>(a.shape(0)), static_cast<Index>(a.shape(1))};
}
template <class T>
Cube<T> view(const Array3<T>& a) {
    require_aligned(a);
    return {a.data(), static_cast<Index>(a.shape(0)), static_cast<Index>(a.shape(1)), static_cast<Index>(a.shape(2))};
}
inline Key key_of(const Array1<const std::uint64_t>& a) {
    const Vec<const std::uint64_t> words = view(a);
    require(words.n == 2, "a key has two words");
    return {words[0], words[1]};
}

// Copies handed to Python as NumPy arrays. The GIL must be held.
template <class T>
nb::object to_numpy(const T* from, std::initializer_list<std::size_t> shape) {
    std::size_t count = 1;
    for (const std::size_t extent : shape) count *= extent;
    T* data = new T[count ? count : 1];
    std::copy(from, from + count, data);
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(data, shape, owner));
}
template <class T>
nb::object to_numpy(const Vec<T>& v) {
    return to_numpy<std::remove_const_t<T>>(v.data, {static_cast<std::size_t>(v.n)});
}
template <class T>
nb::object to_numpy(const Mat<T>& v) {
    return to_numpy<std::remove_const_t<T>>(v.data, {static_cast<std::size_t>(v.n), static_cast<std::size_t>(v.m)});
}
template <class T>
nb::object to_numpy(const Cube<T>& v) {
    return to_numpy<std::remove_const_t<T>>(
        v.data, {static_cast<std::size_t>(v.n), static_cast<std::size_t>(v.m), static_cast<std::size_t>(v.r)});
}

}  // namespace psips

namespace nanobind::detail {

template <class T>
struct type_caster<psips::Record<T>> {
    NB_TYPE_CASTER(psips::Record<T>, const_name("object"))
    bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
        try {
            const handle kind = source.type();
            if (std::string_view(str(kind.attr("__name__")).c_str()) != psips::record_name<T>) return false;
            value.at = reinterpret_cast<T*>(cast<std::uintptr_t>(source.attr("address")));
            return true;
        } catch (...) {
            return false;
        }
    }
};

}  // namespace nanobind::detail
