"""Which answer dominates which, how sure that is, and what each undecided pair would cost.

Probabilities are posterior (flat prior, or the problem's), by draws of all means together, so
that what options share, features or items, counts. They describe what is known and claim
nothing: what is proven is in `psips.session.verdicts`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from psips.aliases import Floats, Mask
from psips.errors import InputError, quote
from psips.input.digits import rounded
from psips.problem.limits import ONLY
from psips.session.engine import Engine
from psips.session.exact import Exact
from psips.session.verdicts import Verdict, verdicts_of

if TYPE_CHECKING:
    import pandas as pd

    from psips.problem import Problem

DRAWS = 4000  # of the posterior: probabilities are off by less than 0.02
MAX_COMPARED = 30  # options that are compared with each other


class Edge(NamedTuple):
    """In the order of the estimates ``by`` is the next above ``over``."""

    by: str
    over: str
    probability: float  # that it dominates it


@dataclass(frozen=True)
class Undecided:
    """A pair of options of which it is not proven yet whether one dominates the other.

    Parameters
    ----------
    option, rival : str
    candidate : bool
        Whether the option is a candidate: then it is open whether the rival dominates it;
        otherwise whether the rival, a candidate, does.
    metric : str
        In which the two are to be told apart.
    low, high : float
        Between which the option's lead over the rival in it is, as far as is proven.
    more : dict
        By arm, about how many more measurements settle the pair if the estimates stay as they
        are; empty if no number does.
    cost : float
        What these cost; infinite if no number settles it.
    tolerance : dict
        By metric, about the least tolerance with which the pair would be settled now.
    """

    option: str
    rival: str
    candidate: bool
    metric: str
    low: float
    high: float
    more: dict[str, int]
    cost: float
    tolerance: dict[str, float]

    @property
    def question(self) -> str:
        """What is open."""
        return f"does {self.rival} dominate {self.option}?"

    @property
    def bounded(self) -> bool:
        """Whether there are enough measurements to say how far the two differ."""
        return math.isfinite(self.high - self.low)

    @property
    def difference(self) -> str:
        """How far the two differ, in words."""
        if not self.bounded:
            return f"too few measurements to say by how much {self.metric} differs"
        return f"{self.metric} differs by {self.low:.3g} to {self.high:.3g}"

    @property
    def measurements(self) -> str:
        """How many more it takes, in words."""
        if not self.more:
            return "no number settles it while the estimates are equal"
        total = f"about {sum(self.more.values()):,}"
        return f"{total} ({', '.join(f'{n:,} of {arm}' for arm, n in self.more.items())})"

    @property
    def tolerances(self) -> str:
        """Which tolerance would settle it, in words."""
        if not self.tolerance:
            return "not known"
        each = [f"{rounded(t, t / 3)} on {name}" for name, t in self.tolerance.items()]
        return f"about {' and '.join(each)}"


@dataclass(frozen=True, eq=False)
class Comparisons:
    """The options compared with each other.

    Parameters
    ----------
    options : tuple of str
        Those that are compared: candidates first, then by the probability of being optimal.
    unlisted : int
        How many more there are.
    probability : (m, m) array
        That the option of a row dominates that of a column: is at least as good in every
        objective and better in one (and keeps the limits, if there are any).
    order : tuple of Edge
        The order of the estimates without what follows from the rest (a Hasse diagram).
    level : dict
        By option, how many steps of that order are above it.
    undecided : tuple of Undecided
        The most expensive first.
    why_not : str
        Why nothing can be compared; empty if it can.
    """

    options: tuple[str, ...]
    unlisted: int
    probability: Floats
    order: tuple[Edge, ...]
    level: dict[str, int]
    undecided: tuple[Undecided, ...]
    why_not: str = ""

    def to_frame(self) -> pd.DataFrame:
        """Return the probabilities: who (a row) dominates whom (a column)."""
        import pandas as pd

        names = list(self.options)
        rows = pd.Index(names, name="option")
        return pd.DataFrame(self.probability, index=rows, columns=names)


class Compared(Protocol):
    """What is compared: a session, which imports this module."""

    engine: Engine
    exact: Exact
    noisy: Problem
    problem: Problem

    @property
    def candidate_set(self) -> tuple[str, ...]:
        """Pareto set of the estimates."""

    @property
    def stopped(self) -> bool:
        """Whether the set is known."""


def comparisons_of(session: Compared, most: int = MAX_COMPARED) -> Comparisons:
    """Compare the options of a session with each other.

    Parameters
    ----------
    session : Session
        Or that of a study, ``study.state.session``.
    most : int
        How many options at most.

    Examples
    --------
    >>> from psips import Problem, Session
    >>> problem = Problem(
    ...     objectives={"yield": "max", "cost": "min"}, covariance=[1, 1], arms=["A", "B", "C"]
    ... )
    >>> session = Session(problem, rng=1)
    >>> for _ in range(9):
    ...     receipt = session.tell("A", [9.0, 5.0])
    ...     receipt = session.tell("B", [8.0, 1.0])
    ...     receipt = session.tell("C", [6.0, 5.5])
    >>> found = session.comparisons()
    >>> found.options, [(edge.by, edge.over) for edge in found.order]
    (('A', 'B', 'C'), [('A', 'C'), ('B', 'C')])
    >>> found.to_frame().loc["B"].round(2).tolist()
    [0.02, 0.0, 1.0]
    """
    if isinstance(most, bool) or not isinstance(most, int) or most < 2:
        raise InputError(
            f"at least two options can be compared: give a whole number from 2 on, got "
            f"{quote(most)}"
        )
    if not session.candidate_set and not (session.engine.limited and session.engine.ready):
        why = "not every option has been measured often enough to compare them"
        return Comparisons((), 0, np.zeros((0, 0)), (), {}, (), why)
    problem = session.problem
    rows = _chosen(session, most)
    aims = [c for c, way in enumerate(problem.directions) if way != ONLY]
    now, draws = _posterior(session, rows)
    inside = _dominates(now.values[..., aims], now.keeps)[0]
    chance = _dominates(draws.values[..., aims], draws.keeps).mean(axis=0)
    names = tuple(problem.answers[z] for z in rows)
    covers = inside & ~((inside[:, :, None] & inside[None, :, :]).any(axis=1))
    order = tuple(
        Edge(names[i], names[j], float(chance[i, j])) for i, j in np.argwhere(covers).tolist()
    )
    return Comparisons(
        names,
        problem.n - len(rows),
        chance,
        order,
        _levels(names, inside),
        () if session.stopped else undecided_of(session),
    )


def _chosen(session: Compared, most: int) -> list[int]:
    """Return the places of the options that are compared."""
    problem, inside = session.problem, set(session.candidate_set)
    places = range(problem.n)
    if problem.n <= most:
        return sorted(places, key=lambda z: problem.answers[z] not in inside)
    optimal = np.zeros(problem.n)
    if not session.exact.front:
        optimal = session.engine.probabilities()[0]
    ordered = sorted(places, key=lambda z: (problem.answers[z] not in inside, -optimal[z]))
    return ordered[:most]


class _Means(NamedTuple):
    """Means of some options (S, m, d), every metric maximised, and who keeps the limits."""

    values: Floats
    keeps: Mask  # (S, m)


def _posterior(session: Compared, rows: list[int]) -> tuple[_Means, _Means]:
    """Return the estimates of some options, and draws of them all together.

    Exact metrics are the same in all draws.
    """
    engine = session.engine
    known = np.array(session.exact.values[rows])[None]
    if session.exact.front:  # every metric is exact
        only = _Means(known, np.ones(known.shape[:2], np.bool_))
        return only, only
    wanted = [*rows, int(engine.model.limits.control)] if session.problem.limits else rows
    rng = np.random.default_rng(engine.key.tolist())
    means = engine.means[wanted][None]
    draws = means + engine.deviations(rng, DRAWS, wanted)
    return _whole(session, known, means, rows), _whole(session, known, draws, rows)


def _whole(session: Compared, known: Floats, part: Floats, rows: list[int]) -> _Means:
    """Put exact metrics next to the others, of which the last row is the control's."""
    facts, m = session.noisy.facts, len(rows)
    keeps = _keeping(session, part, rows)
    if facts is None:
        return _Means(part[:, :m], keeps)
    values = np.repeat(known, len(part), axis=0)
    values[..., list(facts.rest)] = part[:, :m]
    return _Means(values, keeps)


