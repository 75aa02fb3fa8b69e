"""The fuzzer: a short slice of it, and that its checks find what is wrong."""

import csv
import io
import json
import math
import time
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pandas as pd
import pytest
from fuzz.case import Case, Column, frame_of
from fuzz.counts import Counts
from fuzz.plans import random_case
from fuzz.running import Outcome, run
from fuzz.shrinking import shrunk, signature
from fuzz.workers import Budget, Run, examined

import shoal
from fuzz import (
    cells,
    checks,
    files,
    losses,
    markers,
    models,
    notations,
    people,
    private,
    private_checks,
    published,
    recoding,
    sensitive,
    trees,
)

SLICE = range(7_000, 7_300)
MARKER = "ZQXabcdef"


# --- the slice ---


def test_a_slice_of_random_inputs():
    counts, wrong = Counts(), {}
    for seed in SLICE:
        case = random_case(seed)
        kind, found = examined(case)
        counts.add(case, kind)
        if found:
            wrong[seed] = found
    assert not wrong
    assert counts.outcomes["released"] > counts.total / 2
    assert len(counts.inputs) > 100


def test_inputs_depend_on_their_seed_only_and_go_to_json_and_back():
    for seed in (1, 2, 3):
        text = random_case(seed).to_json()
        assert random_case(seed).to_json() == text
        assert Case.from_json(text).to_json() == text
    assert random_case(1).to_json() != random_case(2).to_json()


# --- what is wrong is found ---


def people_case(**plan):
    columns = [
        Column("row", "int64", [1, 2, 3, 4, 5, 6], None, "row"),
        Column("age", "int64", [20, 21, 22, 60, 61, 65], None, "integer"),
        Column("town", "string", ["a", "b", "a", "c", "c", "d"], None, "word"),
        Column("ill", "string", ["flu", "cold", "flu", "flu", "cold", "none"], None, "word"),
        Column("name", "string", [f"ZQXaaaaa{letter}" for letter in "abcdef"], None, "identifier"),
    ]
    given = {
        **{"k": 3, "quasi_identifiers": ["age", "town"], "sensitive_attributes": ["ill"], "other": ["row"]},
        **{"identifiers": ["name"], "method": "mdav", "l": 2},
        **plan,
    }
    return Case(0, columns, given, {"frame": "arrow", "report": True, "certificate": False})


@pytest.fixture(scope="module")
def released():
    case = people_case()
    return case, run(case, Path())


def tampered(released, **columns):
    case, outcome = released
    return checks.check(case, replace(outcome, table={**outcome.table, **columns}))


def test_a_release_passes(released):
    case, outcome = released
    assert outcome.kind == "released"
    assert checks.check(case, outcome) == []


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"age": [21, 21, 20, 62, 62, 62]}, "k: 2 rows are alike, not 3"),
        ({"age": [21, 21, 21.0, 62, 62, 62]}, "k: 2 rows are alike, not 3"),
        ({"age": [21, 21, "21", 62, 62, 62]}, "k: 2 rows are alike, not 3"),
        ({"age": [None, None, float("nan"), 62, 62, 62]}, "k: 2 rows are alike, not 3"),
        ({"row": [2, 1, 3, 4, 5, 6]}, "rows: not in their order"),
        ({"row": [1, 1, 3, 4, 5, 6]}, "rows: not in their order"),
        ({"ill": ["flu", "cold", "flu", "flu", "cold", "cold"]}, "untouched: word (string) has changed"),
        ({"ill": ["flu", "Flu ", "flu", "flu", "cold", "none"]}, "model distinct-diversity: distinct-diversity l=2"),
        ({"age": [22, 22, 22, 62, 62, 62]}, "published: mean of integer (int64, integer): off by"),
        ({"town": ["e", "e", "e", "c", "c", "c"]}, "published: mode of nominal (string, word): a value that no member"),
        ({"town": ["b", "b", "b", "c", "c", "c"]}, "published: mode of nominal (string, word): not the most frequent"),
        ({"name": [""] * 6}, "columns: not those that are to be published"),
        ({"town": ["ZQXaaaaaa"] * 6}, "marker in table: ZQXaaaaaa (values of identifier)"),
    ],
)
def test_a_table_that_was_tampered_with_is_found(released, columns, words):
    assert any(found.startswith(words) for found in tampered(released, **columns))


def recoded(**plan):
    case = people_case(**plan)
    for field in ("method", "l"):
        case.plan.pop(field)
    outcome = run(case, Path())
    assert outcome.kind == "released"
    assert checks.check(case, outcome) == []
    return case, outcome


def test_a_table_of_which_too_much_was_left_out_is_found():
    case, outcome = recoded(suppress=0.2)
    few = {name: values[:3] for name, values in outcome.table.items()}
    assert "suppress: 3 of 6 records left out" in checks.check(case, replace(outcome, table=few))


@pytest.mark.parametrize("town", [["a", "a", "a", "*", "*", "*"], ["b", "b", "b", "c", "c", "c"], [None] * 6])
def test_a_column_on_several_levels_is_found(town):
    case, outcome = recoded(release="full-domain", hierarchies={"town": {"w": ["a", "b"], "e": ["c", "d"]}})
    assert outcome.table["town"] == ["w", "w", "w", "e", "e", "e"]
    changed = checks.check(case, replace(outcome, table={**outcome.table, "town": town}))
    assert any(found.startswith("levels: hierarchical (word)") for found in changed)


def test_numbers_of_a_level_may_be_written_with_all_digits():
    assert recoding._same("0." + "0" * 299 + "1", 1e-300)
    assert recoding._same("0", -0.0)
    assert not recoding._same("0", 1e-300)
    assert not recoding._same("*", 1e-300)


