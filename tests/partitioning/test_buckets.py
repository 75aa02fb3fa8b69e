"""Buckets of similar sensitive values, cut alike: every part takes its share of each, whenever the cuts end."""

from itertools import pairwise

import numpy as np
import pytest

from clocks import Clock
from invariants import check_partition
from privacy.demand_strategies import error
from shoal.partitioning import buckets
from shoal.partitioning.buckets import bucket_cuts
from shoal.partitioning.pool import numbered
from shoal.partitioning.rule_growth import in_order, least_size, subsets
from shoal.privacy.demands import Demand, offending
from shoal.privacy.models import model
from shoal.release.groups.rules import rules_of
from shoal.tables.sensitive import Line, Sensitive, ranks


def cities(n, t, rng):
    """People in two places, and what ails them, which depends on where they live."""
    X = rng.normal(size=(n, 2)) + np.repeat([[0.0], [5.0]], n // 2, axis=0)
    codes = np.where(rng.random(n) < 0.5, rng.integers(0, 6, n), np.arange(n) * 6 // n)
    return X, [Demand(model(f"t-closeness t={t}"), Sensitive("illness", codes, 6))]


def incomes(n, t, rng):
    """One coordinate that a sensitive value on a line goes with, and one that it does not."""
    X = rng.normal(size=(n, 2))
    order = np.argsort(np.argsort(X[:, 0] + rng.normal(size=n)))
    return X, [Demand(model(f"t-closeness t={t}"), Sensitive("income", order, n, Line(ranks(n))))]


@pytest.mark.parametrize("n", [240, 251])
def test_every_group_takes_its_share_of_every_bucket(n):
    X, demands = cities(n - n % 2, 0.25, np.random.default_rng(0))
    n, rules = len(X), rules_of(demands)
    size = least_size(3, rules)
    labels = bucket_cuts(X, 3, rules)
    check_partition(numbered(labels), n, 3)
    assert labels.max() + 1 == n // size
    # As many records of each value as one record of each bucket would be, whichever of equal ones they are.
    bounds, codes = subsets(n, size), demands[0].sensitive.codes
    ranked = codes[in_order(rules, 0)[0]]
    whole = [ranked[start:stop] for start, stop in pairwise(bounds)]
    for value in range(6):
        pure, mixed = (sum(part(some == value) for some in whole) for part in (np.all, np.any))
        has = np.bincount(labels, codes == value)
        assert has.min() >= pure
        assert has.max() <= 2 * mixed
    if n % size == 0:
        assert not offending(labels, demands).any()


@pytest.mark.parametrize("together", [1 << 14, 30])
def test_parts_cut_some_at_a_time_take_their_shares_too(together, monkeypatch):
    """Large parts are cut along axes that a sample tells, small ones together; records in any order do as well."""
    X, demands = cities(480, 0.25, np.random.default_rng(5))
    monkeypatch.setattr(buckets, "TOGETHER", together)
    monkeypatch.setattr(buckets, "TOLD", 20)
    rules = rules_of(demands)
    labels = bucket_cuts(X, 3, rules)
    assert labels.max() + 1 == 480 // least_size(3, rules)
    assert not offending(labels, demands).any()
    assert error(X, labels) < 0.8 * error(X, np.random.default_rng(0).permutation(labels))
    np.testing.assert_array_equal(labels, bucket_cuts(X, 3, rules))


def test_equal_values_in_order_of_place_do_not_spread_the_groups():
    """Records sorted by place: the ranks of equal values would tear the groups apart if they went by the row."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(600, 2))
    X = X[np.argsort(X[:, 0])]
    codes = rng.integers(0, 3, 600)
    errors = []
    for order in (np.arange(600), rng.permutation(600)):
        rules = rules_of([Demand(model("t-closeness t=0.3"), Sensitive("illness", codes[order], 3))])
        errors.append(error(X[order], bucket_cuts(X[order], 3, rules)))
    assert errors[0] < 1.2 * errors[1]


def test_cuts_that_the_clock_ends_leave_parts_as_close(monkeypatch):
    X, demands = cities(240, 0.25, np.random.default_rng(1))
    Clock(tick=1.0).give_to(monkeypatch, buckets)
    labels = bucket_cuts(X, 3, rules_of(demands), until=3.5)
    assert labels.max() + 1 == 8
    assert not offending(labels, demands).any()


def test_nearby_records_are_together():
    X, demands = cities(240, 0.25, np.random.default_rng(2))
    labels = bucket_cuts(X, 3, rules_of(demands))
    assert error(X, labels) < 0.8 * error(X, np.random.default_rng(0).permutation(labels))


def test_along_a_line_records_are_spread_no_further_than_they_must(monkeypatch):
    X, demands = incomes(2000, 0.1, np.random.default_rng(3))
    rules = rules_of(demands)
    moved = bucket_cuts(X, 3, rules)
    assert offending(moved, demands).mean() < 0.1
    monkeypatch.setattr(buckets, "MOVED", 0.0)
    whole = bucket_cuts(X, 3, rules)
    assert not offending(whole, demands).any()
    assert moved.max() == whole.max()
    assert error(X, moved) < 0.9 * error(X, whole)
