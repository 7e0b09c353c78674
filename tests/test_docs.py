"""What the documents name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = [p.name for p in (ROOT / "src" / "psips").iterdir() if (p / "__init__.py").exists()]


def missing_links(page: Path, text: str) -> list[str]:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    return [link for link in links if not (page.parent / link).exists()]


def missing_modules(text: str) -> list[str]:
    named = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./]*)`", text)
    return [name for name in named if not (ROOT / "src" / "psips" / name).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    assert missing_links(page, page.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_that_are_named_exist(page: Path) -> None:
    assert missing_modules(page.read_text()) == []


def test_missing_ones_are_seen() -> None:
    page = ROOT / "docs" / "studies.md"
    assert missing_links(page, "[a](figures/how/known.png), [b](nowhere.md#x)") == [
        "nowhere.md"
    ]
    assert missing_modules("`kernels/loop.py` and `kernels/run.py`") == ["kernels/run.py"]


def test_every_layer_is_in_the_table_of_contributing() -> None:
    table = (ROOT / "CONTRIBUTING.md").read_text()
    assert [name for name in FOLDERS if f"| `{name}/` |" not in table] == []
