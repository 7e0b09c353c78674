"""Look for words that `styles/psips` forbids: in pages, docstrings, comments and messages.

The rules are those of vale, which is not in the package registries; where it is installed, it
reads the same files. Code, names and addresses are not looked at.

    python .ci/prose.py [FILE ...]
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
STYLES = ROOT / "styles" / "psips"
KINDS = (".md", ".py", ".h", ".cpp", ".html", ".js")
SKIPPED = (
    *("styles/", "tests/formats/", "docs/calibration", "docs/results.md", ".ci/prose.py"),
    *("benchmarks/cores/instances.py", "tests/test_prose.py"),  # names of stored runs, samples
)
FENCE = re.compile(r"^ {0,8}(```|~~~).*?^ {0,8}\1", re.S | re.M)
QUIET = re.compile(  # no prose: code, addresses, comments of HTML, tags, fields of templates
    r"``[^`]*``|`[^`]*`|\]\([^)]*\)|<!--.*?-->|<(?:script|style).*?</(?:script|style)>|<[^>]*>"
    r"|\{\{.*?\}\}|\{%.*?%\}|https?://\S+",
    re.S,
)


class Rule(NamedTuple):
    """A pattern, and what to say of what it finds."""

    pattern: re.Pattern[str]
    said: str


class Piece(NamedTuple):
    """Some text, and the line at which it begins."""

    line: int
    text: str


def rules() -> list[Rule]:
    """Read the rules; those with a swap and those with tokens."""
    found = []
    for path in sorted(STYLES.glob("*.yml")):
        style = yaml.safe_load(path.read_text(encoding="utf-8"))
        flags = re.IGNORECASE if style.get("ignorecase") else 0
        edge = "" if style.get("nonword") else r"\b"
        for words in [*style.get("swap", {}), *style.get("tokens", [])]:
            better = style.get("swap", {}).get(words)
            said = style["message"].replace("%s", better, 1) if better else style["message"]
            pattern = re.compile(f"{edge}(?:{words})".replace(" ", r"\s+") + edge, flags)
            found.append(Rule(pattern, said))
    return found


def _blank(found: re.Match[str]) -> str:
    """Leave nothing of what was found but its lines."""
    return "\n" * found[0].count("\n") or " "


def _of_python(text: str) -> Iterator[Piece]:
    """Yield comments, docstrings, and strings with a space in them."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield Piece(token.start[0], token.string)
    for node in ast.walk(ast.parse(text)):
        value = getattr(node, "value", None)
        if isinstance(node, ast.Constant) and isinstance(value, str) and " " in value:
            yield Piece(node.lineno, re.sub(r"^\s*(>>>|\.\.\.) .*$", "", value, flags=re.M))


def pieces(path: Path) -> Iterator[Piece]:
    """Yield what people read in a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        found = list(_of_python(text))
    elif path.suffix in (".h", ".cpp", ".js"):
        lines = enumerate(text.splitlines(), start=1)
        found = [Piece(n, line.split("//", 1)[1]) for n, line in lines if "//" in line]
    else:
        found = [Piece(1, FENCE.sub(_blank, text))]
    for piece in found:
        yield Piece(piece.line, QUIET.sub(_blank, piece.text))


def findings(path: Path, known: list[Rule]) -> Iterator[str]:
    """Yield a line for each word in a file that has a better one."""
    for piece in pieces(path):
        for rule in known:
            for found in rule.pattern.finditer(piece.text):
                line = piece.line + piece.text.count("\n", 0, found.start())
                word = " ".join(found[0].split())
                where = path.relative_to(ROOT).as_posix()
                yield f"{where}:{line}: {rule.said.replace('%s', word)}"


def files() -> list[Path]:
    """Return what is looked at: what git knows, less what commands write and what is stored."""
    listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True)
    names = [name for name in listed.splitlines() if name.endswith(KINDS)]
    return [ROOT / name for name in names if not name.startswith(SKIPPED)]


def main() -> None:
    """Print what was found; exit code 1 if anything was."""
    known = rules()
    given = [Path(name).resolve() for name in sys.argv[1:]] or files()
    found = [line for path in given for line in findings(path, known)]
    print("\n".join(found) or "no words that the glossary forbids")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
