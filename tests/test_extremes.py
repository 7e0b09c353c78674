"""Whatever finite numbers come: a sentence or an answer, within seconds, and no crash."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

import psips.web.study_cache
from extremes import CASES, LOCAL, SLOWEST
from psips import Problem, Session
from psips.cli.screen import late_line
from psips.report import report
from psips.session.centring import FAR_FROM_ZERO
from psips.session.verdicts import verdicts_of
from psips.store import open_store
from psips.study import Study
from psips.study.holding import Ends
from psips.study.outliers import FarValueWarning
from psips.web.app import make_app

HERE = Path(__file__).parent
PARTS = 4  # of the inputs, each a test, so that they can run side by side


def endings(first: int, last: int) -> list[dict[str, Any]]:
    """How inputs ended; a process that crashes or hangs is followed by another one."""
    found: list[dict[str, Any]] = []
    while first < last:
        command = [sys.executable, "-X", "faulthandler", str(HERE / "extremes.py")]
        numbers = [str(number) for number in (first, last, 1)]
        ran = subprocess.run([*command, *numbers], capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in ran.stdout.splitlines()]
        found += [line for line in lines if "path" in line]
        if ran.returncode == 0:
            break
        first = lines[-1]["number"] if lines else first
        wrong = f"the process ended with code {ran.returncode}: {ran.stderr[-2000:]}"
        found.append({"number": first, "wrong": wrong, "seconds": 0.0})
        first += 1
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_extreme_inputs_end_in_a_sentence_or_an_answer(part: int) -> None:
    size = CASES // PARTS
    found = endings(part * size, (part + 1) * size)
    assert [one["number"] for one in found] == list(range(part * size, (part + 1) * size))
    assert {one["number"]: one["wrong"] for one in found if one["wrong"]} == {}
    slow = {one["number"]: one["seconds"] for one in found if one["seconds"] > SLOWEST}
    assert slow == {}
    refused = [one for one in found if one["refused"]]
    assert len(refused) < len(found) / 2  # most of them come to something


def told(offset: float, seed: int = 1, **given: Any) -> Session:
    problem = Problem(objectives=["x", "y"], arms=["A", "B", "C"], **given)
    session = Session(problem, rng=1)
    rng = np.random.default_rng(seed)
    for k in range(24):
        session.tell("ABC"[k % 3], offset + np.round(64.0 * rng.normal(size=2)) / 64.0)
    return session


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("given", [{}, {"covariance": [1.0, 1.0]}])
def test_nothing_depends_on_where_zero_is(seed: int, given: dict[str, Any]) -> None:
    """Values that are multiples of 1/64 stay what they are around 2^40, less a constant."""
    near, far = told(0.0, seed, **given), told(2.0**40, seed, **given)
    assert far.engine.centre.tolist() == [2.0**40, 2.0**40]
    assert near.engine.centre.tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(far.engine.belief.theta, near.engine.belief.theta)
    assert far.candidate_set == near.candidate_set
    assert far.ask(5) == near.ask(5)
    lacking = [
        [(one.answer, one.verdict, one.more) for one in verdicts_of(s.problem, s.engine)]
        for s in (near, far)
    ]
    assert lacking[0] == lacking[1]
    estimates = far.status().arms["x estimate"]
    assert np.allclose(estimates - 2.0**40, near.status().arms["x estimate"], atol=1e-3)


@pytest.mark.parametrize("offset", [-1e15, 1e12, 1e13, 1e15])
@pytest.mark.parametrize("seed", range(4))
def test_results_around_a_large_number_have_a_status(offset: float, seed: int) -> None:
    session = told(offset, seed)
    assert "A" in str(session.status())
    assert len(verdicts_of(session.problem, session.engine)) == 3


def test_ordinary_values_are_left_alone() -> None:
    """Up to a million standard deviations from 0, a run is what it always was, to the bit."""
    session = told(0.9 * FAR_FROM_ZERO, covariance=[1.0, 1.0])
    assert not session.engine.centre.any()
    sums = np.zeros((3, 2))
    for arm, row in zip(*session.told, strict=True):
        sums[arm] += row
    assert session.engine.belief.B.tolist() == sums.tolist()


def test_sums_lose_nothing_before_the_centre_is_known() -> None:
    """A table in the order of its arms has many results of the first before any of the last."""
    problem = Problem(objectives=["x"], covariance=[1.0], arms=["A", "B"])
    rng = np.random.default_rng(1)
    values = 2.0**46 + np.round(32.0 * rng.normal(size=40_000)) / 32.0
    session = Session(problem, rng=1)
    arms = np.repeat(["A", "B"], 20_000)
    session.tell(pd.DataFrame({"arm": arms, "x": values}))
    exact = (values - 2.0**46).reshape(2, -1).mean(axis=1)
    theta = session.engine.belief.theta[:, 0] + (session.engine.centre[0] - 2.0**46)
    assert np.abs(theta - exact).max() < 1e-6
    assert np.abs(
        values.reshape(2, -1).cumsum(axis=1)[:, -1] / 20_000 - 2.0**46 - exact
    ).max() > (1e-6)  # as sums without that would have it


def test_limits_and_ranges_move_along() -> None:
    far = 2.0**40
    kept = {}
    for offset in (0.0, far):
        problem = Problem(
            objectives={
                "x": {"direction": "max", "range": [offset - 50, offset + 50]},
                "y": "min",
            },
            arms=["A", "B", "C"],
            control="A",
            limits=[f"y <= {offset + 1.0!r}", f"x >= {offset - 1.0!r}"],
        )
        session = Session(problem, rng=1)
        rng = np.random.default_rng(3)
        means = np.array([[0.0, 0.0], [2.0, 0.5], [3.0, 4.0]])
        for k in range(60):
            noise = np.round(64.0 * rng.normal(size=2)) / 64.0
            session.tell("ABC"[k % 3], offset + means[k % 3] + noise)
        kept[offset] = session
    near, moved = kept[0.0], kept[far]
    assert moved.engine.centre.any()
    assert moved.candidate_set == near.candidate_set == ("A", "B")
    assert moved.ask(6) == near.ask(6)
    assert moved.status().probability_of_change == near.status().probability_of_change


def test_a_session_with_a_centre_goes_on_from_its_snapshot() -> None:
    session = told(1e12)
    twin = Session.restore(json.loads(json.dumps(session.snapshot())))
    assert twin.engine.centre.tolist() == session.engine.centre.tolist()
    for one in (session, twin):
        one.tell("A", [1e12 + 1.0, 1e12 - 1.0])
    assert twin.ask(5) == session.ask(5)
    assert twin.snapshot()["engine"] == session.snapshot()["engine"]


def test_noise_that_is_lost_in_the_last_digit_is_not_judged() -> None:
    rng = np.random.default_rng(1)
    session = Session(Problem(objectives=["x"], arms=["A", "B"]), rng=1)
    for k in range(40):
        session.tell("AB"[k % 2], 1e17 + 16.0 * float(rng.random() < 0.1))
    status = session.status()
    assert session.candidate_set == ()
    assert "more than half of the noise: nothing is judged" in status.not_known
    assert len(status.not_known) < 500
    again = Session.restore(json.loads(json.dumps(session.snapshot())))
    assert again.candidate_set == ()


def test_a_tolerance_in_percent_survives_a_snapshot() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        problem = Problem(
            objectives=["x", "y", "z"],
            covariance=[1, 1, 1],
            arms=list("ABCD"),
            control="A",
            epsilon={"x": "5%"},
        )
        session = Session(problem, rng=seed)
        means = rng.normal(size=(4, 3)) + np.array([10.0, 0.0, 0.0])
        for k in range(24):
            session.tell("ABCD"[k % 4], means[k % 4] + rng.normal(size=3))
        twin = Session.restore(json.loads(json.dumps(session.snapshot())))
        assert twin.ask(8) == session.ask(8)


def test_estimated_noise_of_different_sizes_survives_a_snapshot() -> None:
    """What objectives are compared in is worked out from results, and part of the state."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        session = Session(Problem(objectives=["x", "y", "z"], arms=list("ABCD")), rng=seed)
        sizes = np.array([1.0, 1e-6, 1e6])
        means = rng.normal(size=(4, 3))
        for k in range(24):
            session.tell("ABCD"[k % 4], (means[k % 4] + rng.normal(size=3)) * sizes)
        twin = Session.restore(json.loads(json.dumps(session.snapshot())))
        assert twin.ask(8) == session.ask(8)


