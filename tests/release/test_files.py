"""From file to file: golden bytes, what is passed on byte for byte, certificates, and files that were tampered with."""

import csv
import json
import os
import stat
from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from invariants import check_release
from shoal import io
from shoal.errors import DataError, DisclosureError, OptionError, ShoalError
from shoal.job_files import read_job
from shoal.release import run
from shoal.release.certificate import read_certificate
from shoal.release.groups import blocks
from shoal.release.verification import verify_file

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")
GOLDEN = Path(__file__).parent / "golden"
N = 24
VARYING = ("created", "versions", "seconds", "input", "output", "again")


def rows_of(path, **options):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, **options))


@pytest.fixture
def people(tmp_path):
    """Return the path of a small CSV file."""
    path = tmp_path / "people.csv"
    rows = [f"{i * i},{'fm'[i % 2]},{1000 + i * 37 % 100}.50,n{i % 5}" for i in range(N)]
    path.write_text("\n".join(["age,sex,pay,note", *rows, ""]), encoding="utf-8")
    return path


def released(people, tmp_path, name="out.csv", **fields):
    fields = {"k": 3, "method": "mdav", "quasi_identifiers": ["age", "sex", "pay"], "other": "note", **fields}
    return shoal.anonymize_file(people, tmp_path / name, certificate=tmp_path / "m.json", **fields)


