"""The default stopping rule: the likelihood ratio with the calibration "measured"."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import gammaincc
from scipy.stats import binom

import ties
from psips import Problem, Rules, Session
from psips.kernels.ratio import is_time, lowest
from psips.problem.instances import Instance, instance
from psips.rules.handicaps import handicaps
from psips.simulation import simulate_many

DELTA = 0.1
H = 1e-5  # a hair, with arms that are known to a millionth
LEAST = lowest(-math.log(DELTA))


def test_it_is_the_default() -> None:
    assert (Rules().stopping, Rules().calibration) == ("glr", "measured")
    assert Rules(sampling="posterior").calibration == "heuristic"  # PSIPS as published
    assert Rules(sampling="track-and-stop").calibration == "heuristic"


def test_handicaps_make_the_tails_of_several_objectives_agree_with_one() -> None:
    rng = np.random.default_rng(1)
    found = handicaps(np.eye(4), DELTA)
    assert found.shape == (2, 5)
    assert (found[:, :2] == 1.0).all()
    assert (np.diff(found, axis=1) <= 0.0).all()
    wanted = 0.5 * gammaincc(0.5, LEAST)
    runs = 2_000_000
    for k in (2, 4):
        ahead = np.maximum(rng.normal(size=(runs, k)), 0.0)
        square = (ahead**2).sum(axis=1)  # to "worse in all k", seen from an exact tie
        share = (0.5 * found[0, k] * square >= LEAST).mean()
        plain = (0.5 * square >= LEAST).mean()
        assert abs(share - wanted) < 5 * math.sqrt(wanted / runs)
        assert plain > wanted + 20 * math.sqrt(wanted / runs)  # what went wrong without


def test_negative_correlation_counts_for_less_still() -> None:
    rho = -0.95
    Sigma = np.array([[1.0, rho], [rho, 1.0]])
    assert handicaps(Sigma, DELTA)[0, 2] < handicaps(np.eye(2), DELTA)[0, 2]
    assert handicaps(-rho * (1 - np.eye(2)) + np.eye(2), DELTA)[0, 2] == pytest.approx(
        handicaps(np.eye(2), DELTA)[0, 2]
    )


@pytest.mark.parametrize("name", ["correlated", "worse", "linear"])
def test_it_stops_when_all_the_evidence_passes_and_not_before(name: str) -> None:
    """The short cut by last round's nearest piece never changes the decision."""
    made = instance(name, **({"d": 3, "gap": 0.8} if name == "worse" else {}))
    session = Session(made.problem, delta=0.3, rng=3)
    lab = np.random.default_rng(4)
    L = np.linalg.cholesky(made.problem.covariance)
    stops = 0
    for _ in range(490):
        arm = session.ask()
        mean = made.arm_means[made.problem.arm_index(arm)]
        session.tell(arm, mean + L @ lab.normal(size=made.problem.d))
        if session.engine.ready:
            value, threshold = session.engine.ratio()
            assert session.stopped == (value >= threshold)
            stops += session.stopped
    assert 0 < stops < 490


def test_one_pair_has_the_ratio_of_two_means() -> None:
    problem = Problem(objectives=["yield"], covariance=[4.0], arms=["A", "B"])
    session = Session(problem, rng=1)
    session.tell("A", [3.0])
    session.tell("A", [5.0])
    session.tell("B", [0.0])
    session.tell("B", [2.0])
    value, threshold = session.engine.ratio()
    assert value == pytest.approx(0.5 * 3.0**2 / (4.0 * (1 / 2 + 1 / 2)))
    assert threshold == pytest.approx(asked_for(0.1, 4.0))


@pytest.mark.parametrize(
    ("rho", "lead", "sides"),
    [
        (-0.95, (0.5, -0.5), 2.0),  # worse by a hair throughout would look like this either way
        (0.95, (0.5, 0.5), 2.0),  # and so would incomparable by a hair
        (0.95, (0.5, 1.5), 1.0),  # no tie in the second
        (0.7, (0.5, 0.5), 1.0),  # such noise is rare enough
        (-0.95, (0.5, 0.5), 1.0),
        (0.0, (0.5, -0.5), 1.0),
    ],
)
def test_a_tie_that_is_wrong_either_way_counts_twice(
    rho: float, lead: tuple[float, float], sides: float
) -> None:
    """Of 500 runs at gap 0.0001 and delta 0.1, 67 and 62 were wrong where it did not."""
    Sigma = np.array([[1.0, rho], [rho, 1.0]])
    problem = Problem(objectives=["a", "b"], covariance=Sigma, arms=["A", "B"])
    session = Session(problem, rng=1)
    session.tell(
        pd.DataFrame({"arm": ["A", "B"] * 200, "a": [lead[0], 0.0] * 200}).assign(
            b=[lead[1], 0.0] * 200
        )
    )
    best = min(
        _distance(np.array(lead), Sigma, above=above) for above in _alternatives(np.array(lead))
    )
    evidence = 0.5 * best * 100.0  # 1 / (1 / 200 + 1 / 200)
    assert session.engine.ratio()[0] == pytest.approx(evidence - math.log(sides), abs=1e-6)


