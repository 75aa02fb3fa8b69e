"""Small files cannot fill the memory: what unpacks to far too much is refused, before or while it is unpacked."""

import gzip
import io
import re
import zipfile

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.errors import DataError
from shoal.io import csv_stream, excel, read, unpacking
from shoal.io.parts import parts_of

MIB = 2**20


@pytest.fixture
def small(monkeypatch):
    """Let files unpack to 64 KiB, or to a few times their size."""
    monkeypatch.setattr(unpacking, "LARGEST", 2**16)


ROWS = 40_000
LINES = {
    "csv": b"a,b\n" + b"the same text,in each row\n" * ROWS,
    "jsonl": b'{"a": "the same text in each row"}\n' * ROWS,
}
PACK = {"gz": gzip.compress, "zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True)}


@pytest.fixture(params=[f"t.{text}.{pack}" for text in LINES for pack in PACK])
def packed(tmp_path, request):
    """Return a file of which each row is the same, and the number of bytes that it unpacks to."""
    _, text, pack = request.param.split(".")
    path = tmp_path / request.param
    path.write_bytes(PACK[pack](LINES[text]))
    return path, len(LINES[text])


def test_text_files(packed, small, monkeypatch):
    path, _ = packed
    with pytest.raises(DataError, match=r"at most 0 MiB, or 200 times its size, when it is unpacked"):
        read(path)
    monkeypatch.setattr(csv_stream, "TIMES", 10**5)
    assert read(path).table.num_rows == ROWS
    monkeypatch.setattr(unpacking, "LARGEST", 2**29)
    monkeypatch.setattr(csv_stream, "TIMES", 1)
    assert read(path).table.num_rows == ROWS


def test_they_are_not_unpacked_beyond_their_limit(packed, small, monkeypatch):
    path, whole = packed
    monkeypatch.setattr(csv_stream, "TIMES", 1)
    real, unpacked = csv_stream.opened_raw, []

    class Small(io.RawIOBase):
        def __init__(self, hashed, compression):
            self.stream = real(hashed, compression)
            unpacked.append(0)

        def read(self, size):
            chunk = self.stream.read(min(size, 1000))
            unpacked[-1] += len(chunk)
            return chunk

    monkeypatch.setattr(csv_stream, "opened_raw", Small)
    with pytest.raises(DataError, match=r"unpack it yourself\."):
        read(path)
    assert 2**16 < max(unpacked) <= 2**16 + 1000 < whole


# --- workbooks ---


def workbook(path, rows=30):
    book = openpyxl.Workbook()
    for row in (["age", "town"], *([20 + i, f"t{i % 3}"] for i in range(rows))):
        book.active.append(row)
    book.save(path)
    return path


def changed(path, entry, change):
    """Change one entry of a packed file."""
    with zipfile.ZipFile(path) as archive:
        content = {one.filename: archive.read(one) for one in archive.infolist()}
    content[entry] = change(content.get(entry, b""))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)


SHEET = "xl/worksheets/sheet1.xml"


@pytest.mark.parametrize("look", [read, parts_of])
def test_a_workbook_that_unpacks_to_too_much_is_refused_before_it_is_read(tmp_path, small, monkeypatch, look):
    path = workbook(tmp_path / "t.xlsx")
    assert look(path)
    changed(path, SHEET, lambda xml: xml.replace(b"<sheetData>", b" " * 8 * MIB + b"<sheetData>"))
    monkeypatch.setattr(openpyxl, "load_workbook", None)  # nothing of it is unpacked
    with pytest.raises(DataError, match="must have at most 0 MiB, or 100 times its size, when it is unpacked"):
        look(path)
    monkeypatch.undo()
    assert look(path)


def test_what_is_no_workbook_is_still_said(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04 no more")
    with pytest.raises(DataError, match="must be a complete Excel workbook"):
        read(tmp_path / "t.xlsx")


@pytest.mark.parametrize("said", ["A1", "A1:B3", "A1:XFD1048576", "B7:C9"])
def test_what_a_sheet_says_of_its_size_neither_hides_rows_nor_makes_any_up(tmp_path, said):
    path = workbook(tmp_path / "t.xlsx")
    before = read(path)
    changed(path, SHEET, lambda xml: re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="%s"' % said.encode(), xml))
    assert said.encode() in zipfile.ZipFile(path).read(SHEET)
    after = read(path)
    assert after.table.equals(before.table)
    assert after.notes == before.notes


def test_a_few_values_far_apart_are_refused(tmp_path, monkeypatch):
    path = workbook(tmp_path / "t.xlsx")
    far = b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (at, at) for at in range(40, 80))
    changed(path, SHEET, lambda xml: xml.replace(b"</sheetData>", far + b"</sheetData>"))
    monkeypatch.setattr(excel, "_FEWEST", 10**5)
    with pytest.raises(DataError, match=r"with more than 100,000 cells must have values in one of 100 at least"):
        read(path)
    monkeypatch.setattr(excel, "_FEWEST", 10**6)
    with pytest.raises(DataError, match="Got values to the right of the last name"):
        read(path)


# --- Parquet and Arrow ---


def test_a_parquet_file_of_one_value_repeated(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "CELLS", 10**5)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": pa.array([1] * 10**6, pa.int64()), "b": [True] * 10**6}), path)
    assert path.stat().st_size < 20_000
    with pytest.raises(
        DataError, match=r"must have at most [\d,]+ cells, as its file is small. Got 1,000,000 rows and 2"
    ):
        read(path)
    monkeypatch.setattr(unpacking, "CELLS", 10**7)
    assert read(path).table.num_rows == 10**6


def test_a_long_text_repeated_in_a_parquet_file(tmp_path, small, monkeypatch):
    path, table = tmp_path / "t.parquet", pa.table({"a": pa.array(["x" * 10**4] * 20_000)})
    pq.write_table(table, path, compression="zstd")
    assert path.stat().st_size < table.num_rows
    with pytest.raises(DataError, match="must have at most 0 MiB, or 200 times its size"):
        read(path)
    monkeypatch.setattr(unpacking, "LARGEST", 2**29)
    assert read(path).table.equals(table)


def test_runs_of_values_in_an_arrow_file(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "CELLS", 10**5)
    path = tmp_path / "t.arrow"
    table = pa.table({"a": pa.nulls(10**6)})
    with pa.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table)
    with pytest.raises(DataError, match="cells, as its file is small"):
        read(path)
