"""Random numbers that depend only on a key, a counter and a purpose.

Every draw of a run comes from a short stream that is seeded anew for each round and
purpose, so what a round does is a function of the key and of the data alone: looking
twice, resuming after a crash or replaying a log gives the same bits. Streams are
xoshiro256++, seeded by SplitMix64; normals come from a 256-layer ziggurat.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Stream
from psips.kernels.jit import part

# Purposes: which question a stream serves.
STOP = 1
LEARN = 2
PULL = 3
NOISE = 4
ESTIMATE = 5
PLACES = 6

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_U11, _U17, _U23, _U27 = np.uint64(11), np.uint64(17), np.uint64(23), np.uint64(27)
_U30, _U31, _U41, _U45, _U19 = (
    np.uint64(30),
    np.uint64(31),
    np.uint64(41),
    np.uint64(45),
    np.uint64(19),
)
_U1, _U8, _U255 = np.uint64(1), np.uint64(8), np.uint64(255)
_TO_UNIT = 2.0**-53
CERTAIN = 1e16  # standard deviations beyond which a tail has no width that a number shows

# Ziggurat: R is where the tail begins, AREA the area of each of the 256 layers.
_R = 3.6541528853610088
_AREA = 0.00492867323399141


def _layers() -> tuple[Floats, Floats]:
    x = np.zeros(257)
    x[0] = _AREA / math.exp(-0.5 * _R * _R)
    x[1] = _R
    for i in range(2, 256):
        x[i] = math.sqrt(-2.0 * math.log(_AREA / x[i - 1] + math.exp(-0.5 * x[i - 1] ** 2)))
    return x, np.exp(-0.5 * x * x)


_X, _Y = _layers()


@part
def _mixed(value: np.uint64) -> np.uint64:
    value = (value ^ (value >> _U30)) * _MIX1
    value = (value ^ (value >> _U27)) * _MIX2
    return value ^ (value >> _U31)


@part
def seed(stream: Stream, key: Stream, counter: int, purpose: int) -> None:
    """Set ``stream`` to the start of the stream (key, counter, purpose)."""
    state = _mixed(key[0] + _GOLDEN)
    state = _mixed((state ^ key[1]) + _GOLDEN)
    state = _mixed((state ^ np.uint64(counter)) + _GOLDEN)
    state = _mixed((state ^ np.uint64(purpose)) + _GOLDEN)
    for i in range(4):
        state = state + _GOLDEN
        stream[i] = _mixed(state)


@part
def bits(s: Stream) -> np.uint64:
    """Return the next 64 bits (xoshiro256++)."""
    total = s[0] + s[3]
    result = ((total << _U23) | (total >> _U41)) + s[0]
    shifted = s[1] << _U17
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= shifted
    s[3] = (s[3] << _U45) | (s[3] >> _U19)
    return result


@part
def uniform(s: Stream) -> float:
    """U strictly between 0 and 1."""
    return (np.float64(bits(s) >> _U11) + 0.5) * _TO_UNIT


@part
def exponential(s: Stream) -> float:
    """Exp(1)."""
    return -math.log(uniform(s))


@part
def normal(s: Stream) -> float:
    """N(0, 1) by the ziggurat."""
    while True:
        word = bits(s)
        layer = np.int64(word & _U255)
        negative = (word >> _U8) & _U1
        x = np.float64(word >> _U11) * _TO_UNIT * _X[layer]
        if x < _X[layer + 1]:
            return -x if negative else x
        if layer == 0:
            while True:
                x = exponential(s) / _R
                if 2.0 * exponential(s) > x * x:
                    x += _R
                    return -x if negative else x
        if _Y[layer] + uniform(s) * (_Y[layer + 1] - _Y[layer]) < math.exp(-0.5 * x * x):
            return -x if negative else x


@part
def normal_above(s: Stream, bound: float) -> float:
    """N(0, 1) conditioned on exceeding ``bound`` (Robert's rejection from a shifted Exp)."""
    if bound <= 0.0:
        while True:
            x = normal(s)
            if x >= bound:
                return x
    if not bound < CERTAIN:
        return bound
    rate = 0.5 * (bound + math.sqrt(bound * bound + 4.0))
    while True:
        x = bound + exponential(s) / rate
        if exponential(s) >= 0.5 * (x - rate) ** 2:
            return x


@part
def log_geometric(s: Stream, log_p: float) -> float:
    """Log of the index of the first success in trials of probability ``exp(log_p)``."""
    if log_p >= 0.0:
        return 0.0
    if log_p > -27.0:
        return math.log(math.floor(math.log(uniform(s)) / math.log1p(-math.exp(log_p))) + 1.0)
    return math.log(exponential(s)) - log_p


@part
def log_tail(r: float) -> float:
    """Log of P(N(0, 1) > r)."""
    if r < 25.0:
        return math.log(0.5 * math.erfc(r * 0.7071067811865476))
    q = 1.0 / (r * r)
    series = 1.0 - q * (1.0 - 3.0 * q * (1.0 - 5.0 * q * (1.0 - 7.0 * q)))
    return -0.5 * r * r - math.log(r * 2.5066282746310002) + math.log(series)