def corner(d: int, big: float = 5.0) -> np.ndarray:
    """Return means of an arm that is ahead of each of d others by a hair, in one objective."""
    means = np.full((d + 1, d), big)
    means[0] = 0.0
    means[np.arange(1, d + 1), np.arange(d)] = -1e-4
    return means


@pytest.mark.parametrize(
    ("others", "counted"),
    [
        ((1.0, 1.0), 3.5),  # z is ahead of two others by one standard error
        ((1.0, 4.0), 2.25),  # .. of one, and clearly of the other
        ((1.75, 4.0), 1.625),  # the chance that it is a tie falls
        ((-1.0, 4.0), 2.0),  # held by it too
    ],
)
def test_an_option_that_any_of_several_may_beat_counts_as_often(
    others: tuple[float, float], counted: float
) -> None:
    """Of 300 runs at such a corner of 4, 53 were wrong at delta 0.1 where it did not."""
    problem = Problem(objectives=["a", "b", "c"], covariance=[1.0] * 3, arms=4)
    session = Session(problem, rng=1)
    means = corner(3)
    means[[1, 2, 3], [0, 1, 2]] = 0.35, *(-0.1 * one for one in others)
    rows = [(f"arm {a + 1}", *x) for a, x in enumerate(means)] * 200
    session.tell(pd.DataFrame(rows, columns=["arm", "a", "b", "c"]))
    square = 0.35**2 + max(-0.1 * min(others), 0.0) ** 2
    several = handicaps(np.eye(3), DELTA)[1, 1 + (min(others) < 0)]
    evidence = 0.5 * several * square * 100.0
    assert session.engine.ratio()[0] == pytest.approx(evidence - math.log(counted), abs=1e-6)


@pytest.mark.parametrize(
    ("second", "counted"),
    [
        (0.05, 1 + 1.25 * math.sqrt(0.75) * (2.5 + (0.5 - 1.75) / math.sqrt(0.75)) / 1.5),
        (-0.1, 1.0),  # noise by which the first holds z would not have left it ahead
    ],
)
def test_chances_that_vary_together_are_fewer(second: float, counted: float) -> None:
    """Leads over two members in one objective share the noise of the option itself."""
    problem = Problem(objectives=["a", "b", "c"], covariance=[1.0] * 3, arms=3)
    session = Session(problem, rng=1)
    means = [(0.0, 0.0, 0.0), (0.35, 5.0, 10.0), (second, 10.0, 5.0)]
    rows = [(f"arm {a + 1}", *x) for a, x in enumerate(means)] * 200
    session.tell(pd.DataFrame(rows, columns=["arm", "a", "b", "c"]))
    evidence = 0.5 * 0.35**2 * 100.0 - math.log(counted)
    assert session.engine.ratio()[0] == pytest.approx(evidence, abs=1e-6)


def test_several_near_ties_that_must_all_be_settled_err_less_often_than_one() -> None:
    """Why evidence is not summed over them: three pairs far apart, each with a near-tie."""
    wrong = []
    for pairs in (1, 3):
        places = 20.0 * np.repeat(np.arange(pairs), 2)[:, None] * [1.0, -1.0]
        means = places - np.tile([[0.0, 0.0], [0.1, 2.0]], (pairs, 1))
        problem = Problem(objectives=["a", "b"], covariance=[1.0] * 2, arms=2 * pairs)
        made = Instance("pairs", problem, means)
        found = simulate_many(made, runs=300, seed=3, rules=Rules(delta=0.3))
        assert found.stopped == 300
        wrong.append(found.errors)
    assert wrong[1] < wrong[0]


