"""A problem with the truth attached, and results as rows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from psips.aliases import Floats, Ints
from psips.errors import InputError, unknown
from psips.input.checks import frozen
from psips.problem.item_noise import ItemNoise
from psips.problem.limits import is_right_within, optimal_and_allowed
from psips.problem.problem import Problem
from psips.problem.tolerance import is_right

NOISES = ("gaussian", "bernoulli", "student", "lognormal")


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
        The same problem with the noise that results have, where ``problem`` does not know it.
    items : ItemNoise, optional
        If results share items, how they scatter between items and within them.
    params : dict
        What the instance was built with, if it is a built-in one; the file, if from a file.

    Examples
    --------
    >>> from psips import instance
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
        >>> from psips import instance
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
