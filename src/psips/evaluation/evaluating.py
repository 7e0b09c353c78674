"""Options evaluated on items by calls of a function, on many workers, with an early stop."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from psips.errors import InputError, counted, quote
from psips.evaluation.layout import estimates_of, laid_out, legend_of, marked
from psips.evaluation.pool import Done, Function, Pool, make_pool
from psips.evaluation.progress import SECONDS_PER_REPORT, Progress, Reporter, reporter_of
from psips.evaluation.sources import SessionSource, Source, StudySource
from psips.input.checks import read_items
from psips.input.digits import chance
from psips.input.directions import with_directions
from psips.input.escaping import as_json, plain
from psips.input.seeds import Seed, either_seed, generator
from psips.problem import Problem
from psips.problem.goals_and_budget import THESE
from psips.rules.promises import short_promise
from psips.session import Session, Ticket
from psips.session.arguments import check_count
from psips.session.status import Status
from psips.session.status_text import WIDTH, cut, in_blocks
from psips.study import Study
from psips.study.on_stop import carry_out, check_order
from psips.study.plain import known_data

MAX_FAILURES = 20  # calls of one arm that fail one after the other, before that is an error
AHEAD = 4  # for so many workers one call waits in line, so that no worker does


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The result of an evaluation.

    Parameters
    ----------
    stopped : bool
        Whether the set is known; otherwise items, or the budget, have come to an end.
    pareto_set : tuple of str or None
        The answer, if it stopped; if the items have come to an end, the Pareto set of these
        items, without a promise for others. None if the budget has.
    probability : float
        Posterior probability of the candidate set, for the items that the question is of.
    candidate_set : tuple of str
        Pareto set of the estimates.
    results : int
        Calls that gave values.
    failures : list of (arm, item, error)
        Calls that were given up after all their retries.
    seconds : float
    busy : float
        Share of the time of all workers that was spent in calls.
    session : Session
        What is known; `Session.status` has it in full.
    """

    stopped: bool
    pareto_set: tuple[str, ...] | None
    probability: float
    candidate_set: tuple[str, ...]
    results: int
    failures: list[tuple[str, str, BaseException]]
    seconds: float
    busy: float
    session: Session = field(repr=False)

    def __str__(self) -> str:
        if not self.candidate_set:
            return plain("\n".join(self.sentences))
        problem, status = self.session.problem, self.session.status()
        inside = "candidate set" if self.pareto_set is None else "Pareto set"
        legend = legend_of(problem, inside)
        return plain(laid_out(self.sentences, self._table(problem, status), [legend]))

    def _table(self, problem: Problem, status: Status) -> list[str]:
        """Return the arms with their estimates."""
        means = estimates_of(problem, status.arms)
        columns = [
            ("results", [f"{int(n):,}" for n in status.arms["pulls"]]),
            *((name, [row[c] for row in means]) for c, name in enumerate(problem.objectives)),
            ("probability", [chance(p) for p in status.answers["probability"]]),
        ]
        inside = [arm in self.candidate_set for arm in problem.arms]
        names = marked([cut(arm) for arm in problem.arms], inside, columns, WIDTH)
        return in_blocks("  arm", names, columns)

    @property
    def sentences(self) -> list[str]:
        """The results, in words."""
        problem = self.session.problem
        names = ", ".join(self.candidate_set) or "none"
        of = f"{counted(self.results, 'result')} of {problem.K * len(problem.items):,}"
        if self.stopped:
            promise = short_promise(self.session.rules)
            these = " of these items" if self.session.of == THESE else ""
            if these and self.session.items is not None and self.session.items.all_told:
                promise, these = "nothing is left to chance", f"{these}, for certain"
            said = [f"stopped after {of} ({promise})", f"Pareto set{these}: {names}"]
            if these == " of these items":
                said.append("calls that were not made are taken to be like the others")
        elif self.pareto_set is not None and self.session.of == THESE:
            said = [
                f"nothing is left to call, after {of}",
                f"Pareto set of these items, with probability {chance(self.probability)}: "
                f"{names}",
            ]
        elif self.pareto_set is not None:
            said = [
                f"all items were used without a stop, after {of}",
                f"Pareto set of these items: {names}",
                "of all items like these, it is this set with probability "
                f"{chance(self.probability)}",
            ]
        else:
            said = [f"ended without a stop, after {of}", f"candidate set: {names}"]
        doubt = self.session.status().few_items
        if doubt:
            said.append(doubt)
        if self.failures:
            arm, item, error = self.failures[-1]
            said.append(
                f"{counted(len(self.failures), 'call')} failed, the last (arm {quote(arm)}, "
                f"item {quote(item)}) with {type(error).__name__}: {error}"
            )
        unseen = [arm for arm, n in self.session.pulls.items() if not n]
        if unseen:
            said.append(f"without any result: {', '.join(unseen)}")
        return said


