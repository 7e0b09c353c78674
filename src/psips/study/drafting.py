"""A design drafted from a table of past results: arms, objectives, directions, noise."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from psips.aliases import Floats, Ints, Mask
from psips.diagnostics import pooled_covariance
from psips.diagnostics.deviations import skewness
from psips.diagnostics.residuals import residuals_of
from psips.errors import InputError, fold, listing, nearest, quote, unknown
from psips.input.directions import as_options, guess_direction, settle, speaks_of
from psips.input.names import RESERVED
from psips.input.quantities import parse_number
from psips.input.tabular import COMMA, Grid, read_grid
from psips.laws import spread_of_sd
from psips.problem import Problem
from psips.problem.measurements import ARM, ITEM, means_refused, summary_column
from psips.rules import Rules

# Words in the name of a column that says which result it is, or when; not what came out.
LABELS = re.compile(
    r"batch|block|center|centre|date|day|fold|hour|id|index|instance|iteration|month|no|nr|"
    r"number|obs|patient|plate|question|rep|repeat|repetition|replicate|round|row|run|sample|"
    r"seed|site|split|subject|task|trial|visit|week|year"
)
LONG = 10  # cells of a column that by chance are not in order
SETTING = (
    "is the same in all results of an arm; if it is a metric, name it with --objective, which "
    'makes it kind = "exact"'
)
MOST_BETWEEN = 0.95  # share of the variance that a draft takes for being between items
MOSTLY = 0.5  # share of the cells of a column that are numbers if numbers were meant
SKEWED = 0.001  # p-value of a skewness from which on logarithms are offered


@dataclass(frozen=True, eq=False)
class Draft:
    """What a table of results says of a design.

    Parameters
    ----------
    file : str
        Name of the table.
    problem : Problem
        Its noise is left to be estimated; values may be missing if some are in the table.
    covariance : (d, d) array
        Of the complete results around the means of their arms.
    guessed : frozenset of str
        Objectives whose direction was guessed by their name.
    results, complete : int
        How many results there are, and how many of them have all values.
    freedom : int
        Degrees of freedom of the covariance.
    left_out : dict
        Columns that are no objectives, and why.
    dialect : str
        How the file was read.
    between : (d,) array or None
        If the arms share items, the share of each variance that is between them.
    means : (K, d) array
        Of the results of each arm, of logarithms where these are compared; NaN if none has a
        value.
    skewed : dict
        Positive objectives with long upper tails, and their skewness: logarithms would do
        better.
    """

    file: str
    problem: Problem
    covariance: Floats
    guessed: frozenset[str]
    results: int
    complete: int
    freedom: int
    left_out: Mapping[str, str]
    dialect: str
    between: Floats | None
    means: Floats
    skewed: Mapping[str, float]

    @property
    def interval(self) -> tuple[float, float]:
        """Between which multiples of the standard deviations the true ones are, with 95%."""
        low, high = spread_of_sd(self.freedom)
        return float(low), float(high)


def find_objectives(grid: Grid) -> tuple[list[str], dict[str, str]]:
    """Return the columns that look like objectives, and why the others do not."""
    found: list[str] = []
    others: dict[str, str] = {}
    for c, name in enumerate(grid.header):
        if name in RESERVED:
            continue
        cells = [row[c] for _, row in grid.lines if row[c]]
        numbers = [cell for cell in cells if _is_number(grid, cell)]
        if not name:
            others[f"column {c + 1}"] = "has no name"
        elif not cells:
            others[name] = "is empty"
        elif len(numbers) < MOSTLY * len(cells):
            others[name] = "is text"
        elif _is_label(name):
            others[name] = "looks like a label"
        elif _counts(cells):
            others[name] = "counts the results"
        else:
            found.append(name)
    return found, others


def draft_design(
    grid: Grid,
    name: str | None = None,
    objectives: Mapping[str, str | None] | None = None,
    logs: Collection[str] = (),
    usual: str | None = None,
) -> Draft:
    """Draft a design from a table of past results.

    Parameters
    ----------
    grid : Grid
        As `read_table` returns it.
    name : str, optional
        Of the design; the file's name if left out.
    objectives : mapping, optional
        Columns that are objectives, with "max", "min" or None to guess; if left out, all
        columns of numbers that do not look like labels and vary between results of an arm.
    logs : collection of str
        Objectives whose logarithms are compared.
    usual : str, optional
        Direction of objectives whose name does not tell it; an error if left out.
    """
    found, left_out = find_objectives(grid)
    chosen = dict.fromkeys(found) if objectives is None else dict(objectives)
    for wanted in chosen:
        if wanted not in grid.header or wanted in RESERVED:
            known = [column for column in grid.header if column not in RESERVED]
            raise unknown(f"column of {grid.name}", wanted, known)
    for column in grid.header:
        others = [other for other in grid.header if other != column]
        given = objectives is not None and column in objectives
        if not given and summary_column([column], others):
            raise InputError(f"{grid.name}: {means_refused(column)}")
    arms, numbers, told = _read(grid.with_points(chosen), list(chosen))
    values = _with_logs(grid, list(chosen), told, logs)
    whole = np.all(np.isfinite(values), axis=1)
    covariance, freedom = pooled_covariance(numbers[whole], values[whole])
    same = _repeats(numbers, told)
    covariance[same], covariance[:, same] = 0.0, 0.0
    fixed = [one for one, repeats in zip(chosen, same, strict=True) if repeats]
    flat = [one for one in fixed if _is_flat(told[:, list(chosen).index(one)])]
    unclear = [one for one in fixed if guess_direction(one) is None or one in flat]
    if objectives is None and freedom > 0 and unclear:  # a setting, perhaps, and no metric
        rest: dict[str, str | None] = {one: None for one in chosen if one not in unclear}
        again = draft_design(grid, name, rest, logs, usual)
        return replace(again, left_out={**again.left_out, **dict.fromkeys(unclear, SETTING)})
    if not chosen:
        raise InputError(
            f"{grid.name} has no column of numbers that looks like an objective; its columns: "
            f"{listing(grid.header)}: name the objectives with --objective"
        )
    _check_noise(grid, list(chosen), fixed, flat, freedom)
    blind = [one for one, way in chosen.items() if way is None and guess_direction(one) is None]
    settled = settle(
        {one: usual if one in blind else way for one, way in chosen.items()}, as_options
    )
    between, why_not = _between_items(grid, numbers, values, covariance)
    problem = Problem(
        name=Path(grid.name).stem if name is None else name,
        objectives={
            one: {"direction": way, **_kind(one, column, logs, one in fixed)}
            for (one, way), column in zip(settled.objectives.items(), told.T, strict=True)
        },
        arms=arms,
        partial=not whole.all(),
        items=between is not None,
    )
    left_out |= {ITEM: why_not} if why_not else {}
    left_out |= dict.fromkeys(found, "was not chosen")
    left_out = {one: why for one, why in left_out.items() if one not in chosen}
    guessed = frozenset(settled.guessed) | frozenset(blind)
    total, complete = len(values), int(whole.sum())
    return Draft(
        *(grid.name, problem, covariance, guessed, total, complete, freedom, left_out),
        *(grid.dialect(chosen), between, _means(numbers, values)),
        _skewed(problem, numbers[whole], values[whole]),
    )


def read_table(
    path: str | os.PathLike[str], sheet: str | None = None, arm_column: str | None = None
) -> Grid:
    """Read a table of results of which nothing is known but that a column names the arms."""
    return named_by(read_grid(path, "the results", sheet), arm_column)


def named_by(grid: Grid, arm_column: str | None = None) -> Grid:
    """Return a table of results of which a column names the arms, with that column as arm."""
    column = ARM if arm_column is None else arm_column
    if column not in grid.header:
        near = nearest(column, grid.header)
        hint = f", but {quote(near)}" if near else ""
        raise InputError(
            f"{grid.name} has no column {quote(column)}{hint} (its columns: "
            f"{listing(grid.header)}): say with --arm-column which names the arms"
        )
    for name in grid.header:
        if name and grid.header.count(name) > 1:
            raise InputError(f"{grid.name} has several columns {quote(name)}: rename them")
    for sentence in grid.ragged():
        raise InputError(sentence)
    if not grid.lines:
        raise InputError(f"{grid.name} has a header line and no results below it")
    return grid.renamed(column, ARM)


def as_toml(draft: Draft) -> str:
    """Write a draft as a problem file, with what was guessed and estimated marked."""
    problem = draft.problem
    low, high = draft.interval
    sds = np.sqrt(np.diag(draft.covariance))
    pairs = zip(problem.labels, sds.tolist(), strict=True)
    spread = ", ".join(f"{quote(name)} {sd:.3g}" for name, sd in pairs if sd > 0.0)
    missing = draft.results - draft.complete
    incomplete = f", {missing} of them incomplete" if missing else ""
    lines = [
        f"# Drafted by psips from {draft.file}: {draft.results:,} results{incomplete}.",
        *([f"# Read as a file with {draft.dialect}."] if draft.dialect else []),
        *(f"# Column {quote(name)} {why}: left out." for name, why in draft.left_out.items()),
        f"name = {_text(problem.name)}",
        f"arms = [{', '.join(map(_text, problem.arms))}]",
        f"delta = {Rules().delta:g}  # accepted probability of being wrong",
        "",
        "# The noise is estimated from the results told, for each arm by itself. Results of",
        f"# the same arm scatter here with standard deviations of about {spread}",
        f"# ({draft.complete:,} complete results; the true ones are {low:.2f} to {high:.2f} "
        "times these, with",
        "# 95% confidence, if they are the same for all arms).",
        'covariance = "per-arm"',
        *(["partial = true  # a result may lack values"] if problem.partial else []),
        *(
            ["items = true  # arms share the items of column 'item'"]
            if problem.has_items
            else []
        ),
    ]
    if all(scale.binary for scale in problem.scales):
        lines.append('noise = "bernoulli"  # of simulated results')
    for objective, way, scale in zip(
        problem.objectives, problem.directions, problem.scales, strict=True
    ):
        mark = "  # guessed" if objective in draft.guessed else ""
        lines += ["", "[[objectives]]", f"name = {_text(objective)}"]
        lines.append(f'direction = "{way}"{mark}')
        if scale.binary:
            lines.append('kind = "binary"  # every value is 0 or 1')
        if scale.exact:
            lines.append('kind = "exact"  # the same in all results of an arm: no noise')
        if scale.log:
            lines.append('transform = "log"  # means of logarithms are compared')
        if objective in draft.skewed:
            lines += [
                f"# Positive and skewed (skewness {draft.skewed[objective]:.1f}): to compare "
                "means of logarithms,",
                '# run init again with --log, which writes transform = "log" here.',
            ]
    return "\n".join([*lines, *_for_plans(draft)]) + "\n"


def _for_plans(draft: Draft) -> list[str]:
    """Write what plans need: the means of the table, and how its results scatter."""
    problem = draft.problem
    variances = ", ".join(f"{v:.4g}" for v in np.diag(draft.covariance).tolist())
    lines = ["", "[noise_guess]  # for plans and simulations alone"]
    lines.append(f"covariance = [{variances}]")
    if draft.between is not None:
        shares = ", ".join(f"{one:.2g}" for one in draft.between.tolist())
        lines.append(f"between = [{shares}]  # share of it between items")
    missing = np.argwhere(np.isnan(draft.means)).tolist()
    if missing:
        a, c = missing[0]
        return [
            *lines,
            f"# There is no [guess], since no result of {quote(problem.arms[a])} has a value "
            f"of {quote(problem.objectives[c])}.",
        ]
    lines += ["", f"[guess]  # for plans alone: the means of {draft.file}"]
    sds = np.sqrt(np.diag(draft.covariance)).tolist()
    for arm, row in zip(problem.arms, draft.means.tolist(), strict=True):
        means = (_mean(mean, sd) for mean, sd in zip(row, sds, strict=True))
        lines.append(f"{_text(arm)} = [{', '.join(means)}]")
    return lines


def _mean(mean: float, sd: float) -> str:
    """Write a mean to a thousandth of its noise or closer, one without noise in full."""
    digits = 15
    if sd > 0.0 and mean != 0.0:
        digits = min(15, max(6, 4 + math.floor(math.log10(abs(mean) / sd))))
    return f"{mean:.{digits}g}"


def _read(grid: Grid, objectives: list[str]) -> tuple[list[str], Ints, Floats]:
    """Return the arms in the order of their first lines, and the results; NaN if empty."""
    at = grid.header.index(ARM)
    places = [grid.header.index(one) for one in objectives]
    arms: dict[str, int] = {}
    alike: dict[str, tuple[str, int]] = {}
    numbers, values = [], []
    for number, row in grid.lines:
        arm = row[at]
        if not arm:
            raise InputError(f"{grid.place(number)} names no arm: fill it in")
        first, seen = alike.setdefault(fold(arm), (arm, number))
        if first != arm:
            raise InputError(
                f"{grid.place(number)}: arm {quote(arm)} differs from {quote(first)} "
                f"({grid.unit} {seen}) only in case or spaces: write it one way"
            )
        numbers.append(arms.setdefault(arm, len(arms)))
        values.append(
            [
                _value(grid, number, one, row[c])
                for one, c in zip(objectives, places, strict=True)
            ]
        )
    if len(arms) < 2:
        raise InputError(
            f"{grid.name} has results of one arm only, {quote(next(iter(arms)))}: a design "
            "needs at least two"
        )
    return list(arms), np.array(numbers, dtype=np.int64), np.array(values)


def _with_logs(grid: Grid, names: list[str], told: Floats, logs: Collection[str]) -> Floats:
    """Return the values as they are compared."""
    values = told.copy()
    for name in logs:
        if name not in names:
            raise unknown("objective for --log", name, names)
        column = told[:, names.index(name)]
        below = np.flatnonzero(column <= 0.0)
        if len(below):
            row = int(below[0])
            raise InputError(
                f"{grid.place(grid.lines[row][0])}: {quote(name)} is {column[row]:g}, which "
                "has no logarithm: leave out --log for it, or correct the value"
            )
        values[:, names.index(name)] = np.log(column)
    return values


def _repeats(arms: Ints, values: Floats) -> Mask:
    """Return the columns (d,) in which all results of an arm are the same, and some repeat."""
    varies, repeats = np.zeros((2, values.shape[1]), np.bool_)
    for arm in range(arms.max() + 1):
        for c, column in enumerate(values[arms == arm].T):
            seen = column[np.isfinite(column)]
            repeats[c] |= len(seen) > 1
            varies[c] |= bool((seen != seen[:1]).any())
    return np.asarray(repeats & ~varies)


def _is_flat(column: Floats) -> bool:
    """Whether there is nothing but 0 and 1: such values repeat, with noise or without."""
    return bool(np.isin(column[np.isfinite(column)], (0.0, 1.0)).all())


def _kind(name: str, column: Floats, logs: Collection[str], exact: bool) -> dict[str, str]:
    """Say what the values of an objective are, as far as they show it."""
    log = {"transform": "log"} if name in logs else {}
    if exact:
        return {"kind": "exact", **log}
    if log:
        return log
    seen = set(column[np.isfinite(column)].tolist())
    return {"kind": "binary"} if seen == {0.0, 1.0} else {}


def _means(arms: Ints, values: Floats) -> Floats:
    """Return the mean (K, d) of what each arm has; NaN if it has nothing."""
    seen = np.isfinite(values)
    sums, counts = np.zeros((2, arms.max() + 1, values.shape[1]))
    np.add.at(sums, arms, np.where(seen, values, 0.0))
    np.add.at(counts, arms, seen)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _skewed(problem: Problem, arms: Ints, values: Floats) -> dict[str, float]:
    """Return the objectives of which logarithms are less skewed, with their skewness."""
    found: dict[str, float] = {}
    for c, (name, scale) in enumerate(zip(problem.objectives, problem.scales, strict=True)):
        column = values[:, [c]]
        if scale.binary or scale.log or scale.exact or not np.all(column > 0.0):
            continue
        plain = skewness(residuals_of(arms, column))
        logs = skewness(residuals_of(arms, np.log(column)))
        skewed = plain and plain[0].p_value < SKEWED and plain[0].size > 0.0
        if skewed and logs and abs(logs[0].size) < abs(plain[0].size):
            found[name] = plain[0].size
    return found


def _between_items(
    grid: Grid, arms: Ints, values: Floats, covariance: Floats
) -> tuple[Floats | None, str]:
    """Return which share of the variances is between items; or None, and why it is not."""
    if ITEM not in grid.header:
        return None, ""
    if not np.isfinite(values).all():
        return None, "goes with results that have all their values"
    column = grid.header.index(ITEM)
    items, shared = np.full(len(arms), -1), np.zeros(values.shape[1])
    known: dict[str, int] = {}
    for i, (_, row) in enumerate(grid.lines):
        if row[column]:
            items[i] = known.setdefault(row[column], len(known))
    rest, pairs = residuals_of(arms, values).values, 0
    for item in range(len(known)):
        here = np.flatnonzero(items == item)
        apart = arms[here][:, None] != arms[here]
        pairs += int(apart.sum())
        shared += np.einsum("ic,ij,jc->c", rest[here], apart.astype(float), rest[here])
    if not pairs:
        return None, "names no item that two arms share"
    variances = np.diag(covariance)
    share = shared / pairs / np.where(variances > 0.0, variances, np.inf)
    return np.clip(share, 0.0, MOST_BETWEEN), ""


def _value(grid: Grid, number: int, column: str, cell: str) -> float:
    if not cell:
        return np.nan
    try:
        return parse_number(f"{grid.place(number)}, column {quote(column)},", cell)
    except InputError as error:
        raise InputError(
            f"{error}; leave the cell empty if it was not measured, or choose the objectives "
            "with --objective"
        ) from None


def _check_noise(
    grid: Grid, objectives: list[str], fixed: list[str], flat: list[str], freedom: int
) -> None:
    """Refuse results from which no covariance can be estimated."""
    least = len(objectives) - len(fixed) + 1
    if freedom < least:
        raise InputError(
            f"{grid.name} has too few results to estimate the noise of {len(objectives)} "
            f"objective{'' if least == 2 else 's'}: it takes {least} complete results "
            f"more than there are arms, and there are {freedom}"
        )
    if flat:
        raise InputError(
            f"all results of an arm are the same in {listing(flat)}, and 0 or 1, so that its "
            "noise cannot be seen: choose other objectives, or write the file by hand"
        )
    if len(fixed) == len(objectives):
        raise InputError(
            f"all results of an arm are the same in {listing(fixed)}, so there is no noise to "
            "estimate: one result of each arm is enough; add an objective that has noise"
        )


def _is_label(name: str) -> bool:
    """Whether a column says which result it is: "run", but not "run time"."""
    return speaks_of(LABELS, name) and guess_direction(name) is None


def _counts(cells: list[str]) -> bool:
    """Whether the cells are whole numbers, each larger than the one before."""
    if len(cells) < LONG or not all(cell.isdecimal() for cell in cells):
        return False
    numbers = list(map(int, cells))
    return all(a < b for a, b in pairwise(numbers))


def _is_number(grid: Grid, cell: str) -> bool:
    comma = grid.separator in (";", "\t") and COMMA.fullmatch(cell)
    try:
        parse_number("", cell.replace(",", ".") if comma else cell)
    except InputError:
        return False
    return True


def _text(text: str) -> str:
    """Write a text for TOML; names have no control characters."""
    return json.dumps(text, ensure_ascii=False)
