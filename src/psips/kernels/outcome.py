"""Places in the outcome of a run: what the stopping rule says of the results told so far."""

from __future__ import annotations

STOPPED, LOG_HIT, LOG_BUDGET, INFLATION, LOG_LEARNED = range(5)
EVIDENCE, THRESHOLD, HINT = range(5, 8)  # of the rules that do not draw; HINT has two
OUTCOMES = 9