def evaluate(
    arms: Mapping[str, Any] | Iterable[Any],
    items: Mapping[str, Any] | Iterable[Any],
    run: Function,
    *,
    objectives: Any = None,
    workers: int = 8,
    pool: str | None = None,
    retries: int = 1,
    timeout: float | None = None,
    study: Study | None = None,
    budget: float | None = None,
    epsilon: Any = None,
    seed: Seed = None,
    rng: Seed = None,
    shuffle: bool = True,
    of: str | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
    on_stop: str | None = None,
    **choices: Any,
) -> Evaluation:
    """Call ``run(arm, item)`` where it informs most, until the Pareto set is known.

    The results of different arms on one item are compared with each other, so that what makes
    items differ does not matter. There is no barrier: a worker that is free has the next call,
    and calls that run count in the choice.

    Parameters
    ----------
    arms : names, or mapping from name to what ``run`` is called with
    items : names, or mapping from name to what ``run`` is called with
        Every arm goes through them in one order.
    run : callable
        Returns the values of one result: a mapping by objective, a sequence in their order, or
        one number. A coroutine function is awaited.
    objectives : as of `Problem`
        Left out if a study is given. A direction that is not given is guessed by the name
        (less of ``cost`` is better, more of ``accuracy``), with a warning; a name that does
        not settle it is refused.
    workers : int
    pool : "threads", "processes" or "asyncio", optional
        Threads if left out, or an event loop if ``run`` is a coroutine function. For processes
        function, arms, items and values must be such as pickle can send.
    retries : int
        How often a call is made again that has raised an error, or took too long. Then it is
        given up, and the arm goes on with its next item.
    timeout : float, optional
        Seconds after which a call is given up.
    study : Study, optional
        Where asks and results are recorded. Its problem must have these arms and items; what it
        knows already counts.
    budget : number, optional
        Results, or cost, that may be spent.
    epsilon : optional
        Tolerance, as of `Problem`: without one, options that are equal are never told apart.
    seed, rng : None, int, SeedSequence or Generator
        Two names of the same thing: of the order of the items, and of the session.
    shuffle : bool
        Whether the items come in a random order, as they should: promises are over that order.
    of : "like these" (if left out) or "these"
        Whether the items stand for others, or are all there are: then less is to be called, and
        with the last call the set is certain. A study has it registered.
    progress : bool or callable, optional
        Whether to show about every second how it goes, or who is told. If left out, on a
        terminal: the front, its probabilities and how much is still to be measured.
    on_stop : str, optional
        What to do when the set is known: a command to run, with the status as JSON on its
        standard input, or an http(s) address to post it to.
    **choices
        Fields of `Rules`, such as ``delta=0.05``.

    Examples
    --------
    >>> import random
    >>> skill = {"small": 0.1, "large": 0.6, "huge": 0.62}
    >>> price = {"small": 1.0, "large": 2.0, "huge": 9.0}
    >>> def run(model, question):
    ...     luck = random.Random(f"{model} {question}").gauss(0, 0.1)
    ...     return {"score": skill[model] + question + luck, "price": price[model] + luck}
    >>> questions = {f"q{n}": random.Random(n).random() for n in range(500)}
    >>> found = evaluate(
    ...     list(skill), questions, run, objectives={"score": "max", "price": "min"}, seed=1
    ... )
    >>> found.stopped, found.pareto_set
    (True, ('small', 'large', 'huge'))
    """
    check_count("the number of workers", workers)
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise InputError(f"retries must be a whole number of at least 0, got {quote(retries)}")
    if timeout is not None and not 0 < timeout < math.inf:
        raise InputError(f"the timeout must be a positive number of seconds, got {timeout!r}")
    if study is None and objectives is not None:
        objectives = with_directions(objectives)
    if on_stop is not None:
        check_order(on_stop, "on_stop")
    what_arms, what_items = _named("arm", arms), _named("item", items)
    source = _source(
        *(what_arms, what_items, objectives, study, budget, epsilon),
        *(either_seed(rng, seed), shuffle),
        {**choices, **({} if of is None else {"of": of})},
    )
    reporter = reporter_of(progress)
    work = _Work(source, what_arms, what_items, retries, timeout, reporter)
    try:
        found = work.go(make_pool(pool, run, workers))
    finally:
        reporter.close()
    if on_stop is not None and found.stopped:
        _carry_out(on_stop, source, found)
    return found


