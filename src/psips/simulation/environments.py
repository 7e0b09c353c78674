"""Things that can be pulled in a simulation: the n-th result of an arm never changes.

An environment knows the truth, a session never does. With the same key the n-th result of
an arm is the same whatever was pulled before it, so rules can be compared on equal noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from psips.errors import InputError, check_keys, unknown
from psips.input.checks import frozen
from psips.input.seeds import Key, Seed, draw_key
from psips.kernels.model import Floats
from psips.kernels.noise import (
    BERNOULLI,
    GAUSSIAN,
    LOGNORMAL,
    RESAMPLE,
    STUDENT,
    Source,
    pull,
)
from psips.problem import Problem
from psips.problem.instances import Instance, Results
from psips.problem.measurements import is_frame, read_results

SCATTERED = {"gaussian": GAUSSIAN, "student": STUDENT, "lognormal": LOGNORMAL}


class Environment(ABC):
    """What can be pulled.

    Attributes
    ----------
    problem : Problem
    source : Source
        The environment as the kernels read it, every objective maximised.
    """

    problem: Problem

    @property
    @abstractmethod
    def source(self) -> Source:
        """Where results come from, as the kernels read it."""

    def pull(self, arm: object, nth: int, key: Key) -> Floats:
        """Return the ``nth`` result (d,) of an arm, counted from 0, in the user's orientation.

        Parameters
        ----------
        arm : str
        nth : int
        key : (2,) array of uint64
            Of the noise; see `start`.
        """
        x = np.empty(self.problem.d)
        index = self.problem.arm_index(arm)
        pull(self.source, key, index, int(nth), np.empty(4, np.uint64), x)
        return self.problem.measured(self.problem.outward(x))

    def start(self, rng: Seed = None) -> Puller:
        """Return a trial: an environment with a key, that counts the pulls of each arm.

        Parameters
        ----------
        rng : None, int, SeedSequence or Generator
            The key is its next two words of 64 bits.
        """
        return Puller(self, draw_key(rng))


class Puller:
    """An environment under way: each pull of an arm gives its next result.

    Examples
    --------
    >>> problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B"])
    >>> trial = GaussianEnvironment(problem, [[0.0], [1.0]]).start(rng=1)
    >>> first, second = trial.pull("A"), trial.pull("A")
    >>> bool(first == trial.environment.pull("A", 0, trial.key))
    True
    """

    def __init__(self, environment: Environment, key: Key) -> None:
        self.environment = environment
        self.key = key
        self._pulls = [0] * environment.problem.K

    def pull(self, arm: object) -> Floats:
        """Return the next result (d,) of an arm, in the user's orientation."""
        index = self.environment.problem.arm_index(arm)
        self._pulls[index] += 1
        return self.environment.pull(arm, self._pulls[index] - 1, self.key)


class GaussianEnvironment(Environment):
    """Results scatter around their means with the problem's covariance, or that of each arm.

    Parameters
    ----------
    problem : Problem
    theta : (h, d) array or DataFrame
        One row per feature, or per arm if the problem is unstructured. The row of an intercept
        may be left out: it is 0 then.
    noise : str
        ``"gaussian"``, ``"student"`` (t with 3 degrees of freedom) or ``"lognormal"``, the
        latter two to see what becomes of rules that are not made for them.

    Examples
    --------
    >>> problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B"])
    >>> GaussianEnvironment(problem, [[0.0], [1.0]]).means.tolist()
    [[0.0], [1.0]]
    """

    def __init__(self, problem: Problem, theta: Any, noise: str = "gaussian") -> None:
        if noise not in SCATTERED:
            raise unknown("noise", noise, list(SCATTERED))
        self.problem = problem
        self._kind = SCATTERED[noise]
        kind = "arm" if problem.unstructured else "feature"
        rows = problem.arms if problem.unstructured else problem.feature_names
        self.theta = _read_truth(problem, "theta", theta, kind, rows)

    @property
    def means(self) -> Floats:
        """Means of the arms, (K, d)."""
        A = self.problem.features
        return self.theta if A is None else A @ self.theta

    @cached_property
    def source(self) -> Source:
        """The source, with noise of the kind asked for."""
        return _source(self.problem, self._kind, self.means, L=_factors(self.problem))


class BernoulliEnvironment(Environment):
    """Each objective of a result is 0 or 1, independently, with the arm's mean.

    Parameters
    ----------
    problem : Problem
    means : (K, d) array or DataFrame
        Chances of a 1, one row per arm.

    Examples
    --------
    >>> problem = Problem(objectives={"failed": "min"}, covariance=[0.25], arms=["A", "B"])
    >>> BernoulliEnvironment(problem, [[1.0], [0.0]]).start(rng=1).pull("A")
    array([1.])
    """

    def __init__(self, problem: Problem, means: Any) -> None:
        self.problem = problem
        self.means = _read_truth(problem, "means", means, "arm", problem.arms)
        for i, c in np.argwhere((self.means < 0) | (self.means > 1)):
            raise InputError(
                f"bernoulli noise needs means between 0 and 1, got {self.means[i, c]} "
                f"for arm {problem.arms[i]!r} in {problem.objectives[c]!r}"
            )

    @cached_property
    def source(self) -> Source:
        """The Bernoulli source; with an objective to minimise a 1 counts as -1."""
        return _source(self.problem, BERNOULLI, self.means, high=self.problem.signs.copy())


