"""Every format gives back what it was given, or says what it cannot hold."""

import datetime as dt
import json

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from shoal.errors import DataError, OptionError
from shoal.io import read, write
from shoal.io.labels import field_labels


def values(table, but=()):
    return {name: column for name, column in table.to_pydict().items() if name not in but}


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather", "t.ipc"])
def test_parquet_and_arrow_keep_every_type(tmp_path, mixed, name):
    mixed = mixed.append_column("nan", pa.array([float("nan"), None, float("-inf")]))
    mixed = mixed.append_column("nested", pa.array([[1, 2], None, []]))
    mixed = mixed.append_column("bytes", pa.array([b"\0", None, b""]))
    written = write(mixed, tmp_path / name)
    source = read(tmp_path / name)
    assert written.notes == ()
    assert source.table.schema.equals(mixed.schema)
    assert source.table.drop(["nan"]).equals(mixed.drop(["nan"]))
    assert str(source.table["nan"].to_pylist()) == "[nan, None, -inf]"
    assert not source.text
    assert source.dialect is None


@pytest.mark.parametrize("compression", ["zstd", "gzip", "snappy", "none"])
def test_parquet_keeps_metadata_and_compression(tmp_path, compression):
    frame = pd.DataFrame({"x": [1, 2], "c": pd.Categorical(["b", "a"], ["b", "a"], ordered=True)}, index=["p", "q"])
    frame.to_parquet(tmp_path / "in.parquet", compression=None if compression == "none" else compression)
    source = read(tmp_path / "in.parquet")
    write(source.table, tmp_path / "out.parquet", like=source)
    assert pd.read_parquet(tmp_path / "out.parquet").equals(frame)
    chunks = [pq.ParquetFile(tmp_path / name).metadata.row_group(0).column(0) for name in ("in.parquet", "out.parquet")]
    assert chunks[0].compression == chunks[1].compression


def test_an_arrow_stream_is_read_too(tmp_path, mixed):
    with pa.ipc.new_stream(tmp_path / "t.arrow", mixed.schema) as stream:
        stream.write_table(mixed)
    assert read(tmp_path / "t.arrow").table.equals(mixed)


def test_categories_that_differ_between_chunks(tmp_path):
    chunks = [pa.array(["a"]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()]
    table = pa.table({"c": pa.chunked_array(chunks)})
    for name in ("t.arrow", "t.parquet", "t.csv", "t.xlsx"):
        write(table, tmp_path / name)
        assert [str(value) for value in read(tmp_path / name).table["c"].to_pylist()] == ["a", "b", "a"]


def test_csv_writes_every_type_as_text(tmp_path, mixed):
    write(mixed, tmp_path / "t.csv")
    found = read(tmp_path / "t.csv").table
    assert all(pa.types.is_string(kind) for kind in found.schema.types)
    assert found.slice(1, 1).to_pylist() == [dict.fromkeys(mixed.column_names)]
    first = found.to_pylist()[0]
    assert (first["float64"], first["bool"], first["date"], first["decimal"]) == ("0.1", "true", "2020-02-29", "1.10")
    assert first["timestamp"] == "2020-02-29 13:04:05.678000"
    with pytest.raises(DataError, match="'n' of type list"):
        write(pa.table({"n": [[1]]}), tmp_path / "never.csv")


def test_excel_keeps_what_excel_has(tmp_path, mixed):
    written = write(mixed, tmp_path / "t.xlsx")
    source = read(tmp_path / "t.xlsx")
    but = ("zoned", "decimal")
    assert values(source.table, but) == values(mixed, but)
    assert source.table["decimal"].to_pylist() == [1.1, None, -3.0]
    assert source.table["zoned"].to_pylist()[0] == dt.datetime(2020, 2, 29, 13, 4, 5, 678000)  # in UTC
    assert source.table.schema.field("date").type == pa.date32()
    assert source.table.schema.field("timestamp").type == pa.timestamp("us")
    assert source.table.schema.field("int64").type == pa.int64()
    assert [note.split(":")[0] for note in written.notes] == ["column 'zoned'", "column 'decimal'"]
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    assert sheet["H4"].data_type == "s"  # =1+1 is a text


def test_excel_says_what_it_cannot_hold(tmp_path):
    written = write(pa.table({"a": ["", "x"], "n": [float("nan"), 0.1 + 0.2]}), tmp_path / "t.xlsx")
    assert len(written.notes) == 3
    for table, message in (
        (pa.table({"a": [2**60]}), "15 digits"),
        (pa.table({"a": ["x" * 40_000]}), "32767 characters"),
        (pa.table({"a": ["\x01"]}), "control characters"),
        (pa.table({"a": [float("inf")]}), "finite"),
        (pa.table({"a": ["x", None]}), "last row"),
        (pa.table({"a": [b"x"]}), "type binary"),
        (pa.table({"a": pa.nulls(1_048_576, pa.string())}), "fewer than 1048576 rows"),
    ):
        with pytest.raises(DataError, match=message):
            write(table, tmp_path / "never.xlsx")
    assert not (tmp_path / "never.xlsx").exists()


def test_excel_sheets_formulas_errors_and_mixed_columns(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["a", "b", None])
    other = book.create_sheet("data")
    for row in (["id", "when", "much"], [1, dt.date(2020, 1, 1), "=1+1"], ["x", None, 3], [None, None, None]):
        other.append(row)
    other["B3"] = "#N/A"
    other["B3"].data_type = "e"
    other["D6"].number_format = "0.00"
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match="1 that were never computed"):
        read(tmp_path / "t.xlsx", sheet="data")
    other["C2"] = 2
    book.save(tmp_path / "t.xlsx")
    for sheet in ("data", 1):
        source = read(tmp_path / "t.xlsx", sheet=sheet)
        assert source.table.to_pydict() == {"id": ["1", "x"], "when": [dt.date(2020, 1, 1), None], "much": [2, 3]}
    said = "\n".join(source.notes)
    assert "values of several kinds" in said
    assert "1 cells such as #N/A" in said
    assert "at the end left out" in said
    assert read(tmp_path / "t.xlsx").table.column_names == ["a", "b"]
    with pytest.raises(OptionError, match="the sheets are Sheet, data"):
        read(tmp_path / "t.xlsx", sheet="nope")


