"""Data frames of R: types, labels, missing values, files with several objects, and files that are damaged."""

import bz2
import datetime as dt
import gzip
import lzma
import random
import struct

import pyarrow as pa
import pytest
from r_writer import (
    ASCII,
    BYTES,
    COMPLEX,
    INTEGER,
    LATIN1,
    LIST,
    LOGICAL,
    NA_INTEGER,
    REAL,
    Rule,
    Vector,
    factor,
    frame,
    integers,
    rda,
    rds,
    reals,
    strings,
)

import shoal
from shoal.errors import DataError, OptionError, ShoalError
from shoal.io import r_files, read, unpacking, write
from shoal.io.labels import field_labels
from shoal.io.r_objects import as_text

DAY = strings("Date")
MOMENT = strings("POSIXct", "POSIXt")
NAN = bytes.fromhex("7ff8000000000000")
TAGGED = bytes.fromhex("7ff00000610007a2")  # haven's tagged_na("a")


@pytest.fixture
def saved(tmp_path):
    def made(thing, name="t.rds", pack=gzip.compress, **options):
        content = thing if isinstance(thing, bytes) else rds(thing, **options)
        (tmp_path / name).write_bytes(pack(content))
        return tmp_path / name

    return made


def people():
    return frame(
        {
            "i": integers(1, None, 3),
            "x": reals(1.5, None, -2.0),
            "whole": reals(1.0, 2.0, None),
            "s": strings("a", None, "Zürich"),
            "b": Vector(LOGICAL, [1, NA_INTEGER, 0]),
            "f": factor([2, None, 1], ["red", "green", "never"]),
            "o": factor([1, 3, 2], ["low", "mid", "high"], ordered=True),
            "d": reals(18321.0, None, -1.0, **{"class": DAY}),
            "m": reals(0.0, None, 1.25, **{"class": MOMENT, "tzone": strings("Europe/Paris")}),
        }
    )


def test_every_type(saved):
    source = read(saved(people()))
    table = source.table
    paris = pa.scalar(1250, pa.timestamp("ms", "Europe/Paris")).as_py()
    assert {name: table[name].to_pylist() for name in table.column_names} == {
        **{"i": [1, None, 3], "x": [1.5, None, -2.0], "whole": [1, 2, None], "s": ["a", None, "Zürich"]},
        **{"b": [True, None, False], "f": ["green", None, "red"], "o": ["low", "high", "mid"]},
        "d": [dt.date(2020, 2, 29), None, dt.date(1969, 12, 31)],
        "m": [pa.scalar(0, pa.timestamp("ms", "Europe/Paris")).as_py(), None, paris],
    }
    assert [str(table.schema.field(name).type) for name in ("i", "x", "whole", "d")] == [
        *("int32", "double", "int64", "date32[day]")
    ]
    assert table["f"].chunk(0).dictionary.to_pylist() == ["red", "green", "never"]
    assert not table["f"].type.ordered
    assert table["o"].type.ordered
    assert (source.format, source.apart, source.notes) == ("r", {}, ())


def test_factors_are_nominal_and_ordered_ones_ordinal(saved, tmp_path):
    n = 12
    colours = factor([1 + i % 2 for i in range(n)], ["red", "green", "never"])
    sizes = factor([1 + i % 3 for i in range(n)], ["small", "large", "huge"], ordered=True)
    path = saved(frame({"colour": colours, "size": sizes, "age": integers(*range(20, 20 + n))}))
    release = shoal.anonymize_file(path, tmp_path / "out.parquet", k=3, method="mdav")
    assert [(a.name, a.kind) for a in release.attributes] == [
        *(("colour", "nominal"), ("size", "ordinal"), ("age", "integer"))
    ]
    assert "never" not in str(read(tmp_path / "out.parquet").table["colour"].chunk(0).dictionary)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("version", [2, 3])
def test_compressions_and_versions(saved, pack, version):
    assert read(saved(people(), pack=pack, version=version)).table.num_rows == 3
    path = saved(rda({"people": people()}, version), "t.RData", pack)
    assert read(path).table.num_rows == 3
    assert read(path, table="people").table.equals(read(path).table)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_small_file_cannot_fill_the_memory(saved, pack, monkeypatch):
    """Fifty times its size, or a fixed number of bytes if that is more; nothing is unpacked beyond."""
    monkeypatch.setattr(unpacking, "LARGEST", 2**16)
    assert read(saved(people(), pack=pack)).table.num_rows == 3
    constant = rds(frame({"x": reals(*[1.0] * 2**16)}))
    with pytest.raises(DataError, match="must have at most 0 MiB, or 50 times its size, when it is unpacked") as error:
        read(saved(constant, pack=pack))
    assert "compress = FALSE" in str(error.value)
    assert read(saved(constant, pack=bytes)).table.num_rows == 2**16
    monkeypatch.setattr(r_files, "MOST_TIMES", 10**4)
    assert read(saved(constant, pack=pack)).table.num_rows == 2**16
    with pytest.raises(DataError, match="must be a complete file of R"):  # R compresses once
        read(saved(people(), pack=lambda content: pack(gzip.compress(content))))


