"""Tolerance: the definition, sets and proofs against brute force, words, and bad inputs."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import naive
import naive_certificates
from core.entries import posterior_at
from psips import Problem, Session
from psips._core import predict
from psips.cli import app
from psips.errors import InputError
from psips.lab.instances import instance
from psips.problem.instances import Instance
from psips.problem.problem_file import read_problem_file
from psips.problem.tolerance import is_right, only_right
from psips.report import report
from psips.rules import Rules
from psips.session.tolerance_report import Saving, earlier
from psips.session.verdicts import verdicts_of
from psips.simulation import simulate
from psips.simulation.comparing import compare, read_designs
from psips.simulation.environments import environment_of
from psips.state.account import Claims, Pieces
from psips.study import Study
from psips.theory.geometry import complexity

EPSILON = 0.3


def problem(d: int = 2, K: int = 3, **choices: Any) -> Problem:
    objectives = [f"m{c}" for c in range(d)]
    return Problem(
        objectives=objectives, **{"covariance": np.ones(d), "arms": K, "epsilon": 0.3} | choices
    )


def right_by_words(values: np.ndarray, inside: tuple[bool, ...], epsilon: np.ndarray) -> bool:
    """The definition, one answer and one objective at a time."""
    n, d = values.shape
    for z in range(n):
        others = [x for x in range(n) if x != z]
        if inside[z]:
            if any(
                all(values[x, c] > values[z, c] + epsilon[c] for c in range(d)) for x in others
            ):
                return False
        elif not any(
            inside[x] and all(values[x, c] >= values[z, c] - epsilon[c] for c in range(d))
            for x in others
        ):
            return False
    return True


def test_sets_that_are_right() -> None:
    rng = np.random.default_rng(1)
    counts = set()
    for _ in range(60):
        values, epsilon = rng.normal(size=(4, 2)), rng.choice([0.0, 0.3, 0.8], 2)
        if not epsilon.any():
            continue
        sets = list(product([False, True], repeat=4))
        right = [s for s in sets if right_by_words(values, s, epsilon)]
        assert [s for s in sets if is_right(values, np.array(s), epsilon)] == right
        best = tuple(naive.pareto_mask(values).tolist())
        assert best in right
        assert only_right(values, epsilon) == (right == [best])
        counts.add(min(len(right), 3))
    assert counts == {1, 2, 3}


def test_an_instance_counts_by_the_definition() -> None:
    made = Instance("", problem(), np.array([[0.0, 0.0], [-0.1, 0.2], [-1.0, -1.0]]))
    assert made.is_right(["arm 1", "arm 2"])
    assert made.is_right(["arm 1"])
    assert made.is_right(["arm 2"])
    assert not made.is_right(["arm 1", "arm 3"])
    assert not made.is_right([])
    exact = made.asking(epsilon=None)
    assert exact.is_right(["arm 1", "arm 2"])
    assert not exact.is_right(["arm 1"])


@pytest.mark.parametrize("d", [1, 2, 3])
def test_pieces_cover_every_truth_at_which_the_set_is_wrong(d: int) -> None:
    """And their claims are false there; with pairs of members alone some are not covered."""
    rng = np.random.default_rng(d)
    seen = missed = 0
    for _ in range(30):
        mu = rng.normal(size=(5, d))
        p = posterior_at(np.eye(d), mu, rng.integers(1, 50, 5), slack=-EPSILON)
        p.theta[:] = mu
        inside = naive.pareto_mask(mu)
        found = predict(p, inside, 3.0)
        pieces, claims = Pieces(*found[0]), Claims(*found[1])
        for _ in range(200):
            theta = mu + rng.choice([0.3, 1.0]) * rng.normal(size=mu.shape)
            if right_by_words(theta, tuple(inside.tolist()), np.full(d, EPSILON)):
                continue
            seen += 1
            holding = [
                k
                for k in range(len(pieces.z))
                if all(
                    theta[pieces.z[k], c] >= theta[x, c] + EPSILON
                    for x, c in zip(
                        pieces.xs[k][: pieces.length[k]], pieces.cs[k], strict=False
                    )
                )
            ]
            assert holding
            missed += all(
                inside[pieces.xs[k, 0]] and not inside[pieces.z[k]] and k < size_of(inside, 5)
                for k in holding
            )
            for k in holding[:3]:
                for o in range(claims.first[k], claims.first[k + 1]):
                    arms = claims.arms[o, : claims.involved[o]]
                    lead = claims.offset[o] + sum(
                        claims.G[o, a] @ theta[arm] for a, arm in enumerate(arms)
                    )
                    assert lead <= 1e-9
    assert seen > 500
    assert missed > 0 or d == 1  # members below an answer outside, which nothing else covers


def size_of(inside: np.ndarray, n: int) -> int:
    return int(inside.sum()) * (n - 1)


def verdicts_by_hand(
    one: Problem, mu: np.ndarray, N: np.ndarray, epsilon: float, delta: float
) -> list[str]:
    """Verdicts from every claim by itself, at the largest level of all sizes."""
    n, d = mu.shape
    Y = naive_certificates.directions(d, one.covariance)
    levels = [
        max(naive_certificates.level(one, kind, size, delta) for size in range(1, n + 1))
        for kind in range(3)
    ]
    inside = naive.pareto_mask(mu)

    def found_for(i: int, j: int, k: int) -> float:
        lead = Y[k] @ (mu[i] - mu[j] + epsilon)
        s = float(np.sqrt(Y[k] @ one.covariance @ Y[k]))
        found = naive_certificates.evidence(N[i], N[j], s, lead)
        return found - (0.0 if k < d else float(np.log(4)))

    found = []
    for z in range(n):
        others = [x for x in range(n) if x != z]
        if inside[z]:
            proven = all(
                max(found_for(z, x, k) for k in range(len(Y))) >= levels[2] + 2e-3
                for x in others
            )
        else:
            proven = any(
                min(found_for(x, z, c) for c in range(d)) >= max(levels[:2]) + 2e-3
                for x in others
                if inside[x]
            )
        found.append(("in" if inside[z] else "out") if proven else "open")
    return found


def test_verdicts_against_every_claim_by_itself() -> None:
    rng = np.random.default_rng(3)
    one = problem(K=4)
    seen: list[str] = []
    differ = 0
    for _ in range(8):
        mu, N = rng.normal(size=(4, 2)), rng.integers(20, 300, 4).astype(float)
        session = Session(one, delta=0.1, stopping="never", rng=1)
        session.engine.know(N, N[:, None] * mu)
        session.engine.judge()
        found = [v.verdict for v in verdicts_of(one, session.engine)]
        assert found == verdicts_by_hand(one, mu, N, EPSILON, 0.1)
        differ += found != verdicts_by_hand(one, mu, N, 0.0, 0.1)
        seen += found
    assert differ > 2
    assert set(seen) == {"in", "out", "open"}


def test_t_star_of_two_arms() -> None:
    for gap in (0.0, 0.2, 1.0):
        found = complexity(problem(d=1, K=2), [[gap], [0.0]])
        assert found.t_star == pytest.approx(8 / (gap + EPSILON) ** 2, rel=2e-3)
        assert found.unique == (gap > EPSILON)
        assert (found.lower_bound_kl(0.1) > 0) == found.unique
    with pytest.raises(InputError, match="T\\* is infinite"):
        complexity(problem(d=1, K=2, epsilon=None), [[0.0], [0.0]])


def test_t_star_is_bounded_by_the_tolerance() -> None:
    """Whatever the truth: each of n arms has a share, and every piece is epsilon away."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        theta = np.round(rng.normal(size=(4, 2)), 1)  # with ties
        found = complexity(problem(K=4), theta, tolerance=0.05)
        assert found.t_star <= 2 * 4 * 2 / EPSILON**2


