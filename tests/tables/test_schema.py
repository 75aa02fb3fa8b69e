"""Roles and types: inferred for every kind of data frame, overridable, and refused where they cannot be meant."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal import Hierarchy, Plan
from shoal.errors import DataError, OptionError, SeveralErrors
from shoal.job_files import read_job
from shoal.release.preparation import prepare
from shoal.tables.frames import to_arrow
from shoal.tables.identifiers import refuse_identifiers
from shoal.tables.representatives import REPRESENTATIVES
from shoal.tables.schema import RECODED, read, roles


def reads(table, *, text=False, decimal=".", **fields):
    table = to_arrow(table, "test")
    plan = Plan.of(**fields)
    return read(table, roles(table.column_names, plan), plan, text=text, decimal=decimal)


def kinds(table, **options):
    return {one.attribute.name: one.attribute.kind for one in reads(table, **options)}


# --- inference ---


def test_kinds_of_pandas():
    table = pd.DataFrame(
        {
            "int64": [1, 2],
            "int8": np.array([1, 2], np.int8),
            "uint64": np.array([1, 2], np.uint64),
            "Int64": pd.array([1, None], dtype="Int64"),
            "float": [1.5, np.nan],
            "whole floats": [1.0, 2.0],
            "with gaps": [1.0, np.nan],
            "Float64": pd.array([1.5, None], dtype="Float64"),
            "bool": [True, False],
            "boolean": pd.array([True, None], dtype="boolean"),
            "str": ["1", "2"],
            "string": pd.array(["a", None], dtype="string"),
            "object": pd.Series(["a", None], dtype=object),
            "object booleans": pd.Series([True, None], dtype=object),
            "categorical": pd.Categorical(["a", "b"]),
            "ordered": pd.Categorical(["a", "b"], categories=["b", "a", "z"], ordered=True),
            "numbers as categories": pd.Categorical([1, 2]),
            "dates": [date(2000, 1, 1), None],
            "decimals": [Decimal("1.5"), None],
            "midnights": pd.to_datetime(["2000-01-01", None]),
            "seconds": pd.to_datetime(["2000-01-01 10:00", None]).astype("datetime64[s]"),
            "zoned": pd.to_datetime(["2000-01-01", None]).tz_localize("Europe/Berlin"),
            "arrow": pd.array([1, None], dtype=pd.ArrowDtype(pa.int64())),
        }
    )
    assert kinds(table) == {
        "int64": "integer",
        "int8": "integer",
        "uint64": "integer",
        "Int64": "integer",
        "float": "continuous",
        "whole floats": "continuous",
        "with gaps": "integer",
        "Float64": "continuous",
        "bool": "boolean",
        "boolean": "boolean",
        "str": "nominal",
        "string": "nominal",
        "object": "nominal",
        "object booleans": "boolean",
        "categorical": "nominal",
        "ordered": "ordinal",
        "numbers as categories": "nominal",
        "dates": "date",
        "decimals": "continuous",
        "midnights": "date",
        "seconds": "datetime",
        "zoned": "datetime",
        "arrow": "integer",
    }


def test_kinds_of_polars():
    table = pl.DataFrame(
        {
            "int": [1, None],
            "float": [1.5, None],
            "bool": [True, None],
            "text": ["a", None],
            "enum": pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"])),
            "categorical": pl.Series(["a", "b"], dtype=pl.Categorical),
            "decimal": pl.Series([Decimal("1.50"), None], dtype=pl.Decimal(10, 2)),
            "date": [date(2000, 1, 1), None],
            "datetime": [datetime(2000, 1, 1, 10), None],
            "zoned": pl.Series([datetime(2000, 1, 1), None]).dt.replace_time_zone("Europe/Berlin"),
        }
    )
    assert kinds(table) == {
        "int": "integer",
        "float": "continuous",
        "bool": "boolean",
        "text": "nominal",
        "enum": "ordinal",
        "categorical": "nominal",
        "decimal": "continuous",
        "date": "date",
        "datetime": "datetime",
        "zoned": "datetime",
    }
    enum = next(one for one in reads(table) if one.attribute.name == "enum")
    assert enum.values.levels == ("b", "a")


def test_kinds_of_text():
    table = pa.table({"n": ["1", "2"], "x": ["1,5", "2"], "d": ["31.12.1999", None], "z": ["01", "2"]})
    assert kinds(table, text=True, decimal=",") == {"n": "integer", "x": "continuous", "d": "date", "z": "nominal"}


def test_what_is_said_is_not_inferred():
    table = pa.table(
        {"zip": ["10", "11"], "grade": ["b", "a"], "born": ["01/02/2000"] * 2, "seen": ["01/02/2000 10 PM"] * 2}
    )
    found = reads(
        table,
        text=True,
        types={"zip": "nominal"},
        levels={"grade": ["b", "a"]},
        formats={"born": "%m/%d/%Y", "seen": "%m/%d/%Y %I %p"},
    )
    assert [one.attribute.kind for one in found] == ["nominal", "ordinal", "date", "datetime"]
    assert [one.attribute.inferred for one in found] == [False, False, False, False]
    assert found[1].values.levels == ("b", "a")
    assert found[2].values.values[0] == (date(2000, 1, 2) - date(1970, 1, 1)).days
    assert found[3].values.values[0] == (datetime(2000, 1, 2, 22) - datetime(1970, 1, 1)).total_seconds() * 1e6


# --- roles ---


def test_roles():
    names = ["id", "age", "sex", "ill", "w", "house", "region", "note"]
    plan = Plan.of(
        quasi_identifiers=["age", "sex"],
        sensitive_attributes=["ill", "sex"],
        identifiers="id",
        weight="w",
        unit="house",
        stratum="region",
    )
    assert {c.name: (c.role, c.inferred) for c in roles(names, plan)} == {
        "id": ("identifier", False),
        "age": ("quasi-identifier", False),
        "sex": ("quasi-identifier", False),
        "ill": ("sensitive", False),
        "w": ("weight", False),
        "house": ("unit", False),
        "region": ("stratum", False),
        "note": ("other", True),
    }


def test_without_named_quasi_identifiers_every_other_column_is_one():
    found = roles(["a", "b", "c"], Plan.of(identifiers="b"))
    assert [(c.name, c.role, c.inferred) for c in found] == [
        ("a", "quasi-identifier", True),
        ("b", "identifier", False),
        ("c", "quasi-identifier", True),
    ]


def test_places_are_quasi_identifiers_even_if_sensitive():
    plan = Plan.of(quasi_identifiers="age", sensitive_attributes="lat", places=[("lat", "lon")])
    assert [c.role for c in roles(["age", "lat", "lon"], plan)] == ["quasi-identifier"] * 3


@pytest.mark.parametrize(
    "fields",
    [
        {"quasi_identifiers": ["incme"]},
        {"sensitive_attributes": ["incme"]},
        {"identifiers": ["incme"]},
        {"other": ["incme"]},
        {"stratum": ["incme"]},
        {"weight": "incme"},
        {"unit": "incme"},
        {"places": [("incme", "Age")]},
        {"types": {"incme": "nominal"}},
        {"levels": {"incme": ["a"]}},
        {"hierarchies": {"incme": "prefixes"}},
        {"importance": {"incme": 1}},
        {"digits": {"incme": 1}},
        {"formats": {"incme": "%Y"}},
        {"representatives": {"incme": "mean"}},
        {"missing_values": {"incme": [1]}},
    ],
)
def test_unknown_names_are_refused_with_near_names(fields):
    option = next(iter(fields))
    with pytest.raises(OptionError) as caught:
        roles(["Income", "Age"], Plan.of(**fields))
    assert str(caught.value) == (
        f"The {option!r} of a plan must name columns of the table. Got 'incme'. "
        "Hint: did you mean 'Income'? the table has 2 columns."
    )


def test_kinds_are_names_of_representatives_too():
    roles(["a"], Plan.of(representatives={"nominal": "mode"}))


def test_a_release_has_a_quasi_identifier():
    with pytest.raises(OptionError, match="must have at least one quasi-identifier"):
        roles(["a", "b"], Plan.of(identifiers=["a", "b"]))
    with pytest.raises(OptionError, match="must have at least one quasi-identifier"):
        roles(["a", "b"], Plan.of(quasi_identifiers=[]))


# --- attributes ---


def test_representatives_by_name_by_kind_and_by_form():
    table = pa.table({"a": [1, 2], "b": [1, 2], "c": ["x", "y"]})
    found = reads(table, representatives={"integer": "median", "b": "interval"})
    assert [one.attribute.representative for one in found] == ["median", "interval", "mode"]
    found = reads(table, release="local-recoding", representatives={"c": "mode"})
    assert [one.attribute.representative for one in found] == ["interval", "interval", "mode"]
    assert set(RECODED) == set(REPRESENTATIVES)
    assert all(how in REPRESENTATIVES[kind] for kind, how in RECODED.items())


def test_a_representative_that_a_kind_does_not_have():
    with pytest.raises(OptionError) as caught:
        reads(pa.table({"c": ["x", "y"]}), representatives={"c": "mean"})
    assert str(caught.value).startswith(
        "What a group publishes of the nominal column 'c' must be one of mode, set, suppression. Got 'mean'."
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"types": {"a": "place"}}, "A place is a pair of columns. Got the type 'place' for 'a' alone."),
        ({"types": {"a": "hierarchical"}}, "must have a hierarchy. Got none for the column 'a'"),
        ({"types": {"a": "nominal"}, "levels": {"a": ["x"]}}, "The 'levels' of a plan are of ordinal columns."),
        (
            {"types": {"a": "nominal"}, "hierarchies": {"a": "prefixes"}},
            "are of hierarchical columns.",
        ),
        ({"hierarchies": {"a": "prefixes:one"}}, "must list the numbers of its levels. Got ['one']"),
        ({"hierarchies": {"a": {"prefixes": 2}}}, "must list the numbers of its levels. Got 2."),
        ({"hierarchies": {"a": {"widths": ["x"]}}}, "must list the numbers of its levels"),
    ],
)
def test_what_cannot_be_meant_is_refused(fields, said):
    with pytest.raises(OptionError) as caught:
        reads(pa.table({"a": ["x", "y"]}), **fields)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("values", "hierarchy", "depth"),
    [
        (["1011", "1012", "2011"], "prefixes", 4),
        (["1011", "1012", "2011"], "prefixes:1,2", 3),
        (["1011", "1012", "2011"], {"prefixes": [1, 2]}, 3),
        (["17", "23", "24"], {"widths": [5, 10]}, 3),
        (["17", "23", "24"], "widths:5,10", 3),
        (["1.7", "2.3", "2.4"], "widths:0.5", 2),
        (["a", "b", "c"], {"all": [{"ab": ["a", "b"]}, "c"]}, 2),
    ],
)
def test_hierarchies(values, hierarchy, depth):
    (one,) = reads(pa.table({"code": values}), hierarchies={"code": hierarchy})
    assert one.attribute.kind == "hierarchical"
    assert one.attribute.hierarchy.depths.max() == depth


def test_a_hierarchy_must_have_every_value():
    with pytest.raises(DataError) as caught:
        reads(pa.table({"code": ["a", "SECRET"]}), hierarchies={"code": {"all": ["a", "b"]}})
    assert "SECRET" not in str(caught.value)


def test_importance_and_places():
    table = pa.table({"x": [1, 2], "lat": [50.0, None], "lon": [10.0, 20.0]})
    found = reads(table, places=[("lat", "lon")], importance={"lat": 3, "x": 0.5})
    assert [(one.attribute.name, one.attribute.kind, one.attribute.importance) for one in found] == [
        ("x", "integer", 0.5),
        ("lat, lon", "place", 3.0),
    ]
    assert found[1].values.missing.tolist() == [False, True]


def test_markers_of_all_columns_or_of_one():
    table = pa.table({"a": [-999, 1, 2], "b": [-999, 1, 2]})
    assert [one.values.missing.sum() for one in reads(table)] == [0, 0]
    assert [one.values.missing.sum() for one in reads(table, missing_values=[-999])] == [1, 1]
    assert [one.values.missing.sum() for one in reads(table, missing_values={"b": [-999]})] == [0, 1]


# --- identifiers ---

N = 40
UNIQUE = [f"p{i}" for i in range(N)]


def refuse(table, text=False, decimal=".", **fields):
    table = to_arrow(table, "test")
    refuse_identifiers(table, roles(table.column_names, Plan.of(**fields)), text=text, decimal=decimal)


@pytest.mark.parametrize(
    ("values", "name", "text"),
    [
        (UNIQUE, "code", False),
        (UNIQUE, "code", True),
        ([*UNIQUE[:-3], None, None, None], "code", False),
        ([*UNIQUE[:-2], "p1", "p2"], "code", False),
        (list(range(1, 1 + N)), "number", False),
        ([str(i) for i in range(1, 1 + N)], "number", True),
        ([f" {i} " for i in range(1, 1 + N)], "number", True),
        ([f"EUR {i}" for i in range(1, 1 + N)], "number", True),
        ([f"{i:05d}" for i in range(N)], "code", True),
        ([i * i for i in range(N)], "person_id", False),
        ([str(i * i) for i in range(N)], "E-mail", True),
        ([str(10**25 + i * i) for i in range(N)], "IBAN", True),
        ([f"name {i // 2}" for i in range(N - 1)] + ["x"], "name", False),
        ([*(str(i * i) for i in range(N - 5)), *"abcde"], "passport", True),
        (pd.Categorical(UNIQUE), "code", False),
    ],
)
def test_what_looks_like_an_identifier_is_refused(values, name, text):
    table = pd.DataFrame({name: values, "x": np.arange(len(values)) % 3})
    if text:
        table = pa.table({name: pa.array(values, pa.string()), "x": ["1"] * len(values)})
    with pytest.raises(DataError) as caught:
        refuse(table, text)
    assert f"The column {name!r} looks like an identifier" in str(caught.value)
    assert f"identifiers=[{name!r}] drops it (--id)" in str(caught.value)
    assert "would be a quasi-identifier" in str(caught.value)
    with pytest.raises(DataError, match="would be published unchanged"):
        refuse(table, text, quasi_identifiers="x")
    for role in ("identifiers", "other", "quasi_identifiers", "sensitive_attributes"):
        refuse(table, text, **{role: name})


@pytest.mark.parametrize(
    ("values", "name", "text"),
    [
        ([i * i for i in range(N)], "income", False),
        ([str(i * i) for i in range(N)], "income", True),
        ([f"EUR {i * i}" for i in range(N)], "income", True),
        ([i / 7 for i in range(N)], "income", False),
        ([f"{i / 7:.5f}" for i in range(N)], "income", True),
        ([f"{i},{i:02d}" for i in range(N)], "income", "comma"),
        ([f"2024-01-{i + 1:02d}" for i in range(31)], "seen", True),
        ([f"{i}" for i in range(N - 5)] + ["1a", "2b", "3c", "4d", "5e"], "house", True),
        (UNIQUE[:9], "code", False),
        ([f"g{i % 10}" for i in range(N)], "group name", False),
        ([None] * N, "name", False),
        ([f"s{i // 2}" for i in range(N)], "street", False),
    ],
)
def test_what_does_not_is_not(values, name, text):
    table = pa.table({name: pa.array(values)})
    refuse(table, bool(text), "," if text == "comma" else ".")


def test_a_hierarchy_in_hand_goes_into_a_plan_and_through_a_job_file(tmp_path):
    ages = Hierarchy.intervals(["23", "27", "41"], widths=[5, 10]).with_lengths(range(9))
    plan = Plan.of(k=2, hierarchies={"age": ages})
    (tmp_path / "job.yaml").write_text(plan.to_yaml())
    again = read_job(tmp_path / "job.yaml")[0]
    assert again == plan
    found = Hierarchy.from_plain(again.hierarchies["age"])
    assert (found.labels, found.parents.tolist()) == (ages.labels, ages.parents.tolist())
    assert found.lengths.tolist() == ages.lengths.tolist()


@pytest.mark.parametrize(
    "plain",
    [
        {"labels": ["*", "a"], "parents": [-1]},
        {"labels": ["*", "a"], "parents": [0, 0]},
        {"labels": ["*", "a", "b"], "parents": [-1, 2, 0]},
        {"labels": ["*", "a", "b", "c"], "parents": [-1, 0, 0, 1]},
        {"labels": "*", "parents": [-1]},
    ],
)
def test_lists_that_are_no_tree_are_refused(plain):
    with pytest.raises(DataError, match="must list its nodes"):
        Hierarchy.from_plain(plain)


def test_what_a_plan_says_about_columns_must_be_about_quasi_identifiers():
    with pytest.raises(OptionError, match=r"'types' of a plan must be about quasi-identifiers. Got 'b'"):
        roles(["a", "b"], Plan.of(quasi_identifiers=["a"], types={"b": "nominal"}))
    declared = roles(["a", "b"], Plan.of(types={"b": "nominal"}))
    assert [column.inferred for column in declared] == [True, False]


def test_digits_are_for_continuous_attributes():
    table = pa.table({"age": [1, 2, 3]})
    plan = Plan.of(k=2, digits={"age": 1})
    with pytest.raises(OptionError, match="'digits' of a plan must be about continuous attributes"):
        read(table, roles(["age"], plan), plan)


def test_numbers_of_rows_are_told_from_numbers_that_happen_to_follow_each_other():
    def refused(numbers):
        table = pa.table({"a": numbers})
        try:
            refuse_identifiers(table, roles(["a"], Plan.of()), text=False, decimal=".")
        except DataError:
            return True
        return False

    assert refused(range(1, 41))
    assert refused(range(40))
    assert not refused(range(20, 60))
    assert refused(range(5000, 6000))


# --- all problems at once ---


def test_all_problems_of_a_table_are_listed_at_once():
    rows = 30
    table = pa.table(
        {
            "who": [f"P{i}x" for i in range(rows)],
            "mail": [f"{i}@example.org" for i in range(rows)],
            "age": ["17", "18", "19", "n/a", "SECRET"] * 6,
            "born": ["03/04/1986", "05/06/1990", "07/08/1991"] * 10,
            "size": ["s", "m", "l"] * 10,
            "ok": ["1", "2", "3"] * 10,
        }
    )
    with pytest.raises(SeveralErrors) as caught:
        prepare(table, Plan.of(k=3, types={"size": "ordinal"}), text=True)
    error = caught.value
    assert isinstance(error, DataError)
    assert isinstance(error, OptionError)
    told = ("'who' looks like", "'mail' looks like", "'age' must hold numbers", "'born' must have", "'size'")
    assert len(error.problems) == len(told)
    for at, (problem, words) in enumerate(zip(error.problems, told, strict=True), 1):
        assert words in str(problem)
        assert problem.hint
        assert f"\n{at}. {problem}" in str(error)
    assert str(error).startswith("5 problems must be solved before the table can be released:")
    assert "SECRET" not in str(error)


def test_one_problem_is_told_as_it_is():
    with pytest.raises(DataError) as caught:
        prepare(pa.table({"a": ["1", "2", "x"] * 3, "b": ["1", "2", "3"] * 3}), Plan.of(k=2), text=True)
    assert not isinstance(caught.value, SeveralErrors)


def test_all_unknown_names_are_listed_at_once():
    with pytest.raises(SeveralErrors) as caught:
        roles(["age", "sex"], Plan.of(quasi_identifiers=["agee"], identifiers=["nmae"], types={"sx": "nominal"}))
    assert [str(problem).partition("Got ")[2][:6] for problem in caught.value.problems] == [
        "'agee'",
        "'nmae'",
        "'sx'. ",
    ]


@pytest.mark.parametrize(
    ("homes", "words"), [("aabbcc", "Every stratum must have at least 3"), ("aaabbb", "at least 3 different ones")]
)
@pytest.mark.parametrize("rule", ["error", "merge"])
def test_problems_of_strata_units_demands_and_populations_are_listed_with_the_others(homes, words, rule):
    table = pa.table({"age": list("12x456"), "region": list("nnnnns"), "home": list(homes), "ill": ["flu"] * 6})
    said = {"k": 3, "quasi_identifiers": ["age"], "stratum": ["region"], "unit": "home", "small_strata": rule}
    said |= {"sensitive_attributes": ["ill"], "l": 2, "types": {"age": "integer"}}
    plan = Plan.of(**said, population="register", k_map=2, release="local-recoding")
    wanted = ["must hold numbers", "Every demand must be possible", "Matches in a population are counted"]
    wanted += [words] if rule == "error" or homes == "aaabbb" else []
    people = pa.table({"size": [1]})
    with pytest.raises(SeveralErrors) as caught:
        prepare(table, plan, text=True, population=people)
    assert [one for one in wanted if one not in str(caught.value)] == []
    assert len(caught.value.problems) == len(wanted)
    # Also if the quasi-identifiers are as they should be.
    with pytest.raises(SeveralErrors) as caught:
        prepare(table.set_column(0, "age", pa.array(list("123456"))), plan, text=True, population=people)
    assert [one for one in wanted[1:] if one not in str(caught.value)] == []
    assert len(caught.value.problems) == len(wanted) - 1


@pytest.mark.parametrize("rule", ["prefixes:one", "widths:x", {"widths": ["x"]}])
def test_the_rule_of_a_hierarchy_is_checked_also_where_there_is_nothing_to_build_on(rule):
    table = pa.table({"a": pa.nulls(6, pa.string()), "b": [1, 2, 3, 4, 5, 6]})
    with pytest.raises(OptionError, match="must list the numbers of its levels"):
        reads(table, hierarchies={"a": rule})


@pytest.mark.parametrize("pattern", ["%d.%m.%Y", "%Y", "%Q"])
def test_patterns_are_of_dates_in_text(pattern):
    """Columns of dates have no pattern: an interval of years would leave out days of its own members."""
    days = [date(2000, 12, 1) + timedelta(days=40 * row) for row in range(6)]
    table = pa.table({"born": days})
    plan = {"k": 3, "formats": {"born": pattern}, "release": "local-recoding"}
    published = shoal.anonymize(table, **plan).table["born"].to_pylist()
    assert set(published) == {"[2000-12-01, 2001-02-19]", "[2001-03-31, 2001-06-19]"}


@pytest.mark.parametrize("value", [1e150, -1e150, 1e16])
@pytest.mark.parametrize("kind", ["%Q", "%Y%m%d", "%Y%m%d%H%M%S"])
def test_numbers_that_are_too_large_for_digits_are_no_dates(value, kind):
    with pytest.raises(DataError, match="must hold dates"):
        shoal.anonymize(pa.table({"born": [value] * 6}), k=3, formats={"born": kind})


def test_an_empty_pattern_declares_nothing():
    """Whole numbers that are few publish one that occurs, unless something is said of them."""
    release = shoal.anonymize(pa.table({"age": [27.0, 27.0, None, 5.0, 27.0]}), k=5, formats={"age": ""})
    assert (release.attributes[0].kind, release.attributes[0].representative) == ("integer", "median")
