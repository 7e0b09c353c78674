"""Plots have what they should: names, ellipses of the posterior, the same marks everywhere."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.patches import Ellipse, Polygon
from matplotlib.text import Text

from psips import plots
from psips.errors import InputError
from psips.lab.instances import instance
from psips.pictures import front as fronts
from psips.plots.history import evidence_over_time, history_of, pulls_over_time
from psips.plots.labels import write_names
from psips.plots.planes import used_marks
from psips.problem import Problem
from psips.problem.instances import Instance
from psips.session import Session
from psips.simulation import play
from psips.simulation.environments import environment_of
from psips.study import Study


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    pyplot.close("all")


def told(made: Instance, results: int, **rules: object) -> Session:
    rng = np.random.default_rng(1)
    session = Session(made.problem, rng=rng, **rules)
    trial = environment_of(made).start(rng)
    for _ in range(results):
        arm = session.ask()
        session.tell(arm, trial.pull(arm))
    return session


def two() -> Instance:
    problem = Problem(
        objectives={"yield": "max", "cost": "min"},
        covariance=[[1.0, 0.6], [0.6, 2.0]],
        arms=["A", "B $x$", "C"],
    )
    return Instance("two", problem, np.array([[1.0, 0.0], [0.0, 0.5], [-0.5, -1.0]]))


def test_front() -> None:
    session = told(two(), 90)
    ax = plots.front(session)
    assert ax.get_xlabel() == "yield (more is better)"
    assert ax.get_ylabel() == "cost (less is better)"
    assert {text.get_text() for text in ax.texts} == {"A", r"B \$x\$", "C"}
    ellipses = [patch for patch in ax.patches if isinstance(patch, Ellipse)]
    assert len(ellipses) == 3
    known = session.status().arms
    for ellipse, (_, row) in zip(ellipses, known.iterrows(), strict=True):
        assert ellipse.center == (row["yield estimate"], row["cost estimate"])
        turn = np.radians(ellipse.angle)
        axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        half = np.diag([ellipse.width / 2, ellipse.height / 2]) / fronts.RADIUS_95
        posterior = session.problem.covariance / row["pulls"]
        np.testing.assert_allclose(axes @ half**2 @ axes.T, posterior, rtol=1e-9)


def test_the_radius_holds_95_percent() -> None:
    draws = np.random.default_rng(1).normal(size=(200_000, 2))
    share = np.mean(np.hypot(*draws.T) <= fronts.RADIUS_95)
    assert abs(share - 0.95) < 0.003


def test_objectives_are_chosen() -> None:
    session = told(instance("cov-boost"), 60)
    ax = plots.front(session, objectives=["NT50", "anti-spike IgG"])
    assert ax.get_xlabel().startswith("NT50")
    assert len(plots.fronts(session)) == 3
    for bad, message in (
        (["NT50", "NT5"], "unknown objective 'NT5'"),
        (["NT50"], "two different objectives"),
        (["NT50", "NT50"], "two different objectives"),
    ):
        with pytest.raises(InputError, match=message):
            plots.front(session, objectives=bad)
    with pytest.raises(InputError, match="expected a Session or a Study"):
        plots.front(session.status())  # type: ignore[arg-type]


def test_names_do_not_overlap() -> None:
    session = told(instance("correlated"), 60)
    ax = plots.front(session)
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 5
    for i, box in enumerate(boxes):
        assert box.count_overlaps(boxes[i + 1 :]) == 0


def test_names_stay_within_the_frame() -> None:
    """Points on all four sides of the axes, where most places for a name are outside."""
    ax = plots.detached((4.0, 3.0))
    xs, ys = np.array([0.0, 1.0, 0.5, 0.5]), np.array([0.5, 0.5, 0.0, 1.0])
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    names = ["option at the left", "option at the right", "option below", "option above"]
    write_names(ax, names, xs, ys, [0, 1, 2, 3], needed=[0, 1, 2, 3])
    frame = ax.get_window_extent()
    assert len(ax.texts) == 4
    for text in ax.texts:
        box = Text.get_window_extent(text)  # without the line to its point
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1, text
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1, text


def test_one_objective_and_an_unmeasured_arm() -> None:
    problem = Problem(objectives={"cost": "min"}, covariance=[1.0], arms=["A", "B", "C"])
    session = Session(problem, rng=1)
    session.tell("B", 2.0)
    session.tell("A", 3.0)
    (ax,) = plots.fronts(session)
    assert next(label.get_text() for label in ax.get_yticklabels()) == "B"
    assert plots.pulls(session).get_legend() is not None
    (said,) = plots.evidence(session).texts
    assert "not every arm" in said.get_text()
    assert said.get_position() == (0.5, 0.5)  # in the middle of the axes
    assert said.get_ha() == "center"


def test_dollars_are_no_formulas() -> None:
    legend = plots.pulls(told(two(), 20)).get_legend()
    assert legend is not None
    assert any(text.get_text().endswith(r"B \$x\$") for text in legend.get_texts())


def test_pulls_over_time() -> None:
    session = told(instance("correlated"), 150)
    looks, counts = pulls_over_time(history_of(session))
    assert looks[0] == 0
    assert looks[-1] == 150
    assert counts.sum(axis=1).tolist() == looks.tolist()
    assert counts[-1].tolist() == list(session.pulls.values())
    lines = plots.pulls(session).get_lines()
    assert len(lines) == 5
    assert {line.get_ydata()[-1] for line in lines} == set(session.pulls.values())


@pytest.mark.parametrize("rule", ["posterior", "glr", "certified", "bayes", "never"])
def test_evidence(rule: str) -> None:
    session = told(instance("correlated"), 120, stopping=rule)
    found = evidence_over_time(history_of(session))
    assert found.results[-1] == 120
    known = session.status()
    if rule == "certified":
        assert found.value[-1] == known.evidence["settled"]
    elif rule == "glr":
        assert found.value[-1] == pytest.approx(known.evidence["evidence"], rel=1e-6)
        assert found.threshold[-1] == pytest.approx(known.evidence["threshold"])
    else:
        assert found.value[-1] == pytest.approx(known.probability_of_change, rel=0.3)
        assert set(found.threshold) == {session.rules.delta}
    lines = plots.evidence(session).get_lines()
    assert len(lines) == (3 if rule == "posterior" else 2)
    labels = {str(line.get_label()) for line in lines}
    assert ("answers settled" in labels) == (rule == "certified")
    assert ("stops above" in labels) == (rule == "glr")


def test_a_linear_history() -> None:
    session = told(instance("noc-transductive"), 40)
    found = evidence_over_time(history_of(session), most=3)
    assert found.value[-1] == pytest.approx(session.status().evidence["evidence"], rel=1e-6)


def test_a_study_without_what_was_withdrawn() -> None:
    made = two()
    study = Study.create(made.problem, "sqlite://", name="a", seed=1)
    for arm in made.problem.arms * 3:
        study.tell(arm, [1.0, 2.0])
    study.withdraw(result=2)
    study.correct([5.0, 5.0], result=1)
    history = history_of(study)
    assert len(history.arms) == 8
    assert history.values[0].tolist() == [5.0, 5.0]
    assert len(plots.evidence(study).get_lines()) == 2


def test_a_restored_session_has_lost_the_order() -> None:
    session = told(two(), 10)
    restored = Session.restore(session.snapshot())
    restored.tell("A", [1.0, 2.0])
    plots.front(restored)
    with pytest.raises(InputError, match="11 results, but the order of only 1 is known"):
        plots.pulls(restored)


@pytest.mark.parametrize("rule", ["ape", "elimination"])
def test_evidence_of_baselines(rule: str) -> None:
    """They are replayed with another sampling rule, which must not disturb their stop."""
    found = evidence_over_time(history_of(told(two(), 60, sampling=rule)))
    assert ((found.value > 0) & (found.value <= 1)).all()
    assert (found.threshold == 0.1).all()


def test_a_plot_is_on_a_figure_that_shows() -> None:
    session = told(two(), 30)
    for draw in (plots.front, plots.pulls, plots.evidence):
        before = set(pyplot.get_fignums())
        ax = draw(session)
        (new,) = set(pyplot.get_fignums()) - before
        assert pyplot.figure(new) is ax.figure
    many = len(pyplot.get_fignums())
    plots.front(session, plots.detached((4.0, 3.0)))
    assert len(pyplot.get_fignums()) == many


def decades() -> Session:
    problem = Problem(
        objectives={"latency": "min", "rate": "max", "loss": "min"},
        covariance=[0.04, 1.0, 1.0],
        arms=["A", "B", "C", "D"],
    )
    session = Session(problem, rng=1)
    rows = [[1.0, 5.0, 1.0], [30.0, 7.0, 2.0], [900.0, 9.0, 3.0], [1000.0, 4.0, 0.5]]
    for arm, row in zip(problem.arms, rows, strict=True):
        session.tell(arm, row)
    return session


def test_a_logarithmic_axis_where_an_objective_spans_decades() -> None:
    session = decades()
    ax = plots.front(session)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    regions = [patch for patch in ax.patches if isinstance(patch, Polygon)]
    assert len(regions) == 4
    estimates = session.status().answers
    for region, (_, row) in zip(regions, estimates.iterrows(), strict=True):
        points = region.get_xy()
        assert (points[:, 0] > 0).all()
        assert points[:, 1].max() == pytest.approx(
            row["rate estimate"] + fronts.RADIUS_95 * row["rate se"], rel=1e-3
        )
    assert plots.front(session, objectives=["rate", "loss"]).get_xscale() == "linear"
    problem = Problem(objectives=["yield"], covariance=[1e-4], arms=["A", "B"])
    one = Session(problem, rng=1)
    one.tell("A", 1.0)
    one.tell("B", 500.0)
    assert plots.front(one).get_xscale() == "log"


def test_the_line_of_the_front() -> None:
    ax = plots.front(told(two(), 90))
    (line,) = [line for line in ax.get_lines() if line.get_linestyle() == "-"]
    assert len(line.get_xdata()) >= 3
    session = decades()
    ax = plots.front(session, objectives=["rate", "loss"])  # of three objectives
    (line,) = [line for line in ax.get_lines() if line.get_linestyle() == "--"]
    corners = set(zip(line.get_xdata(), line.get_ydata(), strict=True))
    assert {(5.0, 1.0), (7.0, 2.0), (9.0, 3.0), (4.0, 0.5)} <= corners


def test_the_front_of_a_pair() -> None:
    points = np.array([[1.0, 3.0], [2.0, 2.0], [1.0, 2.0], [3.0, np.nan], [2.0, 2.0]])
    assert fronts.pair_front(points).tolist() == [True, True, False, False, True]
    assert fronts.pair_front(np.zeros((0, 2))).tolist() == []
    rng = np.random.default_rng(1)
    for size in (1, 5, 40):
        points = rng.integers(0, 6, (size, 2)).astype(float)  # many ties
        points[rng.random(size) < 0.1, 1] = np.nan
        least = (points[:, None] >= points[None]).all(axis=2)
        more = (points[:, None] > points[None]).any(axis=2)
        inside = np.isfinite(points).all(axis=1) & ~(least & more).any(axis=0)
        assert fronts.pair_front(points).tolist() == inside.tolist()


def test_names_never_cover_each_other() -> None:
    session = told(instance("cov-boost"), 200)
    for pair in (["NT50", "anti-spike IgG"], ["NT50", "cellular response"]):
        ax = plots.front(session, plots.detached((4.6, 4.0)), pair, legend=False)
        written = {text.get_text() for text in ax.texts}
        assert written >= set(session.candidate_set)
        assert len(written) > 10
        extent = type(ax.texts[0]).__mro__[1].get_window_extent  # without the line to the point
        boxes = [
            extent(text) for text in ax.texts if text.get_text() not in session.candidate_set
        ]
        for i, box in enumerate(boxes):
            assert box.count_overlaps(boxes[i + 1 :]) == 0


def test_after_a_stop_the_legend_says_that_the_set_is_claimed() -> None:
    stopped, open_ = Session(two().problem, rng=1), told(two(), 20)
    play(stopped, environment_of(two()), np.array([1, 2], np.uint64))
    assert stopped.stopped
    assert not open_.stopped
    for session, words in ((stopped, "the set"), (open_, "candidate")):
        labels = [mark.label for mark in used_marks(session.status())]
        assert any(words in label for label in labels)
        assert all(words in label or label == "proven not optimal" for label in labels)
