"""shoal anonymize, as a user runs it."""

import gzip
import json
import re
import sqlite3

import pyarrow.parquet as pq
import pytest
from cli_tables import ROLES, SECRETS, flat

import shoal
from clocks import Clock
from shoal.errors import DisclosureError


def rows(path):
    return path.read_text().splitlines()


def shown(said):
    return " ".join(said.stdout.split())


def test_a_release_its_certificate_and_its_report(people, run):
    said = run("anonymize", "people.csv", "-k", 4, "-o", "out.csv", *ROLES, "--report", "r.html")
    table = shoal.io.read(people / "out.csv").table
    assert table.column_names == ["age", "zip", "income", "sex", "illness"]
    assert shoal.verify(table, ["age", "zip", "income", "sex"]).k >= 4
    certificate = json.loads((people / "out.csv.manifest.json").read_text())
    assert certificate["k"]["wanted"] == 4
    assert certificate["output"]["sha256"]
    assert "<html" in (people / "r.html").read_text()
    for words in ("people.csv: 40 rows, 6 columns", "4 wanted", "out.csv.manifest.json", "r.html", "loss"):
        assert words in said.stdout
    assert "integer*" in said.stdout  # inferred
    assert all(len(line) <= 80 for line in said.output.splitlines())


def test_without_qi_every_other_column_is_one_and_that_is_said(people, run):
    said = run("anonymize", "people.csv", "-k", 4, "-o", "out.csv", "--id", "name")
    assert "No --qi given: all 5 columns without another role are treated as quasi-identifiers." in flat(said)
    assert len(json.loads((people / "out.csv.record.json").read_text())["quasi_identifiers"]) == 5


@pytest.mark.parametrize("taken", ["out.csv", "out.csv.manifest.json", "out.csv.record.json", "r.html", "job.yaml"])
def test_what_is_there_is_not_replaced_and_nothing_is_done(people, run, monkeypatch, taken):
    (people / taken).write_text("mine")
    monkeypatch.setattr("shoal.release.job.read_input", lambda *_: pytest.fail("the work was started"))
    arguments = ("people.csv", "-k", 4, "-o", "out.csv", *ROLES, "--report", "r.html", "--write-job", "job.yaml")
    said = run("anonymize", *arguments, code=2)
    assert f"error: The output {taken} must not be there yet." in flat(said)
    assert (people / taken).read_text() == "mine"
    monkeypatch.undo()
    monkeypatch.chdir(people)
    run("anonymize", *arguments, "--force")
    assert (people / taken).read_text() != "mine"


def test_the_input_is_never_replaced(people, run):
    before = (people / "people.csv").read_bytes()
    said = run("anonymize", "people.csv", "-k", 4, "-o", "./people.csv", "--force", *ROLES, code=2)
    assert "The output must not overwrite the input." in flat(said)
    assert (people / "people.csv").read_bytes() == before


def test_a_dry_run_shows_and_writes_nothing(people, run):
    before = sorted(people.iterdir())
    said = run("anonymize", "people.csv", "-k", 4, *ROLES, "--dry-run", "-o", "out.csv")
    for words in ("at most 10 groups", "method", "allow a search of", "coordinates", "Dry run"):
        assert words in said.stdout
    assert sorted(people.iterdir()) == before
    facts = json.loads(run("anonymize", "people.csv", "-k", 4, *ROLES, "--dry-run", "--json").stdout)
    assert facts["dry_run"] is True
    assert facts["methods"][0]["method"]
    said = run("anonymize", "people.csv", "-k", 41, *ROLES, "--dry-run", code=2)
    assert "Got 41 for 40 rows" in flat(said)
    said = run("anonymize", "people.csv", "-k", 4, *ROLES, "--dry-run", "--method", "univariate", code=2)
    assert "exactly one coordinate" in flat(said)


def test_json_is_the_record_and_alone_on_standard_output(people, run):
    said = run("anonymize", "people.csv", "-k", 4, "-o", "out.csv", *ROLES, "--json")
    assert json.loads(said.stdout) == json.loads((people / "out.csv.record.json").read_text())
    assert "4 wanted" in flat(said)