def test_formulas_with_values_are_read(tmp_path):
    import zipfile

    book = openpyxl.Workbook()
    book.active.append(["a"])
    book.active.append(["=6*7"])
    book.save(tmp_path / "t.xlsx")
    # As a spreadsheet program leaves it: the formula with its value.
    with zipfile.ZipFile(tmp_path / "t.xlsx") as old, zipfile.ZipFile(tmp_path / "u.xlsx", "w") as new:
        for item in old.namelist():
            content = old.read(item)
            if item.endswith("sheet1.xml"):
                assert b"<v />" in content or b"<v/>" in content or b"<v></v>" in content
                for empty in (b"<v />", b"<v/>", b"<v></v>"):
                    content = content.replace(empty, b"<v>42</v>")
            new.writestr(item, content)
    source = read(tmp_path / "u.xlsx")
    assert source.table.to_pydict() == {"a": [42]}
    assert "formulas: the last computed values of 1 were read" in source.notes


@pytest.mark.parametrize("rows", [[], [["a", None, "c"], [1, 2, 3]], [["a", "a"]], [["a"], [1, 2]]])
def test_excel_without_proper_names(tmp_path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match="name"):
        read(tmp_path / "t.xlsx")


@pytest.mark.parametrize("name", ["t.dta", "t.sav", "t.zsav", "t.xpt"])
def test_statistics_packages_keep_values(tmp_path, mixed, name):
    table = mixed.set_column(5, "float64", pa.array([0.5, None, 1e30]))
    written = write(table, tmp_path / name)
    source = read(tmp_path / name)
    found, wanted = values(source.table), values(table)
    for column in ("int8", "uint16", "int32", "int64", "float32", "float64", "string", "large_string"):
        assert found[column] == wanted[column], column
    for column in ("date", "timestamp", "milliseconds", "time", "category"):
        assert found[column] == wanted[column], column
    assert found["bool"] == [1, None, 0]
    assert found["decimal"] == [1.1, None, -3.0]
    assert found["zoned"][0] == dt.datetime(2020, 2, 29, 13, 4, 5, 678000)
    assert {note.split(":")[0] for note in written.notes} == {"column 'bool'", "column 'decimal'", "column 'zoned'"}
    assert source.table.schema.field("date").type == pa.date32()


