"""Simulated experiments: one run, or many with a summary."""

from psips.simulation.runs import Run, play, simulate
from psips.simulation.summary import Summary, simulate_many

__all__ = ["Run", "Summary", "play", "simulate", "simulate_many"]
