"""Figures from a campaign: PNG, PDF, a CSV of every run, and what the paper says of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from psips.errors import InputError, quote, unknown
from psips.lab.campaign import Campaign
from psips.lab.reproduction import stopping_times, trajectories
from psips.lab.reproduction.figure import LABELS, Claim, Figure, Row, table
from psips.version import __version__

if TYPE_CHECKING:
    import pandas as pd

FIGURES = {figure.name: figure for figure in (*stopping_times.FIGURES, *trajectories.FIGURES)}
RUNS = 30  # all figures in less than 20 minutes on two cores; 500 is the paper's size
SETTINGS = "reproduce.json"


def chosen(names: Sequence[str]) -> list[Figure]:
    """Return figures by name; all if none is named.

    Examples
    --------
    >>> [figure.name for figure in chosen(["noc"])]
    ['noc']
    """
    for name in names:
        if name not in FIGURES:
            raise unknown("figure", name, list(FIGURES))
    return [figure for name, figure in FIGURES.items() if not names or name in names]


class Reproduction:
    """Some figures, the campaign behind them, and the folder they are written to.

    Parameters
    ----------
    names : sequence of str
        Figures; all if there are none.
    out : path
    runs : int
        Of a cell, before the figure's own share.
    seed : int
    """

    def __init__(
        self, names: Sequence[str], out: Path, *, runs: int = RUNS, seed: int = 0
    ) -> None:
        if runs < 1:
            raise InputError(f"--runs must be at least 1, got {runs}")
        if seed < 0:
            raise InputError(f"--seed must be at least 0, got {seed}")
        self.figures = chosen(names)
        self.out, self.asked, self.seed = out, runs, seed
        self.rows: dict[str, list[Row]] = {f.name: f.rows(f.runs(runs)) for f in self.figures}
        cells = [row.cell for rows in self.rows.values() for row in rows]
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"--out {quote(str(out))} cannot be a folder: {error.strerror}"
            ) from None
        self.campaign = Campaign(cells, out / "campaign.sqlite", seed)

    def write(self) -> dict[str, list[Claim]]:
        """Write the files of every figure; return the claims by figure."""
        outcomes = iter(self.campaign.outcomes())
        found = {}
        for figure in self.figures:
            rows = self.rows[figure.name]
            frame = table(rows, [next(outcomes) for _ in rows])
            found[figure.name] = write_figure(figure, frame, self.out)
        self._note()
        return found

    def _note(self) -> None:
        """Keep what the results page has to know of the campaign."""
        path = self.out / SETTINGS
        noted = json.loads(path.read_text()) if path.exists() else {}
        noted |= {
            f.name: {
                "title": f.title,
                "asked": self.asked,
                "runs": f.runs(self.asked),
                "seed": self.seed,
                "version": __version__,
            }
            for f in self.figures
        }
        in_order = {name: noted[name] for name in FIGURES if name in noted}
        path.write_text(json.dumps(in_order, indent=2) + "\n")


def write_figure(figure: Figure, frame: pd.DataFrame, out: Path) -> list[Claim]:
    """Write one figure's files.

    ``NAME.csv`` has every run and is the same whenever and wherever the campaign is run;
    times are in ``NAME-timings.csv``.
    """
    import matplotlib.pyplot as plt

    times = [c for c in (*LABELS, "delta", "run", "samples", "t", "seconds") if c in frame]
    frame.drop(columns="seconds").to_csv(out / f"{figure.name}.csv", index=False)
    frame[times].to_csv(out / f"{figure.name}-timings.csv", index=False)
    drawing = figure.draw(frame)
    drawing.savefig(out / f"{figure.name}.png")
    drawing.savefig(out / f"{figure.name}.pdf", metadata={"CreationDate": None})
    plt.close(drawing)
    claims = figure.judge(frame)
    (out / f"{figure.name}.txt").write_text("".join(f"{claim}\n" for claim in claims))
    return claims