@pytest.mark.parametrize("name", ["t.dta", "t.sav"])
def test_labels_are_kept(tmp_path, name):
    frame = pl.DataFrame({"sex": [1.0, 2.0, None], "code": ["a", "b", "a"], "n": [1, 2, 3]})
    labels = {"sex": {1.0: "männlich", 2.0: "weiblich"}}
    options = {
        "column_labels": {"sex": "Geschlecht", "n": "Anzahl"},
        "variable_value_labels": labels,
        "file_label": "ALLBUS",
    }
    if name.endswith("sav"):
        options |= {"variable_measure": {"sex": "nominal"}, "variable_format": {"n": "F5.0", "sex": "F8.2"}}
        labels["code"] = {"a": "Anna", "b": "Bert"}
    getattr(pyreadstat, f"write_{name[2:]}")(frame, str(tmp_path / name), **options)
    source = read(tmp_path / name)
    assert "label of the file: not passed on" in source.notes
    assert json.loads(source.table.schema.field("sex").metadata[b"shoal"])["label"] == "Geschlecht"
    # Once with the metadata on the columns, once with the labels of the source alone.
    bare = source.table.replace_schema_metadata(None).cast(
        pa.schema([f.remove_metadata() for f in source.table.schema])
    )
    for table, out in ((source.table, f"one.{name}"), (bare, f"two.{name}")):
        write(table, tmp_path / out, like=source)
        again = read(tmp_path / out)
        assert again.table.equals(source.table, check_metadata=True)
        meta = getattr(pyreadstat, f"read_{name[2:]}")(str(tmp_path / out), output_format="dict")[1]
        assert not meta.file_label  # it describes the original
        assert meta.column_names_to_labels["n"] == "Anzahl"
        assert meta.variable_value_labels["sex"] == {1: "männlich", 2: "weiblich"}
    # They also travel through Parquet, and go where their values go.
    write(source.table, tmp_path / "t.parquet")
    assert field_labels(read(tmp_path / "t.parquet").table, "sex", None)["values"] == [
        [1, "männlich"],
        [2, "weiblich"],
    ]
    for values, left in ((["1-2", "1-2", None], {}), ([1.0, 1.0, None], {1: "männlich"})):
        recoded = bare.set_column(0, "sex", pa.array(values))
        write(recoded, tmp_path / f"three.{name}", like=source, force=True)
        again = getattr(pyreadstat, f"read_{name[2:]}")(str(tmp_path / f"three.{name}"), output_format="dict")[1]
        assert again.variable_value_labels.get("sex", {}) == left
        assert again.column_names_to_labels["sex"] == "Geschlecht"


def test_values_that_a_file_declares_missing(tmp_path):
    frame = pl.DataFrame({"x": [1.0, -9.0, 99.0, None, 5.0], "s": ["a", "zz", "", "b", "a"]})
    ranges = {"x": [-9.0, {"lo": 90.0, "hi": 99.0}], "s": ["zz"]}
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), missing_ranges=ranges)
    source = read(tmp_path / "t.sav")
    assert source.table.to_pydict() == {"x": [1.0, None, None, None, 5.0], "s": ["a", None, None, "b", "a"]}
    assert [note.split(" values")[0] for note in source.notes] == ["column 'x': 2", "column 's': 1"]


def test_extended_missing_values_of_stata(tmp_path):
    frame = pd.DataFrame({"x": [1.0, "a", None, 2.0, "b"]}, dtype=object)
    pyreadstat.write_dta(frame, str(tmp_path / "t.dta"), missing_user_values={"x": ["a", "b"]})
    source = read(tmp_path / "t.dta")
    assert source.table.to_pydict() == {"x": [1.0, None, None, 2.0, None]}
    assert source.notes[0].startswith("column 'x': 2 values that the file declares missing")


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("t.sas7bdat", {"a": [1]}, "write .xpt"),
        ("t.por", {"a": [1]}, "write .*sav"),
        ("t.dta", {"a b": [1]}, "'a b' contains a space"),
        ("t.sav", {"a": [2**60]}, "at most 2\\*\\*53"),
        ("t.sav", {"a": [float("inf")]}, "finite"),
        ("t.dta", {"a": [b"x"]}, "type binary"),
        ("t.dta", {"a": [[1]]}, "type list"),
    ],
)
def test_statistics_packages_say_what_they_cannot_hold(tmp_path, name, table, message):
    with pytest.raises((DataError, OptionError), match=message):
        write(pa.table(table), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_blank_texts_in_statistics_packages(tmp_path):
    written = write(pa.table({"a": ["x ", "", None, " y"]}), tmp_path / "t.sav")
    assert read(tmp_path / "t.sav").table.to_pydict() == {"a": ["x", None, None, " y"]}
    assert len(written.notes) == 2


@pytest.mark.parametrize(
    "name", ["t.csv", "t.parquet", "t.arrow", "t.xlsx", "t.dta", "t.sav", "t.xpt", "t.sqlite", "t.duckdb"]
)
def test_a_table_without_rows(tmp_path, name):
    table = pa.table({"a": pa.array([], pa.float64()), "b": pa.array([], pa.string())})
    write(table, tmp_path / name)
    source = read(tmp_path / name)
    assert source.table.shape == (0, 2)
    assert source.table.column_names == ["a", "b"]
