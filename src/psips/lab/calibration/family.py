"""One cell of the calibration: instances of one kind, and how often they are run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from psips.lab.calibration.ordinary import INSTANCES, ordinary
from psips.lab.instances import instance
from psips.problem.instances import Instance

CAP = 3_000_000  # samples of a run; one that reaches it claims nothing
LONG = 10 * CAP  # where a tie takes that many
SHORT = 20_000  # where no one can be expected to stop: what is counted is who does
SPENT = 50_000  # the same, by which a lone tie has spent nine tenths of delta


@dataclass(frozen=True)
class Family:
    """One cell: instances of one kind, measured together.

    Parameters
    ----------
    group : str
        Of `psips.lab.calibration.families.GROUPS`: which table it stands in.
    builder : str
        A built-in instance; the family's name, if it is one of the ordinary ones.
    params : mapping
        Of the builder.
    drawn : bool
        Whether to take several instances, with seeds from 0, rather than one.
    share : float
        Of the runs, where one takes long.
    cap : int
        Samples of a run at most.
    asked : mapping
        What is asked of the instances besides the whole set: ``tolerance`` on each objective,
        in standard deviations of one result; ``costs`` of a pull, from that of the first arm to
        that of the last in equal ratios; ``control``, an arm; ``goal`` and ``budget`` as in
        `psips.Session`.
    """

    group: str
    builder: str
    params: Mapping[str, Any] = field(default_factory=dict)
    drawn: bool = False
    share: float = 1.0
    cap: int = CAP
    asked: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What tables and files call it.

        Examples
        --------
        >>> Family("worse", "worse", {"d": 6, "gap": 0.3}).name
        'worse d=6 gap=0.3'
        """
        given = {**self.params, **self.asked}
        return " ".join(
            [self.builder, *(f"{key}={_text(value)}" for key, value in given.items())]
        )

    @property
    def goal(self) -> str | None:
        """What is to be proven instead of the whole set, if anything."""
        return self.asked.get("goal")

    @property
    def budget(self) -> float | None:
        """Where runs end, whatever is known by then."""
        return self.asked.get("budget")

    def instances(self) -> list[Instance]:
        """Return its instances, the same at every call."""
        if self.group == "ordinary":
            return ordinary()[self.builder]
        seeds = [{"seed": s} for s in range(INSTANCES)] if self.drawn else [{}]
        return [self._ask(instance(self.builder, **self.params, **seed)) for seed in seeds]

    def _ask(self, made: Instance) -> Instance:
        if "tolerance" in self.asked:
            sd = self.asked["tolerance"] * np.sqrt(np.diag(made.known.usual_covariance))
            made = made.asking(epsilon=dict(zip(made.problem.objectives, sd, strict=True)))
        if "costs" in self.asked:
            first, last = self.asked["costs"]
            made = made.asking(costs=np.geomspace(first, last, made.problem.K).tolist())
        if "control" in self.asked:
            made = made.asking(control=self.asked["control"])
        return made

    def runs(self, asked: int) -> int:
        """Return how many runs it gets."""
        return max(1, math.ceil(self.share * asked))

    def limit(self, asked: int | None) -> int:
        """Return the cap of its runs: its own, or a lower one if that is asked for."""
        return self.cap if asked is None else min(asked, self.cap)


def _text(value: Any) -> str:
    """Write a value as part of a name.

    Examples
    --------
    >>> _text((1, 50)), _text(0.3)
    ('1:50', '0.3')
    """
    return ":".join(map(str, value)) if isinstance(value, tuple) else str(value)
