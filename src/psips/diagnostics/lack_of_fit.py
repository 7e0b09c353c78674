"""Whether the linear model fits the results: the means of the arms against what it says.

With N_a results of arm a, their mean x_a, the least-squares fit theta and the covariance of
the noise as given,

    sum over the K' arms with results of N_a (x_a - theta^T a)^T Sigma^-1 (x_a - theta^T a)

is chi-square with d (K' - r) degrees of freedom if the model is true, r the rank of those arms'
features. Whatever regularisation the rules use, the test is made with least squares.

If the noise is to be estimated, it is by the scatter of results of the same arm: with n - K'
degrees of freedom, the mean square of one objective over that of its noise has the law F with
K' - r and n - K' degrees. The p-value is the least of the d objectives, times d.

The law is exact for results whose arms were chosen beforehand, looked at once. People look
again and again, so that a true model is flagged at some time more often than LEVEL says: in
0.2 to 0.3% of 9,000 simulated data sets, looked at after almost each of 1,000 results. That is
why LEVEL is small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.input.checks import RANK
from psips.laws import chi_square_tails, f_tails
from psips.problem import Problem
from psips.problem.coordinates import orthonormal
from psips.problem.noise import KNOWN

if TYPE_CHECKING:
    from psips.state.belief import Belief

LEVEL = 1e-4  # p-value below which the model is said not to fit
NAMED = 3  # arms named that deviate
FIXED = 1e-9  # share of an arm's variance left by the fit below which it cannot deviate


class Deviation(NamedTuple):
    """How far the mean of an arm's results is from the model, in standard errors."""

    arm: str
    objective: str
    errors: float  # positive: the results are above the model


