"""The pictures of how-it-works.md: one small experiment, looked at from five sides.

    python docs/how_it_works.py

Everything that is drawn comes from a session of psips; the pieces of the alternative are worked
out here, by trying every combination, so that the page can be checked against the core.
"""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from psips import Instance, Problem, Session, complexity, plots
from psips.simulation.environments import environment_of
from psips.theory.geometry import glr

FOLDER = Path(__file__).parent / "figures" / "how"
ARMS = "ABCDE"
TRUTH = np.array([[1.0, 3.2], [2.2, 2.5], [3.2, 1.2], [1.5, 1.7], [0.9, 1.0]])
BLUE, GREY, VERMILION, GREEN, BLACK = "#0072B2", "#8C8C8C", "#D55E00", "#009E73", "#222222"
COLOURS = dict(zip(ARMS, ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#8C8C8C"), strict=True))
NOISE = 0.5  # its variance, in either objective
SEED, DRAW = 6, 23  # of the experiment; of the posterior draws that are shown
LOOK = 40  # results after which the experiment is looked at

PROBLEM = Problem(
    objectives=["strength", "comfort"], covariance=[NOISE, NOISE], arms=list(ARMS)
)
MADE = Instance("five", PROBLEM, TRUTH)


def experiment(results: int) -> Session:
    """The experiment up to a number of results, or to its stop."""
    rng = np.random.default_rng(SEED)
    session = Session(PROBLEM, delta=0.001, rng=rng)
    trial = environment_of(MADE).start(rng)
    while session.results < results and not session.stopped:
        arm = session.ask()
        session.tell(arm, trial.pull(arm))
    return session


def known(session: Session) -> tuple[Any, Any]:
    """Means (K, 2) and standard errors (K,) of the arms."""
    belief = session.engine.belief
    return belief.theta.copy(), np.sqrt(NOISE / belief.N)


def dominated(a: Any, b: Any) -> bool:
    return bool((a <= b).all() and (a < b).any())


def candidates(means: Any) -> list[int]:
    return [i for i in range(5) if not any(dominated(means[i], means[j]) for j in range(5))]


def pieces(means: Any, se: Any) -> dict[str, tuple[float, Any]]:
    """The pieces of Alt(S_hat): name -> (half the squared distance, nearest point of it).

    "A below B": a candidate is dominated by another. "D free of ...": an answer outside is
    above each candidate in the objective assigned to it, by the best of all assignments.
    """
    inside, weight, found = candidates(means), se**-2.0, {}
    for i in inside:
        for j in inside:
            if i != j:
                moved, pair = means.copy(), weight[[i, j]]
                for c in range(2):
                    if moved[i, c] > moved[j, c]:
                        middle = (pair * means[[i, j], c]).sum() / pair.sum()
                        moved[i, c] = moved[j, c] = middle
                found[f"{ARMS[i]} below {ARMS[j]}"] = moved
    for z in set(range(5)) - set(inside):
        options = []
        for way in product(range(2), repeat=len(inside)):
            moved = means.copy()
            for c in range(2):
                above = [x for x, side in zip(inside, way, strict=True) if side == c]
                moved[:, c] = pooled(means[:, c], weight, z, above)
            options.append(moved)
        found[f"{ARMS[z]} escapes"] = min(options, key=lambda m: cost(m, means, weight))
    return {name: (cost(m, means, weight), m) for name, m in found.items()}


def cost(moved: Any, means: Any, weight: Any) -> float:
    return float(0.5 * (weight[:, None] * (moved - means) ** 2).sum())


def pooled(x: Any, weight: Any, z: int, above: list[int]) -> Any:
    """Raise x[z] and lower those of ``above`` until x[z] is the largest, at the least cost."""
    out, pool = x.copy(), [z]
    for k in sorted(above, key=lambda k: -x[k]):
        level = (weight[pool] * x[pool]).sum() / weight[pool].sum()
        if x[k] <= level:
            break
        pool.append(k)
    out[pool] = (weight[pool] * x[pool]).sum() / weight[pool].sum()
    return out


def plane(ax: Any, means: Any, se: Any, faint: bool = False) -> None:
    """The arms, with the ellipses in which the truth lies with probability 0.95."""
    inside = candidates(means)
    for i in range(5):
        colour = BLUE if i in inside else GREY
        width = 2 * 2.4477 * se[i]
        ax.add_patch(
            Ellipse(means[i], width, width, color=colour, alpha=0.06 if faint else 0.14, lw=0)
        )
        ax.plot(*means[i], "o" if i in inside else "s", color=colour, ms=7, zorder=4)
        ax.annotate(
            ARMS[i], means[i], (7, 7), textcoords="offset points", color=BLACK, weight="bold"
        )
    front = means[sorted(inside, key=lambda i: means[i, 0])]
    corners = [(front[0, 0] - 9, front[0, 1])]
    for a, b in pairwise(front):
        corners += [tuple(a), (a[0], b[1])]
    corners += [tuple(front[-1]), (front[-1, 0], -9)]
    ax.plot(*zip(*corners, strict=True), color=BLUE, lw=1, alpha=0.6, zorder=1)
    ax.set(xlabel="strength", ylabel="comfort", xlim=(0, 4.3), ylim=(0, 4.3))
    ax.set_aspect("equal")
    tidy(ax)


def tidy(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)


def save(figure: Any, name: str) -> None:
    figure.savefig(
        FOLDER / f"{name}.png", dpi=110, bbox_inches="tight", metadata={"Software": ""}
    )
    plt.close(figure)


def draw_known(session: Session) -> None:
    figure, (early, late) = plt.subplots(1, 2, figsize=(9.2, 4.4), sharey=True)
    for ax, one in ((early, experiment(10)), (late, session)):
        means, se = known(one)
        plane(ax, means, se)
        ax.plot(*TRUTH.T, "x", color=VERMILION, ms=6, mew=1.6, zorder=5)
        ax.set_title(f"after {one.results} results", loc="left", fontsize=10)
    late.set_ylabel("")
    late.annotate(
        "the truth, which psips\ndoes not see", TRUTH[2], (2.5, 3.7), color=VERMILION,
        fontsize=9, arrowprops={"arrowstyle": "-", "color": VERMILION, "lw": 0.8, "shrinkB": 5},
    )  # fmt: skip
    save(figure, "known")


def draw_alternative(session: Session) -> None:
    means, se = known(session)
    found = sorted(pieces(means, se).items(), key=lambda item: item[1][0])
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.3), sharey=True)
    for ax, (name, (distance, moved)) in zip(axes, found[:3], strict=True):
        plane(ax, means, se, faint=True)
        for i in range(5):
            if not np.allclose(moved[i], means[i]):
                ax.annotate(
                    "", moved[i], means[i], zorder=5,
                    arrowprops={"arrowstyle": "->", "color": VERMILION, "lw": 1.8},
                )  # fmt: skip
                ax.plot(*moved[i], "o", mfc="white", mec=VERMILION, ms=7, zorder=4)
        ax.set_title(f"{name}: evidence against it {distance:.1f}", loc="left", fontsize=10)
        ax.set_ylabel("comfort" if ax is axes[0] else "")
    save(figure, "alternative")


