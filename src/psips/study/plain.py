"""A study as plain data: what ``psips study status --json`` prints and the web API sends."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psips.problem import Problem
    from psips.session.status import Status
    from psips.study.ledger import Ticket
    from psips.study.state import State


def status_data(state: State, known: Status, tickets: Sequence[Ticket]) -> dict[str, Any]:
    """Return what is known of a study, its open tickets and the head of its log."""
    objectives = state.problem.objectives
    return {
        "study": state.created.study,
        **known_data(state.problem, known, state.session.pareto_set),
        "closed": state.closed,
        "open_tickets": [ticket.to_dict() for ticket in tickets],
        "held": [
            r.to_dict(objectives) for r in state.ledger.results if r.held and not r.withdrawn
        ],
        "waiting_for_confirmation": sorted(state.proposals),
        "events": state.seq,
        "head": state.hash,
    }


def known_data(
    problem: Problem, known: Status, pareto_set: Sequence[str] | None
) -> dict[str, Any]:
    """Return what is known of a session or study."""
    return {
        "results": known.results,
        "stopped": known.stopped,
        "done": known.done,
        "closed": known.closed,
        "candidate_set": list(known.candidate_set),
        **({"nothing_keeps_the_limits": True} if known.nothing else {}),
        "pareto_set": _listed(pareto_set),
        **({} if known.tolerated is None else {"tolerance": asdict(known.tolerated)}),
        **({"exact": known.exact} if known.exact else {}),
        **({"few_items": known.few_items} if known.few_items else {}),
        **({"goal": known.goal, "claim": known.claim} if known.goal else {}),
        "evidence": {key: finite(value) for key, value in known.evidence.items()},
        "probability_of_change": finite(known.probability_of_change),
        "progress": None if known.progress is None else known.progress.to_dict(),
        **(
            {"spent": known.spent, "budget": known.budget}
            if known.budget is not None or problem.has_costs
            else {}
        ),
        **(
            {"time_limit": known.time_limit, "elapsed": known.elapsed}
            if known.time_limit is not None
            else {}
        ),
        **({} if known.outlook is None else {"outlook": known.outlook.to_dict()}),
        "lack_of_fit": None if known.fit is None else known.fit.to_dict(),
        "arms": rows_of(known.arm_names, known.arm_columns),
        "answers": rows_of(known.answer_names, known.answer_columns),
    }


def _listed(found: Sequence[str] | None) -> list[str] | None:
    return None if found is None else list(found)


def rows_of(names: Sequence[str], columns: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return a table as plain data by row; None for what is not known."""
    cells = [
        [finite(cell) for cell in (column if isinstance(column, list) else column.tolist())]
        for column in columns.values()
    ]
    return {
        str(name): {key: column[place] for key, column in zip(columns, cells, strict=True)}
        for place, name in enumerate(names)
    }


def finite(cell: Any) -> Any:
    """Return a cell as JSON can hold it."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
