"""JSON lines give back what they were given, and broken ones are refused with their line, without their content."""

import datetime as dt
import gzip
import json
from decimal import Decimal

import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, OptionError, ShoalError
from shoal.io import json_lines, read, write


@pytest.fixture
def lines(tmp_path):
    def made(*texts, name="t.jsonl", end="\n"):
        content = [text if isinstance(text, bytes) else text.encode() for text in texts]
        (tmp_path / name).write_bytes(end.encode().join(content) + end.encode())
        return tmp_path / name

    return made


def parsed(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_types_are_those_of_the_values(lines):
    source = read(
        lines(
            '{"i": 1, "f": 1.5, "t": "1", "b": true, "d": "2020-02-29", "n": null, "big": 9223372036854775808}',
            '{"i": -3, "f": 2, "t": "", "b": false, "d": "1999-12-31", "n": null, "big": 1}',
        )
    )
    assert source.table.to_pydict() == {
        **{"i": [1, -3], "f": [1.5, 2.0], "t": ["1", ""], "b": [True, False]},
        **{"d": [dt.date(2020, 2, 29), dt.date(1999, 12, 31)], "n": [None, None]},
        "big": [Decimal(2**63), Decimal(1)],
    }
    kinds = [str(kind) for kind in source.table.schema.types]
    assert kinds == ["int64", "double", "string", "bool", "date32[day]", "string", "decimal128(38, 0)"]
    assert (source.format, source.text, source.dialect) == ("jsonl", False, None)


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.jsonl.gz", "t.ndjson.zst"])
def test_every_type_survives_or_is_noted(tmp_path, mixed, name):
    written = write(mixed, tmp_path / name)
    again = read(tmp_path / name)
    same = ["int8", "uint16", "int32", "int64", "float32", "float64", "string", "large_string", "bool", "date"]
    for column in [*same, "category"]:
        assert again.table[column].to_pylist() == mixed[column].to_pylist()
    for column in ("timestamp", "milliseconds"):
        assert again.table[column].to_pylist() == mixed[column].to_pylist()
    assert again.table["zoned"].to_pylist()[0] == dt.datetime(2020, 2, 29, 13, 4, 5, 678000, dt.UTC)
    assert again.table["decimal"].to_pylist() == [1.1, None, -3.0]
    assert written.notes == (
        "column 'zoned': moments are in UTC; the time zone is lost",
        "column 'decimal': decimals became floating-point numbers",
    )
    assert again.sha256 == written.sha256
    if not name.endswith(".zst"):
        assert [row["string"] for row in parsed(tmp_path / name)] == mixed["string"].to_pylist()


def test_awkward_texts_and_names(tmp_path):
    texts = ['"', "\\", "\\n", "\n\r\t\0\x1f", "\u2028\x7f", "é😀", "", "null", "true", "1", "2020-01-01", None]
    table = pa.table({'a "b"\\\n': texts, "é": pa.array(range(12))})
    write(table, tmp_path / "t.jsonl")
    assert read(tmp_path / "t.jsonl").table.equals(table)
    assert [next(iter(row.values())) for row in parsed(tmp_path / "t.jsonl")] == texts


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["2020-01-01T10:00:00", "2020-01-01T10:00:00.5"], "timestamp[us]"),
        (["2020-01-01T10:00:00Z", "2020-01-01T10:00:00.25Z"], "timestamp[us, tz=UTC]"),
        (["2020-01-01T10:00:00Z", "2020-01-01T10:00:00"], "string"),
        (["2020-01-01T10:00:00+01:00", None], "string"),
        (["2020-01-01", "2020-01-01T10:00:00"], "string"),
        (["2020-02-30", "2020-01-01"], "string"),
        (["2020-01-01T10:00:00.1234567", None], "string"),
        (["20200101", None], "string"),
    ],
)
def test_texts_that_are_moments_in_all_of_a_column(tmp_path, lines, texts, kind):
    source = read(lines(*[json.dumps({"x": text}) for text in texts]))
    assert str(source.table["x"].type) == kind
    write(pa.table({"x": pa.array(texts)}), tmp_path / "out.jsonl")  # texts are written as they are
    assert [row["x"] for row in parsed(tmp_path / "out.jsonl")] == texts


def test_spellings_of_a_moment_are_told_apart(lines):
    source = read(lines('{"x": "2020-01-01T10:00:00"}', '{"x": "2020-01-01T10:00:00.000"}'))
    assert len(set(source.table["x"].to_pylist())) == 1
    assert len(set(source.apart["x"].to_pylist())) == 2