def test_a_file_with_several_objects_asks_which(saved):
    small = frame({"a": integers(1, 2)})
    path = saved(rda({"people": people(), "small": small, "k": integers(5)}), "t.rda")
    with pytest.raises(OptionError, match=r"must be named \(table, --table\).*2 data frames.*people, small\."):
        read(path)
    assert read(path, table="small").table.to_pydict() == {"a": [1, 2]}
    with pytest.raises(OptionError, match=r"Got 'smal'\. Hint: .*small"):
        read(path, table="smal")
    with pytest.raises(DataError, match=r"must be a data frame\. Got an integer vector: k in"):
        read(path, table="k")
    source = read(saved(rda({"k": integers(5), "small": small}), "t.rda"))
    assert source.table.to_pydict() == {"a": [1, 2]}
    assert source.notes == ("object: 'small' (the only data frame of 2 objects)",)
    with pytest.raises(OptionError, match="one object without a name"):
        read(saved(small), table="small")
    with pytest.raises(OptionError, match="databases and R files only"):
        read("people.csv", table="small")


def test_the_command_line_reads_a_data_frame_by_its_name(saved, tmp_path):
    from typer.testing import CliRunner

    from shoal.cli.app import app

    few = frame({"age": integers(*range(20, 30)), "sex": strings(*"fm" * 5)})
    path = saved(rda({"few": few, "other": people()}), "t.rda")
    out = str(tmp_path / "out.csv")
    result = CliRunner().invoke(app, ["anonymize", str(path), "--table", "few", "-k", "5", "-o", out])
    assert result.exit_code == 0, result.output
    assert read(out).table.num_rows == 10


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (Vector(LIST, [integers(1)], {"names": strings("a")}), "a list"),
        (Vector(LIST, [integers(1)]), "a list"),
        (strings("a"), "a character vector"),
        (Vector(INTEGER, [1, 2], {"dim": integers(1, 2)}), "a matrix"),
        (Vector(LIST, [integers(1)], {"class": strings("lm")}), "an object of class lm"),
        (None, "NULL"),
    ],
)
def test_what_is_no_data_frame_is_named(saved, thing, words):
    with pytest.raises(DataError, match=f"must be a data frame. Got {words}.*as.data.frame"):
        read(saved(thing))


def test_columns_that_hold_more_than_single_values(saved):
    for value, words in (
        (Vector(LIST, [integers(1), integers(2)]), "a list"),
        (Vector(LIST, [integers(1)] * 2, {"class": strings("POSIXlt", "POSIXt")}), "class POSIXlt.*as.POSIXct"),
        (frame({"y": integers(1, 2)}), "class data.frame"),
        (Vector(INTEGER, [1, 2], {"dim": integers(2, 1)}), "a matrix"),
        (Vector(COMPLEX, [1.0, 2.0]), "a complex vector"),
    ):
        path = saved(frame({"a": integers(1, 2), "x": value}))
        with pytest.raises(DataError, match=f"single values. Got .*{words}") as caught:
            read(path)
        assert "'x'" in str(caught.value)


def test_labels_are_kept(saved):
    codes = {"names": strings("North", "South", "refused")}
    labelled = reals(
        *(1.0, 2.0, 9.0),
        **{
            **{"label": strings("Region of birth"), "labels": Vector(REAL, [1.0, 2.0, 9.0], codes)},
            **{"na_values": reals(9.0), "class": strings("haven_labelled_spss", "haven_labelled")},
        },
    )
    hmisc = Vector(INTEGER, [4, 5, 6], {"label": strings("Age"), "class": strings("labelled", "integer")})
    source = read(saved(frame({"region": labelled, "age": hmisc})))
    table = source.table
    assert table.to_pydict() == {"region": [1, 2, None], "age": [4, 5, 6]}
    assert field_labels(table, "region", None) == {
        "label": "Region of birth",
        "values": [[1, "North"], [2, "South"]],
    }
    assert field_labels(table, "age", None) == {"label": "Age"}
    assert source.notes == ("column 'region': 1 values that the file declares missing are read as missing, all alike",)
    assert len(set(source.apart["region"].to_pylist())) == 2
    foreign = {"var.labels": strings("Place", "")}
    found = read(saved(frame({"a": integers(1), "b": integers(2)}, **foreign))).table
    assert field_labels(found, "a", None) == {"label": "Place"}
    spss = {"variable.labels": strings("Second", names=strings("b"))}
    found = read(saved(frame({"a": integers(1), "b": integers(2)}, **spss))).table
    assert field_labels(found, "b", None) == {"label": "Second"}
    ranged = reals(1.0, 97.0, 99.0, **{"na_range": reals(97.0, float("inf")), "class": strings("haven_labelled")})
    assert read(saved(frame({"r": ranged}))).table["r"].to_pylist() == [1, None, None]


