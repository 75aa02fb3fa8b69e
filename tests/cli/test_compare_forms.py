"""Forms of release on the command line: compared side by side, and the strongly-safe one made."""

import json
import re

import pytest
from cli_tables import ROLES, flat

FORMS = ("--release", "microaggregation", "--release", "global-recoding,strongly-safe")
CELLS = ("--cell", "age=30", "--cell", "income=2500", "--cell", "zip=*")
SAFE = ("--release", "strongly-safe", *CELLS)


def test_forms_are_compared_and_fit(people, run):
    arguments = ("compare", "people.csv", *ROLES, "--method", "mdav,auto", "--time-limit", 0.2, "-k", 3, "-k", 5)
    said = run(*arguments, *FORMS, *CELLS).stdout
    assert max(map(len, said.splitlines())) <= 80
    assert said.count("microaggregation") == said.count("strongly-safe") == 4  # two tables, two k
    assert re.search(r"method +NCP +Total-IL +C_AVG +C_DM +removed", said)
    assert re.search(r"strongly-safe +[\d.]+ % +- +[\d.]+ +\d+ +3 to \d+, mean", said)
    assert re.search(r"^ +mdav +[\d.]+ % +[\d.]+ % +1\.\d\d +\d+ +-$", said, re.MULTILINE)
    assert re.search(r"strongly-safe +[\d.]+ % +[\d.]+ % +[\d.]+ +[\d,]+ +[\d.]+ %$", said, re.MULTILINE)
    trials = json.loads(run(*arguments, *FORMS, *CELLS, "--json").stdout)["trials"]
    assert [trial["form"] for trial in trials[:5]] == ["microaggregation"] * 2 + ["global-recoding"] * 2 + [
        "strongly-safe"
    ]
    for trial in trials:
        assert 0 < trial["certainty_penalty"] < 1
        assert 0 < trial["total_information_loss"] < 1
        assert trial["certainty_penalty_total"] == pytest.approx(160 * trial["certainty_penalty"])
        assert trial["average_group_size"] >= 1
        assert trial["discernability"] >= 40 * trial["k"]
        assert (trial["removed"] > 0) == (trial["form"] == "strongly-safe")


def test_units_are_shown_if_asked_for(people, run):
    arguments = ("compare", "people.csv", *ROLES, "--method", "mdav", "-k", 4)
    assert "Total-IL" not in run(*arguments).stdout
    plain = json.loads(run(*arguments, "--json").stdout)["trials"][0]
    said = run(*arguments, "--units").stdout
    assert "Total-IL" in said
    assert "microaggregation" not in said
    hidden = json.loads(run(*arguments, "--representative", "zip=suppression", "--json").stdout)["trials"][0]
    assert hidden["loss"] == plain["loss"]
    assert hidden["certainty_penalty"] > plain["certainty_penalty"]


def test_a_job_file_says_the_form(people, run):
    (people / "job.yaml").write_text("k: 4\nrelease: strongly-safe\ncells: {age: 30, income: 2500}\n")
    arguments = ("compare", "people.csv", *ROLES, "--job", "job.yaml", "--json")
    (trial,) = json.loads(run(*arguments).stdout)["trials"]
    assert (trial["form"], trial["method"], trial["k"]) == ("strongly-safe", "fixed cells", 4)
    trials = json.loads(run(*arguments, "--release", "local-recoding", "--method", "mdav").stdout)["trials"]
    assert [trial["form"] for trial in trials] == ["local-recoding"]


def test_what_a_form_cannot_do_is_noted(people, run):
    arguments = ("compare", "people.csv", *ROLES, "--method", "mdav", "-k", 4)
    said = flat(run(*arguments, *FORMS))
    assert "strongly-safe, k = 4: The cells of the integer column 'age' must be given" in said
    assert "pass --cell 'age=10':" in said
    assert "At least one of the methods must be usable" in flat(run(*arguments, "--release", "strongly-safe", code=2))
    assert "did you mean 'local-recoding'" in flat(run(*arguments, "--release", "local-recodin", code=2))


def test_forms_are_drawn(people, run):
    pytest.importorskip("matplotlib")
    run("compare", "people.csv", *ROLES, "--method", "mdav", "-k", 4, *FORMS, *CELLS, "--plot", "c.svg", "-q")
    assert "<svg" in (people / "c.svg").read_text()


def test_a_strongly_safe_release_is_made_and_verified(people, run):
    said = run("anonymize", "people.csv", "-k", 3, "-o", "out.csv", *ROLES, *SAFE, "--write-job", "job.yaml").stdout
    record = json.loads((people / "out.csv.record.json").read_text())
    removed = record["rows"]["removed"]
    assert removed > 3
    assert re.search(rf"removed +{removed} records, because their cells have", said)
    assert "cell of 30" in said
    assert "k = 3: holds" in run("verify", "out.csv").stdout
    run("anonymize", "--job", "job.yaml", "-o", "again.csv", "-q")
    assert (people / "again.csv").read_text() == (people / "out.csv").read_text()
    dry = run("anonymize", "people.csv", "-k", 3, *ROLES, *SAFE, "--dry-run").stdout
    assert re.search(rf"removed +{removed} records", dry)
    assert "fixed cells" in dry


def test_removed_records_are_counted_on_the_console_alone(people, run):
    """Whoever holds the data sees rows before and after anyway; what goes out is the same with one more or two."""
    cell = ("--release", "strongly-safe", "--cell", "age=10", "--report", "out.html", "--force")
    documents = []
    for removed, words in (
        ("31\n", "1 record, because its cell has"),
        ("31\n" * 2, "2 records, because their cells have"),
        ("", None),
    ):
        (people / "t.csv").write_text("age\n" + "25\n" * 9 + removed)
        ran = run("anonymize", "t.csv", "-k", 3, "-o", "out.csv", *cell)
        assert words is None or re.search(rf"removed +{words} fewer than 3 records", ran.stdout)
        assert "No --qi given" not in ran.output  # --cell has given its role to the only column
        documents.append([(people / name).read_text() for name in ("out.csv.manifest.json", "out.html")])
    assert documents[0] == documents[1] == documents[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--release", "strongly-safe", "--cell", "age=30"), "column 'income' must be given"),
        ((*SAFE, "--method", "mdav"), "The option --method must not be given for a strongly-safe release"),
        ((*SAFE, "--l", 2), "The option --l must not be given for a strongly-safe release"),
        (CELLS, "The option --cell must be given for strongly-safe releases only"),
        ((*SAFE, "--cell", "age=week"), "must be numbers above 0"),
        ((*SAFE, "--cell", "age"), "The option --cell must be COLUMN=.."),
    ],
)
def test_mistakes_about_cells(people, run, arguments, words):
    assert words in flat(run("anonymize", "people.csv", "-k", 3, "-o", "out.csv", *ROLES, *arguments, code=2))
