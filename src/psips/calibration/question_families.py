"""Cells with noise that is not known, and with tolerances and limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psips.calibration.family import Family


def noise() -> list[Family]:
    """Return cells in which the rules have to estimate the noise, or do without."""

    def untold(share: float = 1.0, **params: Any) -> list[Family]:
        told = ["per-arm"] if params.get("spread", 1.0) != 1.0 else ["per-arm", "estimate"]
        return [Family("noise", "untold", {**params, "told": one}, share=share) for one in told]

    lines: Sequence[dict[str, Any]] = (
        {"slope": 0.1, "K": 2},
        {"slope": 0.2},
        {"slope": 2.0},  # a handful of results, and fewer degrees of freedom
        {"slope": 0.3, "d": 2, "rho": -0.9},
        {"slope": 0.2, "d": 2, "rho": -0.9, "K": 2},
        {"slope": 3.0, "d": 2, "across": 1, "rho": -0.9},
        {"slope": 0.3, "d": 3, "rho": -0.45, "K": 2},
    )
    planes: Sequence[dict[str, Any]] = (
        {"norm": 1.0, "h": 2, "K": 3, "d": 1},
        {"norm": 2.0, "h": 6, "K": 6, "d": 1},  # no more arms than features
        {"norm": 3.0},
        {"norm": 30.0},
        {"norm": 10.0, "rho": -0.9},
        {"norm": 10.0, "answers": 12},
        {"norm": 3.0, "scale": 0.01, "unit": 100.0},
        {"norm": 30.0, "h": 6, "K": 12, "d": 3},
    )
    return [
        *untold(gap=0.3),
        *untold(gap=0.3, spread=4.0),
        *untold(gap=0.1, share=0.25),
        *untold(gap=0.1, spread=4.0, share=0.25),
        *untold(gap=0.2, d=2),
        *untold(gap=0.2, d=2, spread=4.0),
        *untold(gap=0.2, d=2, rho=-0.95),
        *untold(gap=0.2, d=2, rho=0.95),
        *untold(gap=0.3, d=6),
        *untold(gap=0.3, d=6, spread=4.0),
        *untold(gap=0.3, shape="student"),
        *untold(gap=0.3, shape="lognormal"),
        *(Family("noise", "chances", {"p": p, "gap": 0.08}) for p in (0.02, 0.5, 0.9)),
        *(Family("noise", "untold-line", params) for params in lines),
        Family("noise", "untold-line", {"slope": 0.05, "K": 2}, share=0.25),
        *(Family("noise", "untold-linear", params, drawn=True) for params in planes),
    ]


def questions() -> list[Family]:
    """Return cells with a tolerance or limits, the noise given and estimated."""

    def beside(share: float = 1.0, **params: Any) -> list[Family]:
        edge = "beside-tolerance" if "by" not in params else "beside-limit"
        return [
            Family("questions", edge, {**params, **told}, share=share)
            for told in ({}, {"told": "per-arm"})
        ]

    def trials(*tolerances: float, **params: Any) -> list[Family]:
        return [
            Family("questions", "dose-finding", params, drawn=True, tolerance=tolerance)
            for tolerance in tolerances
        ]

    def other(name: str, share: float, *tolerances: float) -> list[Family]:
        return [
            Family("questions", name, share=share, tolerance=tolerance)
            for tolerance in tolerances
        ]

    return [
        *beside(kind="worse", tolerance=0.3),
        *beside(kind="worse", tolerance=0.1),
        *beside(kind="worse", tolerance=0.03, share=0.5),
        *beside(kind="worse", tolerance=0.3, loud=10.0),
        *beside(kind="worse", tolerance=0.3, d=2),
        *beside(kind="worse", tolerance=0.3, d=2, rho=-0.95),
        *beside(kind="worse", tolerance=0.3, d=4),
        *beside(kind="all-worse", tolerance=0.3),
        *beside(kind="better", tolerance=0.3, d=2),
        *beside(kind="between", tolerance=0.3, d=2),
        *beside(kind="pairs", tolerance=0.3, d=2),
        *beside(kind="equal", tolerance=0.3, d=2),
        *beside(kind="ties", tolerance=0.3, d=1),
        *beside(kind="ties", tolerance=0.3, d=2),
        *beside(kind="chain", tolerance=0.3, d=2),
        *beside(kind="above", by=0.1),
        *beside(kind="above", by=0.1, rho=-0.95),
        *beside(kind="above", by=1.0, loud=10.0),
        *beside(kind="above", by=0.1, tolerance=0.3),
        *beside(kind="below", by=0.1),
        *beside(kind="below", by=1.0, loud=10.0),
        *beside(kind="dominated", by=0.1),
        *beside(kind="alone", by=0.1),
        *beside(kind="control", by=0.2),
        *beside(kind="all-above", by=0.1, share=0.5),
        *beside(kind="but-one", by=0.2, share=0.5),
        *trials(0.0, 0.2),
        *trials(0.0, told="per-arm"),
        *other("correlated", 1.0, 0.0, 0.05, 0.1, 0.2),
        *other("cov-boost", 0.1, 0.0, 0.05, 0.1, 0.2),
    ]
