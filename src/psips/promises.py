"""What stands behind delta, in words that can be signed, and what a rule's evidence is."""

from __future__ import annotations

from psips.noise import KNOWN
from psips.problem import Problem
from psips.rules import Rules

PROVEN, MEASURED, HEURISTIC, BAYESIAN, NONE = (
    "proven",
    "measured",
    "heuristic",
    "bayesian",
    "none",
)


def kind_of_promise(rules: Rules) -> str:
    """Return which kind of promise the stopping rule carries.

    Examples
    --------
    >>> kind_of_promise(Rules()), kind_of_promise(Rules(stopping="certified"))
    ('measured', 'proven')
    """
    if rules.stopping == "never":
        return NONE
    if rules.stopping == "bayes":
        return BAYESIAN
    if rules.stopping in ("certified", "predicted") or rules.calibration == "proven":
        return PROVEN
    return MEASURED if rules.calibration == "measured" else HEURISTIC


def promise(rules: Rules, problem: Problem) -> str:
    """Say what stands behind delta with these rules in this problem.

    Examples
    --------
    >>> problem = Problem(objectives=["gain"], covariance=[1], arms=2)
    >>> promise(Rules(stopping="certified", delta=0.05), problem)
    'Proven: if the noise is Gaussian with the covariance registered, the set is wrong with ...
    """
    delta = f"{rules.delta:g}"
    known = " with the covariance registered" if problem.noise == KNOWN else ""
    return {
        NONE: "None: the rule 'never' does not stop, so nothing is claimed of the set.",
        BAYESIAN: (
            "Bayesian: at the stop, the posterior probability of another set is at most "
            f"{delta}, by the prior registered, or a flat one. This bounds no rate of error."
        ),
        PROVEN: (
            "Proven: if the noise is Gaussian with the covariance registered, the set is wrong "
            f"with probability at most {delta}, whatever the truth is{within(problem)}."
        ),
        MEASURED: (
            f"Measured, not proven: if the noise is Gaussian{known}, "
            f"the set is meant to be wrong with probability at most {delta}. In simulations "
            "of problems chosen to be hard for it, the rule kept to that; the calibration page "
            "of the documentation has them."
        ),
        HEURISTIC: (
            f"Heuristic: the thresholds aim at wrong sets with probability at most {delta}; "
            + (
                "in simulations the rule was wrong far more often where options nearly tie, or "
                "where one is slightly worse than another in several objectives."
                if rules.stopping in ("posterior", "glr")
                else "it is not proven that they keep to it."
            )
        ),
    }[kind_of_promise(rules)]


def short_promise(rules: Rules) -> str:
    """Return the promise in a few words.

    Examples
    --------
    >>> short_promise(Rules(delta=0.05))
    'confidence 0.95, measured'
    """
    level = f"{1 - rules.delta:.10g}"
    return {
        NONE: "no promise",
        BAYESIAN: f"posterior probability {level}",
        PROVEN: f"confidence {level}, proven",
        MEASURED: f"confidence {level}, measured",
        HEURISTIC: f"aimed at confidence {level}, without a promise",
    }[kind_of_promise(rules)]


def within(problem: Problem) -> str:
    """Say where the truth must lie for what is proven to hold."""
    return "" if problem.parameter_set is None else " within the parameter set registered"


def evidence_caption(rules: Rules) -> str:
    """Say what the figure of the evidence over time shows."""
    if rules.stopping == "glr":
        text = (
            "Evidence: how much less likely the data are under the likeliest other Pareto set, "
            "as a logarithm"
        )
        if rules.calibration == "measured":
            text += ", less what several near-ties take from it"
        return text + ". The rule stops when it is above the threshold."
    if rules.stopping == "predicted":
        return (
            "Evidence: how much less likely the results since the set was predicted are under "
            "the nearest other Pareto set, as a logarithm. The rule stops once all others have "
            "been proven wrong, each a little above the level; 0 where there is no prediction, "
            "or another than the candidate set."
        )
    if rules.stopping == "certified":
        return "Answers proven in or out. The rule stops when all are."
    text = (
        "The probability, given the data at the time, that the Pareto set is another than the "
        "candidate set. "
    )
    if rules.stopping == "posterior":
        widened = "" if rules.calibration == "sharp" else ", widened,"
        return text + (
            f"The rule draws M times from the posterior{widened} after every result and stops "
            "when no draw has another Pareto set. That happens by chance before the "
            "probability is below 1/M: the curve is often above that line at the stop."
        )
    if rules.stopping == "bayes":
        return text + "The rule stops at delta."
    if rules.stopping == "never":
        return text + "The rule never stops."
    return text + "The rule does not look at it: it stops by the confidence intervals of arms."
