"""What is measured of a run: time, memory, the size of a file, a number that it prints."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from psips.commands.running import Ran
from psips.errors import InputError, listing, quote, unknown
from psips.input.directions import settle
from psips.input.names import check_name
from psips.input.quantities import as_float, parse_number

TAKEN: dict[str, Callable[[Ran], float]] = {
    "time": lambda ran: ran.time,
    "cpu": lambda ran: ran.cpu,
    "memory": lambda ran: ran.memory,
}  # what every run shows
EXIT = "exit"  # the exit code, which can have a limit
SIZE, JSON, REGEX = "size", "json", "regex"
SECONDS, BYTES, PLAIN = "s", "B", ""
UNIT_OF = {"time": SECONDS, "cpu": SECONDS, "memory": BYTES}
DEFAULT = ("time", "memory")
FORMS = "time, cpu, memory, size=FILE, NAME=REGEX or NAME=json:PATH"


@dataclass(frozen=True)
class Metric:
    """A metric: where its value comes from, and how values are compared.

    Parameters
    ----------
    name : str
    source : str
        "time", "cpu" or "memory"; or "size", "regex" or "json" with ``where``.
    where : str
        A file, a regular expression or a path into JSON.
    direction : str
        "min", "max" or "limit".
    log : bool
        Whether logarithms are compared, so that differences are ratios.
    exact : bool
        Whether it has no noise.
    """

    name: str
    source: str
    where: str = ""
    direction: str = "min"
    log: bool = False
    exact: bool = False

    @property
    def unit(self) -> str:
        """What its values are counted in: "s", "B" (bytes) or nothing."""
        return BYTES if self.source == SIZE else UNIT_OF.get(self.source, PLAIN)

    @property
    def reads_output(self) -> bool:
        """Whether it is read from what a command prints."""
        return self.source in (REGEX, JSON)

    @property
    def scale(self) -> dict[str, str]:
        """What `psips.Problem` learns about it."""
        return {
            "direction": self.direction,
            **({"transform": "log"} if self.log else {}),
            **({"kind": "exact"} if self.exact else {}),
        }

    def value(self, ran: Ran, option: str, fill: Callable[[str], str]) -> float:
        """Return its value of a run; ``fill`` puts parameters into a text."""
        if self.source in TAKEN:
            return TAKEN[self.source](ran)
        what = f"{quote(self.name)} of {quote(option)}"
        if self.source == SIZE:
            found = _size(what, fill(self.where))
        elif self.source == JSON:
            found = _from_json(what, self.where, ran.output)
        else:
            found = _from_text(what, self.where, ran.output)
        if self.log and not found > 0.0:
            raise InputError(
                f"{what} is {found:g}, but logarithms need values above 0: compare it without "
                f"--log"
            )
        return found


def read_metrics(
    given: Sequence[str],
    limited: Sequence[str],
    ways: Mapping[str, str],
    log: Sequence[str],
    exact: Sequence[str],
    noisy: Sequence[str],
) -> list[Metric]:
    """Read metrics as they are given on the command line.

    Parameters
    ----------
    given : texts
        As in `FORMS`; time and memory if there are none.
    limited : names
        Metrics with a limit; those that are not given are limits and no objectives.
    ways : mapping from name to "max" or "min"
    log : names
        Whose logarithms are compared, besides those of times and sizes.
    exact, noisy : names
        What is to be taken for exact, or not; the size of a file is exact if nothing is said.

    Examples
    --------
    >>> [m.name for m in read_metrics(["time", "size=out.gz"], [], {}, [], [], [])]
    ['time', 'size']
    >>> read_metrics(["time", "acc=accuracy: ([0-9.]+)"], [], {}, [], [], [])[1].direction
    'max'
    """
    found: dict[str, Metric] = {}
    for text in given or DEFAULT:
        metric = _read(text)
        if metric.name in found:
            raise InputError(f"the metric {quote(metric.name)} was given twice: give it once")
        found[metric.name] = metric
    for name in limited:
        if name != EXIT and name not in found:
            if name not in TAKEN:
                known = dict.fromkeys([*found, *TAKEN, EXIT])
                raise unknown("metric in a limit", name, [*known])
            found[name] = Metric(name, name, direction="limit", log=True)
    for option, names in (("--log", log), ("--exact", exact), ("--noisy", noisy)):
        for name in names:
            if name not in found:
                raise unknown(f"metric of {option}", name, [*found])
    for name in ways:
        if name not in found:
            raise unknown("metric of --max or --min", name, [*found])
    asked = {
        m.name: ways.get(m.name, None if m.reads_output else "min")
        for m in found.values()
        if m.direction != "limit"
    }
    settled = settle(asked, _as_options).objectives
    return [
        replace(
            metric,
            direction=settled.get(name, metric.direction),
            log=metric.log or name in log,
            exact=(metric.exact or name in exact) and name not in noisy,
        )
        for name, metric in found.items()
    ]


def _as_options(ways: Mapping[str, str]) -> str:
    """Write directions as they are given here.

    Examples
    --------
    >>> _as_options({"score": "max"})
    '--max score'
    """
    from shlex import quote as word

    return " ".join(f"--{way} {word(name)}" for name, way in ways.items())


def _read(text: str) -> Metric:
    name, equals, where = text.partition("=")
    if not equals:
        if name not in TAKEN:
            raise InputError(f"a metric must be {FORMS}, got {quote(text)}")
        return Metric(name, name, log=True)
    if name in TAKEN or name == EXIT:
        raise InputError(f"the metric {quote(name)} is measured anyway: choose another name")
    check_name("a metric", name)
    source, colon, rest = where.partition(":")
    if not (colon and source in (SIZE, JSON, REGEX)):
        source, rest = SIZE if name == SIZE else REGEX, where
    if not rest:
        raise InputError(f"a metric must be {FORMS}, got {quote(text)}")
    if source == REGEX:
        try:
            re.compile(rest)
        except re.error as error:
            raise InputError(
                f"the metric {quote(name)} has a regular expression that cannot be read, "
                f"{quote(rest)}: {error}"
            ) from None
    return Metric(name, source, rest, log=source == SIZE, exact=source == SIZE)


def _size(what: str, path: str) -> float:
    try:
        return float(Path(path).stat().st_size)
    except OSError as error:
        raise InputError(
            f"{what}: cannot read the size of {quote(path)} ({error.strerror}); name the file "
            f"that the command writes"
        ) from None


def _from_text(what: str, pattern: str, output: str) -> float:
    """Return the last number that a regular expression finds: its group, or all of it."""
    matches = list(re.finditer(pattern, output, re.MULTILINE))
    if not matches:
        end = next((li for li in reversed(output.splitlines()) if li.strip()), "")
        said = f"its last line is {quote(end)}" if end else "it printed nothing"
        raise InputError(f"{what}: no output matches {quote(pattern)}; {said}")
    last = matches[-1]
    text = last[1] if last.re.groups else last[0]
    return parse_number(what, text or "")


def _from_json(what: str, path: str, output: str) -> float:
    r"""Return a number of the last JSON value that was printed.

    Examples
    --------
    >>> _from_json("x", "results.0.acc", 'hello\n{"results": [{"acc": 0.5}]}')
    0.5
    """
    found: Any = _last_json(what, output)
    for step in path.split(".") if path else []:
        try:
            found = found[int(step)] if isinstance(found, list) else found[step]
        except (KeyError, IndexError, ValueError, TypeError):
            keys = list(map(str, found)) if isinstance(found, dict) else []
            there = f"; there are {listing(keys)}" if keys else ""
            raise InputError(
                f"{what}: the JSON that was printed has no {quote(step)} ({path}){there}"
            ) from None
    number = as_float(found)
    if number is None or not math.isfinite(number):
        raise InputError(f"{what}: {quote(path)} is not a number, but {quote(found)}")
    return number


def _last_json(what: str, output: str) -> Any:
    """Return all output as JSON, or the last line of it that is a value."""
    try:
        return json.loads(output)
    except ValueError:
        pass
    for line in reversed(output.splitlines()):
        if line.strip():
            start = output.rfind("\n{")
            for text in (line, output[start:] if start >= 0 else ""):
                try:
                    return json.loads(text)
                except ValueError:
                    continue
            break
    raise InputError(f"{what}: the output is not JSON, and does not end in any")
