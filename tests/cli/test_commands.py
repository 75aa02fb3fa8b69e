"""The other commands: verify, methods, compare, demo, help."""

import importlib.util
import json
import math
import re

import pytest
from cli_tables import ROLES, flat

import shoal
from shoal.cli import shows
from shoal.progress import Standing

QI = ("--qi", "age,zip,income,sex")


@pytest.fixture
def released(people, run):
    run("anonymize", "people.csv", "-k", 4, "-o", "out.csv", *ROLES, "-q")
    return people


# --- verify ---


def test_a_release_is_verified_with_the_certificate_beside_it(released, run):
    said = run("verify", "out.csv")
    assert "out.csv.manifest.json" in said.stdout
    assert "SHA-256: matches the certificate" in said.stdout
    (released / "out.csv.manifest.json").rename(released / "m.json")
    assert "k = 4: holds" in run("verify", "out.csv", "--certificate", "m.json").stdout
    facts = json.loads(run("verify", "out.csv", "--certificate", "m.json", "--json").stdout)
    assert facts["holds"] is True
    assert facts["k"]["held"] >= 4
    assert [check["what"] for check in facts["checks"]] == ["SHA-256", "k = 4", "k = 1 for all columns together"]


def test_a_file_that_was_changed_is_refused(released, run):
    with open(released / "out.csv", "a") as file:
        file.write("\n")
    said = run("verify", "out.csv", code=1)
    assert "This certificate belongs to another file" in flat(said)
    run("verify", "out.csv", *QI, "-k", 4)  # by itself it is still good


def test_a_k_that_does_not_hold_is_refused(released, run):
    said = run("verify", "out.csv", "-k", 30, code=1)
    assert "k = 30 does not hold" in flat(said)
    assert "below 30" in said.stdout
    said = run("verify", "people.csv", *QI, "-k", 2, code=1)
    assert "k = 2 does not hold" in flat(said)
    facts = json.loads(run("verify", "people.csv", *QI, "-k", 2, "--json", code=1).stdout)
    assert (facts["holds"], facts["k"]["held"], facts["rows_below"]) == (False, 1, 40)
    assert "k = 1" in run("verify", "people.csv", *QI).stdout  # nothing was wanted


def test_k_may_count_units(people, run):
    (people / "t.csv").write_text("who,age\n" + "".join(f"{i // 2},{30 + i // 4}\n" for i in range(12)))
    assert "k = 2 counting units, 4 counting rows" in run("verify", "t.csv", "--unit", "who", "--qi", "age").stdout
    run("verify", "t.csv", "--unit", "who", "--qi", "age", "-k", 3, code=1)
    run("verify", "t.csv", "--qi", "age", "-k", 4)


def test_blocks_are_verified_one_by_one(people, run):
    run("anonymize", "people.csv", "-k", 4, "-o", "b.csv", *ROLES, "--blocks", "age,zip;income,sex", "-q")
    said = run("verify", "b.csv")
    assert "k = 4 within age, zip: holds" in said.stdout
    assert "k = 4 within income, sex: holds" in said.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("out.csv", "--qi", "agee"), "did you mean 'age'"),
        (("out.csv", "--certificate", "people.csv"), "people.csv is not the certificate of a release: it is not JSON"),
        (("out.csv", "--certificate", "m.json", "--qi", "age"), "With a certificate, columns and demands"),
        (("nothing.csv",), "Got no such file"),
    ],
)
def test_mistakes_in_verify(released, run, arguments, words):
    assert words in flat(run("verify", *arguments, code=2))


# --- methods ---


def test_all_methods_are_listed(run):
    said = run("methods").stdout
    facts = json.loads(run("methods", "--json").stdout)
    assert [one["name"] for one in facts["methods"]] == [method.name for method in shoal.methods()]
    assert all(method.name in said for method in (*shoal.methods(), *shoal.refinements()))
    assert all(one["cost"] and one["summary"] for one in facts["methods"])
    readings = {one["name"]: one["reading"] for one in (*facts["methods"], *facts["refinements"])}
    assert readings == {one.name: one.reading for one in (*shoal.methods(), *shoal.refinements())}
    assert any(readings.values())
    said = run("methods", "ona*-gamma").stdout
    assert "--option gamma=" in said
    assert "did you mean" in flat(run("methods", "ona**", code=2))


