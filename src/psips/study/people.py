"""Who records, from where and with which program: a part of every event and its hash."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
import sys
from pathlib import Path

from psips.errors import InputError
from psips.study.conduct import read_text
from psips.version import __version__

VERSION = __version__
KEY_LENGTH = 100


def signature(user: str | None = None) -> dict[str, str]:
    """Return who is at work, as far as the machine knows.

    Parameters
    ----------
    user : str, optional
        The name to act under, instead of PSIPS_USER or the login.
    """
    try:
        login = getpass.getuser()
    except (OSError, KeyError, ImportError):  # an account without a name
        login = f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"
    name = user or os.environ.get("PSIPS_USER") or login
    program = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    found = {
        "user": name,
        "host": socket.gethostname(),
        "program": f"psips {VERSION}, {program}",
    }
    if name != login:
        found["login"] = login
    return {key: _printable(text) for key, text in found.items()}


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)[:100]


def read_key(key: str | None) -> str:
    """Check the key that a caller gives an event, or make one."""
    if key is None:
        return secrets.token_hex(8)
    key = read_text("a key", key)
    if not key or len(key) > KEY_LENGTH or not key.isprintable():
        raise InputError(
            f"a key has 1 to {KEY_LENGTH} printable characters, got {key[:KEY_LENGTH]!r}"
        )
    return key