@pytest.mark.parametrize("given", [{}, {"covariance": "estimate"}, {"items": True}])
def test_a_report_of_constant_results(tmp_path: Path, given: dict[str, Any]) -> None:
    problem = Problem(objectives=["x", "y"], arms=["A", "B"], **given)
    study = Study.create(problem, f"sqlite:///{tmp_path}/s.db", name="s", seed=1)
    for k in range(12):
        study.tell("AB"[k % 2], [0.1 + (k % 2), 7.0])
    page = report(study)
    assert "nan" not in page.replace("&nbsp;", "").lower().split("<body", 1)[1].split("<svg")[0]
    assert "repeat exactly: treated as exact" in page  # neither metric has noise


def test_many_arms_are_told_in_seconds(tmp_path: Path) -> None:
    """10,000 arms with a result each: nothing looks at all arms for each of them."""
    K = 10_000
    rng = np.random.default_rng(1)
    values = rng.normal(size=(K, 2))
    values[77] = 1e6
    arms = [f"a{k}" for k in range(K)]
    table = pd.DataFrame({"arm": arms, "x": values[:, 0], "y": values[:, 1]})
    problem = Problem(objectives=["x", "y"], covariance=[1.0, 1.0], arms=arms)
    study = Study.create(problem, f"sqlite:///{tmp_path}/s.db", name="many", seed=1)
    begin = time.process_time()
    with pytest.warns(FarValueWarning, match="from every other arm"):
        receipt = study.tell(table)
    assert receipt.held == (78,)
    assert time.process_time() - begin < 5.0


