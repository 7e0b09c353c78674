"""Which metrics have no noise, as registered or as results show, and their values.

Where the noise of a metric is to be estimated and all results of the same arm agree in it to
the digit, it is taken for exact (`psips.problem.exact`). That is a function of the results in
their order: it begins with the first value that repeats another of its arm, and ends for good
with the first that does not. Values of 0 and 1 alone do not count: those of a binary metric
repeat, too. If every metric is exact, nothing is left for a run to judge: the answer is the
Pareto set of the values (`Exact.front`).

A metric that hardly ever varies repeats for a while as well: scores of 5 out of 5, say. And one
arm may vary where the others do not. So nothing stops before so many results have repeated
others that, with probability 1 - delta, it would have shown if one result in ten differed
(DIFFER), or three in ten of those of a single arm (DIFFER_IN_ARM).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from psips.aliases import Floats, Ints, Mask
from psips.errors import InputError, listing
from psips.problem import Problem
from psips.problem.exact import clash, declared
from psips.problem.limits import optimal_and_allowed
from psips.problem.noise import KNOWN
from psips.session.restoring import require, within

DIFFER = 0.1  # share of all results that differ, which is to be seen before a stop
DIFFER_IN_ARM = 0.3  # the same of the results of one arm


class Row(NamedTuple):
    """One result as the kernels see it, all metrics, and what an engine is told besides."""

    arm: int
    x: Floats  # (d,)
    rest: tuple[Any, ...]  # if arms share items: the item's place, and whether it was asked for


def repeats_that_show(share: float, delta: float) -> int:
    """Return of how many results one differs with probability 1 - delta, if a share of all do.

    Examples
    --------
    >>> repeats_that_show(0.1, 0.1)
    22
    """
    return math.ceil(math.log(delta) / math.log(1.0 - share))


class Exact:
    """The exact metrics of a session, and what else it takes to find them."""

    def __init__(self, problem: Problem, finding: bool = True, delta: float = 0.1) -> None:
        self.problem = problem
        self.needed, self.needed_of_arm = (
            repeats_that_show(share, delta) for share in (DIFFER, DIFFER_IN_ARM)
        )  # repeats
        self.declared = declared(problem)
        estimated = finding and problem.noise != KNOWN and problem.noise_guess is None
        self._eligible: Mask = np.array(
            [
                estimated and problem.unstructured and not (scale.binary or scale.exact)
                for scale in problem.scales
            ]
        )
        K, d = problem.K, problem.d
        self.values: Floats = np.full(
            (K, d), np.nan
        )  # the first, or of a declared one the last
        self._varied: Mask = np.zeros(d, np.bool_)
        self._repeats: Ints = np.zeros(d, np.int64)  # results that agree with an earlier one
        self._counts: Ints = np.zeros((K, d), np.int64)  # values in ``rows``
        self._wide: Mask = np.zeros(d, np.bool_)  # some value is neither 0 nor 1
        self.rows: list[Row] = []  # while they may have to be told again

    @property
    def found(self) -> tuple[int, ...]:
        """Metrics that results show to be exact, if a run has others left to judge."""
        return () if self._all else self.repeating

    @property
    def repeating(self) -> tuple[int, ...]:
        """Metrics that results show to be exact."""
        return tuple(np.flatnonzero(self._open & (self._repeats > 0) & self._wide).tolist())

    @property
    def _all(self) -> bool:
        """Whether every metric is exact."""
        return len(self.repeating) + len(self.declared) == self.problem.d

    @property
    def front(self) -> tuple[int, ...]:
        """The Pareto set of the values, if every metric is exact and every value known."""
        if not self._all or np.isnan(self.values).any():
            return ()
        kept = optimal_and_allowed(self.values, self.problem.limit_model)
        return tuple(np.flatnonzero(kept).tolist())

    @property
    def columns(self) -> tuple[int, ...]:
        """Metrics that are exact, as registered or as results show."""
        return tuple(sorted({*self.declared, *self.found}))

    @property
    def known(self) -> tuple[tuple[int, ...], Floats]:
        """Exact metrics, and their values with those of all others (K, d)."""
        return self.columns, self.values

    @property
    def given_up(self) -> tuple[int, ...]:
        """Metrics that were taken for exact until a result was otherwise."""
        lost = self._eligible & self._varied & (self._repeats > 0) & self._wide
        return tuple(np.flatnonzero(lost).tolist())

    @property
    def _open(self) -> Mask:
        """Which metrics may be, or become, exact without having been registered so."""
        return self._eligible & ~self._varied

    def take(self, row: Row) -> bool:
        """Take note of a result; return whether other metrics are exact than before."""
        before = self.columns
        arm, x, _ = row
        here, seen = ~np.isnan(x), ~np.isnan(self.values[arm])
        if self._open.any():
            self.rows.append(row)
            self._counts[arm] += here
            twice = here & seen
            same = x == self.values[arm]
            # A metric that varies between the results of an arm once has noise for good. What
            # repeated before is remembered, so that it can be said.
            self._repeats += twice & same & ~self._varied
            self._varied |= twice & ~same & self._eligible
            self._wide |= here & ~np.isin(np.abs(x), (0.0, 1.0))
        new = here & ~seen
        new[list(self.declared)] = here[list(self.declared)]
        self.values[arm, new] = x[new]
        return self.columns != before

    def close(self) -> None:
        """Take all metrics that were not registered as exact for noisy, for good."""
        self._varied |= self._eligible

    def forget(self) -> None:
        """Let go of results that no one will have to be told again."""
        if self.rows and not self._open.any():
            self.rows.clear()

    @property
    def matters(self) -> bool:
        """Whether there is anything to keep: exact metrics, or results that may show some."""
        return bool(self.declared or self._open.any() or self.given_up)

    def check(self, arms: Any, rows: Floats) -> None:
        """Raise if results (T, d), as measured, change a metric that is registered as exact."""
        if not self.declared:
            return
        told: dict[tuple[int, int], float] = {}
        for arm, row in zip(arms, rows, strict=True):
            inward = self.problem.inward(self.problem.compared(row))
            for c in self.declared:
                if np.isnan(row[c]):
                    continue
                known = self.values[arm, c]
                was = told.get((arm, c))
                if was is None and not np.isnan(known) and inward[c] != known:
                    turned = np.zeros(self.problem.d)
                    turned[c] = known
                    was = float(self.problem.measured(self.problem.outward(turned))[c])
                if was is not None and was != row[c]:
                    name = self.problem.arms[arm]
                    raise InputError(clash(self.problem, c, name, was, float(row[c])))
                told[arm, c] = float(row[c])

    @property
    def lacking(self) -> int:
        """How many more results must repeat others before a stop counts; 0 if it does."""
        found = list(self.repeating)
        if not found:
            return 0
        in_all = self.needed - int(self._repeats[found].min())
        return max(0, in_all, int(self._lacking_of_arms.sum()))

    @property
    def _lacking_of_arms(self) -> Ints:
        """How many more results of each arm (K,) must repeat others of the arm."""
        found = list(self.repeating)
        if not found:
            return np.zeros(self.problem.K, np.int64)
        fewest = self._counts[:, found].min(axis=1)  # all but the first repeat it
        return np.asarray(np.maximum(0, self.needed_of_arm + 1 - fewest))

    def furthest_behind(self, pending: Floats) -> int:
        """Return the arm that lacks most repeats, ``pending`` (K,) counted in; -1 if none."""
        lacking = self._lacking_of_arms - pending
        arm = int(lacking.argmax())
        return arm if lacking[arm] > 0 else -1

    @property
    def waits(self) -> str:
        """What a stop waits for, in words; empty if for nothing."""
        if not self.lacking:
            return ""
        return (
            f" (no stop before {self.needed} results repeat others, and {self.needed_of_arm} "
            f"of each arm, {self.lacking} to go; none if it is registered with kind = 'exact')"
        )

    def words_at(self, stopped: bool) -> str:
        """Say what is taken for exact without having been registered so; empty if nothing is.

        What no longer is matters while there is no stop: it says why there is none any more.
        """
        return self.words_since(() if stopped else self.given_up)

    def words_since(self, before: tuple[int, ...]) -> str:
        """Return the same, with those of the metrics ``before`` that have turned out noisy."""
        texts = []
        if self.repeating:
            texts.append(_said(self.problem, self.repeating, "repeat", "treated as exact"))
        lost = [c for c in self.given_up if c in before]
        if lost:
            names = listing([self.problem.objectives[c] for c in lost])
            was, it_has = ("was", "it has") if len(lost) == 1 else ("were", "they have")
            texts.append(
                f"{names} {was} taken for exact until a result differed: {it_has} noise"
            )
        return "; ".join(texts)

    def snapshot(self) -> dict[str, Any]:
        """Return what it knows as plain data."""
        return {
            "values": [
                [None if np.isnan(v) else v for v in row] for row in self.values.tolist()
            ],
            "varied": self._varied.tolist(),
            "repeats": self._repeats.tolist(),
            "wide": self._wide.tolist(),
            "rows": [
                [row.arm, [None if np.isnan(v) else v for v in row.x.tolist()], list(row.rest)]
                for row in self.rows
            ],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `snapshot` gave."""
        self.values[:] = np.array(state["values"], float)
        self._varied[:] = state["varied"]
        self._repeats[:] = state["repeats"]
        self._wide[:] = state["wide"]
        self.rows = [
            Row(int(arm), np.array(x, float), tuple(rest)) for arm, x, rest in state["rows"]
        ]
        require(within([row.arm for row in self.rows], len(self.values)), "an unknown arm")
        told = [self.values, *(row.x for row in self.rows)]
        require(not any(np.isinf(one).any() for one in told), "a value is infinite")
        sizes = {row.x.shape for row in self.rows}
        require(sizes <= {self.values.shape[1:]}, "a result has too few or too many values")
        for row in self.rows:
            self._counts[row.arm] += ~np.isnan(row.x)


def _said(problem: Problem, columns: tuple[int, ...], verb: str, what: str) -> str:
    names = listing([problem.objectives[c] for c in columns])
    return f"{names} {verb}{'s' if len(columns) == 1 else ''} exactly: {what}"
