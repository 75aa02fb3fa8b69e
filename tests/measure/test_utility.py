"""The units of recoding schemes: worked values, plain loops over groups, and what must not matter."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, OptionError
from shoal.measure import (
    average_group_size,
    certainty_penalty,
    closeness_utility,
    discernability,
    total_information_loss,
)

PLACES = {
    "Nowhere": None,
    "Asia": ["Kyoto", "Delhi"],
    "Europe": {"North": ["Oslo", "Turku"], "South": ["Rome", "Bari", "Porto"]},
}
TREE = shoal.Hierarchy.from_nested(PLACES)
UNITS = [certainty_penalty, total_information_loss]


# --- worked values of the dissertation ---

TEST_DATA = np.array([[3, 6], [6, 3], [9, 3], [9, 3], [12, 6], [12, 9]])  # T table 2.1
GLOBAL, LOCAL = [0, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]  # T table 3.1


def test_the_worked_example_of_table_3_1():
    assert certainty_penalty(TEST_DATA, GLOBAL).total == 5.5
    assert certainty_penalty(TEST_DATA, LOCAL).total == 7.5
    for labels in (GLOBAL, LOCAL):
        assert discernability(labels) == 18
        assert average_group_size(labels, 3) == 1


def test_by_attribute_and_average_of_table_3_1():
    found = certainty_penalty(TEST_DATA, GLOBAL)
    assert found.by_attribute == {0: 3 * 1 + 3 * 3 / 9, 1: 3 * 3 / 6}
    assert found.average == 5.5 / 12
    # Without texts and trees both units are the same.
    assert total_information_loss(TEST_DATA, GLOBAL) == found


def test_the_worked_example_of_table_3_5():
    values = [1, 1, 2, 2, 1, 1, 2, 2]
    clusterings = [[0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 2, 3, 2, 3], [0, 1, 2, 3, 0, 1, 2, 3]]
    assert [closeness_utility(labels, values) for labels in clusterings] == [1, 0, 1]


def test_weights():
    assert certainty_penalty(TEST_DATA, GLOBAL, weights={1: 4}).by_attribute == {0: 4.0, 1: 6.0}
    weighted = certainty_penalty(TEST_DATA, GLOBAL, weights={0: 0.5, 1: 0})
    assert weighted.total == 2.0
    assert weighted.average == 2.0 / (6 * 0.5)
    assert certainty_penalty(TEST_DATA, GLOBAL, weights={0: 0, 1: 0}).average == 0


# --- hierarchies ---


def in_groups(values, unit=certainty_penalty):
    """Return what one record of a group with these values costs, beside all leaves in groups of their own."""
    labels = [-1] * len(values) + list(range(len(TREE.leaves)))
    return unit({"town": [*values, *TREE.leaves]}, labels, hierarchies={"town": TREE}).total / len(values)


@pytest.mark.parametrize(
    ("values", "leaves", "height"),
    [
        (["Oslo", "Oslo"], 0, 0),
        (["Oslo", "Turku"], 2, 1),
        (["Rome", "Bari"], 3, 1),
        (["Rome", "Bari", "Porto"], 3, 1),
        (["Rome", "Oslo"], 5, 2),
        (["Kyoto", "Delhi"], 2, 1),
        (["Kyoto", "Rome"], 8, 3),
        (["Nowhere"], 0, 0),
        (["Nowhere", "Rome"], 8, 3),
        # Inner nodes as values: alone they cost what they cover.
        (["Europe"], 5, 2),
        (["South", "Rome"], 3, 1),
        (["South", "Oslo"], 5, 2),
        (["*", "Oslo"], 8, 3),
        (["Asia", "Asia"], 2, 1),
    ],
)
def test_hierarchies_by_hand(values, leaves, height):
    """The tree has 8 leaves and 3 levels below the root."""
    assert in_groups(values) == leaves / 8
    assert in_groups(values, total_information_loss) == pytest.approx(height / 3, rel=1e-15)


def test_a_tree_of_one_node():
    lone = shoal.Hierarchy.from_nested(["all"])
    for unit in UNITS:
        assert unit({"x": ["all", "all"]}, [0, 0], hierarchies={"x": lone}).total == 0


def test_numbers_in_a_hierarchy():
    ages = [21, 23, 38, 39]
    ladder = shoal.Hierarchy.intervals(ages, widths=[5, 10])
    assert certainty_penalty({"age": ages}, [0, 0, 1, 1], hierarchies={"age": ladder}).total == 4 * 2 / 4
    floats = {"age": [21.0, 23.0, 38.0, math.nan]}
    assert certainty_penalty(floats, [0, 0, 1, 1], hierarchies={"age": ladder}).total == 2 * 2 / 4 + 2 * 1


# --- against plain loops ---


def plain_cost(group, whole, kind, unit):
    """What one group costs in one attribute; None is missing."""
    present = [value for value in group if value is not None]
    if len(present) < len(group):
        return 1.0 if present else 0.0
    different = set(present)
    if kind == "number":
        everything = [value for value in whole if value is not None]
        span = max(everything) - min(everything)
        return (max(present) - min(present)) / span if span else 0.0
    if kind == "text":
        if len(different) == 1:
            return 0.0
        return len(different) / len({v for v in whole if v is not None}) if unit is certainty_penalty else 1.0
    paths = [[value, *TREE.ancestors(value)] for value in different]
    common = next(node for node in paths[0] if all(node in path for path in paths))
    below = [[leaf, *TREE.ancestors(leaf)] for leaf in TREE.leaves]
    if unit is certainty_penalty:
        return sum(common in path for path in below) / len(below) if common not in TREE.leaves else 0.0
    return max(path.index(common) for path in below if common in path) / max(len(path) - 1 for path in below)


def plain_total(columns, labels, unit, weights):
    return sum(
        weights[kind] * plain_cost([values[i] for i in range(len(labels)) if labels[i] == g], values, kind, unit)
        for kind, values in columns.items()
        for g in labels
    )


@st.composite
def tables(draw):
    n = draw(st.integers(1, 12))

    def column(elements):
        gaps = draw(st.booleans())
        return draw(st.lists(st.one_of(st.none(), elements) if gaps else elements, min_size=n, max_size=n))

    numbers = column(st.one_of(st.integers(-3, 3), st.floats(-1e6, 1e6)).map(float))
    columns = {
        "number": numbers,
        "text": column(st.sampled_from(["a", "b", "c", ""])),
        "town": column(st.sampled_from([*TREE.leaves, "Europe", "South", "Asia", "*"])),
    }
    return columns, draw(st.lists(st.sampled_from(["x", "y", "z"]), min_size=n, max_size=n))


@pytest.mark.parametrize("unit", UNITS)
@given(case=tables(), weights=st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.0]), min_size=3, max_size=3))
def test_units_are_those_of_plain_loops(unit, case, weights):
    columns, labels = case
    weight = dict(zip(columns, weights, strict=True))
    found = unit(columns, labels, hierarchies={"town": TREE}, weights=weight)
    assert found.total == pytest.approx(plain_total(columns, labels, unit, weight), rel=1e-12, abs=1e-12)
    assert found.total == pytest.approx(sum(found.by_attribute.values()), rel=1e-12)
    assert 0 <= found.average <= 1
    if any(weights):
        assert found.average == pytest.approx(found.total / (len(labels) * sum(weights)), rel=1e-12)


@pytest.mark.parametrize("unit", UNITS)
@settings(max_examples=100)
@given(case=tables(), seed=st.integers(0, 1000))
def test_neither_the_order_of_rows_nor_the_names_of_groups_matter(unit, case, seed):
    """To the last bit."""
    columns, labels = case
    order = np.random.default_rng(seed).permutation(len(labels))
    shuffled = {name: [values[i] for i in order] for name, values in columns.items()}
    renamed = [{"x": 7, "y": -1, "z": 3}[labels[i]] for i in order]
    found = unit(columns, labels, hierarchies={"town": TREE})
    assert unit(shuffled, renamed, hierarchies={"town": TREE}) == found


@pytest.mark.parametrize("unit", UNITS)
@settings(max_examples=100)
@given(case=tables())
def test_merging_groups_never_costs_less(unit, case):
    columns, labels = case
    before = unit(columns, labels, hierarchies={"town": TREE})
    after = unit(columns, ["x" if label == "y" else label for label in labels], hierarchies={"town": TREE})
    for name in columns:
        assert after.by_attribute[name] >= before.by_attribute[name] - 1e-12


def plain_entropy(values):
    return -sum(c / len(values) * math.log2(c / len(values)) for c in Counter(values).values())


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "c", None])), min_size=1, max_size=30),
    seed=st.integers(0, 1000),
)
def test_closeness_utility_is_that_of_plain_loops(rows, seed):
    labels, values = zip(*rows, strict=True)
    within = 0.0
    for g in set(labels):
        own = [value for label, value in rows if label == g]
        within += len(own) / len(rows) * plain_entropy(own)
    found = closeness_utility(labels, values)
    assert found == pytest.approx(plain_entropy(values) - within, abs=1e-12)
    assert 0 <= found <= plain_entropy(values) + 1e-12
    order = np.random.default_rng(seed).permutation(len(rows))
    assert closeness_utility([-labels[i] for i in order], [values[i] for i in order]) == found


def test_closeness_utility_at_its_ends():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 7, 1001)
    assert closeness_utility(np.zeros(1001, int), values) == 0
    assert closeness_utility(values, values) == pytest.approx(plain_entropy(values.tolist()), rel=1e-14)
    assert closeness_utility(np.arange(1001), np.full(1001, "same")) == 0
    # Independent of each other: what is left is rounding, which is below 0 here.
    assert closeness_utility(np.arange(20) % 2, np.arange(20) // 10) == 0


# --- edges ---


@pytest.mark.parametrize("unit", UNITS)
def test_constant_columns_single_groups_and_single_records(unit):
    assert unit({"x": [5.0] * 4, "y": ["a"] * 4}, [0, 0, 1, 1]).total == 0
    everything = unit({"x": [1, 2, 9], "y": ["a", "b", "b"]}, [0, 0, 0])
    assert everything.by_attribute == {"x": 3, "y": 3}
    assert everything.average == 1
    assert unit({"x": [1, 2, 9], "y": ["a", "b", "b"]}, [0, 1, 2]).total == 0


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("values", [[1.5, 2.5], ["a", "b"], ["Oslo", "Delhi"]], ids=str)
def test_missing_beside_present_costs_all_and_among_themselves_nothing(unit, values):
    trees = {"x": TREE} if "Oslo" in values else {}
    column = [values[0], None, None, None, values[1], values[1]]
    assert unit({"x": column}, [0, 0, 1, 1, 2, 2], hierarchies=trees).total == 2
    # Also where all present values are the same.
    assert unit({"x": [values[0], None, values[0]]}, [0, 0, 1], hierarchies=trees).total == 2
    assert unit({"x": [None, None, None]}, [0, 0, 1], hierarchies=trees).total == 0


def test_missing_values_do_not_widen_the_whole():
    assert certainty_penalty({"x": [0, 1, 4, None, None]}, [0, 0, 1, 2, 2]).total == 2 * 1 / 4
    assert certainty_penalty({"x": ["a", "b", "c", None]}, [0, 0, 1, 2]).total == 2 * 2 / 3


def test_dates_and_ordered_categories_count_as_numbers():
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-05", "NaT"], "datetime64[D]")
    assert certainty_penalty({"day": days}, [0, 0, 1, 2]).total == 2 * 1 / 4
    grades = pd.Categorical(["low", "mid", "high", "top"], ["low", "mid", "high", "top"], ordered=True)
    assert certainty_penalty({"grade": grades}, [0, 0, 1, 1]).total == pytest.approx(4 / 3)
    assert certainty_penalty({"grade": list(grades)}, [0, 0, 1, 1]).total == 4 * 2 / 4  # texts have no order
    assert certainty_penalty({"yes": [True, False, True]}, [0, 0, 1]).total == 2


def test_frames_arrays_and_lists_are_tables_too():
    columns = {"a": [1.0, 4.0, 9.0, 9.0], "b": ["x", "y", "y", "y"]}
    expected = certainty_penalty(columns, [0, 0, 1, 1])
    assert expected.total == 2 * 3 / 8 + 2
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        assert certainty_penalty(make(columns), [0, 0, 1, 1]) == expected
    series = {name: pd.Series(values, index=[9, 3, 3, 1]) for name, values in columns.items()}
    assert certainty_penalty(series, [0, 0, 1, 1]) == expected
    # Numbers beside texts stay numbers.
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    for table in (rows, np.array(rows, object)):
        assert certainty_penalty(table, [0, 0, 1, 1]).by_attribute == {0: 2 * 3 / 8, 1: 2.0}


# --- refusals ---

WRONG = {
    "lengths": ({"a": [1, 2, 3], "b": [1, 2]}, {}, DataError, "equally many records. Got from 2 to 3."),
    "nothing": ({}, {}, DataError, "equally many records. Got none."),
    "no rows": ({"a": []}, {}, DataError, "equally many records. Got none."),
    "labels": ({"a": [1, 2]}, {}, DataError, "one group for each of 2 records. Got shape"),
    "one dimension": (np.arange(3), {}, DataError, "Got 1 dimensions."),
    "mixed": ({"a": [1, "12345", 3]}, {}, DataError, "of one kind in each attribute"),
    "lists": ({"a": [[1], [2], [3]]}, {}, DataError, "numbers, texts, booleans or dates"),
    "complex": ({"a": np.arange(3) * 1j}, {}, DataError, "of one kind in each attribute"),
    "infinite": ({"a": [1.0, math.inf, 12345.0]}, {}, DataError, "must hold finite numbers. Got 1"),
    "no node": ({"a": ["Oslo", "Rome", "12345"]}, {"hierarchies": {"a": TREE}}, DataError, "Got 1 of 3"),
    "no such attribute": ({"age": [1, 2, 3]}, {"hierarchies": {"agee": TREE}}, OptionError, "did you mean 'age'"),
    "no hierarchy": ({"a": ["x", "y", "z"]}, {"hierarchies": {"a": PLACES}}, OptionError, "Got dict."),
    "weight of nobody": ({"a": [1, 2, 3]}, {"weights": {"b": 1}}, OptionError, "must belong to attributes"),
    "name of a column": (np.ones((3, 2)), {"weights": {"0": 2}}, OptionError, "must belong to attributes"),
    "negative": ({"a": [1, 2, 3]}, {"weights": {"a": -1}}, OptionError, "at least 0. Got -1"),
    "not a number": ({"a": [1, 2, 3]}, {"weights": {"a": math.nan}}, OptionError, "at least 0. Got nan"),
    "no weight": ({"a": [1, 2, 3]}, {"weights": {"a": "2"}}, OptionError, "at least 0. Got '2'"),
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", WRONG)
def test_refusals(unit, name):
    values, options, error, words = WRONG[name]
    with pytest.raises(error) as refused:
        unit(values, [0, 0, 1], **options)
    assert words in str(refused.value)
    assert "12345" not in str(refused.value)


def test_closeness_utility_refuses_other_lengths():
    with pytest.raises(DataError, match="one group for each of 3 records"):
        closeness_utility([0, 0], ["a", "b", "c"])


def test_many_records_are_quick():
    """A loop over groups or values in Python would take minutes."""
    rng = np.random.default_rng(0)
    n = 200_000
    labels = rng.permutation(np.arange(n) // 5)
    towns = np.array(TREE.leaves, object)[rng.integers(0, 8, n)]
    table = {"a": rng.normal(size=n), "town": towns, "text": towns}
    found = certainty_penalty(table, labels, hierarchies={"town": TREE})
    by_frame = pd.DataFrame({"a": table["a"], "g": labels}).groupby("g")["a"]
    wide = (by_frame.max() - by_frame.min()).sum() * 5 / np.ptp(table["a"])
    assert found.by_attribute["a"] == pytest.approx(wide, rel=1e-12)
    different = pd.DataFrame({"t": towns, "g": labels}).groupby("g")["t"].nunique()
    assert found.by_attribute["text"] == pytest.approx(different[different > 1].sum() * 5 / 8, rel=1e-12)
