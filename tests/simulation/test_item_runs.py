"""Simulated results that share items: their law, runs, plans and campaigns."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from psips import InputError, Problem, Session
from psips.cli import app
from psips.lab.campaign import Campaign
from psips.lab.cells import Cell
from psips.lab.instances import instance
from psips.problem.instances import Instance
from psips.problem.item_noise import read_item_noise
from psips.problem.problem_file import read_problem_file
from psips.simulation.environments import ItemEnvironment, environment_of
from psips.simulation.planning import plan
from psips.simulation.runs import simulate

ITEMS = 6000
ALPHA = 1e-4  # of each of the comparisons below, whose seeds are fixed
FILE = """
arms = ["small", "large", "huge"]
items = true
delta = 0.1

[[objectives]]
name = "accuracy"
kind = "binary"

[[objectives]]
name = "seconds"
direction = "min"

[noise_guess]
covariance = { seconds = 1.0 }
between = 0.6

[guess]
small = [0.30, 3.0]
large = [0.80, 4.0]
huge = [0.40, 6.0]
"""


def mixed(between: object = (0.5, 0.7)) -> ItemEnvironment:
    problem = Problem(
        objectives={"right": {"kind": "binary"}, "seconds": "min"}, arms=3, items=True
    )
    noise = read_item_noise(problem, [[0.25, 0.6], [0.6, 4.0]], between)
    return ItemEnvironment(problem, [[0.8, 3.0], [0.8, 4.0], [0.8, 6.0]], noise)


def table(environment: ItemEnvironment) -> np.ndarray:
    """Results (K, items, d)."""
    key = environment.start(3).key
    arms = environment.problem.arms
    return np.array([[environment.pull(a, n, key) for n in range(ITEMS)] for a in arms])


def z_scores(scores: np.ndarray) -> np.ndarray:
    """How far means, variances and correlations within items are from the law, in se."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    found = []
    for c, (means, variance, share) in enumerate(
        [([0.8] * 3, 0.16, 0.5), ([3.0, 4.0, 6.0], 4.0, 0.7)]
    ):
        x = centred[..., c]
        squares = (x**2 - variance).mean(axis=1)
        found += list((scores[..., c].mean(axis=1) - means) / np.sqrt(variance / ITEMS))
        found += list(squares / ((x**2).std(axis=1) / np.sqrt(ITEMS)))
        for a, b in ((0, 1), (0, 2), (1, 2)):  # of two arms on one item
            both = x[a] * x[b] - share * variance
            found.append(both.mean() / (both.std() / np.sqrt(ITEMS)))
        lagged = x[0, 1:] * x[1, :-1]  # of two items there is nothing in common
        found.append(lagged.mean() / (lagged.std() / np.sqrt(ITEMS)))
    return np.array(found)


def test_the_law_is_the_one_that_was_asked_for() -> None:
    from scipy.stats import norm

    limit = norm.isf(ALPHA / 2)
    right = z_scores(table(mixed()))
    assert np.abs(right).max() < limit
    # Without effects of the items, and with the share taken for the normals' correlation.
    assert np.abs(z_scores(table(mixed(0.0)))).max() > limit
    assert np.abs(z_scores(table(mixed((0.36, 0.7))))).max() > limit


def test_a_run_is_the_session_by_hand() -> None:
    made = instance("shared-items", gap=0.8)
    environment = environment_of(made)
    run = simulate(made.problem, environment, rng=5)
    rng = np.random.default_rng(5)
    session = Session(made.problem, rng=rng)
    trial = environment.start(rng)
    seen: set[str] = set()
    while not session.stopped:
        ticket = session.ask()
        session.tell(ticket, trial.pull(ticket))
        seen.add(ticket.item or "")
    assert run.stopped
    assert run.results == session.results
    assert run.pulls == session.pulls
    assert run.pareto_set == session.pareto_set == made.pareto_set
    assert run.items == len(seen) == max(run.pulls.values())


def test_a_list_of_items_and_a_budget_end_a_run() -> None:
    made = instance("shared-items", gap=0.05)
    problem = Problem(
        objectives=made.problem.objectives, arms=made.problem.arms, items=["a", "b", "c", "d"]
    )
    few = Instance("few", problem, made.theta, items=made.items)
    run = simulate(problem, environment_of(few), rng=1)
    assert not run.stopped
    assert (run.results, run.items) == (16, 4)
    run = simulate(made.problem, environment_of(made), rng=1, budget=21)
    assert not run.stopped
    assert run.results == 21


