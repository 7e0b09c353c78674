"""Studies whose results share items: tickets, files, corrections, replay, export."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from psips import InputError, Problem, Study
from psips.cli import app
from psips.problem.problem_file import read_problem_file
from psips.report import report
from psips.study.checking import check_results
from psips.study.exports import as_csv

ARMS = ["A", "B", "C"]


def study(**given) -> Study:
    problem = Problem(
        objectives={"yield": "max", "cost": "min"}, arms=ARMS, **{"items": True, **given}
    )
    moments = iter(
        datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=n) for n in range(10**6)
    )
    return Study.create(problem, "sqlite://", name="s", seed=1, clock=lambda: next(moments))


def values(arm: str, item: str | None, seed: int) -> list[float]:
    rng = np.random.default_rng([seed, ARMS.index(arm), crc32(str(item).encode())])
    shared = np.random.default_rng(crc32(str(item).encode())).normal(size=2)
    return (shared + [ARMS.index(arm), 1.0] + 0.5 * rng.normal(size=2)).tolist()


def go(trial: Study, n: int) -> None:
    for _ in range(n):
        ticket = trial.ask()
        trial.tell(ticket, values(ticket.arm, ticket.item, 1))


def test_tickets_have_items_and_the_log_replays() -> None:
    trial = study()
    go(trial, 40)
    tickets = trial.state.ledger.tickets
    assert {(t.arm, t.item) for t in tickets} == {(r.arm, r.item) for r in trial.told}
    assert len({(t.arm, t.item) for t in tickets}) == 40
    found = trial.verify()
    assert found.problems == ()
    twin = trial.state.session.engine.belief.theta.tolist()
    trial.replayed()
    assert trial.state.session.engine.belief.theta.tolist() == twin


def test_a_correction_and_a_withdrawal_replay_the_log() -> None:
    trial = study()
    go(trial, 30)
    trial.correct({"yield": 9.0}, result=5, reason="slip")
    trial.withdraw(result=7, reason="broken")
    go(trial, 10)
    assert trial.verify().problems == ()
    assert trial.state.session.results == 39
    counted = [r for r in trial.told if r.counts]
    plain = [(r.arm, r.item) for r in counted]
    assert len(set(plain)) == len(plain)


def test_open_tickets_hold_their_items_and_cancelled_ones_give_them_back() -> None:
    trial = study()
    first = trial.ask(6)
    second = trial.ask(6)
    pairs = [(t.arm, t.item) for t in (*first, *second)]
    assert len(set(pairs)) == 12
    trial.cancel(first[0].id)
    third = trial.ask(6)
    assert (first[0].arm, first[0].item) in [(t.arm, t.item) for t in third]


def test_a_file_has_a_column_item(tmp_path) -> None:
    trial = study()
    path = tmp_path / "r.csv"
    path.write_text("arm,item,yield,cost\nA,q1,1,2\nB,q1,2,2\nC,,3,1\n")
    trial.tell_file(path)
    assert [r.item for r in trial.told] == ["q1", "q1", None]
    assert as_csv(trial).splitlines()[0].startswith("number,told,ticket,arm,item,yield,cost")
    assert trial.to_frame()["item"].tolist()[:2] == ["q1", "q1"]
    ticket = trial.ask()
    with pytest.raises(InputError, match="is for item"):
        trial.tell(ticket, [1.0, 2.0], item="elsewhere")


def test_the_cache_goes_on_as_the_log_does(tmp_path) -> None:
    problem = Problem(objectives=["yield", "cost"], arms=ARMS, items=True)
    url = f"sqlite:///{tmp_path}/s.db"
    trial = Study.create(problem, url, name="s", seed=1)
    go(trial, 110)  # 220 events: the state was cached
    again = Study.open("s", url)
    go(again, 5)
    assert again.verify().problems == ()
    assert trial.ask().item is not None


def test_a_study_without_items_takes_none() -> None:
    trial = study(items=False)
    assert trial.ask().item is None
    assert "item" not in trial.ask().to_dict()
    with pytest.raises(InputError, match="has no items"):
        trial.tell("A", [1.0, 2.0], item="q1")


def test_the_command_line_gives_out_items_and_takes_them(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    design = 'arms = ["A", "B"]\nobjectives = ["x"]\nitems = ["q1", "q2"]\nname = "s"\n'
    (tmp_path / "d.toml").write_text(design)
    runner = CliRunner()
    assert runner.invoke(app, ["study", "create", "d.toml"]).exit_code == 0
    asked = runner.invoke(app, ["study", "ask", "s"]).stdout
    ticket, arm, item = asked.strip().split("\t")
    assert (arm, item) == ("A", "q1")
    told = runner.invoke(app, ["study", "tell", "s", "--ticket", ticket, "--value", "x=1"])
    assert told.exit_code == 0, told.output
    plain = ["study", "tell", "s", "--arm", "B", "--value", "x=2", "--item"]
    assert runner.invoke(app, [*plain, "q2"]).exit_code == 0
    wrong = runner.invoke(app, [*plain, "q9"])
    assert "unknown item 'q9'" in str(wrong.exception)
    assert [r.item for r in Study.open("s", "sqlite:///psips.db").told] == ["q1", "q2"]


def test_the_report_knows_items() -> None:
    trial = study()
    go(trial, 40)
    text = report(trial)
    assert "items shared by the options" in text
    assert "between items" in text
    assert "that follow one another" not in text  # they share items


def past(items: int = 80, effect: float = 1.0) -> pd.DataFrame:
    """Results in the order of the items, each put to all arms."""
    rng = np.random.default_rng(3)
    shared = effect * rng.normal(size=(items, 1, 2))
    scores = shared + rng.normal(size=(items, len(ARMS), 2))
    return pd.DataFrame(
        {
            "arm": ARMS * items,
            "item": np.repeat([f"q{n}" for n in range(items)], len(ARMS)),
            "yield": scores[..., 0].ravel(),
            "cost": scores[..., 1].ravel(),
        }
    )


def test_what_results_on_one_item_share_is_no_finding() -> None:
    objectives = {"yield": "max", "cost": "min"}
    told = Problem(objectives=objectives, arms=ARMS, items=True)
    found = check_results(told, past())
    assert found.findings == ()
    assert "skewness, drift and autocorrelation (results share items)" in found.untested
    plain = check_results(Problem(objectives=objectives, arms=ARMS), past())
    assert [one.kind for one in plain.findings] == ["autocorrelation"]
    slip = past()
    slip.loc[17, "yield"] = 40.0
    assert [one.kind for one in check_results(told, slip).findings] == ["outliers"]


def test_a_draft_knows_a_column_item(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    past().to_csv("past.csv", index=False)
    result = CliRunner().invoke(app, ["init", "past.csv"])
    assert result.exit_code == 0, result.output
    assert "arms are compared within items; between them is about" in result.output
    design = read_problem_file("design.toml")
    assert design.problem.has_items
    assert design.problem.objectives == ("yield", "cost")
    assert design.items is not None
    # A share of 1/2: the mean of 80 products has a standard error of about 0.1.
    assert design.items.between == pytest.approx([0.5, 0.5], abs=0.3)
    past(effect=0.0).to_csv("past.csv", index=False)
    CliRunner().invoke(app, ["init", "past.csv", "--force"])
    unshared = read_problem_file("design.toml").items
    assert unshared is not None
    assert unshared.between == pytest.approx([0.0, 0.0], abs=0.2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.assign(cost=t["cost"].where(t.index != 4)), "that have all their values"),
        (lambda t: t.assign(item=range(len(t))), "names no item that two arms share"),
    ],
)
def test_a_draft_leaves_items_out_that_are_of_no_use(
    change, words, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    change(past()).to_csv("past.csv", index=False)
    result = CliRunner().invoke(app, ["init", "past.csv"])
    assert result.exit_code == 0, result.output
    assert f"{words}: left out" in result.output
    design = read_problem_file("design.toml")
    assert not design.problem.has_items
    assert design.items is None


def test_items_are_any_text(tmp_path) -> None:
    odd = ["What is\n2 + 2?", "=1+1", "q" * 500, "\U0001f469\u200d\U0001f52c", " x ", "\x1b[2J"]
    odd += ["e\u0301", "\ud83d", "nul\x00", "<b>", "tab\tq"]
    trial = study(items=odd)
    go(trial, 2 * len(odd))
    assert len({result.item for result in trial.told}) > 5
    assert trial.verify().problems == ()
    ticket = trial.ask()
    trial.tell(ticket.arm, [1.0, 1.0], item=odd[2])
    page, lines = report(trial), as_csv(trial)
    for mark in ("\x1b", "\u200d", "\x00"):
        assert mark not in page
        assert mark not in lines
    told = pd.DataFrame({"arm": ["A"], "item": ["x"], "yield": [1.0], "cost": [2.0]})
    told.to_csv(tmp_path / "r.csv", index=False)  # files are read without blanks around cells
    trial.tell_file(tmp_path / "r.csv")
    assert trial.told[-1].item == " x "
    with pytest.raises(InputError, match="unknown item 'other'"):
        trial.tell("A", [1.0, 1.0], item="other")
    with pytest.raises(InputError, match="item number 1 has a name of 60,000 characters"):
        study(items=["q" * 60_000])


OF_THESE = """
name = "exam"
arms = ["A", "B", "C"]
items = "questions.csv"
of = "these"
seed = 1