def test_values_that_were_not_coded_are_found():
    case, outcome = recoded(top_coding={"age": 60}, method="mdav")
    assert max(outcome.table["age"]) == 60
    changed = checks.check(case, replace(outcome, table={**outcome.table, "age": [21, 21, 21, 62, 62, 62]}))
    assert any(found.startswith("published: ") for found in changed)
    assert recoding.coded(case).column("age").values == [20, 21, 22, 60, 60, 60]
    case.plan |= {"rounding": {"age": 5}, "bottom_coding": {"age": 21}}
    assert recoding.coded(case).column("age").values == [21, 21, 21, 60, 60, 60]


def test_markers_of_missing_values_are_values_in_sensitive_columns():
    plan = {"sensitive_attributes": ["pay"], "missing_values": [-9], "rounding": {"age": 5, "pay": 5}}
    case = Case(0, [Column("age", "int64", [-9, 21]), Column("pay", "int64", [-9, 21])], plan, {"frame": "arrow"})
    assert [recoding.coded(case).column(name).values for name in ("age", "pay")] == [[-9, 20], [-10, 20]]


def test_limits_of_coding_are_told_where_they_were_asked_for():
    case, outcome = recoded(top_coding={"age": 60}, method="mdav")
    case.plan["top_coding"] = {"age": 7713500001}
    cases = (("report", 7713500002, "nowhere"), ("output", 7719400001, "nowhere"), ("log", 7713500001, "top_coding"))
    for where, other, planted in cases:
        texts = {**outcome.texts, where: f"at most 7713500001, {other}"}
        found = checks.check(case, replace(outcome, texts=texts))
        assert [one for one in found if "marker" in one] == [f"marker in {where}: {other} ({planted})"]


def test_numbers_that_name_people_are_no_mean_of_others():
    random = Random(0)
    names, values = ([markers.number(random, name=name) for _ in range(50)] for name in (True, False))
    assert max(values) < min(names)
    assert markers.in_values([*names, *values]) == {str(number) for number in (*names, *values)}


@pytest.mark.parametrize("where", [*checks.SILENT, *checks.DOCUMENTS])
def test_markers_are_found_in_every_text(released, where):
    case, outcome = released
    changed = replace(outcome, texts={**outcome.texts, where: f"x{MARKER}y."})
    assert f"marker in {where}: {MARKER} (nowhere)" in checks.check(case, changed)


@pytest.mark.parametrize("where", checks.DOCUMENTS)
def test_documents_may_name_what_is_published(released, where):
    case, outcome = released
    case = replace(case, plan={**case.plan, "l": None})
    case.columns[3].values[0] = MARKER
    table = {**outcome.table, "ill": [MARKER, *outcome.table["ill"][1:]]}
    changed = replace(outcome, table=table, texts={**outcome.texts, where: MARKER})
    assert checks.check(case, changed) == []
    case.columns[3].values[0] = "flu"


def test_fewer_units_than_k_are_found():
    case = people_case()
    outcome = run(case, Path())
    case.columns.append(Column("unit", "string", ["u", "u ", "v", "w", "x", "y"], None, "unit"))
    case.plan["unit"] = "unit"
    assert checks.check(case, outcome) == ["units: 2 are alike, not 3"]


def test_other_errors_warnings_and_words_are_found(released):
    case, _ = released
    assert checks.check(case, Outcome("failed", faults=["KeyError at x.py"])) == ["KeyError at x.py"]
    for words in (
        "It must have a full stop",
        "None of the words. And no hint.",
        "It must be one line.\nGot two.",
        "A table at <pyarrow.lib.Table object at 0x7f00aa11>.",
    ):
        assert checks.check(case, Outcome("refused", texts={"error": words}))[0].startswith("shape of error")
    assert checks.check(case, Outcome("refused", texts={"error": "k must be 2. Got 1. Hint: use 2."})) == []
    several = "2 problems must be solved before the table can be released:"
    for words in (
        f"{several}\n1. A step must be above 0. Got 0.1.\n2. It must have a value. Got none.",
        f"{several}\n1. It must have a value. Got none.\n2. k counts units: there must be 3. Got 1.",
        f"{several} 1. It must have a value. Got none. 2. Another must as well. Hint: both do.",
        f"{several} 1. It must have a value. Got none. 2. It may be at most 1. Hint: demand less.",
        f"{several} 1. It must have a value. Got none. 2. Only k = 1 would hold, not 2. No role is said. Hint: do.",
    ):
        assert checks.check(case, Outcome("refused", texts={"error": words})) == []
    wrong = f"{several}\n1. A step must be above 0. Got 0.1.\n2. No full stop"
    assert checks.check(case, Outcome("refused", texts={"error": wrong}))[0].startswith("shape of error")


def test_a_wrong_loss_and_a_wrong_k_are_found(released):
    case, outcome = released

    class Wrong:
        def __init__(self, **other):
            self.other = other

        def __getattr__(self, name):
            return self.other[name] if name in self.other else getattr(outcome.release, name)

    wrong = replace(outcome, release=Wrong(loss=0.5 * outcome.release.loss))
    assert checks.check(case, wrong)[0].startswith("loss: ")
    said = {"held": 4, "held_for_all": 1, "unique": 6}
    assert checks.check(case, replace(outcome, certificate={"k": said})) == ["claim of k: 4, counted 3"]
    said |= {"held": 3, "unique": 5}
    (found,) = checks.check(case, replace(outcome, certificate={"k": said}))
    assert found == "claim of k of all columns: 1 with 5 unique, counted 1 with 6"


def test_columns_without_a_role_are_counted_and_hidden():
    case = people_case()
    outcome = run(case, Path())
    del case.plan["sensitive_attributes"], case.plan["l"]  # as if nobody had said what 'ill' is
    assert checks.check(case, outcome) == ["k: 2 rows are alike with what has no role, not 3"]
    assert checks.check(replace(case, plan={**case.plan, "rest": "other"}), outcome) == []
    found = checks.check(replace(case, plan={**case.plan, "rest": "drop"}), outcome)
    assert found == ["columns: not those that are to be published"]
    refused = Outcome("refused", texts={"error": "Columns without a role must not single records out. Got 'ill'."})
    assert checks.check(case, refused) == []
    (found,) = checks.check(people_case(), refused)
    assert found.startswith("refused for want of a role")


