"""Which rules there are, by name, and how a choice of them reaches the kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from psips.errors import InputError, NoProofError, unknown
from psips.kernels.model import Floats
from psips.parameters import Ball
from psips.problem import Problem

if TYPE_CHECKING:
    from psips.kernels.state import Options
    from psips.kernels.thresholds import Calibration


class Rule(NamedTuple):
    """One line on what a rule does, and the step that does it.

    ``step`` is a kernel in `psips.kernels`, as module:function. ``own`` is the stopping rule
    that a sampling rule brings along. A rule that ``jumps`` to the alternative, or
    looks at all of it, has a cover of it kept up to date; a ``rival`` has rounds of its own.
    """

    about: str
    step: str = ""
    own: str = "glr"
    jumps: bool = False
    rival: bool = False


class Choice(NamedTuple):
    """One line on what a choice means, and its number in the kernels."""

    about: str
    code: int


SAMPLING = {
    "directed": Rule(
        "pulls what tells most of the piece of the alternative just drawn",
        "choosing:choose_directed",
        jumps=True,
    ),
    "projected": Rule(
        "AdaHedge against the nearest point of the piece that was drawn",
        "choosing:choose_projected",
        jumps=True,
    ),
    "posterior": Rule(
        "PSIPS as published: AdaHedge against posterior draws",
        "choosing:choose_posterior",
        "posterior",
        jumps=True,
    ),
    "uniform": Rule("an arm at random", "choosing:choose_uniform"),
    "round-robin": Rule("the arm with the fewest pulls", "choosing:choose_round_robin"),
    "oracle": Rule("the optimal weights of the truth: a yardstick", "choosing:choose_oracle"),
    "ape": Rule(
        "APE (Kone et al. 2023): the arm least clear, or its nearest rival",
        "rivals:choose_ape",
        "ape",
        rival=True,
    ),
    "elimination": Rule(
        "Auer et al. 2016: all arms not yet accepted or dropped, in turn",
        "rivals:choose_elimination",
        "elimination",
        rival=True,
    ),
    "track-and-stop": Rule(
        "Crepon et al. 2024: weights climb the gradient of the likelihood ratio",
        "gradient:choose_track_and_stop",
        rival=True,
    ),
    "top-two": Rule(
        "Top-Two Thompson Sampling (Russo 2016), for one objective",
        "rivals:choose_top_two",
        "posterior",
        rival=True,
    ),
}
STOPPING = {
    "never": Rule("goes on until it is told to end", "judging:judge_never"),
    "posterior": Rule(
        "stops when M posterior draws all agree with the candidate",
        "judging:judge_posterior",
        jumps=True,
    ),
    "glr": Rule(
        "stops when the likelihood ratio against all other sets is large",
        "judging:judge_glr",
        jumps=True,
    ),
    "certified": Rule(
        "stops when every answer is proven in or out; proven, any sampling",
        "judging:judge_certified",
    ),
    "bayes": Rule(
        "stops when the posterior probability of another set is at most delta",
        "judging:judge_bayes",
        jumps=True,
    ),
    "ape": Rule(
        "stops when confidence intervals settle every arm in or out", "rivals:judge_ape"
    ),
    "elimination": Rule(
        "stops when every arm is accepted or dropped", "rivals:judge_elimination"
    ),
    "predicted": Rule(
        "predicts a set, then proves it from later results; proven",
        "predicted:judge_predicted",
    ),
}
CALIBRATION = {
    "measured": Choice(
        "of 'glr': errs at most delta wherever errors were looked for; not proven", 3
    ),
    "heuristic": Choice("as published; errs more often than delta where options nearly tie", 0),
    "sharp": Choice("of 'posterior': fewer draws; errs more often still on near-ties", 2),
    "proven": Choice("the paper's lemma: errs with probability at most delta", 1),
}
DRAWS = {
    "first-hit": Choice("jumps to the first draw in the alternative; same law", 0),
    "literal": Choice("one draw after the other, as published", 1),
}
TRACKING = {
    "c-tracking": Choice("the arm furthest behind the weights played so far", 0),
    "mixture": Choice("an arm drawn from the weights, as published", 1),
}
LEARNERS = {"posterior": 1, "projected": 2, "directed": 3}  # who learn from draws


class Program(NamedTuple):
    """Rules as a run follows them: the steps of its loop, and their numbers."""

    choose: str
    renew: str
    judge: str
    options: Options
    stopping: str  # the rule's name
    published: bool  # draws one by one


OWN = "own"  # the stopping rule of the sampling rule; the calibration of the stopping rule
RADII = ("ape", "elimination")  # rules that compare confidence radii of single arms
ANY_NOISE = ("directed", "projected", "uniform", "round-robin")  # sampling rules
UNPROVEN = {  # stopping rules that no calibration gives a proof to
    "never": "never stops and claims nothing",
    "bayes": "promises a posterior probability and bounds no rate of errors",
    **dict.fromkeys(RADII, "has the threshold that methods are compared with"),
}


def _check_name(kind: str, name: str, table: Mapping[str, object]) -> None:
    if not isinstance(name, str) or name not in table:
        raise unknown(kind, str(name), list(table))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Rules:
    """A choice of rules and the confidence asked for.

    Parameters
    ----------
    delta : float
        Accepted probability of a wrong answer, in (0, 1).
    sampling, stopping, calibration, draws, tracking : str
        Names from the tables of this module. The stopping rule is the sampling rule's own
        unless another is given: "ape", "elimination" and "posterior" (PSIPS as published)
        bring one along, the others stop by "glr" ("posterior" with ``draws="literal"``, which
        is the published loop). The calibration belongs to the stopping
        rules "glr" ("measured" unless another is given; "heuristic" with the sampling rule
        "track-and-stop", as published) and "posterior" ("heuristic", as published);
        "ape" and "elimination" have no other than "heuristic", "certified" and
        "predicted" are always proven, and "bayes" is a Bayesian statement by the problem's
        prior, or a flat one, which bounds no error rate. Rules without a calibration say
        "heuristic", which means nothing there. `dataclasses.replace` keeps what was chosen so;
        give "own" to have it chosen anew.
    eta : float or "estimate"
        Inflation of the min learner's draws; "estimate" is the paper's Algorithm 2.
    alpha : float
        Forced exploration has weight ``n ** -alpha`` in the n-th ask. The paper leaves it
        open; 0.35 needs fewer samples than 0.5 in short runs and no more in long ones.
    kappa : float
        Factor of the budget in the calibration "sharp".

    Examples
    --------
    >>> Rules(delta=0.05).sampling
    'directed'
    >>> Rules(sampling="track-and-stop").stopping
    'glr'
    """

    delta: float = 0.1
    sampling: str = "directed"
    stopping: str = OWN
    calibration: str = OWN
    draws: str = "first-hit"
    tracking: str = "c-tracking"
    eta: float | str = 1.0
    alpha: float = 0.35
    kappa: float = 2.0

    def __post_init__(self) -> None:
        if not _is_number(self.delta) or not 0.0 < self.delta < 1.0:
            raise InputError(
                f"delta is the accepted probability of a wrong answer: expected a number "
                f"between 0 and 1, got {self.delta!r}; 0.05 or 0.1 are usual"
            )
        _check_name("sampling rule", self.sampling, SAMPLING)
        if self.stopping == OWN:
            own = SAMPLING[self.sampling].own
            literal = self.draws == "literal" and own == "glr"  # the published loop
            object.__setattr__(self, "stopping", "posterior" if literal else own)
        _check_name("stopping rule", self.stopping, STOPPING)
        if self.calibration == OWN:
            measured = self.stopping == "glr" and self.sampling != "track-and-stop"
            object.__setattr__(self, "calibration", "measured" if measured else "heuristic")
        _check_name("calibration", self.calibration, CALIBRATION)
        _check_name("kind of draws", self.draws, DRAWS)
        _check_name("tracking", self.tracking, TRACKING)
        self._check_company()
        if self.draws == "literal" and self.stopping not in ("never", "posterior"):
            raise InputError(
                f"draws='literal' is the published loop, which stops by 'posterior' or "
                f"'never', not by {self.stopping!r}: leave draws at 'first-hit'"
            )
        number = _is_number(self.eta) and 0 < float(self.eta) < math.inf
        if not number and self.eta != "estimate":
            raise InputError(
                f"eta inflates the learner's draws: expected a positive number or "
                f"'estimate', got {self.eta!r}"
            )
        if not _is_number(self.alpha) or not 0.0 < self.alpha < 1.0:
            raise InputError(
                f"alpha is the rate of forced exploration: expected a number between 0 and 1, "
                f"got {self.alpha!r}"
            )
        if not _is_number(self.kappa) or not 0.0 < self.kappa < math.inf:
            raise InputError(f"kappa: expected a positive number, got {self.kappa!r}")

    def _check_company(self) -> None:
        """Refuse rules that do not go together."""
        for calibration, rule in (("sharp", "posterior"), ("measured", "glr")):
            if self.calibration == calibration and self.stopping != rule:
                known = {
                    "glr": "'measured', 'heuristic' and 'proven'",
                    "posterior": "'heuristic', 'sharp' and 'proven'",
                    **dict.fromkeys(RADII, "'heuristic'"),
                }
                raise InputError(
                    f"the calibration {calibration!r} is one of the rule {rule!r}: the rule "
                    f"{self.stopping!r} has {known.get(self.stopping, 'none to choose')}; "
                    f"leave calibration out"
                )
        if self.calibration == "proven" and self.stopping in UNPROVEN:
            first_hit = " and draws='first-hit'" if self.draws == "literal" else ""
            raise InputError(
                f"the stopping rule {self.stopping!r} {UNPROVEN[self.stopping]}, so it has no "
                f"calibration 'proven': leave sampling at its default and choose "
                f"stopping='posterior', 'glr' or 'certified'{first_hit}, which have a proof "
                f"('posterior' not for every problem, linear ones need "
                f"parameter_set=Ball(...)), or leave calibration out"
            )
        if self.stopping == "predicted" and SAMPLING[self.sampling].rival:
            raise InputError(
                f"the stopping rule 'predicted' does not go with the sampling rule "
                f"{self.sampling!r}, a rival with rounds of its own: choose stopping="
                f"'certified', which is proven too, or leave sampling at its default"
            )
        if self.stopping == "elimination" and self.sampling != "elimination":
            raise InputError(
                f"the stopping rule 'elimination' belongs to the sampling rule of that name, "
                f"not to {self.sampling!r}"
            )
        if self.draws == "literal" and SAMPLING[self.sampling].rival:
            raise InputError(
                f"draws='literal' is the published loop, which the sampling rule "
                f"{self.sampling!r} is not part of: leave draws at 'first-hit'"
            )

    def _check_fit(self, problem: Problem) -> None:
        """Refuse rules that are not made for the problem."""
        if problem.prior is not None and self.stopping not in ("bayes", "never"):
            raise InputError(
                f"a prior serves the stopping rule 'bayes': the rule {self.stopping!r} is "
                f"proven, or measured, for the data alone; choose stopping='bayes' or leave "
                f"the prior out"
            )
        self._check_noise(problem)
        for rule in (self.sampling, self.stopping):
            if rule in RADII and not problem.unstructured:
                raise InputError(
                    f"the rule {rule!r} compares arms measured one by one and has no use for "
                    f"features: choose 'track-and-stop' or 'projected' in a linear problem"
                )
        if self.sampling == "top-two" and not (problem.unstructured and problem.d == 1):
            linear = "" if problem.unstructured else ", with features"
            raise InputError(
                f"the sampling rule 'top-two' finds the best of arms without features by one "
                f"objective: this problem has {problem.d} objective(s){linear}"
            )

    def _check_noise(self, problem: Problem) -> None:
        """Refuse rules that need one known covariance and complete results, if need be."""
        unknown_noise = problem.covariance is None
        if unknown_noise:
            what = "noise that is estimated"
        elif problem.covariance is not None and problem.covariance.ndim == 3:
            what = "noise that differs from arm to arm"
        elif problem.partial:
            what = "results with holes"
        else:
            return
        if self.sampling not in ANY_NOISE:
            names = ", ".join(map(repr, ANY_NOISE))
            raise InputError(
                f"the sampling rule {self.sampling!r} is not made for {what}: leave it out, or "
                f"choose one of {names}"
            )
        if self.draws == "literal":
            raise InputError(
                f"draws='literal' is the published loop, which is not made for {what}: leave "
                f"draws at 'first-hit'"
            )
        fits = ("glr", "never") if unknown_noise else ("glr", "never", "bayes")
        if self.stopping not in fits or self.calibration == "proven":
            asked = f"the stopping rule {self.stopping!r}"
            if self.stopping in fits:
                asked += " with calibration='proven'"
            raise InputError(
                f"{asked} is not made for {what}: choose stopping='glr' with "
                f"calibration='measured', which is the default"
            )
        if problem.prior is not None or problem.parameter_set is not None:
            given = "a prior" if problem.prior is not None else "a parameter set"
            raise InputError(f"{given} does not go with {what}: leave it out")

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as plain data."""
        return asdict(self)

    def program(self, problem: Problem, target: Floats | None = None) -> Program:
        """Return the rules as a run follows them, checked against the problem."""
        from psips.kernels.state import Options

        self._check_fit(problem)
        if self.sampling == "oracle" and target is None:
            raise InputError(
                "the sampling rule 'oracle' needs the truth: use it in simulations only"
            )
        options = Options(
            LEARNERS.get(self.sampling, 0),
            TRACKING[self.tracking].code,
            self._eta(problem),
            self.eta == "estimate" and problem.unstructured,
            float(self.alpha),
            self._calibration(problem),
            np.zeros(0) if target is None else np.ascontiguousarray(target, float),
        )
        return Program(*self._steps(), options, self.stopping, self.draws == "literal")

    def _steps(self) -> tuple[str, str, str]:
        """Return the steps of the loop: choose, renew, judge."""
        sampling, stopping = SAMPLING[self.sampling], STOPPING[self.stopping]
        choose, judge = sampling.step, stopping.step
        renew = "renew_cover" if sampling.jumps or stopping.jumps else "renew_set"
        if self.draws == "literal":
            renew = "renew_set"
            choose = "published:choose_published" if self.sampling in LEARNERS else choose
            stops = self.stopping == "posterior"
            judge = f"published:{'judge_published' if stops else 'judge_unpublished'}"
        elif self.stopping == "predicted" and self.sampling == "directed":
            choose = "predicted:choose_predicted"
        return choose, f"judging:{renew}", judge

    def _eta(self, problem: Problem) -> float:
        """Return eta, 1 if Algorithm 2 sets it; if linear, it is 1 / (8 L_A^2 L_Theta^2)."""
        if self.eta != "estimate":
            return float(self.eta)
        if problem.unstructured:
            if self.draws != "literal":
                raise InputError(
                    "eta = 'estimate' belongs to the published loop: choose draws='literal', "
                    "or a number for eta"
                )
            return 1.0
        model = problem.model
        if model.kind != 1:
            raise InputError(
                "eta = 'estimate' needs a bounded parameter set in a linear problem: "
                "give parameter_set=Ball(...), or a number for eta"
            )
        longest = np.sqrt((model.A**2).sum(axis=1).max() / np.linalg.eigvalsh(model.Sigma)[0])
        return float(1.0 / (8.0 * longest**2 * (model.ball**2).sum()))

    def _calibration(self, problem: Problem) -> Calibration:
        from psips.kernels.thresholds import Calibration, log_q

        model = problem.model
        log_inverse = -math.log(self.delta)
        table = np.zeros(1)
        extent = bias = 0.0
        if not problem.unstructured:
            extent = float((model.A**2).sum(axis=1).max())
            if isinstance(problem.parameter_set, Ball):
                smallest = float(np.linalg.eigvalsh(model.Sigma)[0])
                # As the lemma's proof has it; as printed, xi divides, which is less for xi > 1.
                bias = float(model.ball.max()) * math.sqrt(model.d * model.xi / (2 * smallest))
        self._check_proof(problem)
        if self.calibration == "proven" and self.stopping == "posterior":
            sizes = range(model.n + 1)
            table = np.array([log_q(model, log_inverse, s) for s in sizes])
        return Calibration(
            CALIBRATION[self.calibration].code,
            log_inverse,
            float(self.kappa),
            table,
            extent,
            handicaps(
                _worst(problem.d) if problem.covariance is None else problem.covariance,
                self.delta,
            )
            if self.calibration == "measured"
            else np.ones((2, problem.d + 1)),
            bias,
        )

    def _check_proof(self, problem: Problem) -> None:
        """Refuse what is to be proven and has no proof, and say what has one."""
        if self.stopping == "predicted" and not problem.unstructured:
            raise NoProofError(
                "the stopping rule 'predicted' has a proof for problems without features "
                "only: choose stopping='certified' with parameter_set=Ball(...)"
            )
        if self.stopping == "certified" or (
            self.stopping == "glr" and self.calibration == "proven"
        ):
            if not has_certificates(problem):
                raise NoProofError(
                    f"the stopping rule {self.stopping!r} has no proof for a linear problem "
                    f"without parameter_set=Ball(...): give one (a Box is not enough), or "
                    f"choose stopping='glr' with calibration='measured'"
                )
            return
        if self.stopping != "posterior" or self.calibration != "proven":
            return
        bounded = has_certificates(problem)
        if problem.unstructured:
            return
        if problem.d > 1:
            reason = "for a linear problem with several objectives"
        elif not bounded:
            reason = "for a linear problem without parameter_set=Ball(...)"
        else:
            return
        needed = ["draws='first-hit'"] if self.draws == "literal" else []
        needed += [] if bounded else ["parameter_set=Ball(...)"]
        wanted = f" with {' and '.join(needed)}" if needed else ""
        raise NoProofError(
            f"no proof of the posterior stopping rule is known {reason}: choose "
            f"stopping='certified' or 'glr', which have one{wanted}, or calibration='heuristic'"
        )


