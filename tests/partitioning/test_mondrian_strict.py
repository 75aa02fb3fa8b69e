"""Strict Mondrian: equal records stay together, every group has k, and every allowed cut was made."""

from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given

import naive
import shoal
from invariants import check_threads, same_groups
from partitioning.strategies import cases
from shoal.partitioning import mondrian
from shoal.release.groups import grouping


def kinds_of(X):
    """Return a number for each different record."""
    return np.unique(X + 0.0, axis=0, return_inverse=True)[1].reshape(-1)


@given(case=cases())
def test_equal_records_share_a_group_and_no_group_could_be_cut(case):
    _, X, k = case
    labels = shoal.partition(X, k, "mondrian-strict")
    kinds = kinds_of(X)
    assert len(set(zip(kinds.tolist(), labels.tolist(), strict=True))) == kinds.max() + 1
    assert np.bincount(labels).min() >= k
    for g in range(labels.max() + 1):
        P = X[labels == g]
        for x in P.T:
            sizes = np.array([(x < value).sum() for value in np.unique(x)])
            assert not ((sizes >= k) & (len(P) - sizes >= k)).any()


@given(case=cases())
def test_parts_that_are_cut_one_by_one_are_the_same(case):
    """Those of more than 20,000 records; here all of them."""
    _, X, k = case
    with patch.object(mondrian, "PART", 1):
        labels = shoal.partition(X, k, "mondrian-strict", n_jobs=2)
    np.testing.assert_array_equal(labels, naive.mondrian_strict(X, k))


@pytest.mark.parametrize(
    ("column", "k", "sizes"),
    [
        ([1, 2, 3, 4, 5], 2, [2, 3]),  # of two cuts equally near to the middle the lower one
        ([1, 1, 2, 2, 2, 2], 2, [2, 4]),  # below the median and its equals
        ([1, 1, 1, 1, 2, 2], 2, [4, 2]),  # above them
        ([1, 2, 2, 2, 2, 2, 2, 3, 3], 2, [7, 2]),  # the nearer one is not allowed
        ([1, 2, 2, 2, 2, 3], 2, [6]),  # neither is
        ([1, 1, 1, 2, 2], 3, [5]),  # fewer than 2k
    ],
)
def test_cuts_by_hand(column, k, sizes):
    X = np.array(column, float)[:, None]
    assert np.bincount(shoal.partition(X, k, "mondrian-strict")).tolist() == sizes


def test_a_coordinate_without_a_cut_is_passed_over_for_the_next_widest():
    X = np.array([[0, 1, 5], [0, 2, 0], [0, 3, 5], [90, 4, 0]], float)
    assert shoal.partition(X, 2, "mondrian-strict").tolist() == [0, 1, 0, 1]
    X[:, 2] = 0
    assert shoal.partition(X, 2, "mondrian-strict").tolist() == [0, 0, 1, 1]


def test_zeros_of_both_signs_are_equal():
    X = np.array([[0.0], [-0.0], [-0.0], [0.0], [0.0]])
    assert shoal.partition(X, 2, "mondrian-strict").tolist() == [0] * 5


def test_without_ties_it_is_mondrian():
    X = np.random.default_rng(0).normal(size=(500, 4))
    for k in (2, 5, 11):
        expected = shoal.partition(X, k, "mondrian", whole="2k-1")
        np.testing.assert_array_equal(shoal.partition(X, k, "mondrian-strict"), expected)


def test_many_equal_records_are_one_group_at_once():
    heard = []
    labels = shoal.partition(np.full((300_000, 5), 0.1), 5, "mondrian-strict", progress=heard.append)
    assert labels.max() == 0
    assert heard[-1] == 1


def test_threads_do_not_matter():
    X = np.random.default_rng(0).normal(size=(70_000, 3)).round(1)
    check_threads(X, 10, "mondrian-strict")


@pytest.mark.parametrize(("method", "changes"), [("mondrian-strict", False), ("mondrian", True)])
def test_a_global_recoding_leaves_strict_groups_as_they_are(method, changes):
    """Equal records are put together after every method; this one has not separated them."""
    people = shoal.datasets.survey(400)
    table = pa.table({name: people[name] for name in ("sex", "education", "income")})
    table = table.set_column(2, "income", pc.round(table["income"], ndigits=-4))
    seen = []
    put_together = grouping._put_equals_together

    def watched(X, labels):
        seen.append((X, labels, put_together(X, labels)))
        return seen[-1][2]

    with patch.object(grouping, "_put_equals_together", watched):
        release = shoal.anonymize(
            table, k=5, quasi_identifiers=table.column_names, release="global-recoding", method=method
        )
    ((X, before, after),) = seen
    assert kinds_of(X).max() < 200  # there are many equal ones
    assert same_groups(before, after) != changes
    assert same_groups(release.labels, before) != changes
    assert release.audit.k >= 5
