"""ONA* in blocks: as its oracle, the same for any number of threads, never worse after a round."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

import naive
import naive_lloyd
import shoal
from invariants import check_partition
from partitioning.strategies import cases
from shoal.partitioning.blocks import OVERFULL, halved
from shoal.partitioning.cut_trees import grown

FEWER = settings(max_examples=settings.default.max_examples // 4)


def correlated(n, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.5 * rng.normal(size=(n, d))


@pytest.mark.parametrize(("k", "d", "block"), [(2, 2, 15), (3, 4, 30), (3, 1, 25), (5, 3, 10), (4, 6, 33)])
def test_labels_are_those_of_the_oracle(k, d, block):
    for seed in range(4):
        X = correlated(100 + 17 * seed, d, seed)
        for rounds in (0, 1, 3):
            labels = shoal.partition(X, k, "ona-blocks", block=block, rounds=rounds)
            wanted = naive_lloyd.ona_blocks(X, k, block, rounds)
            np.testing.assert_array_equal(labels, wanted)


@FEWER
@given(case=cases(largest_k=8))
def test_k_holds_threads_do_not_matter_and_rounds_lose_nothing(case):
    _, X, k = case
    costs = []
    for rounds in (0, 1, 2, 4):
        labels = shoal.partition(X, k, "ona-blocks", block=2 * k, rounds=rounds)
        check_partition(labels, len(X), k)
        threads = shoal.partition(X, k, "ona-blocks", block=2 * k, rounds=rounds, n_jobs=3)
        np.testing.assert_array_equal(labels, threads)
        costs.append(naive.total_cost(X, naive_lloyd.groups_of(labels)))
    for before, after in pairwise(costs):
        assert after <= before * (1 + 1e-9)


def test_blocks_lose_little_more_than_the_whole_table_and_rounds_win_most_of_it_back():
    X = correlated(4000, 5)
    whole = shoal.information_loss(X, shoal.partition(X, 3, "ona*"))
    found = [
        shoal.information_loss(X, shoal.partition(X, 3, "ona-blocks", block=500, rounds=rounds, n_jobs=2))
        for rounds in (0, 1, 3)
    ]
    assert whole < found[2] < found[1] < found[0]
    assert found[2] < 1.05 * whole
    np.testing.assert_array_equal(shoal.partition(X, 3, "ona-blocks", block=2700), shoal.partition(X, 3, "ona*"))


@pytest.mark.parametrize("alone", [0, 1, 2, 40])
def test_many_equal_records(alone):
    """No cut of a tree parts them: their block is halved."""
    X = np.concatenate([np.full((5000, 3), 1.5), correlated(alone, 3)])
    labels = shoal.partition(X, 3, "ona-blocks", block=200)
    assert np.bincount(labels).min() >= 3
    assert shoal.information_loss(X, labels) < 1


@given(case=cases(largest_k=8))
def test_leaves_have_at_least_so_many_records(case):
    _, X, k = case
    tree = grown(X, np.ones(len(X)), len(X), 2 * k, least=k)
    leaves = tree.route(X)
    assert np.bincount(leaves, minlength=tree.leaves).min() >= k
    for leaf in range(tree.leaves):
        rows = np.flatnonzero(leaves == leaf)
        pieces = list(halved(X, rows, 2 * k, k))
        assert sorted(np.concatenate(pieces).tolist()) == rows.tolist()
        assert min(map(len, pieces)) >= k
        assert max(map(len, pieces)) <= OVERFULL * 2 * k
