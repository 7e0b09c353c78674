"""The rules that figures compare: what each is called and how it looks, everywhere the same."""

from __future__ import annotations

from typing import Any, NamedTuple


class Look(NamedTuple):
    """A rule's name for readers, its colour (Okabe and Ito's, colour-blind-safe) and marker."""

    label: str
    colour: str
    marker: str


LOOKS = {
    "directed": Look("psips", "#0072B2", "o"),
    "projected": Look("psips, projected", "#004166", "h"),
    "posterior": Look("PSIPS (published)", "#D55E00", "s"),
    "track-and-stop": Look("Track-and-Stop", "#CC79A7", "^"),
    "ape": Look("APE", "#009E73", "D"),
    "elimination": Look("Elimination", "#E69F00", "v"),
    "top-two": Look("Top-Two", "#F0E442", "P"),
    "ege-sr": Look("EGE-SR", "#7A5195", "p"),
    "ege-sh": Look("EGE-SH", "#A05A2C", ">"),
    "two-stage": Look("Two stages", "#5F9EA0", "d"),
    "round-robin": Look("Round robin", "#8C8C8C", "X"),
    "uniform": Look("Uniform", "#56B4E9", "<"),
    "oracle": Look("Oracle", "#000000", "*"),
}
PSIPS = ("directed", "projected")  # its own stop is psips'
PUBLISHED = ("posterior", "round-robin", "uniform", "oracle")  # with the paper's calibration
STOP = "glr"  # the stopping rule of psips
YARDSTICKS = ("oracle",)  # they know the truth


class Contender(NamedTuple):
    """A sampling rule with its own stopping rule, or with the one that psips stops by.

    The rules of the paper stop, as there, by the posterior rule with its calibration.
    """

    rule: str
    stop: str = "own"

    def rules(self, delta: float, **more: Any) -> dict[str, Any]:
        """Return the fields of `psips.Rules`."""
        chosen: dict[str, Any] = {"sampling": self.rule, "delta": delta, **more}
        if self.stop != "own":
            chosen |= {"stopping": self.stop, "calibration": "measured"}
        elif self.rule in PUBLISHED and chosen.get("stopping") != "never":
            chosen |= {"stopping": "posterior", "calibration": "heuristic"}
        return chosen


def label_of(rule: str, stop: str = "own") -> str:
    """Return the name of a contender for readers.

    Examples
    --------
    >>> label_of("ape"), label_of("ape", STOP)
    ('APE', "APE, psips' stop")
    """
    return LOOKS[rule].label + ("" if stop == "own" else ", psips' stop")


def contenders(*names: str, also_psips: bool = False) -> list[Contender]:
    """Return contenders by name, and if asked for all of them with psips' stopping rule."""
    each = [Contender(name) for name in names]
    if also_psips:
        each += [Contender(name, STOP) for name in names if name not in PSIPS]
    return each
