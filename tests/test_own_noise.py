"""Results are judged by the noise of their own arm: in warnings, when held, in `check`."""

from __future__ import annotations

import numpy as np
import pytest

from psips.diagnostics.noise_scale import RARE, noise_scale
from psips.problem import Problem
from psips.problem.noise import NoiseGuess
from psips.study import Study, journal
from psips.study.holding import Holder
from psips.study.ledger import Ledger, Result
from psips.study.outliers import FarValueWarning, find_far_values
from psips.study.rows import Told
from psips.study.spread import spreads

SDS = {"A": 1.0, "B": 1.0, "C": 1.0, "D": 1.0, "loud": 20.0}
SEEDS = 200


def told(arm: str, *values: float) -> Told:
    return Told(None, arm, values)


def results(ledger: Ledger, rows: list[Told]) -> list[Result]:
    return [ledger.tell(one.arm, one.values, "", None) for one in rows]


def rows_of(rng: np.random.Generator, each: int, mean: float = 100.0) -> list[Told]:
    """Results of the arms in turn."""
    return [told(a, rng.normal(mean, sd)) for _ in range(each) for a, sd in SDS.items()]


@pytest.mark.parametrize("noise", ["per-arm", "given"])
def test_a_noisy_arm_is_not_warned_about_more_often_than_stated(noise: str) -> None:
    """Told one by one, in 200 studies: a few of 15,000 values, where it was hundreds."""
    covariance = "per-arm" if noise == "per-arm" else {a: [sd**2] for a, sd in SDS.items()}
    problem = Problem(objectives=["x"], covariance=covariance, arms=list(SDS))
    false = values = 0
    for seed in range(SEEDS):
        rows, ledger = rows_of(np.random.default_rng(seed), 15), Ledger("")
        known: list[Result] = []
        for row in rows:
            false += len(find_far_values(problem, "s", known, [row]))
            known += results(ledger, [row])
            values += 1
    assert false <= 3.0 * RARE * values


def test_outliers_are_found_next_to_a_noisy_arm() -> None:
    """A decimal point that moved, either way, in a quiet arm and in the loud one."""
    problem = Problem(objectives=["x"], arms=list(SDS))
    found = {"up": 0, "down": 0, "loud": 0, "early": 0}
    for seed in range(SEEDS):
        rng, ledger = np.random.default_rng(seed), Ledger("")
        known = results(ledger, rows_of(rng, 12))
        for name, row in (
            ("up", told("B", 10.0 * rng.normal(100.0, 1.0))),
            ("down", told("B", 0.1 * rng.normal(100.0, 1.0))),
            ("loud", told("loud", 10.0 * rng.normal(100.0, 20.0))),
        ):
            found[name] += len(find_far_values(problem, "s", known, [row]))
        early = [one for one in known if one.arm != "B"] + [o for o in known if o.arm == "B"][
            :2
        ]
        found["early"] += len(find_far_values(problem, "s", early, [told("B", 1000.0)]))
    assert found["up"] == found["down"] == found["early"] == SEEDS
    assert found["loud"] > 0.9 * SEEDS


def test_outliers_are_found_after_others_that_were_not_corrected() -> None:
    """Neither the middle nor the scale of an arm is led astray by earlier slips."""
    problem = Problem(objectives=["x"], arms=list(SDS))
    rng, ledger = np.random.default_rng(1), Ledger("")
    known = results(ledger, [*rows_of(rng, 12), told("B", 1000.0), told("B", 1000.0)])
    sentence = find_far_values(problem, "trial", known, [told("B", 1010.0)])[0]
    assert "standard deviations (1" in sentence  # its own, not those of all arms
    assert sentence.endswith("--result 63 --value x=101`")
    assert find_far_values(problem, "trial", known, [told("B", 101.0)]) == []


def test_the_scale_is_the_one_in_force() -> None:
    """Given, pooled, of each arm, guessed; values of 0 or 1 have none."""
    rng = np.random.default_rng(1)
    arms = np.tile(np.arange(5), 200)
    values = rng.normal(0.0, np.array(list(SDS.values()))[arms])[:, None]
    own = noise_scale(Problem(objectives=["x"], arms=list(SDS)), arms, values)
    assert own.sd[:, 0] == pytest.approx([*SDS.values()], rel=0.25)
    pooled = noise_scale(
        Problem(objectives=["x"], arms=list(SDS), covariance="estimate"), arms, values
    )
    assert len(set(pooled.sd[:, 0])) == 1
    each = {a: [sd**2] for a, sd in SDS.items()}
    given = noise_scale(
        Problem(objectives=["x"], arms=list(SDS), covariance=each), arms, values
    )
    assert given.sd[:, 0].tolist() == [*SDS.values()]
    assert given.reach[:, 0].tolist() == [10.0 * sd for sd in SDS.values()]
    guessed = Problem(objectives=["x"], arms=list(SDS), noise_guess=NoiseGuess([9.0], 5))
    assert noise_scale(guessed, arms[:0], values[:0]).sd[:, 0] == pytest.approx([3.0] * 5)
    binary = Problem(objectives={"x": {"kind": "binary"}}, arms=list(SDS), covariance=[0.001])
    assert np.isnan(noise_scale(binary, arms, values).sd).all()
    mixed = Problem(objectives={"x": "max", "y": {"kind": "binary"}}, arms=list(SDS))
    both = np.column_stack([values, rng.integers(0, 2, len(values))])
    found = noise_scale(mixed, arms, both)
    assert np.isfinite(found.sd[:, 0]).all()
    assert np.isnan(found.sd[:, 1]).all()


