"""A short search: groups of k to 2k - 1 records that lose less than before, the same ones each time."""

import numpy as np
import pytest

import shoal
from shoal.partitioning.short_search import short_search


def table(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.5 * rng.normal(size=(n, d))


def lost(X, labels):
    return shoal.information_loss(X, labels)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_from_mdav_star_it_loses_less_than_ona_star(k):
    X = table(1200, 4)
    start = shoal.partition(X, k, "mdav*")
    moved = short_search(X, k, start, kicks=0)
    kicked = short_search(X, k, start, kicks=5)
    assert lost(X, kicked) < lost(X, moved) < lost(X, start)
    assert lost(X, kicked) < lost(X, shoal.partition(X, k, "ona*"))
    for labels in (moved, kicked):
        sizes = np.bincount(labels)
        assert k <= sizes.min() <= sizes.max() < 2 * k


def test_it_depends_on_the_seed_alone():
    X = table(500, 3)
    start = shoal.partition(X, 3, "mdav")
    one, again, other = (short_search(X, 3, start, kicks=5, seed=seed) for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()


def test_large_groups_are_split_first():
    X = table(400, 3)
    labels = short_search(X, 4, np.arange(400) // 100, kicks=0)
    assert 4 <= np.bincount(labels).min() <= np.bincount(labels).max() < 8


def test_groups_of_one_coordinate_are_the_best_there_are():
    X = table(300, 1)
    labels = short_search(X, 3, np.arange(300) // 3, kicks=1)
    assert lost(X, labels) == lost(X, shoal.partition(X, 3, "exact"))


@pytest.mark.parametrize(
    ("X", "start"),
    [
        (np.array([[0.0, 1.0], [2.0, 3.0], [5.0, 8.0]]), np.array([7, 7, 7])),
        (np.ones((40, 2)), np.arange(40) // 4),
        (np.repeat(table(5, 2), 8, axis=0), np.arange(40) % 5),
    ],
    ids=["too few for two groups", "equal", "equal in five places"],
)
def test_equal_and_few_records_keep_k(X, start):
    labels = short_search(X, 2, start, kicks=2)
    assert np.bincount(labels).min() >= 2
    assert lost(X, labels) <= lost(X, start)
