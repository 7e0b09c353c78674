"""What the pages show is what happens: every block of code on them is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages import blocks_of, run_page

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("reference/*.md"))]
KINDS = {"", "text", "python", "console", "sh", "toml", "csv", "ini", "nginx", "dockerfile"}
KINDS |= {"bibtex", "json", "yaml"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_true(page: Path, tmp_path: Path) -> None:
    wrong = run_page(page.name, page.read_text(encoding="utf-8"), tmp_path)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_are_of_a_kind_that_is_known(page: Path) -> None:
    kinds = {block.kind for block in blocks_of(page.read_text(encoding="utf-8"))}
    assert kinds <= KINDS


FALSE = {
    "a value": "```python\n>>> 1 + 1\n3\n```\n",
    "an error": "```python\n>>> 1 / 0\n```\n",
    "what a command prints": "```console\n$ echo one\ntwo\n```\n",
    "a code": "```console\n$ exit 2\n```\n",
    "a code that did not come": "```console\n$ exit 0\n[code 2]\n```\n",
    "a file": "`a.csv`:\n\n```csv\nx\n```\n\n```console\n$ cat a.csv\ny\n```\n",
    "sh": "```sh\nfalse\n```\n",
    "a table": "```toml\na = \n```\n",
    "python that no one runs": "```python\nprint(1)\n```\n",
}


@pytest.mark.parametrize("page", FALSE.values(), ids=FALSE)
def test_a_page_that_is_not_true_is_seen(page: str, tmp_path: Path) -> None:
    assert len(run_page("false", page, tmp_path)) == 1


def test_a_page_that_is_true(tmp_path: Path) -> None:
    page = (
        "```python\n>>> x = 2\n```\n"
        "```python\n>>> x + 1\n3\n```\n"
        "`a.csv`:\n\n```csv\nx\n```\n\n"
        "```console\n$ cat a.csv\nx\n$ echo one \\\n    two\none two\n$ exit 3\n[code 3]\n```\n"
        "<!-- not run: it would take hours -->\n```sh\nfalse\n```\n"
        "```text\n$ false\n```\n"
        "- in a list\n\n  ```console\n  $ echo here\n  here\n  ```\n"
    )
    assert run_page("true", page, tmp_path) == []
    assert [block.left_out for block in blocks_of(page)].count("it would take hours") == 1
