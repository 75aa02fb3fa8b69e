"""Finished releases on the command line: compared in a table, in JSON and in a plot."""

import json
import re

import pytest
from cli_tables import ROLES, SECRETS, flat

QI = ("--qi", "age,zip,income,sex")


@pytest.fixture
def releases(people, run):
    for name, method in (("a.csv", "mdav"), ("b.csv", "mondrian")):
        run("anonymize", "people.csv", *ROLES, "-k", 3, "--l", 2, "-o", name, "--method", method)
    return people


def test_releases_are_compared_and_fit(releases, run):
    said = run("compare", "people.csv", "a.csv", "b.csv", "--units").stdout
    assert max(map(len, said.splitlines())) <= 80
    assert re.search(r"^ +a\.csv +b\.csv", said, re.MULTILINE)
    assert re.search(r"^k +\d+ +\d+", said, re.MULTILINE)
    assert re.search(r"^ +age +[\d.]+ % +[\d.]+ %", said, re.MULTILINE)
    assert re.search(r"^illness: l = 2.* +\d +\d", said, re.MULTILINE)
    assert re.search(r"^NCP +[\d.]+ % +[\d.]+ %", said, re.MULTILINE)
    found = json.loads(run("compare", "people.csv", "a.csv", "b.csv", "--json").stdout)["releases"]
    for name, one in zip("ab", found, strict=True):
        record = json.loads((releases / f"{name}.csv.record.json").read_text())
        assert one["loss"] == pytest.approx(record["loss"])
        assert one["by_attribute"].keys() == {"age", "zip", "income", "sex"}
        assert one["models"][0]["attribute"] == "illness"
        assert one["certified"]


def test_a_plot_is_drawn(releases, run):
    run("compare", "people.csv", "a.csv", "b.csv", "--plot", "c.svg")
    assert "<svg" in (releases / "c.svg").read_text()
    assert "must not be there yet" in flat(run("compare", "people.csv", "a.csv", "--plot", "c.svg", code=2))
    (releases / "c.svg").chmod(0o644)
    run("compare", "people.csv", "a.csv", "b.csv", "--plot", "c.svg", "--force")
    assert (releases / "c.svg").stat().st_mode & 0o777 == 0o600  # its lines are exact figures of the original


@pytest.mark.parametrize(("others", "inputs"), [((), ("people.csv",)), (("a.csv",), ("people.csv", "a.csv"))])
def test_a_plot_never_replaces_an_input(releases, run, others, inputs):
    (releases / "job.yaml").write_text("k: 4\n")
    for original in (*inputs, "job.yaml"):
        content = (releases / original).read_bytes()
        (releases / "plot.svg").symlink_to(original)
        arguments = ("compare", "people.csv", *others, *QI, "--job", "job.yaml", "--plot", "plot.svg", "--force")
        assert "must not overwrite the input" in flat(run(*arguments, code=2))
        assert (releases / original).read_bytes() == content
        (releases / "plot.svg").unlink()


def test_mistakes(releases, run):
    said = run("compare", "people.csv", "a.csv", "--method", "mdav", code=2)
    assert "The option --method must be given to compare methods" in flat(said)
    assert "-k must be given at most once" in flat(run("compare", "people.csv", "a.csv", "-k", 3, "-k", 4, code=2))
    assert "for finished releases only" in flat(run("compare", "people.csv", *ROLES, "--key", "name", code=2))
    assert "no such file" in flat(run("compare", "people.csv", "never.csv", code=2))
    rows = (releases / "a.csv").read_text().splitlines(keepends=True)
    (releases / "c.csv").write_text("".join(rows[:-1]))
    said = flat(run("compare", "people.csv", "c.csv", *QI, code=2))
    assert "Got 39 rows in c.csv for 40" in said
    (releases / "d.csv").write_text("".join([rows[0], *reversed(rows[1:])]))
    said = flat(run("compare", "people.csv", "d.csv", *QI, code=2))
    assert "in another order" in said
    assert not any(secret in said for secret in SECRETS)


def test_without_names_and_certificates_all_common_columns_are_compared(releases, run):
    (releases / "a.csv.manifest.json").unlink()
    result = run("compare", "people.csv", "a.csv")
    assert "No --qi given: all columns that the original and the releases have" in flat(result)
    assert re.search(r"^ +illness +0 %", result.stdout, re.MULTILINE)


def test_verify_reads_numbers_with_marks_between_thousands(people, run):
    pay = ["950", "1,234", "2,100", "990", "1,500", "870", "3,250", "1,020"]
    rows = "".join(f'{30 + i // 4},"{pay[i % 8]}"\n' for i in range(32))
    (people / "pay.csv").write_text("age,pay\n" + rows)
    plain = rows.replace('"', "").replace(",1,", ",1").replace(",2,", ",2").replace(",3,", ",3")
    (people / "plain.csv").write_text("age,pay\n" + plain)
    arguments = ("--qi", "age", "--sensitive", "pay", "--t", 0.9, "--json")
    wanted = json.loads(run("verify", "plain.csv", *arguments).stdout)["models"][0]["held"]
    found = json.loads(run("verify", "pay.csv", *arguments, "--thousands", ",").stdout)["models"][0]["held"]
    assert found == pytest.approx(wanted)


def test_a_certificate_says_how_marks_between_thousands_are_read(people, run):
    pay = ["1,234", "2,100", "1,500", "3,250", "1,020", "9,870"]
    (people / "pay.csv").write_text("age;pay\n" + "".join(f"{30 + i // 6};{pay[i % 6]}\n" for i in range(36)))
    how = ("--decimal", ".", "--thousands", ",", "--sensitive", "pay", "--t", 0.9, "--method", "mdav")
    run("anonymize", "pay.csv", "-k", 3, *how, "-o", "out.csv")
    readings = json.loads((people / "out.csv.manifest.json").read_text())["readings"]
    assert readings["pay"]["thousands"] == ","
    run("verify", "out.csv", "--decimal", ".")
