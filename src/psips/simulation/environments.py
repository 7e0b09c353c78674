"""Things that can be pulled in a simulation: the n-th result of an arm never changes.

An environment knows the truth, a session never does. With the same key the n-th result of
an arm is the same whatever was pulled before it, so rules can be compared on equal noise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from psips._core import pull
from psips.aliases import Floats
from psips.errors import InputError, unknown
from psips.input.checks import frozen
from psips.input.seeds import Key, Seed, draw_key
from psips.laws import probit
from psips.problem import Problem
from psips.problem.instances import Instance, Results
from psips.problem.item_noise import ItemNoise
from psips.problem.measurements import read_results
from psips.session.exact import Exact
from psips.simulation.sources import factors, filled_source, read_truth
from psips.state.source import BERNOULLI, GAUSSIAN, LOGNORMAL, RESAMPLE, STUDENT, Source

SCATTERED = {"gaussian": GAUSSIAN, "student": STUDENT, "lognormal": LOGNORMAL}
CLOSEST = 1.0 - 1e-9  # correlation of two sums that is not looked beyond
NODES = 64  # at which an integral is evaluated
RAREST = 1e-3  # mean rate, of 0 or of 1, at which the share between items is set


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
        x = self.result(self.problem.arm_index(arm), int(nth), key)
        return self.problem.measured(self.problem.outward(x))

    def result(self, arm: int, nth: int, key: Key) -> Floats:
        """Return the same (d,) of an arm by number, every objective maximised."""
        x = pull(self.source, key, arm, nth, np.empty(self.problem.noisy.d))
        return self._with_facts(arm, x)

    def _with_facts(self, arm: int, x: Floats) -> Floats:
        """Return values of noisy metrics with those of exact ones next to them."""
        facts = self.problem.noisy.facts
        if facts is None:
            return x
        found: Floats = self.facts[arm].copy()
        found[facts.rest] = x
        return found

    @property
    def facts(self) -> Floats:
        """What exact metrics are (K, d), every one maximised; other columns mean nothing."""
        return np.zeros((self.problem.K, self.problem.d))

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

    Objectives that are 0 or 1 are drawn as such, with their means, and share the correlations.

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
        self.theta = read_truth(problem, "theta", theta, kind, rows)
        self._binary = np.array([scale.binary for scale in problem.scales])
        if self._binary.any() and noise != "gaussian":
            raise InputError(
                f"noise of the shape {noise!r} cannot be combined with objectives that are 0 "
                "or 1: leave the shape out"
            )
        rates = self.means[:, self._binary]
        for i, c in np.argwhere((rates < 0.0) | (rates > 1.0)):
            objective = problem.objectives[np.flatnonzero(self._binary)[c]]
            raise InputError(
                f"the mean of {objective!r} must lie between 0 and 1, since its values are 0 "
                f"or 1, got {rates[i, c]} for arm {problem.arms[i]!r}"
            )

    @property
    def means(self) -> Floats:
        """Means of the arms, (K, d)."""
        A = self.problem.features
        return self.theta if A is None else A @ self.theta

    @property
    def facts(self) -> Floats:
        """What exact metrics are: their means."""
        return self.problem.inward(self.means)

    @cached_property
    def source(self) -> Source:
        """The source, with noise of the kind asked for; 0 or 1 is the sign of a normal."""
        L, centres, binary = factors(self.problem), self.means, self._binary
        if not binary.any():
            return filled_source(self.problem, self._kind, centres, L=L)
        sd = np.sqrt((L**2).sum(axis=2))
        centres = centres.copy()
        centres[:, binary] = probit(centres[:, binary])
        size = np.where(sd > 0.0, sd, 1.0)
        L = np.where(binary[:, None], L / size[:, :, None], L)
        high = np.where(binary, self.problem.signs, 0.0)
        return filled_source(self.problem, self._kind, centres, L=L, high=high)


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
        self.means = read_truth(problem, "means", means, "arm", problem.arms)
        for i, c in np.argwhere((self.means < 0) | (self.means > 1)):
            raise InputError(
                f"bernoulli noise needs means between 0 and 1, got {self.means[i, c]} "
                f"for arm {problem.arms[i]!r} in {problem.objectives[c]!r}"
            )

    @cached_property
    def source(self) -> Source:
        """The Bernoulli source; with an objective to minimise a 1 counts as -1."""
        return filled_source(
            self.problem, BERNOULLI, self.means, high=self.problem.signs.copy()
        )


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
        Exact(problem).check(read.arms.tolist(), read.values)
        order = np.argsort(read.arms, kind="stable")
        self._rows = frozen(np.ascontiguousarray(read.values[order], dtype=np.float64))
        self._starts = np.concatenate(([0], np.cumsum(self._counts))).astype(np.int64)

    @property
    def means(self) -> Floats:
        """Means of the arms' rows, (K, d)."""
        sums = np.add.reduceat(self._rows, self._starts[:-1], axis=0)
        return np.asarray(sums / self._counts[:, None])

    @property
    def facts(self) -> Floats:
        """What exact metrics are: the same in all rows of an arm."""
        return self.problem.inward(self.problem.compared(self._rows[self._starts[:-1]]))

    @cached_property
    def source(self) -> Source:
        """The resampling source."""
        rows = self.problem.inward(self.problem.compared(self._rows))
        return filled_source(self.problem, RESAMPLE, self.means, rows=rows, starts=self._starts)


