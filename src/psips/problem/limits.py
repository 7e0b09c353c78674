"""Limits: what an option must keep to be one, and who is optimal of those that do.

A limit is about the mean of a metric: ``"toxicity <= 0.3"``, ``"cost between 1 and 2"``, or
``"latency <= 1.1 * control"``, against the control's mean. The set asked for is the Pareto set,
by the objectives, of the answers that keep all limits; it can be empty. A metric may be a
limit, an objective, or both: one that is only limited has the direction ``"limit"``.

With a tolerance a set S is right if its answers keep the limits, none of them is beaten by more
than epsilon in every objective by an answer that keeps the limits, and every other answer that
keeps them is matched up to epsilon by one in S. Limits themselves have no tolerance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from psips.aliases import Floats, Mask
from psips.errors import InputError, quote, unknown
from psips.input.quantities import parse_number
from psips.problem.scales import Scale
from psips.problem.tolerance import beaters, holders
from psips.state.model import LimitModel

ONLY = "limit"  # the direction of a metric that is no objective
_COMPARED = re.compile(r"(?P<metric>.+?)\s*(?P<sign><=|>=)\s*(?P<bound>.+)")
_BETWEEN = re.compile(r"(?P<metric>.+?)\s+between\s+(?P<low>\S+)\s+and\s+(?P<high>\S+)")
_RELATIVE = re.compile(r"(?:(?P<factor>\S+)\s*\*\s*)?control")
FORMS = "'toxicity <= 0.3', 'cost between 1 and 2' or 'latency <= 1.1 * control'"


class Limit(NamedTuple):
    """One side of a limit, in the user's orientation and in what is compared.

    ``sign`` 1: the mean less ``factor`` times the control's is at least ``bound``; -1: at most.
    """

    text: str  # as it was given
    metric: int
    sign: float
    bound: float
    factor: float

    def broken(self, metric: str) -> str:
        """Say what an answer is that breaks it."""
        side = "above" if self.sign < 0 else "below"
        words = self.text
        if "between" in words:
            low, high = words.split(" between ")[-1].split(" and ")
            return f"{metric} {side} {high if self.sign < 0 else low}"
        return f"{metric} {side} {re.split('[<>]=', words, maxsplit=1)[1].strip()}"


def read_limits(
    metrics: Sequence[str],
    directions: Sequence[str],
    scales: Sequence[Scale],
    control: str | None,
    unstructured: bool,
    given: Any,
) -> tuple[Limit, ...]:
    """Read limits; a range becomes two.

    Examples
    --------
    >>> read_limits(["toxicity"], ["min"], [Scale()], None, True, ["toxicity <= 0.3"])
    (Limit(text='toxicity <= 0.3', metric=0, sign=-1.0, bound=0.3, factor=0.0),)
    """
    texts = [given] if isinstance(given, str) else [] if given is None else given
    if not isinstance(texts, Sequence):
        raise InputError(f"limits must be a list of texts such as {FORMS}, got {quote(given)}")
    found: list[Limit] = []
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"a limit must be a text such as {FORMS}, got {quote(text)}")
        found += _read(metrics, scales, control, " ".join(text.split()))
    if found and not unstructured:
        raise InputError(
            "limits cannot be combined with arms that have features: leave out the features, "
            "or the limits"
        )
    limited = {limit.metric for limit in found}
    for c, direction in enumerate(directions):
        if direction == ONLY and c not in limited:
            raise InputError(
                f"{quote(metrics[c])} has the direction 'limit' and no limit: give one "
                f"(limits=[...]), or the direction 'max' or 'min'"
            )
    if directions and all(direction == ONLY for direction in directions):
        raise InputError("there is no objective: give a metric the direction 'max' or 'min'")
    _check_met(metrics, found)
    return tuple(found)


def limited_metric(text: str) -> str:
    """Return the metric that a limit is about.

    Examples
    --------
    >>> limited_metric("cost between 1 and 2"), limited_metric("toxicity<=0.3")
    ('cost', 'toxicity')
    """
    return _matched(" ".join(text.split()))["metric"]


def _matched(text: str) -> re.Match[str]:
    matched = _BETWEEN.fullmatch(text) or _COMPARED.fullmatch(text)
    if matched is None:
        raise InputError(f"a limit must be like {FORMS}, got {quote(text)}")
    return matched


def _read(
    metrics: Sequence[str], scales: Sequence[Scale], control: str | None, text: str
) -> list[Limit]:
    matched, between = _matched(text), _BETWEEN.fullmatch(text)
    metric = matched["metric"]
    if metric not in metrics:
        raise unknown("metric in a limit", metric, metrics)
    c = metrics.index(metric)
    what = f"the limit on {quote(metric)}"
    if between:
        sides = [(1.0, between["low"]), (-1.0, between["high"])]
    else:
        sides = [(1.0 if matched["sign"] == ">=" else -1.0, matched["bound"])]
    found = []
    for sign, cell in sides:
        relative = _RELATIVE.fullmatch(cell)
        if relative and control is None:
            raise InputError(
                f"the limit {quote(text)} is against a control: name it (control=...), or give "
                f"a number"
            )
        number = parse_number(what, (relative["factor"] or "1") if relative else cell)
        if scales[c].log:
            if not number > 0.0:
                raise InputError(
                    f"{what} must be positive, since logarithms are compared, got {quote(text)}"
                )
            found.append(Limit(text, c, sign, math.log(number), 1.0 if relative else 0.0))
        elif relative:
            found.append(Limit(text, c, sign, 0.0, number))
        else:
            found.append(Limit(text, c, sign, number, 0.0))
        ends = scales[c].range
        if (
            not relative
            and ends is not None
            and sign * (ends[1 if sign > 0 else 0] - number) < 0
        ):
            raise InputError(
                f"no arm can meet the limit {quote(text)}: values of {quote(metric)} lie "
                f"between {ends[0]:g} and {ends[1]:g}"
            )
    return found


def _check_met(metrics: Sequence[str], found: Sequence[Limit]) -> None:
    """Refuse numbers that contradict each other."""
    for low in found:
        for high in found:
            same = low.metric == high.metric and low.factor == high.factor
            if same and low.sign > 0 > high.sign and low.bound >= high.bound:
                raise InputError(
                    f"no arm can meet the limits on {quote(metrics[low.metric])}: "
                    f"{quote(low.text)}"
                    + ("" if low.text == high.text else f" and {quote(high.text)}")
                    + " leave no room"
                )


def only_limited(directions: Sequence[str]) -> list[int]:
    """Return which metrics are no objectives."""
    return [c for c, direction in enumerate(directions) if direction == ONLY]


def limit_model(
    limits: Sequence[Limit], directions: Sequence[str], signs: Floats, control: int
) -> LimitModel:
    """Return limits as the kernels read them, every metric turned by its sign."""
    metric = np.array([one.metric for one in limits], np.int64)
    sign = np.array([one.sign for one in limits])
    return LimitModel(
        metric,
        sign * signs[metric],
        np.array([one.factor for one in limits]),
        sign * np.array([one.bound for one in limits]),
        control,
        np.array([0.0 if way == ONLY else 1.0 for way in directions]),
        np.zeros(0),
    )


def keeping(means: Floats, limits: LimitModel) -> Mask:
    """Which answers (n,) keep each limit, (n, L), of means (n, d) as the kernels see them.

    Examples
    --------
    >>> limit = Limit("toxicity <= 0.3", 0, -1.0, 0.3, 0.0)
    >>> tox = limit_model([limit], ["limit"], np.ones(1), 0)
    >>> keeping(np.array([[0.2], [0.4]]), tox).tolist()
    [[True], [False]]
    """
    c = limits.metric
    value = means[:, c] - limits.factor * means[limits.control, c]
    kept = limits.sign * value >= limits.bound
    kept[limits.control, limits.factor == 1.0] = True  # the control is what it is
    return np.asarray(kept)


def optimal_and_allowed(means: Floats, limits: LimitModel, facts: Floats | None = None) -> Mask:
    """Return the set asked for, (n,): the Pareto set of those that keep the limits.

    ``facts`` (n, e) are exact metrics that are objectives besides.
    """
    allowed = np.asarray(keeping(means, limits).all(axis=1))
    if len(limits.kept):
        allowed &= limits.kept > 0.0
    aims = means[:, limits.aims > 0]
    if facts is not None:
        aims = np.hstack([aims, facts])
    no_worse = (aims[:, None] >= aims).all(axis=2)
    better = (aims[:, None] > aims).any(axis=2)
    dominated = (no_worse & better & allowed[:, None]).any(axis=0)
    return np.asarray(allowed & ~dominated)


def is_right_within(means: Floats, limits: LimitModel, inside: Mask, epsilon: Floats) -> bool:
    """Whether a set of answers is right, by the definition above."""
    allowed, aims = np.asarray(keeping(means, limits).all(axis=1)), limits.aims > 0
    values, room = means[:, aims], epsilon[aims]
    for z in range(len(means)):
        if inside[z]:
            right = allowed[z] and not (beaters(values, z, room) & allowed).any()
        else:
            right = not allowed[z] or bool((holders(values, z, room) & inside).any())
        if not right:
            return False
    return True
