"""The state of one run and the compiled steps that change it.

Sessions, studies and simulations all drive an ``Engine``; what it does is a function of
the key and of the results it was told, in their order.
"""

from __future__ import annotations

import math
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from psips._core import (
    ASK,
    ENOUGH,
    FEW_ANSWERS,
    NO_ARM,
    NO_ROOM,
    PREDICT,
    RUN,
    TELL,
    Rules,
    change_probability,
    conclude_account,
    drive,
    learn,
    least_freedom,
    looked_at,
    probabilities,
    pull,
    refit,
    students_share,
    survey,
    weigh_account,
    weigh_ratio,
    weigh_smaller,
)
from psips.aliases import Floats, Ints, Mask, Stream
from psips.interruptible import interruptible
from psips.rules.program import Program
from psips.session.centring import (
    centre_of,
    lost,
    movable,
    moved,
    moved_source,
    too_coarse,
    variances_of,
)
from psips.session.constrained_probabilities import change_within, probabilities_within
from psips.session.own_rules import CHOOSE, STOP, arm_of, seen_by_rules, verdict_of
from psips.session.parts import arrays_of, fill, fill_arrays, plain_of
from psips.session.predictions import Predictions
from psips.session.restoring import check_state, require
from psips.state.account import Account
from psips.state.belief import LEAST, RESULTS, SPANNED, Belief, empty_belief
from psips.state.model import OWN, POOLED, Model
from psips.state.posterior import OWN as REFRESHED
from psips.state.run import (
    ASKED,
    EVIDENCE,
    HINT,
    NEW,
    OUTCOMES,
    STOPPED,
    THRESHOLD,
    BaselineState,
    Learner,
    Outcome,
    Run,
    empty_baseline,
    empty_learner,
)
from psips.state.search import (
    CONSTRAINTS,
    LITERALS,
    MEMBERS,
    PROPOSALS,
    RECORDS,
    Cover,
    Front,
    SearchState,
    capacity_for,
    empty_search,
)
from psips.state.source import Source

FORMAT = 7  # of snapshots
SWIFT = 100  # answers up to which a step takes no time that anyone would cut short
PAUSE = 0.1  # seconds that a slice of a run takes, about
FIRST_SLICE = 64  # results in the first of them
SMALLER_SET_GROWTH = (
    1.1  # growth of the results in which a smaller set may still pass, see `_prefers`
)
NOTHING = "nothing keeps the limits"  # an answer too


