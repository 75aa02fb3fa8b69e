"""The approximation: conditions after each phase, sizes of all parts, and the guarantee itself."""

import numpy as np
import pytest

import naive
import naive_approx
from shoal.datasets import load
from shoal.errors import DatasetNotFoundError
from shoal.estimator import standardized
from shoal.measure import information_loss
from shoal.partitioning.approximation import (
    Forest,
    cut_trees,
    factor,
    forest,
    largest_tree,
    mu_approx,
)
from shoal.partitioning.exact import exact
from shoal.partitioning.pool import numbered, squared_error

KINDS = ("normal", "tied", "clustered", "line", "star", "powers", "equal")


def points(kind, n, seed):
    rng = np.random.default_rng([seed, n, KINDS.index(kind)])
    d = int(rng.integers(1, 4))
    if kind == "normal":
        return rng.normal(size=(n, d))
    if kind == "tied":
        return rng.integers(0, 3, (n, d)).astype(float)
    if kind == "clustered":
        return 20 * rng.normal(size=(3, d))[rng.integers(0, 3, n)] + rng.normal(size=(n, d))
    if kind == "line":
        return rng.permutation(np.arange(n) + 0.01 * rng.random(n))[:, None]
    if kind == "star":
        # A few hubs in the middle of records that are far from each other, in as many dimensions.
        hubs = np.vstack([np.zeros((n // 8 + 1, n)), np.eye(n)])[:n]
        return rng.permutation(hubs + 1e-3 * rng.random((n, n)))
    if kind == "powers":
        return rng.permutation(1.5 ** np.arange(n))[:, None]
    return np.ones((n, d))


def random_tree(n, shape, rng):
    """A random forest of one tree, with parents before children, then shuffled."""
    if shape == "path":
        up = np.arange(n) - 1
    elif shape == "star":
        up = np.where(np.arange(n) > 0, 0, -1)
    elif shape == "spider":
        # Legs of equal length around one body.
        leg = int(rng.integers(1, 9))
        up = np.array([-1] + [0 if i % leg == 0 else i for i in range(n - 1)])
    elif shape == "caterpillar":
        up = np.array([-1] + [max(0, i - 1 - int(rng.integers(0, 4))) for i in range(1, n)])
    else:
        up = np.array([-1] + [int(rng.integers(0, i)) for i in range(1, n)])
    # The root of the tree is any vertex: reverse the edges on the way to it.
    new, at, before = up.copy(), int(rng.integers(0, n)), -1
    while at >= 0:
        new[at], before, at = before, at, up[at]
    shuffle = rng.permutation(n)
    parents = np.full(n, -1)
    parents[shuffle] = np.where(new >= 0, shuffle[new], -1)
    return Forest(parents, rng.integers(1, 9, n) / 1.0 * (parents >= 0), np.zeros(n, np.int64))


def check_parts(grown, parts, k):
    """Sizes, connection by edges of their own and at most one borrowed vertex, no edge in two parts."""
    sizes = np.bincount(parts.labels)
    assert sizes.min() >= k
    assert sizes.max() <= largest_tree(k)
    assert len(sizes) == len(parts.borrowed)
    used = []
    for label, borrowed in enumerate(parts.borrowed):
        rows = np.flatnonzero(parts.labels == label).tolist()
        vertices = {*rows, int(borrowed)}
        edges = [(u, int(grown.parents[u])) for u in range(len(grown.parents)) if grown.parents[u] >= 0]
        own = [(u, v) for u, v in edges if u in vertices and v in vertices]
        assert borrowed not in rows
        assert naive_approx.connected(rows, int(borrowed), own)
        assert len(own) <= len(rows)
        used += own
        assert len({grown.trees[row] for row in rows}) == 1
    assert len(used) == len(set(used))


@pytest.mark.parametrize("k", range(2, 9))
@pytest.mark.parametrize("kind", KINDS)
def test_conditions_hold_after_each_phase(kind, k):
    for seed in range(12):
        n = int(np.random.default_rng([seed, k]).integers(k, 61))
        X = np.ascontiguousarray(points(kind, n, seed))
        grown = forest(X, k)
        sizes = np.bincount(grown.trees)
        assert sizes[sizes > 0].min() >= k
        assert naive_approx.conditions(X, k, grown.parents)
        roots = grown.trees[grown.parents < 0]
        assert len(set(roots)) == len(roots) == len(set(grown.trees))
        parts = cut_trees(grown, k)
        check_parts(grown, parts, k)
        labels = mu_approx(X, k)
        final = np.bincount(labels)
        assert final[final > 0].min() >= k
        assert final.max() < 2 * k
        # MDAV only splits: no group has records of two parts.
        assert all(len(set(parts.labels[labels == label])) == 1 for label in np.unique(labels))


@pytest.mark.parametrize("k", range(2, 9))
@pytest.mark.parametrize("shape", ["path", "star", "spider", "caterpillar", "random"])
def test_every_tree_can_be_decomposed(shape, k):
    rng = np.random.default_rng([k, len(shape)])
    for _ in range(80):
        grown = random_tree(int(rng.integers(k, 61)), shape, rng)
        check_parts(grown, cut_trees(grown, k), k)


@pytest.mark.parametrize("kind", KINDS)
def test_the_forest_is_the_plain_one(kind):
    for seed in range(6):
        for k in (2, 3, 5):
            X = np.ascontiguousarray(points(kind, 8 + 5 * seed, seed))
            parents, trees = naive_approx.forest(X, k)
            grown = forest(X, k)
            assert grown.parents.tolist() == parents
            assert numbered(grown.trees).tolist() == numbered(np.array(trees)).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_the_guarantee_holds(kind):
    for seed in range(8):
        for k in (2, 3, 4, 5):
            X = np.ascontiguousarray(points(kind, 9 + seed, seed))
            least = squared_error(X, exact(X, k))
            assert squared_error(X, numbered(mu_approx(X, k))) <= factor(k) * least * (1 + 1e-9) + 1e-12


def test_small_tables_are_one_group():
    X = np.random.default_rng(0).normal(size=(7, 2))
    assert set(mu_approx(X, 4)) == set(mu_approx(X, 7)) == {0}
    assert naive.cost(X) > 0


def test_the_figure_in_print():
    try:
        X = standardized(load("eia").data)
    except DatasetNotFoundError:
        pytest.skip("EIA is not on this machine")
    assert round(100 * information_loss(X, numbered(mu_approx(X, 10))), 2) == 2.17
