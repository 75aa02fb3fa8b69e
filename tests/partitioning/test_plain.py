"""Small tables are served without kernels, and nobody can tell from the result."""

from math import fsum
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partitioning.strategies import cases
from shoal.partitioning import plain, pool


def awkward(rng, kind, n=60, d=3):
    X = rng.normal(size=(n, d))
    return {
        "ordinary": X,
        "ties": np.round(X),
        "no digits left": X + 1e15,
        "many sizes": X * 10.0 ** rng.integers(-30, 30, size=(n, d)),
        "few are huge": np.where(rng.random((n, d)) < 0.1, X * 1e90, X),
        "tiny": np.where(rng.random((n, d)) < 0.3, 0.0, X * 1e-310),
    }[kind]


KINDS = pytest.mark.parametrize("kind", ["ordinary", "ties", "no digits left", "many sizes", "few are huge", "tiny"])


def same_bits(one, other):
    return np.asarray(one, np.float64).tobytes() == np.asarray(other, np.float64).tobytes()


@KINDS
def test_sums_and_costs_are_those_of_the_kernels_to_the_bit(kind):
    rng = np.random.default_rng(1)
    for _ in range(5):
        X = np.ascontiguousarray(awkward(rng, kind))
        labels = pool.numbered(rng.integers(0, 12, len(X)))
        rows = np.flatnonzero(labels == 0)

        def all_of_them(X=X, labels=labels, rows=rows):
            return [
                pool.mean_of(X),
                pool.all_means(X, labels),
                pool.cost_of(X, rows),
                pool.squared_error(X, labels),
                pool.total_cost(X, labels),
            ]

        small = all_of_them()
        with patch.object(pool, "SMALL_TABLE", 0):
            for one, other in zip(small, all_of_them(), strict=True):
                assert same_bits(one, other)


def test_a_number_that_no_group_has_does_no_harm():
    X, labels = np.arange(8.0).reshape(4, 2), np.array([0, 0, 2, 2])
    small = pool.squared_error(X, labels)
    with patch.object(pool, "SMALL_TABLE", 0):
        assert pool.squared_error(X, labels) == small == 8.0


@KINDS
def test_the_sum_of_what_is_left_is_rounded_once(kind):
    rng = np.random.default_rng(2)
    X = awkward(rng, kind)
    total, left = plain._ExactSum(X), np.arange(len(X))
    while len(left):
        assert same_bits(total.rounded(), [fsum(column) for column in X[left].T.tolist()])
        gone = rng.choice(left, min(7, len(left)), replace=False)
        total.subtract(gone)
        left = np.setdiff1d(left, gone)
    assert same_bits(total.rounded(), np.zeros(3))


def test_numbers_without_a_fraction_are_summed_as_well():
    assert plain._ExactSum(np.array([[2.0**70, 0.0], [2.0**80, 0.0]])).rounded().tolist() == [2.0**70 + 2.0**80, 0.0]
    assert plain._ExactSum(np.zeros((3, 1))).rounded().tolist() == [0.0]


@given(case=cases(), m=st.integers(0, 5))
def test_neighbours_are_the_same_with_an_index(case, m):
    _, X, _ = case
    m = min(m, len(X) - 1)
    ids, squares = pool.nearest_others(X, m)
    with patch.object(pool, "SMALL_TABLE", 0):
        others = pool.nearest_others(X, m)
    np.testing.assert_array_equal(ids, others[0])
    assert same_bits(squares, others[1])


@given(st.lists(st.integers(-4, 9), min_size=1, max_size=30))
def test_groups_are_numbered_by_first_appearance(labels):
    order = list(dict.fromkeys(labels))
    assert pool.numbered(np.array(labels)).tolist() == [order.index(label) for label in labels]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.data())
def test_the_first_of_equals_come_first(values, data):
    m = data.draw(st.integers(0, len(values)))
    expected = sorted(range(len(values)), key=lambda place: (values[place], place))[:m]
    assert plain.first_of(np.array(values, float), m).tolist() == expected


@KINDS
@pytest.mark.parametrize("groups", [1, 4, 25, 60])
@pytest.mark.parametrize("together", [0, 3, 64])
def test_groups_that_are_summed_together_have_the_means_of_each_by_itself(kind, groups, together):
    rng = np.random.default_rng(3)
    for gap in (1, 2):
        X, labels = awkward(rng, kind), gap * rng.permutation(np.arange(60) * groups // 60)
        X[labels == labels[0]] = X[0]  # equal rows, whose mean is their value
        X[:, 2] = -0.0
        present = np.unique(labels)
        with patch.object(plain, "TOGETHER", together):
            means, error = plain.all_means(X, labels), plain.squared_error(X, labels)
        assert same_bits(means[present], [plain.mean_of(X[labels == label]) for label in present])
        assert not np.delete(means, present, axis=0).any()
        own = {label: plain.mean_of(X[labels == label]) for label in present}
        assert error == plain.pair_sum([plain.squares_to(x, own[label]) for x, label in zip(X, labels, strict=True)])