class ItemEnvironment(Environment):
    """The n-th result of an arm is that on the n-th item, which all arms share.

    Parameters
    ----------
    problem : Problem
        Whose arms share items.
    means : (K, d) array or DataFrame
        One row per arm.
    noise : ItemNoise
    shape : str
        ``"gaussian"``, ``"student"`` or ``"lognormal"``: of the effects and of the noise; of
        values of 0 or 1 it is the first.

    Examples
    --------
    >>> from psips.problem.item_noise import read_item_noise
    >>> problem = Problem(objectives=["score"], arms=["A", "B"], items=True)
    >>> noise = read_item_noise(problem, [1.0], 0.99)
    >>> trial = ItemEnvironment(problem, [[0.0], [5.0]], noise).start(rng=1)
    >>> bool(abs(trial.pull("B") - trial.pull("A") - 5.0) < 1.0)
    True
    """

    def __init__(
        self, problem: Problem, means: Any, noise: ItemNoise, shape: str = "gaussian"
    ) -> None:
        self.problem = problem
        self.noise = noise
        self.means = read_truth(problem, "means", means, "arm", problem.arms)
        self._binary = noise.binary
        rates = self.means[:, self._binary]
        if ((rates < 0.0) | (rates > 1.0)).any():
            raise InputError("the means of values of 0 or 1 must lie between 0 and 1")
        if self._binary.any() and shape != "gaussian":
            raise InputError(
                f"noise of the shape {shape!r} cannot be combined with values of 0 or 1 that "
                f"share items: leave the shape out"
            )
        self._kind = SCATTERED[shape]

    @cached_property
    def source(self) -> Source:
        """The sums before they are cut to 0 or 1; the items are one more arm, the last."""
        problem, noise, binary = self.problem, self.noise, self._binary
        centres = self.means.copy()
        centres[:, binary] = probit(self.means[:, binary])
        common = noise.between.copy()
        for c in np.flatnonzero(binary):
            common[c] = _behind(float(noise.between[c]), float(self.means[:, c].mean()))
        sd = np.where(binary, 1.0, noise.sd)
        L = np.linalg.cholesky(noise.correlation * np.outer(problem.signs, problem.signs))
        within = (sd * np.sqrt(1.0 - common))[:, None] * L
        between = (sd * np.sqrt(common))[:, None] * L
        return filled_source(
            problem,
            self._kind,
            np.vstack([centres, np.zeros(problem.d)]),
            L=np.array([within] * problem.K + [between]),
        )

    @property
    def facts(self) -> Floats:
        """What exact metrics are: their means."""
        return self.problem.inward(self.means)

    def result(self, arm: int, nth: int, key: Key) -> Floats:
        """Return the result (d,) of an arm on an item, both by number, to be maximised."""
        noisy = self.problem.noisy
        x = pull(self.source, key, arm, nth, np.empty(noisy.d))
        x += pull(self.source, key, self.problem.K, nth, np.empty(noisy.d))
        signs, binary = noisy.signs, self._binary
        if noisy.facts is not None:
            binary = binary[noisy.facts.rest]
        return self._with_facts(arm, np.where(binary, signs * (x * signs > 0.0), x))


def environment_of(instance: Instance) -> Environment:
    """Return the environment that an instance describes.

    Examples
    --------
    >>> from psips.lab.instances import instance
    >>> type(environment_of(instance("random-bernoulli"))).__name__
    'BernoulliEnvironment'
    """
    if instance.problem.has_items:
        if instance.items is None or instance.results is not None:
            raise InputError(
                "to simulate results that share items, say how much of their variance is "
                "between items: add 'between' to the guess of the noise, instead of raw "
                "results (which `psips matrix` replays)"
            )
        shape = "gaussian" if instance.noise == "bernoulli" else instance.noise
        return ItemEnvironment(instance.problem, instance.arm_means, instance.items, shape)
    if instance.results is not None:
        return ResamplingEnvironment(instance.problem, instance.results)
    if instance.noise == "bernoulli":
        return BernoulliEnvironment(instance.problem, instance.arm_means)
    return GaussianEnvironment(instance.known, instance.theta, instance.noise)


def _behind(share: float, rate: float) -> float:
    """Return how normals correlate whose signs, positive at a rate, have the correlation given.

    Examples
    --------
    >>> round(_behind(0.6, 0.5), 4)  # sin(0.3 pi)
    0.809
    """
    if share <= 0.0:
        return 0.0
    p = min(max(rate, RAREST), 1.0 - RAREST)
    h, (nodes, weights) = float(probit(p)), np.polynomial.legendre.leggauss(NODES)

    def covered(angle: float) -> float:
        # The density of two such normals at (h, h), over their correlation sin(angle)
        heights = np.exp(-(h**2) / (1.0 + np.sin(0.5 * angle * (nodes + 1.0))))
        return float(0.5 * angle * weights @ heights) / (2.0 * math.pi * p * (1.0 - p))

    low, high = 0.0, math.asin(CLOSEST)
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if covered(middle) < share else (low, middle)
    return math.sin(high)
