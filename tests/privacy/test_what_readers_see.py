"""The audit counts what any reader of a table or a file can tell apart."""

import datetime
import decimal
import sqlite3

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import shoal
from shoal.errors import DataError, DisclosureError
from shoal.io import read
from shoal.privacy.classes import codes_of
from shoal.release.verification import verify_source

NAN = float("nan")
OTHER_NAN = np.array([0x7FF8_0000_0000_0001], np.uint64).view(np.float64)[0]


def k_of(path):
    return verify_source(read(path), ["x"], None).k


def split(one, other):
    """Return eight values, four of each kind."""
    return [one, other] * 4


# --- tables in memory ---


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.float16()])
def test_null_and_nan_are_different(kind):
    column = pa.chunked_array([pa.array(split(None, NAN), kind)])
    assert shoal.verify(pa.table({"x": column}), ["x"]).k == 4
    assert codes_of(column).max() == 1


def test_patterns_of_nan_are_different():
    assert shoal.verify(pa.table({"x": np.array(split(NAN, OTHER_NAN))}), ["x"]).k == 4


def test_null_and_nan_of_polars_are_different():
    assert shoal.verify(pl.DataFrame({"x": split(None, NAN)}), ["x"]).k == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, NAN),
        (None, pd.NA),
        (NAN, pd.NaT),
        (1, 1.0),
        (1.0, True),
        (decimal.Decimal("1.0"), decimal.Decimal("1.00")),
        (
            datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
            datetime.datetime(2020, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
        ),
    ],
)
def test_objects_of_pandas_are_told_apart(one, other):
    frame = pd.DataFrame({"x": pd.Series(split(one, other), dtype=object)})
    assert shoal.verify(frame, ["x"]).k == 4


@pytest.mark.parametrize(
    "values", [["a", None] * 4, ["a", NAN] * 4, [1, 2] * 4, [np.int64(1), 1] * 4, [True, None] * 4]
)
def test_plain_objects_of_pandas_are_as_in_arrow(values):
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    assert shoal.verify(frame, ["x"]).k == (8 if values[1] == 1 else 4)


def test_patterns_of_nan_in_pandas_are_different():
    assert shoal.verify(pd.DataFrame({"x": np.array(split(NAN, OTHER_NAN))}), ["x"]).k == 4


# --- releases ---


def test_stratum_of_null_and_nan_is_split():
    stratum = pa.array([None] * 3 + [NAN] * 3 + [1.0] * 4)
    table = pa.table({"age": list(range(10)), "stratum": stratum})
    with pytest.raises(DataError, match="2 of 3 strata with fewer"):
        shoal.anonymize(table, k=4, quasi_identifiers=["age"], stratum=["stratum"])
    release = shoal.anonymize(table, k=3, quasi_identifiers=["age"], stratum=["stratum"], method="mdav")
    assert release.audit.sizes == {3: 2, 4: 1}


def test_stratum_of_several_kinds_of_missing_is_refused():
    frame = pd.DataFrame({"age": range(8), "stratum": pd.Series(split(None, NAN), dtype=object)})
    with pytest.raises(DataError, match="'stratum' must hold values of one type, and one kind of missing value"):
        shoal.anonymize(frame, k=4, quasi_identifiers=["age"], stratum=["stratum"])


@pytest.mark.parametrize("missing", [[None, NAN, pd.NA, None], [NAN, None, None, NAN]])
def test_groups_publish_one_kind_of_missing(missing):
    ages = pd.Series([*missing, *[30.0] * 4, *[60.0] * 4], dtype=object)
    release = shoal.anonymize(pd.DataFrame({"age": ages}), k=4, method="mdav")
    assert release.audit.sizes == {4: 3}
    floats = pa.table({"age": pa.array([None, NAN, None, NAN, *[30.0] * 4, *[60.0] * 4])})
    assert shoal.anonymize(floats, k=4, method="mdav").table["age"].null_count == 4


