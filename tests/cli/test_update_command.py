"""``shoal update``, and ``shoal verify`` of an update with the release before it."""

import json

import pytest

PLAN = ("--id", "name", "--rest", "drop", "--method", "mdav", "-k", "4")


@pytest.fixture
def folder(people, run):
    """Return a folder with a release of most people, and the others."""
    lines = (people / "people.csv").read_text().splitlines(keepends=True)
    (people / "first.csv").write_text("".join(lines[:-12]))
    (people / "new.csv").write_text("".join([lines[0], *lines[-12:]]))
    (people / "few.csv").write_text("".join([lines[0], *lines[-2:]]))
    run("anonymize", "first.csv", "-o", "r1.csv", "--qi", "age,income", "--sensitive", "illness", *PLAN)
    return people


def test_an_update_says_what_both_releases_tell(folder, run):
    shown = run("update", "r1.csv", "new.csv", "-o", "r2.csv").stdout
    assert "whoever is in both releases is one of at least 4" in shown
    assert "12 rows; whoever is new is one of at least" in shown
    before, after = ((folder / name).read_text() for name in ("r1.csv", "r2.csv"))
    assert after.startswith(before)
    assert after.count("\n") == before.count("\n") + 12
    assert (folder / "r2.csv.record.json").stat().st_mode & 0o077 == 0
    result = run("verify", "r2.csv")
    assert "--earlier verifies" in result.output
    assert "with r1.csv, " in run("verify", "r2.csv", "--earlier", "r1.csv").stdout
    record = json.loads(run("update", "r2.csv", "new.csv", "-o", "r3.csv", "--json", "-q").stdout)
    assert record["both_releases"][0]["holds"]
    assert record["earlier"]["name"] == "r2.csv"


def test_pairs_that_do_not_belong_together_are_refused(folder, run):
    run("update", "r1.csv", "new.csv", "-o", "r2.csv")
    assert "update of another file" in run("verify", "r2.csv", "--earlier", "first.csv", code=1).stderr
    assert "for an update only" in run("verify", "r1.csv", "--earlier", "r2.csv", code=2).stderr
    assert "with the certificate of an update" in run("verify", "new.csv", "--earlier", "r1.csv", code=2).stderr


def test_nothing_is_written_where_an_update_is_refused(folder, run):
    listed = sorted(folder.iterdir())
    error = run("update", "r1.csv", "few.csv", "-o", "r2.csv", code=2).stderr
    assert "At least k = 4 new records must join at once" in error
    assert (
        "must not overwrite the input" in run("update", "r1.csv", "new.csv", "-o", "r1.csv", "--force", code=2).stderr
    )
    assert (
        "must not overwrite the input" in run("update", "r1.csv", "new.csv", "-o", "new.csv", "--force", code=2).stderr
    )
    assert "The output must be named" in run("update", "r1.csv", "new.csv", code=2).stderr
    beside = ("-o", "r2.csv", "--record", "r1.csv.record.json", "--force")
    assert "must not overwrite the input" in run("update", "r1.csv", "new.csv", *beside, code=2).stderr
    assert "format of the earlier release" in run("update", "r1.csv", "new.csv", "-o", "r2.parquet", code=2).stderr
    (folder / "r1.csv").write_text((folder / "r1.csv").read_text().replace("\n", "\r\n"))
    assert "record of another file" in run("update", "r1.csv", "new.csv", "-o", "r2.csv", code=1).stderr
    assert sorted(folder.iterdir()) == listed


def test_weaker_rules_warn(folder, run):
    result = run("update", "r1.csv", "few.csv", "-o", "r2.csv", "--newcomers", 1)
    assert "may find them among 1 row" in " ".join(result.stderr.split())
    assert "2 new rows share the values of groups" in result.stdout
    run("verify", "r2.csv", "--earlier", "r1.csv")
