"""Instances of every size, with and without features, and at the edge."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from cores.registry import play_case, told_case
from cores.truths import covariance, each_covariance, featured, spread

from psips.lab.instances import instance
from psips.problem.instances import Instance
from psips.problem.noise import NoiseGuess
from psips.problem.parameters import Ball, Box


def build_plain() -> None:
    for K in (2, 5, 20, 60):
        for d in (1, 2, 3, 6):
            for full in (False, True) if d > 1 else (False,):
                kind = "full" if full else "diagonal"
                steps = 150 if d == 6 else 250
                cap = steps if K * d > 100 else 2000
                play_case(
                    f"plain/K {K}, d {d}, {kind}",
                    partial(
                        spread,
                        K,
                        d,
                        full,
                        3.0 if K > 10 else 0.7 if K > 2 else 0.25,
                        mixed=K == 5,
                    ),
                    steps=steps,
                    cap=cap,
                    deep=K * d <= 60,
                )
    for d in (2, 3, 6):
        play_case(
            f"many/K 1000, d {d}",
            partial(spread, 1000, d, d == 3, 12.0),
            steps=1040,
            cap=1040 if d == 6 else 1300,
            deep=False,
        )
    for sampling, stopping in (
        ("projected", "glr"),
        ("posterior", "posterior"),
        ("ape", "ape"),
        ("elimination", "elimination"),
        ("uniform", "certified"),
        ("directed", "predicted"),
        ("directed", "bayes"),
    ):
        play_case(
            f"many/K 300, {sampling}, {stopping}",
            partial(spread, 300, 2, False, 8.0),
            steps=340,
            cap=500,
            deep=False,
            sampling=sampling,
            stopping=stopping,
        )
    play_case("many/cov-boost", lambda: instance("cov-boost"), steps=300, cap=9000)
    play_case(
        "many/cov-boost, six objectives", partial(spread, 20, 6, True), steps=200, cap=400
    )
    for seed in (1, 2):
        made = partial(instance, "random-gaussian", K=10, d=3, seed=seed)
        play_case(f"plain/random-gaussian {seed}", made, steps=150, cap=3000)
    for label, params in {
        "near-tie": {},
        "near-tie, three": {"d": 3, "rho": 0.4, "hopeless": 3},
        "worse": {},
        "worse-but-one": {},
        "corner": {},
        "variant": {},
        "front": {},
        "just-below": {},
        "adverse": {},
        "correlated-alternative": {},
        "ties": {},
        "ties, three": {"K": 6, "d": 3, "levels": 3, "rho": 0.3},
        "hub": {},
        "hub, three": {"d": 3},
        "rotated": {},
        "random-bernoulli": {},
        "noisy-arms": {},
        "chances": {},
        "chances, pooled": {"told": "estimate"},
        "untold": {"d": 2, "rho": 0.5, "spread": 2.0},
        "untold, student": {"d": 2, "shape": "student"},
        "untold, lognormal": {"d": 2, "shape": "lognormal"},
        "untold, pooled": {"d": 2, "told": "estimate"},
        "shared-items": {},
        "shared-items, student": {"shape": "student"},
        "linear": {},
        "linear, answers": {"answers": 6},
        "linear-pair": {},
        "linear-slope": {},
        "linear-ties": {},
        "linear-ties, answers": {"K": 5, "h": 3, "d": 2, "answers": 6},
        "untold-linear": {},
        "untold-line": {"d": 2, "across": 1},
        "beside-tolerance": {},
        "beside-tolerance, between": {"kind": "between", "d": 2, "rho": -0.3, "loud": 2.0},
        "beside-tolerance, chain, untold": {"kind": "chain", "d": 2, "told": "per-arm"},
        "beside-limit": {},
        "beside-limit, wedge": {"kind": "wedge", "rho": 0.4},
        "beside-limit, control": {"kind": "control", "tolerance": 0.2},
        "beside-limit, untold": {"kind": "but-one", "told": "per-arm"},
        "dose-finding": {},
        "dose-finding, untold": {"told": "per-arm"},
    }.items():
        made = partial(instance, label.split(",")[0], **params)
        items = "items" in label
        play_case(f"instances/{label}", made, steps=120, cap=120 if items else 2500, delta=0.2)


def build_features() -> None:
    for d in (1, 2, 3):
        for label, how in {
            "plain": {},
            "intercept": {"intercept": True},
            "regularised": {"regularization": 0.7},
            "ball": {"parameter_set": Ball(8.0)},
            "tight ball": {"parameter_set": Ball([5.0 + c for c in range(d)])},
            "box": {"parameter_set": Box(-6.0, 6.0)},
            "answers": {"n": 20},
            "answers, ball": {"n": 20, "parameter_set": Ball(8.0)},
            "full covariance": {"covariance": covariance(d, True)},
            "tolerance": {"epsilon": 0.5},
        }.items():
            play_case(
                f"features/{label}, d {d}",
                partial(featured, d=d, size=0.3 if d == 1 else 1.5, **how),
                steps=150,
                cap=1000,
                deep=d == 2,
            )
    ball = partial(featured, parameter_set=Ball(8.0))
    for stopping in ("certified", "predicted", "glr", "posterior", "bayes"):
        answers = partial(featured, n=15, parameter_set=Ball(8.0))
        play_case(f"features/answers, {stopping}", answers, stopping=stopping, steps=150)
    play_case("features/predicted without a ball", featured, stopping="predicted")
    play_case("features/many", partial(featured, 200, 8, 3), steps=120, cap=300, deep=False)
    play_case(
        "features/many answers",
        partial(featured, 40, 5, 2, 2000),
        steps=60,
        cap=120,
        deep=False,
    )
    play_case("features/noc", partial(instance, "noc"), steps=150, cap=1500, deep=False)
    transductive = partial(instance, "noc-transductive")
    play_case("features/noc-transductive", transductive, steps=150, cap=1500, deep=False)
    play_case(
        "features/projected, box",
        partial(featured, parameter_set=Box(-6.0, 6.0)),
        sampling="projected",
        steps=120,
    )
    play_case("features/track-and-stop", ball, sampling="track-and-stop", steps=120)
    play_case("features/unstructured ball", partial(spread, 5, 2, parameter_set=Ball(9.0)))
    play_case("features/unstructured box", partial(spread, 5, 2, parameter_set=Box(-6.0, 6.0)))
    for sampling in ("directed", "projected", "uniform"):
        for label, how in {
            "noise of all": {"covariance": "estimate"},
            "noise of all, guess": {
                "covariance": "estimate",
                "noise_guess": NoiseGuess([1.0, 1.0], 4),
            },
            "noise of each, given": {"covariance": each_covariance(12, 2, True)},
            "holes": {"partial": True},
            "holes, unknown noise": {"partial": True, "covariance": "estimate"},
            "holes, answers": {"partial": True, "n": 10},
        }.items():
            holes = 0.3 if "holes" in label else 0.0
            given = {"cap": 120, "sampling": sampling, "holes": holes}
            told_case(f"joint/{label}, {sampling}", partial(featured, **how), **given)
    for label, how in {
        "three metrics, holes": {"d": 3, "partial": True, "covariance": "estimate"},
        "tolerance, holes": {"epsilon": 0.4, "partial": True},
        "noise of each, bayes": {"covariance": each_covariance(12, 2, False)},
    }.items():
        stopping = "bayes" if "bayes" in label else "glr"
        holes = 0.25 if "holes" in label else 0.0
        told_case(
            f"joint/{label}",
            partial(featured, **how),
            cap=120,
            restore=60,
            holes=holes,
            stopping=stopping,
        )
    play_case(
        "joint/noise of each, simulated",
        partial(featured, covariance=each_covariance(12, 2, True)),
        steps=80,
        cap=200,
    )


def build_edges() -> None:
    """Correlations near the edge, and instances of the bench."""
    from psips.lab import bench

    for label in bench.EDGES:

        def edge(label: str = label) -> Instance:
            return replace(bench._edge(label), name="edge")

        play_case(f"edges/{label}", edge, steps=80, cap=300, deep=False, delta=1e-3)
        play_case(
            f"edges/{label}, posterior",
            edge,
            steps=60,
            cap=120,
            deep=False,
            sampling="posterior",
            stopping="never",
        )
