"""Tables of means and standard errors, as papers and dashboards have them.

What can be said is how sure each option is to be on the front, given the table, and which
option the doubt comes from. No stop is claimed: see `WHY`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, listing, quote
from psips.evaluation.layout import MARK, laid_out, marked
from psips.evaluation.scores import MODEL
from psips.input.digits import chance, estimate
from psips.input.directions import as_options, guess_text, settle
from psips.input.quantities import parse_number
from psips.input.tabular import Grid, read_grid
from psips.problem.measurements import ARM
from psips.session.status_text import WIDTH, cut, in_blocks

DRAWS = 20_000
BINS = 20  # of the mean of an option, to see how much depends on it
MOST_OPTIONS = 200  # options
SURE = 0.995  # probability from which on an option is not in doubt
ERRORS = ("se", "stderr", "std err", "standard error", "sem", "error")
SPREADS = ("sd", "std", "stdev", "standard deviation")
COUNTS = ("n", "count", "items", "samples", "results", "runs")
BOTH = re.compile(r"\s*(?P<mean>\S+?)\s*(?:±|\+/-|\+-)\s*(?P<error>\S+)\s*")
WHY = (
    "no stop is claimed: a stop is a promise about how results were taken and looked at, and "
    "means with standard errors do not say that. They do not say either which options were "
    "measured on the same items, so their errors are taken for independent"
)


class Summary(NamedTuple):
    """Means with standard errors; 0 where a metric is exact."""

    arms: list[str]
    metrics: list[str]
    means: Floats  # (K, d)
    errors: Floats  # (K, d)
    counts: Floats  # (K,) results, infinite where they are not known
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Judged:
    """What a table of means says.

    Parameters
    ----------
    summary : Summary
    directions : dict
    probability : (K,) array
        Of being on the front, given the table.
    front : tuple of str
        Pareto set of the means.
    whole : float
        Probability that the front is that set.
    doubt : (K,) array
        Share of the doubt that exact knowledge of an option's means would remove.
    """

    summary: Summary
    directions: dict[str, str]
    probability: Floats
    front: tuple[str, ...]
    whole: float
    doubt: Floats
    notes: tuple[str, ...]

    @property
    def next(self) -> tuple[str, ...]:
        """Options to measure next, those that the doubt comes from most first."""
        order = np.argsort(-self.doubt, kind="stable")
        return tuple(self.summary.arms[a] for a in order[:3] if self.doubt[a] >= 0.05)

    @property
    def sentences(self) -> list[str]:
        """What it says, in words."""
        said = [
            f"on the front by these means: {', '.join(self.front)}",
            f"exactly these with probability {chance(self.whole)}, given the table",
        ]
        unsure = [
            f"{arm} ({chance(p)})"
            for arm, p in zip(self.summary.arms, self.probability, strict=True)
            if 1.0 - SURE < p < SURE
        ]
        said.append(f"in doubt: {', '.join(unsure) or 'none'}")
        if unsure and self.next:
            shares = [f"{a} ({self.doubt[self.summary.arms.index(a)]:.0%})" for a in self.next]
            said.append(
                f"measure next: {', '.join(shares)}; the shares are how much less doubt there "
                f"would be if the option's means were known exactly"
            )
        return [*said, WHY]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "stopped": False,
            "why": WHY,
            "front": list(self.front),
            "probability": self.whole,
            "directions": self.directions,
            "next": list(self.next),
            "arms": [
                {"arm": arm, "probability": float(p), "doubt": float(share)}
                for arm, p, share in zip(
                    self.summary.arms, self.probability, self.doubt, strict=True
                )
            ],
            "notes": list(self.notes),
        }

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Return the table as texts: its header and its rows."""
        table = self.summary
        rows = [
            [
                arm,
                *map(estimate, table.means[a].tolist(), table.errors[a].tolist()),
                chance(float(self.probability[a])),
                f"{self.doubt[a]:.0%}" if self.doubt[a] >= 0.005 else "",
            ]
            for a, arm in enumerate(table.arms)
        ]
        return ["arm", *table.metrics, "on the front", "doubt"], rows

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """Return what it says in lines of this width."""
        head, rows = self.rows()
        columns = [(cut(t), [row[c] for row in rows]) for c, t in enumerate(head[1:], 1)]
        inside = [row[0] in self.front for row in rows]
        names = marked([cut(row[0]) for row in rows], inside, columns, width)
        table = in_blocks(f"  {head[0]}", names, columns, width=width)
        *said, why = self.sentences
        legend = f"{MARK} on the front by these means;  on the front: probability"
        return laid_out(said, table, [legend, *self.notes, why], width)


