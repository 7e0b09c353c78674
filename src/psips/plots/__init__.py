"""Figures of a session, a study or a plan."""

from psips.plots.axes import allocation, detached, evidence, front, fronts, plan, pulls, samples
from psips.plots.comparing import comparison
from psips.plots.orders import comparisons

__all__ = [
    "allocation",
    "comparison",
    "comparisons",
    "detached",
    "evidence",
    "front",
    "fronts",
    "plan",
    "pulls",
    "samples",
]
