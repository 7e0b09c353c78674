"""Rules in all company that the library allows, and their numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from cores.registry import play_case
from cores.truths import correlated, each_covariance, featured, limited, line, spread

from psips.errors import InputError
from psips.problem import Problem
from psips.problem.instances import Instance
from psips.problem.parameters import Ball
from psips.rules import SAMPLING, STOPPING, Rules


def rule_pairs(problem: Problem) -> list[dict[str, Any]]:
    """Return all choices of rules that a problem allows: by trying them."""
    found = []
    for sampling in SAMPLING:
        for stopping, rule in STOPPING.items():
            for calibration in rule.calibrations or ("heuristic",):
                for draws in ("first-hit", "literal"):
                    choice = {
                        "sampling": sampling,
                        "stopping": stopping,
                        "calibration": calibration,
                        "draws": draws,
                    }
                    try:
                        rules = Rules(**choice)
                        target = np.full(problem.K, 1.0 / problem.K)
                        rules.program(problem.noisy, target)
                    except InputError:
                        continue
                    found.append(choice)
    return found


def rule_cases(group: str, made: Callable[[], Instance], every: int = 1, **how: Any) -> None:
    """Add a case for each choice of rules, or for every so-many-th of them."""
    for k, choice in enumerate(rule_pairs(made().problem)):
        if k % every:
            continue
        slow = choice["draws"] == "literal"  # a draw that differs is rarer and rarer
        words = [choice[key] for key in ("sampling", "stopping", "calibration", "draws")]
        given: dict[str, Any] = {**how, **choice}
        if slow:
            given |= {"steps": 40, "cap": 40}
        if choice["sampling"].startswith("ege"):
            given |= {"budget": 400, "deep": False}
        play_case(f"{group}/{' '.join(words)}", made, **given)


def build_rules() -> None:
    rule_cases("rules", correlated, steps=150, cap=1500, delta=0.05)
    rule_cases("rules of one objective", line, every=4, steps=120, cap=1000, delta=0.05)
    ball = partial(featured, parameter_set=Ball(8.0))
    rule_cases("rules with features", ball, every=3, steps=120, cap=600, deep=False)
    one = partial(featured, d=1, size=0.3, parameter_set=Ball(8.0))
    for calibration in ("heuristic", "sharp", "proven"):
        for draws in ("first-hit", "literal"):
            play_case(
                f"rules with features/one objective, posterior {calibration} {draws}",
                one,
                stopping="posterior",
                calibration=calibration,
                draws=draws,
                steps=25 if draws == "literal" else 60,
                cap=25 if draws == "literal" else 300,
            )
    each = partial(spread, 5, 2, covariance=each_covariance(5, 2, True))
    rule_cases("rules, noise of each arm", each, steps=120, cap=800)
    untold = partial(spread, 5, 2, True, covariance="per-arm")
    rule_cases("rules, unknown noise", untold, steps=120, cap=800)
    rule_cases("rules, limits", limited, steps=120, cap=800)
    for tracking in ("c-tracking", "mixture"):
        for sampling in ("directed", "projected", "posterior", "track-and-stop", "oracle"):
            play_case(
                f"tuning/{sampling} {tracking}",
                correlated,
                sampling=sampling,
                tracking=tracking,
                tuning={"alpha": 0.5, "eta": 0.7, "kappa": 1.5},
            )
    for name, choice in {
        "eta estimated, published": {"sampling": "posterior", "draws": "literal"},
        "eta estimated, directed, literal": {"draws": "literal"},
    }.items():
        play_case(
            f"tuning/{name}",
            correlated,
            steps=60,
            cap=60,
            tuning={"eta": "estimate"},
            **choice,
        )
    play_case("tuning/eta estimated, features", one, steps=100, tuning={"eta": "estimate"})
    for expected in (60, 300, 5000, (100, 1000)):
        play_case(f"tuning/expected {expected}", correlated, expected_results=expected)
    for delta in (0.3, 0.01, 1e-6, 1e-12):
        play_case(f"tuning/delta {delta:g}", correlated, delta=delta, cap=6000)
    for stopping in ("bayes", "certified", "predicted", "posterior"):
        play_case(f"tuning/{stopping}, small delta", correlated, stopping=stopping, delta=1e-5)
