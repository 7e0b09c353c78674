"""How the evidence of a stopping rule is read from a run: now, and as a curve over time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

DRAWS = 1024  # posterior draws of one point of a curve
ALMOST = 0.99  # the most that is said of a run that has not stopped and may still turn round


class Judged(Protocol):
    """What is read of a run; an `psips.session.engine.Engine` has it."""

    @property
    def outcome(self) -> Any: ...  # noqa: D102
    @property
    def model(self) -> Any: ...  # noqa: D102
    @property
    def results(self) -> int: ...  # noqa: D102
    @property
    def ready(self) -> bool: ...  # noqa: D102
    @property
    def stopped(self) -> bool: ...  # noqa: D102
    def ratio(self) -> tuple[float, float]: ...  # noqa: D102
    def change_probability(self, draws: int) -> tuple[float, float]: ...  # noqa: D102


Settled = Callable[[], int]  # how many answers are proven in or out; counted if it is asked
Evidence = dict[str, float | None]  # with "fraction", 0 at the start and 1 at the stop


def of_threshold(run: Judged, settled: Settled) -> Evidence:  # noqa: ARG001
    """Read what the rule's kernel compares: EVIDENCE with THRESHOLD."""
    value, threshold = run.outcome.evidence, run.outcome.threshold
    fraction = 1.0 if run.stopped else _share(value, threshold)
    return {"evidence": value, "threshold": threshold, "fraction": fraction}


def of_claims(run: Judged, settled: Settled) -> Evidence:
    """Read the same, and how many of the claims that prove a predicted set are settled."""
    read = of_threshold(run, settled)
    fraction = 1.0 if run.stopped else ALMOST * (read["fraction"] or 0.0)
    return {
        **read,
        "settled": max(0.0, run.outcome.settled),
        "claims": max(0.0, run.outcome.pieces),
        "fraction": fraction,
    }


def of_verdicts(run: Judged, settled: Settled) -> Evidence:
    """Count the answers that are proven in or out."""
    found = _counted(settled(), run.model.n)
    return {**found, "fraction": 1.0} if run.stopped else found  # a goal may need fewer


def of_intervals(run: Judged, settled: Settled) -> Evidence:  # noqa: ARG001
    """Count the answers that the rule's confidence intervals settle."""
    return _counted(int(run.outcome.evidence), run.model.n)


def of_draws(run: Judged, settled: Settled) -> Evidence:  # noqa: ARG001
    """Read which draw was the first to disagree, and how many have to agree."""
    hit, budget = run.outcome.log_hit, run.outcome.log_budget
    fraction = 1.0 if run.stopped else _share(hit, budget) if budget > 0.0 else 0.0
    return {
        "log_hit": hit if math.isfinite(hit) else None,
        "log_budget": budget,
        "fraction": fraction,
    }


def of_nothing(run: Judged, settled: Settled) -> Evidence:
    """Read what is drawn, of a rule that never stops."""
    return {**of_draws(run, settled), "fraction": 0.0}


def of_ratio(run: Judged, settled: Settled) -> Evidence:  # noqa: ARG001
    """Read evidence and threshold in full."""
    if not run.ready:
        return {"evidence": 0.0, "threshold": None, "fraction": 0.0}
    value, threshold = run.ratio()
    return {
        "evidence": value,
        "threshold": threshold,
        "fraction": 1.0 if run.stopped else _share(value, threshold),
    }


def _share(value: float, whole: float) -> float:
    return min(1.0, max(value, 0.0) / max(whole, 1e-300))


def _counted(settled: int, answers: int) -> Evidence:
    return {
        "settled": float(settled),
        "answers": float(answers),
        "fraction": settled / answers,
    }


Point = tuple[float, float, float]  # a value, what it is compared with, a level or NaN


@dataclass(frozen=True)
class Curve:
    """What is drawn of a stopping rule over time.

    Parameters
    ----------
    read : callable
        Of a run, ``settled`` as above, and delta: the next `Point`. The level is the
        probability at which a rule expects to stop.
    unit : str
        Of the values, for an axis.
    below : bool
        Whether the rule stops below what it compares with; such values are probabilities.
    counts : bool
        Whether the values are whole numbers of answers.
    retold : bool
        Whether a point needs all results one by one, not only what they amount to.
    """

    read: Callable[[Judged, Settled, float], Point]
    unit: str = "evidence"
    below: bool = False
    counts: bool = False
    retold: bool = False


def _compared(run: Judged, settled: Settled, delta: float) -> Point:  # noqa: ARG001
    return run.outcome.evidence, run.outcome.threshold, math.nan


def _ratio(run: Judged, settled: Settled, delta: float) -> Point:  # noqa: ARG001
    return *run.ratio(), math.nan


def _proven(run: Judged, settled: Settled, delta: float) -> Point:  # noqa: ARG001
    return settled(), run.model.n, math.nan


def _probability(run: Judged, settled: Settled, delta: float) -> Point:  # noqa: ARG001
    return math.exp(run.change_probability(DRAWS)[0]), delta, math.nan


def _drawn(run: Judged, settled: Settled, delta: float) -> Point:
    value, threshold, _ = _probability(run, settled, delta)
    return value, threshold, math.exp(-run.outcome.log_budget)


COMPARED = Curve(_compared)
RATIO = Curve(_ratio, "log-likelihood ratio")
CLAIMS = Curve(_compared, "log-likelihood ratio", retold=True)
PROVEN_ANSWERS = Curve(_proven, "answers proven in or out", counts=True)
PROBABILITY = Curve(_probability, "probability of another Pareto set", below=True)
BUDGET = Curve(_drawn, "probability of another Pareto set", below=True)
