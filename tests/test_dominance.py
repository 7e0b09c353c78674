"""Options compared with each other: probabilities, the order, what a pair would cost."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from psips import Problem, Session, Study, plots
from psips.errors import InputError
from psips.plots.orders import arranged, places_of, way
from psips.session.dominance import DRAWS, Comparisons, comparisons_of
from psips.session.engine import Engine

OFF = 5.0 * np.sqrt(0.25 / DRAWS)  # five standard errors of a probability by draws


def told(problem: Problem, means: list[list[float]], each: int, seed: int = 1) -> Session:
    session = Session(problem, rng=seed)
    rng = np.random.default_rng(seed)
    for arm, mean in zip(problem.arms, means, strict=True):
        for _ in range(each):
            session.tell(arm, rng.normal(mean, 1.0))
    return session


def exact_probability(session: Session, i: int, j: int, independent: bool = False) -> float:
    """P(i dominates j) by the law of the difference of two normal means in the plane."""
    engine = session.engine
    C = engine.covariances()[i] + engine.covariances()[j]
    if independent:
        C = np.diag(np.diag(C))
    return float(multivariate_normal.cdf(engine.means[i] - engine.means[j], np.zeros(2), C))


def test_probabilities_are_those_of_the_posterior() -> None:
    """Noise that is correlated; as if it were not is a broken twin, and is caught."""
    problem = Problem(objectives=["a", "b"], covariance=[[1, 0.9], [0.9, 1]], arms=4)
    session = told(problem, [[0, 0], [0.2, 0.1], [0.3, 0.3], [-0.1, 0.2]], 5)
    found = session.comparisons()
    place = {name: problem.arms.index(name) for name in found.options}
    worst = twin = 0.0
    for i, first in enumerate(found.options):
        for j, second in enumerate(found.options):
            if i != j:
                pair = place[first], place[second]
                p = found.probability[i, j]
                worst = max(worst, abs(p - exact_probability(session, *pair)))
                twin = max(twin, abs(p - exact_probability(session, *pair, independent=True)))
    assert worst < OFF
    assert twin > 2 * OFF


def test_shared_items_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arms measured on the same items: what they share cancels. A twin that forgets it errs."""
    problem = Problem(objectives=["a"], arms=["A", "B"], items=True)
    session = Session(problem, rng=1)
    rng = np.random.default_rng(2)
    for k in range(40):
        shared = rng.normal(0.0, 5.0)
        for arm, mean in (("A", 0.3), ("B", 0.0)):
            session.tell(arm, [shared + mean + rng.normal(0.0, 0.5)], item=f"item {k}")
    values = session.told.values[:, 0].reshape(-1, 2)
    lead = values[:, 0] - values[:, 1]
    expected = norm.cdf(lead.mean() / (lead.std(ddof=1) / np.sqrt(len(lead))))
    known = session.comparisons().to_frame().loc["A", "B"]
    assert known == pytest.approx(expected, abs=0.03)
    monkeypatch.setattr(type(session.engine), "deviations", Engine.deviations)
    forgetful = session.comparisons().to_frame().loc["A", "B"]
    assert abs(forgetful - expected) > 0.2


def test_features_count() -> None:
    """Two arms that share features: their means go together."""
    problem = Problem(
        objectives=["a"],
        covariance=[1.0],
        arms=["A", "B", "C"],
        features=[[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]],
        intercept=False,
    )
    session = told(problem, [[1.0], [1.3], [0.3]], 12)
    engine = session.engine
    u = problem.model.Z[1] - problem.model.Z[0]
    sd = np.linalg.norm(u @ engine.belief.F)
    expected = norm.cdf((engine.means[1] - engine.means[0])[0] / sd)
    found = session.comparisons().to_frame()
    assert found.loc["B", "A"] == pytest.approx(expected, abs=OFF)


def test_exact_metrics_are_facts() -> None:
    problem = Problem(
        objectives={"gain": "max", "size": {"direction": "min", "kind": "exact"}},
        arms=["small", "large"],
        covariance=[1.0, 0.0],
    )
    session = Session(problem, rng=1)
    for _ in range(4):
        session.tell("small", [1.0, 1.0])
        session.tell("large", [1.0, 2.0])
    found = session.comparisons().to_frame()
    assert found.loc["large", "small"] == 0.0
    assert found.loc["small", "large"] == pytest.approx(0.5, abs=OFF)


def test_an_option_that_breaks_a_limit_dominates_none() -> None:
    two = {"gain": "max", "harm": "min"}
    free = Problem(objectives=two, covariance=[1, 1], arms=["A", "B"])
    kept = Problem(objectives=two, covariance=[1, 1], arms=["A", "B"], limits=["harm <= -9"])
    for problem, expected in ((free, 1.0), (kept, 0.0)):
        session = told(problem, [[9, 0], [0, 9]], 9)
        table = session.comparisons().to_frame()
        assert table.loc["A", "B"] == pytest.approx(expected, abs=1e-3)


def naive_order(found: Comparisons, means: np.ndarray) -> set[tuple[str, str]]:
    """The order by its definition: who dominates whom with no one between them."""
    n = len(means)
    over = {
        (i, j)
        for i in range(n)
        for j in range(n)
        if (means[i] >= means[j]).all() and (means[i] > means[j]).any()
    }
    between = {
        (i, j) for i, j in over if any((i, k) in over and (k, j) in over for k in range(n))
    }
    return {(found.options[i], found.options[j]) for i, j in over - between}


