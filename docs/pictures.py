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
    assert session.results == 384
    save(plots.front(session).figure, "front")


def demo() -> None:
    """The trial of `psips demo`: what was found, and where the patients went."""
    trial = instance("cov-boost")
    environment, played = environments.environment_of(trial), {}
    for sampling in ("directed", "round-robin"):
        rng = np.random.default_rng(2)
        session = Session(trial.problem, delta=0.1, sampling=sampling, rng=rng)
        play(session, environment, draw_key(rng), max_results=10**6)
        played[sampling] = session
    session, equal = played["directed"], played["round-robin"].results
    assert (session.results, equal) == (8118, 49600)  # as the README says
    with plt.rc_context({"font.size": 19, "axes.titlesize": 19}):
        both, (left, right) = plt.subplots(
            1, 2, figsize=(12.5, 5.6), gridspec_kw={"width_ratios": [1.5, 1], "wspace": 0.12}
        )
        draw_trial(session, left)
        draw_cost(session.results, equal, right)
        save(both, "demo")
    for name, draw in (("found", draw_found), ("patients", draw_patients)):
        figure, ax = plt.subplots(figsize=(6.4, 5.4))
        draw(session, ax)
        save(figure, name)


def draw_trial(session: Session, ax: plt.Axes) -> None:
    """Draw the estimates, each as large as its share of the patients; readable at half size."""
    arms = session.status().arms
    x, y = (arms[f"{name} estimate"] for name in ("anti-spike IgG", "cellular response"))
    found = [arm in session.candidate_set for arm in arms.index]
    colours = [BLUE if one else GREY for one in found]
    ax.scatter(x, y, s=0.35 * arms["pulls"] + 12, c=colours, alpha=0.75, linewidths=0)
    for arm, side in zip(session.candidate_set, (-1, 1), strict=True):
        ax.annotate(
            f"{arm}: {arms.loc[arm, 'pulls']:,} patients",
            (x[arm], y[arm]),
            (11.0, 4.3 + 1.1 * side),
            color=BLUE,
            weight="bold",
            ha="right",
            va="center",
            arrowprops={"arrowstyle": "-", "color": BLUE, "relpos": (0.8, 0.5 - 0.5 * side)},
        )
    rest = int(arms["pulls"][[not one for one in found]].sum())
    ax.text(7.0, 2.85, f"18 others: {rest:,} patients", color="#555555")
    ax.set_xlim(6.8, 11)
    ax.set_ylim(2.6, 5.7)
    ax.set_xlabel("anti-spike IgG")
    ax.set_ylabel("cellular response")
    ax.set_title("the Pareto-optimal of 20 boosters", loc="left")
    ax.spines[["top", "right"]].set_visible(False)


def draw_cost(adaptive: int, equal: int, ax: plt.Axes) -> None:
    """Compare the patients that it took with those of equal shares."""
    bars = ax.bar(
        ["psips", "all equally\noften"], [adaptive, equal], color=[BLUE, GREY], width=0.6
    )
    ax.bar_label(bars, [f"{adaptive:,}", f"{equal:,}"], padding=3)
    ax.set_yticks([])
    ax.set_ylim(0, 1.12 * equal)
    ax.set_title("patients needed", loc="center")
    ax.spines[["top", "right", "left"]].set_visible(False)


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
