"""The search for instances that break a rule: it finds them, and trusts fresh seeds only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psips.errors import InputError
from psips.lab.calibration import adversarial
from psips.lab.calibration.adversarial import DRAWN, draw, search, seed_of
from psips.lab.calibration.measuring import Rule
from psips.lab.instances import instance
from psips.problem.instances import Instance
from psips.simulation.summary import Summary, simulate_many

QUICK = {"tries": 8, "runs": 20, "again": 100, "keep": 2, "cap": 2000}


def test_it_finds_a_breach_of_a_rule_that_has_one() -> None:
    found = search(Rule("bayes"), delta=0.1, seed=1, **QUICK)
    assert len(found) == 2
    worst = found[0]
    assert worst.broken
    assert worst.low > 0.1
    assert worst.errors >= found[1].errors
    made = instance(worst.name, **worst.params)  # it can be made again, and breaks again
    again = simulate_many(made, runs=100, seed=99, max_results=2000, stopping="bayes")
    assert again.errors > 20


def test_a_proven_rule_has_no_breach() -> None:
    options: dict[str, Any] = {"tries": 3, "runs": 5, "again": 30, "keep": 1, "cap": 1000}
    found = search(Rule("certified"), delta=0.3, seed=1, **options)
    assert len(found) == 1
    assert not any(one.broken for one in found)


def test_the_second_stage_has_seeds_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[tuple[int, int]] = []

    def record(made: Instance, *, runs: int, seed: int, **options: Any) -> Summary:
        seeds.append((runs, seed))
        return simulate_many(made, runs=runs, seed=seed, **options)

    monkeypatch.setattr(adversarial, "simulate_many", record)
    search(Rule("bayes"), tries=4, runs=2, again=3, keep=2, cap=50)
    first = [seed for runs, seed in seeds if runs == 2]
    second = [seed for runs, seed in seeds if runs == 3]
    assert (len(first), len(second)) == (4, 2)
    assert len({*first, *second}) == 6
    states = [tuple(np.random.SeedSequence(seed).generate_state(4)) for _, seed in seeds]
    assert len(set(states)) == 6


def test_what_was_lucky_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a coin for a rule the worst of many looks broken at first, and is not at last.

    The same search with the first stage's seeds again would call it broken.
    """

    class Coin:
        def __init__(self, errors: int) -> None:
            self.errors = errors

    def toss(_: Instance, *, runs: int, seed: int, **options: Any) -> Coin:
        return Coin(int((np.random.default_rng(seed).random(runs) < 0.1).sum()))

    monkeypatch.setattr(adversarial, "simulate_many", toss)
    options: dict[str, Any] = {"tries": 200, "runs": 30, "again": 30, "keep": 3}
    found = search(Rule("bayes"), delta=0.1, **options)
    assert all(one.first_errors >= 7 for one in found)
    assert not any(one.broken for one in found)
    monkeypatch.setattr(adversarial, "SECOND", adversarial.FIRST)
    stale = search(Rule("bayes"), delta=0.1, **options)
    assert any(one.broken for one in stale)


def test_a_search_can_be_repeated() -> None:
    options: dict[str, Any] = {"tries": 5, "runs": 3, "again": 5, "keep": 2, "cap": 200}
    assert search(Rule("bayes"), seed=3, **options) == search(Rule("bayes"), seed=3, **options)


def test_seeds_differ_by_search_number_and_stage() -> None:
    every = {seed_of(s, n, stage) for s in range(5) for n in range(50) for stage in (1, 2)}
    assert len(every) == 500


def test_everything_drawn_can_be_made_again_from_what_is_printed() -> None:
    from psips.cli.instance_options import command_of

    rng = np.random.default_rng(5)
    names = set()
    for _ in range(300):
        name, params = draw(rng)
        names.add(name)
        made = instance(name, **params)
        typed = command_of(name, params).split()[3:]
        kinds = [type(value) for value in params.values()]
        again = dict(
            zip(params, (k(t) for k, t in zip(kinds, typed[1::2], strict=True)), strict=True)
        )
        assert (instance(name, **again).theta == made.theta).all()
    assert names == set(DRAWN)


@pytest.mark.parametrize(
    ("name", "options", "metrics"),
    [
        ("near-tie", {2}, {1, 2, 3, 4}),
        ("worse", {2, 3, 5}, {1, 2, 3, 4, 6, 8}),
        ("worse-but-one", {2, 3, 5}, {2, 3, 4, 6, 8}),
        ("variant", {2, 3, 5}, {2, 3, 4, 6, 8}),
        ("front", {2, 3, 5, 10}, {2, 3, 4, 6}),
        ("just-below", {3, 5, 8}, {2, 3, 4, 6}),
        ("adverse", {2, 3, 5}, {2, 3, 4, 6, 8}),
        ("linear", {3, 4, 5, 6, 7, 8, 9, 11}, {1, 2, 3}),
        ("linear-slope", {2, 3, 5, 10}, {1}),
        ("ties", {2, 3, 4, 6}, {1, 2, 3, 4}),
        ("linear-ties", {2, 3, 4, 5, 6}, {1, 2}),
    ],
)
def test_sizes_of_what_is_drawn(name: str, options: set[int], metrics: set[int]) -> None:
    rng = np.random.default_rng(7)
    made = [instance(name, **DRAWN[name](rng)).problem for _ in range(200)]
    assert {problem.K for problem in made} == options
    assert {problem.d for problem in made} == metrics


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tries": 0}, "tries of the search must be at least 1, got 0"),
        ({"again": 0}, "again of the search must be at least 1, got 0"),
        ({"seed": -1}, "seed of the search must be at least 0, got -1"),
        ({"delta": 2.0}, "expected a number between 0 and 1, got 2.0"),
    ],
)
def test_bad_searches_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        search(Rule("bayes"), **options)