RULES: list[dict[str, Any]] = [
    {},
    {"stopping": "predicted"},
    {"stopping": "certified"},
    {"stopping": "bayes"},
    {"calibration": "proven"},
    {"stopping": "posterior", "calibration": "proven"},
    {"sampling": "posterior"},
    {"sampling": "track-and-stop"},
]
WITH_TIES = np.array([[0.0, 0.0], [0.0, 0.0], [-0.4, -0.4]])


@pytest.mark.parametrize("choices", RULES, ids=str)
def test_exact_ties_stop_with_a_set_that_is_right(choices: dict[str, Any]) -> None:
    made = Instance("", problem(), WITH_TIES)
    sets = set()
    for seed in range(12):
        run = simulate(
            made.problem, environment_of(made), rng=seed, max_results=50_000, **choices
        )
        assert run.stopped
        sets.add(run.candidate_set)
        assert made.is_right(run.candidate_set) or choices.get("stopping") == "bayes"
    assert len(sets) > 1 or "calibration" in choices  # these wait for the cheapest to prove


@pytest.mark.parametrize("stopping", ["glr", "predicted", "certified"])
def test_errors_by_the_definition(stopping: str) -> None:
    """An option beaten by a little more than the tolerance, in 300 runs; a rule that takes
    the tolerance for larger than it is errs more often than delta."""
    means = np.array([[0.0], [-1.01 * EPSILON]])

    def wrong(believed: float) -> int:
        made = Instance("", problem(d=1, K=2, epsilon=believed), means)
        truth = made.asking(epsilon=EPSILON)
        runs = [
            simulate(made.problem, environment_of(made), rng=seed, stopping=stopping)
            for seed in range(300)
        ]
        return sum(not truth.is_right(run.candidate_set) for run in runs)

    assert wrong(EPSILON) <= 30
    assert wrong(4 * EPSILON) > 30