def _keeping(session: Compared, values: Floats, rows: list[int]) -> Mask:
    """Which options (S, m) keep all limits, of values of the metrics with noise."""
    limits, m = session.engine.model.limits, len(rows)
    c = limits.metric
    found = np.ones((len(values), m), np.bool_)
    if len(c):
        value = values[:, :m][..., c] - limits.factor * values[:, [-1]][..., c]
        kept = limits.sign * value >= limits.bound
        control = np.array(rows) == limits.control
        kept[:, control] |= limits.factor == 1.0  # the control is what it is
        found &= kept.all(axis=2)
    if len(limits.kept):
        found &= limits.kept[rows] > 0.0
    return found


def _dominates(values: Floats, keeps: Mask) -> Mask:
    """Return who dominates whom (S, m, m) in each draw (S, m, d), all maximised."""
    draws, m, _ = values.shape
    found = np.zeros((draws, m, m), np.bool_)
    for i in range(m):
        ahead = values[:, i : i + 1] - values
        found[:, i] = (ahead >= 0).all(axis=2) & (ahead > 0).any(axis=2) & keeps[:, i : i + 1]
    return found


def _levels(names: tuple[str, ...], above: Mask) -> dict[str, int]:
    """Return how many steps are above each option in the order of the estimates."""
    level = np.zeros(len(names), np.int64)
    for _ in names:
        higher = np.where(above, level[:, None] + 1, 0).max(axis=0, initial=0)
        if (higher == level).all():
            break
        level = higher
    return dict(zip(names, level.tolist(), strict=True))


