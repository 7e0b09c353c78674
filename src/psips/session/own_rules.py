"""Rules written in Python: the state they see, and how a run calls them.

For research: a rule is an object with ``choose(state)``, which returns an arm, or with
``should_stop(state)``. It is declared like every other rule (`psips.rules.sampling`,
`psips.rules.stopping`) and used in sessions, studies and simulations, some hundred times slower
than one in the core.
"""

from __future__ import annotations

import math
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
    found = _answer(rule, "choose", state)
    try:
        arm = -1 if isinstance(found, bool | np.bool_) or int(found) != found else int(found)
    except (TypeError, ValueError, OverflowError):
        arm = -1
    if not 0 <= arm < len(state.pulls):
        raise InputError(
            f"{_name(rule)}.choose(state) returns the number of an arm, from 0 to "
            f"{len(state.pulls) - 1}: got {quote(found)}"
        )
    return arm


def verdict_of(rule: Any, state: RuleState) -> tuple[bool, float, float]:
    """Return whether a rule stops, with its evidence and threshold, zeros if it tells none."""
    found = _answer(rule, "should_stop", state)
    if isinstance(found, bool | np.bool_):
        return bool(found), 0.0, 0.0
    try:
        evidence, threshold = (math.nan,) * 2 if isinstance(found, str) else map(float, found)
    except (TypeError, ValueError, OverflowError):
        evidence = threshold = math.nan
    if math.isnan(evidence) or math.isnan(threshold):
        raise InputError(
            f"{_name(rule)}.should_stop(state) returns True or False, or evidence and "
            f"threshold, two numbers: got {quote(found)}"
        )
    return evidence >= threshold, evidence, threshold


def _answer(rule: Any, method: str, state: RuleState) -> Any:
    """Ask a rule; an error in it is said with the rule's name, and its traceback kept."""
    try:
        return getattr(rule, method)(state)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"{_name(rule)}.{method}(state) raised {type(error).__name__}: {error}; the "
            f"{state.results:,} results told are kept, correct the rule and go on"
        ) from error


def _name(rule: Any) -> str:
    return type(rule).__name__
