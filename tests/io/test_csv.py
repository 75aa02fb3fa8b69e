"""CSV: exactly the texts of the file, or an error that says what is wrong and where."""

import csv
import gzip
import io
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.errors import DataError, OptionError, ShoalError
from shoal.io import Dialect, Source, read, write
from shoal.io import csv_files as reader
from shoal.io.csv_dialect import SAMPLE
from shoal.io.source import Writing

DELIMITERS = [",", ";", "\t", "|"]
SPECIAL = st.sampled_from([*",;\t|\"'\r\n ab1.5é€\x00\ufeff", '""', "\r\n", "a,b\n", '"x"', "1,5"])
FUZZ = st.lists(SPECIAL, max_size=40).map("".join)
VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
NARROW = st.text(st.sampled_from("ab\",;\t|\n' é"), max_size=6)  # with a lone CR, the module writes what it cannot read


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("csv")


def put(folder, content, name="table.csv"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def oracle(text, dialect):
    """Return names and rows as Python's csv module reads them."""
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter, quotechar=dialect.quote))
    width = max(len(row) for row in rows if row)
    rows = [row or [""] for row in rows] if width == 1 else [row for row in rows if row]
    return rows[0], rows[1:]


def rows_of(source):
    columns = [column.to_pylist() for column in source.table.columns]
    return [["" if value is None else value for value in row] for row in zip(*columns, strict=True)]


@given(FUZZ, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"]), st.booleans())
@example("a,b\n1,2\n\n3,4\n", "utf-8", True)
@example('a,b\n1,"x\n', "utf-8", True)
@example("a\r\n\r\n1\r\n", "utf-8", True)
@example("\n\na;b\n1;2", "utf-16", True)
def test_any_text_is_read_as_python_reads_it_or_refused(folder, text, encoding, detected):
    raw = text.encode(encoding, errors="replace")
    path = put(folder, raw)
    try:
        source = read(path, delimiter=None if detected else ",")
    except ShoalError:
        return
    decoded = raw.decode(source.dialect.encoding).removeprefix("\ufeff")
    names, rows = oracle(decoded, source.dialect)
    assert source.table.column_names == names
    assert rows_of(source) == rows


@st.composite
def tables(draw, values=VALUES):
    width = draw(st.integers(1, 4))
    name = values.filter(lambda text: text and not text.startswith("\ufeff"))
    names = draw(st.lists(name, min_size=width, max_size=width, unique=True))
    rows = draw(st.lists(st.tuples(*[st.none() | values] * width), max_size=6))
    columns = list(zip(*rows, strict=True)) or [()] * width
    return pa.Table.from_arrays([pa.array(column, pa.string()) for column in columns], names=names)


@given(
    tables(),
    st.sampled_from(DELIMITERS),
    st.sampled_from(['"', "'"]),
    st.sampled_from(["needed", "all"]),
    st.sampled_from(["utf-8", "utf-16-le", "utf-16-be"]),
    st.booleans(),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["t.csv", "t.csv.gz", "t.csv.zst"]),
)
def test_what_was_written_reads_back_the_same(folder, table, delimiter, quote, quoting, encoding, bom, newline, name):
    dialect = Dialect(delimiter, quote, quoting, encoding, bom, newline)
    like = Source(table, True, "csv", dialect, None, "like")
    seen = []
    written = write(table, folder / name, like=like, force=True, check=seen.append)
    again = read(folder / name, delimiter=delimiter, quote=quote, encoding=encoding, header=True)
    assert again.table.equals(table)
    assert seen[0].table.equals(table)
    assert again.sha256 == written.sha256 == seen[0].sha256


AWKWARD = st.text(st.sampled_from("ab1,;\t|\"'\n\r ."), max_size=6)


