"""Sessions that are told in every way, and studies."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from cores.registry import case, told_case
from cores.runs import Found, deep_look, plain, table, tabled
from cores.truths import correlated, each_covariance, far, featured, limited, line, spread

from psips.input.seeds import generator
from psips.lab.instances import instance
from psips.problem.instances import Instance
from psips.problem.parameters import Ball
from psips.session import Session
from psips.simulation.environments import environment_of

FORMATS = Path(__file__).parents[2] / "tests" / "formats"


def build_sessions() -> None:
    kinds: dict[str, Callable[[], Instance]] = {
        "plain": partial(spread, 5, 2, True),
        "features": featured,
        "answers, ball": partial(featured, n=10, parameter_set=Ball(8.0)),
        "unknown noise": partial(spread, 5, 2, covariance="per-arm"),
        "noise of each": partial(spread, 5, 2, covariance=each_covariance(5, 2, True)),
        "cov-boost": partial(instance, "cov-boost"),
        "far from 0": far,
        "costs": partial(spread, 5, 2, costs=[1, 2, 3, 4, 5]),
        "two arms": partial(spread, 2, 2),
    }
    for label, made in kinds.items():
        told_case(f"sessions/{label}, one by one", made)
        told_case(f"sessions/{label}, batches of 6", made, batch=6)
        told_case(f"sessions/{label}, restored", made, restore=60)
        told_case(f"sessions/{label}, batches, restored", made, batch=4, restore=41)
        told_case(f"sessions/{label}, tables", made, tabled)
    told_case("sessions/cancelled", partial(spread, 5, 2), cancel=5)
    told_case("sessions/cancelled in batches", partial(spread, 5, 2), cancel=3, batch=3)
    for sampling in ("posterior", "projected", "ape", "elimination", "track-and-stop"):
        for how in ({"batch": 4}, {"restore": 50}):
            word = next(iter(how))
            told_case(f"sessions/{sampling}, {word}", correlated, sampling=sampling, **how)
    told_case("sessions/top-two, restored", line, sampling="top-two", restore=50)
    for draws in ({"sampling": "posterior"}, {}):
        told_case(
            f"sessions/literal {draws.get('sampling', 'directed')}, restored",
            correlated,
            draws="literal",
            cap=50,
            restore=25,
            **draws,
        )
    for n in (8, 40):

        def ahead(seed: int, n: int = n) -> Found:
            found = {}
            for label, made in kinds.items():
                session = Session(made().problem, rng=generator(seed))
                found[label] = [session.problem.arm_index(arm) for arm in session.ask(n)]
            return {"asked ahead": found}

        case(f"sessions/asked ahead, {n}", ahead)

    def nothing_told(seed: int) -> Found:
        return {
            label: deep_look(Session(made().problem, rng=generator(seed)))
            for label, made in kinds.items()
        }

    case("sessions/nothing told", nothing_told)

    def savings(seed: int, made: Callable[[], Instance]) -> Found:
        one = made()
        session = Session(one.problem, rng=generator(seed))
        trial = environment_of(one).start(generator(seed + 1))
        for k in range(80):
            arm = one.problem.arms[k % one.problem.K]
            session.tell(arm, trial.pull(arm))
        most = session.ending_tolerance()
        return {
            "savings": [str(saving) for saving in session.savings(0.2, 0.8, 3.0)],
            "ending": None if most is None else str(most),
        }

    for label in ("plain", "features", "unknown noise", "noise of each"):
        case(f"sessions/savings, {label}", partial(savings, made=kinds[label]))

    def formats(_seed: int, name: str) -> Found:
        session = Session.restore(json.loads((FORMATS / name).read_text())["snapshot"])
        asked = session.ask(6)
        return {
            "asks": [session.problem.arm_index(a) for a in asked],
            "end": deep_look(session),
        }

    case("sessions/snapshot of format 6", partial(formats, name="snapshot-6.json"))


def study(seed: int, made: Callable[[], Instance], rounds: int = 30) -> Found:
    """A study in a database: asked, told, corrected, withdrawn and opened again."""
    from psips.study import Study

    one = made()
    trial = environment_of(one).start(generator(seed))
    asks = []
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/a.db"
        kept = Study.create(one.problem, store, name="s", seed=seed)
        for k in range(rounds):
            for ticket in kept.ask(2):
                asks.append(one.problem.arm_index(ticket.arm))
                kept.tell(ticket, [float(v) for v in trial.pull(ticket.arm)])
            if k == rounds // 2:
                kept = Study.open("s", store)
        status = kept.status()
        again = Study.open("s", store).status()
        return {"asks": asks, "status": timeless(status), "again": timeless(again)}


def build_studies() -> None:
    case("studies/plain", partial(study, made=partial(spread, 5, 2)))
    case("studies/features", partial(study, made=featured))
    case("studies/limits", partial(study, made=limited))
    case("studies/store of format 2", old_store)


def timeless(status: Any) -> Found:
    """Return a status without what depends on the clock."""
    return {
        "results": status.results,
        "stopped": status.stopped,
        "candidate_set": plain(status.candidate_set),
        "answers": table(status.answers),
        "arms": table(status.arms),
        "evidence": plain(status.evidence),
        "change": plain(status.probability_of_change),
    }


def old_store(_seed: int) -> Found:
    """Return what is known of a study of an older format, replayed, told and asked."""
    from psips.store import open_store
    from psips.study import Study

    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(FORMATS / "store-2.db", folder)
        with open_store(f"sqlite:///{folder}/store-2.db") as store:
            study = Study.open("kept", store)
            study.tell("A", {"x": 1.0, "y": 0.2})
            asked = [study.problem.arm_index(ticket.arm) for ticket in study.ask(4)]
            kept = [str(one) for one in study.verify().problems]
            return {"asks": asked, "status": timeless(study.status()), "problems": kept}
