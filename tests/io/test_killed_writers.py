"""What lies on the disk after a writer was killed at any of its steps: a release or nothing, and nothing unverified."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

NAMELESS = ("t.csv", "t.csv.gz", "t.parquet", "t.arrow", "t.xlsx", "t.dta", "t.sav", "t.xpt")
DATABASES = ("t.sqlite", "t.duckdb")
SURE = ("require_same", "posix.link", "posix.replace", "posix.mkdir")  # steps that come in every run


def kills(folder, most):
    script = Path(__file__).with_name("killed_at_every_step.py")
    run = subprocess.run(
        [sys.executable, script, folder, str(most)], capture_output=True, text=True, timeout=1800, check=True
    )
    found = [json.loads(line) for line in run.stdout.splitlines()]
    assert {one["name"] for one in found} == {*NAMELESS, *DATABASES}
    # A step that depends on threads may not come again; then the file is complete.
    assert all(one["killed"] or one["state"] == "new" for one in found)
    sure = [one for one in found if one["step"].endswith(SURE)]
    assert all(one["killed"] for one in sure)
    assert sum(one["step"] == "require_same" for one in sure) >= len(NAMELESS) + len(DATABASES)
    return found


def check(one):
    """Check what one killed writer left."""
    assert one["others"] == [], one  # neither beside the target nor in the temporary folder
    assert one["state"] in (("old", "new") if one["force"] else ("none", "new")), one
    assert one["state"] != "new" or one["verified"], one
    # A file without a name needs a private folder only to replace another; then it has been verified.
    if one["name"] in NAMELESS and not one["hidden"]:
        assert one["private"] == [] or (one["force"] and one["verified"]), one
    if one["name"] in DATABASES or not one["hidden"]:
        assert one["marked"] == [] or one["verified"], one
    assert one["private"] in ([], ["0o700"]), one
    # The journal of a database that was there before is SQLite's way back to the old state.
    allowed = ["t.sqlite-journal"] if one["name"] == "t.sqlite" and one["force"] else []
    assert one["companions"] in ([], allowed), one
    # The next one that writes beside it removes what was left.
    assert one["later"] in ([], [one["name"]], [one["name"], *allowed]), one


def test_a_killed_writer_leaves_nothing_unverified(tmp_path):
    found = kills(tmp_path, 1)
    for one in found:
        check(one)
    assert {one["state"] for one in found} == {"none", "old", "new"}
    assert any(one["private"] for one in found)


@pytest.mark.long
def test_a_writer_killed_at_many_steps_leaves_nothing_unverified(tmp_path):
    for one in kills(tmp_path, 60):
        check(one)