[[objectives]]
name = "yield"

[[objectives]]
name = "cost"
direction = "min"
"""


def exam(folder, number: int = 12) -> str:
    questions = [f"q{n}" for n in range(number)]
    (folder / "questions.csv").write_text("\n".join(["item", *questions]) + "\n")
    (folder / "exam.toml").write_text(OF_THESE)
    return f"sqlite:///{folder}/s.db"


def test_of_these_items_all_is_known_at_the_end_and_the_log_replays(tmp_path) -> None:
    url = exam(tmp_path)
    trial = Study.create(tmp_path / "exam.toml", url, delta=1e-9)
    means = {arm: np.mean([values(arm, f"q{n}", 1) for n in range(12)], axis=0) for arm in ARMS}
    go(trial, 20)
    assert "alone" in str(trial.status())
    assert not trial.stopped
    trial.correct([9.0, 9.0], result=3, reason="was misread")
    told = trial.told[2]
    trial.correct(values(told.arm, told.item, 1), result=3, reason="was not")
    twin = Study.open("exam", url)  # a cached state, or the log
    go(twin, 16)
    status = twin.status()
    assert twin.stopped
    assert "of these items the set is certain" in str(status)
    assert status.probability_of_change == 0.0
    for arm in ARMS:
        assert status.arms.loc[arm, "yield estimate"] == pytest.approx(means[arm][0])
    assert twin.verify().problems == ()
    assert "the question is of these alone" in report(twin)
    assert twin.savings(1.0) == ()


def test_of_these_items_a_result_has_one(tmp_path) -> None:
    trial = Study.create(tmp_path / "exam.toml", exam(tmp_path))
    with pytest.raises(InputError, match="say of each result which it is of"):
        trial.tell("A", [1.0, 2.0])
    with pytest.raises(InputError, match="unknown item"):
        trial.tell("A", [1.0, 2.0], item="elsewhere")
    assert not trial.told


@pytest.mark.parametrize(
    ("given", "message"),
    [('of = "those"', "of must be 'these' or 'like these', got 'those'"), ("", "needs a list")],
)
def test_items_that_a_question_cannot_be_of(given: str, message: str, tmp_path) -> None:
    exam(tmp_path)
    text = OF_THESE.replace('of = "these"', given) if given else OF_THESE
    if not given:
        text = text.replace('items = "questions.csv"', "items = true")
    (tmp_path / "exam.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        Study.create(tmp_path / "exam.toml", "sqlite://")


def test_the_command_line_asks_of_these_items(tmp_path) -> None:
    url = exam(tmp_path)
    path = tmp_path / "exam.toml"
    path.write_text(OF_THESE.replace('of = "these"', ""))
    for name, words, of in (("all", [], "like these"), ("few", ["--of", "these"], "these")):
        words = ["study", "create", str(path), "--store", url, "--name", name, *words]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        assert Study.open(name, url).state.session.of == of


def test_a_plan_says_how_many_measurements_there_are_at_most(tmp_path) -> None:
    exam(tmp_path)
    guess = """
[noise_guess]
covariance = [[1.0, 0.0], [0.0, 1.0]]
between = 0.5

[guess]
A = [0.0, 0.0]
B = [1.0, 1.0]
C = [2.0, 2.0]
"""
    path = tmp_path / "exam.toml"
    path.write_text(OF_THESE + guess)
    words = ["plan", str(path), "--runs", "1", "--delta", "0.1", "--max-samples", "200"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "at most 36, each arm on each of the 12 items." in done.stdout
