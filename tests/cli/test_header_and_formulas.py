"""Files without a header, and texts that begin like formulas, on the command line."""

import json
import warnings

import pytest
from cli_tables import flat

import shoal

ROWS = [f"{20 + i},{'mf'[i % 2]},{('=cmd', '-x', 'flu')[i % 3]}" for i in range(30)]
PLAN = {"k": 3, "method": "mdav", "sensitive_attributes": ["ill"]}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("\n".join(["age,sex,ill", *ROWS]) + "\n")
    (tmp_path / "bare.csv").write_text("\n".join(ROWS) + "\n")
    return tmp_path


def test_a_record_is_not_published_as_names(run, folder):
    said = run("anonymize", "bare.csv", "-k", 3, "-o", "out.csv", code=2)
    assert "looks like a record" in flat(said)
    assert "pass --no-header" in flat(said)
    assert "pass --header" in flat(said)
    assert "=cmd" not in said.output
    assert not (folder / "out.csv").exists()
    options = ("-k", 3, "--no-header", "--sensitive", "column_3", "--method", "mdav", "-q")
    run("anonymize", "bare.csv", "-o", "out.csv", *options, "--write-job", "job.yaml")
    assert (folder / "out.csv").read_text().startswith("column_1,column_2,column_3\n")
    assert "header: false" in (folder / "job.yaml").read_text()
    run("anonymize", "--job", "job.yaml", "-o", "again.csv", "-q")
    run("verify", "out.csv", "-q")
    run("anonymize", "bare.csv", "-k", 3, "-o", "named.csv", "--header", "--other", "=cmd", "--method", "mdav", "-q")
    assert (folder / "named.csv").read_text().startswith("20,m,=cmd\n")
    run("verify", "named.csv", "-q")  # the names are known from the release


def test_formulas_are_warned_of_and_escaped(run, folder):
    options = ("-k", 3, "--sensitive", "ill", "--l", 2, "--method", "mdav", "-q")
    said = run("anonymize", "people.csv", "-o", "out.csv", *options)
    assert "warning: Texts of 'ill' begin like formulas" in flat(said)
    assert "--escape-formulas" in flat(said)
    assert "=cmd" not in said.output
    said = run("anonymize", "people.csv", "-o", "safe.csv", *options, "--escape-formulas", "--write-job", "job.yaml")
    assert "formulas" not in said.output
    published = [line.rpartition(",")[2] for line in (folder / "safe.csv").read_text().split()[1:]]
    assert set(published) == {"'=cmd", "'-x", "flu"}
    assert json.loads(run("verify", "safe.csv", "--json", "-q").stdout)["holds"] is True
    run("anonymize", "--job", "job.yaml", "-o", "again.csv", "--escape-formulas", "-q")


def test_formulas_are_warned_of_in_python():
    with pytest.warns(UserWarning, match="begin like formulas"):
        release = shoal.anonymize_file("people.csv", "a.csv", **PLAN)
    with pytest.warns(UserWarning, match="begin like formulas"):
        release.save("b.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shoal.anonymize_file("people.csv", "c.csv", escape_formulas=True, **PLAN)
        release.save("d.csv", escape_formulas=True)
        release.save("e.xlsx")