class Engine:
    """One run: what is known, the candidate set, the learner, and the key of its draws.

    ``prior``, pulls (K,) and means (K, d), counts as results that were there from the start.
    ``room`` (2,) is what may be spent, pending asks included: now, and the whole budget.
    """

    def __init__(
        self,
        model: Model,
        program: Program,
        key: Stream,
        prior: tuple[Floats, Floats] | None = None,
        budget: float = np.inf,
    ) -> None:
        self.model = model
        self.program = program
        self.key = key
        self.prior = prior
        self.room: Floats = np.full(2, budget)
        self.centre: Floats = np.zeros(model.d)  # what values are taken less, max orientation
        self.coarse: Mask = np.zeros(model.d, np.bool_)  # see `too_coarse`
        self._lost: Floats = np.zeros((model.h, model.d))  # by the sums before it is decided
        self._undecided = bool(movable(model).any())
        self.belief: Belief = empty_belief(model)
        calibration = program.options.calibration
        self.belief.noise_estimate.level[0] = looked_at(calibration.log_rate)
        self.belief.noise_estimate.prior[LEAST] = least_freedom(
            math.exp(-calibration.log_inverse)
        )
        self._make_room()
        self.learner: Learner = empty_learner(model)
        self.baseline: BaselineState = empty_baseline(model)
        self._outcome: Floats = np.zeros(OUTCOMES)
        self._outcome[HINT + 1] = -1.0
        self._rules = Rules(program.choose, program.renew, program.judge)
        self._exploring = Rules("explore", program.renew, program.judge)  # numbers too coarse
        self._latest, self._result = np.ones(2, np.int64), np.zeros(model.d)
        self._judged = 0  # results at the last judgement
        self._passed: list[int] = []  # with a tolerance: the set that passed first,
        self._deadline = 0  # .. and the results up to which a smaller one may still pass
        self._chosen: list[int] = []  # the set at the stop, where it is not S_hat
        self._rebuild_run()
        if prior is not None:
            nothing = np.zeros((model.K, model.d))
            self.know(np.zeros(model.K), np.zeros((model.h, model.d)), nothing)
        self.judge()

    def _make_room(self) -> None:
        """Make room to look at what is known."""
        model, program = self.model, self.program
        capacity = 0 if program.published else capacity_for(model)
        self._search: SearchState = empty_search(model, self.belief, capacity)
        self.front: Front = self._search.front
        self.cover: Cover = self._search.cover
        self.predictions = Predictions(model, program.options.calibration.log_inverse)

    def _rebuild_run(self) -> None:
        """Make of the parts what the steps are handed."""
        self._run = Run(
            self._search,
            self.program.options,
            self.learner,
            self.baseline,
            self.account,
            self._outcome,
            self.key,
            self.room,
            self._latest,
            self._result,
        )

    def know(self, pulls: Floats, B: Floats, sums: Floats | None = None) -> None:
        """Set what is known to results summed up: ``pulls`` (K,), ``B`` = sum of a x^T.

        ``sums`` (K, d) are those of each arm; NaN in a linear problem if they are left out.
        """
        N0, B0 = self._imagined()
        if not self.model.unstructured:
            self.belief.sums[:] = np.nan if sums is None else sums
        belief, model, N = self.belief, self.model, pulls + N0
        belief.pulls[:], belief.N[:], belief.B[:] = pulls, N, B + B0
        belief.tally[RESULTS] = pulls.sum()
        if model.unstructured:
            belief.theta[:] = belief.B / np.where(N > 0, N, 1.0)[:, None]
        else:
            belief.V[:] = model.xi * np.eye(model.h) + model.A.T @ (N[:, None] * model.A)
            refit(model, belief)

    def without_prior(self) -> Engine:
        """Return a run that knows the results alone, or this one if there is no prior."""
        if self.prior is None:
            return self
        alone = self._fresh()
        alone.centre = self.centre
        alone.know(self.belief.pulls, self.belief.B - self._imagined()[1], self.belief.sums)
        alone.judge()
        return alone

    def _imagined(self) -> tuple[Floats, Floats]:
        """Return pulls (K,) and sum of a x^T (h, d) of the prior."""
        if self.prior is None:
            return np.zeros(self.model.K), np.zeros((self.model.h, self.model.d))
        pulls, means = self.prior
        sums = pulls[:, None] * means
        return pulls, sums if self.model.unstructured else self.model.A.T @ sums

    def _fresh(self) -> Engine:
        """Return a run of the same problem that knows nothing and never stops."""
        return Engine(self.model, self.program.endless(), self.key)

    def learn(self, arm: int, x: Floats, *where: Any, **how: Any) -> None:
        """Take in one result, without judging yet; with items, ``where`` it belongs."""
        if self.centre.any():
            x = x - self.centre
        elif self._undecided:
            self._lost[arm] += lost(self.belief.B[arm], x)
        self._learn(arm, x, *where, **how)

    def _learn(self, arm: int, x: Floats) -> None:
        learn(self.model, self.belief, arm, x)
        self.learner.pending[arm] = max(0.0, self.learner.pending[arm] - 1.0)

    def judge(self) -> None:
        """Bring candidate set and stopping rule up to date with the results."""
        if self.informed and (self._undecided or self.centre.any()):
            variances = self._variances()
            if self._undecided:
                self._decide(self.belief.theta, variances)
            self.coarse = too_coarse(self.centre, np.sqrt(np.median(variances, axis=0)))
        if self.ready:
            self._latest[NEW] = max(1, self.results - self._judged)
            self._judged = self.results
            self._drive(TELL)
            if self.program.stopper is not None:
                state = seen_by_rules(self, STOP, self.results)
                stops, evidence, threshold = verdict_of(self.program.stopper, state)
                self._outcome[[STOPPED, EVIDENCE, THRESHOLD]] = stops, evidence, threshold

    def _variances(self) -> Floats:
        """Return the variances (K, d) of one result of each arm, without features."""
        if not len(self.belief.noise_estimate.C):
            return np.broadcast_to(np.diag(self.model.Sigma), (self.model.K, self.model.d))
        each = np.diagonal(self.covariances(), axis1=1, axis2=2)  # of the means
        return np.asarray(each * self.belief.N[:, None])

    def _decide(self, means: Floats, variances: Floats) -> None:
        """Choose the centre, see `psips.session.centring`."""
        self._undecided = False
        centre = centre_of(self.model, means, variances)
        if centre.any():
            self._look_around(centre)
            self._take_off(centre)

    def _look_around(self, centre: Floats) -> None:
        """Have values that come taken less ``centre``; nothing was judged yet."""
        self.centre = centre
        self.model = moved(self.model, centre)
        if self.prior is not None:
            self.prior = self.prior[0], self.prior[1] - centre
        self._make_room()
        self._rebuild_run()

    def _take_off(self, centre: Floats) -> None:
        """Take the values told before less ``centre``."""
        belief, s = self.belief, self.belief.noise_estimate
        if len(s.origin):
            s.origin[:] -= np.where(np.diagonal(s.count, axis1=1, axis2=2) > 0.0, centre, 0.0)
        if self.model.noise.partial:
            belief.theta[:] -= centre
        else:
            belief.B[:] = (belief.B - belief.N[:, None] * centre) + self._lost
            belief.theta[:] = belief.B / np.maximum(belief.N, 1.0)[:, None]

    def choose(self) -> int:
        """Return the arm to pull next."""
        arm = self._drive(ASK)
        rule = self.program.chooser
        if arm != NO_ARM or rule is None:
            return arm
        arm = arm_of(rule, seen_by_rules(self, CHOOSE, int(self.learner.tally[ASKED])))
        spent = self.model.costs @ (self.belief.pulls + self.learner.pending)
        if spent + self.model.costs[arm] > self.room[0]:
            return NO_ROOM
        self.learner.pending[arm] += 1.0
        self.learner.played[arm] += 1.0
        return arm

    def run(self, source: Source, noise_key: Stream, results: int) -> bool:
        """Pull from ``source`` until the rule stops or ``results`` results are in.

        Return whether the budget had room for it.
        """
        if self._undecided and not self.results:
            self._decide(source.means, variances_of(source))
        self._undecided = False
        if self.centre.any():
            source = moved_source(source, self.centre)
        self._latest[NEW] = 1  # each is judged
        if self.program.chooser is not None or self.program.stopper is not None:
            return self._run_one_by_one(source, noise_key, results)
        size = FIRST_SLICE  # one slice after the other, so that Ctrl-C is seen between them
        while True:
            begin = perf_counter()
            told = self.results
            last = self._drive(RUN, min(results, told + size), source, noise_key)
            self._judged = self.results
            if last == NO_ROOM or self.stopped or self.results >= results:
                return last != NO_ROOM
            size = 2 * size if perf_counter() - begin < PAUSE else max(1, size // 2)

    def _run_one_by_one(self, source: Source, noise_key: Stream, results: int) -> bool:
        """Do the same with a rule written in Python."""
        while not self.stopped and self.results < results:
            arm = self.choose()
            if arm < 0:
                return False
            nth = int(self.belief.pulls[arm])
            self._learn(arm, pull(source, noise_key, arm, nth, np.empty(self.model.d)))
            self.judge()
        return True

    def _drive(
        self,
        mode: int,
        results: int = 0,
        source: Source | None = None,
        noise_key: Stream | None = None,
    ) -> int:
        """Do one step, or a slice of a run; one that can be long where Ctrl-C is seen."""
        step = mode, results, source, noise_key
        if self.program.published or self.model.n > SWIFT:
            return interruptible(self._step, *step, stop=self._search.draw.made)
        return self._step(*step)

    def _step(
        self, mode: int, results: int, source: Source | None, noise_key: Stream | None
    ) -> int:
        rules = self._exploring if self.coarse.any() else self._rules
        while True:
            last = min(results, self._deadline) if self._waits else results
            arm = drive(self._run, rules, source, noise_key, mode, last)
            if arm != PREDICT:
                go_on = mode != ASK and self._prefers_smaller()
                if mode == RUN and go_on:
                    continue
                return arm
            self._predict()
            if mode == TELL:
                return arm

    def _prefers_smaller(self) -> bool:
        """With a tolerance, whether a run that has stopped had better go on a little.

        Of the sets that are right people mean the smaller, see `src/core/smaller_set.h`. If it
        has passed as well, it is the set. If it has not, the run goes on for it until the
        results have grown by SMALLER_SET_GROWTH, and then ends with the set that had passed. It
        does not wait where results may end before: in a table told at once, with a budget,
        with items.
        """
        self._chosen = []
        if not (self.program.weighs and self._tolerant):
            return False
        late = self.results >= self._deadline
        if not self.stopped:
            if self._passed and late:
                self._outcome[STOPPED] = 1.0
                self._chosen = self._passed
            return False
        search = self._scratch_search()
        out, found, threshold = self._weigh_smaller(search)
        if out and found >= threshold:
            self._chosen = _members(search.front)
            return False
        endless = self.room[0] == np.inf and self._latest[NEW] == 1 and self.patient
        if not (out and endless) or (self._passed and late):
            return False
        if not self._passed:
            self._passed = _members(self.front)
            self._deadline = math.ceil(SMALLER_SET_GROWTH * self.results)
        self.go_on()
        return True

    patient = True  # whether there is no end to the results that may come

    @property
    def _waits(self) -> bool:
        """Whether a set has passed, and a smaller one may still."""
        return bool(self._passed) and self.results < self._deadline

    @property
    def _tolerant(self) -> bool:
        offsets = bool(self.model.slack.any() or self.model.give.any())
        return self.model.control >= 0 or offsets

    def _weigh_smaller(self, search: SearchState) -> tuple[int, float, float]:
        """Members that the smaller set leaves out, its evidence and threshold."""
        calibration = self.program.options.calibration
        return interruptible(weigh_smaller, search, calibration, self._spare)

    def _predict(self) -> None:
        """Turn to a set that is predicted again, and weigh what speaks for it."""
        belief, posterior, front = self.belief, self._search.posterior, self.front
        hopeful = conclude_account(posterior, front, self.account, self._outcome)
        self.predictions.turn_to(front.inside, belief.pulls, belief.B, bool(hopeful))
        self._rebuild_run()
        weigh_account(self.model, belief, self.account)
        conclude_account(posterior, front, self.account, self._outcome)

    @property
    def account(self) -> Account:
        """The set predicted last and the evidence for it, with the rule 'predicted'."""
        return self.predictions.account

    @property
    def outcome(self) -> Outcome:
        """What the stopping rule says."""
        return Outcome(*self._outcome.tolist())

    def go_on(self) -> None:
        """Let a run that has stopped go on."""
        self._outcome[STOPPED] = 0.0

    @property
    def results(self) -> int:
        """How many results were told."""
        return int(self.belief.tally[RESULTS])

    @property
    def stopped(self) -> bool:
        """Whether the stopping rule holds for the results told so far."""
        return bool(self._outcome[STOPPED] == 1.0)

    @property
    def candidate(self) -> list[int]:
        """Answers in S_hat; empty while the arms with results do not suffice to judge.

        With a tolerance, at the stop: the smaller set, if there is one that has passed; the set
        predicted, if it is proven.
        """
        if not self.ready:
            return []
        proven = self.predictions.proven if self.stopped else []
        return self._chosen or proven or _members(self.front)

    @property
    def limited(self) -> bool:
        """Whether answers have to keep limits."""
        return len(self.model.limits.metric) + len(self.model.limits.kept) > 0

    @property
    def nothing_allowed(self) -> bool:
        """Whether the candidate is that no answer keeps the limits."""
        return self.limited and self.ready and not self.candidate

    @property
    def proposals(self) -> Floats:
        """Proposals and literal draws made so far (2,)."""
        return self._search.draw.made[[PROPOSALS, LITERALS]]

    def ratio(self) -> tuple[float, float]:
        """Evidence of the rule "glr" in full, and its threshold; the run is left as it is."""
        if self.limited and not self.ready:
            return 0.0, np.inf
        calibration = self.program.options.calibration
        return interruptible(weigh_ratio, self._scratch_search(), calibration, self._spare)

    @property
    def _spare(self) -> float:
        """The largest inflation of any draw, which a cover must reach."""
        options = self.program.options
        return 1.0 if options.halves else max(1.0, 1.0 / options.eta)

    def change_probability(self, draws: int = 4096) -> tuple[float, float]:
        """Log of P(Alt(S_hat) | data) and its relative standard error."""
        if self.limited:
            return change_within(self.model, self.belief.theta, self.covariances(), self.key)
        return interruptible(change_probability, self._scratch_search(), self.key, draws)

    def probabilities(self, draws: int = 4096) -> tuple[Floats, Floats]:
        """By answer, the probability of being Pareto-optimal and its standard error."""
        if self.limited:
            return probabilities_within(
                self.model, self.belief.theta, self.covariances(), self.key
            )
        search, common = self._scratch_search(plain=True), (np.zeros(0), 0.0)
        if self.model.n > FEW_ANSWERS:
            common = interruptible(survey, search, self.key)
        return interruptible(probabilities, search, self.key, draws, *common)

    def _scratch_search(self, plain: bool = False) -> SearchState:
        """Return what is known and room to look at it, so that the run is left as it is.

        ``plain``: by half-spaces without slack.
        """
        model = self.model
        if plain:
            model = replace(model, slack=model.level, give=model.even)
        return empty_search(model, self.belief, capacity_for(model))

    def snapshot(self) -> dict[str, Any]:
        """Return the state as plain data; floats survive JSON to the bit."""
        noise = self.belief.noise_estimate
        used = int(self.cover.life[RECORDS])
        posterior = plain_of(self._search.posterior, None)
        return {
            "format": FORMAT,
            "belief": plain_of(self.belief, None),
            **({"noise_estimate": plain_of(noise, None)} if len(noise.C) else {}),
            "posterior": {name: posterior[name] for name in (*REFRESHED, "unit")},
            "front": plain_of(self.front, None),
            "cover": plain_of(self.cover, used),
            "learner": plain_of(self.learner, None),
            "nearest": [one.tolist() for one in self._nearest()],
            **({"baseline": plain_of(self.baseline, None)} if self.program.baseline else {}),
            **(self.predictions.snapshot() if self.program.stopping.predicts else {}),
            **({"centre": self.centre.tolist()} if self.centre.any() else {}),
            **({"coarse": self.coarse.tolist()} if self.coarse.any() else {}),
            **({"lost": self._lost.tolist()} if self._undecided and self._lost.any() else {}),
            "outcome": [repr(float(v)) for v in self._outcome],
            **({"sets": self._sets()} if self._passed or self._chosen else {}),
            "key": [int(v) for v in self.key],
        }

    def _sets(self) -> dict[str, Any]:
        """Return what a tolerance makes of the stop, as plain data."""
        chosen, passed = self._chosen, self._passed
        return {"passed": passed, "deadline": self._deadline, "chosen": chosen}

    def _nearest(self) -> list[Ints]:
        """Return the piece of the alternative that was nearest at the last look, as views."""
        draw = self._search.draw
        m = max(int(draw.nearest[CONSTRAINTS]), 0)
        return [draw.nearest, draw.nearest_xs[:m], draw.nearest_cs[:m]]

    def restore(self, state: dict[str, Any]) -> None:
        """Take over the state of ``snapshot``; one that is damaged is one of UNREADABLE."""
        if state.get("format") != FORMAT:
            raise ValueError(f"format {state.get('format')!r} instead of {FORMAT}")
        if "centre" in state and not self.centre.any():  # with a prior it is there already
            centre = np.array(state["centre"], np.float64)
            require(centre.shape == self.centre.shape, "the centre has another size")
            require(np.isfinite(centre).all(), "the centre is not finite")
            self._look_around(centre)
        self._lost[:] = state.get("lost", 0.0)
        self.coarse[:] = state.get("coarse", False)
        fill(self.belief, state["belief"])
        if len(self.belief.noise_estimate.C):
            before = plain_of(
                self.belief.noise_estimate, None
            )  # older snapshots lack a field or two
            fill(self.belief.noise_estimate, {**before, **state["noise_estimate"]})
        arrays = arrays_of(self._search.posterior)
        fill_arrays({name: arrays[name] for name in REFRESHED}, state["posterior"])
        posterior, shares = self._search.posterior, self.model.relative
        if self.model.noise.mode in (POOLED, OWN):  # older snapshots have none
            posterior.unit[:] = state["posterior"].get("unit", posterior.unit)
        if self.model.control >= 0:  # as `follow_control` has left it at the last look
            level = np.abs(posterior.mu[self.model.control])
            posterior.slack[:] = np.where(shares > 0.0, -shares * level, posterior.slack)
        fill(self.front, state["front"])
        fill(self.cover, state["cover"])
        fill(self.learner, state["learner"])
        for k, values in enumerate(state.get("nearest", ())):  # older snapshots have none
            self._nearest()[k][:] = values
        if self.program.baseline:
            fill(self.baseline, state["baseline"])
        self._outcome[:] = [float(v) for v in state["outcome"]]
        self.key[:] = np.array(state["key"], np.uint64)
        sets = state.get("sets", {"passed": (), "chosen": (), "deadline": 0})
        self._passed = [int(a) for a in sets["passed"]]
        self._chosen = [int(a) for a in sets["chosen"]]
        self._deadline = int(sets["deadline"])
        predicts = self.program.stopping.predicts
        check_state(self._run, not predicts, self._passed, self._chosen)
        if self.limited and self.model.unstructured and self.informed and not self.model.joint:
            np.linalg.cholesky(self.covariances())  # a ValueError, if these are none
        if predicts:
            self.predictions.restore(state["accounts"], int(state["active"]))
            self._rebuild_run()
            if self.predictions.accounts:
                weigh_account(self.model, self.belief, self.account)
        self._judged = self.results
        self._undecided = self._undecided and not self.informed

    @property
    def ready(self) -> bool:
        """Whether results can be judged."""
        return self.informed and not self.coarse.any()

    @property
    def informed(self) -> bool:
        """Whether there are enough results to judge, see src/core/belief/belief.h."""
        pulled = not self.model.unstructured or (self.belief.pulls > 0).all()
        facts = not np.isnan(self.model.facts).any()
        known = (self.belief.noise_estimate.freedom >= ENOUGH).all()
        return bool(pulled and facts and known and self.belief.tally[SPANNED] == 1)

    @property
    def means(self) -> Floats:
        """Estimated means (n, d) of the answers, max orientation."""
        theta = (
            self.belief.theta if self.model.unstructured else self.model.Z @ self.belief.theta
        )
        return np.asarray(theta + self.centre) if self.centre.any() else theta

    def covariances(self) -> Floats:
        """Return the covariance (n, d, d) of each answer's mean; NaN where it is not known.

        Of noise that is estimated: as estimated, without the tail of Student's law.
        """
        model, belief, noise = self.model, self.belief, self.belief.noise_estimate
        if not model.unstructured:
            if not self.informed:
                return np.full((model.n, model.d, model.d), np.nan)
            widths = ((model.Z @ belief.F) ** 2).sum(axis=1)  # z^T V^-1 z, V^-1 = F F^T
            return np.asarray(widths[:, None, None] * self.Sigma)
        if not len(noise.C):
            pulls = np.where(belief.pulls > 0, belief.N, np.nan)
            return np.asarray(model.Sigma / pulls[:, None, None])
        known = noise.freedom >= ENOUGH
        found = np.where(known[:, None, None], noise.C, np.nan)
        if model.noise.mode not in (POOLED, OWN):
            return found
        shares = [students_share(f, noise.level[0]) for f in np.maximum(noise.freedom, 1.0)]
        return np.asarray(found / np.array(shares)[:, None, None])

    @property
    def Sigma(self) -> Floats:  # noqa: N802
        """Covariance (d, d) of one result of a linear problem: as given, or as estimated."""
        noise = self.belief.noise_estimate
        if not len(noise.C):
            return self.model.Sigma
        return np.asarray(noise.C[0] / students_share(noise.freedom[0], noise.level[0]))

    def errors_of(self, features: Floats) -> Floats:
        """Return standard errors (m, d) of the means of these features (m, h); linear."""
        widths = ((features @ self.belief.F) ** 2).sum(axis=1)  # z^T V^-1 z, V^-1 = F F^T
        return np.asarray(np.sqrt(widths[:, None] * np.diag(self.Sigma)))

    def deviations(self, rng: np.random.Generator, draws: int, rows: list[int]) -> Floats:
        """Return draws (draws, m, d) of how far the means of some answers are off, together."""
        model = self.model
        if not model.unstructured:
            return self.spread(rows, rng.standard_normal((draws, model.h, model.d)))
        roots = roots_of(self.covariances()[rows])
        normals = rng.standard_normal((draws, len(rows), model.d))
        return np.asarray(np.einsum("mcd,nmd->nmc", roots, normals), np.float64)

    def spread(self, rows: list[int], normals: Floats) -> Floats:
        """Return deviations (draws, m, d) of answers' means from normals (draws, h, d)."""
        W = self.model.Z[rows] @ self.belief.F  # (m, h): rows have the covariance W W^T
        found = np.einsum("mh,nhd->nmd", W, normals)
        return np.asarray(found @ np.linalg.cholesky(self.Sigma).T)


def _members(front: Front) -> list[int]:
    """Return the set as a list."""
    return [int(a) for a in front.members[: front.size[MEMBERS]]]


def roots_of(covariances: Floats) -> Floats:
    """Return factors of covariances (..., d, d) that may be singular."""
    values, vectors = np.linalg.eigh(covariances)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])