# --- plain definitions, by hand ---


GROUP, WHOLE = Counter({"a": 2, "b": 1, None: 1}), Counter({"a": 2, "b": 2, None: 4})
LINE = models.Ground({"a": 0.0, "b": 1.0})


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("k-anonymity k=4", None),
        ("k-anonymity k=5", 4),
        ("distinct-diversity l=3", 2),
        ("p-sensitive p=2", None),
        ("entropy-diversity l=2", 3 / 2 ** (2 / 3)),
        ("recursive-diversity c=2 l=2", 2),
        ("recursive-diversity c=2.1 l=2", None),
        ("alpha alpha=0.6", 2 / 3),
        ("t-closeness t=0.2 ground=equal", 0.25),
        ("t-closeness t=0.25 ground=equal", None),
        ("t-closeness t=0.3", 1 / 3),
        ("n-t-closeness n=4 t=0.1", None),  # the group itself has 4 records
        ("n-t-closeness n=5 t=0.3", 1 / 3),
        ("delta-disclosure delta=0.5", math.log(2)),
        ("beta-likeness beta=0.5", 1),
        ("enhanced-beta-likeness beta=5", None),
        ("enhanced-beta-likeness beta=0.5", 2),
    ],
)
def test_models_by_hand(text, short):
    found = models.falls_short(text, [GROUP], WHOLE, {"auto": LINE, "equal": models.Ground()})
    assert found == (None if short is None else f"{short:.9g}")


def test_categories_have_an_order_only_where_the_way_in_keeps_it():
    """A text file passes on the texts alone, and so does Polars."""
    column = Column("size", "ordered", ["S", "L", None, "M"], ["S", "M", "L", "XL"], "categories")
    files_of = [{"frame": "file", "input": one} for one in files.SUFFIXES]
    for way in ({"frame": "arrow"}, {"frame": "pandas"}, {"frame": "polars"}, *files_of):
        grounds = sensitive.grounds_of(Case(0, [column], {}, way), "size", {"s", "m", "l", None})
        kept = way.get("input", way["frame"]) in ("arrow", "pandas", "parquet")
        assert grounds["auto"].places == ({"s": 0, "m": 0.5, "l": 1} if kept else None), way
    empty = Column("size", "ordered", [None, None], [], "nothing")
    assert sensitive.grounds_of(Case(0, [empty], {}, {"frame": "arrow"}), "size", {None})["ordered"].places == {}


def test_distances_of_dates_are_in_days():
    column = Column("born", "date32", ["2000-01-01", "2000-01-02", "2000-01-11"], None, "date")
    case = Case(0, [column], {}, {"frame": "arrow"})
    grounds = sensitive.grounds_of(case, "born", {models.read_as(value) for value in files.plain(column)})
    assert list(grounds["numeric"].places.values()) == [0, 0.1, 1]
    assert list(grounds["auto"].places.values()) == [0, 0.5, 1]


def test_distances_in_a_tree_by_hand():
    paths = {"x": ["A", "*"], "y": ["A", "*"], "z": ["B", "*"], "A": ["*"], "B": ["*"], "*": []}
    far = models.distance(Counter({"x": 1}), Counter({"x": 1, "y": 1, "z": 2}), models.tree(paths))
    assert far == pytest.approx(0.25 * 0.5 + 0.5 * 1)


@pytest.mark.parametrize(
    ("values", "read"),
    [
        (["flu", "Flu", " flu", "fl\u200bu", "flu\u00a0"], "flu"),
        (["\u00e9", "e\u0301", "\u00c9"], "\u00e9"),
        (["1", "01", "1.0", 1, 1.0, " 1"], 1),
        (["", " ", None, float("nan"), "\u200b", pd.NaT], None),
    ],
)
def test_values_that_a_person_reads_as_one(values, read):
    assert {models.read_as(value) for value in values} == {read}


def test_the_loss_by_hand():
    case = people_case()
    age, town = case.column("age"), case.column("town")
    groups = [[0, 1, 2], [3, 4, 5]]
    # Ages: 2 + 14 of 2613.5; towns: 4/3 of 4/3 + 4/3 + .., each relative to its own sum over the table.
    mean = sum(age.values) / 6
    ages = (2 + 14) / sum((x - mean) ** 2 for x in age.values)
    towns = 2 * (3 - (4 + 1) / 3) / (6 - (4 + 1 + 4 + 1) / 6)
    both = losses.plain_loss(case, [(age, "integer", 1.0), (town, "nominal", 1.0)], groups)
    assert both == pytest.approx((ages + towns) / 2)
    age.values[0] = None
    one = losses.plain_loss(case, [(age, "integer", 1.0)], groups)
    mean = sum(age.values[1:]) / 5
    unit = 5 / sum((x - mean) ** 2 for x in age.values[1:])
    x, y = ((value - mean) * math.sqrt(unit) for value in age.values[1:3])
    first = x * x + y * y - (x + y) ** 2 / 3 + (1 - 1 / 3)
    assert one == pytest.approx((first + 14 * unit) / (5 + 1 - 1 / 6))


@pytest.mark.parametrize(
    ("plan", "others", "short"),
    [
        ({"k_map": 2}, [], None),
        ({"k_map": 3}, [], "k-map: 2 people match"),
        ({"k_map": 3}, [2, 7], None),
        ({"k_map": 3}, [None, 7], "k-map: 2 people match"),  # less than half of two members can have no value
        ({"presence": [0, 0.9]}, [], "delta-presence: 2 of 2"),
        ({"presence": [0, 0.7]}, [1, 8], None),
        ({"presence": [0.1, 1]}, [4], "delta-presence: a person of the population matches nothing"),
        ({"presence": [0.5, 1]}, [1, 1, 1], "delta-presence: 2 of 5"),
    ],
)
def test_matches_in_a_population_by_hand(plan, others, short):
    columns = [Column("age", "int64", [1, 2, 7, 8], None, "integer")]
    case = Case(0, columns, plan, {"frame": "arrow"}, [Column("age", "int64", [1, 2, 7, 8, *others])])
    rows = [("[1, 2]",), ("[1, 2]",), ("[7, 8]",), ("[7, 8]",)]
    found = people.falls_short(case, {"age": "integer"}, rows, ["age"])
    assert found is None if short is None else found.startswith(short)