def _named(kind: str, given: Any) -> dict[str, Any]:
    """Return what a call gets by name."""
    if isinstance(given, Mapping):
        named = {str(name): value for name, value in given.items()}
        return (
            named
            if kind == "arm"
            else dict(zip(read_items(named), named.values(), strict=True))
        )
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(f"{kind}s must be names, or a mapping from names, got {quote(given)}")
    return _named(kind, {str(value): value for value in given})


def _source(
    arms: Mapping[str, Any],
    items: Mapping[str, Any],
    objectives: Any,
    study: Study | None,
    budget: float | None,
    epsilon: Any,
    seed: Seed,
    shuffle: bool,
    choices: Mapping[str, Any],
) -> Source:
    if study is not None:
        if choices or any(one is not None for one in (objectives, budget, epsilon)):
            raise InputError(
                "a study has objectives, a tolerance, rules, a budget and a question of its "
                "own: leave them out"
            )
        _check_study(study.problem, arms, items)
        return StudySource(study)
    if objectives is None:
        raise InputError("evaluate needs the objectives, or a study that has them")
    order: Sequence[str] = list(items)
    if shuffle:
        order = [order[j] for j in generator(seed).permutation(len(order))]
    problem = Problem(objectives=objectives, arms=list(arms), items=order, epsilon=epsilon)
    return SessionSource(Session(problem, seed=seed, budget=budget, **choices))


def _check_study(problem: Problem, arms: Mapping[str, Any], items: Mapping[str, Any]) -> None:
    if not problem.has_items or not problem.items:
        raise InputError("the study has no list of items: register it with items=[...]")
    for kind, needed, given in (("arm", problem.arms, arms), ("item", problem.items, items)):
        missing = [name for name in needed if name not in given]
        if missing:
            raise InputError(
                f"the study has the {kind} {quote(missing[0])}, which was not given"
            )


def _carry_out(order: str, source: Source, found: Evaluation) -> None:
    """Do what is to be done at the stop; that it failed is a warning, the answer is there."""
    data = known_data(source.session.problem, source.status(), found.pareto_set)
    failed = carry_out(order, as_json({"study": source.name, **data}))
    if failed:
        warnings.warn(
            f"the set is known, but on_stop was not carried out: {failed}", stacklevel=3
        )


