"""Diagnostics: rarely a false alarm, each deviation found, and broken tests are caught."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom

from laws import CAUGHT, FAIR
from psips import check_results
from psips.diagnostics import (
    LEVEL,
    LOOKS,
    Diagnosis,
    deviations,
    diagnose,
    diagnosing,
    outliers,
)
from psips.diagnostics.deviations import Found
from psips.diagnostics.lack_of_fit import fit_of
from psips.diagnostics.residuals import Residuals, pooled_covariance, residuals_of
from psips.errors import InputError
from psips.problem import Problem
from psips.session import Session

ARMS, N = 5, 200
COVARIANCE = np.array([[1.0, 0.3], [0.3, 0.5]])
L = np.linalg.cholesky(COVARIANCE)
MEANS = np.random.default_rng(0).normal(0, 3, (ARMS, 2))
PROBLEM = Problem(
    objectives={"gain": "max", "cost": "min"},
    covariance=COVARIANCE,
    arms=[f"arm {a}" for a in range(ARMS)],
)

Table = tuple[np.ndarray, np.ndarray]
Maker = Callable[[np.random.Generator], Table]


def table(rng: np.random.Generator, n: int = N, arms: int = ARMS) -> Table:
    """Results as assumed."""
    chosen = rng.integers(0, arms, n)
    return chosen, MEANS[chosen] + rng.normal(size=(n, 2)) @ L.T


def found(data: Table, level: float = LEVEL, problem: Problem = PROBLEM) -> Diagnosis:
    arms, values = data
    return diagnose(problem, arms, values, [f"line {i + 2}" for i in range(len(arms))], level)


def kinds(data: Table, level: float = LEVEL) -> set[str]:
    return {one.kind for one in found(data, level).findings}


def false_alarms(level: float, tables: int = 400) -> float:
    """Chance of so many tables with findings, or more, if the level is kept.

    Tables of 200 results, of 60, and of 24, in which arms have few results.
    """
    rng = np.random.default_rng(7)
    alarms = 0
    for i in range(tables):
        data = table(rng, (N, 60, 24)[i % 3])
        alarms += any(one.p_value is not None for one in found(data, level).findings)
    return float(binom.sf(alarms - 1, tables, level))


@pytest.mark.parametrize("level", [LEVEL, 0.2])
def test_false_alarms_are_as_rare_as_stated(level: float) -> None:
    assert false_alarms(level) > FAIR


def wide(data: Table) -> Table:
    arms, values = data
    return arms, MEANS[arms] + np.sqrt(2) * (values - MEANS[arms])


def unequal(data: Table) -> Table:
    arms, values = data
    factors = 0.25 * 16 ** (np.arange(ARMS) / (ARMS - 1))  # of the variance
    return arms, MEANS[arms] + np.sqrt(factors[arms, None]) * (values - MEANS[arms])


def slip(data: Table) -> Table:
    arms, values = data
    values[77, 1] = MEANS[arms[77], 1] + 12 * np.sqrt(COVARIANCE[1, 1])
    return arms, values


def skewed(data: Table) -> Table:
    arms, values = data
    z = (values - MEANS[arms]) / np.sqrt(np.diag(COVARIANCE))
    return arms, MEANS[arms] + (np.exp(z) - np.exp(0.5)) * np.sqrt(np.diag(COVARIANCE))


def drifting(data: Table) -> Table:
    arms, values = data
    return arms, values + np.linspace(0, 1.5, len(arms))[:, None] * [1.0, 0.0]


def correlated(data: Table) -> Table:
    arms, values = data
    noise = values - MEANS[arms]
    for t in range(1, len(arms)):
        noise[t] = 0.6 * noise[t - 1] + 0.8 * noise[t]
    return arms, MEANS[arms] + noise


def turned(data: Table) -> Table:
    """The variances are as given, the correlation is not."""
    arms, values = data
    noise = (values - MEANS[arms]) * [1.0, -1.0]
    return arms, MEANS[arms] + noise


def lacking(data: Table) -> Table:
    arms, values = data
    return arms[arms != 3], values[arms != 3]


DEVIATIONS = [
    (wide, "covariance"),
    (turned, "covariance"),
    (unequal, "unequal variances"),
    (slip, "outliers"),
    (skewed, "skewness"),
    (drifting, "drift"),
    (correlated, "autocorrelation"),
    (lacking, "never measured"),
]


def hits(change: Callable[[Table], Table], kind: str, tables: int = 100) -> int:
    rng = np.random.default_rng(11)
    return sum(kind in kinds(change(table(rng))) for _ in range(tables))


@pytest.mark.parametrize(("change", "kind"), DEVIATIONS)
def test_each_deviation_is_found(change: Callable[[Table], Table], kind: str) -> None:
    assert hits(change, kind) >= 97


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (wide, "covariance"),
        (slip, "outliers"),
        (drifting, "drift"),
        (lacking, "never measured"),
    ],
)
def test_one_deviation_is_one_finding(change: Callable[[Table], Table], kind: str) -> None:
    """What one thing has caused is not called by the names of others as well."""
    rng = np.random.default_rng(13)
    seen = Counter(frozenset(kinds(change(table(rng)))) for _ in range(50))
    assert seen[frozenset({kind})] >= 45 or kind == "drift"
    if kind == "drift":  # it widens the scatter too
        assert sum(n for one, n in seen.items() if one <= {"drift", "covariance"}) >= 48


def test_a_test_that_forgets_how_often_it_looked_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def hasty(residuals: Residuals) -> list[Found]:
        (one,) = deviations.furthest(residuals)
        return [one._replace(p_value=one.p_value / residuals.values.size)]

    monkeypatch.setattr(outliers, "furthest", hasty)
    assert false_alarms(LEVEL) < CAUGHT


def test_a_test_that_forgets_the_means_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours of one arm have negative correlation by the mean they share."""
    monkeypatch.setattr(deviations, "_moments", lambda _, sizes, f: (0.0, 1.0 / (4.0 * f)))
    assert false_alarms(0.2) < CAUGHT


