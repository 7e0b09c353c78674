"""Figures of a session, a study or a plan."""

from psips.plots.axes import allocation, detached, evidence, front, fronts, plan, pulls, samples

__all__ = ["allocation", "detached", "evidence", "front", "fronts", "plan", "pulls", "samples"]
