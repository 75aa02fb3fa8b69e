"""Nothing of the input is in what commands say, log or draw, whatever is done with a release after it was made.

A release is updated, assessed and compared, and plans are compared and tuned. Their answers are for the data holder,
and have figures, names of columns and the plan. Values of the data are in none of them, unless they are published.
"""

import json
import tempfile
import warnings
from contextlib import chdir
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from typer.testing import CliRunner

import shoal
from release.marked import GRADES, TREE, as_csv, inputs, listening, markers
from shoal.cli.app import app

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")
SOME = settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


class House:
    """A folder with marked files, in which commands are run and heard."""

    def __init__(self, folder, rows, fields, heard, monkeypatch):
        monkeypatch.setenv("COLUMNS", "200")
        self.values, names = markers(rows, fields)
        # Names of files and columns are said to the data holder, and to nobody else.
        self.names = names - {"peoplemarkx"}
        self.heard, self.said, self.refused = heard, {}, set()
        new = max(len(rows) // 3, 2 * fields["k"])
        for name, some in (("people", rows), ("old", rows[:-new]), ("new", rows[-new:])):
            (folder / f"{name}.csv").write_text(as_csv(some))
        (folder / "tree.json").write_text(json.dumps(TREE))
        plan = {
            **fields,
            "rest": "other",
            "hierarchies": {name: plain(tree) for name, tree in fields["hierarchies"].items()},
        }
        (folder / "job.json").write_text(json.dumps(plan))
        self.fields = {name: value for name, value in plan.items() if name not in ("k", "method", "release")}

    def run(self, *arguments):
        """Run a command, and keep what it says; return whether it did what it was asked for."""
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        assert not isinstance(result.exception, Exception) or isinstance(result.exception, SystemExit), result.exception
        assert "should not have happened" not in result.output
        self.said[" ".join(map(str, arguments))] = result.output
        if result.exit_code:
            self.refused.add(arguments[0])
        return result.exit_code == 0

    def public(self):
        """Return what is published."""
        released = [Path(name).read_text() for name in ("out.csv", "later.csv") if Path(name).exists()]
        return {one for one in self.values | self.names if any(one in text for text in released)}

    def check(self, **texts):
        """Look for markers in all that was said."""
        public = self.public()
        said = {**self.said, **texts, "log": "\n".join(self.heard.words)}
        found = {where: [one for one in self.values - public if one in text] for where, text in said.items()}
        assert not any(found.values()), found


def plain(tree):
    """Return a hierarchy as a job file has it."""
    return tree.to_plain() if hasattr(tree, "to_plain") else tree


@pytest.fixture(scope="module")
def patched():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.mark.parametrize("engine", ["memory", "stream"])
@SOME
@given(inputs())
def test_no_marker_in_what_is_done_with_releases(patched, engine, given_):
    rows, fields = given_
    with tempfile.TemporaryDirectory() as place, listening() as heard, chdir(place):
        house = House(Path(place), rows, fields, heard, patched)
        if not house.run("anonymize", "old.csv", "--job", "job.json", "-o", "out.csv", "--engine", engine):
            house.check()
            return
        house.run("update", "out.csv", "new.csv", "-o", "later.csv")
        house.run("assess", "old.csv", "out.csv", "--report", "page.html")
        house.run("assess", "old.csv", "out.csv", "--ask", "linkage,membership", "--held-out", "new.csv")
        house.run("compare", "old.csv", "out.csv", "--map", "map.html", "--units")
        house.run("verify", "out.csv")
        texts = {name: Path(name).read_text() for name in ("page.html", "map.html") if Path(name).exists()}
        certificates = [
            path for path in map(Path, ("out.csv.manifest.json", "later.csv.manifest.json")) if path.exists()
        ]
        everyone = {path.name: path.read_text() for path in certificates}
        house.check(**texts, **everyone)
        for name in texts:
            assert Path(name).stat().st_mode & 0o077 == 0
        for name, text in everyone.items():
            assert not [one for one in house.names - house.public() if one in text], name


@SOME
@given(inputs())
def test_no_marker_in_comparisons_and_searches(patched, given_):
    rows, fields = given_
    with tempfile.TemporaryDirectory() as place, listening() as heard, chdir(place):
        house = House(Path(place), rows, fields, heard, patched)
        few = ("--method", "mdav", "-k", fields["k"], "-k", fields["k"] + 1)
        house.run("compare", "people.csv", "--job", "job.json", *few, "--map", "map.html")
        house.run("tune", "people.csv", "--job", "job.json", *few, "--want", "linkage <= 0.4", "-o", "found.yaml")
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                found = shoal.tune("people.csv", "loss <= 50 %", k=fields["k"], method="mdav", **house.fields)
                told = repr(found) + found._repr_html_() + " ".join(found.notes)
            except shoal.ShoalError as error:
                told = str(error)
        told += " ".join(str(one.message) for one in warned)
        pages = {"map.html": Path("map.html").read_text()} if Path("map.html").exists() else {}
        house.check(tuned=told, **pages)


def test_markers_are_found_where_they_are(patched, tmp_path):
    """The tests above can fail: the plan, which is not published, has levels that nobody has."""
    people = [{"grade": GRADES[at % 4], "pay": str(1_100_001 + 2 * at)} for at in range(24)]
    fields = {"k": 3, "quasi_identifiers": ["grade", "pay"], "levels": {"grade": GRADES}, "hierarchies": {}}
    with listening() as heard, chdir(tmp_path):
        house = House(tmp_path, people, fields, heard, patched)
        house.run("anonymize", "old.csv", "--job", "job.json", "-o", "out.csv")
        house.check()
        house.run("tune", "old.csv", "--job", "job.json", "-k", 3, "--method", "mdav", "--want", "k >= 3", "--json")
        with pytest.raises(AssertionError, match=GRADES[5]):
            house.check()
