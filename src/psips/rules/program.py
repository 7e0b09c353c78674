"""Rules as a run follows them: the steps of its loop and the numbers these read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from psips.errors import InputError, NoProofError, listing
from psips.problem import Problem
from psips.problem.goals_and_budget import Goal
from psips.problem.parameters import Ball
from psips.rules.sampling import SAMPLING, SamplingRule
from psips.rules.stopping import CALIBRATION, PROVEN, STOPPING, StoppingRule
from psips.state.codes import NOBODY
from psips.state.model import BALL

if TYPE_CHECKING:
    from psips.state.calibration import Calibration
    from psips.state.run import Options

COVER, SET, LIMITED = "cover", "set", "limited"  # how the candidate set is brought up to date
LOW = 50.0  # measurements of an option from which on delta is spent: few experiments end before
HIGH = 5_000.0  # .. times sqrt(h) in all, up to which: less saves there, and costs near-ties
COMPARED = 3.0  # of h options inform a comparison at first
AROUND = 2.0  # factor on either side of a number expected: more forgives, and saves less


class Program(NamedTuple):
    """Rules as a run follows them."""

    choose: str  # steps of the core, see src/core/steps.h
    renew: str
    judge: str
    options: Options
    stopping: StoppingRule
    published: bool  # draws one by one
    baseline: bool  # the sampling rule has a state of its own
    chooser: Any = None  # a sampling rule written in Python, see `psips.session.own_rules`
    stopper: Any = None  # a stopping rule written in Python

    @property
    def covers(self) -> bool:
        """Whether a cover of the alternative is kept up to date."""
        return self.renew == COVER

    @property
    def weighs(self) -> bool:
        """Whether it stops by the likelihood ratio against every other set."""
        return self.judge in ("glr", "limited")

    def endless(self) -> Program:
        """Return the same without an end."""
        never = STOPPING["never"]
        return self._replace(judge=str(never.step), stopping=never, stopper=None)


def check_fit(sampling: SamplingRule, stopping: StoppingRule, problem: Problem) -> None:
    """Refuse rules that are not made for the problem."""
    if problem.prior is not None and not stopping.prior:
        name = next(name for name, one in STOPPING.items() if one is stopping)
        raise InputError(
            f"only the stopping rule 'bayes' uses a prior: the rule {name!r} is "
            f"proven, or measured, for the data alone; choose stopping='bayes' or leave "
            f"the prior out"
        )
    misfit = sampling.misfit(problem) or stopping.misfit(problem)
    if misfit:
        raise InputError(misfit)
    if problem.facts is not None and not knows_facts(sampling, stopping):
        metrics = listing([problem.facts.whole.objectives[c] for c in problem.facts.columns])
        raise InputError(
            f"rules of comparison are not made for metrics without noise, and {metrics} has "
            f"none: choose sampling='directed' and stopping='glr', which are the defaults"
        )


def knows_facts(sampling: SamplingRule, stopping: StoppingRule) -> bool:
    """Whether rules are made for metrics without noise."""
    return not sampling.baseline and stopping not in (STOPPING["ape"], STOPPING["elimination"])


def check_noise(
    sampling: str,
    stopping: str,
    calibration: str,
    literal: bool,
    problem: Problem,
) -> None:
    """Refuse what needs one known covariance and complete results where there are not both."""
    estimated = problem.covariance is None
    if problem.covariance is None:
        what = "noise that is estimated"
    elif problem.covariance.ndim == 3:
        what = "noise that differs from arm to arm"
    elif problem.partial:
        what = "missing values"
    else:
        return
    if not SAMPLING[sampling].any_noise:
        names = ", ".join(repr(name) for name, rule in SAMPLING.items() if rule.any_noise)
        raise InputError(
            f"the sampling rule {sampling!r} is not made for {what}: leave it out, or choose "
            f"one of {names}"
        )
    if literal:
        raise InputError(
            f"draws='literal' is the published loop, which is not made for {what}: leave draws "
            f"at 'first-hit'"
        )
    rule = STOPPING[stopping]
    if problem.has_items and (rule.settles or not rule.any_noise):
        raise InputError(
            f"the stopping rule {stopping!r} is not made for results that share items: choose "
            f"stopping='glr' with calibration='measured', which is the default"
        )
    if not problem.unstructured and (rule.settles or calibration == "proven"):
        raise InputError(
            f"nothing is proven of arms with features and {what}: give one covariance for all "
            f"arms and complete results, or choose stopping='glr' with calibration='measured', "
            f"which is the default"
        )
    fits = rule.any_noise or (rule.given_noise and not estimated)
    if not fits or calibration == "proven":
        asked = f"the stopping rule {stopping!r}"
        asked += " with calibration='proven'" if fits else ""
        raise InputError(
            f"{asked} is not made for {what}: choose stopping='certified', which is proven, or "
            f"stopping='glr' with calibration='measured', which is the default"
        )
    if problem.prior is not None or problem.parameter_set is not None:
        given = "a prior" if problem.prior is not None else "a parameter set"
        raise InputError(f"{given} cannot be combined with {what}: leave it out")


def check_tolerance(
    stopping: str, calibration: str, problem: Problem, goal: Goal | None
) -> None:
    """Refuse rules and goals that have no use for the problem's tolerance."""
    if not problem.tolerance:
        return
    rule = STOPPING[stopping]
    if goal is not None:
        raise InputError(
            f"the goal {goal.text!r} is about answers that are optimal or not, without a "
            f"tolerance: leave epsilon out, or the goal"
        )
    if rule.exact:
        raise InputError(
            f"the stopping rule {stopping!r} has no use for a tolerance: choose "
            f"stopping='glr', or leave epsilon out"
        )
    if problem.tolerance.relative and PROVEN in (rule.promise, calibration):
        raise InputError(
            f"the stopping rule {stopping!r} is proven for tolerances that are numbers, not "
            f"percentages of a mean that is estimated: give numbers, or choose stopping='glr' "
            f"with calibration='measured'"
        )


