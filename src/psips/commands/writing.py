"""A comparison of commands as CSV and as Markdown."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from psips.commands.found import Found
from psips.commands.table import RATIO, WORDS, cells_of, title_of
from psips.input.escaping import as_cell, one_line

MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!@])")  # what Markdown, or GitHub, would act on


def as_csv(found: Found) -> str:
    """Return a line for each option, in seconds and bytes."""
    head = ["option", "command", "Pareto set", "runs"]
    for metric in found.metrics:
        head += [metric.name, f"{metric.name} low", f"{metric.name} high"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([as_cell(cell) for cell in head])
    for row in found.rows:
        cells = [row.name, row.command, WORDS[row.role]]
        numbers: list[object] = [row.runs]
        for metric in found.metrics:
            one = row.estimates.get(metric.name)
            ends = (None,) * 3 if one is None else (one.value, one.low, one.high)
            numbers += [_number(end) for end in ends]
        writer.writerow([*(as_cell(cell) for cell in cells), *numbers])
    return text.getvalue()


def as_markdown(found: Found) -> str:
    """Return the verdict, the table and what is worth knowing, as Markdown."""
    said = [found.verdict, f"{found.summary[:1].upper()}{found.summary[1:]}. {found.outlook}"]
    parts = [escaped(text) for text in said]
    return "\n\n".join([*parts, table(found), *details(found)]) + "\n"


def as_github(found: Found) -> str:
    """Return Markdown for a comment on GitHub: an alert, the table, details folded."""
    kind = "NOTE" if found.stopped else "WARNING"
    folded = "\n\n".join(
        [escaped(text) for text in (found.summary, found.outlook) if text] + details(found)
    )
    return (
        f"> [!{kind}]\n> {escaped(found.verdict)}\n\n{table(found)}\n\n"
        f"<details>\n<summary>How it was measured</summary>\n\n{folded}\n\n</details>\n"
    )


def table(found: Found) -> str:
    """Return the options as a table of Markdown."""
    rows = cells_of(found)
    ratios = any(row.ratio for row in rows)
    head = ["", "option"]
    for c, metric in enumerate(found.metrics):
        head.append(title_of(metric, found.rows))
        if c == 0 and ratios:
            head.append(RATIO)
    head += ["runs", ""]
    lines = [_line([escaped(cell) for cell in head])]
    lines.append(_line([":-:", ":--", *["--:"] * (len(head) - 3), ":--"]))
    for row in rows:
        cells = [row.mark.strip(), code(row.row.name)]
        for c in range(len(found.metrics)):
            cells.append(row.values[c])
            if c == 0 and ratios:
                cells.append(row.ratio)
        lines.append(_line([*cells, row.runs, escaped(row.note)]))
    return "\n".join(lines)


def details(found: Found) -> list[str]:
    """Return what the table's marks mean, and what is worth knowing of the runs."""
    sure = f"{found.confidence:.0%}"
    points = [f"● is Pareto-optimal; ± is half of the {sure} interval of a mean"]
    if found.tolerance:
        points.append(f"tolerance: {found.tolerance}")
    if found.promise:
        points.append(f"at the stop: {found.promise}")
    points += [text.rstrip(".") for text in found.notes]
    return ["\n".join(f"- {escaped(text)}" for text in points)]


def escaped(text: str) -> str:
    r"""Write a text so that Markdown shows it as it is.

    Examples
    --------
    >>> escaped("a|b <img> @all")
    'a\\|b \\<img\\> \\@all'
    """
    return MARKUP.sub(r"\\\1", one_line(text))


def code(text: str) -> str:
    r"""Write a command for a cell of a table, as code.

    Examples
    --------
    >>> code("sort | uniq"), code("echo `date`")
    ('`sort \\| uniq`', '`` echo `date` ``')
    """
    shown = one_line(text).replace("|", "\\|")
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {shown} {fence}" if longest else f"`{shown}`"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float | None) -> object:
    return "" if value is None or value != value else float(f"{value:.12g}")
