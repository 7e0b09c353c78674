"""Commands measured until the Pareto set of their metrics is known, or the time is over."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from psips.commands.metrics import EXIT, Metric
from psips.commands.options import Option
from psips.commands.quantities import read_limit
from psips.commands.rounds import Measurements, Sample, check_study, open_study
from psips.commands.running import NONE, Ran, Runner, split
from psips.errors import InputError, quote
from psips.input.durations import duration_text
from psips.problem import Problem
from psips.problem.limits import limited_metric
from psips.rules import Rules

TOLERANCE = "2%"  # of metrics whose logarithms are compared, if nothing is said
SMALLER_SET_GROWTH = (
    3.0  # growth of the runs up to which a smaller set that is right is looked for
)


@dataclass(frozen=True)
class Question:
    """What is asked of the options.

    Parameters
    ----------
    delta : float
    tolerance : dict
        By metric, a number or a percentage; None for the default.
    limits : sequence of str
    control : str, optional
    time_limit : float
        Seconds, from the first run on.
    warmup : int
        Runs of each option that do not count.
    seed : int, optional
        Of the order in a round.
    """

    delta: float = 0.1
    tolerance: dict[str, float | str] | None = None
    limits: Sequence[str] = ()
    control: str | None = None
    time_limit: float = 600.0
    warmup: int = 1
    seed: int | None = None


class Out(NamedTuple):
    """An option that is none, because a run has broken a limit."""

    option: str
    why: str


class Watcher(Protocol):
    """Is told how it goes; see `psips.cli.run`."""

    def starts(self, measuring: Measuring, option: str) -> None:
        """Note that a run begins."""

    def told(self, measuring: Measuring) -> None:
        """Note that a round is over."""


@dataclass
class Measuring:
    """One comparison of commands.

    Parameters
    ----------
    options : sequence of Option
    metrics : sequence of Metric
    question : Question
    runner : Runner
    study : (name, store), optional
        Where it is kept.
    watcher : Watcher, optional
    clock : callable
        Gives seconds; for tests.
    """

    options: Sequence[Option]
    metrics: Sequence[Metric]
    question: Question
    runner: Runner
    study: tuple[str, str] | None = None
    watcher: Watcher | None = None
    clock: Callable[[], float] = time.monotonic
    known: Measurements | None = None
    out: list[Out] = field(default_factory=list)
    before: int = 0  # runs that a study knew already
    seconds: float = 0.0
    interrupted: bool = False
    passed: tuple[str, ...] | None = None  # the set at the first stop
    time_is_over: bool = False

    def __post_init__(self) -> None:
        self.seed = secrets.randbits(31) if self.question.seed is None else self.question.seed
        self.limits = [read_limit(text, self.metrics) for text in self.question.limits]
        self._as_given = dict(zip(self.limits, self.question.limits, strict=True))
        self.most_exit = _most_exit(self.limits)
        self._order = random.Random(self.seed)
        self._begin = self.clock()

    @property
    def left(self) -> float:
        """Seconds that are left; those in which psips itself was made ready do not count."""
        return self.question.time_limit - (self.clock() - self._begin)

    def go(self) -> None:
        """Measure until the Pareto set is known; Ctrl-C ends it, too."""
        self._problem([option.name for option in self.options])  # complains before any run
        if self.study is not None:
            check_study(*self.study, [option.name for option in self.options])
        self._begin = self.clock()
        try:
            with self.runner.at_work():
                first = self._first_runs()
                self.known = self._make_measurements()
                self.before = len(self.known.samples)
                if not self.question.warmup and not self.before:
                    rows = [one for one in first if one.option in self.known.problem.arms]
                    self._tell([replace(one, round=1) for one in rows])
                while not self.known.stopped and self.left > 0.0:
                    self._go_on()
                if self.known.stopped:
                    self._look_for_smaller()
        except KeyboardInterrupt:
            self.interrupted = True
        self.time_is_over = self.left <= 0.0
        self.seconds = self.clock() - self._begin

    def _go_on(self) -> None:
        """Measure the next rounds, to the stop."""
        assert self.known is not None
        for names in self._rounds():
            self._measure(names)
            if self.known.stopped or self.left <= 0.0:
                return

    def _look_for_smaller(self) -> None:
        """Go on a little where the set has an option that another seems to make superfluous.

        Of the sets that are right within the tolerance people mean the smallest: without what
        is twice as slow and needs the same memory. That it needs the same is known once it was
        measured well enough; until the runs have tripled it is measured. The session turns to
        the smaller set by itself, with the evidence of a stop; if it does not, the set is the
        one that it has stopped with.
        """
        assert self.known is not None
        self.passed = self.known.judged.candidate_set
        runs = len(self.known.samples)
        if runs == self.before:  # a study that had stopped
            return
        while self.left > 0.0 and len(self.known.samples) < SMALLER_SET_GROWTH * runs:
            pairs = self.known.replaceable
            if not pairs and self.known.stopped:
                return
            names = list(dict.fromkeys([*pairs, *pairs.values()]))
            if not self.known.stopped:
                self._go_on()
            else:
                self._order.shuffle(names)
                self._measure(names)

    def _rounds(self) -> Iterator[list[str]]:
        assert self.known is not None
        arms = self.known.problem.arms
        rounds = self.known.next_rounds(self._order)
        for names in rounds:
            if self.known.problem.arms != arms:  # one has gone
                return
            yield names

    def _first_runs(self) -> list[Sample]:
        """Run every option, to see whether it runs at all, and its exact metrics."""
        self._exact: dict[str, dict[str, float]] = {}
        samples: list[Sample] = []
        for k in range(max(self.question.warmup, 1)):
            for option in self.options:
                if any(out.option == option.name for out in self.out):
                    continue
                sample = self._run(option, 0)
                if sample is not None and k == 0:
                    samples.append(sample)
                    pairs = zip(self.metrics, sample.values, strict=True)
                    self._exact[option.name] = {m.name: v for m, v in pairs if m.exact}
        self._apply_exact_limits()
        return samples

    def _apply_exact_limits(self) -> None:
        """Leave out what breaks a limit on an exact metric: it takes no measurement to know."""
        for text in self._limits_on(exact=True):
            name = limited_metric(text)
            for option, values in self._exact.items():
                if not _keeps(text, values[name]) and not self._is_out(option):
                    self.out.append(Out(option, f"breaks the limit {self._as_given[text]}"))

    def _limits_on(self, exact: bool) -> list[str]:
        by_name = {metric.name: metric for metric in self.metrics}
        return [
            text
            for text in self.limits
            if limited_metric(text) != EXIT
            and (by_name[limited_metric(text)].exact and "control" not in text) == exact
        ]

    def _is_out(self, option: str) -> bool:
        return any(out.option == option for out in self.out)

    def _make_measurements(self) -> Measurements:
        arms = [option.name for option in self.options if not self._is_out(option.name)]
        if len(arms) < 2:
            raise NothingLeftError(arms, self.out)
        problem, question = self._problem(arms), self.question
        self.metrics = [m for m in self.metrics if m.name in problem.objectives]
        if self.study is None:
            return Measurements(problem, question.delta, self.seed)
        name, store = self.study
        study = open_study(name, store, problem, question.delta, question.seed)
        return Measurements(problem, question.delta, self.seed, study)

    def _problem(self, arms: Sequence[str]) -> Problem:
        """Return what is to be decided of these options."""
        limits = self._limits_on(exact=False)
        kept = [m for m in self.metrics if not self._only_exact_limit(m, limits)]
        Rules(delta=self.question.delta)  # complains
        return Problem(
            objectives={metric.name: metric.scale for metric in kept},
            arms=arms,
            items=not limits,
            limits=limits or None,
            control=self.question.control,
            epsilon=self._epsilon(kept) or None,
        )

    def _only_exact_limit(self, metric: Metric, limits: Sequence[str]) -> bool:
        """Whether a metric has had its say, with a limit that runs are not needed for."""
        limited = any(limited_metric(text) == metric.name for text in limits)
        return metric.direction == "limit" and not limited

    def _epsilon(self, metrics: Sequence[Metric]) -> dict[str, Any]:
        """Return the tolerance by metric."""
        given = self.question.tolerance
        if given is not None:
            return dict(given)
        return {m.name: TOLERANCE for m in metrics if m.log and m.direction != "limit"}

    def _measure(self, names: Sequence[str]) -> None:
        """Run the options of a round and tell the results, also of a part of it."""
        assert self.known is not None
        by_name = {option.name: option for option in self.options}
        number = self.known.round + 1
        samples: list[Sample] = []
        try:
            for name in names:
                if samples and self.left <= 0.0:
                    break
                sample = self._run(by_name[name], number)
                if sample is None:
                    self._leave_out(name)
                    return
                samples.append(sample)
        except BaseException:
            with suppress(InputError):
                self._tell(samples)
            raise
        self._tell(samples)

    def _tell(self, samples: Sequence[Sample]) -> None:
        assert self.known is not None
        try:
            self.known.tell(samples)
        except InputError as error:
            if "registered as exact" not in str(error):
                raise
            said = str(error).partition(": correct")[0]
            raise InputError(
                f"{said}: it varies from run to run, so say --noisy NAME of it"
            ) from None
        if self.watcher is not None:
            self.watcher.told(self)

    def _leave_out(self, name: str) -> None:
        """Go on without an option that has broken a limit in a later run."""
        assert self.known is not None
        if self.study is not None:
            raise InputError(
                f"option {quote(name)} {self.out[-1].why}: the options of a study are "
                f"fixed, so begin another one without it"
            )
        if self.known.problem.K < 3:
            rest = [arm for arm in self.known.problem.arms if arm != name]
            raise NothingLeftError(rest, self.out)
        self.known = self.known.without(name)

    def _run(self, option: Option, number: int) -> Sample | None:
        """Run an option once; None if it breaks a limit that holds for every run."""
        if self.watcher is not None:
            self.watcher.starts(self, option.name)
        self._run_untimed(option, option.prepare, "--prepare")
        reads = any(metric.reads_output for metric in self.metrics)
        ran = self.runner.run(option.command, read=reads)
        why = self._broken(ran)
        sample = None
        if why:
            self.out.append(Out(option.name, why))
        elif ran.failure and not self._accepted(ran):
            raise InputError(f"option {quote(option.name)} {self._failed(option, ran)}")
        else:
            values = (m.value(ran, option.name, option.fill) for m in self.metrics)
            sample = Sample(option.name, number, tuple(values))
        self._run_untimed(option, option.cleanup, "--cleanup")
        return sample

    def _broken(self, ran: Ran) -> str:
        """Say which limit a run breaks that holds for every run; empty if none."""
        if ran.late:
            assert self.runner.timeout is not None
            return f"took longer than {duration_text(self.runner.timeout)}"
        if self.most_exit is not None and not self._accepted(ran):
            return ran.failure
        return ""

    def _failed(self, option: Option, ran: Ran) -> str:
        """Say how a run failed, and what to do."""
        if ran.code == 127 and self.runner.shell == NONE:
            program = split(option.command)[0]
            return (
                f"cannot be started: there is no program {quote(program)}; write its path, or "
                f"leave out --shell none"
            )
        return f"{ran.failure}; to leave out options that fail, add --limit 'exit <= 0'"

    def _accepted(self, ran: Ran) -> bool:
        return 0 <= ran.code <= (self.most_exit or 0)

    def _run_untimed(self, option: Option, command: str, what: str) -> None:
        """Run what belongs before or after a run; it is not measured."""
        if not command:
            return
        ran = self.runner.run(command, read=False)
        if ran.failure:
            raise InputError(
                f"{what} of option {quote(option.name)} {ran.failure}; it was {quote(command)}"
            )


class NothingLeftError(InputError):
    """Limits leave fewer than two options, so that nothing is to be measured."""

    def __init__(self, left: Sequence[str], out: Sequence[Out]) -> None:
        reasons = "; ".join(f"{quote(one.option)} {one.why}" for one in out)
        if left:
            text = f"{quote(left[0])} is the only option that keeps the limits: {reasons}"
            self.exit_code = 0
        else:
            text = f"no option keeps the limits: {reasons}"
            self.exit_code = 2
        super().__init__(text)


def _keeps(limit: str, value: float) -> bool:
    """Whether a value keeps a limit, in the units of `read_limit`."""
    from psips.problem.limits import read_limits
    from psips.problem.scales import Scale

    name = limited_metric(limit)
    sides = read_limits([name], ["min"], [Scale()], None, True, [limit])
    return all(side.sign * (value - side.bound) >= 0.0 for side in sides)


def _most_exit(limits: Sequence[str]) -> int | None:
    """Return the largest exit code that is accepted; None if nothing was said."""
    found = None
    for text in limits:
        if limited_metric(text) == EXIT:
            sign, bound = text.partition("<=")[1:]
            if not sign or not bound.strip().isdigit():
                raise InputError(
                    f"a limit on the exit code must be like 'exit <= 0', got {quote(text)}"
                )
            found = int(bound)
    return found
