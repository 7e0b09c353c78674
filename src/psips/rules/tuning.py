"""Constants of the rules, and choices of rules by the names that people give them.

To a statistician ``alpha`` and ``confidence`` are no constants of a rule: the first is refused
with a sentence, the second is 1 - delta.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from psips.errors import InputError, check_keys, quote
from psips.input.former_names import warn_former
from psips.input.quantities import as_float, delta_of

ALPHA = (
    "alpha={}: give delta={} for the accepted probability of being wrong, or "
    "tuning={{'alpha': {}}} for the exponent of forced exploration"
)

USING = ("glr", "measured")  # whose threshold depends on the measurements expected


@dataclass(frozen=True)
class Tuning:
    """Constants of the rules.

    Parameters
    ----------
    eta : float or "estimate"
        Inflation of the min learner's draws; "estimate" is the paper's Algorithm 2.
    alpha : float
        Forced exploration has weight ``n ** -alpha`` in the n-th ask. The paper leaves it
        open; 0.35 needs fewer samples than 0.5 in short runs and no more in long ones.
    kappa : float
        Factor of the budget in the calibration "sharp".

    Examples
    --------
    >>> Tuning.read({"alpha": 0.5})
    Tuning(eta=1.0, alpha=0.5, kappa=2.0)
    """

    eta: float | str = 1.0
    alpha: float = 0.35
    kappa: float = 2.0

    def __post_init__(self) -> None:
        if self.eta != "estimate" and not 0.0 < as_number(self.eta) < math.inf:
            raise InputError(
                f"eta inflates the learner's draws: expected a positive number or "
                f"'estimate', got {quote(self.eta)}"
            )
        if not 0.0 < as_number(self.alpha) < 1.0:
            raise InputError(
                f"alpha is the rate of forced exploration: expected a number between 0 and 1, "
                f"got {quote(self.alpha)}"
            )
        if not 0.0 < as_number(self.kappa) < math.inf:
            raise InputError(f"kappa: expected a positive number, got {quote(self.kappa)}")

    @classmethod
    def read(cls, given: Tuning | Mapping[str, Any] | None) -> Tuning:
        """Return constants given as such, or by name; those left out are the usual ones."""
        if given is None or isinstance(given, Tuning):
            return given or cls()
        if not isinstance(given, Mapping):
            raise InputError(
                f"tuning must be a mapping such as {{'alpha': 0.5}}, got {quote(given)}"
            )
        check_keys("tuning constant", map(str, given), CONSTANTS)
        return cls(**given)


CONSTANTS = tuple(field.name for field in fields(Tuning))


def as_number(given: object) -> float:
    """Return a number as a float; NaN if it is none."""
    number = as_float(given)
    return math.nan if number is None else number


def by_own_names(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Return choices of rules by the names of their fields, whatever people call them.

    ``confidence`` is 1 - delta. Constants that were arguments of their own are moved to
    ``tuning``, with a warning; ``alpha`` alone is refused: most people mean delta by it.

    Examples
    --------
    >>> by_own_names({"confidence": 0.95, "tuning": {"alpha": 0.5}})
    {'delta': 0.05, 'tuning': {'alpha': 0.5}}
    """
    found = dict(choices)
    if "alpha" in found and not found.keys() >= set(CONSTANTS):  # all of them: a stored choice
        given = quote(found["alpha"])
        raise InputError(ALPHA.format(given, given, given))
    if found.get("confidence") is not None:
        if "delta" in found:
            raise InputError(
                f"delta={quote(found['delta'])} and confidence={quote(found['confidence'])} "
                f"say the same thing twice: give one of them"
            )
        found = {"delta": delta_of(found["confidence"]), **found}
    found.pop("confidence", None)
    moved = {name: found.pop(name) for name in CONSTANTS if name in found}
    if moved:
        others = Tuning.read(found.get("tuning"))
        form = ", ".join(f"{name!r}: {value!r}" for name, value in moved.items())
        warn_former(f"{next(iter(moved))}= is a tuning constant: give tuning={{{form}}}")
        found["tuning"] = {**asdict(others), **moved}
    return found


def no_use_of_expected(choices: Mapping[str, Any]) -> bool:
    """Whether choices name a rule that does not depend on the measurements expected."""
    usual = {"stopping": USING[0], "calibration": USING[1], "guarantee": "validated"}
    return any(choices.get(key, "own") not in ("own", value) for key, value in usual.items())


def put_over(given: Mapping[str, Any], under: Mapping[str, Any]) -> dict[str, Any]:
    """Return choices of rules over others that hold where these say nothing.

    Examples
    --------
    >>> put_over({"tuning": {"eta": 2.0}}, {"delta": 0.05, "tuning": {"alpha": 0.5}})
    {'delta': 0.05, 'tuning': {'alpha': 0.5, 'eta': 2.0}}
    >>> put_over({"guarantee": "proven"}, {"delta": 0.05, "expected_results": 300})
    {'delta': 0.05, 'guarantee': 'proven'}
    """
    over = by_own_names(given)
    chosen = ("stopping", "calibration")
    if "guarantee" in over:
        under = {key: value for key, value in under.items() if key not in chosen}
    elif any(key in over for key in chosen):
        under = {key: value for key, value in under.items() if key != "guarantee"}
    if no_use_of_expected(over):
        under = {key: value for key, value in under.items() if key != "expected_results"}
    both = {**under, **over}
    if isinstance(over.get("tuning"), Mapping) and isinstance(under.get("tuning"), Mapping):
        both["tuning"] = {**under["tuning"], **over["tuning"]}
    return both
