"""Parts of pages: help of the command line and requests over HTTP, and tables of CSV files.

They lie in ``_generated`` while the site is built; pages of ``reference`` include them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

FOLDER = "_generated"


def write_pages(source: Path) -> None:
    """Write all parts below the folder of the pages."""
    folder = source / FOLDER
    folder.mkdir(exist_ok=True)
    parts = {"command-line": command_line(), "http": http()}
    parts |= {
        page.stem: table(source / f"{page.stem}.csv") for page in source.glob("tables/*.md")
    }
    for name, text in parts.items():
        file = folder / f"{name}.txt"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def command_line() -> str:
    """Return the help of every command, each below a heading of its own."""
    from typer.main import get_command

    from psips.cli import app

    return "\n".join(_helps(get_command(app), ["psips"], None))


def _helps(command: Any, names: list[str], above: Any) -> list[str]:
    wide = {"max_content_width": 88, "terminal_width": 88}
    context = command.make_context(names[-1], [], above, resilient_parsing=True, **wide)
    parts = [f"## `{' '.join(names)}`\n\n```text\n{command.get_help(context).strip()}\n```\n"]
    for name, below in sorted(getattr(command, "commands", {}).items()):
        if not below.hidden:
            parts += _helps(below, [*names, name], context)
    return parts


def table(file: Path) -> str:
    """Return a CSV file as a table of HTML, which `_static/search.js` lets people search."""
    with file.open(encoding="utf-8", newline="") as lines:
        head, *rows = csv.reader(lines)
    body = "\n".join(f"<tr>{_cells('td', map(_short, row))}</tr>" for row in rows)
    return (
        f'<table class="docutils searched"><thead><tr>{_cells("th", head)}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table>\n"
    )


def _cells(tag: str, texts: Iterable[str]) -> str:
    return "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)


def _short(text: str) -> str:
    """Numbers with the digits that people read."""
    try:
        value = float(text)
    except ValueError:
        return text
    return text if len(text) < 7 else f"{value:.0f}" if value >= 1000 else f"{value:.4f}"


def http() -> str:
    """Return the requests of the JSON interface, from its own description."""
    from fastapi import FastAPI

    from psips.web import api

    app = FastAPI()
    app.include_router(api.router)
    described = app.openapi()
    parts = []
    for path, ways in described["paths"].items():
        for way, request in ways.items():
            parts.append(f"## {request['summary']}\n")
            parts.append(f"`{way.upper()} {path}`\n\n{request['description']}\n")
            rows = _parameters(request) + _body(request, described)
            if rows:
                parts.append("| field | what it is | | meaning |\n|---|---|---|---|")
                parts += [f"| {' | '.join(row)} |" for row in rows]
                parts.append("")
    return "\n".join(parts)


def _parameters(request: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (f"`{one['name']}`", _kind(one["schema"]), f"in the {one['in']}", _meaning(one))
        for one in request.get("parameters", [])
    ]


def _body(request: dict[str, Any], described: dict[str, Any]) -> list[tuple[str, ...]]:
    if "requestBody" not in request:
        return []
    content = request["requestBody"]["content"]["application/json"]["schema"]
    schema = described["components"]["schemas"][content["$ref"].rsplit("/", 1)[-1]]
    needed = schema.get("required", [])
    return [
        (f"`{name}`", _kind(one), "needed" if name in needed else "", _meaning(one))
        for name, one in schema["properties"].items()
    ]


def _kind(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        kinds = [_kind(one) for one in schema["anyOf"]]
        return " or ".join(kind for kind in kinds if kind != "null")
    words = {"integer": "whole number", "boolean": "true or false", "string": "text"}
    kind = schema.get("type", "")
    if kind == "array":
        return f"list of {_kind(schema['items'])}s"
    return words.get(kind, kind)


def _meaning(one: dict[str, Any]) -> str:
    said = one.get("description", "")
    schema = one.get("schema", one)
    words = {"default": "default {}", "minimum": "at least {:g}", "maximum": "at most {:,.0f}"}
    for key, text in words.items():
        value = schema.get(key)
        if value not in (None, "", False):
            said = f"{said} {text.format(value).capitalize()}.".strip()
    return said