def test_comparisons_feel_the_noise_within_items_alone() -> None:
    """No rule can do with fewer than the lower bound where items are known."""
    made = instance("shared-items", between=0.75)
    assert made.known.covariance == pytest.approx(np.eye(2) / 4)
    assert not made.known.has_items
    assert made.problem.has_items
    binary = mixed()
    known = binary.noise.within_items(binary.problem, binary.means)
    assert np.diag(known.covariance) == pytest.approx([0.16 / 2, 4.0 * 0.3])


def test_a_plan_says_how_many_results_of_how_many_items(tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    path.write_text(FILE)
    found = plan(read_problem_file(path), deltas=(), runs=4, cap=5000)
    (one,) = found.forecasts
    assert one.stopped == 4
    assert one.item_quantiles is not None
    assert one.lower_bound < one.mean
    # The arm with most results has met all items that there were.
    assert max(found.mean_pulls.values()) <= one.item_quantiles[-1] < one.quantiles[-1]
    assert found.complexity.pareto_set == ("small", "large")
    result = CliRunner().invoke(app, ["plan", str(path), "--runs", "2", "--delta", "0.1"])
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "95% interval items" in said
    assert "items: how many of them are enough for 95% of the runs" in said
    result = CliRunner().invoke(
        app,
        ["plan", str(path), "--runs", "2", "--delta", "0.1", "--json", "--max-samples", "9"],
    )
    forecast = json.loads(result.stdout)["forecasts"][0]
    assert forecast["item_quantiles"]["0.95"] is None  # given up at the cap


def test_a_study_does_not_look_at_the_guess_of_the_noise(tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    path.write_text(FILE)
    assert read_problem_file(path).problem.noise_guess is None


def test_the_command_simulates_and_campaigns_keep_items(tmp_path: Path) -> None:
    words = ["simulate", "shared-items", "--gap", "0.8", "--runs", "2", "--json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["errors"] == 0
    assert 0 < figures["mean_items"] < figures["mean_samples"]
    cells = [
        Cell("shared-items", {"delta": 0.1}, 0, {"gap": 0.8}),
        Cell("shared-items", {"delta": 0.1}, 0, {"gap": 0.8}, marks=(20, 60)),
    ]
    campaign = Campaign(cells, tmp_path / "c.sqlite")
    assert campaign.run(jobs=1) == []
    whole, marked = campaign.outcomes()
    assert whole is not None
    assert marked is not None
    assert whole["stopped"]
    assert whole["correct"]
    assert 0 < whole["items"] < whole["samples"]
    assert [look["t"] for look in marked["trace"]] == [20, 60]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("between = 0.6\n", "", "needs 'between'"),
        ("between = 0.6", "between = 1.0", "from 0 to below 1, got 1.0"),
        ("between = 0.6", "between = [0.1]", "one for each of the 2 objectives, got 1"),
        ("between = 0.6", "between = {seconds = 0.1}", "no entry for objective 'accuracy'"),
        ("between = 0.6", "between = 0.6\nresults = 5", "unknown key of [noise_guess] with"),
        ("covariance = { seconds = 1.0 }", "", "give the guess of the noise a 'covariance'"),
        (
            "delta = 0.1",
            'delta = 0.1\nnoise = "student"',
            "cannot be combined with values of 0 or 1",
        ),
        ("small = [0.30", "small = [1.30", "must lie between 0 and 1"),
    ],
)
def test_guesses_that_make_no_sense_are_refused(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "models.toml"
    assert old in FILE
    path.write_text(FILE.replace(old, new))
    with pytest.raises(InputError) as wrong:
        plan(read_problem_file(path), runs=1)
    assert words in str(wrong.value)


def test_items_without_a_guess_of_the_noise_cannot_be_simulated(tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    text = FILE[: FILE.index("[noise_guess]")] + FILE[FILE.index("[guess]") :]
    path.write_text(text.replace("[guess]", "[truth]"))
    for words in (["simulate", str(path), "--runs", "1"], ["plan", str(path), "--runs", "1"]):
        result = CliRunner().invoke(app, words)
        assert isinstance(result.exception, InputError)
        assert "add 'between' to the guess of the noise" in str(result.exception)
