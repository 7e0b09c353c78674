"""A session: ask what to measure next, tell the result, until the Pareto set is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, counted, quote
from psips.input.digits import chance
from psips.input.former_names import read_renamed
from psips.input.seeds import Seed, draw_key, either_seed
from psips.problem import Problem
from psips.problem.exact import private, state_facts, without
from psips.problem.goals_and_budget import (
    LIKE_THESE,
    THESE,
    goal_reached,
    has_room,
    read_budget,
    read_goal,
    room_for,
)
from psips.problem.instances import Results
from psips.problem.measurements import (
    ITEM,
    are_rows,
    is_frame,
    is_missing,
    nothing_told,
    read_results,
    read_rows,
    read_values,
)
from psips.rules import Rules
from psips.rules.promises import short_promise
from psips.session.arguments import (
    check_budgeted,
    check_count,
    check_listed,
    read_population,
    read_rules,
    read_target,
)
from psips.session.dominance import MAX_COMPARED, Comparisons, comparisons_of
from psips.session.engine import FORMAT, NOTHING, Engine
from psips.session.engines import engine_for
from psips.session.exact import Exact, Row
from psips.session.finite import FiniteEngine
from psips.session.items import Items
from psips.session.mixed import MixedEngine
from psips.session.outlook import further_asks, outlook_of
from psips.session.restoring import (
    FORMER_NAMES,
    UNREADABLE,
    reason,
    require,
    with_present_names,
)
from psips.session.status import Status, status_of, with_exact
from psips.session.tickets import Receipt, Ticket
from psips.session.timing import Clock, TimeLimit
from psips.session.tolerance_report import Saving, ending_tolerance, savings, suggested
from psips.session.verdicts import verdicts_of

if TYPE_CHECKING:
    import pandas as pd

    from psips.session.card import Card

NO_EXPLORING = 0.999  # alpha: the share of forced exploration falls with the asks at once
_ABSENT = object()


class Session:
    """One adaptive experiment: it chooses arms, takes in results and judges them.

    A session never measures anything itself: your program asks, measures and tells. What it
    does is a function of its key, of the asks made and of the results told, in their order.

    Parameters
    ----------
    problem : Problem
    rules : Rules, optional
        Or its fields by keyword: ``delta=0.05, sampling="posterior"``.
    rng : None, int, SeedSequence or Generator
        The session's key is its next two words of 64 bits; nothing else is drawn from it.
    seed : None, int, SeedSequence or Generator
        Another name of ``rng``; give one of the two.
    target : (K,) weights, optional
        What the sampling rule ``oracle`` pulls by; for simulations.
    budget : number, optional
        What may be spent in all: results, or cost if the problem has costs. Asks beyond it
        are refused (see `done`); results are always accepted. When it runs out without a stop,
        the session claims only what is proven; `status` says what is undecided.
    goal : str, optional
        What is to be proven instead of the whole set: ``"2 optimal"``, ``"settle A"`` or
        ``"beat control"``. It needs the stopping rule ``certified``, which is then the default.
    time_limit : duration, optional
        A budget of time, from the first ask or result on: ``"1h"``, ``"30min"``, a number of
        seconds or a timedelta. It ends asking, and never changes what is asked for.
    clock : callable, optional
        Gives seconds; for tests.
    of : "like these" (if left out) or "these"
        Whether the Pareto set is that over all items like those measured, or over the items of
        the list alone. The list must then be in random order; once all of it is measured, the
        set is certain.
    **choices
        Fields of `Rules`, such as ``tuning={"alpha": 0.5}``; ``confidence=0.95`` is the same
        as ``delta=0.05``. ``guarantee="proven"`` chooses the proven stopping rule that takes
        the fewest results: about 1.5 times those of the default, which is "validated" by
        simulation (without features, noise that is not known: 2 to 3 times).
        ``expected_results=300``, or a range (low, high), is how many results you expect in
        all: the default's threshold is lowest there, and delta the same.

    Examples
    --------
    >>> problem = Problem(
    ...     objectives={"yield": "max", "cost": "min"}, covariance=[1, 1], arms=["A", "B", "C"]
    ... )
    >>> session = Session(problem, delta=0.05, rng=1)
    >>> ticket = session.ask()
    >>> print(ticket)
    A
    >>> session.tell(ticket, {"yield": 9.0, "cost": 1.0})
    Receipt(numbers=(1,), known=0, stopped=False, ...)
    >>> for ticket, values in zip(session.ask(2), [[1.0, 8.0], [7.0, 0.5]]):
    ...     receipt = session.tell(ticket, values)
    >>> session.candidate_set, session.done, session.pareto_set
    (('A', 'C'), False, None)
    """

    def __init__(
        self,
        problem: Problem,
        *,
        rules: Rules | None = None,
        rng: Seed = None,
        seed: Seed = None,
        target: Any = None,
        budget: float | None = None,
        goal: str | None = None,
        time_limit: object = None,
        clock: Clock = monotonic,
        of: str | None = None,
        **choices: Any,
    ) -> None:
        if not isinstance(problem, Problem):
            raise InputError(f"a session needs a Problem, got {quote(problem)}")
        self.problem = problem
        self.goal = read_goal(problem, goal)
        self.rules = read_rules(problem, rules, choices, goal)
        self.of = read_population(problem, self.rules, of)
        self._weights = None if target is None else read_target(problem, target)
        self._key = draw_key(either_seed(rng, seed))
        self.exact = Exact(problem, self.rules.knows_facts, self.rules.delta)
        self.budget = read_budget(problem, budget)
        self.time_limit = None if time_limit is None else TimeLimit(time_limit, clock)
        self.lost = 0.0  # cost of results that do not count; set by studies
        check_budgeted(self.rules, self.budget)
        self.items = Items(problem.arms, problem.items) if problem.has_items else None
        self._begin()
        self._told: list[tuple[int, Floats]] = []  # as they were measured
        self._told_items: list[str] = []  # items of these results, if arms share items

    def _begin(self) -> None:
        """Begin a run that knows nothing but exact metrics; its problem is what they leave."""
        columns = self.exact.columns
        declared = columns == self.exact.declared
        self.noisy = self.problem.noisy if declared else without(self.problem, columns)
        program = self.rules.program(self.noisy, self._weights, self.goal)
        model = private(self.noisy.model)
        self.engine = engine_for(model, self.of == THESE)(
            model,
            program,
            self._key,
            self.noisy.prior_arrays,
            math.inf if self.budget is None else self.budget,
        )
        if isinstance(self.engine, FiniteEngine):
            self.engine.items = len(self.problem.items)
        state_facts(self.noisy.facts, self.exact.values, model)

    def _begin_again(self, rows: list[Row]) -> None:
        """Begin a run with other exact metrics; it goes on with these results and all asks."""
        before: Engine = self.engine
        self._begin()
        for row in rows:
            self._learn(row)
        self.engine.room[:] = before.room
        for field in ("played", "pending", "tally"):
            getattr(self.engine.learner, field)[:] = getattr(before.learner, field)

    @property
    def pending(self) -> dict[str, int]:
        """Number of asks of each arm that were neither told nor taken back."""
        counts = self.engine.learner.pending.tolist()
        return {arm: int(n) for arm, n in zip(self.problem.arms, counts, strict=True)}

    @property
    def stopped(self) -> bool:
        """Whether the stopping rule holds for the results told so far."""
        return self.settled and not self.exact.lacking

    @property
    def settled(self) -> bool:
        """Whether the stopping rule holds, whatever repeats exact metrics still lack."""
        return self.engine.stopped or bool(self.exact.front)

    @property
    def candidate_set(self) -> tuple[str, ...]:
        """Pareto set of the estimates.

        Empty while an arm without features is unmeasured; with features, while the arms
        measured do not span them.
        """
        found = self.exact.front or self.engine.candidate
        return tuple(self.problem.answers[a] for a in found)

    @property
    def pareto_set(self) -> tuple[str, ...] | None:
        """The answer, once the session has stopped; None before.

        None too at a goal that leaves some answers open: see `proven`.
        """
        if not self.stopped or (self.goal is not None and self.proven["open"]):
            return None
        return self.candidate_set

    @property
    def proven(self) -> dict[str, tuple[str, ...]]:
        """Answers proven ``in`` the Pareto set, proven ``out`` of it, and ``open``."""
        found = verdicts_of(self.noisy, self.engine, lacking=False)
        return {
            kind: tuple(one.answer for one in found if one.verdict == kind)
            for kind in ("in", "out", "open")
        }

    @property
    def claim(self) -> str:
        """What the stop has shown, in words; empty before."""
        if not self.stopped:
            return ""
        if self.goal is None:
            within = " within the tolerance" if self.problem.tolerance else ""
            names = ", ".join(self.candidate_set)
            return f"Pareto set{within}: {names or NOTHING}"
        found = verdicts_of(self.noisy, self.engine, lacking=False)
        known = {one.answer: (one.verdict, one.rival) for one in found}
        return goal_reached(self.problem, self.goal, known)

    @property
    def results(self) -> int:
        """Number of results told."""
        return self.engine.results

    @property
    def spent(self) -> float:
        """What the results cost, which is their number if the problem has no costs."""
        return float(self.problem.costs @ self.engine.belief.pulls) + self.lost

    @property
    def left(self) -> float:
        """What remains of the budget, less what pending asks cost; infinite without one."""
        pending = float(self.problem.costs @ self.engine.learner.pending)
        return math.inf if self.budget is None else self.budget - self.spent - pending

    @property
    def exhausted(self) -> bool:
        """Whether the budget is used up by what was told, or the time limit is over."""
        if self.time_limit is not None and self.time_limit.over:
            return True
        if self.budget is None:
            return False
        return not has_room(self.problem, self.budget, self.budget - self.spent, 1)

    @property
    def has_next(self) -> bool:
        """Whether there is anything left to ask for: budget, time and items permitting."""
        if self.items is not None and not any(map(self.items.has_more, range(self.problem.K))):
            return False
        return self.has_room

    @property
    def has_room(self) -> bool:
        """Whether budget and time leave room for an ask; those that wait count as spent."""
        if self.exhausted:
            return False
        return self.budget is None or has_room(self.problem, self.budget, self.left, 1)

    @property
    def done(self) -> bool:
        """Whether to end the loop: stopped, or nothing is left to ask for.

        Asks that wait for their results count as spent; results are taken even so.
        """
        return self.stopped or not self.has_next

    @property
    def pulls(self) -> dict[str, int]:
        """Number of results of each arm."""
        counts = self.engine.belief.pulls.tolist()
        return {arm: int(n) for arm, n in zip(self.problem.arms, counts, strict=True)}

    @property
    def told(self) -> Results:
        """Results in their order, since the session began or was restored."""
        arms = np.array([arm for arm, _ in self._told], np.int64)
        rows = np.array([row for _, row in self._told]).reshape(-1, self.problem.d)
        return Results(arms, rows)

    @overload
    def ask(self, n: None = None) -> Ticket: ...

    @overload
    def ask(self, n: int) -> list[Ticket]: ...

    def ask(self, n: int | None = None) -> Ticket | list[Ticket]:
        """Return a ticket for the next measurement, or a list of the next ``n``.

        The ticket's text is the arm to measure. If the arms share items, it has an item too:
        the next that the arm has not seen. Arms that were asked for and not yet told count as
        pulled in the choice of the next. Asking is allowed after the stop, but not beyond the
        budget or the time limit.

        Parameters
        ----------
        n : int, optional
            How many; a list is returned if it is given, shorter where the budget or the
            list of items ends.
        """
        if n is not None:
            check_count("the number of arms to ask for", n)
        many = room_for(self.problem, self.budget, self.spent, self.left, n or 1)
        if self.items is not None:
            many = int(max(1, min(many, self.items.left)))
        if self.time_limit is not None:
            self.time_limit.start()
            self.time_limit.check()
        rest = range(many - 1, -1, -1)
        if self.items is None:
            found = [Ticket(self.choose(others)) for others in rest]
        else:
            found = [Ticket(*self.choose_item(others)) for others in rest]
        return found[0] if n is None else found

    def choose_item(self, others: int = 0) -> tuple[str, str]:
        """Return the arm to measure next and its item, see `choose`.

        Once an arm has seen all items of a list, the arm that is furthest behind among the
        others takes its turn.
        """
        if self.items is None:
            raise InputError("the problem has no items: register it with items=True")
        engine, items = self.engine, self.items
        more = np.array([items.has_more(a) for a in range(self.problem.K)])
        if not more.any():
            raise InputError(
                f"every arm was asked for every item, {len(items.names):,} in all: nothing "
                f"is left to ask for; add items, or end the session"
            )
        if isinstance(engine, MixedEngine):
            engine.look_ahead([items.next(a) for a in range(self.problem.K)])
        arm = self.problem.arm_index(self.choose(others))
        if not more[arm]:
            learner = engine.learner
            learner.pending[arm] -= 1.0
            behind = learner.played - engine.belief.N - learner.pending
            arm = int(np.where(more, behind, -np.inf).argmax())
            learner.pending[arm] += 1.0
        return self.problem.arms[arm], items.take(arm)

    def choose(self, others: int = 0) -> str:
        """Return the arm to measure next, leaving room in the budget for ``others`` after it.

        It need not fit if nothing does: `ask` sees to that.
        """
        engine, costs = self.engine, self.problem.costs
        if self.budget is not None:
            engine.room[0] = self.budget - self.lost - others * costs.min()
        arm = self._to_repeat()
        if arm < 0:
            arm = engine.choose()
            if arm >= 0:
                return self.problem.arms[arm]
            arm = int(costs.argmin())
        engine.learner.pending[arm] += 1.0
        return self.problem.arms[arm]

    def _to_repeat(self) -> int:
        """Return the arm to measure if a stop waits for repeats alone; -1 if it does not."""
        engine, costs = self.engine, self.problem.costs
        if not (self.settled and self.exact.lacking):
            return -1
        arm = self.exact.furthest_behind(engine.learner.pending)
        spare = engine.room[0] - costs @ (engine.belief.pulls + engine.learner.pending)
        return arm if costs[arm] <= spare else -1

    def tell(
        self, arm: Any, values: Any = _ABSENT, *, item: object = None, block: object = None
    ) -> Receipt:
        """Take in one result, or a table of many, and judge the evidence again.

        Results need not have been asked for. They are checked before anything changes: a
        call that raises leaves the session as it was, unless it is a stopping rule in Python
        that raises: the results count then. A table is judged once, at its end.

        Parameters
        ----------
        arm : str, Ticket, DataFrame or list of mappings
            What was measured, or the ticket that asked for it. A DataFrame has a column
            ``arm`` (or the arms' names as index) and a column per objective, with items a
            column ``item``; its other columns are left alone. So are other keys of mappings.
        values : mapping by objective, sequence in their order, or number if there is one
            Left out with a table.
        item : name, optional
            The item that was measured, if the arms share items; that of the ticket if there
            is one. Without one the result shares nothing.
        block
            The former name of ``item``.

        Returns
        -------
        Receipt
            With the numbers of the results, and whether the session has stopped.
        """
        item = self._item_of(arm, read_renamed("item", item, "block", block))
        items: list[str] = []
        if is_frame(arm) or are_rows(arm):
            if values is not _ABSENT or item is not None:
                raise InputError("a table of results has its values in it: give nothing else")
            read = read_results if is_frame(arm) else read_rows
            arms, rows = read(self.problem, arm)
            items = self._items_of(arm)
        elif values is _ABSENT:
            raise nothing_told(arm)
        elif arm is None or values is None:
            raise nothing_told(arm, values)
        else:
            index = self.problem.arm_index(arm)
            arms, rows = np.array([index]), read_values(self.problem, values)[None, :]
            items = [] if self.items is None else [self.items.read(item)]
        first, repeating = self.results + 1, self.exact.repeating
        if len(arms) > 0:
            self._take(arms.tolist(), rows, items)
        now = self.exact.repeating
        exact = "" if now == repeating else self.exact.words_since(repeating)
        numbers = tuple(range(first, self.results + 1))
        return Receipt(numbers, 0, self.stopped, exact=exact)

    def _take(self, arms: list[int], rows: Floats, items: list[str]) -> None:
        """Take in results (T, d) as they were measured, and judge them."""
        check_listed(self.of, items or [""])
        self.exact.check(arms, rows)
        if self.time_limit is not None:
            self.time_limit.start()
        inward = self.problem.inward(self.problem.compared(rows))
        for k, (index, row, x) in enumerate(zip(arms, rows, inward, strict=True)):
            self.learn(index, x, items[k] if items else "")
            self._told.append((index, row))
        self._told_items += items
        self.engine.judge()

    def _item_of(self, arm: object, given: object) -> object:
        """Return the item that is meant: the one given, or that of a ticket; None for none."""
        asked = arm.item if isinstance(arm, Ticket) else None
        item = asked if given is None else given
        if asked is not None and str(item) != asked:
            raise InputError(
                f"the ticket is for item {quote(asked)}, not {quote(item)}: leave item= out"
            )
        if item is not None and self.items is None:
            raise InputError(
                f"the problem has no items, got {quote(item)}: register it with items=True, or "
                f"leave the item out"
            )
        return item

    def learn(self, arm: int, x: Floats, item: str = "") -> None:
        """Take in one result (d,) with every objective maximised, without judging yet."""
        row = Row(arm, x, () if self.items is None else self.items.tell(arm, item))
        if self.exact.take(row):
            self._begin_again(self.exact.rows[:-1])
        self._learn(row)
        self.exact.forget()

    def _learn(self, row: Row) -> None:
        """Let the run take in what is not exact of a result."""
        facts = self.noisy.facts
        if facts is not None:
            state_facts(facts, self.exact.values, self.engine.model)
        x = row.x if facts is None else np.ascontiguousarray(row.x[facts.rest])
        self.engine.learn(row.arm, x, *row.rest)

    def _items_of(self, table: Any) -> list[str]:
        """Items of the rows of a table of results; empty if the arms share none."""
        if self.items is None:
            return []
        if not is_frame(table):
            cells = [row.get(ITEM) for row in table]
            return [self.items.read(None if is_missing(cell) else cell) for cell in cells]
        if ITEM not in [str(column) for column in table.columns]:
            return [""] * len(table)
        return [
            self.items.read(None if is_missing(cell) else cell) for cell in table[ITEM].tolist()
        ]

    def cancel(
        self,
        arm: object,
        n: int = 1,
        *,
        item: object = None,
        again: bool = True,
        block: object = None,
    ) -> None:
        """Take back asks that will have no result: they no longer count as pending.

        Parameters
        ----------
        arm : Ticket or str
            The ticket of the ask, or the arm that was asked for and will not be told.
        n : int
            How many asks of an arm.
        item : name, optional
            The item that was asked for with the arm, if the arms share items: that of the
            ticket if left out, or the latest.
        again : bool
            Whether the arm is to meet the item again.
        block
            The former name of ``item``.

        Examples
        --------
        >>> problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B"])
        >>> session = Session(problem, rng=1)
        >>> session.cancel(session.ask())
        >>> session.pending
        {'A': 0, 'B': 0}
        """
        item = self._item_of(arm, read_renamed("item", item, "block", block))
        index = self.problem.arm_index(arm)
        check_count("the number of asks to take back", n)
        open_asks = int(self.engine.learner.pending[index])
        if n > open_asks:
            raise InputError(
                f"arm {quote(str(arm))} has {open_asks} asks without a result, so {n} cannot "
                "be taken back"
            )
        if self.items is not None:
            for _ in range(n):
                name = self.items.asked(index)[-1] if item is None else str(item)
                self.items.cancel(index, name)
                if not again:
                    self.items.leave_out(index, name)
        self.engine.learner.pending[index] -= n

    def status(self) -> Status:
        """Return what is known now: estimates, candidate set and distance to stopping."""
        known = status_of(
            self.noisy, self.engine, self.candidate_set, short_promise(self.rules)
        )
        known = with_exact(known, self.problem, self.exact)
        known = replace(known, spent=self.spent, budget=self.budget, done=self.done)
        if self.time_limit is not None:
            limit = self.time_limit
            known = replace(known, time_limit=limit.seconds, elapsed=limit.elapsed)
        if self.goal is not None:
            known = replace(known, goal=self.goal.text, claim=self.claim)
        if self.items is not None and self.items.all_told:
            text = f"all {len(self.items.names):,} items were measured with every arm: "
            if self.of == THESE:
                text += "of these items the set is certain"
                known = replace(known, probability_of_change=0.0, few_items="")
            else:
                chances = chance(1.0 - known.probability_of_change)
                text += (
                    f"of these items the set is known; of all items like these, it is this set "
                    f"with probability {chances}"
                )
            known = replace(known, items=text)
        elif self.of == THESE:
            listed = counted(len(self.problem.items), "item")
            text = f"the question is of the {listed} of the list alone"
            known = replace(
                known, items=f"{text}; those not measured are taken to be like the others"
            )
        if self.stopped or not self.exhausted:
            return known
        probability = 1.0 - known.probability_of_change
        found = verdicts_of(self.noisy, self.engine)
        over = self.time_limit if self.time_limit and self.time_limit.over else None
        outlook = outlook_of(
            self.problem,
            self.spent if self.budget is None or over else self.budget,
            found,
            probability,
            self._would_spend,
            None if over is None else over.seconds,
        )
        return replace(known, outlook=outlook)

    def comparisons(self, most: int = MAX_COMPARED) -> Comparisons:
        """Say which option dominates which, how surely, and what an undecided pair would cost.

        Parameters
        ----------
        most : int
            How many options at most: candidates, and those most likely to be optimal.
        """
        return comparisons_of(self, most)

    def savings(self, *epsilons: object) -> tuple[Saving, ...]:
        """Say when this would have stopped with a tolerance, told the same results.

        Parameters
        ----------
        *epsilons
            Tolerances as `Problem` takes them; if left out, some parts of the standard
            deviation of the noise, and nothing if the problem has a tolerance.

        Examples
        --------
        >>> problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B"])
        >>> session = Session(problem, rng=1)
        >>> for number in range(60):
        ...     receipt = session.tell("AB"[number % 2], [0.5 * (-1) ** (number // 2)])
        >>> print(*session.savings(0.1, 1.0), sep="; ")
        with a tolerance of 0.1 on yield this would not have stopped by now either; with ...
        """
        given = epsilons or suggested(self.noisy, self.engine)
        if self.goal is not None or self.of == THESE:
            return ()
        items = self._places if epsilons else ()
        told, key, known = self.told, self.engine.key, self.exact.known
        return savings(self.problem, self.rules, told, key, given, items, known)

    def ending_tolerance(self) -> Saving | None:
        """Return the least of some tolerances with which this would have stopped by now.

        None if none of them would do, or the problem has a tolerance or a goal, or the
        question is of these items.
        """
        if self.goal is not None or self.of == THESE:
            return None
        told, engine, known = self.told, self.engine, self.exact.known
        return ending_tolerance(self.problem, self.rules, told, engine, self._places, known)

    def to_frame(self) -> pd.DataFrame:
        """Return the results in their order as a DataFrame: arm, and a column per objective.

        Like `told`, since the session began or was restored.
        """
        import pandas as pd

        arms, values = self.told
        numbers = pd.RangeIndex(1, len(arms) + 1, name="result")
        frame = pd.DataFrame(values, columns=list(self.problem.objectives), index=numbers)
        frame.insert(0, "arm", [self.problem.arms[arm] for arm in arms])
        if self.items is not None:
            frame.insert(1, ITEM, self._told_items)
        return frame

    def rank(
        self,
        *,
        weights: Mapping[str, float] | None = None,
        reference: Mapping[str, float] | None = None,
    ) -> pd.DataFrame:
        """Order the options known to be Pareto-optimal by weights or a reference point.

        No new claim: see `psips.session.preference.rank`.
        """
        from psips.session.preference import rank

        options = self.pareto_set or self.proven["in"]
        facts = self.exact.values if self.noisy.facts is not None else None
        return rank(self.noisy, self.engine, options, weights, reference, facts)

    @property
    def _places(self) -> list[int]:
        """Places of the items of the results told, -1 of those without one."""
        if self.items is None:
            return []
        return [self.items.place(name) if name else -1 for name in self._told_items]

    def _would_spend(self, amount: float) -> dict[str, int]:
        """Ask a twin what it would measure for a further amount.

        The twin hardly explores, and does not make up for what was asked before.
        """
        kept = self.snapshot()
        kept.pop("time", None)
        rules = {**kept["rules"], "alpha": NO_EXPLORING}
        twin = Session.restore({**kept, "rules": rules, "budget": None})
        twin.engine.learner.pending[:] = 0.0
        twin.engine.learner.played[:] = twin.engine.belief.N
        return further_asks(self.problem, twin.choose, amount)

    def snapshot(self) -> dict[str, Any]:
        """Return the whole session, random state included, as data that JSON can hold.

        Examples
        --------
        >>> import json
        >>> problem = Problem(objectives=["yield"], covariance=[1], arms=["A", "B"])
        >>> session = Session(problem, rng=1)
        >>> twin = Session.restore(json.loads(json.dumps(session.snapshot())))
        >>> twin.ask(5) == session.ask(5)
        True
        """
        target = self.engine.program.options.target.tolist()
        return {
            "format": FORMAT,
            "problem": self.problem.to_dict(),
            "rules": self.rules.to_dict(),
            "target": target or None,
            **({} if self.budget is None else {"budget": self.budget}),
            **({} if self.goal is None else {"goal": self.goal.text}),
            **({} if self.time_limit is None else {"time": self._time()}),
            **({} if self.items is None else {"items": self.items.snapshot()}),
            **({} if self.of == LIKE_THESE else {"of": self.of}),
            **self.kept_exact(),
            "engine": self.engine.snapshot(),
        }

    def _time(self) -> dict[str, float]:
        limit = self.time_limit
        return {} if limit is None else {"limit": limit.seconds, "elapsed": limit.elapsed}

    def know_exact(self, values: Floats) -> None:
        """Take the values (K, d) of exact metrics as told, in simulations."""
        columns = list(self.exact.columns)
        self.exact.values[:, columns] = values[:, columns]
        state_facts(self.noisy.facts, self.exact.values, self.engine.model)

    def kept_exact(self) -> dict[str, Any]:
        """Return what is to be kept of exact metrics, if they are or may be found."""
        return {"exact": self.exact.snapshot()} if self.exact.matters else {}

    def restore_exact(self, kept: dict[str, Any] | None) -> None:
        """Take over what `kept_exact` gave, before the run is restored."""
        if kept is None:  # nothing was exact, and nothing could be found any more
            self.exact.close()
        else:
            self.exact.restore(kept)
            self._begin()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by a snapshot: some arrays of a run are views of others."""
        return type(self).restore, (self.snapshot(),)

    @classmethod
    def restore(cls, data: Mapping[str, Any]) -> Session:
        """Return the session that `snapshot` was taken of; it goes on to the bit."""
        if not isinstance(data, Mapping) or "format" not in data:
            raise InputError("this is not a snapshot of a session: it has no key 'format'")
        stored = data["format"]
        if stored not in (*FORMER_NAMES, FORMAT):
            raise InputError(
                f"the snapshot has format {stored!r}, but this version of psips reads formats "
                f"{min(FORMER_NAMES)} to {FORMAT}"
            )
        missing = [k for k in ("problem", "rules", "target", "engine") if k not in data]
        if missing:
            raise InputError(f"the snapshot lacks the key {missing[0]!r}: was it cut short?")
        try:
            session = cls(
                Problem.from_dict(data["problem"]),
                rules=Rules.from_dict(data["rules"]),
                target=data["target"],
                budget=data.get("budget"),
                goal=data.get("goal"),
                time_limit=data["time"]["limit"] if "time" in data else None,
                of=data.get("of", LIKE_THESE),
            )
            if session.time_limit is not None:
                elapsed = float(data["time"]["elapsed"])
                require(0.0 <= elapsed < math.inf, f"{elapsed!r} is no time that was spent")
                session.time_limit.go_on_from(elapsed)
            session.restore_exact(data.get("exact"))
            engine = data["engine"]
            if stored != FORMAT:
                names = FORMER_NAMES[stored]
                engine = {**with_present_names(engine, names), "format": FORMAT}
            session.engine.restore(engine)
            if session.items is not None:
                session.items.restore(data["items"])
        except InputError:
            raise
        except UNREADABLE as error:
            raise InputError(
                f"the snapshot is damaged ({reason(error)}): restore an undamaged copy, or "
                "start a session and tell it the results again"
            ) from None
        return session

    def _card(self) -> Card:
        from psips.session.card import card_of
        from psips.session.headline import ASK, COMPARE, ENTER, REPORT, Waiting

        asked = [arm for arm, n in self.pending.items() for _ in range(n)]
        calls = {
            REPORT: "session.status()",
            COMPARE: "session.comparisons()",
            ENTER: "session.tell({}, values)",
            ASK: "session.ask()",
        }
        name = f"Session {self.problem.name}".strip()
        waiting = Waiting(asked=tuple(asked))
        return card_of(name, self.problem, self.rules, self.status(), waiting, calls)

    def _repr_html_(self) -> str:
        return self._card().html()

    def _ipython_display_(self) -> None:
        self._card().display()

    def __repr__(self) -> str:
        state = "stopped" if self.stopped else "open"
        return f"Session({self.problem!r}, {counted(self.results, 'result')}, {state})"
