"""The cells of the calibration with a tolerance or limits, see `psips.calibration.families`."""

from __future__ import annotations

from typing import Any

from psips.calibration.family import Family


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
