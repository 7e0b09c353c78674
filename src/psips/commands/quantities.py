"""Times and sizes with their units, read and written."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from psips.commands.metrics import BYTES, EXIT, PLAIN, SECONDS, Metric
from psips.errors import InputError, quote
from psips.problem.limits import limited_metric

UNITS = {
    SECONDS: {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
    BYTES: {
        **{"B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12},
        **{"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40},
    },
    PLAIN: {},
}
SHOWN = {
    SECONDS: ((60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    BYTES: ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
}
LEAST_MINUTES = 5 * 60.0  # seconds below which no minutes are written
QUANTITY = re.compile(r"([0-9][0-9.]*(?:[eE][-+]?[0-9]+)?)\s*([A-Za-zµ]+)\b")


def read_limit(text: str, metrics: Sequence[Metric]) -> str:
    """Return a limit in seconds and bytes.

    Examples
    --------
    >>> time = Metric("time", "time")
    >>> read_limit("time between 5ms and 2min", [time])
    'time between 0.005 and 120.0'
    >>> read_limit("time <= 1.1 * control", [time])
    'time <= 1.1 * control'
    """
    name = limited_metric(text)
    unit = next((one.unit for one in metrics if one.name == name), PLAIN)
    if name == EXIT:
        return text

    def number(found: re.Match[str]) -> str:
        if found[2] in ("and", "control"):
            return found[0]
        if found[2] not in UNITS[unit]:
            known = ", ".join(UNITS[unit]) or "none"
            raise InputError(
                f"the limit {quote(text)} has an unknown unit {quote(found[2])}; units of "
                f"{quote(name)}: {known}"
            )
        return f"{float(found[1]) * UNITS[unit][found[2]]!r}"

    start = len(name) if text.strip().startswith(name) else 0
    return text.strip()[:start] + QUANTITY.sub(number, text.strip()[start:])


def unit_for(values: Sequence[float], unit: str) -> tuple[float, str]:
    """Return the unit in which values are written, and its size.

    Examples
    --------
    >>> unit_for([0.012, 0.4], "s"), unit_for([2.5e6], "B"), unit_for([3.0], "")
    ((0.001, 'ms'), (1000000.0, 'MB'), (1.0, ''))
    """
    known = [abs(value) for value in values if math.isfinite(value) and value]
    if unit not in SHOWN or not known:
        return 1.0, "" if unit == PLAIN else unit
    middle = math.sqrt(min(known) * max(known))
    for size, name in SHOWN[unit]:
        if middle >= (LEAST_MINUTES if name == "min" else size):
            return size, name
    return SHOWN[unit][-1]


def written(value: float, unit: str, digits: int = 3) -> str:
    """Write one quantity with its unit.

    Examples
    --------
    >>> written(0.01234, "s"), written(1536000, "B"), written(0.5, ""), written(1234.5, "s")
    ('12.3 ms', '1.54 MB', '0.500', '20.6 min')
    """
    if not math.isfinite(value):
        return "-"
    size, name = unit_for([value], unit)
    text = significant(value / size, digits)
    return f"{text} {name}".rstrip()


def significant(value: float, digits: int = 3) -> str:
    """Write a number with so many digits that count, without an exponent where it can be.

    Examples
    --------
    >>> significant(12.345), significant(0.5), significant(1234.5), significant(0.0)
    ('12.3', '0.500', '1,234', '0')
    """
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    if places > 8:
        return f"{value:.{digits - 1}e}"
    if value == round(value) and abs(value) < 1e15 and places < digits:
        return f"{value:,.0f}"
    return f"{value:,.{max(0, places)}f}"