# --- compare ---


def test_methods_are_compared_on_the_coordinates_of_a_release(people, run):
    arguments = ("people.csv", *ROLES, "--method", "mdav,mondrian", "--method", "univariate", "-k", 3, "-k", 5)
    said = run("compare", *arguments)
    assert said.stdout.count("mdav") == 2
    assert "exactly one coordinate" in flat(said)
    trials = json.loads(run("compare", *arguments, "--json").stdout)["trials"]
    assert [(trial["k"], trial["method"]) for trial in trials] == [
        (k, method) for k in (3, 5) for method in ("mdav", "mondrian", "univariate")
    ]
    for trial in trials:
        if trial["method"] == "univariate":
            assert trial["loss"] is None
            assert trial["error"]
        else:
            assert trial["smallest"] >= trial["k"]
            assert 0 < trial["loss"] < 1
            assert trial["gap"] > 0
            assert trial["groups"] * trial["mean"] == pytest.approx(40)
    run("anonymize", "people.csv", "-k", 5, "-o", "out.csv", *ROLES, "--method", "mdav", "-q")
    record = json.loads((people / "out.csv.record.json").read_text())
    mdav = next(trial for trial in trials if (trial["k"], trial["method"]) == (5, "mdav"))
    assert mdav["loss"] == pytest.approx(record["loss"], rel=1e-9)


def test_strata_and_weights_enter_the_comparison(people, run):
    arguments = ("--id", "name", "--qi", "age,income", "--other", "illness", "--method", "mdav", "-k", 3)
    plain = json.loads(run("compare", "people.csv", *arguments, "--other", "sex,zip", "--json").stdout)
    split = json.loads(run("compare", "people.csv", *arguments, "--stratum", "sex,zip", "--json").stdout)
    assert split["trials"][0]["loss"] > plain["trials"][0]["loss"]


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_plot_is_drawn(people, run, suffix):
    arguments = ("compare", "people.csv", *ROLES, "--method", "mdav,mondrian", "-k", 3, "-k", 5)
    run(*arguments, "--plot", f"c.{suffix}", "-q")
    start = (people / f"c.{suffix}").read_bytes()[:200]
    assert (b"<svg" in start or b"<?xml" in start) if suffix == "svg" else start.startswith(b"\x89PNG")
    assert "must not be there yet" in flat(run(*arguments, "--plot", f"c.{suffix}", code=2))


def test_mistakes_in_compare(people, run):
    assert "must end in one of .svg" in flat(run("compare", "people.csv", *ROLES, "--plot", "c.doc", code=2))
    assert "did you mean 'mdav'" in flat(run("compare", "people.csv", *ROLES, "--method", "mdaf", code=2))
    said = run("compare", "people.csv", *ROLES, "--method", "univariate", code=2)
    assert "At least one of the methods must be usable" in flat(said)


def test_the_gap_is_compared_too_and_fits(people, run):
    arguments = ("compare", "people.csv", *ROLES, "-k", 3, "-k", 10, "--time-limit", "0.2", "--seed", 1)
    said = run(*arguments, "--method", "mondrian-v2d,anytime,auto,pcl").stdout
    assert max(map(len, said.splitlines())) <= 80
    assert re.search(r"auto: anytime +[\d.]+ % +[\d.,]+ % ", said)
    none = run(*arguments, "--method", "mdav", "--bound", "none").stdout
    assert re.search(r"mdav +[\d.]+ % +- ", none)
    trials = json.loads(run(*arguments, "--method", "mdav,exact", "--json", "--bound", "lp").stdout)["trials"]
    assert all(trial["gap"] >= 0 for trial in trials if not trial["error"])


