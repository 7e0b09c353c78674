"""Figures of a session, a study or a plan."""

from psips.plots.axes import allocation, detached, evidence, front, fronts, plan, pulls, samples
from psips.plots.comparing import comparison

__all__ = [
    "allocation",
    "comparison",
    "detached",
    "evidence",
    "front",
    "fronts",
    "plan",
    "pulls",
    "samples",
]
