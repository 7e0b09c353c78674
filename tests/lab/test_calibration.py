"""Measured calibration, in small: rows, labels, and a broken rule that is caught."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from psips.errors import InputError
from psips.lab.calibration import families as families_module
from psips.lab.calibration.families import GROUPS, families
from psips.lab.calibration.family import CAP, SHORT, Family
from psips.lab.calibration.file import kept, merged, read, write
from psips.lab.calibration.found import Found, add_found, found_path, read_found
from psips.lab.calibration.measuring import (
    BROKEN,
    DEFAULT,
    RULES,
    Row,
    Rule,
    judge,
    measure,
    tells,
    together,
)
from psips.lab.calibration.ordinary import NAMES, ordinary
from psips.lab.calibration.page import markdown
from psips.lab.instances import instance
from psips.rules import Rules
from psips.simulation.summary import clopper_pearson


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
    for family in families().values():
        for one, other in zip(family.instances(), family.instances(), strict=True):
            assert (one.theta == other.theta).all()
            assert one.pareto_set or one.problem.limits
            assert one.is_right(one.pareto_set)


def test_a_rule_that_is_refused_has_no_row() -> None:
    rules = (Rule("posterior", "proven"),)
    assert not list(measure(runs=1, deltas=(0.1,), rules=rules, only=("linear",)))


def test_markdown_has_every_row_and_every_rule_a_name() -> None:
    rows = list(measure(runs=2, deltas=(0.1,), rules=RULES[:1], only=("rho = -0.9",)))
    text = markdown(rows)
    assert text.count(f"| {RULES[0].name} |") == 2  # of all cells, and of its group's
    assert "(calibration.csv)" in text
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


def counted(
    rule: str, family: str, delta: float, errors: int, runs: int = 400, stopped: int = 400
) -> Row:
    low, high = clopper_pearson(errors, runs)
    return Row(rule, family, delta, runs, stopped, errors, low, high, "", 123.456, 7.5, CAP)


def test_a_rule_is_measured_if_no_interval_reaches_above_delta() -> None:
    sound = [counted("bayes", "random", 0.1, 20), counted("bayes", "linear", 0.01, 0)]
    (one,) = judge(sound)
    assert (one.verdict, one.cells, one.telling, one.against) == ("validated", 2, 2, ())
    assert [row.family for row in one.worst] == ["random"]
    open_ = counted("bayes", "rho = 0.9", 0.1, 40)  # 10%, so the interval is around delta
    (one,) = judge([*sound, open_])
    assert (one.verdict, one.against) == ("not settled", (open_,))
    above = counted("bayes", "near-ties", 0.1, 80)
    (one,) = judge([*sound, open_, above])
    assert (one.verdict, one.against) == ("broken", (above,))
    assert [row.family for row in one.worst] == ["near-ties", "rho = 0.9", "random"]


def test_cells_with_too_few_runs_do_not_tell() -> None:
    assert tells(counted("bayes", "random", 0.01, 0, runs=368, stopped=368))
    few = counted("bayes", "random", 0.01, 0, runs=367, stopped=367)
    assert not tells(few)
    assert judge([few])[0].verdict == "not settled"
    assert judge([few, counted("bayes", "linear", 0.1, 0)])[0].verdict == "validated"
    caught = counted("bayes", "random", 0.01, 300, runs=367, stopped=367)
    assert judge([caught])[0].verdict == "broken"  # few runs can tell that it errs


def test_a_rule_that_does_not_stop_says_nothing_unless_it_cannot_be_expected_to() -> None:
    assert not tells(counted("bayes", "random", 0.1, 0, stopped=199))
    assert judge([counted("bayes", "random", 0.1, 0, stopped=0)])[0].verdict == "not settled"
    assert families()["correlated-alternative"].cap == SHORT
    assert tells(counted("bayes", "correlated-alternative", 0.1, 0, stopped=0))


def test_errors_are_counted_among_all_runs() -> None:
    """A rule that stops only where it errs, once in 400 runs, keeps delta."""
    rows = list(
        measure(runs=3, deltas=(0.1,), rules=(Rule("bayes"),), only=("rho = 0.9",), cap=2)
    )
    assert (rows[0].stopped, rows[0].runs) == (0, 3)
    assert (rows[0].low, rows[0].high) == clopper_pearson(0, 3)
    assert rows[0].label == "none stopped"


def test_the_page_judges_every_rule_and_names_its_worst_cells() -> None:
    rows = [
        counted("certified", "random", 0.1, 0),
        counted("bayes", "random", 0.1, 200),
        counted("bayes", "worse d=6 gap=0.3", 0.1, 300),
        counted("bayes", "worse d=6 gap=0.3", 0.01, 1, stopped=390),
    ]
    lines = markdown(rows).splitlines()
    assert "| certified | **validated** | 1 | 1 | no error |" in lines
    (judged,) = (line for line in lines if line.startswith("| bayes | **broken**"))
    assert "**broken**: `worse d=6 gap=0.3` at 0.1: 75.0% (70.5% to 79.2%) and 1 more" in judged
    assert judged.index("75.0%") < judged.index("`random` at 0.1: 50.0%")
    assert "## Ordinary" in lines
    assert "## Deciding" in lines
    assert "## Fronts" not in lines
    assert "| certified | 1 | 400 | 0 |  |" in lines
    assert "| bayes | 1 | 400 | 200 | `random` at 0.1: 50.0% (45.0% to 55.0%) |" in lines
    (deciding,) = (line for line in lines if line.startswith("| bayes | 2 | 800 | 301 |"))
    assert deciding.endswith("`worse d=6 gap=0.3` at 0.1: 75.0% (70.5% to 79.2%) |")


def test_the_page_names_the_default() -> None:
    assert Rule(Rules().stopping, Rules().calibration, Rules().tuning.kappa).name == DEFAULT
    assert DEFAULT in [rule.name for rule in RULES]
    sentence = f"`{DEFAULT}` is the default."
    assert sentence in markdown([counted(DEFAULT, "random", 0.1, 0)])
    assert sentence not in markdown([counted("bayes", "random", 0.1, 0)])


def test_every_table_of_the_calibration_on_file_can_be_read() -> None:
    file = Path(__file__).parents[2] / "docs" / "calibration.csv"
    rows = read(file)
    assert {row.family for row in rows} >= set(NAMES)
    assert "## Ordinary" in markdown(rows)


def test_families_are_those_of_the_tables_on_file() -> None:
    """With their caps; a family that changed would be measured under the old one's name."""
    docs = Path(__file__).parents[2] / "docs"
    rows = [row for file in sorted(docs.glob("calibration*.csv")) for row in read(file)]
    every = families()
    assert {row.cap - every[row.family].cap for row in rows} == {0}
    missing = set(every) - {row.family for row in rows}
    assert missing <= {
        f"worse d={d} gap=0.0001 rho={rho} clear=1.0"
        for d, rho in ((2, -0.99), (2, -0.95), (3, -0.49), (4, 0.0), (8, 0.0))
    }


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


