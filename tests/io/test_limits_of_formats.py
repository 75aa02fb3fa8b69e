"""What a format cannot hold is refused at its limit, not before, and what is wrong with a header is said."""

import re

import openpyxl
import pyarrow as pa
import pytest

from shoal.errors import DataError
from shoal.io import read, write
from shoal.io.formats import locate
from shoal.io.labels import field_labels, labelled


@pytest.mark.parametrize("values", [[0, 1, None], [None, None], [], [2**63 - 1]])
def test_unsigned_integers_that_fit_are_written_to_sqlite(tmp_path, values):
    write(pa.table({"n": pa.array(values, pa.uint64())}), tmp_path / "t.sqlite")
    assert read(tmp_path / "t.sqlite").table["n"].to_pylist() == values


@pytest.mark.parametrize("values", [[2**63], [1, 2**64 - 1, None]])
def test_unsigned_integers_that_do_not_fit_are_refused_by_sqlite(tmp_path, values):
    with pytest.raises(DataError, match=r"must be below 2\*\*63\. Got a larger one in 'n'"):
        write(pa.table({"n": pa.array(values, pa.uint64())}), tmp_path / "t.sqlite")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        ([], "must hold the names of the columns. Got an empty one."),
        ([None, None], "must hold the names of the columns. Got an empty one."),
        (["a", None, "b"], "Got no name for column 2."),
        (["a", "b", "a"], "Got names more than once, in the columns 1, 3."),
        (["a", "b", "a", "b", None, "c"], "Got no name for column 5."),
    ],
)
def test_the_header_of_a_sheet_names_every_column_once(tmp_path, header, fault):
    book = openpyxl.Workbook()
    for row in (header, [1] * len(header)) if header else ():
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match=re.escape(fault)):
        read(tmp_path / "t.xlsx")


def test_cells_beyond_the_last_name_of_a_sheet_need_none(tmp_path):
    book = openpyxl.Workbook()
    for row in (["a", "b", None], [1, 2, None]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert read(tmp_path / "t.xlsx").table.to_pydict() == {"a": [1], "b": [2]}


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.arrow", "t.xlsx", "t.dta", "t.sav", "t.sqlite", "t.duckdb"])
@pytest.mark.parametrize("names", [["a", "a"], ["a", ""]], ids=["repeated", "empty"])
def test_columns_without_a_name_of_their_own_are_never_written(tmp_path, name, names):
    table = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names)
    with pytest.raises(DataError, match="must have distinct, non-empty names"):
        write(table, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("columns", "where"),
    [
        ({"a": ["x"], "b\u20ac": ["y"]}, "a column name"),
        ({"\u20ac": ["x"], "b": ["y"]}, "a column name"),
        ({"a": ["x", "\u20ac"], "b": ["y", "z"]}, "column 'a', row 2"),
        ({"a": ["x", "y"], "b": ["\u20ac", "z"]}, "column 'b', row 1"),
    ],
)
def test_text_that_an_encoding_lacks_is_refused_with_its_place(tmp_path, columns, where):
    (tmp_path / "like.csv").write_bytes("a,b\n\u00e9,\u00e9\n".encode("latin-1"))
    like = read(tmp_path / "like.csv", encoding="latin-1")
    with pytest.raises(DataError, match=rf"must be encodable in .*Got other characters in {where}\."):
        write(pa.table(columns), tmp_path / "t.csv", like=like)
    assert not (tmp_path / "t.csv").exists()


@pytest.mark.parametrize(
    ("where", "standard"),
    [("-", True), ("t.csv", False), ("t.sqlite", False), ("postgresql://me@localhost/people", False)],
)
def test_only_a_dash_is_standard_input_or_output(where, standard):
    assert locate(where, "csv" if standard else None, "source").standard == standard


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.list_(pa.int64()), pa.struct([("x", pa.int64())])])
def test_what_is_no_single_value_is_not_written_as_csv(tmp_path, kind):
    value = {"x": 1} if pa.types.is_struct(kind) else [1] if pa.types.is_list(kind) else b"x"
    with pytest.raises(DataError, match=r"must hold single values to be written as CSV\. Got the column 'a'"):
        write(pa.table({"a": pa.array([value], kind)}), tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


def test_labels_of_a_column_itself_come_before_those_of_the_table_it_is_like():
    plain = pa.field("a", pa.int64())
    own, other = labelled(plain, {"label": "own"}), labelled(plain, {"label": "other"})
    like = pa.schema([other])
    unlabelled, one = (pa.table([[1]], schema=pa.schema([field])) for field in (plain, own))
    assert field_labels(one, "a", like) == {"label": "own"}
    assert field_labels(unlabelled, "a", like) == {"label": "other"}
    assert field_labels(unlabelled, "a", None) == {}
    assert field_labels(unlabelled, "a", pa.schema([])) == {}
