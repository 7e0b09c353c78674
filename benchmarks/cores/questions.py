"""Questions: tolerances, limits, costs, budgets, goals, priors, proofs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from cores.registry import play_case, told_case
from cores.truths import (
    correlated,
    covariance,
    each_covariance,
    featured,
    limited,
    named_features,
    spread,
)

from psips.problem.parameters import Ball, Prior


def build_question() -> None:
    for d in (1, 2, 3):
        for label, how in {
            "number": {"epsilon": 0.4},
            "by objective": {"epsilon": {"objective 1": 0.6}},
            "percent": {"epsilon": "20%", "control": "arm 1"},
            "unknown noise": {"epsilon": 0.4, "covariance": "per-arm"},
            "noise of each": {"epsilon": 0.4, "covariance": each_covariance(6, d, False)},
        }.items():
            made = partial(spread, 6, d, **how)
            play_case(f"tolerance/{label}, d {d}", made, steps=200, cap=2500, deep=d < 3)
    for choice in (
        {"stopping": "predicted"},
        {"stopping": "certified"},
        {"stopping": "bayes"},
        {"stopping": "posterior"},
        {"stopping": "glr", "calibration": "proven"},
        {"stopping": "glr", "calibration": "heuristic"},
        {"sampling": "projected"},
        {"sampling": "round-robin"},
    ):
        words = " ".join(choice.values())
        play_case(
            f"tolerance/{words}", partial(spread, 6, 2, epsilon=0.4), delta=0.05, **choice
        )
    play_case(
        "tolerance/predicted, 40 options",
        partial(spread, 40, 2, epsilon=0.8),
        stopping="predicted",
        steps=80,
        cap=200,
        deep=False,
    )
    told_case("tolerance/restored", partial(spread, 6, 2, epsilon=0.4), restore=90)
    for d in (2, 3):
        for label, how in {
            "fixed": {},
            "between": {"limits": ["toxicity between 0.2 and 1.6"]},
            "control": {"limits": ["toxicity <= 1.2 * control"], "control": "arm 3"},
            "level of the control": {"limits": ["toxicity <= control"], "control": "arm 4"},
            "two": {"limits": ["toxicity <= 1.4", "efficacy >= 0.4"]},
            "only limited": {
                "objectives": {
                    "efficacy": "max",
                    "toxicity": "limit",
                    **({"comfort": "max"} if d == 3 else {}),
                }
            },
            "none keeps": {"limits": ["toxicity <= -1"]},
            "full covariance": {"covariance": covariance(d, True)},
            "unknown noise": {"covariance": "per-arm"},
            "pooled noise": {"covariance": "estimate"},
            "noise of each": {"covariance": each_covariance(6, d, True)},
            "tolerance": {"epsilon": {"efficacy": 0.3}},
            "costs": {"costs": [1, 2, 3, 4, 5, 6]},
        }.items():
            made = partial(limited, d, **how)
            play_case(f"limits/{label}, d {d}", made, steps=150, cap=1500, deep=d == 2)
    for sampling in ("two-stage", "uniform", "round-robin", "oracle"):
        play_case(f"limits/{sampling}", limited, sampling=sampling, cap=1500)
    play_case(
        "limits/two-stage, unknown noise",
        partial(limited, covariance="per-arm"),
        sampling="two-stage",
    )
    told_case("limits/restored", limited, restore=80)
    told_case("limits/holes", partial(limited, partial=True), holes=0.3)
    told_case(
        "limits/holes, unknown noise",
        partial(limited, partial=True, covariance="per-arm"),
        holes=0.3,
    )
    play_case("limits/with features", partial(featured, limits=["objective 1 <= 1"]))
    costs = {"costs": [1.0, 2.0, 4.0, 0.5, 3.0]}
    for sampling in ("directed", "projected", "posterior", "track-and-stop", "uniform"):
        play_case(f"costs/{sampling}", partial(spread, 5, 2, **costs), sampling=sampling)
    play_case("costs/features", partial(featured, costs=(np.arange(12) % 4 + 1.0).tolist()))
    play_case("costs/unknown noise", partial(spread, 5, 2, covariance="per-arm", **costs))
    for stopping in ("certified", "predicted", "bayes"):
        play_case(f"costs/{stopping}", partial(spread, 5, 2, **costs), stopping=stopping)
    for sampling in ("ege-sr", "ege-sh", "directed", "uniform"):
        for budget in (30, 203):
            choice: dict[str, Any] = {"sampling": sampling, "budget": budget}
            play_case(f"budgets/{sampling}, {budget}", correlated, **choice)
            if sampling != "uniform":
                told_case(f"budgets/{sampling}, {budget}, told", correlated, batch=3, **choice)
    for sampling in ("ege-sr", "ege-sh"):
        play_case(
            f"budgets/{sampling}, 12 arms",
            partial(spread, 12, 3),
            sampling=sampling,
            budget=300,
        )
    play_case("budgets/costs", partial(spread, 5, 2, **costs), budget=150.5)
    play_case("budgets/limits", limited, budget=60)
    choice = {"sampling": "ege-sh", "stopping": "never", "budget": 203}
    play_case("budgets/ege-sh, status at the end", correlated, **choice)
    told_case("budgets/unknown noise", partial(spread, 5, 2, covariance="per-arm"), budget=70)
    controlled = partial(spread, 6, 2, control="arm 2")
    for goal in ("1 optimal", "2 optimal", "settle arm 3", "beat control"):
        play_case(f"goals/{goal}", controlled, goal=goal)
        for label, noise in (("unknown", "per-arm"), ("of each", each_covariance(6, 2, True))):
            made = partial(spread, 6, 2, control="arm 2", covariance=noise)
            play_case(f"goals/{goal}, noise {label}", made, goal=goal)
        play_case(f"goals/{goal}, features", named_features, goal=goal)
    told_case("goals/told in batches", controlled, batch=4, goal="1 optimal", restore=0)
    play_case("goals/round-robin", controlled, goal="1 optimal", sampling="round-robin")
    for label, prior in {
        "everywhere": Prior([0.0, 0.0], 0.5),
        "of some": Prior([[0.5, 0.5]] * 5, [0.0, 2.0, 0.0, 5.0, 1.0]),
    }.items():
        made = partial(spread, 5, 2, prior=prior)
        play_case(f"priors/{label}", made, stopping="bayes", delta=0.01)
        told_case(f"priors/{label}, restored", made, stopping="bayes", restore=40, delta=1e-4)
    linear_prior = partial(featured, prior=Prior([0.0, 0.0], 0.5))
    play_case("priors/features", linear_prior, stopping="bayes")
    for label, made in {
        "plain": partial(spread, 5, 2),
        "features": featured,
        "features, ball": partial(featured, parameter_set=Ball(8.0)),
        "unknown noise": partial(spread, 5, 2, covariance="per-arm"),
        "noise of each": partial(spread, 5, 2, covariance=each_covariance(5, 2, True)),
        "tolerance": partial(spread, 5, 2, epsilon=0.4),
        "features, tolerance": partial(featured, epsilon=0.6),
        "limits": limited,
        "goal": partial(spread, 5, 2, control="arm 1"),
    }.items():
        goal = {"goal": "beat control"} if label == "goal" else {}
        play_case(f"proven/{label}", made, guarantee="proven", cap=4000, **goal)
    for d in (1, 3, 6):
        play_case(
            f"proven/predicted, d {d}",
            partial(spread, 6, d, d > 1),
            cap=2500,
            stopping="predicted",
            deep=d < 6,
        )
    told_case(
        "proven/predicted, restored",
        partial(spread, 5, 2),
        stopping="predicted",
        restore=60,
        cap=400,
    )
    for sampling in ("projected", "uniform", "round-robin", "posterior"):
        play_case(
            f"proven/predicted, {sampling}",
            partial(spread, 5, 2),
            stopping="predicted",
            sampling=sampling,
        )
