"""Texts that spreadsheet programs take for formulas: noticed, and escaped on request so that nothing else changes."""

import openpyxl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError, OptionError
from shoal.io import read, write
from shoal.io.formulas import escaped

FORMULAS = [
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3+cmd",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1+1",
    "'=1",
    "''-x",
    "=1",
    "-a",
    "\uff1dcmd",
    '=HYPERLINK("http://x.example")',
]
HARMLESS = ["-5", "+5", "-5.25", "-1,000.50", "-1e-5", "+49 30 123", "-", "+", "=", "", "a=b", "5-3", "'", "'a", "-5 %"]


def texts_of(source):
    return source.table.column("a").to_pylist()


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_warned_of_and_escaped(text, tmp_path):
    table = pa.table({"a": [text, "x"], "b": ["1", "2"]})
    written = write(table, tmp_path / "plain.csv")
    assert texts_of(read(tmp_path / "plain.csv", header=True)) == [text, "x"]
    assert len(written.warnings) == 1
    assert "'a'" in written.warnings[0]
    assert "--escape-formulas" in written.warnings[0]
    assert text not in written.warnings[0]
    written = write(table, tmp_path / "escaped.csv", escape_formulas=True)
    assert texts_of(read(tmp_path / "escaped.csv", header=True)) == ["'" + text, "x"]
    assert written.warnings == ()


def test_numbers_and_other_texts_are_left_alone(tmp_path):
    table = pa.table({"a": HARMLESS, "b": [-1.5] * len(HARMLESS), "c": [None] * len(HARMLESS)})
    assert write(table, tmp_path / "a.csv").warnings == ()
    assert write(table, tmp_path / "b.csv", escape_formulas=True).warnings == ()
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@given(st.lists(st.text(st.sampled_from("'=+-@ \t\r\n15.,ax"), max_size=5), unique=True, max_size=30))
def test_different_texts_stay_different(texts):
    again = escaped(pa.table({"a": pa.array(texts, pa.string())})).column("a").to_pylist()
    assert len(set(again)) == len(texts)
    assert all(new in (old, "'" + old) for new, old in zip(again, texts, strict=True))


def test_names_that_begin_like_formulas(tmp_path):
    table = pa.table({"=a": ["x"], "b": ["y"]})
    assert "'=a'" in write(table, tmp_path / "t.csv").warnings[0]
    with pytest.raises(DataError, match="names of columns must not begin like formulas"):
        write(table, tmp_path / "u.csv", escape_formulas=True)
    assert not (tmp_path / "u.csv").exists()


def test_workbooks_hold_them_as_texts(tmp_path):
    texts = [text for text in FORMULAS if "\r" not in text]
    table = pa.table({"a": texts, "=b": ["-5"] * len(texts)})
    for name, option in (("t.xlsx", False), ("u.xlsx", True)):
        assert write(table, tmp_path / name, escape_formulas=option).warnings == ()
        rows = list(openpyxl.load_workbook(tmp_path / name).active.iter_rows())
        assert [cell.value for cell, _ in rows] == ["a", *texts]
        assert {cell.data_type for row in rows for cell in row} == {"s"}
        prefixed = [cell.value for cell, _ in rows if cell.quotePrefix]
        assert prefixed == [text for text in texts if text[0] in "=+-@\t\r\n"]


def test_the_option_is_for_formats_that_spreadsheets_open(tmp_path):
    with pytest.raises(OptionError, match="for CSV files and workbooks only"):
        write(pa.table({"a": ["=1"]}), tmp_path / "t.parquet", escape_formulas=True)
