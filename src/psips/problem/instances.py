"""Problems with the truth attached: the paper's, by name, and those of a problem file."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from importlib.resources import files
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from psips.aliases import Floats, Ints
from psips.errors import InputError, check_keys, unknown
from psips.input.checks import Table, frozen
from psips.problem.asked_instances import BUILDERS as ASKED
from psips.problem.gaps import hardness, hardness_floor
from psips.problem.hard_instances import BUILDERS as HARD
from psips.problem.hard_instances import Truth
from psips.problem.item_noise import ItemNoise
from psips.problem.limits import is_right_within, optimal_and_allowed
from psips.problem.noisy_instances import BUILDERS as NOISY
from psips.problem.problem import Problem
from psips.problem.tie_instances import BUILDERS as TIES
from psips.problem.tolerance import is_right

NOISES = ("gaussian", "bernoulli", "student", "lognormal")
TRIES = 2_000_000  # random instances drawn before giving up on a bound on H


class Results(NamedTuple):
    """Raw results as rows: which arm, and what came out in the user's orientation."""

    arms: Ints  # (N,) positions in ``problem.arms``
    values: Floats  # (N, d)


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem and its truth, in the user's orientation.

    Parameters
    ----------
    name : str
    problem : Problem
    theta : (h, d) array
        Regression matrix; the means of the arms if the problem is unstructured. The row of an
        intercept, the last, may be left out: it is 0 then.
    noise : "gaussian" or "bernoulli"
        How a measurement scatters around its mean.
    results : Results, optional
        Raw results, if measurements are to be rows drawn from them.
    truth : Problem, optional
        The same problem with the noise that results have, where ``problem`` is not told.
    items : ItemNoise, optional
        If results share items, how they scatter between items and within them.
    params : dict
        What the instance was built with, if it is a built-in one; the file, if from a file.

    Examples
    --------
    >>> trial = instance("cov-boost")
    >>> trial.pareto_set
    ('BNT/BNT m1273', 'ChAd/ChAd m1273')
    """

    name: str
    problem: Problem
    theta: Floats
    noise: str = "gaussian"
    results: Results | None = None
    truth: Problem | None = None
    items: ItemNoise | None = None
    params: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        h, d = self.problem.h, self.problem.d
        theta = self.problem.complete(np.array(self.theta, dtype=np.float64))
        if theta.shape != (h, d):
            rows = "arm" if self.problem.unstructured else "feature"
            raise InputError(
                f"the truth must have one row per {rows} and one column per objective, "
                f"shape {(h, d)}, got {theta.shape}"
            )
        for i, c in np.argwhere(~np.isfinite(theta)):
            names = self.problem.feature_names or self.problem.arms
            raise InputError(
                f"the truth of {names[i]!r} in objective {self.problem.objectives[c]!r} "
                f"must be finite, got {theta[i, c]}"
            )
        if self.noise not in NOISES:
            raise unknown("noise", self.noise, NOISES)
        self.problem.check_parameter(theta)
        object.__setattr__(self, "theta", frozen(theta))
        if self.noise == "bernoulli":
            for i, c in np.argwhere((self.arm_means < 0) | (self.arm_means > 1)):
                raise InputError(
                    f"bernoulli noise needs means between 0 and 1, got {self.arm_means[i, c]} "
                    f"for arm {self.problem.arms[i]!r} in {self.problem.objectives[c]!r}"
                )

    @cached_property
    def known(self) -> Problem:
        """The problem with the noise that results have; of those that share items, within."""
        if self.items is not None:
            return self.items.within_items(self.problem, self.arm_means)
        return self.problem if self.truth is None else self.truth

    @cached_property
    def means(self) -> Floats:
        """Means of the answers, (n, d)."""
        Z = self.problem.answer_features
        return self.theta if Z is None else frozen(Z @ self.theta)

    @cached_property
    def arm_means(self) -> Floats:
        """Means of the arms, (K, d)."""
        A = self.problem.features
        return self.theta if A is None else frozen(A @ self.theta)

    @cached_property
    def pareto_set(self) -> tuple[str, ...]:
        """Names of the answers that are Pareto-optimal."""
        from psips._core import pareto_mask

        inward = self.problem.inward(self.means)
        if self.problem.limits:
            mask = optimal_and_allowed(inward, self.problem.limit_model)
        else:
            mask = pareto_mask(inward)
        return tuple(self.problem.answers[i] for i in np.flatnonzero(mask))

    def is_right(self, found: Collection[str]) -> bool:
        """Whether a set of answers is the Pareto set; with a tolerance, whether it is right.

        Several sets can be right then, see `psips.problem.tolerance.is_right`.

        Examples
        --------
        >>> made = instance("near-tie")
        >>> made.is_right(made.pareto_set), made.is_right([])
        (True, False)
        """
        if not self.problem.tolerance:
            return set(found) == set(self.pareto_set)
        inside = np.isin(np.array(self.problem.answers), list(found))
        if self.problem.limits:
            means, limits = self.problem.inward(self.means), self.problem.limit_model
            return is_right_within(means, limits, inside, self.epsilon)
        return is_right(self.problem.inward(self.means), inside, self.epsilon)

    def asking(self, **keys: object) -> Instance:
        """Return the same truth, its problem with other keys: see `Problem.asking`."""
        return replace(
            self,
            problem=self.problem.asking(**keys),
            truth=None if self.truth is None else self.truth.asking(**keys),
        )

    @property
    def epsilon(self) -> Floats:
        """The tolerance (d,) at this truth."""
        control = self.problem.control
        at = None if control is None else self.means[self.problem.answer_index(control)]
        return self.problem.tolerance.at(at)


def cov_boost() -> Instance:
    """COV-BOOST: 20 vaccine boosters, three immune responses (Munro et al. 2021)."""
    rows = _data("cov_boost.csv")
    problem = Problem(
        name="cov-boost",
        arms=[f"{row['prime']} {row['booster']}" for row in rows],
        objectives=["anti-spike IgG", "NT50", "cellular response"],
        covariance=[0.70437039, 0.82845749, 1.53743137],
    )
    # These values are behind the published figures. The paper's table has an erratum: the
    # anti-spike IgG of ChAd/ChAd BNT Half is 9.68, as here, not 8.71.
    means = [[float(row[c]) for c in ("anti_spike_igg", "nt50", "cellular")] for row in rows]
    return Instance("cov-boost", problem, np.array(means))


def noc() -> Instance:
    """Network on Chip: 259 linear designs, energy and runtime, both minimised."""
    return Instance("noc", _noc_problem("noc", _noc_features()), NOC_THETA)


def noc_transductive() -> Instance:
    """Network on Chip, pulling only 20 designs while the question is about all 259."""
    answers = _noc_features()
    arms = Table(answers.names[::13], answers.columns, answers.rows[::13])  # 20, spanning R^4
    problem = _noc_problem("noc-transductive", arms, answers)
    return Instance(problem.name, problem, NOC_THETA)


def correlated(rho: float = 0.0) -> Instance:
    """Five arms, two objectives with correlation rho (the paper's correlated instance)."""
    if not -1 < rho < 1:
        raise InputError(f"rho must lie strictly between -1 and 1, got {rho}")
    means = [
        [0.72875559, 1.20119222],
        [0.45524805, -0.63317069],
        [0.62826926, 1.27683777],
        [0.94570734, 2.31592981],
        [2.08131887, 1.4809387],
    ]
    return _unstructured("correlated", means, [[1.0, rho], [rho, 1.0]])


def rotated() -> Instance:
    """Five arms, each the one before turned by pi/5 (the paper's computational cost)."""
    angles = np.pi / 4 + np.arange(5) * np.pi / 5
    means = np.sqrt(2.0) * np.column_stack([np.cos(angles), np.sin(angles)])
    return _unstructured("rotated", means, np.eye(2) / 2)


def random_gaussian(
    K: int = 5, d: int = 2, max_complexity: float = 500.0, seed: int = 0
) -> Instance:
    """Means uniform on [-1, 1], covariance I/2, drawn again while H exceeds max_complexity."""
    means = _draw(K, d, -1.0, 1.0, max_complexity, seed)
    return _unstructured("random-gaussian", means, np.eye(d) / 2)


def random_bernoulli(
    K: int = 5, d: int = 2, max_complexity: float = 500.0, seed: int = 0
) -> Instance:
    """Bernoulli marginals, means uniform on [0.2, 0.9], drawn again as for random-gaussian."""
    means = _draw(K, d, 0.2, 0.9, max_complexity, seed)
    return _unstructured("random-bernoulli", means, np.eye(d) / 4, noise="bernoulli")


def _instance(build: Callable[..., Truth]) -> Callable[..., Instance]:
    @wraps(build)  # signature and docstring are those of the builder
    def made(**params: Any) -> Instance:
        problem, theta, noise, known, items = build(**params)
        return Instance(problem.name, problem, theta, noise, truth=known, items=items)

    return made


BUILDERS: dict[str, Callable[..., Instance]] = {
    "cov-boost": cov_boost,
    "noc": noc,
    "noc-transductive": noc_transductive,
    "correlated": correlated,
    "rotated": rotated,
    "random-gaussian": random_gaussian,
    "random-bernoulli": random_bernoulli,
    **{name: _instance(build) for name, build in {**HARD, **TIES, **NOISY, **ASKED}.items()},
}


class Entry(NamedTuple):
    """One line of the list of built-in instances."""

    name: str
    description: str
    params: dict[str, Any]  # with their default values


def instances() -> list[Entry]:
    """List the built-in instances.

    Examples
    --------
    >>> [entry.name for entry in instances()][:3]
    ['cov-boost', 'noc', 'noc-transductive']
    >>> instances()[3].params
    {'rho': 0.0}
    """
    return [
        Entry(
            name,
            (build.__doc__ or "").splitlines()[0],
            {p.name: p.default for p in signature(build).parameters.values()},
        )
        for name, build in BUILDERS.items()
    ]


def instance(name: str, **params: Any) -> Instance:
    """Build a built-in instance by name.

    Examples
    --------
    >>> instance("correlated", rho=-0.9).problem
    Problem('correlated': 5 arms, 2 objectives)
    >>> instance("cov-bost")
    Traceback (most recent call last):
    psips.errors.InputError: unknown instance 'cov-bost': did you mean 'cov-boost'? known: ...
    """
    if name not in BUILDERS:
        raise unknown("instance", name, list(BUILDERS))
    build = BUILDERS[name]
    known = list(signature(build).parameters)
    if params and not known:
        raise InputError(f"instance {name!r} has no parameters, got {next(iter(params))!r}")
    check_keys(f"parameter of instance {name!r}", params, known)
    given = signature(build).bind(**params)
    given.apply_defaults()
    return replace(build(**params), params=dict(given.arguments))


def _unstructured(
    name: str, means: npt.ArrayLike, covariance: npt.ArrayLike, noise: str = "gaussian"
) -> Instance:
    theta = np.asarray(means, dtype=np.float64)
    problem = Problem(
        name=name,
        arms=len(theta),
        objectives=[f"objective {c + 1}" for c in range(theta.shape[1])],
        covariance=covariance,
    )
    return Instance(name, problem, theta, noise)


def _draw(K: int, d: int, low: float, high: float, max_complexity: float, seed: int) -> Floats:
    if K < 2 or d < 1:
        raise InputError(f"a random instance needs K >= 2 and d >= 1, got K = {K} and d = {d}")
    rng = np.random.default_rng(seed)
    for batch in [1, 9, 90, 900] + [1000] * (TRIES // 1000 - 1):  # same draws as one by one
        means = rng.uniform(low, high, (batch, K, d))
        means = means[hardness_floor(means) <= max_complexity * (1 + 1e-9)]
        means = means[hardness(means) <= max_complexity]
        if len(means):
            return np.asarray(means[0])
    raise InputError(
        f"none of {TRIES} random instances with K = {K} and d = {d} has H at most "
        f"{max_complexity}: raise max_complexity"
    )


def _data(name: str) -> list[dict[str, str]]:
    text = files("psips").joinpath("data", name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


# theta* of the paper fits the negated columns; here the user's columns, to be minimised.
NOC_THETA = -np.array(
    [
        [-3.08665453, -3.35487744],
        [-3.66027623, 0.19333635],
        [-2.68963781, -1.39779755],
        [-7.90670356, -4.44360318],
    ]
)


def _noc_features() -> Table:
    columns = ("width", "complexity", "fifo", "multiplier")
    rows = np.array([[float(row[c]) for c in columns] for row in _data("network_on_chip.csv")])
    names = tuple(f"w{w:.0f} c{c:.0f} f{f:.0f} m{m:.0f}" for w, c, f, m in rows)
    return Table(names, columns, rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _noc_problem(name: str, arms: Table, answers: Table | None = None) -> Problem:
    return Problem(
        name=name,
        features=arms,
        answers=answers,
        objectives={"energy": "min", "runtime": "min"},
        covariance=[0.5, 0.5],
        intercept=False,  # as in the paper
    )
