"""What is to be decided: arms that can be pulled, answers, objectives, and the noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, counted, quote
from psips.input.checks import (
    frozen,
    read_arms,
    read_directions,
    read_items,
    read_names,
    read_objectives,
    read_positive,
)
from psips.input.former_names import read_renamed
from psips.input.names import as_recorded
from psips.notebook import card, names
from psips.problem.arrays import coordinates_of, model_of
from psips.problem.coordinates import (
    Coordinates,
    orthonormal,
)
from psips.problem.costs import read_costs
from psips.problem.data import ProblemData
from psips.problem.exact import check_exact, declared, without
from psips.problem.features import read_design
from psips.problem.limits import only_limited, read_limits
from psips.problem.noise import (
    ESTIMATE,
    PER_ARM,
    NoiseGuess,
    check_noise_of_fit,
    read_guess,
    read_noise,
)
from psips.problem.parameters import Ball, Box, Prior, read_prior
from psips.problem.recorded import read_record
from psips.problem.scales import Scale, read_scale
from psips.problem.shared_items import check_items, check_number_of_arms
from psips.problem.tolerance import read_epsilon
from psips.state.model import Model

MOST_WITH_MISSING = 8  # objectives, if values may be missing: patterns of them are counted


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Problem(ProblemData):
    """A Pareto set identification problem, checked once and then frozen.

    Everything a user sees is in the user's own orientation: an objective to minimise is
    negated only in `model`, which is what the kernels read.

    Parameters
    ----------
    objectives : names, pairs (name, direction), or mapping from name to direction
        A direction is ``"max"`` or ``"min"``; names alone are maximised. In its place may be a
        mapping that also says what the values are: ``{"direction": "max", "kind": "binary"}``
        (0 or 1), ``"kind": "exact"`` (no noise: the same in all results of an arm),
        ``"range": [0, 5]``, ``"transform": "log"`` (what is compared are means of the
        logarithm).
    covariance : matrix, one variance per objective, or mapping from objective to variance
        Of the noise of one measurement; 0 for a metric that is exact. A mapping from arm to any
        of these, or an array (K, d, d), if it differs from arm to arm. ``"per-arm"``: to be
        estimated, for each arm; ``"estimate"``: to be estimated, and the same for all arms. If
        left out, it is estimated: for each arm without features, for all together with them.
    arms : names, or how many
        Taken from ``features`` if left out. With a DataFrame of features: the rows to use.
    features : (K, h) array or DataFrame with the arms' names as index, optional
        Without features the arms are unrelated (unstructured).
    answers : DataFrame or pair (names, array), optional
        What the question is about, if not the arms themselves (transductive).
    intercept : bool, optional
        Whether a constant is fitted besides the features: a feature ``"intercept"`` that is 1
        everywhere, with a row of theta of its own, the last. If left out, it is unless the
        features span a constant already.
    parameter_set : Ball or Box, optional
        What is known of theta beforehand. The learner looks for alternatives inside, and
        the proofs for linear problems need a Ball; the stopping rules and the posterior
        probabilities do not count on it. It is about all of theta, the intercept included.
    prior : Prior, optional
        What is believed of the arms' means, for the stopping rule ``bayes``.
    regularization : float, optional
        ``xi`` of ``V = xi I + sum a a^T``; used only with features. It is a prior around 0 in
        the units of the features, worth its number of results. If left out, estimates are
        least squares, nothing depends on units, and the arms that are pulled first span the
        features. With a Ball it is then the variance of the noise over the squared radius
        (the mean over the objectives).
    noise_guess : NoiseGuess, optional
        What is believed of a covariance that is to be estimated.
    partial : bool
        Whether a result may lack some of its values.
    costs : mapping from arm to cost, or sequence in the order of the arms, optional
        What one pull costs, in any unit; 1 where nothing is said. The sampling rule
        ``directed``, the default, then spends where it learns most per cost; the others do not
        look at costs. With features, the first pulls span them at little cost, whatever the
        rule. What is claimed at the stop does not depend on costs.
    items : bool, list of names, or how many
        Whether results of different arms share items: the same question put to several
        models, common random numbers, plots of one field. Results are then compared within
        items, and the tickets of `Session.ask` have an item. True: as many items as are needed.
        A list: the items there are, in the order in which every arm goes through them (a
        random one, if they stand for others); a number: items named from 1 to it. The
        covariance must be left to be estimated, of items and of results within them.
    control : str, optional
        The answer that others are compared with: a placebo, what is in use today. For the
        goal ``"beat control"`` of a session, and for tolerances in percent.
    epsilon : number, or mapping from objective to number or percentage, optional
        A tolerance: differences up to it do not matter. An answer that is no better than
        another by more may be left out, one that is beaten by no more may be in; see
        `psips.problem.tolerance`. ``"5%"`` is that part of the control's mean; where logarithms
        are compared it is a factor of 1.05 and needs no control.
    limits : sequence of str, optional
        What an answer must keep to be one: ``"toxicity <= 0.3"``, ``"cost between 1 and 2"``,
        ``"latency <= 1.1 * control"``; see `psips.problem.limits`. A metric with the direction
        ``"limit"`` is limited and no objective.
    name : str
        For titles and reports.
    blocks
        The former name of ``items``.

    Examples
    --------
    >>> problem = Problem(
    ...     objectives={"yield": "max", "cost": "min"}, covariance=[1, 4], arms=["A", "B", "C"]
    ... )
    >>> problem
    Problem(3 arms, 2 objectives)
    >>> problem.inward([5.0, 2.0])
    array([ 5., -2.])

    Answers with equal features cannot be told apart and are one answer with several names:

    >>> linear = Problem(
    ...     objectives=["yield"], covariance=[1], arms=["A", "B", "C"],
    ...     features=[[1, 0], [0, 1], [1, 0]],
    ... )
    >>> linear.answers, linear.aliases["A"]
    (('A', 'B'), ('A', 'C'))
    """

    def __init__(
        self,
        *,
        objectives: Sequence[object] | Mapping[Any, Any],
        covariance: object = None,
        arms: Iterable[object] | int | None = None,
        features: object = None,
        answers: object = None,
        intercept: bool | None = None,
        parameter_set: Ball | Box | None = None,
        prior: Prior | None = None,
        regularization: float | None = None,
        noise_guess: NoiseGuess | None = None,
        partial: bool = False,
        costs: object = None,
        control: object = None,
        epsilon: object = None,
        limits: object = None,
        items: bool | int | Iterable[object] = False,
        name: str = "",
        blocks: object = None,
    ) -> None:
        put = self.__dict__.__setitem__  # a frozen dataclass is filled here and only here
        put("name", str(name))
        objectives = read_objectives(objectives)
        put("objectives", read_names("objective", objectives))
        if not self.objectives:
            raise InputError("there are no objectives: name at least one")
        put("directions", read_directions(self.objectives, objectives))
        put("scales", _read_scales(self.objectives, objectives))
        put("signs", frozen(np.where(np.array(self.directions) == "min", -1.0, 1.0)))
        if regularization is not None:
            regularization = read_positive("regularization", regularization)
        put("regularization", regularization)
        if intercept is not None and not isinstance(intercept, bool):
            raise InputError(
                f"intercept must be True, False or left out, got {quote(intercept)}"
            )
        put("unstructured", features is None)
        put("transductive", answers is not None)
        if features is None:
            if answers is not None:
                raise InputError("answers were given without features of the arms: give both")
            if intercept:
                raise InputError("an intercept belongs to features: give them, or leave it out")
            put("arms", read_arms(arms))
            put("answers", self.arms)
            put("aliases", {arm: (arm,) for arm in self.arms})
            put("features", None)
            put("answer_features", None)
            put("feature_names", ())
            put("intercept", False)
        else:
            for field, value in (
                read_design(features, arms, answers, intercept)._asdict().items()
            ):
                put(field, frozen(value) if isinstance(value, np.ndarray) else value)
        if covariance is None:
            covariance = PER_ARM if self.unstructured else ESTIMATE
        for field, found in zip(
            ("noise", "covariance"),
            read_noise(self.objectives, self.arms, covariance, self.exact),
            strict=True,
        ):
            put(field, found)
        if self.covariance is not None:
            put("scales", _exact_where(self.scales, self.objectives, self.covariance))
        put("facts", None)
        check_exact(self)
        guess = read_guess(self.objectives, self.noise, noise_guess, self.exact)
        put("noise_guess", guess)
        if not isinstance(partial, bool):
            raise InputError(f"partial must be True or False, got {quote(partial)}")
        put("partial", partial)
        items = read_renamed("items", items, "blocks", blocks, absent=False)
        put("items", () if isinstance(items, bool) else read_items(items))
        put("has_items", items is True or bool(self.items))
        self._check_noise()
        kind, few = ("answer", self.n) if self.transductive else ("arm", self.K)
        if few < 2:
            raise InputError(f"a problem needs at least two {kind}s, got {few}")
        if self.n < 2:
            raise InputError("all answers have equal features: there is nothing to tell apart")
        put("costs", frozen(read_costs(self.arms, costs)))
        put("control", None if control is None else self.answers[self.answer_index(control)])
        put(
            "tolerance",
            read_epsilon(
                *(self.objectives, self.scales, self.control, self.unstructured, epsilon),
                limited=[self.objectives[c] for c in only_limited(self.directions)],
            ),
        )
        setting = (self.objectives, self.directions, self.scales, self.control)
        put("limits", read_limits(*setting, self.unstructured, limits))
        put("parameter_set", parameter_set)
        self.theta_limits()  # complains about a set that does not fit
        put("prior", None if prior is None else read_prior(self.arms, self.objectives, prior))
        if isinstance(parameter_set, Box) and self.features is not None:
            rank = orthonormal(self.features).A.shape[1]
            if regularization is None and rank < self.h:
                raise InputError(
                    f"the {self.h} features of the arms have rank {rank}, so that results do "
                    f"not tell every entry of theta, which a Box is about: leave out features "
                    f"that depend on others, or give a regularization"
                )

    def _check_noise(self) -> None:
        """Refuse noise that cannot be used with features, or too many objectives for it."""
        if not self.unstructured:
            check_noise_of_fit(self.noise, self.joint, self.n, self.d)
        if self.has_items:
            check_items(self.unstructured, self.noise, self.noise_guess, self.partial)
            check_number_of_arms(self.K, self.d)
        if self.partial and self.d > MOST_WITH_MISSING:
            raise InputError(
                f"values may be missing in at most {MOST_WITH_MISSING} objectives, got {self.d}"
            )

    @cached_property
    def model(self) -> Model:
        """The problem as the kernels read it: arrays, every objective maximised."""
        return model_of(self.noisy, self.coordinates)

    @cached_property
    def noisy(self) -> Problem:
        """What is left when its exact metrics are facts; itself if it has none."""
        return without(self, declared(self))

    @property
    def exact(self) -> list[str]:
        """The metrics that are registered as exact, without noise."""
        return [self.objectives[c] for c in declared(self)]

    @cached_property
    def coordinates(self) -> Coordinates:
        """The features as the kernels read them, see `psips.problem.coordinates`."""
        return coordinates_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, strings and numbers; `from_dict` gives back the same problem exactly."""
        theta, guess = self.parameter_set, self.noise_guess
        scales = [scale.to_dict() for scale in self.scales]
        answers = None
        given = self.h - self.intercept  # features
        if self.transductive and self.answer_features is not None:
            rows = dict(
                zip(self.answers, self.answer_features[:, :given].tolist(), strict=True)
            )
            answers = [[name, rows[a]] for a in self.answers for name in self.aliases[a]]
        return {
            "name": self.name,
            "objectives": list(self.objectives),
            "directions": list(self.directions),
            "covariance": self.noise if self.covariance is None else self.covariance.tolist(),
            "arms": list(self.arms),
            "feature_names": list(self.feature_names[:given]),
            "features": None if self.features is None else self.features[:, :given].tolist(),
            "answers": answers,
            "ball": theta.radius if isinstance(theta, Ball) else None,
            "box": [theta.low, theta.high] if isinstance(theta, Box) else None,
            "regularization": self.regularization,
            **({} if self.unstructured else {"intercept": self.intercept}),
            **({} if self.prior is None else {"prior": asdict(self.prior)}),
            **({"costs": self.costs.tolist()} if self.has_costs else {}),
            **({} if self.control is None else {"control": self.control}),
            **({"epsilon": self.tolerance.given} if self.tolerance else {}),
            **({"limits": self.limit_texts} if self.limits else {}),
            **({} if guess is None else {"noise_guess": asdict(guess)}),
            **({"scales": scales} if any(scales) else {}),
            **({"partial": True} if self.partial else {}),
            **({"blocks": list(self.items) or True} if self.has_items else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Problem:
        """Rebuild what `to_dict` wrote; without the key ``intercept`` there is none.

        Examples
        --------
        >>> import json
        >>> problem = Problem(objectives={"cost": "min"}, covariance=[0.1], arms=2)
        >>> Problem.from_dict(json.loads(json.dumps(problem.to_dict()))) == problem
        True
        """
        with as_recorded():
            return cls(**read_record(data))

    def asking(self, **keys: object) -> Problem:
        """Return the same problem with other keys, named as in files.

        Examples
        --------
        >>> problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B"])
        >>> problem.asking(costs=[1, 5]).costs.tolist()
        [1.0, 5.0]
        """
        data = {key: value for key, value in self.to_dict().items() if key not in keys}
        return Problem.from_dict({**data, **keys})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # arrays inside

    def _repr_html_(self) -> str:
        goals = ["minimised" if sign < 0 else "maximised" for sign in self.signs]
        goals = [f"{o} ({goal})" for o, goal in zip(self.objectives, goals, strict=True)]
        facts = {"objectives": names(goals), "arms": f"{self.K:,}: {names(self.arms)}"}
        if self.answers != self.arms:
            facts["answers"] = f"{self.n:,}: {names(self.answers)}"
        return card(f"Problem {self.name}".strip(), facts)

    def __repr__(self) -> str:
        title = f"{self.name!r}: " if self.name else ""
        answers = f", {counted(self.n, 'answer')}" if self.answers != self.arms else ""
        return (
            f"Problem({title}{counted(self.K, 'arm')}{answers}, {counted(self.d, 'objective')})"
        )


def _exact_where(
    scales: Sequence[Scale], names: Sequence[str], covariance: Floats
) -> tuple[Scale, ...]:
    """Return scales that are exact where the variance was given as 0."""
    none = np.diagonal(covariance, axis1=-2, axis2=-1).reshape(-1, len(scales))[0] == 0.0
    for c in np.flatnonzero(none).tolist():
        if scales[c].binary:
            raise InputError(
                f"{quote(names[c])} is binary, but its variance is given as 0: register it "
                f"with kind = 'exact', or leave the variance out"
            )
    return tuple(
        one._replace(exact=True) if zero else one
        for one, zero in zip(scales, none, strict=True)
    )


def _read_scales(names: Sequence[str], given: object) -> tuple[Scale, ...]:
    """Return what is said of the values of each objective."""
    said = list(given.values()) if isinstance(given, Mapping) else [None] * len(names)
    return tuple(
        read_scale(name, one) if isinstance(one, Mapping) else Scale()
        for name, one in zip(names, said, strict=True)
    )
