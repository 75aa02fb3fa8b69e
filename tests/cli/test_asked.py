"""From options and job files to plans, and messages in the words of the command line."""

import shlex

import pytest

from shoal.cli import asked
from shoal.cli.words import FLAGS, in_words_of_the_command_line
from shoal.errors import OptionError
from shoal.plan import Plan
from shoal.release.report import facts


def plan(**said):
    return asked.plan_of(said)[0]


def test_options_become_fields():
    found = plan(
        k=7,
        qi=["age,zip", '"last, first"'],
        id=["name"],
        weight="w",
        type=["zip=nominal"],
        levels=["school=low,mid,high"],
        hierarchy=["zip=prefixes:2,3", "job=a=b.csv"],
        importance=["age=2"],
        digits=["age=0"],
        date_format=["born=%d/%m/%Y"],
        place=["lat,lon"],
        na=["NA", "-9"],
        blocks="age,zip;lat,lon",
        option=["gamma=0.5", "closest=mean", "n=3"],
        method="ona*",
        form="local-recoding",
        seed=3,
        shuffle=True,
    )
    assert found == Plan(
        k=7,
        quasi_identifiers=("age", "zip", "last, first"),
        identifiers=("name",),
        weight="w",
        types={"zip": "nominal"},
        levels={"school": ("low", "mid", "high")},
        hierarchies={"zip": "prefixes:2,3", "job": "a=b.csv"},
        importance={"age": 2.0},
        digits={"age": 0},
        formats={"born": "%d/%m/%Y"},
        places=(("lat", "lon"),),
        missing_values=("NA", "-9"),
        blocks=(("age", "zip"), ("lat", "lon")),
        options={"gamma": 0.5, "closest": "mean", "n": 3},
        method="ona*",
        release="local-recoding",
        random_state=3,
        shuffle=True,
    )
    assert plan(blocks="each").blocks == "each"
    assert plan(na=["age=NA", "age=-9", "zip=0"]).missing_values == {"age": ("NA", "-9"), "zip": ("0",)}
    assert plan() == Plan()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"digits": ["age=many"]}, "--digits must be COLUMN=.. with a whole number"),
        ({"type": ["age"]}, "--type must be COLUMN=.."),
        ({"option": ["gamma"]}, "--option must be NAME=.."),
        ({"date_format": ["born="]}, "--format must be COLUMN=.."),
        ({"place": ["lat"]}, "--place must be two columns"),
        ({"na": ["NA", "age=0"]}, "--na must be VALUE for all columns, or COLUMN=VALUE"),
    ],
)
def test_what_cannot_be_understood_is_refused(said, words):
    with pytest.raises(OptionError, match=words):
        asked.plan_of(said)


JOB = """
k: 4
quasi_identifiers: [age, zip]
sensitive_attributes: [illness]
weight: w
types: {zip: nominal}
method: ona*-gamma
options: {gamma: 0.5}
input: people.csv
delimiter: ';'
"""


def test_options_override_the_job_file(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    found, files = asked.plan_of({"job": str(path), "k": 9, "type": ["age=integer"], "id": ["illness"], "unit": "w"})
    assert found.k == 9
    assert found.quasi_identifiers == ("age", "zip")
    assert found.types == {"zip": "nominal", "age": "integer"}  # mappings are merged
    assert (found.sensitive_attributes, found.identifiers) == ((), ("illness",))  # a new role replaces the old one
    assert (found.weight, found.unit) == (None, "w")
    assert found.options == {"gamma": 0.5}
    assert files == {"input": str(tmp_path / "people.csv"), "delimiter": ";"}
    assert asked.plan_of({"job": str(path), "method": "mdav"})[0].options == {}  # those of another method

    assert asked.reading({"decimal": ","}, files) == {"delimiter": ";", "decimal": ","}
    assert asked.reading({"source": "other.csv", "decimal": ","}, files) == {"decimal": ","}


def test_a_job_file_says_the_same_again_from_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    first = Plan(k=3, quasi_identifiers=("zip",), hierarchies={"zip": "trees/zip.csv"}, missing_values=("NA",))
    files = {"input": "people.csv", "output": "/tmp/release.csv", "report": None}
    path = tmp_path / "jobs" / "job.yaml"
    path.write_text(asked.job_file(first, files, {"decimal": ",", "to_table": "t"}, "jobs/job.yaml"))
    again, found = asked.plan_of({"job": "jobs/job.yaml"})
    assert found == {
        "input": "jobs/../people.csv",
        "output": "/tmp/release.csv",
        "decimal": ",",
        "to_table": "t",
    }
    assert again.hierarchies == {"zip": "jobs/../trees/zip.csv"}
    assert again.model_copy(update={"hierarchies": first.hierarchies}) == first


def test_no_password_gets_into_a_job_file():
    text = asked.job_file(Plan(), {"input": "postgresql://me:secret@host:5432/db"}, {}, "job.yaml")
    assert "postgresql://me@host:5432/db" in text
    assert "secret" not in text


def test_the_command_of_the_report_asks_for_the_same_plan():
    first = Plan(
        k=4,
        quasi_identifiers=("age", "last, first", 'the "best"'),
        identifiers=("name",),
        types={"age": "integer"},
        hierarchies={"age": "widths:5,10"},
        missing="drop",
        time_limit=3.0,
        random_state=1,
    )
    from typer.testing import CliRunner

    from shoal.cli import anonymize
    from shoal.cli.app import app

    words = shlex.split(facts.command_line(first, "people.csv"))
    seen = []
    original, anonymize.task_of = anonymize.task_of, lambda said: seen.append(asked.plan_of(said)[0]) or 1 / 0
    try:
        CliRunner().invoke(app, words[1:])
    finally:
        anonymize.task_of = original
    assert seen == [first]
    assert facts.FLAGS.items() <= FLAGS.items()


@pytest.mark.parametrize(
    ("library", "ours"),
    [
        ("The 'types' of a plan, at 'a', must be x.", "The option --type, at 'a', must be x."),
        ("declare it: missing_values=['NA'].", "declare it: --na 'NA'."),
        ("or say types={'a b': 'nominal'}.", "or say --type 'a b=nominal'."),
        ("say levels={'a': [lowest, .., highest]}.", "say --levels 'a=lowest,..,highest'."),
        ("say formats={'a': '%d/%m/%Y'}.", "say --format 'a=%d/%m/%Y'."),
        ("missing='drop' leaves rows out", "--missing drop leaves rows out"),
        ("identifiers=['a'] drops it (--id), other=[..] passes", "--id 'a' drops it, --other passes"),
        ("name them with quasi_identifiers (--qi on the command line).", "name them with --qi."),
        ("say hierarchies={'a': 'file.csv'} (--hierarchy a=file.csv).", "say --hierarchy 'a=file.csv'."),
        ("places=[('latitude', 'longitude')] (--place latitude,longitude).", "--place latitude,longitude."),
        ("shoal.methods() lists all of them.", "'shoal methods' lists all of them."),
        ("or pass force (--force) to replace it.", "or add --force to replace it."),
        ("The column 'missing' has 3 other values.", "The column 'missing' has 3 other values."),
    ],
)
def test_messages_are_put_into_the_words_of_the_command_line(library, ours):
    assert in_words_of_the_command_line(library) == ours