def judge(
    table: Summary, directions: Mapping[str, str | None] | None = None, seed: int = 1
) -> Judged:
    """Say how sure each option is to be on the front, and where the doubt comes from.

    The true means are drawn around those of the table: by Student's law where the numbers of
    results are known, independently for each option and metric.
    """
    given = directions or {}
    settled = settle({m: given.get(m) for m in table.metrics}, as_options)
    signs = np.array([1.0 if settled.objectives[m] == "max" else -1.0 for m in table.metrics])
    rng = np.random.default_rng(seed)
    K, d = table.means.shape
    known = np.where(np.isfinite(table.counts), table.counts, 1e6)
    noise = rng.standard_normal((DRAWS, K, d))
    noise *= np.sqrt((known - 1.0) / rng.chisquare(known - 1.0, (DRAWS, K)))[..., None]
    draws = signs * (table.means + noise * table.errors)
    front = on_front(draws)  # (DRAWS, K)
    by_means = on_front(signs * table.means[None])[0]
    probability = front.mean(axis=0)
    variance = float((probability * (1.0 - probability)).sum())
    doubt = np.array([_explained(front, draws[:, a]) for a in range(K)])
    told = [guess_text(metric, way) for metric, way in settled.guessed.items()]
    return Judged(
        table,
        settled.objectives,
        probability,
        tuple(arm for arm, member in zip(table.arms, by_means, strict=True) if member),
        float((front == by_means).all(axis=1).mean()),
        doubt / variance if variance > 0.0 else doubt,
        (*table.notes, *told),
    )


def on_front(values: Any) -> Any:
    """Return which options (n, K) of n tables (n, K, d) nothing dominates; more is better.

    Examples
    --------
    >>> on_front(np.array([[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]])).tolist()
    [[True, True, False]]
    """
    n, K, _ = values.shape
    found = np.ones((n, K), np.bool_)
    for a in range(K):
        mine = values[:, a, None]
        as_good, better = (values >= mine).all(axis=2), (values > mine).any(axis=2)
        found[:, a] = ~(as_good & better).any(axis=1)
    return found


def _explained(front: Any, mine: Floats) -> float:
    """Return the variance of membership that one option's means (n, d) account for.

    By bins of the two metrics that scatter most, or of the one; less what chance explains.
    """
    n, d = mine.shape
    moving = [c for c in range(d) if np.ptp(mine[:, c]) > 0.0][:2]
    if not moving:
        return 0.0
    bins = BINS if len(moving) == 1 else round(BINS**0.75)
    place = np.zeros(n, np.int64)
    for c in moving:
        ranks = np.argsort(np.argsort(mine[:, c], kind="stable"), kind="stable")
        place = place * bins + ranks * bins // n
    size = np.bincount(place, minlength=bins ** len(moving)).astype(float)
    total = 0.0
    for member in front.T.astype(float):
        sums = np.bincount(place, member, len(size))
        p, mean = sums[size > 0] / size[size > 0], member.mean()
        between = float((size[size > 0] * (p - mean) ** 2).sum()) / n
        by_chance = mean * (1.0 - mean) * (np.count_nonzero(size) - 1) / n
        total += max(between - by_chance, 0.0)
    return total