def undecided_of(session: Compared) -> tuple[Undecided, ...]:
    """Return the pairs that are not settled, those that cost the most first."""
    found = verdicts_of(session.noisy, session.engine)
    inside = set(session.candidate_set)
    pairs: dict[frozenset[str], Undecided] = {}
    for one in found:
        if one.verdict == "open" and one.rival is not None and one.interval is not None:
            pair = _pair(session, one, one.answer in inside)
            both = frozenset((pair.option, pair.rival))
            if both not in pairs or pairs[both].cost < pair.cost:
                pairs[both] = pair
    return tuple(sorted(pairs.values(), key=lambda pair: -pair.cost))


def _pair(session: Compared, one: Verdict, candidate: bool) -> Undecided:
    problem = session.problem
    assert one.rival is not None
    assert one.interval is not None
    assert one.objective is not None
    costs = dict(zip(problem.arms, problem.costs.tolist(), strict=True))
    cost = sum(n * costs[arm] for arm, n in one.more.items()) if one.more else math.inf
    return Undecided(
        *(one.answer, one.rival, candidate, one.objective, *one.interval),
        dict(one.more),
        float(cost),
        _tolerance(session, one, candidate),
    )


def _tolerance(session: Compared, one: Verdict, candidate: bool) -> dict[str, float]:
    """Return about the least tolerance, by metric, with which a pair would be settled.

    A candidate may stay if the rival leads by no more than it in one metric. Any other option
    may be left out if it leads the rival by no more than it in every metric: how far it may
    lead in the others goes by how far their estimates may be off.
    """
    engine = session.engine
    assert one.interval is not None
    if session.problem.tolerance or not np.isfinite(one.interval).all():
        return {}
    problem: Problem = session.noisy
    c = problem.objectives.index(str(one.objective))
    z, x = problem.answer_index(one.answer), problem.answer_index(str(one.rival))
    low, high = (
        one.interval
        if problem.directions[c] != "min"
        else (
            -one.interval[1],
            -one.interval[0],
        )
    )
    wide = 0.5 * (high - low)
    if candidate:
        return _amounts(problem, {c: -low})
    lead = engine.means[z] - engine.means[x]
    each = engine.covariances()
    spread = np.sqrt(np.diagonal(each[z]) + np.diagonal(each[x]))
    needed = {k: lead[k] + wide * spread[k] / spread[c] for k in range(problem.d) if k != c}
    return _amounts(problem, {c: high, **needed})


def _amounts(problem: Problem, needed: dict[int, float]) -> dict[str, float]:
    """Return those that are more than 0, of logarithms as a share."""
    return {
        problem.labels[c]: float(np.expm1(t)) if problem.scales[c].log else float(t)
        for c, t in sorted(needed.items())
        if t > 0.0 and math.isfinite(t) and problem.directions[c] != ONLY
    }
