"""A table of scores, arms by items, replayed as if it were being measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, listing, quote
from psips.input.quantities import parse_number
from psips.input.tabular import Grid, read_grid
from psips.problem import Problem
from psips.problem.measurements import ARM, ITEM
from psips.rules.promises import short_promise
from psips.session import Session

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 2  # items that a table must have


class Scores(NamedTuple):
    """A table of scores; NaN in the cells that it lacks."""

    arms: list[str]
    items: list[str]
    metrics: list[str]
    values: Floats  # (K, J, d)

    @property
    def there(self) -> Any:
        """Which cells (K, J) have a value of every metric."""
        return ~np.isnan(self.values).any(axis=2)


@dataclass(frozen=True, eq=False)
class Replay:
    """What came of a table that was replayed.

    Parameters
    ----------
    stopped : bool
        Whether the stopping rule held before the table ended.
    pareto_set : tuple of str
        The answer, or the candidate set at the table's end.
    probability : float
        Posterior probability of that set, for the items that those of the table stand for.
    cells, of : int
        Cells that were looked at, and those that the table has.
    whole : tuple of str
        Pareto set of the estimates from the whole table.
    promise : str
        What stands behind a stop.
    arms : DataFrame
        By arm: cells that were looked at, estimates and standard errors.
    looked_at : list of (arm, item)
        In their order.
    """

    stopped: bool
    pareto_set: tuple[str, ...]
    probability: float
    cells: int
    of: int
    whole: tuple[str, ...]
    promise: str
    arms: pd.DataFrame
    looked_at: list[tuple[str, str]]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "stopped": self.stopped,
            "pareto_set": list(self.pareto_set),
            "probability": self.probability,
            "cells": self.cells,
            "of": self.of,
            "whole_table": list(self.whole),
            "promise": self.promise,
            "arms": self.arms.reset_index().to_dict("records"),
        }

    def __str__(self) -> str:
        share = self.cells / self.of
        if self.stopped:
            head = (
                f"stopped after {self.cells:,} of {self.of:,} cells, {share:.0%} of the table"
            )
            head += f" ({self.promise})\nPareto set: {', '.join(self.pareto_set)}"
        else:
            head = (
                f"all {self.of:,} cells were used without a stop\n"
                f"Pareto set of these items: {', '.join(self.pareto_set)}\n"
                f"of all items like these, it is this set with probability "
                f"{self.probability:.3g}"
            )
        same = set(self.whole) == set(self.pareto_set)
        said = "the same set" if same else f"another set, {', '.join(self.whole)}"
        return f"{head}\nthe whole table says: {said}\n\n{self.arms.to_string()}"


def read_scores(
    files: Sequence[str | PathLike[str]],
    metrics: Sequence[str] = (),
    arm_column: str = ARM,
    item_column: str = ITEM,
) -> Scores:
    """Read a table of scores.

    Parameters
    ----------
    files : paths of CSV, Excel or Parquet files
        One: a line for each cell, with columns for arm and item and one for each metric. One
        or several as ``"metric=path"``: a line for each item, named in the first column, and a
        column for each arm.
    metrics : names
        Columns of the one file; all others than arm and item if left out.
    arm_column, item_column : str
    """
    pairs = [_named(str(file)) for file in files]
    if not pairs:
        raise InputError("there is no table of scores: name a file")
    if pairs[0][0] is None:
        if len(pairs) > 1:
            raise InputError(
                "several tables need the names of their metrics: give each as metric=file"
            )
        return _from_lines(pairs[0][1], metrics, arm_column, item_column)
    return _from_sheets([(name or "", path) for name, path in pairs])


def _named(file: str) -> tuple[str | None, str]:
    name, equals, path = file.partition("=")
    return (None, file) if not equals or Path(file).exists() else (name, path)


def _from_lines(path: str, metrics: Sequence[str], arm: str, item: str) -> Scores:
    grid = read_grid(path, "the table of scores", None)
    _refuse(grid.ragged())
    for column in (arm, item, *metrics):
        if grid.header.count(column) != 1:
            has = "several columns" if column in grid.header else "no column"
            raise InputError(
                f"{grid.name} has {has} {quote(column)}; its columns: {listing(grid.header)}"
            )
    chosen = list(metrics) or [c for c in grid.header if c not in (arm, item)]
    cells: dict[tuple[str, str], list[float]] = {}
    for number, row in grid.with_points(chosen).lines:
        named = dict(zip(grid.header, row, strict=True))
        place = named[arm], named[item]
        if place in cells:
            raise InputError(
                f"{grid.place(number)}: arm {quote(place[0])} has a line for item "
                f"{quote(place[1])} already: a table has one for each"
            )
        cells[place] = [_score(grid, number, c, named[c]) for c in chosen]
    arms = list(dict.fromkeys(a for a, _ in cells))
    items = list(dict.fromkeys(i for _, i in cells))
    values = np.full((len(arms), len(items), len(chosen)), np.nan)
    place_of = (
        {name: k for k, name in enumerate(arms)},
        {name: k for k, name in enumerate(items)},
    )
    for (a, i), row_values in cells.items():
        values[place_of[0][a], place_of[1][i]] = row_values
    return Scores(arms, items, chosen, values)


def _from_sheets(pairs: Sequence[tuple[str, str]]) -> Scores:
    found: list[tuple[list[str], dict[str, list[float]]]] = []
    for name, path in pairs:
        if not name:
            raise InputError(f"the table {quote(path)} has no metric: give it as metric=file")
        grid = read_grid(path, "the table of scores", None)
        _refuse(grid.ragged())
        rows: dict[str, list[float]] = {}
        for number, cells in grid.with_points(grid.header[1:]).lines:
            if cells[0] in rows:
                raise InputError(f"{grid.place(number)}: item {quote(cells[0])} comes twice")
            columns = zip(grid.header[1:], cells[1:], strict=True)
            rows[cells[0]] = [_score(grid, number, arm, cell) for arm, cell in columns]
        found.append((grid.header[1:], rows))
    arms, items = found[0][0], list(found[0][1])
    for (name, _), (others, rows) in zip(pairs, found, strict=True):
        if set(others) != set(arms) or set(rows) != set(items):
            raise InputError(
                f"the tables of {pairs[0][0]!r} and {name!r} do not have the same arms and "
                f"items: give every metric of every cell, empty where it is not there"
            )
    values = np.stack(
        [
            [[rows[item][others.index(arm)] for item in items] for arm in arms]
            for others, rows in found
        ],
        axis=2,
    )
    return Scores(arms, items, [name for name, _ in pairs], values)


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise InputError(problems[0])


def _score(grid: Grid, number: int, column: str, cell: str) -> float:
    """Read a cell; NaN if it is empty."""
    if cell.strip() == "":
        return np.nan
    value = parse_number(f"{grid.place(number)}: {quote(column)}", cell)
    if value is None or not np.isfinite(value):
        raise InputError(
            f"{grid.place(number)}: {quote(column)} must be a number, got {quote(cell)}"
        )
    return value


def problem_of(scores: Scores, directions: Mapping[str, str | None], order: Any) -> Problem:
    """Return the problem that a table is about; values that are all 0 or 1 are binary."""
    objectives = {}
    for c, metric in enumerate(scores.metrics):
        column = scores.values[..., c]
        known = column[~np.isnan(column)]
        binary = bool(np.isin(known, (0.0, 1.0)).all())
        objectives[metric] = {
            "direction": directions.get(metric) or "max",
            **({"kind": "binary"} if binary else {}),
        }
    items = [scores.items[j] for j in order]
    return Problem(objectives=objectives, arms=scores.arms, blocks=items)


def replay(
    scores: Scores,
    directions: Mapping[str, str | None] | None = None,
    *,
    delta: float = 0.1,
    seed: int = 1,
    **choices: Any,
) -> Replay:
    """Measure a table cell by cell until the Pareto set is known.

    Parameters
    ----------
    scores : Scores
        A cell that lacks a metric is not there.
    directions : mapping from metric to "max" or "min"
        More is better where nothing is said.
    delta : float
    seed : int
        Of the order of the items, which is the same for all arms, and of the session.
    **choices
        Fields of `Rules`.
    """
    if len(scores.items) < FEWEST:
        raise InputError(
            f"a table needs at least {FEWEST} items that the arms share, got "
            f"{len(scores.items)}"
        )
    there = scores.there
    empty = [arm for arm, row in zip(scores.arms, there, strict=True) if not row.any()]
    if empty:
        raise InputError(
            f"arm {quote(empty[0])} has no complete cell in the table: leave it out"
        )
    order = np.random.default_rng(seed).permutation(len(scores.items))
    problem = problem_of(scores, directions or {}, order)
    session = _session(problem, scores, there, seed, delta, choices)
    places = {item: j for j, item in enumerate(scores.items)}
    looked_at: list[tuple[str, str]] = []
    while not session.stopped and len(looked_at) < there.sum():
        arm, item = session.ask()
        cell = scores.values[problem.arm_index(arm), places[item]]
        session.tell(arm, cell, block=item)
        looked_at.append((arm, item))
    status = session.status()
    kept = [c for c in status.arms.columns if c != "pending"]
    return Replay(
        session.stopped,
        session.candidate_set,
        1.0 - status.probability_of_change,
        len(looked_at),
        int(there.sum()),
        _whole(problem, scores, there, delta),
        short_promise(session.rules),
        status.arms[kept].rename(columns={"pulls": "cells"}),
        looked_at,
    )


def _session(
    problem: Problem, scores: Scores, there: Any, seed: int, delta: float, choices: Any
) -> Session:
    """Return a session that asks for no cell that is not there."""
    session = Session(problem, seed=seed, delta=delta, **choices)
    assert session.items is not None
    for a, j in zip(*np.nonzero(~there), strict=True):
        session.items.leave_out(int(a), scores.items[int(j)])
    return session


def _whole(problem: Problem, scores: Scores, there: Any, delta: float) -> tuple[str, ...]:
    """Return the Pareto set of the estimates from all cells."""
    import pandas as pd

    rows = [
        {ARM: scores.arms[a], ITEM: scores.items[j], **_cell(scores, a, j)}
        for j in range(len(scores.items))
        for a in range(len(scores.arms))
        if there[a, j]
    ]
    session = Session(problem, rng=1, delta=delta, stopping="never")
    session.tell(pd.DataFrame(rows))
    return session.candidate_set


def _cell(scores: Scores, a: int, j: int) -> dict[str, float]:
    return dict(zip(scores.metrics, scores.values[a, j].tolist(), strict=True))
