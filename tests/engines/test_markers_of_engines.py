"""Nothing of the input that is not in the release goes out with a release that is made in pieces.

Markers, words that occur nowhere else, are planted in values, levels, names and places.
"""

import json
import logging
import os
import stat
import warnings

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import shoal
from engines.in_pieces import people
from shoal.errors import DataError

MARK = "qmarkx"
HIDDEN = ("person", "code", "level")
PUBLIC = ("income", "weight", "job", "day", "ill", "region")
FIELDS = {
    **{"k": 4, "engine": "stream", "method": "mdav", "missing": "drop", "l": 2, "shuffle": False},
    **{"quasi_identifiers": ["income", "weight", "job", "day"], "sensitive_attributes": ["ill"], "stratum": ["region"]},
    **{"unit": f"{MARK}person", "identifiers": [f"{MARK}code"], "drop": [f"{MARK}level"]},
}


def marked(n=300):
    """Return people whose unpublished columns, and the values of the row that is dropped, are markers."""
    table = people(n).select([*HIDDEN, *PUBLIC])
    for name in HIDDEN:
        values = [f"{MARK}{value}" for value in table.column(name).to_pylist()]
        if name == "person":
            values[5], values[6] = values[7].upper(), f" {values[7]}"  # written in several ways
        table = table.set_column(table.column_names.index(name), f"{MARK}{name}", pa.array(values))
    weights = table.column("weight").to_pylist()
    jobs = [job if weights[at] is not None else f"{MARK}job" for at, job in enumerate(table.column("job").to_pylist())]
    table = table.set_column(table.column_names.index("job"), "job", pa.array(jobs))
    return table.replace_schema_metadata({"source": f"{MARK}schema"})


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_no_marker_goes_out(tmp_path, monkeypatch, caplog, capfd, format):
    place = tmp_path / f"{MARK}folder"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    source = place / f"{MARK}people.{format}"
    {"csv": pacsv.write_csv, "parquet": pq.write_table}[format](marked(), source)
    out, certificate, report = (tmp_path / name for name in (f"out.{format}", "m.json", "r.html"))
    with warnings.catch_warnings(record=True) as told, caplog.at_level(logging.DEBUG, logger="shoal"):
        warnings.simplefilter("always")
        release = shoal.anonymize_file(source, out, certificate=certificate, report=report, **FIELDS)
    assert release.k >= 4
    assert any("Some units are written in several ways" in words for words in release.warnings)
    assert len(set(release.warnings)) == len(release.warnings)
    said = "".join((*capfd.readouterr(), *(str(one.message) for one in told), caplog.text, repr(release)))
    documents = certificate.read_text() + report.read_text()
    for text in (documents, said, out.read_bytes().decode("latin-1")):
        assert MARK not in text
        assert MARK.upper() not in text
    # How many rows were dropped is for the data holder alone.
    assert release.rows_dropped > 0
    plain = json.loads(certificate.read_text())
    plain["output"].pop("sha256")
    assert "300" not in str(plain)
    record = tmp_path / f"out.{format}.record.json"
    assert MARK in record.read_text()
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert os.listdir(place) == [source.name]


def test_a_report_does_not_take_the_place_of_the_input(tmp_path):
    source = tmp_path / "in.parquet"
    pq.write_table(marked(), source)
    release = shoal.anonymize_file(source, tmp_path / "out.parquet", **FIELDS)
    before = source.read_bytes()
    with pytest.raises(shoal.ShoalError, match="input"):
        release.report(source, force=True)
    assert source.read_bytes() == before
    assert "<html" in release.report(tmp_path / "report.html")


NESTED = [{"x": 1}] * 20


@pytest.mark.parametrize(
    ("columns", "fields", "words"),
    [
        ({"w": [f"{MARK}w", *"1" * 19]}, {"weight": "w"}, "'w' must hold numbers"),
        ({"w": ["0"] * 20}, {"weight": "w"}, "not all 0. Got zeros only"),
        ({"w": ["-1", *"1" * 19]}, {"weight": "w"}, "at least 0, and not all 0. Got other values"),
        (
            {"c": [f"{MARK}c", *["a", "b"] * 9, "b"]},
            {"types": {"c": "hierarchical"}},
            "Got 1 of 3 that are not. Equal values are",
        ),
        ({"c": [*[f"{MARK}c"] * 5, *"a" * 15]}, {"levels": {"c": ["a", "b"]}}, "1 rows. Equal values are counted once"),
    ],
    ids=["texts as weights", "no weights", "negative weights", "hierarchy", "levels"],
)
def test_values_are_refused_without_being_told(tmp_path, columns, fields, words):
    known = [name for name in columns if name != fields.get("weight")]
    fields = {"k": 3, "engine": "stream", "quasi_identifiers": ["age", *known], **fields}
    if "types" in fields:
        fields["hierarchies"] = {"c": {"top": ["a", "b"]}}
    pacsv.write_csv(pa.table({"age": [str(row) for row in range(20)], **columns}), tmp_path / "in.csv")
    with pytest.raises(DataError, match=words) as error:
        shoal.anonymize_file(tmp_path / "in.csv", tmp_path / "out.csv", **fields)
    assert MARK not in str(error.value)
    assert error.value.__cause__ is None
    assert os.listdir(tmp_path) == ["in.csv"]


@pytest.mark.parametrize("role", ["quasi_identifiers", "stratum", "weight", "unit", "sensitive_attributes"])
def test_columns_of_structures_are_refused(tmp_path, role):
    pq.write_table(pa.table({"age": range(20), "c": NESTED}), tmp_path / "in.parquet")
    fields = {
        "k": 3,
        "engine": "stream",
        "quasi_identifiers": ["age"],
        role: {"weight": "c", "unit": "c", "quasi_identifiers": ["age", "c"]}.get(role, ["c"]),
    }
    with pytest.raises(DataError, match=r"The column 'c' holds struct"):
        shoal.anonymize_file(
            tmp_path / "in.parquet", tmp_path / "out.parquet", l=2 if "sens" in role else None, **fields
        )


def test_weights_in_text_have_the_decimal_mark_of_the_file(tmp_path):
    lines = ["age;income;w", *(f"{20 + row % 9};{row},5;{row % 5},25" for row in range(60))]
    (tmp_path / "in.csv").write_text("\n".join(lines))
    fields = {"k": 3, "method": "mdav", "quasi_identifiers": ["age", "income"], "weight": "w"}
    read = []
    for engine in ("stream", "memory"):
        shoal.anonymize_file(tmp_path / "in.csv", tmp_path / f"{engine}.csv", engine=engine, random_state=0, **fields)
        read.append((tmp_path / f"{engine}.csv").read_text())
    assert read[0] == read[1]
