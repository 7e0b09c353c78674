"""Places in the outcome of a run: what the stopping rule says of the results told so far."""

from __future__ import annotations

from typing import NamedTuple

STOPPED, LOG_HIT, LOG_BUDGET, INFLATION, LOG_LEARNED = range(5)
EVIDENCE, THRESHOLD, HINT = range(5, 8)  # of the rules that do not draw; HINT has two
OUTCOMES = 9


class Outcome(NamedTuple):
    """What the stopping rule says of the results told so far, as far as it says it."""

    stopped: float
    log_hit: float  # log of the index of the first draw in the alternative
    log_budget: float  # log of how many draws it must not be among
    inflation: float
    log_learned: float  # log of the index of the learner's first hit
    evidence: float
    threshold: float
    settled: float  # of the rule 'predicted': claims that hold,
    pieces: float  # .. and all of them
