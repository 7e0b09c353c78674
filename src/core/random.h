// Random numbers that depend only on a key, a counter and a purpose.
//
// Every draw of a run comes from a short stream that is seeded for each round and purpose, so that
// what a round does is a function of the key and of the data alone: asking twice, resuming after a
// crash or replaying a log gives the same bits. Streams are xoshiro256++, seeded by SplitMix64;
// normals come from a 256-layer ziggurat.
#pragma once

#include <bit>
#include <cmath>

#include "array.h"

namespace psips {

enum class Purpose : std::uint64_t { stop = 1, learn = 2, pull = 3, noise = 4, estimate = 5, places = 6 };

struct Key {
    std::uint64_t first, second;
};

struct Ziggurat {
    static constexpr double TAIL = 3.6541528853610088;  // where the tail begins
    static constexpr double AREA = 0.00492867323399141;  // of each layer
    double x[257], y[257];
    Ziggurat() {
        x[0] = AREA / std::exp(-0.5 * TAIL * TAIL);
        x[1] = TAIL;
        x[256] = 0.0;
        for (int i = 2; i < 256; ++i)
            x[i] = std::sqrt(-2.0 * std::log(AREA / x[i - 1] + std::exp(-0.5 * (x[i - 1] * x[i - 1]))));
        for (int i = 0; i < 257; ++i) y[i] = std::exp(-0.5 * x[i] * x[i]);
    }
};
inline const Ziggurat ziggurat;

inline constexpr double SQRT_HALF = 0.7071067811865476;
inline constexpr int TURNS = 1000;  // of a rejection, at most: a stream of zeros is never accepted
inline constexpr double CERTAIN_TAIL = 1e16;  // standard deviations beyond which a tail has no width

class Stream {  // its four words are its state, which a record keeps
public:
    void seed(Key key, std::int64_t counter, Purpose purpose) {
        std::uint64_t state = mixed(key.first + GOLDEN);
        state = mixed((state ^ key.second) + GOLDEN);
        state = mixed((state ^ static_cast<std::uint64_t>(counter)) + GOLDEN);
        state = mixed((state ^ static_cast<std::uint64_t>(purpose)) + GOLDEN);
        for (auto& word : s_) word = mixed(state += GOLDEN);
    }
    void set(const std::uint64_t (&words)[4]) { std::copy(words, words + 4, s_); }
    std::uint64_t bits() {
        const std::uint64_t result = std::rotl(s_[0] + s_[3], 23) + s_[0], shifted = s_[1] << 17;
        s_[2] ^= s_[0];
        s_[3] ^= s_[1];
        s_[1] ^= s_[2];
        s_[0] ^= s_[3];
        s_[2] ^= shifted;
        s_[3] = std::rotl(s_[3], 45);
        return result;
    }
    double uniform() { return (to_double(bits() >> 11) + 0.5) * 0x1p-53; }  // strictly in (0, 1)
    double exponential() { return -std::log(uniform()); }
    [[gnu::always_inline]] double normal() {  // nearly always within the layer
        const std::uint64_t word = bits();
        const std::size_t layer = word & 255;
        const double x = to_double(word >> 11) * 0x1p-53 * ziggurat.x[layer];
        if (x < ziggurat.x[layer + 1]) [[likely]]  // the sign without a branch
            return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) ^ ((word & 256) << 55));
        return outside_layer(word);
    }
    // N(0, 1) conditioned on exceeding `bound` (Robert's rejection from a shifted exponential).
    double normal_above(double bound) {
        if (bound <= 0.0) {
            for (int turn = 0; turn < TURNS; ++turn)
                if (const double x = normal(); x >= bound) return x;
            return 0.0;
        }
        if (!(bound < CERTAIN_TAIL)) return bound;
        const double rate = 0.5 * (bound + std::sqrt(bound * bound + 4.0));
        for (int turn = 0; turn < TURNS; ++turn) {
            const double x = bound + exponential() / rate;
            if (exponential() >= 0.5 * ((x - rate) * (x - rate))) return x;
        }
        return bound;
    }
    // Log of the index of the first success in trials of probability exp(log_p).
    double log_geometric(double log_p) {
        if (log_p >= 0.0) return 0.0;
        if (log_p > -27.0) return std::log(std::floor(std::log(uniform()) / std::log1p(-std::exp(log_p))) + 1.0);
        return std::log(exponential()) - log_p;
    }

private:
    static double to_double(std::uint64_t word) { return static_cast<double>(static_cast<std::int64_t>(word)); }
    static constexpr std::uint64_t GOLDEN = 0x9E3779B97F4A7C15;
    static std::uint64_t mixed(std::uint64_t v) {
        v = (v ^ (v >> 30)) * 0xBF58476D1CE4E5B9;
        v = (v ^ (v >> 27)) * 0x94D049BB133111EB;
        return v ^ (v >> 31);
    }
    [[gnu::noinline]] double outside_layer(std::uint64_t word) {
        for (int turn = 0; turn < TURNS; ++turn) {
            const std::size_t layer = word & 255;
            const bool negative = (word >> 8) & 1;
            double x = to_double(word >> 11) * 0x1p-53 * ziggurat.x[layer];
            if (x < ziggurat.x[layer + 1]) return negative ? -x : x;
            if (layer == 0) {
                int tries = 0;
                do x = exponential() / Ziggurat::TAIL;
                while (!(2.0 * exponential() > x * x) && ++tries < TURNS);
                x += Ziggurat::TAIL;
                return negative ? -x : x;
            }
            const double low = ziggurat.y[layer], high = ziggurat.y[layer + 1];
            if (low + uniform() * (high - low) < std::exp(-0.5 * x * x)) return negative ? -x : x;
            word = bits();
        }
        return 0.0;
    }
    std::uint64_t s_[4]{};
};

inline double log_tail(double r) {  // log P(N(0, 1) > r)
    if (r < 25.0) return std::log(0.5 * std::erfc(r * SQRT_HALF));
    const double q = 1.0 / (r * r);
    const double series = 1.0 - q * (1.0 - 3.0 * q * (1.0 - 5.0 * q * (1.0 - 7.0 * q)));
    return -0.5 * r * r - std::log(r * 2.5066282746310002) + std::log(series);
}

}  // namespace psips
