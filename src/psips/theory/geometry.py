"""How far a truth is from being another: best response, GLR, characteristic time T*.

With V_w = sum_a w_a a a^T and S the Pareto set of theta, the best response to the weights w is
the point of Alt(S) nearest to theta, and

    F(w) = min_{lambda in Alt(S)} sum_a w_a ||(theta - lambda)^T a||^2_{Sigma^-1}

its squared distance. GLR = F(pulls) / 2. The characteristic time of the paper's lower bound is
2 / T* = max_w F(w) over the simplex, attained at w*: the shares of pulls of the arms that
tell theta from its alternatives fastest. Where pulls have costs, the maximum is over the
weights with sum_a cost_a w_a = 1, and T* and the lower bounds are in units of cost.

With a tolerance Alt(S) is where S is not right (`psips.problem.tolerance`), and T* is what it
takes to prove the Pareto set of theta right: at most of the order 1 / epsilon^2, ties or not.
Other sets may be right too, and cheaper to prove; then T* kl(delta, 1 - delta) bounds no rule.

Alternatives range over all matrices: a problem's parameter set is not used, nor is the
regularisation, which belongs to the posterior.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from psips.aliases import Floats
from psips.errors import InputError, check_keys, listing
from psips.input.checks import RANK, frozen
from psips.interruptible import interruptible
from psips.problem.exact import with_facts
from psips.problem.gaps import gaps, hardness
from psips.problem.instances import Instance
from psips.problem.limits import keeping, optimal_and_allowed
from psips.problem.tolerance import only_right
from psips.theory.matrix_game import MatrixGame

if TYPE_CHECKING:
    from psips.problem import Problem

FLOOR = 1e-12  # weights below this fraction of the largest are raised to it
TIED = 1e-20  # F of the exploration design at which theta is on the boundary
MANY = 20  # arms from which on there is a cut for each from the start
ALONE = 1e-9  # weight of an arm, over that of others, with which it alone moves
STEP = 0.4  # from the best weights so far towards the maximiser of the cuts


@dataclass(frozen=True, eq=False)
class BestResponse:
    """The nearest parameter with another Pareto set (on the boundary, a limit of such).

    Parameters
    ----------
    value : float
        F(w), its squared distance.
    parameter : (h, d) array
        lambda, in the user's orientation.
    gains : dict
        By arm, ``||(theta - lambda)^T a||^2_{Sigma^-1}``: the gradient of F at w. For any
        other weights v, ``F(v) <= sum_a v_a gains[a]``.
    answer : str
        What changes: this answer gets above ...
    rivals : tuple of str
        ... each of these in an objective, or above a single one in all of them.
    """

    value: float
    parameter: Floats
    gains: dict[str, float]
    answer: str
    rivals: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Complexity:
    """How many samples, or which cost, it takes to identify the Pareto set of a known truth.

    Parameters
    ----------
    t_star : float
        T*, from below: the true value lies between ``t_star`` and ``(1 + gap) * t_star``. In
        units of cost if the problem has costs.
    weights : dict
        w* by arm: with these shares of the pulls, F(w) is at least ``2 / ((1 + gap) t_star)``
        times what a pull costs on average.
    gap : float
        Certified relative duality gap.
    hardness : float
        H(theta) of Auer et al., the sum of ``1 / gap^2`` over the answers.
    gaps : dict
        PSI gap of Auer et al. by answer; see `psips.problem.gaps.gaps`. Empty with limits, and
        the hardness NaN.
    pareto_set : tuple of str
    cuts : int
        Best responses it took.
    unique : bool
        Whether no other set is right; False only with a tolerance (and always with limits
        next to it, where that is not looked at).
    """

    t_star: float
    weights: dict[str, float]
    gap: float
    hardness: float
    gaps: dict[str, float]
    pareto_set: tuple[str, ...]
    cuts: int
    unique: bool = True

    def lower_bound_kl(self, delta: float) -> float:
        """Bound the expected samples of any rule that errs with probability at most ``delta``.

        Or their expected cost, if the problem has costs: T* kl(delta, 1 - delta), and 0 from
        delta = 1/2 on; 0 too where other sets are right.
        """
        _check_delta(delta)
        if delta >= 0.5 or not self.unique:
            return 0.0
        return self.t_star * (1 - 2 * delta) * (math.log1p(-delta) - math.log(delta))

    def lower_bound_log(self, delta: float) -> float:
        """Give the paper's simpler and smaller form of the bound, T* log(1 / (2.4 delta))."""
        _check_delta(delta)
        if not self.unique:
            return 0.0
        return self.t_star * max(0.0, -math.log(2.4) - math.log(delta))


