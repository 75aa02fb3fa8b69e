"""Plans: what is refused and in which words, sdcMicro's names, and job files in three formats."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shoal import Plan
from shoal.errors import DataError, OptionError
from shoal.plan import FORMS, KINDS, SDCMICRO, read_job

EVERYTHING = {
    "k": 7,
    "quasi_identifiers": ["age", "sex", "zip", "lat", "lon", "grade", "born"],
    "sensitive_attributes": ["illness", "age"],
    "identifiers": ["name"],
    "other": ["note"],
    "l": 3,
    "t": 0.25,
    "models": {"illness": ["entropy-diversity l=2.5", "beta-likeness beta=1"]},
    "enforcement": "growth",
    "population": "postgresql://host/people",
    "k_map": 4,
    "presence": [0.0, 0.5],
    "weight": "w",
    "unit": "person",
    "stratum": ["region"],
    "places": [["lat", "lon"]],
    "types": {"age": "integer", "sex": "nominal"},
    "levels": {"grade": ["low", "mid", 3, 4.5]},
    "hierarchies": {"zip": {"prefixes": [2, 3]}},
    "importance": {"age": 2.0},
    "representatives": {"age": "median", "nominal": "mode"},
    "trim": 0.25,
    "digits": {"age": 1},
    "formats": {"born": "%d/%m/%Y"},
    "coordinates": 8,
    "missing": "drop",
    "missing_values": {"age": [-999, "NA"]},
    "release": "local-recoding",
    "cells": {"age": 10, "born": "month", "grade": 0.5},
    "blocks": [["age", "sex", "zip"], ["lat", "lon", "grade", "born"]],
    "small_strata": "merge",
    "method": "mdav",
    "options": {"variable": True},
    "refine": "moves",
    "time_limit": 2.5,
    "bound": "lp",
    "random_state": 3,
    "n_jobs": 1,
    "shuffle": True,
}


def message(**fields):
    with pytest.raises(OptionError) as caught:
        Plan.of(**fields)
    return str(caught.value)


# --- what is refused ---


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({"k": 1}, ["'k'", "at least 2", "Got 1."]),
        ({"k": 2.5}, ["'k'", "integer", "Got 2.5."]),
        ({"k": "many"}, ["'k'", "integer", "Got 'many'."]),
        ({"k": True}, ["'k'", "Got True."]),
        ({"coordinates": 0}, ["'coordinates'", "Got 0."]),
        ({"time_limit": 0}, ["'time_limit'", "greater than 0", "Got 0."]),
        ({"random_state": -1}, ["'random_state'", "Got -1."]),
        ({"missing": "ignore"}, ["'missing'", "'value', 'error' or 'drop'", "Got 'ignore'."]),
        ({"small_strata": "drop"}, ["'small_strata'", "'error' or 'merge'"]),
        ({"release": "microagregation"}, ["'release'", "did you mean 'microaggregation'?"]),
        ({"types": {"age": "intger"}}, ["'types'", "at 'age'", "did you mean 'integer'", "Got 'intger'."]),
        ({"types": {"age": "q"}}, [f"one of {', '.join(KINDS)}."]),
        ({"importance": {"age": -1}}, ["'importance'", "finite numbers from 0 on"]),
        ({"importance": {"age": float("nan")}}, ["'importance'", "finite numbers from 0 on"]),
        ({"importance": {"age": "much"}}, ["'importance'", "at 'age'", "number"]),
        ({"digits": {"age": "two"}}, ["'digits'", "at 'age'"]),
        ({"levels": {"smokes": [False, True]}}, ["'levels'", "into quotes"]),
        ({"missing_values": [True]}, ["'missing_values'", "into quotes"]),
        ({"digits": {"age": -2}}, ["'digits'", "from 0 to 15"]),
        ({"trim": 0.5}, ["'trim'", "less than 0.5"]),
        ({"cells": {"age": 0}}, ["'cells'", "numbers above 0", "'month'"]),
        ({"cells": {"age": float("nan")}}, ["'cells'", "numbers above 0"]),
        ({"cells": {"age": True}}, ["'cells'", "numbers above 0"]),
        ({"cells": {"born": "week"}}, ["'cells'", "'value', '*', 'month', 'year'"]),
        ({"places": [["lat"]]}, ["'places'"]),
        ({"blocks": "some"}, ["'blocks'"]),
        ({"quasi_identifiers": 3}, ["'quasi_identifiers'"]),
        ({"shuffle": "perhaps"}, ["'shuffle'", "Got 'perhaps'."]),
    ],
)
def test_wrong_fields_are_refused_with_their_name(fields, parts):
    said = message(**fields)
    for part in parts:
        assert part in said
    assert "\n" not in said
    assert "pydantic" not in said


def test_unknown_fields_are_refused_with_near_names():
    assert message(quasi_identifier=["a"]) == (
        "A plan has no field 'quasi_identifier'. Hint: did you mean 'quasi_identifiers' or 'identifiers'? "
        "see shoal.Plan."
    )
    assert message(zzzzzz=1) == "A plan has no field 'zzzzzz'. Hint: see shoal.Plan."


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("quasi_identifiers", "identifiers"),
        ("quasi_identifiers", "other"),
        ("identifiers", "other"),
        ("identifiers", "sensitive_attributes"),
        ("other", "stratum"),
        ("quasi_identifiers", "weight"),
        ("weight", "unit"),
        ("unit", "stratum"),
        ("unit", "sensitive_attributes"),
    ],
)
def test_a_column_has_one_role(first, second):
    one = dict.fromkeys((first, second), "x")
    assert message(**one) == f"In this plan the column 'x' is given two roles: {first} and {second}. Hint: " + (
        "name each column once."
    )


def test_a_quasi_identifier_may_be_sensitive_too():
    plan = Plan.of(quasi_identifiers=["x"], sensitive_attributes=["x"])
    assert plan.quasi_identifiers == plan.sensitive_attributes == ("x",)


@pytest.mark.parametrize("role", ["other", "identifiers", "weight", "unit", "stratum"])
def test_half_a_place_with_another_role_is_refused(role):
    """Or the other half would be published as it is."""
    assert f"the column 'lat' is given two roles: {role} and places" in message(
        places=[("lat", "lon")], **{role: "lat"}
    )


@pytest.mark.parametrize("places", [[("lat", "lat")], [("lat", "lon"), ("lon", "high")]])
def test_a_column_is_half_of_one_place(places):
    assert "is given two roles: places and places" in message(places=places)


# --- what is taken ---


def test_one_name_stands_for_a_list():
    plan = Plan.of(quasi_identifiers="age", sensitive_attributes="ill", identifiers="id", other="o", stratum="s")
    assert plan.quasi_identifiers == ("age",)
    assert plan.sensitive_attributes == ("ill",)
    assert plan.stratum == ("s",)
    assert Plan.of(missing_values="NA").missing_values == ("NA",)


def test_a_plan_is_frozen_and_does_not_share_what_it_was_made_of():
    types, names = {"age": "integer"}, ["age"]
    plan = Plan.of(types=types, quasi_identifiers=names)
    with pytest.raises(ValidationError):
        plan.k = 3
    types["age"] = "nominal"
    names.append("sex")
    assert plan.types == {"age": "integer"}
    assert plan.quasi_identifiers == ("age",)


def test_markers_keep_their_type():
    plan = Plan.of(missing_values=[-999, "-999", 0.5])
    assert [type(marker) for marker in plan.missing_values] == [int, str, float]


def test_sdcmicro_names():
    plan = Plan.of(
        keyVars=["sex", "region"],
        numVars=["income"],
        sensibleVar="ill",
        weightVar="w",
        hhId=["house"],
        strataVar="country",
        excludeVars=["name"],
        aggr=4,
    )
    assert plan == Plan.of(
        quasi_identifiers=["sex", "region", "income"],
        sensitive_attributes=["ill"],
        weight="w",
        unit="house",
        stratum=["country"],
        identifiers=["name"],
        k=4,
    )
    assert set(SDCMICRO.values()) <= set(Plan.model_fields)


def test_sdcmicro_names_add_to_ours_or_are_refused():
    assert Plan.of(quasi_identifiers="age", keyVars=["age", "sex"]).quasi_identifiers == ("age", "sex")
    assert Plan.of(keyVars=None).quasi_identifiers is None
    for ours, theirs in (("k", "aggr"), ("weight", "weightVar"), ("unit", "hhId")):
        said = message(**{ours: 3 if ours == "k" else "a", theirs: 4 if ours == "k" else "b"})
        assert said == f"The plan says both {ours!r} and {theirs!r}, sdcMicro's name for it."


# --- models of privacy ---


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"l": 1, "sensitive_attributes": "ill"}, "The 'l' of a plan must be at least 2"),
        ({"t": 1.5, "sensitive_attributes": "ill"}, "The 't' of a plan must be at most 1"),
        ({"l": 3}, "l is about sensitive attributes that are not quasi-identifiers, and none is"),
        ({"t": 0.1, "quasi_identifiers": "ill", "sensitive_attributes": "ill"}, "t is about sensitive attributes"),
        (
            {"models": {"age": "alpha alpha=0.5"}, "quasi_identifiers": "age"},
            "'age' has models, so it must be sensitive",
        ),
        ({"enforcement": "growth"}, "the enforcement is of l, t and models"),
        ({"enforcement": "magic", "l": 2, "sensitive_attributes": "ill"}, "The 'enforcement' of a plan must be 'best'"),
        ({"k_map": 3}, "k_map and presence need a population"),
        ({"population": "people.csv"}, "a population needs one of them"),
        ({"population": "p.csv", "presence": [0.5, 0.2]}, "two shares from 0 to 1, the lower one first"),
    ],
)
def test_demands_that_make_no_sense_are_refused(fields, part):
    assert part in message(**fields)


def test_models_are_kept_as_texts_and_name_what_is_demanded_of():
    plan = Plan.of(models={"ill": "alpha alpha=0.5"}, sensitive_attributes=["wage", "age"], quasi_identifiers="age")
    assert plan.models == {"ill": ("alpha alpha=0.5",)}
    assert plan.demanded_of == ("wage", "ill")
    assert plan.has_demands
    assert not Plan.of(sensitive_attributes="ill").has_demands


def test_the_population_of_a_job_file_lies_beside_it(tmp_path):
    (tmp_path / "job.yaml").write_text("population: people.csv\nk_map: 3\n", encoding="utf-8")
    assert read_job(tmp_path / "job.yaml")[0].population == str(tmp_path / "people.csv")


# --- job files ---


def test_everything_is_in_the_test():
    assert set(EVERYTHING) == set(Plan.model_fields)
    default = Plan.of()
    assert all(getattr(Plan.of(**EVERYTHING), name) != getattr(default, name) for name in EVERYTHING)


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
    "fields", [{}, EVERYTHING, {"k": 5, "blocks": "each", "hierarchies": {"a": [["b", "c"], "d"]}}]
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
        "input: in.csv\noutput: postgresql://host/db\nreport: sub/report.html\nmanifest: m.json\n"
        "hierarchies:\n  zip: zip.csv\n  icd: prefixes:1,3\n  age: {widths: [5, 10]}\n  code: prefixes\n",
        encoding="utf-8",
    )
    plan, files = read_job(path)
    assert files == {
        "input": str(tmp_path / "in.csv"),
        "output": "postgresql://host/db",
        "report": str(tmp_path / "sub" / "report.html"),
        "manifest": str(tmp_path / "m.json"),
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
        ("job.yaml", b"[1, 2]", "must hold names and values. Got something else in job.yaml"),
        ("job.yaml", b"", "must hold names and values"),
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
    with pytest.raises(OptionError, match="A plan has no field 'kk'"):
        read_job(tmp_path / "job.yaml")
