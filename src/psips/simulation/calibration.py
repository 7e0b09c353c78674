"""Measured calibration: how often each stopping rule errs, beside the delta it was given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from psips.errors import InputError, NoProofError
from psips.geometry import complexity
from psips.instances import Instance, instance
from psips.parameters import Ball
from psips.problem import Problem
from psips.rules import Rules
from psips.simulation.summary import clopper_pearson, simulate_many

DELTAS = (0.1, 0.05)
NAMES = (
    "random",
    "near-ties",
    "closer ties",
    "many arms",
    "many objectives",
    "rho = -0.9",
    "rho = 0.9",
    "linear",
    "bernoulli",
)
INSTANCES = 10  # of each family
CAP = 3_000_000  # samples of a run; one that reaches it claims nothing


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
        if self.stopping in ("posterior", "glr"):
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
            kappa=self.kappa,
        )


RULES = (
    Rule("posterior", "heuristic"),
    Rule("posterior", "sharp", 2.0),
    Rule("posterior", "sharp", 1.0),
    Rule("posterior", "sharp", 0.5),
    Rule("posterior", "proven"),
    Rule("glr", "heuristic"),
    Rule("glr", "proven"),
    Rule("certified"),
    Rule("bayes"),
)
BROKEN = Rule("bayes", divisor=8.0)

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
        Clopper-Pearson 95% interval of the chance of an error, among runs that stopped.
    label : str
        "above delta": the whole interval is; "holds": its upper end is at most delta;
        "half": at most delta / 2; "none stopped": nothing was claimed; "unclear" otherwise.
    mean_samples, lower_bound : float
        Of the runs, and mean of T* kl(delta, 1 - delta) of their instances.
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


def families() -> dict[str, list[Instance]]:
    """Return the fixed families of instances, each with its instances."""
    rng = np.random.default_rng(20240601)
    apart = np.random.default_rng(20240602)
    made = (
        [instance("random-gaussian", K=5, d=2, seed=s) for s in range(INSTANCES)],
        [_near_tie(rng, 0.2, 0.4) for _ in range(INSTANCES)],
        [_near_tie(apart, 0.04, 0.08) for _ in range(INSTANCES)],
        [_spread(rng, 20, 2) for _ in range(INSTANCES)],
        [_spread(rng, 6, 5) for _ in range(INSTANCES)],
        [instance("correlated", rho=-0.9)],
        [instance("correlated", rho=0.9)],
        [_linear(rng) for _ in range(INSTANCES)],
        [instance("random-bernoulli", K=5, d=2, seed=s) for s in range(INSTANCES)],
    )
    return dict(zip(NAMES, made, strict=True))


def _names(d: int) -> list[str]:
    return [f"objective {c}" for c in range(1, d + 1)]


def _near_tie(rng: np.random.Generator, least: float, most: float) -> Instance:
    """Two arms that are almost equal, and one that is in the way of neither."""
    close = rng.normal(size=2)
    step = rng.uniform(least, most, 2) * rng.choice([-1.0, 1.0], 2)
    means = np.vstack([close, close + step, close + np.array([3.0, -3.0])])
    problem = Problem(objectives=_names(2), covariance=[1.0, 1.0], arms=3)
    return Instance("near-tie", problem, means)


def _spread(rng: np.random.Generator, K: int, d: int) -> Instance:
    """Uniform means, and noise that makes T* = 100."""
    means = rng.uniform(-1.0, 1.0, (K, d))
    plain = Problem(objectives=_names(d), covariance=[1.0] * d, arms=K)
    variance = 100.0 / complexity(plain, means, tolerance=0.05).t_star
    problem = Problem(objectives=_names(d), covariance=[variance] * d, arms=K)
    return Instance("spread", problem, means)


def _linear(rng: np.random.Generator) -> Instance:
    """Arms with features, drawn again until they do not take too long."""
    while True:
        features = rng.normal(size=(8, 3))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        theta = rng.uniform(-1.0, 1.0, (3, 2))
        problem = Problem(
            objectives=_names(2),
            covariance=[0.25, 0.25],
            features=features,
            intercept=False,
            parameter_set=Ball(2.0),
        )
        made = Instance("linear", problem, theta)
        if complexity(made.problem, made.theta, tolerance=0.05).t_star < 150.0:
            return made


def measure(
    *,
    runs: int = 300,
    jobs: int = 1,
    deltas: Sequence[float] = DELTAS,
    rules: Sequence[Rule] = RULES,
    only: Sequence[str] | None = None,
    cap: int = CAP,
    skip: Collection[Cell] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Row]:
    """Yield the rows of the calibration, one for each rule, delta and family.

    Parameters
    ----------
    runs : int
        Of each rule, delta and family; shared out evenly over its instances.
    jobs : int
        Runs at a time.
    deltas : sequence of float
    rules : sequence of Rule
    only : sequence of str, optional
        Families to take; all by default.
    cap : int
        Samples of a run at most.
    skip : collection of (rule, delta, family)
        What is not to be measured.
    progress : callable, optional
        Called with what is being measured.
    """
    if runs < 1:
        raise InputError(f"the calibration needs at least one run, got {runs}")
    for rule, delta in product(rules, deltas):
        rule.rules(delta)  # what cannot be used is said before hours are spent
    cells = [
        (rule, delta, name)
        for rule, delta, name in product(rules, deltas, NAMES)
        if (only is None or name in only) and (rule.name, delta, name) not in skip
    ]
    every = families()
    bounds = {
        name: [complexity(one.problem, one.theta, tolerance=0.05) for one in every[name]]
        for name in dict.fromkeys(name for _, _, name in cells)
    }
    for rule, delta, name in cells:
        progress(f"{rule.name}, delta {delta:g}, {name}")
        made = every[name]
        counts = [runs // len(made) + (k < runs % len(made)) for k in range(len(made))]
        found = _family(rule, delta, made, counts, jobs, cap)
        if found is not None:
            lower = [bound.lower_bound_kl(delta) for bound in bounds[name]]
            mean = float(np.average(lower, weights=counts))
            yield _row(rule.name, name, delta, *found, mean, cap)


def _family(
    rule: Rule,
    delta: float,
    made: Sequence[Instance],
    counts: Sequence[int],
    jobs: int,
    cap: int,
) -> tuple[int, int, int, float] | None:
    """Return runs, stopped ones, errors and mean samples; None where the rule has no proof."""
    total = stopped = errors = 0
    samples = 0.0
    for k, (one, count) in enumerate(zip(made, counts, strict=True)):
        if count == 0:
            continue
        try:
            summary = simulate_many(
                one, runs=count, seed=k, jobs=jobs, max_results=cap, rules=rule.rules(delta)
            )
        except NoProofError:
            return None
        total += summary.runs
        stopped += summary.stopped
        errors += summary.errors
        samples += float(summary.samples.sum())
    return total, stopped, errors, samples / total


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
    low, high = clopper_pearson(errors, stopped)
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
        sum(row.runs * row.lower_bound for row in parts) / runs,
        max(row.cap for row in parts),
    )
