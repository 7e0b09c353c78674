"""What one pull of each arm costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError, check_keys, quote
from psips.input.checks import read_positive


def read_costs(arms: Sequence[str], given: Any) -> Floats:
    """Read what one pull of each arm costs; 1 where nothing is said.

    Parameters
    ----------
    arms : sequence of str
    given : mapping from arm to cost, sequence in the order of the arms, or None

    Examples
    --------
    >>> read_costs(["A", "B"], {"B": 5})
    array([1., 5.])
    >>> read_costs(["A", "B"], {"B": 0})
    Traceback (most recent call last):
    psips.errors.InputError: the cost of arm 'B' must be positive and finite, got 0
    """
    if given is None:
        return np.ones(len(arms))
    if isinstance(given, Mapping):
        named = {str(arm): cost for arm, cost in given.items()}
        check_keys("arm in the costs", named, arms)
        given = [named.get(arm, 1.0) for arm in arms]
    if isinstance(given, str) or not hasattr(given, "__len__"):
        raise InputError(
            f"costs must be a mapping from arm to number, or one number per arm, got "
            f"{quote(given)}"
        )
    if len(given) != len(arms):
        raise InputError(
            f"there must be {len(arms)} costs, one per arm, got {len(given)}; a mapping names "
            "only the arms that do not cost 1"
        )
    return np.array(
        [
            read_positive(f"the cost of arm {quote(arm)}", cost)
            for arm, cost in zip(arms, given, strict=True)
        ]
    )


def per_cost(shares: Floats, costs: Floats) -> Floats:
    """Turn shares of what is spent (K,) into shares of the pulls.

    Examples
    --------
    >>> per_cost(np.array([0.5, 0.5]), np.array([1.0, 4.0]))
    array([0.8, 0.2])
    """
    if np.all(costs == 1.0):
        return shares
    pulls = shares / costs
    return np.asarray(pulls / pulls.sum())
