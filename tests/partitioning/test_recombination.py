"""Recombination: the best partition made of groups met, against a search through all of them."""

from functools import cache

import numpy as np
import pytest

from invariants import same_groups
from kernels.test_kicks import cost, plain_error, random_partition
from shoal.partitioning import recombination
from shoal.partitioning.chains import Met, field
from shoal.partitioning.exact import exact
from shoal.partitioning.recombination import Memory


def memory_of(X, k, seed=0):
    return Memory(field(X, k, np.random.default_rng(seed)))


def met_of(memory, groups):
    """Some groups as chains hand them over."""
    X, k, keys = memory.place.X, memory.place.k, memory.place.keys
    rows = np.zeros((len(groups), 2 * k - 1), np.int32)
    for at, group in enumerate(groups):
        rows[at, : len(group)] = group
    return Met(
        rows,
        np.array([len(group) for group in groups], np.int64),
        np.array([cost(X, list(group)) for group in groups]),
        np.array([keys[list(group)].sum(dtype=np.uint64) for group in groups], np.uint64),
    )


def groups_of(labels):
    return {frozenset(np.flatnonzero(labels == g).tolist()) for g in np.unique(labels)}


def met_groups(memory):
    met = memory.met
    return [frozenset(row[:size].tolist()) for row, size in zip(met.rows, met.sizes, strict=True)]


def recombined(memory, labels, seed=0):
    return memory.recombine(labels, np.random.default_rng(seed), None, lambda: False)


def cheapest(X, groups):
    """The least squared error of a partition made of `groups`, by looking at all of them."""
    costs = {group: cost(X, sorted(group)) for group in groups}
    of_record = [[group for group in costs if min(group) == row] for row in range(len(X))]

    @cache
    def rest(left):
        if not left:
            return 0.0
        fitting = (group for group in of_record[min(left)] if group <= left)
        return min((costs[group] + rest(left - group) for group in fitting), default=np.inf)

    return rest(frozenset(range(len(X))))


