"""Answers proven in and out where there are limits, and how rarely that is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psips import Problem, Session
from psips.lab.instances import instance
from psips.problem.instances import Instance
from psips.session import constrained_verdicts
from psips.session.constrained_verdicts import Levels, judged, levels_of
from psips.session.verdicts import verdicts_of
from psips.simulation.environments import environment_of

DELTA = 0.2
RUNS, LOOKS = 120, 40


def dose(arms: int = 3, **choices: Any) -> Problem:
    usual: dict[str, Any] = {
        "objectives": {"efficacy": "max", "toxicity": "min"},
        "covariance": [1.0, 1.0],
        "limits": ["toxicity <= 0.3"],
    }
    return Problem(arms=arms, **usual | choices)


def verdicts(problem: Problem, means: Any, N: float) -> dict[str, tuple[str, str]]:
    """Of results that summed up to these means."""
    session = Session(problem, rng=1, delta=DELTA, stopping="never")
    told = problem.inward(np.array(means, float))
    session.engine.know(np.full(problem.K, N), N * told)
    session.engine.judge()
    found = verdicts_of(problem, session.engine)
    return {one.answer: (one.verdict, one.reason) for one in found}


def test_words() -> None:
    means = [[0.0, -1.0], [1.0, 0.0], [2.0, 1.0], [-1.0, 0.1]]
    found = verdicts(dose(4), means, 2000.0)
    rest = "keeps its limits, and beats every rival that may keep them"
    assert found["arm 1"] == ("in", rest)
    assert found["arm 2"] == ("in", rest)
    assert found["arm 3"] == ("out", "toxicity above 0.3, proven")
    assert found["arm 4"] == ("out", "dominated by arm 1, which keeps the limits")
    few = verdicts(dose(4), means, 12.0)
    assert few["arm 3"] == ("open", "toxicity above 0.3, not proven")
    assert few["arm 2"] == ("open", "not proven to keep the limit toxicity <= 0.3")
    assert few["arm 4"][1].startswith("not proven to keep the limit")
    some = verdicts(dose(2), [[0.0, -2.0], [0.05, -2.05]], 30.0)
    assert some["arm 2"] == ("open", "not proven to beat arm 1")
    assert some["arm 1"] == ("open", "not proven dominated by arm 2")


def test_words_with_a_tolerance() -> None:
    means = [[0.0, -1.0], [1.0, -1.0], [1.1, -1.1]]
    found = verdicts(dose(epsilon=0.3), means, 2000.0)
    assert found["arm 1"] == ("out", "arm 2, which keeps the limits, stands for it")
    beaten = "keeps its limits, and nothing that may keep them beats it by more than "
    assert found["arm 3"] == ("in", f"{beaten}the tolerance")
    share = dose(epsilon="5%", control="arm 1")
    assert (
        "no proof is known for a tolerance that is a percentage"
        in verdicts(share, means, 2000.0)["arm 1"][1]
    )


def test_against_a_control() -> None:
    """Limits that are a factor of the control's mean, of it and of the control itself."""
    means = [[0.0, 1.0], [1.0, 1.05], [2.0, 1.3]]
    found = verdicts(dose(control="arm 1", limits=["toxicity <= 1.2 * control"]), means, 4e4)
    assert [found[f"arm {k}"][0] for k in (1, 2, 3)] == ["in", "in", "out"]
    assert found["arm 3"][1] == "toxicity above 1.2 * control, proven"
    found = verdicts(dose(control="arm 1", limits=["toxicity <= 0.9 * control"]), means, 4e4)
    assert found["arm 1"][0] == "out"  # no one is less toxic than nine tenths of itself


def follows(kept: Any, broken: Any, leads: Any) -> tuple[list[bool], list[bool]]:
    """Who is in and who is out, by the definition, read aloud."""
    n = len(kept)
    inside, outside = [], []
    for z in range(n):
        others = [x for x in range(n) if x != z]
        left = all(any(broken[x]) or any(leads[z][x]) for x in others)
        inside.append(all(kept[z]) and left)
        by = any(all(kept[x]) and all(leads[x][z]) for x in others)
        outside.append(any(broken[z]) or by)
    return inside, outside


