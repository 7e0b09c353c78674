"""Tables as people keep them: every dialect gives the same cells, and doubt is refused."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hostile_files
from psips.errors import InputError
from psips.input.tabular import read_grid
from psips.input.tabular.isolated import read_upload
from psips.problem.problem_file import read_problem_file

CELLS = [["A", "1.5", "-2e-3"], ["B, late", "0.25", "3"]]


def read(folder: Path, data: str | bytes, name: str = "r.csv", **options: Any) -> Any:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_grid(path, **options)


@pytest.mark.parametrize(
    "text",
    [
        'arm,x,y\nA,1.5,-2e-3\n"B, late",0.25,3\n',
        "arm;x;y\nA;1.5;-2e-3\nB, late;0.25;3\n",
        "arm;x;y\r\nA;1,5;-2e-3\r\nB, late;0,25;3\r\n",
        "arm\tx\ty\nA\t1,5\t-2e-3\nB, late\t0,25\t3\n",
        "\ufeff arm ; x;y \nA ; 1,5;-2e-3\n B, late;0,25;3\n",
        '"arm";"x";"y"\n"A";"1,5";"-2e-3"\n"B, late";"0,25";"3"\n',
        "\n;;\narm;x;y\n\nA;1,5;-2e-3\n;;\nB, late;0,25;3",
        "arm;x;y;;\nA;1,5;-2e-3;;\nB, late;0,25;3;;\n",
        "arm;x;y;;\nA;1,5;-2e-3\nB, late;0,25;3\n",
        "sep=;\narm;x;y\nA;1,5;-2e-3\nB, late;0,25;3\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_every_dialect_says_the_same(tmp_path: Path, text: str, encoding: str) -> None:
    if encoding == "utf-16" and text.startswith("\ufeff"):
        text = text[1:]
    grid = read(tmp_path, text.encode(encoding)).with_points(["x", "y"])
    assert grid.header == ["arm", "x", "y"]
    assert [cells for _, cells in grid.lines] == CELLS


def test_lines_have_the_numbers_an_editor_shows(tmp_path: Path) -> None:
    grid = read(tmp_path, 'sep=;\n\narm;note\nA;"two\nlines"\n\nB;one\n')
    assert [number for number, _ in grid.lines] == [5, 7]
    assert grid.place(7) == "r.csv line 7"


def test_the_separator_is_that_of_all_lines(tmp_path: Path) -> None:
    comma = read(tmp_path, "arm,yield;dry,cost\nA,1,2\n")
    assert (comma.separator, comma.header[1]) == (",", "yield;dry")
    semicolon = read(tmp_path, "arm;yield, dry;cost\nA;1,5;2\nB;1,5;2,5\n")
    assert (semicolon.separator, semicolon.header[1]) == (";", "yield, dry")
    quoted = read(tmp_path, '"arm; name",x\nA,1\n')
    assert (quoted.separator, quoted.header) == (",", ["arm; name", "x"])
    assert read(tmp_path, "arm\nA\nB\n").header == ["arm"]


def test_commas_of_other_columns_stay(tmp_path: Path) -> None:
    text = "arm;x;version\nA;1,5;2.5\nB;1,25;2,5\n"
    grid = read(tmp_path, text)
    assert [c for _, c in grid.with_points(["x"]).lines] == [
        ["A", "1.5", "2.5"],
        ["B", "1.25", "2,5"],
    ]
    assert grid.dialect(["x"]) == "cells separated by semicolons, decimal commas"
    assert grid.dialect(["arm"]) == "cells separated by semicolons"
    with pytest.raises(
        InputError, match=r"decimal commas \(line 2: '1,5'\) and decimal points"
    ):
        grid.with_points(["x", "version"])


def test_a_comma_before_three_digits(tmp_path: Path) -> None:
    """With semicolons it is decimal; with tabs another number has to tell."""
    semicolons = read(tmp_path, "arm;x\nA;1,234\n").with_points(["x"])
    assert semicolons.lines == [(2, ["A", "1.234"])]
    with pytest.raises(InputError, match="line 2: '1,234' may have a decimal comma or a comma"):
        read(tmp_path, "arm\tx\nA\t1,234\nB\t12,500\n").with_points(["x"])
    told = read(tmp_path, "arm\tx\nA\t1,234\nB\t0,5\n").with_points(["x"])
    assert told.lines == [(2, ["A", "1.234"]), (3, ["B", "0.5"])]
    commas = read(tmp_path, 'arm,x\nA,"1,234"\n').with_points(["x"])
    assert commas.lines == [(2, ["A", "1,234"])]  # and is refused as a number


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_numbers_survive_every_dialect(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("n")
    for separator, mark in ((",", "."), (";", "."), (";", ","), ("\t", ".")):
        rows = [f"A{separator}{repr(x).replace('.', mark)}" for x in numbers]
        text = "\n".join([f"arm{separator}x", *rows])
        grid = read(folder, text).with_points(["x"])
        assert [float(cells[1]) for _, cells in grid.lines] == numbers


BAD = [
    (b"", "r.csv is empty: it needs a header line"),
    (b"\n\n;;\n", "r.csv is empty"),
    (
        b"arm;x,y\nA;1,2\n",
        "semicolons and commas in its header, and the lines below do not show",
    ),
    (
        b"arm;x,y\nA;1;2\n",
        "semicolons and commas in its header, and the lines below do not show",
    ),
    (b'arm,x\n"A,1\n', "r.csv is not a CSV file: "),
    (b"arm,x\nM\xfcller,1\n", "is not in UTF-8: byte 8 cannot be read; save it as 'CSV UTF-8'"),
    (b"\xff\xfea", "is not in UTF-16, as its first bytes say"),
    (b"arm,x\nA\0,1\n", "r.csv is not a table: it has NUL characters"),
    (b"PK\x03\x04 no book", "r.csv cannot be read as an Excel file"),
    (b"PAR1 nothing PAR1", "r.csv cannot be read as a Parquet file"),
    (bytes.fromhex("d0cf11e0a1b11ae1") + b"old", "r.csv is a file of old Excel"),
]


@pytest.mark.parametrize(("data", "sentence"), BAD)
def test_what_is_no_table(tmp_path: Path, data: bytes, sentence: str) -> None:
    if b"PAR1" in data:
        pytest.importorskip("pyarrow")
    with pytest.raises(InputError) as caught:
        read(tmp_path, data)
    assert sentence in str(caught.value)


def book(*sheets: tuple[str, list[list[Any]]]) -> bytes:
    """An Excel file."""
    openpyxl = pytest.importorskip("openpyxl")
    made = openpyxl.Workbook()
    made.remove(made.active)
    for title, rows in sheets:
        sheet = made.create_sheet(title)
        for row in rows:
            sheet.append(row)
    data = io.BytesIO()
    made.save(data)
    return data.getvalue()


ROWS = [
    ["arm ", "x", "when"],
    ["A", 1.5, date(2026, 3, 2)],
    [],
    [7, 2, datetime(2026, 3, 2, 14)],
]


def test_an_excel_sheet(tmp_path: Path) -> None:
    grid = read(tmp_path, book(("May", ROWS), ("empty", [])), "r.xlsx")
    assert grid.header == ["arm", "x", "when"]
    assert grid.lines == [
        (2, ["A", "1.5", "2026-03-02"]),
        (4, ["7", "2", "2026-03-02 14:00:00"]),
    ]
    assert grid.place(4) == "r.xlsx row 4"


def test_one_of_several_sheets(tmp_path: Path) -> None:
    data = book(("May", ROWS), ("June", [["arm"], ["B"]]))
    with pytest.raises(
        InputError, match="has the sheets 'May', 'June': say which with --sheet"
    ):
        read(tmp_path, data)
    with pytest.raises(InputError, match=r"unknown sheet of r.csv 'june': did you mean 'June'"):
        read(tmp_path, data, sheet="june")
    assert read(tmp_path, data, sheet="June").lines == [(2, ["B"])]
    with pytest.raises(InputError, match=r"r.csv is not an Excel file, so it has no sheet"):
        read(tmp_path, "arm\nA\n", sheet="June")
    with pytest.raises(InputError, match=r"r.csv is empty"):
        read(tmp_path, book(("only", [])))


def test_a_formula_without_its_value(tmp_path: Path) -> None:
    """A cell that Excel has not worked out must not pass for an empty one."""
    with pytest.raises(
        InputError, match="cell B2 has a formula whose value is not in the file"
    ):
        read(tmp_path, book(("May", [["arm", "x"], ["A", "=1+1"]])))


def test_a_parquet_file(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pandas as pd

    frame = pd.DataFrame(
        {"arm": ["A", "B"], " x": [1.5, None], "n": [1, 2], "ok": [True, False]}
    )
    frame.to_parquet(tmp_path / "r.parquet")
    grid = read_grid(tmp_path / "r.parquet")
    assert grid.header == ["arm", "x", "n", "ok"]
    assert grid.lines == [(1, ["A", "1.5", "1", "TRUE"]), (2, ["B", "", "2", "FALSE"])]
    assert grid.place(2) == "r.parquet row 2"


@pytest.mark.parametrize(
    ("package", "data", "extra"),
    [("openpyxl", b"PK\x03\x04", "psips[excel]"), ("pyarrow", b"PAR1", "psips[parquet]")],
)
def test_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, data: bytes, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError) as caught:
        read(tmp_path, data)
    assert extra in str(caught.value)


def test_tables_next_to_a_problem_file(tmp_path: Path) -> None:
    (tmp_path / "arms.csv").write_text("arm;u;v\na;0,5;0\nb;0;1,25\nc;1;1\n")
    (tmp_path / "r.xlsx").write_bytes(book(("s", [["arm", "x"], ["a", 1], ["b", 2.5]])))
    (tmp_path / "p.toml").write_text(
        'arms = "arms.csv"\nresults = "r.xlsx"\nobjectives = ["x"]\ncovariance = [1.0]\n'
    )
    file = read_problem_file(tmp_path / "p.toml")
    assert file.problem.features is not None
    assert file.problem.features[:, :2].tolist() == [[0.5, 0.0], [0.0, 1.25], [1.0, 1.0]]
    assert file.results is not None
    assert file.results.values.tolist() == [[1.0], [2.5]]
    (tmp_path / "r.xlsx").write_bytes(book(("s", [["arm", "x"], ["a", 1], ["B", 2.5]])))
    with pytest.raises(InputError, match=r"r.xlsx row 3: unknown arm 'B': did you mean 'b'"):
        read_problem_file(tmp_path / "p.toml")


# Small files that unpack to large ones


def test_a_format_in_the_last_row_costs_nothing(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    data = hostile_files.empty_cell_in_the_last_row()
    assert len(data) < 6000
    began, memory = time.process_time(), peak()
    grid = read(tmp_path, data, "r.xlsx")
    assert grid.lines == [(2, ["A", "1", "2"]), (3, ["B", "3", "4"])]
    assert time.process_time() - began < 5
    assert peak() - memory < 100


def test_formats_outside_the_table_cost_nothing(tmp_path: Path) -> None:
    """Formatted rows to the last column of all do not make it a wide table."""
    pytest.importorskip("openpyxl")
    rows = [
        f'<row r="{n}"><c r="A{n}" t="inlineStr"><is><t>a{n}</t></is></c>'
        f'<c r="XFD{n}" s="0"/></row>'
        for n in range(1, 3001)
    ]
    began = time.process_time()
    grid = read(tmp_path, hostile_files.workbook("".join(rows).encode()), "r.xlsx")
    assert grid.header == ["a1"]
    assert grid.lines[-1] == (3000, ["a3000"])
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        ("sheet_of_300_megabytes", r"unpacked it has 300,\d{3},\d{3} bytes, and at most"),
        ("styles_without_end", r"has 50,\d{3},\d{3} bytes of formats or names"),
        ("validation_of_90_megabytes", "more than 2,000,000 bytes of validation, links"),
        ("two_million_links", "more than 2,000,000 bytes of validation, links"),
        ("four_million_texts", "2,001,000 cells or more, .* at most 2,000,000"),
        ("one_long_text_in_many_cells", "unpacked it has .* bytes, and at most 100,000,000"),
        ("parquet_of_50_million_rows", "50,000,000 cells or more, .* at most 2,000,000"),
        ("parquet_of_one_long_text", "unpacked it has .* bytes, and at most"),
        ("parquet_of_one_long_plain_text", "unpacked it has .* bytes, and at most"),
    ],
)
def test_what_is_too_large_is_refused_unread(tmp_path: Path, make: str, sentence: str) -> None:
    pytest.importorskip("openpyxl")
    pytest.importorskip("pyarrow")
    import pyarrow.parquet  # noqa: F401  (its own memory)

    data = getattr(hostile_files, make)()
    assert len(data) < 1_000_000
    began, memory = time.process_time(), peak()
    with pytest.raises(InputError, match=sentence):
        read(tmp_path, data)
    assert time.process_time() - began < 5
    assert peak() - memory < 400


ODD = [
    (b'<row r="1"><c r="ZZZZZZZ1"><v>1</v></c></row>', "cannot be read as an Excel file"),
    (b'<row r="9999999999"><c><v>1</v></c></row>', "cannot be read as an Excel file"),
    (
        b'<row r="2"><c r="A2"><v>1</v></c></row><row r="1"><c r="A1"><v>2</v></c></row>',
        "cannot be read as an Excel file",
    ),
    (b'<row r="1"><c r="A2"><v>1</v></c></row>', "cannot be read as an Excel file"),
    (b'<row r="1"><c r="A1"><v>1</v>', "cannot be read as an Excel file"),
    (
        b'<row r="1"><c r="A1"><v>1</v></c></row>'
        b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
        "cells as far away as column XFD and row 1,048,576",
    ),
    (b"<row>" + b"<c/>" * 2_000_001 + b"</row>", "2,000,001 cells or more"),
]


@pytest.mark.parametrize(("rows", "sentence"), ODD)
def test_sheets_that_no_one_made_by_hand(tmp_path: Path, rows: bytes, sentence: str) -> None:
    pytest.importorskip("openpyxl")
    began, memory = time.process_time(), peak()
    with pytest.raises(InputError, match=sentence):
        read(tmp_path, hostile_files.workbook(rows))
    assert time.process_time() - began < 10
    assert peak() - memory < 200


def test_a_directory_that_lies(tmp_path: Path) -> None:
    """No more is unpacked than the directory says."""
    pytest.importorskip("openpyxl")
    row = b"<row>" + b"<c><v>1</v></c>" * 1000 + b"</row>"
    data = hostile_files.said_to_be_small(hostile_files.workbook(row, 6000))
    began = time.process_time()
    with pytest.raises(InputError, match="cannot be read as an Excel file"):
        read(tmp_path, data)
    assert time.process_time() - began < 2


def peak() -> float:
    """The most memory that this process has had, in MB."""
    resource = pytest.importorskip("resource")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_an_upload_costs_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no limit tells beforehand is bounded by the system: time, and memory."""
    pytest.importorskip("openpyxl")
    pytest.importorskip("resource")
    monkeypatch.setattr("psips.input.tabular.isolated.SECONDS", 0.05)
    with pytest.raises(InputError, match=r"r\.x could not be read in 0\.05 seconds"):
        read_upload("r.x", book(("May", ROWS)), 1000)
    script = "from psips.input.tabular.isolated import _limit; {}bytearray(1_100_000_000)"
    ends = [
        subprocess.run([sys.executable, "-c", script.format(first)], stderr=subprocess.DEVNULL)
        for first in ("", "_limit(); ")
    ]
    assert [one.returncode == 0 for one in ends] == [True, False]


def test_an_upload_is_read_like_a_file(tmp_path: Path) -> None:
    data = book(("May", ROWS))
    assert read_upload("r.xlsx", data, 2) == read(tmp_path, data, "r.xlsx")
    for long in (data, b"arm\nA\nB\n"):
        with pytest.raises(InputError, match=r"has 2 rows, and at most 1 are taken"):
            read_upload("r.x", long, 1)
    with pytest.raises(InputError, match="cannot be read as a Parquet file"):
        read_upload("r.x", b"PAR1 nothing PAR1", 1)


def test_title_rows_of_a_sheet_are_left_out(tmp_path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (
        ["Trial of May", None, None, None],
        [],
        ["Responsible:", "Kim", None, None],
        ["arm", "efficacy", "cost", "site"],
        ["A", 1.5, 2, "north"],
        ["B", None, 3, None],
    ):
        book.active.append(row)
    book.save(tmp_path / "may.xlsx")
    grid = read_grid(tmp_path / "may.xlsx")
    assert grid.header == ["arm", "efficacy", "cost", "site"]
    assert grid.lines == [(5, ["A", "1.5", "2", "north"]), (6, ["B", "", "3", ""])]
    assert grid.dialect(["efficacy"]) == "2 rows above the header left out"
