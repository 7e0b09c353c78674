"""Of these items: the error of the means over all of a list goes to 0 at its end."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import binomtest
from typer.testing import CliRunner

from psips import InputError, Problem, Session, Study, evaluate
from psips.cli import app
from psips.evaluation.matrix import replay
from psips.evaluation.scores import Scores
from psips.report.document import report
from psips.session import finite
from psips.study.outliers import FarValueWarning

DELTA = 0.1


def brute_force(told, within, between, N: int) -> tuple[np.ndarray, np.ndarray]:
    """Means over N items and the covariance of their errors, from all cells at once.

    ``told`` are (arm, item, values). Every cell of the table is part of one Gaussian vector,
    with flat means by arm: those that were told are known, the others predicted.
    """
    K, d = within.shape[:2]
    wide = K * d
    one = np.kron(np.ones((K, K)), between)
    for a in range(K):
        at = slice(a * d, a * d + d)
        one[at, at] += within[a]
    whole = np.kron(np.eye(N), one)
    X = np.tile(np.eye(wide), (N, 1))
    seen, y = np.zeros(N * wide, bool), np.zeros(N * wide)
    for a, j, values in told:
        at = slice(j * wide + a * d, j * wide + a * d + d)
        seen[at], y[at] = True, values
    o, u = np.flatnonzero(seen), np.flatnonzero(~seen)
    P = np.linalg.inv(whole[np.ix_(o, o)])
    G = np.linalg.inv(X[o].T @ P @ X[o])
    mu = G @ X[o].T @ P @ y[o]
    L = whole[np.ix_(u, o)] @ P
    y[u] = X[u] @ mu + L @ (y[o] - X[o] @ mu)
    D = X[u] - L @ X[o]
    C = whole[np.ix_(u, u)] - L @ whole[np.ix_(o, u)] + D @ G @ D.T
    W = X.T / N
    return (W @ y).reshape(K, d), W[:, u] @ C @ W[:, u].T


def table(rng: np.random.Generator, K: int, N: int, d: int) -> np.ndarray:
    return rng.normal(size=(1, N, d)) + 0.6 * rng.normal(size=(K, N, d))


def begin(K: int, N: int, d: int, **more) -> Session:
    objectives = {f"m{c}": "max" for c in range(d)}
    problem = Problem(objectives=objectives, arms=K, items=[f"q{j}" for j in range(N)])
    return Session(problem, rng=1, of="these", **more)


def step(session: Session, values: np.ndarray) -> tuple[int, int]:
    ticket = session.ask()
    a, j = session.problem.arms.index(ticket.arm), int((ticket.item or "")[1:])
    session.tell(ticket, values[a, j])
    return a, j


def test_means_and_errors_are_those_of_all_cells_at_once() -> None:
    K, N, d = 3, 25, 2
    values = table(np.random.default_rng(1), K, N, d)
    session = begin(K, N, d, stopping="never")
    engine, told, compared = session.engine, [], 0
    while session.has_next:
        a, j = step(session, values)
        told.append((a, j, values[a, j]))
        if engine.informed and len(told) % 9 == 0:
            compared += 1
            least = [(a, j, x - engine.origin) for a, j, x in told]
            between = engine._root @ engine._root.T
            means, C = brute_force(least, engine._inflated, between, N)
            assert np.allclose(engine.belief.theta, means + engine.origin, atol=1e-12)
            assert np.allclose(engine.belief.G, C, atol=1e-7)
            F = engine.belief.F
            assert np.allclose(F @ F.T, engine.belief.G, atol=1e-12)
            assert np.allclose(np.tril(F, -1), 0.0)
    assert compared > 4
    assert np.allclose(engine.belief.theta, values.mean(axis=1), atol=1e-12)
    assert np.sqrt(np.diagonal(session.status().covariances, axis1=1, axis2=2)).max() < 1e-12


def test_two_arms_on_the_same_items_are_a_sample_without_replacement() -> None:
    """The variance of the difference is that of the textbook, s^2 (1/n - 1/N)."""
    K, N, n = 2, 40, 16
    values = table(np.random.default_rng(2), K, N, 1)
    session = begin(K, N, 1, stopping="never")
    for j in range(n):
        for a in range(K):
            session.tell(f"arm {a + 1}", values[a, j], item=f"q{j}")
    engine = session.engine
    C = engine.belief.G
    found = C[0, 0] + C[1, 1] - 2 * C[0, 1]
    s2 = engine._inflated.sum()
    assert found == pytest.approx(s2 * (1 / n - 1 / N), rel=1e-5)
    assert engine.clock == int(2 * n / (1 - n / N))


def nearly_tied(seed: int, N: int) -> tuple[bool, int]:
    """One run on two arms of which the second is behind by next to nothing: (wrong, cells)."""
    rng = np.random.default_rng([seed, N])
    values = table(rng, 2, N, 1)
    values[1] += (values[0] - values[1]).mean() - 1e-6
    order = rng.permutation(N)
    problem = Problem(objectives={"x": "max"}, arms=2, items=[f"q{j}" for j in order])
    session = Session(problem, rng=seed, of="these", delta=DELTA)
    while not session.stopped:
        step(session, values)
    return session.candidate_set != ("arm 1",), session.results


def wrong_sets(runs: int) -> int:
    return sum(nearly_tied(seed, 40)[0] for seed in range(runs))


def too_often(wrong: int, runs: int) -> bool:
    return binomtest(wrong, runs, DELTA, alternative="greater").pvalue < 1e-3


def test_near_ties_are_wrong_no_more_often_than_delta() -> None:
    assert not too_often(wrong_sets(80), 80)


def test_a_correction_that_is_too_large_would_be_seen(monkeypatch) -> None:
    honest = finite.over_all

    def broken(sums, seen, items, *more):
        means, C = honest(sums, seen, items, *more)
        share = np.sqrt(np.maximum(1.0 - seen / items, 1e-9)).repeat(len(C) // len(seen))
        return means, C * np.outer(share, share)

    monkeypatch.setattr(finite, "over_all", broken)
    assert too_often(wrong_sets(80), 80)


def crossings(paths: np.ndarray, t: np.ndarray, level: float) -> float:
    """Share of paths whose evidence reaches a level at some look."""
    return float((0.5 * paths**2 * t >= level).any(axis=1).mean())


def without_replacement(rng, runs: int, N: int, looks: np.ndarray) -> np.ndarray:
    """Means of the first n items less the mean of all, over the standard deviation."""
    values = rng.normal(size=(runs, N))
    values -= values.mean(axis=1, keepdims=True)
    values /= values.std(axis=1, ddof=1, keepdims=True)
    return np.cumsum(values, axis=1)[:, looks - 1] / looks


def independent(rng, runs: int, t: np.ndarray) -> np.ndarray:
    """The same of as many independent values: Brownian motion at t, over t."""
    steps = np.sqrt(np.diff(t, prepend=0.0)) * rng.normal(size=(runs, len(t)))
    return np.cumsum(steps, axis=1) / t


def test_by_its_clock_it_is_as_independent_results_are() -> None:
    rng, runs, N = np.random.default_rng(4), 20_000, 60
    looks = np.arange(10, N)
    t = looks / (1.0 - looks / N)
    paths, others = without_replacement(rng, runs, N, looks), independent(rng, runs, t)
    covariance = paths.T @ paths / runs
    assert np.allclose(covariance, 1.0 / np.maximum.outer(t, t), atol=0.004)
    for level in (2.0, 3.0, 4.0):
        found, wanted = crossings(paths, t, level), crossings(others, t, level)
        assert found == pytest.approx(wanted, abs=5 * np.sqrt(wanted / runs))
    slow = looks.astype(float)  # a clock that does not know of the end
    assert crossings(others, t, 3.0) > 1.2 * crossings(independent(rng, runs, slow), slow, 3.0)


def tied(N: int = 30) -> Scores:
    """Two options with the same accuracy on these items, one of them cheaper."""
    rng = np.random.default_rng(5)
    first = (rng.random(N) < 0.6).astype(float)
    second = rng.permutation(first)
    cost = np.stack([2.0 + 0.1 * rng.normal(size=N), 1.0 + 0.1 * rng.normal(size=N)])
    values = np.stack([np.stack([first, second]), cost], axis=2)
    return Scores(["dear", "cheap"], [f"q{j}" for j in range(N)], ["accuracy", "cost"], values)


def test_at_the_end_all_is_certain_even_ties() -> None:
    found = replay(tied(), of="these")
    assert found.certain
    assert found.stopped
    assert found.pareto_set == found.whole == ("cheap",)
    assert found.probability == 1.0
    assert "Pareto set of these items, for certain: cheap" in found.sentences
    assert "of these items the set is certain" in str(found.status)
    other = replay(tied())
    assert not other.stopped
    assert not other.certain


def large(N: int) -> Scores:
    rng = np.random.default_rng(3)
    values = table(rng, 3, N, 2) + np.array([[0.25, 0.0], [0.0, 0.25], [-0.5, -0.5]])[:, None]
    items = [f"q{j}" for j in range(N)]
    return Scores(["a", "b", "c"], items, ["accuracy", "speed"], values)


def test_of_these_items_less_is_to_be_measured() -> None:
    these, others = replay(large(150), of="these"), replay(large(150))
    assert these.stopped
    assert these.pareto_set == these.whole
    assert these.cells < others.cells


def test_the_command(tmp_path) -> None:
    scores = tied()
    rows = ["arm,item,accuracy,cost"]
    for a, arm in enumerate(scores.arms):
        for j, item in enumerate(scores.items):
            rows.append(f"{arm},{item}," + ",".join(map(repr, scores.values[a, j].tolist())))
    path = tmp_path / "t.csv"
    path.write_text("\n".join([*rows, "cheap,alone,1,1"]))
    done = CliRunner().invoke(app, ["matrix", str(path), "--of", "these"])
    assert done.exit_code == 0, done.output
    assert "Pareto set of these items, for certain: cheap" in done.stdout
    assert "1 item of 31 left out, which some arm lacks" in done.stdout
    done = CliRunner().invoke(
        app, ["matrix", str(path), "--of", "these", "--limit", "cost <= 3"]
    )
    assert "leave out the limits, or --of these" in str(done.exception)


def test_a_session_goes_on_from_its_snapshot() -> None:
    values = table(np.random.default_rng(6), 3, 20, 2)
    session = begin(3, 20, 2, delta=1e-6)
    for _ in range(35):
        step(session, values)
    twin = Session.restore(json.loads(json.dumps(session.snapshot())))
    while session.has_next:
        assert step(session, values) == step(twin, values)
        assert np.allclose(twin.engine.belief.theta, session.engine.belief.theta, atol=1e-12)
        assert twin.stopped == session.stopped
    assert twin.stopped


def test_what_makes_no_sense_is_refused() -> None:
    problem = Problem(objectives={"x": "max"}, arms=2, items=True)
    with pytest.raises(InputError, match="needs a list of all of them"):
        Session(problem, of="these")
    with pytest.raises(InputError, match="of must be 'these' or 'like these'"):
        Session(problem, of="those")
    listed = Problem(objectives={"x": "max"}, arms=2, items=["q1", "q2"])
    with pytest.raises(InputError, match="needs the stopping rule glr or never"):
        Session(listed, of="these", stopping="bayes")
    with pytest.raises(InputError, match="say of each result which it is of"):
        Session(listed, of="these").tell("arm 1", [1.0])


def dear_items(seed: int, N: int = 40) -> np.ndarray:
    """Costs of two options: the second a little cheaper on most items, far costlier on two."""
    rng = np.random.default_rng(seed)
    values = 10.0 + 0.3 * rng.normal(size=(1, N)) + 0.1 * rng.normal(size=(2, N))
    values[1] -= 1.0
    values[1, rng.permutation(N)[:2]] += N / 2
    return values


def test_tables_in_which_few_items_decide_are_doubted() -> None:
    """No rule can tell what is in none of the cells it has seen, so the answer says so."""
    values = dear_items(1)
    items = [f"q{j}" for j in range(40)]
    found = replay(Scores(["a", "b"], items, ["cost"], values[..., None]), of="these")
    doubt = "cost: a few items make up much of the mean of 'a', 'b', so that a wrong set"
    assert any(doubt in one and "--log cost" in one for one in found.notes)
    even = 10.0 + table(np.random.default_rng(1), 2, 40, 1)
    plain = Scores(["a", "b"], items, ["cost"], even)
    assert not any("few items" in one for one in replay(plain, of="these").notes)


def test_what_is_measured_live_says_that_few_items_decide(tmp_path) -> None:
    """Sessions, studies, reports and `evaluate` use the diagnosis of tables."""
    values = dear_items(1)
    dear_first = [str(j) for j in np.argsort(-values[1])]
    costs = {"objectives": {"cost": "min"}, "arms": ["a", "b"], "items": dear_first}
    rows = [
        {"arm": arm, "item": item, "cost": float(values["ab".index(arm), int(item)])}
        for item in dear_first[:20]
        for arm in "ab"
    ]
    doubt = "cost: a few items make up much of the mean of 'a', 'b', so that a wrong set is "
    session = Session(Problem(**costs), rng=1, of="these", stopping="never")
    session.tell(rows)
    known = session.status()
    assert known.few_items.startswith(doubt)
    assert "transform = 'log'" in known.few_items
    assert "a few items make up" in str(known)
    even = Session(Problem(**costs), rng=1, of="these", stopping="never")
    even.tell([{**row, "cost": 10.0 + k % 7 + k % 2} for k, row in enumerate(rows)])
    assert even.status().few_items == ""
    store = f"sqlite:///{tmp_path / 'lab.db'}"
    study = Study.create(Problem(**costs), store, name="dear", of="these", stopping="never")
    with pytest.warns(FarValueWarning):
        study.tell_many(rows)
    assert study.status().few_items == known.few_items
    shown = CliRunner().invoke(app, ["study", "status", "dear", "--store", store, "--json"])
    assert json.loads(shown.stdout)["few_items"] == known.few_items
    assert "a few items make up" in report(study)
    found = evaluate(
        ["a", "b"],
        dear_first,
        lambda arm, item: values["ab".index(arm), int(item)],
        objectives={"cost": "min"},
        of="these",
        shuffle=False,
        budget=60,
        sampling="uniform",
        stopping="never",
        workers=1,
    )
    assert found.results == 60
    assert known.few_items in found.sentences
    for item in dear_first[20:]:
        session.tell([{"arm": a, "item": item, "cost": 1.0 + int(item)} for a in "ab"])
    assert session.status().few_items == ""  # nothing is left that could be otherwise