def check_limits(
    sampling: str, stopping: str, literal: bool, problem: Problem, goal: Goal | None
) -> None:
    """Refuse rules and goals that are not made for limits."""
    if not problem.limited:
        return
    for kind, name, table in (
        ("sampling", sampling, SAMPLING),
        ("stopping", stopping, STOPPING),
    ):
        if not table[name].limited:
            default = {"sampling": "directed", "stopping": "glr"}[kind]
            raise InputError(
                f"the {kind} rule {name!r} is not made for limits: choose {kind}={default!r}, "
                f"which is the default"
            )
    if literal:
        raise InputError(
            "draws='literal' is the published loop, which is not made for limits: leave draws "
            "at 'first-hit'"
        )
    if goal is not None:
        raise InputError(
            f"the goal {goal.text!r} is looked for by the stopping rule 'certified', which is "
            f"not made for limits: leave the goal out, or the limits"
        )
    if problem.has_items:
        raise InputError(
            "limits and items that arms share do not go together: leave the limits out, or the "
            "items (that takes more results)"
        )
    if problem.prior is not None:
        raise InputError("a prior and limits do not go together: leave one of them out")


def steps_of(
    sampling: SamplingRule,
    stopping: StoppingRule,
    literal: bool,
    problem: Problem,
    goal: Goal | None,
) -> tuple[str, str, str]:
    """Return the steps of the loop: choose, renew, judge.

    Where a rule is written in Python the core does what comes before it.
    """
    if problem.limited:
        return sampling.limited, LIMITED, stopping.limited
    if literal:
        learns = sampling.learner != NOBODY
        choose = "published" if learns else sampling.step
        return choose, SET, stopping.literal
    renew = COVER if sampling.jumps or stopping.jumps else SET
    choose = sampling.step
    if stopping.predicts:
        choose = sampling.proving or choose
    elif stopping.settles and problem.marginal:
        choose = sampling.certifying or choose
    if goal is not None:
        choose = sampling.seeking or choose
    chosen = choose if isinstance(choose, str) else "opening"
    return chosen, renew, stopping.step if isinstance(stopping.step, str) else "never"


