"""Measured calibration: how often each stopping rule errs, next to its delta."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from psips.errors import InputError
from psips.lab.calibration.families import families
from psips.lab.calibration.family import SHORT, SPENT, Family
from psips.problem.goals_and_budget import read_goal
from psips.problem.instances import Instance
from psips.rules import STOPPING, Rules
from psips.simulation.runs import Run, verdicts_right
from psips.simulation.summary import clopper_pearson, simulate_many
from psips.theory.geometry import Complexity, complexity

NO_BOUND = 0.0  # what bounds the samples for the whole set bounds no others
DELTAS = (0.3, 0.2, 0.1, 0.05, 0.01)


@dataclass(frozen=True)
class Rule:
    """A stopping rule to be measured.

    Parameters
    ----------
    stopping, calibration, kappa
        As in `psips.Rules`.
    divisor : float
        What log(1/delta), the threshold of "bayes", is divided by: a broken rule, to see that
        it is caught.
    """

    stopping: str
    calibration: str = "heuristic"
    kappa: float = 1.0
    divisor: float = 1.0

    @property
    def name(self) -> str:
        """What the tables call it."""
        name = self.stopping
        if len(STOPPING[self.stopping].calibrations) > 1:
            name += f" {self.calibration}"
        if self.calibration == "sharp":
            name += f" kappa={self.kappa:g}"
        return name if self.divisor == 1.0 else f"{name} (broken: divided by {self.divisor:g})"

    def rules(self, delta: float) -> Rules:
        """Return the rules of a run at confidence ``delta``."""
        return Rules(
            delta=delta ** (1.0 / self.divisor),
            stopping=self.stopping,
            calibration=self.calibration,
            tuning={"kappa": self.kappa},
        )


RULES = tuple(
    Rule(name, *setting) for name, rule in STOPPING.items() for setting in rule.measured
)
BROKEN = Rule("bayes", divisor=8.0)
DEFAULT = Rule(Rules().stopping, Rules().calibration, Rules().tuning.kappa).name

Cell = tuple[str, float, str]  # rule, delta and family


@dataclass(frozen=True)
class Row:
    """Runs of one rule on one family, or on all of them together.

    Parameters
    ----------
    rule, family : str
    delta : float
    runs, stopped, errors : int
    low, high : float
        Clopper-Pearson 95% interval of the chance to stop with a wrong set before the cap.
    label : str
        "above delta": the whole interval is; "holds": its upper end is at most delta;
        "half": at most delta / 2; "none stopped": nothing was claimed; "unclear" otherwise.
    mean_samples, lower_bound : float
        Of the runs (what they cost, if pulls have costs), and mean of T* kl(delta, 1 - delta)
        of their instances; 0 where that is no bound, with a goal or a budget.
    cap : int
        Samples of a run at most.
    """

    rule: str
    family: str
    delta: float
    runs: int
    stopped: int
    errors: int
    low: float
    high: float
    label: str
    mean_samples: float
    lower_bound: float
    cap: int

    @property
    def key(self) -> Cell:
        """What the row is about."""
        return self.rule, self.delta, self.family

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain data."""
        return asdict(self)