class ResamplingEnvironment(Environment):
    """Each result of an arm is one of its recorded rows, drawn with replacement.

    Parameters
    ----------
    problem : Problem
    results : DataFrame, or Results
        A column ``arm`` and a column per objective; every arm needs a row.

    Examples
    --------
    >>> import pandas as pd
    >>> problem = Problem(objectives=["score"], covariance=[2], arms=["old", "new"])
    >>> raw = pd.DataFrame({"arm": ["old", "new", "old"], "score": [3.0, 5.0, 2.0]})
    >>> ResamplingEnvironment(problem, raw).means.tolist()
    [[2.5], [5.0]]
    """

    def __init__(self, problem: Problem, results: Any) -> None:
        self.problem = problem
        read = results if isinstance(results, Results) else read_results(problem, results)
        self._counts = np.bincount(read.arms, minlength=problem.K)
        for arm, count in zip(problem.arms, self._counts, strict=True):
            if count == 0:
                raise InputError(
                    f"the results have no row for arm {arm!r}: every arm needs one"
                )
        order = np.argsort(read.arms, kind="stable")
        self._rows = frozen(np.ascontiguousarray(read.values[order], dtype=np.float64))
        self._starts = np.concatenate(([0], np.cumsum(self._counts))).astype(np.int64)

    @property
    def means(self) -> Floats:
        """Means of the arms' rows, (K, d)."""
        sums = np.add.reduceat(self._rows, self._starts[:-1], axis=0)
        return np.asarray(sums / self._counts[:, None])

    @cached_property
    def source(self) -> Source:
        """The resampling source."""
        rows = self.problem.inward(self.problem.compared(self._rows))
        return _source(self.problem, RESAMPLE, self.means, rows=rows, starts=self._starts)


def environment_of(instance: Instance) -> Environment:
    """Return the environment that an instance describes.

    Examples
    --------
    >>> from psips.problem.instances import instance
    >>> type(environment_of(instance("random-bernoulli"))).__name__
    'BernoulliEnvironment'
    """
    if instance.results is not None:
        return ResamplingEnvironment(instance.problem, instance.results)
    if instance.noise == "bernoulli":
        return BernoulliEnvironment(instance.problem, instance.arm_means)
    return GaussianEnvironment(instance.known, instance.theta, instance.noise)


def _factors(problem: Problem) -> Floats:
    """Return the Cholesky factor (K, d, d) of the noise of each arm."""
    given = problem.usual_covariance if problem.covariance is None else problem.covariance
    if np.isnan(given).any():
        raise InputError(
            "simulated results need the covariance of their noise, which this problem leaves "
            "to be estimated: give it a noise_guess"
        )
    turned = given * np.outer(problem.signs, problem.signs) + 0.0
    shape = (problem.K, problem.d, problem.d)
    return np.ascontiguousarray(np.broadcast_to(np.linalg.cholesky(turned), shape))


def _source(problem: Problem, kind: int, means: Floats, **parts: Any) -> Source:
    """Fill a source; kernels are compiled for writable C-ordered arrays of these types."""
    d = problem.d
    return Source(
        kind=kind,
        means=np.ascontiguousarray(problem.inward(means)),
        L=parts.get("L", np.zeros((0, d, d))),
        low=np.zeros(d),
        high=parts.get("high", np.zeros(d)),
        rows=parts.get("rows", np.zeros((0, d))),
        starts=parts.get("starts", np.zeros(1, np.int64)),
    )


def _read_truth(
    problem: Problem, what: str, given: Any, kind: str, rows: tuple[str, ...]
) -> Floats:
    """Read one row of finite numbers per arm or feature, matched by name in a DataFrame."""
    of_theta = kind == "feature"
    if is_frame(given):
        if of_theta and problem.intercept and len(given) == len(rows) - 1:
            rows = rows[:-1]
        index = [str(name) for name in given.index]
        columns = [str(name) for name in given.columns]
        check_keys(f"{kind} in {what}", index, rows)
        check_keys(f"objective in {what}", columns, problem.objectives)
        for label, names, known in (
            (kind, index, rows),
            ("objective", columns, problem.objectives),
        ):
            for name in known:
                if names.count(name) != 1:
                    raise InputError(f"{what} must have one entry for {label} {name!r}")
        places = np.ix_(
            [index.index(r) for r in rows], [columns.index(o) for o in problem.objectives]
        )
        given = given.to_numpy()[places]
    try:
        truth = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InputError(f"{what} must be numbers in a rectangular array") from None
    if of_theta:
        truth, rows = problem.complete(truth), problem.feature_names
    if truth.shape != (len(rows), problem.d):
        raise InputError(
            f"{what} must have one row per {kind} and one column per objective, shape "
            f"{(len(rows), problem.d)}, got {truth.shape}"
        )
    for i, c in np.argwhere(~np.isfinite(truth)):
        raise InputError(
            f"{what} of {rows[i]!r} in objective {problem.objectives[c]!r} must be finite, "
            f"got {truth[i, c]}"
        )
    return frozen(truth)
