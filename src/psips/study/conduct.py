"""How a study is conducted: what its design says besides the problem and the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from psips.errors import InputError, advice, check_keys

HOLD = 10.0  # standard deviations; of Gaussian noise, nothing is ever that far off


@dataclass(frozen=True)
class Conduct:
    """Registered with a study, in its first event.

    Parameters
    ----------
    hold : float or None
        A result this many standard deviations off is held for confirmation; see
        `psips.study.holding`. None, or False: nothing is held.
    reasons : bool
        Whether a correction or a withdrawal needs a reason.
    two_people : bool
        Whether a correction or a withdrawal counts only once another person confirmed it.

    Examples
    --------
    >>> Conduct.read({"hold": False, "reasons": True})
    Conduct(hold=None, reasons=True, two_people=False)
    >>> Conduct.read({"hold": -1})
    Traceback (most recent call last):
    psips.errors.InputError: hold must be a number of standard deviations of at least 5, or ...
    """

    hold: float | None = HOLD
    reasons: bool = False
    two_people: bool = False

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Conduct:
        """Read the choices by name, those left out being the usual ones."""
        check_keys("key of the study", given, [field.name for field in fields(cls)])
        hold = given.get("hold", HOLD)
        if hold is False or hold is None:
            hold = None
        elif isinstance(hold, bool) or not isinstance(hold, int | float) or not 5 <= hold < 1e9:
            raise InputError(
                "hold must be a number of standard deviations of at least 5, or false, got "
                f"{str(hold)[:100]!r}"
            )
        for name in ("reasons", "two_people"):
            if not isinstance(given.get(name, False), bool):
                raise InputError(
                    f"{name} must be true or false, got {str(given[name])[:100]!r}"
                )
        return cls(
            None if hold is None else float(hold),
            given.get("reasons", False),
            given.get("two_people", False),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the choices as plain data."""
        return asdict(self)


def read_reason(conduct: Conduct, reason: str) -> str:
    """Check the reason of a correction or a withdrawal."""
    if conduct.reasons and not str(reason).strip():
        add = advice("add --reason", "write one")
        raise InputError(f"the design asks for the reason of every correction: {add}")
    return read_text("a reason", reason)


def read_text(what: str, given: Any, most: int = 2000) -> str:
    """Check a text for the log: of bounded length, and one that UTF-8 can write."""
    text = str(given)
    if len(text) > most:
        raise InputError(f"{what} has at most {most} characters, got {len(text)}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} must be text that UTF-8 can write, got {text!a}") from None
    if "\0" in text:
        raise InputError(f"{what} must not hold the character NUL")
    return text
