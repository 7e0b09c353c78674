"""How often a rule with a threshold errs on two options that all but tie, by integration.

Two equal options in one objective, pulled in turn: after t results the lead over its standard
deviation is a standard normal z, and from one look to the next z' = r z + sqrt(1 - r^2) e, r^2
the ratio of the information. The rule stops at the first look with z^2 / 2 at or above the
threshold. The density of z among those that go on is carried from look to look by quadrature,
and what is missing in the end has stopped, half of it on the wrong side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from psips.kernels.ratio import EVERY

PANELS, POINTS = 44, 8  # of the quadrature, on the upper half
REACH = 6  # panels on either side that one step can reach, once looks are close
NEAR = 0.06  # .. standard deviation of a step from which on


def looks(most: float) -> Iterator[int]:
    """Times at which the default looks at all pieces, results being told one by one."""
    t = 2
    while t <= most:
        period = 1 + t // EVERY
        if period > EVERY:
            period = EVERY * 2 ** int(math.log2(period / EVERY))
        if t % period == 0:
            yield t
        t = (t // period + 1) * period


def information(t: int) -> float:
    return (t // 2) * (t - t // 2) / t


def wrong(threshold: Callable[[float], float], most: float) -> dict[int, float]:
    """Chance to have stopped on the wrong side, after powers of ten of results and ``most``."""
    x, w = np.polynomial.legendre.leggauss(POINTS)
    nodes = ((np.arange(PANELS)[:, None] + (x + 1) / 2) / PANELS).ravel()
    weights = np.tile(w / 2 / PANELS, PANELS)
    n = len(nodes)
    first = POINTS * np.clip(np.arange(n) // POINTS - REACH, 0, PANELS - 2 * REACH - 1)
    window = first[:, None] + np.arange(POINTS * (2 * REACH + 1))
    low = np.arange(POINTS * REACH)  # whose mirror images a step can reach
    times = looks(most)
    last = next(times)
    edge = math.sqrt(2 * threshold(last))
    z = edge * nodes
    mass = edge * weights * np.exp(-z * z / 2) * math.sqrt(2 / math.pi)
    found, mark = {}, 10.0
    for t in times:
        r = math.sqrt(information(last) / information(t))
        s = math.sqrt(1 - r * r)
        edge = math.sqrt(2 * threshold(t))
        new, old = edge * nodes / s, r * z / s
        if s < NEAR:
            density = (np.exp(-0.5 * (new[:, None] - old[window]) ** 2) * mass[window]).sum(1)
            apart = new[low, None] + old[low]
            density[low] += np.exp(-0.5 * apart**2) @ mass[low]
        else:
            density = (
                np.exp(-0.5 * (new[:, None] - old) ** 2)
                + np.exp(-0.5 * (new[:, None] + old) ** 2)
            ) @ mass
        z, last = edge * nodes, t
        mass = edge * weights * density / (s * math.sqrt(2 * math.pi))
        while mark <= t:
            found[round(mark)] = 0.5 * (1 - mass.sum())
            mark *= 10
    found[round(most)] = 0.5 * (1 - mass.sum())
    return found
