"""Declared domains: round trips, clipping, refusals, templates."""

import json
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest
import yaml

from shoal.dp.domain import FILL_IN, Domain, template
from shoal.dp.released import Released
from shoal.errors import DataError, OptionError, ShoalError

COLUMNS = {
    "age": {"kind": "integer", "lower": 0, "upper": 120},
    "income": {"kind": "continuous", "lower": -4.0, "upper": 4.0, "step": 0.1},
    "born": {"kind": "date", "lower": date(1900, 1, 1), "upper": "2020-12-31"},
    "seen": {"kind": "datetime", "lower": "2020-01-01T00:00:00", "upper": "2020-01-02T00:00:00", "step": 60},
    "sex": {"kind": "nominal", "values": ["f", "m"], "missing": "f"},
    "school": {"kind": "ordinal", "values": [1, 2, 3], "other": 3},
    "works": {"kind": "boolean"},
    "town": {"kind": "hierarchical", "hierarchy": {"North": ["A", "B"], "South": ["C"]}},
}
TABLE = pa.table(
    {
        "age": [3, 200, -5],
        "income": [0.34, -9.0, float("inf")],
        "born": [date(1900, 1, 2), date(1850, 1, 1), date(2030, 1, 1)],
        "seen": [datetime(2020, 1, 1, 0, 1), datetime(2019, 1, 1), datetime(2021, 1, 1)],
        "sex": ["m", None, "f"],
        "school": [1, 7, 2],
        "works": [True, False, True],
        "town": ["A", "C", "B"],
        "unrelated": [1, 2, 3],
    }
)


def test_values_become_places_and_places_values():
    domain = Domain.of(COLUMNS)
    with np.errstate(all="raise"), pytest.raises(DataError):
        domain.encode(TABLE.set_column(0, "age", pa.array([1, None, 2])))
    coded = domain.encode(TABLE)
    assert coded.codes.tolist() == [
        [3, 43, 1, 1, 1, 0, 1, 0],
        [120, 0, 0, 0, 0, 2, 0, 2],
        [0, 80, 44194, 1440, 0, 1, 1, 1],
    ]
    assert domain.sizes == (121, 81, 44195, 1441, 2, 3, 2, 3)
    back = Released(domain, coded.codes + 0.2, np.array([1, 2, 3])).table()
    assert back.column_names == [*COLUMNS, "count"]
    assert back.to_pylist()[0] == {
        **{"age": 3, "income": 0.3, "born": date(1900, 1, 2), "seen": datetime(2020, 1, 1, 0, 1)},
        **{"sex": "m", "school": 1, "works": True, "town": "A", "count": 1},
    }
    assert domain.encode(back).codes.tolist() == coded.codes.tolist()


def test_text_is_read_as_plans_say():
    domain = Domain.of({name: COLUMNS[name] for name in ("age", "income", "born")})
    table = pa.table({"age": ["7", "8"], "income": ["1,5", "-0,1"], "born": ["02/01/1900", "03/01/1900"]})
    coded = domain.encode(table, text=True, decimal=",", formats={"born": "%d/%m/%Y"})
    assert coded.codes.tolist() == [[7, 55, 1], [8, 39, 2]]


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_domain_survives_its_file(tmp_path, suffix):
    domain = Domain.of(COLUMNS, rows_per_unit=3)
    path = tmp_path / f"domain.{suffix}"
    path.write_text(domain.to_yaml() if suffix == "yaml" else json.dumps(domain.to_plain()), encoding="utf-8")
    again = Domain.load(path)
    assert again == domain
    assert again.to_plain() == domain.to_plain()
    assert again.sizes == domain.sizes
    assert again.rows_per_unit == 3
    assert again != Domain.of(COLUMNS)


def test_hierarchies_are_found_beside_the_domain(tmp_path):
    (tmp_path / "towns.csv").write_text("A;North;*\nB;North;*\nC;South;*\n", encoding="utf-8")
    (tmp_path / "d.yaml").write_text("columns: {town: {kind: hierarchical, hierarchy: towns.csv}}", encoding="utf-8")
    assert Domain.load(tmp_path / "d.yaml").columns["town"].values == ("A", "B", "C")


def test_a_continuous_column_gets_a_step_of_its_own():
    for lower, upper, size in ((-4, 4, 80_001), (0, 500_000, 50_001), (0, 0.1, 10_001), (0, 123.456, 123_457)):
        domain = Domain.of({"x": {"kind": "continuous", "lower": lower, "upper": upper}})
        assert domain.sizes == (size,)
    assert domain.columns["x"].decode(np.array([3, 123_456])).to_pylist() == [0.003, 123.456]