def test_kinds_of_missing_values_are_told_apart_when_verified(saved):
    from shoal.release.verification import verify_source

    for one, other in ((None, NAN), (None, TAGGED), (NAN, TAGGED)):
        source = read(saved(frame({"x": reals(one, other, 1.0, 1.0)})))
        assert source.table["x"].to_pylist() == [None, None, 1, 1]
        assert verify_source(source, ["x"], None).k == 1
    same = read(saved(frame({"x": reals(NAN, NAN, 1.0, 1.0)})))
    assert verify_source(same, ["x"], None).k == 2
    with_level = read(saved(frame({"f": factor([2, None, 1, 3], ["a", None, "b"])})))
    assert with_level.table["f"].to_pylist() == [None, None, "a", "b"]
    assert len(set(with_level.apart["f"].to_pylist()[:2])) == 2
    days = read(saved(frame({"d": reals(1.0, 1.5, **{"class": DAY})})))
    assert days.table["d"].to_pylist() == [dt.date(1970, 1, 2)] * 2
    assert len(set(days.apart["d"].to_pylist())) == 2


def test_64_bit_integers_and_differences_of_time(saved):
    whole = [struct.pack(">q", number) for number in (2**62 + 1, -(2**63), -7)]
    lengths = reals(1.5, 2.0, 3.0, units=strings("days"), **{"class": strings("difftime")})
    source = read(saved(frame({"id": Vector(REAL, whole, {"class": strings("integer64")}), "length": lengths})))
    assert source.table.to_pydict() == {"id": [2**62 + 1, None, -7], "length": [1.5, 2.0, 3.0]}
    assert source.notes == ("column 'length': differences of time, read as numbers of days",)


def test_moments_without_a_zone_are_in_utc(saved):
    for attributes in ({}, {"tzone": strings("")}, {"tzone": strings("Nowhere/Land")}):
        source = read(saved(frame({"m": reals(60.0, **{"class": MOMENT, **attributes})})))
        assert source.table["m"].to_pylist() == [dt.datetime(1970, 1, 1, 0, 1, tzinfo=dt.UTC)]
        assert source.notes == ("column 'm': moments without a time zone, read as UTC",)


def test_vectors_that_are_stored_as_rules(saved):
    columns = {
        "up": Rule("compact_intseq", reals(3.0, 1.0, 1.0)),
        "down": Rule("compact_intseq", reals(3.0, 3.0, -1.0)),
        "real": Rule("compact_realseq", reals(3.0, 0.5, 1.0)),
        "text": Rule("deferred_string", (integers(7, None, 8), integers(0))),
        "nested": Rule("deferred_string", (Rule("compact_intseq", reals(3.0, 1.0, 1.0)), integers(0))),
        "doubles": Rule("deferred_string", (reals(0.1, None, 100000.0), integers(0))),
        "kept": Rule("wrap_real", (reals(1.5, 2.5, 3.5), integers(0, 0))),
        "day": Rule("wrap_real", (reals(1.0, 2.0, 3.0), integers(0, 0)), {"class": DAY}),
    }
    assert read(saved(frame(columns, integers(None, -3)))).table.to_pydict() == {
        **{"up": [1, 2, 3], "down": [3, 2, 1], "real": [0.5, 1.5, 2.5], "text": ["7", None, "8"]},
        **{"nested": ["1", "2", "3"], "doubles": ["0.1", None, "1e+05"], "kept": [1.5, 2.5, 3.5]},
        "day": [dt.date(1970, 1, 2), dt.date(1970, 1, 3), dt.date(1970, 1, 4)],
    }
    with pytest.raises(DataError, match="damaged"):
        read(saved(frame({"x": Rule("compact_intseq", reals(1e12, 1.0, 1.0))}, integers(None, -1))))


