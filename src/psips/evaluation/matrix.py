"""A table of scores, arms by items, replayed as if it were being measured."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote as word
from typing import TYPE_CHECKING, Any

import numpy as np

from psips.diagnostics.few_items import doubt_text, few_items
from psips.errors import InputError, counted, listing, quote, unknown
from psips.evaluation.cutoffs import find_cutoff
from psips.evaluation.intervals import FEWEST_ITEMS
from psips.evaluation.layout import estimates_of, laid_out, legend_of, marked
from psips.evaluation.scores import Scores
from psips.input.digits import chance
from psips.input.directions import as_options, guess_text, settle
from psips.problem import Problem
from psips.problem.goals_and_budget import LIKE_THESE, THESE
from psips.problem.limits import ONLY
from psips.problem.measurements import ARM, ITEM
from psips.rules.promises import short_promise
from psips.session import Session
from psips.session.status_text import WIDTH, cut, in_blocks
from psips.session.tolerance_report import MOST_REPLAYED, Saving

if TYPE_CHECKING:
    import pandas as pd

    from psips.session.status import Status


@dataclass(frozen=True, eq=False)
class Replay:
    """The result of a table that was replayed.

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
        By arm: cells that were looked at, estimates and standard errors, and the posterior
        probability of being optimal.
    looked_at : list of (arm, item)
        In their order.
    settled : int
        Cells after which the candidate set did not change any more.
    saving : Saving or None
        Of a table that ended without a stop: a tolerance with which it would have stopped.
    directions : dict
        By metric "max", "min" or "limit".
    notes : tuple of str
        What was guessed, left out or found in the table.
    session : Session
        For plots, and all else that is known.
    status : Status
        Of the session.
    of_items : str
        Whether the question is of these items or of all like these.
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
    settled: int
    saving: Saving | None
    directions: dict[str, str]
    notes: tuple[str, ...]
    session: Session = field(repr=False)
    status: Status = field(repr=False)
    of_items: str = LIKE_THESE

    @property
    def certain(self) -> bool:
        """Whether the table was looked at to its end, and the question is of its items."""
        return self.of_items == THESE and self.cells == self.of

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        rows = self.arms.reset_index().to_dict("records")
        saved = self.saving
        return {
            "stopped": self.stopped,
            "pareto_set": list(self.pareto_set),
            "probability": None if math.isnan(self.probability) else self.probability,
            "cells": self.cells,
            "of": self.of,
            "of_items": self.of_items,
            "settled": self.settled,
            "whole_table": list(self.whole),
            "promise": self.promise,
            "directions": self.directions,
            "notes": list(self.notes),
            **({} if saved is None else {"with_tolerance": saved.to_dict()}),
            "arms": [
                {key: None if value != value else value for key, value in row.items()}
                for row in rows
            ],
        }

    @property
    def sentences(self) -> list[str]:
        """The results, in words."""
        names = ", ".join(self.pareto_set) or self.status.nothing or "none"
        share = f"{self.cells / self.of:.0%} of the table"
        if self.certain:
            said = [
                f"all {self.of:,} cells were used, so nothing is left to chance",
                f"Pareto set of these items, for certain: {names}",
            ]
        elif self.stopped:
            of = " of these items" if self.of_items == THESE else ""
            said = [
                f"stopped after {self.cells:,} of {self.of:,} cells, {share} ({self.promise})",
                f"Pareto set{of}: {names}",
            ]
        else:
            said = [
                f"all {self.of:,} cells were used without a stop",
                f"Pareto set of these items: {names}",
                f"of all items like these, it is this set with probability "
                f"{chance(self.probability)}",
            ]
        same = set(self.whole) == set(self.pareto_set)
        other = f"another set, {', '.join(self.whole) or 'none'}"
        if self.cells < self.of or not same:
            said.append(f"the whole table says: {'the same set' if same else other}")
        if not self.stopped or self.certain:
            said.append(
                f"the candidate set did not change after cell {self.settled:,} "
                f"({self.settled / self.of:.0%} of the table); that is hindsight, not a promise"
            )
        if self.status.exact:
            said.append(self.status.exact)
        if self.status.tolerated is not None:
            said.append(str(self.status.tolerated))
        if self.saving is not None:
            said.append(str(self.saving))
        return said

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """Return the results in lines of this width."""
        said = self.sentences
        if self.saving is not None:
            said.append(f"  {_as_options(self.saving.amounts)}")
        notes = [legend_of(self.session.problem), *self.notes]
        return laid_out(said, self._table(width), notes, width)

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Return the table of arms as texts: its header and its rows."""
        problem = self.session.problem
        head = ["arm", "cells", *problem.objectives, "optimal with probability", "Pareto set"]
        means = estimates_of(problem, self.arms)
        rows = [
            [
                str(name),
                f"{int(row['cells']):,}",
                *texts,
                chance(row["probability"]),
                "yes" if name in self.pareto_set else "",
            ]
            for texts, (name, row) in zip(means, self.arms.iterrows(), strict=True)
        ]
        return head, rows

    def _table(self, width: int) -> list[str]:
        head, rows = self.rows()
        titles = [*map(cut, head[1:-2]), "probability"]
        columns = [(title, [row[c] for row in rows]) for c, title in enumerate(titles, 1)]
        inside = [bool(row[-1]) for row in rows]
        names = marked([cut(row[0]) for row in rows], inside, columns, width)
        return in_blocks("  arm", names, columns, width=width)


def _as_options(amounts: Mapping[str, float | str]) -> str:
    """Write a tolerance as it is given on the command line."""
    from shlex import quote as word

    return " ".join(
        f"--tolerance {word(f'{m}={a:g}' if isinstance(a, float) else f'{m}={a}')}"
        for m, a in amounts.items()
    )


def problem_of(
    scores: Scores,
    directions: Mapping[str, str],
    order: Any,
    log: Collection[str] = (),
    **asked: Any,
) -> Problem:
    """Return the problem that a table is about; values that are all 0 or 1 are binary.

    Limits and items that arms share do not go together: with limits, results of different
    arms are compared without their items.
    """
    objectives = {}
    for c, metric in enumerate(scores.metrics):
        column = scores.values[..., c]
        known = column[~np.isnan(column)]
        binary = metric not in log and bool(np.isin(known, (0.0, 1.0)).all())
        objectives[metric] = {
            "direction": directions[metric],
            **({"kind": "binary"} if binary else {}),
            **({"transform": "log"} if metric in log else {}),
        }
    items: Any = False if asked.get("limits") else [scores.items[j] for j in order]
    return Problem(objectives=objectives, arms=scores.arms, items=items, **asked)


def replay(
    scores: Scores,
    directions: Mapping[str, str | None] | None = None,
    *,
    delta: float = 0.1,
    seed: int = 1,
    epsilon: Any = None,
    limits: Sequence[str] = (),
    control: str | None = None,
    log: Collection[str] = (),
    of: str = LIKE_THESE,
    **choices: Any,
) -> Replay:
    """Measure a table cell by cell until the Pareto set is known.

    Parameters
    ----------
    scores : Scores
        A cell that lacks a metric is not there.
    directions : mapping from metric to "max", "min" or "limit"
        Guessed by the name where nothing is said, which `Replay.notes` tells; refused where
        the name does not settle it.
    delta : float
    seed : int
        Of the order of the items, which is the same for all arms, and of the session.
    epsilon, limits, control
        As of `Problem`.
    log : names
        Metrics whose logarithms are compared.
    of : "like these" or "these"
        Whether the items stand for others, or are all there are: what is asked for then is the
        Pareto set of the means over the whole table, which is certain at its end.
    **choices
        Fields of `Rules`.
    """
    if of == THESE:
        scores = _complete(scores, bool(limits))
    _check_size(scores)
    log = [*log, *(metric for metric in scores.ratios if metric not in log)]
    for metric in log:
        if metric not in scores.metrics:
            raise unknown("metric to take logarithms of", metric, scores.metrics)
    _check_positive(scores, log)
    given = directions or {}
    told = {m: given.get(m) or scores.ways.get(m) for m in scores.metrics}
    settled = settle(told, as_options)
    order = np.random.default_rng(seed).permutation(len(scores.items))
    asked = {"epsilon": epsilon, "limits": list(limits), "control": control}
    problem = problem_of(scores, settled.objectives, order, log, **asked)
    there = scores.there
    session = _session(problem, scores, there, seed, delta, {**choices, "of": of})
    looked_at, last = _look(session, scores, order)
    status = session.status()
    kept = [c for c in status.arms.columns if c != "pending"]
    arms = status.arms[kept].rename(columns={"pulls": "cells"})
    arms["probability"] = status.answers["probability"].to_numpy()
    saving = None
    may_save = not problem.tolerance and of == LIKE_THESE
    if not session.stopped and may_save and len(looked_at) <= MOST_REPLAYED:
        saving = session.ending_tolerance()
    return Replay(
        session.stopped,
        session.candidate_set,
        1.0 - status.probability_of_change,
        len(looked_at),
        int(there.sum()),
        _whole(problem, scores, there, delta, of),
        short_promise(session.rules),
        arms,
        looked_at,
        last,
        saving,
        settled.objectives,
        tuple(_notes(scores, settled.objectives, settled.guessed, log, bool(limits))),
        session,
        status,
        of,
    )


def _complete(scores: Scores, limited: bool) -> Scores:
    """Leave out items that some arm lacks: means over different items are not comparable."""
    if limited:
        raise InputError(
            "with limits, options are compared without their items, so that there is no "
            "question of these items: leave out the limits, or --of these"
        )
    kept = scores.there.all(axis=0)
    if kept.all():
        return scores
    left = int((~kept).sum())
    note = (
        f"{counted(left, 'item')} of {len(kept):,} left out, which some arm lacks: the "
        f"question is of the items that all arms have"
    )
    return scores._replace(
        items=[item for item, keep in zip(scores.items, kept, strict=True) if keep],
        values=scores.values[:, kept],
        notes=(*scores.notes, note),
    )


def _fullest(scores: Scores) -> str:
    """Return the metric that most cells have."""
    return scores.metrics[int((~np.isnan(scores.values)).sum(axis=(0, 1)).argmax())]


def _check_size(scores: Scores) -> None:
    if len(scores.arms) < 2:
        raise InputError(
            f"the table has one option, {quote(scores.arms[0])}, and nothing to compare it with"
        )
    if len(scores.items) < FEWEST_ITEMS:
        raise InputError(
            f"a table needs at least {FEWEST_ITEMS} items that the arms share, got "
            f"{len(scores.items)}"
        )
    complete = scores.there.any(axis=1)
    empty = [arm for arm, any_ in zip(scores.arms, complete, strict=True) if not any_]
    if not complete.any():
        raise InputError(
            f"no cell of the table has a value of every metric ({listing(scores.metrics)}): "
            f"choose metrics that go together, as in --objective "
            f"{word(_fullest(scores))}"
        )
    if empty:
        raise InputError(
            f"arm {quote(empty[0])} has no complete cell in the table: leave it out"
        )


def _check_positive(scores: Scores, log: Collection[str]) -> None:
    for metric in log:
        column = scores.values[..., scores.metrics.index(metric)]
        wrong = np.argwhere(column <= 0.0)
        if len(wrong):
            a, j = wrong[0]
            raise InputError(
                f"{quote(metric)} of arm {quote(scores.arms[a])} on item "
                f"{quote(scores.items[j])} is {column[a, j]:g}, but logarithms need values "
                f"above 0: compare it without --log"
            )


def _look(session: Session, scores: Scores, order: Any) -> tuple[list[tuple[str, str]], int]:
    """Look at cells until the stop; return them, and when the candidate set changed last."""
    places = {item: j for j, item in enumerate(scores.items)}
    there = scores.there
    left = [[scores.items[j] for j in order[::-1] if row[j]] for row in there]  # by arm
    looked_at: list[tuple[str, str]] = []
    before: tuple[str, ...] = ()
    last = 0
    while not session.stopped and len(looked_at) < there.sum():
        arm, item = _next(session, scores.arms, left)
        a = scores.arms.index(arm)
        given = None if session.items is None else item
        session.tell(arm, scores.values[a, places[item]], item=given)
        looked_at.append((arm, item))
        now = session.candidate_set
        if now != before:
            before, last = now, len(looked_at)
    return looked_at, last


def _next(session: Session, arms: list[str], left: list[list[str]]) -> tuple[str, str]:
    """Return the arm to look at and its item; without shared items, the next of its own."""
    ticket = session.ask()
    if ticket.item is not None:
        return ticket.arm, ticket.item
    arm = ticket.arm
    if not left[arms.index(arm)]:
        session.cancel(ticket)
        arm = arms[max(range(len(arms)), key=lambda a: len(left[a]))]
    return arm, left[arms.index(arm)].pop()


def _notes(
    scores: Scores,
    directions: Mapping[str, str],
    guessed: Mapping[str, str],
    log: Collection[str],
    limited: bool,
) -> list[str]:
    """Say how the table was read."""
    notes = list(scores.notes)
    if limited:
        notes.append(
            "with limits, results of different arms are compared without their items, which "
            "takes more cells"
        )
    for metric, way in directions.items():
        if way == ONLY:
            note = f"{metric}: limited, no objective"
        elif metric in guessed:
            note = guess_text(metric, way)
        else:
            note = f"{metric}: {'more' if way == 'max' else 'less'} is better"
        notes.append(f"{note}{', logarithms are compared' if metric in log else ''}")
    for name, why in scores.left_out.items():
        well = scores.statuses.get(name)
        mapped = f" (a metric with --map {word(f'solved={name}=={well}')})" if well else ""
        notes.append(f"{name} {why}: left out{mapped}")
    if scores.lines:
        notes.append(
            f"{scores.lines:,} lines are {int(scores.there.sum()):,} cells: means of repeats "
            f"are compared"
        )
    notes += _incomplete(scores)
    for c, metric in enumerate(scores.metrics):
        if directions.get(metric) != "max":  # the best of scores are full marks
            cutoff = find_cutoff(scores, c, metric in log)
            notes += [] if cutoff is None else [str(cutoff)]
        doubt = _doubt_of_few_items(scores, c, metric in log)
        notes += [doubt] if doubt else []
    return notes


def _doubt_of_few_items(scores: Scores, c: int, log: bool) -> str:
    """Say of which options a few items make up the mean of a metric; "" if of none."""
    metric, values = scores.metrics[c], scores.values[..., c]  # (K, J)
    positive = bool((values[~np.isnan(values)] > 0.0).all())
    found = few_items(np.log(values) if log and positive else values)
    instead = f"; --log {word(metric)} compares logarithms" if positive and not log else ""
    return doubt_text(metric, [scores.arms[a] for a in found], instead)


def _incomplete(scores: Scores) -> list[str]:
    """Say which cells lack a metric, and so are left out."""
    lacking = np.isnan(scores.values)  # (K, J, d)
    partly = lacking.any(axis=2) & ~lacking.all(axis=2)
    if not partly.any():
        return []
    gone = lacking[partly]  # (cells, d)
    absent = listing([m for c, m in enumerate(scores.metrics) if gone[:, c].any()])
    by_arm = partly.sum(axis=1)
    return [
        f"{counted(int(by_arm.sum()), 'cell')} without {absent} left out ({by_arm.max():,} of "
        f"{scores.arms[int(by_arm.argmax())]}): if these are failures, give them the value "
        f"that a failure is worth"
    ]


def _session(
    problem: Problem, scores: Scores, there: Any, seed: int, delta: float, choices: Any
) -> Session:
    """Return a session that asks for no cell that is not there."""
    session = Session(problem, seed=seed, delta=delta, **choices)
    for a, j in zip(*np.nonzero(~there), strict=True):
        if session.items is not None:
            session.items.leave_out(int(a), scores.items[int(j)])
    return session


def _whole(
    problem: Problem, scores: Scores, there: Any, delta: float, of: str
) -> tuple[str, ...]:
    """Return the Pareto set of the estimates from all cells."""
    import pandas as pd

    rows = [
        {
            ARM: scores.arms[a],
            **({ITEM: scores.items[j]} if problem.has_items else {}),
            **_cell(scores, a, j),
        }
        for j in range(len(scores.items))
        for a in range(len(scores.arms))
        if there[a, j]
    ]
    session = Session(problem, rng=1, delta=delta, stopping="never", of=of)
    session.tell(pd.DataFrame(rows))
    return session.candidate_set


def _cell(scores: Scores, a: int, j: int) -> dict[str, float]:
    return dict(zip(scores.metrics, scores.values[a, j].tolist(), strict=True))