def test_what_follows_from_claims() -> None:
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(300):
        kept, broken = rng.random((2, 4, 2)) < 0.6
        leads = rng.random((4, 4, 2)) < 0.6
        one = Levels(1.0, 1.0, 1.0)
        keeps, breaks, behind, below = judged(
            kept.astype(float), broken.astype(float), leads.astype(float), one, True
        )
        below[range(4), range(4)] = False
        inside, outside = follows(kept, broken, leads)
        assert (keeps & behind.all(axis=1)).tolist() == inside
        assert (breaks | below.any(axis=1)).tolist() == outside
        seen.update(inside, outside)
    assert seen == {True, False}


def wrong_claims(problem: Problem, truth: Any, wrong: str, seed: int) -> int:
    """Count runs in which a verdict is claimed that is false, at any of the looks."""
    rng, claimed = np.random.default_rng(seed), 0
    truth = np.array(truth, float)
    known = problem.covariance is not None
    for _ in range(RUNS):
        session = Session(problem, rng=1, delta=DELTA, stopping="never")
        x = truth + rng.normal(size=(6 * LOOKS, *truth.shape))
        sums = problem.inward(x.cumsum(axis=0))
        for look in range(5, 6 * LOOKS, 6):
            if known:
                session.engine.know(np.full(problem.K, look + 1.0), sums[look])
                session.engine.judge()
            else:
                for row in x[max(0, look - 5) : look + 1]:
                    for arm, one in zip(problem.arms, row, strict=True):
                        session.tell(arm, one)
            found = verdicts_of(problem, session.engine)
            if any(one.verdict == wrong for one in found):
                claimed += 1
                break
    return claimed


# Every claim that the verdict needs is false slightly, for all answers at once.
NULLS = {
    "all break it": (dose(), [[0.0, 0.3 + 1e-9]] * 3, "in"),
    "all keep it, all equal": (dose(), [[0.0, 0.3]] * 3, "out"),
    "equal, far below": (dose(), [[0.0, -9.0]] * 3, "out"),
    "against the control": (
        dose(control="arm 1", limits=["toxicity <= 0.5 * control"]),
        [[0.0, 2.0], [0.0, 1.0 + 1e-9], [0.0, 1.0 + 1e-9]],
        "in",
    ),
    "estimated": (dose(2, covariance="per-arm"), [[0.0, 0.3 + 1e-9]] * 2, "in"),
}


@pytest.mark.parametrize("name", NULLS)
def test_at_the_worst_truths_verdicts_are_wrong_as_rarely_as_promised(name: str) -> None:
    problem, truth, wrong = NULLS[name]
    assert wrong_claims(problem, truth, wrong, 3) <= DELTA * RUNS


@pytest.mark.parametrize("name", ["all break it", "all keep it, all equal", "equal, far below"])
def test_levels_without_the_number_of_claims_would_be_seen(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken version: a test for one fixed time of each claim, looked at so often."""
    problem, truth, wrong = NULLS[name]
    fixed = 0.4  # about what a half of DELTA needs, once
    monkeypatch.setattr(
        constrained_verdicts, "levels_of", lambda *_: Levels(fixed, fixed, fixed)
    )
    assert wrong_claims(problem, truth, wrong, 3) > DELTA * RUNS


def test_levels_grow_with_the_number_of_claims() -> None:
    few, many = levels_of(2, 1, 2, 1.0), levels_of(20, 3, 2, 1.0)
    assert all(a < b for a, b in zip(few, many, strict=True))


@pytest.mark.parametrize("told", ["given", "per-arm"])
def test_a_trial_ends_with_every_answer_proven(told: str) -> None:
    made = instance("dose-finding", seed=1, told=told)
    session = Session(made.problem, rng=1, stopping="never")
    trial = environment_of(made).start(2)
    rng = np.random.default_rng(0)
    for _ in range(800):
        for arm in made.problem.arms:
            session.tell(arm, trial.pull(arm))
        if rng.random() < 0.02:
            verify(made, session)
    verify(made, session)
    assert session.proven["in"] == made.pareto_set
    assert session.proven["open"] == ()


def verify(made: Instance, session: Session) -> None:
    for one in verdicts_of(made.problem, session.engine):
        if one.verdict != "open":
            assert (one.answer in made.pareto_set) == (one.verdict == "in")
