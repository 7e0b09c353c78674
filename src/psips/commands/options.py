"""The options of a comparison: commands, with every combination of their parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

from psips.errors import InputError, quote
from psips.input.escaping import one_line
from psips.input.names import LONGEST

MOST_OPTIONS = 500  # options
STEPS = re.compile(r"(-?[0-9]+)\.\.(-?[0-9]+)(?:\.\.([0-9]+))?")


@dataclass(frozen=True)
class Option:
    """A command that is compared with others, and what is run before and after it."""

    name: str
    command: str
    prepare: str = ""
    cleanup: str = ""
    values: dict[str, str] = field(default_factory=dict)  # of its parameters

    def fill(self, text: str) -> str:
        """Put the values of parameters into a text."""
        return filled(text, self.values)


def filled(text: str, values: dict[str, str]) -> str:
    """Put values instead of ``{name}``.

    Examples
    --------
    >>> filled("gcc -{opt} {file} {}", {"opt": "O2"})
    'gcc -O2 {file} {}'
    """
    if not values:
        return text
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({names})\}}", lambda found: values[found[1]], text)


def read_values(text: str) -> list[str]:
    r"""Read the values of a parameter: a list, or whole numbers from one to another.

    Examples
    --------
    >>> read_values("O0,O2"), read_values("1..4"), read_values("0..10..5")
    (['O0', 'O2'], ['1', '2', '3', '4'], ['0', '5', '10'])
    >>> read_values(r"a\,b,c")
    ['a,b', 'c']
    """
    steps = STEPS.fullmatch(text)
    if steps is None:
        return [part.replace("\\,", ",") for part in re.split(r"(?<!\\),", text)]
    first, last, step = int(steps[1]), int(steps[2]), int(steps[3] or 1)
    if step == 0 or abs(last - first) // step >= MOST_OPTIONS:
        raise InputError(f"a parameter has at most {MOST_OPTIONS} values, got {quote(text)}")
    by = step if last >= first else -step
    return [str(n) for n in range(first, last + (1 if by > 0 else -1), by)]


def read_parameters(given: Sequence[str]) -> dict[str, list[str]]:
    """Read parameters, ``name=values`` each."""
    found: dict[str, list[str]] = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not (equals and name and values):
            raise InputError(
                f"-P must be a name and its values, as in -P level=1,6,9, got {quote(text)}"
            )
        if name in found:
            raise InputError(f"the parameter {quote(name)} was given twice: give it once")
        found[name] = read_values(values)
        if len(set(found[name])) < len(found[name]):
            raise InputError(f"the parameter {quote(name)} has the same value twice: {values}")
    return found


def make_options(
    commands: Sequence[str],
    parameters: dict[str, list[str]] | None = None,
    names: Sequence[str] = (),
    prepare: Sequence[str] = (),
    cleanup: Sequence[str] = (),
) -> list[Option]:
    """Return an option for each command and each combination of the parameters in it.

    Examples
    --------
    >>> options = make_options(["gzip -{l}", "xz"], {"l": ["1", "9"]}, prepare=["rm -f {l}"])
    >>> [one.name for one in options], options[1].prepare
    (['gzip -1', 'gzip -9', 'xz'], 'rm -f 9')
    """
    scanned = parameters or {}
    for kind, given in (("-n", names), ("--prepare", prepare), ("--cleanup", cleanup)):
        several = kind != "-n"
        if len(given) not in ((0, 1, len(commands)) if several else (0, len(commands))):
            once = "once, or " if several else ""
            raise InputError(
                f"give {kind} {once}once for each command: there are {len(commands)} commands, "
                f"and it was given {len(given)} times"
            )
    for name in scanned:
        if not any(f"{{{name}}}" in command for command in commands):
            raise InputError(
                f"no command has the parameter {quote(name)}: write {{{name}}} where its value "
                f"belongs"
            )
    found: list[Option] = []
    for k, command in enumerate(commands):
        if not command.strip():
            raise InputError(f"command {k + 1} is empty: write what is to be run")
        inside = [name for name in scanned if f"{{{name}}}" in command]
        for chosen in product(*(scanned[name] for name in inside)):
            values = dict(zip(inside, chosen, strict=True))
            found.append(
                Option(
                    _name(filled(_at(names, k) or command, values), names, values),
                    filled(command, values),
                    filled(_at(prepare, k), values),
                    filled(_at(cleanup, k), values),
                    values,
                )
            )
            if len(found) > MOST_OPTIONS:
                raise InputError(
                    f"at most {MOST_OPTIONS} options can be compared, and there are more"
                )
    _check_apart(found)
    return found


def _at(texts: Sequence[str], k: int) -> str:
    """Return the text of the k-th command: its own, or the one of all."""
    return "" if not texts else texts[0] if len(texts) == 1 else texts[k]


def _name(text: str, names: Sequence[str], values: dict[str, str]) -> str:
    """Return a name that can be shown: on one line, of a bounded length."""
    shown = " ".join(one_line(text.replace("\n", " ")).split())
    if names and values and not any(f"{value}" in shown for value in values.values()):
        shown += f" ({', '.join(f'{k}={v}' for k, v in values.items())})"
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def _check_apart(options: Sequence[Option]) -> None:
    if len(options) < 2:
        raise InputError(
            "there is one option, and nothing to compare it with: give several commands, or a "
            "parameter with several values (-P level=1,6,9)"
        )
    once: dict[tuple[str, str, str], int] = {}
    for place, one in enumerate(options, 1):
        seen = once.setdefault((one.command, one.prepare, one.cleanup), place)
        if seen != place:
            raise InputError(
                f"commands {seen} and {place} are the same, {quote(one.command)}: give it once"
            )
    first: dict[str, int] = {}
    for place, one in enumerate(options, 1):
        seen = first.setdefault(one.name, place)
        if seen != place:
            raise InputError(
                f"commands {seen} and {place} have the same name, {quote(one.name)}: give each "
                f"a name of its own with -n"
            )
