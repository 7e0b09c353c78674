"""What became better or worse: how often the verdicts err, and what the command says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from typer.testing import CliRunner

from psips import InputError
from psips.cli import app
from psips.evaluation import intervals
from psips.evaluation.differences import compare
from psips.evaluation.scores import Scores
from psips.report.pull_request import comparison_comment

WAYS = {"accuracy": "max", "seconds": "min"}
DELTA = 0.1


def scores(values: np.ndarray, arms=("a", "b"), metrics=tuple(WAYS), prefix="q") -> Scores:
    items = [f"{prefix}{j}" for j in range(values.shape[1])]
    return Scores(list(arms), items, list(metrics), np.asarray(values, float))


def accuracies(rng: np.random.Generator, n: int, rate: float) -> np.ndarray:
    """Both sides of one option: 0 or 1 with the same rate, alike on many items."""
    hard = rng.random(n)
    noise = 0.3 * (rng.random((2, n)) - 0.5)
    ranks = hard + noise
    cut = np.quantile(0.3 * (rng.random(20_000) - 0.5) + rng.random(20_000), 1 - rate)
    return (ranks > cut).astype(float)


def pairs(rng: np.random.Generator, n: int, rate: float) -> tuple[Scores, Scores]:
    """Two measurements of two options of which nothing differs."""
    right = np.stack([accuracies(rng, n, rate) for _ in range(2)], axis=1)  # (2, K, n)
    long = rng.normal(size=n)
    seconds = long + 0.5 * rng.normal(size=(2, 2, n))
    values = np.stack([right, seconds], axis=3)
    return scores(values[0]), scores(values[1])


def as_one_item_each(found: Scores, times: int) -> Scores:
    """The mistake of taking repeats of an item for items of their own."""
    values = np.repeat(found.values, times, axis=1)
    return scores(values)


def wrong_verdicts(runs: int, n: int, rate: float, twist: Callable | None = None) -> int:
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(runs):
        base, new = pairs(rng, n, rate)
        if twist is not None:
            base, new = twist(base), twist(new)
        found = compare(base, new, WAYS, delta=DELTA)
        wrong += any(one.verdict != "not distinguishable" for one in found.differences)
    return wrong


def too_often(wrong: int, runs: int) -> bool:
    return binomtest(wrong, runs, DELTA, alternative="greater").pvalue < 1e-3


@pytest.mark.parametrize(("n", "rate"), [(10, 0.5), (40, 0.9), (40, 0.98), (300, 0.7)])
def test_verdicts_err_no_more_often_than_delta(n: int, rate: float) -> None:
    runs = 500
    assert not too_often(wrong_verdicts(runs, n, rate), runs)


def test_repeats_taken_for_items_would_be_seen() -> None:
    runs = 200
    wrong = wrong_verdicts(runs, 40, 0.7, lambda found: as_one_item_each(found, 4))
    assert too_often(wrong, runs)


def test_verdicts_without_a_correction_would_be_seen(monkeypatch) -> None:
    honest = intervals.Sides.interval
    monkeypatch.setattr(
        intervals.Sides, "interval", lambda side, level: honest(side, 1 - 4 * (1 - level))
    )
    runs = 500
    assert too_often(wrong_verdicts(runs, 40, 0.7), runs)


def test_intervals_of_rare_failures_are_wide_enough() -> None:
    """The interval covers the true difference, where few items differ, or none."""
    rng = np.random.default_rng(3)
    runs, missed = 600, 0
    for _ in range(runs):
        base = (rng.random(30) > 0.02).astype(float)
        new = (rng.random(30) > 0.08).astype(float)
        pair = [scores(x[None, :, None], ["a"], ["accuracy"]) for x in (base, new)]
        one = compare(*pair, {"accuracy": "max"}, delta=DELTA).differences[0]
        missed += not one.low <= -0.06 <= one.high
    assert not too_often(missed, runs)


def test_items_take_out_what_both_have_in_common() -> None:
    rng = np.random.default_rng(1)
    hard = rng.normal(size=200)
    base = hard + 0.1 * rng.normal(size=200)
    new = hard + 0.1 + 0.1 * rng.normal(size=200)
    one, two = (scores(x[None, :, None], ["a"], ["accuracy"]) for x in (base, new))
    assert compare(one, two).verdict == "better"
    alone = scores(new[None, :, None], ["a"], ["accuracy"], prefix="other")
    found = compare(one, alone)
    assert found.verdict == "not distinguishable"
    assert not found.differences[0].paired
    assert "200 items compared as a whole, since few are shared" in found.notes
    shuffled = rng.permutation(200)
    again = Scores(["a"], [f"q{j}" for j in shuffled], ["accuracy"], two.values[:, shuffled])
    assert compare(one, again).differences == compare(one, two).differences


def made(gains: dict[str, tuple[float, float]], n: int = 60) -> tuple[Scores, Scores]:
    """Options whose accuracy and seconds change by so much, with little noise."""
    rng = np.random.default_rng(2)
    base = rng.normal(size=(len(gains), n, 2)) + 5.0
    new = base + 0.1 * rng.normal(size=base.shape) + np.array(list(gains.values()))[:, None]
    return scores(base, gains), scores(new, gains)


def test_joint_verdicts() -> None:
    pair = made({"up": (1, -1), "down": (0, 1), "traded": (1, 1), "still": (0, 0)})
    found = compare(*pair, WAYS)
    assert {option: found.joint(option) for option in found.options} == {
        "up": "better",
        "down": "worse",
        "traded": "better and worse",
        "still": "not distinguishable",
    }
    assert found.verdict == "better and worse"
    assert found.worse
    assert found.sentences[0] == "worse: seconds (down, traded)"
    assert "90% confidence in all 8 verdicts together (Bonferroni)" in str(found)


def test_a_tolerance_is_what_does_not_matter() -> None:
    pair = made({"a": (-0.5, 0.0)})
    verdicts = {
        amount: compare(*pair, WAYS, tolerance={"accuracy": amount}).differences[0].verdict
        for amount in (0.0, 0.4, 0.5, 0.6, "5%", "20%")
    }
    assert verdicts == {
        0.0: "worse",
        0.4: "worse",
        0.5: "not distinguishable",
        0.6: "the same",
        "5%": "worse",
        "20%": "the same",
    }


def test_ratios() -> None:
    rng = np.random.default_rng(4)
    base = np.exp(rng.normal(size=(1, 50, 1)) * 2)
    new = base * 1.1 * np.exp(0.01 * rng.normal(size=base.shape))
    pair = scores(base, ["a"], ["seconds"]), scores(new, ["a"], ["seconds"])
    one = compare(*pair, log=["seconds"]).differences[0]
    assert one.verdict == "worse"
    assert one.low < 0.1 < one.high < 0.11
    assert one.text.startswith("+1")
    assert compare(*pair, log=["seconds"], tolerance={"seconds": "15%"}).verdict == "the same"
    with pytest.raises(InputError, match="as a share"):
        compare(*pair, log=["seconds"], tolerance={"seconds": 0.1})


def test_values_that_do_not_scatter_are_exact() -> None:
    base, new = (scores(np.full((1, 12, 1), x), ["a"], ["bytes"]) for x in (100.0, 101.0))
    found = compare(base, new)
    assert found.verdict == "worse"
    assert found.differences[0].low == found.differences[0].high == 1.0
    assert compare(base, base).verdict == "the same"
    few = scores(np.array([[[1.0], [2.0]]]), ["a"], ["bytes"])
    more = few._replace(values=few.values + 1.0)
    assert compare(few, more).verdict == "not distinguishable"


def test_units_do_not_matter() -> None:
    rng = np.random.default_rng(8)
    base, new = rng.exponential(size=(2, 1, 12, 1))
    for prefix in ("q", "other"):
        ends = []
        for unit in (1.0, 1e-110, 1e110):
            pair = scores(unit * base, ["a"], ["cost"]), scores(unit * new, ["a"], ["cost"])
            renamed = pair[1]._replace(items=[f"{prefix}{j}" for j in range(12)])
            one = compare(pair[0], renamed).differences[0]
            ends.append((one.low / unit, one.high / unit))
        assert np.allclose(ends[1:], ends[0])


def of_items(found: Scores, n: int) -> Scores:
    return found._replace(items=found.items[:n], values=found.values[:, :n])


def test_few_values_that_repeat_are_not_exact() -> None:
    """Scores of 4 and 5 repeat on two or three items, too."""
    base, new = (scores(np.full((1, 12, 1), x), ["a"], ["score"]) for x in (4.0, 5.0))
    verdicts = {
        n: compare(of_items(base, n), of_items(new, n)).verdict for n in (2, 3, 4, 11, 12)
    }
    assert verdicts == dict.fromkeys((2, 3), "not distinguishable") | dict.fromkeys(
        (4, 11, 12), "better"
    )
    same = {n: compare(of_items(base, n), of_items(base, n)).verdict for n in (2, 11, 12)}
    assert same == {2: "not distinguishable", 11: "not distinguishable", 12: "the same"}
    runs, rng = 300, np.random.default_rng(4)
    wrong = 0
    for _ in range(runs):
        base, new = (scores(rng.integers(4, 6, (2, 2, 2))) for _ in range(2))
        wrong += compare(base, new, WAYS, delta=DELTA).verdict != "not distinguishable"
    assert not too_often(wrong, runs)


def wrong_of_skewed(runs: int) -> int:
    """Comparisons with a wrong verdict: most items a little cheaper, some cost far more."""
    rng, wrong = np.random.default_rng(5), 0
    for _ in range(runs):
        base = rng.normal(10.0, 1.0, (2, 20, 2))
        new = base + rng.exponential(1.0, base.shape) - 1.0
        found = compare(scores(base), scores(new), WAYS, delta=DELTA)
        wrong += found.verdict != "not distinguishable"
    return wrong


def test_skewed_costs_err_no_more_often_than_delta() -> None:
    assert not too_often(wrong_of_skewed(400), 400)


def test_intervals_for_symmetric_values_would_be_seen(monkeypatch) -> None:
    monkeypatch.setattr(intervals, "_of_hall", lambda quantile, skewness: quantile)
    assert too_often(wrong_of_skewed(400), 400)


def test_verdicts_that_rest_on_few_items_are_doubted() -> None:
    base = np.random.default_rng(6).normal(10.0, 0.1, (1, 40, 1))
    more = np.exp(2.0 * norm.ppf((np.arange(40) + 0.5) / 40))
    new = base + more[None, :, None]
    found = compare(scores(base, ["a"], ["cost"]), scores(new, ["a"], ["cost"]))
    assert found.verdict == "worse"
    doubt = "cost: a few items make up much of the change, so that a wrong verdict is likelier"
    assert any(doubt in note and "--log" in note for note in found.notes)
    other = np.random.default_rng(7).normal(11.0, 0.1, (1, 40, 1))
    steady = compare(scores(base, ["a"], ["cost"]), scores(other, ["a"], ["cost"]))
    assert steady.verdict == "worse"
    assert not any("a few items" in note for note in steady.notes)


def test_what_cannot_be_compared_is_said() -> None:
    base, new = made({"a": (0, 0), "b": (0, 0)})
    other = new._replace(arms=["b", "c"])
    found = compare(base, other, WAYS)
    assert found.options == ("b",)
    assert "gone, with nothing to compare: a" in found.notes
    assert "new, with nothing to compare: c" in found.notes
    with pytest.raises(InputError, match="no option in common: 'a', 'b' and 'x', 'y'"):
        compare(base, new._replace(arms=["x", "y"]), WAYS)
    with pytest.raises(InputError, match="no metric in common"):
        compare(base, new._replace(metrics=["u", "v"]), WAYS)
    with pytest.raises(InputError, match="fewer than 2 items"):
        compare(base, new._replace(values=np.full_like(new.values, np.nan)), WAYS)
    with pytest.raises(InputError, match="unknown metric of --tolerance 'speed'"):
        compare(base, new, WAYS, tolerance={"speed": 1.0})
    for amount in ("2", "-3%", "200%", -1.0):
        with pytest.raises(InputError, match="tolerance on accuracy"):
            compare(base, new, WAYS, tolerance={"accuracy": amount})


def write(path, found: Scores) -> str:
    rows = ["arm,item," + ",".join(found.metrics)]
    for a, arm in enumerate(found.arms):
        for j, item in enumerate(found.items):
            rows.append(f"{arm},{item}," + ",".join(map(repr, found.values[a, j].tolist())))
    path.write_text("\n".join(rows))
    return str(path)


def run(*words: str):
    return CliRunner().invoke(app, ["compare", *words])


def test_the_command(tmp_path) -> None:
    gains = {"an option with a name": (0, 1), "other": (0, 0)}
    base, new = made(gains)
    files = write(tmp_path / "base.csv", base), write(tmp_path / "new.csv", new)
    done = run(*files)
    assert done.exit_code == 1
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert done.stdout.startswith("worse, with 90% confidence")
    data = json.loads(run(*files, "--json").stdout)
    assert data["options"] == {"an option with a name": "worse", "other": "not distinguishable"}
    assert data["correction"] == "Bonferroni"
    assert run(*files, "--tolerance", "seconds=50%").exit_code == 0
    assert run(*files, "--objective", "accuracy").exit_code == 0
    assert "by metric" in str(run(*files, "--tolerance", "2%").exception)


def test_a_comment(tmp_path) -> None:
    gains = {"plain": (0, 1), "a|b <img> @me": (0, 0)}
    text = comparison_comment(compare(*made(gains), WAYS), "main", "pull")
    assert text.startswith(
        "> [!CAUTION]\n> **Worse: seconds (plain); 3 of 4 not distinguishable**"
    )
    assert "`a\\|b <img> @me`" in text
    assert "<details>" in text
    assert "@me" not in text.replace("`a\\|b <img> @me`", "")


def export(path, shift: float, rounds: int = 40) -> str:
    """Write what psips run exports, as far as it is read."""
    rng = np.random.default_rng(int(100 * shift))
    samples = [
        {"option": option, "round": k + 1, "time": float(np.exp(x)), "size": 7.0}
        for k in range(rounds)
        for option, x in (("zip", shift + 0.1 * rng.normal()), ("cat", 0.1 * rng.normal()))
    ]
    metrics = [
        {"name": "time", "direction": "min", "logarithms": True},
        {"name": "size", "direction": "min", "logarithms": False},
    ]
    data = {"stopped": True, "ended": "stop", "candidate_set": [], "metrics": metrics}
    path.write_text(json.dumps({**data, "samples": samples}))
    return str(path)


def test_exports_of_psips_run(tmp_path) -> None:
    files = export(tmp_path / "base.json", 0.0), export(tmp_path / "new.json", 0.3)
    data = json.loads(run(*files, "--json").stdout)
    assert data["options"] == {"zip": "worse", "cat": "not distinguishable"}
    time, size = data["differences"][:2]
    assert 0.2 < time["low"] < 0.35 < time["high"] < 0.5
    assert not time["paired"]
    assert size["verdict"] == "the same"
    assert run(*files).exit_code == 1
    broken = tmp_path / "broken.json"
    for samples, words in (
        ([], "has no measurements"),
        ([{"round": 1}], "measurement 1 names no option"),
        ([{"option": "zip", "time": "1"}], "values that are not numbers"),
    ):
        content = json.loads((tmp_path / "base.json").read_text()) | {"samples": samples}
        broken.write_text(json.dumps(content))
        assert words in str(run(str(broken), files[1]).exception)


@pytest.mark.parametrize("log", [[], ["size"]])
@pytest.mark.parametrize("counts", [(8, 5), (9, 9), (3, 7)])
def test_what_is_the_same_on_both_sides_is_no_change(log: list[str], counts: Any) -> None:
    """Means of different numbers of the same value differ by rounding, which is no verdict."""
    sides = [
        Scores(["xz"], [f"{name}{j}" for j in range(n)], ["size"], np.full((1, n, 1), value))
        for name, n, value in (("a", counts[0], 414780.1), ("b", counts[1], 414780.1))
    ]
    found = compare(*sides, {"size": "min"}, log=log)
    (one,) = found.differences
    assert one.verdict not in ("better", "worse")
    assert one.change == 0.0
    assert (one.base, one.new) == (414780.1, 414780.1)


def test_a_ratio_that_all_items_share_is_judged_as_a_constant_change() -> None:
    """Logarithms of values that are 10% apart are so up to rounding, which is no error."""
    base = np.random.default_rng(10).lognormal(size=(1, 4, 1))
    far = [scores(one, ["a"], ["cost"]) for one in (base, 1.1 * base)]
    few = compare(*far, {"cost": "min"}, log=["cost"])
    assert few.verdict == "not distinguishable"  # four items, and any other may do otherwise