def shuffled(residuals: Residuals) -> Residuals:
    order = np.random.default_rng(1).permutation(len(residuals.arms))
    values, sizes = residuals.values[order], residuals.sizes[order]
    return Residuals(residuals.arms[order], values, sizes, residuals.freedom)


def test_a_test_that_forgets_the_order_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = deviations.autocorrelation
    monkeypatch.setattr(diagnosing, "autocorrelation", lambda found: whole(shuffled(found)))
    assert hits(correlated, "autocorrelation", 20) < 5
    trends = deviations.drift
    monkeypatch.setattr(diagnosing, "drift", lambda found: trends(shuffled(found)))
    assert hits(drifting, "drift", 20) < 5


def test_a_test_that_compares_with_itself_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def circular(residuals: Residuals, _: np.ndarray) -> float | None:
        own = residuals.values.T @ residuals.values / residuals.freedom
        return deviations.wrong_covariance(residuals, own)

    monkeypatch.setattr(diagnosing, "wrong_covariance", circular)
    assert hits(wide, "covariance", 20) == 0


def test_each_p_value_is_uniform() -> None:
    """Of each test by itself: 5% of tables are below 5%."""
    rng = np.random.default_rng(17)
    low: Counter[str] = Counter()
    tables = 1000
    for _ in range(tables):
        arms, values = table(rng, 80)
        residuals = residuals_of(arms, values)
        least = {
            "covariance": deviations.wrong_covariance(residuals, COVARIANCE) or 0.0,
            "drift": min(one.p_value for one in deviations.drift(residuals)[0]),
            **{
                test.__name__: min(one.p_value for one in test(residuals))
                for test in (
                    deviations.unequal_variances,
                    deviations.furthest,
                    deviations.skewness,
                    deviations.autocorrelation,
                )
            },
        }
        low.update(name for name, p in least.items() if p < 0.05)
    for name in ("covariance", "drift", "unequal_variances", "furthest", "skewness"):
        assert binom.sf(low[name] - 1, tables, 0.05) > FAIR, name
        assert low[name] > 0.03 * tables, name
    assert binom.sf(low["autocorrelation"] - 1, tables, 0.05) > FAIR


