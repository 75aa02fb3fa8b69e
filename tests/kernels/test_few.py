"""Small tables are served without an index: the labels are the same to the last tie."""

from unittest.mock import patch

import numpy as np
import pytest

import naive
import shoal
from shoal.kernels.cuts import cut_in_order, cut_values
from shoal.kernels.few_centres import group_costs, plus
from shoal.kernels.few_rounds import few_rounds
from shoal.partitioning import lloyd, maximum_distance, random_starts
from shoal.partitioning.pool import numbered


def random(rng, n):
    return rng.normal(size=(n, 5))


def wide(rng, n):
    return rng.normal(size=(n, 21))


def lattice(rng, n):
    return rng.integers(0, 6, size=(n, 3)).astype(float)


def duplicates(rng, n):
    return rng.normal(size=(1 + n // 5, 2))[rng.integers(1 + n // 5, size=n)]


def line(rng, n):
    return np.outer(np.arange(n), [1.0, 2.0, 0.0, 1.0])


def clumps(rng, n):
    return rng.normal(size=(n, 2)) * 1e-3 + rng.integers(0, 12, size=(n, 1))


def far_out(rng, n):
    return 1e9 + rng.normal(size=(n, 4)) * 1e-3


KINDS = (random, wide, lattice, duplicates, line, clumps, far_out)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("k", [2, 3, 8])
def test_lmas_is_the_same_with_a_tree_of_centres(kind, k):
    for seed, n in enumerate((60, 331, 900)):
        X = kind(np.random.default_rng(seed), n)
        plain = shoal.partition(X, k, "lmas", n_init=2, random_state=seed)
        with patch.object(random_starts, "FEW_CENTRES", 0):
            np.testing.assert_array_equal(plain, shoal.partition(X, k, "lmas", n_init=2, random_state=seed))


def test_groups_too_large_for_plain_loops_are_split_with_an_index():
    # Most records are equal, so that Lloyd leaves them in one group.
    X = np.concatenate([np.zeros((1500, 2)), random(np.random.default_rng(0), 100)[:, :2]])
    labels = shoal.partition(X, 4, "lmas", n_init=1, random_state=0)
    assert np.bincount(labels).max() < 8
    with patch.object(random_starts, "SMALL_TABLE", len(X)):
        np.testing.assert_array_equal(labels, shoal.partition(X, 4, "lmas", n_init=1, random_state=0))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("k", [2, 3, 8])
def test_the_rounds_of_ona_star_are_the_same_with_an_index(kind, k):
    for seed, n in enumerate((40, 217, 700)):
        X = kind(np.random.default_rng(seed), n)
        plain = shoal.partition(X, k, "ona*")
        with patch.object(lloyd, "SMALL_TABLE", 0), patch.object(maximum_distance, "SMALL_TABLE", 0):
            np.testing.assert_array_equal(plain, shoal.partition(X, k, "ona*"))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_rounds_that_run_out_of_room_for_groups_go_on(kind, k):
    # As many groups as there can be: the first split after a dissolution needs room.
    X = kind(np.random.default_rng(1), 400)
    start = shoal.partition(X, k, "mdav+")
    expected = few_rounds(X, k, start, 30, 1000)
    np.testing.assert_array_equal(few_rounds(X, k, start, 30, len(X) // k + k), expected)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("k", [2, 3, 7])
def test_small_groups_are_split_by_mdav_plus(kind, k):
    for n in (2 * k, 2 * k + 1, 3 * k - 1, 50):
        X = kind(np.random.default_rng(n), n)
        labels, count = plus(X, k)
        assert count == labels.max() + 1
        np.testing.assert_array_equal(labels, maximum_distance.mdav_plus(X, k))
        np.testing.assert_array_equal(numbered(labels), naive.mdav_plus(X, k))


def test_costs_of_groups_are_those_of_the_oracle():
    X = far_out(np.random.default_rng(0), 90)
    labels = shoal.partition(X, 4, "mdav")
    assert sorted(group_costs(X, labels)) == sorted(naive.cost(X[labels == group]) for group in range(labels.max() + 1))


@pytest.mark.parametrize("k", [2, 3, 5, 63, 64, 65, 130])
def test_values_are_cut_as_records_are(k):
    rng = np.random.default_rng(k)
    for n in (k, k + 1, 2 * k - 1, 2 * k, 64 + k, 3 * k + 1, 700):
        for y in (rng.normal(size=n), rng.integers(0, 9, size=n) * 0.1, 1e9 + rng.random(n), np.arange(n) * 1.0):
            y = np.sort(y)
            np.testing.assert_array_equal(cut_values(y, k), cut_in_order(y[:, None], k))


@pytest.mark.parametrize("different", [10, 40_000, 10**9])
def test_equal_values_go_by_row(different):
    x = np.random.default_rng(0).integers(0, different, size=50_000).astype(float)
    labels = shoal.partition(x[:, None], 3, "univariate")
    order = np.argsort(x, kind="stable")
    wanted = np.empty(len(x), np.int64)
    wanted[order] = cut_in_order(x[order][:, None], 3)
    np.testing.assert_array_equal(labels, numbered(wanted))
