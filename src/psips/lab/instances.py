"""Problems with known truth, by name: the paper's, random ones, and those made to be hard."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from importlib.resources import files
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from psips.aliases import Floats
from psips.errors import InputError, check_keys, unknown
from psips.input.checks import Table
from psips.lab.hard_instances import BUILDERS as HARD
from psips.lab.hard_instances import Truth
from psips.lab.noisy_instances import BUILDERS as NOISY
from psips.lab.question_instances import BUILDERS as QUESTIONS
from psips.lab.tie_instances import BUILDERS as TIES
from psips.problem import Problem
from psips.problem.gaps import hardness, hardness_floor
from psips.problem.instances import Instance

TRIES = 2_000_000  # random instances drawn before giving up on a bound on H


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


_MADE = {**HARD, **TIES, **NOISY, **QUESTIONS}
BUILDERS: dict[str, Callable[..., Instance]] = {
    "cov-boost": cov_boost,
    "noc": noc,
    "noc-transductive": noc_transductive,
    "correlated": correlated,
    "rotated": rotated,
    "random-gaussian": random_gaussian,
    "random-bernoulli": random_bernoulli,
    **{
        name: _instance(build) for name, build in {**HARD, **TIES, **NOISY, **QUESTIONS}.items()
    },
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