@pytest.mark.parametrize("seed", range(40))
def test_a_small_pool_is_combined_to_the_optimum(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    n = int(rng.integers(2 * k, 17))
    X = rng.normal(size=(n, 2)) if seed % 3 else rng.integers(0, 4, (n, 2)).astype(float)
    memory = memory_of(X, k)
    starts = [random_partition(n, k, rng) for _ in range(25)]
    for labels in starts[1:-1]:
        memory.add_partition(labels)
    # Groups alone, which perhaps no partition has.
    memory.add(met_of(memory, [rng.choice(n, rng.integers(k, 2 * k), replace=False).tolist() for _ in range(40)]))
    best = recombined(memory, starts[0])
    assert np.bincount(best)[np.unique(best)].min() >= k
    groups = met_groups(memory)
    assert groups_of(best) <= set(groups)
    assert groups_of(starts[0]) <= set(groups)
    assert plain_error(X, best) <= plain_error(X, starts[0])
    assert plain_error(X, best) == pytest.approx(cheapest(X, groups), rel=1e-6, abs=1e-12)


def two_clouds(n, rng):
    X = rng.normal(size=(n, 2))
    X[n // 2 :] += 100
    return X


def test_the_better_halves_of_two_partitions_are_combined():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, half, k = two_clouds(24, rng), 12, 3
        good = [exact(X[:half], k), exact(X[half:], k)]
        bad = [random_partition(half, k, rng) for _ in range(2)]
        left, right = (np.concatenate([one, two + 10]) for one, two in ((good[0], bad[1]), (bad[0], good[1])))
        memory = memory_of(X, k)
        memory.add_partition(np.unique(right, return_inverse=True)[1])
        best = recombined(memory, left)
        assert plain_error(X, best) == pytest.approx(plain_error(X, np.concatenate([good[0], good[1] + 10])), rel=1e-9)


def test_the_best_of_many_windows():
    """Clouds far apart, and partitions each of which is good in some of them: more than a window holds."""
    rng = np.random.default_rng(1)
    clouds, size, k = 60, 12, 3
    n = clouds * size
    X = rng.normal(size=(n, 2)) + 100 * np.repeat(rng.permutation(clouds), size)[:, None]
    own = [[random_partition(size, k, rng) for _ in range(4)] for _ in range(clouds)]
    partitions = [
        np.unique(np.concatenate([own[c][p] + 10 * c for c in range(clouds)]), return_inverse=True)[1] for p in range(4)
    ]
    memory = memory_of(X, k)
    for labels in partitions[:0:-1]:
        memory.add_partition(labels)
    best = recombined(memory, partitions[0])
    parts = [slice(c * size, (c + 1) * size) for c in range(clouds)]
    wanted = sum(cheapest(X[part], {g for p in range(4) for g in groups_of(partitions[p][part])}) for part in parts)
    assert plain_error(X, best) == pytest.approx(wanted, rel=1e-6)
    assert wanted < 0.9 * min(plain_error(X, labels) for labels in partitions)


def test_each_group_is_kept_once_and_the_latest_come_first(monkeypatch):
    X = np.random.default_rng(0).normal(size=(8, 2))
    memory = memory_of(X, 2)
    a, b, c, d = [0, 1], [2, 3], [4, 5, 6], [1, 0]
    memory.add(met_of(memory, [a, b]))
    assert met_groups(memory) == [frozenset(a), frozenset(b)]
    memory.add(met_of(memory, [c, d]))
    assert met_groups(memory) == [frozenset(c), frozenset(a), frozenset(b)]
    memory.add_partition(np.array([0, 0, 1, 1, 2, 2, 3, 3]))
    assert set(met_groups(memory)) == {frozenset(g) for g in (a, b, c, (4, 5), (6, 7))}
    assert met_groups(memory)[-1] == frozenset(c)
    monkeypatch.setattr(recombination, "MOST_KEPT", 2)
    memory.add(met_of(memory, [[2, 4], [3, 5], [6, 7]]))
    assert met_groups(memory) == [frozenset([2, 4]), frozenset([3, 5])]


def test_costs_and_keys_of_a_partition_are_those_of_its_groups():
    rng = np.random.default_rng(3)
    X, labels = rng.normal(size=(30, 3)), random_partition(30, 3, rng)
    memory = memory_of(X, 3)
    memory.add_partition(labels)
    plain = met_of(memory, [np.flatnonzero(labels == g).tolist() for g in range(labels.max() + 1)])
    for found, wanted in zip(memory.met, plain, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "chosen",
    [
        lambda own, others: others[:1],
        lambda own, others: [*own[1:], *others[:1]],
        lambda own, others: [],
        lambda own, others: own[1:],
        lambda own, others: [*own, *others],
    ],
    ids=["one group", "one for another", "nothing", "all but one", "everything"],
)
def test_what_is_not_a_partition_is_refused(monkeypatch, chosen):
    """However cheap it would be."""
    rng = np.random.default_rng(4)
    X, k = two_clouds(24, rng), 3
    memory = memory_of(X, k)
    memory.add_partition(exact(X, k))
    labels = random_partition(24, k, rng)
    calls = []

    def wrong(costs, matrix, records, right, start, **limits):
        own, others = np.flatnonzero(start), np.flatnonzero(start == 0)
        found = np.asarray(chosen(own[np.argsort(-costs[own])], others[np.argsort(costs[others])]), np.int64)
        assert not (matrix[:, found].sum(axis=1) == 1).all()
        calls.append(found)
        return found, True

    monkeypatch.setattr(recombination, "choice", wrong)
    assert same_groups(recombined(memory, labels), labels)
    assert calls


def test_no_more_is_tried_when_it_has_ended():
    rng = np.random.default_rng(5)
    X, k = two_clouds(24, rng), 3
    memory = memory_of(X, k)
    memory.add_partition(exact(X, k))
    labels = random_partition(24, k, rng)
    assert same_groups(memory.recombine(labels, rng, None, lambda: True), labels)
    assert same_groups(memory.recombine(labels, rng, -np.inf, lambda: False), labels)
    by_time = memory.recombine(labels, rng, np.inf, lambda: False)
    assert plain_error(X, by_time) == pytest.approx(plain_error(X, exact(X, k)), rel=1e-9)


def test_labels_need_not_be_without_gaps_and_stay_as_they_are():
    rng = np.random.default_rng(6)
    X, k = two_clouds(24, rng), 3
    memory = memory_of(X, k)
    memory.add_partition(exact(X, k))
    labels = random_partition(24, k, rng) * 7 + 3
    before = labels.copy()
    best = recombined(memory, labels)
    np.testing.assert_array_equal(labels, before)
    assert plain_error(X, best) == pytest.approx(plain_error(X, exact(X, k)), rel=1e-9)


def test_equal_records_cost_nothing_and_need_no_programme():
    X = np.repeat([[1.0, 2.0], [3.0, 4.0]], 6, axis=0)
    memory = memory_of(X, 3)
    labels = np.arange(12) // 3
    memory.add_partition(np.arange(12) % 4)
    assert same_groups(recombined(memory, labels), labels)