def test_a_third_answer_may_be_the_other_side() -> None:
    """Of 1,000 runs of this instance 121 were wrong at delta 0.1 where it was not seen."""
    answers = ["a", "b", "c"], np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, 0.0]])
    problem = Problem(
        objectives=["gain"],
        covariance=[1.0],
        features=[[1.0, 0.0], [0.0, 100.0]],
        answers=answers,
        intercept=False,
    )
    for other, sides in ((1e-4, 2.0), (-0.1, 1.0)):
        session = Session(problem, rng=1)
        rows = [("arm 1", 0.3), ("arm 2", 100 * other)] * 400
        session.tell(pd.DataFrame(rows, columns=["arm", "gain"]))
        best = min((0.3 - other) ** 2 / (1 / 400 + 1 / 400 / 1e4), 0.6**2 / (4 / 400))
        found = session.engine.ratio()[0]
        assert found == pytest.approx(0.5 * best - math.log(sides), rel=1e-4)


@pytest.mark.parametrize(
    ("d", "at", "others", "sides"),
    [
        (2, -0.2, [(-H, 5.0), (H, -5.0)], 2.0),  # out; noise the other way drops arm 3
        (2, 0.2, [(-H, 5.0), (H, -5.0)], 2.0),  # drops arm 3; .. would put it out
        (2, -0.2, [(-H, 5.0), (-1.0, -5.0)], 1.0),  # no tie with arm 3
        (2, -0.2, [(-H, 5.0), (H, 4.0)], 1.0),  # nor does it matter
        (3, 0.2, [(-H, -5.0, -2.0), (H, -2.0, -5.0)], 2.0),  # .. would let arm 2 in
        (3, 0.2, [(-3.0, -5.0, -2.0), (H, -2.0, -5.0)], 1.0),
    ],
)
def test_a_noisy_option_between_known_ones_may_be_wrong_either_way(
    d: int, at: float, others: list[tuple[float, ...]], sides: float
) -> None:
    """Of 1,000 runs 96 and 109 were wrong within 2,000 results where it was not seen."""
    covariance = np.stack([np.eye(d), *[1e-12 * np.eye(d)] * 2])
    problem = Problem(objectives=[f"o{c}" for c in range(d)], covariance=covariance, arms=3)
    session = Session(problem, rng=1)
    means = [(at, *[0.0] * (d - 1)), *others]
    rows = [(f"arm {a + 1}", *x) for a, x in enumerate(means)] * 200
    session.tell(pd.DataFrame(rows, columns=["arm", *problem.objectives]))
    evidence = 0.5 * at**2 * 200.0
    assert session.engine.ratio()[0] == pytest.approx(evidence - math.log(sides), abs=0.01)


def _alternatives(lead: np.ndarray) -> list[list[int]]:
    """Which signs a lead would have to have, all of a list, for the set to be another."""
    if (lead > 0).all():
        return [[1], [2]]
    return [[1, 2], [-1, -2]]


def _distance(lead: np.ndarray, Sigma: np.ndarray, above: list[int]) -> float:
    """Squared distance to where the lead is not positive in those (negative: not negative)."""
    P = np.linalg.inv(Sigma)
    bounds = [(None, None), (None, None)]
    for c in above:
        bounds[abs(c) - 1] = (None, 0.0) if c > 0 else (0.0, None)
    found = minimize(lambda x: (x - lead) @ P @ (x - lead), np.zeros(2), bounds=bounds)
    return float(found.fun)


def test_looking_changes_nothing() -> None:
    made = instance("correlated")
    lab = np.random.default_rng(5)
    values = lab.normal(size=(80, 2))
    asks = []
    for looks in (False, True):
        session = Session(made.problem, rng=2)
        for x in values:
            arm = session.ask()
            asks.append(arm)
            session.tell(arm, made.arm_means[made.problem.arm_index(arm)] + x)
            if looks and session.engine.ready:
                session.engine.ratio()
    assert asks[:80] == asks[80:]


@pytest.mark.parametrize(
    ("name", "params", "runs"),
    [
        ("worse", {"d": 6, "gap": 0.3}, 300),
        ("worse", {"d": 3, "gap": 0.3, "rho": -0.45}, 300),
        ("near-tie", {"gap": 0.1}, 300),
        ("linear-pair", {}, 100),
    ],
)
def test_it_keeps_delta_where_others_broke(
    name: str, params: dict[str, float], runs: int
) -> None:
    found = simulate_many(
        instance(name, **params), runs=runs, seed=11, rules=Rules(delta=DELTA)
    )
    assert found.stopped == runs
    assert binom.sf(found.errors - 1, runs, DELTA) > 1e-3


