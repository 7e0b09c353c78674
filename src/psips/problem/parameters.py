"""What is known of the parameter beforehand: a set it lies in, or a prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, quote
from psips.input.checks import Nested, by_name, fit, nested
from psips.state.model import BALL, BOX, EVERYTHING


@dataclass(frozen=True)
class Ball:
    """Parameter set: each objective's column of theta has Euclidean norm at most ``radius``.

    Parameters
    ----------
    radius : float or one float per objective

    Examples
    --------
    >>> Ball([3, 4])
    Ball(radius=(3.0, 4.0))
    """

    radius: Nested

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", nested("the radius of the ball", self.radius))


@dataclass(frozen=True)
class Box:
    """Parameter set: every entry of theta lies between ``low`` and ``high``.

    Parameters
    ----------
    low, high : float, one float per objective, or one row per feature (per arm if unstructured)

    Examples
    --------
    >>> Box(0, [1, 2])
    Box(low=0.0, high=(1.0, 2.0))
    """

    low: Nested
    high: Nested

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", nested("the low end of the box", self.low))
        object.__setattr__(self, "high", nested("the high end of the box", self.high))


@dataclass(frozen=True)
class Prior:
    """What is believed of the arms beforehand, as if they had been measured.

    The mean of an arm is believed to be normal around ``means`` with the covariance of the
    noise divided by ``pulls``. It serves the stopping rule ``bayes`` and the posterior
    probabilities; what is proven, or measured of other rules, holds for the data alone.

    Parameters
    ----------
    means : one number per objective, one row per arm, or a mapping or DataFrame by arm
    pulls : float, one float per arm, or a mapping by arm
        How many measurements of the arm the belief is worth; 0 for none.

    Examples
    --------
    >>> Prior([5, 2], pulls=0.5)
    Prior(means=(5.0, 2.0), pulls=0.5)
    """

    means: Any
    pulls: Any

    def __post_init__(self) -> None:
        for name in ("means", "pulls"):
            given = getattr(self, name)
            if not isinstance(given, Mapping) and not hasattr(given, "to_dict"):
                object.__setattr__(self, name, nested(f"the {name} of the prior", given))


class Limits(NamedTuple):
    """Bounds of a parameter set as the kernels read them, every objective maximised."""

    kind: int
    radii: Floats  # (d,) of a ball; infinite without one
    low: Floats  # (h, d) of a box; empty without one
    high: Floats


def limits(given: object, objectives: Sequence[str], h: int, signs: Floats) -> Limits:
    """Check a parameter set, and return its bounds.

    Parameters
    ----------
    given : Ball, Box or None
    objectives : sequence of str
    h : int
        Rows of theta.
    signs : array (d,)
        1 for an objective to maximise, -1 for one to minimise.

    Examples
    --------
    >>> limits(Ball(3), ["yield"], 2, np.ones(1)).radii
    array([3.])
    """
    d = len(objectives)
    everywhere, none = np.full(d, np.inf), np.zeros((0, 0))
    if given is None:
        return Limits(EVERYTHING, everywhere, none, none)
    if isinstance(given, Ball):
        radii = fit("the radius of the ball", given.radius, (d,))
        if not np.all(radii > 0):
            raise InputError(
                f"the radius of the ball must be positive, got {quote(given.radius)}"
            )
        return Limits(BALL, radii, none, none)
    if not isinstance(given, Box):
        raise InputError(f"parameter_set must be a Ball or a Box, got {quote(given)}")
    low = fit("the low end of the box", given.low, (h, d))
    high = fit("the high end of the box", given.high, (h, d))
    if not np.all(low < high):
        row, c = np.argwhere(low >= high)[0]
        raise InputError(
            f"the box is empty for objective {objectives[c]!r}: "
            f"low {low[row, c]} is not below high {high[row, c]}"
        )
    flip = signs < 0
    return Limits(BOX, everywhere, np.where(flip, -high, low), np.where(flip, -low, high))


def check_inside(bounds: Limits, objectives: Sequence[str], theta: Floats) -> None:
    """Raise if a truth (h, d), in the kernels' orientation, lies outside the parameter set."""
    kind, ball, low, high = bounds
    for c, objective in enumerate(objectives):
        norm = float(np.linalg.norm(theta[:, c]))
        if norm > ball[c] * (1 + 1e-12):
            raise InputError(
                f"the truth of objective {objective!r} has norm {norm:.6g}, but the "
                f"parameter set is a ball of radius {ball[c]:g}: widen it"
            )
        if kind == BOX and np.any((theta < low) | (theta > high), axis=0)[c]:
            raise InputError(
                f"the truth of objective {objective!r} lies outside the parameter set, a "
                f"box: widen it"
            )


def read_prior(arms: Sequence[str], objectives: Sequence[str], prior: object) -> Prior:
    """Return the prior with a row of means and a number of pulls for each arm, in order.

    Examples
    --------
    >>> read_prior(["A", "B"], ["yield"], Prior({"B": 1, "A": 2}, pulls=3))
    Prior(means=((2.0,), (1.0,)), pulls=(3.0, 3.0))
    """
    if not isinstance(prior, Prior):
        raise InputError(f"prior must be a Prior, got {quote(prior)}")
    means, pulls = prior.means, prior.pulls
    if hasattr(means, "columns"):  # a DataFrame
        means = means.to_dict("index")
    if isinstance(means, Mapping):
        means = [
            by_name("prior", "objective", objectives, row) if isinstance(row, Mapping) else row
            for row in by_name("prior", "arm", arms, means)
        ]
        if len(objectives) == 1:
            means = [[row] if isinstance(row, int | float) else row for row in means]
    if hasattr(pulls, "to_dict"):  # a Series
        pulls = pulls.to_dict()
    if isinstance(pulls, Mapping):
        pulls = by_name("prior", "arm", arms, pulls)
    K, d = len(arms), len(objectives)
    rows = fit("the means of the prior", nested("the means of the prior", means), (K, d))
    counts = fit("the pulls of the prior", nested("the pulls of the prior", pulls), (K,))
    for arm, count in zip(arms, counts, strict=True):
        if count < 0:
            raise InputError(
                f"the prior's pulls of arm {arm!r} must be a number of measurements of at "
                f"least 0, got {count:g}"
            )
    if not counts.any():
        raise InputError("the prior is worth no measurement of any arm: leave it out")
    return Prior(rows, counts)
