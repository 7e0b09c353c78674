"""Small files that are anything but small when they are read."""

from __future__ import annotations

import io
import struct
import zipfile

SHEET = "xl/worksheets/sheet1.xml"
TEXTS = "xl/sharedStrings.xml"
SHARED = (
    f'<Override PartName="/{TEXTS}" ContentType="application/vnd.openxmlformats-officedocument'
    '.spreadsheetml.sharedStrings+xml"/>'
).encode()
SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
ROWS = [["arm", "efficacy", "toxicity"], ["A", 1, 2], ["B", 3, 4]]


def empty_cell_in_the_last_row() -> bytes:
    """A table of three rows, and a cell in row 1,048,576 with a format and nothing in it."""
    import openpyxl

    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.active.cell(1_048_576, 1).font = openpyxl.styles.Font(bold=True)
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def workbook(
    rows: bytes, times: int = 1, part: str = SHEET, after: str = "", texts: str | None = None
) -> bytes:
    """A workbook with one part replaced: its sheet has these rows, over and over."""
    import openpyxl

    plain, data = io.BytesIO(), io.BytesIO()
    openpyxl.Workbook().save(plain)
    heads = {
        SHEET: (f"<worksheet {SPACE}><sheetData>", f"</sheetData>{after}</worksheet>"),
        "xl/styles.xml": (f"<styleSheet {SPACE}><cellXfs>", "</cellXfs></styleSheet>"),
    }
    with (
        zipfile.ZipFile(plain) as source,
        zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as made,
    ):
        for member in source.infolist():
            if member.filename != part:
                copied = source.read(member)
                if texts is not None:
                    copied = copied.replace(b"</Types>", SHARED + b"</Types>")
                made.writestr(member.filename, copied)
                continue
            with made.open(part, "w") as file:
                file.write(heads[part][0].encode())
                for _ in range(times):
                    file.write(rows)
                file.write(heads[part][1].encode())
        if texts is not None:
            made.writestr(TEXTS, f"<sst {SPACE}>{texts}</sst>")
    return data.getvalue()


def sheet_of_300_megabytes() -> bytes:
    row = b"<row>" + b"<c><v>1</v></c>" * 1000 + b"</row>"
    return workbook(row, 300_000_000 // len(row))


def styles_without_end() -> bytes:
    """50 MB of formats, which take minutes and gigabytes to read."""
    return workbook(b"<xf/>" * 1000, 10_000, part="xl/styles.xml")


def validation_of_90_megabytes() -> bytes:
    """One attribute, of which each three letters become objects, and which expat rereads."""
    areas = "A1 " * 30_000_000
    after = f'<dataValidations><dataValidation sqref="{areas}"/></dataValidations>'
    return workbook(b"<row><c><v>1</v></c></row>", after=after)


def two_million_links() -> bytes:
    links = '<hyperlink ref="A1"/>' * 2_000_000
    return workbook(b"<row><c><v>1</v></c></row>", after=f"<hyperlinks>{links}</hyperlinks>")


def four_million_texts() -> bytes:
    return workbook(b"<row><c><v>1</v></c></row>", texts="<si><t>A</t></si>" * 4_000_000)


def one_long_text_in_many_cells() -> bytes:
    """27 GB of text, 3 MB of which is in the file."""
    row = b'<row><c t="s"><v>0</v></c></row>'
    return workbook(row, 9_000, texts=f"<si><t>{'A' * 3_000_000}</t></si>")


def said_to_be_small(data: bytes, size: int = 50_000) -> bytes:
    """The same workbook, with a directory that says that its sheet is smaller."""
    changed = bytearray(data)
    at = data.find(b"PK\x01\x02")
    while at >= 0:
        length = struct.unpack_from("<H", data, at + 28)[0]
        if data[at + 46 : at + 46 + length] == SHEET.encode():
            struct.pack_into("<I", changed, at + 24, size)
        at = data.find(b"PK\x01\x02", at + 4)
    assert bytes(changed) != data
    return bytes(changed)


def parquet_of_50_million_rows() -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    part = pa.table({"efficacy": pa.array([0], pa.int8())}).take([0] * 1_000_000)
    data = io.BytesIO()
    with parquet.ParquetWriter(data, part.schema, compression="zstd") as file:
        for _ in range(50):
            file.write_table(part)
    return data.getvalue()


def parquet_of_one_long_text(rows: int = 1000, stored: bool = True) -> bytes:
    """5 MB of text that are stored once and stand in every row."""
    import pyarrow as pa
    from pyarrow import parquet

    text = pa.array(["A" * 5_000_000])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), text)
    data = io.BytesIO()
    table = pa.table({"arm": column})
    parquet.write_table(table, data, compression="zstd", store_schema=stored)
    return data.getvalue()


def parquet_of_one_long_plain_text() -> bytes:
    """The same, in a column that is not declared to have few different values."""
    return parquet_of_one_long_text(stored=False)
