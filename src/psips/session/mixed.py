"""A run whose results share items: the two variances, and the posterior that they give.

Between items: results of two arms on one item have the covariance U, so that it is the mean
of their products (method of moments; negative parts are 0). Within items each arm has a
covariance of its own (EM, with the degrees of freedom that the means take), as without
items: the correlations drawn towards 0 by d + 1 results, the variances towards the mean of
the arms' by one. It is inflated by the tail of Student's law, see
`src/core/belief/noise_estimate.h`, and so is that between items, which is on the safe
side: see `src/core/belief/items.h`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from psips._core import (
    ROUNDING,
    add_item_result,
    add_items,
    expect_item_noise,
    factor_of_inverse,
    preview_items,
    students_share,
)
from psips.aliases import Floats, Ints
from psips.session.engine import Engine, roots_of
from psips.session.restoring import require, within
from psips.state.belief import RESULTS
from psips.state.model import POOLED
from psips.state.search import AGE, SearchState

REFIT_GROWTH = 0.02  # growth of the results after which the variances are estimated again
FIRST, NEXT = 30, 4  # steps of EM: at first, and where the last estimates are the start
LEAST_RATIO = (
    0.05  # variance between items over that within, for what items weigh in the former
)
LARGEST_INFLATION = 100.0  # factor on the variance between items for its being estimated
ALIKE = 1e-6  # least share of p (1 - p) within items: arms may agree on all items so far
OLD = 1 << 40  # age of a cover that has to be built again


class Results:
    """Results with their items, and their sums by item and arm; room grows as needed."""

    def __init__(self, K: int, d: int) -> None:
        self.size = self.items = 0
        self._arms: Ints = np.zeros(64, np.int64)
        self._where: Ints = np.zeros(64, np.int64)
        self._values: Floats = np.zeros((64, d))
        self._counts: Floats = np.zeros((64, K))
        self._sums: Floats = np.zeros((64, K, d))

    def add(self, arm: int, place: int, x: Floats) -> None:
        """Add one result; the first of an item makes room for it."""
        if self.size == len(self._arms):
            self._arms, self._where, self._values = (
                _doubled(one) for one in (self._arms, self._where, self._values)
            )
        while place >= len(self._counts):
            self._counts, self._sums = _doubled(self._counts), _doubled(self._sums)
        self._arms[self.size], self._where[self.size] = arm, place
        self._values[self.size] = x
        self._counts[place, arm] += 1.0
        self._sums[place, arm] += x
        self.size += 1
        self.items = max(self.items, place + 1)

    @property
    def arms(self) -> Ints:
        """Arms (T,) in the order of the results."""
        return self._arms[: self.size]

    @property
    def where(self) -> Ints:
        """Items (T,), numbered in the order of their first results."""
        return self._where[: self.size]

    @property
    def values(self) -> Floats:
        """Values (T, d)."""
        return self._values[: self.size]

    @property
    def counts(self) -> Floats:
        """Number of results (J, K) by item and arm."""
        return self._counts[: self.items]

    @property
    def sums(self) -> Floats:
        """Their sums (J, K, d)."""
        return self._sums[: self.items]


class MixedEngine(Engine):
    """One run whose results share items.

    What it knows is a function of the results and of when the variances were estimated last;
    the results since then came in one by one.
    """

    patient = False  # items may run out

    def __init__(self, *given: Any) -> None:
        model = given[0]
        K, d = model.K, model.d
        self.data = Results(K, d)
        self.origin: Floats = np.zeros(d)  # the first result: what numbers are kept from
        self.within: Floats = np.zeros((K, d, d))  # of one result, as estimated
        self.between: Floats = np.zeros((d, d))
        self.place_of: dict[
            int, int
        ] = {}  # items, as the session numbers them, to their numbers in ``data``
        self.fitted = 0  # results when they were estimated
        self._inflated: Floats = np.zeros((K, d, d))
        self._precision: Floats = np.zeros((K, d, d))
        self._root: Floats = np.zeros((d, d))
        self._B: Floats = np.zeros(K * d)
        super().__init__(*given)

    def look_ahead(self, items: Sequence[int | None]) -> None:
        """Note of which item each arm (K,) would have its next result; None if of none."""
        if self.informed:
            new = self.data.items
            places = [new if item is None else self.place_of.get(item, new) for item in items]
            preview_items(
                self.data.counts,
                np.array(places),
                self._precision,
                self._inflated,
                self._root,
                self._search.posterior.H,
            )

    @property
    def _posterior(self) -> tuple[Floats, Floats, Floats]:
        """Precision V, factor F and covariance G (K d, K d) of the means."""
        return self.belief.V, self.belief.F, self.belief.G

    @property
    def _sound(self) -> bool:
        """Whether what is known is finite."""
        return bool(np.isfinite(self.belief.theta).all() and np.isfinite(self.between).all())

    @property
    def _effects(self) -> Floats:
        """Means (K, d) of all items like these, less the origin."""
        return self.belief.theta - self.origin

    def _learn(self, arm: int, x: Floats, item: int = -1, asked: bool = True) -> None:
        """Take in one result; of item -1 it is the only one of its item.

        ``asked`` says whether it answers an ask.
        """
        if not self.data.size:
            self.origin[:] = x
        place = self.data.items
        if item >= 0:
            place = self.place_of.setdefault(item, place)
        self._take(arm, x - self.origin, place)
        if self.results > self.fitted * (1.0 + REFIT_GROWTH) or not self._sound:
            self.fit()
        if asked:
            self.learner.pending[arm] = max(0.0, self.learner.pending[arm] - 1.0)

    def _take(self, arm: int, y: Floats, place: int) -> None:
        """Take in one result, less the origin, by the variances as they are."""
        data, belief = self.data, self.belief
        if self.informed:
            there = place < data.items
            K, d = belief.theta.shape
            add_item_result(
                arm,
                y,
                data.counts[place] if there else np.zeros(K),
                data.sums[place] if there else np.zeros((K, d)),
                self._precision,
                self._inflated[arm],
                self._root,
                *self._posterior,
                self._B,
            )
        data.add(arm, place, y)
        belief.pulls[arm] += 1.0
        belief.N[arm] += 1.0
        belief.tally[RESULTS] += 1
        self._solve()

    def _solve(self) -> None:
        """Bring the means up to date: least squares, or those of each arm alone before."""
        belief, data = self.belief, self.data
        if self.informed:
            G = self._posterior[2]
            belief.theta[:] = (G @ self._B).reshape(belief.theta.shape) + self.origin
        else:
            totals = data.sums.sum(axis=0) / np.maximum(belief.pulls, 1.0)[:, None]
            belief.theta[:] = totals + self.origin

    def _make_room(self) -> None:
        super()._make_room()
        self._set_unit(self._search)

    def _take_off(self, centre: Floats) -> None:
        self.origin -= centre  # values are kept less this anyway
        self._solve()

    def fit(self) -> None:
        """Estimate the variances again, and with them everything else."""
        known = self.informed and self._sound
        if self.belief.pulls.min() < self.model.noise.least:
            return
        self.fitted = self.results
        if not known:
            if not self._sound:  # variances next to nothing: begin with them again
                self.belief.noise_estimate.freedom[:] = 0.0
                self.between[:] = 0.0
                self._solve()
            self.within[:] = 0.5 * self._spread()
        if not (np.diagonal(self.within, axis1=1, axis2=2) > 0.0).all():
            return
        self.between[:] = self._estimate_between()
        for _ in range(NEXT if known else FIRST):
            self.belief.noise_estimate.freedom[:] = self._estimate_within()
            if not (np.diagonal(self.within, axis1=1, axis2=2) > 0.0).all():
                self.belief.noise_estimate.freedom[:] = 0.0  # no noise to be seen after all
                break
        self.rebuild()

    def _residuals(self) -> Floats:
        """Results less the means of their arms (T, d)."""
        data = self.data
        return np.asarray(data.values - self._effects[data.arms])

    def _spread(self) -> Floats:
        """Variances (d, d) of results around the means of their arms."""
        r, binary = self._residuals(), self.model.noise.binary
        free = max(len(r) - np.count_nonzero(self.belief.pulls), 1)
        squares, size = (r * r).sum(axis=0), (self.data.values**2).sum(axis=0)
        found = np.where(squares < ROUNDING**2 * size, 0.0, squares) / free
        return np.diag(np.where((found == 0.0) & (binary > 0.0), 0.25, found))

    def _estimate_between(self) -> Floats:
        """Covariance (d, d) of item effects: of two results on one item, of different arms.

        An item with n results informs on it as a value with variance (rho + 1 / n)^2.
        """
        data, d = self.data, self.model.d
        n = data.counts.sum(axis=1)
        several = n > 1
        J = int(np.count_nonzero(several))
        if J < 2:
            return np.zeros((d, d))
        r = self._residuals()
        sums = np.zeros((data.items, data.counts.shape[1], d))
        np.add.at(sums, (data.where, data.arms), r)
        whole = sums.sum(axis=1)
        within = np.diagonal(self.within, axis1=1, axis2=2).mean(axis=0)
        ratio = max(float(np.mean(np.diag(self.between) / within)), LEAST_RATIO)
        pairs = n**2 - (data.counts**2).sum(axis=1)  # ordered ones of different arms
        several &= pairs > 0
        weights = np.where(several, 1.0 / (ratio + 1.0 / np.maximum(n, 1.0)) ** 2, 0.0)
        weights /= weights.sum() or 1.0
        each = weights / np.maximum(pairs, 1.0)
        U = np.einsum("b,bi,bj->ij", each, whole, whole)
        U -= np.einsum("b,bai,baj->ij", each, sums, sums)
        unit = np.sqrt(within)  # eigenvectors depend on units: a small one would drown
        values, vectors = np.linalg.eigh(U * J / (J - 1.0) / np.outer(unit, unit))
        vectors = unit[:, None] * vectors
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)

    def _estimate_within(self) -> Floats:
        """Take one step of EM; return the degrees of freedom (K,)."""
        model, data, pulls = self.model, self.data, self.belief.pulls
        K, d = model.K, model.d
        residuals, spreads, left = np.zeros((K, d, d)), np.zeros((K, d, d)), np.zeros(K)
        expect_item_noise(
            data.arms,
            data.where,
            data.values,
            data.counts,
            inverse_of(self.within),
            root_of(self.between),
            self._effects,
            residuals,
            spreads,
            left,
        )
        n = np.maximum(pulls, 1.0)[:, None, None]
        sums = residuals * n / np.maximum(n - 1.0, 1.0) + spreads
        whole = sums.sum(axis=0) / max(pulls.sum(), 1.0)
        freedom = np.maximum(left - 1.0, 0.0)
        if model.noise.mode == POOLED:
            freedom[:] = freedom.sum()
            sums, n = np.broadcast_to(whole * pulls.sum(), sums.shape), pulls.sum()
            weight = n
        else:
            sums, weight = sums + whole, n + 1.0
        found = sums / weight
        variances = np.diagonal(found, axis1=1, axis2=2).copy()
        variances = self._at_least(variances, np.diag(whole))
        sd = np.sqrt(np.maximum(np.diagonal(found, axis1=1, axis2=2), 1e-300))
        correlation = found / (sd[:, :, None] * sd[:, None, :])
        correlation *= (weight / (weight + d + 1.0)) * (1.0 - np.eye(d))
        correlation += np.eye(d)
        sd = np.sqrt(variances)
        self.within[:] = correlation * sd[:, :, None] * sd[:, None, :]
        return freedom - (d - 1.0)

    def _at_least(self, variances: Floats, whole: Floats) -> Floats:
        """Raise variances of 0 or 1 to their share of p (1 - p), p with one of each added."""
        binary = np.flatnonzero(self.model.noise.binary)
        for c in binary:
            share = whole[c] / max(whole[c] + self.between[c, c], 1e-300) or 1.0
            share = max(share, ALIKE)
            n = self.belief.pulls
            ones = np.abs(self.data.sums[:, :, c].sum(axis=0) + n * self.origin[c])
            p = (ones + 1.0) / (n + 2.0)
            variances[:, c] = np.maximum(variances[:, c], share * p * (1.0 - p))
        return variances

    def rebuild(self) -> None:
        """Make the posterior of all results by the variances as they are."""
        belief, data, level = self.belief, self.data, self.belief.noise_estimate.level[0]
        if not self.informed:
            self._solve()
            return
        shares = np.array([students_share(f, level) for f in belief.noise_estimate.freedom])
        self._inflated[:] = self.within * shares[:, None, None]
        self._precision[:] = inverse_of(self._inflated)
        more = min(students_share(max(data.items - 1.0, 1.0), level), LARGEST_INFLATION)
        self._root[:] = root_of(self.between * more)
        V, F, G = self._posterior
        add_items(data.counts, data.sums, self._precision, self._root, V, self._B)
        factor_of_inverse(V, F, G)
        self._solve()
        self._set_unit(self._search)
        self.cover.life[AGE] = OLD

    def _set_unit(self, search: SearchState) -> None:
        spread = np.diagonal(self.within, axis1=1, axis2=2).mean(axis=0)
        search.posterior.unit[:] = np.sqrt(np.where(spread > 0.0, spread, 1.0))

    def _scratch_search(self, plain: bool = False) -> SearchState:
        search = super()._scratch_search(plain)
        self._set_unit(search)
        return search

    def covariances(self) -> Floats:
        """Return the covariance (n, d, d) of each answer's mean; NaN where it is not known.

        As estimated, without the tail of Student's law.
        """
        whole = self._whole_covariance()
        return np.array([whole[a, :, a] for a in range(self.model.K)])

    def _whole_covariance(self) -> Floats:
        """Return the covariance (K, d, K, d) of all means, as estimated."""
        K, d = self.model.K, self.model.d
        if not self.informed:
            return np.full((K, d, K, d), np.nan)
        V, B = np.zeros((K * d, K * d)), np.zeros(K * d)
        inverse = inverse_of(self.within)
        data = self.data
        add_items(data.counts, data.sums, inverse, root_of(self.between), V, B)
        return np.asarray(inverse_of(V).reshape(K, d, K, d))

    def errors_of_leads(self, arm: int, c: int) -> Floats:
        """Return the standard errors (K,) of the means in an objective, less that of an arm."""
        part = self._whole_covariance()[:, c, :, c]
        variances = np.diagonal(part) + part[arm, arm] - 2.0 * part[arm]
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)))

    def deviations(self, rng: np.random.Generator, draws: int, rows: list[int]) -> Floats:
        """Return draws (draws, m, d) of how far the means of some answers are off, together."""
        K, d = self.model.K, self.model.d
        normals = rng.standard_normal((draws, K * d))
        roots = roots_of(self._whole_covariance().reshape(K * d, K * d))
        return np.asarray(normals @ roots.T).reshape(draws, K, d)[:, rows]

    def snapshot(self) -> dict[str, Any]:
        """Return the state as plain data, without what the results tell."""
        data = self.data
        plain = super().snapshot()
        for name in ("V", "F", "G", "X"):
            del plain["belief"][name]
        plain["items"] = {
            "arms": data.arms.tolist(),
            "where": data.where.tolist(),
            "values": data.values.tolist(),
            "origin": self.origin.tolist(),
            "within": self.within.tolist(),
            "between": self.between.tolist(),
            "freedom": self.belief.noise_estimate.freedom.tolist(),
            "fitted": self.fitted,
            "place_of": list(self.place_of.items()),
        }
        return plain

    def restore(self, state: dict[str, Any]) -> None:
        """Take over the state of ``snapshot``."""
        self._again(state["items"])
        told = state["belief"]["pulls"]
        require(np.array_equal(self.belief.pulls, told), "items and results do not agree")
        belief = {name: getattr(self.belief, name).tolist() for name in ("V", "F", "G", "X")}
        super().restore({**state, "belief": {**state["belief"], **belief}})
        self._set_unit(self._search)

    def _again(self, kept: dict[str, Any]) -> None:
        """Go the way of the results again: to the last estimate at once, then one by one."""
        values = np.array(kept["values"], float).reshape(-1, self.model.d)
        arms, where = (np.array(kept[name], np.int64) for name in ("arms", "where"))
        rows = list(zip(arms.tolist(), where.tolist(), values, strict=True))
        newest = np.maximum.accumulate(np.concatenate(([-1], where)))[:-1]
        require(within(arms, self.model.K), "a result is of none of the arms")
        require((where >= 0).all() and (where <= newest + 1).all(), "a result is of no item")
        require(np.isfinite(values).all(), "a result is not finite")
        self.origin[:] = kept["origin"]
        self.fitted = int(kept["fitted"])
        require(within(self.fitted, len(rows) + 1), f"there are no {self.fitted} results")
        self.place_of = {int(item): int(place) for item, place in kept["place_of"]}
        require(within([*self.place_of.values()], len({*where.tolist()})), "an unknown item")
        for arm, place, y in rows[: self.fitted]:
            self.data.add(arm, place, y)
            self.belief.pulls[arm] += 1.0
            self.belief.N[arm] += 1.0
        self.within[:], self.between[:] = kept["within"], kept["between"]
        self.belief.noise_estimate.freedom[:] = kept["freedom"]
        estimates = self.origin, self.within, self.between, self.belief.noise_estimate.freedom
        require(all(np.isfinite(one).all() for one in estimates), "a variance is not finite")
        self.rebuild()
        for arm, place, y in rows[self.fitted :]:
            self._take(arm, y, place)


def inverse_of(S: Floats) -> Floats:
    """Return the inverses of covariances (..., d, d), whatever their units."""
    unit = _units_of(S)
    scale = unit[..., :, None] * unit[..., None, :]
    return np.asarray(np.linalg.inv(S / scale) / scale, np.float64)


def root_of(U: Floats) -> Floats:
    """Return a factor of a covariance that may be singular, whatever its units.

    Examples
    --------
    >>> root_of(np.zeros((1, 1)))
    array([[0.]])
    """
    unit = _units_of(U)
    values, vectors = np.linalg.eigh(U / np.outer(unit, unit))
    return np.ascontiguousarray(unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))


def _units_of(S: Floats) -> Floats:
    """Return the standard deviations (..., d) of covariances; 1 where they are 0."""
    variances = np.diagonal(S, axis1=-2, axis2=-1)
    return np.sqrt(np.where(variances > 0.0, variances, 1.0))


def _doubled(array: Any) -> Any:
    more = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    more[: len(array)] = array
    return more