def piece_of(draw: Any, inside: list[int], near: list[str]) -> str:
    """The nearest of the pieces that a draw lies in, "" if it has the same Pareto set."""
    for name in near:
        i, rest = ARMS.index(name[0]), name.split()
        if rest[1] == "below" and dominated(draw[i], draw[ARMS.index(rest[2])]):
            return name
        if rest[1] == "escapes" and not any(dominated(draw[i], draw[x]) for x in inside):
            return name
    return ""


def draw_drawn(session: Session) -> None:
    means, se = known(session)
    found = pieces(means, se)
    near = sorted(found, key=lambda name: found[name][0])
    inside = candidates(means)
    rng = np.random.default_rng(DRAW)
    draws = means + se[:, None] * rng.normal(size=(20_000, 5, 2))
    hits = [piece_of(draw, inside, near) for draw in draws]
    shown = [name for name in near if hits.count(name) > 0.005 * sum(map(bool, hits))]
    palette = dict(zip(shown, (VERMILION, "#E69F00", GREEN, "#CC79A7", "#56B4E9", BLACK)))  # noqa: B905
    figure, (ax, bars) = plt.subplots(
        1, 2, figsize=(10.4, 4.4), gridspec_kw={"width_ratios": [1, 1.05], "wspace": 0.42}
    )
    plane(ax, means, se, faint=True)
    first = next(k for k, name in enumerate(hits) if name)
    for k in range(first + 1):
        last = k == first
        for i in range(5):
            ax.plot(
                *draws[k, i], ".", zorder=6 if last else 2, ms=9 if last else 4,
                color=palette[hits[first]] if last else GREY, alpha=1.0 if last else 0.35,
            )  # fmt: skip
            if last:
                ends = np.array([means[i], draws[k, i]]).T
                ax.plot(*ends, color=palette[hits[first]], lw=0.8, zorder=5)
    ax.set_title(
        f"{first} draws have the same Pareto set,\ndraw {first + 1} has another: "
        f"{hits[first]}", loc="left", fontsize=10,
    )  # fmt: skip
    share = [hits.count(name) / sum(map(bool, hits)) for name in shown]
    places = np.arange(len(shown))[::-1]
    bars.barh(places, share, color=[palette[name] for name in shown], height=0.6)
    for place, name, part in zip(places, shown, share, strict=True):
        text = f" {part:.0%}, evidence against it {found[name][0]:.1f}"
        bars.text(part, place, text, va="center", fontsize=9)
    bars.set_yticks(places, shown)
    bars.set(xlim=(0, 2 * max(share)), xlabel="how often it is the piece that is drawn")
    bars.set_xticks([0.0, 0.2, 0.4, 0.6], ["0", "20%", "40%", "60%"])
    bars.set_title("nearer pieces are drawn more often", loc="left", fontsize=10)
    tidy(bars)
    save(figure, "drawn")


