"""Plans: figures against `complexity`, ranges, near-ties, and guesses that are refused."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psips import plots
from psips.cli import main
from psips.errors import InputError
from psips.lab.instances import instance
from psips.problem import Problem
from psips.problem.instances import Instance
from psips.problem.problem_file import read_problem_file
from psips.simulation.environments import GaussianEnvironment
from psips.simulation.near_ties import near_ties
from psips.simulation.planning import EQUAL, Expectation, plan, rules_of
from psips.study import Study
from psips.theory.geometry import complexity

HEAD = """
name = "settings"
arms = ["A", "B", "C", "D"]
delta = 0.05
seed = 7
objectives = [
    { name = "yield", variance = 1.0 },
    { name = "cost", direction = "min", variance = 0.25 },
]
"""
GUESS = """
[guess]
A = [5.0, 2.0]
B = { yield = 4.0, cost = 1.0 }
C = [4.8, 2.2]
D = [6.0, 3.0]
"""
LINEAR = """
arms = "arms.csv"
objectives = [{ name = "speed", variance = 1.0 }, { name = "strength", variance = 0.5 }]
"""
FEATURES = "arm,weight,length\nlight,1.0,0.0\nlong,0.0,1.0\nboth,0.7,0.7\n"


def write(folder: Path, text: str) -> Path:
    (folder / "arms.csv").write_text(FEATURES)
    path = folder / "design.toml"
    path.write_text(text)
    return path


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[Any, str, str]:
    monkeypatch.setattr(sys, "argv", ["psips", "plan", *words])
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr()
    return end.value.code, said.out, said.err


def test_figures(tmp_path: Path) -> None:
    file = read_problem_file(write(tmp_path, HEAD + GUESS))
    found = plan(file, runs=20, deltas=(0.2, 0.05))
    truth = np.array([[5.0, 2.0], [4.0, 1.0], [4.8, 2.2], [6.0, 3.0]])
    exact = complexity(file.problem, truth)
    assert found.complexity.t_star == exact.t_star
    assert found.complexity.pareto_set == ("A", "B", "D")
    assert [one.delta for one in found.forecasts] == [0.2, 0.05]
    assert found.delta == 0.05
    for one in found.forecasts:
        assert one.lower_bound == exact.lower_bound_kl(one.delta)
        assert (one.runs, one.stopped) == (20, 20)
        low, high = one.error_interval
        assert low <= one.errors / 20 <= high
        assert list(one.quantiles) == sorted(one.quantiles)
    assert found.forecasts[1].quantiles[2] > found.forecasts[0].quantiles[2]
    assert sum(found.mean_pulls.values()) == pytest.approx(found.forecasts[1].mean)
    tie = found.ties[0]
    assert tie.answers == ("C", "A")
    assert tie.without == "C"
    pair = complexity(
        read_problem_file(
            write(
                tmp_path, HEAD.replace('"A", "B", "C", "D"', '"A", "C"').replace("delta", "#")
            )
        ).problem,
        truth[[0, 2]],
    )
    assert tie.share == pytest.approx(pair.t_star / exact.t_star, rel=0.02)
    assert plan(file, runs=20, deltas=(0.2, 0.05)).to_dict() == found.to_dict()
    assert plan(file, runs=20, deltas=(0.2, 0.05), jobs=2).to_dict() == found.to_dict()


def test_ranges(tmp_path: Path) -> None:
    text = HEAD + GUESS.replace("A = [5.0", "A = [[4.0, 6.0]")
    expected = Expectation(read_problem_file(write(tmp_path, text)))
    assert expected.ranged
    assert expected.centre.theta[0].tolist() == [5.0, 2.0]
    rng = np.random.default_rng(1)
    drawn = np.array([expected.draw(rng).theta[0] for _ in range(200)])
    assert 4.0 <= drawn[:, 0].min() < 4.1
    assert 5.9 < drawn[:, 0].max() <= 6.0
    assert set(drawn[:, 1]) == {2.0}
    found = plan(expected.file, runs=5, deltas=(), cap=50)
    assert found.t_star_range is not None
    assert found.t_star_range[0] < found.complexity.t_star < found.t_star_range[1]
    (forecast,) = found.forecasts
    assert forecast.stopped < forecast.runs
    assert forecast.to_dict()["quantiles"]["0.95"] is None


def test_linear_guesses(tmp_path: Path) -> None:
    plain = "intercept = false\n" + LINEAR
    theta = "[guess]\nweight = [1.0, -0.5]\nlength = [0.2, 0.8]\n"
    by_theta = Expectation(read_problem_file(write(tmp_path, plain + theta)))
    assert by_theta.centre.theta.tolist() == [[1.0, -0.5], [0.2, 0.8]]
    assert by_theta.misfit == 0.0
    arms = "[guess]\nlight = [1.0, -0.5]\nlong = [0.2, 0.8]\nboth = [0.84, 0.21]\n"
    by_arms = Expectation(read_problem_file(write(tmp_path, plain + arms)))
    np.testing.assert_allclose(by_arms.centre.theta, by_theta.centre.theta, atol=1e-12)
    assert by_arms.misfit < 1e-9
    off = Expectation(read_problem_file(write(tmp_path, plain + arms.replace("0.84", "1.84"))))
    assert off.misfit > 0.1
    found = plan(off.file, runs=3, deltas=())
    assert found.misfit == off.misfit


def test_a_guess_with_an_intercept(tmp_path: Path) -> None:
    theta = "[guess]\nweight = [1.0, -0.5]\nlength = [0.2, 0.8]\n"
    file = read_problem_file(write(tmp_path, LINEAR + theta))
    assert file.problem.intercept
    found = plan(file, runs=3, deltas=())
    assert found.complexity.t_star > 0
    assert len(found.ties) == 3
    offset = LINEAR + theta + "intercept = [7.0, 7.0]\n"
    moved = plan(read_problem_file(write(tmp_path, offset)), runs=3, deltas=())
    assert moved.complexity.t_star == pytest.approx(found.complexity.t_star, rel=2e-3)


def test_a_study_ignores_the_guess(tmp_path: Path) -> None:
    made = Study.create(write(tmp_path, HEAD + GUESS), "sqlite://")
    assert "guess" not in made.events()[0].payload


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD, "has no guess of the means"),
        (HEAD + GUESS.replace("D = [6.0, 3.0]", ""), "missing row of 'guess': 'D'"),
        (HEAD + GUESS.replace("D =", "E ="), "unknown row of 'guess' 'E'"),
        (HEAD + GUESS.replace("cost = 1.0", "cots = 1.0"), "unknown objective in 'guess'"),
        (HEAD + GUESS.replace("[6.0, 3.0]", "[6.0]"), "'guess' of 'D' must be 2 numbers"),
        (HEAD + GUESS.replace("[6.0, 3.0]", '["high", 3.0]'), "guess of 'D' in 'yield'"),
        (HEAD + GUESS.replace("[6.0, 3.0]", "[[7, 6], 3.0]"), r"a range [low, high], got"),
        (HEAD + GUESS.replace("[6.0, 3.0]", "[[6], 3.0]"), r"a range [low, high], got"),
        (HEAD + GUESS.replace("[6.0, 3.0]", "[inf, 3.0]"), "must be a finite number"),
        (HEAD + GUESS.replace("[6.0, 3.0]", "[true, 3.0]"), "must be a finite number"),
        (
            HEAD + GUESS.replace("[4.8, 2.2]", "[5.0, 2.0]"),
            "in the middle of the guess T* is infinite: 'C' is level with 'A'",
        ),
        (HEAD + 'guess = "none.csv"', "cannot read the table"),
        (HEAD + "guess = 3", "'guess' must be a CSV file or a table, got 3"),
    ],
)
def test_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    message: str,
) -> None:
    code, out, err = run(monkeypatch, capsys, str(write(tmp_path, text)), "--runs", "2")
    assert code == 2
    assert message in err
    assert out == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--runs", "0"], "runs must be a whole number of at least 1, got 0"),
        (["--delta", "2"], "--delta must lie strictly between 0 and 1, got 2"),
        (["--jobs", "0"], "jobs must be at least 1"),
        (["--seed", "-1"], "seed must be a whole number of at least 0"),
        (["--max-samples", "0"], "the cap must be a whole number of at least 1"),
        (["--plot", "none/a.png"], "there is no folder 'none'"),
        (["--plot", "a.xyz"], "unknown kind of plot '.xyz'"),
    ],
)
def test_refused_options(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    code, _, err = run(monkeypatch, capsys, str(write(tmp_path, HEAD + GUESS)), *words)
    assert code == 2
    assert message in err


def test_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, plot = str(write(tmp_path, HEAD + GUESS)), tmp_path / "plan.png"
    code, out, _ = run(monkeypatch, capsys, path, "--runs", "5", "--plot", str(plot))
    assert code == 0
    assert "Separating C from A costs" in out
    table = out.split("delta  ")[1].splitlines()[1:5]
    assert [line.split()[0] for line in table] == ["0.2", "0.1", "0.05*", "0.01"]
    assert plot.read_bytes().startswith(b"\x89PNG")
    code, out, _ = run(monkeypatch, capsys, path, "--runs", "5", "--delta", "0.3", "--json")
    assert code == 0
    figures = json.loads(out)
    assert [one["delta"] for one in figures["forecasts"]] == [0.3, 0.05]
    assert figures["near_ties"][0]["answers"] == ["C", "A"]
    assert figures["settings"]["seed"] == 7


def test_near_ties_with_limits() -> None:
    """The costliest comparison is with a limit; where they do not touch, shares add up to 1."""
    made = instance("beside-limit", kind="but-one", by=0.2)
    t_star = complexity(made.problem, made.theta).t_star
    ties = near_ties(made, t_star)
    assert {tie.answers for tie in ties} == {(f"arm {k}", "toxicity <= 0") for k in range(1, 6)}
    assert sum(tie.share for tie in ties) == pytest.approx(1.0, rel=0.01)
    assert sum(tie.saves for tie in ties) == pytest.approx(1.0, rel=0.01)
    relative = instance("beside-limit", kind="control")
    (tie,) = near_ties(relative, complexity(relative.problem, relative.theta).t_star)
    assert tie.answers == ("arm 2", "toxicity <= control")
    assert (tie.share, tie.without) == (pytest.approx(1.0, rel=0.01), "arm 2")
    loud = instance("beside-limit", kind="below", loud=10.0)
    first = near_ties(loud, complexity(loud.problem, loud.theta).t_star)[0]
    assert (first.answers, first.without) == (("arm 2", "toxicity <= 0"), "arm 2")
    assert first.share == pytest.approx(1.0, rel=0.01)
    assert first.saves > 0.99  # what is left has its own limit, which is far away
    doses = instance("dose-finding", seed=1)
    found = near_ties(doses, complexity(doses.problem, doses.theta).t_star)
    assert ("weekly 2", "toxicity <= 0.3") in [tie.answers for tie in found]
    assert any(tie.answers[1] in doses.problem.answers for tie in found)


def test_near_ties_where_every_arm_has_its_noise() -> None:
    noise = [[[1.0]], [[4.0]], [[1.0]]]
    problem = Problem(objectives=["y"], covariance=noise, arms=["A", "B", "C"])
    truth = Instance("", problem, np.array([[3.0], [2.8], [0.0]]))
    tie, _ = near_ties(truth, complexity(problem, truth.theta).t_star)
    assert tie.answers == ("B", "A")
    assert tie.share == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("key", ["epsilon = 0.5", 'goal = "1 optimal"'])
def test_no_bound_is_shown_where_none_is_known(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    key: str,
) -> None:
    """The bound of the whole set is none of a goal, and 0 is none at all."""
    path = str(write(tmp_path, f"{key}\n{HEAD}{GUESS}"))
    code, out, _ = run(monkeypatch, capsys, path, "--runs", "4", "--delta", "0.05")
    assert code == 0
    assert out.split("delta  ")[1].splitlines()[1].split()[:2] == ["0.05*", "-"]
    assert "no lower bound is known" in out
    found = plan(read_problem_file(path), runs=4, deltas=())
    assert found.to_dict()["forecasts"][0]["lower_bound"] is None
    plots.plan(found)


def test_equal_allocation_is_shown_next_to_the_design(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, HEAD + GUESS)
    found = plan(read_problem_file(path), runs=30, deltas=())
    assert found.equal is not None
    alone = plan(
        read_problem_file(path),
        rules=replace(rules_of(read_problem_file(path)), sampling=EQUAL),
        runs=30,
        deltas=(),
    )
    assert alone.equal is None  # nothing to compare
    assert found.equal.quantiles == alone.forecasts[0].quantiles
    assert found.equal.quantiles[2] > 1.3 * found.forecasts[0].quantiles[2]
    code, out, _ = run(monkeypatch, capsys, str(path), "--runs", "4", "--delta", "0.05")
    assert code == 0
    said = " ".join(out.split())
    assert "Equal allocation (all arms measured equally often, the same stopping rule)" in said
    budget = write(tmp_path, "budget = 100\n" + HEAD + GUESS)
    code, out, _ = run(monkeypatch, capsys, str(budget), "--runs", "4", "--delta", "0.05")
    assert "needs more than the budget" in " ".join(out.split())


def test_a_noise_guess_for_plans_alone(tmp_path: Path) -> None:
    """Without a number of results that it is worth, a study does not hear of it."""
    head = 'arms = ["A", "B"]\nobjectives = ["yield", "cost"]\n'
    guess = "[guess]\nA = [1.0, 2.0]\nB = [3.0, 1.0]\n[noise_guess]\ncovariance = [4.0, 1.0]\n"
    file = read_problem_file(write(tmp_path, head + guess))
    assert file.problem.noise_guess is None
    assert Expectation(file).centre.known.usual_covariance.tolist() == [[4, 0], [0, 1]]
    assert plan(file, runs=3, deltas=()).forecasts[0].stopped == 3
    wrong = guess.replace("covariance = [4.0, 1.0]", "results = 3")
    with pytest.raises(InputError, match=r"\[noise_guess\] has no 'covariance'"):
        read_problem_file(write(tmp_path, head + wrong))


def test_values_of_0_or_1_are_simulated_as_such(tmp_path: Path) -> None:
    """Next to a metric that is no 0 or 1; normals in their place kept a run going for ever."""
    problem = Problem(
        objectives={"failed": {"direction": "min", "kind": "binary"}, "speed": "max"},
        covariance=[[0.25, 0.2], [0.2, 1.0]],
        arms=["A", "B"],
    )
    trial = GaussianEnvironment(problem, [[0.9, 5.0], [0.2, 4.0]]).start(rng=1)
    values = np.array([trial.pull("A") for _ in range(4000)])
    assert set(values[:, 0]) == {0.0, 1.0}
    assert values.mean(axis=0) == pytest.approx([0.9, 5.0], abs=0.05)
    assert values[values[:, 0] == 1, 1].mean() > values[values[:, 0] == 0, 1].mean() + 0.3
    for theta, noise in (
        ([[1.2, 5.0], [0.2, 4.0]], "gaussian"),
        ([[0.9, 5.0], [0.2, 4.0]], "student"),
    ):
        with pytest.raises(InputError, match="0 or 1"):
            GaussianEnvironment(problem, theta, noise)


def many_options(K: int) -> Instance:
    problem = Problem(objectives=["a", "b"], covariance=[1, 1], arms=K)
    return Instance("", problem, np.random.default_rng(1).normal(0.0, 3.0, (K, 2)))


def test_many_options_do_not_take_a_round_each(monkeypatch: pytest.MonkeyPatch) -> None:
    made = many_options(120)
    found = complexity(made.problem, made.theta, tolerance=0.01)
    assert found.cuts < 60  # one for each option and more, without those known from the start
    monkeypatch.setattr("psips.theory.geometry.MANY", 10**9)
    slow = complexity(made.problem, made.theta, tolerance=0.01)
    assert slow.cuts > 100
    assert found.t_star == pytest.approx(slow.t_star, rel=0.01)


def test_near_ties_among_many_are_those_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    made = many_options(60)
    t_star = complexity(made.problem, made.theta, tolerance=0.01).t_star
    quick = near_ties(made, t_star)
    monkeypatch.setattr("psips.simulation.near_ties.MANY", 10**9)
    whole = near_ties(made, t_star)
    assert [tie.answers for tie in quick] == [tie.answers for tie in whole]
    for one, other in zip(quick, whole, strict=True):
        assert one.share == pytest.approx(other.share, abs=0.02)
        assert one.saves == pytest.approx(other.saves, abs=0.1)
        assert one.saves < 0.1 or one.without == other.without


def test_500_options_have_a_first_answer_in_seconds(tmp_path: Path) -> None:
    """It took two minutes; what is compiled for the first time is not counted."""

    class AnsweredError(Exception):
        pass

    def answer(said: str) -> None:
        assert said.startswith("delta 0.1: median ")
        raise AnsweredError

    rng = np.random.default_rng(1)
    for K in (5, 500):
        arms = [f"o{k}" for k in range(K)]
        means = {arm: rng.normal(0.0, 2.0, 3).round(3).tolist() for arm in arms}
        text = (
            f"arms = {json.dumps(arms)}\ndelta = 0.1\n[noise_guess]\ncovariance = [1, 1, 1]\n"
        )
        text += "".join(f'[[objectives]]\nname = "{name}"\n' for name in ("x", "y", "z"))
        text += "[guess]\n" + "".join(f"{arm} = {row}\n" for arm, row in means.items())
        file = read_problem_file(write(tmp_path, text))
        began = time.process_time()
        with pytest.raises(AnsweredError):
            plan(file, progress=answer)
        taken = time.process_time() - began
    assert taken < 10.0


def test_the_delta_asked_for_comes_first_and_every_run_is_told(tmp_path: Path) -> None:
    file = read_problem_file(
        write(
            tmp_path,
            'arms = ["A", "B"]\ndelta = 0.05\n'
            'objectives = [{name = "taste", variance = 1.0}]\n[guess]\nA = [1.0]\nB = [0.0]\n',
        )
    )
    said: list[str] = []
    found = plan(file, runs=3, deltas=(0.2, 0.01), progress=said.append)
    assert [one.delta for one in found.forecasts] == [0.2, 0.05, 0.01]
    assert said[0].startswith("delta 0.05: median ")
    assert said[0].endswith(" samples in 1 run")
    assert said[2].endswith(" samples in 3 runs")
    assert len(said) == 4 * 3  # equal allocation too
    said.clear()
    plan(file, runs=1, deltas=(), cap=3, progress=said.append)
    assert said[0] == "delta 0.05: median over 3 samples in 1 run"  # it gave up there