def eta_of(eta: float | str, literal: bool, problem: Problem) -> float:
    """Return eta, 1 if Algorithm 2 sets it; if linear, it is 1 / (8 L_A^2 L_Theta^2)."""
    if eta != "estimate":
        return float(eta)
    if problem.unstructured:
        if not literal:
            raise InputError(
                "eta = 'estimate' belongs to the published loop: choose draws='literal', "
                "or a number for eta"
            )
        return 1.0
    model = problem.model
    if model.kind != BALL:
        raise InputError(
            "eta = 'estimate' needs a bounded parameter set in a linear problem: "
            "give parameter_set=Ball(...), or a number for eta"
        )
    longest = np.sqrt((model.A**2).sum(axis=1).max() / np.linalg.eigvalsh(model.Sigma)[0])
    return float(1.0 / (8.0 * longest**2 * (model.ball**2).sum()))


def check_proof(
    stopping: StoppingRule, calibration: str, literal: bool, problem: Problem
) -> None:
    """Refuse what is to be proven and has no proof."""
    unproven = stopping.unproven_for(problem, calibration, literal)
    if unproven:
        raise NoProofError(unproven)


def window(expected: float | tuple[float, float] | None, h: int) -> tuple[float, float]:
    """Return the logs of measurements between which delta is spent if so many are expected.

    Parameters
    ----------
    expected : number or (low, high), optional
        Measurements in all. A number N stands for N / 2 to 2 N, and a range that is narrower
        is widened to that: in fewer e-folds delta 0.3 would be exceeded. If left out, from 50
        an option to 5,000 sqrt(h): two options may take thousands each, hundreds of options
        seldom do, because most of them are soon out of the way.
    h : int
        Options, or features if there are any. Among so many are measurements spread at
        first, so that 3 / h of them inform a comparison (`src/core/likelihood_ratio.h`).

    Examples
    --------
    >>> [round(math.exp(end)) for end in window(300, 10)]
    [45, 600]
    >>> [round(math.exp(end)) for end in window((100, 1000), 2)]
    [100, 1000]
    >>> [round(math.exp(end)) for end in window(None, 2)]
    [100, 7071]
    >>> [round(math.exp(end)) for end in window(None, 100)]
    [150, 50000]
    """
    if expected is None:
        return math.log(LOW * min(h, COMPARED)), math.log(HIGH * math.sqrt(h))
    ends = expected if isinstance(expected, tuple) else (expected, expected)
    a, b = (math.log(end) for end in ends)
    around = math.log(AROUND)
    wider = max(around - (b - a) / 2.0, 0.0)
    low = max(a - wider + min(math.log(COMPARED / h), 0.0), math.log(2.0))
    return low, max(b + wider, low + 2.0 * around)


def calibration_of(
    stopping: StoppingRule,
    calibration: str,
    delta: float,
    kappa: float,
    problem: Problem,
    expected: float | tuple[float, float] | None = None,
) -> Calibration:
    """Return what the thresholds are made of."""
    from psips._core import spending
    from psips.state.calibration import Calibration, log_q

    model = problem.model
    log_inverse = -math.log(delta)
    table = np.zeros(1)
    extent = bias = 0.0
    if not problem.unstructured:
        extent = float((model.A**2).sum(axis=1).max())
        if isinstance(problem.parameter_set, Ball):
            smallest = float(np.linalg.eigvalsh(model.Sigma)[0])
            # As the lemma's proof has it; as printed, xi divides, which is less for xi > 1.
            bias = float(model.ball.max()) * math.sqrt(model.d * model.xi / (2 * smallest))
    if calibration == "proven" and stopping.draws:
        sizes = range(model.n + 1)
        table = np.array([log_q(model, log_inverse, s) for s in sizes])
    low, high = window(expected, model.h)
    return Calibration(
        CALIBRATION[calibration].code,
        log_inverse,
        float(kappa),
        table,
        extent,
        bias,
        spending(delta, low, high),
        low,
        high,
    )