def test_a_lower_bound_beyond_the_cap_counts_as_the_cap() -> None:
    parts = [row("bayes", "linear", 0.1, cap=5), row("bayes", "random", 0.1, cap=50)]
    assert together(parts)[0].lower_bound == (5 + 7.5) / 2


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


def test_families_have_their_names_and_groups() -> None:
    every = families()
    assert tuple(every)[:9] == tuple(ordinary()) == NAMES
    assert all(family.name == name for name, family in every.items())
    assert {family.group for family in every.values()} <= set(GROUPS)
    assert list(dict.fromkeys(family.group for family in every.values())) == [
        group for group in GROUPS if any(one.group == group for one in every.values())
    ]


def test_the_families_cover_what_decides() -> None:
    every = families()
    for d, K in ((d, K) for d in (1, 2, 3, 4, 6, 8) for K in (2, 3, 10)):
        worse = f"worse d={d} gap=0.3" + (f" K={K}" if K > 2 else "")
        assert worse in every or (d, K) == (1, 2)
        but_one = f"worse-but-one d={d} gap=0.3 edge=0.3" + (f" K={K}" if K > 2 else "")
        assert but_one in every or d == 1
    for gap in (1.0, 0.3, 0.1, 0.03, 0.01, 0.003):
        assert f"near-tie gap={gap}" in every
    assert every["near-tie gap=0.003"].share < 1
    assert every["near-tie gap=0.003"].cap > CAP


