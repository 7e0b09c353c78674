"""Numbers by which the core knows the choices that are made by name."""

from __future__ import annotations

# Who learns from draws in Alt(S_hat), if anyone.
NOBODY, POSTERIOR, PROJECTED, DIRECTED = range(4)
# How the weights become arms.
TRACK, MIXTURE = range(2)
# Where the threshold of a stopping rule comes from.
HEURISTIC, PROVEN, SHARP, MEASURED = range(4)
# What the stopping rule 'certified' is to prove: all answers, so many in, or one.
WHOLE, COUNT, SETTLE = range(3)
# Arms from which on estimated variances can inform each other.
FEWEST_ARMS = 6
