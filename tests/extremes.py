"""Extreme but finite inputs, made from a number, and what they are put through.

``python tests/extremes.py FIRST LAST STEP`` goes through the inputs with these numbers, and
prints for each a line when it begins and one with how it ended, as JSON. `test_extremes.py`
runs it in processes of its own, so that a crash of compiled code is seen, and named.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from psips import Problem, Session
from psips.errors import InputError
from psips.problem.parameters import Prior
from psips.problem.problem_file import ProblemFile
from psips.session.verdicts import verdicts_of

SEED = 28
CASES = 2_000
LONGEST = 500  # characters of a message
SLOWEST = 10.0  # CPU seconds of an input
PATHS = ("session",) * 170 + ("study",) * 14 + ("web",) * 10 + ("plan",) * 4 + ("report",) * 2
HANG = 300.0  # CPU seconds after which an input counts as a hang
HERE, LOCAL = "http://127.0.0.1:8000", ("127.0.0.1", 50_000)  # a client on this machine
MOST = 10  # results told one by one; the rest come as a table


class Case:
    """An input: a problem, a truth, results, and the path that they take."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.rng = rng = np.random.default_rng([SEED, number])
        self.path = PATHS[int(rng.integers(len(PATHS)))]
        small = self.path in ("plan", "report")
        sizes = (2, 2, 2, 3, 3, 4, 6, 12, *(() if small else (1, 40, 200, 1000)))
        weights = np.array([10.0] * 7 + [5.0] + ([] if small else [1.0, 2.0, 1.0, 0.3]))
        self.K = int(rng.choice(sizes, p=weights / weights.sum()))
        widths, often = (1, 2, 2, 2, 3, 4, 8, 16, 64), [4.0, 8, 8, 8, 6, 4, 1, 0.5, 0.3]
        if small:
            widths, often = widths[:5], often[:5]
        self.d = int(rng.choice(widths, p=np.array(often) / np.sum(often)))
        if self.K * self.d > 4_000:
            self.d = 2
        self.scale = 10.0 ** rng.uniform(-12, 12, self.d)
        if rng.random() < 0.5:
            self.scale[:] = self.scale[0]
        self.offset = np.zeros(self.d)
        for c in range(self.d):
            if rng.random() < 0.7:
                far = 10.0 ** rng.uniform(6, 15) * self.scale[c]
                self.offset[c] = rng.choice([-1.0, 1.0]) * far
        self.means = self._means()
        self.given = self._given()
        self.choices = self._choices()
        self.arms, self.values = self._results()

    def _chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def _means(self) -> Any:
        """Means (K, d): spread out, equal, or in a few places."""
        rng, shape = self.rng, (self.K, self.d)
        kind = rng.choice(["apart", "equal", "far apart", "few places"], p=[0.5, 0.2, 0.1, 0.2])
        if kind == "equal":
            around = np.zeros(shape)
        elif kind == "few places":
            around = rng.integers(0, 2, shape).astype(float)
        else:
            size = 10.0 ** (rng.uniform(-6, 2) if kind == "apart" else rng.uniform(2, 12))
            around = rng.normal(size=shape) * size
        return self.offset + around * self.scale

    def _given(self) -> dict[str, Any]:
        """What `Problem` is given."""
        rng, K, d = self.rng, self.K, self.d
        names = [f"m{c}" for c in range(d)]
        objectives: dict[str, Any] = {name: str(rng.choice(["max", "min"])) for name in names}
        given: dict[str, Any] = {"objectives": objectives, "arms": [f"a{k}" for k in range(K)]}
        kind = rng.choice(
            ["own", "pooled", "known", "matrix", "each"], p=[0.4, 0.1, 0.3, 0.1, 0.1]
        )
        if self.path == "plan" or kind == "known":
            given["covariance"] = (self.scale**2).tolist()
        elif kind == "pooled":
            given["covariance"] = "estimate"
        elif kind == "matrix":
            rho = rng.uniform(-0.99, 0.99) / max(d - 1, 1)
            apart = np.full((d, d), rho)
            np.fill_diagonal(apart, 1.0)
            given["covariance"] = (np.outer(self.scale, self.scale) * apart).tolist()
        elif kind == "each":
            factors = 10.0 ** rng.uniform(-3, 3, K)
            each = (self.scale**2 * np.eye(d))[None] * factors[:, None, None]
            given["covariance"] = each
        if self._chance(0.1) and self.path != "plan":
            h = int(rng.integers(1, 4))
            features = rng.normal(size=(K, h)) * 10.0 ** rng.uniform(-6, 6, h)
            if self._chance(0.3):
                features[K // 2] = features[0]
            return {**given, "features": features}
        if self._chance(0.1):
            given["partial"] = True
        elif self._chance(0.05) and isinstance(given.get("covariance"), str | type(None)):
            given["items"] = True
            given.pop("covariance", None)
        if self._chance(0.15):
            c = int(rng.integers(d))
            at = self.offset[c] + rng.normal() * self.scale[c]
            given["limits"] = [f"m{c} {rng.choice(['<=', '>='])} {float(at)!r}"]
        if self._chance(0.1):
            epsilon = self.scale * 10.0 ** rng.uniform(-6, 3)
            given["epsilon"] = dict(zip(names, epsilon.tolist(), strict=True))
        elif self._chance(0.05):
            given["control"], given["epsilon"] = "a0", {names[0]: "5%"}
        if self._chance(0.05):
            ends = self.offset[0] + np.array([-40.0, 40.0]) * self.scale[0]
            objectives[names[0]] = {"direction": "max", "range": ends.tolist()}
        if self._chance(0.05):
            given["costs"] = (10.0 ** rng.uniform(-9, 9, K)).tolist()
        return given

    def _choices(self) -> dict[str, Any]:
        rng = self.rng
        choices: dict[str, Any] = {}
        if self._chance(0.1):
            choices["delta"] = float(10.0 ** -rng.uniform(1, 30))
        if self._chance(0.15):
            choices["stopping"] = str(rng.choice(["posterior", "certified", "predicted"]))
        if self._chance(0.05):
            choices["sampling"] = str(
                rng.choice(["projected", "uniform", "round-robin", "ape"])
            )
        if self._chance(0.05):
            choices["budget"] = float(int(10.0 ** rng.uniform(1, 12)))
        if self._chance(0.03):
            pulls = 10.0 ** rng.uniform(-3, 3, self.K)
            self.given["prior"] = Prior(self.means, pulls)
            choices["stopping"] = "bayes"
        return choices

    def _results(self) -> tuple[list[str], Any]:
        """Arms, and values (T, d), each rounded as a float is."""
        rng, K = self.rng, self.K
        each = 1 if K > 100 else int(rng.integers(1, 9))
        if K <= 100 and self._chance(0.5):
            each += self.d
        arms = np.tile(np.arange(K), each)
        if self._chance(0.5):
            rng.shuffle(arms)
        noise = rng.normal(size=(len(arms), self.d)) * self.scale
        if self._chance(0.15):
            noise[:, rng.integers(self.d)] = 0.0  # a constant column
        if self._chance(0.05):
            noise[:] = 0.0
        if self._chance(0.05):
            noise *= 10.0 ** rng.uniform(-3, 3, noise.shape)
        values = self.means[arms] + noise
        if self._chance(0.05):
            values[rng.integers(len(values))] = rng.choice(
                [0.0, -0.0, 1e14, -1e49, 5e-324, 1e300, 2.0**1000], self.d
            )
        if self.given.get("partial"):
            gone = rng.random(values.shape) < 0.2
            gone[np.arange(len(values)), rng.integers(self.d, size=len(values))] = False
            values[gone] = np.nan
        return [f"a{k}" for k in arms], values

    # ------------------------------------------------------------------------------- paths

    def run(self) -> None:
        """Put the input through; what is refused is an `InputError`."""
        getattr(self, f"_{self.path}")()

    @property
    def problem(self) -> Problem:
        return Problem(**self.given)

    def _table(self, first: int) -> Any:
        import pandas as pd

        table = pd.DataFrame(self.values[first:], columns=list(self.given["objectives"]))
        table.insert(0, "arm", self.arms[first:])
        return table

    def _session(self) -> None:
        problem = self.problem
        session = Session(problem, rng=self.number, **self.choices)
        session.ask(2)
        for arm, row in zip(self.arms[:MOST], self.values[:MOST], strict=False):
            session.tell(arm, row)
        session.tell(self._table(MOST))
        known = session.status()
        assert len(str(known)) > 0
        if problem.K <= 100:
            verdicts_of(problem, session.engine)
        twin = Session.restore(json.loads(json.dumps(session.snapshot())))
        if not session.exhausted:
            assert twin.ask(2) == session.ask(2)

    def _study(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self._told_study(folder)

    def _told_study(self, folder: str) -> Any:
        from psips.study import Study

        url = f"sqlite:///{folder}/extreme.db"
        study = Study.create(self.problem, url, name="extreme", seed=1, **self.choices)
        tickets = study.ask(2)
        if not self.given.get("items"):
            study.tell(tickets[0], self.values[self.arms.index(tickets[0].arm)])
        study.tell(self._table(0))
        assert str(study.status())
        again = Study.open("extreme", url)
        assert again.candidate_set == study.candidate_set
        assert again.verify().problems == ()
        return study

    def _report(self) -> None:
        from psips.report import report

        with tempfile.TemporaryDirectory() as folder:
            assert "<html" in report(self._told_study(folder))

    def _plan(self) -> None:
        from psips.simulation.planning import plan

        given = {
            **dict.fromkeys(field.name for field in fields(ProblemFile)),
            **{"path": Path("extreme.toml"), "problem": self.problem, "theta": self.means},
            **{"noise": "gaussian", "rules": {}, "study": {}},
            "delta": self.choices.get("delta"),
        }
        file = ProblemFile(**given)  # type: ignore[arg-type]
        assert plan(file, deltas=(), runs=2, cap=200).to_dict()

    def _web(self) -> None:
        from fastapi.testclient import TestClient

        from psips.store import open_store
        from psips.study import Study
        from psips.web.app import make_app

        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{folder}/extreme.db"
            Study.create(self.problem, url, name="extreme", seed=1, **self.choices)
            with (
                open_store(url) as store,
                TestClient(make_app(store), base_url=HERE, client=LOCAL) as client,
            ):
                api = "/api/v1/studies/extreme"
                told = [[None if np.isnan(v) else v for v in row] for row in self.values]
                names = list(self.given["objectives"])
                rows = [
                    {"arm": arm, **dict(zip(names, row, strict=True))}
                    for arm, row in zip(self.arms, told, strict=True)
                ]
                answers = [
                    client.post(f"{api}/ask", json={"n": 2}),
                    client.post(f"{api}/tell-many", json={"rows": rows}),
                    client.get(api),
                    client.get("/"),
                    client.get("/studies/extreme"),
                    client.get("/studies/extreme/results"),
                    client.get("/studies/extreme/log"),
                    client.get("/studies/extreme/results.csv"),
                    client.get("/healthz"),
                    client.get("/studies/extreme/results/1"),  # if there is one
                ]
                assert [one.status_code for one in answers[2:-1]] == [200] * 7
                for answer in answers:
                    assert answer.status_code < 500, (answer.url, answer.text[:1000])
                    if answer.status_code >= 400:
                        for one in (
                            answer.json()["problems"] if answer.url.path[:5] == "/api/" else ()
                        ):
                            assert len(one["message"]) <= LONGEST, one


def ending(number: int) -> dict[str, Any]:
    """Put one input through, and say how that ended."""
    case = Case(number)
    said: list[str] = []
    wrong = refused = ""
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            case.run()
        except InputError as error:
            refused = str(error)
            said += getattr(error, "problems", [refused])  # of a table: one for each line
        except Exception:
            wrong = traceback.format_exc()[-3000:]
    said += [str(one.message) for one in caught]
    for one in caught:
        if issubclass(one.category, RuntimeWarning):
            wrong = wrong or f"{one.filename}:{one.lineno}: {one.message}"
    for text in said:
        if len(text) > LONGEST:
            wrong = wrong or f"a message of {len(text)} characters: {text[:200]} ..."
    seconds = time.process_time() - begin
    return {"path": case.path, "refused": refused, "wrong": wrong, "seconds": seconds}


def main(first: int, last: int, step: int) -> None:
    """Go through the inputs from ``first`` to before ``last``, one in ``step``."""
    unraised: list[str] = []
    sys.unraisablehook = lambda hook: unraised.append(f"{hook.exc_value!r} in {hook.object!r}")
    for number in range(first, last, step):
        signal.setitimer(signal.ITIMER_PROF, HANG)  # its signal ends the process
        print(json.dumps({"number": number}), flush=True)
        found = ending(number)
        if found["seconds"] > SLOWEST:  # the first of its kind may have been compiled
            found = ending(number)
        if unraised:  # an index out of bounds, where these are checked
            found["wrong"] = found["wrong"] or f"in compiled code: {unraised[0]}"
            unraised.clear()
        print(json.dumps({"number": number, **found}), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
