"""``shoal assess`` on the command line."""

import json

import pytest
from cli_tables import ROLES, SECRETS, flat


@pytest.fixture
def released(people, run):
    run(
        "anonymize",
        "people.csv",
        "-k",
        4,
        "-o",
        "release.csv",
        *ROLES,
        "--method",
        "mdav",
        "--certificate",
        "release.csv.manifest.json",
    )
    return people


def test_a_release_is_assessed_by_its_certificate(released, run):
    said = run("assess", "people.csv", "release.csv").stdout
    assert "What an intruder can still do" in said
    assert "records linked correctly" in said
    assert "about illness?" in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 80
    found = json.loads(run("assess", "people.csv", "release.csv", "--json").stdout)
    assert found["quasi_identifiers"] == ["age", "zip", "income", "sex"]
    assert found["k"] >= 4
    assert 0 < found["questions"]["linkage"]["figures"]["correct"] <= 0.25
    assert found["questions"]["linkage"]["compare_with"]["untouched"] == 1


def test_roles_and_types_from_options(released, run):
    arguments = (
        "assess",
        "people.csv",
        "release.csv",
        "--qi",
        "age,zip",
        "--sensitive",
        "sex",
        "--type",
        "zip=nominal",
    )
    found = json.loads(run(*arguments, "--json").stdout)
    assert found["quasi_identifiers"] == ["age", "zip"]
    assert "learnt:sex" in found["questions"]
    assert found["columns"]["zip"]["loss"] is None
    (released / "release.csv.manifest.json").unlink()
    said = flat(run("assess", "people.csv", "release.csv"))
    assert "No quasi-identifiers were named" in said


def test_the_page_is_written_once(released, run):
    said = run("assess", "people.csv", "release.csv", "--by", "sex", "--report", "page.html").stdout
    assert "Who pays for the anonymity, by sex" in said
    page = (released / "page.html").read_text()
    assert "For the data holder." in page
    assert not any(secret in page for secret in SECRETS)
    assert "must not be there yet" in flat(run("assess", "people.csv", "release.csv", "--report", "page.html", code=2))
    run("assess", "people.csv", "release.csv", "--report", "page.html", "--force")
    (released / "rest.csv").write_bytes((released / "people.csv").read_bytes())
    for more in (["--report", "people.csv"], ["--report", "rest.csv", "--held-out", "rest.csv"]):
        said = flat(run("assess", "people.csv", "release.csv", *more, "--force", code=2))
        assert "must not overwrite the input" in said


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--key", "name"), 2, "The key must be a column of every release. Got none 'name'"),
        (("--qi", "agee"), 2, "Got none 'agee' in the original. Hint: did you mean 'age'"),
        (("--by", "town"), 2, "The subgroups must be those of a column of the original"),
        (("--sample", "1"), 2, "at least 2"),
        (("--weight", "sex"), 2, "The column of weights must hold numbers. Got 'sex'"),
    ],
)
def test_mistakes_are_answered_in_one_sentence(released, run, arguments, code, words):
    assert words in flat(run("assess", "people.csv", "release.csv", *arguments, code=code))


def test_another_file_is_refused(released, run):
    path = released / "release.csv"
    path.write_text(path.read_text().replace("flu", "flux", 1))
    assert "belongs to another file" in flat(run("assess", "people.csv", "release.csv", code=1))


def test_fewer_rows_need_a_key(released, run):
    path = released / "release.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:-3]) + "\n")
    (released / "release.csv.manifest.json").unlink()
    said = flat(run("assess", "people.csv", "release.csv", "--qi", "age,sex", code=2))
    assert "as many rows as the original" in said
    assert "--key" in said


def test_names_that_would_steer_a_terminal_are_shown_as_texts(people, run):
    """The header holds an escape sequence, as names of columns may."""
    text = (people / "people.csv").read_text().replace("illness", "ill\x1b[31mness", 1)
    (people / "odd.csv").write_text(text)
    result = run("assess", "odd.csv", "odd.csv", "--qi", "age,sex", "--sensitive", "ill\x1b[31mness", "--by", "sex")
    assert "\x1b[31m" not in result.stdout + result.stderr
    assert "about ill\\x1b[31mness?" in " ".join(result.stdout.split())


def test_questions_by_name(released, run):
    said = run("assess", "people.csv", "release.csv", "--ask", "linkage", "--by", "sex,illness")
    assert "Who pays for the anonymity, by illness" in said.stdout
    assert "records linked correctly" in said.stdout
    assert "What an analyst can still do" not in said.stdout
    assert "Slow questions" not in flat(run("assess", "people.csv", "release.csv", "--ask", "keys,model"))
    all_of_it = flat(run("assess", "people.csv", "release.csv"))
    assert "Slow questions that were not asked: model (--ask all)" in all_of_it
    assert "membership (no held-out records)" in all_of_it
    words = "must ask questions that exist. Got 'luck'"
    assert words in flat(run("assess", "people.csv", "release.csv", "--ask", "luck", code=2))
    same = flat(run("assess", "people.csv", "release.csv", "--held-out", "people.csv", code=2))
    assert "Held-out records must not be in the original" in same
    found = run(
        "assess", "people.csv", "release.csv", "--ask", "population_uniques", "--population-size", 500, "--json"
    )
    assert json.loads(found.stdout)["questions"]["population_uniques"]["figures"]["zayatz"] == 0
