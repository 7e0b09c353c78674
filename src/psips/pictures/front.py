"""What a picture of the front shows: metrics, options with their marks, limits.

Colours are those of Okabe and Ito, which colour-blind people can tell apart; the shapes of
the marks say the same once more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.input.digits import estimate

BLUE, GREEN, VERMILION, GREY = "#0072B2", "#009E73", "#D55E00", "#999999"
RADIUS_95 = 2.4477468306808161  # of a standard normal in the plane: sqrt(-2 log 0.05)
NORMAL_95 = 1.959963984540054
REGIONS = 200  # points up to which all have their region; of more, those not yet out
LETTERS = 40  # of a metric's name next to an axis
OTHER_METRICS = "Options behind the line may be optimal in metrics that are not shown."


class Mark(NamedTuple):
    """How one kind of option is drawn."""

    label: str
    marker: str
    colour: str
    filled: bool


MARKS = (
    Mark("candidate, proven optimal", "D", GREEN, True),
    Mark("candidate, undecided", "o", BLUE, True),
    Mark("not a candidate, undecided", "o", VERMILION, False),
    Mark("proven not optimal", "x", GREY, True),
)
PROVEN_DOMINATED = 3  # place of that mark


class Metric(NamedTuple):
    """One metric of the front."""

    name: str
    title: str  # of its axis
    better: int  # 1 if more is better, -1 if less is


class Bound(NamedTuple):
    """A limit that is a number."""

    metric: int
    at: float
    above: bool  # whether what is above breaks it
    said: str  # what breaks it, in words


class Option(NamedTuple):
    """One option, with its estimates."""

    place: int
    name: str
    means: tuple[float, ...]
    errors: tuple[float, ...]
    covariance: Floats  # (d, d) of the means
    mark: int  # which of MARKS
    label: str  # what it means
    candidate: bool

    @property
    def measured(self) -> bool:
        """Whether there is an estimate."""
        return bool(np.isfinite(self.means).all())


@dataclass(frozen=True)
class Front:
    """What is known of the options, to be drawn."""

    metrics: tuple[Metric, ...]
    options: tuple[Option, ...]
    bounds: tuple[Bound, ...] = ()
    limited: bool = False

    @property
    def d(self) -> int:
        """Number of metrics."""
        return len(self.metrics)

    def shown(self, hide: bool = False) -> list[Option]:
        """Return the options that have estimates, perhaps without those proven dominated."""
        return [
            o for o in self.options if o.measured and not (hide and o.mark == PROVEN_DOMINATED)
        ]

    def said(self, option: Option) -> str:
        """Say of an option what its mark shows."""
        values = ", ".join(
            f"{metric.name} {estimate(mean, error)}"
            for metric, mean, error in zip(
                self.metrics, option.means, option.errors, strict=True
            )
        )
        return f"{option.name}: {values}; {option.label}"

    def corners(self, shown: list[Option], x: int, y: int) -> list[tuple[float, float]]:
        """Return the front of two metrics by the estimates, from the worst to the best."""
        allowed = [o for o in shown if o.candidate] if self.limited else shown
        if not allowed:
            return []
        signs = np.array([self.metrics[x].better, self.metrics[y].better], float)
        points = np.array([[o.means[x], o.means[y]] for o in allowed])
        inside = points[pair_front(signs * points)]
        order = np.argsort(signs[0] * inside[:, 0])
        return [(float(px), float(py)) for px, py in inside[order]]


def title_of(name: str, direction: str) -> str:
    """Write the title of an axis: the metric, and which way is better."""
    better = {"max": "more is better", "min": "less is better"}
    return f"{shortened(name, LETTERS)} ({better.get(direction, 'limited')})"


def shortened(name: str, most: int = 18) -> str:
    """Cut a long name short.

    Examples
    --------
    >>> shortened("a name that does not fit")
    'a name that does …'
    """
    return name if len(name) <= most else f"{name[: most - 1]}…"


def has_region(option: Option, shown: int) -> bool:
    """Whether the region of an option is drawn: of many, not of those that are out."""
    return shown <= REGIONS or option.mark != PROVEN_DOMINATED


def staircase(
    corners: list[tuple[float, float]], worst: tuple[float, float]
) -> list[tuple[float, float]]:
    """Return the border of what the corners dominate, down to the worst values shown."""
    line = [(worst[0], corners[0][1])]
    for i, (x, y) in enumerate(corners):
        line += [(x, y), (x, corners[i + 1][1] if i + 1 < len(corners) else worst[1])]
    return line


def pair_front(points: Floats) -> Any:
    """Return which rows (n, 2) no other row dominates, where more is better."""
    inside = np.array(np.isfinite(points).all(axis=1))
    first, second = points[inside].T
    levels, level = np.unique(-first, return_inverse=True)  # the best first
    most = np.full(len(levels), -np.inf)
    np.maximum.at(most, level, second)
    above = np.concatenate([[-np.inf], np.maximum.accumulate(most)[:-1]])  # at better levels
    inside[inside] = (second == most[level]) & (second > above[level])
    return inside
