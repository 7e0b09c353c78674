"""Built-in instances: the published values, and the truth that goes with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import psips
from psips.errors import InputError
from psips.lab.instances import instance, instances
from psips.lab.loading import load
from psips.problem import Problem
from psips.problem.gaps import hardness
from psips.problem.instances import Instance


def naive_pareto(mu: np.ndarray) -> list[int]:
    return [
        i
        for i, x in enumerate(mu)
        if not any(all(y >= x) and any(y > x) for j, y in enumerate(mu) if j != i)
    ]


@pytest.mark.parametrize("name", [entry.name for entry in instances()])
def test_every_instance(name: str) -> None:
    made = load(name)
    problem = made.problem
    assert made.name == problem.name == name
    assert made.means.shape == (problem.n, problem.d)
    assert made.arm_means.shape == (problem.K, problem.d)
    if name in ("dose-finding", "beside-limit"):  # toxicity is the second metric
        limit = 0.3 if name == "dose-finding" else 0.0
        inside = np.flatnonzero(made.means[:, 1] <= limit)
        truth = inside[naive_pareto(made.means[inside] * problem.signs)].tolist()
    else:
        truth = naive_pareto(made.means * problem.signs)
    assert made.pareto_set == tuple(problem.answers[i] for i in truth)
    assert not made.theta.flags.writeable
    all_optimal = name in ("corner", "front", "worse-but-one", "hub")
    assert 1 <= len(truth) < problem.n + all_optimal


def test_listing() -> None:
    entries = {entry.name: entry for entry in instances()}
    assert set(entries) == {
        *("cov-boost", "noc", "noc-transductive", "correlated", "rotated"),
        *("random-gaussian", "random-bernoulli"),
        *("near-tie", "worse", "worse-but-one", "corner", "variant", "front", "just-below"),
        *("adverse", "ties", "hub", "linear-ties"),
        *("correlated-alternative", "linear", "linear-pair", "linear-slope"),
        "dose-finding",
        *("noisy-arms", "untold", "untold-line", "untold-linear", "chances", "shared-items"),
        *("beside-tolerance", "beside-limit"),
    }
    assert entries["correlated"].params == {"rho": 0.0}
    assert list(entries["random-gaussian"].params) == ["K", "d", "max_complexity", "seed"]
    assert all(entry.description.endswith(".") for entry in entries.values())


def test_cov_boost() -> None:
    made = instance("cov-boost")
    assert made.problem.K == 20
    assert made.pareto_set == ("BNT/BNT m1273", "ChAd/ChAd m1273")
    assert np.diag(made.problem.covariance).tolist() == [0.70437039, 0.82845749, 1.53743137]
    # The paper's table, with its erratum put right (9.68, not 8.71).
    means = dict(zip(made.problem.arms, made.means.round(2).tolist(), strict=True))
    assert means["ChAd/ChAd BNT Half"] == [9.68, 7.20, 4.91]
    assert means["BNT/BNT m1273"] == [10.43, 7.61, 4.72]
    assert means["ChAd/ChAd m1273"] == [10.35, 7.77, 5.00]


def test_noc() -> None:
    made = instance("noc")
    problem = made.problem
    assert (problem.K, problem.n, problem.h, problem.d) == (259, 251, 4, 2)
    assert problem.directions == ("min", "min")
    assert made.pareto_set == ("w3 c1 f4 m1", "w7 c1 f1 m1", "w7 c0 f1 m1", "w3 c0 f4 m1")
    assert problem.features is not None
    assert np.allclose(np.linalg.norm(problem.features, axis=1), 1.0)
    assert sum(len(names) > 1 for names in problem.aliases.values()) == 8
    # theta is the least-squares fit of the data's two columns, which fixes the orientation.
    path = Path(psips.__file__).parent / "data" / "network_on_chip.csv"
    data = np.loadtxt(path, delimiter=",", skiprows=1)
    fit = np.linalg.lstsq(problem.features, data[:, 4:], rcond=None)[0]
    assert np.allclose(made.theta, fit, atol=1e-8)


def test_noc_transductive() -> None:
    made, full = instance("noc-transductive"), instance("noc")
    problem = made.problem
    assert problem.K == 20
    assert problem.transductive
    assert problem.features is not None
    assert np.linalg.matrix_rank(problem.features) == 4
    assert problem.aliases == full.problem.aliases
    assert made.pareto_set == full.pareto_set
    assert set(problem.arms) < set(full.problem.arms)
    rows = [full.problem.arm_index(arm) for arm in problem.arms]
    assert np.array_equal(made.arm_means, full.arm_means[rows])


def test_correlated() -> None:
    made = instance("correlated", rho=-0.9)
    assert made.problem.covariance.tolist() == [[1.0, -0.9], [-0.9, 1.0]]
    assert made.means[4].tolist() == [2.08131887, 1.4809387]
    assert made.pareto_set == ("arm 4", "arm 5")


def test_rotated() -> None:
    made = instance("rotated")
    c, s = np.cos(np.pi / 5), np.sin(np.pi / 5)
    assert np.allclose(made.means[0], [1, 1])
    assert np.allclose(made.means[1:], made.means[:-1] @ np.array([[c, -s], [s, c]]).T)
    assert made.problem.covariance.tolist() == [[0.5, 0.0], [0.0, 0.5]]


@pytest.mark.parametrize(
    ("name", "low", "high", "variance", "noise"),
    [
        ("random-gaussian", -1.0, 1.0, 0.5, "gaussian"),
        ("random-bernoulli", 0.2, 0.9, 0.25, "bernoulli"),
    ],
)
def test_random(name: str, low: float, high: float, variance: float, noise: str) -> None:
    for seed in range(5):
        made = instance(name, K=6, d=3, seed=seed)
        rng = np.random.default_rng(seed)
        means = rng.uniform(low, high, (6, 3))
        while hardness(means) > 500:  # the rejection rule, one draw after another
            means = rng.uniform(low, high, (6, 3))
        assert np.array_equal(made.theta, means)
        assert made.noise == noise
        assert np.array_equal(made.problem.covariance, variance * np.eye(3))


def test_random_instances_have_pareto_sets_like_those_of_the_paper() -> None:
    # Mean size published for K = 10 over 100 instances: 4.42 (d = 3), 9.21 (d = 6).
    for d, published in ((3, 4.42), (6, 9.21)):
        sizes = [
            len(instance("random-gaussian", K=10, d=d, seed=s).pareto_set) for s in range(100)
        ]
        assert np.mean(sizes) == pytest.approx(published, abs=0.5)


def test_impossible_random_instance() -> None:
    with pytest.raises(InputError, match=r"has H at most 0\.001: raise max_complexity"):
        instance("random-gaussian", K=2, d=1, max_complexity=0.001)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: load("cov-bost"), "unknown instance .*'cov-bost': did you mean 'cov-boost'"),
        (lambda: instance("zzz"), "unknown instance 'zzz'; known: 'cov-boost', 'noc'"),
        (lambda: instance("correlated", roh=1), "parameter .*'roh': did you mean 'rho'"),
        (lambda: instance("noc", K=3), "instance 'noc' has no parameters, got 'K'"),
        (lambda: instance("correlated", rho=1.0), "rho must lie strictly between -1 and 1"),
        (lambda: instance("correlated", rho=float("nan")), "rho must lie strictly .*got nan"),
        (lambda: instance("random-gaussian", K=1), "needs K >= 2 and d >= 1, got K = 1"),
        (lambda: load("x.toml", rho=1), "a problem file takes no parameters, got 'rho'"),
    ],
)
def test_trouble(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_trouble_with_the_truth() -> None:
    problem = Problem(objectives=["x", "y"], covariance=[1, 1], arms=["A", "B"])
    with pytest.raises(InputError, match=r"one row per arm .*\(2, 2\), got \(2, 1\)"):
        Instance("i", problem, np.zeros((2, 1)))
    with pytest.raises(
        InputError, match="truth of 'B' in objective 'y' must be finite, got nan"
    ):
        Instance("i", problem, np.array([[0, 0], [0, np.nan]]))
    with pytest.raises(InputError, match="unknown noise 'gauss': did you mean 'gaussian'"):
        Instance("i", problem, np.zeros((2, 2)), noise="gauss")
    with pytest.raises(InputError, match=r"between 0 and 1, got 1.5 for arm 'A' in 'y'"):
        Instance("i", problem, np.array([[0, 1.5], [0, 0]]), noise="bernoulli")
