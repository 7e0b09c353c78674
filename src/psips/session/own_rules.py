"""Rules written in Python: what they see of a run, and how it follows them.

For research: a rule is an object with ``choose(state)``, which returns an arm, or with
``should_stop(state)``. It is declared like every other rule (`psips.rules.sampling`,
`psips.rules.stopping`) and used in sessions, studies and simulations, some hundred times slower
than one in the core.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, quote


@dataclass(frozen=True)
class RuleState:
    """What a rule sees of a run; arms and objectives by number, every objective maximised.

    Arrays are copies: a rule changes nothing but what it remembers itself.
    """

    results: int  # told so far
    pulls: Floats  # (K,) results of each arm
    pending: Floats  # (K,) asked for and not yet told
    means: Floats  # (n, d) estimates
    covariances: Floats  # (n, d, d) of the means; NaN where not known
    candidate_set: list[int]  # empty while results do not suffice
    costs: Floats  # (K,) of one result
    delta: float
    rng: np.random.Generator  # the same for the same key and number of asks and results


CHOOSE, STOP = range(2)  # what a rule is asked


def seen_by_rules(engine: Any, asked: int, number: int) -> RuleState:
    """Return what a rule sees; what is asked, and its number, give the random numbers."""
    belief, learner = engine.belief, engine.learner
    words = [int(word) for word in engine.key]
    return RuleState(
        engine.results,
        belief.pulls.copy(),
        learner.pending.copy(),
        np.array(engine.means),
        np.array(engine.covariances()),
        engine.candidate,
        engine.model.costs.copy(),
        float(np.exp(-engine.program.options.calibration.log_inverse)),
        np.random.default_rng([*words, asked, number]),
    )


def arm_of(rule: Any, state: RuleState) -> int:
    """Return the arm that a rule chooses, checked."""
    found = rule.choose(state)
    name = type(rule).__name__
    try:
        arm = int(found)
    except (TypeError, ValueError):
        arm = -1
    if not 0 <= arm < len(state.pulls) or arm != found:
        raise InputError(
            f"{name}.choose(state) returns the number of an arm, from 0 to "
            f"{len(state.pulls) - 1}: got {quote(found)}"
        )
    return arm


def verdict_of(rule: Any, state: RuleState) -> tuple[bool, float, float]:
    """Return whether a rule stops, with its evidence and threshold, zeros if it tells none."""
    found = rule.should_stop(state)
    if isinstance(found, bool | np.bool_):
        return bool(found), 0.0, 0.0
    try:
        evidence, threshold = (float(value) for value in found)
    except (TypeError, ValueError):
        raise InputError(
            f"{type(rule).__name__}.should_stop(state) returns True or False, or evidence and "
            f"threshold, two numbers: got {quote(found)}"
        ) from None
    return evidence >= threshold, evidence, threshold
