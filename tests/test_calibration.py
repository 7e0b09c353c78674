"""Measured calibration, in small: rows, labels, and a broken rule that is caught."""

from __future__ import annotations

import pytest

from psips.simulation.calibration import BROKEN, RULES, Rule, families, markdown, measure


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
    assert [row.family for row in rows] == ["near-ties", "all"] * 2


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
    assert text.count("| posterior heuristic |") == len(rows) == 2
    assert "## All families together" in text
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_runs_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        list(measure(runs=0))
