"""Counts of what is nearer than a known point, against all distances."""

import numpy as np
import pytest

from shoal.kernels.construction import for_thread
from shoal.kernels.linkage import count_nearer
from shoal.partitioning.pool import Pool

SLACK = np.array([1e-9, 1e-18])


def counted(points, queries, own, weights, most):
    nearer, level = np.empty(len(queries), np.int64), np.empty(len(queries), np.int64)
    count_nearer(for_thread(Pool(points).points), queries, own, weights, SLACK, np.int64(most), nearer, level)
    return nearer, level


def plainly(points, queries, own, weights):
    squares = ((queries[:, None, :] - points) ** 2).sum(axis=2)
    at = squares[np.arange(len(queries)), own][:, None]
    room = SLACK[0] * at + SLACK[1]
    return (weights * (squares < at - room)).sum(axis=1), (weights * (np.abs(squares - at) <= room)).sum(axis=1)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("most", [1, 7, 10**9])
def test_counts_are_those_of_all_distances(seed, most):
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([1, 3, 200, 3000])), int(rng.integers(1, 6))
    points, queries = rng.normal(size=(n, d)), rng.normal(size=(80, d))
    if seed % 2:  # many at the same distance
        points, queries = np.unique(np.rint(2 * points), axis=0), np.rint(2 * queries)
    weights = rng.integers(1, 6, len(points))
    near = np.argsort(((queries[:, None, :] - points) ** 2).sum(axis=2), axis=1)
    own = near[np.arange(80), np.minimum(rng.integers(0, 9, 80), len(points) - 1)]
    nearer, level = counted(points, queries, own, weights, most)
    all_nearer, all_level = plainly(points, queries, own, weights)
    whole = all_nearer < most
    np.testing.assert_array_equal(nearer[whole], all_nearer[whole])
    np.testing.assert_array_equal(level[whole], all_level[whole])
    assert (nearer[~whole] >= most).all()


def test_queries_beyond_single_precision_are_measured_too():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(500, 3))
    queries = 1e14 * rng.normal(size=(20, 3))
    own, weights = rng.integers(0, 500, 20), np.ones(500, np.int64)
    nearer, level = counted(points, queries, own, weights, 10**9)
    np.testing.assert_array_equal((nearer, level), plainly(points, queries, own, weights))