def test_ends_of_all_arms_but_one() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        K, d = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        low, high = np.full((K, d), np.inf), np.full((K, d), -np.inf)
        ends = Ends(low, high)
        for _ in range(25):
            arm, x = int(rng.integers(K)), rng.integers(-5, 6, d).astype(float)
            x[rng.random(d) < 0.2] = np.nan
            low[arm], high[arm] = np.fmin(low[arm], x), np.fmax(high[arm], x)
            ends.widen(arm, low[arm], high[arm])
            for made in (ends, Ends(low, high)):
                for left_out in range(K):
                    others = np.arange(K) != left_out
                    least, most = made.without(left_out)
                    assert (least == low[others].min(axis=0)).all()
                    assert (most == high[others].max(axis=0)).all()


@pytest.mark.parametrize(("takes", "shown"), [(0.0, False), (0.6, True)])
def test_a_line_is_shown_at_a_terminal_if_it_takes_long(
    takes: float, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for terminal in (Terminal(), io.StringIO()):
        monkeypatch.setattr("sys.stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        with late_line("recording the results", after=0.05):
            time.sleep(takes)
        assert ("recording the results" in terminal.getvalue()) == (shown and terminal.isatty())


def test_a_study_that_fails_to_open_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    problem = Problem(objectives=["x"], covariance=[1.0], arms=["A", "B"])
    for name in ("good", "bad"):
        Study.create(problem, url, name=name, seed=1)
    view_of = psips.web.study_cache.view_of

    def failing(state: Any, *rest: Any) -> Any:
        if state.created.study == "bad":
            raise ZeroDivisionError("what no one thought of")
        return view_of(state, *rest)

    monkeypatch.setattr("psips.web.study_cache.view_of", failing)
    with (
        open_store(url) as store,
        TestClient(
            make_app(store),
            base_url="http://127.0.0.1:8000",
            client=LOCAL,
            raise_server_exceptions=False,
        ) as client,
    ):
        listed = client.get("/api/v1/studies").json()["studies"]
        states = {one["study"]: one["state"] for one in listed}
        assert states["bad"] == "cannot be opened"
        assert states["good"] not in ("cannot be opened", "damaged")
        page = client.get("/")
        assert page.status_code == 200
        assert "cannot be opened" in page.text
        assert client.get("/studies/good").status_code == 200
        assert client.get("/studies/bad").status_code == 500
        assert client.get("/healthz").status_code == 200
