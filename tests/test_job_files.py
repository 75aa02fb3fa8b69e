"""Job files: read, written, and overridden."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError, OptionError
from shoal.job_files import job_text, override, read_job
from shoal.plan import FORMS, KINDS, Plan
from test_plan import EVERYTHING, PRIVATE


def toml_of(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml_of(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml_of(one) for one in value) + "]"
    return json.dumps(value)


WRITERS = {
    ".json": json.dumps,
    ".yaml": yaml.safe_dump,
    ".yml": yaml.safe_dump,
    ".toml": lambda job: "".join(f"{key} = {toml_of(value)}\n" for key, value in job.items()),
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_job_files_of_all_formats_give_the_same_plan(tmp_path, suffix):
    path = tmp_path / f"job{suffix}"
    path.write_text(WRITERS[suffix](EVERYTHING), encoding="utf-8")
    plan, files = read_job(path)
    assert plan == Plan.of(**EVERYTHING)
    assert files == {}


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize(
    "fields", [{}, EVERYTHING, PRIVATE, {"k": 5, "blocks": "each", "hierarchies": {"a": [["b", "c"], "d"]}}]
)
def test_round_trip(tmp_path, suffix, fields):
    plan = Plan.of(**fields)
    path = tmp_path / f"job{suffix}"
    path.write_text(WRITERS[suffix](plan.job()), encoding="utf-8")
    assert read_job(path)[0] == plan


def test_yaml_of_a_plan_is_a_job_file(tmp_path):
    plan = Plan.of(**EVERYTHING)
    (tmp_path / "job.yaml").write_text(plan.to_yaml(), encoding="utf-8")
    assert read_job(tmp_path / "job.yaml")[0] == plan
    assert plan.to_yaml().startswith("k: 7\n")


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".yaml", "top_coding: {born: 1990-12-31}\nbottom_coding: {seen: 1990-12-31 05:30:00}\n"),
        (".toml", "top_coding = {born = 1990-12-31}\nbottom_coding = {seen = 1990-12-31T05:30:00}\n"),
    ],
)
def test_dates_of_job_files_need_no_quotes(tmp_path, suffix, text):
    (tmp_path / f"job{suffix}").write_text(text, encoding="utf-8")
    plan = read_job(tmp_path / f"job{suffix}")[0]
    assert plan.top_coding == {"born": "1990-12-31"}
    assert plan.bottom_coding == {"seen": "1990-12-31T05:30:00"}


NAMES = st.text(min_size=1, max_size=6)


@given(
    types=st.dictionaries(NAMES, st.sampled_from(KINDS), max_size=3),
    markers=st.lists(st.text(max_size=4) | st.integers() | st.floats(allow_nan=False), max_size=4),
    qis=st.none() | st.lists(NAMES, max_size=4, unique=True),
    form=st.sampled_from(FORMS),
)
def test_yaml_round_trip_of_odd_names(tmp_path_factory, types, markers, qis, form):
    """Names such as 'yes', '1', '~' or ': ' are texts and stay texts."""
    plan = Plan.of(types=types, missing_values=markers, quasi_identifiers=qis, release=form)
    path = tmp_path_factory.getbasetemp() / "odd.yaml"
    path.write_text(plan.to_yaml(), encoding="utf-8")
    again = read_job(path)[0]
    assert again == plan
    assert [type(marker) for marker in again.missing_values] == [type(marker) for marker in plan.missing_values]


def test_paths_of_a_job_file_are_relative_to_it(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(
        "input: in.csv\noutput: postgresql://host/db\nreport: sub/report.html\ncertificate: m.json\n"
        "hierarchies:\n  zip: zip.csv\n  icd: prefixes:1,3\n  age: {widths: [5, 10]}\n  code: prefixes\n",
        encoding="utf-8",
    )
    plan, files = read_job(path)
    assert files == {
        "input": str(tmp_path / "in.csv"),
        "output": "postgresql://host/db",
        "report": str(tmp_path / "sub" / "report.html"),
        "certificate": str(tmp_path / "m.json"),
    }
    assert plan.hierarchies == {
        "zip": str(tmp_path / "zip.csv"),
        "icd": "prefixes:1,3",
        "age": {"widths": [5, 10]},
        "code": "prefixes",
    }


def test_a_byte_order_mark_does_not_matter(tmp_path):
    (tmp_path / "job.yaml").write_bytes(b"\xef\xbb\xbfk: 3\n")
    assert read_job(tmp_path / "job.yaml")[0].k == 3


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("job.yaml", b"[1, 2]", "must contain keys with values. Got something else in job.yaml"),
        ("job.yaml", b"", "must contain keys with values"),
        ("job.yaml", b"k: [", "job.yaml is not valid YAML"),
        ("job.json", b"{", "job.json is not valid JSON"),
        ("job.toml", b"k = ", "job.toml is not valid TOML"),
        ("job.yaml", b"\xff\xfek", "job.yaml cannot be read: it is not UTF-8 text"),
    ],
)
def test_broken_job_files_are_refused(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_job(tmp_path / name)


def test_a_job_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match=r"job.yaml cannot be read: No such file"):
        read_job(tmp_path / "job.yaml")


def test_a_wrong_field_of_a_job_file_is_named(tmp_path):
    (tmp_path / "job.yaml").write_text("kk: 3\n", encoding="utf-8")
    with pytest.raises(OptionError, match=r"Got an unknown one, number 1\. Hint: did you mean 'k'"):
        read_job(tmp_path / "job.yaml")


def test_the_population_of_a_job_file_lies_beside_it(tmp_path):
    (tmp_path / "job.yaml").write_text("population: people.csv\nk_map: 3\n", encoding="utf-8")
    assert read_job(tmp_path / "job.yaml")[0].population == str(tmp_path / "people.csv")


# --- written and overridden ---


def test_a_job_file_says_the_same_again_from_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    first = Plan(
        k=3,
        quasi_identifiers=("zip", "\x85"),
        hierarchies={"zip": "trees/zip.csv"},
        missing_values=("NA",),
        population="all.csv",
        k_map=2,
    )
    files = {"input": "people.csv", "output": "/tmp/release.csv", "report": None}
    (tmp_path / "jobs" / "job.yaml").write_text(
        job_text(first, files, {"decimal": ",", "to_table": "t"}, "jobs/job.yaml"), encoding="utf-8"
    )
    again, found = read_job("jobs/job.yaml")
    assert found == {
        "input": "jobs/../people.csv",
        "output": "/tmp/release.csv",
        "decimal": ",",
        "to_table": "t",
    }
    assert again.hierarchies == {"zip": "jobs/../trees/zip.csv"}
    assert again.population == "jobs/../all.csv"
    assert again.model_copy(update={"hierarchies": first.hierarchies, "population": "all.csv"}) == first


def test_no_password_gets_into_a_job_file():
    plan = Plan(population="postgresql://you:hidden@host/people", k_map=2)
    text = job_text(plan, {"input": "postgresql://me:secret@host:5432/db"}, {}, "job.yaml")
    assert "postgresql://me@host:5432/db" in text
    assert "postgresql://you@host/people" in text
    assert "secret" not in text
    assert "hidden" not in text


def test_fields_override_those_of_a_job():
    job = {
        "k": 4,
        "quasi_identifiers": ["age", "zip"],
        "sensitive_attributes": ["illness"],
        "weight": "w",
        "types": {"zip": "nominal"},
        "method": "ona*-gamma",
        "options": {"gamma": 0.5},
        "time_limit": 2.0,
    }
    found = override(job, {"k": 9, "types": {"age": "integer"}, "identifiers": ["illness"], "unit": "w"})
    assert found == {
        **job,
        "k": 9,
        "types": {"zip": "nominal", "age": "integer"},  # mappings are merged
        "sensitive_attributes": [],  # a new role replaces the old one
        "identifiers": ["illness"],
        "weight": None,
        "unit": "w",
    }
    # Options and the limit are those of the method of the job.
    assert override(job, {"method": "mdav"}).keys() == job.keys() - {"options", "time_limit"}
    assert override(job, {"method": "ona*-gamma"}) == job
