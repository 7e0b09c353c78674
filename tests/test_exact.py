"""Metrics without noise: comparisons in them are facts, and cost no results."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psips import InputError, NoiseGuess, Problem, Session, Study
from psips.problem.exact import with_facts, without
from psips.problem.problem_file import read_problem_file
from psips.report import report
from psips.session.engine import Engine
from psips.simulation.environments import GaussianEnvironment
from psips.simulation.planning import plan
from psips.simulation.runs import simulate
from psips.study.checking import check_results
from psips.study.drafting import as_toml, draft_design, read_table
from psips.theory.geometry import complexity

EXACT = {"direction": "min", "kind": "exact"}
FLAGS = ["-O0", "-O1", "-O2", "-O3", "-Os"]
# run time, memory, binary size; -O2 and -Os tie in size with -O1: real ties
TRUTH = np.array(
    [
        [20.0, 9.0, 150.0],
        [14.0, 8.0, 100.0],
        [10.0, 8.0, 100.0],
        [9.0, 9.0, 130.0],
        [13.0, 7.0, 100.0],
    ]
)
SD = np.array([1.0, 0.5, 0.0])


def flags(**given: object) -> Problem:
    metrics = {"time": "min", "memory": "min", "size": "min"}
    return Problem(**{"objectives": metrics, "arms": FLAGS, **given})  # type: ignore[arg-type]


def known(**given: object) -> Problem:
    return flags(covariance=(SD**2).tolist(), **given)


def told_until_stop(
    problem: Problem, columns: list[int], seed: int, most: int = 5000
) -> Session:
    """A session told results that are the same whichever metrics it looks at."""
    noise = np.random.default_rng(seed).normal(size=(len(FLAGS), most, 3))
    session = Session(problem, rng=seed)
    counts = [0] * len(FLAGS)
    while not session.stopped and session.results < most:
        a = FLAGS.index(session.ask())
        session.tell(FLAGS[a], (TRUTH[a] + SD * noise[a, counts[a]])[columns].tolist())
        counts[a] += 1
    return session


# ------------------------------------------------------------------ the story


def test_a_metric_without_noise_blocks_nothing() -> None:
    """Flag sets with run time, memory and size, noise unknown: no more results."""
    ratios = []
    plain = Problem(objectives={"time": "min", "memory": "min"}, arms=FLAGS)
    for seed in range(24):
        whole = told_until_stop(flags(), [0, 1, 2], seed)
        assert whole.stopped
        assert set(whole.candidate_set) == {"-O2", "-O3", "-Os"}
        ratios.append(whole.results / told_until_stop(plain, [0, 1], seed).results)
    logs = np.log(ratios)  # the hardest comparison is one in which sizes tie
    high = math.exp(logs.mean() + 1.96 * logs.std(ddof=1) / math.sqrt(len(logs)))
    assert logs.mean() <= 0.0
    assert high <= 1.03, (np.exp(logs.mean()), high)


def test_it_is_found_and_said() -> None:
    session = told_until_stop(flags(), [0, 1, 2], 1)
    said = str(session.status())
    assert "'size' repeats exactly: treated as exact" in said
    row = session.status().arms.loc["-O3"]
    assert (row["size estimate"], row["size se"]) == (130.0, 0.0)
    assert list(session.status().answers.columns)[:6] == [
        f"{metric} {what}"
        for metric in ("time", "memory", "size")
        for what in ("estimate", "se")
    ]


def test_before_the_first_repeat_nothing_is_exact() -> None:
    session = Session(flags(), rng=1)
    for a, name in enumerate(FLAGS):
        session.tell(name, TRUTH[a] + [a, 0.1 * a, 0.0])
    assert session.exact.columns == ()
    session.tell("-O0", TRUTH[0] + [0.5, 0.5, 0.0])
    assert session.exact.columns == (2,)


def test_a_metric_that_was_found_exact_and_changes_is_noisy_for_good() -> None:
    session = told_until_stop(flags(), [0, 1, 2], 3)
    results, asks = session.results, session.pulls
    session.tell("-O0", [20.5, 9.0, 151.0])
    assert session.exact.columns == ()
    assert session.results == results + 1
    assert session.pulls == {**asks, "-O0": asks["-O0"] + 1}
    assert not session.stopped
    assert "'size' was taken for exact until a result differed" in str(session.status())
    session.tell("-O0", [20.5, 9.0, 150.0])
    assert session.exact.columns == ()


def test_a_stop_waits_for_enough_repeats() -> None:
    """Scores that are 5 nine times in ten look exact for a while: no stop rests on that."""
    problem = Problem(objectives={"score": "max", "time": "min"}, arms=["A", "B"])
    rng = np.random.default_rng(1)
    early = 0
    for seed in range(100):
        session = Session(problem, rng=seed)
        while not session.stopped and session.results < 60:
            arm = session.ask()
            score = 5.0 if rng.random() < 0.9 else 4.0
            session.tell(arm, [score, rng.normal() + 100.0 * (arm == "A")])
            if session.engine.stopped and session.exact.lacking:
                assert "no stop before 22 results repeat others" in session.status().exact
                assert not session.status().stopped
        early += session.stopped and session.exact.columns == (0,)
    assert early <= 18  # 10 on average; 0.9^4 of them if nothing waited


def test_a_stop_waits_for_repeats_of_each_arm() -> None:
    """One arm of twelve varies, and its mean is another than its most frequent value."""
    arms = [f"arm {k}" for k in range(12)]
    problem = Problem(objectives={"speed": "max", "score": "max"}, arms=arms)
    rng = np.random.default_rng(1)
    wrong = 0
    for seed in range(60):
        session = Session(problem, rng=seed)
        while not session.stopped and session.results < 150:
            arm = session.ask()
            k = arms.index(arm)
            score = (8.0 if rng.random() < 0.3 else 4.0) if k == 1 else 5.0  # mean 5.2
            session.tell(arm, [rng.normal(-4.0 * k), score])
        wrong += session.stopped and "arm 1" not in (session.pareto_set or ())
        if session.stopped and session.exact.columns == (1,):
            assert min(session.pulls.values()) >= 8
    assert wrong <= 9  # 0.7^8, 3 or 4, on average; 14 if repeats are counted over all arms


def test_repeats_of_arms_survive_a_restart() -> None:
    session = told_until_stop(flags(), [0, 1, 2], 1)
    again = Session.restore(session.snapshot())
    assert again.exact.lacking == session.exact.lacking == 0
    assert again.stopped


def test_ones_and_zeros_are_not_found_exact() -> None:
    """A binary metric that no one registered repeats as well."""
    problem = Problem(objectives=["score", "solved"], arms=["A", "B"])
    session = Session(problem, rng=1)
    for k in range(6):
        session.tell("A", [k + 0.1, 1])
        session.tell("B", [k / 3, 0])
    assert session.exact.columns == ()


def test_the_values_answer_if_every_metric_is_exact() -> None:
    """Sizes and prices: the set of the values, once enough results have repeated others."""
    truth = {"A": [1.5, 2.5], "B": [0.5, 3.5], "C": [0.5, 2.0]}
    session = Session(Problem(objectives=["a", "b"], arms=list(truth)), rng=1)
    for arm, values in truth.items():
        session.tell(arm, values)
    assert not session.stopped
    while not session.stopped:
        arm = session.ask()
        session.tell(arm, truth[arm])
        assert session.results < 60
    assert session.pareto_set == ("A", "B")
    assert set(session.pulls.values()) <= {8, 9}
    said = str(session.status())
    assert "stopped after" in said
    assert "?" not in said  # every value is known
    assert "'a', 'b' repeat exactly: treated as exact" in said
    assert list(session.status().answers["probability"]) == [1.0, 1.0, 0.0]
    assert list(session.status().noise.columns) == []  # type: ignore[union-attr]
    assert Session.restore(session.snapshot()).pareto_set == ("A", "B")
    receipt = session.tell("C", [0.6, 2.0])
    assert session.exact.columns == (1,)
    assert "'a' was taken for exact until a result differed" in receipt.exact
    assert session.stopped
    assert session.status().exact == "'b' repeats exactly: treated as exact"


def test_one_metric_is_registered_as_exact_and_the_other_is_found() -> None:
    size = {"direction": "min", "kind": "exact"}
    session = Session(Problem(objectives={"size": size, "price": "min"}, arms=2), rng=1)
    for _ in range(12):
        session.tell(session.problem.arms[0], [1, 2.5])
        session.tell(session.problem.arms[1], [2, 2.6])
    assert session.pareto_set == session.problem.arms[:1]
    assert list(session.status().arms["size estimate"]) == [1.0, 2.0]


def test_a_limit_where_every_metric_is_exact() -> None:
    problem = Problem(objectives={"a": "max", "b": "limit"}, arms=["A", "B"], limits=["b <= 3"])
    session = Session(problem, rng=1)
    for _ in range(30):
        session.tell("A", [1.5, 2.5])
        session.tell("B", [2.5, 3.5])
    assert session.pareto_set == ("A",)


def test_noise_that_was_guessed_or_given_is_believed() -> None:
    for given in ({"noise_guess": NoiseGuess([1, 1, 1], 2)}, {"covariance": [1, 1, 1]}):
        session = Session(flags(**given), rng=1)
        for _ in range(3):
            session.tell("-O0", [20.0, 9.0, 150.0])
        assert session.exact.columns == ()


# ------------------------------------------------------------------ what is registered


def test_ways_to_register() -> None:
    kind = flags(objectives={"time": "min", "memory": "min", "size": EXACT}, covariance=None)
    assert [scale.exact for scale in kind.scales] == [False, False, True]
    by_name = {"time": 1.0, "memory": 0.25}
    metrics = {"time": "min", "memory": "min", "size": EXACT}
    assert flags(objectives=metrics, covariance=by_name) == known()
    for problem in (kind, known()):
        assert Problem.from_dict(json.loads(json.dumps(problem.to_dict()))) == problem
        assert problem.noisy.objectives == ("time", "memory")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"objectives": {"time": "min", "size": EXACT}, "covariance": [1, 2]},
            "is exact.*given as 2",
        ),
        ({"objectives": {"time": EXACT, "size": EXACT}}, "every metric is exact"),
        ({"covariance": [[1, 0, 0.1], [0, 1, 0], [0.1, 0, 0]]}, "'time' and 'size' is 0.1"),
        ({"noise_guess": NoiseGuess([1, 1, 0], 3)}, "guessed to be 0: register it with kind"),
        (
            {"objectives": {"time": "min", "size": EXACT}, "features": np.arange(5.0)[:, None]},
            "'size' has no noise, and features",
        ),
        (
            {"objectives": {"time": "min", "size": {**EXACT, "kind": "exactly"}}},
            "did you mean 'exact'",
        ),
        (
            {"covariance": np.array([np.diag([1, 1, 0.0 if a else 1.0]) for a in range(5)])},
            "'size' is 0 for arm '-O1' and not for others",
        ),
    ],
)
def test_refusals(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        flags(**given)


def test_a_registered_metric_that_changes_is_refused() -> None:
    session = Session(known(), rng=1)
    session.tell("-O1", TRUTH[1])
    before = session.snapshot()
    with pytest.raises(
        InputError, match=r"was 100.0 for arm '-O1', got 101.0: correct the value"
    ):
        session.tell("-O1", [14.0, 8.0, 101.0])
    table = pd.DataFrame({"arm": ["-O2"] * 2, "time": 1.0, "memory": 1.0, "size": [3.0, 4.0]})
    with pytest.raises(InputError, match=r"was 3.0 for arm '-O2', got 4.0"):
        session.tell(table)
    assert session.snapshot() == before


def test_rules_of_comparison_are_refused() -> None:
    with pytest.raises(InputError, match="not made for metrics without noise, and 'size'"):
        Session(known(), sampling="ape", stopping="ape")


# ------------------------------------------------------------------ the law


def brute_force(mu: np.ndarray, C: np.ndarray, facts: np.ndarray, epsilon: float) -> float:
    """Squared distance to the nearest truth with another right set, all pieces listed.

    ``mu`` (n, d) and ``facts`` (n, e) are maximised, C (n,) the variance of each mean. Without
    branch and bound: "i below j", and for each z outside every choice of an objective for each
    member, the exact metrics resolved by hand.
    """
    n, d = mu.shape
    whole = np.hstack([mu, facts])
    inside = [z for z in range(n) if not any(_dominates(whole[x], whole[z]) for x in range(n))]
    nearest = math.inf
    for i, j in itertools.product(inside, range(n)):
        ahead = facts[j] - facts[i]
        if i != j and (ahead >= 0.0).all():
            gaps = np.maximum(mu[i] + epsilon - mu[j], 0.0)
            nearest = min(nearest, float((gaps**2).sum() / (C[i] + C[j])))
    for z in set(range(n)) - set(inside):
        holders = [x for x in inside if (facts[x] >= facts[z]).all()]
        for choice in itertools.product(range(d), repeat=len(holders)):
            square = 0.0
            for c in range(d):
                over = [x for x, e in zip(holders, choice, strict=True) if e == c]
                square += _pooled(mu[:, c], C, z, over, epsilon)
            nearest = min(nearest, square)
    return nearest


def _dominates(x: np.ndarray, z: np.ndarray) -> bool:
    return bool((x >= z).all() and (x > z).any())


def _pooled(mu: np.ndarray, C: np.ndarray, z: int, over: list[int], epsilon: float) -> float:
    """Squared distance to "z is above all these by epsilon", in one objective."""
    levels = sorted({mu[z], *(mu[x] + epsilon for x in over)})
    best = math.inf
    for low, high in itertools.pairwise([*levels, levels[-1] + 1.0]):
        above = [x for x in over if mu[x] + epsilon > low]
        weights = np.array([1 / C[z], *(1 / C[x] for x in above)])
        values = np.array([mu[z], *(mu[x] + epsilon for x in above)])
        level = float(np.clip((weights * values).sum() / weights.sum(), low, high))
        value = (level - mu[z]) ** 2 / C[z] if level > mu[z] else 0.0
        value += sum(max(mu[x] + epsilon - level, 0.0) ** 2 / C[x] for x in over)
        best = min(best, value)
    return best


def evidence(
    mu: np.ndarray, pulls: np.ndarray, facts: np.ndarray, epsilon: float = 0.0
) -> Engine:
    """A run that knows these means and facts."""
    n, d = mu.shape
    names = [f"m{c}" for c in range(d)] + [f"e{c}" for c in range(facts.shape[1])]
    objectives = {
        name: "max" if name[0] == "m" else {**EXACT, "direction": "max"} for name in names
    }
    slack = {f"m{c}": epsilon for c in range(d)} if epsilon else None
    problem = Problem(
        objectives=objectives,
        arms=n,
        covariance={name: 1.0 for name in names if name[0] == "m"},
        epsilon=slack,
    )
    session = Session(problem, rng=1)
    for a in range(n):
        for _ in range(int(pulls[a])):
            session.learn(a, np.concatenate([mu[a], facts[a]]))
    session.engine.judge()
    return session.engine


def cases() -> list[tuple[np.ndarray, np.ndarray, np.ndarray, float]]:
    rng = np.random.default_rng(5)
    found = []
    for k in range(40):
        n, d, e = int(rng.integers(2, 6)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
        facts = rng.integers(0, 3, size=(n, e)).astype(float)  # many real ties
        epsilon = 0.0 if k % 4 else 0.1
        found.append((rng.normal(size=(n, d)), rng.integers(1, 9, size=n), facts, epsilon))
    return found


@pytest.mark.parametrize("case", cases())
def test_set_and_evidence_are_those_of_the_constraints_resolved_by_hand(
    case: tuple[np.ndarray, np.ndarray, np.ndarray, float],
) -> None:
    mu, pulls, facts, epsilon = case
    engine = evidence(mu, pulls, facts, epsilon)
    whole = np.hstack([mu, facts])
    n = len(mu)
    front = [z for z in range(n) if not any(_dominates(whole[x], whole[z]) for x in range(n))]
    if not epsilon:
        assert engine.candidate == front
    wanted = brute_force(mu, 1.0 / pulls, facts, epsilon)
    found = _squared_distance(engine)
    assert found == pytest.approx(wanted, rel=1e-6, abs=1e-9)


def _squared_distance(engine: Engine) -> float:
    from psips._core import respond
    from psips.state.posterior import posterior_of

    belief, model = engine.belief, engine.model
    p = posterior_of(model, belief.N, belief.theta, belief.F)
    p.mu[:] = belief.theta
    p.C[:] = model.Sigma / belief.N[:, None, None]
    members = np.flatnonzero(np.asarray(engine.front.inside))
    return float(respond(p, members, np.inf)[0])


def test_the_law_catches_ties_that_are_taken_for_noise() -> None:
    """A version in which equal exact values bar each other is told from the right one."""
    wrong = 0
    for mu, pulls, facts, epsilon in cases():
        broken = facts + 1e-9 * np.arange(len(mu))[:, None]  # no ties any more
        wanted = brute_force(mu, 1.0 / pulls, facts, epsilon)
        found = _squared_distance(evidence(mu, pulls, broken, epsilon))
        wrong += found != pytest.approx(wanted, rel=1e-6, abs=1e-9)
    assert wrong >= 5


def test_posterior_probabilities_are_those_of_plain_draws() -> None:
    problem = known()
    session = Session(problem, rng=2)
    rng = np.random.default_rng(3)
    for _ in range(3):
        for a, name in enumerate(FLAGS):
            session.tell(name, TRUTH[a] + SD * rng.normal(size=3))
    means = session.engine.belief.theta
    sd = np.sqrt(np.array([1.0, 0.25]) / 3)
    draws = means + sd * rng.normal(size=(20_000, *means.shape))
    facts = -TRUTH[:, 2:]
    points = np.concatenate([draws, np.broadcast_to(facts, (20_000, 5, 1))], axis=2)
    above = (points[:, :, None] >= points[:, None]).all(axis=3)
    above &= (points[:, :, None] > points[:, None]).any(axis=3)
    optimal = ~above.any(axis=1)
    share = optimal.mean(axis=0)
    found, _ = session.engine.probabilities()
    assert np.abs(found - share).max() < 0.02
    inside = np.isin(FLAGS, session.candidate_set)
    other = float((optimal != inside).any(axis=1).mean())
    assert math.exp(session.engine.change_probability()[0]) == pytest.approx(other, abs=0.02)


@pytest.mark.parametrize("stopping", ["glr", "certified", "predicted", "posterior", "bayes"])
def test_every_rule_finds_the_set(stopping: str) -> None:
    environment = GaussianEnvironment(known(), TRUTH)
    run = simulate(known(), environment, rng=4, stopping=stopping, max_results=20_000)
    assert set(run.pareto_set or ()) == {"-O2", "-O3", "-Os"}


def test_a_limit_on_an_exact_metric_is_a_fact() -> None:
    problem = known(limits=["size <= 100"])
    run = simulate(problem, GaussianEnvironment(problem, TRUTH), rng=4)
    assert set(run.pareto_set or ()) == {"-O2", "-Os"}
    against = known(limits=["size <= 1.3 * control"], control="-O2")
    run = simulate(against, GaussianEnvironment(against, TRUTH), rng=4)
    assert set(run.pareto_set or ()) == {"-O2", "-O3", "-Os"}
    nobody = known(limits=["size <= 10"])
    session = Session(nobody, rng=1)
    for a, name in enumerate(FLAGS):
        session.tell(name, TRUTH[a])
    assert session.stopped
    assert session.candidate_set == ()
    assert "nothing keeps the limits" in str(session.status())


def test_a_limit_on_noise_and_objectives_that_are_exact() -> None:
    metrics = {"time": "limit", "size": EXACT}
    problem = Problem(
        objectives=metrics, covariance={"time": 1.0}, arms=FLAGS, limits=["time <= 15"]
    )
    run = simulate(problem, GaussianEnvironment(problem, TRUTH[:, [0, 2]]), rng=4)
    assert set(run.pareto_set or ()) == {"-O1", "-O2", "-Os"}


def test_a_tolerance_in_an_exact_metric() -> None:
    """-O3 is 30 larger, faster by 1 and needs more memory: within 30 size is no reason."""
    truth = np.array([[10.0, 8.0, 100.0], [9.0, 7.0, 130.0], [20.0, 9.0, 101.0]])
    for epsilon, wanted in ((29.0, {"A", "B"}), (30.0, {"B"}), ("30%", {"B"})):
        problem = Problem(
            objectives={"time": "min", "memory": "min", "size": "min"},
            covariance=[0.04, 0.04, 0],
            arms=["A", "B", "C"],
            epsilon={"size": epsilon},
            control="A",
        )
        run = simulate(problem, GaussianEnvironment(problem, truth), rng=3)
        assert set(run.pareto_set or ()) == wanted, epsilon


def test_what_facts_decide_needs_one_result_of_each() -> None:
    problem = Problem(
        objectives={"time": "min", "size": EXACT, "price": EXACT},
        covariance={"time": 1.0},
        arms=["A", "B", "C"],
    )
    session = Session(problem, rng=1)
    for k, name in enumerate("ABC"):
        assert not session.stopped
        session.tell(name, [1.0, k, -k])
    assert session.stopped
    assert session.candidate_set == ("A", "B", "C")
    assert complexity(problem, [[1.0, 0, 0], [1.0, 1, -1], [1.0, 2, -2]]).t_star == 0.0


def test_complexity_is_that_of_the_noisy_metrics_where_exact_ones_tie() -> None:
    tied = TRUTH.copy()
    tied[:, 2] = 7.0
    plain = Problem(
        objectives={"time": "min", "memory": "min"}, covariance=[1, 0.25], arms=FLAGS
    )
    assert complexity(known(), tied).t_star == pytest.approx(
        complexity(plain, TRUTH[:, :2]).t_star, rel=0.02
    )


def test_a_run_by_hand_is_the_simulated_one() -> None:
    environment = GaussianEnvironment(known(), TRUTH)
    for problem in (known(), flags()):
        run = simulate(problem, environment, rng=6)
        rng = np.random.default_rng(6)
        session = Session(problem, rng=rng)
        trial = environment.start(rng)
        while not session.stopped:
            arm = session.ask()
            session.tell(arm, trial.pull(arm))
        assert (run.pulls, run.pareto_set) == (session.pulls, session.pareto_set)


def test_errors_stay_below_delta_at_ties() -> None:
    """Near-ties in a noisy metric, ties in the exact one: wrong sets in at most delta."""
    truth = np.array([[0.0, 5.0], [0.12, 5.0], [1.0, 4.0], [0.5, 5.0]])
    problem = Problem(
        objectives={"time": "min", "size": EXACT}, covariance={"time": 1.0}, arms=4
    )
    environment = GaussianEnvironment(problem, truth)
    wrong = 0
    for seed in range(200):
        run = simulate(problem, environment, rng=seed, max_results=20_000)
        wrong += run.stopped and set(run.pareto_set or ()) != {"arm 1", "arm 3"}
    assert wrong <= 27  # of 200 at 0.1: above with probability 0.05 if errors were delta


# ------------------------------------------------------------------ durability


def test_a_restored_session_goes_on_to_the_bit() -> None:
    for stop in (3, 7, 11, 30):
        session = Session(flags(), rng=7)
        rng = np.random.default_rng(8)
        twin = None
        for k in range(60):
            if k == stop:
                twin = Session.restore(json.loads(json.dumps(session.snapshot())))
            a = FLAGS.index(session.ask())
            values = TRUTH[a] + SD * rng.normal(size=3)
            if k == 45:
                values[2] += 1.0  # it was not exact after all
            session.tell(FLAGS[a], values)
            if twin is not None:
                assert twin.ask() == FLAGS[a]
                twin.tell(FLAGS[a], values)
        assert twin is not None
        assert twin.snapshot()["engine"] == session.snapshot()["engine"]
        assert twin.exact.snapshot() == session.exact.snapshot()


def test_a_study_finds_it_replays_and_takes_it_back(tmp_path) -> None:  # type: ignore[no-untyped-def]
    place = str(tmp_path / "psips.db")
    study = Study.create(flags(), place, name="flags", seed=1)
    rng = np.random.default_rng(2)
    for k in range(40):
        [ticket] = study.ask(1)
        a = FLAGS.index(ticket.arm)
        study.tell(ticket=ticket.id, values=(TRUTH[a] + SD * rng.normal(size=3)).tolist())
        if k % 9 == 0:
            study = Study.open("flags", place)
    assert study.state.session.exact.columns == (2,)
    assert study.verify().problems == ()
    size = "'size' repeats exactly: treated as exact"
    assert size in str(study.status())
    number = len(study.told) + 1
    study.tell("-O1", [14.0, 8.0, 100.5])
    assert study.state.session.exact.columns == ()
    study.correct(result=number, values={"size": 100.0}, reason="typed wrong")
    assert study.state.session.exact.columns == (2,)
    assert study.verify().problems == ()


def test_a_study_refuses_what_changes_a_registered_metric(tmp_path) -> None:  # type: ignore[no-untyped-def]
    study = Study.create(known(), str(tmp_path / "psips.db"), name="flags", seed=1)
    study.tell("-O1", TRUTH[1].tolist())
    with pytest.raises(InputError, match=r"was 100.0 for arm '-O1', got 100.5"):
        study.tell("-O1", [14.0, 8.0, 100.5])
    study.tell("-O1", [14.5, 8.1, 100.0])
    with pytest.raises(InputError, match=r"other results of '-O1' have 100.0, got 90.0"):
        study.correct(result=1, values={"size": 90.0}, reason="typed wrong")
    assert len(study.told) == 2


def test_missing_values_of_an_exact_metric() -> None:
    session = Session(known(partial=True), rng=1)
    for a, name in enumerate(FLAGS):
        session.tell(name, {"time": TRUTH[a, 0], "memory": TRUTH[a, 1]})
    assert session.candidate_set == ()
    for a, name in enumerate(FLAGS):
        session.tell(name, {"size": TRUTH[a, 2]})
    assert set(session.candidate_set) == {"-O2", "-O3", "-Os"}


def test_choosing_from_the_front_counts_exact_metrics() -> None:
    session = told_until_stop(known(), [0, 1, 2], 1)
    ranked = session.rank(weights={"time": 0.0, "size": 1.0})
    assert ranked.index[-1] == "-O3"
    assert ranked.loc["-O3", "score"] == -130.0
    near = session.rank(reference={"time": 0.0, "memory": 0.0, "size": 120.0})
    assert set(near.index) == set(session.candidate_set)


def test_models_do_not_share_facts() -> None:
    problem = known()
    left = without(problem, [2])
    model = with_facts(left.facts, left.model, -TRUTH)
    assert np.isnan(left.model.facts).all()
    assert model.facts.ravel().tolist() == (-TRUTH[:, 2]).tolist()


# ------------------------------------------------------------------ files and commands


def sheet(path: Path, rows: int = 12) -> Path:
    rng = np.random.default_rng(4)
    lines = ["arm,time,memory,size,threads"]
    for _ in range(rows):
        for a, name in enumerate(FLAGS):
            time, memory, size = TRUTH[a] + SD * rng.normal(size=3)
            lines.append(f"{name},{time:.3f},{memory:.3f},{size + 0.1},{a}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_init_proposes_it_and_plans_go_on(tmp_path: Path) -> None:
    draft = draft_design(read_table(sheet(tmp_path / "runs.csv")))
    assert draft.problem.exact == ["size"]
    assert 'kind = "exact"' in draft.left_out["threads"]  # a setting, or a metric: ask
    (tmp_path / "design.toml").write_text(as_toml(draft))
    file = read_problem_file(tmp_path / "design.toml")
    assert file.problem.exact == ["size"]
    assert set(plan(file, runs=2, deltas=()).complexity.pareto_set) == {"-O2", "-O3", "-Os"}
    chosen = {"time": "min", "threads": "min"}
    assert draft_design(read_table(tmp_path / "runs.csv"), None, chosen).problem.exact == [
        "threads"
    ]
    with pytest.raises(InputError, match="one result of each arm is enough"):
        draft_design(read_table(tmp_path / "runs.csv"), None, {"size": "min"})


def test_a_file_may_give_the_variance_0(tmp_path: Path) -> None:
    text = 'arms = 3\n[[objectives]]\nname = "time"\n{}'
    text += '[[objectives]]\nname = "size"\nvariance = 0\n'
    for given, noise in (("variance = 2.0\n", "known"), ("", "per-arm")):
        (tmp_path / "p.toml").write_text(text.format(given))
        problem = read_problem_file(tmp_path / "p.toml").problem
        assert (problem.exact, problem.noise) == (["size"], noise)


def test_tell_says_what_it_found(tmp_path: Path) -> None:
    study = Study.create(flags(), str(tmp_path / "psips.db"), name="flags", seed=1)
    table = pd.read_csv(sheet(tmp_path / "runs.csv")).drop(columns="threads")
    receipt = study.tell_many(table)
    assert receipt.exact == "'size' repeats exactly: treated as exact"
    assert study.tell("-O0", [20.0, 9.0, 150.1]).exact == ""
    assert "was taken for exact until" in study.tell("-O0", [20.0, 9.0, 150.2]).exact


def test_checks_and_reports_do_not_look_for_noise_in_it(tmp_path: Path) -> None:
    path = sheet(tmp_path / "runs.csv", 30)
    found = check_results(flags(), path)
    assert found.findings == ()
    assert any("size (the same in all results of an arm" in one for one in found.untested)
    for problem in (flags(), known()):
        study = Study.create(problem, str(tmp_path / f"{problem.noise}.db"), name="f", seed=1)
        study.tell_many(pd.read_csv(path).drop(columns="threads"))
        page = report(study)
        assert "nan" not in page.lower().replace("finance", "")
    assert "none: exact" in page


@pytest.mark.parametrize("exact", ["one", "all"])
def test_no_standard_deviation_of_0_is_printed(exact: str, tmp_path: Path) -> None:
    """A metric found exact is called so; an arm whose results are alike is not exact."""
    study = Study.create(flags(), str(tmp_path / "psips.db"), name="f", seed=1)
    rows = pd.read_csv(sheet(tmp_path / "runs.csv", 9)).drop(columns="threads")
    if exact == "all":
        rows[["time", "memory"]] = rows.groupby("arm")[["time", "memory"]].transform("first")
    else:
        rows.loc[rows["arm"] == "-O1", "time"] = 14.0
    study.tell_many(rows)
    page = report(study)
    noise = page.split("The estimated noise")[1].split("</table>")[0]
    assert "0 (0 to 0)" not in page
    assert noise.count(">exact<") == len(FLAGS) * (3 if exact == "all" else 1)
    assert noise.count(">all results alike<") == (exact == "one")


def test_init_writes_exact_values_in_full(tmp_path: Path) -> None:
    """Sizes that differ in the eighth digit do not tie in what plans guess."""
    lines = ["arm,time,size"]
    for k in range(4):
        lines += [f"A,{5 + k / 7:.3f},10485760", f"B,{5 + k / 9:.3f},10485761"]
    (tmp_path / "runs.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "design.toml").write_text(
        as_toml(draft_design(read_table(tmp_path / "runs.csv")))
    )
    guess = read_problem_file(tmp_path / "design.toml").guess
    assert guess is not None
    assert guess.low[:, 1].tolist() == [10485760.0, 10485761.0]


def test_items_that_arms_share(tmp_path: Path) -> None:
    problem = Problem(objectives={"score": "max", "price": "min"}, arms=["A", "B"], items=True)
    session = Session(problem, rng=1)
    rng = np.random.default_rng(1)
    while not session.stopped and session.results < 300:
        ticket = session.ask()
        shared = float(ticket.item or "") % 3
        score = shared + (ticket == "B") + 0.3 * rng.normal()
        session.tell(ticket, [score, 5.0 if ticket == "B" else 4.0])
    assert session.exact.columns == (1,)
    assert session.stopped
    assert session.candidate_set == ("A", "B")