def test_half_of_a_group_may_have_a_value_where_it_publishes_none():
    columns = [Column("age", "int64", [None, None, None, 8], None, "integer")]
    case = Case(0, columns, {"k_map": 5}, {"frame": "arrow"}, [Column("age", "int64", [None, None, None, 7, 8, 9])])
    assert people.falls_short(case, {"age": "integer"}, [(None,)] * 4, ["age"]) is None
    case.plan["k_map"] = 6
    assert people.falls_short(case, {"age": "integer"}, [(None,)] * 4, ["age"]) == "k-map: 5 people match"


@pytest.mark.parametrize(
    ("value", "marker", "gone"),
    [
        *(
            (None, 1, True),
            (float("nan"), 1, True),
            (1, 1.0, True),
            (-999.0, "-999", True),
            (1, "01", True),
            (1, "x", False),
        ),
        *((" NA", "NA ", True), ("1.0", 1, True), ("01", 1, False), ("1", "01", False), ("nan", float("nan"), True)),
        *((True, 1, False), (False, 0, False), (True, "true", False)),
    ],
)
def test_what_is_declared_to_be_missing(value, marker, gone):
    assert published.is_missing(value, ["other", marker]) == gone


@pytest.mark.parametrize("name", notations.ALL)
def test_notations_are_read_as_they_are_written(name):
    how, random = notations.ALL[name], Random(1)
    values = [how.one(random) for _ in range(50)]
    assert all(notations.is_written(name, value) for value in values)
    low, high = sorted(values, key=how.read)[0], sorted(values, key=how.read)[-1]
    assert notations.ends_of(f"[{low}, {high}]") == [str(low), str(high)]
    assert how.read(low) < how.read(high)
    assert not notations.is_written(name, "1.2345678")


def test_types_in_pieces_may_follow_from_fewer_rows():
    """Without the first row, the texts that are left look like numbers, and one of them is none."""
    columns = [Column("town", "string", ["  x", "", "1"]), Column("job", "int64", [None, 65, 57])]
    dialect = {"delimiter": ",", "encoding": "utf-8", "newline": "\n", "all_quoted": False}
    way = {"frame": "file", "input": "csv", "output": "csv", "cli": "", "dialect": dialect, "folder": "in"}
    way |= {"report": False, "stream": {"block_records": 4, "rounds": 0, "batch_bytes": 2**20}, "against": True}
    assert examined(Case(0, columns, {"k": 2, "missing": "drop"}, way)) == ("refused", [])


def test_what_describes_a_column_without_a_model_is_not_looked_at():
    columns = [
        Column("age", "int64", [1, 2] * 6, None, "integer"),
        Column("job", "string", ["a", "b"] * 6, None, "word"),
    ]
    columns.append(Column("town", "int64", [3, 4] * 6, None, "integer"))
    plan = {"k": 3, "quasi_identifiers": ["age"], "sensitive_attributes": ["job", "town"]}
    plan |= {"models": {"job": "delta-disclosure delta=2"}, "hierarchies": {"town": []}}
    assert examined(Case(1, columns, plan, {"frame": "arrow"})) == ("released", [])


def test_dates_may_have_zeros_where_no_value_tells_that_they_have_none():
    assert notations.is_written("28.3.1986", "08.07.2001", ["22.10.1995", None, "14.12.2012"])
    assert not notations.is_written("28.3.1986", "08.07.2001", ["22.1.1995", "14.12.2012"])
    assert not notations.is_written("28.3.1986", "08.07.2001", ["2.11.1995", "14.12.2012"])
    assert not notations.is_written("28.03.1986", "8.7.2001", ["22.10.1995", "14.12.2012"])


def test_a_plan_that_options_cannot_say_goes_through_a_job_file(tmp_path):
    """No quasi-identifier is not the same as none said, and is refused."""
    way = {"frame": "file", "input": "csv", "output": "csv", "cli": "options", "folder": "in", "report": False}
    way["dialect"] = {"delimiter": ",", "encoding": "utf-8", "newline": "\n", "all_quoted": False}
    columns = [Column("age", "int64", [1, 2, 3, 4], None, "integer")]
    outcome = run(Case(0, columns, {"k": 2, "quasi_identifiers": []}, way), tmp_path)
    assert (outcome.kind, outcome.faults) == ("refused", [])


@pytest.mark.parametrize(
    ("name", "text", "number"),
    [
        ("1,234.50", "-1,234.50", Fraction(-2469, 2)),
        ("€1,234.50", "-€1,234.50", Fraction(-2469, 2)),
        ("12.50 €", "12.50 €", Fraction(25, 2)),
        ("1.5e+03", "1.50e+03", 1500),
        ("28 Mar 1986", "02 Jan 1970", 1),
        ("28/03/86", "02/01/70", 1),
        ("number 19860328", 19700103, 2),
        ("10:30 PM", "1970-01-01 12:01 AM", 60 * 10**6),
        ("offsets", "1970-01-01 00:00:00-05:30", 5.5 * 3600 * 10**6),
        ("one offset", "1970-01-01 00:00:01+05:45", 10**6),
    ],
)
def test_notations_by_hand(name, text, number):
    assert notations.ALL[name].read(text) == number


