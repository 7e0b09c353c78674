"""The pictures of the first pages: `python docs/pictures.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from psips import Problem, Session, environments, instance, plots
from psips.input.seeds import draw_key
from psips.simulation import play

FOLDER = Path(__file__).parent / "figures" / "start"
BLUE, GREY, VERMILION = "#0072B2", "#8C8C8C", "#D55E00"


def save(figure: plt.Figure, name: str) -> None:
    figure.savefig(
        FOLDER / f"{name}.png", dpi=110, bbox_inches="tight", metadata={"Software": ""}
    )
    plt.close(figure)


def front() -> None:
    """The session of start.md."""
    problem = Problem(
        arms=["A", "B", "C", "D"],
        objectives={"yield": "max", "cost": "min"},
        covariance=[1.0, 0.25],
    )
    truth = {"A": (5, 2), "B": (4, 1), "C": (4.5, 2.5), "D": (6, 3)}
    machine = np.random.default_rng(2)
    session = Session(problem, delta=0.05, rng=1)
    while not session.done:
        arm = session.ask()
        session.tell(arm, machine.normal(truth[arm], (1.0, 0.5)))
    assert session.results == 383
    save(plots.front(session).figure, "front")


def demo() -> None:
    """One vaccine trial: what was found, and where the patients went."""
    trial = instance("cov-boost")
    rng = np.random.default_rng(2)
    session = Session(trial.problem, delta=0.1, rng=rng)
    play(session, environments.environment_of(trial), draw_key(rng), max_results=10**6)
    both, (left, right) = plt.subplots(
        1, 2, figsize=(12.5, 4.6), gridspec_kw={"width_ratios": [1.25, 1], "wspace": 0.5}
    )
    draw_found(session, left)
    draw_patients(session, right)
    save(both, "demo")
    for name, draw in (("found", draw_found), ("patients", draw_patients)):
        figure, ax = plt.subplots(figsize=(6.4, 5.4))
        draw(session, ax)
        save(figure, name)


def draw_found(session: Session, left: plt.Axes) -> None:
    plots.front(session, left, ["anti-spike IgG", "cellular response"])
    left.set_title(
        "20 boosters, measured until the question is settled", loc="left", fontsize=10
    )


def draw_patients(session: Session, right: plt.Axes) -> None:
    pulls = session.pulls
    order = sorted(pulls, key=lambda name: pulls[name])
    colours = [BLUE if name in session.candidate_set else GREY for name in order]
    right.barh(order, [pulls[name] for name in order], color=colours)
    right.axvline(session.results / len(pulls), color=VERMILION, lw=1)
    right.text(
        session.results / len(pulls) * 1.1, 0.2, "equal shares", color=VERMILION, fontsize=9
    )
    right.set_xlabel("patients")
    right.set_title(f"{session.results:,} patients, unequally shared", loc="left", fontsize=10)
    right.tick_params(axis="y", labelsize=7.5)
    right.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    front()
    demo()
