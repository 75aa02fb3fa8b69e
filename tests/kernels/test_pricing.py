"""Pricing: against a list of all groups, with and without cuts, and when it is stopped and taken up again."""

from itertools import combinations

import numpy as np
import pytest

from shoal.kernels import pricing
from shoal.partitioning.cover_cuts import Cut, Cuts
from shoal.partitioning.cover_prices import Effort, Pricing

N = 16


def instance(seed, n=N):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    if seed % 3 == 0:
        X = rng.integers(0, 4, (n, d)).astype(float)
    elif seed % 3 == 1:
        X = rng.normal(size=(n, d))
    else:
        X = rng.normal(size=(n, d)) + 30 * rng.integers(0, 2, (n, 1))
    prices = rng.choice([0.1, 1.0, 4.0]) * rng.normal(size=n) + rng.choice([0.0, 0.5, 2.0])
    return rng, X, prices


def all_reduced(X, prices, k, cuts, sigma):
    """Reduced cost of every group of k .. 2k - 1 records, counted plainly."""
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    result = {}
    for size in range(k, min(2 * k - 1, len(X) - k) + 1):
        for group in combinations(range(len(X)), size):
            rows = list(group)
            value = D[np.ix_(rows, rows)].sum() / (2 * size) - prices[rows].sum()
            for one, price in zip(cuts.all, sigma, strict=True):
                value += price * (sum(one.rows.count(row) for row in group) // one.divisor)
            result[group] = value
    return result


def sets_of(groups, n):
    return [tuple(sorted(row for row in group if row < n)) for group in groups.tolist()]


def plenty():
    return Effort(np.inf)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("with_cuts", [False, True])
def test_the_list_is_complete_and_nothing_is_twice(k, with_cuts):
    for seed in range(16 if k < 4 else 6):
        rng, X, prices = instance(seed)
        sets = [Cut(tuple(sorted(rng.choice(N, size, replace=False).tolist()))) for size in (3, 3, 3, 3, 3, 5, 7)]
        kinds = ((3, 5), (3, 5), (3, 8), (4, 7), (4, 11))
        sets += [Cut(tuple(sorted(rng.choice(N, size).tolist())), divisor) for divisor, size in kinds]
        cuts = Cuts(N, sets if with_cuts else None)
        sigma = 2 * rng.random(len(cuts))
        wanted = all_reduced(X, prices, k, cuts, sigma)
        values = np.sort(list(wanted.values()))
        for room in (
            values[0] - 0.1,
            values[4] + 1e-9,
            0.0,
            values[len(values) // 10],
            values[len(values) // 3] + 1e-9,
        ):
            listed = Pricing(X, k).groups(prices, cuts, sigma, 0.0, plenty(), room)
            found = sets_of(listed.groups, N)
            assert listed.complete
            assert len(set(found)) == len(found)
            # Within rounding of the limit either answer is right.
            assert {g for g, v in wanted.items() if v <= room - 1e-9} <= set(found)
            assert set(found) <= {g for g, v in wanted.items() if v <= room + 1e-9}
            assert listed.reduced == pytest.approx([wanted[g] for g in found], abs=1e-9)


def test_large_groups():
    _, X, prices = instance(1, 14)
    wanted = all_reduced(X, prices, 6, Cuts(14), np.empty(0))
    limit = np.sort(list(wanted.values()))[200] + 1e-9
    listed = Pricing(X, 6).groups(prices, Cuts(14), np.empty(0), 0.0, plenty(), limit)
    assert set(sets_of(listed.groups, 14)) == {g for g, v in wanted.items() if v <= limit}


@pytest.mark.parametrize("budget", [1, 50, 100_000])
def test_it_can_be_stopped_and_taken_up_again(budget):
    """Roots that were finished are complete; a budget that is too small for a root stops there."""
    _, X, prices = instance(4)
    size, limit = 4, 1.0
    columns = np.ascontiguousarray(X.T)
    none = Cuts(N).spread(np.empty(0), size)
    halves, theta = pricing.thresholds(columns, prices, size, limit, none)
    ids = np.empty(N * N, np.int32)
    lists = (pricing.neighbour_lists(columns, prices, size, none, theta, ids), ids)

    def run(first, steps, room):
        found, values = np.empty((room, size), np.int32), np.empty(room)
        count, root, _ = pricing.sized_groups_below(
            X, prices, size, limit, none, lists, halves, first, steps, found, values
        )
        return [tuple(sorted(row)) for row in found[:count].tolist()], root

    whole, end = run(0, 10**9, 5000)
    assert end == N
    assert len(whole) > 50
    pieces, root, steps, room = [], 0, budget, 8
    while root < N:
        part, reached = run(root, steps, room)
        pieces += part
        if reached == root:
            steps, room = 4 * steps, 4 * room
        root = reached
    assert pieces == whole


def test_lists_that_do_not_fit_say_so():
    _, X, prices = instance(4)
    columns = np.ascontiguousarray(X.T)
    none = Cuts(N).spread(np.empty(0), 3)
    theta = pricing.thresholds(columns, prices, 3, 5.0, none)[1]
    whole = pricing.neighbour_lists(columns, prices, 3, none, theta, np.empty(N * N, np.int32))
    assert whole[-1] > 5
    assert pricing.neighbour_lists(columns, prices, 3, none, theta, np.empty(5, np.int32))[-1] > 5


@pytest.mark.parametrize("share", [0.0, -0.05, -0.5])
def test_lowered_prices_leave_no_group_cheaper_than_its_records(share):
    """Also if only groups far below zero were listed."""
    for seed in range(20):
        k = 2 + seed % 2
        rng, X, prices = instance(seed)
        cuts = Cuts(N, [Cut(tuple(sorted(rng.choice(N, 3, replace=False).tolist()))) for _ in range(4)])
        sigma = rng.random(4)
        machine = Pricing(X, k)
        listed = machine.groups(prices, cuts, sigma, share, plenty())
        found = machine.feasible(prices, cuts, sigma, listed, share)
        assert (found.records <= prices).all()
        assert found.bound == pytest.approx(found.records.sum() - sigma.sum())
        assert min(all_reduced(X, found.records, k, cuts, sigma).values()) >= -1e-9
        # Never worse than to charge the least reduced cost to every record.
        least = min(0.0, min(all_reduced(X, prices, k, cuts, sigma).values()))
        assert found.bound >= prices.sum() - sigma.sum() + N * min(least / k, share) - 1e-9


def test_a_list_that_is_given_up_says_so():
    _, X, prices = instance(1)
    late = Effort(-np.inf)
    assert not Pricing(X, 3).groups(prices, Cuts(N), np.empty(0), 0.0, late, 5.0).complete
    few = Effort(np.inf, 1 << 40, 3)
    assert not Pricing(X, 3).groups(prices, Cuts(N), np.empty(0), 0.0, few, 5.0).complete


def test_descents_go_down_and_keep_the_first_record():
    for seed in range(10):
        rng, X, prices = instance(seed)
        k = 3
        groups = np.full((40, 5), N, np.int32)
        for row in groups:
            size = rng.integers(k, 6)
            row[:size] = rng.choice(N, size, replace=False)
        before = pricing.reduced_costs(X, prices, groups)[1]
        near = np.argsort(((X[:, None] - X[None]) ** 2).sum(axis=2), axis=1)[:, :8].astype(np.int32)
        after = groups.copy()
        pricing.lower_costs(X, prices, near, k, 1e-9, after)
        assert (after[:, 0] == groups[:, 0]).all()
        assert (pricing.reduced_costs(X, prices, after)[1] <= before + 1e-9).all()
        for group in after:
            rows = group[group < N]
            assert k <= len(rows) == len(set(rows.tolist()))
