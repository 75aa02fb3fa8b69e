"""The audit against a plain count: whatever the types, the index and the order of rows, k is never too high."""

from collections import Counter
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, DisclosureError, OptionError
from shoal.privacy.audit import audit, require_privacy
from shoal.privacy.classes import classes_of, codes_of, refined

COLUMNS = {
    "whole": st.integers(-2, 2) | st.none(),
    "number": st.sampled_from([0.0, -0.0, 0.1, 0.1 + 1e-17, 1e300, float("nan"), float("inf")]) | st.none(),
    "text": st.sampled_from(["", " ", "a", "A", "nan", "None", "é", "e\u0301"]) | st.none(),
    "flag": st.booleans() | st.none(),
    "day": st.sampled_from([date(2000, 1, 1), date(2000, 1, 2)]) | st.none(),
    "moment": st.sampled_from([datetime(2000, 1, 1), datetime(2000, 1, 1, microsecond=1)]) | st.none(),
    "decimal": st.sampled_from([Decimal("1.50"), Decimal("1.51")]) | st.none(),
}
TYPES = {
    "whole": pa.int64(),
    "number": pa.float64(),
    "text": pa.string(),
    "flag": pa.bool_(),
    "day": pa.date32(),
    "moment": pa.timestamp("us"),
    "decimal": pa.decimal128(6, 2),
}


@st.composite
def tables(draw):
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=3, unique=True))
    n = draw(st.integers(1, 14))
    arrays = {name: pa.array(draw(st.lists(COLUMNS[name], min_size=n, max_size=n)), TYPES[name]) for name in names}
    units = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    return pa.table(arrays), units


def keys_of(table):
    """Return a tuple of texts for each row: 0 and -0 differ, and so do null and NaN."""
    return list(zip(*(map(repr, values) for values in table.to_pydict().values()), strict=True))


def frames_of(table):
    """Return the same table for every library, in pieces too."""
    yield table
    yield pa.concat_tables([table.slice(0, 1), table.slice(1)])
    yield pl.from_arrow(table)
    yield table.to_pandas(types_mapper=pd.ArrowDtype)
    columns = zip(table.column_names, table.columns, strict=True)
    yield pa.table({name: column.combine_chunks().dictionary_encode() for name, column in columns})


@settings(max_examples=100)
@given(tables())
def test_against_a_plain_count(drawn):
    table, _ = drawn
    counts = Counter(keys_of(table))
    for frame in frames_of(table):
        found = shoal.verify(frame)
        assert found.k == min(counts.values())
        assert found.classes == len(counts)
        assert found.rows == table.num_rows
        assert found.sizes == Counter(counts.values())


@settings(max_examples=100)
@given(tables(), st.integers(1, 6))
def test_units_against_a_plain_count(drawn, k):
    table, units = drawn
    keys = keys_of(table)
    rows = Counter(keys)
    people = Counter(key for key, _ in set(zip(keys, units, strict=True)))
    with_units = table.append_column("person", pa.array([f"p{unit}" for unit in units]))
    found = shoal.verify(with_units, k=k, unit="person")
    assert found.k == min(rows.values())
    assert found.k_units == min(people.values())
    assert found.classes_below == sum(count < k for count in people.values())
    assert found.rows_below == sum(rows[key] for key, count in people.items() if count < k)
    assert bool(found) == (found.k_units >= k)


@settings(max_examples=100)
@given(tables(), st.randoms(use_true_random=False))
def test_order_and_labels_of_rows_do_not_matter(drawn, random):
    table, _ = drawn
    before = shoal.verify(table)
    order = list(range(table.num_rows))
    random.shuffle(order)
    frame = table.to_pandas(types_mapper=pd.ArrowDtype).iloc[order]
    frame.index = [f"row {i % 3}" for i in order]
    assert shoal.verify(frame) == before
    assert shoal.verify(table.take(pa.array(order))) == before


def test_missing_values_are_counted_not_dropped():
    """A group-by that leaves rows with missing values out would say 2."""
    for table in (
        pd.DataFrame({"a": [1, 1, np.nan], "b": ["x", "x", "y"]}),
        pd.DataFrame({"a": [1.5, 1.5, 2.5], "b": ["x", "x", None]}),
        pl.DataFrame({"a": [1, 1, None], "b": ["x", "x", "y"]}),
    ):
        assert shoal.verify(table).k == 1


