"""Models of privacy on the command line: asked for, kept, verified, told and refused."""

import csv
import json

import pytest
from cli_tables import flat

ROLES = ("--id", "name", "--qi", "age,income,sex", "--sensitive", "illness", "--method", "mdav")
QI = ("--qi", "age,income,sex")


@pytest.fixture
def people(people):
    """Return the folder with people.csv, in which five illnesses go around."""
    with open(people / "people.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for at, row in enumerate(rows):
        row["illness"] = ("flu", "none", "gout", "cold", "asthma")[at * at % 7 % 5]
    with open(people / "people.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return people


@pytest.fixture
def released(people, run):
    run("anonymize", "people.csv", "-k", 4, "-o", "out.csv", *ROLES, "--other", "zip", "--l", 3, "-q")
    return people


def groups(path):
    found = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault((row["age"], row["income"], row["sex"]), []).append(row["illness"])
    return list(found.values())


def test_l_is_kept_and_told(people, run):
    said = run("anonymize", "people.csv", "-k", 4, "-o", "out.csv", *ROLES, "--other", "zip", "--l", 3, "--t", 0.6)
    assert "illness: l = 3 (distinct) wanted, 3 held" in said.stdout
    assert "illness: t = 0.6 wanted, 0." in said.stdout
    assert min(len(set(group)) for group in groups(people / "out.csv")) == 3


def test_models_of_one_column_and_the_job_file_that_says_them(people, run):
    asked = ("--model", "illness=entropy-diversity l=2", "--model", "illness=alpha alpha=0.7", "--enforce", "growth")
    roles = [word for word in ROLES if word not in ("--sensitive", "illness")]
    run(
        "anonymize", "people.csv", "-k", 4, "-o", "out.csv", *roles, *asked, "--other", "zip", "--write-job", "job.yaml"
    )
    job = (people / "job.yaml").read_text()
    assert "entropy-diversity l=2" in job
    assert "enforcement: growth" in job
    run("anonymize", "--job", "job.yaml", "-o", "again.csv")
    assert (people / "again.csv").read_text() == (people / "out.csv").read_text()
    certificate = json.loads((people / "out.csv.manifest.json").read_text())
    assert [one["model"] for one in certificate["models"]] == ["entropy-diversity l=2", "alpha alpha=0.7"]


def test_a_release_is_verified_against_its_models(released, run):
    assert "illness: l = 3 (distinct) wanted, 3 held" in run("verify", "out.csv").stdout
    table = (released / "out.csv").read_text().splitlines()
    head = table[0].split(",")
    rows = [line.split(",") for line in table[1:]]
    at = head.index("illness")
    first = [row for row in rows if row[head.index("age")] == rows[0][head.index("age")]]
    for row in first:
        row[at] = "flu"
    (released / "out.csv").write_text("\n".join(",".join(row) for row in [head, *rows]) + "\n")
    said = run("verify", "out.csv", *QI, "-k", 4, "--sensitive", "illness", "--l", 3, code=1)
    assert "illness: l = 3 (distinct) does not hold" in flat(said)
    assert "fall short" in " ".join(said.stdout.split())


def test_what_holds_is_told_if_nothing_is_asked(released, run):
    said = run("verify", "out.csv", *QI, "--sensitive", "illness", "--json").stdout
    models = json.loads(said)["models"]
    assert [one["asked"] for one in models] == [False, False]
    assert models[0]["held"] >= 3
    assert 0 < models[1]["held"] < 1
    assert "illness: l = 3, t = 0." in run("verify", "out.csv", *QI, "--sensitive", "illness").stdout


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        (("--l", 60), "l can be at most"),
        (("--model", "illness=entropy l=2"), "did you mean 'entropy-diversity'"),
        (("--model", "illness"), "--model must be COLUMN=.. with a model"),
        (("--model", "illness=t-closeness"), "must have t"),
        (("--t", 2), "must be at most 1"),
        (("--k-map", 3), "The option --k-map must come with a --population. Got none."),
        (("--enforce", "growth"), "Got none of --l, --t and --model."),
        (("--presence", "1,0", "--population", "people.csv"), "the lower one first"),
    ],
)
def test_mistakes(people, run, asked, part):
    said = run("anonymize", "people.csv", "-k", 4, "-o", "out.csv", *ROLES, "--other", "zip", *asked, code=2)
    assert part in flat(said)
    assert not (people / "out.csv").exists()


def test_a_population(people, run):
    asked = ("--release", "local-recoding", "--population", "people.csv", "--k-map", 12, "--presence", "0,1")
    said = run("anonymize", "people.csv", "-k", 4, "-o", "out.csv", *ROLES, "--other", "zip", *asked)
    assert "k = 12 (map) wanted" in said.stdout
    said = run("verify", "out.csv", *QI, "--population", "people.csv", "--k-map", 12)
    assert "k = 12 (map) wanted" in said.stdout
    said = run("verify", "out.csv", "--population", "people.csv")
    assert "SHA-256: matches the certificate" in said.stdout
    assert "k = 12 (map) wanted" in said.stdout
    assert "The population must be given" in run("verify", "out.csv", code=2).stderr
    run("verify", "out.csv", *QI, "--population", "people.csv", "--k-map", 1000, code=1)


def test_models_are_listed(run):
    said = run("methods").stdout
    assert "entropy-diversity l=.." in said
    assert "--population FILE --k-map K" in said
    names = [one["name"] for one in json.loads(run("methods", "--json").stdout)["models"]]
    assert len(names) == 13