# --- golden ---


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")
    plan, _ = read_job(GOLDEN / "plan.yaml")
    with pytest.warns(shoal.DisclosureWarning):
        release = shoal.anonymize_file(
            GOLDEN / "people.csv", folder / "release.csv", plan, certificate=folder / "m.json", report=folder / "r.html"
        )
    if os.environ.get("SHOAL_WRITE_GOLDEN"):  # after a change that is meant to change releases; look at the difference
        (GOLDEN / "release.csv").write_bytes((folder / "release.csv").read_bytes())
        for name, document in (("certificate", release.certificate), ("record", release.record)):
            kept = {key: value for key, value in document.items() if key not in VARYING}
            (GOLDEN / f"{name}.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    return release, folder


def test_the_golden_release_byte_for_byte(golden):
    _, folder = golden
    assert (folder / "release.csv").read_bytes() == (GOLDEN / "release.csv").read_bytes()


def test_the_golden_certificate(golden):
    _, folder = golden
    found = json.loads((folder / "m.json").read_text(encoding="utf-8"))
    expected = json.loads((GOLDEN / "certificate.json").read_text(encoding="utf-8"))
    assert {key: value for key, value in found.items() if key not in VARYING} == expected
    assert found["output"] == {"name": "release.csv", "sha256": io.read(folder / "release.csv").sha256, "rows": 72}


def test_the_golden_record(golden):
    _, folder = golden
    found = json.loads((folder / "release.csv.record.json").read_text(encoding="utf-8"))
    expected = json.loads((GOLDEN / "record.json").read_text(encoding="utf-8"))
    assert set(found) == {*expected, *VARYING}
    for before, after in zip(expected["attributes"], found["attributes"], strict=True):
        assert after.pop("loss") == pytest.approx(before.pop("loss"), rel=1e-9)
    assert found["loss"] == pytest.approx(expected["loss"], rel=1e-9)
    assert {k: found[k] for k in expected if k != "loss"} == {k: expected[k] for k in expected if k != "loss"}
    source, output = io.read(GOLDEN / "people.csv"), io.read(folder / "release.csv")
    assert found["input"]["sha256"] == source.sha256
    assert found["output"] == {"name": str(folder / "release.csv"), "sha256": output.sha256, "rows": 72}


def test_the_golden_release_by_a_plain_count(golden):
    """With nothing but the csv module."""
    release, _ = golden
    before, after = rows_of(GOLDEN / "people.csv"), rows_of(GOLDEN / "release.csv")
    qis = [name for attribute in release.attributes for name in attribute.columns]
    keys = [tuple(row[name] for name in qis) for row in after]
    people = {(key, row["household"]) for key, row in zip(keys, before, strict=True)}
    assert min(Counter(key for key, _ in people).values()) >= 4
    assert list(after[0]) == [name for name in before[0] if name not in ("person_id", "household")]
    for name in ("note", "diagnosis", "survey_weight"):
        assert [row[name] for row in after] == [row[name] for row in before]
    for name in ("region", "sex", "education", "smoker"):
        assert {row[name] for row in after} <= {row[name] for row in before}
    assert all(len(row["birth_date"].split(".")) == 3 for row in after)
    assert all(len(row["income"].partition(".")[2]) == 2 for row in after if row["income"])
    assert all(len(row["latitude"].partition(".")[2]) == 4 for row in after)
    assert "-999" not in {row["height_cm"] for row in after}


def test_the_golden_release_is_verified(golden):
    _, folder = golden
    found = verify_file(io.read(folder / "release.csv"), folder / "m.json")
    assert found
    assert found.k >= 4


def test_the_golden_report_names_no_household(golden):
    _, folder = golden
    page = (folder / "r.html").read_text(encoding="utf-8")
    said = page + (folder / "m.json").read_text(encoding="utf-8")
    for row in rows_of(GOLDEN / "people.csv"):
        assert row["person_id"] not in said
        assert row["household"] not in said


# --- what is passed on ---


@pytest.mark.parametrize(
    ("encoding", "delimiter", "newline", "decimal"),
    [
        ("utf-8", ",", "\n", "."),
        ("utf-8-sig", ";", "\r\n", ","),
        ("cp1252", "\t", "\n", "."),
        ("utf-16", ";", "\r\n", ","),
    ],
)
def test_what_is_passed_on_is_passed_on_byte_for_byte(tmp_path, encoding, delimiter, newline, decimal):
    notes = ["007", " 1.50 ", "1e5", "TRUE", '"quo""ted"', '""', "", "é", "-0", "31/02/2024", "NA", f'" {delimiter} "']
    lines = [delimiter.join(["x", "note"])]
    lines += [f"{i}{decimal}50{delimiter}{notes[i % len(notes)]}" for i in range(N)]
    path = tmp_path / "in.csv"
    path.write_bytes((newline.join(lines) + newline).encode(encoding))
    shoal.anonymize_file(path, tmp_path / "out.csv", k=3, method="mdav", quasi_identifiers="x", other="note")
    again = (tmp_path / "out.csv").read_bytes().decode(encoding).removesuffix(newline).split(newline)
    assert (tmp_path / "out.csv").read_bytes()[:2] == path.read_bytes()[:2]
    assert again[0] == lines[0]
    for before, after in zip(lines[1:], again[1:], strict=True):
        assert after.partition(delimiter)[2] == before.partition(delimiter)[2]
        assert after.partition(delimiter)[0].partition(decimal)[2] in ("00", "50", "17", "33", "67", "83")
    counts = Counter(line.partition(delimiter)[0] for line in again[1:])
    assert min(counts.values()) >= 3


def test_missing_values_are_empty_fields(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("x,y\n" + "".join(f"{i // 6},{'NA' if i < 6 else 5}\n" for i in range(12)), encoding="utf-8")
    shoal.anonymize_file(path, tmp_path / "out.csv", k=3, method="mdav", missing_values="NA")
    assert [line.partition(",")[2] for line in (tmp_path / "out.csv").read_text().split()[1:]] == [""] * 6 + ["5"] * 6


# --- formats ---


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.zst", "tsv", "parquet", "arrow", "sqlite", "xlsx"])
def test_from_csv_to_every_format_and_back(people, tmp_path, suffix):
    release = released(people, tmp_path, f"out.{suffix}")
    again = io.read(tmp_path / f"out.{suffix}")
    assert again.table.num_rows == N
    assert again.table.column("note").to_pylist() == [f"n{i % 5}" for i in range(N)]
    assert verify_file(again, tmp_path / "m.json").k == release.k >= 3
    if suffix == "parquet":
        assert again.table.schema.types[:3] == [pa.int64(), pa.string(), pa.float64()]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "sqlite", "xlsx"])
