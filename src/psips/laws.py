"""Tails and quantiles of laws, as arrays: normal, chi-square, Student's, F and beta.

Tails are pairs, what is below and what is above. The smaller has all its digits up to about 1e5
degrees of freedom, and seven at 1e9. Quantiles are given by the probability above.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psips.aliases import Floats

Tails = tuple[Floats, Floats]
Numbers = npt.ArrayLike

MOST = 1e9  # degrees of freedom; of more the laws hardly differ


def normal_tails(z: Numbers) -> Tails:
    """Return the tails of the standard normal law."""
    return _tails("normal", 1.0, 1.0, z)


def chi_square_tails(freedom: Numbers, x: Numbers) -> Tails:
    """Return the tails of the chi-square law."""
    return _tails("chi-square", freedom, 1.0, x)


def students_tails(freedom: Numbers, t: Numbers) -> Tails:
    """Return the tails of Student's law."""
    return _tails("student", np.minimum(freedom, MOST), 1.0, t)


def f_tails(freedom: Numbers, below: Numbers, ratio: Numbers) -> Tails:
    """Return the tails of the F law, by the degrees of freedom of both."""
    return _tails("f", freedom, below, ratio)


def beta_tails(a: Numbers, b: Numbers, x: Numbers) -> Tails:
    """Return the tails of the beta law."""
    return _tails("beta", a, b, x)


def probit(p: Numbers) -> Floats:
    """Return what a standard normal stays below with the probability p.

    Examples
    --------
    >>> probit([0.0, 0.5, 0.975]).round(2).tolist()
    [-inf, 0.0, 1.96]
    """
    return 0.0 - _quantiles("normal", 1.0, 1.0, p)  # the law is symmetric


def chi_square_quantile(freedom: Numbers, above: Numbers) -> Floats:
    """Return what chi-square exceeds with the probability given."""
    return _quantiles("chi-square", freedom, 1.0, above)


def students_quantile(freedom: Numbers, above: Numbers) -> Floats:
    """Return what Student's law exceeds with the probability given."""
    return _quantiles("student", np.minimum(freedom, MOST), 1.0, above)


def beta_quantile(a: Numbers, b: Numbers, above: Numbers) -> Floats:
    """Return what the beta law exceeds with the probability given."""
    return _quantiles("beta", a, b, above)


def spread_of_sd(freedom: Numbers) -> tuple[Floats, Floats]:
    """Return the ends of a 95% interval of a standard deviation, over its estimate.

    Examples
    --------
    >>> low, high = spread_of_sd(9.0)
    >>> round(float(low), 3), round(float(high), 3)
    (0.688, 1.826)
    """
    freedom = np.minimum(freedom, MOST)
    low, high = (np.sqrt(freedom / chi_square_quantile(freedom, p)) for p in (0.025, 0.975))
    return low, high


def _tails(law: str, a: Numbers, b: Numbers, x: Numbers) -> Tails:
    from psips._core import tails

    rows = np.stack(np.broadcast_arrays(np.asarray(a, float), b, x), axis=-1)
    found = tails(law, rows.reshape(-1, 3)).reshape(*rows.shape[:-1], 2)
    return found[..., 0], found[..., 1]


def _quantiles(law: str, a: Numbers, b: Numbers, above: Numbers) -> Floats:
    from psips._core import quantiles

    rows = np.stack(np.broadcast_arrays(np.asarray(a, float), b, above), axis=-1)
    return quantiles(law, rows.reshape(-1, 3)).reshape(rows.shape[:-1])
