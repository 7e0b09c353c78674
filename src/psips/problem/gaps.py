"""How hard a set of means is: the PSI gaps of Auer et al. (2016) and their sum H."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psips.aliases import Floats


def gaps(mu: npt.ArrayLike) -> Floats:
    """PSI gap of every row of ``mu`` (n, d), or of many such arrays (..., n, d) at once.

    All objectives are maximised. With ``m(i,j) = min_c (mu_j - mu_i)(c)``,
    ``M(i,j) = max_c (mu_i - mu_j)(c)`` and S the Pareto set, the gap is

    * of i not in S: ``max_{j in S} m(i,j)``, by how much it is dominated;
    * of i in S: the smaller of ``min_{j in S, j != i} min(M(i,j), M(j,i))`` and
      ``min_{j not in S} max(M(j,i), 0) + Delta_j``.

    A minimum over nothing is infinite.

    Examples
    --------
    >>> gaps([[1.0, 0.0], [0.0, 1.0], [-0.5, 0.5]])
    array([1. , 0.5, 0.5])
    """
    x = _objectives_first(mu)
    M = (x[..., :, None] - x[..., None, :]).max(axis=0)  # (..., n, n)
    back = np.swapaxes(M, -1, -2)
    optimal = ~np.any((M <= 0) & (back > 0), axis=-1)  # (..., n); j dominates i nowhere
    rival = optimal[..., None, :]
    dominated = np.where(rival, -M, -np.inf).max(axis=-1)  # m(i,j) = -M(i,j)
    others = ~np.eye(x.shape[-1], dtype=bool)
    among = np.where(rival & others, np.minimum(M, back), np.inf).min(axis=-1)
    below = np.where(rival, np.inf, np.maximum(back, 0) + dominated[..., None, :]).min(axis=-1)
    return np.asarray(np.where(optimal, np.minimum(among, below), dominated))


def hardness(mu: npt.ArrayLike) -> Floats:
    """``H(mu)``, the sum of ``1 / Delta_i^2``: infinite if a gap is 0.

    Examples
    --------
    >>> float(hardness([[1.0, 0.0], [0.0, 1.0], [-0.5, 0.5]]))
    9.0
    """
    with np.errstate(divide="ignore"):
        return np.asarray((gaps(mu) ** -2).sum(axis=-1))


def hardness_floor(mu: npt.ArrayLike) -> Floats:
    """Bound H from below in n d steps instead of n^2 d, to refuse hard means quickly.

    What is dominated has a gap of at most its distance to the best value in some objective.
    Only what the row with the largest sum dominates is counted, so that nothing is missed
    that `hardness` would let pass.

    Examples
    --------
    >>> float(hardness_floor([[1.0, 1.0], [0.5, 0.0]]))
    4.0
    """
    x = _objectives_first(mu)
    distance = (x.max(axis=-1, keepdims=True) - x).min(axis=0)
    top = x.sum(axis=0).argmax(axis=-1)[None, ..., None]
    dominated = np.all(x < np.take_along_axis(x, top, axis=-1), axis=0)
    return np.asarray((np.where(dominated, distance, np.inf) ** -2).sum(axis=-1))


def _objectives_first(mu: npt.ArrayLike) -> Floats:
    """Move (..., n, d) to (d, ..., n): numpy is slow at reducing over a short last axis."""
    return np.ascontiguousarray(np.moveaxis(np.asarray(mu, dtype=np.float64), -1, 0))