SPEEDS = {"fast": (1.0, 5.0), "slow": (2.0, 5.0), "p": (3.0, 1.0), "q": (3.04, -1.0)}


def compared(seed: int, **choices: Any) -> Session:
    """Time and memory of four programs; memory of fast and slow is the same."""
    made = Problem(
        arms=list(SPEEDS),
        objectives={"time": "min", "memory": "min"},
        covariance=[0.04, 1.0],
        epsilon={"memory": 0.5},
    )
    session = Session(made, rng=seed, **choices)
    lab = np.random.default_rng(seed + 1000)
    while not session.stopped:
        arm = session.ask()
        session.tell(arm, lab.normal(SPEEDS[arm], (0.2, 1.0)))
    return session


def test_an_option_that_another_replaces_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as slow, in no more memory: the estimates put it into half of the sets."""

    def absurd() -> int:
        runs = [compared(seed, sampling="round-robin") for seed in range(12)]
        assert all({"fast", "p", "q"} <= set(run.pareto_set or ()) for run in runs)
        return sum("slow" in (run.pareto_set or ()) for run in runs)

    assert absurd() <= 1
    monkeypatch.setattr("psips.session.engine.Engine._prefers_smaller", lambda _: False)
    assert absurd() >= 4


def test_the_wait_for_a_smaller_set_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most a tenth of the results more, and the same run until then."""
    waited = [compared(seed) for seed in range(8)]
    monkeypatch.setattr("psips.session.engine.Engine._prefers_smaller", lambda _: False)
    for seed, run in enumerate(waited):
        before = compared(seed)
        assert before.results <= run.results <= 1.1 * before.results + 2
        if run.results == before.results:
            assert set(run.pareto_set or ()) <= set(before.pareto_set or ())
    assert any(run.results > 1.02 * compared(seed).results for seed, run in enumerate(waited))