def best_response(problem: Problem, theta: npt.ArrayLike, weights: object) -> BestResponse:
    """Nearest alternative to ``theta`` in the metric of ``weights``.

    Parameters
    ----------
    problem : Problem
    theta : (h, d) array
        In the user's orientation; the means of the arms if the problem is unstructured.
    weights : one number per arm, or mapping from arm to number
        Pulls or shares. Zero stands for a vanishing weight.

    Examples
    --------
    >>> from psips import Problem
    >>> problem = Problem(objectives=["yield"], covariance=[1.0], arms=["A", "B", "C"])
    >>> nearest = best_response(problem, [[3.0], [1.0], [0.0]], [1, 1, 1])
    >>> nearest.value, nearest.answer, nearest.rivals
    (2.0, 'B', ('A',))
    >>> nearest.parameter.ravel()
    array([2., 2., 0.])
    """
    return _Game(problem, theta).respond(_read_weights(problem, weights))


def glr(problem: Problem, theta: npt.ArrayLike, pulls: object) -> float:
    """Generalised log-likelihood ratio of the Pareto set of ``theta`` after ``pulls``.

    Half the squared distance of the best response. With theta the least-squares estimate,
    the likelihood of the data falls by exp(-GLR) at the likeliest other Pareto set.

    Examples
    --------
    >>> from psips import Problem
    >>> problem = Problem(objectives=["yield"], covariance=[1.0], arms=["A", "B"])
    >>> glr(problem, [[1.0], [0.0]], {"A": 10, "B": 10})
    2.5
    """
    return best_response(problem, theta, pulls).value / 2


def complexity(
    problem: Problem, theta: npt.ArrayLike, *, tolerance: float = 0.001
) -> Complexity:
    """Characteristic time T* and optimal weights w* of a truth, with a certified gap.

    Parameters
    ----------
    problem : Problem
    theta : (h, d) array
        In the user's orientation; the means of the arms if the problem is unstructured.
    tolerance : float
        Largest relative duality gap accepted.

    Raises
    ------
    InputError
        If theta has ties that decide its Pareto set: T* is then infinite.

    Notes
    -----
    Cutting planes. The best response to any weights gives the linear bound F(w) <= w . g,
    and a linear program finds the maximum of the smallest of them. Its dual solution p is a
    mixture of alternatives against which no weights gain more than max_a (sum_k p_k g_k)(a),
    which is the upper bound, whatever the accuracy of the solver; F at the best weights is the
    lower bound. Of many arms without features there is a cut for each from the start, in which
    it alone moves: otherwise every arm would take a round to be given a weight.

    Examples
    --------
    >>> from psips import Problem
    >>> problem = Problem(objectives=["yield"], covariance=[1.0], arms=["A", "B"])
    >>> found = complexity(problem, [[1.0], [0.0]])
    >>> round(found.t_star, 6), {arm: round(w, 3) for arm, w in found.weights.items()}
    (8.0, {'A': 0.5, 'B': 0.5})
    >>> round(found.lower_bound_kl(0.1), 2)
    14.06
    """
    if not 0 < tolerance < 1:
        raise InputError(f"the tolerance must lie strictly between 0 and 1, got {tolerance}")
    game = _Game(problem, theta)
    w, costs = problem.model.explore, problem.costs  # w: shares of what is spent
    if game.settled(w):
        return _nothing_to_tell(problem, game.truth)
    game.refuse_ties(w)
    best, best_w, upper = 0.0, w, math.inf
    cuts = MatrixGame(problem.K)
    for gains in game.single_moves():
        cuts.add(gains / costs)
    known = cuts.count
    for _ in range(200 + 20 * problem.K):
        value, *_, gains = game.answer(w / costs)
        cuts.add(gains / costs)
        if value > best:
            best, best_w = value, w
        vertex, mixture = cuts.solved()
        upper = min(upper, float(np.max(cuts.columns @ mixture)))
        if upper <= (1 + tolerance) * best:
            break
        w = best_w + STEP * (vertex - best_w)
    else:
        raise InputError(
            f"the duality gap is still {upper / best - 1:.2g} after {cuts.count - known} cuts: "
            f"raise the tolerance, {tolerance}, above it"
        )
    means, pulls = problem.inward(game.truth.means), best_w / costs
    return Complexity(
        t_star=2 / upper,
        weights=dict(zip(problem.arms, (pulls / pulls.sum()).tolist(), strict=True)),
        gap=max(upper / best - 1, 0.0),
        hardness=math.nan if game.besides else float(hardness(means)),
        gaps={}
        if game.besides
        else dict(zip(problem.answers, gaps(means).tolist(), strict=True)),
        pareto_set=game.truth.pareto_set,
        cuts=cuts.count - known,
        unique=not problem.tolerance
        or (not problem.limits and only_right(means, game.truth.epsilon)),
    )


