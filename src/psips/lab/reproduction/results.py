"""The page of results, written from the files of a campaign. No number in it is typed."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psips.errors import InputError
from psips.lab.reproduction.contenders import LOOKS, PSIPS, STOP
from psips.lab.reproduction.figure import FAILS, HOLDS, OPEN, contenders_in, mean, ratio
from psips.lab.reproduction.reproduce import FIGURES, SETTINGS

if TYPE_CHECKING:
    import pandas as pd

INTRODUCTION = """\
# Results

A command writes this page from the files of one campaign.

<!-- not run: it takes half an hour -->
```sh
{command}
```

In every cell all rules get the same noise: the n-th result of an arm depends only on the run's
number, the arm and n. Samples are means over the runs with a 95% interval; intervals of error
rates are Clopper-Pearson; microseconds are those of a round in one worker while the others were
busy. A run that reached its cap counts with the cap: the mean is then *at least* what is given.
"Published PSIPS" is its learner, stopping rule and calibration, with C-tracking. Compare
samples only between rules that keep delta; the published one does not everywhere
([calibration](calibration.md)). A statement is *not settled* if its 95% interval reaches both
sides. [All statements]({statements}) and [the samples of every cell]({cells}) are in searchable
tables; those that do not hold are below.
"""
SAMPLES = ["figure", "cell", "delta", "rule", "stop", "mean samples", "median"]
SAMPLES += ["of the oracle's", "stopped", "errors", "us a round"]


def write_page(folder: Path, page: Path) -> None:
    """Write the page, and next to it the figures and tables of statements and cells.

    Parameters
    ----------
    folder : path
        Where `psips lab reproduce` wrote its files.
    page : path
        Figures go to ``figures`` in its folder, tables to files named after it.
    """
    try:
        settings = json.loads((folder / SETTINGS).read_text())
    except OSError:
        raise InputError(
            f"{str(folder)!r} has no {SETTINGS}: give the folder of `psips lab reproduce`"
        ) from None
    pictures = page.parent / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    sections, tally, said, cells = [], [], [], []
    for name, about in settings.items():
        shutil.copyfile(folder / f"{name}.png", pictures / f"{name}.png")
        lines = (folder / f"{name}.txt").read_text().splitlines()
        statements = [(name, *_split(line)) for line in lines]
        count = Counter(verdict for _, verdict, _ in statements)
        anchor = f"[{name}](#{name})"
        tally.append([anchor, about["runs"], *(count[v] for v in (HOLDS, FAILS, OPEN))])
        frame = _frame_of(folder, name)
        timed = "t" in frame
        sections.append(section(name, about, statements, _timing_table(frame) if timed else ""))
        said += statements
        cells += [] if timed else [[name, *row] for row in _sample_rows(frame)]
    write_results(page, _command(settings), tally, sections, said, cells)


def write_results(
    page: Path,
    command: str,
    tally: Sequence[Sequence[Any]],
    sections: Sequence[str],
    statements: Sequence[Sequence[str]],
    cells: Sequence[Sequence[str]],
) -> None:
    """Write the page from its parts, and its two tables."""
    files = (page.with_suffix(".csv"), page.with_name(f"{page.stem}-statements.csv"))
    titles = (SAMPLES, ["figure", "verdict", "statement"])
    for file, head, rows in zip(files, titles, (cells, statements), strict=True):
        with file.open("w", encoding="utf-8", newline="") as target:
            writer = csv.writer(target, lineterminator="\n")
            writer.writerows([head, *rows])
    summary = _table(["figure", "runs of a cell", HOLDS, FAILS, OPEN], tally)
    introduction = INTRODUCTION.format(
        command=command, cells=files[0].name, statements=files[1].name
    )
    page.write_text("\n".join([introduction, "## Statements\n", summary, *sections]))


def _command(settings: dict[str, Any]) -> str:
    """Return the commands that repeat the campaign and the page."""
    alike: dict[tuple[int, int], list[str]] = {}
    for name, one in settings.items():
        alike.setdefault((one["asked"], one["seed"]), []).append(name)
    lines = [
        f"psips lab reproduce{'' if len(names) == len(FIGURES) else ' '.join(['', *names])} "
        f"--runs {runs} --seed {seed} --out reproduced"
        for (runs, seed), names in alike.items()
    ]
    return "\n".join([*lines, "psips lab results reproduced"])


def _frame_of(folder: Path, name: str) -> pd.DataFrame:
    import pandas as pd

    frame = pd.read_csv(folder / f"{name}.csv")
    times = pd.read_csv(folder / f"{name}-timings.csv")
    return frame.assign(seconds=times["seconds"])


def section(
    name: str, about: dict[str, Any], statements: Sequence[Sequence[str]], timings: str
) -> str:
    """Return what the page says of one figure: its picture, and statements that fail."""
    failed = [statement for _, verdict, statement in statements if verdict == FAILS]
    parts = [
        f'\n<a id="{name}"></a>\n## {about["title"]}\n',
        f"![{about['title']}](figures/{name}.png)\n",
        f"{about['runs']} runs of each cell, seed {about['seed']}, psips {about['version']}.\n",
        *(f"* **{FAILS}**: {statement}" for statement in failed),
        "",
        timings,
    ]
    return "\n".join(parts)


def _split(line: str) -> tuple[str, str]:
    verdict, _, statement = line.partition(":")
    return verdict, statement.strip()


def _sample_rows(frame: pd.DataFrame) -> list[list[str]]:
    """One line per cell: samples, errors, microseconds, and the ratio to the oracle."""
    from psips.simulation.summary import clopper_pearson

    lines = []
    for (panel, delta), here in frame.groupby(["panel", "delta"], sort=False):
        oracles = here[here["rule"] == "oracle"].sort_values("run")
        for rule, stop, chosen in contenders_in(here):
            alike = STOP if rule in PSIPS and STOP in set(oracles["stop"]) else stop
            oracle = oracles[oracles["stop"] == alike]["samples"]
            samples = chosen.sort_values("run")["samples"]
            stopped = int(chosen["stopped"].sum())
            errors = int((chosen["stopped"] & ~chosen["correct"]).sum())
            low, high = clopper_pearson(errors, max(stopped, 1))
            average = mean(samples)
            same = len(oracle) == len(samples)
            of_oracle = f"{ratio(samples, oracle).value:.2f}" if same else ""
            lines.append(
                [
                    str(panel),
                    f"{delta:g}",
                    LOOKS[rule].label,
                    stop,
                    ("" if stopped == len(chosen) else "at least ")
                    + f"{average.value:,.0f} ({average.low:,.0f} to {average.high:,.0f})",
                    f"{samples.median():,.0f}",
                    of_oracle,
                    f"{stopped} of {len(chosen)}",
                    f"{errors} ({100 * low:.1f} to {100 * high:.1f}%)",
                    f"{1e6 * chosen['seconds'].sum() / chosen['samples'].sum():.1f}",
                ]
            )
    return lines


def _timing_table(frame: pd.DataFrame) -> str:
    """One line per contender at the last look: rounds, microseconds, and the first stop."""
    lines = []
    cells = [
        (panel, *one)
        for panel, here in frame.groupby("panel", sort=False)
        for one in contenders_in(here)
    ]
    for panel, rule, stop, chosen in cells:
        last = chosen[chosen["t"] == chosen["t"].max()]
        rounds = int(last["t"].iloc[0])
        first = last["samples"].dropna()
        wrong = int((~last["correct"].astype(bool)).sum())
        lines.append(
            [
                panel,
                LOOKS[rule].label,
                stop,
                f"{rounds:,}",
                f"{1e6 * last['seconds'].mean() / rounds:.1f}",
                f"{first.median():,.0f}" if len(first) else "",
                f"{wrong} of {len(last)}",
            ]
        )
    titles = ["instance", "rule", "stop", "rounds", "us a round", "median first stop"]
    return _table([*titles, "wrong at the end"], lines)


def _table(titles: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    rows = [list(titles), ["---"] * len(titles), *lines]
    return "\n".join(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows) + "\n"