BAD = {
    "no kind": ({"lower": 0, "upper": 1}, "kind"),
    "wrong kind": ({"kind": "integr", "lower": 0, "upper": 1}, "integer"),
    "a place": ({"kind": "place"}, "kind"),
    "no bound": ({"kind": "integer", "lower": 0}, "'upper' of the column 'x' must be a whole number. Got none"),
    "swapped": ({"kind": "integer", "lower": 9, "upper": 0}, "swapped"),
    "equal": ({"kind": "date", "lower": "2000-01-01", "upper": "2000-01-01"}, "below"),
    "not whole": ({"kind": "integer", "lower": 0.5, "upper": 1}, "whole number"),
    "not finite": ({"kind": "continuous", "lower": 0, "upper": float("inf")}, "finite"),
    "a truth value": ({"kind": "continuous", "lower": False, "upper": 1}, "finite"),
    "not a date": ({"kind": "date", "lower": "soon", "upper": "2000-01-01"}, "date"),
    "a number for a date": ({"kind": "date", "lower": 3, "upper": "2000-01-01"}, "date"),
    "not filled in": ({"kind": "integer", "lower": FILL_IN, "upper": 1}, "filled in"),
    "empty": ({"kind": "integer", "lower": None, "upper": 1}, "filled in"),
    "no step": ({"kind": "integer", "lower": 0, "upper": 1, "step": 0}, "step"),
    "half a step": ({"kind": "integer", "lower": 0, "upper": 9, "step": 2}, "whole numbers of steps"),
    "too many": ({"kind": "integer", "lower": 0, "upper": 2**31}, "2,147,483,648 places"),
    "missing outside": ({"kind": "integer", "lower": 0, "upper": 9, "missing": 10}, "within its bounds"),
    "unknown key": ({"kind": "integer", "lower": 0, "upper": 9, "stepp": 1}, "did you mean 'step'"),
    "no values": ({"kind": "nominal"}, "list of its categories"),
    "twice": ({"kind": "nominal", "values": ["a", "a"]}, "differ"),
    "yes and no": ({"kind": "nominal", "values": [True, False]}, "quotes"),
    "other": ({"kind": "nominal", "values": ["a"], "other": "b"}, "one of its declared"),
    "no hierarchy": ({"kind": "hierarchical"}, "hierarchy"),
    "no mapping": (3, "kind"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_domain_that_is_none_is_refused(name):
    described, words = BAD[name]
    with pytest.raises(ShoalError, match=words):
        Domain.of({"x": described})


def test_all_mistakes_are_told_at_once():
    with pytest.raises(OptionError, match=r"2 problems(.|\n)*'x'(.|\n)*'y'"):
        Domain.of({"x": {"kind": "integer", "lower": 0}, "y": {"kind": "nominal"}})


@pytest.mark.parametrize(
    "text", ["", "columns:", "- a", "age: {kind: integer}", "columns: {a: {kind: boolean}}\nx: 1", "{["]
)
def test_a_file_that_holds_no_domain_is_refused(tmp_path, text):
    (tmp_path / "d.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(OptionError):
        Domain.load(tmp_path / "d.yaml")
    with pytest.raises(OptionError, match="exists"):
        Domain.load(tmp_path / "none.yaml")


def test_undeclared_values_are_refused_without_telling_them():
    domain = Domain.of({"sex": {"kind": "nominal", "values": ["f"]}, "agee": COLUMNS["age"]})
    with pytest.raises(ShoalError) as caught:
        domain.encode(pa.table({"sex": ["f", "secret", "hidden"], "age": [1, 2, 3]}))
    assert "Got 2 different ones" in str(caught.value)
    assert "did you mean 'age'" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_template_holds_names_and_kinds_alone():
    kinds = {
        "age": "integer",
        "a: b": "nominal",
        "no": "boolean",
        "ü": "ordinal",
        "town": "hierarchical",
        "day": "date",
    }
    text = template(kinds)
    plain = yaml.safe_load(text)
    assert {name: one["kind"] for name, one in plain["columns"].items()} == kinds
    assert {key for one in plain["columns"].values() for key in one} == {
        "kind",
        "lower",
        "upper",
        "values",
        "hierarchy",
    }
    with pytest.raises(OptionError, match="filled in"):
        Domain.from_plain(plain)


@pytest.mark.parametrize(
    ("kind", "texts", "formats"),
    [
        ("date", ["03/04/1990", "25/12/1990"], {"x": "%d/%m/%Y"}),
        ("date", ["03.04.1990"], {"x": "%d.%m.%Y"}),
        ("datetime", ["03/04/1990 10:00"], {"x": "%d/%m/%Y %H:%M"}),
        ("datetime", ["1990-04-03T10:00:00+02:00"], None),
    ],
)
def test_dates_are_not_read_by_a_notation_that_other_records_decide(kind, texts, formats):
    """The 25th of a month would tell that days stand first in all rows."""
    domain = Domain.of({"x": {"kind": kind, "lower": "1980-01-01", "upper": "1999-12-31"}})
    table = pa.table({"x": texts})
    with pytest.raises(DataError, match="'formats'") as caught:
        domain.encode(table, text=True)
    assert "1990-04" not in str(caught.value)
    if formats is not None:
        assert (domain.encode(table, text=True, formats=formats).codes > 0).all()


def test_digits_are_dates_if_their_notation_is_declared():
    domain = Domain.of({"x": {"kind": "date", "lower": "1980-01-01", "upper": "1999-12-31"}})
    for column in ([19900403], ["19900403"]):
        with pytest.raises(DataError, match="'formats'"):
            domain.encode(pa.table({"x": column}), text=True)
        assert domain.encode(pa.table({"x": column}), text=True, formats={"x": "%Y%m%d"}).codes.tolist() == [[3745]]


def test_numbers_are_read_one_by_one():
    """Marks between thousands could turn up in one record and be missing in another."""
    domain = Domain.of({"x": {"kind": "continuous", "lower": 0, "upper": 10_000, "step": 1}})
    for texts in (["1,234", "2,345"], ["5 EUR", "6 EUR"], ["$5", "$6"]):
        with pytest.raises(DataError, match="thousands"):
            domain.encode(pa.table({"x": texts}), text=True)
    assert domain.encode(pa.table({"x": ["1,234"]}), text=True, thousands=",").codes.tolist() == [[1234]]
    assert domain.encode(pa.table({"x": ["1e999", "-1e200"]}), text=True).codes.tolist() == [[10_000], [0]]


def test_a_declared_mark_does_not_let_another_one_be_guessed():
    """The record 1.500.000 would make a thousand of 1.500 in all others."""
    domain = Domain.of({"x": {"kind": "continuous", "lower": 0, "upper": 10_000, "step": 0.1}})
    how = {"text": True, "thousands": ","}
    assert domain.encode(pa.table({"x": ["1.500", "2,500"]}), **how).codes.tolist() == [[15], [25_000]]
    for others in (["1.500.000"], ["1 500"]):
        with pytest.raises(DataError):
            domain.encode(pa.table({"x": ["1.500", *others]}), **how)


def test_truth_values_are_read_as_tables_write_them():
    for described in ({"kind": "boolean"}, {"kind": "boolean", "values": ["False", "True"], "other": "FALSE"}):
        domain = Domain.of({"x": described})
        assert domain.encode(pa.table({"x": ["True", "FALSE", "true"]}), text=True).codes.tolist() == [[1], [0], [1]]
    with pytest.raises(OptionError, match="twice"):
        Domain.of({"x": {"kind": "boolean", "values": ["yes", "Yes"]}})


@pytest.mark.parametrize("name", ["sex", "school", "age", "born"])
def test_a_release_holds_declared_values_alone(name):
    """What others count as, when a table is read, is no excuse for a release."""
    stand_in = {"sex": "f", "school": 1}.get(name, COLUMNS[name].get("lower"))
    one = Domain.of({name: {**COLUMNS[name], "missing": stand_in}}).columns[name]
    inside = pa.chunked_array([one.decode(np.array([one.size - 1]))])
    assert one.holds(inside)
    assert not one.holds(pa.chunked_array([pa.nulls(1, inside.type)]))
    if name == "school":
        assert not one.holds(pa.chunked_array([[9]]))


def test_escaped_letters_in_json_are_whole(tmp_path):
    described = {"columns": {"x": {"kind": "nominal", "values": ["\U0001f600", "b"]}}}
    for name, text in (("d.json", json.dumps(described)), ("d.yaml", "columns: {x: {kind: nominal, values: [😀, b]}}")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert Domain.load(tmp_path / name).columns["x"].values == ("\U0001f600", "b")
    (tmp_path / "d.yaml").write_text(json.dumps(described).replace("\\ude00", ""), encoding="utf-8")
    with pytest.raises(OptionError, match="half a character"):
        Domain.load(tmp_path / "d.yaml")