def handicaps(covariance: Floats, delta: float) -> Floats:
    """Return what squared distances count for, by how many inequalities are in play.

    The first row is for "i below j". Noise that takes an estimate out of it in one objective
    is one-sided normal; in k objectives its square follows a chi-bar-square law, whose tail is
    heavier. Squares are shrunk so that the tails agree where the rule first looks. The weights
    of the law are binomial for independent objectives, and smaller for positively correlated
    ones; for others Perlman's bound (1969) holds. The second row is for "z escapes" from
    several others; it is the same. A covariance of each arm, (K, d, d), will do too.

    Returns
    -------
    array (2, d + 1)
    """
    from scipy.special import comb, gammaincc

    from psips.kernels.ratio import EARLY, OFFSET

    d = covariance.shape[-1]
    least = -math.log(delta) + math.log(EARLY) + OFFSET
    wanted = 0.5 * gammaincc(0.5, least)

    def factor(weights: Floats) -> float:
        """Return 2 least / x with x the square whose tail is ``wanted``."""
        half = 0.5 * np.arange(1, len(weights) + 1)
        low, high = least, least + 20.0 + 4.0 * len(weights)
        for _ in range(60):
            middle = 0.5 * (low + high)
            if (weights * gammaincc(half, middle)).sum() > wanted:
                low = middle
            else:
                high = middle
        return least / high

    sd = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    correlation = covariance / (sd[..., :, None] * sd[..., None, :])
    negative = bool((correlation < -1e-9).any())
    found = np.ones((2, d + 1))
    for k in range(2, d + 1):
        j = np.arange(1, k + 1)
        independent = factor(np.asarray(comb(k, j), dtype=np.float64) / 2.0**k)
        extreme = factor(np.where(j >= k - 1, 0.5, 0.0))
        found[:, k] = extreme if negative else independent
    return found


def _worst(d: int) -> Floats:
    """Return what correlations that are not known are taken for: negative ones."""
    return 2.0 * np.eye(d) - 1.0


def has_certificates(problem: Problem) -> bool:
    """Whether verdicts, and the threshold beta, have a proof for this problem."""
    return problem.unstructured or isinstance(problem.parameter_set, Ball)
