"""The sampling rules: which arm is pulled next. Each is declared here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from psips.state.codes import DIRECTED, MIXTURE, NOBODY, POSTERIOR, PROJECTED, TRACK

if TYPE_CHECKING:
    from psips.problem import Problem


class Choice(NamedTuple):
    """One line on what a choice means, and its number in the kernels."""

    about: str
    code: int


def fits_all(problem: Problem) -> str:  # noqa: ARG001
    """Return why a rule is not made for a problem; "" if it is."""
    return ""


@dataclass(frozen=True)
class SamplingRule:
    """A sampling rule.

    Parameters
    ----------
    about : str
        One line on what it does.
    step : str or object
        The step of the core that chooses an arm, by its name in `src/core/steps.h`; or an
        object with a method ``choose(state)``, see `psips.session.own_rules`.
    own : str
        The stopping rule that it brings along.
    calibration : str
        That of its own stopping rule, if it was published with another than the rule's first.
    jumps : bool
        Whether it draws from the alternative, so that a cover of it is kept up to date.
    learner : int
        Who learns from those draws, see `psips.state.codes`.
    proving : str
        The step that chooses while a set that was predicted is proven; "" if it is ``step``.
    certifying : str
        The step that chooses while single answers are proven without one covariance for all
        arms; "" if it is ``step``.
    seeking : str
        The step that chooses while a goal other than the whole set is not reached; "" if it
        is one of the others.
    baseline : bool
        Whether it has rounds and a state of its own.
    budgeted : bool
        Whether it divides a budget, and cannot do without one.
    knows : bool
        Whether it knows the truth, so that it serves in simulations only.
    any_noise : bool
        Whether noise may be estimated or differ from arm to arm, and values are missing.
    limited : str
        The step that chooses where answers have to keep limits; "" if there is none.
    misfit : callable
        Of a problem: why the rule is not made for it, "" if it is.
    """

    about: str
    step: Any
    own: str = "glr"
    calibration: str = ""
    jumps: bool = False
    learner: int = NOBODY
    proving: str = ""
    certifying: str = ""
    seeking: str = ""
    baseline: bool = False
    budgeted: bool = False
    knows: bool = False
    any_noise: bool = False
    limited: str = ""
    misfit: Callable[[Problem], str] = fits_all


def arms_one_by_one(name: str) -> Callable[[Problem], str]:
    """Return a check that refuses features, which intervals of single arms do not see."""

    def misfit(problem: Problem) -> str:
        if problem.unstructured:
            return ""
        return (
            f"the rule {name!r} compares arms measured one by one and has no use for "
            f"features: choose 'track-and-stop' or 'projected' in a linear problem"
        )

    return misfit


def _equal_costs(name: str) -> Callable[[Problem], str]:
    """Return a check that refuses features and costs, which equal pulls do not see."""

    def misfit(problem: Problem) -> str:
        if problem.has_costs:
            return (
                f"the rule {name!r} divides a budget of results and has no use for costs: "
                f"choose 'directed', which spends where it learns most per cost"
            )
        return arms_one_by_one(name)(problem)

    return misfit


def _one_objective(problem: Problem) -> str:
    if problem.unstructured and problem.d == 1:
        return ""
    linear = "" if problem.unstructured else ", with features"
    return (
        f"the sampling rule 'top-two' finds the best of arms without features by one "
        f"objective: this problem has {problem.d} objective(s){linear}"
    )


def _with_limits(problem: Problem) -> str:
    if problem.limited:
        return ""
    return (
        "the sampling rule 'two-stage' is for limits, and this problem has none: "
        "choose 'directed'"
    )


SAMPLING = {
    "directed": SamplingRule(
        "pulls the arms most informative about the piece of the alternative just drawn",
        "directed",
        jumps=True,
        learner=DIRECTED,
        proving="predicted",
        certifying="certified",
        seeking="goal",
        any_noise=True,
        limited="limited",
    ),
    "projected": SamplingRule(
        "AdaHedge against the nearest point of the piece that was drawn",
        "projected",
        jumps=True,
        learner=PROJECTED,
        any_noise=True,
    ),
    "posterior": SamplingRule(
        "PSIPS as published: AdaHedge against posterior draws",
        "posterior",
        own="posterior",
        jumps=True,
        learner=POSTERIOR,
    ),
    "uniform": SamplingRule(
        "an arm at random",
        "uniform",
        any_noise=True,
        limited="uniform",
    ),
    "round-robin": SamplingRule(
        "the arm with the fewest pulls",
        "round_robin",
        any_noise=True,
        limited="round_robin",
    ),
    "oracle": SamplingRule(
        "the optimal weights of the truth, for comparison",
        "oracle",
        knows=True,
        limited="oracle",
    ),
    "two-stage": SamplingRule(
        "first the options that keep the limits, then their front; a baseline",
        "two_stage",
        own="two-stage",
        any_noise=True,
        limited="two_stage",
        misfit=_with_limits,
    ),
    "ape": SamplingRule(
        "APE (Kone et al. 2023): the least certain arm, or its nearest rival",
        "ape",
        own="ape",
        baseline=True,
        misfit=arms_one_by_one("ape"),
    ),
    "ege-sr": SamplingRule(
        "EGE-SR (Kone et al. 2024): divides a budget, successive rejects",
        "ege_sr",
        own="ege-sr",
        baseline=True,
        budgeted=True,
        misfit=_equal_costs("ege-sr"),
    ),
    "ege-sh": SamplingRule(
        "EGE-SH (Kone et al. 2024): divides a budget, sequential halving",
        "ege_sh",
        own="ege-sh",
        baseline=True,
        budgeted=True,
        misfit=_equal_costs("ege-sh"),
    ),
    "elimination": SamplingRule(
        "Auer et al. 2016: all arms not yet accepted or dropped, in turn",
        "elimination",
        own="elimination",
        baseline=True,
        misfit=arms_one_by_one("elimination"),
    ),
    "top-two": SamplingRule(
        "Top-Two Thompson Sampling (Russo 2016), for one objective",
        "top_two",
        own="posterior",
        baseline=True,
        misfit=_one_objective,
    ),
    "track-and-stop": SamplingRule(
        "Crepon et al. 2024: weights climb the gradient of the likelihood ratio",
        "track_and_stop",
        calibration="heuristic",
        baseline=True,
    ),
}
DRAWS = {
    "first-hit": Choice("jumps to the first draw in the alternative; same law", 0),
    "literal": Choice("one draw after the other, as published", 1),
}
TRACKING = {
    "c-tracking": Choice("the arm furthest behind the weights played so far", TRACK),
    "mixture": Choice("an arm drawn from the weights, as published", MIXTURE),
}
