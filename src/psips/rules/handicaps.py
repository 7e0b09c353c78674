"""What squared distances count for in the rule "glr", measured."""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats


def handicaps(covariance: Floats, delta: float) -> Floats:
    """Return what squared distances count for, by how many inequalities are in play.

    The first row is for "i below j". Noise that takes an estimate out of it in one objective
    is one-sided normal; in k objectives its square follows a chi-bar-square law, whose tail is
    heavier. Squares are shrunk so that the tails agree where the threshold is lowest. Weights
    of the law are binomial for independent objectives, and smaller for positively correlated
    ones; for others Perlman's bound (1969) holds. The second row is for "z escapes" from
    several others; it is the same. A covariance of each arm, (K, d, d), will do too.

    Returns
    -------
    array (2, d + 1)
    """
    from scipy.special import comb, gammaincc

    from psips.kernels.ratio import lowest

    d = covariance.shape[-1]
    least = lowest(-math.log(delta))
    wanted = 0.5 * gammaincc(0.5, least)

    def factor(weights: Floats) -> float:
        """Return 2 least / x with x the square whose tail is ``wanted``."""
        half = 0.5 * np.arange(1, len(weights) + 1)
        low, high = least, least + 20.0 + 4.0 * len(weights)
        for _ in range(60):
            middle = 0.5 * (low + high)
            if (weights * gammaincc(half, middle)).sum() > wanted:
                low = middle
            else:
                high = middle
        return least / high

    negative = _negative(covariance)
    found = np.ones((2, d + 1))
    for k in range(2, d + 1):
        j = np.arange(1, k + 1)
        independent = factor(np.asarray(comb(k, j), dtype=np.float64) / 2.0**k)
        extreme = factor(np.where(j >= k - 1, 0.5, 0.0))
        found[:, k] = extreme if negative else independent
    return found


def _negative(covariance: Floats) -> bool:
    """Whether some correlation is below 0."""
    sd = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    correlation = covariance / (sd[..., :, None] * sd[..., None, :])
    return bool((correlation < -1e-9).any())


def worst(d: int) -> Floats:
    """Return what correlations that are not known are taken for: negative ones."""
    return 2.0 * np.eye(d) - 1.0