def test_numbers_with_exponents_go_to_every_format(tmp_path, suffix):
    """They have as many decimal places as before their exponents, and are not rounded to these in full."""
    (tmp_path / "small.csv").write_text("x\n" + "1.3E-05\n" * 3 + "-6.9E-07\n" * 3)
    release = shoal.anonymize_file(
        tmp_path / "small.csv", tmp_path / f"out.{suffix}", k=3, certificate=tmp_path / "m.json"
    )
    again = io.read(tmp_path / f"out.{suffix}")
    assert [float(value) for value in again.table.column("x").to_pylist()] == [1.3e-05] * 3 + [-6.9e-07] * 3
    assert verify_file(again, tmp_path / "m.json").k == release.k == 3


def test_from_typed_files(people, tmp_path):
    table = pa.table(
        {
            "age": pa.array([i * i for i in range(N)], pa.int16()),
            "when": pa.array([i * 86_400_000 for i in range(N)], pa.timestamp("ms", "UTC")),
            "kind": pa.array(["a", "b"] * (N // 2)).dictionary_encode(),
            "note": pa.array([[1]] * N),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    fields = {"k": 3, "method": "mdav", "quasi_identifiers": ["age", "when", "kind"], "other": "note"}
    release = shoal.anonymize_file(tmp_path / "in.parquet", tmp_path / "out.parquet", **fields)
    check_release(release, io.read(tmp_path / "in.parquet").table)
    again = pq.read_table(tmp_path / "out.parquet")
    assert again.schema.types == release.table.schema.types
    assert again.equals(release.table)


def test_a_data_frame_is_saved(tmp_path):
    import pandas as pd

    table = pd.DataFrame({"x": [float(i) for i in range(N)], "c": pd.Categorical(["a", "b"] * (N // 2))})
    release = shoal.anonymize(table, k=3, method="mdav")
    saved = release.save(tmp_path / "out.csv", certificate=tmp_path / "m.json", report=tmp_path / "r.html")
    assert release.written is None
    assert saved.written.rows == N
    assert verify_file(io.read(tmp_path / "out.csv"), tmp_path / "m.json").k == release.k
    assert "<html" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_without_an_output_nothing_but_what_was_asked_for_is_written(people, tmp_path):
    release = shoal.anonymize_file(people, k=3, method="mdav", other="note", certificate=tmp_path / "m.json")
    assert release.written is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.json", "people.csv"]
    assert read_certificate(tmp_path / "m.json").output is None


def test_progress_from_file_to_file(people, tmp_path):
    seen = []
    released(people, tmp_path, progress=seen.append)
    assert seen[0] == 0.0
    assert seen[-1] == 1.0
    assert seen == sorted(set(seen))


# --- the certificate ---


def test_the_certificate_says_what_holds_and_the_record_what_was_done(people, tmp_path):
    text = people.read_text(encoding="utf-8").replace("n3", "SECRET").replace("1000.50", "987654321.50")
    people.write_text(text, encoding="utf-8")
    released(people, tmp_path, random_state=4)
    said = (tmp_path / "m.json").read_text(encoding="utf-8")
    certificate, record = json.loads(said), json.loads((tmp_path / "out.csv.record.json").read_text(encoding="utf-8"))
    for secret in ("SECRET", "987654321", "people", str(tmp_path), record["input"]["sha256"]):
        assert secret not in said
    assert certificate["k"] == {
        **{"wanted": 3, "held": 3, "held_in_units": None, "held_for_all": 1, "unique": N},
        **{"blocks": [["age", "sex", "pay"]], "strata": []},
    }
    assert set(certificate["versions"]) >= {"shoal", "python", "numpy", "pyarrow"}
    assert certificate["figures"]["loss"] is None
    assert certificate["withheld"] == ["random_state"]
    assert record["job"]["random_state"] == 4
    assert record["input"] == {"name": str(people), "sha256": io.read(people).sha256, "rows": N}
    assert {"reading", "partitioning", "writing"} <= set(record["seconds"])
    assert [attribute["type"] for attribute in record["attributes"]] == ["integer", "nominal", "continuous"]
    assert 0 < record["loss"] < 1


def test_only_its_owner_can_read_the_record(people, tmp_path):
    released(people, tmp_path)
    record, certificate = tmp_path / "out.csv.record.json", tmp_path / "m.json"
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert stat.S_IMODE(certificate.stat().st_mode) & 0o044
    record.chmod(0o644)
    released(people, tmp_path, force=True)
    assert stat.S_IMODE(record.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("given", "there"),
    [
        ({}, {"m.json", "out.csv.record.json"}),
        ({"record": False}, {"m.json"}),
        ({"record": "mine.json"}, {"m.json", "mine.json"}),
        ({"certificate": None}, set()),
    ],
)
def test_where_the_record_is_written(people, tmp_path, monkeypatch, given, there):
    monkeypatch.chdir(tmp_path)
    fields = {"certificate": "m.json", **given}
    shoal.anonymize(pd.read_csv(people), k=3, method="mdav", other=["note"]).save("out.csv", **fields)
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "out.csv", *there}


# --- tampering ---


def test_a_changed_cell_is_found_by_the_hash(people, tmp_path):
    released(people, tmp_path)
    path = tmp_path / "out.csv"
    path.write_text(path.read_text().replace("n1", "n2", 1))
    with pytest.raises(DisclosureError, match="This certificate belongs to another file"):
        verify_file(io.read(path), tmp_path / "m.json")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [lines[0], "999" + lines[1], *lines[2:]], "must hide every record among 3"),
        (lambda lines: lines[:-1], "This certificate belongs to another table, of 24 rows"),
        (lambda lines: [lines[0].replace("age", "years"), *lines[1:]], "must have the column 'age' of its certificate"),
    ],
)
def test_tampering_is_found_without_a_hash_too(people, tmp_path, change, said):
    """As for a database, which has no file to be hashed."""
    released(people, tmp_path)
    certificate = json.loads((tmp_path / "m.json").read_text())
    certificate["output"]["sha256"] = None
    (tmp_path / "m.json").write_text(json.dumps(certificate))
    assert verify_file(io.read(tmp_path / "out.csv"), tmp_path / "m.json").k == 3
    lines = (tmp_path / "out.csv").read_text().split("\n")
    (tmp_path / "out.csv").write_text("\n".join(change(lines[:-1])) + "\n")
    with pytest.raises(ShoalError) as caught:
        verify_file(io.read(tmp_path / "out.csv"), tmp_path / "m.json")
    assert said in str(caught.value)


def test_blocks_are_verified_one_by_one(people, tmp_path):
    released(people, tmp_path, blocks="each")
    found = verify_file(io.read(tmp_path / "out.csv"), tmp_path / "m.json")
    assert found  # what was promised holds
    assert found.k < 3


def test_strata_are_verified_with_every_block(people, tmp_path):
    release = released(people, tmp_path, quasi_identifiers=["age", "pay"], stratum="sex", blocks="each")
    assert read_certificate(tmp_path / "m.json").quasi_identifiers == ["age", "pay", "sex"]
    for block in release.blocks:
        assert shoal.verify(release.table, [*block.columns, "sex"]).k >= 3
    assert verify_file(io.read(tmp_path / "out.csv"), tmp_path / "m.json")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "m.json cannot be read: No such file"),
        ("{", "m.json is not the certificate of a release: it is not JSON"),
        ("[1]", "m.json is not the certificate of a release"),
        ('{"k": 5, "quasi_identifiers": ["a"]}', "is not the certificate of a release"),
        ('{"k": {"wanted": 3}, "quasi_identifiers": ["age"]}', "is not the certificate of a release"),
        ('{"k": {"wanted": 3, "blocks": []}, "quasi_identifiers": ["age"]}', "is not the certificate of a release"),
    ],
)
def test_certificates_that_are_none(people, tmp_path, content, said):
    if content is not None:
        (tmp_path / "m.json").write_text(content)
    with pytest.raises(DataError) as caught:
        verify_file(io.read(people), tmp_path / "m.json")
    assert said in str(caught.value)


# --- nothing is left behind ---


def wrong_partition(X, *_):
    import numpy as np

    return np.arange(len(X)) // 2


def test_a_wrong_partition_is_refused_and_nothing_is_written(people, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "group", wrong_partition)
    with pytest.raises(DisclosureError, match="nothing was published"):
        released(people, tmp_path, report=tmp_path / "r.html")
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_a_file_that_is_wrong_on_the_disk_is_refused(people, tmp_path, monkeypatch):
    """The table in memory passed; what was read again did not: no file, and an old one stays as it was."""
    monkeypatch.setattr(run, "require_privacy", lambda *_: None)
    monkeypatch.setattr(blocks, "group", wrong_partition)
    with pytest.raises(DisclosureError, match="The file must hide every record among 3"):
        released(people, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(DisclosureError):
        released(people, tmp_path, force=True)
    assert (tmp_path / "out.csv").read_text() == "old"
    assert not (tmp_path / "m.json").exists()


def test_the_check_of_a_file_counts_strata_and_every_block():
    table = pa.table({"x": [1.0] * 6 + [5.0] * 6, "y": [2.0] * 6 + [7.0] * 6, "s": ["a", "b"] * 6})
    release = shoal.anonymize(table, k=3, method="mdav", stratum="s", blocks="each")

    def file_with(**columns):
        changed = pa.table({**table.to_pydict(), **columns})
        return io.Source(changed, False, "arrow", None, None, "x.arrow")

    release.check(file_with())
    for wrong in ({"s": ["a"] * 5 + ["b"] * 7}, {"y": [2.0] * 5 + [7.0] * 7}, {"x": [1.0] * 4 + [5.0] * 8}):
        with pytest.raises(DisclosureError, match="The file must hide every record among 3"):
            release.check(file_with(**wrong))


@pytest.mark.parametrize("which", ["out.csv", "m.json", "r.html"])
def test_what_is_there_is_not_replaced_and_that_is_said_first(people, tmp_path, monkeypatch, which):
    (tmp_path / which).write_text("old")
    monkeypatch.setattr(blocks, "group", lambda *_: pytest.fail("the work was done before"))
    with pytest.raises(ShoalError, match="must not be there yet"):
        released(people, tmp_path, report=tmp_path / "r.html")
    assert (tmp_path / which).read_text() == "old"


def test_force_replaces(people, tmp_path):
    released(people, tmp_path)
    released(people, tmp_path, force=True, k=4)
    assert verify_file(io.read(tmp_path / "out.csv"), tmp_path / "m.json").k >= 4


def test_one_file_is_not_two(people, tmp_path):
    with pytest.raises(OptionError, match="must be different files"):
        released(people, tmp_path, report=tmp_path / "m.json")


def test_a_plan_says_everything(people):
    with pytest.raises(OptionError, match=r"With a plan, no other fields may be given. Got 'k'"):
        shoal.anonymize_file(people, None, shoal.Plan.of(), k=3)


def test_a_source_that_was_read_already(people, tmp_path):
    release = released(io.read(people), tmp_path)
    assert release.record["input"]["name"].endswith("people.csv")
