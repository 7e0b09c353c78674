"""What the calibration measures on: families of instances in groups, one cell of a table each.

Most cells are built-in instances with their parameters, and named so that they can be made
again: ``worse d=6 gap=0.3`` is ``psips simulate worse --d 6 --gap 0.3``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from psips.lab.calibration.family import CAP, LONG, SHORT, SPENT, Family
from psips.lab.calibration.found import Found, read_found
from psips.lab.calibration.ordinary import NAMES
from psips.lab.calibration.questions import questions

GROUPS = {
    "ordinary": "Random, not adversarial; ties are few and no closer than they happen to be.",
    "deciding": "Each broke a rule that the ordinary families call sound.",
    "near-ties": "Two arms that differ by gap in one objective, and by lead in the others.",
    "ties": "Values on a few levels, and on each nearly tied: near-ties of any structure.",
    "worse": "Arm 2 is worse than arm 1 by gap in every objective.",
    "worse but one": "Arm 2 is worse than arm 1 by gap in all objectives but one.",
    "correlation": "Correlations near the edge of what is possible, of both signs.",
    "fronts": "All arms on a front, neighbours gap apart.",
    "just below": "Among other arms, one just below another, in all objectives or in one.",
    "linear": "Linear in several units, nearly collinear, transductive.",
    "noise": "The noise is unknown: its size is estimated, or nothing is assumed of it.",
    "questions": (
        "Truths next to the edge of what was asked: worse by 1.001 of the tolerance or above a "
        "limit by a little, equal options, dose-finding trials. Without told= the noise is "
        "given; loud is the standard deviation of the last option; a tolerance= of other "
        "instances is in standard deviations of one result in each objective."
    ),
    "costs": (
        "A pull costs from 1 to 50, or from 50 to 1, from the first arm to the last. Figures "
        "are of what runs cost, not of samples."
    ),
    "budgets": (
        "A run ends at its budget. It counts as stopped if anything is proven by then, the set "
        "or a verdict of one option, and as an error if anything of that is false."
    ),
    "goals": (
        "A run stops when its goal is proven by verdicts of single options; it is an error if "
        "one of them is false."
    ),
    "found": "Found by `psips lab calibrate --adversarial`; added, never removed.",
}


def _ordinary() -> list[Family]:
    return [Family("ordinary", name) for name in NAMES]


def _deciding() -> list[Family]:
    """Return the cells by which rules were broken."""
    return [
        *(Family("deciding", "near-tie", {"gap": gap}) for gap in (0.1, 0.03, 0.01)),
        Family("deciding", "near-tie", {"gap": 0.05, "d": 2, "lead": 2.0}),
        *(Family("deciding", "worse", {"d": d, "gap": 0.3}) for d in (4, 6, 8)),
        Family("deciding", "variant", {"d": 6, "K": 5}, drawn=True),
        Family("deciding", "worse", {"d": 3, "gap": 0.3, "rho": -0.45}),
        Family("deciding", "worse", {"d": 2, "gap": 0.3, "rho": -0.95}),
        Family("deciding", "linear-pair"),
        Family("deciding", "linear-slope"),
        Family("deciding", "linear", {"norm": 30.0}, drawn=True),
        Family("deciding", "correlated-alternative", cap=SHORT),
        Family("deciding", "near-tie", {"gap": 0.0001}, cap=SHORT),
        Family("deciding", "near-tie", {"gap": 0.0001, "hopeless": 200}, cap=SHORT),
        Family("deciding", "worse", {"d": 2, "gap": 0.0001, "rho": -0.95}, cap=SHORT),
        Family(
            "deciding",
            "worse-but-one",
            {"d": 2, "gap": 0.0001, "edge": 0.0001, "rho": 0.95},
            cap=SHORT,
        ),
        *(Family("deciding", "corner", {"d": d, "gap": 0.0001}, cap=SHORT) for d in (2, 4)),
        *(
            Family(
                "deciding",
                "worse",
                {"d": d, "gap": 0.0001, "rho": rho, "clear": 1.0},
                cap=SPENT,
            )
            for d, rho in ((2, -0.99), (2, -0.95), (3, -0.49), (4, 0.0), (8, 0.0))
        ),
    ]


def _near_ties() -> list[Family]:
    return [
        *(Family("near-ties", "near-tie", {"gap": gap}) for gap in (1.0, 0.3)),
        Family("near-ties", "near-tie", {"gap": 0.003}, share=0.05, cap=LONG),
        *(
            Family("near-ties", "near-tie", {"gap": gap, "d": d, "lead": lead})
            for d, lead in ((2, 2.0), (2, -2.0), (4, 2.0))
            for gap in (1.0, 0.3, 0.1)
        ),
        *(
            Family("near-ties", "near-tie", {"gap": gap, "d": d, "lead": lead}, share=share)
            for d, lead in ((2, 2.0), (2, -2.0), (4, 2.0))
            for gap, share in ((0.03, 0.5), (0.01, 0.1))
        ),
    ]


def _ties() -> list[Family]:
    hair = {"gap": 0.0001}
    plain: Sequence[dict[str, Any]] = (
        {"K": 3, "d": 1},
        {"K": 2, "d": 4},
        {"K": 3, "d": 2},
        {"K": 3, "d": 2, "rho": -0.95},
        {"K": 3, "d": 2, "rho": 0.95},
        {"K": 4, "d": 3, "rho": -0.45},
        {"K": 5, "d": 2, "levels": 3},
        {"K": 6, "d": 3},
    )
    lines: Sequence[dict[str, Any]] = (
        {"K": 3, "h": 2, "answers": 3},
        {"K": 5, "h": 3, "answers": 4},
        {"K": 4, "h": 2, "d": 2, "answers": 4},
    )
    return [
        *(Family("ties", "ties", {**one, **hair}, drawn=True, cap=SHORT) for one in plain),
        *(Family("ties", "hub", {"d": d, "gap": 0.005}, cap=SHORT) for d in (2, 3)),
        *(
            Family("ties", "linear-ties", {**one, **hair}, drawn=True, cap=SHORT)
            for one in lines
        ),
    ]


def _worse() -> list[Family]:
    grid = [(d, K) for d in (1, 2, 3, 4, 6, 8) for K in (2, 3, 10)]
    known = [(1, 2), (4, 2), (6, 2), (8, 2)]  # a near-tie, and deciding cells
    return [
        *(
            Family("worse", "worse", {"d": d, "gap": 0.3, **_more(K)}, drawn=K > 2)
            for d, K in grid
            if (d, K) not in known
        ),
        *(Family("worse", "worse", {"d": d, "gap": gap}) for d in (4, 8) for gap in (1.0, 0.1)),
        *(Family("worse", "worse", {"d": d, "gap": 0.03}, share=0.5) for d in (4, 8)),
        Family("worse", "worse", {"d": 4, "gap": 0.01}, share=0.1),
        Family("worse", "worse", {"d": 4, "gap": 0.003}, share=0.02, cap=LONG),
    ]


def _worse_but_one() -> list[Family]:
    return [
        *(
            Family(
                "worse but one",
                "worse-but-one",
                {"d": d, "gap": 0.3, "edge": 0.3, **_more(K)},
                drawn=K > 2,
            )
            for d in (2, 3, 4, 6, 8)
            for K in (2, 3, 10)
        ),
        *(
            Family("worse but one", "worse-but-one", {"d": d, "gap": gap, "edge": edge})
            for d in (2, 4, 8)
            for gap, edge in ((0.3, 0.05), (1.0, 0.1), (0.1, 0.1))
        ),
        *(
            Family(
                "worse but one",
                "worse-but-one",
                {"d": d, "gap": gap, "edge": gap},
                share=share,
            )
            for d, gap, share in (
                (2, 0.03, 0.5),
                (4, 0.03, 0.5),
                (8, 0.03, 0.5),
                (4, 0.01, 0.1),
            )
        ),
    ]


def _more(K: int) -> dict[str, int]:
    return {} if K == 2 else {"K": K}


def _correlation() -> list[Family]:
    edges = (
        *((2, rho) for rho in (-0.99, -0.95, 0.95, 0.99)),
        *((3, rho) for rho in (-0.49, -0.45, 0.95)),
        *((6, rho) for rho in (-0.19, 0.95)),
    )
    return [
        *(Family("correlation", "worse", {"d": d, "gap": 0.3, "rho": rho}) for d, rho in edges),
        *(
            Family(
                "correlation", "worse-but-one", {"d": d, "gap": 0.3, "edge": 0.3, "rho": rho}
            )
            for d, rho in edges
        ),
        *(
            Family("correlation", "near-tie", {"gap": 0.1, "d": d, "lead": lead, "rho": rho})
            for d, rho in edges
            for lead in (2.0, -2.0)
        ),
        *(
            Family(
                "correlation",
                "adverse",
                {"K": 3, "d": d, "kind": kind, "edge": 0.02},
                drawn=True,
            )
            for d in (3, 6)
            for kind in ("dominated", "incomparable", "tied")
        ),
    ]


def _fronts() -> list[Family]:
    return [
        *(Family("fronts", "front", {"K": K, "gap": 0.1}) for K in (3, 10)),
        Family("fronts", "front", {"K": 3, "gap": 0.02}, share=0.2),
        Family("fronts", "front", {"K": 10, "gap": 0.05}, share=0.2),
        Family("fronts", "front", {"K": 10, "gap": 0.02}, share=0.05),
        *(Family("fronts", "front", {"K": 10, "gap": 0.1, "d": d}, share=0.5) for d in (3, 6)),
    ]


def _just_below() -> list[Family]:
    return [
        Family(
            "just below",
            "just-below",
            {"d": d, "gap": gap, "where": where},
            drawn=True,
            share=share,
        )
        for d in (2, 3, 6)
        for gap, share in ((0.1, 1.0), (0.03, 0.25))
        for where in ("all", "one")
    ]


def _linear_units() -> list[Family]:
    kinds: Sequence[dict[str, Any]] = (
        {"norm": 3.0},
        *({"scale": scale} for scale in (0.01, 0.1, 10.0, 100.0)),
        *({"unit": unit} for unit in (0.01, 100.0)),
        {"scale": 0.01, "unit": 100.0},
        {"scale": 100.0, "unit": 100.0},
        {"norm": 1.0},
        {"norm": 30.0, "scale": 0.01},
        {"spread": 0.05},
        {"spread": 0.05, "scale": 100.0},
        {"answers": 12},
        {"answers": 12, "scale": 0.01},
        {"norm": 30.0, "answers": 12},
        {"h": 5, "K": 12, "d": 3},
        {"ball": 1.5},
        {"norm": 30.0, "ball": 1.5},
        {"scale": 0.01, "ball": 1.5},
        {"answers": 12, "ball": 1.5},
    )
    return [
        *(Family("linear", "linear", params, drawn=True) for params in kinds),
        *(Family("linear", "linear-pair", {"scale": scale}) for scale in (0.01, 100.0)),
        Family("linear", "linear-pair", {"ball": 1.5}),
        Family("linear", "linear-pair", {"low": 25.0, "high": 25.1}),
        *(Family("linear", "linear-slope", {"scale": scale}) for scale in (0.01, 100.0)),
        *(Family("linear", "linear-slope", {"unit": unit}) for unit in (0.01, 100.0)),
        Family("linear", "linear-slope", {"ball": 1.5}),
    ]


def _noise() -> list[Family]:
    """Return cells in which the rules have to estimate the noise, or do without."""

    def untold(share: float = 1.0, **params: Any) -> list[Family]:
        told = ["per-arm"] if params.get("spread", 1.0) != 1.0 else ["per-arm", "estimate"]
        return [Family("noise", "untold", {**params, "told": one}, share=share) for one in told]

    lines: Sequence[dict[str, Any]] = (
        {"slope": 0.1, "K": 2},
        {"slope": 0.2},
        {"slope": 2.0},  # a handful of results, and fewer degrees of freedom
        {"slope": 0.3, "d": 2, "rho": -0.9},
        {"slope": 0.2, "d": 2, "rho": -0.9, "K": 2},
        {"slope": 3.0, "d": 2, "across": 1, "rho": -0.9},
        {"slope": 0.3, "d": 3, "rho": -0.45, "K": 2},
    )
    planes: Sequence[dict[str, Any]] = (
        {"norm": 1.0, "h": 2, "K": 3, "d": 1},
        {"norm": 2.0, "h": 6, "K": 6, "d": 1},  # no more arms than features
        {"norm": 3.0},
        {"norm": 30.0},
        {"norm": 10.0, "rho": -0.9},
        {"norm": 10.0, "answers": 12},
        {"norm": 3.0, "scale": 0.01, "unit": 100.0},
        {"norm": 30.0, "h": 6, "K": 12, "d": 3},
    )
    return [
        *untold(gap=0.3),
        *untold(gap=0.3, spread=4.0),
        *untold(gap=0.1, share=0.25),
        *untold(gap=0.1, spread=4.0, share=0.25),
        *untold(gap=0.2, d=2),
        *untold(gap=0.2, d=2, spread=4.0),
        *untold(gap=0.2, d=2, rho=-0.95),
        *untold(gap=0.2, d=2, rho=0.95),
        *untold(gap=0.3, d=6),
        *untold(gap=0.3, d=6, spread=4.0),
        *untold(gap=0.3, shape="student"),
        *untold(gap=0.3, shape="lognormal"),
        *(
            Family("noise", "noisy-arms", {"K": K, "noisy": noisy, "d": d})
            for K, noisy, d in ((20, 1, 1), (20, 10, 1), (60, 1, 2), (60, 10, 1), (60, 30, 1))
        ),
        *(Family("noise", "chances", {"p": p, "gap": 0.08}) for p in (0.02, 0.5, 0.9)),
        *(Family("noise", "untold-line", params) for params in lines),
        Family("noise", "untold-line", {"slope": 0.05, "K": 2}, share=0.25),
        *(Family("noise", "untold-linear", params, drawn=True) for params in planes),
    ]


def _found(every: Sequence[Found]) -> list[Family]:
    return [
        Family("found", one.instance, one.params, share=0.2, cap=CAP // 10) for one in every
    ]


@cache
def families() -> dict[str, Family]:
    """Return every family by name, in the order of the groups."""
    every = [
        *_ordinary(),
        *_deciding(),
        *_near_ties(),
        *_ties(),
        *_worse(),
        *_worse_but_one(),
        *_correlation(),
        *_fronts(),
        *_just_below(),
        *_linear_units(),
        *_noise(),
        *questions(),
        *_found(read_found()),
    ]
    named: dict[str, Family] = {}
    for family in every:
        named.setdefault(family.name, family)  # what was found may be a family already
    return named
