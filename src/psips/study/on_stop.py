"""When a study or evaluation stops: run a command, or post its status."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from urllib.error import URLError
from urllib.request import Request, urlopen

from psips.errors import InputError, quote

HOOK_TIMEOUT = 30.0  # seconds that a command or an address may take


def is_address(order: str) -> bool:
    """Whether something is to be posted to, and not run."""
    return order.lower().startswith(("http://", "https://"))


def check_order(order: str, what: str) -> None:
    """Refuse at the start what could not be done at the stop; ``what`` names the argument."""
    if not isinstance(order, str):
        raise InputError(f"{what} must be a command or an address, got {quote(order)}")
    if is_address(order):
        return
    words = _words(order, what)
    if not words or shutil.which(words[0]) is None:
        raise InputError(
            f"{what} must be a command or an address beginning with https://, got "
            f"{quote(order)}: there is no such command"
        )


def _words(order: str, what: str) -> list[str]:
    try:
        return shlex.split(order)
    except ValueError as error:
        raise InputError(f"{what} {quote(order)} cannot be read: {error}") from None


def carry_out(order: str, data: str) -> str:
    """Run a command with the status on its standard input, or post it to an address.

    Returns
    -------
    str
        Why that could not be done; empty if it was done.
    """
    try:
        if is_address(order):
            kind = {"content-type": "application/json"}
            with urlopen(Request(order, data.encode(), kind), timeout=HOOK_TIMEOUT):
                return ""
        words = shlex.split(order)
        done = subprocess.run(words, input=data.encode(), timeout=HOOK_TIMEOUT, check=False)
    except (OSError, URLError, ValueError, subprocess.TimeoutExpired) as error:
        return str(error) or type(error).__name__
    return f"it ended with code {done.returncode}" if done.returncode else ""
