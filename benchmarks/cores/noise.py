"""Noise that is given, different or unknown; values of every kind; items."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from cores.registry import case, play_case, told_case
from cores.runs import Found, played, tabled, told
from cores.truths import (
    binary,
    bounded,
    each_covariance,
    item_problem,
    names,
    round_values,
    speed_in_e,
    spread,
    with_exact,
)

from psips.problem import Problem
from psips.problem.instances import Instance
from psips.problem.noise import NoiseGuess
from psips.simulation.environments import (
    BernoulliEnvironment,
    GaussianEnvironment,
    ResamplingEnvironment,
)


def build_noise() -> None:
    for K, d in ((2, 1), (5, 1), (5, 2), (5, 3), (20, 3), (5, 6)):
        for label, how in {
            "of each": {"covariance": "per-arm"},
            "pooled": {"covariance": "estimate"},
        }.items():
            play_case(
                f"unknown/{label}, K {K}, d {d}",
                partial(spread, K, d, d > 2, 0.4 if K == 2 else 1.0, **how),
                steps=150,
                cap=600,
                deep=K * d < 20,
            )
        each = each_covariance(K, d, d > 1)
        play_case(
            f"noise of each/K {K}, d {d}",
            partial(spread, K, d, False, 0.4 if K == 2 else 1.0, covariance=each),
            steps=150,
            cap=800,
            deep=K * d < 20,
        )
    for mode in ("per-arm", "estimate"):
        guess = partial(spread, 5, 2, covariance=mode, noise_guess=NoiseGuess([1.0, 1.0], 5))
        play_case(f"unknown/guess, {mode}", guess)
        for stopping in ("certified", "glr"):
            play_case(
                f"unknown/{stopping}, {mode}",
                partial(spread, 4, 2, covariance=mode),
                stopping=stopping,
                delta=0.01,
            )
        told_case(f"unknown/told, {mode}", partial(spread, 4, 2, covariance=mode), restore=70)
        told_case(
            f"values/steps, {mode}", partial(spread, 4, 2, covariance=mode), other=round_values
        )
        for label, both in (("binary", True), ("binary and number", False)):
            play_case(f"values/{label}, {mode}", partial(binary, mode, both), steps=200)
            told_case(f"values/{label}, told, {mode}", partial(binary, mode, both), restore=100)
            holes = partial(binary, mode, both, partial=True)
            told_case(f"holes/{label}, {mode}", holes, holes=0.3)
        for d in (1, 2, 3):
            made = partial(spread, 4, d, d == 3, covariance=mode, partial=True)
            told_case(f"holes/unknown noise, d {d}, {mode}", made, holes=0.3, restore=80)
    certified = {"stopping": "certified", "delta": 0.2}
    told_case("values/binary, certified", partial(binary, "per-arm", True), **certified)
    for d in (1, 2):
        for stopping in ("glr", "certified"):
            told_case(
                f"values/within a range, d {d}, {stopping}",
                partial(bounded, d),
                other=round_values,
                stopping=stopping,
            )
    told_case(
        "holes/within a range", partial(bounded, 2, partial=True), other=round_values, holes=0.2
    )
    for d in (2, 3, 6):
        made = partial(spread, 5, d, True, partial=True)
        told_case(f"holes/noise given, d {d}", made, holes=0.3, deep=d < 6)
        each = partial(spread, 5, d, covariance=each_covariance(5, d, True), partial=True)
        told_case(f"holes/noise of each given, d {d}", each, holes=0.3, deep=d < 6)
    for stopping in ("certified", "bayes"):
        told_case(
            f"holes/{stopping}",
            partial(spread, 4, 2, partial=True),
            holes=0.3,
            stopping=stopping,
        )
    told_case("holes/in a table", partial(spread, 5, 2, True, partial=True), tabled)
    logs = {"speed": {"direction": "max", "transform": "log"}, "cost": "min"}
    for label, noise in (("given", [0.5, 1.0]), ("unknown", "per-arm")):
        made = partial(spread, 4, 2, objectives=logs, covariance=noise)

        def run(seed: int, made: Callable[[], Instance] = made) -> Found:
            one = made()
            plain_one = Instance("", spread(4, 2).problem, one.theta)
            names_of = Problem(
                objectives={"speed": "max", "cost": "min"}, covariance=[0.5, 1.0], arms=4
            )
            environment = GaussianEnvironment(names_of, plain_one.theta)
            return told(one.problem, environment, seed, other=speed_in_e)

        case(f"values/logarithms, noise {label}", run)
    for kind in ("gaussian", "student", "lognormal"):
        for label, full in (("diagonal", False), ("full", True)):

            def run_noise(seed: int, kind: str = kind, full: bool = full) -> Found:
                one = spread(5, 2, full)
                environment = GaussianEnvironment(one.problem, one.theta, kind)
                return played(one.problem, environment, seed, steps=120, cap=2000)

            case(f"sources/{kind}, {label}", run_noise)

    def run_bernoulli(seed: int, mixed: bool) -> Found:
        means = np.random.default_rng(3).uniform(0.2, 0.9, (5, 2))
        objectives = {"cured": "max", "failed": "min"} if mixed else names(2)
        problem = Problem(objectives=objectives, covariance=[0.25, 0.25], arms=5)
        return played(problem, BernoulliEnvironment(problem, means), seed, steps=120, cap=2000)

    def run_resampling(seed: int, unknown: bool) -> Found:
        import pandas as pd

        rng = np.random.default_rng(4)
        frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=names(2))
        frame.insert(0, "arm", [f"arm {k % 4 + 1}" for k in range(60)])
        frame[names(2)] += np.repeat(rng.normal(size=(4, 2)), 15, axis=0).reshape(4, 15, 2)[
            np.arange(60) % 4, np.arange(60) // 4
        ]
        noise = "per-arm" if unknown else [1.0, 1.0]
        problem = Problem(objectives=names(2), covariance=noise, arms=4)
        return played(problem, ResamplingEnvironment(problem, frame), seed, steps=120, cap=1500)

    for flag in (False, True):
        case(f"sources/bernoulli{', mixed' * flag}", partial(run_bernoulli, mixed=flag))
        label = f"sources/resample{', unknown noise' * flag}"
        case(label, partial(run_resampling, unknown=flag))


def build_exact() -> None:
    kinds = {"gain": {"direction": "max"}, "loss": {"direction": "min"}}
    size = {"size": {"direction": "min", "kind": "exact"}}
    for label, how in {
        "one noisy": {"objectives": {"gain": "max", **size}, "covariance": {"gain": 1.0}},
        "two noisy": {
            "objectives": {**kinds, **size},
            "covariance": {"gain": 1.0, "loss": 0.5},
        },
        "unknown noise": {"objectives": {**kinds, **size}, "covariance": "per-arm"},
        "tolerance": {
            "objectives": {**kinds, **size},
            "covariance": {"gain": 1.0, "loss": 0.5},
            "epsilon": {"gain": 0.3, "size": 1.0},
        },
        "limit on it": {
            "objectives": {**kinds, **size},
            "covariance": {"gain": 1.0, "loss": 0.5},
            "limits": ["size <= 3"],
        },
        "limit on another": {
            "objectives": {**kinds, **size},
            "covariance": {"gain": 1.0, "loss": 0.5},
            "limits": ["loss <= 1", "size <= 3.5"],
        },
    }.items():
        for stopping in ("glr", "certified") if "limit" not in label else ("glr",):

            def run(seed: int, how: Any = how, stopping: str = stopping) -> Found:
                d = len(how["objectives"])
                problem = Problem(arms=6, **how)
                means = np.random.default_rng(5).normal(size=(6, d))
                given = {**how, "covariance": [1.0] * d}
                for question in ("epsilon", "limits"):
                    given.pop(question, None)
                signs = dict.fromkeys(how["objectives"], "max")
                signs |= dict(zip(problem.objectives, problem.directions, strict=True))
                given["objectives"] = signs
                environment = GaussianEnvironment(Problem(arms=6, **given), means)
                return told(
                    problem,
                    environment,
                    seed,
                    other=with_exact,
                    cap=150,
                    restore=60,
                    stopping=stopping,
                )

            case(f"exact/{label}, {stopping}", run)
    found_out = partial(spread, 5, 3, covariance="per-arm")
    told_case("exact/found out by repeats", found_out, other=with_exact, restore=60, cap=150)

    def simulated(seed: int) -> Found:
        given: dict[str, Any] = {"objectives": {**kinds, **size}, "arms": 6}
        problem = Problem(**given, covariance={"gain": 1.0, "loss": 0.5})
        means = np.random.default_rng(6).normal(size=(6, 3))
        return played(problem, GaussianEnvironment(problem, means), seed, steps=150)

    case("exact/simulated", simulated)


def build_items() -> None:
    for label, given, how in (
        ("d 1", {"d": 1}, {}),
        ("d 2", {"d": 2}, {}),
        ("d 3", {"d": 3}, {"cap": 80}),
        ("binary", {"d": 2, "binary_first": True}, {}),
        ("list of items", {"d": 2, "items": [f"item {k}" for k in range(25)]}, {}),
        ("tolerance", {"d": 2, "epsilon": 0.2}, {}),
        ("batches", {"d": 2}, {"batch": 5}),
        ("restored", {"d": 2}, {"restore": 50}),
        ("costs", {"d": 2, "costs": [1, 2, 3, 4]}, {}),
        ("round-robin", {"d": 2}, {"sampling": "round-robin"}),
        ("projected", {"d": 2}, {"sampling": "projected"}),
        ("budget", {"d": 2}, {"budget": 60}),
        ("cancelled", {"d": 2}, {"cancel": 7}),
    ):

        def run(seed: int, given: Any = given, how: Any = how) -> Found:
            problem, environment = item_problem(**given)
            return told(problem, environment, seed, **{"cap": 120, **how})

        case(f"items/{label}", run)

    def simulated(seed: int) -> Found:
        problem, environment = item_problem(2)
        return played(problem, environment, seed, steps=120, cap=200)

    case("items/simulated", simulated)