def test_years_are_those_that_a_plan_tells():
    column = Column("x", "int64", [1911, 1960, None], None, "integer")
    dates = Column("y", "date32", ["1911-01-01"] * 3, None, "date")
    case = Case(0, [column, dates], {"formats": {"x": "%Y", "y": "%Y"}}, {"frame": "arrow"}, [column])
    told = notations.declared(case)
    assert [one.notation for one in (*told.columns, *told.population)] == ["1986", None, "1986"]
    rows = ([[0, 1]], ["[1911, 1960]"]), ([[0, 1]], [1935]), ([[0, 1]], ["[1911, 1961]"]), ([[0, 1]], ["1911-01-01"])
    found = [published.check(told, told.columns[0], "date", "interval", *one) for one in (rows[0], rows[2])]
    found += [published.check(told, told.columns[0], "date", "mean", *one) for one in (rows[1], rows[3])]
    assert [one and one.rpartition(": ")[2] for one in found] == [
        *(None, "the range is too wide", None, "not written as the column is"),
    ]


def check_of(column, kind, how, value, **plan):
    case = Case(0, [column], plan, {"frame": "arrow"})
    return published.check(case, column, kind, how, [list(range(len(column.values)))], [value])


def test_values_must_be_published_in_the_notation_of_their_column():
    column = Column("x", "string", ["€1.00", "€1.50"], None, "written", "€1,234.50")
    assert check_of(column, "continuous", "mean", "€1.25") is None
    assert check_of(column, "continuous", "interval", "[€1.00, €1.50]") is None
    assert "not written as" in check_of(column, "continuous", "mean", "1.25")
    assert "off by" in check_of(column, "continuous", "mean", "€1.30")
    assert "too wide" in check_of(column, "continuous", "interval", "[€0.50, €1.50]")


@pytest.mark.parametrize(
    ("type", "values", "kind", "step", "good", "wrong"),
    [
        ("int64", [-3, 10], "integer", 5, "[-5, 15)", "[-5, 10)"),
        ("float64", [0.3, 0.39], "continuous", 0.1, "[0.3, 0.4)", "[0.2, 0.4)"),
        (
            "date32",
            ["2024-02-29", "2024-12-31"],
            "date",
            "month",
            "[2024-02-01, 2025-01-01)",
            "[2024-02-29, 2025-01-01)",
        ),
        ("date32", ["2024-02-29"], "date", "year", "[2024-01-01, 2025-01-01)", "[2024-01-01, 2024-12-31]"),
        ("timestamp[s]", [-1], "datetime", 1, "[1969-12-31 00:00:00, 1970-01-01 00:00:00)", "[1970-01-01, 1970-01-02)"),
    ],
)
def test_intervals_that_end_at_steps_by_hand(type, values, kind, step, good, wrong):
    column = Column("x", type, values, None, "integer")
    assert check_of(column, kind, "interval", good, outward={"x": step}) is None
    assert check_of(column, kind, "interval", wrong, outward={"x": step}) is not None
    case = Case(0, [column], {"k_map": 1}, {"frame": "arrow"}, [column])
    assert people.falls_short(case, {"x": kind}, [(good,)] * len(values), ["x"]) is None


def test_steps_of_numbers_in_text_by_hand():
    column = Column("x", "string", ["502209.08 €", "344129.76 €"], None, "written", "12.50 €")
    for text, good in (("[344129.5, 502209.5)", True), ("[344129.5, 502209)", False), ("[344130, 502209.5)", False)):
        assert (check_of(column, "continuous", "interval", text, outward={"x": 0.5}) is None) == good


def test_few_whole_numbers_must_publish_their_median():
    case = people_case()
    case.column("age").values = [20, 20, 20, 60, 60, 60]
    outcome = run(case, Path())
    assert checks.check(case, outcome) == []
    (age, _) = outcome.release.attributes
    assert (age.representative, published.is_wrong_for_few(case, age)) == ("median", False)
    assert published.is_wrong_for_few(case, replace(age, representative="mean"))
    case.plan["continuous"] = ["age"]
    assert case.types == {"age": "continuous"}
    assert not published.is_wrong_for_few(case, age)


def test_moments_lie_in_the_microsecond_that_is_written():
    column = Column("at", "timestamp[ns]", [-1, -1999], None, "moment")
    case = Case(0, [column], {"k_map": 2}, {"frame": "arrow"}, [column])
    good, short = "[1969-12-31 23:59:59.999998, 1969-12-31 23:59:59.999999]", "1969-12-31 23:59:59.999999"
    assert published.check(case, column, "datetime", "interval", [[0, 1]], [good]) is None
    assert "does not contain" in published.check(case, column, "datetime", "interval", [[0, 1]], [short])
    assert people.falls_short(case, {"at": "datetime"}, [(good,)] * 2, ["at"]) is None
    assert people.falls_short(case, {"at": "datetime"}, [(short,)] * 2, ["at"]) == "k-map: 1 people match"


@pytest.mark.parametrize(
    ("kind", "values", "good"),
    [
        ("timestamp[ns]", [0, 86400 * 10**9 + 1], "{1970-01-01 00:00:00, 1970-01-02 00:00:00.000000001}"),
        ("timestamp[us]", [-1, 0], "{1969-12-31 23:59:59.999999, 1970-01-01 00:00:00}"),
        ("timestamp[s, tz=Asia/Kathmandu]", [0, 60], "{1970-01-01 05:30:00+05:30, 1970-01-01 05:31:00+05:30}"),
    ],
)
def test_sets_of_moments_by_hand(kind, values, good):
    column = Column("at", kind, values, None, "moment")
    case = Case(0, [column], {}, {"frame": "arrow"}, None)
    assert published.check(case, column, "nominal", "set", [[0, 1]], [good]) is None
    assert "not the set" in published.check(case, column, "nominal", "set", [[0, 1]], [good[:-1] + ", x}"])


def test_views_of_arrow_in_pandas_are_read():
    frame = frame_of([Column("a", "string_view", ["x", None], None, "word")], {"frame": "pandas", "arrow_types": True})
    assert files.frame_values(frame) == {"a": ["x", None]}


def test_moments_of_polars_keep_their_nanoseconds():
    column = Column("at", "timestamp[ns]", [486028395000006228, 486028395000006229, None], None, "moment")
    first, second, third = files.frame_values(frame_of([column], {"frame": "polars"}))["at"]
    assert (first.value, second.value) == (486028395000006228, 486028395000006229)
    assert models.read_as(third) is None


