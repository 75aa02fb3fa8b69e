"""How documents stand beside their release, whenever the process ends, and that no output takes an input's place."""

import json
import os
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal import io
from shoal.errors import DisclosureError, OptionError, ShoalError
from shoal.release.files import write_text
from shoal.release.verification import verify_file

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")


class Killed(BaseException):
    """Ends the process, as far as a test can: nothing that catches errors catches it."""


def release_of(shift):
    ages = [shift + age for age in range(12)]
    return shoal.anonymize(
        pa.table({"age": ages, "ill": ["a", "b"] * 6}), k=3, quasi_identifiers=["age"], other="ill", method="mdav"
    )


def save(release, folder, **options):
    documents = {"certificate": folder / "out.csv.manifest.json", "report": folder / "r.html", **options}
    return release.save(folder / "out.csv", force=True, **documents)


@pytest.fixture
def kill(monkeypatch):
    """Return a function that lets the process end before the n-th step that changes a folder."""
    steps = {"left": None}

    def ending(function):
        def step(*arguments, **options):
            if steps["left"] is not None:
                steps["left"] -= 1
                if steps["left"] < 0:
                    raise Killed
            return function(*arguments, **options)

        return step

    for name in ("link", "replace", "unlink"):
        monkeypatch.setattr(os, name, ending(getattr(os, name)))

    def set_to(left):
        steps["left"] = left

    return set_to


@pytest.mark.parametrize("documents", [{}, {"certificate": None, "record": False}])
def test_a_release_never_stands_beside_another_certificate(tmp_path, kill, documents):
    """Killed before each step in turn, also where the new release has no certificate of its own."""
    old, new = release_of(0), release_of(100)
    seen, step, done = set(), 0, False
    while not done:
        folder = tmp_path / str(step)
        folder.mkdir()
        save(old, folder)
        kill(step)
        try:
            save(new, folder, **documents)
            done = True
        except Killed:
            pass
        kill(None)
        release, certificate = folder / "out.csv", folder / "out.csv.manifest.json"
        assert release.exists()
        content = "new" if "101" in release.read_text() else "old"
        seen.add((content, certificate.exists()))
        if certificate.exists():
            assert verify_file(release, certificate)
        report = folder / "r.html"
        if report.exists():
            assert io.read(release).sha256 in report.read_text()
        step += 1
        assert step < 60
    assert seen >= {("old", True), ("old", False), ("new", False)}
    assert (("new", True) in seen) == (not documents)


def test_a_certificate_of_another_file_says_so(tmp_path):
    save(release_of(0), tmp_path)
    release_of(50).save(tmp_path / "other.csv")
    with pytest.raises(DisclosureError, match="This certificate belongs to another file: its SHA-256 is not that of"):
        verify_file(tmp_path / "other.csv", tmp_path / "out.csv.manifest.json")


def test_a_new_release_is_not_put_beside_documents_of_an_old_one(tmp_path):
    save(release_of(0), tmp_path)
    (tmp_path / "out.csv").unlink()
    with pytest.raises(ShoalError, match="must not stand beside documents of another"):
        release_of(50).save(tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    release_of(50).save(tmp_path / "out.csv", force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "r.html"]


# --- inputs stay ---


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},z{i % 3}\n" for i in range(12))
    Path("people.csv").write_text("age,zip\n" + rows)
    Path("all.csv").write_text("age,zip\n" + rows * 2)
    Path("zip.csv").write_text("z0;*\nz1;*\nz2;*\n")
    Path("link.csv").symlink_to("people.csv")
    os.link("people.csv", "hard.csv")
    return tmp_path


FIELDS = {
    **{"k": 3, "method": "mdav", "force": True, "quasi_identifiers": ["age", "zip"]},
    **{"hierarchies": {"zip": "zip.csv"}, "release": "local-recoding", "population": "all.csv", "k_map": 3},
}
TAKEN = ["people.csv", "./people.csv", "link.csv", "hard.csv", "all.csv", "zip.csv"]


@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("what", ["output", "certificate", "record", "report"])
def test_no_output_takes_the_place_of_an_input(folder, taken, what):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    targets = {"output": "out.csv", "certificate": "m.json", what: taken}
    with pytest.raises(OptionError, match="The output must not overwrite the input"):
        shoal.anonymize_file("people.csv", **targets, **FIELDS)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_neither_does_one_of_a_table_that_was_read_before(folder):
    source = io.read("people.csv")
    release = shoal.anonymize_file(source, **FIELDS)
    for taken in TAKEN:
        with pytest.raises(OptionError, match="The output must not overwrite the input"):
            release.save(taken, force=True)
        with pytest.raises(OptionError, match="The output must not overwrite the input"):
            release.report(taken, force=True)
    assert io.read("people.csv").sha256 == source.sha256


@pytest.mark.parametrize(
    ("table", "read"),
    [
        ("people", {}),
        ("PEOPLE", {"table": "people"}),
        ("people", {"query": "SELECT * FROM People"}),
    ],
)
def test_the_table_that_is_read_is_not_replaced(folder, table, read):
    from shoal.plan import Plan
    from shoal.release.hooks import Hooks
    from shoal.release.job import Job
    from shoal.release.pipeline import run

    connection = sqlite3.connect("people.db")
    connection.execute("CREATE TABLE people (age INTEGER)")
    connection.executemany("INSERT INTO people VALUES (?)", [(i,) for i in range(12)])
    connection.commit()
    connection.close()
    if not read:
        with pytest.raises(OptionError, match="The output must not overwrite the input"):
            shoal.anonymize_file("people.db", "people.db", k=3, name_of_table=table, force=True)
        with pytest.raises(OptionError, match="The output must not overwrite the input"):
            shoal.anonymize_file(io.read("people.db"), "sqlite:///people.db", k=3, name_of_table=table, force=True)
    job = Job(Plan.of(k=3), "people.db", "people.db", reading=read, writing={"name_of_table": table}, force=True)
    with pytest.raises(OptionError, match="The output must not overwrite the input"):
        run(job, Hooks())
    ages = io.read("people.db", table="people").table["age"].to_pylist()
    assert ages == list(range(12))
    # Another table of the same database may be written, and written again.
    how = {"reading": {"table": "people"}, "writing": {"name_of_table": "safe"}}
    for _ in range(2):
        run(Job(Plan.of(k=3, quasi_identifiers=["age"]), "people.db", "people.db", **how, force=True), Hooks())
    assert io.read("people.db", table="safe").table.num_rows == 12


def test_the_record_is_all_that_holds_the_job(folder):
    shoal.anonymize_file("people.csv", "out.csv", certificate="m.json", **{**FIELDS, "force": False})
    certificate, record = (json.loads(Path(name).read_text()) for name in ("m.json", "out.csv.record.json"))
    assert record["job"]["population"] == "all.csv"
    assert set(certificate["withheld"]) == {"hierarchies", "population"}
    assert not {"all.csv", "zip.csv", "people.csv"} & set(json.dumps(certificate).split('"'))


def test_a_private_file_stays_until_another_takes_its_place(tmp_path):
    path = tmp_path / "map.html"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_text("\ud800", path, force=True, private=True)
    assert path.read_text() == "old"
    write_text("new", path, force=True, private=True)
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