def _nothing_to_tell(problem: Problem, truth: Instance) -> Complexity:
    """Return what exact metrics alone decide: it takes no results to tell sets apart."""
    even = dict.fromkeys(problem.arms, 1.0 / problem.K)
    return Complexity(0.0, even, 0.0, math.nan, {}, truth.pareto_set, 0)


class _Game:
    """A truth against its alternatives, with what does not depend on the weights."""

    def __init__(self, problem: Problem, theta: npt.ArrayLike) -> None:
        from psips._core import pareto_mask

        if np.isnan(problem.noisy.usual_covariance).any():
            raise InputError(
                "how hard a problem is depends on its noise, which is not known here: give a "
                "covariance or a noise_guess"
            )
        each = problem.covariance is not None and problem.covariance.ndim == 3
        if each and not problem.unstructured:
            raise InputError(
                "how hard a problem with features is can be computed for one covariance of all "
                "arms, not for one of each: give one"
            )
        self.problem = problem
        self.truth = Instance(problem.name, problem, np.asarray(theta, dtype=np.float64))
        whole = np.ascontiguousarray(problem.inward(self.truth.means))
        self.inside = pareto_mask(whole)
        if problem.limits:
            self.inside = optimal_and_allowed(whole, problem.limit_model)
        self.left = problem.noisy
        self.model = with_facts(self.left.facts, self.left.model, whole)
        self.besides = problem.limited or self.left.facts is not None
        rest = range(problem.d) if self.left.facts is None else self.left.facts.rest
        self.mu = np.ascontiguousarray(whole[:, list(rest)])
        self.epsilon = self.truth.epsilon[list(rest)]
        self.basis = self.A = self.Z = np.zeros((0, 0))
        A, Z = problem.features, problem.answer_features
        if A is not None and Z is not None:
            explore = problem.model.explore
            # In these coordinates the exploration design has V = I: neither the units of the
            # features nor directions in which no arm points can spoil the factors of V_w.
            unit = np.abs(A).max(axis=0)
            unit[unit == 0] = 1.0
            rows = np.sqrt(explore)[:, None] * A / unit
            _, size, axes = np.linalg.svd(rows, full_matrices=False)
            spanned = size > RANK * size[0]
            self.basis = (axes[spanned] / size[spanned, None] / unit).T
            self.A = A @ self.basis
            self.Z = Z @ self.basis

    def single_moves(self) -> list[Floats]:
        """Return gains (K,) of alternatives in which one arm moves and hardly another."""
        K = self.problem.K
        if not self.problem.unstructured or K < MANY:
            return []
        moves = []
        for z in range(K):
            w = np.full(K, 1.0 / K)
            w[z] *= ALONE
            moves.append(self.answer(w)[-1])
        return moves

    def answer(self, w: Floats) -> tuple[Any, ...]:
        """Return F(w); (z, m); x_k, c_k and y_k; lambda - theta; gains."""
        from psips._core import respond, respond_limited
        from psips.state.posterior import posterior_of

        model = replace(self.model, A=self.A, Z=self.Z)
        nothing = np.zeros((len(self.basis.T), model.d))
        if model.unstructured:
            raised = np.maximum(w, FLOOR * w.max())
            p = posterior_of(model, raised, nothing, self.basis)
            each = model.noise.given if len(model.noise.given) else model.Sigma
            p.C[:] = each / raised[:, None, None]
        else:
            V = self.A.T @ (w[:, None] * self.A) + FLOOR * w.max() * np.eye(self.A.shape[1])
            F = np.linalg.inv(np.linalg.cholesky(V)).T  # F F^T = V^-1
            p = posterior_of(model, w, nothing, np.ascontiguousarray(F))
            p.W[:] = self.Z @ F
        p.mu[:] = self.mu
        if model.control >= 0:
            p.slack[:] = -self.epsilon
        if self.problem.limited:
            allowed = np.asarray(keeping(self.mu, model.limits).all(axis=1))
            if len(model.limits.kept):
                allowed &= model.limits.kept > 0.0
            value, piece, gains = respond_limited(p, model.limits, allowed, self.inside)
            none = np.zeros(0, np.int64)
            return value, piece, none, none, np.zeros(0), nothing, gains
        found = interruptible(respond, p, np.flatnonzero(self.inside), np.inf)
        change = found[5] if model.unstructured else self.basis @ found[5]
        return (*found[:5], change, found[6])

    def respond(self, w: Floats) -> BestResponse:
        problem = self.problem
        if problem.limits:
            raise InputError(
                "the nearest other truth is not computed where there are limits: use "
                "complexity(), which has T*"
            )
        value, piece, xs, _, y, move, gains = self.answer(w)
        z = int(piece[0])
        rivals = {int(x) for x, active in zip(xs, y > 0, strict=True) if active}
        if not rivals:  # theta is on the boundary: whoever is level with z
            level = np.all(self.mu >= self.mu[z], axis=1) & self.inside
            rivals = set(np.flatnonzero(level).tolist()) - {z}
        parameter = self.truth.theta.copy()
        rest = slice(None) if self.left.facts is None else self.left.facts.rest
        parameter[:, rest] += self.left.outward(move)
        return BestResponse(
            value=float(value),
            parameter=frozen(parameter),
            gains=dict(zip(problem.arms, gains.tolist(), strict=True)),
            answer=problem.answers[z],
            rivals=tuple(problem.answers[x] for x in sorted(rivals)),
        )

    def settled(self, w: Floats) -> bool:
        """Whether exact metrics decide everything, so that there is no other set."""
        return self.left.facts is not None and bool(np.isinf(self.answer(w)[0]))

    def refuse_ties(self, w: Floats) -> None:
        if self.problem.limits:
            value, piece, *_ = self.answer(w)
            if value <= TIED:
                raise InputError(
                    f"T* is infinite: {self.problem.answers[int(piece[1])]!r} is at a limit, "
                    "or level with another, so that the smallest change alters the set"
                )
            return
        nearest = self.respond(w)
        if nearest.value <= TIED:
            raise InputError(
                f"T* is infinite: {nearest.answer!r} is level with {listing(nearest.rivals)} "
                "where it matters, so that the smallest change alters the Pareto set"
            )


def _read_weights(problem: Problem, given: Any) -> Floats:
    if isinstance(given, Mapping):
        named = {str(arm): weight for arm, weight in given.items()}
        check_keys("arm in the weights", named, problem.arms)
        given = [named.get(arm, 0.0) for arm in problem.arms]
    w = np.array(given, dtype=np.float64)
    if w.shape != (problem.K,):
        raise InputError(f"there must be {problem.K} weights, one per arm, got shape {w.shape}")
    for a in np.flatnonzero(~(np.isfinite(w) & (w >= 0))):
        raise InputError(
            f"the weight of {problem.arms[a]!r} must be finite and at least 0, got {w[a]}"
        )
    if not w.any():
        raise InputError("all weights are 0: give at least one arm a positive weight")
    return w


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise InputError(f"delta must lie strictly between 0 and 1, got {delta}")