def test_numbers_as_text():
    cases = {100000.0: "1e+05", 123456.0: "123456", 0.1: "0.1", 1 / 3: "0.333333333333333", 1e-5: "1e-05", -1.5: "-1.5"}
    assert {number: as_text(number) for number in cases} == cases  # as R 4.3 prints them
    assert [as_text(x) for x in (float("nan"), float("inf"), -float("inf"), 7)] == ["NaN", "Inf", "-Inf", "7"]
    assert as_text(100000.0, scipen=5) == "100000"


def test_encodings_of_texts(saved):
    texts = strings(
        ("é".encode("latin-1"), LATIN1), ("€".encode("cp1252"), LATIN1), (b"plain", ASCII), ("é".encode(), 0)
    )
    assert read(saved(frame({"s": texts}))).table["s"].to_pylist() == ["é", "€", "plain", "é"]
    assert read(saved(frame({"s": strings((b"\xe9", 0))}), version=2)).table["s"].to_pylist() == ["é"]
    with pytest.raises(DataError, match="damaged"):
        read(saved(frame({"s": strings((b"\xff", BYTES))})))


def test_row_names_and_bad_names(saved):
    source = read(saved(frame({"a": integers(1, 2)}, strings("Ann", "Bob"))))
    assert source.table.to_pydict() == {"a": [1, 2]}
    assert source.notes == ("row names: not read",)
    for names in (["a", "a"], ["a", ""]):
        bad = frame({"a": integers(1), "b": integers(2)})
        bad.attributes["names"] = strings(*names)
        with pytest.raises(DataError, match="each its own"):
            read(saved(bad))
    with pytest.raises(DataError, match="Got Inf in the column 'x'"):
        read(saved(frame({"x": reals(1.0, float("inf"))})))


def test_columns_that_do_not_fit_together(saved):
    wrong = [
        frame({"a": integers(1, 2), "b": integers(1)}),
        frame({"f": factor([3], ["a", "b"])}),
        frame({"f": factor([0], ["a", "b"])}),
        frame({"f": factor([1], ["a", "a"])}),
        frame({"f": Vector(INTEGER, [1], {"class": strings("factor")})}),
        frame({"d": reals(1e300, **{"class": DAY})}),
        frame({"m": reals(1e300, **{"class": MOMENT})}),
        frame({"x": integers(1)}, names=integers(1)),
        frame({"x": integers(1)}, names=strings("a", "b")),
        frame({"x": reals(1.0, labels=strings("no names"), na_range=reals(1.0))}),
    ]
    for thing in wrong:
        with pytest.raises(DataError, match="must be a complete file of R"):
            read(saved(thing))


def test_every_cut_and_random_damage_end_in_an_error_of_shoal(saved):
    whole = rds(people())
    for pack in (bytes, gzip.compress):
        packed = pack(whole)
        for at in range(1, len(packed), 7):
            with pytest.raises(DataError):
                read(saved(packed[:at], pack=bytes))
    chance = random.Random(5)
    for _ in range(300):
        broken = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            broken[chance.randrange(14, len(broken))] = chance.choice((0, 1, 9, 127, 128, 255))
        try:
            read(saved(bytes(broken), pack=bytes))
        except ShoalError as error:
            assert "Zürich" not in str(error)  # noqa: PT017 - some damage is to values alone
    deep = b"".join(struct.pack(">ii", LIST, 1) for _ in range(10**5))
    with pytest.raises(DataError, match="must be a complete file of R"):
        read(saved(rds(None)[:-4] + deep, pack=bytes))


@pytest.mark.parametrize("name", ["test_dataframe.rds", "test_dataframe.rda"])
def test_a_file_that_r_wrote(name):
    from rdata import TESTDATA_PATH

    if not (TESTDATA_PATH / name).is_file():
        pytest.skip("this version of rdata comes without files of R")
    table = read(str(TESTDATA_PATH / name)).table
    assert table.to_pydict() == {"class": ["a", "b", "b"], "value": [1, 2, 3]}


def test_files_of_r_are_not_written(tmp_path):
    with pytest.raises(OptionError, match="can only be read"):
        write(pa.table({"a": [1]}), tmp_path / "t.rds")
    assert list(tmp_path.iterdir()) == []


def test_without_the_package_the_extra_is_named(saved, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "rdata.parser", None)
    with pytest.raises(ShoalError, match=r"needs the package rdata.*pip install 'shoal\[r\]'"):
        read(saved(people()))