def test_quiet_is_quiet(people, run):
    assert run("anonymize", "people.csv", "-k", 4, "-o", "out.csv", *ROLES, "-q").output == ""


def test_a_job_file_gives_the_same_bytes_again(people, run):
    (people / "sub").mkdir()
    extra = ("--hierarchy", "zip=prefixes", "--levels", "sex=f,m", "--digits", "income=0", "--importance", "age=2")
    run("anonymize", "people.csv", "-k", 3, "-o", "a.csv", *ROLES, *extra, "--write-job", "sub/job.yaml", "-q")
    run("anonymize", "--job", "sub/job.yaml", "-o", "b.csv", "-q")
    assert rows(people / "a.csv") == rows(people / "b.csv")
    run("anonymize", "--job", "sub/job.yaml", "-o", "c.csv", "-q", "-k", 5)
    assert rows(people / "a.csv") != rows(people / "c.csv")
    assert json.loads((people / "c.csv.manifest.json").read_text())["k"]["wanted"] == 5


def test_the_gap_is_said_with_what_would_make_it_smaller(people, run):
    said = run("anonymize", "people.csv", "-k", 4, "-o", "a.csv", *ROLES)
    assert re.search(r"gap +at most [\d.]+ % above the best possible; this bound is rough", shown(said))
    said = run("anonymize", "people.csv", "-k", 4, "-o", "b.csv", *ROLES, "--bound", "lp", "--time-limit", 5)
    assert re.search(r"gap +(at most [\d.]+ % above|0 %: proven to be) the best possible", shown(said))
    assert "rough" not in said.stdout
    said = run("anonymize", "people.csv", "-k", 4, "-o", "c.csv", *ROLES, "--bound", "none")
    assert "gap " not in said.stdout
    records = [json.loads((people / f"{name}.csv.record.json").read_text()) for name in "abc"]
    assert records[0]["lower_bound"] <= records[1]["lower_bound"] <= records[1]["loss"]
    assert records[2]["lower_bound"] is None
    assert "--bound must be 'none', 'quick', 'lp' or 'regions'" in flat(
        run("anonymize", "people.csv", "-k", 4, "-o", "d.csv", *ROLES, "--bound", "rough", code=2)
    )


def test_a_search_by_the_clock_from_the_command_line(people, run, monkeypatch):
    from shoal.partitioning import anytime, chains, evolution, recombination

    Clock(0.015).give_to(monkeypatch, anytime, chains, evolution, recombination)
    arguments = ("anonymize", "people.csv", "-k", 4, *ROLES, "--report", "r.html", "--force", "-q")
    run(*arguments, "-o", "a.csv", "--method", "anytime", "--time-limit", 10, "--write-job", "job.yaml")
    assert "random_state" in (people / "job.yaml").read_text()
    assert "may give slightly different groups" in (people / "r.html").read_text()
    run(*arguments, "-o", "b.csv", "--method", "mdav", "--refine", "anytime", "--time-limit", 10)
    losses = [json.loads((people / f"{name}.csv.record.json").read_text())["loss"] for name in "ab"]
    run(*arguments, "-o", "c.csv", "--method", "mdav")
    assert max(losses) < json.loads((people / "c.csv.record.json").read_text())["loss"]
    said = run(*arguments, "-o", "d.csv", "--method", "mdav", "--time-limit", 3, code=2)
    assert "The option --time-limit must go with a method that takes one." in flat(said)


def test_a_method_that_draws_at_random_gets_a_seed_that_the_job_file_repeats(people, run):
    run("anonymize", "people.csv", "-k", 3, "-o", "a.csv", *ROLES, "--method", "lmas", "--write-job", "job.yaml", "-q")
    assert "random_state:" in (people / "job.yaml").read_text()
    run("anonymize", "--job", "job.yaml", "-o", "b.csv", "-q")
    assert rows(people / "a.csv") == rows(people / "b.csv")


def test_no_seed_gives_the_order_of_shuffled_rows_away(people, run):
    for name in ("a.csv", "b.csv"):
        run("anonymize", "people.csv", "-k", 3, "-o", name, *ROLES, "--shuffle", "--seed", 1, "-q")
    a, b = rows(people / "a.csv"), rows(people / "b.csv")
    assert a != b
    assert sorted(a) == sorted(b)