def test_what_means_missing_is_no_level():
    column = Column("x", "int64", [9, -999, 1, 5], None, "integer")
    case = Case(0, [column], {"types": {"x": "ordinal"}, "missing_values": [-999]}, {"frame": "arrow"})
    assert published.levels_of(case, column) == [1, 5, 9]
    case.plan["missing_values"] = {"y": [-999]}
    assert published.levels_of(case, column) == [-999, 1, 5, 9]


def test_decimals_are_levels_in_the_order_of_numbers():
    column = Column("x", "decimal128(12, 2)", ["394.45", "46.80"], None, "decimal")
    assert published.levels_of(Case(0, [column], {}, {}), column) == ["46.80", "394.45"]
    assert check_of(column, "ordinal", "interval", "[46.80, 394.45]") is None
    assert check_of(column, "ordinal", "interval", "[394.45, 46.80]") is not None


def test_numbers_have_the_decimal_places_of_the_plan():
    column = Column("x", "string", ["4.97e+04", "2.83e-02"], None, "written", "1.5e+03")
    good = {0: "2e+04", 1: "2.5e+04", 3: "2.485e+04"}
    for digits, value in good.items():
        assert check_of(column, "continuous", "mean", value, digits={"x": digits}) is None
        assert "not written as" in check_of(column, "continuous", "mean", value)
    assert "off by" in check_of(column, "continuous", "mean", "2.3e+04", digits={"x": 1})
    assert check_of(column, "continuous", "interval", "[2.8e-02, 5.0e+04]", digits={"x": 1}) is None
    assert "too wide" in check_of(column, "continuous", "interval", "[2.8e-02, 6.0e+04]", digits={"x": 1})
    assert "too wide" in check_of(column, "continuous", "interval", "[2.80e-02, 4.98e+04]")
    euros = Column("x", "string", ["€1.00", "€1.50"], None, "written", "€1,234.50")
    assert check_of(euros, "continuous", "mean", "€1", digits={"x": 0}) is None
    assert "not written as" in check_of(euros, "continuous", "mean", "€1.25", digits={"x": 0})


def test_rows_that_are_dropped_share_no_cell():
    columns = [Column("x", "float64", [0.3, None, 0.1, 5.0], None, "float"), Column("y", "string", list("aabb"))]
    plan = {"k": 2, "release": "strongly-safe", "cells": {"x": "*", "y": "value"}, "missing": "drop"}
    case = Case(0, columns, plan, {"frame": "arrow"})
    kinds, table = {"x": "continuous", "y": "nominal"}, {"x": ["*"] * 3, "y": ["a", "b", "b"]}
    assert cells.wrong(case, kinds, [0, 2, 3], table) == "3 records are published, not 2"
    assert cells.wrong(case, kinds, [2, 3], {name: values[1:] for name, values in table.items()}) is None


def test_a_number_of_a_hierarchy_stands_for_itself():
    columns = [Column("sex", "int64", [59, 4, 30], None, "ladder")]
    plan = {"k_map": 2, "hierarchies": {"sex": "widths:5,10,20"}}
    case = Case(0, columns, plan, {"frame": "arrow"}, [Column("sex", "int64", [30, 30, 4])])
    assert people.falls_short(case, {"sex": "hierarchical"}, [(30,)] * 3, ["sex"]) is None
    assert people.falls_short(case, {"sex": "hierarchical"}, [(4,)] * 3, ["sex"]) == "k-map: 1 people match"


def test_cells_by_hand():
    columns = [Column("x", "float64", [0.3, 0.29, 0.1, 5.0], None, "float")]
    plan = {"k": 2, "release": "strongly-safe", "cells": {"x": 0.1}}
    case = Case(0, columns, plan, {"frame": "arrow"})
    assert cells.wrong(case, {"x": "continuous"}, [0, 1], {"x": ["[0.2, 0.3)"] * 2}) == (
        "a number of float lies outside of its cell"
    )
    plan["cells"] = {"x": 1}
    good = {"x": ["[0, 1)"] * 3}
    assert cells.wrong(case, {"x": "continuous"}, [0, 1, 2], good) is None
    assert cells.wrong(case, {"x": "continuous"}, [0, 1], {"x": ["[0, 1)"] * 2}) == "2 records are published, not 3"


# --- hierarchies and files ---


def test_plain_ancestors_are_those_of_shoal():
    given = [
        ["x", "y"],
        {"A": ["x", "y"], "B": {"C": ["z"]}},
        {"build": "rows", "rows": [["x", "A", "*"], ["y", "B", "*"]]},
    ]
    for one in given:
        paths = trees.plain_paths(one, [], {})
        tree = trees.built(one, [], "")
        tree = tree if hasattr(tree, "ancestors") else shoal.Hierarchy.from_nested(tree)
        assert paths is not None
        assert all(list(tree.ancestors(leaf)) == paths[leaf] for leaf in tree.leaves)
    codes = ["123", "124", "133"]
    assert trees.plain_paths("prefixes", codes, {})["124"] == list(
        shoal.Hierarchy.from_prefixes(codes).ancestors("124")
    )
    ladder = shoal.Hierarchy.intervals(["7", "23"], [5, 10])
    assert trees.plain_paths("widths:5,10", [7, 23], {})["23"] == list(ladder.ancestors("23"))


@pytest.mark.parametrize("text", ['a,b\n1,\n"x ""y""",2\n', 'a;b\r\n"";""\r\n;z\r\n', "a\n1\n2", 'a,b\n"1\n2",\n'])
def test_csv_is_read_like_the_csv_module_does_but_for_nulls(text):
    delimiter = ";" if ";" in text else ","
    wanted = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    rows = files.csv_rows(text, delimiter)
    assert [[field or "" for field in row] for row in rows] == wanted
    assert ("" in [field for row in rows for field in row]) == ('""' in text and '"""' not in text)


