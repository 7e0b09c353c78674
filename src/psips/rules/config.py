"""A choice of rules by name, checked: which go together, and the confidence asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from psips.errors import InputError, check_keys, quote, unknown
from psips.input.quantities import expected_of
from psips.rules.sampling import DRAWS, SAMPLING, TRACKING, SamplingRule
from psips.rules.stopping import CALIBRATION, STOPPING, StoppingRule
from psips.rules.tuning import CONSTANTS, USING, Tuning, as_number, by_own_names
from psips.state.codes import WHOLE

if TYPE_CHECKING:
    from psips.aliases import Floats
    from psips.problem import Problem
    from psips.problem.goals_and_budget import Goal
    from psips.rules.program import Program

BY_PROOFS = "certified"  # the stopping rule that can have another goal than the whole set
OWN = "own"  # the stopping rule of the sampling rule; the calibration of the stopping rule
NO_CALIBRATION = "heuristic"  # what a rule says that has none
UNSAID: Any = object()  # instead of a delta that was left out
FIELDS = (
    *("delta", "sampling", "stopping", "calibration", "draws", "tracking", "tuning"),
    *("expected_results", "confidence"),
)


def _check_name(kind: str, name: str, table: Mapping[str, object]) -> None:
    if not isinstance(name, str) or name not in table:
        raise unknown(kind, str(name), list(table))


def _enumerated(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return (
        " and ".join(filter(None, [", ".join(quoted[:-1]), *quoted[-1:]])) or "none to choose"
    )


@dataclass(frozen=True, init=False)
class Rules:
    """A choice of rules and the confidence asked for.

    Parameters
    ----------
    delta : float
        Accepted probability of being wrong, in (0, 1).
    sampling, stopping, calibration, draws, tracking : str
        Names from the tables of `psips.rules`. The stopping rule is the sampling rule's own
        unless another is given: "ape", "elimination" and "posterior" (PSIPS as published)
        bring one along, the others stop by "glr" ("posterior" with ``draws="literal"``, which
        is the published loop). The calibration belongs to the stopping
        rules "glr" ("measured" unless another is given; "heuristic" with the sampling rule
        "track-and-stop", as published) and "posterior" ("heuristic", as published);
        "ape" and "elimination" have no other than "heuristic", "certified" and
        "predicted" are always proven, and "bayes" is a Bayesian statement by the problem's
        prior, or a flat one, which bounds no error rate. Rules without a calibration say
        "heuristic", which means nothing there. `dataclasses.replace` keeps what was chosen so;
        give "own" to have it chosen again.
    tuning : Tuning or mapping
        Constants of the rules by name: ``{"alpha": 0.5}``; see `psips.rules.tuning`.
    expected_results : number or (low, high), optional
        How many measurements in all the experiment is expected to take: the threshold of
        "glr" with "measured" is lowest about there, and higher elsewhere, so that delta is
        the same. A number N stands for N / 2 to 2 N. If left out, from 50 an
        option on, see `psips.rules.program.window`.
    confidence : float, optional
        1 - delta, for those who think in it; give one of the two.
    **others
        Names of earlier versions; a sentence says what to write instead.

    Examples
    --------
    >>> Rules(delta=0.05).sampling
    'directed'
    >>> Rules(sampling="track-and-stop").stopping
    'glr'
    >>> Rules(confidence=0.95).delta
    0.05
    """

    delta: float = 0.1
    sampling: str = "directed"
    stopping: str = OWN
    calibration: str = OWN
    draws: str = "first-hit"
    tracking: str = "c-tracking"
    tuning: Tuning = field(default_factory=Tuning)
    expected_results: float | tuple[float, float] | None = None

    def __init__(
        self,
        delta: float = UNSAID,
        sampling: str = sampling,
        stopping: str = stopping,
        calibration: str = calibration,
        draws: str = draws,
        tracking: str = tracking,
        tuning: Tuning | Mapping[str, Any] | None = None,
        expected_results: float | tuple[float, float] | None = None,
        confidence: float | None = None,
        **others: Any,
    ) -> None:
        if "guarantee" in others:
            raise InputError(
                f"guarantee={quote(others['guarantee'])} selects a rule for a problem, "
                f"which a Rules object does not know: give it to the session, study or "
                f"simulation, or stopping='predicted' here"
            )
        if others or confidence is not None:
            check_keys("rule", others, (*FIELDS, *CONSTANTS))
            given = {} if delta is UNSAID else {"delta": delta}
            said = by_own_names({**given, "tuning": tuning, "confidence": confidence, **others})
            delta, tuning = said.get("delta", UNSAID), said["tuning"]
        put = partial(object.__setattr__, self)
        put("delta", Rules.delta if delta is UNSAID else delta)
        put("sampling", sampling)
        put("stopping", stopping)
        put("calibration", calibration)
        put("draws", draws)
        put("tracking", tracking)
        put("tuning", Tuning.read(tuning))
        if expected_results is not None:
            expected_results = expected_of(expected_results)
        put("expected_results", expected_results)
        self._check()

    def _check(self) -> None:
        if not 0.0 < as_number(self.delta) < 1.0:
            raise InputError(
                f"delta is the accepted probability of being wrong: expected a number "
                f"between 0 and 1, got {quote(self.delta)}; 0.05 or 0.1 are usual"
            )
        _check_name("sampling rule", self.sampling, SAMPLING)
        if self.stopping == OWN:
            own = self._sampling.own
            outside = self.draws == "literal" and not (
                STOPPING[own].literal or self._sampling.baseline
            )
            object.__setattr__(self, "stopping", "posterior" if outside else own)
        _check_name("stopping rule", self.stopping, STOPPING)
        if self.calibration == OWN:
            object.__setattr__(self, "calibration", self._own_calibration())
        _check_name("calibration", self.calibration, CALIBRATION)
        _check_name("kind of draws", self.draws, DRAWS)
        _check_name("tracking", self.tracking, TRACKING)
        self._check_company()
        self._check_expected()

    @property
    def _sampling(self) -> SamplingRule:
        return SAMPLING[self.sampling]

    @property
    def _stopping(self) -> StoppingRule:
        return STOPPING[self.stopping]

    @property
    def calibrated(self) -> bool:
        """Whether the stopping rule has calibrations to choose from."""
        return len(self._stopping.calibrations) > 1

    def _own_calibration(self) -> str:
        published = self._sampling.calibration
        known = self._stopping.calibrations
        return published if published in known else known[0] if known else NO_CALIBRATION

    def _check_company(self) -> None:
        """Refuse rules that do not go together."""
        sampling, stopping = self._sampling, self._stopping
        of = [
            name
            for name, rule in STOPPING.items()
            if self.calibration in rule.calibrations and not rule.partner
        ]
        if self.calibration not in stopping.calibrations and len(of) == 1:
            known = _enumerated(stopping.calibrations)
            raise InputError(
                f"the calibration {self.calibration!r} belongs to the rule {of[0]!r}: the rule "
                f"{self.stopping!r} has {known}; leave calibration out"
            )
        if self.calibration == "proven" and stopping.unproven:
            first_hit = " and draws='first-hit'" if self.draws == "literal" else ""
            raise InputError(
                f"the stopping rule {self.stopping!r} {stopping.unproven}, so it has no "
                f"calibration 'proven': leave sampling at its default and choose "
                f"stopping='posterior', 'glr' or 'certified'{first_hit}, which have a proof "
                f"('posterior' not for every problem, linear ones need "
                f"parameter_set=Ball(...)), or leave calibration out"
            )
        if stopping.predicts and sampling.baseline:
            raise InputError(
                f"the stopping rule {self.stopping!r} cannot be combined with the sampling "
                f"rule {self.sampling!r}, a baseline with rounds of its own: choose stopping="
                f"'certified', which is proven too, or leave sampling at its default"
            )
        if stopping.partner not in ("", self.sampling):
            raise InputError(
                f"the stopping rule {self.stopping!r} belongs to the sampling rule "
                f"{stopping.partner!r}, not to {self.sampling!r}"
            )
        if self.draws == "literal" and sampling.baseline:
            raise InputError(
                f"draws='literal' is the published loop, which the sampling rule "
                f"{self.sampling!r} is not part of: leave draws at 'first-hit'"
            )
        if self.draws == "literal" and not stopping.literal:
            raise InputError(
                f"draws='literal' is the published loop, which stops by 'posterior' or "
                f"'never', not by {self.stopping!r}: leave draws at 'first-hit'"
            )

    def _check_expected(self) -> None:
        """Refuse an expected number of measurements where no threshold depends on it."""
        if self.expected_results is None or (self.stopping, self.calibration) == USING:
            return
        rule = f"the stopping rule {self.stopping!r}"
        rule += f" with calibration={self.calibration!r}" if self.calibrated else ""
        raise InputError(
            f"{rule} does not use expected_results={quote(self.expected_results)}: leave it "
            f"out, or choose stopping='glr' with calibration='measured', which is the default"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as plain data, constants among them.

        Without ``expected_results`` if that was left out, as in logs of earlier versions.
        """
        plain = asdict(self)
        constants, expected = plain.pop("tuning"), plain.pop("expected_results")
        if expected is None:
            return {**plain, **constants}
        listed = list(expected) if isinstance(expected, tuple) else expected
        return {**plain, **constants, "expected_results": listed}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Rules:
        """Return the rules that `to_dict` was taken of, or that a file gives by name."""
        check_keys("rule", map(str, data), (*FIELDS, *CONSTANTS))
        rules = {name: value for name, value in data.items() if name not in CONSTANTS}
        loose = {name: value for name, value in data.items() if name in CONSTANTS}
        return cls(**{**rules, "tuning": {**asdict(Tuning.read(rules.get("tuning"))), **loose}})

    @property
    def knows_facts(self) -> bool:
        """Whether these rules are made for metrics without noise."""
        from psips.rules.program import knows_facts

        return knows_facts(self._sampling, self._stopping)

    def check(self, problem: Problem, goal: Goal | None = None) -> None:
        """Refuse rules that are not made for the problem and the goal, or lack their proof."""
        from psips.rules import program

        sampling, stopping, literal = self._sampling, self._stopping, self.draws == "literal"
        program.check_fit(sampling, stopping, problem)
        program.check_noise(self.sampling, self.stopping, self.calibration, literal, problem)
        program.check_tolerance(self.stopping, self.calibration, problem, goal)
        program.check_limits(self.sampling, self.stopping, literal, problem, goal)
        if goal is not None and self.stopping != BY_PROOFS:
            raise InputError(
                f"the goal {goal.text!r} is reached by proofs of single answers, which the "
                f"stopping rule {self.stopping!r} does not look for: choose "
                f"stopping={BY_PROOFS!r}, or leave the goal out"
            )
        program.check_proof(stopping, self.calibration, literal, problem)

    def program(
        self, problem: Problem, target: Floats | None = None, goal: Goal | None = None
    ) -> Program:
        """Return the rules as a run follows them, checked against problem and goal."""
        import numpy as np  # here, so that names of rules are there without the kernels

        from psips.rules import program
        from psips.state.run import Options

        self.check(problem, goal)
        sampling, stopping, literal = self._sampling, self._stopping, self.draws == "literal"
        tuning = self.tuning
        if sampling.knows and target is None:
            raise InputError(
                f"the sampling rule {self.sampling!r} needs the truth: use it in simulations "
                f"only"
            )
        options = Options(
            sampling.learner,
            TRACKING[self.tracking].code,
            program.eta_of(tuning.eta, literal, problem),
            tuning.eta == "estimate" and problem.unstructured,
            float(tuning.alpha),
            program.calibration_of(
                stopping,
                self.calibration,
                self.delta,
                tuning.kappa,
                problem,
                self.expected_results,
            ),
            np.zeros(0) if target is None else np.ascontiguousarray(target, float),
            np.array([WHOLE, 0] if goal is None else [goal.kind, goal.number]),
        )
        steps = program.steps_of(sampling, stopping, literal, problem, goal)
        chooser, stopper = (
            None if isinstance(rule.step, str) else rule.step for rule in (sampling, stopping)
        )
        return program.Program(
            *steps, options, stopping, literal, sampling.baseline, chooser, stopper
        )
