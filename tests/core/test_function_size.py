"""No function of the core is longer than 80 lines, or nested deeper than five levels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CORE = Path(__file__).resolve().parents[2] / "src" / "core"
LINES, LEVELS, INDENT = 80, 5, 4
STEPS = re.compile(r"^( *)(?=(?:for|while|if|switch|do|else)\b)", re.M)
AROUND = re.compile(r"\b(namespace|class|struct|enum|union)\b[^()]*$")  # what is no function
TEXTS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*.*?\*/', re.S)


def functions(source: str) -> Iterator[tuple[int, int, int]]:
    """Yield first line, number of lines and levels of loops and cases of each function."""
    code = TEXTS.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    code = re.sub(r"^#.*$", "", code, flags=re.M)
    opened: list[bool] = []  # of each open brace: whether it is of a function
    begin = last = 0
    for place, sign in ((found.start(), found[0]) for found in re.finditer(r"[{};]", code)):
        if sign == "{":
            opened.append(any(opened) or not AROUND.search(code[last:place]))
            if sum(opened) == 1 and opened[-1]:
                begin = code.rfind("\n", 0, place) + 1
        elif sign == "}" and opened.pop() and not any(opened):
            whole = code[begin:place]
            margin = len(whole) - len(whole.lstrip(" "))
            nested = [(len(one) - margin) // INDENT for one in STEPS.findall(whole)]
            first = code.count("\n", 0, begin) + 1
            yield first, whole.count("\n") + 1, max(nested, default=0)
        last = place + 1


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.[hc]*")), ids=lambda path: path.name)
def test_functions_are_short_and_flat(path: Path) -> None:
    large = [
        f"{path.name}:{line}: {lines} lines, {levels} levels"
        for line, lines, levels in functions(path.read_text())
        if lines > LINES or levels > LEVELS
    ]
    assert not large


def test_what_is_long_or_deep_is_found() -> None:
    long = "    int f() {\n" + "        g();\n" * 90 + "    }\n"
    deep = "void f() {\n" + "".join("    " * k + "if (a)\n" for k in range(1, 7)) + "b();\n}\n"
    found = list(functions(f"namespace n {{\nstruct S {{\n{long}}};\n{deep}}}\n"))
    assert found == [(3, 92, 0), (96, 9, 6)]
