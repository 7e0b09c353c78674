"""Values far from 0 are centred before the core sees them.

Nothing that is asked of arms without features changes if every value of an objective moves by
the same amount and its limits and ranges move along. Arithmetic does change: of values around
1e12 with a standard deviation of 1, sums and differences have lost most of their digits.

So an engine looks once, when it first knows enough to judge: in an objective in which the
median of the arms' means is more than FAR_FROM_ZERO standard deviations of the noise from 0,
all values are taken less a centre near that median. The centre is a function of the results
told up to then, in their order, it is kept in snapshots, and it stays 0 for values as most
people have them, whose runs it leaves as they are, to the bit. It has few binary digits, so
that a count times the centre is exact, and what sums have lost to rounding before is added to
them again.

Not centred: problems with features, in which a constant is not something that moves along, and
objectives with a tolerance that is a share of the control's mean, or a bound on parameters.

Where numbers as large as the values are further apart than half the noise, nothing can be
computed: such results are kept, and not judged (`too_coarse`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from psips.aliases import Floats, Mask
from psips.state.model import BALL, BOX, Model
from psips.state.source import Source

FAR_FROM_ZERO = 2.0**20  # standard deviations of the noise from 0
DIGITS = 26  # binary, of a centre
COARSE = 0.5  # standard deviations between neighbouring numbers that are too many


def movable(model: Model) -> Mask:
    """Return the objectives (d,) whose values can be taken less a centre."""
    if not model.unstructured or model.kind == BALL:
        return np.zeros(model.d, np.bool_)
    return np.asarray(model.relative == 0.0)


def centre_of(model: Model, means: Floats, variances: Floats) -> Floats:
    """Return the centre (d,) by means (K, d) and variances (K, d) of single results.

    Examples
    --------
    >>> from psips.problem import Problem
    >>> model = Problem(objectives=["yield"], covariance=[1], arms=3).model
    >>> centre_of(model, np.array([[1e3], [1e4], [1e5]]), np.ones((3, 1)))
    array([0.])
    >>> centre_of(model, np.array([[2e8], [1e8 + 1], [1e8]]), np.ones((3, 1)))
    array([1.e+08])
    """
    middle, sd = np.median(means, axis=0), np.sqrt(np.median(variances, axis=0))
    far = movable(model) & np.isfinite(middle) & (np.abs(middle) > FAR_FROM_ZERO * sd)
    parts, exponents = np.frexp(np.where(far, middle, 0.0))
    return np.asarray(np.ldexp(np.round(np.ldexp(parts, DIGITS)), exponents - DIGITS))


def moved(model: Model, centre: Floats) -> Model:
    """Return a problem whose values are taken less a centre."""
    limits, noise = model.limits, model.noise
    shift = limits.sign * (1.0 - limits.factor) * centre[limits.metric]
    box = model.kind == BOX
    return replace(
        model,
        limits=replace(limits, bound=limits.bound - shift),
        noise=replace(noise, low=noise.low - centre, high=noise.high - centre),
        low=model.low - centre if box else model.low,
        high=model.high - centre if box else model.high,
    )


def moved_source(source: Source, centre: Floats) -> Source:
    """Return a source of the same results less a centre."""
    return replace(source, means=source.means - centre, rows=source.rows - centre)


def variances_of(source: Source) -> Floats:
    """Return the variances (K, d) of results of a source; NaN if it does not tell them."""
    if not len(source.L):
        return np.full(source.means.shape, np.nan)
    return np.asarray((source.L**2).sum(axis=2))


def lost(total: Floats, x: Floats) -> Floats:
    """Return what ``total + x`` loses to rounding, exactly (Knuth's two-sum)."""
    rounded = total + x
    of_x = rounded - total
    return np.asarray((total - (rounded - of_x)) + (x - of_x))


def too_coarse(centre: Floats, sd: Floats) -> Mask:
    """Return in which objectives (d,) numbers near the centre are too far apart.

    Examples
    --------
    >>> too_coarse(np.array([1e15, 1e15]), np.array([1.0, 0.1]))
    array([False,  True])
    """
    return np.asarray((centre != 0.0) & (np.spacing(np.abs(centre)) > COARSE * sd))
