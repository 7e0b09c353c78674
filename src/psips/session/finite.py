"""A run about the items of a list alone, not about all items like these.

The means asked for are those over the N items of the list: what the complete table would show.
Of the cells that were measured the values are known; of the others they are predicted by the
mixed model (`psips.session.mixed`), and the error of the prediction is all that is unknown. It
goes to 0 with the cells that are left. With n of N items measured with two arms the variance of
their difference is s^2 (1/n - 1/N), that of sampling without replacement.

The error of the prediction after n results has the covariance C_n, and those after m < n and n
results together have C_n: what comes later is not correlated with what is left. So as a process
it is that of independent results, run through by its information: n results of N stand for
t = n / (1 - n/N). The stopping rule is handed that t, see docs/mathematics.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from psips._core import add_items
from psips.aliases import Floats
from psips.session.mixed import MixedEngine, inverse_of, root_of
from psips.state.belief import RESULTS
from psips.state.run import STOPPED

FLOOR = 1e-7  # of the variance of a mean over all items: what is left where nothing is


class Sums(NamedTuple):
    """What measured items add to the means over all items."""

    total: Floats  # (K, d) of the values measured
    effects: Floats  # (K, d) of the effects expected on items that an arm has not seen
    turned: Floats  # (K, K, d, d) how these change with the means
    left: Floats  # (K, K, d, d) covariance of the effects that both arms have not seen

    def add(self, other: Sums, sign: float = 1.0) -> None:
        """Add the sums of further items, or take them away."""
        for mine, more in zip(self, other, strict=True):
            mine += sign * more


def sums_of(counts: Floats, sums: Floats, precision: Floats, root: Floats) -> Sums:
    """Return what items add: ``counts`` (J, K) and ``sums`` (J, K, d) of their results."""
    d = root.shape[0]
    S = np.einsum("jk,kab->jab", counts, precision)
    inner = np.eye(d) + np.einsum("ka,jkl,lb->jab", root, S, root)
    spread = np.einsum("ak,jkl,bl->jab", root, np.linalg.inv(inner), root)  # M^-1
    turned = np.einsum("jab,jk,kbc->jkac", spread, counts, precision)
    effects = np.einsum("jab,kbc,jkc->ja", spread, precision, sums)
    seen = counts > 0.0
    unseen = (~seen).astype(float)
    total = np.where(seen[..., None], sums / np.maximum(counts, 1.0)[..., None], 0.0)
    return Sums(
        total.sum(axis=0),
        unseen.T @ effects,
        np.einsum("ja,jcde->acde", unseen, turned),
        np.einsum("ja,jb,jde->abde", unseen, unseen, spread),
    )


def over_all(
    sums: Sums,
    seen: Floats,
    items: int,
    measured: int,
    within: Floats,
    between: Floats,
    mu: Floats,
    G: Floats,
) -> tuple[Floats, Floats]:
    """Return the means (K, d) over all items, and the covariance (K d, K d) of their errors.

    ``seen`` (K,) items of each arm, ``measured`` items of any arm, ``mu`` (K, d) and
    ``G`` the posterior of the means of all items like these.
    """
    K, d = mu.shape
    left = items - seen
    A = -sums.turned.copy()
    A[range(K), range(K)] += left[:, None, None] * np.eye(d)
    means = sums.total + sums.effects + np.einsum("acde,ce->ad", A, mu)
    Q = sums.left + (items - measured) * between
    Q[range(K), range(K)] += left[:, None, None] * within
    wide = A.transpose(0, 2, 1, 3).reshape(K * d, K * d)
    C = wide @ G @ wide.T + Q.transpose(0, 2, 1, 3).reshape(K * d, K * d)
    return means / items, C / items**2


class FiniteEngine(MixedEngine):
    """One run whose arms can be measured on ``items`` items, which are all there are."""

    items = 0  # set before the first result

    def __init__(self, *given: Any) -> None:
        K, d = given[0].K, given[0].d
        V, F, G = (np.zeros((K * d, K * d)) for _ in range(3))
        self._own = V, F, G  # of the means of all items like these
        self._mu: Floats = np.zeros((K, d))
        self._seen: Floats = np.zeros(K)
        self._sums: Sums | None = None  # of all measured items, by the variances as they are
        super().__init__(*given)

    @property
    def _posterior(self) -> tuple[Floats, Floats, Floats]:
        return self._own

    @property
    def _effects(self) -> Floats:
        return self._mu

    @property
    def complete(self) -> bool:
        """Whether every arm was measured on every item."""
        return bool(self.items and (self._seen >= self.items).all())

    @property
    def clock(self) -> int:
        """How many independent results would say as much: n / (1 - n / N) for each arm."""
        n, N = self._seen, float(max(self.items, 1))
        return int(np.sum(n / np.maximum(1.0 - n / N, 0.5 / N)))

    @contextmanager
    def _by_clock(self) -> Iterator[None]:
        """Let the stopping rule count by the clock."""
        told = int(self.belief.tally[RESULTS])
        self.belief.tally[RESULTS] = max(self.clock, told)
        try:
            yield
        finally:
            self.belief.tally[RESULTS] = told

    def judge(self) -> None:
        """Bring candidate set and stopping rule up to date; at the end all is known."""
        with self._by_clock():
            super().judge()
        if self.complete and self.ready:
            self._outcome[STOPPED] = 1.0

    def ratio(self) -> tuple[float, float]:
        """Evidence in full, and its threshold; the run is left as it is."""
        with self._by_clock():
            return super().ratio()

    def look_ahead(self, items: Sequence[int | None]) -> None:
        """As without an end, but that a result tells the more the fewer are left."""
        super().look_ahead(items)
        if self.informed and self.items:
            share = np.minimum(self._seen / self.items, 1.0 - 0.5 / self.items)
            self._search.posterior.H[:] /= (1.0 - share)[:, None, None]

    def _take(self, arm: int, y: Floats, place: int) -> None:
        old = self._of_item(place) if self.informed and place < self.data.items else None
        new = place >= self.data.items or self.data.counts[place, arm] == 0.0
        self._seen[arm] += new
        if self._sums is None or not self.informed:
            super()._take(arm, y, place)
            return
        kept, self._sums = self._sums, None  # not solved before the item is taken in
        if old is not None:
            kept.add(old, -1.0)
        super()._take(arm, y, place)
        kept.add(self._of_item(place))
        if self.complete:  # without the rounding of many additions: ties are ties
            kept = sums_of(self.data.counts, self.data.sums, self._precision, self._root)
        self._sums = kept
        self._solve()

    def _of_item(self, place: int) -> Sums:
        at = slice(place, place + 1)
        data = self.data
        return sums_of(data.counts[at], data.sums[at], self._precision, self._root)

    def rebuild(self) -> None:
        """Make the posterior of all results by the variances as they are."""
        self._sums = None
        self._seen[:] = np.count_nonzero(self.data.counts, axis=0)
        super().rebuild()
        if self.informed:
            data = self.data
            self._sums = sums_of(data.counts, data.sums, self._precision, self._root)
            self._solve()
            self._set_unit(self._search)

    def _solve(self) -> None:
        """Bring the means over all items up to date, and the covariance of their errors."""
        super()._solve()
        self._mu[:] = self.belief.theta - self.origin
        if self._sums is None or not self.informed:
            return
        between = self._root @ self._root.T
        means, C = over_all(
            self._sums,
            self._seen,
            self.items,
            self.data.items,
            self._inflated,
            between,
            self._mu,
            self._own[2],
        )
        belief = self.belief
        belief.theta[:] = means + self.origin
        size = np.diagonal(self._inflated, axis1=1, axis2=2).reshape(-1) / self.items
        C[np.diag_indices_from(C)] += FLOOR * size
        unit = np.sqrt(np.diagonal(C))
        scaled = np.linalg.inv(np.linalg.cholesky(C / np.outer(unit, unit)))  # L^-1
        precision = scaled.T @ scaled / np.outer(unit, unit)
        belief.G[:] = C
        belief.V[:] = precision
        # F F' = C with F upper triangular, as the inverse of the transposed factor of V
        belief.F[:] = np.linalg.inv(np.linalg.cholesky(precision)).T

    def _variances(self) -> Floats:
        """Return the variances (K, d) of one result of each arm."""
        return np.asarray(np.diagonal(self.within + self.between, axis1=1, axis2=2))

    def _whole_covariance(self) -> Floats:
        """Return the covariance (K, d, K, d) of the errors of all means over all items."""
        K, d = self.model.K, self.model.d
        if not self.informed:
            return np.full((K, d, K, d), np.nan)
        V, B, data = np.zeros((K * d, K * d)), np.zeros(K * d), self.data
        inverse, root = inverse_of(self.within), root_of(self.between)
        add_items(data.counts, data.sums, inverse, root, V, B)
        sums = sums_of(data.counts, data.sums, inverse, root)
        variances = self.within, self.between, self._mu, inverse_of(V)
        C = over_all(sums, self._seen, self.items, data.items, *variances)[1]
        return C.reshape(K, d, K, d)
