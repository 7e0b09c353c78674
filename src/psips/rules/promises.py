"""What stands behind delta, in words that can be signed, and what a rule's evidence is."""

from __future__ import annotations

from psips.problem import Problem
from psips.rules.config import Rules
from psips.rules.stopping import (
    BAYESIAN,
    CALIBRATION,
    HEURISTIC,
    MEASURED,
    NONE,
    PROVEN,
    STOPPING,
)


def kind_of_promise(rules: Rules) -> str:
    """Return which kind of promise the stopping rule carries.

    Examples
    --------
    >>> kind_of_promise(Rules()), kind_of_promise(Rules(stopping="certified"))
    ('measured', 'proven')
    """
    return STOPPING[rules.stopping].promise or CALIBRATION[rules.calibration].promise


def promise(rules: Rules, problem: Problem) -> str:
    """Say what stands behind delta with these rules in this problem.

    Examples
    --------
    >>> problem = Problem(objectives=["gain"], covariance=[1], arms=2)
    >>> promise(Rules(stopping="certified", delta=0.05), problem)
    'Proven: if the noise is Gaussian with the covariance registered, the set is wrong with ...
    """
    delta = f"{rules.delta:g}"
    given = problem.covariance is not None
    known = " with the covariance registered" if given else ", its covariance estimated"
    page = "calibration" if given else "noise that is not known"
    found = {
        NONE: (
            f"None: the rule {rules.stopping!r} {STOPPING[rules.stopping].experience}, so "
            "nothing is claimed of the set."
        ),
        BAYESIAN: (
            "Bayesian: at the stop, the posterior probability of another set is at most "
            f"{delta}, by the prior registered, or a flat one. This bounds no rate of error."
        ),
        PROVEN: (
            f"Proven: if {assumed(problem)}, the set is wrong "
            f"with probability at most {delta}, whatever the truth is{within(problem)}."
            f"{_price(rules)}"
        ),
        MEASURED: (
            f"Validated by simulation, not proven: if the noise is Gaussian{known}, "
            f"the set is meant to be wrong with probability at most {delta}. In simulations "
            f"of problems chosen to be hard for it, the rule kept to that; the page on {page} "
            "in the documentation has them."
        ),
        HEURISTIC: (
            f"Heuristic: the thresholds aim at wrong sets with probability at most {delta}; "
            f"{STOPPING[rules.stopping].experience}"
        ),
    }[kind_of_promise(rules)]
    return f"{found} {wrong_means(problem)}".strip()


def _price(rules: Rules) -> str:
    """Say what a proof costs."""
    price = STOPPING[rules.stopping].price
    return f" This takes {price} the measurements of the default." if price else ""


def wrong_means(problem: Problem) -> str:
    """Say what is wrong if there is a tolerance.

    Examples
    --------
    >>> problem = Problem(objectives=["gain"], covariance=[1], arms=2, epsilon=0.1)
    >>> wrong_means(problem)
    'With a tolerance of 0.1 on gain a set is wrong if an answer in it is beaten by more ...
    """
    if not problem.tolerance:
        return _limits(problem)
    return _limits(problem) + (
        f"With a tolerance of {problem.tolerance} a set is wrong if an answer in it is beaten "
        "by more than that in every objective, or if one left out is better by more than that, "
        "in some objective, than each answer in it. Several sets can be right."
    )


def _limits(problem: Problem) -> str:
    if not problem.limits:
        return ""
    said = "; ".join(problem.limit_texts)
    return f"The set is that of the answers that keep the limits ({said}). "


def short_promise(rules: Rules) -> str:
    """Return the promise in a few words.

    Examples
    --------
    >>> short_promise(Rules(delta=0.05))
    '95% confidence, validated'
    """
    level = f"{100 * (1 - rules.delta):.10g}%"
    return {
        NONE: "no promise",
        BAYESIAN: f"posterior probability {level}",
        PROVEN: f"{level} confidence, proven",
        MEASURED: f"{level} confidence, validated",
        HEURISTIC: f"aimed at {level} confidence, without a promise",
    }[kind_of_promise(rules)]


def verdicts_promise(rules: Rules, problem: Problem) -> str:
    """Say what stands behind the verdicts on single answers.

    Examples
    --------
    >>> problem = Problem(objectives=["gain"], covariance=[1], arms=2)
    >>> verdicts_promise(Rules(delta=0.05), problem)
    'with probability 0.95 none of them is ever wrong if the noise is Gaussian with the ...
    """
    text = (
        f"with probability {1 - rules.delta:.10g} none of them is ever wrong if "
        f"{assumed(problem)}"
    )
    if STOPPING[rules.stopping].predicts:
        return (
            f"{text}; a tenth of {rules.delta:g} is for certificates that need no prediction, "
            "the rest for the claims of the sets predicted"
        )
    return f"{text}, whichever rule stops"


def assumed(problem: Problem) -> str:
    """Say of results what everything that is proven rests on.

    Examples
    --------
    >>> assumed(Problem(objectives=["gain"], covariance=[1], arms=2))
    'the noise is Gaussian with the covariance registered'
    >>> assumed(Problem(objectives=["gain"], arms=2))
    'the noise of each arm is Gaussian, of any covariance'
    >>> assumed(Problem(objectives={"score": {"range": [0, 5]}, "gain": "max"}, arms=2))
    "the mean of each arm stays the same and results lie in the ranges registered, for any ...
    """
    missing = ""
    if problem.partial:
        missing = ", and whether a value is missing does not depend on it"
    if problem.covariance is not None:
        each = "covariance" if problem.covariance.ndim == 2 else "covariances"
        return f"the noise is Gaussian with the {each} registered{missing}"
    pairs = list(zip(problem.objectives, problem.scales, strict=True))
    free = [repr(name) for name, scale in pairs if scale.range is None]
    if len(free) == len(pairs):
        return f"the noise of each arm is Gaussian, of any covariance{missing}"
    ranges = "binary" if all(scale.binary for _, scale in pairs) else "in the ranges registered"
    found = (
        "the mean of each arm stays the same and results "
        f"{'are' if ranges == 'binary' else 'lie'} {ranges}, for any distribution"
    )
    if free:
        found += f", but Gaussian, of any variance, in {', '.join(free)}"
    return f"{found}{missing}"


def within(problem: Problem) -> str:
    """Say where the truth must lie for what is proven to hold."""
    return "" if problem.parameter_set is None else " within the parameter set registered"


def evidence_caption(rules: Rules) -> str:
    """Say what the figure of the evidence over time shows."""
    rule = STOPPING[rules.stopping]
    return rule.caption.format(nuance=rule.nuance.get(rules.calibration, ""))