def measure(
    *,
    runs: int = 300,
    jobs: int = 1,
    deltas: Sequence[float] = DELTAS,
    rules: Sequence[Rule] = RULES,
    only: Sequence[str] | None = None,
    cap: int | None = None,
    skip: Collection[Cell] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Row]:
    """Yield the rows of the calibration, one for each rule, delta and family.

    Parameters
    ----------
    runs : int
        Of each rule, delta and family, or the share that an expensive family takes of them;
        spread evenly over its instances.
    jobs : int
        Runs at a time.
    deltas : sequence of float
    rules : sequence of Rule
    only : sequence of str, optional
        Families to take; all by default.
    cap : int, optional
        Samples of a run at most, if that is less than the family's own cap.
    skip : collection of (rule, delta, family)
        What is not to be measured.
    progress : callable, optional
        Called with what is being measured.
    """
    if runs < 1:
        raise InputError(f"the calibration needs at least one run, got {runs}")
    for rule, delta in product(rules, deltas):
        rule.rules(delta)  # what cannot be used is said before hours are spent
    every = families()
    cells = [
        (rule, delta, name)
        for rule, delta, name in product(rules, deltas, every)
        if (only is None or name in only) and (rule.name, delta, name) not in skip
    ]
    bounds: dict[str, list[Complexity]] = {}
    for rule, delta, name in cells:
        progress(f"{rule.name}, delta {delta:g}, {name}")
        family = every[name]
        made, limit, asked = family.instances(), family.limit(cap), family.runs(runs)
        counts = [asked // len(made) + (k < asked % len(made)) for k in range(len(made))]
        found = _family(rule, delta, family, made, counts, jobs, limit)
        if found is not None:
            mean = NO_BOUND
            if family.goal is None and family.budget is None:
                if name not in bounds:
                    bounds[name] = [
                        complexity(one.known, one.theta, tolerance=0.05) for one in made
                    ]
                lower = [bound.lower_bound_kl(delta) for bound in bounds[name]]
                mean = float(np.average(lower, weights=counts))
            yield _row(rule.name, name, delta, *found, mean, limit)


def _family(
    rule: Rule,
    delta: float,
    family: Family,
    made: Sequence[Instance],
    counts: Sequence[int],
    jobs: int,
    cap: int,
) -> tuple[int, int, int, float] | None:
    """Return runs, stopped ones, errors and mean cost; None if the rule is not for it."""
    total = stopped = errors = 0
    samples = 0.0
    for k, (one, count) in enumerate(zip(made, counts, strict=True)):
        if count == 0:
            continue
        rules = rule.rules(delta)
        try:
            rules.program(one.problem, goal=read_goal(one.problem, family.goal))
        except InputError:  # no proof, or not made for noise that is not known
            return None
        summary = simulate_many(
            one,
            runs=count,
            seed=k,
            jobs=jobs,
            max_results=cap,
            rules=rules,
            goal=family.goal,
            budget=family.budget,
            verdicts=family.budget is not None,
        )
        total += summary.runs
        stopped += sum(run.stopped or _proves(run) for run in summary.each)
        errors += sum(
            (run.stopped and summary.is_wrong(run)) or not verdicts_right(one, run)
            for run in summary.each
        )
        samples += float(summary.costs.sum())
    return total, stopped, errors, samples / total


def _proves(run: Run) -> bool:
    """Whether a run ends with a verdict."""
    return any(verdict != "open" for verdict in (run.verdicts or {}).values())


def _row(
    rule: str,
    family: str,
    delta: float,
    runs: int,
    stopped: int,
    errors: int,
    mean_samples: float,
    lower_bound: float,
    cap: int,
) -> Row:
    low, high = clopper_pearson(errors, runs)
    label = "unclear"
    if stopped == 0:
        label = "none stopped"
    elif low > delta:
        label = "above delta"
    elif high <= delta / 2:
        label = "half"
    elif high <= delta:
        label = "holds"
    return Row(
        rule,
        family,
        delta,
        runs,
        stopped,
        errors,
        low,
        high,
        label,
        mean_samples,
        lower_bound,
        cap,
    )


def together(rows: Sequence[Row]) -> list[Row]:
    """Return a row for each rule and delta, of all its families taken together."""
    groups: dict[tuple[str, float], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.rule, row.delta), []).append(row)
    return [_sum(rule, delta, parts) for (rule, delta), parts in groups.items()]


def _sum(rule: str, delta: float, parts: Sequence[Row]) -> Row:
    runs = sum(row.runs for row in parts)
    return _row(
        rule,
        "all",
        delta,
        runs,
        sum(row.stopped for row in parts),
        sum(row.errors for row in parts),
        sum(row.runs * row.mean_samples for row in parts) / runs,
        # No one is asked for more samples than the cap.
        sum(row.runs * min(row.lower_bound, row.cap) for row in parts) / runs,
        max(row.cap for row in parts),
    )


@dataclass(frozen=True)
class Judgement:
    """What the cells say of a rule.

    Parameters
    ----------
    rule : str
    verdict : str
        "broken": in some cell the whole interval lies above delta; "validated": in every cell
        that can tell it ends at or below delta; "not settled" otherwise.
    cells, telling : int
        How many cells there are, and how many can tell.
    worst : tuple of Row
        Those with errors, the worst in relation to delta first.
    against : tuple of Row
        The cells that keep it from being measured.
    """

    rule: str
    verdict: str
    cells: int
    telling: int
    worst: tuple[Row, ...]
    against: tuple[Row, ...]


def tells(row: Row) -> bool:
    """Whether a cell has enough runs to tell.

    It has if no error at all would have given an upper end of at most delta, and if half of
    the runs stopped (or there is a cap at which hardly any can be expected to).
    """
    enough = clopper_pearson(0, row.runs)[1] <= row.delta
    return enough and (
        2 * row.stopped >= row.runs or families()[row.family].cap in (SHORT, SPENT)
    )


def judge(rows: Sequence[Row]) -> list[Judgement]:
    """Return what the rows say of each of their rules."""
    return [
        _judge(rule, [row for row in rows if row.rule == rule])
        for rule in dict.fromkeys(row.rule for row in rows)
    ]


def _judge(rule: str, rows: Sequence[Row]) -> Judgement:
    def badness(row: Row) -> tuple[float, float]:
        return row.errors / row.runs / row.delta, row.low

    worst = sorted((row for row in rows if row.errors), key=badness, reverse=True)
    above = [row for row in worst if row.low > row.delta]
    telling = [row for row in rows if tells(row)]
    open_ = sorted((row for row in telling if row.high > row.delta), key=badness, reverse=True)
    verdict = "broken" if above else "not settled" if open_ or not telling else "validated"
    return Judgement(
        rule, verdict, len(rows), len(telling), tuple(worst), tuple(above or open_)
    )
