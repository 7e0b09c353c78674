"""Words that people bring along: alpha, confidence, seed, minimize."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psips import Problem, Session, Study, evaluate
from psips.errors import InputError
from psips.input.directions import read_ways
from psips.lab.instances import instance
from psips.problem.problem_file import read_problem_file
from psips.rules import Rules, Tuning
from psips.simulation import simulate, simulate_many
from psips.simulation.comparing import read_designs
from psips.simulation.environments import environment_of

PROBLEM = Problem(objectives=["taste"], covariance=[1], arms=["green", "black"])
WORK: dict[str, Any] = {"objectives": {"x": "max"}, "workers": 1, "budget": 4}
FILE = 'arms = ["green", "black"]\nobjectives = [{name = "taste", variance = 1.0}]\n'


def rules_of_session(**given: Any) -> Rules:
    return Session(PROBLEM, rng=1, **given).rules


def rules_of_study(**given: Any) -> Rules:
    return Study.create(PROBLEM, "sqlite://", name="tea", **given).state.rules


def rules_of_simulation(**given: Any) -> Rules:
    made = instance("near-tie")
    summary = simulate_many(made, runs=1, max_results=2, **given)
    return Rules.from_dict(summary.to_dict()["settings"]["rules"])


EVERYWHERE = pytest.mark.parametrize(
    "made", [Rules, rules_of_session, rules_of_study, rules_of_simulation]
)


@EVERYWHERE
def test_alpha_is_not_taken_for_a_constant_of_exploration(made: Any) -> None:
    with pytest.raises(InputError) as caught:
        made(alpha=0.05)
    assert str(caught.value) == (
        "alpha=0.05: give delta=0.05 for the accepted probability of being wrong, or "
        "tuning={'alpha': 0.05} for the exponent of forced exploration"
    )
    assert made(tuning={"alpha": 0.05}).tuning == Tuning(alpha=0.05)


@EVERYWHERE
def test_confidence_is_one_minus_delta(made: Any) -> None:
    assert made(confidence=0.95).delta == 0.05
    with pytest.raises(InputError, match=r"delta=0.1 and confidence=0.95 say the same thing"):
        made(delta=0.1, confidence=0.95)
    with pytest.raises(InputError, match=r"confidence is the probability .* got 95"):
        made(confidence=95)


@EVERYWHERE
def test_the_arguments_of_earlier_versions_are_taken_with_a_warning(made: Any) -> None:
    with pytest.warns(DeprecationWarning, match=r"give tuning=\{'kappa': 3.0\}") as caught:
        rules = made(kappa=3.0)
    assert rules.tuning.kappa == 3.0
    assert {Path(one.filename).name for one in caught} == {Path(__file__).name}  # is seen


def test_seed_and_rng_are_the_same() -> None:
    environment = environment_of(instance("near-tie"))
    problem = environment.problem
    assert (
        Session(PROBLEM, seed=3).engine.key.tolist()
        == Session(PROBLEM, rng=3).engine.key.tolist()
    )
    one, other = (
        simulate(problem, environment, max_results=50, **given)
        for given in ({"rng": 3}, {"seed": 3})
    )
    assert one.pulls == other.pulls
    many = [simulate_many(instance("near-tie"), runs=2, **g) for g in ({"rng": 3}, {"seed": 3})]
    assert many[0].samples.tolist() == many[1].samples.tolist()
    assert many[0].settings["seed"] == many[1].settings["seed"] == 3
    assert simulate_many(instance("near-tie"), runs=1).settings["seed"] == 0


def registered(**given: Any) -> int:
    return Study.create(PROBLEM, "sqlite://", name="tea", **given).state.seed


def test_every_kind_of_seed_is_taken_everywhere() -> None:
    """By either name a whole number is itself; a generator has one drawn and recorded."""
    assert registered(seed=7) == registered(rng=7) == 7
    assert registered() != registered()
    for made in (np.random.default_rng, np.random.SeedSequence):
        drawn = registered(rng=made(7))
        assert drawn == registered(seed=made(7)) != registered(seed=made(8))
        assert 7 < drawn < 2**48
        summary = simulate_many(instance("near-tie"), runs=2, seed=made(7))
        again = simulate_many(instance("near-tie"), runs=2, rng=summary.settings["seed"])
        assert summary.samples.tolist() == again.samples.tolist()
    rng = np.random.default_rng(7)
    assert registered(rng=rng) != registered(rng=rng)  # a generator goes on
    orders = [
        evaluate(["A", "B"], range(9), lambda arm, item: len(arm) + item % 3, **WORK, **given)
        for given in ({"seed": 4}, {"rng": 4}, {"rng": np.random.default_rng(4)}, {"rng": 5})
    ]
    items = [one.session.problem.items for one in orders]
    assert items[0] == items[1] == items[2] != items[3]
    keys = [one.session.engine.key.tolist() for one in orders]
    assert keys[0] == keys[1] != keys[3]


@pytest.mark.parametrize(
    "made",
    [
        lambda **given: Session(PROBLEM, **given),
        registered,
        lambda **given: simulate(PROBLEM, None, **given),  # type: ignore[arg-type]
        lambda **given: simulate_many(instance("near-tie"), **given),
        lambda **given: evaluate(["A", "B"], ["1"], max, objectives={"x": "max"}, **given),
    ],
)
def test_seeds_that_cannot_be_used(made: Any) -> None:
    with pytest.raises(InputError, match="rng=1 and seed=2 are two names of the same thing"):
        made(rng=1, seed=2)
    for name in ("rng", "seed"):
        with pytest.raises(InputError, match=r"seed must be .*got -1"):
            made(**{name: -1})


def test_problem_files(tmp_path: Path) -> None:
    def read(text: str) -> Any:
        (tmp_path / "tea.toml").write_text(FILE + text)
        return read_problem_file(tmp_path / "tea.toml")

    assert read("confidence = 0.95\n").delta == 0.05
    new, old = read("[rules.tuning]\nalpha = 0.4\n"), read("[rules]\nalpha = 0.4\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a file from before is taken as it is
        assert Rules.from_dict(old.rules) == Rules.from_dict(new.rules)
    assert Rules.from_dict(new.rules).tuning.alpha == 0.4
    for text, message in (
        ("alpha = 0.05\n", "alpha = 0.05: write delta = 0.05"),
        ("delta = 0.1\nconfidence = 0.9\n", "'delta' and 'confidence' say the same thing"),
        ("confidence = 95\n", "confidence is the probability of a right answer"),
        ("[rules.tuning]\nbeta = 1\n", "unknown key of [rules.tuning] 'beta'"),
        ("[rules]\nalpha=0.4\ntuning={alpha=0.4}\n", "'alpha' is in [rules] and in"),
    ):
        with pytest.raises(InputError) as caught:
            read(text)
        assert message in str(caught.value)


def test_what_a_call_says_holds_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "tea.toml"
    file.write_text(f"{FILE}delta = 0.02\n[rules.tuning]\nalpha = 0.4\nkappa = 3\n")
    made = Study.create(file, "sqlite://", confidence=0.9, tuning={"kappa": 4})
    assert made.state.rules == Rules(delta=0.1, tuning={"alpha": 0.4, "kappa": 4})


def test_comparing_by_alpha(tmp_path: Path) -> None:
    (tmp_path / "tea.toml").write_text(f"{FILE}[truth]\ngreen = [1.0]\nblack = [0.0]\n")
    file = read_problem_file(tmp_path / "tea.toml")
    with pytest.raises(InputError, match=r"alpha: vary delta, .* or tuning.alpha"):
        read_designs([file], ["alpha=0.05,0.1"])
    one, other = read_designs([file], ["tuning.alpha=0.4,0.5"])
    assert (one.rules.tuning.alpha, other.rules.tuning.alpha) == (0.4, 0.5)
    (sure,) = read_designs([file], ["confidence=0.95"])
    assert sure.rules.delta == 0.05


@pytest.mark.parametrize("word", ["minimize", "Minimise", "MIN", "minimum"])
def test_directions_in_other_spellings(word: str, tmp_path: Path) -> None:
    best = word.casefold().replace("min", "max")
    given = {"cost": word, "yield": {"direction": best}}
    for objectives in (given, [("cost", word), ("yield", best)]):
        problem = Problem(objectives=objectives, covariance=[1, 1], arms=2)
        assert problem.directions == ("min", "max")
    file = tmp_path / "tea.toml"
    file.write_text(
        f'arms = 2\nobjectives = [{{name = "cost", direction = "{word}", variance = 1.0}}]\n'
    )
    assert read_problem_file(file).problem.directions == ("min",)
    assert read_ways([f"cost={word}"]) == {"cost": "min"}
    with pytest.raises(InputError, match="unknown direction of objective 'cost': 'down'"):
        Problem(objectives={"cost": "down"}, covariance=[1], arms=2)
