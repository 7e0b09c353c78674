"""What charts in a browser are drawn from, as plain data in the user's units."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from psips.aliases import Floats
from psips.pictures.front import OTHER_METRICS, has_region
from psips.web.view_models import StudyView, TimeSeries

LINES_DRAWN = 60  # arms that have a line over time: those with the most measurements


def front(view: StudyView) -> dict[str, Any]:
    """Return the options with their means, errors, covariances and what is said of each."""
    known = view.front
    shown = known.shown()
    return {
        "event": view.event,
        "metrics": [metric._asdict() for metric in known.metrics],
        "limits": [bound._asdict() for bound in known.bounds],
        "limited": known.limited,
        "note": OTHER_METRICS if known.d > 2 else "",
        "options": [
            {
                "place": o.place,
                "name": o.name,
                "mark": o.mark,
                "label": o.label,
                "candidate": o.candidate,
                "means": plain(np.array(o.means)),
                "errors": plain(np.array(o.errors)),
                "covariance": plain(o.covariance) if has_region(o, len(shown)) else None,
                "said": known.said(o),
            }
            for o in shown
        ],
    }


def time_series(found: TimeSeries) -> dict[str, Any]:
    """Return the measurements of each arm over time, and what the stopping rule compares."""
    assert found.results is not None
    assert found.pulls is not None
    arms = found.history.problem.arms
    order = np.argsort(-found.last_pulls, kind="stable")[:LINES_DRAWN]
    evidence = found.evidence
    lines: dict[str, Any] = {}
    if evidence is not None and len(evidence.results):
        lines = {
            "results": evidence.results.tolist(),
            "value": plain(evidence.value),
            "threshold": plain(evidence.threshold),
            "log": bool(evidence.curve.below),
            "unit": evidence.curve.unit,
        }
    return {
        "event": found.event,
        "results": found.results.tolist(),
        "arms": [
            {"name": arms[a], "place": a, "counts": found.pulls[:, a].tolist()}
            for a in order.tolist()
        ],
        "answers": found.history.problem.unstructured,
        "evidence": lines,
        "saved": [{"at": one.stopped, "said": str(one.tolerance)} for one in found.saved],
    }


def plain(array: Floats) -> Any:
    """Return numbers as JSON can hold them, with eight digits; None for those not known."""
    if array.ndim > 1:
        return [plain(row) for row in array]
    return [float(f"{v:.8g}") if math.isfinite(v) else None for v in array.tolist()]
