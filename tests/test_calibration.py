"""Measured calibration, in small: rows, labels, and a broken rule that is caught."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from psips.errors import InputError
from psips.simulation.calibration import (
    BROKEN,
    NAMES,
    RULES,
    Row,
    Rule,
    families,
    measure,
    together,
)
from psips.simulation.calibration_file import kept, markdown, merged, read, write


def test_a_broken_rule_is_caught_and_a_sound_one_is_not() -> None:
    rows = list(
        measure(runs=80, deltas=(0.05,), rules=(BROKEN, Rule("posterior")), only=("near-ties",))
    )
    broken, sound = (
        [row for row in rows if row.family == "near-ties" and ("broken" in row.rule) == wrong]
        for wrong in (True, False)
    )
    assert broken[0].label == "above delta"
    assert sound[0].label != "above delta"
    assert sound[0].runs == sound[0].stopped == 80
    assert sound[0].mean_samples > sound[0].lower_bound
    assert [row.family for row in rows] == ["near-ties"] * 2


def test_families_are_fixed_and_have_an_answer() -> None:
    first, again = families(), families()
    for name, made in first.items():
        for one, other in zip(made, again[name], strict=True):
            assert (one.theta == other.theta).all()
            assert one.pareto_set


def test_a_rule_that_is_refused_has_no_row() -> None:
    rules = (Rule("posterior", "proven"),)
    assert not list(measure(runs=1, deltas=(0.1,), rules=rules, only=("linear",)))


def test_markdown_has_every_row_and_every_rule_a_name() -> None:
    rows = list(measure(runs=2, deltas=(0.1,), rules=RULES[:1], only=("rho = -0.9",)))
    text = markdown(rows)
    assert text.count("| posterior heuristic |") == 2  # the family, and all families together
    assert "## All families together" in text
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_runs_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        list(measure(runs=0))


def row(
    rule: str,
    family: str,
    delta: float,
    label: str = "half",
    errors: int = 0,
    runs: int = 10,
    stopped: int = 10,
    cap: int = 500,
) -> Row:
    return Row(rule, family, delta, runs, stopped, errors, 0.0, 0.3, label, 123.456, 7.5, cap)


def test_a_measurement_is_added_to_a_file(tmp_path: Path) -> None:
    rows: list[Row] = []
    for one in (
        row("bayes", "linear", 0.1),
        row("posterior heuristic", "linear", 0.05),
        row("posterior heuristic", "random", 0.05),
        row("posterior heuristic", "random", 0.1),
        row("bayes", "linear", 0.1, errors=3),
    ):
        rows = merged(rows, one)
    write(rows, tmp_path / "c.csv")
    assert read(tmp_path / "c.csv") == rows
    assert [one.key for one in rows] == [
        ("posterior heuristic", 0.1, "random"),
        ("posterior heuristic", 0.05, "random"),
        ("posterior heuristic", 0.05, "linear"),
        ("bayes", 0.1, "linear"),
    ]
    assert rows[-1].errors == 3
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="is not a calibration"):
        read(tmp_path / "other.csv")


def test_the_page_says_which_rules_hold() -> None:
    rows = [
        row("posterior sharp kappa=2", "random", 0.1),
        row("posterior sharp kappa=0.5", "random", 0.1),
        row("posterior sharp kappa=0.5", "linear", 0.1, "holds"),
        row("bayes", "random", 0.1, "above delta"),
        row("bayes", "linear", 0.1),
    ]
    parts = markdown(rows).split("\n\n")
    half, holds, above = (part for part in parts if part.startswith("* "))
    assert half == "* `posterior sharp kappa=2`"
    assert holds == "* `posterior sharp kappa=2`\n* `posterior sharp kappa=0.5`"
    assert above == "* `bayes`"


def lists(rows: list[Row]) -> list[str]:
    return [part for part in markdown(rows).split("\n\n") if part.startswith("* ")]


def test_a_rule_that_never_stopped_holds_nothing() -> None:
    idle = row("posterior proven", "linear", 0.1, "none stopped", stopped=0)
    assert lists([idle]) == ["* none"] * 3
    assert lists([row("posterior proven", "random", 0.1), idle]) == ["* none"] * 3


def test_the_page_gives_the_reason_for_the_default_only_if_it_is_one() -> None:
    reason = "`posterior sharp kappa=2` is the default, because of the first of these lists"
    name = "posterior sharp kappa=2"
    half = row(name, "random", 0.1)
    assert reason in markdown([half])
    assert reason not in markdown([half, row(name, "linear", 0.1, "holds")])
    assert reason not in markdown([row("bayes", "random", 0.1)])


def test_what_is_on_file_with_as_many_runs_is_kept() -> None:
    rows = [
        row("bayes", "random", 0.1, runs=60, cap=500),
        row("bayes", "linear", 0.1, runs=30, cap=500),
        row("bayes", "near-ties", 0.1, runs=30, cap=400),
        row("bayes", "many arms", 0.1, runs=29, cap=500),
        row("bayes", "bernoulli", 0.1, runs=31, cap=400),
    ]
    assert [family for _, _, family in kept(rows, 30, 500)] == ["random", "linear", "bernoulli"]


def test_cells_to_skip_are_not_measured() -> None:
    skip = [("bayes", 0.1, "rho = -0.9")]
    only = ("rho = -0.9", "rho = 0.9")
    rules = (Rule("bayes"),)
    rows = list(measure(runs=1, deltas=(0.1,), rules=rules, only=only, skip=skip, cap=50))
    assert [(one.family, one.runs, one.cap) for one in rows] == [("rho = 0.9", 1, 50)]


def test_the_cap_of_a_sum_is_the_largest() -> None:
    parts = [row("bayes", "linear", 0.1, cap=70), row("bayes", "random", 0.1, cap=50)]
    assert together(parts)[0].cap == 70


GOOD = "bayes,random,0.1,10,10,0,0.0,0.3,half,123.5,7.5,500"
HEAD = "rule,family,delta,runs,stopped,errors,low,high,label,mean_samples,lower_bound,cap"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bayes,linear,0.1,10,10,0,0.0", "expected 12 values, got 7"),
        ("bayes,linear,0.1,10,10,0,0.0,0.3,half,123.5,7.5,50", "is cut short"),
        (GOOD.replace("random", "rundom") + "\n", "unknown family 'rundom': did you mean"),
        (GOOD.replace("bayes", "baies") + "\n", "unknown rule 'baies': did you mean 'bayes'?"),
        (GOOD.replace("0.1", "x") + "\n", "delta: expected float, got 'x'"),
        (GOOD.replace("500", "5e2") + "\n", "cap: expected int, got '5e2'"),
        (GOOD.replace("10,10,0", "10,11,0") + "\n", "11 stopped of 10 runs"),
        (GOOD.replace("0.1", "1.5") + "\n", "delta 1.5"),
    ],
)
def test_a_damaged_file_is_refused_in_a_sentence(
    tmp_path: Path, line: str, message: str
) -> None:
    file = tmp_path / "c.csv"
    file.write_text(f"{HEAD}\n{GOOD}\n{line}")
    with pytest.raises(InputError) as error:
        read(file)
    assert message in str(error.value)
    assert f"{str(file)!r}, line 3" in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot read"):
        read(tmp_path / "c.csv")
    with pytest.raises(InputError, match="cannot read"):
        read(tmp_path)


def test_a_write_that_fails_leaves_the_old_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c.csv"
    write([row("bayes", "random", 0.1)], file)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(before) == {"c.csv", "c.md"}

    def full(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        write([row("bayes", "linear", 0.1)], file)
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_families_have_their_names() -> None:
    assert tuple(families()) == NAMES


def test_families_are_taken_together_whenever_they_were_measured() -> None:
    parts = [row("bayes", "linear", 0.1, errors=3), row("bayes", "random", 0.1)]
    other = row("bayes", "random", 0.05)
    whole, alone = together([*parts, other])
    assert (whole.key, whole.runs, whole.errors) == (("bayes", 0.1, "all"), 20, 3)
    assert whole.low < 3 / 20 < whole.high
    assert (whole.mean_samples, whole.lower_bound) == pytest.approx((123.456, 7.5))
    assert (alone.key, alone.runs) == (("bayes", 0.05, "all"), 10)
