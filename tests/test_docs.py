"""What the documents name exists."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

import psips

ROOT = Path(__file__).parents[1]
PACKAGE = Path(psips.__file__).parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = [p.name for p in PACKAGE.iterdir() if (p / "__init__.py").exists()]


def missing_links(page: Path, text: str) -> list[str]:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    return [link for link in links if not (_source_of(page, link)).exists()]


def _source_of(page: Path, link: str) -> Path:
    """The gallery is made from the examples when the site is built."""
    name = link.partition("gallery/")[2]
    if not name:
        return page.parent / link
    return ROOT / "examples" / ("README.rst" if name == "index" else f"{name}.py")


def missing_modules(text: str) -> list[str]:
    named = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./]*)`", text)
    return [name for name in named if not (PACKAGE / name).exists()]


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
    assert missing_modules("`state/run.py` and `state/loop.py`") == ["state/loop.py"]


def test_every_layer_is_in_the_table_of_contributing() -> None:
    table = (ROOT / "CONTRIBUTING.md").read_text()
    assert [name for name in FOLDERS if f"| `{name}/` |" not in table] == []


def test_the_costs_of_rules_are_those_that_were_measured() -> None:
    import csv
    import math

    def rows_of(rule: str) -> dict[str, float]:
        with (ROOT / "docs" / "calibration.csv").open() as file:
            return {
                row["family"]: float(row["mean_samples"])
                for row in csv.DictReader(file)
                if row["rule"] == rule and float(row["delta"]) == 0.1
            }

    page = (ROOT / "docs" / "choose.md").read_text()
    default, ordinary = rows_of("glr measured"), rows_of("glr proven")
    seen = 0
    for line in re.findall(r"^\| `.*", page, re.M):
        name, _, mean, span = [cell.strip() for cell in line.split("|")[1:5]]
        rule = name.replace("`", "").replace(",", "").replace("sharp", "sharp kappa=2")
        ratios = [
            found / default[family]
            for family, found in rows_of(rule).items()
            if family in ordinary and family in default
        ]
        if not ratios or not span:
            continue
        seen += 1
        shown = [float(mean), *map(float, span.split(" to "))]
        middle = math.exp(sum(map(math.log, ratios)) / len(ratios))
        for said, is_so in zip(shown, (middle, min(ratios), max(ratios)), strict=True):
            assert abs(said / is_so - 1) < 0.05, (name, said, is_so)
    assert seen == 8


def test_what_llms_txt_links_to_exists() -> None:
    file = ROOT / "llms.txt"
    assert missing_links(file, file.read_text()) == []


def test_llms_txt_names_every_page() -> None:
    text = (ROOT / "llms.txt").read_text()
    pages = [page.relative_to(ROOT).as_posix() for page in PAGES if "docs" in page.parts]
    made = [page for page in pages if "_build" in page or "_generated" in page]
    left_out = {"docs/index.md", *made}
    assert [page for page in pages if page not in left_out and f"({page})" not in text] == []


def test_there_is_one_version() -> None:
    import tomllib

    from psips import __version__

    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == __version__


def test_links_of_the_site_that_lead_nowhere_are_seen(tmp_path: Path) -> None:
    import runpy

    check = runpy.run_path(str(ROOT / "docs" / "links.py"))["check"]
    page = '<p id="here"><a href="b.html#there">x</a><a href="https://host/">y</a></p>'
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b.html").write_text('<a id="there" href="a.html#here">z</a>')
    assert check(tmp_path) == ([], 1)
    for wrong in (
        'href="c.html"',
        'href="b.html#nothing"',
        'src="c.png"',
        'href="http://host/"',
    ):
        (tmp_path / "a.html").write_text(f'<p id="here"><a {wrong}>x</a></p>')
        assert len(check(tmp_path)[0]) == 1, wrong


def test_the_table_of_networks_is_still_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["items_example.py", "--images", "30"])
    runpy.run_path(str(ROOT / "docs" / "items_example.py"), run_name="__main__")
    assert "Pareto set of these items: " in capsys.readouterr().out


def test_the_pictures_of_the_first_pages_are_still_made(tmp_path: Path) -> None:
    """With the numbers that README and start.md have; the script looks at them."""
    made = runpy.run_path(str(ROOT / "docs" / "pictures.py"), run_name="pictures")
    for draw in (made["front"], made["demo"]):
        draw.__globals__["FOLDER"] = tmp_path
        draw()
    named = sorted(file.name for file in tmp_path.iterdir())
    assert named == ["demo.png", "found.png", "front.png", "patients.png"]