@dataclass(frozen=True)
class Fit:
    """What the results say of a linear model.

    Parameters
    ----------
    statistic : float
        NaN if the model has not been tested.
    degrees : int
        Degrees of freedom; 0 if the model has not been tested.
    p_value : float
        Probability of a statistic as large if the model is true; NaN if not tested.
    deviations : tuple of Deviation
        Of the arms that deviate most, the objective in which they do.
    of_noise : int
        Degrees of freedom of the noise, if it was estimated; 0 if it is given.
    """

    statistic: float
    degrees: int
    p_value: float
    deviations: tuple[Deviation, ...]
    of_noise: int = 0

    @property
    def rejected(self) -> bool:
        """Whether the data contradict the model: p is below 0.0001."""
        return self.degrees > 0 and self.p_value < LEVEL

    @property
    def caveat(self) -> str:
        """What is to be added to a claim that rests on the model; empty if it fits."""
        if not self.rejected:
            return ""
        return f", if the linear model holds, which the data contradict ({self._p})"

    @property
    def _p(self) -> str:
        return f"p = {self.p_value:.2g}" if self.p_value > 1e-300 else "p < 1e-300"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; None for what has not been tested."""
        tested = self.degrees > 0
        return {
            "statistic": self.statistic if tested else None,
            "degrees": self.degrees,
            "p_value": self.p_value if tested else None,
            "rejected": self.rejected,
            "deviations": [one._asdict() for one in self.deviations],
        }

    def __str__(self) -> str:
        if self.degrees == 0:
            return (
                "the linear model has not been tested: that takes results of more arms than it "
                "has features, and several of one arm"
            )
        test = f"chi-square {self.statistic:.4g} with {self.degrees} degrees of freedom"
        if self.of_noise:
            degrees = f"{self.degrees} and {self.of_noise} degrees of freedom"
            test = f"F {self.statistic:.4g} with {degrees}"
        if not self.rejected:
            return f"no violation of the linear model found ({test}, {self._p})"
        words = [
            f"{one.arm} ({one.objective} {abs(one.errors):.1f} standard errors "
            f"{'above' if one.errors > 0 else 'below'} it)"
            for one in self.deviations
        ]
        return (
            f"the linear model does not fit: {test}, {self._p}; furthest from it: "
            f"{', '.join(words)}. It is reported where p is below {LEVEL:g}, at every look"
        )


def fit_of(problem: Problem, belief: Belief) -> Fit | None:
    """Return how the linear model fits the results; None without features.

    Examples
    --------
    >>> from psips.session import Session
    >>> problem = Problem(objectives=["yield"], covariance=[1], features=[[0.0], [1.0], [2.0]])
    >>> session = Session(problem, rng=1)
    >>> for arm, value in (("arm 1", 0.0), ("arm 2", 9.0), ("arm 3", 0.0)):
    ...     for noise in (-1.0, 1.0):
    ...         receipt = session.tell(arm, [value + noise])
    >>> print(fit_of(problem, session.engine.belief))
    the linear model does not fit: chi-square 108 with 1 degrees of freedom, p = 2.7e-25; ...
    """
    if problem.features is None:
        return None
    s = belief.noise_estimate
    pulls = s.seen[:, -1] if problem.partial else belief.pulls  # complete results
    if problem.noise == KNOWN or problem.partial:
        return fit_of_sums(problem, pulls, belief.sums)
    around = s.cross - s.sums**2 / np.maximum(s.count, 1.0)
    squares = np.diagonal(around, axis1=1, axis2=2).sum(axis=0)
    return fit_of_sums(problem, belief.pulls, belief.sums, squares)


def fit_of_sums(
    problem: Problem, pulls: Floats, sums: Floats, squares: Floats | None = None
) -> Fit:
    """Return how the linear model fits results of which numbers and sums are known.

    Parameters
    ----------
    problem : Problem
        With features.
    pulls : (K,) array
    sums : (K, d) array
        Of the results of each arm, every objective maximised.
    squares : (d,) array, optional
        Of the results around the means of their arms, if the noise is to be estimated.
    """
    assert problem.features is not None
    arms = np.flatnonzero(pulls)
    untested = Fit(np.nan, 0, np.nan, ())
    if squares is None and (problem.covariance is None or problem.covariance.ndim == 3):
        return untested
    if not len(arms) or pulls.max() < 2 or not np.all(np.isfinite(sums[arms])):
        return untested
    roots = np.sqrt(pulls[arms])[:, None]
    U, s, _ = np.linalg.svd(roots * orthonormal(problem.features).A[arms], full_matrices=False)
    U = U[:, s > RANK * s[0]]
    more = len(arms) - U.shape[1]
    of_noise = int(pulls.sum()) - len(arms)
    if more == 0 or (squares is not None and not np.all(squares > 0.0)):
        return untested
    scaled = sums[arms] / roots  # sqrt(N) times the means: covariance Sigma
    rest = scaled - U @ (U.T @ scaled)
    if squares is None:
        variances, degrees, of_noise = np.diag(problem.model.Sigma), problem.d * more, 0
        statistic = float(np.einsum("ac,ce,ae->", rest, problem.model.P, rest))
        p_value = float(chi_square_tails(degrees, statistic)[1])
    else:
        variances, degrees = squares / of_noise, more
        statistic = float(((rest**2).sum(axis=0) / more / variances).max())
        p_value = min(1.0, problem.d * float(f_tails(more, of_noise, statistic)[1]))
    left = 1.0 - np.sum(U**2, axis=1)  # variance of a residual, in units of Sigma
    free = left > FIXED
    errors = np.zeros(rest.shape)
    errors[free] = rest[free] / np.sqrt(left[free, None] * variances)
    errors = problem.outward(errors)
    worst = np.argsort(-np.abs(errors).max(axis=1), kind="stable")[:NAMED]
    deviations = []
    for row in worst[free[worst]]:
        c = int(np.abs(errors[row]).argmax())
        arm, objective = problem.arms[arms[row]], problem.objectives[c]
        deviations.append(Deviation(arm, objective, float(errors[row, c])))
    return Fit(statistic, degrees, p_value, tuple(deviations), of_noise)
