"""First hits by jumps have the law of the literal loop's: index, point, and learner's gains.

The reference is a plain loop in ``naive``, with NumPy's normals and the definition of Alt.
Cells of the tables are p-values; the same check catches two broken samplers.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
from core import states
from core.entries import (
    Hits,
    State,
    answers,
    drop_nearest,
    factor,
    hits,
    literal,
    live,
    members,
    plain_model,
    state,
    walk,
)
from psips._core import testing
from psips.state.search import GROUPS, LITERALS, PROPOSALS, RECORDS, STOPPER

DRIFT = testing.DRIFT

SAMPLES = 10_000


def functionals(at: State, found: Hits) -> dict[str, np.ndarray]:
    """What is compared of the points: coordinates, the distance from theta, two arms' gains."""
    values, outside = answers(at, found.points), live(at)
    whitened = np.linalg.inv(factor(at)) @ (found.points - at.belief.theta)
    whitened = whitened @ np.linalg.inv(at.model.L).T
    return {
        "a member": values[:, members(at)[0], 0],
        "another": values[:, members(at)[-1], -1],
        "a live answer": values[:, outside[0] if outside else members(at)[1], 0],
        "distance": (whitened**2).sum(axis=(1, 2)),
        "first gain": found.gains[:, 0],
        "last gain": found.gains[:, -1],
    }


def compare(at: State, first: Hits, second: Hits) -> dict[str, float]:
    """p-values of the same law."""
    left, right = functionals(at, first), functionals(at, second)
    table = {name: laws.same_law(left[name], right[name]) for name in left}
    table["index"] = laws.same_counts(first.index, second.index)
    table["geometric"] = laws.geometric(first.index)
    return table


STATES = [
    (name, level)
    for name in states.PULLS
    for level in states.LEVELS
    if not ("ball" in name and level < 0.01)
]


@pytest.mark.parametrize(("name", "level"), STATES)
def test_law_of_the_first_hit(name: str, level: float) -> None:
    at = states.at(name, level)
    samples = SAMPLES if level < 0.1 else 2 * SAMPLES
    by_jumps, one_by_one = hits("hits", at, samples), literal(at, samples)
    if "ball" not in name:
        assert one_by_one.index.mean() == pytest.approx(1 / level, rel=0.3)
    table = compare(at, by_jumps, one_by_one)
    assert min(table.values()) > laws.FAIR, table
    proposals, draws = at.draw.made[[PROPOSALS, LITERALS]]
    assert (draws > 0) == (proposals == 0)  # one way or the other
    assert proposals > 0 or level > 0.1  # by jumps where hits are rare


@pytest.mark.parametrize("label", ["2 opposed", "3, near singular", "5 in camps"])
def test_law_near_the_edge(label: str) -> None:
    """Correlations with which the order of the groups in a record matters."""
    at = states.edge(label, 2.2)
    found, expected = hits("hits", at, SAMPLES), literal(at, SAMPLES, rng=8)
    assert at.draw.made[PROPOSALS] > 0
    table = compare(at, found, expected)
    assert min(table.values()) > laws.FAIR, table


@pytest.mark.parametrize(
    ("label", "most"),
    [
        ("2 opposed", 2),
        ("3, near singular", 6),
        ("4, near singular", 400),
        ("5 opposed", 60),
        ("5 in camps", 10),
        ("6 in camps", 1000),
        ("6, near singular", 2000),
    ],
)
def test_proposals_for_a_hit_near_the_edge(label: str, most: float) -> None:
    """Groups in a bad order make a set far larger than its piece: 250 to 10^5 and more."""
    at = states.edge(label, 4.5)
    hits("hits", at, 100)
    assert at.draw.made[PROPOSALS] / 100 <= most


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_a_set_is_as_far_as_its_piece(seed: int, d: int) -> None:
    """No entry of b is negative when a cover is built, so that |b| is the distance."""
    rng = np.random.default_rng(seed)
    side = rng.choice([-1.0, 1.0], d) * rng.uniform(0.8, 1.0, d)
    R = np.outer(side, side) + np.diag(1.0 - side**2)
    means = rng.normal(size=(4, d)) * 10.0 ** rng.uniform(-1, 1, d)
    at = state(plain_model(R + 1e-3 * np.eye(d), K=4), means, rng.uniform(5, 40, 4))
    for k in range(at.cover.life[RECORDS]):
        groups = at.cover.shape[k, GROUPS]
        b = at.cover.b[k, :groups]
        assert groups == 1 or b.min() >= -1e-6 * np.abs(b).max()


def test_control_literal_against_literal() -> None:
    at = states.at("negative", 0.01)
    table = compare(at, literal(at, SAMPLES, rng=1), literal(at, SAMPLES, rng=2))
    assert min(table.values()) > laws.FAIR, table


