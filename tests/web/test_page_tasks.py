"""What workers do, run here: checks, releases, assessments, comparisons and the catalogue."""

import io
import json
import re
from pathlib import Path

import pytest

import shoal
from shoal.dp.registry import releases
from shoal.errors import DataError, OptionError, SeveralErrors, ShoalError
from shoal.plan import FORMS, KINDS, Plan
from shoal.privacy.models import MODELS, model
from shoal.tables.sensitive import GROUNDS
from shoal.web.drafts import SETTINGS
from shoal.web.faults import Fault, told
from shoal.web.tasks import task_of
from shoal.web.worker import Line

# Settings of columns whose controls are more than a line to write into.
WITH_PARTS = {"types", "levels", "hierarchies", "representatives", "models"}
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
    return {"where": str(where), "label": "people.csv", "reading": {}, "files": {}, "plan": PLAN}


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
    assert [one["name"] for one in offered["private"]["releases"]] == [one.name for one in releases()]
    # Fields have a sentence for those who see a page and no command line, and all but roles and types a price.
    assert not any(
        re.search(r"--\w|shoal methods|YAML", one["words"]) for one in offered["fields"] + offered["settings"]
    )
    assert all(one["words"] for one in offered["fields"])
    assert all(one["cost"] for one in offered["settings"])
    assert {one["field"] for one in offered["settings"]} | WITH_PARTS == set(SETTINGS.values())
    for one in offered["models"]:
        assert str(model(one["example"])) == one["example"]
        assert "'" not in one["words"].replace("person's", "").replace("nobody's", "").replace("Nobody's", "")
        for parameter in one["parameters"]:
            numeric = parameter["type"] in ("int", "float")
            assert [value for value, _ in parameter["choices"]] == ([] if numeric else list(GROUNDS))
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


DOMAIN = {
    "columns": {
        "age": {"kind": "integer", "lower": 0, "upper": 100},
        "town": {"kind": "nominal", "values": ["aa", "ab", "ba", "bb"]},
    }
}


def test_a_private_release_is_checked_made_and_described(people):
    plan = {"dp": "histogram", "epsilon": 2.0, "domain": DOMAIN, "options": {"bins": 4}}
    task_of("check")(Heard(), **{**people, "plan": plan})
    assert [(one["name"], one["values"]) for one in result()["columns"]] == [("age", 101), ("town", 4)]
    assert result()["left_out"] == ["ill"]
    answer = task_of("run")(Heard(), **{**people, "plan": plan}, writing={})
    made = result()
    assert (made["private"], made["epsilon"], made["delta"]) == (True, "2", None)
    assert answer["summary"]["rows"] == made["rows"]["published"]
    assert answer["summary"]["loss"] is None
    assert made["certainty"] == pytest.approx(0.881, abs=0.001)
    assert not made["again"]["exact"]
    assert "anew" in made["again"]["why"]
    assert made["again"]["command"] == "shoal anonymize --job job.yaml"
    assert shoal.job_files.read_job("job.yaml")[0] == Plan.of(**plan)
    assert set(made["rows"]) == {"published"}  # nothing exact of the original
    assert {one["name"] for one in made["files"] if one["public"]} == {"release", "certificate", "report"}


def test_a_template_of_a_domain_holds_no_value_and_is_refused_until_it_is_filled_in(people):
    plan = {"dp": "mondrian", "epsilon": 1.0, "drop": ["ill"]}
    found = task_of("template")(Heard(), people["where"], {}, plan)
    assert found["domain"]["columns"] == {
        "age": {"kind": "integer", "lower": "FILL IN", "upper": "FILL IN"},
        "town": {"kind": "nominal", "values": "FILL IN"},
    }
    with pytest.raises(ShoalError, match="filled in"):
        task_of("check")(Heard(), **{**people, "plan": {**plan, "domain": found["domain"]}})
    read = task_of("read_domain")
    text = "columns:\n  day: {kind: date, lower: 1920-01-01, upper: 2010-12-31}\n"
    assert read(Heard(), text)["domain"]["columns"]["day"]["lower"] == "1920-01-01"
    for odd in ("- 1", "columns: {}", "columns: {a: !!python/object:os.system x}", "a: [", "columns: {a: .nan}", "1"):
        with pytest.raises(OptionError):
            read(Heard(), odd)


def test_records_are_counted_in_a_population_that_was_uploaded(people, tmp_path):
    rows = [f"{20 + i * 7 % 50},{('aa', 'ab', 'ba', 'bb')[i % 4]}" for i in range(400)]
    kept = tmp_path / "0123.csv"
    kept.write_text("age,town\n" + "\n".join(rows) + "\n")
    assert task_of("look_at")(Heard(), str(kept), 10**9) == {"rows": 400, "columns": ["age", "town"]}
    plan = {**PLAN, "k": 2, "release": "local-recoding", "population": "all.csv", "k_map": 20}
    plan["hierarchies"] = {"town": {"north": ["aa", "ab"], "south": ["ba", "bb"]}}
    given = {**people, "plan": plan, "files": {"all.csv": str(kept)}}
    task_of("run")(Heard(), **given, writing={})
    assert any("k = 20 (map)" in one["what"] and one["holds"] for one in result()["checks"])
    assert result()["models"] == [{"attribute": None, "model": "k-map k=20", "held": 20.0, "holds": True}]
    assert str(tmp_path) not in Path("job.yaml").read_text()
    assert shoal.job_files.read_job("job.yaml")[0].population == "all.csv"