@given(
    tables(AWKWARD),
    st.sampled_from(DELIMITERS),
    st.sampled_from(['"', "'"]),
    st.sampled_from(["needed", "all"]),
    st.sampled_from([("utf-8", False), ("utf-8", True), ("utf-16-le", True)]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
@example(pa.table({"a,b": ["1,5"], "c": ["2"]}), ";", '"', "needed", ("utf-8", False), "\n")
@example(pa.table({"a": ["x,y"]}), ";", "'", "needed", ("utf-8", False), "\n")
@example(pa.table({"'a'": ["x"], "'b'": ["y"]}), ",", '"', "needed", ("utf-8", False), "\n")
@example(pa.table({"a|b;c": ["1"]}), "\t", '"', "needed", ("utf-8", False), "\n")
def test_what_was_written_is_read_without_being_told_how(folder, table, delimiter, quote, quoting, encoding, newline):
    dialect = Dialect(delimiter, quote, quoting, *encoding, newline)
    like = Source(table, True, "csv", dialect, None, "like")
    reader.write(table, Writing(folder / "own.csv", "csv", "own.csv", like=like))
    again = read(folder / "own.csv", header=True)
    assert again.table.equals(table)
    if table.num_columns > 1:
        assert (again.dialect.delimiter, again.dialect.quote) == (delimiter, quote)


@given(
    tables(NARROW), st.sampled_from(DELIMITERS), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["utf-8", "cp1252"])
)
def test_files_of_python_s_csv_module_are_read_without_complaint(folder, table, delimiter, newline, encoding):
    lines = io.StringIO(newline="")
    writer = csv.writer(lines, delimiter=delimiter, lineterminator=newline)
    writer.writerow(table.column_names)
    writer.writerows(zip(*[column.to_pylist() for column in table.columns], strict=True))
    source = read(put(folder, lines.getvalue().encode(encoding)), delimiter=delimiter, quote='"', header=True)
    wanted = [["" if value is None else value for value in row.values()] for row in table.to_pylist()]
    assert source.table.column_names == table.column_names
    assert rows_of(source) == wanted


def test_null_is_an_empty_field_and_quotes_make_an_empty_text(folder):
    source = read(put(folder, 'a,b\n,""\n"",\n'))
    assert source.text
    assert source.table.to_pydict() == {"a": [None, ""], "b": ["", None]}
    write(source.table, folder / "out.csv", like=source, force=True)
    assert (folder / "out.csv").read_text() == 'a,b\n,""\n"",\n'


def test_texts_are_kept_as_they_are_written(folder):
    content = 'id,zip,when,much\n007,01234,2020-1-5, 1.50 \n1e3,NA,null,"1,5"\nTRUE,-0,+1,nan\n'
    source = read(put(folder, content))
    assert source.table.to_pydict()["id"] == ["007", "1e3", "TRUE"]
    write(source.table, folder / "out.csv", like=source, force=True)
    assert (folder / "out.csv").read_text() == content


@pytest.mark.parametrize(
    "content",
    [
        b"a;b\r\n1,5;x\r\n2,25;\r\n",
        b'"a"\t"b"\n"1"\t"x"\n"2"\t\n',
        b"\xef\xbb\xbfa|b\n1|2\n",
        "\ufeffa,b\r\né,€\r\n".encode("utf-16-le"),
        "a,b\nMünchen,€ 5\n".encode("cp1252"),
        b"'a','b'\n'1,5','x'\n",
        b"a,b\r1,2\r3,4\r",
    ],
)
def test_an_output_like_its_input_is_its_input(folder, content):
    source = read(put(folder, content))
    assert source.table.num_columns == 2
    write(source.table, folder / "out.csv", like=source, force=True)
    assert (folder / "out.csv").read_bytes() == content


def test_detection_is_said_and_can_be_overruled(folder):
    path = put(folder, "größe;wert\n1,5;2,25\n3,5;4,0\n".encode("cp1252"))
    source = read(path)
    assert source.dialect == Dialect(";", '"', "needed", "cp1252", False, "\n", ",")
    assert source.table.column_names == ["größe", "wert"]
    said = "\n".join(source.notes)
    assert "semicolon (detected)" in said
    assert "cp1252 (a guess: the file is not UTF-8)" in said
    assert "decimal mark: , (detected)" in said
    other = read(path, delimiter="|", encoding="latin-1", decimal=".")
    assert other.table.column_names == ["größe;wert"]
    assert (other.dialect.encoding, other.dialect.decimal) == ("iso8859-1", ".")
    assert "bar (given)" in other.notes[0]


def test_bytes_that_cp1252_does_not_have_are_latin_1(folder):
    source = read(put(folder, b"a,b\n\x81,\xe9\n"))
    assert source.dialect.encoding == "latin-1"
    assert source.table.to_pydict() == {"a": ["\x81"], "b": ["é"]}


def test_late_bytes_decide_the_encoding_too(folder):
    source = read(put(folder, b"a,b\n" + b"1,2\n" * SAMPLE + b"\xe9,\xe8\n"))
    assert source.dialect.encoding == "cp1252"
    assert source.table.slice(SAMPLE).to_pydict() == {"a": ["é"], "b": ["è"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "an empty file"),
        (b"\n\r\n\n", "only empty lines"),
        (b"\xef\xbb\xbf", "only empty lines"),
        (b"a,b\n1,2\n3\n", "must have 2 fields, as the first line has. Got 1 in line 3"),
        (b'a,b\n1,"x\ny"\n\n3,4,5\n', "Got 3 in line 5"),
        (b'a,b\n1,2\n3,"unclosed\n5,6\n', "Every quote .* Got an open one in the row that begins in line 3"),
        (b'a,b\n1,2\n"unclosed\n5,6\n', "Every quote .* Got an open one in the row that begins in line 3"),
        (b"a,,c\n1,2,3\n", "no name for column 2"),
        (b"a,b,a,b\n1,2,3,4\n", "names more than once, in the columns 1, 2, 3, 4"),
        (b"a,b\n1,\x002\n", "NUL characters"),
        (b"a\x00,\x00b\x00\n\x00", "encoding='utf-16-le'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(folder, content, message):
    with pytest.raises(DataError, match=message):
        read(put(folder, content))


def test_no_value_of_the_data_is_in_an_error(folder):
    for content in ("name,x\nSECRETVALUE,1\nSECRETVALUE\n", 'name,x\n"SECRETVALUE,1\n', "name,x\nSECRETVALUE,1,2\n"):
        with pytest.raises(DataError) as caught:
            read(put(folder, content))
        assert "SECRET" not in str(caught.value)
        assert caught.value.__suppress_context__


def test_the_wrong_encoding_is_refused(folder):
    with pytest.raises(DataError, match="encoding utf-8"):
        read(put(folder, b"a,b\n\xff,1\n"), encoding="utf-8")
    with pytest.raises(OptionError, match="'klingon'"):
        read(put(folder, b"a,b\n1,1\n"), encoding="klingon")


def test_text_that_the_encoding_does_not_have_is_refused(folder):
    source = read(put(folder, "a,b\né,1\n".encode("cp1252")))
    table = pa.table({"a": ["é", "ok"], "b": ["x", "日本"]})
    with pytest.raises(DataError, match="Got other characters in column 'b', row 2") as caught:
        write(table, folder / "never.csv", like=source)
    assert "日" not in str(caught.value)
    assert not (folder / "never.csv").exists()
    fine = replace(source, dialect=replace(source.dialect, encoding="utf-8"))
    write(table, folder / "utf8.csv", like=fine)
    assert read(folder / "utf8.csv").table.equals(table)


def test_fields_larger_than_a_block(folder, monkeypatch):
    monkeypatch.setattr(reader, "_BLOCK", 1000)
    huge = "x\ny" * 50_000
    table = pa.table({"a": ["1", huge, None], "b": [huge, "", "2"]})
    write(table, folder / "huge.csv", force=True)
    assert read(folder / "huge.csv").table.equals(table)
    (folder / "huge.csv").write_bytes((folder / "huge.csv").read_bytes() + b"1,2,3\n")
    with pytest.raises(DataError, match="Got 3 in line 100005"):
        read(folder / "huge.csv")


def test_a_header_larger_than_the_sample(folder):
    name = "n" * (3 * SAMPLE)
    assert read(put(folder, f'"{name}";b\n1;2\n'), delimiter=";").table.column_names == [name, "b"]


def test_empty_lines_are_skipped_and_counted(folder):
    source = read(put(folder, 'a,b\n\n1,"x\n\ny"\n\n\n2,3\n\n'))
    assert source.table.to_pydict() == {"a": ["1", "2"], "b": ["x\n\ny", "3"]}
    assert "empty lines: 4 skipped" in source.notes
    single = read(put(folder, "a\n\n1\n"))
    assert single.table.to_pydict() == {"a": [None, "1"]}
    assert "empty lines: 1 read as missing values" in single.notes


def test_a_file_without_rows_and_without_a_last_line_end(folder):
    assert read(put(folder, "a,b")).table.num_rows == 0
    assert read(put(folder, "a,b\n1,2")).table.to_pydict() == {"a": ["1"], "b": ["2"]}


def test_no_quoting(folder):
    source = read(put(folder, 'a\tb\n"x\t5"\n'), quote="")
    assert source.table.to_pydict() == {"a": ['"x'], "b": ['5"']}
    write(source.table, folder / "out.tsv", like=source, force=True)
    assert (folder / "out.tsv").read_text() == 'a\tb\n"x\t5"\n'
    with pytest.raises(DataError, match="Without quotes"):
        write(pa.table({"a": ["x\ty"], "b": [""]}), folder / "never.tsv", like=source)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.zst"])
def test_damaged_compression_is_refused(folder, name):
    write(pa.table({"a": ["1"] * 1000}), folder / name, force=True)
    content = (folder / name).read_bytes()
    for damaged in (content[:-5], content[:2] + b"garbage" + content[9:], b"a,b\n1,2\n"):
        with pytest.raises(DataError, match="Got a damaged file"):
            read(put(folder, damaged, name))


def test_gzip_holds_neither_name_nor_time(folder):
    table = pa.table({"a": ["1"]})
    first = write(table, folder / "one.csv.gz", force=True).sha256
    assert write(table, folder / "two.csv.gz", force=True).sha256 == first
    assert gzip.decompress((folder / "one.csv.gz").read_bytes()) == b"a\n1\n"


def test_numbers_are_written_with_the_decimal_mark_of_the_file(folder):
    source = read(put(folder, "x;y\n1,5;a\n"))
    write(pa.table({"x": [1.5, None], "y": ["a.b", "c"]}), folder / "out.csv", like=source, force=True)
    assert (folder / "out.csv").read_text() == "x;y\n1,5;a.b\n;c\n"


@pytest.mark.parametrize(
    "option", [{"delimiter": ""}, {"delimiter": "ab"}, {"delimiter": '"'}, {"decimal": ";"}, {"quote": "\n"}]
)
def test_impossible_options_are_refused(folder, option):
    with pytest.raises(OptionError, match=next(iter(option))):
        read(put(folder, "a,b\n1,2\n"), **option)


def test_dates_have_no_time_of_day_and_moments_no_digits_that_none_of_them_has(folder):
    days = pa.array([0, 86_400_000_000, None], pa.timestamp("us"))
    moments = pa.array([0, 1_000_000_000, None], pa.timestamp("ns"))
    write(pa.table({"day": days, "moment": moments}), folder / "days.csv", force=True)
    lines = ["day,moment", "1970-01-01,1970-01-01 00:00:00", "1970-01-02,1970-01-01 00:00:01", ","]
    assert (folder / "days.csv").read_text().splitlines() == lines