class _Work:
    """One evaluation: who is asked, which calls run, and what failed."""

    def __init__(
        self,
        source: Source,
        arms: Mapping[str, Any],
        items: Mapping[str, Any],
        retries: int,
        timeout: float | None,
        reporter: Reporter,
    ) -> None:
        self.source, self.arms, self.items = source, arms, items
        self.retries, self.timeout, self.reporter = retries, timeout, reporter
        self.asks: dict[int, tuple[Ticket, int]] = {}  # by call: what for, and which try
        self.calls = 0
        self.failures: list[tuple[str, str, BaseException]] = []
        self.in_a_row: Counter[str] = Counter()
        self.spent = 0.0  # seconds in calls

    def go(self, pool: Pool) -> Evaluation:
        """Call until the stop, or until there is nothing left to call."""
        begin = told = perf_counter()
        nothing_left = False
        most = pool.workers + math.ceil(pool.workers / AHEAD)
        try:
            while not self.source.stopped:
                while len(self.asks) < most:
                    ticket = self.source.ask()
                    if ticket is None:
                        break
                    self._call(pool, ticket, 0)
                if not self.asks:
                    nothing_left = True
                    break
                self._take(pool, pool.wait(self._until_late(pool)))
                if perf_counter() - told >= SECONDS_PER_REPORT:
                    told = perf_counter()
                    self.reporter.report(self._progress(told - begin), self.source)
            seconds = perf_counter() - begin
            now = perf_counter()
            self.spent += sum(now - start for start in list(pool.began.values()))
        finally:
            pool.close()
            self.source.leave([ticket for ticket, _ in self.asks.values()])
        self.reporter.report(self._progress(seconds), self.source)
        session = self.source.session
        if self.failures and not session.results:
            arm, item, error = self.failures[-1]
            raise InputError(
                f"every call failed, {len(self.failures):,} in all, the last (arm "
                f"{quote(arm)}, item {quote(item)}) with {type(error).__name__}: {error}; "
                f"fix the function that is called"
            ) from error
        known = bool(session.candidate_set)
        ended = known and nothing_left and session.has_room
        return Evaluation(
            session.stopped,
            session.candidate_set if ended else session.pareto_set,
            1.0 - session.status().probability_of_change if known else math.nan,
            session.candidate_set,
            session.results,
            self.failures,
            seconds,
            min(self.spent / (seconds * pool.workers), 1.0),
            session,
        )

    def _progress(self, seconds: float) -> Progress:
        session = self.source.session
        return Progress(
            session.results, len(self.failures), len(self.asks), seconds, session.candidate_set
        )

    def _call(self, pool: Pool, ticket: Ticket, attempt: int) -> None:
        self.calls += 1
        self.asks[self.calls] = ticket, attempt
        pool.submit(self.calls, self.arms[ticket.arm], self.items[ticket.item or ""])

    def _until_late(self, pool: Pool) -> float:
        """Seconds until the first call that runs has taken too long, or a report is due."""
        if self.timeout is None or not pool.began:
            return SECONDS_PER_REPORT
        first = min(list(pool.began.values()))
        return min(max(first + self.timeout - perf_counter(), 0.0), SECONDS_PER_REPORT)

    def _take(self, pool: Pool, ended: Sequence[Done]) -> None:
        """Tell the results of calls, and give up those that take too long."""
        for done in ended:
            ticket, attempt = self.asks.pop(done.number)
            self.spent += done.seconds
            error = done.error
            if error is None:
                try:
                    self.source.tell(ticket, done.value)
                    self.in_a_row[ticket.arm] = 0
                except InputError as refused:
                    error = refused
            if error is not None:
                self._fail(pool, ticket, attempt, error)
            if self.source.stopped:
                return
        if self.timeout is not None:
            now = perf_counter()
            late = [n for n, start in list(pool.began.items()) if now - start > self.timeout]
            for number in late:
                if number in self.asks:
                    ticket, attempt = self.asks.pop(number)
                    pool.abandon(number)
                    self.spent += self.timeout
                    error = TimeoutError(f"no answer within {self.timeout:g} s")
                    self._fail(pool, ticket, attempt, error)

    def _fail(self, pool: Pool, ticket: Ticket, attempt: int, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise error
        if attempt < self.retries:
            self._call(pool, ticket, attempt + 1)
            return
        self.failures.append((ticket.arm, ticket.item or "", error))
        self.source.give_up(ticket)
        self.in_a_row[ticket.arm] += 1
        if self.in_a_row[ticket.arm] >= MAX_FAILURES:
            raise InputError(
                f"{MAX_FAILURES} calls of arm {quote(ticket.arm)} failed one after the other, "
                f"the last with {type(error).__name__}: {error}; fix it, or leave the arm out"
            ) from error
