"""``shoal verify --memory``: a table that is read in pieces is verified as one in memory is."""

import json

import pyarrow.parquet as pq
import pytest
from cli_tables import ROLES

from shoal import verify_file
from shoal.errors import DataError
from shoal.io import read, write

IN_PIECES = ("--memory", "1GB")


@pytest.fixture
def released(people, run):
    run("anonymize", "people.csv", "-k", 4, "-o", "out.csv", *ROLES, "-q")
    return people


def both(run, *arguments, code=0):
    """Return what is said in memory and in pieces, as JSON."""
    facts = [json.loads(run("verify", *arguments, *how, "--json", code=code).stdout) for how in ((), IN_PIECES)]
    assert facts[0] == facts[1]
    return facts[1]


def test_with_a_certificate(released, run):
    facts = both(run, "out.csv")
    assert [check["what"] for check in facts["checks"]] == ["SHA-256", "k = 4", "k = 1 for all columns together"]
    assert both(run, "out.csv", "-k", 4)["holds"] is True
    assert both(run, "out.csv", "-k", 40, code=1)["holds"] is False


def test_without_a_certificate(released, run):
    assert both(run, "out.csv", "--qi", "age,zip,income,sex", "-k", 4)["holds"] is True
    facts = both(run, "people.csv", "--qi", "age,sex", "-k", 2, "--sensitive", "illness", "--l", 2, "--t", 0.3, code=1)
    assert len(facts["models"]) == 2
    both(run, "people.csv", "--qi", "sex", "--sensitive", "illness", "--unit", "age")


def test_a_changed_file_is_refused(released, run):
    with open(released / "out.csv", "a") as file:
        file.write((released / "out.csv").read_text().splitlines()[1] + "\n")
    said = run("verify", "out.csv", *IN_PIECES, code=1)
    assert "belongs to another file" in " ".join(said.stderr.split())


def test_a_folder_of_parquet_files(people, run):
    table = read("people.csv").table
    (people / "parts").mkdir()
    for at in range(0, table.num_rows, 15):
        pq.write_table(table.slice(at, 15), people / "parts" / f"{at:05}.parquet")
    write(table, people / "whole.parquet")
    whole = json.loads(run("verify", "whole.parquet", "--qi", "sex", "--json").stdout)
    parts = json.loads(run("verify", "parts", "--qi", "sex", "--json").stdout)
    assert parts["k"] == whole["k"]
    assert parts["rows"] == whole["rows"]


def test_a_folder_is_verified_with_its_certificate_in_pieces_only(people, run):
    """As Spark writes it: the certificate of a folder has no hash."""
    write(read("people.csv").table, people / "people.parquet")
    run("anonymize", "people.parquet", "-k", 4, "-o", "whole.parquet", *ROLES, "-q")
    path = people / "whole.parquet.manifest.json"
    promised = json.loads(path.read_text())
    promised["output"]["sha256"] = None
    path.write_text(json.dumps(promised))
    (people / "parts").mkdir()
    (people / "whole.parquet").rename(people / "parts" / "part.parquet")
    said = run("verify", "parts", "--certificate", path, "--json")
    assert json.loads(said.stdout)["holds"] is True
    with pytest.raises(DataError, match=r"must be one file\. Got a folder\. Hint: on the command line, shoal verify"):
        verify_file(people / "parts", path)


def test_a_folder_of_csv_files_is_anonymised_and_verified_as_the_file_is(people, run):
    """A release in a folder has a certificate without a hash, as Spark writes it."""
    lines = (people / "people.csv").read_text().splitlines(keepends=True)
    (people / "parts").mkdir()
    for at in (1, 15, 30):
        (people / "parts" / f"{at:05}.csv").write_text("".join([lines[0], *lines[at : {1: 15, 15: 30, 30: None}[at]]]))
    how = ("-k", 4, *ROLES, "-q", *IN_PIECES)
    run("anonymize", "parts/", "-o", "of-parts.csv", *how)
    run("anonymize", "people.csv", "-o", "of-whole.csv", *how)
    assert (people / "of-parts.csv").read_bytes() == (people / "of-whole.csv").read_bytes()
    said = run("anonymize", "parts", "-o", "parts/00015.csv", "--force", *how, code=2)
    assert "must not overwrite the input" in " ".join(said.stderr.split())

    path = people / "of-parts.csv.manifest.json"
    promised = json.loads(path.read_text())
    promised["output"]["sha256"] = None
    path.write_text(json.dumps(promised))
    released = (people / "of-parts.csv").read_text().splitlines(keepends=True)
    (people / "release").mkdir()
    for at in (0, 1):
        (people / "release" / f"{at}.csv").write_text("".join([released[0], *released[1 + at :: 2]]))
    assert json.loads(run("verify", "release/", "--certificate", path, "--json").stdout)["holds"] is True
    with open(people / "release" / "1.csv", "a") as file:
        file.write(released[1])
    assert "of 40 rows" in " ".join(run("verify", "release", "--certificate", path, code=1).stderr.split())
    with open(people / "release" / "1.csv", "a") as file:
        file.write("1,2\n")
    assert "release/1.csv must have" in " ".join(run("verify", "release", "--qi", "sex", code=2).stderr.split())


def test_what_needs_the_whole_table_is_refused(people, run):
    arguments = ("--qi", "sex", "--population", "people.csv", "--k-map", 2)
    assert "in memory" in " ".join(run("verify", "people.csv", *arguments, *IN_PIECES, code=2).stderr.split())
    assert "at least 700 MB" in " ".join(run("verify", "people.csv", "--memory", "1MB", code=2).stderr.split())
