"""Tables of scores: arms by items, in any of the usual layouts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, listing, nearest, quote
from psips.input.quantities import parse_number
from psips.input.tabular import Grid, read_grid
from psips.problem.measurements import ARM, ITEM
from psips.study.drafting import find_objectives

CONDITION = re.compile(r"\s*(?P<column>.+?)\s*(?P<sign>==|!=)\s*(?P<value>.*?)\s*")
BETWEEN = " / "  # stands between the parts of an item that several columns name
MODEL, METRIC, VALUE = "model", "metric", "value"  # columns of tables that have them
WELL = ("ok", "success", "solved", "complete", "completed", "done", "pass", "passed", "optimal")


class Scores(NamedTuple):
    """A table of scores; NaN in the cells that it lacks."""

    arms: list[str]
    items: list[str]
    metrics: list[str]
    values: Floats  # (K, J, d)
    left_out: Mapping[str, str] = {}  # columns that are no metrics, and why
    lines: int = 0  # that were read, if cells have several: their means are compared
    statuses: Mapping[
        str, str
    ] = {}  # columns that are no metrics, and which value is a success
    notes: tuple[str, ...] = ()  # on how the table was read
    ways: Mapping[str, str] = {}  # directions that the source of the table states
    ratios: tuple[str, ...] = ()  # metrics whose logarithms the source compares

    @property
    def there(self) -> Any:
        """Which cells (K, J) have a value of every metric."""
        return ~np.isnan(self.values).any(axis=2)


class Condition(NamedTuple):
    """What makes a metric 1: that a column has a value, or has another one."""

    column: str
    value: str
    same: bool  # whether the column has the value

    def of(self, cell: str) -> float:
        """Return 1 or 0; NaN for an empty cell, unless it is that which is asked for."""
        known = cell != "" or self.value == ""
        return float((cell == self.value) == self.same) if known else np.nan


def read_condition(metric: str, text: str) -> Condition:
    """Read what makes a metric 1.

    Examples
    --------
    >>> read_condition("solved", "runstatus==ok")
    Condition(column='runstatus', value='ok', same=True)
    """
    found = CONDITION.fullmatch(text)
    if found is None:
        raise InputError(
            f"the metric {quote(metric)} must be made of a column and a value, as in "
            f"'runstatus==ok' or 'runstatus!=timeout', got {quote(text)}"
        )
    return Condition(found["column"], found["value"], found["sign"] == "==")


def read_scores(
    files: Sequence[str | PathLike[str]],
    metrics: Sequence[str] = (),
    arm_column: str | None = None,
    item_column: str | Sequence[str] = ITEM,
    *,
    maps: Mapping[str, str] | None = None,
    repeats: bool = False,
    log: Collection[str] = (),
    sheet: str | None = None,
) -> Scores:
    """Read a table of scores.

    Parameters
    ----------
    files : paths of CSV, Excel or Parquet files
        One: a line for each cell, with columns for arm and item and one for each metric, or a
        line for each value, with columns for arm, item, "metric" and "value". One
        or several as ``"metric=path"``: a line for each item, named in the first column, and a
        column for each arm.
    metrics : names
        Columns of the one file; if left out, all columns of numbers that do not look like
        labels.
    arm_column : str, optional
        "arm", or "model" where there is no such column, if left out.
    item_column : str or sequence of str
        Several columns name an item together: a task and a fold.
    maps : mapping from metric to condition, optional
        Metrics of 0 or 1 that are made of a column: ``{"solved": "runstatus==ok"}``.
    repeats : bool
        Whether several lines of an arm and an item are repeats of one measurement, whose mean
        is taken (of the logarithms, for the metrics in ``log``). Otherwise they are refused.
    log : names
        Metrics whose logarithms are compared.
    sheet : str, optional
        Of an Excel file.
    """
    pairs = [_named(str(file)) for file in files]
    if not pairs:
        raise InputError("there is no table of scores: name a file")
    made = {one: read_condition(one, text) for one, text in (maps or {}).items()}
    if pairs[0][0] is None:
        if len(pairs) > 1:
            raise InputError(
                "several tables need the names of their metrics: give each as metric=file"
            )
        grid = read_grid(pairs[0][1], "the table of scores", sheet)
        names = [item_column] if isinstance(item_column, str) else list(item_column)
        return _from_lines(grid, metrics, arm_column, names, made, repeats, log)
    if made:
        raise InputError(
            "metrics can be made of a column (--map) where one file has a line for each arm "
            "and item, not where each metric has a file"
        )
    return _from_sheets([(name or "", path) for name, path in pairs], sheet)


def item_columns(text: str, header: Sequence[str]) -> list[str]:
    """Return the columns that name an item: one, or several that are separated by commas."""
    if text in header or "," not in text:
        return [text]
    return [part.strip() for part in text.split(",")]


def _named(file: str) -> tuple[str | None, str]:
    name, equals, path = file.partition("=")
    return (None, file) if not equals or Path(file).exists() else (name, path)


def _from_lines(
    grid: Grid,
    metrics: Sequence[str],
    arm: str | None,
    items: list[str],
    made: Mapping[str, Condition],
    repeats: bool,
    log: Collection[str],
) -> Scores:
    _refuse(grid.ragged())
    if len(items) == 1:
        items = item_columns(items[0], grid.header)
    if arm is None:
        arm = MODEL if MODEL in grid.header and ARM not in grid.header else ARM
    if grid.header.count(METRIC) == grid.header.count(VALUE) == 1:
        grid = _widened(grid, arm, items)
    sources = [condition.column for condition in made.values()]
    wanted = [one for one in metrics if one not in made]
    options = {arm: "--arm-column", **dict.fromkeys(items, "--item")}
    for column in (arm, *items, *sources, *wanted):
        _check_column(grid, column, options.get(column, ""))
    chosen, left_out = wanted, dict[str, str]()
    if not metrics:
        used = {arm, *items, *sources}
        chosen, left_out = find_objectives(_without(grid, used))
        chosen = [one for one in chosen if one not in made]
    chosen = [*chosen, *(one for one in made if one not in chosen)]
    if not chosen:
        raise InputError(
            f"{grid.name} has no column of numbers that looks like a metric; its columns: "
            f"{listing(grid.header)}: name the metrics with --objective, or make one of a "
            f"column of texts with --map, as in --map solved='runstatus==ok'"
        )
    if metrics:
        chosen = [*metrics, *(one for one in chosen if one not in metrics)]
    cells = _cells(grid.with_points(chosen), arm, items, chosen, made)
    several = next((place for place, rows in cells.items() if len(rows) > 1), None)
    if several is not None and not repeats:
        raise _repeated(grid, arm, items, several, [number for number, _ in cells[several]])
    lines = sum(map(len, cells.values()))
    found = arranged(
        {place: [row for _, row in rows] for place, rows in cells.items()},
        *(chosen, left_out, lines if several is not None else 0, log),
    )
    return found._replace(statuses=_statuses(grid, left_out))


def _widened(grid: Grid, arm: str, items: list[str]) -> Grid:
    """Return a table with a line for each value as one with a column for each metric."""
    for column, option in ((arm, "--arm-column"), *((one, "--item") for one in items)):
        _check_column(grid, column, option)
    keys = [grid.header.index(one) for one in (arm, *items)]
    metric, value = grid.header.index(METRIC), grid.header.index(VALUE)
    metrics = list(dict.fromkeys(row[metric] for _, row in grid.lines))
    lines: dict[tuple[str, ...], list[tuple[int, dict[str, str]]]] = {}
    for number, row in grid.lines:
        if not row[metric]:
            raise InputError(f"{grid.place(number)} names no metric: fill it in")
        rows = lines.setdefault(tuple(row[k] for k in keys), [])
        into = next((cells for _, cells in rows if row[metric] not in cells), None)
        if into is None:  # the first value of the cell, or a repeat
            into = {}
            rows.append((number, into))
        into[row[metric]] = row[value]
    wide = [
        (number, [*key, *(cells.get(one, "") for one in metrics)])
        for key, rows in lines.items()
        for number, cells in rows
    ]
    return grid._replace(header=[arm, *items, *metrics], lines=wide)


def _statuses(grid: Grid, columns: Iterable[str]) -> dict[str, str]:
    """Return the columns that say how a run ended, with the value of those that went well."""
    found = {}
    for name in columns:
        if name in grid.header:
            cells = {row[grid.header.index(name)] for _, row in grid.lines}
            well = [cell for cell in cells if cell.casefold() in WELL]
            if len(well) == 1 and len(cells) > 1:
                found[name] = well[0]
    return found


def _check_column(grid: Grid, column: str, option: str) -> None:
    """Refuse a column that is not there, or is there more than once."""
    count = grid.header.count(column)
    if count == 1:
        return
    if count:
        raise InputError(f"{grid.name} has several columns {quote(column)}: rename them")
    near = nearest(column, grid.header)
    hint = f", but {quote(near)}" if near else ""
    say = f": say with {option} which names the {'arms' if 'arm' in option else 'items'}"
    if "arm" in option and ARM not in grid.header:
        say += "; if each arm has a column of its own, give the file as metric=file"
    raise InputError(
        f"{grid.name} has no column {quote(column)}{hint}; its columns: "
        f"{listing(grid.header)}{say if option else ''}"
    )


def _without(grid: Grid, columns: Collection[str]) -> Grid:
    """Return a table without some columns."""
    kept = [c for c, name in enumerate(grid.header) if name not in columns]
    return grid._replace(
        header=[grid.header[c] for c in kept],
        lines=[(number, [row[c] for c in kept]) for number, row in grid.lines],
    )


Place = tuple[str, tuple[str, ...]]  # an arm, and the parts of an item's name


def _cells(
    grid: Grid, arm: str, items: list[str], chosen: list[str], made: Mapping[str, Condition]
) -> dict[Place, list[tuple[int, list[float]]]]:
    """Return the values of each arm and item, with the numbers of their lines."""
    found: dict[Place, list[tuple[int, list[float]]]] = {}
    for number, row in grid.lines:
        named = dict(zip(grid.header, row, strict=True))
        place = named[arm], tuple(named[one] for one in items)
        for what, name in (("arm", place[0]), ("item", "".join(place[1]))):
            if not name:
                raise InputError(f"{grid.place(number)} names no {what}: fill it in")
        values = [
            made[one].of(named[made[one].column])
            if one in made
            else _score(grid, number, one, named[one])
            for one in chosen
        ]
        found.setdefault(place, []).append((number, values))
    return found


def _repeated(
    grid: Grid, arm: str, items: list[str], place: Place, numbers: list[int]
) -> InputError:
    """Build the error for several lines of a cell; a column may tell them apart."""
    told = [grid.header.index(one) for one in (arm, *items)]
    apart = [
        name
        for c, name in enumerate(grid.header)
        if c not in told
        and len({(*(row[t] for t in told), row[c]) for _, row in grid.lines}) == len(grid.lines)
        and len({row[c] for _, row in grid.lines}) * 2 <= len(grid.lines)
    ]
    example = f", as in --item {_words([*items, apart[0]])}" if apart else ""
    return InputError(
        f"{grid.place(numbers[1])}: arm {quote(place[0])} has a line for item "
        f"{quote(BETWEEN.join(place[1]))} already, {grid.unit} {numbers[0]}: if the lines are "
        f"repeats, whose mean is to be taken, add --repeats; if a column tells them apart, "
        f"make it part of the item{example}"
    )


def _words(columns: Iterable[str]) -> str:
    from shlex import quote as word

    return word(",".join(columns))


def arranged(
    cells: Mapping[Place, list[list[float]]],
    metrics: list[str],
    left_out: Mapping[str, str],
    lines: int,
    log: Collection[str],
) -> Scores:
    """Arrange cells by arm and item; of several lines of a cell the means."""
    arms = {name: k for k, name in enumerate(dict.fromkeys(arm for arm, _ in cells))}
    items = {parts: k for k, parts in enumerate(dict.fromkeys(parts for _, parts in cells))}
    names = [BETWEEN.join(parts) for parts in items]
    if len(set(names)) < len(names):  # parts that have the separator in them
        names = [repr(parts) for parts in items]
    values = np.full((len(arms), len(items), len(metrics)), np.nan)
    logs = [c for c, metric in enumerate(metrics) if metric in log]
    for (arm, parts), rows in cells.items():
        values[arms[arm], items[parts]] = rows[0] if len(rows) == 1 else _mean(rows, logs)
    return Scores(list(arms), names, metrics, values, left_out, lines)


def _mean(rows: list[list[float]], logs: Sequence[int]) -> Floats:
    """Return the means of repeats (d,), over those that have a value."""
    table = np.array(rows)
    positive = [c for c in logs if not (table[:, c] <= 0).any()]  # others are refused later
    table[:, positive] = np.log(table[:, positive])
    known = ~np.isnan(table)
    total = np.where(known, table, 0.0).sum(axis=0)
    count = known.sum(axis=0)
    found = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    found[positive] = np.exp(found[positive])
    return found


def _from_sheets(pairs: Sequence[tuple[str, str]], sheet: str | None) -> Scores:
    found: list[tuple[list[str], dict[str, list[float]]]] = []
    for name, path in pairs:
        if not name:
            raise InputError(f"the table {quote(path)} has no metric: give it as metric=file")
        grid = read_grid(path, "the table of scores", sheet)
        _refuse(grid.ragged())
        rows: dict[str, list[float]] = {}
        for number, cells in grid.with_points(grid.header[1:]).lines:
            if cells[0] in rows:
                raise InputError(
                    f"{grid.place(number)}: item {quote(cells[0])} comes twice: a file given "
                    "as metric=file has one line for each item, and a column for each arm"
                )
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
    try:
        return parse_number(f"{grid.place(number)}: {quote(column)}", cell)
    except InputError as error:
        raise InputError(
            f"{error}; leave the cell empty if it was not measured, or make 0 or 1 of the "
            f"column with --map {_words([f'NAME={column}=={cell}'])}"
        ) from None
