"""The moving picture of how-it-works.md: the loop, played in plain NumPy.

    python docs/animation.py

The experiment, its posterior and pieces are those of how_it_works.py. Draws are literal, and
arms are pulled by the rule ``directed``: each arm has the share of the squared distance that is
its own, a little of all arms is mixed in, and the arm furthest behind its shares is next.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from how_it_works import (
    ARMS,
    BLUE,
    FOLDER,
    GREEN,
    GREY,
    NOISE,
    TRUTH,
    VERMILION,
    candidates,
    piece_of,
    pieces,
    plane,
    tidy,
)
from PIL import Image

SEED = 52
OPENING = 3  # results of each arm before the loop begins
SLOW, EVERY = 5, 8  # rounds shown step by step; then every so many
DELTA = 0.001
BATCH = 2000  # draws at a time
PAUSES = (1400, 1700, 1700, 1500)  # milliseconds: known, drawn, piece, pull
QUICK, END = 260, 5000
COLOURS = 96


class Loop:
    """Five arms, their results, and the shares that were played."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(SEED)
        self.sums, self.pulls = np.zeros((5, 2)), np.zeros(5)
        self.played = np.zeros(5)
        for arm in [*range(5)] * OPENING:
            self.pull(arm)

    def pull(self, arm: int) -> None:
        self.sums[arm] += self.rng.normal(TRUTH[arm], np.sqrt(NOISE))
        self.pulls[arm] += 1

    def look(self) -> None:
        """What is known, and what could be otherwise."""
        self.means = self.sums / self.pulls[:, None]
        self.se = np.sqrt(NOISE / self.pulls)
        self.found = pieces(self.means, self.se)
        self.near = sorted(self.found, key=lambda name: self.found[name][0])

    def draw(self) -> None:
        """Draw from the posterior until a draw has another Pareto set."""
        inside, self.tries = candidates(self.means), 0
        same = np.isin(range(5), inside)
        while True:
            draws = self.means + self.se[:, None] * self.rng.normal(size=(BATCH, 5, 2))
            below = (draws[:, :, None] <= draws[:, None]).all(axis=3) & ~np.eye(5, dtype=bool)
            hits = np.flatnonzero((~below.any(axis=2) != same).any(axis=1))
            if len(hits):
                break
            self.tries += BATCH
        self.tries += int(hits[0]) + 1
        self.point = draws[hits[0]]
        self.piece = piece_of(self.point, inside, self.near)

    def choose(self) -> int:
        """Return the arm furthest behind the shares played so far."""
        t = self.pulls.sum()
        gains = self.pulls * ((self.found[self.piece][1] - self.means) ** 2).sum(axis=1)
        mixed = t**-0.5
        self.played += (1 - mixed) * gains / gains.sum() + mixed / 5
        return int(np.argmax(self.played / (self.pulls - 1)))

    @property
    def threshold(self) -> float:
        """That of ``glr`` and ``measured`` where two arms are compared."""
        return float(np.log(1 / DELTA) + np.log(8 + np.log(self.pulls.sum())) - 1.1)

    @property
    def evidence(self) -> float:
        return self.found[self.near[0]][0]


def frame(loop: Loop, names: list[str], step: int, said: str, arm: int | None = None) -> Any:
    figure, (ax, bars) = plt.subplots(
        1, 2, figsize=(8.0, 4.3), gridspec_kw={"width_ratios": [1.15, 1], "wspace": 0.38}
    )
    plane(ax, loop.means, loop.se, faint=step == 1)
    if step == 1:
        for i in range(5):
            ax.plot(*np.array([loop.means[i], loop.point[i]]).T, color=VERMILION, lw=0.8)
            ax.plot(*loop.point[i], "o", color=VERMILION, ms=5, zorder=6)
    if step == 2:
        moved = loop.found[loop.piece][1]
        for i in range(5):
            if not np.allclose(moved[i], loop.means[i]):
                arrow = {"arrowstyle": "->", "color": VERMILION, "lw": 2}
                ax.annotate("", moved[i], loop.means[i], zorder=5, arrowprops=arrow)
    if arm is not None:
        ax.plot(*loop.means[arm], "o", mfc="none", mec=GREEN, ms=22, mew=3, zorder=7)
    ax.set_title(said, loc="left", fontsize=11, color="#222222")
    values = [loop.found[name][0] if name in loop.found else 0.0 for name in names]
    drawn = step in (1, 2, 3)
    colours = [VERMILION if drawn and name == loop.piece else GREY for name in names]
    bars.barh(range(len(names)), np.minimum(values, 14), color=colours, height=0.6)
    bars.axvline(loop.threshold, color=BLUE, lw=1.5)
    bars.text(loop.threshold + 0.2, len(names) - 0.4, "threshold", color=BLUE, fontsize=9)
    bars.set_yticks(range(len(names)), names, fontsize=9)
    bars.set(xlim=(0, 14), ylim=(-0.6, len(names) - 0.1), xlabel="evidence against the piece")
    bars.set_title(f"{loop.pulls.sum():.0f} results", loc="right", fontsize=11, pad=16)
    tidy(bars)
    figure.subplots_adjust(left=0.07, right=0.97, top=0.86, bottom=0.13)
    file = BytesIO()
    figure.savefig(file, dpi=80)
    plt.close(figure)
    return Image.open(file).convert("RGB")


def main() -> None:
    loop, rounds = Loop(), 0
    loop.look()
    names = [*(f"{i} below {j}" for i, j in ("AB", "BA", "BC", "CB")), "D escapes", "E escapes"]
    names = names[::-1]
    shown: list[tuple[Any, int]] = []

    def show(pause: int, step: int, said: str, arm: int | None = None) -> None:
        shown.append((frame(loop, names, step, said, arm), pause))

    while loop.evidence < loop.threshold:
        rounds += 1
        loop.draw()
        arm = loop.choose()
        if rounds <= SLOW:
            show(PAUSES[0], 0, "1  What is known: the posterior")
            text = f"2  Draw {loop.tries} has another Pareto set"
            show(PAUSES[1], 1, text if loop.tries > 1 else "2  A draw has another Pareto set")
            show(PAUSES[2], 2, f"3  Its piece: {loop.piece}")
        loop.pull(arm)
        loop.look()
        if rounds <= SLOW:
            show(PAUSES[3], 3, f"4  Measure {ARMS[arm]}", arm)
        elif rounds % EVERY == 0:
            show(QUICK, 3, f"... and so on: measure {ARMS[arm]}", arm)
    show(END, 4, f"5  Stop: {', '.join(ARMS[i] for i in candidates(loop.means))}")
    several = np.concatenate([np.asarray(one) for one, _ in shown[:4]])
    palette = Image.fromarray(several).quantize(COLOURS, dither=Image.Dither.NONE)
    frames = [one.quantize(palette=palette, dither=Image.Dither.NONE) for one, _ in shown]
    pauses = [pause for _, pause in shown]
    frames[0].save(
        FOLDER / "loop.gif", save_all=True, append_images=frames[1:], duration=pauses, loop=1,
        optimize=True, disposal=1,
    )  # fmt: skip
    size = (FOLDER / "loop.gif").stat().st_size / 1024
    print(f"{rounds} rounds, {len(frames)} frames, {sum(pauses) / 1000:.0f} s, {size:.0f} kB")


if __name__ == "__main__":
    main()