@pytest.mark.parametrize("seed", range(6))
def test_the_order_leaves_out_what_follows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem(objectives=["a", "b"], covariance=[1, 1], arms=9)
    session = told(problem, rng.normal(0, 3, (9, 2)).tolist(), 3, seed + 1)
    found = session.comparisons()
    rows = [problem.arms.index(name) for name in found.options]
    expected = naive_order(found, session.engine.means[rows])
    assert {(edge.by, edge.over) for edge in found.order} == expected
    for edge in found.order:
        assert found.level[edge.by] < found.level[edge.over]
        p = found.to_frame().loc[edge.by, edge.over]
        assert edge.probability == p
    top = {name for name, level in found.level.items() if level == 0}
    assert top == set(session.candidate_set)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [2, 3, 6])
def test_lines_pass_between_the_boxes_of_other_rows(seed: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem(objectives=["a", "b"], covariance=[1, 1], arms=12)
    found = told(problem, rng.normal(0, 3, (12, 2)).tolist(), 3, seed + 1).comparisons()
    places = places_of(arranged(found, most))
    assert len(set(places.values())) == 12
    for edge in found.order:
        points = way(edge, places)
        assert (points[0], points[-1]) == (places[edge.by], places[edge.over])
        assert [row for _, row in points] == [*range(points[0][1], points[-1][1] + 1)]
        for x, row in points[1:-1]:
            assert all(abs(x - b) >= 0.5 for b, k in places.values() if k == row)


def test_straight_lines_would_pass_behind_boxes() -> None:
    """Which is why they are bent: the fourth of four options at the top is in a second row."""
    problem = Problem(objectives=["a", "b"], covariance=[1, 1], arms=5)
    means = [[9.0, 0.0], [6.0, 3.0], [3.0, 6.0], [0.0, 9.0], [5.0, 2.0]]
    found = told(problem, means, 9).comparisons()
    places = places_of(arranged(found, 3))
    (edge,) = found.order
    assert (edge.by, edge.over) == ("arm 2", "arm 5")
    assert places == {
        **{"arm 1": (0.5, 0), "arm 2": (1.5, 0), "arm 3": (2.5, 0)},
        **{"arm 4": (1.5, 1), "arm 5": (1.5, 2)},
    }
    assert way(edge, places) == [(1.5, 0), (2.0, 1), (1.5, 2)]


def test_a_tolerance_settles_a_pair() -> None:
    """With it the same results leave the pair settled; with half of it they do not."""
    problem = Problem(objectives=["a", "b"], covariance=[1, 1], arms=["A", "B", "C", "D"])
    rng = np.random.default_rng(3)
    means = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [0.2, 0.1]]
    rows = [
        (arm, rng.normal(mean))
        for _ in range(25)
        for arm, mean in zip("ABCD", means, strict=True)
    ]

    def open_pairs(epsilon: object) -> set[tuple[str, str]]:
        given = problem if epsilon is None else problem.asking(epsilon=epsilon)
        session = Session(given, rng=1)
        for arm, values in rows:
            session.tell(arm, values)
        return {(one.option, one.rival) for one in comparisons_of(session).undecided}

    session = Session(problem, rng=1)
    for arm, values in rows:
        session.tell(arm, values)
    pairs = comparisons_of(session).undecided
    assert {pair.candidate for pair in pairs} == {True, False}
    for pair in pairs:
        assert pair.tolerance
        assert pair.cost == sum(pair.more.values()) > 0
        whole = {name: 1.02 * amount for name, amount in pair.tolerance.items()}
        half = {name: 0.5 * amount for name, amount in pair.tolerance.items()}
        assert (pair.option, pair.rival) not in open_pairs(whole), pair
        pairs_left = open_pairs(half)  # of which the hardest rival may be another
        assert pair.option in {name for both in pairs_left for name in both}, pair


def test_costs_are_counted() -> None:
    problem = Problem(
        objectives=["a", "b"], covariance=[1, 1], arms=["A", "B"], costs={"A": 10.0, "B": 1.0}
    )
    session = told(problem, [[0.3, 0.0], [0.0, 0.3]], 10)
    for pair in session.comparisons().undecided:
        assert pair.cost == 10.0 * pair.more.get("A", 0) + pair.more.get("B", 0)


def test_what_cannot_be_compared() -> None:
    problem = Problem(objectives=["a"], covariance=[1], arms=["A", "B"])
    session = Session(problem, rng=1)
    assert "not every option" in session.comparisons().why_not
    with pytest.raises(InputError, match="nothing to compare yet"):
        plots.comparisons(session)
    with pytest.raises(InputError, match="at least two options"):
        session.comparisons(1)
    with pytest.raises(InputError, match="expected a Session"):
        plots.comparisons(problem)  # type: ignore[arg-type]


def test_of_many_options_the_likeliest_are_compared() -> None:
    problem = Problem(objectives=["a"], covariance=[1], arms=50)
    session = told(problem, [[float(k)] for k in range(50)], 2)
    found = session.comparisons(5)
    assert (len(found.options), found.unlisted) == (5, 45)
    assert found.options[0] == session.candidate_set[0]
    assert set(found.options) <= {f"arm {k}" for k in range(40, 51)}


def test_a_study_draws_the_same() -> None:
    problem = Problem(objectives=["a", "b"], covariance=[1, 1], arms=["<A> $x$", "B"])
    study = Study.create(problem, "sqlite://", name="s", seed=1)
    for arm in problem.arms:
        study.tell(arm, [1.0, 2.0])
    assert study.comparisons().options == study.state.session.comparisons().options
    figure = plots.comparisons(study)
    texts = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert r"<A> \$x\$" in texts
    import matplotlib.pyplot as plt

    plt.close(figure)