def test_nanoseconds_are_cut_with_a_note(tmp_path):
    table = pa.table({"x": pa.array([1, 2_000], pa.timestamp("ns"))})
    assert write(table, tmp_path / "t.jsonl").notes == ("column 'x': times were cut to microseconds",)
    assert [row["x"] for row in parsed(tmp_path / "t.jsonl")] == [
        "1970-01-01T00:00:00.000000",
        "1970-01-01T00:00:00.000002",
    ]


def test_floats_stay_floats_and_keep_their_digits(tmp_path):
    numbers = [5.0, -0.0, 0.1 + 0.2, 1e300, 5e-324, 1e16, None, float("nan")]
    written = write(pa.table({"x": numbers}), tmp_path / "t.jsonl")
    found = read(tmp_path / "t.jsonl").table["x"]
    assert found.type == pa.float64()
    assert repr(found.to_pylist()) == "[5.0, -0.0, 0.30000000000000004, 1e+300, 5e-324, 1e+16, None, None]"
    assert written.notes == ("column 'x': NaN became a missing value",)
    assert parsed(tmp_path / "t.jsonl")[-1] == {"x": None}
    with pytest.raises(DataError, match=r"must be finite\. Got an infinite one in 'x'"):
        write(pa.table({"x": [float("inf")]}), tmp_path / "never.jsonl")
    for table in (pa.table({"x": pa.array([], pa.int64())}), pa.table({})):
        with pytest.raises(DataError, match="must have a column and a record"):
            write(table, tmp_path / "never.jsonl")
    with pytest.raises(DataError, match=r"single values to be written as JSON lines\. Got 'x' of type list"):
        write(pa.table({"x": [[1]]}), tmp_path / "never.jsonl")


def test_integers_beyond_64_bits(tmp_path, lines):
    table = pa.table({"u": pa.array([2**64 - 1, 1], pa.uint64()), "d": pa.array([Decimal(10**30), None])})
    write(table, tmp_path / "big.jsonl")
    assert read(tmp_path / "big.jsonl").table.to_pydict() == {
        "u": [Decimal(2**64 - 1), Decimal(1)],
        "d": [Decimal(10**30), None],
    }
    assert read(lines('{"x": ' + "9" * 38 + "}")).table["x"].to_pylist() == [Decimal("9" * 38)]
    with pytest.raises(DataError, match=r"at most 38 digits\. Got more in the column 'x'"):
        read(lines('{"x": ' + "9" * 39 + "}"))
    with pytest.raises(DataError, match="fit into one type"):
        read(lines('{"x": 9007199254740993}', '{"x": 0.5}'))
    with pytest.raises(DataError, match="smaller than 1e308"):
        read(lines('{"x": 1e400}'))
    assert "column 'x': numbers keep 17 digits" in read(lines('{"x": 0.123456789012345678}')).notes


def test_a_missing_key_is_a_missing_value_that_verification_tells_from_null(lines):
    source = read(lines('{"a": 1, "b": "x"}', '{"a": 1}', '{"b": null, "a": 1}', "{}"))
    assert source.table.to_pydict() == {"a": [1, 1, 1, None], "b": ["x", None, None, None]}
    assert source.apart.keys() == {"b"}
    codes = source.apart["b"].to_pylist()
    assert codes[1] == codes[3] != codes[2]
    assert "keys: a key that a line does not have is a missing value" in source.notes
    rows = ['{"a": 1, "b": null}', '{"a": 1}']
    assert shoal.verify(read(lines(*rows)).table, ["a", "b"]).k == 2
    from shoal.release.verification import verify_source

    assert verify_source(read(lines(*rows)), ["a", "b"], None).k == 1
    assert verify_source(read(lines(rows[0], rows[0])), ["a", "b"], None).k == 2


def test_values_that_look_alike_in_the_table_but_not_in_the_file(lines):
    for one, other in (("1", "1.0"), ("1", '"1"'), ("true", '"true"'), ("1e1", "10.0"), ("0.1", "0.10"), ("0", "-0")):
        source = read(lines(f'{{"x": {one}}}', f'{{"x": {other}}}'))
        first, second = source.table["x"].to_pylist()
        assert first == second
        assert len(set(source.apart["x"].to_pylist())) == 2
    assert read(lines('{"x": 1}', '{"x": "a"}')).notes == ("column 'x': values of several kinds, read as text",)


def test_a_release_says_nothing_of_keys_and_spelling(tmp_path):
    rows = [{"age": 20 + i % 7, "city": ["Oslo", "Rome"][i % 2], "note": "n"} for i in range(40)]
    for row in rows[::3]:
        del row["note"]
    rows[1]["note"] = None
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    shoal.anonymize_file(
        tmp_path / "in.jsonl",
        tmp_path / "out.jsonl",
        k=5,
        quasi_identifiers=["age", "city", "note"],
        method="mdav",
        certificate=tmp_path / "out.json",
    )
    out = parsed(tmp_path / "out.jsonl")
    assert {tuple(row) for row in out} == {("age", "city", "note")}
    assert shoal.verify_file(tmp_path / "out.jsonl", tmp_path / "out.json").k >= 5


