"""What a problem consists of, in the user's names, and how its names and units are read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from psips.aliases import Floats
from psips.errors import unknown
from psips.input.checks import frozen
from psips.input.former_names import warn_former
from psips.problem.limits import Limit, limit_model
from psips.problem.noise import NoiseGuess, read_some
from psips.problem.parameters import Ball, Box, Limits, Prior, check_inside
from psips.problem.parameters import limits as bounds_of
from psips.problem.scales import Scale
from psips.problem.tolerance import Tolerance
from psips.state.model import LimitModel


class Facts(NamedTuple):
    """What a problem was left of when its exact metrics were taken out."""

    whole: ProblemData
    columns: tuple[int, ...]  # of the exact metrics, in the whole problem
    aims: tuple[int, ...]  # those of them that are objectives
    limited: bool  # whether some have a limit

    @property
    def rest(self) -> list[int]:
        """Columns of the other metrics."""
        return [c for c in range(self.whole.d) if c not in self.columns]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ProblemData:
    """The parts of a `psips.Problem`, which checks and fills them; frozen."""

    name: str
    arms: tuple[str, ...]
    answers: tuple[str, ...]  # first name of each distinct answer
    aliases: dict[str, tuple[str, ...]]  # each answer's names, the first one included
    objectives: tuple[str, ...]
    directions: tuple[str, ...]
    signs: Floats  # (d,) +1 to maximise, -1 to minimise
    scales: tuple[Scale, ...]  # what the values of each objective are
    noise: str  # "known", "estimate" or "per-arm"
    covariance: Floats | None  # (d, d), or (K, d, d) for each arm; None if not known
    noise_guess: NoiseGuess | None
    partial: bool
    features: Floats | None  # (K, h); None if unstructured
    answer_features: Floats | None  # (n, h); None if unstructured
    feature_names: tuple[str, ...]  # h of them; empty if unstructured
    intercept: bool  # the last feature is one that was added
    unstructured: bool
    transductive: bool  # the answers are not the arms
    parameter_set: Ball | Box | None
    prior: Prior | None  # one row of means and one number of pulls per arm
    regularization: float | None  # None: least squares
    costs: Floats  # (K,) of one pull of each arm
    control: str | None
    tolerance: Tolerance
    limits: tuple[Limit, ...]
    has_items: bool  # results share items
    items: tuple[str, ...]  # in their order; empty if there are as many as are needed
    facts: Facts | None  # what was taken out, see `psips.problem.exact`

    @property
    def K(self) -> int:  # noqa: N802
        """Number of arms."""
        return len(self.arms)

    @property
    def n(self) -> int:
        """Number of distinct answers."""
        return len(self.answers)

    @property
    def d(self) -> int:
        """Number of objectives."""
        return len(self.objectives)

    @property
    def h(self) -> int:
        """Number of rows of theta, one per feature (and intercept) or, without any, per arm."""
        return self.K if self.features is None else int(self.features.shape[1])

    @property
    def has_costs(self) -> bool:
        """Whether any pull costs something else than 1."""
        return bool(np.any(self.costs != 1.0))

    @property
    def blocks(self) -> bool:
        """The former name of ``has_items``."""
        warn_former("problem.blocks is called problem.has_items now")
        return self.has_items

    @property
    def marginal(self) -> bool:
        """Whether proofs go by each arm and objective, see `src/core/evidence/capital.h`."""
        return self.covariance is None or self.covariance.ndim == 3 or self.partial

    @property
    def joint(self) -> bool:
        """Whether means of answers and objectives are correlated in no simple way."""
        each = self.covariance is not None and self.covariance.ndim == 3
        return self.has_items or (not self.unstructured and (self.partial or each))

    @cached_property
    def _arm_indices(self) -> dict[str, int]:
        return {arm: i for i, arm in enumerate(self.arms)}

    @cached_property
    def _answer_indices(self) -> dict[str, int]:
        return {a: i for i, answer in enumerate(self.answers) for a in self.aliases[answer]}

    def arm_index(self, name: object) -> int:
        """Position of an arm; a number is taken as a name, not as a position."""
        index = self._arm_indices.get(str(name))
        if index is None:
            raise unknown("arm", name, self.arms)
        return index

    def answer_index(self, name: object) -> int:
        """Position of the answer that has this name among its names."""
        index = self._answer_indices.get(str(name))
        if index is None:
            raise unknown("answer", name, self.answers)
        return index

    def inward(self, means: npt.ArrayLike) -> Floats:
        """Means (..., d) as the user gives them, in the kernels' orientation (maximise)."""
        return np.asarray(means, dtype=np.float64) * self.signs

    def outward(self, means: npt.ArrayLike) -> Floats:
        """Means (..., d) from the kernels, in the user's orientation."""
        return np.asarray(means, dtype=np.float64) * self.signs

    @cached_property
    def usual_covariance(self) -> Floats:
        """One covariance (d, d) for all arms, where that will do; NaN if there is none.

        As it was given (the mean over the arms if each has its own), or guessed.
        """
        if self.covariance is not None:
            one = self.covariance
            return one if one.ndim == 2 else frozen(one.mean(axis=0))
        if self.noise_guess is not None:
            exact = [o for o, s in zip(self.objectives, self.scales, strict=True) if s.exact]
            return frozen(read_some(self.objectives, self.noise_guess.covariance, exact))
        return frozen(np.full((self.d, self.d), np.nan))

    @cached_property
    def _logs(self) -> list[int]:
        return [c for c, scale in enumerate(self.scales) if scale.log]

    def compared(self, values: npt.ArrayLike) -> Floats:
        """Results (..., d) as they are compared: with logarithms where they are asked for."""
        found = np.array(values, dtype=np.float64)
        if self._logs:
            found[..., self._logs] = np.log(found[..., self._logs])
        return found

    def measured(self, values: npt.ArrayLike) -> Floats:
        """Results (..., d) as they are measured, from what is compared."""
        found = np.array(values, dtype=np.float64)
        if self._logs:
            found[..., self._logs] = np.exp(found[..., self._logs])
        return found

    @property
    def labels(self) -> tuple[str, ...]:
        """What to call the objectives where their means are shown."""
        pairs = zip(self.scales, self.objectives, strict=True)
        return tuple(scale.label(objective) for scale, objective in pairs)

    @property
    def limited(self) -> bool:
        """Whether answers have to keep limits, be it on metrics that were taken out."""
        return bool(self.limits) or (self.facts is not None and self.facts.limited)

    @cached_property
    def limit_model(self) -> LimitModel:
        """The limits as the kernels read them, on all metrics."""
        control = 0 if self.control is None else self.answer_index(self.control)
        return limit_model(self.limits, self.directions, self.signs, control)

    @property
    def limit_texts(self) -> list[str]:
        """The limits as they were given."""
        return list(dict.fromkeys(limit.text for limit in self.limits))

    def complete(self, theta: Floats) -> Floats:
        """Add the row of an intercept, 0, to a truth (..., d) that has none."""
        if self.intercept and theta.ndim == 2 and len(theta) == self.h - 1:
            return np.vstack([theta, np.zeros((1, theta.shape[1]))])
        return theta

    @property
    def prior_arrays(self) -> tuple[Floats, Floats] | None:
        """Pulls (K,) and means (K, d) of the prior, in the kernels' orientation."""
        if self.prior is None:
            return None
        return np.array(self.prior.pulls), self.inward(self.prior.means)

    def theta_limits(self) -> Limits:
        """Return the bounds of the parameter set in the kernels' orientation."""
        return bounds_of(self.parameter_set, self.objectives, self.h, self.signs)

    def check_parameter(self, theta: Floats) -> None:
        """Raise if a truth (h, d) lies outside the parameter set."""
        check_inside(self.theta_limits(), self.objectives, self.inward(theta))