@pytest.mark.parametrize("format", files.SUFFIXES)
def test_files_are_written_and_read_by_other_libraries(format, tmp_path):
    columns = [Column("a", "int64", [1, 2, 3]), Column("b", "string", ["x", "y z", "ü"])]
    dialect = {"delimiter": ";", "encoding": "utf-8", "newline": "\n", "all_quoted": False}
    path = tmp_path / f"people{files.SUFFIXES[format]}"
    files.write(columns, path, format, dialect, {})
    found = files.read(path, format, dialect)
    assert [int(float(value)) for value in found["a"]] == [1, 2, 3]
    assert found["b"] == ["x", "y z", "ü"]


# --- findings ---


def test_findings_of_one_cause_have_one_signature():
    one = "marker in log: ZQXabcdef (values of word), 3 of 0.25"
    assert signature(one) == signature(one.replace("abcdef", "ghijkl").replace("3", "17"))
    assert signature(one) != signature(one.replace("log", "report"))


def test_inputs_are_shrunk(monkeypatch):
    case = random_case(7_001)
    name = case.names[0]

    def wrong(one):
        return "released", ["wrong: 3"] if name in one.names and one.rows >= 2 else []

    monkeypatch.setattr("fuzz.shrinking.findings", wrong)
    small = shrunk(case, signature("wrong: 4"))
    assert (small.names, small.rows, small.plan) == ([name], 2, {})


def test_rows_are_numbered_anew_when_some_are_left_out(monkeypatch):
    monkeypatch.setattr("fuzz.shrinking.findings", lambda one: ("released", ["wrong"] if 65 in ages(one) else []))

    def ages(one):
        return one.column("age").values if "age" in one.names and "row" in one.names else []

    small = shrunk(people_case(), "wrong")
    assert (small.column("age").values, small.column("row").values) == ([65], [1])


def test_a_run_counts_its_inputs_and_keeps_what_it_finds(tmp_path):
    run = Run(Budget(7_000, 1, float("inf"), 6, ("",)), tmp_path)
    counts = run.carry_out()
    assert counts.total == 6
    assert counts.findings == Counter()
    assert list(tmp_path.iterdir()) == []


class Stuck:
    exitcode = -9
    killed = False

    def is_alive(self):
        return not self.killed

    def kill(self):
        self.killed = True

    def join(self):
        pass


def test_a_hang_is_a_finding(tmp_path):
    run, process = Run(Budget(7_000, 1, 0.0, None), tmp_path), Stuck()
    assert run._watched(process, [7_000, int(time.monotonic()) - 1000], 0) is None
    assert process.killed
    (path,) = tmp_path.iterdir()
    assert json.loads(path.read_text())["findings"] == ["hang: more than 120 seconds"]
    patient, process = Run(Budget(7_000, 1, 0.0, None, patience=2000), tmp_path), Stuck()
    assert patient._watched(process, [7_000, int(time.monotonic()) - 1000], 0) is not None
    assert not process.killed
    assert Case.from_json(path.read_text()).to_json() == random_case(7_000).to_json()


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("distinct-diversity l=2", None),
        ("distinct-diversity l=3", "2"),  # three values, but those of two units
        ("alpha alpha=0.8", "0.833333333"),
        ("alpha alpha=0.85", None),
        ("k-anonymity k=3", "2"),
        ("t-closeness t=0.3 ground=equal", "0.416666667"),
    ],
)
def test_models_of_units_by_hand(text, short):
    group = [("bob", "a"), ("bob", "b"), ("bob", "b"), ("eve", "b")]
    whole = [*group, ("ada", "a"), ("joe", "a")]
    grounds = {"auto": LINE, "equal": models.Ground()}
    rows = [*group[:2], ("bob", "c"), ("eve", "a")] if "distinct" in text else group
    assert models.falls_short_in_units(text, [rows], whole, grounds) == short


# --- private releases ---

PRIVATE = {
    "age": {"kind": "integer", "lower": 0, "upper": 99, "step": 3},
    "town": {"kind": "nominal", "values": ["a", "b", "c"], "other": "c"},
    "born": {"kind": "date", "lower": "1990-01-01", "upper": "1999-12-31"},
}


@pytest.fixture(scope="module")
def private_release():
    n = 211
    columns = [
        Column("age", "int64", [at % 90 for at in range(n)], None, "integer"),
        Column("town", "string", ["a", "b", "ZQXaaaaaa"] * 70 + ["a"], None, "word"),
        Column("born", "date32", ["1991-02-03"] * n, None, "date"),
        Column("name", "string", [f"ZQXaa{letter}aaa" for letter in "abc"] * 70 + ["ZQXbbbbbb"], None, "identifier"),
    ]
    plan = {"dp": "histogram", "epsilon": 10, "options": {"form": "aggregated", "bins": 2}, "domain": PRIVATE}
    case = Case(0, columns, plan, {"frame": "arrow", "report": True, "certificate": True})
    outcome = run(case, Path())
    assert outcome.kind == "released"
    assert checks.check(case, outcome) == []
    return case, outcome


def first(column, value):
    return lambda outcome: {"table": {**outcome.table, column: [value, *outcome.table[column][1:]]}}


def certified(**parts):
    return lambda outcome: {"certificate": {**outcome.certificate, **parts}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (first("age", 100), "private values: some of integer"),
        (first("age", 4), "private values: some of integer"),
        (first("town", "d"), "private values: some of nominal"),
        (first("town", "ZQXaaaaaa"), "marker in private table"),
        (first("town", None), "private values: some of nominal"),
        (first("born", "2000-01-01"), "private values: some of date"),
        (first("count", -1), "private counts"),
        (lambda outcome: {"table": {**outcome.table, "name": []}}, "private columns"),
        (certified(epsilon="11"), "private certificate: another epsilon"),
        (certified(spent={"epsilon": "10.1", "delta": "0"}), "private certificate: more epsilon"),
        (certified(rows_in=211), "private certificate: other parts"),
        (certified(said=["The table had 211 records."]), "private certificate: the number of records"),
        (lambda outcome: {"texts": {"report": "of 211 records"}}, "private report: the number of records"),
        (lambda outcome: {"texts": {"error": "Got 'ZQXaaaaaa'."}}, "marker in error"),
    ],
)
def test_a_private_release_that_was_tampered_with_is_found(private_release, change, words):
    case, outcome = private_release
    found = checks.check(case, replace(outcome, **change(outcome)))
    assert any(one.startswith(words) for one in found), found