def test_a_restored_session_waits_for_the_smaller_set_as_before() -> None:
    whole = compared(3)
    half = Session(whole.problem, rng=3)
    lab = np.random.default_rng(1003)
    while not half.stopped:
        arm = half.ask()
        half.tell(arm, lab.normal(SPEEDS[arm], (0.2, 1.0)))
        half.engine.restore(half.engine.snapshot())
    assert (half.results, half.pareto_set) == (whole.results, whole.pareto_set)
    half.engine.restore(half.engine.snapshot())
    assert half.pareto_set == whole.pareto_set


def test_a_table_told_at_once_does_not_wait() -> None:
    run = compared(1)
    frame = run.to_frame().iloc[: run.results]
    again = Session(run.problem, rng=1)
    again.tell(frame)
    assert again.stopped


def replaced(mu: np.ndarray, epsilon: np.ndarray, x: int, z: int) -> bool:
    lead = mu[x] - mu[z]
    return bool((lead >= -epsilon).all() and (lead > epsilon).any())


@pytest.mark.parametrize("d", [2, 3])
def test_the_smaller_set_by_brute_force(d: int) -> None:
    """Every member left out is replaced by one that stays; none that stays, by one that
    replaced no one could be left out as well; a circle keeps at least one."""
    rng = np.random.default_rng(5)
    seen = 0
    for _ in range(60):
        mu = rng.normal(size=(7, d))
        epsilon = np.full(d, 0.8)
        made = Problem(objectives=[f"m{c}" for c in range(d)], covariance=np.ones(d), arms=7)
        engine = Session(made.asking(epsilon=0.8), rng=1).engine
        engine.know(np.full(7, 4.0), 4.0 * mu, 4.0 * mu)
        search = engine._scratch_search()
        out, found, _ = engine._weigh_smaller(search)
        whole = np.flatnonzero(naive.pareto_mask(mu))
        inside = np.flatnonzero(search.front.inside)
        gone = sorted(set(whole.tolist()) - set(inside.tolist()))
        assert len(gone) == out
        for z in gone:
            assert any(replaced(mu, epsilon, x, z) for x in inside)
        if not out:
            assert not any(replaced(mu, epsilon, x, z) for x in whole for z in whole)
            continue
        seen += 1
        assert is_right(mu, search.front.inside, epsilon)
        naive_value = naive_evidence(mu, inside, epsilon)
        assert found <= naive_value + 1e-9
    assert seen > 20


def naive_evidence(mu: np.ndarray, inside: np.ndarray, epsilon: np.ndarray) -> float:
    """Half the squared distance to where a member is beaten by more than epsilon, with four
    results of unit variance each: an upper bound of the evidence for the set."""
    n = len(mu)
    least = np.inf
    for i in inside:
        for j in range(n):
            if i != j:
                short = np.maximum(mu[i] - mu[j] + epsilon, 0.0)
                least = min(least, float((short**2).sum()))
    for z in set(range(n)) - set(inside.tolist()):
        if len(inside) == 1:
            short = np.maximum(mu[inside[0]] - mu[z] + epsilon, 0.0)
            least = min(least, float(short.min() ** 2))
    return least  # 0.5 * N / 2 * square with N = 4


def test_a_tolerance_saves_and_costs_nothing_where_there_is_none() -> None:
    made = instance("near-tie")
    runs = {}
    for epsilon in (None, 0, {}, 0.2):
        one = made.asking(epsilon=epsilon)
        runs[str(epsilon)] = simulate(one.problem, environment_of(one), rng=5)
        runs[str(epsilon)] = (runs[str(epsilon)].results, runs[str(epsilon)].pulls)
    assert runs["None"] == runs["0"] == runs["{}"]
    assert runs["0.2"][0] < 0.5 * runs["None"][0]


def test_designs_without_a_tolerance_are_as_they_were() -> None:
    one = problem(epsilon=None)
    assert "epsilon" not in one.to_dict()
    assert problem(epsilon={"m0": 0.0}) == one
    kept = problem(epsilon={"m1": 0.5})
    assert kept.to_dict()["epsilon"] == {"m1": 0.5}
    assert Problem.from_dict(kept.to_dict()) == kept


