"""The true squared error of attributes with many levels, against plain distances and full coordinates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.tables.embedding import embed, spread_of
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.values import Codes

TREE = Hierarchy.from_nested(
    {"all": {"a": ["a1", "a2", {"a3": ["a31", "a32"]}], "b": {"b1": ["b11"]}, "c": [f"c{i}" for i in range(9)]}}
).with_lengths(np.linspace(0.5, 2.5, 20))
LEVELS = ("a1", "a2", "a31", "a32", "a3", "b", "b11", "all", *(f"c{i}" for i in range(9)))


@st.composite
def cases(draw):
    n = draw(st.integers(2, 30))
    codes = np.array(draw(st.lists(st.integers(-1, len(LEVELS) - 1), min_size=n, max_size=n)))
    labels = np.unique(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), return_inverse=True)[1]
    weights = draw(st.none() | st.lists(st.floats(0.0, 10.0), min_size=n, max_size=n).map(np.array))
    kind = draw(st.sampled_from(["nominal", "hierarchical"]))
    return Codes(codes, LEVELS), labels, weights, kind


def squared_error(X, labels, weights):
    """Return the sum of squared distances to the means of groups, in plain loops over groups."""
    total = 0.0
    for group in np.unique(labels):
        x, w = X[labels == group], weights[labels == group]
        if w.sum() > 0:
            total += float((w[:, None] * (x - w @ x / w.sum()) ** 2).sum())
    return total


@settings(max_examples=200)
@given(cases())
def test_like_full_coordinates(case):
    values, labels, weights, kind = case
    tree = TREE if kind == "hierarchical" else None
    X = embed(values, kind=kind, hierarchy=tree, coordinates=None)
    spread = spread_of(values, kind=kind, hierarchy=tree, coordinates=0)
    if spread is None:
        assert X.shape[1] <= 1  # nothing varies, or only whether the value is missing
        return
    own = np.ones(len(labels)) if weights is None else weights
    assert spread.squared_error(labels, weights) == pytest.approx(squared_error(X, labels, own), abs=1e-9)
    assert spread.squared_error(None, weights) == pytest.approx(squared_error(X, 0 * labels, own), abs=1e-9)


@settings(max_examples=100)
@given(cases(), st.integers(1, 6))
def test_no_groups_go_below_the_least_error(case, k):
    values, labels, _, kind = case
    spread = spread_of(values, kind=kind, hierarchy=TREE if kind == "hierarchical" else None, coordinates=0)
    if spread is not None and np.bincount(labels).min() >= k:
        assert spread.least_error(k) <= spread.squared_error(labels) + 1e-9


def test_least_error_of_values_that_are_all_different():
    spread = spread_of(Codes(np.arange(12), tuple(map(str, range(12)))), kind="nominal", hierarchy=None, coordinates=1)
    assert spread.least_error(3) == pytest.approx(spread.squared_error(np.repeat(np.arange(4), 3)))


def test_none_where_nothing_is_projected():
    values = Codes(np.arange(12) % 4, tuple("abcd"))
    assert spread_of(values, kind="nominal", hierarchy=None, coordinates=4) is None
    assert spread_of(values, kind="ordinal", hierarchy=None, coordinates=1) is None
    assert spread_of(Codes(np.full(3, -1), ("a",)), kind="nominal", hierarchy=None, coordinates=1) is None