def read_summary(
    path: str, metrics: Sequence[str] = (), arm: str | None = None, sheet: str | None = None
) -> Summary:
    """Read a table with a line for each option: means, and standard errors.

    The standard error of ``accuracy`` is in a column ``accuracy se`` (or ``stderr``), or in
    the cell, as in ``0.71 ± 0.02``; or there are ``accuracy sd`` and a column ``n``. With ``n``
    alone values from 0 to 1 are taken for rates. A metric with none of these is exact.
    """
    grid = read_grid(path, "the table of means", sheet)
    for sentence in grid.ragged():
        raise InputError(sentence)
    arm = arm or (MODEL if MODEL in grid.header and ARM not in grid.header else ARM)
    if arm not in grid.header:
        raise InputError(
            f"{grid.name} has no column {quote(arm)}; its columns: {listing(grid.header)}: say "
            f"with --arm which names the options"
        )
    columns = {_plain(name): name for name in grid.header}
    grid = grid.with_points([name for name in grid.header if name != arm])
    names = _column(grid, arm)
    if len(set(names)) < len(names) or not all(names):
        raise InputError(f"{grid.name} must have one line for each option, each with a name")
    if not 2 <= len(names) <= MOST_OPTIONS:
        raise InputError(f"{grid.name} must have 2 to {MOST_OPTIONS} options, got {len(names)}")
    counted = next((columns[one] for one in COUNTS if one in columns), None)
    counts = np.full(len(names), np.inf)
    if counted is not None:
        counts = np.array(_numbers(grid, counted))
        if not (counts >= 2).all():
            raise InputError(f"{grid.name}: {quote(counted)} must be at least 2 of each option")
    told = {
        columns[f"{one} {end}"]
        for one in columns
        for end in (*ERRORS, *SPREADS)
        if f"{one} {end}" in columns
    }
    chosen = list(metrics) or [n for n in grid.header if n not in {arm, counted, *told}]
    missing = [name for name in chosen if name not in grid.header]
    if missing:
        raise InputError(
            f"{grid.name} has no column {quote(missing[0])}; its columns: "
            f"{listing(grid.header)}"
        )
    if not chosen:
        raise InputError(f"{grid.name} has no metric; its columns: {listing(grid.header)}")
    means, errors, notes = [], [], []
    for metric in chosen:
        mean, error, note = _metric(grid, columns, metric, counts)
        means.append(mean)
        errors.append(error)
        notes += [note] if note else []
    return Summary(names, chosen, np.array(means).T, np.array(errors).T, counts, tuple(notes))


def _metric(
    grid: Grid, columns: Mapping[str, str], metric: str, counts: Floats
) -> tuple[list[float], Floats, str]:
    """Return means and standard errors of a metric, and what was made of it."""
    cells = _column(grid, metric)
    pairs = [BOTH.fullmatch(cell) for cell in cells]
    if all(pairs):
        found = [pair for pair in pairs if pair]
        what = f"{grid.name}: {quote(metric)}"
        mean = [parse_number(what, pair["mean"]) for pair in found]
        error = np.array([parse_number(what, pair["error"]) for pair in found])
        return mean, _checked(grid, metric, error), ""
    mean = _numbers(grid, metric)
    for end in ERRORS:
        if f"{_plain(metric)} {end}" in columns:
            error = np.array(_numbers(grid, columns[f"{_plain(metric)} {end}"]))
            return mean, _checked(grid, metric, error), ""
    sizes = bool(np.isfinite(counts).all())
    for end in SPREADS:
        if f"{_plain(metric)} {end}" in columns:
            if not sizes:
                raise InputError(
                    f"{grid.name} has standard deviations of {quote(metric)}, but not of how "
                    f"many results: add a column n"
                )
            spread = np.array(_numbers(grid, columns[f"{_plain(metric)} {end}"]))
            return mean, _checked(grid, metric, spread) / np.sqrt(counts), ""
    rates = np.array(mean)
    if sizes and ((rates >= 0.0) & (rates <= 1.0)).all():
        p = (rates * counts + 1.0) / (counts + 2.0)  # at 0 and 1 nothing scatters
        return (
            mean,
            np.sqrt(p * (1.0 - p) / counts),
            (f"{metric}: standard errors of rates, from the number of results"),
        )
    return mean, np.zeros(len(mean)), f"{metric}: no standard errors, taken for exact"


def _checked(grid: Grid, metric: str, error: Floats) -> Floats:
    if not (error >= 0.0).all():
        raise InputError(f"{grid.name}: a standard error of {quote(metric)} is below 0")
    return error


def _plain(name: str) -> str:
    """Return a name by which columns find each other."""
    return " ".join(re.sub(r"[_().,-]+", " ", name.casefold()).split())


def _column(grid: Grid, name: str) -> list[str]:
    return [row[grid.header.index(name)] for _, row in grid.lines]


def _numbers(grid: Grid, name: str) -> list[float]:
    at = grid.header.index(name)
    return [
        parse_number(f"{grid.place(number)}: {quote(name)}", row[at])
        for number, row in grid.lines
    ]