def test_warnings_are_sentences(people, run):
    said = run("anonymize", "people.csv", "-k", 3, "-o", "a.csv", *ROLES, "--blocks", "each")
    assert "warning: The attributes were grouped in 4 blocks" in flat(said)
    assert "Traceback" not in said.output
    assert "DisclosureWarning" not in said.output
    assert "3 wanted and held in each of 4 blocks" in said.stdout


def test_german_csv(people, run):
    lines = [line.replace(",", ";").replace(".", ",") for line in rows(people / "people.csv")]
    lines = [f"{line};{1 + at % 3},5" if at else f"{line};weight" for at, line in enumerate(lines)]
    (people / "leute.csv").write_text("\n".join(lines) + "\n", encoding="cp1252")
    said = run("anonymize", "leute.csv", "-k", 3, "-o", "out.csv", *ROLES, "--weight", "weight", "-v")
    assert "continuous*" in said.stdout
    assert "decimal" in flat(said)
    assert rows(people / "out.csv")[0] == "age;zip;income;sex;illness;weight"
    assert "," in rows(people / "out.csv")[1].split(";")[2]


def test_other_formats_and_databases(people, run):
    run("anonymize", "people.csv", "-k", 3, "-o", "a.csv.gz", *ROLES, "-q")
    assert gzip.decompress((people / "a.csv.gz").read_bytes()).startswith(b"age,zip,income,sex,illness\n")
    assert (people / "a.csv.gz.manifest.json").exists()
    run("anonymize", "a.csv.gz", "-k", 3, "-o", "b.parquet", "--sensitive", "illness", "-q", "--no-certificate")
    assert pq.read_table(people / "b.parquet").num_rows == 40
    assert not (people / "b.parquet.manifest.json").exists()
    run("anonymize", "people.csv", "-k", 3, "-o", "c.db", "--to-table", "released", *ROLES, "-q")
    assert sqlite3.connect(people / "c.db").execute("SELECT count(*) FROM released").fetchone() == (40,)
    said = run("anonymize", "people.csv", "-k", 3, "-o", "c.db", "--to-table", "released", *ROLES, "-q", code=2)
    assert "The table 'released' must not be in the database yet." in flat(said)
    run("anonymize", "people.csv", "-k", 3, "-o", "c.db", "--to-table", "released", *ROLES, "-q", "--force")
    run("anonymize", "c.db", "--table", "released", "-k", 3, "-o", "d.csv", "-q")
    said = run("anonymize", "c.db", "--table", "releasd", "-k", 3, "-o", "e.csv", code=2)
    assert "released" in flat(said)
    (people / "people.data").write_bytes((people / "people.csv").read_bytes())
    said = run("anonymize", "people.data", "-k", 3, "-o", "f.data", *ROLES, "-q", code=2)
    assert "--to csv" in flat(said)
    run("anonymize", "people.data", "--from", "csv", "-k", 3, "-o", "f.data", "--to", "csv", *ROLES, "-q")


MISTAKES = [
    (("people.csv", "--qi", "agee"), "The option --qi must name columns of the table. Got 'agee'."),
    (("people.csv", *ROLES, "--method", "mdaf"), "did you mean 'mdav'"),
    (("people.csv", *ROLES, "--refine", "better"), "The option --refine"),
    (("people.csv", *ROLES, "--method", "mdav", "--option", "gamma=1"), "has no option 'gamma'"),
    (("people.csv", *ROLES, "--type", "age=number"), "The option --type"),
    (("people.csv", *ROLES, "--unit", "age"), "two roles: --qi and --unit"),
    (("people.csv", *ROLES, "-k", "1"), "The option -k must be at least 2. Got 1."),
    (("people.csv", *ROLES, "-k", "400"), "Got 400 for 40 rows"),
    (("people.csv", "-k", "4"), "The column 'name' looks like an identifier"),
    (("people.csv", *ROLES, "--delimiter", ";"), "columns"),
    (("nothing.csv",), "Got no such file"),
    (("empty.csv",), "Got an empty file"),
    (("header.csv", "--qi", "a"), "must have rows"),
    (("ragged.csv", "--qi", "a"), "line"),
    (("nothing",), "The folder nothing must have Parquet or CSV files in it. Got none."),
    (("people.csv", *ROLES, "--job", "nothing.yaml"), "The job file nothing.yaml cannot be read"),
    (("people.csv", *ROLES, "--table", "t"), "The 'table' option of read must be given for databases and R files only"),
    (("people.csv", *ROLES, "--report", "out.csv"), "must be different files"),
    (("people.csv", *ROLES, "--report", "nowhere/r.html"), "must lie in a folder that is there"),
    (("people.csv", *ROLES, "--json", "-o", "-"), "Standard output can take either the release or the record"),
    (("https://example.org/people.csv",), "download the file first"),
    ((), "The input must be named"),
]


