"""A tolerance: differences up to epsilon do not matter.

With ``epsilon[c] >= 0`` in each objective, a set S of answers is right if

* no answer in it is beaten by another by more than epsilon in every objective, and
* every answer outside has one in it that is at least as good, up to epsilon, in each objective.

Several sets can be right: the Pareto set always is; an answer within epsilon of another may be
left out, and one that is beaten by less may be in. With epsilon 0 there is one, but for ties.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psips.aliases import Floats, Mask
from psips.errors import InputError, check_keys, quote
from psips.input.checks import frozen
from psips.input.quantities import as_float, parse_number
from psips.problem.scales import Scale


@dataclass(frozen=True, eq=False)
class Tolerance:
    """What was given as epsilon; true if it is more than nothing.

    Parameters
    ----------
    given : dict
        By objective a number or a percentage, where it is more than 0.
    amounts : (d,) array
        Of each objective, in the unit that is compared; 0 where it is a share.
    shares : (d,) array
        The part of the control's mean that it is; 0 where it is an amount.
    """

    given: dict[str, float | str]
    amounts: Floats
    shares: Floats

    def __bool__(self) -> bool:
        return bool(self.given)

    @property
    def relative(self) -> bool:
        """Whether it depends on the control's mean."""
        return bool(self.shares.any())

    def at(self, control: Floats | None) -> Floats:
        """Return the tolerance (d,) if the means of the control are these."""
        if control is None or not self.relative:
            return self.amounts
        return frozen(np.where(self.shares > 0, self.shares * np.abs(control), self.amounts))

    def __str__(self) -> str:
        return ", ".join(
            f"{amount if isinstance(amount, str) else f'{amount:g}'} on {objective}"
            for objective, amount in self.given.items()
        )


def read_epsilon(
    objectives: Sequence[str],
    scales: Sequence[Scale],
    control: str | None,
    unstructured: bool,
    given: Any,
    limited: Sequence[str] = (),
) -> Tolerance:
    """Read a tolerance.

    Parameters
    ----------
    objectives, scales
        Of the problem.
    control : str or None
        What percentages are of; not needed where logarithms are compared.
    unstructured : bool
        Whether the problem has no features.
    given : number, percentage, mapping from objective to either, or None
    limited : sequence of str
        Those of the objectives that are only limited, and have no tolerance.

    Examples
    --------
    >>> str(read_epsilon(["yield", "cost"], [Scale(), Scale()], "A", True, {"cost": "5%"}))
    '5% on cost'
    >>> read_epsilon(["yield"], [Scale()], None, True, -1)
    Traceback (most recent call last):
    psips.errors.InputError: the tolerance on 'yield' must be at least 0 and finite, got -1
    """
    if isinstance(given, Mapping):
        named = {str(objective): one for objective, one in given.items()}
        free = [o for o in objectives if o not in limited]
        check_keys("objective in the tolerance", named, free)
    else:
        named = {} if given is None else dict.fromkeys(objectives, given)
        named = {o: one for o, one in named.items() if o not in limited}
    found: dict[str, float | str] = {}
    amounts, shares = np.zeros(len(objectives)), np.zeros(len(objectives))
    for c, (objective, scale) in enumerate(zip(objectives, scales, strict=True)):
        if objective not in named:
            continue
        amount, percent = _read_amount(f"the tolerance on {quote(objective)}", named[objective])
        if amount == 0.0:
            continue
        found[objective] = f"{100 * amount:.10g}%" if percent else amount
        if not percent:
            amounts[c] = amount
        elif scale.log:
            amounts[c] = math.log1p(amount)
        else:
            _check_control(objective, named[objective], control, unstructured)
            shares[c] = amount
    return Tolerance(found, frozen(amounts), frozen(shares))


def _read_amount(what: str, given: Any) -> tuple[float, bool]:
    """Return a number of at least 0, and whether it was given as a percentage."""
    percent = isinstance(given, str) and given.strip().endswith("%")
    if percent:
        number: float | None = parse_number(what, given.strip()[:-1]) / 100.0
    else:
        number = as_float(given)
    if number is None:
        raise InputError(
            f"{what} must be a number, or a percentage such as '5%', got {quote(given)}"
        )
    if not 0.0 <= number < math.inf:
        raise InputError(f"{what} must be at least 0 and finite, got {quote(given)}")
    return number, percent


def _check_control(objective: str, given: Any, control: str | None, unstructured: bool) -> None:
    if control is None:
        raise InputError(
            f"the tolerance {quote(given)} on {quote(objective)} is a part of a control's "
            f"value: name the control (control=...), or give a number"
        )
    if not unstructured:
        raise InputError(
            f"the tolerance {quote(given)} on {quote(objective)} is a percentage, which cannot "
            f"be used for arms with features: give a number"
        )


def is_right(means: Floats, inside: Mask, epsilon: Floats) -> bool:
    """Whether a set of answers is right, by the definition above.

    Parameters
    ----------
    means : (n, d) array
        Of the answers, every objective maximised.
    inside : (n,) array of bool
        The set.
    epsilon : (d,) array

    Examples
    --------
    >>> means = np.array([[1.0, 0.0], [0.95, 0.0], [0.0, 1.0]])
    >>> [is_right(means, np.array(s), np.full(2, 0.1)) for s in ([1, 0, 1], [0, 1, 1])]
    [True, True]
    """
    chosen = np.asarray(inside, np.bool_)
    for z in range(len(means)):
        if chosen[z]:
            right = not beaters(means, z, epsilon).any()
        else:
            right = bool((holders(means, z, epsilon) & chosen).any())
        if not right:
            return False
    return True


def only_right(means: Floats, epsilon: Floats) -> bool:
    """Whether the Pareto set is the only set that is right.

    An answer must be in if no other holds it, and out if another beats it by more than epsilon;
    if one is neither, the Pareto set with it, or all that need not be out but it, is right too.

    Examples
    --------
    >>> only_right(np.array([[1.0], [0.8]]), np.array([0.1]))
    True
    >>> only_right(np.array([[1.0], [0.95]]), np.array([0.1]))
    False
    """
    return all(
        beaters(means, z, epsilon).any() or not holders(means, z, epsilon).any()
        for z in range(len(means))
    )


def beaters(means: Floats, z: int, epsilon: Floats) -> Mask:
    """Which answers (n,) beat z by more than epsilon in every objective."""
    return np.asarray((means > means[z] + epsilon).all(axis=1))


def holders(means: Floats, z: int, epsilon: Floats) -> Mask:
    """Which answers (n,) but z are at least as good up to epsilon in every objective."""
    found = np.asarray((means >= means[z] - epsilon).all(axis=1))
    found[z] = False
    return found