def test_a_long_sample() -> None:
    """A hundred thousand of each: a bias of a percent would show."""
    at = states.at("negative", 0.01)
    table = compare(at, hits("hits", at, 100_000, key=3), literal(at, 100_000, rng=3))
    assert min(table.values()) > laws.FAIR, table


def test_inflated_draws() -> None:
    at = states.at("linear", 0.01, scale=1.4)
    found, expected = hits("hits", at, SAMPLES, scale=1.4), literal(at, SAMPLES, scale=1.4)
    table = compare(at, found, expected)
    assert min(table.values()) > laws.FAIR, table
    table = compare(at, found, literal(at, SAMPLES))
    assert min(table.values()) < laws.CAUGHT


@pytest.mark.parametrize("name", ["independent", "negative", "six", "linear three"])
def test_bounds_of_the_probabilities_will_do(name: str) -> None:
    """Proposals by bounds are thinned to the law; without that they are caught."""
    at = states.at(name, 0.01)
    expected = literal(at, SAMPLES, rng=6)
    table = compare(at, hits("loose", at, SAMPLES), expected)
    assert min(table.values()) > laws.FAIR, table
    table = compare(at, hits("unthinned", at, SAMPLES), expected)
    assert min(table.values()) < laws.CAUGHT


@pytest.mark.parametrize("name", ["independent", "linear"])
def test_a_scale_that_drifts(name: str) -> None:
    """The stopping rule's scale moves a little from round to round."""
    at = states.at(name, 0.01)
    hits("hits", at, 1, log_budget=600.0)
    known = at.cover.mass[:, STOPPER].copy()
    found = hits("hits", at, SAMPLES, scale=1.0 + DRIFT / 2, log_budget=600.0)
    assert (at.cover.mass[:, STOPPER] == known).all()
    table = compare(at, found, literal(at, SAMPLES, rng=7))
    assert min(table.values()) > laws.FAIR, table
    hits("hits", at, 1, scale=1.0 + 2 * DRIFT, log_budget=600.0)
    assert (at.cover.mass[:, STOPPER] != known).any()


@pytest.mark.parametrize("name", ["independent", "linear three"])
def test_a_few_literal_draws_first(name: str) -> None:
    at = states.at(name, 0.15)
    table = compare(at, hits("eager_hits", at, SAMPLES), literal(at, SAMPLES, rng=4))
    assert min(table.values()) > laws.FAIR, table


@pytest.mark.parametrize("name", ["independent", "negative", "positive", "six", "linear"])
def test_a_cover_that_was_built_elsewhere(name: str) -> None:
    """The structure is kept while theta and the counts move on; the law is that of now."""
    at = states.at(name, 0.01)
    built = at.cover.y.copy()
    walk(at, np.random.default_rng(5), 0.6)
    assert testing.refresh_cover(at)
    assert (at.cover.y == built).all()
    table = compare(at, hits("hits", at, SAMPLES), literal(at, SAMPLES, rng=5))
    assert min(table.values()) > laws.FAIR, table


@pytest.mark.parametrize(
    ("name", "level"),
    [("negative", 0.01), ("independent", 0.15), ("six", 0.15), ("linear three", 0.15)],
)
def test_keeping_what_an_earlier_set_contains_is_caught(name: str, level: float) -> None:
    at = states.at(name, level)
    samples = 2 * SAMPLES
    table = compare(at, hits("careless", at, samples), literal(at, samples))
    assert min(table.values()) < laws.CAUGHT


@pytest.mark.parametrize(
    "name", ["independent", "negative", "positive", "three", "six", "linear three"]
)
def test_a_missing_set_is_caught(name: str) -> None:
    at = states.at(name, 0.01)
    drop_nearest(at)
    table = compare(at, hits("hits", at, SAMPLES), literal(at, SAMPLES))
    assert min(table.values()) < laws.CAUGHT


def test_one_answer_has_no_alternative() -> None:
    model = plain_model(np.eye(2), A=np.eye(3), Z=np.array([[1.0, 2.0, 3.0]]))
    at = state(model, np.ones((3, 2)), np.full(3, 5.0))
    assert np.isinf(hits("hits", at, 3, log_budget=np.log(50.0)).index).all()


def test_the_budget_cuts_the_index_and_nothing_else() -> None:
    """P(index > M) = (1 - P)^M, and hits within the budget come at the same places."""
    at = states.at("negative", 0.01)
    free = hits("hits", at, SAMPLES, key=7, log_budget=600.0)
    cut = hits("hits", at, SAMPLES, key=7, log_budget=np.log(50.0))
    assert (np.isinf(cut.index) == (free.index > 50)).all()
    within = free.index <= 50
    assert (cut.index[within] == free.index[within]).all()
