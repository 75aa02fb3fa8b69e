"""What workers do, run here: checks, releases, assessments, comparisons and the catalogue."""

import io
import json
from pathlib import Path

import pytest

import shoal
from shoal.errors import DataError, SeveralErrors
from shoal.plan import FORMS, KINDS, Plan
from shoal.privacy.models import MODELS, model
from shoal.web.faults import Fault, told
from shoal.web.tasks import task_of
from shoal.web.worker import Line

PLAN = {
    "k": 4,
    "quasi_identifiers": ["age", "town"],
    "sensitive_attributes": ["ill"],
    "hierarchies": {"town": ["north", ["aa", "ab"], ["south", "ba", "bb"]]},
    "method": "mdav",
}


class Heard(Line):
    """A line that keeps what was said."""

    def __init__(self):
        super().__init__(io.StringIO())
        self.words = []

    def say(self, **words):
        json.dumps(words, allow_nan=False)
        self.words.append(words)


@pytest.fixture
def people(tmp_path, monkeypatch):
    """Return how a worker is told about a table, in a folder of its own."""
    rows = [f"{20 + i * 7 % 50},{('aa', 'ab', 'ba', 'bb')[i % 4]},{'yes' if i % 3 else 'no'}" for i in range(80)]
    where = tmp_path / "kept.csv"
    where.write_text("age,town,ill\n" + "\n".join(rows) + "\n")
    folder = tmp_path / "job"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return {"where": str(where), "label": "people.csv", "reading": {}, "plan": PLAN}


def result():
    return json.loads(Path("result.json").read_text())


def test_a_release_is_made_assessed_and_made_again_from_its_job_file(people):
    plan = {**PLAN, "hierarchies": {"town": {"north": ["aa", "ab"], "south": ["ba", "bb"]}}}
    line = Heard()
    answer = task_of("run")(line, **{**people, "plan": plan}, writing={})
    made = result()
    phases = [words["phase"] for words in line.words if "phase" in words]
    assert list(dict.fromkeys(phases)) == ["reading", "preparing", "grouping", "writing", "measuring"]
    # Options cannot hold a tree, so the command is one with the job file.
    assert made["again"]["command"] == "shoal anonymize --job job.yaml"
    assert answer["summary"]["k"] == made["k"]["held"] >= 4
    again = shoal.anonymize_file("people.csv", plan=shoal.job_files.read_job("job.yaml")[0])
    assert again.loss == made["loss"]
    assert made["verdict"]["state"] in ("good", "limited")
    assert {one["name"]: one["public"] for one in made["files"]} == {
        **dict.fromkeys(["release", "certificate", "report"], True),
        **dict.fromkeys(["record", "job_file", "command", "python"], False),
    }
    task_of("assess")(Heard(), **{**people, "plan": plan}, release="release.csv")
    assessed = {one["name"]: one["figures"][0]["value"] for one in result()["questions"]}
    assert 0 <= assessed["linkage"] <= 1
    assert result()["k"] == made["k"]["held"]


def test_a_check_says_what_a_plan_means_or_all_that_is_wrong(people):
    plain = {name: value for name, value in PLAN.items() if name != "hierarchies"}
    task_of("check")(Heard(), **{**people, "plan": plain})
    found = result()
    assert found["rows"]["published"] == 80
    assert found["most_groups"] == 20
    assert [one["type"] for one in found["attributes"]] == ["integer", "nominal"]
    assert found["methods"][0]["method"] == "mdav"
    wrong = {**plain, "types": {"town": "continuous"}, "formats": {"age": "%Y"}}
    with pytest.raises(DataError) as refused:
        task_of("check")(Heard(), **{**people, "plan": wrong})
    assert isinstance(refused.value, SeveralErrors)
    error = told(refused.value)
    assert len(error["problems"]) == 2
    assert all(one["message"].startswith(("The ", "Every ")) for one in error["problems"])
    assert not any("aa" in one["message"] for one in error["problems"])


def test_points_of_the_map_become_plans(people):
    plain = {name: value for name, value in PLAN.items() if name != "hierarchies"}
    forms = ["microaggregation", "global-recoding"]
    task_of("compare")(Heard(), **{**people, "plan": plain}, ks=[2, 5], methods=["mdav"], forms=forms)
    trials = result()["trials"]
    assert [(one["k"], one["form"]) for one in trials] == [(k, form) for k in (2, 5) for form in forms]
    for trial in trials:
        plan = Plan.of(**trial["plan"])
        assert (plan.k, plan.release, plan.method) == (trial["k"], trial["form"], "mdav")
        assert trial["risk"] == 1 / trial["smallest"]
        # Of intervals and sets, nobody can tell to which original they are nearest.
        linked = trial["figures"]["linkage"]
        assert linked is None if trial["form"] == "global-recoding" else 0 <= linked <= 1
    assert trials[0]["loss"] < trials[2]["loss"]


def test_the_catalogue_has_what_the_registries_have():
    offered = task_of("catalogue")(Heard())
    names = {key: [one["name"] for one in offered[key]] for key in ("types", "forms", "methods", "models", "fields")}
    assert names["types"] == list(KINDS)
    assert names["forms"] == list(FORMS)
    assert names["methods"] == ["auto", *(one.name for one in shoal.methods())]
    assert names["fields"] == list(Plan.model_fields)
    assert set(names["models"]) == set(MODELS) - {"k-map", "delta-presence"}
    for one in offered["models"]:
        assert str(model(one["example"])) == one["example"]
        assert "'" not in one["words"].replace("person's", "").replace("nobody's", "").replace("Nobody's", "")
    json.dumps(offered, allow_nan=False)


def test_defects_are_told_without_their_words():
    try:
        raise KeyError("Mallory Marker 4711")
    except KeyError as error:
        said = told(error)
    assert "Mallory" not in json.dumps(said)
    assert said["kind"] == "Defect"
    assert told(OSError(28, "Mallory"))["message"].count("Mallory") == 0
    assert told(Fault(409, "It must. Got not.", "wait."))["hint"] == "wait."