def test_a_percentage_follows_the_control() -> None:
    one = problem(K=2, arms=["A", "B"], control="A", epsilon={"m0": "10%", "m1": 0.5})
    assert Problem.from_dict(one.to_dict()) == one
    sessions = [Session(one, rng=1) for _ in range(2)]
    for value, session in zip((20.0, 40.0), sessions, strict=True):
        session.tell("A", [value, 1.0])
        session.tell("B", [value, 1.0])
    slacks = [session.engine._search.posterior.slack.tolist() for session in sessions]
    assert slacks == [[-2.0, -0.5], [-4.0, -0.5]]
    made = Instance("", one, np.array([[20.0, 0.0], [18.5, 0.0]]))
    assert made.epsilon.tolist() == [2.0, 0.5]
    assert made.is_right(["B"])
    run = simulate(one, environment_of(made), rng=1)
    assert run.stopped
    assert run.results < 60


def test_percentages_of_logarithms_need_no_control() -> None:
    one = Problem(
        objectives={"latency": {"direction": "min", "transform": "log"}},
        covariance=[1],
        arms=2,
        epsilon="5%",
    )
    assert one.tolerance.amounts[0] == pytest.approx(np.log(1.05))
    assert not one.tolerance.relative


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"epsilon": -0.1}, "the tolerance on 'm0' must be at least 0 and finite, got -0.1"),
        ({"epsilon": float("inf")}, "must be at least 0 and finite"),
        ({"epsilon": {"m7": 0.1}}, "unknown objective in the tolerance 'm7'"),
        ({"epsilon": "5%"}, "is a part of a control's value: name the control"),
        ({"epsilon": "five"}, "must be a number, or a percentage such as '5%', got 'five'"),
        ({"epsilon": {"m0": [1]}}, "must be a number, or a percentage"),
        ({"epsilon": {"m0": "-5%"}, "control": "arm 1"}, "must be at least 0 and finite"),
        (
            {"epsilon": "5%", "control": "a", "features": [[1.0], [2.0]], "arms": ["a", "b"]},
            "cannot be used for arms with features: give a number",
        ),
    ],
)
def test_bad_tolerances(choices: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence.replace("(", "\\(")) as error:
        problem(K=2, **choices)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("epsilon", "choices", "sentence"),
    [
        (0.1, {"sampling": "ape"}, "'ape' has no use for a tolerance: choose stopping='glr'"),
        (0.1, {"sampling": "elimination"}, "'elimination' has no use for a tolerance"),
        (0.1, {"goal": "settle arm 1"}, "leave epsilon out, or the goal"),
        ("5%", {"stopping": "certified"}, "give numbers, or choose stopping='glr'"),
        ("5%", {"calibration": "proven"}, "give numbers, or choose stopping='glr'"),
    ],
)
def test_rules_without_a_use_for_it(
    epsilon: Any, choices: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        Session(problem(epsilon=epsilon, control="arm 1"), rng=1, **choices)


FILE = """
name = "trial"
arms = ["A", "B", "C"]
epsilon = {efficacy = 0.3}
[[objectives]]
name = "efficacy"
variance = 1.0
[truth]
A = [1.0]
B = [0.9]
C = [0.0]
[guess]
A = [1.0]
B = [0.9]
C = [0.0]
"""


def file(tmp_path: Path, text: str = FILE) -> Path:
    path = tmp_path / "trial.toml"
    path.write_text(text)
    return path


def test_in_files(tmp_path: Path) -> None:
    found = read_problem_file(file(tmp_path))
    assert str(found.problem.tolerance) == "0.3 on efficacy"
    assert found.instance.is_right(["B"])
    with pytest.raises(InputError, match="unknown objective in the tolerance 'efficcy'"):
        read_problem_file(file(tmp_path, FILE.replace("{efficacy =", "{efficcy =")))


def told(name: Path, seed: int = 1) -> Study:
    study = Study.create(name, "sqlite://", seed=seed)
    lab = np.random.default_rng(seed)
    truth = {"A": 1.0, "B": 0.9, "C": 0.0}
    while not study.stopped:
        for ticket in study.ask(4):
            study.tell(ticket, lab.normal(truth[ticket.arm]))
    return study


def test_a_study_says_what_may_be_otherwise(tmp_path: Path) -> None:
    study = told(file(tmp_path))
    assert study.verify().problems == ()
    text = " ".join(str(study.status()).split())
    assert "tolerance: 0.3 on efficacy" in text
    assert "may be left out" in text
    left, stands = ("A", "B") if study.pareto_set == ("B",) else ("B", "A")
    assert study.pareto_set == (stands,)
    assert f"{left} ({stands} stands for it)" in text
    words = report(study)
    assert "Pareto-optimal within the tolerance" in words
    assert "Several sets can be right" in words
    assert "0.3 on efficacy" in words
    assert study.savings() == ()


def test_what_a_tolerance_would_have_saved(tmp_path: Path) -> None:
    study = told(file(tmp_path, FILE.replace("epsilon = {efficacy = 0.3}", "")))
    none, some = study.savings(0.0, {"efficacy": 0.3})
    assert some.stopped is not None
    assert some.stopped < 0.7 * study.results
    assert str(some).startswith(
        "with a tolerance of 0.3 on efficacy this would have stopped at"
    )
    for saving, epsilon in ((none, 0.0), (some, 0.3)):  # told one by one; the study in fours
        again = Session(study.problem.asking(epsilon=epsilon), rules=study.rules, rng=1)
        for number, result in enumerate(study.told, start=1):
            again.tell(result.arm, result.values)
            if again.stopped:
                assert saving.stopped == number
                break
        assert again.stopped
        assert again.candidate_set == saving.candidate_set
    assert [one.tolerance for one in study.savings()][1] == "a tolerance of 0.1 on efficacy"
    assert "A tolerance would have stopped this earlier" in report(study)


def test_designs_side_by_side(tmp_path: Path) -> None:
    designs = read_designs([read_problem_file(file(tmp_path))], ["epsilon=0,0.3"])
    assert [one.name for one in designs] == ["epsilon 0", "epsilon 0.3"]
    exact, tolerant = compare(designs, runs=20, cap=20_000).designs
    assert tolerant.samples < 0.5 * exact.samples


def test_on_the_command_line() -> None:
    run = CliRunner()
    words = ["simulate", "near-tie", "--gap", "0.02", "--runs", "3", "--epsilon", "0.5"]
    done = run.invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    done = run.invoke(app, ["complexity", "near-tie", "--epsilon", "0.5"])
    assert "other sets are right too" in done.output
    done = run.invoke(app, ["complexity", "near-tie", "--epsilon", "much"])
    assert isinstance(done.exception, InputError) or done.exit_code == 2


def test_promises_say_what_is_wrong() -> None:
    from psips.rules.promises import promise

    assert "Several sets can be right." in promise(Rules(), problem())
    assert "Several sets" not in promise(Rules(), problem(epsilon=None))


def test_tolerances_that_save_as_much_are_named_once() -> None:
    def saving(amount: float, stopped: int | None, *names: str) -> Saving:
        return Saving(f"a tolerance of {amount:g} on x", stopped, names, 20)

    found = [saving(0.1, 20, "A"), saving(0.2, 12, "A"), saving(0.3, 12, "A")]
    assert earlier(found) == "0.2 on x at 12 results, with A"
    other = saving(0.4, 9, "B")
    assert earlier([*found, other]) == "0.2 on x at 12 results with A; 0.4 on x at 9 with B"
    assert earlier([saving(0.1, None, "A"), saving(0.2, 20, "A")]) == ""