def test_parts_of_a_file_fit_together(lines, monkeypatch):
    monkeypatch.setattr(json_lines, "_ROWS", 2)
    source = read(lines('{"a": 1}', '{"a": 2}', '{"a": 3, "b": true}', "", '{"b": false}', '{"a": "x", "b": null}'))
    assert source.table.to_pydict() == {"a": ["1", "2", "3", None, "x"], "b": [None, None, True, False, None]}
    assert source.apart["a"].to_pylist() == [3, 3, 3, 1, 2]
    assert source.apart["b"].to_pylist() == [1, 1, 4, 4, 0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": "secret"', "Got something else in line 2"),
        ('{"a": "secret"} {"a": 2}', "Got something else in line 2"),
        ('"secret"', "Got something else in line 2"),
        ("secret", "Got something else in line 2"),
        ('[{"a": "secret"}]', "Got an array in line 2. Hint: a file that is one array"),
        ('{"a": NaN, "secret": 1}', "perhaps NaN or Infinity, which JSON does not have"),
        ('{"a": -Infinity, "secret": 1}', "perhaps NaN or Infinity"),
        ('{"secret": 1, "secret": 2}', "Got a key twice in line 2"),
        ('{"": "secret"}', "Got an empty one in line 2"),
        ('{"a": {"b": "secret"}}', "Got an object in line 2, key 'a'"),
        ('{"a": ["secret"]}', "Got an array in line 2, key 'a'"),
        ('{"a": "secret\\ud800"}', "Got half a character in line 2, key 'a'"),
        ('{"\\ud800": "secret"}', "Got half a character in line 2"),
        ('{"a": "secret\tand more"}', "Got something else in line 2"),
        ('{"a": ' + "[" * 10**5 + "secret", "Got something else in line 2"),
        ("{'a': 'secret'}", "Got something else in line 2"),
        ('{"a": 01, "secret": 1}', "Got something else in line 2"),
    ],
)
def test_broken_lines_are_named_and_not_quoted(lines, line, message):
    with pytest.raises(DataError, match=message.replace("[", r"\[")) as caught:
        read(lines('{"a": 1}', line))
    assert "secret" not in str(caught.value)


def test_encodings(lines, tmp_path):
    text = '{"a": "é"}\n{"a": "ü"}\n'
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        (tmp_path / "t.jsonl").write_bytes(text.encode(encoding))
        assert read(tmp_path / "t.jsonl").table["a"].to_pylist() == ["é", "ü"]
    (tmp_path / "t.jsonl").write_bytes(text.encode("cp1252"))
    with pytest.raises(DataError, match="must be in UTF-8"):
        read(tmp_path / "t.jsonl")
    (tmp_path / "t.jsonl").write_bytes('{"a": "x"}'.encode("utf-16-le"))
    with pytest.raises(DataError, match="NUL character"):
        read(tmp_path / "t.jsonl")
    assert read(lines('{"a": 1}', "", " ", '{"a": 2}', end="\r\n")).table["a"].to_pylist() == [1, 2]
    with pytest.raises(DataError, match="an object with keys"):
        read(lines("", "{}"))


def test_a_truncated_archive(tmp_path):
    whole = gzip.compress(b'{"a": 1}\n' * 1000)
    (tmp_path / "t.jsonl.gz").write_bytes(whole[:-20])
    with pytest.raises(DataError, match=r"compressed with gzip\. Got a damaged file"):
        read(tmp_path / "t.jsonl.gz")


def test_lines_with_keys_of_their_own_do_not_fill_the_memory(lines, monkeypatch):
    monkeypatch.setattr(json_lines, "_FEWEST", 100)
    assert read(lines(*[f'{{"k{i}": 1}}' for i in range(10)])).table.shape == (10, 10)
    with pytest.raises(DataError, match=r"mostly the same keys\. Got 200 different ones in 200 lines"):
        read(lines(*[f'{{"k{i}": 1}}' for i in range(200)]))


def test_options_of_other_formats_are_refused(lines):
    for options in ({"encoding": "utf-8"}, {"delimiter": ","}, {"sheet": 0}, {"table": "t"}, {"header": False}):
        with pytest.raises(OptionError):
            read(lines('{"a": 1}'), **options)
    assert read(lines('{"a": 1}', name="t.data"), format="ndjson").table["a"].to_pylist() == [1]
    with pytest.raises(ShoalError, match="CSV and JSON lines only"):
        read("people.parquet.gz")
