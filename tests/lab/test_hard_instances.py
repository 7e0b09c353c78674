"""Instances that are hard on stopping rules: what they say they are, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psips.errors import InputError
from psips.lab.instances import instance, instances
from psips.problem.gaps import gaps
from psips.problem.instances import Instance
from psips.simulation.environments import environment_of
from psips.theory.geometry import best_response, complexity


def leads(name: str, **params: Any) -> list[float]:
    """Return by how much the first arm leads the second."""
    means = instance(name, **params).means
    return np.round(means[0] - means[1], 12).tolist()


def test_a_near_tie_differs_by_the_gap() -> None:
    assert leads("near-tie", gap=0.03) == [0.03]
    assert leads("near-tie", gap=0.05, d=3, lead=2.0) == [0.05, 2.0, 2.0]
    assert instance("near-tie", gap=0.05, d=2, lead=2.0).pareto_set == ("arm 1",)
    assert instance("near-tie", gap=0.05, d=2, lead=-2.0).pareto_set == ("arm 1", "arm 2")


def test_arm_2_is_worse_in_everything_or_in_all_but_one() -> None:
    assert leads("worse", d=3, gap=0.2) == [0.2, 0.2, 0.2]
    assert instance("worse", d=3, gap=0.2).pareto_set == ("arm 1",)
    assert leads("worse-but-one", d=3, gap=0.2, edge=0.01) == [0.2, 0.2, -0.01]
    assert instance("worse-but-one").pareto_set == ("arm 1", "arm 2")
    assert leads("corner", d=3, gap=0.2) == [0.2, -5.0, -5.0]
    assert len(instance("corner", d=3).pareto_set) == 4


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("ties", {"K": 4, "d": 2}),
        ("ties", {"K": 3, "d": 1, "levels": 3}),
        ("linear-ties", {"K": 4, "h": 2, "d": 2, "answers": 4}),
        ("linear-ties", {"K": 5, "h": 3}),
    ],
)
def test_ties_are_on_levels_and_other_hairs_make_another_set(
    name: str, params: dict[str, int]
) -> None:
    sets = set()
    for seed in range(20):
        made = instance(name, gap=1e-4, seed=seed, **params)
        means = made.means
        off = np.abs(means / 5.0 - np.round(means / 5.0)) * 5.0
        assert (off < 0.01).all()
        lead = np.abs(means[:, None] - means)
        assert ((lead > 0) & (lead < 0.01)).any()
        assert made.problem.n == params.get("answers", params["K"])
        sets.add(made.pareto_set)
    assert len(sets) > 2


def test_an_option_level_with_all_others_is_wrong_either_way() -> None:
    made = instance("hub", gap=1e-4)
    assert len(made.pareto_set) == 3
    assert instance("hub", gap=1e-4, d=3).pareto_set == ("arm 1", "arm 3")
    for d in (2, 3):
        made = instance("hub", gap=1e-4, d=d)
        for way in (-0.01, 0.01):
            moved = made.means.copy()
            moved[0, 0] += way
            assert Instance("moved", made.problem, moved).pareto_set != made.pareto_set
    with pytest.raises(InputError, match="d must be 2 or 3"):
        instance("hub", d=4)


def test_ties_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="K must be a whole number of at least 4"):
        instance("linear-ties", K=3, h=3)
    with pytest.raises(InputError, match="gap"):
        instance("ties", gap=0.0)


@pytest.mark.parametrize("d", [1, 2, 3, 8])
@pytest.mark.parametrize("name", ["worse", "just-below"])
def test_other_arms_leave_the_pair_the_closest_call(name: str, d: int) -> None:
    for seed in range(5):
        made = instance(name, K=10, d=d, gap=0.1, seed=seed)
        assert "arm 1" in made.pareto_set
        assert "arm 2" not in made.pareto_set
        assert gaps(made.means)[1] == pytest.approx(0.1)
        others = np.delete(made.means, 1, axis=0)  # without arm 2 nothing is close
        assert gaps(others).min() >= 0.5
    assert (instance(name, K=10, d=d, seed=1).means != instance(name, K=10, d=d).means).any()


def test_just_below_in_one_objective_is_clear_in_the_others() -> None:
    assert leads("just-below", gap=0.1, where="one") == [0.1, 1.0, 1.0]


def test_a_variant_is_worse_by_a_little_throughout() -> None:
    for seed in range(10):
        means = instance("variant", d=6, K=5, seed=seed).means
        behind = means[0] - means[-1]
        assert (behind >= 0.1).all()
        assert (behind <= 0.5).all()
        assert gaps(means).min() >= 0.1


@pytest.mark.parametrize("d", [2, 3, 6])
def test_all_arms_of_a_front_are_optimal_and_as_close_as_said(d: int) -> None:
    made = instance("front", K=7, gap=0.02, d=d)
    assert len(made.pareto_set) == 7
    assert gaps(made.means) == pytest.approx(np.full(7, 0.02))


@pytest.mark.parametrize("kind", ["dominated", "incomparable", "tied"])
def test_an_adverse_pair_is_of_its_kind(kind: str) -> None:
    for seed in range(20):
        made = instance("adverse", kind=kind, d=4, gap=0.02, edge=0.01, seed=seed)
        step = made.means[1] - made.means[0]
        if kind == "dominated":
            assert (step < 0).all()
        elif kind == "incomparable":
            assert step.min() < 0 < step.max()
        else:
            assert sorted(np.abs(step))[0] == 0.02
            assert sorted(np.abs(step))[1] >= 0.5
        if kind != "tied":
            assert (np.abs(step) >= 0.01).all()
            assert (np.abs(step) <= 0.04).all()
        covariance = made.problem.covariance
        assert np.diag(covariance) == pytest.approx(np.ones(4))
        assert np.linalg.eigvalsh(covariance)[0] == pytest.approx(0.01)


def test_the_alternative_of_correlated_is_its_nearest_one() -> None:
    """At the optimal weights, so that a rule that keeps delta cannot stop sooner."""
    made = instance("correlated", rho=-0.6)
    found = complexity(made.problem, made.theta, tolerance=1e-4)
    nearest = best_response(made.problem, made.theta, found.weights).parameter
    moved = instance("correlated-alternative", beyond=1e-6).means
    assert np.allclose(moved, nearest, atol=2e-3)
    assert made.pareto_set == ("arm 4", "arm 5")
    assert instance("correlated-alternative").pareto_set == ("arm 1", "arm 4", "arm 5")
    beyond = instance("correlated-alternative", beyond=0.2).means
    assert (beyond[0] - moved[0]).tolist() == pytest.approx([0.2, 0.2], abs=1e-5)


@pytest.mark.parametrize("name", ["linear", "linear-slope"])
@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_units_of_features_and_results_change_nothing_else(name: str, scale: float) -> None:
    plain, other = instance(name), instance(name, scale=scale, unit=scale)
    assert np.allclose(other.means, scale * plain.means)
    assert np.allclose(other.problem.covariance, scale**2 * plain.problem.covariance)
    assert other.problem.features is not None
    assert plain.problem.features is not None
    column = 1 if name == "linear-slope" else slice(3)
    assert np.allclose(
        other.problem.features[:, column], scale * plain.problem.features[:, column]
    )
    assert other.pareto_set == plain.pareto_set


def test_linear_instances_are_what_they_say() -> None:
    made = instance("linear", norm=30.0)
    assert (made.problem.K, made.problem.d) == (8, 2)
    assert np.linalg.norm(made.theta[:3], axis=0) == pytest.approx([30.0, 30.0])
    assert (made.theta[3:] == 0).all()
    assert instance("linear-pair").means.tolist() == [[25.0], [50.0]]
    slope = instance("linear-slope", K=3)
    assert slope.means.tolist() == [[20.0], [19.5], [19.0]]
    assert slope.pareto_set == ("arm 1",)
    far = instance("linear", answers=6).problem
    assert far.transductive
    assert (far.K, far.n) == (8, 6)


def test_nearly_collinear_features_are_nearly_so() -> None:
    def condition(spread: float) -> float:
        features = instance("linear", K=20, spread=spread).problem.features
        assert features is not None
        return float(np.linalg.cond(features[:, :3]))

    assert condition(0.05) > 5 * condition(1.0)


def test_a_ball_holds_the_parameter() -> None:
    made = instance("linear", ball=1.5, norm=4.0, scale=0.5)
    assert made.problem.parameter_set is not None
    assert made.problem.parameter_set.radius == pytest.approx(1.5 * 4.0 / 0.5)  # type: ignore[union-attr]
    assert instance("linear").problem.parameter_set is None


@pytest.mark.parametrize("name", [entry.name for entry in instances() if entry.params])
def test_parameters_say_everything(name: str) -> None:
    first, again = instance(name), instance(name)
    assert (first.theta == again.theta).all()
    assert np.array_equal(first.known.covariance, again.known.covariance)


def test_noise_that_is_not_told() -> None:
    made = instance("untold", d=2, gap=0.2, spread=4.0, rho=0.5)
    assert made.problem.covariance is None
    assert made.known.covariance[0].tolist() == [[4.0, 2.0], [2.0, 4.0]]
    assert made.pareto_set == ("arm 1", "arm 3", "arm 4")
    assert environment_of(made).problem is made.known
    assert instance("untold").pareto_set == ("arm 1",)
    binary = instance("chances", p=0.02)
    assert binary.known.covariance[1, 0, 0] == pytest.approx(0.02 * 0.98)
    assert binary.pareto_set == ("arm 1",)


@pytest.mark.parametrize("told", ["given", "per-arm"])
def test_truths_at_a_tolerance_are_slightly_wrong(told: str) -> None:
    """A set with both is wrong, and with a tolerance that is slightly larger it is right."""
    made = instance("beside-tolerance", tolerance=0.3, d=2, loud=10.0, told=told)
    assert (made.problem.covariance is None) == (told == "per-arm")
    assert made.known.covariance[1, 0, 0] == 100.0
    assert not made.is_right(made.problem.arms)
    assert made.asking(epsilon=0.301).is_right(made.problem.arms)
    assert made.asking(epsilon=0.301).known.tolerance  # of what is told, and of what is not
    ties = instance("beside-tolerance", kind="ties", d=2)
    assert all(ties.is_right([arm]) for arm in ties.problem.arms)


def test_truths_at_a_limit() -> None:
    sets = {
        kind: instance("beside-limit", kind=kind).pareto_set
        for kind in ("above", "below", "all-above", "but-one", "dominated", "control", "alone")
    }
    assert sets.pop("below") == ("arm 1", "arm 2")
    assert [kind for kind, found in sets.items() if not found] == ["all-above", "alone"]


def test_either_side_of_a_control_is_wrong_either_way() -> None:
    made = instance("beside-limit", kind="either-side")
    assert made.pareto_set == ("arm 1",)
    for way in (-1.0, 1.0):
        moved = made.means.copy()
        moved[2, 1] += way
        assert Instance("moved", made.problem, moved).pareto_set != made.pareto_set


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("near-tie", {"gap": 0.0}, "gap must not be 0, which would be an exact tie"),
        ("near-tie", {"d": 2, "lead": 0.0}, "lead must not be 0"),
        ("near-tie", {"d": 0}, "d must be a whole number of at least 1, got 0"),
        ("worse", {"d": 4, "rho": -0.4}, "strictly between -0.3333 and 1, got -0.4"),
        ("worse", {"gap": -1.0}, "gap must be positive, got -1.0"),
        ("worse", {"K": 1}, "K must be a whole number of at least 2, got 1"),
        ("worse", {"d": 1, "K": 200}, "no room for K = 200 arms with d = 1"),
        ("untold", {"told": "yes"}, "unknown told 'yes'"),
        ("untold", {"shape": "flat"}, "unknown shape 'flat'"),
        ("beside-tolerance", {"kind": "worst"}, "did you mean 'worse'?"),
        ("beside-tolerance", {"kind": "better"}, "is of two objectives: d must be 2, got 1"),
        ("beside-tolerance", {"tolerance": 0.0}, "tolerance must be positive, got 0.0"),
        ("beside-limit", {"kind": "over"}, "unknown kind 'over'"),
        ("beside-limit", {"told": "no"}, "unknown told 'no'"),
        ("beside-limit", {"loud": 0.0}, "loud must be positive, got 0.0"),
        ("chances", {"p": 0.95}, "p and p + gap must lie between 0 and 1, got p = 0.95"),
        ("worse-but-one", {"d": 1}, "d must be a whole number of at least 2, got 1"),
        ("worse-but-one", {"edge": 0.0}, "edge must be positive, got 0.0"),
        ("variant", {"low": 0.5, "high": 0.1}, "0 < low <= high, got 0.5 and 0.1"),
        ("front", {"rho": 1.0}, "strictly between -1 and 1, got 1.0"),
        ("just-below", {"where": "some"}, "unknown where 'some'"),
        ("adverse", {"kind": "tid"}, "did you mean 'tied'?"),
        ("adverse", {"edge": 0.0}, "edge must lie in (0, 1], got 0.0"),
        ("adverse", {"kind": "incomparable", "d": 1}, "needs d >= 2, got 1"),
        ("adverse", {"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ("linear", {"scale": 0.0}, "scale must be positive, got 0.0"),
        ("linear", {"K": 2}, "got 2 arms and 3 features"),
        ("linear", {"K": 3, "answers": 6}, "so that they span a constant too: got 3 arms"),
        ("linear", {"answers": 1}, "answers must be 0 for none or at least 2, got 1"),
        ("linear", {"ball": 0.5}, "ball must be 0 for none or at least 1, got 0.5"),
        ("linear-pair", {"low": 1.0, "high": 1.0}, "low and high must differ, got 1.0 twice"),
        ("linear-slope", {"slope": 0.0}, "slope must not be 0"),
        ("correlated-alternative", {"beyond": 0.0}, "beyond must be positive, got 0.0"),
    ],
)
def test_what_cannot_be_is_refused(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        instance(name, **params)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