def test_moments_of_the_autocorrelation() -> None:
    """Against matrices written out."""
    arms = np.random.default_rng(1).integers(0, 4, 30)
    residuals = residuals_of(arms, np.zeros((30, 1)))
    P = (arms[:, None] == arms) / np.bincount(arms)[arms][:, None]
    M = np.eye(30) - P
    A = np.diag(np.full(29, 0.5), 1)
    MA = M @ (A + A.T)
    f, first, second = residuals.freedom, np.trace(MA), np.trace(MA @ MA)
    expected = (first / f, 2 * (f * second - first**2) / (f**2 * (f + 2)))
    assert deviations._moments(residuals.arms, residuals.sizes, f) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("replicated", "says"), [("control", 0), ("pairs", 0), ("once", 1), ("once in many", 1)]
)
def test_orders_in_which_neighbours_say_nothing(replicated: str, says: int) -> None:
    """Without neighbours of one arm the statistic is the same whatever the results are."""
    n = 60_000 if replicated == "once in many" else 22
    arms = np.ravel([[0, i + 1] for i in range(n)])  # a control, an option, a control ...
    if replicated == "pairs":
        arms = np.ravel([[i, i, n + i] for i in range(n)])
    if says:
        arms = np.append([0, 0], arms)
    values = np.random.default_rng(0).normal(size=(len(arms), 1))
    found = deviations.autocorrelation(residuals_of(arms, values))
    assert len(found) == says
    assert all(1e-4 < one.p_value <= 1.0 for one in found)


@pytest.mark.parametrize("n", [24, 25, 60])
def test_the_law_of_the_autocorrelation_lies_between_its_extremes(n: int) -> None:
    """These are the eigenvalues of the form it is made of."""
    rng = np.random.default_rng(n)
    arms, values = table(rng, n, 3)
    found = residuals_of(arms, values)
    A = np.diag(np.full(n - 1, 0.5), 1)
    low, *_, high = np.linalg.eigvalsh(A + A.T)
    mean, variance = deviations._moments(found.arms, found.sizes, found.freedom)
    centre, width = (mean - low) / (high - low), high - low
    total = centre * (1 - centre) * width**2 / variance - 1
    law = beta(centre * total, (1 - centre) * total, low, width)
    for c, one in enumerate(deviations.autocorrelation(found)):
        x = found.values[:, c]
        r = x @ (A + A.T) @ x / (x @ x)
        assert one.size == pytest.approx(r - mean)
        assert one.p_value == pytest.approx(min(1.0, 2 * 2 * min(law.cdf(r), law.sf(r))))


