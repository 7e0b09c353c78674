"""A comparison of commands as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import NamedTuple

from psips.commands.concluding import AS_GOOD_AS, BEATEN_BY, WITHIN
from psips.commands.drawing import draw
from psips.commands.found import BEATEN, FRONT, OPEN, OUT, Found
from psips.commands.table import RATIO, cells_of, title_of
from psips.input.escaping import one_line

WIDTH = 80
LEAST_NAME, NOTE = 12, 24  # columns of names and notes, at least and at most
STYLES = {FRONT: "bold green", BEATEN: "", OPEN: "yellow", OUT: "dim"}
ASCII = str.maketrans("●✗…±\N{MULTIPLICATION SIGN}·│┤└─—", "*x.~x.||+--")


class Line(NamedTuple):
    """A line, and how it looks on a terminal."""

    text: str
    style: str = ""


def lines_of(found: Found, width: int = WIDTH) -> list[Line]:
    """Return what is printed at the end: the table, the front, the verdict, what is open."""
    lines = []
    if any(row.runs for row in found.rows):
        lines += [*table_lines(found, width), Line("")]
    drawn = draw(found, min(width, WIDTH) - 2)
    if drawn:
        lines += [*(Line(one) for one in drawn), Line("")]
    style = "bold" if found.stopped else "bold yellow"
    lines += [Line(one, style) for one in _wrapped(found.verdict, width)]
    lines += [Line(one) for one in _wrapped(f"{_capital(found.summary)}.", width)]
    if found.outlook:
        lines += [Line(one) for one in _wrapped(found.outlook, width)]
    for note in found.notes:
        lines += [Line(one, "dim") for one in _wrapped(f"Note: {note}", width)]
    return lines


def table_lines(found: Found, width: int = WIDTH) -> list[Line]:
    """Return the table of options, and what its columns mean."""
    rows = cells_of(found)
    metrics = found.metrics
    ratios = any(row.ratio for row in rows)
    head = [title_of(metric, found.rows) for metric in metrics]
    columns: list[tuple[str, list[str]]] = []
    for c, title in enumerate(head):
        columns.append((title, [row.values[c] if row.values else "" for row in rows]))
        if c == 0 and ratios:
            columns.append((RATIO, [row.ratio for row in rows]))
    columns.append(("runs", [row.runs for row in rows]))
    sizes = [max(map(len, [title, *cells])) for title, cells in columns]
    notes = [row.note for row in rows]
    by_letter = {row.row.name: row.letter for row in rows}
    notes = [_short(note, found, by_letter) for note in notes]
    used = 5 + sum(size + 2 for size in sizes)
    longest = max(len(one_line(row.label)) for row in rows)
    note_size = min(max(map(len, notes)), NOTE)
    room = width - used - (note_size + 2 if note_size else 0)
    if room < min(longest, LEAST_NAME):
        note_size, room = 0, width - used
    name_size = max(min(longest, room), min(longest, LEAST_NAME))
    lines = [
        Line(
            f"    {'':<{name_size}} "
            + "".join(f"  {t:>{s}}" for (t, _), s in zip(columns, sizes, strict=True)),
            "dim",
        )
    ]
    for k, row in enumerate(rows):
        cells = "".join(f"  {c[k]:>{s}}" for (_, c), s in zip(columns, sizes, strict=True))
        name = _shortened(one_line(row.label), name_size)
        note = f"  {notes[k]}" if note_size else ""
        text = f"{row.mark} {row.letter or ' '} {name:<{name_size}} {cells}{note}".rstrip()
        lines.append(Line(text, STYLES[row.row.role]))
    lines.append(Line(""))
    for one in _legend(found):
        lines += [Line(part, "dim") for part in _wrapped(one, width)]
    return lines


def _legend(found: Found) -> list[str]:
    parts = ["● Pareto-optimal" if found.stopped else "● ahead so far"]
    if any(row.role == OPEN for row in found.rows):
        parts.append("? undecided")
    if found.out:
        parts.append("✗ breaks a limit")
    parts.append(f"±: {found.confidence:.0%} interval of the mean")
    legend = [";  ".join(parts)]
    if found.labels.left_out:
        legend.append(_capital(one_line(found.labels.left_out)))
    if found.tolerance:
        legend.append(f"{_capital(found.tolerance_text)} (--tolerance).")
    return legend


def _short(note: str, found: Found, letters: dict[str, str]) -> str:
    """Write a note by the letter of the option it names."""
    for start in (BEATEN_BY, AS_GOOD_AS):
        rest = note.removeprefix(f"{start} ")
        label = rest.removesuffix(WITHIN)
        for name, one in letters.items():
            if rest != note and found.labels[name] == label and one:
                return f"{start} {one}{rest.removeprefix(label)}"
    return _shortened(one_line(note), NOTE)


def _shortened(text: str, size: int) -> str:
    """Leave out the middle of a text that is too long: both ends tell options apart.

    Examples
    --------
    >>> _shortened("gzip -1 some/file", 12)
    'gzip -…/file'
    """
    if len(text) <= size:
        return text
    end = (size - 1) // 2
    return f"{text[: size - 1 - end]}…{text[len(text) - end :]}"


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(one_line(text), width, subsequent_indent="  ", break_on_hyphens=False)


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def in_ascii(lines: Sequence[Line]) -> list[Line]:
    """Return lines for a terminal that knows no other characters."""
    return [
        Line(
            line.text.replace("µ", "u").translate(ASCII).encode("ascii", "replace").decode(),
            line.style,
        )
        for line in lines
    ]
