"""Bounds region by region: valid for every group, above the neighbour bound, and close to the linear programme."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest

import naive_approx
from clocks import PATIENCE
from partitioning.strategies import points as points_of
from shoal.measure.bounds import lower_bound
from shoal.partitioning import bounds, covering, regions
from shoal.partitioning.cover_cuts import Cuts
from shoal.partitioning.cover_prices import Effort, Pricing
from shoal.partitioning.neighbour_bound import neighbour_prices
from shoal.partitioning.price_tree import TreePricing, in_boxes

points = partial(points_of, spread=100)
NONE = np.empty(0)


def cheaper_groups(X, k, prices):
    """All groups of k to 2k - 1 records that are cheaper than their records: from the definition."""
    found = set()
    for size in range(k, 2 * k):
        for rows in combinations(range(len(X)), size):
            members = X[list(rows)]
            if ((members - members.mean(axis=0)) ** 2).sum() < prices[list(rows)].sum() - 1e-9:
                found.add(rows)
    return found


@pytest.mark.parametrize("kind", ["normal", "duplicates", "clustered"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("factor", [1.0, 1.3, 1.8])
def test_the_tree_lists_every_group_that_is_cheaper_than_its_records(kind, k, factor):
    X = points(kind, 40 if k == 2 else 18, 3, 11)
    prices = factor * neighbour_prices(X, k)
    listed = TreePricing(X, k).groups(prices, Cuts(len(X)), NONE, 0.0, Effort(np.inf), -1e-9)
    assert listed.complete
    assert {tuple(sorted(g[g < len(X)].tolist())) for g in listed.groups} == cheaper_groups(X, k, prices)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_tree_and_all_pairs_list_the_same(n_jobs, monkeypatch):
    monkeypatch.setattr("shoal.partitioning.price_tree.CHUNK", 100)
    X = points("normal", 700, 4, 3)
    prices = 1.25 * neighbour_prices(X, 3)

    def of(pricing):
        listed = pricing.groups(prices, Cuts(len(X)), NONE, 0.0, Effort(np.inf))
        assert listed.complete
        return {tuple(sorted(g[g < len(X)].tolist())) for g in listed.groups}

    assert of(TreePricing(X, 3, n_jobs)) == of(Pricing(X, 3)) != set()


@pytest.mark.parametrize("n", [1, 15, 16, 17, 100, 333])
def test_leaves_hold_every_record_once(n):
    X = points("normal", max(n, 2), 3, n)[:n]
    order, starts = in_boxes(X, 16)
    assert sorted(order.tolist()) == list(range(n))
    leaves = starts[len(starts) // 2 :]
    assert (leaves[1:, 0] == leaves[:-1, 1]).all()
    assert leaves[0, 0] == 0
    assert leaves[-1, 1] == n
    assert (leaves[:, 1] - leaves[:, 0]).max() <= 16


@pytest.mark.parametrize("kind", ["normal", "duplicates", "clustered"])
@pytest.mark.parametrize("k", [2, 3])
def test_bounds_of_tiny_tables_hold(kind, k):
    """Regions of five records, so that groups across their edges decide."""
    for seed in range(6):
        X = points(kind, 11, 2, seed)
        found = regions.regions_bound(X, k, PATIENCE, most=5)
        assert bounds.neighbour_bound(X, k) * (1 - 1e-9) <= found <= naive_approx.optimum(X, k) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("k", [2, 3, 5])
def test_a_bound_is_between_the_neighbours_and_the_linear_programme(k):
    X = points("normal", 300, 3, k)
    best = covering.solve(X, k, time_limit=PATIENCE if k == 2 else 5)
    found = regions.regions_bound(X, k, PATIENCE, most=60)
    quick = bounds.neighbour_bound(X, k)
    assert found <= best.error
    # Most of what the linear programme adds is found without ever seeing the whole table.
    assert found > quick + 0.6 * (best.bound - quick)


def test_prices_that_are_raised_hold_with_all_records_around():
    X = points("normal", 60, 2, 9)
    prices = neighbour_prices(X, 2) * (len(X) / neighbour_prices(X, 2).sum())
    X = X * np.sqrt(len(X) / neighbour_prices(X, 2).sum())
    higher = regions.raised(X, 2, prices, 25, np.inf)
    assert higher.sum() > prices.sum()
    assert cheaper_groups(X, 2, higher - 1e-6) == set()
    assert cheaper_groups(X, 2, np.where(np.arange(60) < 25, 1.05, 1.0) * higher) != set()


def test_many_equal_records_cost_little_and_prove_nothing():
    X = np.concatenate([np.zeros((20_000, 2)), points("normal", 60, 2, 4) + 500])
    found = regions.regions_bound(X, 3, PATIENCE)
    assert 0 < found <= covering.solve(points("normal", 60, 2, 4), 3, time_limit=PATIENCE).error
    assert regions.regions_bound(np.repeat(np.arange(6.0)[:, None], 50, axis=0), 3, PATIENCE) == 0


def test_equal_records_that_others_stand_for_keep_their_price():
    """Groups of a lone record with some of many equal ones must not be cheaper, whichever of these they have."""
    X = np.concatenate([np.zeros((9, 1)), [[1.0], [1.1], [2.5]]])
    for k in (2, 3):
        assert regions.regions_bound(X, k, PATIENCE, most=2) <= naive_approx.optimum(X, k) + 1e-12


def test_without_time_it_is_the_neighbour_bound():
    X = points("normal", 400, 2, 5)
    assert regions.regions_bound(X, 3, 0.0) == pytest.approx(bounds.neighbour_bound(X, 3), rel=1e-8)


def test_the_effort_has_a_name():
    X = points("normal", 200, 2, 5)
    assert lower_bound(X, 3) < lower_bound(X, 3, "regions", time_limit=PATIENCE) < 1