# --- files ---


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("values", [[None, NAN] * 4, split(NAN, OTHER_NAN)])
def test_arrow_files(tmp_path, suffix, values):
    table = pa.table({"x": pa.array(values, pa.float64())})
    path = tmp_path / f"x.{suffix}"
    if suffix == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    assert k_of(path) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, "1"),
        (1.5, "1.5"),
        (True, "true"),
        (None, "#N/A"),
        ("#DIV/0!", "#N/A"),
        (datetime.date(2020, 1, 1), "2020-01-01"),
    ],
)
def test_workbooks(tmp_path, one, other):
    book = openpyxl.Workbook()
    book.active.append(["x", "row"])
    for row, value in enumerate(split(one, other)):
        book.active.append([value, row])
        if isinstance(value, str) and not value.startswith("#"):
            book.active.cell(row + 2, 1).data_type = "s"
    book.save(tmp_path / "x.xlsx")
    assert k_of(tmp_path / "x.xlsx") == 4


@pytest.mark.parametrize("declared", ["", "TEXT", "TIMESTAMP", "DECIMAL_TEXT(9,2)"])
@pytest.mark.parametrize(
    ("one", "other"),
    [(1, "1"), (1, 1.0), ("2020-01-01 00:00:00", "2020-01-01T00:00:00"), ("1.0", "1.00")],
)
def test_sqlite(tmp_path, one, other, declared):
    with sqlite3.connect(tmp_path / "x.db") as base:
        base.execute(f"CREATE TABLE t (x {declared})")
        base.executemany("INSERT INTO t VALUES (?)", [(value,) for value in split(one, other)])
        stored = len(base.execute("SELECT DISTINCT typeof(x), CAST(x AS TEXT) FROM t").fetchall())
    assert k_of(tmp_path / "x.db") == 8 // stored


def test_sqlite_over_several_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.io.sqlite._ROWS", 4)
    with sqlite3.connect(tmp_path / "x.db") as base:
        base.execute("CREATE TABLE t (x)")
        base.executemany("INSERT INTO t VALUES (?)", [(1,)] * 4 + [(1.0,)] * 4)
    assert k_of(tmp_path / "x.db") == 4


def test_integers_that_floats_cannot_hold_are_refused(tmp_path):
    with sqlite3.connect(tmp_path / "x.db") as base:
        base.execute("CREATE TABLE t (x)")
        base.executemany("INSERT INTO t VALUES (?)", [(2**53 + 1,)] * 4 + [(2**53,)] * 4 + [(0.5,)] * 8)
    with pytest.raises(DataError, match="'x' must fit into one type"):
        read(tmp_path / "x.db")


def test_user_missing_values_of_spss(tmp_path):
    frame = pd.DataFrame({"x": split(98.0, 99.0) + [1.0] * 8})
    pyreadstat.write_sav(frame, tmp_path / "x.sav", missing_ranges={"x": [98, 99]})
    assert k_of(tmp_path / "x.sav") == 4
    assert read(tmp_path / "x.sav").table["x"].null_count == 8


def test_extended_missing_values_of_stata(tmp_path):
    frame = pd.DataFrame({"x": pd.Series([*split("a", "b"), *[1] * 8], dtype=object)})
    pyreadstat.write_dta(frame, tmp_path / "x.dta", missing_user_values={"x": ["a", "b"]})
    assert k_of(tmp_path / "x.dta") == 4


def test_verify_with_a_certificate_sees_them_too(tmp_path):
    """A file that was changed after its release: the certificate has no hash of databases."""
    people = pa.table({"age": [1, 2, 3, 4, 11, 12, 13, 14]})
    shoal.anonymize(people, k=4, method="mdav").save(tmp_path / "x.db", certificate=tmp_path / "m.json")
    assert shoal.verify_file(tmp_path / "x.db", tmp_path / "m.json").k == 4
    with sqlite3.connect(tmp_path / "x.db") as base:
        base.execute("CREATE TABLE y AS SELECT CASE WHEN rowid % 2 THEN age ELSE CAST(age AS TEXT) END AS age FROM x")
        base.execute("DROP TABLE x")
    with pytest.raises(DisclosureError, match="the smallest of 2"):
        shoal.verify_file(tmp_path / "x.db", tmp_path / "m.json")
