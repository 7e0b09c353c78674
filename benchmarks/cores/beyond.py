"""What is computed without a session: T*, best responses, plans, many runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cores.registry import case
from cores.runs import Found, plain
from cores.truths import correlated, each_covariance, featured, limited, line, spread

from psips.lab.instances import instance
from psips.problem.instances import Instance
from psips.simulation import simulate_many


def theory(seed: int, made: Callable[[], Instance]) -> Found:
    """T*, best responses and likelihood ratios at several weights."""
    from psips.theory.geometry import best_response, complexity, glr

    one = made()
    rng = np.random.default_rng(seed)
    found: Found = {}
    if not one.problem.limits:
        for k in range(3):
            weights = rng.dirichlet(np.ones(one.problem.K)) * 100.0
            found[f"response {k}"] = plain(vars(best_response(one.problem, one.theta, weights)))
        some = np.zeros(one.problem.K)
        some[: one.problem.K // 2 + 1] = 1.0
        found["zero weights"] = plain(vars(best_response(one.problem, one.theta, some)))
        found["ratio"] = plain(glr(one.problem, one.theta, np.arange(1, one.problem.K + 1)))
    found["complexity"] = plain(vars(complexity(one.problem, one.theta, tolerance=0.005)))
    return found


def build_theory() -> None:
    for label, made in {
        "correlated": correlated,
        "cov-boost": partial(instance, "cov-boost"),
        "one metric": line,
        "K 10, d 3": partial(spread, 10, 3, True),
        "K 8, d 6": partial(spread, 8, 6, True),
        "K 60, d 2": partial(spread, 60, 2, False, 3.0),
        "costs": partial(spread, 6, 2, costs=[1, 2, 3, 4, 5, 6]),
        "tolerance": partial(spread, 6, 2, epsilon=0.4),
        "percent": partial(spread, 6, 2, epsilon="20%", control="arm 1"),
        "noise of each": partial(spread, 6, 2, covariance=each_covariance(6, 2, True)),
        "features": featured,
        "answers": partial(featured, n=10),
        "features, tolerance": partial(featured, epsilon=0.5),
        "noc": partial(instance, "noc"),
        "limits": limited,
        "limits, d 3": partial(limited, 3),
        "limits, control": partial(
            limited, limits=["toxicity <= 1.2 * control"], control="arm 3"
        ),
        "limits, tolerance": partial(limited, epsilon={"efficacy": 0.2}),
        "limits, noise of each": partial(limited, covariance=each_covariance(6, 2, True)),
        "tied": lambda: Instance("tied", correlated().problem, np.zeros((5, 2))),
    }.items():
        case(f"theory/{label}", partial(theory, made=made))


PLANNED = """name = "trial"
delta = 0.1
arms = ["A", "B", "C", "D"]
{more}
[[objectives]]
name = "gain"
{noise}
[[objectives]]
name = "cost"
direction = "min"
{noise}
[guess]
A = {{ gain = {a}, cost = 1.0 }}
B = {{ gain = 2.0, cost = 0.5 }}
C = {{ gain = 2.6, cost = 2.0 }}
D = {{ gain = 1.0, cost = 3.0 }}
"""


def planned(seed: int, more: str = "", noise: str = "variance = 1.0", a: str = "3.0") -> Found:
    from psips.problem.problem_file import read_problem_file
    from psips.simulation.planning import plan

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "design.toml")
        path.write_text(PLANNED.format(more=more, noise=noise, a=a))
        found = plan(read_problem_file(path), deltas=(0.2,), runs=3, seed=seed % 1000, cap=1500)
    return dict(plain(found.to_dict()))


def many(seed: int, name: str, **how: Any) -> Found:
    """Several runs in threads."""
    summary = simulate_many(instance(name), runs=4, seed=seed % 1000, jobs=2, **how)
    figures = summary.to_dict()
    return {k: v for k, v in plain(figures).items() if "second" not in k and "us_" not in k}


def build_plans() -> None:
    case("plans/plain", planned)
    case("plans/ranges", partial(planned, a="[2.8, 3.2]"))
    case("plans/limits", partial(planned, more='limits = ["cost <= 2.5"]'))
    case("plans/tolerance", partial(planned, more="epsilon = 0.2"))
    case("plans/budget", partial(planned, more="budget = 200"))
    case("plans/goal", partial(planned, more='goal = "1 optimal"'))
    for name, how in (
        ("correlated", {"max_results": 2000}),
        ("noc", {"max_results": 300}),
        ("untold", {"max_results": 500}),
        ("dose-finding", {"max_results": 500}),
    ):
        case(
            f"many runs/{name}", partial(many, name=name, verdicts=name == "correlated", **how)
        )
