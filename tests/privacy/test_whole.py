"""The k of all published columns together, and columns whose values nearly all differ."""

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.privacy.whole import Whole, nearly_unique, seen, whole_of

TABLE = {"age": [30, 30, 30, 50, 50, 50], "sex": list("ffmmmm"), "note": [None, "", "", "x", "x", "x"]}


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame])
def test_all_columns_are_counted_together(make):
    table = make(TABLE)
    assert whole_of(table, ["age"]) == Whole(columns=1, k=3, unique=0)
    assert whole_of(table, ["age", "sex"]) == (2, 1, 1)
    assert whole_of(table, ["age", "sex", "note"]) == (3, 1, 3)  # null and an empty text are two values


@given(st.lists(st.tuples(*[st.sampled_from([0.0, -0.0, 1.5, float("nan"), None])] * 3), min_size=1, max_size=20))
def test_it_is_what_a_plain_count_finds(rows):
    table = pa.table([pa.array(column, pa.float64()) for column in zip(*rows, strict=True)], names=list("abc"))
    counts = Counter(map(repr, rows)).values()
    assert whole_of(table, list("abc")) == (3, min(counts), sum(count == 1 for count in counts))


def test_columns_may_hold_anything():
    """Columns that are passed on need not be comparable by Arrow: they are told apart by how they are written."""
    lists = pa.table({"lists": [[1, 2], [1, 2], [1], None]})
    assert seen(lists, "lists").tolist() == [0, 0, 1, 2]
    mixed = pd.DataFrame({"mixed": [1, "1", 1.0, "1"]})
    assert len(set(seen(mixed, "mixed").tolist())) == 3
    assert seen(mixed, "mixed")[1] == seen(mixed, "mixed")[3]


def test_values_that_the_file_tells_apart_are_apart():
    table = pa.table({"x": ["1", "1", "1"]})
    assert whole_of(table, ["x"]).k == 3
    assert whole_of(table, ["x"], {"x": pa.array([0, 0, 1])}) == (1, 1, 1)


def test_verify_counts_every_column_but_the_unit():
    table = pa.table({**TABLE, "person": list("abcdef")})
    found = shoal.verify(table, ["age"], unit="person")
    assert (found.k, found.whole) == (3, Whole(3, 1, 3))
    assert shoal.verify(table, ["age"]).whole == Whole(4, 1, 6)


def test_values_that_nearly_all_differ_are_found():
    n = 20
    table = pa.table(
        {
            "income": np.arange(n) * 1.01,
            "half": [*range(10), *[99] * 10],
            "few": [*range(9), *[99] * 11],
            "pairs": np.arange(n) // 2,
            "sex": ["f", "m"] * 10,
        }
    )
    assert nearly_unique(table, table.column_names) == {"income": 20, "half": 10}
    assert nearly_unique(table.slice(0, 9), ["income"]) == {}  # nine rows say little
    assert nearly_unique(table.slice(0, 10), ["income"]) == {"income": 10}