def draw_pulled(session: Session) -> None:
    means, se = known(session)
    found = pieces(means, se)
    near = sorted(found, key=lambda name: found[name][0])[:4]
    figure, (parts, course) = plt.subplots(
        1, 2, figsize=(11, 4.2), gridspec_kw={"width_ratios": [1, 1.5], "wspace": 0.3}
    )
    for row, name in enumerate(near):
        gains = 0.5 * ((found[name][1] - means) ** 2).sum(axis=1)
        wanted = gains * se**-2.0
        wanted, left = wanted / wanted.sum(), 0.0
        for i in np.flatnonzero(wanted > 1e-9):
            parts.barh(-row, wanted[i], left=left, color=COLOURS[ARMS[i]], height=0.6)
            middle = left + wanted[i] / 2
            parts.text(
                middle, -row, ARMS[i], ha="center", va="center", color="white", weight="bold"
            )
            left += wanted[i]
    parts.set_yticks(-np.arange(len(near)), near)
    parts.set(xlabel="arms that keep the piece away", xlim=(0, 1), xticks=[])
    parts.set_title("each piece has arms of its own", loc="left", fontsize=10)
    parts.spines[["top", "right", "bottom"]].set_visible(False)
    whole = experiment(10**6)
    arms, _ = whole.told
    steps = np.arange(1, len(arms) + 1)
    best = complexity(PROBLEM, TRUTH)
    for i, arm in enumerate(ARMS):
        share = np.cumsum(arms == i) / steps
        course.plot(steps[9:], share[9:], color=COLOURS[arm], lw=1.8)
        course.axhline(best.weights[arm], color=COLOURS[arm], ls=":", lw=1.2)
    ends = spread([np.mean(arms == i) for i in range(5)], 0.035)
    for i, arm in enumerate(ARMS):
        course.text(
            steps[-1] * 1.02, ends[i], arm, color=COLOURS[arm], weight="bold", va="center"
        )
    course.set(
        xlabel="results in all", ylabel="share of the pulls", xlim=(0, steps[-1]), ylim=0
    )
    course.set_title("over time; dotted: the best shares, had one known the truth",
                     loc="left", fontsize=10)  # fmt: skip
    tidy(course)
    save(figure, "pulled")


def spread(places: list[float], apart: float) -> list[float]:
    """Labels moved so far that none covers another."""
    order, out = np.argsort(places), list(places)
    for a, b in pairwise(order):
        out[b] = max(out[b], out[a] + apart)
    return out


def draw_stop() -> None:
    whole = experiment(10**6)
    figure, ax = plt.subplots(figsize=(8.4, 3.8))
    plots.evidence(whole, ax)
    ax.axvline(LOOK, color=GREY, lw=0.8, ls=":")
    ax.text(LOOK - 2, ax.get_ylim()[1] * 0.55, f"the pictures above:\n{LOOK} results",
            fontsize=9, color=GREY, ha="right")  # fmt: skip
    ax.annotate(
        f"stops after {whole.results} results: {', '.join(whole.candidate_set)}",
        (whole.results, whole.status().evidence["evidence"]), (0.8, 0.8), ha="right",
        textcoords="axes fraction", arrowprops={"arrowstyle": "->", "color": BLACK},
    )  # fmt: skip
    save(figure, "stop")


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    session = experiment(LOOK)
    nearest = min(distance for distance, _ in pieces(*known(session)).values())
    assert np.isclose(nearest, glr(PROBLEM, known(session)[0], session.pulls))
    draw_known(session)
    draw_alternative(session)
    draw_drawn(session)
    draw_pulled(session)
    draw_stop()


if __name__ == "__main__":
    main()
