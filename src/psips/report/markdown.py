"""Verdicts as Markdown for pull requests: an alert, a table, and details that are folded.

Names and sentences may be those of others. Whatever is in them, they are shown as they are:
they format nothing, link nowhere, mention no user and refer to no issue.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from psips.input.escaping import one_line, plain

KINDS = ("NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION")
BREAK = "&#8203;"  # a space without width: splits what would be a mention or a link
ROWS = 50  # of a table; comments are read by people
CHARACTERS = 60_000  # of a comment, of which GitHub takes 65,536
SPECIAL = re.compile(r"[\\`*_{}\[\]<>|~&!]")
LINKING = re.compile(r"(@|#(?=\w)|\bGH(?=-\d)|:(?=//|\w)|\bwww(?=\.))", re.IGNORECASE)
COMMIT = re.compile(r"\b[0-9a-f]{6}(?=[0-9a-f]{1,34}\b)", re.IGNORECASE)
AT_START = re.compile(r"^(\s*)([-+=#]|\d+(?=[.)]))")


def escape(text: object, first: bool = True) -> str:
    r"""Write a text for a line of Markdown, so that it is shown as it is.

    ``first`` says whether it may stand first in a line, where a list could begin.

    Examples
    --------
    >>> escape("a*b|c <b> @me #12")
    'a\\*b\\|c \\<b\\> @&#8203;me #&#8203;12'
    >>> escape("- https://x.org"), escape("1. first")
    ('\\- https:&#8203;//x.org', '1\\. first')
    """
    line = SPECIAL.sub(r"\\\g<0>", one_line(text))
    line = COMMIT.sub(rf"\g<0>{BREAK}", LINKING.sub(rf"\1{BREAK}", line))
    line = line.replace("$", "<span>$</span>")  # two of them would be a formula
    return AT_START.sub(_not_a_list, line) if first else line


def _not_a_list(found: re.Match[str]) -> str:
    space, mark = found.groups()
    return f"{space}{mark}\\" if mark.isdigit() else f"{space}\\{mark}"


def code(text: object) -> str:
    r"""Write a name in a fixed width; nothing in it is Markdown, in a table either.

    Examples
    --------
    >>> code("zstd -3"), code("a|b"), code("`x`")
    ('`zstd -3`', '`a\\|b`', '`` `x` ``')
    """
    line = one_line(text).replace("|", "\\|") or " "
    fence = "`" * (_longest(line) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def alert(kind: str, verdict: str) -> str:
    """Write a verdict of one line as an alert.

    Parameters
    ----------
    kind : one of `KINDS`
    verdict : str
        Markdown: names in it come from `code`, sentences from `escape`.
    """
    assert kind in KINDS
    return f"> [!{kind}]\n> {verdict}\n"


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: int = 1, last: int = 0
) -> str:
    """Write a table whose first column has names.

    The columns from ``right`` on are numbers, but for the ``last`` ones. Of many rows the first
    are shown, and how many there are.
    """
    numbers = range(right, len(head) - last)
    line = ["---:" if place in numbers else "---" for place in range(len(head))]
    lines = [[escape(cell, False) for cell in head], line]
    lines += [
        [code(row[0]) if row[0] else "", *(escape(cell, False) for cell in row[1:])]
        for row in rows[:ROWS]
    ]
    text = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    more = len(rows) - ROWS
    return text if more <= 0 else f"{text}\nand {more:,} more rows\n"


def folded(summary: str, body: str) -> str:
    """Write Markdown that is shown once its line is clicked."""
    return f"<details>\n<summary>{escape(summary)}</summary>\n\n{body.strip()}\n\n</details>\n"


def listed(sentences: Sequence[str]) -> str:
    """Write sentences as a list."""
    return "".join(f"- {escape(sentence)}\n" for sentence in sentences)


def block(text: str) -> str:
    """Write lines as they stand on a terminal."""
    lines = plain(text, keep="\n")
    fence = "`" * max(3, _longest(lines) + 1)
    return f"{fence}text\n{lines}\n{fence}\n"


def comment(*parts: str) -> str:
    """Put parts together, the last of them left out if there is no room for them.

    Examples
    --------
    >>> print(comment(alert("NOTE", "nothing is claimed"), "", listed(["one", "two"])), end="")
    > [!NOTE]
    > nothing is claimed
    <BLANKLINE>
    - one
    - two
    """
    found: list[str] = []
    size = 0
    for part in filter(None, parts):
        size += len(part) + 1
        if size > CHARACTERS:
            found.append("More did not fit into a comment.\n")
            break
        found.append(part)
    return "\n".join(found)


def _longest(text: str) -> int:
    """Return the length of the longest run of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)
