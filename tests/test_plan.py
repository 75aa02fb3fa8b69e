"""Plans: what is refused and in which words, and sdcMicro's names."""

import pytest
from pydantic import ValidationError

from shoal import Plan
from shoal.errors import OptionError
from shoal.fields import SDCMICRO
from shoal.plan import KINDS

# A plan with groups has the one, a differentially private one the other.
PRIVATE = {
    "dp": "mondrian",
    "epsilon": 0.5,
    "delta": 1e-6,
    "domain": {"rows_per_unit": 2, "columns": {"age": {"kind": "integer", "lower": 0, "upper": 99}}},
    "unit": "person",
    "options": {"leaf": 100},
}
EVERYTHING = {
    "k": 7,
    "quasi_identifiers": ["age", "sex", "zip", "lat", "lon", "grade", "born"],
    "sensitive_attributes": ["illness", "age"],
    "identifiers": ["name"],
    "other": ["note"],
    "drop": ["phone"],
    "rest": "drop",
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
    "outward": {"age": 5, "born": "year"},
    "formats": {"born": "%d/%m/%Y"},
    "thousands": ",",
    "coordinates": 8,
    "missing": "drop",
    "missing_values": {"age": [-999, "NA"]},
    "top_coding": {"age": 90, "born": "1990-12-31"},
    "bottom_coding": {"age": 17.5},
    "rounding": {"income": 100},
    "release": "local-recoding",
    "suppress": 0.05,
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
    "engine": "stream",
    "memory": "2GB",
    "master": "local[2]",
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
        ({"types": {"age": "q"}}, [*map(repr, KINDS)]),
        ({"importance": {"age": -1}}, ["'importance'", "must be numbers from 0 to 1e+100"]),
        ({"importance": {"age": 1.7e308}}, ["'importance'", "must be numbers from 0 to 1e+100"]),
        ({"importance": {"age": float("nan")}}, ["'importance'", "must be numbers from 0 to 1e+100"]),
        ({"importance": {"age": "much"}}, ["'importance'", "at 'age'", "number"]),
        ({"digits": {"age": "two"}}, ["'digits'", "at 'age'"]),
        ({"levels": {"smokes": [False, True]}}, ["'levels'", "into quotes"]),
        ({"levels": {"smokes": []}}, ["'levels'", "one value or more for each column"]),
        ({"missing_values": [True]}, ["'missing_values'", "into quotes"]),
        ({"digits": {"age": -2}}, ["'digits'", "from 0 to 15"]),
        ({"trim": 0.5}, ["'trim'", "less than 0.5"]),
        ({"cells": {"age": 0}}, ["'cells'", "numbers above 0", "'month'"]),
        ({"cells": {"age": float("nan")}}, ["'cells'", "numbers above 0"]),
        ({"cells": {"age": True}}, ["'cells'", "numbers above 0"]),
        ({"cells": {"born": "week"}}, ["'cells'", "'value', '*', 'month', 'year'"]),
        ({"suppress": 1}, ["'suppress'", "less than 1", "Got 1."]),
        ({"suppress": -0.1}, ["'suppress'", "at least 0"]),
        ({"top_coding": {"age": float("inf")}}, ["'top_coding'", "finite numbers, or dates such as '1990-12-31'"]),
        ({"bottom_coding": {"age": "young"}}, ["'bottom_coding'", "finite numbers, or dates"]),
        ({"top_coding": {"age": True}}, ["'top_coding'", "finite numbers, or dates"]),
        ({"top_coding": 90}, ["'top_coding'", "dictionary"]),
        ({"top_coding": {"age": 9}, "bottom_coding": {"age": 9}}, ["the top of the column 'age' must be above"]),
        (
            {"top_coding": {"born": "1990-01-01"}, "bottom_coding": {"born": "1990-01-01T00:00"}},
            ["the top of the column 'born' must be above its bottom"],
        ),
        ({"top_coding": {"age": 9}, "bottom_coding": {"age": "1990-01-01"}}, ["'age' must both be numbers or both"]),
        ({"rounding": {"age": 0}}, ["'rounding'", "numbers above 0"]),
        ({"rounding": {"age": "1990-01-01"}}, ["'rounding'", "numbers above 0"]),
        ({"places": [["lat"]]}, ["'places'"]),
        ({"blocks": "some"}, ["'blocks'"]),
        ({"quasi_identifiers": 3}, ["'quasi_identifiers'"]),
        ({"shuffle": "perhaps"}, ["'shuffle'", "Got 'perhaps'."]),
        ({"engine": "steam"}, ["'engine'", "Got 'steam'."]),
        ({"memory": "much"}, ["'memory'", "a size such as '2GB'"]),
        ({"memory": "0GB"}, ["'memory'", "a size such as '2GB'"]),
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
    assert message(**one) == f"In this plan, the column 'x' is given two roles: {first} and {second}. Hint: " + (
        "give each column one role."
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
        assert said == f"A plan must set {ours!r} once. Got {theirs!r} as well, sdcMicro's name for it."


# --- columns of one type ---


def test_lists_of_columns_of_one_type():
    plan = Plan.of(nominal=["a", "b"], ordinal="c", types={"d": "date", "a": "nominal"}, continuous=None)
    assert plan.types == {"d": "date", "a": "nominal", "b": "nominal", "c": "ordinal"}
    assert "nominal" not in plan.job()
    said = "The 'ordinal' of a plan must list names of columns that have no other type."
    assert message(nominal="a", ordinal=["a"]) == said
    assert message(ordinal="a", types={"a": "date"}) == said
    assert message(ordinal=[1]) == said
    assert message(ordinal=1) == "The 'ordinal' of a plan must be names of columns. Got int."
    assert "The 'types' of a plan" in message(ordinal="a", types="date")


# --- models of privacy ---


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"l": 1, "sensitive_attributes": "ill"}, "The 'l' of a plan must be at least 2"),
        ({"t": 1.5, "sensitive_attributes": "ill"}, "The 't' of a plan must be at most 1"),
        ({"l": 3}, "The 'l' of a plan must be about a sensitive attribute that is not a quasi-identifier. Got none."),
        ({"t": 0.1, "quasi_identifiers": "ill", "sensitive_attributes": "ill"}, "Got only some that are both."),
        (
            {"models": {"age": "alpha alpha=0.5"}, "quasi_identifiers": "age"},
            "'age' has models, so it must be sensitive",
        ),
        (
            {"models": {"age": "alpha alpha=0.5"}, "quasi_identifiers": "age", "sensitive_attributes": "age"},
            "'age' has models, so it must be sensitive",
        ),
        ({"models": {"y": "alpha alpha=0.5"}, "places": [["x", "y"]]}, "'y' has models, so it must be sensitive only"),
        ({"l": 2, "sensitive_attributes": "x", "places": [["x", "y"]]}, "'l' of a plan must be about a sensitive"),
        ({"enforcement": "growth"}, "The 'enforcement' of a plan must have something to enforce. Got none of l"),
        ({"enforcement": "magic", "l": 2, "sensitive_attributes": "ill"}, "The 'enforcement' of a plan must be 'best'"),
        ({"k_map": 3}, "The 'k_map' of a plan must come with a population (--population). Got none."),
        ({"presence": (0, 1)}, "The 'presence' of a plan must come with a population"),
        ({"presence": (0.5,), "population": "p.csv"}, "The 'presence' of a plan must be two shares"),
        ({"population": "people.csv"}, "The 'population' of a plan must come with k_map"),
        ({"population": "p.csv", "presence": [0.5, 0.2]}, "two shares from 0 to 1, the lower one first"),
        (
            {"population": "p.csv", "presence": [1, 2, 3]},
            "'presence' of a plan must be two shares from 0 to 1, the lower",
        ),
        (
            {"population": "p.csv", "presence": ["a", 1]},
            "'presence' of a plan must be two shares from 0 to 1, the lower",
        ),
        ({"population": "p.csv", "presence": "01"}, "'presence' of a plan must be two shares from 0 to 1, the lower"),
        ({"population": "p.csv", "presence": 0.5}, "'presence' of a plan must be two shares from 0 to 1, the lower"),
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


# --- all fields ---


@pytest.mark.parametrize("depth", [101, 300, 100_000])
def test_what_is_nested_too_deeply_is_refused(depth):
    tree = "leaf"
    for _ in range(depth - 1):
        tree = [tree]
    with pytest.raises(OptionError, match=r"The 'hierarchies' of a plan must be nested at most 100 levels deep\."):
        Plan.of(hierarchies={"a": tree})


def test_the_deepest_plan_becomes_a_job_file():
    tree = "leaf"
    for _ in range(98):
        tree = {"node": tree} if isinstance(tree, dict) else [tree]
    plan = Plan.of(hierarchies={"a": tree})
    assert Plan.of(**plan.job()) == plan
    assert "leaf" in plan.to_yaml()


def test_everything_is_in_the_test():
    assert set(EVERYTHING) | set(PRIVATE) == set(Plan.model_fields)
    default = Plan.of()
    assert all(getattr(Plan.of(**PRIVATE), name) != getattr(default, name) for name in PRIVATE)
    assert all(getattr(Plan.of(**EVERYTHING), name) != getattr(default, name) for name in EVERYTHING)