def test_a_family_is_made_from_its_name() -> None:
    for name, family in families().items():
        if family.group != "ordinary" and not family.drawn:
            builder, *params = re.split(r" (?=\w+=)", name)
            given = dict(text.split("=") for text in params)
            kinds = {key: type(value) for key, value in family.params.items()}
            for key in set(family.asked) - set(kinds):  # asked of it: not what it is made with
                given.pop(key)
            again = instance(builder, **{key: kinds[key](given[key]) for key in given})
            assert (again.theta == family.instances()[0].theta).all()


def test_an_expensive_family_gets_a_share_of_the_runs_and_its_own_cap() -> None:
    family = Family("near-ties", "near-tie", {"gap": 0.5}, share=0.1, cap=7)
    assert (family.runs(300), family.runs(301), family.runs(1)) == (30, 31, 1)
    assert (family.limit(None), family.limit(5), family.limit(9)) == (7, 5, 7)


def test_shares_and_caps_are_measured_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    family = Family("near-ties", "near-tie", {"gap": 0.5}, share=0.5, cap=40)
    monkeypatch.setattr(
        "psips.lab.calibration.measuring.families", lambda: {family.name: family}
    )
    monkeypatch.setattr("psips.lab.calibration.file.families", lambda: {family.name: family})
    rows = list(measure(runs=6, deltas=(0.1,), rules=(Rule("bayes"),)))
    assert [(one.runs, one.cap) for one in rows] == [(3, 40)]
    assert kept(rows, 6, None) == [rows[0].key]
    assert kept(rows, 7, None) == []
    assert kept(rows, 6, 30) == []


def test_what_was_found_is_measured_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "found.json"
    assert read_found(file) == []
    first = Found("near-tie", {"gap": 0.02, "d": 2, "lead": 0.5}, "bayes", 0.1, 50, 100)
    second = Found("worse", {"d": 6, "gap": 0.3}, "bayes", 0.1, 90, 100)
    assert add_found([first], file) == 1
    assert add_found([first, second], file) == 1
    assert read_found(file) == [first, second]
    monkeypatch.setattr(families_module, "read_found", lambda: read_found(file))
    families.cache_clear()
    try:
        every = families()
        assert every["near-tie gap=0.02 d=2 lead=0.5"].group == "found"
        assert every["worse d=6 gap=0.3"].group == "deciding"  # it was known
    finally:
        families.cache_clear()
        monkeypatch.undo()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "cannot read the found instances"),
        ("{}", "expected a list"),
        (
            "[1]",
            "entry 1: expected the keys delta, errors, instance, params, rule, runs, got 1",
        ),
        (
            '[{"instance": "wors", "params": {}, "rule": "b", "delta": 0.1, "errors": 1, '
            '"runs": 2}]',
            "entry 1: unknown instance 'wors': did you mean 'worse'?",
        ),
    ],
)
def test_a_damaged_file_of_found_instances_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "found.json"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_found(file)
    assert message in str(error.value)


def test_the_found_instances_of_the_package_are_families() -> None:
    assert found_path().is_file()
    names = {Family("found", one.instance, one.params).name for one in read_found()}
    assert names <= set(families())


def test_families_are_taken_together_whenever_they_were_measured() -> None:
    parts = [row("bayes", "linear", 0.1, errors=3), row("bayes", "random", 0.1)]
    other = row("bayes", "random", 0.05)
    whole, alone = together([*parts, other])
    assert (whole.key, whole.runs, whole.errors) == (("bayes", 0.1, "all"), 20, 3)
    assert whole.low < 3 / 20 < whole.high
    assert (whole.mean_samples, whole.lower_bound) == pytest.approx((123.456, 7.5))
    assert (alone.key, alone.runs) == (("bayes", 0.05, "all"), 10)
