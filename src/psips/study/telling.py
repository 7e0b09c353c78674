"""Recording of results: checks against what is known, then one event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from psips.errors import InputError
from psips.problem import Problem
from psips.problem.measurements import is_frame, means_refused, summary_column
from psips.session import Receipt
from psips.session.arguments import check_listed
from psips.study.deliveries import Delivery, check_repetition
from psips.study.exactness import check_exact
from psips.study.journal import Entry
from psips.study.outliers import find_far_values
from psips.study.rows import ProblemsError, Row, asked_row, check_rows
from psips.study.schema import TOLD
from psips.study.state import Recorded, State


def read_rows(problem: Problem, given: Any) -> Iterable[Row]:
    """Return the rows of a DataFrame, or mappings, as results with a place of their own."""
    if is_frame(given):
        summed = summary_column([str(column) for column in given.columns], problem.objectives)
        if summed is not None:
            raise InputError(means_refused(summed))
        given = given.to_dict("records")
    for number, row in enumerate(given, start=1):
        yield row if isinstance(row, Row) else Row(f"result {number}: ", row)


class Telling:
    """Decides on the event that records results, and notes what became of them.

    Parameters
    ----------
    study : str
    rows : iterable of Row
    strict : bool
        Whether to refuse values that are too far from the others to be noise.
    delivery : Delivery, optional
        The file that the rows came in.
    again : bool
        Whether a file that says the same as an earlier one has new measurements.
    """

    def __init__(
        self,
        study: str,
        rows: Iterable[Row],
        strict: bool = False,
        delivery: Delivery | None = None,
        again: bool = False,
    ) -> None:
        self._study, self._rows, self._strict = study, list(rows), strict
        self._delivery, self._again = delivery, again
        self.far_values: list[str] = []
        self._held_before: set[int] | None = None
        self._exact_before: tuple[int, ...] | None = None

    def __call__(self, state: State, _: str) -> Entry | None:
        """Return the event; None if every result is known."""
        told = check_rows(state.problem, state.ledger, self._rows)[0]
        if self._delivery is not None and not self._again:
            check_repetition(self._delivery, told, state.files)
        check_listed(state.session.of, [result.item for result in told])
        check_exact(state, told)
        self._exact_before = state.session.exact.repeating
        self._held_before = {result.number for result in state.ledger.held}
        results = state.ledger.results
        self.far_values = find_far_values(state.problem, self._study, results, told)
        if self._strict and self.far_values:
            found = [far.split(": if")[0] for far in self.far_values]
            raise ProblemsError([f"{far}: check it" for far in found])
        if not told:
            return None
        objectives = state.problem.objectives
        entries = [
            {
                "ticket": result.ticket,
                "arm": result.arm,
                "values": dict(zip(objectives, result.values, strict=True)),
                **({} if result.kept is None else {"kept": dict(result.kept)}),
                **({} if result.item is None else {"item": result.item}),
            }
            for result in told
        ]
        file = {} if self._delivery is None else {"file": self._delivery.payload()}
        return TOLD, {"results": entries, **file}

    def request(self, state: State) -> dict[str, Any]:
        """Return what is to be recorded, and what is to be refused, as plain data."""
        return {
            "results": [asked_row(state.problem, state.ledger, row) for row in self._rows],
            "file": None if self._delivery is None else self._delivery.payload(),
            "strict": bool(self._strict),
            "again": bool(self._again),
        }

    def receipt(self, state: State, recorded: Recorded | None) -> Receipt:
        """Return what became of the results."""
        new: tuple[int, ...] = ()
        if recorded is not None:
            new = tuple(range(recorded.first, recorded.first + recorded.size))
        held = self._held(state, new)
        skipped = () if self._delivery is None else self._delivery.skipped
        return Receipt(
            new,
            len(self._rows) - len(new),
            state.session.stopped,
            tuple(self.far_values),
            held,
            skipped=skipped,
            exact=self._said(state),
        )

    def _said(self, state: State) -> str:
        """Say what these results have shown of exact metrics; empty if nothing."""
        exact, before = state.session.exact, self._exact_before
        return exact.words_since(before) if before not in (None, exact.repeating) else ""

    def _held(self, state: State, new: tuple[int, ...]) -> tuple[int, ...]:
        """Return what is held now in every arm in which these results put one on hold."""
        held, before = state.ledger.held, self._held_before
        if before is None:  # an event that was recorded earlier, under this key
            before = {result.number for result in held} - set(new)
        arms = {result.arm for result in held if result.number not in before}
        return tuple(result.number for result in held if result.arm in arms)