def test_a_search_is_not_warmed_up_for_a_minute(people, run, monkeypatch):
    from shoal.release import comparison

    limits, real = [], comparison.partition
    monkeypatch.setattr(comparison, "partition", lambda *a, **o: limits.append(o["time_limit"]) or real(*a, **o))
    run("compare", "people.csv", *ROLES, "-k", 3, "--method", "mdav,anytime", "--time-limit", 0.2)
    assert limits == [None, comparison.WARMING]
    run("compare", "people.csv", *ROLES, "-k", 3, "--method", "mdav", "--refine", "anytime", "--time-limit", 0.2)
    assert limits[2:] == [comparison.WARMING]


# --- demo ---


def test_the_demo_shows_a_group_and_leaves_what_it_says(people, run):
    said = run("demo")
    folder = people / "shoal-demo"
    files = {"survey.csv", "release.csv", "release.csv.manifest.json", "release.csv.record.json", "report.html"}
    assert {path.name for path in folder.iterdir()} == files
    assert "5 wanted, 5 held" in said.stdout
    assert (folder / "report.html").as_uri() in said.stdout.replace("\n", "")
    # The five rows after "published" agree in everything but the diagnosis.
    after = said.stdout.split("published with k")[1].splitlines()
    dates = [line for line in after if re.match(r"\d{4}-\d\d-\d\d ", line)]
    assert len(dates) == 5
    assert len({line[:50] for line in dates}) == 1
    assert max(len(line) for line in said.stdout.splitlines() if "file://" not in line) <= 80
    assert "must not overwrite files" in flat(run("demo", code=2))
    run("verify", "shoal-demo/release.csv", "-q")
    run("demo", "--force", "-q")


def test_the_demo_writes_a_table_to_try_things_on(people, run):
    (people / "people.csv").unlink()
    said = run("demo", "--write", "people.csv").stdout
    assert "people.csv: 300 people of an invented health survey, 7 columns" in said
    lines = (people / "people.csv").read_text().splitlines()
    assert lines[0] == "person_id,region,birth_date,sex,education,income,diagnosis"
    assert len(lines) == 301
    assert sorted(path.name for path in people.iterdir()) == ["people.csv"]
    # What it proposes works.
    proposed = " ".join(said.split()).partition("Release it with shoal ")[2].split()
    run(*proposed, "-q")
    run("verify", "release.csv", "-q")


def test_the_demo_overwrites_no_table_unless_it_must(people, run):
    before = (people / "people.csv").read_bytes()
    assert "must not be there yet" in flat(run("demo", "--write", "people.csv", code=2))
    assert (people / "people.csv").read_bytes() == before
    run("demo", "--write", "people.csv", "--rows", 20, "--force", "-q")
    assert len((people / "people.csv").read_text().splitlines()) == 21


def test_the_demo_writes_other_formats_and_a_table_or_a_folder(people, run):
    run("demo", "--write", "people.parquet", "--rows", 30)
    assert shoal.io.read(people / "people.parquet").table.num_rows == 30
    assert "one file (--write) or a folder (--out)" in flat(run("demo", "--write", "a.csv", "--out", "b", code=2))
    assert not (people / "a.csv").exists()
    assert not (people / "b").exists()
    assert "The option --rows must be at least 1. Got 0." in flat(run("demo", "--write", "a.csv", "--rows", 0, code=2))


# --- help ---


@pytest.mark.parametrize("command", ["anonymize", "verify", "compare", "methods", "demo", "warm", None])
def test_help_has_examples_and_fits(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "60")
    said = run(*([command] if command else []), "--help").stdout
    assert "Examples" in said
    assert f"shoal {command or 'demo'}" in said
    assert max(len(line) for line in said.splitlines()) <= 60


def test_version(run):
    assert run("--version").stdout == f"shoal {shoal.__version__}\n"


def test_a_search_shows_how_it_stands():
    assert shows.standing(0.5) == ""
    assert shows.standing(Standing(0.5, 3.0, 0.0764, 0.2001)) == "loss 7.64 %, gap 20.1 %"
    assert shows.standing(Standing(0.5, 3.0, 0.0764, math.inf)) == "loss 7.64 %"


def test_losses_are_shown_with_three_digits():
    assert [shows.percent(x) for x in (0.12345, 0.5, 1.0, 1e-31, 0.0)] == ["12.3 %", "50 %", "100 %", "0 %", "0 %"]