@pytest.mark.parametrize(
    ("arguments", "words"), MISTAKES, ids=lambda value: value[:30] if isinstance(value, str) else ""
)
def test_mistakes_are_one_sentence_without_values(people, run, arguments, words):
    (people / "nothing").mkdir()
    (people / "empty.csv").touch()
    (people / "header.csv").write_text("a,b\n")
    (people / "ragged.csv").write_text(f"a,b\n1,2\n{SECRETS[0]},2,3\n")
    before = sorted(people.iterdir())
    said = run("anonymize", *(("-o", "out.csv") if "-o" not in arguments else ()), *arguments, code=2)
    assert words in flat(said)
    assert flat(said).startswith("error: ")
    assert "Traceback" not in said.output
    assert not any(secret in said.output for secret in SECRETS)
    assert sorted(people.iterdir()) == before


def test_usage_is_2_and_help_is_offered(people, run):
    assert "-k" in run("anonymize", "people.csv", "-k", "many", code=2).output
    assert "has no option --jobb" in flat(run("anonymize", "--jobb", code=2))
    said = run("anonymize", "people.csv", *ROLES, code=2)
    assert "--dry-run" in flat(said)


def test_a_broken_guarantee_is_1_and_leaves_nothing(people, run, monkeypatch):
    def refuse(*_, **__):
        raise DisclosureError("The release must hide every record among 4. Got less.")

    monkeypatch.setattr("shoal.release.release.Release.check", refuse)
    said = run("anonymize", "people.csv", "-k", 4, "-o", "out.csv", *ROLES, code=1)
    assert "error: The release must hide every record among 4." in flat(said)
    assert sorted(path.name for path in people.iterdir()) == ["people.csv"]


def test_a_defect_is_3_and_quotes_nothing(people, run, monkeypatch):
    def broken(*_, **__):
        raise KeyError(SECRETS[0])

    monkeypatch.setattr("shoal.release.pipeline.carry_out", broken)
    said = run("anonymize", "people.csv", "-k", 4, "-o", "out.csv", *ROLES, code=3)
    assert "This should not have happened (KeyError" in flat(said)
    assert "nothing was written" in flat(said)
    assert SECRETS[0] not in said.output
    assert "Traceback" in run("anonymize", "people.csv", "-k", 4, "-o", "out.csv", *ROLES, "-v", code=3).stderr


def test_a_release_without_its_report_is_said_to_be_there(people, run, monkeypatch):
    def full(*_, **__):
        raise shoal.ShoalError("The output r.html must fit on the disk.")

    monkeypatch.setattr("shoal.release.release.Release.report", full)
    said = run("anonymize", "people.csv", "-k", 4, "-o", "out.csv", *ROLES, "--report", "r.html", code=2)
    assert "Note: out.csv, out.csv.record.json and out.csv.manifest.json were written; r.html was not." in flat(said)
    assert (people / "out.csv").exists()


def test_many_columns_are_not_all_listed(people, run):
    lines = rows(people / "people.csv")
    more = ",".join(f"c{i}" for i in range(20))
    lines = [f"{line},{more}" if at == 0 else line + ",1" * 20 for at, line in enumerate(lines)]
    (people / "wide.csv").write_text("\n".join(lines) + "\n")
    said = run("anonymize", "wide.csv", "-k", 4, *ROLES, "--dry-run")
    assert "20 more columns" in said.stdout
    assert "c7" not in said.stdout
    assert "c7" in run("anonymize", "wide.csv", "-k", 4, *ROLES, "--dry-run", "-v").stdout