@pytest.mark.parametrize(
    ("rules", "name", "params"),
    [
        (Rules(stopping="posterior"), "worse", {"d": 6, "gap": 0.3}),
        (
            Rules(stopping="posterior", calibration="sharp", tuning={"kappa": 0.5}),
            "near-tie",
            {"gap": 0.1},
        ),
        (Rules(stopping="glr", calibration="heuristic"), "worse", {"d": 8, "gap": 0.3}),
    ],
)
def test_the_same_instances_catch_rules_that_err(
    rules: Rules, name: str, params: dict[str, float]
) -> None:
    """Without the handicaps and the threshold, errors are seen to exceed delta."""
    runs = 400
    cap = 400_000
    found = simulate_many(
        instance(name, **params), runs=runs, seed=11, max_results=cap, rules=rules
    )
    assert binom.sf(found.errors - 1, runs, DELTA) < 0.02


@pytest.mark.parametrize("start", [1, 480, 249_000, 10**6, 10**7])
def test_looks_do_not_end(start: int) -> None:
    """Looks come about 500 times while the results grow e-fold, however many there are."""
    look = getattr(is_time, "py_func", is_time)
    times = [t for t in range(start, start + start // 100 + 500) if look(t, 1)]
    gaps = np.diff([start, *times, start + start // 100 + 500])
    assert gaps.max() <= 1 + (start + 500) / 240


@pytest.mark.parametrize("many", [20_001, 300_007])
def test_a_table_is_looked_at(many: int) -> None:
    """Whatever the number of its rows, the end of a table is judged in full."""
    session = Session(Problem(objectives=["a"], covariance=[1], arms=2), rng=1)
    half = many // 2
    session.engine.know(np.array([half, many - half], float), np.array([[0.5 * half], [0.0]]))
    session.engine.judge()
    assert session.stopped


def asked_for(delta: float, t: float, *, broken: bool = False) -> float:
    """Naive: the threshold after t results, or as it was before near-ties were thought of."""
    x, level = math.log(t), math.log(1 / delta)
    if broken:
        return level + math.log(8 + x) - 1.1
    found = level + 1.28 + 0.5 * math.log((level + 0.4) / (math.log(10) + 0.4))
    found += 1.5 * math.log(1 + max((5.3 - x) / 2, 0) ** 2)
    return found + 2 * math.log(1 + max((x - 10.3) / 2, 0) ** 2)


@pytest.mark.parametrize("delta", [0.3, 0.1, 0.05, 0.001])
def test_the_threshold_is_what_it_is_said_to_be(delta: float) -> None:
    problem = Problem(objectives=["yield"], covariance=[1.0], arms=["A", "B"])
    session = Session(problem, rng=1, delta=delta)
    for _ in range(2):
        session.tell("A", [3.0])
        session.tell("B", [1.0])
    assert session.engine.ratio()[1] == pytest.approx(asked_for(delta, 4.0))
    many = Session(problem, rng=1, delta=delta)
    many.tell(pd.DataFrame({"arm": ["A", "B"] * 30_000, "yield": 3.0}))
    assert many.engine.ratio()[1] == pytest.approx(asked_for(delta, 60_000.0))


@pytest.mark.parametrize("delta", [0.3, 0.1, 0.05, 0.01])
def test_options_that_all_but_tie_keep_delta_however_long_it_takes(delta: float) -> None:
    """In 0.98 of delta they err, at most, and hardly any after so many results."""
    found = ties.wrong(lambda t: asked_for(delta, t), 1e12)
    assert 0.88 < found[10**12] / delta < 0.985
    assert found[10**12] - found[10**10] < 0.002 * delta
    assert found[100] < 0.25 * delta  # experiments end later, and have their share


@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_such_options_catch_a_threshold_that_cannot_be_summed(delta: float) -> None:
    found = ties.wrong(lambda t: asked_for(delta, t, broken=True), 1e10)
    assert found[10**10] > 1.1 * delta


def test_the_integral_agrees_with_runs() -> None:
    """Of equal options, told one by one; and it sees looks that are left out."""
    limit, most, runs = 2.2, 1000, 40_000
    rng = np.random.default_rng(1)
    times = list(ties.looks(most))
    z, last, stopped = rng.normal(size=runs), times[0], 0
    for t in times:
        keep = ties.information(last) / ties.information(t)
        z = math.sqrt(keep) * z + math.sqrt(1 - keep) * rng.normal(size=len(z))
        stopped += int((z * z / 2 >= limit).sum())
        last, z = t, z[z * z / 2 < limit]
    share = stopped / runs / 2
    spread = 0.5 * math.sqrt(2 * share * (1 - 2 * share) / runs)
    assert abs(ties.wrong(lambda _: limit, most)[most] - share) < 4 * spread
    seldom = ties.wrong(lambda t: limit if t % 3 == 0 else 20.0, most)[most]
    assert abs(seldom - share) > 4 * spread


@pytest.mark.parametrize("limits", [(), ("a >= -1000",)])
def test_few_results_of_the_options_that_tie_are_few_among_many(limits: tuple[str]) -> None:
    """Of 1,000 runs 80 were wrong by 2,000 results of two options among 200, at delta 0.1."""
    problem = Problem(objectives=["a"], covariance=[1.0], arms=52, limits=list(limits))
    session = Session(problem, rng=1)
    rows = [("arm 1", 0.8), ("arm 2", 0.0)] * 10
    rows += [(f"arm {a}", -100.0) for a in range(3, 53)] * 20
    session.tell(pd.DataFrame(rows, columns=["arm", "a"]))
    found, threshold = session.engine.ratio()
    assert threshold == pytest.approx(LEAST, abs=1e-9)  # after 1,020 results
    few = 1.5 * math.log1p(((5.3 - math.log(20)) / 2) ** 2)
    assert found == pytest.approx(0.5 * 0.8**2 * 5.0 * LEAST / (LEAST + few), abs=1e-6)


@pytest.mark.parametrize(
    ("pair", "pulls"),
    [((1, 2), (10, 10)), ((59, 60), (20, 5)), ((60, 1), (5, 20)), ((60, 1), (20, 5))],
)
def test_first_results_that_span_many_features_are_not_counted(
    pair: tuple[int, int], pulls: tuple[int, int]
) -> None:
    """Of 1,000 runs 58 were wrong by 1,100 results of 60 features, and 44 since.

    What counts is the arm that tells most of the tie, wherever it stands in the list.
    """
    features = np.linalg.qr(np.random.default_rng(0).normal(size=(60, 60)))[0]
    problem = Problem(
        objectives=["a"], covariance=[1.0], arms=60, features=features, intercept=False
    )
    session = Session(problem, rng=1)
    rows = [(f"arm {pair[0]}", 0.8)] * pulls[0] + [(f"arm {pair[1]}", 0.0)] * pulls[1]
    rows += [(f"arm {a}", -100.0) for a in range(1, 61) if a not in pair]
    session.tell(pd.DataFrame(rows, columns=["arm", "a"]))
    found, threshold = session.engine.ratio()
    variance = sum(1 / n for n in pulls)
    tell = variance / max(1 / n for n in pulls) ** 2
    early = [1.5 * math.log1p(((5.3 - math.log(t)) / 2) ** 2) for t in (len(rows), tell)]
    assert threshold == pytest.approx(LEAST + early[0], abs=1e-9)
    share = (LEAST + early[0]) / (LEAST + early[1])
    assert found == pytest.approx(0.5 * 0.8**2 / variance * share, abs=1e-4)


def evidence_after(problem: Problem, rows: list[tuple[object, ...]]) -> float:
    session = Session(problem, rng=1)
    session.tell(pd.DataFrame(rows, columns=["arm", *problem.objectives]))
    found, threshold = session.engine.ratio()
    assert threshold == pytest.approx(LEAST, abs=0.02)  # after more than 200 results
    return found


@pytest.mark.parametrize("after", [1, 12, 40])
def test_results_that_do_not_tell_of_a_tie_are_not_counted(after: int) -> None:
    """Those without its metric: 141 of 1,600 runs were wrong by 2,000 results of both.

    Those of another option that shares no feature with it: 176 of 3,282 by 300 (71 of 2,277).
    """
    early = 1.5 * math.log1p(((5.3 - math.log(2 * after)) / 2) ** 2)
    share = LEAST / (LEAST + early)
    wanted = pytest.approx(0.5 * 0.9**2 * after / 2 * share, abs=1e-6)
    partial = Problem(objectives=["a", "b"], covariance=[1.0] * 2, arms=2, partial=True)
    rows: list[tuple[object, ...]] = [("arm 1", None, 9.0), ("arm 2", None, 0.0)] * 120
    rows += [("arm 1", 0.9, 9.0), ("arm 2", 0.0, 0.0)] * after
    assert evidence_after(partial, rows) == wanted
    linear = Problem(
        objectives=["a"], covariance=[1.0], arms=3, features=np.eye(3), intercept=False
    )
    rows = [("arm 3", -20.0)] * 240 + [("arm 1", 0.9), ("arm 2", 0.0)] * after
    assert evidence_after(linear, rows) == wanted
