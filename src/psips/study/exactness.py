"""Metrics registered as exact: a study refuses results of an arm that contradict each other."""

from __future__ import annotations

from collections.abc import Sequence

from psips.errors import InputError, quote
from psips.problem.exact import clash, declared
from psips.study.ledger import Result, Values
from psips.study.rows import ProblemsError, Told
from psips.study.state import State


def check_exact(state: State, told: Sequence[Told]) -> None:
    """Raise if new results change a metric that is registered as exact."""
    problem, columns = state.problem, declared(state.problem)
    if not columns:
        return
    known = _values(columns, [one for one in state.ledger.results if not one.withdrawn])
    found = []
    for one in told:
        for c in columns:
            value = one.values[c]
            was = known.setdefault((one.arm, c), value) if value is not None else None
            if value is not None and was is not None and was != value:
                found.append(f"{one.where}{clash(problem, c, one.arm, was, value)}")
    if found:
        raise ProblemsError(found)


def check_correction(state: State, chosen: Result, cells: Values) -> None:
    """Raise if a correction contradicts other results of the arm in an exact metric."""
    columns = declared(state.problem)
    others = [one for one in state.ledger.results if one is not chosen and not one.withdrawn]
    known = _values(columns, [one for one in others if one.arm == chosen.arm])
    for c in columns:
        was = known.get((chosen.arm, c))
        if was is not None and cells[c] is not None and cells[c] != was:
            metric = quote(state.problem.objectives[c])
            raise InputError(
                f"{metric} is registered as exact, and other results of {quote(chosen.arm)} "
                f"have {was!r}, got {cells[c]!r}: withdraw those first if they are wrong"
            )


def _values(
    columns: Sequence[int], results: Sequence[Result]
) -> dict[tuple[str, int], float | None]:
    """Return the value of each arm in each exact metric."""
    return {
        (one.arm, c): one.values[c]
        for one in results
        for c in columns
        if one.values[c] is not None
    }
