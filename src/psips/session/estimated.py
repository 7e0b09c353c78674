"""Estimated noise: its size, its uncertainty, and where it is not known yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from psips._core import ENOUGH
from psips.aliases import Floats
from psips.errors import listing, quote
from psips.input.digits import interval
from psips.laws import spread_of_sd
from psips.problem import Problem
from psips.problem.noise import ESTIMATE, KNOWN
from psips.session.engine import Engine
from psips.session.joint import JointEngine
from psips.session.mixed import MixedEngine
from psips.state.belief import SPANNED

if TYPE_CHECKING:
    import pandas as pd

NAMED = 3  # arms that are named in a sentence
BETWEEN = "between items"  # the row of what arms share


def usual_variances(problem: Problem, engine: Engine) -> Floats:
    """Return the variances (d,) of one result: as given, or estimated; the mean of the arms'.

    NaN while they are not known.
    """
    if problem.covariance is not None:
        return np.diag(problem.usual_covariance)
    if not problem.unstructured:
        return np.diag(engine.Sigma) if engine.ready else np.full(problem.d, np.nan)
    each = np.diagonal(engine.covariances(), axis1=1, axis2=2)  # of the means
    return np.asarray((each * engine.belief.pulls[:, None]).mean(axis=0))


class Spread(NamedTuple):
    """The noise of one result as estimated, of an arm, of all, or between items."""

    name: str
    sd: Floats  # (d,)
    freedom: Floats  # (d,) 0 where nothing is known of it
    correlation: Floats  # (d, d)


class Spreads(NamedTuple):
    """The noise that was estimated, a row for each arm, or one for all."""

    objectives: tuple[str, ...]
    rows: tuple[Spread, ...]

    def table(self) -> pd.DataFrame:
        """Return the standard deviations of one result, by arm.

        For each objective ``"... sd"`` and the ends of its 95% interval, ``"... sd low"`` and
        ``"... sd high"``, if the noise is normal; for each two of them their ``correlation``.
        One row ``"all arms"`` if the noise is the same for all.
        """
        import pandas as pd

        names = pd.Index([one.name for one in self.rows], name="arm")
        return pd.DataFrame([self._row(one) for one in self.rows], index=names)

    def _row(self, one: Spread) -> dict[str, float]:
        row: dict[str, float] = {}
        for c, objective in enumerate(self.objectives):
            f, sd = float(one.freedom[c]), float(one.sd[c])
            ends = spread_of_sd(f) if f > 0 else [np.nan] * 2
            row[f"{objective} sd"] = sd
            row[f"{objective} sd low"] = sd * float(ends[0])
            row[f"{objective} sd high"] = sd * float(ends[1])
        for c, first in enumerate(self.objectives):
            for e in range(c):
                row[f"correlation of {self.objectives[e]} and {first}"] = float(
                    one.correlation[c, e]
                )
        return row


def estimated_noise(problem: Problem, engine: Engine) -> Spreads | None:
    """Return the noise that was estimated; None if it is given."""
    if problem.noise == KNOWN:
        return None
    if isinstance(engine, MixedEngine):
        return _within_and_between(problem, engine)
    rows = []
    groups = {arm: range(a, a + 1) for a, arm in enumerate(problem.arms)}
    if problem.noise == ESTIMATE:
        groups = {"all arms": range(problem.K)}
    for name, places in groups.items():
        S, freedom = _products(problem, engine, places)
        free = np.diag(freedom)
        squares = np.maximum(np.diag(S), 0.0)
        sd = np.sqrt(squares / np.where(free > 0, free, np.nan))
        size = np.sqrt(np.maximum(np.outer(np.diag(S), np.diag(S)), 0.0))
        known = (size > 0) & (freedom > 1)
        rows.append(Spread(name, sd, free, S / np.where(known, size, np.nan)))
    return Spreads(tuple(problem.objectives), tuple(rows))


def spread(row: Mapping[str, float] | pd.Series[Any], objective: str) -> str:
    """Write the standard deviation of an objective in a row of `Spreads.table`.

    Examples
    --------
    >>> spread({"cost sd": 1.0, "cost sd low": 0.52, "cost sd high": 6.28}, "cost")
    '1.00 (0.52 to 6.28)'
    >>> spread({}, "size"), spread(dict.fromkeys(["x sd", "x sd low", "x sd high"], 0.0), "x")
    ('exact', 'all results alike')
    """
    if f"{objective} sd" not in row:
        return "exact"
    sd = row[f"{objective} sd"]
    if np.isnan(sd):
        return "not known yet"
    if sd == 0.0:
        return "all results alike"
    return interval(sd, row[f"{objective} sd low"], row[f"{objective} sd high"])


def _products(problem: Problem, engine: Engine, arms: range) -> tuple[Floats, Floats]:
    """Return sums of products (d, d) around the means of arms, or the fit, and their degrees.

    Both in the user's orientation, without what a guess is worth.
    """
    belief, s = engine.belief, engine.belief.noise_estimate
    count = s.count[arms]
    freedom = np.maximum(count - 1.0, 0.0).sum(axis=0)
    products = s.sums[arms] * np.swapaxes(s.sums[arms], 1, 2)
    S = (s.cross[arms] - products / np.maximum(count, 1.0)).sum(axis=0)
    if isinstance(engine, JointEngine):
        return _products_of_joint(problem, engine)
    if not problem.unstructured:
        spanned = engine.belief.tally[SPANNED] == 1
        means = belief.sums / np.maximum(belief.pulls, 1.0)[:, None]
        rest = means - engine.model.A @ belief.theta
        S = S + np.einsum("a,ac,ae->ce", belief.pulls, rest, rest)
        freedom = np.full_like(S, max(engine.results - engine.model.h, 0) if spanned else 0.0)
    return S * np.outer(problem.signs, problem.signs), freedom


def _products_of_joint(problem: Problem, engine: JointEngine) -> tuple[Floats, Floats]:
    """Return the same of missing values, by the covariance as it was estimated."""
    counts = engine.belief.noise_estimate.count.sum(axis=0)
    freedom = np.maximum(counts - engine.model.h, 0.0) * engine.ready
    turn = np.outer(problem.signs, problem.signs)
    free = np.sqrt(np.outer(np.diag(freedom), np.diag(freedom)))
    return engine.Sigma * free * turn, freedom


def _within_and_between(problem: Problem, engine: MixedEngine) -> Spreads:
    """Return the standard deviations within items, by arm, and that between items."""
    turn = np.outer(problem.signs, problem.signs)
    matrices = [*engine.within, engine.between]
    items = max(engine.data.items - 1.0, 0.0)
    freedom = [*(engine.belief.noise_estimate.freedom + problem.d - 1.0), items]
    rows = []
    for name, S, f in zip([*problem.arms, BETWEEN], matrices, freedom, strict=True):
        sd = np.sqrt(np.diag(S)) if engine.ready else np.full(problem.d, np.nan)
        free = np.full(problem.d, f if engine.ready and f >= 1.0 else 0.0)
        size = np.outer(sd, sd)
        correlation = S * turn / np.where(size > 0, size, np.nan)
        rows.append(Spread(name, sd, free, correlation))
    return Spreads(tuple(problem.objectives), tuple(rows))


def not_known(problem: Problem, engine: Engine) -> str:
    """Say of which arms the noise is not known well enough to judge; empty if of none.

    Examples
    --------
    >>> from psips.session.session import Session
    >>> problem = Problem(objectives=["yield"], arms=["A", "B"])
    >>> session = Session(problem, rng=1)
    >>> receipt = session.tell("A", 3.0)
    >>> not_known(problem, session.engine)
    "too few results of 'A', 'B' to know their noise: nothing is judged yet"
    """
    if engine.coarse.any():
        return _too_coarse(problem, engine)
    freedom = engine.belief.noise_estimate.freedom
    unsure: list[int] = np.flatnonzero(freedom < ENOUGH).tolist()
    if not unsure:
        return ""
    if not problem.unstructured:
        return _not_known_of_fit(engine)
    least = engine.model.noise.least
    few = [problem.arms[a] for a in unsure if engine.belief.pulls[a] < least]
    names = few or [problem.arms[a] for a in unsure]
    whose = listing(names[:NAMED]) + (f" and {len(names) - NAMED} more" * (len(names) > NAMED))
    if problem.noise == KNOWN:
        return f"results of {whose} lack a value in some objective: nothing is judged yet"
    their = "its" if len(names) == 1 else "their"
    if few:
        return f"too few results of {whose} to know {their} noise: nothing is judged yet"
    return (
        f"all results of {whose} are the same in some objective, so that {their} noise is not "
        f"known: if it is 0 or 1, register it as binary, or give a noise_guess"
    )


def _too_coarse(problem: Problem, engine: Engine) -> str:
    """Say of which objective the noise is lost in the values' last digits."""
    c = int(engine.coarse.argmax())
    size = abs(engine.centre[c])
    return (
        f"numbers as large as the values of {quote(problem.objectives[c])}, about {size:.3g}, "
        f"are {np.spacing(size):.2g} apart, which is more than half of the noise: nothing is "
        f"judged; start a study whose values are told less a constant"
    )


def _not_known_of_fit(engine: Engine) -> str:
    """Say why the noise around a linear fit is not known."""
    model = engine.model
    if model.joint and not engine.belief.tally[SPANNED]:
        return "the arms measured do not span the features in every objective yet"
    if engine.results + model.noise.worth < model.h + model.d:
        return "too few results to know the noise: nothing is judged yet"
    return (
        "all results lie on the linear fit in some objective, so that its noise is not known: "
        "nothing is judged yet"
    )
