// Arrays: views of memory owned elsewhere, and owned scratch memory. Every index is checked.
//
// A view is what a record of the session holds (see records.h): a pointer and its extents, nothing
// else. Copying one copies the view. `-DPSIPS_UNCHECKED` takes the checks out.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>

namespace psips {

using Index = std::int64_t;

inline constexpr double INF = std::numeric_limits<double>::infinity();

[[noreturn, gnu::cold, gnu::noinline]] inline void out_of_range() {
    throw std::out_of_range("an index of the core is out of range: please report this");
}

[[gnu::always_inline]] inline std::size_t within(Index i, Index n) {
#ifndef PSIPS_UNCHECKED
    if (static_cast<std::uint64_t>(i) >= static_cast<std::uint64_t>(n)) [[unlikely]] out_of_range();
#else
    (void)n;
#endif
    return static_cast<std::size_t>(i);
}

// How many entries an array of these extents has, which nothing checks later on.
inline Index extent_of(Index n, Index m = 1, Index r = 1) {
    constexpr Index most = std::numeric_limits<Index>::max() / 16;
    const auto fits = [](Index a, Index b) { return a >= 0 && b >= 0 && (b == 0 || a <= most / b); };
    if (!fits(n, m) || !fits(n * m, r)) throw std::length_error("the core has no room for an array of this size");
    return n * m * r;
}

template <class T>
struct Vec {  // (n,)
    T* data = nullptr;
    Index n = 0;
    [[gnu::always_inline]] T& operator[](Index i) const { return data[within(i, n)]; }
    Index size() const { return n; }
    T* begin() const { return data; }
    T* end() const { return data + n; }
    T* whole(Index m) const {  // all m of it, for loops that check once
        return m == n ? data : (out_of_range(), data);
    }
    Vec first(Index m) const { return {data, m == 0 ? 0 : static_cast<Index>(within(m - 1, n)) + 1}; }
    Vec from(Index i) const { return {data + i, n - static_cast<Index>(within(i, n + 1))}; }
    void fill(std::remove_const_t<T> value) const { std::fill(begin(), end(), value); }
    template <class U>
        requires std::same_as<U, const T>
    operator Vec<U>() const {
        return {data, n};
    }
};

template <class T>
struct Mat {  // (n, m), row by row
    T* data = nullptr;
    Index n = 0, m = 0;
    [[gnu::always_inline]] T& operator()(Index i, Index j) const { return data[within(i * m + j, n * m)]; }
    [[gnu::always_inline]] Vec<T> operator[](Index i) const { return {data + within(i, n) * static_cast<std::size_t>(m), m}; }
    Index rows() const { return n; }
    Index cols() const { return m; }
    Mat first(Index k) const { return {data, k == 0 ? 0 : static_cast<Index>(within(k - 1, n)) + 1, m}; }
    void fill(std::remove_const_t<T> value) const { std::fill(data, data + n * m, value); }
    template <class U>
        requires std::same_as<U, const T>
    operator Mat<U>() const {
        return {data, n, m};
    }
};

template <class T>
struct Cube {  // (n, m, r)
    T* data = nullptr;
    Index n = 0, m = 0, r = 0;
    [[gnu::always_inline]] T& operator()(Index i, Index j, Index k) const {
        return data[within((i * m + j) * r + k, n * m * r)];
    }
    [[gnu::always_inline]] Mat<T> operator[](Index i) const {
        return {data + within(i, n) * static_cast<std::size_t>(m * r), m, r};
    }
    Index size() const { return n; }
};

// Scratch: owned, filled with zeros, small ones without an allocation. A scratch array is a view of
// itself, so that it is handed on as one; it is neither copied nor moved.
template <class T, Index SMALL>
class Storage {
protected:
    T* reserve(Index count) {
        T* data = small_;
        if (count > SMALL) {
            large_ = std::make_unique<T[]>(static_cast<std::size_t>(count));
            return large_.get();
        }
        std::fill_n(small_, count, T{});
        return data;
    }

private:
    T small_[SMALL];
    std::unique_ptr<T[]> large_;
};

template <class T>
class List : Storage<T, 16>, public Vec<T> {
public:
    explicit List(Index n) { this->data = this->reserve(extent_of(n)), this->n = n; }
    List(const List&) = delete;
    List& operator=(const List&) = delete;
};

template <class T>
class Table : Storage<T, 64>, public Mat<T> {
public:
    Table(Index n, Index m) { this->data = this->reserve(extent_of(n, m)), this->n = n, this->m = m; }
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;
};

template <class T>
class Block : Storage<T, 64>, public Cube<T> {
public:
    Block(Index n, Index m, Index r) { this->data = this->reserve(extent_of(n, m, r)), this->n = n, this->m = m, this->r = r; }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
};

using Floats = List<double>;
using Ints = List<Index>;
using Flags = List<bool>;

}  // namespace psips
