"""The end of a report: what was changed and why, the log and its versions, the features."""

from __future__ import annotations

import platform
from collections.abc import Sequence

import numpy as np

from psips.input.quantities import in_words
from psips.problem import Problem
from psips.report.page import table
from psips.store import Event, is_time
from psips.study import Verification
from psips.study.schema import CONFIRMED, CORRECTED, WITHDRAWN
from psips.study.state import State
from psips.version import build_version


def changes(state: State, events: Sequence[Event]) -> str:
    """List the corrections, withdrawals and confirmations, with who made them and why."""
    rows = []
    for event in events:
        data = event.payload
        who = data.get("by", {}).get("user", "not recorded")
        reason = data.get("reason", "")
        awaits = data.get("awaits") and event.seq in state.proposals
        note = " (waits for another person)" if awaits else ""
        if event.kind == CONFIRMED:
            what = ", ".join(
                [f"result {n}" for n in data["results"]]
                + [f"event {n}" for n in data["events"]]
            )
            rows.append([in_utc(event.at), who, "confirmed", what, reason])
        elif event.kind == CORRECTED:
            arm = state.ledger.result(data["result"]).arm
            old, new = (_values(data[key]) for key in ("instead_of", "values"))
            what = f"result {data['result']} ({arm}): {old} became {new}{note}"
            rows.append([in_utc(event.at), who, "corrected", what, reason])
        elif event.kind == WITHDRAWN:
            for number in data["results"]:
                result = state.ledger.result(number)
                what = f"result {number} ({result.arm}){note}"
                rows.append([in_utc(event.at), who, "withdrawn", what, reason])
            for ticket in data["tickets"]:
                rows.append([in_utc(event.at), who, "cancelled", f"ticket {ticket}", reason])
    if not rows:
        return "<h2>Corrections and withdrawals</h2>\n<p>None.</p>"
    head = ["when", "who", "what", "which", "reason"]
    return f"<h2>Corrections and withdrawals</h2>\n{table(head, rows)}"


def log(found: Verification, state: State) -> str:
    """Say whether the log verifies, and which versions wrote and read it."""
    rows = [["events", f"{found.events:,}"], ["hash of the last event", found.head]]
    rows += [["problem", problem] for problem in found.problems]
    rows += [["note", note] for note in found.notes]
    text = "The log of events was checked for this report: every hash fits, and it replays."
    if found.problems:
        text = "<strong>The log of events does not verify.</strong> What does not fit is below."
    created = ", ".join(f"{k} {v}" for k, v in state.created.payload["versions"].items())
    current = {
        "psips": build_version(),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    rows.append(["versions at registration", created])
    rows.append(["versions of this report", ", ".join(f"{k} {v}" for k, v in current.items())])
    return f"<h2>The log, and versions</h2>\n<p>{text}</p>\n{table(None, rows)}"


def features(problem: Problem) -> str:
    """List the features of arms and answers; nothing if there are none."""
    if problem.features is None or problem.answer_features is None:
        return ""
    tables = [("Features of the arms", "arm", problem.arms, problem.features)]
    if problem.transductive:
        tables.append(
            ("Features of the answers", "answer", problem.answers, problem.answer_features)
        )
    text = ""
    for title, kind, names, array in tables:
        rows = [
            [name, *(f"{value:.6g}" for value in row)]
            for name, row in zip(names, array, strict=True)
        ]
        text += f"<h2>{title}</h2>\n{table([kind, *problem.feature_names], rows, right=1)}"
    return text


def _values(values: dict[str, float | None]) -> str:
    return ", ".join(f"{name} {in_words(value)}" for name, value in values.items())


def in_utc(at: str) -> str:
    """Write the time of an event for people."""
    return f"{at[:10]} {at[11:19]} UTC" if is_time(at) else "at no valid time"