def test_the_variance_of_the_skewness() -> None:
    """That of the sum of cubes is 6 (m - 1)(m - 2) / m for m results of an arm."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200_000, 5))
    cubes = ((x - x.mean(axis=1, keepdims=True)) ** 3).sum(axis=1)
    assert cubes.var() == pytest.approx(6 * 4 * 3 / 5, rel=0.03)


def test_where_it_is() -> None:
    rng = np.random.default_rng(3)
    data = slip(table(rng))
    (one,) = found(data).findings
    assert one.where == ("line 79",)
    assert "line 79: cost = " in one.what
    assert f"of arm 'arm {data[0][77]}'" in one.what
    assert "look the value up" in one.advice
    (two,) = found(lacking(table(rng))).findings
    assert (two.where, two.p_value, two.chance) == (("arm 3",), None, "")
    seen = {one.kind: one for one in found(drifting(table(rng))).findings}
    assert seen["drift"].where == ("gain",)
    seen = {one.kind: one for one in found(unequal(table(rng))).findings}
    assert {"arm 0", "arm 4"} & set(seen["unequal variances"].where)


def test_one_of_two_may_be_wrong() -> None:
    arms, values = table(np.random.default_rng(12))
    arms, values = arms[arms < 4], values[arms < 4]
    pair = MEANS[4] + [[0.0, 0.0], [30.0, 0.0]]
    data = np.append(arms, [4, 4]), np.concatenate([values, pair])
    (one,) = found(data).findings
    assert "from the only other one of the arm" in one.what


def test_many_far_results_are_no_outliers() -> None:
    rng = np.random.default_rng(4)
    arms, values = table(rng)
    values[::30, 0] += 60 * rng.choice([-1, 1], 7)
    (one,) = [one for one in found((arms, values)).findings if one.kind == "outliers"]
    assert one.what.startswith("at least 5 too far to be noise; line ")
    assert "hardly slips" in one.advice


def test_a_table_too_small_to_tell() -> None:
    arms, values = table(np.random.default_rng(5), 3)
    few = found((np.array([0, 1, 2]), values))
    assert few.deviations == ()
    assert few.scatter == ()
    assert len(few.untested) == 3
    assert "No arm has two results" in str(few)
    assert "Not tested: the covariance (that takes 2 results more than arms" in str(few)
    none = found((arms[:0], values[:0]))
    assert none.results == 0
    assert none.untested == ("everything: there are no results",)
    same = found((np.arange(60) % 5, MEANS[np.arange(60) % 5]))
    assert {one.kind for one in same.findings} == {"covariance"}
    assert same.untested[-1] == "gain, cost (all results of an arm are the same)"


def test_a_covariance_of_binary_values_alone_is_not_tested() -> None:
    rng = np.random.default_rng(8)
    arms, values = np.arange(200) % 2, rng.normal(size=(200, 1))
    said = "the covariance (no value is taken for normal)"
    for kind, numbers in (("binary", (values > 0).astype(float)), ("real", values)):
        objective = {"kind": kind} if kind == "binary" else {"direction": "max"}
        one = Problem(objectives={"won": objective}, covariance=[0.25], arms=["A", "B"])
        untested = found((arms, numbers), problem=one).untested
        assert (said in untested) == (kind == "binary")


def test_nothing_of_the_users_units_matters() -> None:
    rng = np.random.default_rng(6)
    arms, values = correlated(table(rng))
    scale = np.array([1e6, -1e-6])
    other = Problem(
        objectives=["gain", "cost"],
        covariance=COVARIANCE * np.outer(scale, scale),
        arms=PROBLEM.arms,
    )
    one = found((arms, values))
    two = found((arms, values * scale + 5.0), problem=other)
    assert [f.kind for f in one.findings] == [f.kind for f in two.findings]
    for a, b in zip(one.deviations, two.deviations, strict=True):
        assert a.p_value == pytest.approx(b.p_value, rel=1e-4)


def test_the_linear_model_is_in_it() -> None:
    problem = Problem(objectives={"x": "min"}, covariance=[1.0], features=[[0.0], [1.0], [2.0]])
    arms = np.arange(60) % 3
    values = np.array([0.0, 9.0, 0.0])[arms] + np.random.default_rng(1).normal(size=60)
    diagnosis = found((arms, values[:, None]), problem=problem)
    (one,) = diagnosis.findings
    assert one.kind == "linear model"
    session = Session(problem, rng=1)
    for a, x in zip(arms, values, strict=True):
        session.tell(problem.arms[a], [x])
    fit = fit_of(problem, session.engine.belief)
    assert fit is not None
    assert diagnosis.fit is not None
    assert diagnosis.fit.p_value == pytest.approx(fit.p_value)
    assert [d.arm for d in diagnosis.fit.deviations] == [d.arm for d in fit.deviations]


def test_the_covariance_of_a_table() -> None:
    arms, values = table(np.random.default_rng(8), 20_000)
    covariance, freedom = pooled_covariance(arms, values)
    assert freedom == 20_000 - ARMS
    assert covariance == pytest.approx(COVARIANCE, abs=0.03)


def test_looks_at_a_growing_study() -> None:
    """Looked at after every 20 results, studies of 300 as assumed are rarely flagged at all."""
    rng = np.random.default_rng(9)
    flagged = 0
    for _ in range(50):
        arms, values = table(rng, 300)
        flagged += any(found((arms[:n], values[:n]), LOOKS).summary for n in range(20, 301, 20))
    assert flagged <= 3


def test_from_python() -> None:
    rng = np.random.default_rng(10)
    arms, values = wide(table(rng))
    frame = pd.DataFrame(values, columns=["gain", "cost"])
    frame["arm"] = [PROBLEM.arms[a] for a in arms]
    diagnosis = check_results(PROBLEM, frame)
    assert [one.kind for one in diagnosis.findings] == ["covariance"]
    assert (
        diagnosis == found((arms, values))
        or diagnosis.findings == found((arms, values)).findings
    )
    assert check_results(PROBLEM, frame, level=1e-300).findings == ()
    with pytest.raises(InputError, match="no column 'cost'"):
        check_results(PROBLEM, frame.drop(columns="cost"))


def test_the_standard_deviation_that_is_divided_by_is_told() -> None:
    arms, values = table(np.random.default_rng(3))
    row = int(np.flatnonzero(arms == 2)[0])
    values[row, 0] += 20.0
    (one,) = found((arms, values)).findings
    sd = float(one.what.split("standard deviations (")[1].split(" each")[0])
    size = float(one.what.split(" is ")[1].split(" standard")[0])
    others = values[(arms == 2) & (np.arange(N) != row), 0]
    assert sd == pytest.approx(1.0, rel=0.15)
    assert size * sd == pytest.approx(values[row, 0] - others.mean(), rel=0.05)


LOUD = np.array([1.0, 1.0, 1.0, 1.0, 20.0])
OWN = Problem(objectives=["x"], arms=5)  # the noise is estimated, for each arm


def loud(rng: np.random.Generator, each: int) -> Table:
    arms = np.tile(np.arange(5), each)
    return arms, rng.normal(100.0, LOUD[arms])[:, None]


@pytest.mark.parametrize("each", [3, 4, 8, 20])
def test_an_arm_with_other_noise_is_no_outlier(each: int) -> None:
    """Where each arm has its own, no alarm more than the level says; it was in 7 of 10."""
    rng = np.random.default_rng(each)
    alarms = sum(bool(found(loud(rng, each), 0.02, OWN).deviations) for _ in range(200))
    assert binom.sf(alarms - 1, 200, 0.02) > FAIR


def test_outliers_are_found_by_the_noise_of_their_arm() -> None:
    for seed in range(50):
        arms, values = loud(np.random.default_rng(seed), 20)
        values[[6, 9]] *= 10.0  # of a quiet arm and of the loud one
        one = found((arms, values), problem=OWN).deviations[0]
        assert one.kind == "outliers"
        assert one.where[0] == "line 8"
        assert set(one.where) <= {"line 8", "line 11"}
        arms, values = loud(np.random.default_rng(seed), 20)
        values[9] = 160.0  # three of its standard deviations, sixty of the others'
        kinds = [one.kind for one in found((arms, values), problem=OWN).deviations]
        assert "outliers" not in kinds


BINARY = Problem(
    objectives={"passed": {"kind": "binary"}, "time": {"direction": "min"}},
    arms=["A", "B", "C"],
)


def passes(
    rng: np.random.Generator, n: int = 300, rates: tuple[float, ...] = (0.02, 0.5, 0.9)
) -> Table:
    """Values of 0 or 1, skewed as rates near 0 and 1 make them, next to a normal one."""
    arms = rng.integers(0, 3, n)
    passed = rng.random(n) < np.array(rates)[arms]
    return arms, np.column_stack([passed, rng.normal(5.0, 1.0, n)])


@pytest.mark.parametrize("rates", [(0.02, 0.5, 0.9), (0.01, 0.02, 0.03), (0.4, 0.5, 0.6)])
def test_values_of_0_or_1_are_not_tested_for_what_they_are_not(
    rates: tuple[float, ...],
) -> None:
    rng = np.random.default_rng(4)
    tables = [passes(rng, rates=rates) for _ in range(150)]
    alarms = sum(bool(found(data, 0.02, BINARY).deviations) for data in tables)
    assert binom.sf(alarms - 1, 150, 0.02) > FAIR


def test_values_of_0_or_1_are_tested_for_a_rate_that_changes() -> None:
    rng = np.random.default_rng(5)
    arms = rng.integers(0, 3, 600)
    rising = np.linspace(0.2, 0.8, 600)
    values = np.column_stack([rng.random(600) < rising, rng.normal(size=600)])
    (one,) = found((arms, values), problem=BINARY).deviations
    assert (one.kind, one.where) == ("drift", ("passed",))
    often = np.zeros(600)
    for i in range(1, 600):  # each repeats the one before it, mostly
        often[i] = often[i - 1] if rng.random() < 0.7 else rng.random() < 0.5
    values = np.column_stack([often, rng.normal(size=600)])
    assert "autocorrelation" in {
        one.kind for one in found((arms, values), problem=BINARY).findings
    }


def test_values_of_0_or_1_that_were_registered_as_numbers() -> None:
    """No logarithms are advised, and nothing is said to be skewed."""
    problem = Problem(objectives=["passed", "time"], arms=["A", "B", "C"])
    for seed in range(20):
        result = found(passes(np.random.default_rng(seed)), problem=problem)
        (one,) = (one for one in result.findings if one.p_value is None)
        assert (one.kind, one.where) == ("kind", ("passed",))
        assert "kind = 'binary'" in one.advice
        assert "skewness" not in {one.kind for one in result.findings}


def test_a_range_is_all_that_proofs_assume() -> None:
    rng = np.random.default_rng(6)
    arms = rng.integers(0, 3, 300)
    values = np.clip(rng.exponential(0.2, (300, 1)), 0.0, 1.0)
    problem = Problem(objectives={"score": {"range": [0, 1]}}, arms=["A", "B", "C"])
    (one,) = found((arms, values), problem=problem).deviations
    assert one.kind == "skewness"
    assert "stopping = 'certified'" in one.advice
    proven = diagnose(problem, arms, values, [""] * 300, any_law=True)
    assert proven.deviations == ()
    assert "within the range registered" in proven.assumed


def test_logarithms_are_advised_where_they_can_be_taken() -> None:
    rng = np.random.default_rng(7)
    arms, values = rng.integers(0, 3, 300), rng.lognormal(0.0, 1.0, (300, 1))
    problem = Problem(objectives={"time": "min"}, arms=["A", "B", "C"], covariance="estimate")
    advice = {one.kind: one.advice for one in found((arms, values), problem=problem).findings}
    assert "transform = 'log'" in advice["skewness"]
    below = {
        one.kind: one.advice for one in found((arms, values - 3), problem=problem).findings
    }
    assert "log" not in below["skewness"]


def test_what_is_assumed_is_said_by_kind() -> None:
    rng = np.random.default_rng(8)
    assert found(table(rng)).assumed == (
        "results that are independent and normal around the mean of their arm, with the "
        "covariance registered"
    )
    said = found(passes(rng), problem=BINARY).assumed
    assert "normal around the mean of their arm in 'time'" in said
    assert "0 or 1, with a probability of each arm that does not change, in 'passed'" in said
    text = found(loud(rng, 20), problem=OWN).scatter_text
    assert "median of the arms, least to largest" in text