@pytest.mark.parametrize("width", [60, 80])
def test_it_fits_a_narrow_terminal(people, run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    said = run("anonymize", "people.csv", "-k", 4, "-o", "out.csv", *ROLES, "--hierarchy", "zip=prefixes")
    assert max(len(line) for line in said.output.splitlines()) <= width
    assert "quasi-identifier" in said.stdout  # not broken within words
    assert "hierarchical" in said.stdout


def test_types_are_said_in_lists_and_the_schema_says_why(people, run):
    lines = ["region,born,wage"]
    lines += [f"{(10, 20, 70)[i % 3]},{1950 + i % 40}{1 + i % 12:02d}28,{i}.5" for i in range(60)]
    (people / "codes.csv").write_text("\n".join(lines) + "\n")
    said = run("anonymize", "codes.csv", "-k", 3, "-o", "out.csv", "--method", "mdav")
    assert "region: 3 different whole numbers: published as they occur (median)" in flat(said)
    table = shoal.io.read(people / "out.csv").table
    assert set(table["region"].to_pylist()) <= {"10", "20", "70"}
    assert all(re.fullmatch(r"19\d\d(0[1-9]|1[0-2])[0-3]\d", text) for text in table["born"].to_pylist())
    said = run("anonymize", "codes.csv", "-k", 3, "--dry-run", "--nominal", "region,wage")
    assert said.stdout.count("nominal") == 2
    assert "nominal*" not in said.stdout


def test_alike_notes_are_one_and_telling_names_get_a_hint(people, run):
    lines = ["region,sex,age,hhid,sampling_weight,weightless"]
    lines += [f"{i % 3},{i % 2},{20 + i % 25}.5,{i % 20},{i % 7}.25,{i % 11}.75" for i in range(60)]
    (people / "survey.csv").write_text("\n".join(lines) + "\n")
    said = flat(run("anonymize", "survey.csv", "-k", 3, "--dry-run"))
    assert "region (3), sex (2), hhid (20): different whole numbers: published as they occur (median)" in said
    assert said.count("published as they occur") == 1
    assert "If sampling_weight holds sampling weights, say --weight sampling_weight:" in said
    assert "If hhid numbers households or persons, say --unit hhid:" in said
    said = flat(run("anonymize", "survey.csv", "-k", 3, "--dry-run", "--weight", "sampling_weight", "--unit", "hhid"))
    assert "holds sampling weights" not in said
    assert "numbers households" not in said
    assert "region (3), sex (2): different whole numbers" in said


def test_all_problems_are_listed_at_once(people, run):
    lines = ["who,paid,seen,score"]
    lines += [f'P{i}x,"{1 + i},{100 + i}",{1 + i % 28:02d}/11/86,{("1", "n/a", "-", "2")[i % 4]}' for i in range(30)]
    (people / "raw.csv").write_text("\n".join(lines) + "\n")
    done = run("anonymize", "raw.csv", "-k", 3, "--dry-run", code=2)
    assert [line[:3] for line in done.stderr.splitlines() if re.match(r"\d\. ", line)] == ["1. ", "2. ", "3. ", "4. "]
    said = flat(done)
    assert "4 problems must be solved" in said
    assert "\\n" not in said
    for option in ("--id 'who'", "--thousands ,", "--format 'seen=%d/%m/%y'", "--na '-' --na 'n/a'"):
        assert option in said
    words = ("--id", "who", "--thousands", ",", "--format", "seen=%d/%m/%y", "--na", "-", "--na", "n/a")
    run("anonymize", "raw.csv", "-k", 3, *words, "-o", "out.csv", "--method", "mdav")
    rows = shoal.io.read(people / "out.csv").table
    assert all(re.fullmatch(r"\d{1,2},\d{3}", text) for text in rows["paid"].to_pylist())
    assert all(re.fullmatch(r"\d\d/11/86", text) for text in rows["seen"].to_pylist())
