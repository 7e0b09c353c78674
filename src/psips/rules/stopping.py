"""The stopping rules: when to stop. Each is declared here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from psips.rules.evidence import (
    BUDGET,
    CLAIMS,
    COMPARED,
    PROBABILITY,
    PROVEN_ANSWERS,
    RATIO,
    Curve,
    Evidence,
    Judged,
    Settled,
    of_claims,
    of_draws,
    of_intervals,
    of_nothing,
    of_ratio,
    of_threshold,
    of_verdicts,
)
from psips.rules.sampling import arms_one_by_one, fits_all
from psips.state import codes

if TYPE_CHECKING:
    from psips.problem import Problem

# Kinds of promise.
PROVEN, MEASURED, HEURISTIC, BAYESIAN, NONE = (
    "proven",
    "measured",
    "heuristic",
    "bayesian",
    "none",
)
BY_CALIBRATION = ""  # the promise of the calibration chosen


class Calibrated(NamedTuple):
    """A calibration: one line about it, its number in the kernels, the kind of its promise."""

    about: str
    code: int
    promise: str


CALIBRATION = {
    "measured": Calibrated(
        "of 'glr': the error rate stayed below delta in all simulations; not proven",
        codes.MEASURED,
        MEASURED,
    ),
    "heuristic": Calibrated(
        "as published; errs more often than delta where options nearly tie",
        codes.HEURISTIC,
        HEURISTIC,
    ),
    "sharp": Calibrated(
        "of 'posterior': fewer draws; errs more often still on near-ties",
        codes.SHARP,
        HEURISTIC,
    ),
    "proven": Calibrated(
        "the paper's lemma: errs with probability at most delta", codes.PROVEN, PROVEN
    ),
}


def _no_objection(problem: Problem, calibration: str, literal: bool) -> str:  # noqa: ARG001
    return ""


@dataclass(frozen=True)
class StoppingRule:
    """A stopping rule.

    Parameters
    ----------
    about : str
        One line on what it does.
    step : str or object
        The step of the core that judges the results, by its name in `src/core/steps.h`; or an
        object with a method ``should_stop(state)``, see `psips.session.own_rules`.
    promise : str
        What stands behind delta: one of the kinds above.
    caption : str
        What the figure of its evidence over time shows; ``nuance`` in it has a text for
        some calibrations.
    evidence, curve
        How far it has come, and what is drawn of that; see `psips.rules.evidence`.
    jumps : bool
        Whether it looks at the alternative, so that a cover of it is kept up to date.
    calibrations : tuple of str
        Those that it can have, its own first.
    unproven : str
        Why no calibration gives it a proof, "" if one does, or if it has one always.
    unproven_for : callable
        Of a problem, a calibration and whether draws are literal: what to say where there is
        no proof, "" if there is one.
    experience : str
        What is known of it where nothing is promised, or why nothing is.
    draws : bool
        Whether it counts draws that agree.
    literal : str
        Its step in the published loop, "" if it is no part of that.
    predicts : bool
        Whether it predicts sets and keeps accounts of them.
    settles : bool
        Whether it stops by verdicts on single answers.
    prior : bool
        Whether it may be used with a prior.
    exact : bool
        Whether it settles exact Pareto sets only, and has no use for a tolerance.
    any_noise : bool
        Whether noise may be estimated or differ from arm to arm, and values are missing.
    given_noise : bool
        The same, but for noise that is estimated.
    partner : str
        The only sampling rule that it goes with, "" if it goes with all.
    limited : str
        Its step where answers have to keep limits; "" if it is not made for them.
    price : str
        Measurements it takes compared with the default, if it is proven and worth its price.
    measured : tuple
        Pairs of a calibration and kappa with which `psips lab calibrate` measures it.
    misfit : callable
        Of a problem: why the rule is not made for it, "" if it is.
    """

    about: str
    step: Any
    promise: str
    caption: str
    nuance: Mapping[str, str] = field(default_factory=dict)
    evidence: Callable[[Judged, Settled], Evidence] = of_threshold
    curve: Curve = COMPARED
    jumps: bool = False
    calibrations: tuple[str, ...] = ()
    unproven: str = ""
    unproven_for: Callable[[Problem, str, bool], str] = _no_objection
    experience: str = "it is not proven that they keep to it."
    draws: bool = False
    literal: str = ""
    predicts: bool = False
    settles: bool = False
    prior: bool = False
    exact: bool = False
    any_noise: bool = False
    given_noise: bool = False
    partner: str = ""
    limited: str = ""
    price: str = ""
    measured: tuple[tuple[str, float], ...] = ()
    misfit: Callable[[Problem], str] = fits_all


def has_certificates(problem: Problem) -> bool:
    """Whether verdicts, and the threshold beta, have a proof for this problem."""
    from psips.problem.parameters import Ball

    return problem.unstructured or isinstance(problem.parameter_set, Ball)


def _certificates(name: str) -> Callable[[Problem, str, bool], str]:
    def unproven_for(problem: Problem, calibration: str, literal: bool) -> str:  # noqa: ARG001
        if has_certificates(problem):
            return ""
        return (
            f"the stopping rule {name!r} has no proof for a linear problem without "
            f"parameter_set=Ball(...): give one (a Box is not enough), or choose "
            f"stopping='glr' with calibration='measured'"
        )

    return unproven_for


def _if_proven(
    unproven_for: Callable[[Problem, str, bool], str],
) -> Callable[[Problem, str, bool], str]:
    """Return the objection for the calibration "proven" alone."""

    def of_calibration(problem: Problem, calibration: str, literal: bool) -> str:
        return unproven_for(problem, calibration, literal) if calibration == "proven" else ""

    return of_calibration


def _posterior_lemma(problem: Problem, calibration: str, literal: bool) -> str:  # noqa: ARG001
    bounded = has_certificates(problem)
    if problem.unstructured or (problem.d == 1 and bounded):
        return ""
    what = "with several objectives" if problem.d > 1 else "without parameter_set=Ball(...)"
    needed = ["draws='first-hit'"] if literal else []
    needed += [] if bounded else ["parameter_set=Ball(...)"]
    wanted = f" with {' and '.join(needed)}" if needed else ""
    return (
        f"no proof of the posterior stopping rule is known for a linear problem {what}: choose "
        f"stopping='certified' or 'glr', which have one{wanted}, or calibration='heuristic'"
    )


_POSTERIOR = (
    "The probability, given the data at the time, that the Pareto set is another than the "
    "candidate set. "
)
_INTERVALS = "The rule does not look at it: it stops by the confidence intervals of arms."
_COMPARED_WITH = "has the threshold that methods are compared with"
_NEAR_TIES = (
    "in simulations the rule was wrong far more often where options nearly tie, or where one "
    "is slightly worse than another in several objectives."
)

STOPPING = {
    "glr": StoppingRule(
        "stops when the likelihood ratio against all other sets is large",
        "glr",
        promise=BY_CALIBRATION,
        caption=(
            "Evidence: how much less likely the data are under the likeliest other Pareto "
            "set, as a logarithm{nuance}. The rule stops when it is above the threshold."
        ),
        nuance={"measured": ", less what several near-ties take from it"},
        evidence=of_ratio,
        curve=RATIO,
        jumps=True,
        calibrations=("measured", "heuristic", "proven"),
        unproven_for=_if_proven(_certificates("glr")),
        experience=_NEAR_TIES,
        any_noise=True,
        limited="limited",
        measured=(("measured", 1.0), ("heuristic", 1.0), ("proven", 1.0)),
    ),
    "posterior": StoppingRule(
        "stops when M posterior draws all agree with the candidate",
        "posterior",
        promise=BY_CALIBRATION,
        caption=_POSTERIOR
        + (
            "The rule draws M times from the posterior{nuance} after every result and stops "
            "when no draw has another Pareto set. That happens by chance before the "
            "probability is below 1/M: the curve is often above that line at the stop."
        ),
        nuance={"heuristic": ", widened,", "proven": ", widened,"},
        evidence=of_draws,
        curve=BUDGET,
        jumps=True,
        calibrations=("heuristic", "sharp", "proven"),
        unproven_for=_if_proven(_posterior_lemma),
        experience=_NEAR_TIES,
        draws=True,
        literal="published",
        measured=(
            ("heuristic", 1.0),
            ("sharp", 2.0),
            ("sharp", 1.0),
            ("sharp", 0.5),
            ("proven", 1.0),
        ),
    ),
    "certified": StoppingRule(
        "stops when every answer is proven in or out; proven, any sampling",
        "certified",
        promise=PROVEN,
        price="2 to 3 times",
        caption="Answers proven in or out. The rule stops when all are.",
        evidence=of_verdicts,
        curve=PROVEN_ANSWERS,
        unproven_for=_certificates("certified"),
        settles=True,
        any_noise=True,
        measured=(("heuristic", 1.0),),
    ),
    "predicted": StoppingRule(
        "predicts a set, then proves it from later results; proven",
        "predicted",
        promise=PROVEN,
        price="about 1.5 times",
        caption=(
            "Evidence: how much less likely the results since the set was predicted are under "
            "the nearest other Pareto set, as a logarithm. The rule stops once all others have "
            "been proven wrong, each a little above the level, or by certificates, which need "
            "no prediction and have a twentieth of delta; 0 where there is no prediction, or "
            "one that the estimates contradict."
        ),
        evidence=of_claims,
        curve=CLAIMS,
        predicts=True,
        measured=(("heuristic", 1.0),),
    ),
    "bayes": StoppingRule(
        "stops when the posterior probability of another set is at most delta",
        "bayes",
        promise=BAYESIAN,
        caption=_POSTERIOR + "The rule stops at delta.",
        curve=PROBABILITY,
        jumps=True,
        unproven="promises a posterior probability and bounds no rate of errors",
        prior=True,
        given_noise=True,
        measured=(("heuristic", 1.0),),
    ),
    "ape": StoppingRule(
        "stops when confidence intervals settle every arm in or out",
        "ape",
        promise=BY_CALIBRATION,
        caption=_POSTERIOR + _INTERVALS,
        evidence=of_intervals,
        curve=PROBABILITY,
        calibrations=("heuristic",),
        unproven=_COMPARED_WITH,
        exact=True,
        misfit=arms_one_by_one("ape"),
    ),
    "elimination": StoppingRule(
        "stops when every arm is accepted or dropped",
        "elimination",
        promise=BY_CALIBRATION,
        caption=_POSTERIOR + _INTERVALS,
        evidence=of_intervals,
        curve=PROBABILITY,
        calibrations=("heuristic",),
        unproven=_COMPARED_WITH,
        exact=True,
        partner="elimination",
        misfit=arms_one_by_one("elimination"),
    ),
    **{
        name: StoppingRule(
            "ends with its budget, at what it has accepted by then",
            step,
            promise=NONE,
            caption=_POSTERIOR + "The rule does not look at it: it ends with its budget.",
            evidence=of_intervals,
            curve=PROBABILITY,
            unproven="ends with its budget, whatever delta is",
            experience="ends with its budget, whatever delta is",
            partner=name,
            exact=True,
            misfit=arms_one_by_one(name),
        )
        for name, step in (
            ("ege-sr", "ege_sr"),
            ("ege-sh", "ege_sh"),
        )
    },
    "two-stage": StoppingRule(
        "stops when it is clear which options keep the limits, and which of these are optimal",
        "two_stage",
        promise=BY_CALIBRATION,
        caption=_POSTERIOR + "The rule does not look at it: it goes by likelihood ratios.",
        curve=PROBABILITY,
        calibrations=("measured",),
        unproven=_COMPARED_WITH,
        any_noise=True,
        partner="two-stage",
        limited="two_stage",
    ),
    "never": StoppingRule(
        "never stops by itself",
        "never",
        promise=NONE,
        caption=_POSTERIOR + "The rule never stops.",
        evidence=of_nothing,
        curve=PROBABILITY,
        unproven="never stops and claims nothing",
        experience="does not stop",
        literal="never_published",
        prior=True,
        any_noise=True,
        limited="never",
    ),
}
