"""The cells of the calibration that ask for more than the Pareto set of free measurements."""

from __future__ import annotations

from typing import Any

from psips.lab.calibration.family import SHORT, Family

RANDOM = {"K": 8, "d": 2, "max_complexity": 500.0}


def questions() -> list[Family]:
    """Return cells with a tolerance or limits, costs, budgets and goals."""

    def beside(share: float = 1.0, **params: Any) -> list[Family]:
        edge = "beside-tolerance" if "by" not in params else "beside-limit"
        return [
            Family("questions", edge, {**params, **told}, share=share)
            for told in ({}, {"told": "per-arm"})
        ]

    def trials(*tolerances: float, **params: Any) -> list[Family]:
        return [
            Family("questions", "dose-finding", params, drawn=True, asked=_tolerance(tolerance))
            for tolerance in tolerances
        ]

    def other(name: str, share: float, *tolerances: float) -> list[Family]:
        return [
            Family("questions", name, share=share, asked=_tolerance(tolerance))
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
        Family("questions", "beside-limit", {"kind": "hidden", "by": 0.0001}, cap=SHORT),
        Family(
            "questions", "beside-limit", {"kind": "wedge", "by": 0.0001, "rho": 0.95}, cap=SHORT
        ),
        Family(
            "questions",
            "beside-limit",
            {"kind": "either-side", "by": 0.1, "loud": 1000.0},
            cap=SHORT,
        ),
        *beside(kind="alone", by=0.1),
        *beside(kind="control", by=0.2),
        *beside(kind="all-above", by=0.1, share=0.5),
        *beside(kind="but-one", by=0.2, share=0.5),
        *trials(0.0, 0.2),
        *trials(0.0, told="per-arm"),
        *other("correlated", 1.0, 0.0, 0.05, 0.1, 0.2),
        *other("cov-boost", 0.1, 0.0, 0.05, 0.1, 0.2),
        *_costs(),
        *_budgets(),
        *_goals(),
    ]


def _costs() -> list[Family]:
    """Return cells in which one arm costs fifty times another."""

    def paid(name: str, *, drawn: bool = False, **params: Any) -> list[Family]:
        return [
            Family("costs", name, params, drawn=drawn, asked={"costs": costs})
            for costs in ((1, 50), (50, 1))
        ]

    return [
        *paid("near-tie", gap=0.1),
        *paid("worse", d=4, gap=0.3),
        *paid("worse", d=2, gap=0.3, rho=-0.95),
        *paid("just-below", d=2, gap=0.1, where="all", drawn=True),
        *paid("random-gaussian", **RANDOM, drawn=True),
        *paid("linear", norm=3.0, drawn=True),
        *paid("untold", gap=0.3, told="per-arm"),
        *paid("untold", gap=0.2, d=2, spread=4.0, told="per-arm"),
    ]


def _budgets() -> list[Family]:
    """Return cells with a budget of about two thirds of what the default takes at 0.1."""

    def ended(name: str, budget: int, *, drawn: bool = False, **params: Any) -> Family:
        return Family("budgets", name, params, drawn=drawn, asked={"budget": budget})

    return [
        ended("near-tie", 1600, gap=0.1),
        ended("worse", 400, d=4, gap=0.3),
        ended("worse", 500, d=8, gap=0.3),
        ended("worse", 350, d=2, gap=0.3, rho=-0.95),
        ended("worse-but-one", 320, d=2, gap=0.3, edge=0.3),
        ended("correlated-alternative", 20_000),
        ended("random-gaussian", 400, **RANDOM, drawn=True),
        ended("linear", 150, norm=3.0, drawn=True),
        ended("untold", 250, gap=0.3, told="per-arm"),
        ended("untold", 700, gap=0.2, d=2, rho=-0.95, told="per-arm"),
        ended("beside-limit", 1000, kind="above", by=0.1),
        ended("beside-limit", 1000, kind="below", by=0.1),
    ]


def _goals() -> list[Family]:
    """Return cells with another goal than the whole set."""

    def sought(name: str, *goals: str, drawn: bool = False, **params: Any) -> list[Family]:
        control = {"control": "arm 1"}
        return [
            Family(
                "goals",
                name,
                params,
                drawn=drawn,
                asked={**(control if "control" in goal else {}), "goal": goal},
            )
            for goal in goals
        ]

    return [
        *sought("near-tie", "1 optimal", "settle arm 1", "settle arm 2", gap=0.1),
        *sought("near-tie", "settle arm 1", "beat control", gap=0.1, d=2, lead=-2.0),
        *sought("worse", "1 optimal", "settle arm 2", d=4, gap=0.3),
        *sought("worse", "settle arm 2", d=2, gap=0.3, rho=-0.95),
        *sought("worse-but-one", "2 optimal", "beat control", d=2, gap=0.3, edge=0.3),
        *sought("front", "2 optimal", "beat control", K=3, gap=0.1),
        *sought("random-gaussian", "1 optimal", "beat control", **RANDOM, drawn=True),
        *sought("untold", "1 optimal", "settle arm 2", gap=0.3, told="per-arm"),
    ]


def _tolerance(tolerance: float) -> dict[str, float]:
    return {"tolerance": tolerance} if tolerance else {}
