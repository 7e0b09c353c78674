"""How sure the means of answers are: their covariances, standard errors and draws."""

from __future__ import annotations

import numpy as np

from psips._core import ENOUGH, students_share
from psips.aliases import Floats, Mask
from psips.state.belief import SPANNED, Belief
from psips.state.model import OWN, POOLED, Model


class Uncertainty:
    """The side of an engine that says how sure the means are; nothing here changes it."""

    model: Model
    belief: Belief

    centre: Floats  # (d,) what all values are taken less, see `psips.session.centring`
    coarse: Mask  # (d,) where numbers of that size are too far apart to judge

    @property
    def ready(self) -> bool:
        """Whether results can be judged."""
        return self.informed and not self.coarse.any()

    @property
    def informed(self) -> bool:
        """Whether there are enough results to judge, see src/core/belief/belief.h."""
        pulled = not self.model.unstructured or (self.belief.pulls > 0).all()
        facts = not np.isnan(self.model.facts).any()
        known = (self.belief.scatter.freedom >= ENOUGH).all()
        return bool(pulled and facts and known and self.belief.tally[SPANNED] == 1)

    @property
    def means(self) -> Floats:
        """Estimated means (n, d) of the answers, max orientation."""
        theta = (
            self.belief.theta if self.model.unstructured else self.model.Z @ self.belief.theta
        )
        return np.asarray(theta + self.centre) if self.centre.any() else theta

    def covariances(self) -> Floats:
        """Return the covariance (n, d, d) of each answer's mean; NaN where it is not known.

        Of noise that is estimated: as estimated, without the tail of Student's law.
        """
        model, belief, scatter = self.model, self.belief, self.belief.scatter
        if not model.unstructured:
            if not self.informed:
                return np.full((model.n, model.d, model.d), np.nan)
            widths = ((model.Z @ belief.F) ** 2).sum(axis=1)  # z^T V^-1 z, V^-1 = F F^T
            return np.asarray(widths[:, None, None] * self.Sigma)
        if not len(scatter.C):
            pulls = np.where(belief.pulls > 0, belief.N, np.nan)
            return np.asarray(model.Sigma / pulls[:, None, None])
        known = scatter.freedom >= ENOUGH
        found = np.where(known[:, None, None], scatter.C, np.nan)
        if model.noise.mode not in (POOLED, OWN):
            return found
        shares = [students_share(f, scatter.level[0]) for f in np.maximum(scatter.freedom, 1.0)]
        return np.asarray(found / np.array(shares)[:, None, None])

    @property
    def Sigma(self) -> Floats:  # noqa: N802
        """Covariance (d, d) of one result of a linear problem: as given, or as estimated."""
        scatter = self.belief.scatter
        if not len(scatter.C):
            return self.model.Sigma
        return np.asarray(scatter.C[0] / students_share(scatter.freedom[0], scatter.level[0]))

    def errors_of(self, features: Floats) -> Floats:
        """Return standard errors (m, d) of the means of these features (m, h); linear."""
        widths = ((features @ self.belief.F) ** 2).sum(axis=1)  # z^T V^-1 z, V^-1 = F F^T
        return np.asarray(np.sqrt(widths[:, None] * np.diag(self.Sigma)))

    def deviations(self, rng: np.random.Generator, draws: int, rows: list[int]) -> Floats:
        """Return draws (draws, m, d) of how far the means of some answers are off, together."""
        model = self.model
        if not model.unstructured:
            return self.spread(rows, rng.standard_normal((draws, model.h, model.d)))
        roots = roots_of(self.covariances()[rows])
        normals = rng.standard_normal((draws, len(rows), model.d))
        return np.asarray(np.einsum("mcd,nmd->nmc", roots, normals), np.float64)

    def spread(self, rows: list[int], normals: Floats) -> Floats:
        """Return deviations (draws, m, d) of answers' means from normals (draws, h, d)."""
        W = self.model.Z[rows] @ self.belief.F  # (m, h): rows have the covariance W W^T
        found = np.einsum("mh,nhd->nmd", W, normals)
        return np.asarray(found @ np.linalg.cholesky(self.Sigma).T)


def roots_of(covariances: Floats) -> Floats:
    """Return factors of covariances (..., d, d) that may be singular."""
    values, vectors = np.linalg.eigh(covariances)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])
