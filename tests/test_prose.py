"""The words that the glossary forbids are found where people read, and only there."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("prose", ROOT / ".ci" / "prose.py")
assert SPEC is not None
assert SPEC.loader is not None
pytest.importorskip("yaml")
prose = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(prose)


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.md", "It works.\n\nIt is drawn anew.\n", [3]),
        ("a.md", "`anew` and\n```\nbeside\n```\n[x](anew.html)\n", []),
        ("a.md", "It counts in the\nplace of another.\n", [1]),
        ("a.py", '"""Drawn."""\nx = 1  # beside it\n', [2]),
        ("a.py", 'def anew() -> str:\n    return f"{1} is beside the point"\n', [2]),
        ("a.h", "int beside = 1;  // what nobody reads\n", [1]),
        ("a.html", "<p class='anew'>{{ beside }}</p>\n<p>Nobody</p>\n", [2]),
    ],
)
def test_forbidden_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, lines: list[int]
) -> None:
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    path = tmp_path / name
    path.write_text(text)
    found = list(prose.findings(path, prose.rules()))
    assert [int(line.split(":")[1]) for line in found] == lines
