"""Tables of means and standard errors: how sure, what next, and that nothing is claimed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import norm, t
from typer.testing import CliRunner

from psips import InputError
from psips.cli import app
from psips.evaluation import summaries
from psips.evaluation.summaries import Summary, judge, on_front, read_summary
from psips.report.pull_request import summary_comment


def table(means, errors, counts=None, metrics=("accuracy",)) -> Summary:
    means, errors = np.array(means, float), np.array(errors, float)
    arms = [f"m{a}" for a in range(len(means))]
    counts = np.full(len(means), np.inf) if counts is None else np.array(counts, float)
    return Summary(arms, list(metrics), means, errors, counts, ())


def test_the_probability_of_two_options_is_that_of_the_textbook() -> None:
    found = judge(table([[0.70], [0.73]], [[0.02], [0.03]]))
    wanted = norm.cdf(0.03 / np.hypot(0.02, 0.03))
    assert found.probability[1] == pytest.approx(wanted, abs=0.012)
    assert found.probability.sum() == pytest.approx(1.0)
    assert found.whole == found.probability[1]
    assert found.front == ("m1",)
    wrong = norm.cdf(0.03 / 0.03)  # as if one of them were known exactly
    assert abs(found.probability[1] - wrong) > 0.03


def test_few_results_are_less_sure() -> None:
    found = judge(table([[0.0], [1.0]], [[0.5], [0.0]], [3, 3]))
    assert found.probability[1] == pytest.approx(t.cdf(2.0, 2), abs=0.012)


def test_the_doubt_comes_from_those_that_are_not_known() -> None:
    metrics = ("accuracy", "cost")
    means = [[0.9, 1.0], [0.5, 1.1], [0.52, 1.0], [0.1, 5.0]]
    errors = [[0.01, 0.0], [0.05, 0.0], [0.05, 0.3], [0.01, 0.0]]
    found = judge(table(means, errors, metrics=metrics), {"cost": "min"})
    assert found.front == ("m0",)
    assert found.next == ("m2",)
    assert found.doubt[2] > 0.8
    sure = judge(table([[0.9], [0.1]], [[0.001], [0.001]]))
    assert sure.whole == 1.0
    assert sure.next == ()
    assert (sure.doubt == 0.0).all()


def test_fronts_are_by_definition() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 4, size=(50, 6, 3)).astype(float)
    for one, found in zip(values, on_front(values), strict=True):
        for a in range(6):
            beaten = any((b >= one[a]).all() and (b > one[a]).any() for b in one)
            assert found[a] == (not beaten)


def written(tmp_path, text: str) -> str:
    path = tmp_path / "means.csv"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    "text",
    [
        "arm,accuracy,accuracy se\na,0.71,0.02\nb,0.74,0.04\n",
        "model,accuracy,accuracy_stderr\na,0.71,0.02\nb,0.74,0.04\n",
        "arm,accuracy\na,0.71 ± 0.02\nb,0.74 +/- 0.04\n",
        "arm;accuracy;accuracy SE\na;0,71;0,02\nb;0,74;0,04\n",
        "arm,accuracy,accuracy sd,n\na,0.71,0.2,100\nb,0.74,0.4,100\n",
    ],
)
def test_tables_as_people_have_them(text: str, tmp_path) -> None:
    found = read_summary(written(tmp_path, text))
    assert found.metrics == ["accuracy"]
    assert np.allclose(found.means[:, 0], [0.71, 0.74])
    assert np.allclose(found.errors[:, 0], [0.02, 0.04])
    assert found.notes == ()


def test_rates_and_exact_metrics_are_mentioned(tmp_path) -> None:
    found = read_summary(written(tmp_path, "arm,rate,price,n\na,0.5,3,100\nb,1,2,100\n"))
    assert found.errors[0, 0] == pytest.approx(0.05)
    assert 0.0 < found.errors[1, 0] < 0.02
    assert (found.errors[:, 1] == 0.0).all()
    assert [note.split(":")[0] for note in found.notes] == ["rate", "price"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arm,x\na,1\n", "2 to 200 options, got 1"),
        ("arm,x\na,1\na,2\n", "one line for each option"),
        ("name,x\na,1\nb,2\n", "say with --arm"),
        ("arm,x,x se\na,1,-1\nb,2,1\n", "below 0"),
        ("arm,x,x sd\na,1,1\nb,2,1\n", "add a column n"),
        ("arm,x,n\na,1,1\nb,2,5\n", "at least 2"),
        ("arm,x\na,one\nb,2\n", "line 2: 'x'"),
        ("arm,n\na,5\nb,5\n", "no metric"),
    ],
)
def test_tables_that_make_no_sense_are_refused(text: str, words: str, tmp_path) -> None:
    with pytest.raises(InputError, match=words):
        read_summary(written(tmp_path, text))


def test_the_command_claims_nothing(tmp_path) -> None:
    text = "arm,accuracy,accuracy se,price\na,0.9,0.001,1\nb,0.5,0.001,2\n"
    path = written(tmp_path, text)
    done = CliRunner().invoke(app, ["matrix", path, "--summary"])
    assert done.exit_code == 0, done.output
    assert "no stop is claimed" in done.stdout
    assert "Pareto set" not in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    data = json.loads(CliRunner().invoke(app, ["matrix", path, "--summary", "--json"]).stdout)
    assert data["stopped"] is False
    assert data["why"] == summaries.WHY
    assert data["front"] == ["a"]
    comment = CliRunner().invoke(app, ["matrix", path, "--summary", "--format", "github"])
    assert comment.stdout.startswith("> [!NOTE]\n> **Nothing is claimed from means alone.**")
    assert comment.stdout == summary_comment(judge(read_summary(path)))
    for option in (["--repeats"], ["--of", "these"], ["--limit", "price <= 2"]):
        refused = CliRunner().invoke(app, ["matrix", path, "--summary", *option])
        assert "needs results" in str(refused.exception)
