"""Insensitive microaggregation: what one record can change, the orders, and the curve."""

from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

import shoal
from partitioning.strategies import KINDS, table
from shoal.partitioning.insensitive import _along_curve, _cells, _words, insensitive

ORDERS = ("hilbert", "lexicographic", "distance")


# --- what one record can change ---


def groups_of(X, labels):
    """Return a group as a multiset of records, for each label in rising order."""
    rows = [tuple(row) for row in (X + 0.0).tolist()]
    return [Counter(rows[i] for i in np.flatnonzero(labels == g)) for g in np.unique(labels)]


def alike(a, b):
    """Whether groups differ in at most one record (T definition 3.19)."""
    return (a | b).total() <= min(a.total(), b.total()) + 1


def can_be_matched(before, after):
    """Whether there is a bijection between the groups of two tables such that all pairs are alike."""
    if len(before) != len(after):
        return False
    matrix = csr_array([[alike(a, b) for b in after] for a in before], dtype=np.int8)
    return bool((maximum_bipartite_matching(matrix) >= 0).all())


@st.composite
def neighbours(draw):
    """Return two tables that differ in one record, and in the order of rows, and a k."""
    k = draw(st.integers(2, 5))
    n = draw(st.sampled_from([k, k + 1, 2 * k - 1, 2 * k, 2 * k + 1, 3 * k, 4 * k - 1, 5 * k + 1]))
    d = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = table(draw(st.sampled_from(KINDS)), n, d, rng)
    other = X.copy()
    values = st.floats(-1e9, 1e9, allow_subnormal=False) | st.sampled_from([0.0, -0.0, 1e100, -1e100, 7.25])
    like_another = st.integers(0, n - 1).map(lambda row: X[row].tolist())
    other[draw(st.integers(0, n - 1))] = draw(st.lists(values, min_size=d, max_size=d) | like_another)
    return X, other[rng.permutation(n)], k


@pytest.mark.parametrize("order", ORDERS)
@given(case=neighbours())
def test_groups_of_neighbouring_tables_differ_in_one_record_each(order, case):
    X, other, k = case
    before, after = (groups_of(Y, insensitive(Y, k, order=order)) for Y in (X, other))
    assert len(before) == len(after) == len(X) // k
    assert all(alike(a, b) for a, b in zip(before, after, strict=True))
    assert [a.total() for a in before[:-1]] == [k] * (len(before) - 1)
    assert k <= before[-1].total() < 2 * k


@pytest.mark.parametrize(
    ("method", "options", "holds"),
    [(method, {}, False) for method in ("mdav", "mondrian", "mondrian-strict")]
    + [("insensitive", {"order": order}, True) for order in ORDERS],
)
def test_other_methods_make_no_such_any_model(method, options, holds):
    """A record that moves far away changes what MDAV starts with, and where medians lie."""
    rng = np.random.default_rng(0)
    kept = []
    for _ in range(20):
        X = rng.normal(size=(60, 2))
        other = X.copy()
        other[0] = [25.0, -25.0]
        kept.append(can_be_matched(*(groups_of(Y, shoal.partition(Y, 5, method, **options)) for Y in (X, other))))
    assert all(kept) == holds


def test_standardising_by_the_table_breaks_the_promise_and_going_without_keeps_it():
    """As the docstring says: one record far away moves the scale of all."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    other = X.copy()
    other[0] = 1000.0
    found = {}
    for standardize in (True, False):
        fits = (shoal.Microaggregator(5, method="insensitive", standardize=standardize).fit(Y) for Y in (X, other))
        found[standardize] = can_be_matched(
            *(groups_of(Y, fit.labels_) for Y, fit in zip((X, other), fits, strict=True))
        )
    assert found == {True: False, False: True}


# --- orders ---


def test_orders_by_hand():
    X = np.array([[1.0, 5.0], [0.0, 9.0], [1.0, 4.0], [0.0, 1.0]])
    assert shoal.partition(X, 2, "insensitive", order="lexicographic").tolist() == [0, 1, 0, 1]
    # From (-10, -10): 11 and 15, 10 and 19, 11 and 14, 10 and 11.
    assert shoal.partition(X, 2, "insensitive", order="distance").tolist() == [0, 0, 1, 1]


def test_the_curve_goes_around_a_square():
    """Four quarters of the plane, each next to the one before."""
    corners = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    X = np.repeat(corners, 3, axis=0) + np.random.default_rng(0).normal(size=(12, 2)) / 10
    assert insensitive(X, 3).tolist() == np.repeat(range(4), 3).tolist()


@pytest.mark.parametrize("order", ORDERS)
def test_zeros_of_both_signs_are_equal(order):
    X = np.array([[0.0, 3.0], [-0.0, 1.0], [0.0, 2.0], [-0.0, 4.0]])
    np.testing.assert_array_equal(insensitive(X, 2, order=order), insensitive(X + 0.0, 2, order=order))


@pytest.mark.parametrize("order", ORDERS)
def test_equal_records_go_by_row(order):
    assert insensitive(np.full((11, 3), 0.1), 3, order=order).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2]


def test_a_single_column_is_simply_sorted():
    X = np.random.default_rng(0).normal(size=(100, 1)) ** 5
    expected = np.empty(100, int)
    expected[np.argsort(X[:, 0])] = np.arange(100) // 5
    for order in ("hilbert", "lexicographic"):
        assert insensitive(X, 5, order=order).tolist() == expected.tolist()


def test_the_curve_loses_least():
    X = np.random.default_rng(0).normal(size=(3000, 3))
    loss = {order: shoal.information_loss(X, insensitive(X, 5, order=order)) for order in ORDERS}
    assert loss["hilbert"] < 0.2 * min(loss["lexicographic"], loss["distance"])


# --- the curve ---


@pytest.mark.parametrize(("d", "bits"), [(1, 4), (2, 1), (2, 5), (3, 3), (4, 2), (7, 1)])
def test_the_curve_visits_every_cell_and_moves_by_one_step(d, bits):
    cells = np.array(list(product(range(2**bits), repeat=d)), np.uint16)
    (places,) = _words(_along_curve([column.copy() for column in cells.T], bits), bits)
    assert sorted(places.tolist()) == list(range(2 ** (d * bits)))
    path = cells[np.argsort(places)].astype(int)
    assert all(np.abs(a - b).sum() == 1 for a, b in pairwise(path))


def test_more_than_64_bits_are_several_words():
    """The words, one after the other, are the bits of one long number."""
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2**16, 50).astype(np.uint16) for _ in range(9)]
    words = _words(columns, 16)
    assert len(words) == 3
    bits = "".join(str(x[7] >> bit & 1) for bit in reversed(range(16)) for x in columns)
    assert [int(word[7]) for word in words] == [int(bits[i : i + 64], 2) for i in (0, 64, 128)]


def test_cells_rise_with_values_without_an_end():
    x = np.array([-1e150, -1e9, -100.0, -3.0, -1.0, -1e-3, 0.0, 1e-3, 1.0, 3.0, 100.0, 1e9, 1e150])
    (cells,) = _cells(x[:, None])
    assert (np.diff(cells.astype(int)) >= 0).all()
    assert cells[[0, 3, 6, 9, 12]].tolist() == [0, 2**14, 2**15, 3 * 2**14, 2**16 - 1]
    assert len(set(cells[2:-2].tolist())) == 9


def test_many_records_and_columns_are_quick():
    X = np.random.default_rng(0).normal(size=(100_000, 70))
    assert np.bincount(insensitive(X, 10)).tolist() == [10] * 10_000