def share_held(own_noise: bool) -> float:
    """Which share of the honest results of a loud arm is held, the one of 200."""
    sds = [1.0] * 199 + [20.0]
    arms = [f"a{i}" for i in range(200)]
    each = {arm: [sd**2] for arm, sd in zip(arms, sds, strict=True)}
    problem = Problem(objectives=["x"], covariance=each, arms=arms)
    held = 0
    for seed in range(20):
        rng, holder, ledger = np.random.default_rng(seed), Holder(problem, 10.0), Ledger("")
        holder.own_noise = own_noise
        rows = [told(arm, rng.normal(50.0, sd)) for arm, sd in zip(arms, sds, strict=True)]
        for result in results(ledger, rows + [told("a199", x) for x in rng.normal(50, 20, 5)]):
            holder.take(result)
        held += sum(result.held for result in ledger.results if result.arm == "a199")
    return held / 120


def test_honest_results_of_a_noisy_arm_are_not_held() -> None:
    """By the mean covariance of all arms, which was the scale, many are."""
    assert share_held(own_noise=True) == 0.0
    assert share_held(own_noise=False) > 0.1


def test_outliers_of_a_quiet_arm_are_held_next_to_noisy_ones() -> None:
    each = {"quiet": [1e-4], "loud": [100.0]}
    problem = Problem(objectives=["x"], covariance=each, arms=list(each))
    study = Study.create(problem, "sqlite://", name="s", seed=1)
    for arm, value in (("quiet", 1.0), ("loud", 9.0), ("quiet", 1.01), ("loud", -9.0)):
        assert study.tell(arm, value).held == ()
    with pytest.warns(FarValueWarning, match=r"899 standard deviations \(0.01 each\)"):
        assert study.tell("quiet", 10.0).held == (5,)
    assert study.tell("loud", 30.0).held == ()


def test_nothing_is_held_by_a_guess() -> None:
    guess = NoiseGuess([1.0], 2)
    problem = Problem(objectives=["x"], arms=["A", "B"], noise_guess=guess)
    study = Study.create(problem, "sqlite://", name="s", seed=1)
    for value in (0.0, 1.0, 0.5):
        study.tell("A", value)
    with pytest.warns(FarValueWarning):
        assert study.tell("A", 1e6).held == ()


def test_values_of_0_or_1_are_never_held() -> None:
    """A rare 1 is many of its small standard deviations away, and no slip."""
    problem = Problem(objectives={"x": {"kind": "binary"}}, covariance=[0.002], arms=["A", "B"])
    study = Study.create(problem, "sqlite://", name="s", seed=1)
    for _ in range(3):
        study.tell("A", 0)
    receipt = study.tell("A", 1)
    assert (receipt.held, receipt.warnings) == ((), ())


@pytest.mark.parametrize("schema", [3, 4])
def test_older_events_keep_their_meaning(schema: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log written by the mean covariance replays as it was, and goes on by the arm's own."""
    monkeypatch.setattr(journal, "SCHEMA", schema)
    each = {"quiet": [1e-4], "loud": [100.0]}
    problem = Problem(objectives=["x"], covariance=each, arms=list(each))
    study = Study.create(problem, "sqlite://", name="s", seed=1)
    for arm, value in (("quiet", 1.0), ("loud", 9.0), ("quiet", 1.01)):
        study.tell(arm, value)
    with pytest.warns(FarValueWarning):
        study.tell("quiet", 10.0)
    assert [r.number for r in study.held] == ([] if schema == 3 else [4])
    study.replayed()
    assert [r.number for r in study.held] == ([] if schema == 3 else [4])
    monkeypatch.setattr(journal, "SCHEMA", 4)
    with pytest.warns(FarValueWarning):
        study.tell("quiet", 100.0)
    assert [r.number for r in study.held][-1] == 5


def test_the_spread_on_the_page_is_that_of_each_arm() -> None:
    """As a multiple of what was registered for the arm, not of the mean of all arms."""
    each = {"quiet": [1e-4], "loud": [100.0]}
    problem = Problem(objectives=["x"], covariance=each, arms=list(each))
    study = Study.create(problem, "sqlite://", name="s", seed=1)
    rng = np.random.default_rng(1)
    values = rng.normal(1.0, 0.01, 100)
    rows = [{"arm": "quiet", "x": x} for x in values]
    study.tell_many([*rows, {"arm": "loud", "x": 3.0}])
    (one,) = spreads(study.state)
    assert one.ratio == pytest.approx(values.std(ddof=1) / 0.01)
