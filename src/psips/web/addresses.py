"""Names of studies in addresses: any name, in letters that no proxy or browser changes."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z0-9_-]")
_SLUG = re.compile(r"(?:[A-Za-z0-9_-]|~[0-9A-F]{2})+")


def slug(name: str) -> str:
    """Write a name with letters, digits, ``_`` and ``-``; any other byte is ``~`` and its hex.

    Examples
    --------
    >>> slug("trial-1"), slug("a/b é")
    ('trial-1', 'a~2Fb~20~C3~A9')
    """
    return "".join(
        chr(byte) if byte < 128 and _PLAIN.match(chr(byte)) else f"~{byte:02X}"
        for byte in name.encode()
    )


def name_of(text: str) -> str | None:
    """Return the name that a slug stands for; None if it is no slug.

    Examples
    --------
    >>> name_of("a~2Fb~20~C3~A9"), name_of("../etc"), name_of("~FF")
    ('a/b é', None, None)
    """
    if not _SLUG.fullmatch(text):
        return None
    data = re.sub(rb"~(..)", lambda found: bytes.fromhex(found[1].decode()), text.encode())
    try:
        name = data.decode()
    except UnicodeDecodeError:
        return None
    return name if slug(name) == text else None
