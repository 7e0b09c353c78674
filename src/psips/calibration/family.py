"""One cell of the calibration: instances of one kind, and how often they are run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from psips.calibration.ordinary import INSTANCES, ordinary
from psips.problem.instances import Instance, instance

CAP = 3_000_000  # samples of a run; one that reaches it claims nothing
LONG = 10 * CAP  # where a tie takes that many
SHORT = 20_000  # where nobody can be expected to stop: what is counted is who does


@dataclass(frozen=True)
class Family:
    """One cell: instances of one kind, measured together.

    Parameters
    ----------
    group : str
        Of `psips.calibration.families.GROUPS`: which table it stands in.
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
    tolerance : float
        On each objective, in standard deviations of one result; 0 for that of the instance.
    """

    group: str
    builder: str
    params: Mapping[str, Any] = field(default_factory=dict)
    drawn: bool = False
    share: float = 1.0
    cap: int = CAP
    tolerance: float = 0.0

    @property
    def name(self) -> str:
        """What tables and files call it.

        Examples
        --------
        >>> Family("worse", "worse", {"d": 6, "gap": 0.3}).name
        'worse d=6 gap=0.3'
        """
        tolerance = {"tolerance": self.tolerance} if self.tolerance else {}
        given = {**self.params, **tolerance}
        return " ".join([self.builder, *(f"{key}={value}" for key, value in given.items())])

    def instances(self) -> list[Instance]:
        """Return its instances, the same at every call."""
        if self.group == "ordinary":
            return ordinary()[self.builder]
        if not self.drawn:
            return [self._tolerant(instance(self.builder, **self.params))]
        return [
            self._tolerant(instance(self.builder, **self.params, seed=s))
            for s in range(INSTANCES)
        ]

    def _tolerant(self, made: Instance) -> Instance:
        if not self.tolerance:
            return made
        sd = self.tolerance * np.sqrt(np.diag(made.known.usual_covariance))
        return made.with_epsilon(dict(zip(made.problem.objectives, sd, strict=True)))

    def runs(self, asked: int) -> int:
        """Return how many runs it gets."""
        return max(1, math.ceil(self.share * asked))

    def limit(self, asked: int | None) -> int:
        """Return the cap of its runs: its own, or a lower one if that is asked for."""
        return self.cap if asked is None else min(asked, self.cap)
