"""Rounds of runs: who is measured next, and what is known of it.

A round runs each of the options that are chosen for it once, in a random order, close together
in time. It is an item that they share: what is slow in a round (other programs, a warm machine)
is slow for all of them and cancels where they are compared. Rounds pass: an option that was not
in one is not measured in it later.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psips.errors import InputError, listing, quote
from psips.problem import Problem
from psips.problem.measurements import ARM, ITEM
from psips.session import Session
from psips.session.tolerance_report import replaceable

if TYPE_CHECKING:
    from psips.study import Study


@dataclass(frozen=True)
class Sample:
    """One run that counts."""

    option: str
    round: int
    values: tuple[float, ...]  # in the order of the metrics


class Measurements:
    """What is known of the options: a session, and with a study also its log.

    The session chooses. With a study, its log decides when to stop, so that it says the same
    whoever reads it later.

    Parameters
    ----------
    problem : Problem
    delta : float
    seed : int
    study : Study, optional
        What it knows already counts.
    """

    def __init__(
        self, problem: Problem, delta: float, seed: int, study: Study | None = None
    ) -> None:
        self.problem, self.delta, self.seed, self.study = problem, delta, seed, study
        self.session = Session(problem, delta=delta, seed=seed)
        self.samples: list[Sample] = []
        self.round = 0
        if study is not None:
            self._take_over(study)

    def _take_over(self, study: Study) -> None:
        """Tell the session what the study knows."""
        rounds: dict[int, list[Sample]] = {}
        for told in study.told:
            values = tuple(float("nan") if v is None else v for v in told.values)
            item = told.item or ""
            number = int(item) if item.isdigit() else 0
            if told.counts:
                rounds.setdefault(number, []).append(Sample(told.arm, number, values))
        for number in sorted(rounds):
            self._tell_session(rounds[number])
            self.round = number

    @property
    def stopped(self) -> bool:
        """Whether the Pareto set is known."""
        return self.session.stopped if self.study is None else self.study.stopped

    @property
    def judged(self) -> Session:
        """The session whose word counts."""
        return self.session if self.study is None else self.study.state.session

    @property
    def replaceable(self) -> dict[str, str]:
        """Members that another seems to match, and to beat in some metric; and which one."""
        session = self.judged
        return replaceable(session.noisy, session.engine) if self.problem.tolerance else {}

    def next_rounds(self, order: random.Random) -> list[list[str]]:
        """Return the options of the next rounds, each in a random order."""
        session, K = self.session, self.problem.K
        if session.items is None:
            asked = session.ask(K)
            for ticket in asked:
                session.cancel(ticket)
            rounds = layers([ticket.arm for ticket in asked])
        else:
            session.items.begin(str(self.round + 1))
            asked = session.ask(K)
            for ticket in reversed(asked):
                session.cancel(ticket)
            rounds = layers([ticket.arm for ticket in asked])
        for one in rounds:
            order.shuffle(one)
        return rounds

    def tell(self, samples: Sequence[Sample]) -> None:
        """Take in the runs of a round."""
        if not samples:
            return
        if self.study is not None:
            import warnings

            from psips.study.outliers import FarValueWarning

            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FarValueWarning)  # said at the end, by round
                self.study.tell_many(self._rows(samples))
        self._tell_session(samples)
        self.round = max(self.round, samples[-1].round)

    def _tell_session(self, samples: Sequence[Sample]) -> None:
        self.session.tell(self._rows(samples))
        self.samples += samples

    def _rows(self, samples: Sequence[Sample]) -> list[dict[str, Any]]:
        return [
            {
                ARM: one.option,
                **({ITEM: str(one.round)} if self.problem.has_items else {}),
                **dict(zip(self.problem.objectives, one.values, strict=True)),
            }
            for one in samples
        ]

    def without(self, option: str) -> Measurements:
        """Return what is known of the other options."""
        rest = [arm for arm in self.problem.arms if arm != option]
        found = Measurements(_with_arms(self.problem, rest), self.delta, self.seed)
        rounds: dict[int, list[Sample]] = {}
        for one in self.samples:
            if one.option != option:
                rounds.setdefault(one.round, []).append(one)
        for number in sorted(rounds):
            found._tell_session(rounds[number])
        found.round = self.round
        return found


def layers(asked: Sequence[str]) -> list[list[str]]:
    """Return rounds for options that were asked for, some of them several times.

    Each round has an option once, as far as it has others to be compared with; what is asked
    for more often than any other is spread over the rounds.

    Examples
    --------
    >>> layers(["a", "b", "a", "c", "a", "b", "a"])
    [['a', 'a', 'b', 'c'], ['a', 'a', 'b']]
    >>> layers(["a", "a"])
    [['a', 'a']]
    """
    counts = Counter(asked)
    often = sorted(counts.values(), reverse=True)
    rounds: list[list[str]] = [[] for _ in range(often[1] if len(often) > 1 else 1)]
    for option, times in counts.items():
        for k in range(times):
            rounds[k % len(rounds)].append(option)
    return rounds


def _with_arms(problem: Problem, arms: Sequence[str]) -> Problem:
    """Return a problem with fewer arms; costs and features it has none of."""
    return Problem.from_dict({**problem.to_dict(), "arms": list(arms)})


def check_study(name: str, store: str, options: Sequence[str]) -> None:
    """Refuse a study of other options, or a name that none can have, before anything is run."""
    from psips.store import open_store
    from psips.study import Study
    from psips.study.inputs import read_name

    read_name(name)
    with open_store(store, create=True) as opened:
        there = name in opened.studies()
    if there:
        arms = Study.open(name, store).problem.arms
        if not set(arms) <= set(options):
            raise _other(name, f"options, {listing(arms)}")


def open_study(
    name: str, store: str, problem: Problem, delta: float, seed: int | None
) -> Study:
    """Open a study of these options and metrics, or create it."""
    from psips.store import open_store
    from psips.study import Study

    with open_store(store, create=True) as opened:
        there = name in opened.studies()
    if not there:
        return Study.create(problem, store, name=name, seed=seed, delta=delta)
    study = Study.open(name, store)
    difference = _difference(study.problem.to_dict(), problem.to_dict())
    if difference:
        raise _other(name, difference)
    if study.rules.delta != delta:
        raise InputError(
            f"the study {quote(name)} was registered with delta {study.rules.delta:g}, got "
            f"{delta:g}: a delta cannot be changed afterwards"
        )
    if study.closed:
        raise InputError(f"the study {quote(name)} is closed: choose another name")
    return study


def _other(name: str, difference: str) -> InputError:
    return InputError(
        f"the study {quote(name)} has other {difference}: repeat the command it was begun "
        f"with, or choose another name"
    )


def _difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """Say in what a registered problem differs; empty if in nothing."""
    for key, what in (("arms", "options"), ("objectives", "metrics")):
        if there[key] != here[key]:
            return f"{what}, {listing(there[key])}"
    keys = [key for key in {**there, **here} if key != "name"]
    wrong = [key for key in keys if there.get(key) != here.get(key)]
    words = {"scales": "ways to compare its metrics", "epsilon": "tolerances"}
    return "" if not wrong else words.get(wrong[0], wrong[0])
