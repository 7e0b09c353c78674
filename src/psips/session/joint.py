"""A run with features and missing values, or with noise that differs from arm to arm.

The precision of theta is then (h d, h d), see src/core/belief/joint.h, and everything follows
from it and from B, which are sums over results. If the noise is to be estimated as well, one
covariance for all arms is, by EM: values that are missing are expected from those that are
there, around the fit. It is estimated again whenever the results have grown by REFIT_GROWTH,
and has Student's tail as in src/core/belief/noise_estimate.h, by the objective with the
fewest values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psips._core import ENOUGH, ROUNDING, add_rows, pull, solve_joint, spans, students_share
from psips.aliases import Floats, Ints, Mask, Stream
from psips.session.engine import Engine
from psips.session.mixed import OLD
from psips.session.restoring import require, within
from psips.state.belief import RESULTS, SPANNED
from psips.state.search import AGE, SearchState
from psips.state.source import Source

REFIT_GROWTH = 0.02  # growth of the results after which the noise is estimated again
FIRST, NEXT = 30, 3  # steps of EM: at first, and where the last estimate is the start


class JointEngine(Engine):
    """One run of a linear problem whose posterior has no simple form."""

    def __init__(self, *given: Any) -> None:
        model = given[0]
        K, d = model.K, model.d
        self.estimated = not len(model.noise.given)
        self.noise: Floats = np.zeros((K, d, d))  # covariance of one result of each arm
        if not self.estimated:
            self.noise[:] = model.noise.given
        self.share = 1.0  # Student's tail, as a factor of the covariance
        self.fitted = 0  # results when the noise was estimated
        self._arms: list[int] = []  # results, if the noise is to be estimated from them
        self._values: list[Floats] = []
        super().__init__(*given)
        self._begin()
        self._tell_of_noise(self._search)

    def _begin(self) -> None:
        """Set V and B to those of no results."""
        model = self.model
        self.belief.V[:] = np.kron(model.xi * np.eye(model.h), model.P)
        self.belief.B[:] = 0.0

    def _learn(self, arm: int, x: Floats) -> None:
        belief, seen = self.belief, np.isfinite(x)
        noise = belief.noise_estimate
        belief.pulls[arm] += 1.0
        belief.N[arm] += 1.0
        belief.tally[RESULTS] += 1
        noise.count[arm] += np.outer(seen, seen)
        if seen.all():
            belief.sums[arm] += x
        if self.model.noise.partial:
            noise.seen[arm, int(seen @ (1 << np.arange(len(x))))] += 1.0
        self.learner.pending[arm] = max(0.0, self.learner.pending[arm] - 1.0)
        if not belief.tally[SPANNED]:
            counts = np.diagonal(noise.count, axis1=1, axis2=2)
            whole = all(spans(self.model.frame, column.copy()) for column in counts.T)
            belief.tally[SPANNED] = int(whole)
        if self.estimated:
            self._arms.append(arm)
            self._values.append(np.array(x))
            if not self.informed or self.results > self.fitted * (1.0 + REFIT_GROWTH):
                self._fit()
                return
        else:
            noise.freedom[0] = np.inf if belief.tally[SPANNED] else 0.0
        self._add(np.array([arm]), np.array([x]))
        self._solve()

    def _add(self, arms: Ints, values: Floats) -> None:
        """Add results (T,) and (T, d) to V and B."""
        seen = np.isfinite(values)
        known: dict[tuple[int, bytes], Floats] = {}
        Q = np.zeros((len(arms), *self.noise.shape[1:]))
        for t, (arm, there) in enumerate(zip(arms.tolist(), seen, strict=True)):
            key = (0 if self.estimated else arm, there.tobytes())
            if key not in known:
                known[key] = precision_of(self.share * self.noise[arm], there)
            Q[t] = known[key]
        values = np.where(seen, values, 0.0)
        add_rows(self.model.A, arms, Q, values, self.belief.V, self.belief.B)

    def _solve(self) -> None:
        """Bring theta and all covariances up to date with V and B."""
        b = self.belief
        if b.tally[SPANNED]:
            solve_joint(b.V, b.B, self.model.Z, b.F, b.theta, b.X, b.G)

    def _tell_of_noise(self, search: SearchState) -> None:
        """Let a search know how large the noise is, for gains and to compare objectives in."""
        if not self.estimated or self.informed:
            factors = np.linalg.cholesky(self.share * self.noise)
            search.posterior.H[:] = np.linalg.inv(factors)
            spread = np.diagonal(self.noise, axis1=1, axis2=2).mean(axis=0)
            if self.estimated:
                search.posterior.unit[:] = np.sqrt(spread)

    # ---------------------------------------------------------------- noise to be estimated

    def _fit(self) -> None:
        """Estimate the noise again, and with it everything else."""
        model, belief = self.model, self.belief
        arms, values = np.array(self._arms), np.array(self._values)
        seen = np.isfinite(values)
        free = seen.sum(axis=0) - float(model.h) + model.noise.worth
        if not belief.tally[SPANNED] or free.min() - (model.d - 1.0) < ENOUGH:
            return
        known = self.informed
        if not known:
            self.noise[:] = np.diag(self._alone(arms, values, seen, free))
        if not (np.diagonal(self.noise[0]) > 0.0).all():
            return
        self.share = 1.0
        for _ in range(NEXT if known else FIRST):
            self._renew(arms, values)
            self.noise[:] = self._expected(arms, values, seen, free)
        belief.noise_estimate.freedom[0] = free.min() - (model.d - 1.0)
        self.fitted = self.results
        self.share = students_share(
            belief.noise_estimate.freedom[0], belief.noise_estimate.level[0]
        )
        self._renew(arms, values)
        self._tell_of_noise(self._search)
        self.cover.life[AGE] = OLD

    def _renew(self, arms: Ints, values: Floats) -> None:
        """Make the posterior of all results by the noise as it is."""
        self._begin()
        self._add(arms, values)
        self._solve()

    def _alone(self, arms: Ints, values: Floats, seen: Mask, free: Floats) -> Floats:
        """Variances (d,) around the fit of each objective alone."""
        A, noise = self.model.A, self.model.noise
        found = np.zeros(values.shape[1])
        for c, there in enumerate(seen.T):
            rows, y = A[arms[there]], values[there, c]
            rest = y - rows @ np.linalg.lstsq(rows, y, rcond=None)[0]
            if rest @ rest < ROUNDING**2 * (y @ y):
                rest[:] = 0.0
            found[c] = (rest @ rest + noise.worth * noise.guess[c, c]) / free[c]
            if noise.binary[c] and noise.worth == 0.0:
                found[c] = _of_binary(y)
        return found

    def _expected(self, arms: Ints, values: Floats, seen: Mask, free: Floats) -> Floats:
        """Take one step of EM: return the covariance (d, d) around the fit as it is."""
        S, noise, d = self.noise[0], self.model.noise, values.shape[1]
        rest = values - self.model.A[arms] @ self.belief.theta
        total = noise.worth * noise.guess
        patterns, which = np.unique(seen, axis=0, return_inverse=True)
        for p, there in enumerate(patterns):
            rows = rest[which.ravel() == p]
            back = S[:, there] @ np.linalg.inv(S[np.ix_(there, there)])  # (d, seen)
            full = rows[:, there] @ back.T
            total = total + full.T @ full + len(rows) * (S - back @ S[there])
        n = len(values) + noise.worth
        counts = seen.sum(axis=0) + noise.worth
        sd = np.sqrt(np.diag(total) / n * counts / free)  # the fit takes h degrees of freedom
        scale = np.sqrt(np.diag(total))
        scale[scale == 0.0] = 1.0
        pairs = free.min()
        correlation = total / np.outer(scale, scale) * (pairs / (pairs + d + 1.0))
        np.fill_diagonal(correlation, 1.0)
        for c in np.flatnonzero(noise.binary):
            if noise.worth == 0.0:
                sd[c] = np.sqrt(_of_binary(values[seen[:, c], c]))
        return np.asarray(correlation * np.outer(sd, sd))

    # ---------------------------------------------------------------- what others ask

    @property
    def Sigma(self) -> Floats:  # noqa: N802
        """Covariance (d, d) of one result as estimated, or the mean of those given."""
        return np.asarray(self.noise.mean(axis=0))

    def covariances(self) -> Floats:
        """Return the covariance (n, d, d) of each answer's mean; NaN where it is not known."""
        n, d = self.model.n, self.model.d
        if not self.informed:
            return np.full((n, d, d), np.nan)
        whole = self.belief.G.reshape(n, d, n, d)
        return np.array([whole[a, :, a] for a in range(n)]) / self.share

    def errors_of(self, features: Floats) -> Floats:
        """Return standard errors (m, d) of the means of these features (m, h)."""
        d = self.model.d
        wide = np.kron(features, np.eye(d)) @ self.belief.F
        return np.asarray(np.sqrt((wide**2).sum(axis=1) / self.share).reshape(-1, d))

    def spread(self, rows: list[int], normals: Floats) -> Floats:
        """Return deviations (draws, m, d) of answers' means from normals (draws, h, d)."""
        d = self.model.d
        wide = np.kron(self.model.Z[rows], np.eye(d)) @ self.belief.F / np.sqrt(self.share)
        found = normals.reshape(len(normals), -1) @ wide.T
        return np.asarray(found.reshape(len(normals), -1, d))

    def run(self, source: Source, noise_key: Stream, results: int) -> bool:
        """Pull from ``source`` until the rule stops or ``results`` results are in."""
        while not self.stopped and self.results < results:
            arm = self.choose()
            if arm < 0:
                return False
            nth = int(self.belief.pulls[arm])
            self.learn(arm, pull(source, noise_key, arm, nth, np.empty(self.model.d)))
            self.judge()
        return True

    def _scratch_search(self, plain: bool = False) -> SearchState:
        search = super()._scratch_search(plain)
        self._tell_of_noise(search)
        return search

    def snapshot(self) -> dict[str, Any]:
        """Return the state as plain data, without what follows from V and B."""
        plain = super().snapshot()
        for name in ("F", "G", "X", "theta"):
            del plain["belief"][name]
        if self.estimated:
            plain["joint"] = {
                "arms": list(self._arms),
                "values": [
                    [None if np.isnan(v) else v for v in x.tolist()] for x in self._values
                ],
                "noise": self.noise[0].tolist(),
                "share": self.share,
                "fitted": self.fitted,
            }
        return plain

    def restore(self, state: dict[str, Any]) -> None:
        """Take over the state of ``snapshot``."""
        belief = {name: getattr(self.belief, name) for name in ("F", "G", "X", "theta")}
        super().restore({**state, "belief": {**state["belief"], **belief}})
        if self.estimated:
            kept = state["joint"]
            self._arms = [int(arm) for arm in kept["arms"]]
            self._values = [np.array(x, np.float64) for x in kept["values"]]
            self.noise[:] = kept["noise"]
            self.share, self.fitted = float(kept["share"]), int(kept["fitted"])
            require(within(self._arms, self.model.K), "a result is of none of the arms")
            told = np.bincount(np.array(self._arms, np.int64), minlength=self.model.K)
            require(np.array_equal(told, self.belief.pulls), "results and arms do not agree")
            sizes = {x.shape for x in self._values}
            require(sizes <= {(self.model.d,)}, "a result has too few or too many values")
            require(len(self._values) == len(self._arms), "an arm has no values")
            numbers = np.array([*self._values, self.noise[0].ravel()[: self.model.d]])
            require(not np.isinf(numbers).any(), "a result is not finite")
        self._solve()
        self._tell_of_noise(self._search)


def precision_of(S: Floats, seen: Mask) -> Floats:
    """Return Q (d, d): what a result with the objectives ``seen`` says about its mean.

    Examples
    --------
    >>> precision_of(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([True, False]))
    array([[1., 0.],
           [0., 0.]])
    """
    Q = np.zeros(S.shape)
    places = np.ix_(seen, seen)
    Q[places] = np.linalg.inv(S[places])
    return Q


def _of_binary(values: Floats) -> float:
    """Variance of values that are 0 or 1, with one of each added."""
    share = (np.abs(values).sum() + 1.0) / (len(values) + 2.0)
    return float(share * (1.0 - share))