def test_nan_and_null_are_two_and_like_nothing_else():
    numbers = pa.chunked_array([[0.0, None], [float("nan"), None]])
    assert len(set(codes_of(numbers))) == 3
    texts = pa.chunked_array([["None", None, "nan", ""]])
    assert len(set(codes_of(texts))) == 4


def test_nought_and_minus_nought_are_printed_differently():
    assert shoal.verify(pa.table({"a": [0.0, -0.0, 0.0, -0.0]})).k == 2
    assert shoal.verify(pa.table({"a": [0.0, -0.0]})).k == 1


def test_minus_nought_is_not_missing():
    for missing in (None, float("nan")):
        assert shoal.verify(pa.table({"a": [-0.0, missing]})).k == 1


def test_columns_are_compared_one_by_one_not_glued():
    """ab + c is not a + bc."""
    assert shoal.verify(pa.table({"a": ["ab", "a"], "b": ["c", "bc"]})).k == 1


def test_last_digits_count():
    assert shoal.verify(pa.table({"a": [0.1, 0.1 + 1e-18, 0.30000000000000004, 0.3]}), k=2).classes_below == 2


def test_named_quasi_identifiers():
    table = pd.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 3, 4]})
    assert shoal.verify(table, ["a"]).k == 2
    assert shoal.verify(table, "a").k == 2
    assert shoal.verify(table).k == 1
    assert shoal.verify(table, ["a"], unit="b", k=2).k_units == 2
    assert shoal.verify(table, ["a", "a"]).k == 2


def test_one_persons_ten_rows_are_one():
    table = pa.table({"a": [1] * 10 + [2] * 3, "person": [7] * 10 + [1, 2, 3]})
    found = shoal.verify(table, ["a"], 3, unit="person")
    assert (found.k, found.k_units, found.classes_below, found.rows_below) == (3, 1, 1, 10)
    assert not found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"quasi_identifiers": ["aeg"]}, "The table has no column 'aeg'. Hint: did you mean 'age'?"),
        ({"unit": "peson"}, "The table has no column 'peson'. Hint: did you mean 'person'?"),
        ({"quasi_identifiers": []}, "At least one quasi-identifier must be named"),
        ({"k": 0}, "must be a positive integer. Got 0"),
        ({"k": True}, "must be a positive integer. Got True"),
        ({"k": 2.0}, "must be a positive integer. Got 2.0"),
    ],
)
def test_wrong_options(options, said):
    with pytest.raises(OptionError) as caught:
        shoal.verify(pa.table({"age": [1, 2], "person": [1, 2]}), **options)
    assert said in str(caught.value)


def test_values_that_cannot_be_compared():
    with pytest.raises(DataError, match=r"must hold single values. Got a column of type list"):
        shoal.verify(pa.table({"a": [[1], [1]]}))


def test_no_rows():
    with pytest.raises(DataError, match="must have rows"):
        audit(pa.table({"a": pa.array([], pa.int64())}), ["a"], 2)


def test_require():
    require_privacy(shoal.verify(pa.table({"a": [1, 1]}), k=2), "The file")
    with pytest.raises(DisclosureError) as caught:
        require_privacy(shoal.verify(pa.table({"a": [1, 1, 777, 888]}), k=2), "The file")
    assert str(caught.value) == (
        "The file must hide every record among 2. Got 2 groups below, the smallest of 1. Hint: nothing was published."
    )


def test_the_wanted_k_is_not_needed():
    found = shoal.verify(pa.table({"a": [1, 1, 2]}))
    assert found
    assert (found.wanted, found.k, found.classes_below, found.rows_below) == (None, 1, 0, 0)


def test_many_columns_of_many_values():
    rng = np.random.default_rng(0)
    table = pa.table({f"c{i}": rng.random(5000) for i in range(20)})
    assert shoal.verify(pa.concat_tables([table, table])).k == 2
    assert len(set(classes_of(table, table.column_names))) == 5000


def test_classes_are_refused_before_their_numbers_overflow():
    classes, codes = np.array([0, 2**31 - 1]), np.array([0, 2**31 - 1])
    assert refined(classes, codes)[1] == 2
    with pytest.raises(DataError, match="too many different values"):
        refined(np.array([0, 2**31]), codes)
    assert refined(classes, codes, 2**31)[1] == 2
    with pytest.raises(DataError, match="too many different values"):
        refined(classes, codes, 2**31 + 1)
