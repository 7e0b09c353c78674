"""Options of the command line that are parameters of the instance: read off its builder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import typer

    from psips.problem.instances import Instance

# For `app.command`: what the command itself does not know is left to the instance.
CONTEXT = {"ignore_unknown_options": True, "allow_extra_args": True}
WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
RENAMED = {"seed": "instance-seed"}  # --seed is that of the runs


class Asked(NamedTuple):
    """An instance by name or path, and its parameters."""

    name: str
    params: dict[str, Any]


def flag(parameter: str) -> str:
    """Return the option of a builder's parameter.

    Examples
    --------
    >>> flag("max_complexity"), flag("K"), flag("seed")
    ('--max-complexity', '--k', '--instance-seed')
    """
    return f"--{RENAMED.get(parameter, parameter).replace('_', '-').lower()}"


def command_of(name: str, params: dict[str, Any]) -> str:
    """Return how to simulate a built-in instance.

    Examples
    --------
    >>> command_of("worse", {"d": 4, "gap": 0.3})
    'psips simulate worse --d 4 --gap 0.3'
    """
    given = "".join(f" {flag(key)} {value}" for key, value in params.items())
    return f"psips simulate {name}{given}"


def read_instance(context: typer.Context, first: str) -> Asked:
    """Read the instance's name and its parameters from what the command left over.

    Parameters
    ----------
    context : typer.Context
    first : str
        What the command took for the instance; an option, if options came before it.
    """
    from psips.cli.screen import check_sizes
    from psips.errors import InputError, quote, unknown
    from psips.lab.instances import BUILDERS, instances

    names, options = _split([first, *context.args])
    if len(names) != 1:
        got = " and ".join(map(quote, names)) or "none"
        raise InputError(f"expected one instance, got {got}: name one, then its options")
    name = names[0]
    every = {entry.name: entry.params for entry in instances()}
    own = every.get(name, {})
    by_flag = {flag(key): key for params in every.values() for key in params}
    params: dict[str, Any] = {}
    for option, text in options:
        if option not in by_flag or (own and by_flag[option] not in own):
            known = [flag(key) for key in own] + _flags_of(context)
            raise unknown(f"option of {quote(name)}", option, known)
        key = by_flag[option]
        if name in BUILDERS and own:
            params[key] = _value(option, text, own[key])
        else:
            params[key] = text  # which is refused: it has no parameters
    if own:
        check_sizes(params.get("K"), params.get("d"))
    return Asked(name, params)


def with_tolerance(made: Instance, epsilon: str | None) -> Instance:
    """Return an instance with the tolerance of the command line, if there is one."""
    from psips.input.quantities import parse_number

    if epsilon is None:
        return made
    percent = epsilon.strip().endswith("%")
    return made.asking(epsilon=epsilon if percent else parse_number("--epsilon", epsilon))


def _split(tokens: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the words, and the options with their values."""
    from psips.errors import InputError, quote

    words, options = [], []
    rest = iter(tokens)
    for token in rest:
        if not token.startswith("--"):
            words.append(token)
            continue
        option, found, value = token.partition("=")
        if not found:
            following = next(rest, None)
            if following is None or following.startswith("--"):
                raise InputError(f"option {quote(option)} needs a value")
            value = following
        options.append((option, value))
    return words, options


def _flags_of(context: typer.Context) -> list[str]:
    return [option for one in context.command.params for option in one.opts if "--" in option]


def _value(option: str, text: str, default: Any) -> Any:
    """Read a value of the kind that the parameter has by default."""
    from psips.errors import InputError, quote
    from psips.input.quantities import parse_number

    if isinstance(default, str):
        return text
    if not isinstance(default, int):
        return parse_number(option, text)
    if not WHOLE.fullmatch(text):
        raise InputError(f"{option} must be a whole number, got {quote(text)}")
    return int(text)