def test_a_ledger_that_does_not_add_up_is_found(private_release):
    case, outcome = private_release
    for epsilon, words in ((5, "more was spent"), (20, "less was spent")):
        other = Case(0, case.columns, {**case.plan, "epsilon": epsilon}, case.way)
        assert any(words in one for one in private_checks.check(other, replace(outcome, certificate=None)))


def test_a_slice_of_private_inputs():
    """All are private here, in place of one in twelve."""
    counts, wrong = Counts(), {}
    for seed in range(50):
        case = private.private_case(seed, {"frame": "arrow", "report": True, "certificate": True})
        kind, found = examined(case)
        counts.add(case, kind)
        if found:
            wrong[seed] = found
    assert not wrong
    assert counts.outcomes["released"] > counts.total / 2
    assert {f"dp {name}" for name in private.RELEASES} <= set(counts.inputs)


# --- updates ---


def test_a_slice_of_random_updates():
    from fuzz import updates

    ended, wrong = Counter(), {}
    for seed in range(7_000, 7_120):
        kind, found = updates.examined(random_case(seed))
        ended[kind] += 1
        if found:
            wrong[seed] = found
    assert not wrong
    assert ended["released"] > 20
    assert ended["refused"] > 10


ILL = ["flu", "cold", "none", "flu", "cold", "none"]


def planted(monkeypatch, change, options=None, **plan):
    """Return what is found in an update of three rows by three, whose own audit says nothing, after a change."""
    from fuzz import updates

    given = {"k": 2, "quasi_identifiers": ["age"], "other": ["row"], "rest": "drop", "method": "mdav", **plan}
    case = people_case(**{name: value for name, value in given.items() if value is not None})
    case = replace(case, columns=[replace(one, values=ILL) if one.name == "ill" else one for one in case.columns])
    right = shoal.update

    class Wrong:
        def __init__(self, update, table):
            self.table, self.blocks, self.intersection = table, update.blocks, update.intersection
            self.intersections = update.intersections

    def update(*args, **options):
        made = right(*args, **options)
        return Wrong(made, pd.DataFrame(change({k: list(v) for k, v in made.table.to_pydict().items()})))

    with monkeypatch.context() as patched:
        patched.setattr(shoal, "update", update)
        patched.setattr(updates, "_options", lambda *_: options or {})
        patched.setattr(updates, "_ends", lambda *_: [3, 6])
        ended, found = updates.examined(replace(case, seed=1))
    assert ended == "released"
    return " / ".join(found)


def test_updates_that_tell_too_much_are_found(monkeypatch):
    def changed(name, **values):
        def change(columns):
            for at, value in values.items():
                columns[name][int(at[1:])] = value
            return columns

        return change

    def lonely(columns):
        return changed("age", _5=columns["age"][0])(columns)

    def two_of_one_town(columns):
        return changed("age", _5=99)(columns)

    assert planted(monkeypatch, lambda columns: columns) == ""
    found = planted(monkeypatch, lonely)
    assert "k of new ones is 1, not 2" in found
    assert "another k of kept or new ones was counted" in found
    assert "are gone" in planted(monkeypatch, lambda columns: {k: v[1:] for k, v in columns.items()})
    assert "are not first" in planted(monkeypatch, lambda columns: {k: v[1:] + v[:1] for k, v in columns.items()})
    alike = changed("ill", _3="flu", _4="flu", _5="flu")
    assert "model distinct-diversity of new ones: distinct-diversity l=2, measured 1" in planted(monkeypatch, alike)
    assert "units of new ones are 1, not 2" in planted(monkeypatch, two_of_one_town, unit="town", l=None)
    rule = {"newcomers": 1, "invariance": 2}
    assert planted(monkeypatch, lambda columns: columns, rule, l=None) == ""

    def joined(columns):
        return changed("ill", _5="gout")(lonely(columns))

    assert "other values of word in an old group" in planted(monkeypatch, joined, rule, l=None)


def test_who_has_all_releases_is_looked_for():
    """Every group has two rows each time, and every two releases leave two: all three leave one."""
    from fuzz import updates

    case = people_case(k=2, quasi_identifiers=["age"])
    rows = list(range(1, 9))
    ages = [[row % 2 for row in rows], [row // 2 % 2 for row in rows], [row // 4 % 2 for row in rows]]
    tables = [{"row": rows, "age": one} for one in ages]
    made = [SimpleNamespace(blocks=[["age"]])] * 3
    assert list(updates._together(case, tables[:2], made, {})) == []
    assert list(updates._together(case, tables, made, {})) == ["update: k of those in all releases is 1, not 2"]


def test_no_number_stands_for_a_missing_moment():
    columns = [Column("born", "timestamp[s]", [-999], None), Column("size", "int64", [-999], None)]
    case = Case(0, columns, {"missing_values": [-999]}, {})
    assert published.markers_of(case, "born") == []
    assert published.markers_of(case, "size") == [-999]


def test_moments_that_are_dates_are_recoded_as_days():
    column = Column("born", "timestamp[s]", [100_000, 100_001], None, "moment")
    case = Case(0, [column], {"k": 2, "release": "full-domain"}, {"frame": "arrow"})
    assert list(recoding.wrong_levels(case, {"born": "date"}, [0, 1], {"born": [86_400, 86_400]})) == []
    assert list(recoding.wrong_levels(case, {"born": "date"}, [0, 1], {"born": [100_000, 100_001]})) != []
