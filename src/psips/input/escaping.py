"""Texts that others wrote, made harmless for a terminal or a spreadsheet."""

from __future__ import annotations

import json
import re
from typing import Any

LINE, LINES = 480, 60  # characters and lines of an error
# What makes a spreadsheet compute, in a cell or behind a semicolon, which separates cells where
# the comma is a decimal one; some read full-width signs as the plain ones.
ACTIVE = re.compile(r"(^|;)([\s\"']*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")


def plain(text: str, keep: str = "\n\t") -> str:
    r"""Write what a terminal would act on, or hide, as escapes.

    Examples
    --------
    >>> plain("a\x1b[2Jb\u202ec")
    'a\\x1b[2Jb\\u202ec'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else _escape(c) for c in text)


def one_line(text: Any) -> str:
    """As `plain`, without line breaks."""
    return plain(str(text), keep="")


def sentences(text: str, most: int = LINE) -> str:
    """Write an error for a terminal: no line of it longer than anyone reads."""
    lines = plain(text).splitlines()
    shown = [line if len(line) <= most else f"{line[: most - 4]} ..." for line in lines]
    if len(shown) > LINES:
        shown = [*shown[:LINES], f"  and {len(shown) - LINES} more"]
    return "\n".join(shown)


def as_json(data: Any) -> str:
    """Write data as JSON that a terminal does not act on."""
    text = json.dumps(data, indent=2, ensure_ascii=False)
    if text.replace("\n", "").isprintable():
        return text
    return re.sub(r"[^\n]", lambda c: c[0] if c[0].isprintable() else _unicode(c[0]), text)


def as_cell(text: str) -> str:
    """Write a text for a cell of a CSV file: one that a spreadsheet takes for a text.

    Examples
    --------
    >>> as_cell("=1+1"), as_cell("arm 1"), as_cell("a;=1+1")
    ("'=1+1", 'arm 1', "a;'=1+1")
    """
    return ACTIVE.sub(r"\1\2'", one_line(text))


def _escape(c: str) -> str:
    return c.encode("unicode_escape", "surrogatepass").decode("ascii")


def _unicode(c: str) -> str:
    units = c.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
