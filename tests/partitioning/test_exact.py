"""The optimum: against enumeration of all partitions, the univariate optimum, a printed one, and itself."""

import numpy as np
import pytest

import naive_approx
from partitioning.strategies import points
from shoal.datasets import companies
from shoal.errors import TooLargeError
from shoal.estimator import standardized
from shoal.partitioning import exact as module
from shoal.partitioning.exact import exact
from shoal.partitioning.paths import univariate
from shoal.partitioning.pool import squared_error


@pytest.mark.parametrize("k", range(2, 9))
@pytest.mark.parametrize("kind", ["normal", "duplicates", "clustered", "collinear", "far"])
def test_nothing_is_better(kind, k):
    for n in (k, 2 * k - 1, 2 * k, 2 * k + 1, 3 * k, 10, 11):
        if not k <= n <= 11:
            continue
        for d in (2, 3):
            X = points(kind, n, d, k)
            labels = exact(X, k)
            assert np.bincount(labels).min() >= k
            assert squared_error(X, labels) == pytest.approx(naive_approx.optimum(X, k), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 7])
def test_one_coordinate_in_several(k):
    """A line in the plane has the optimum of its single coordinate, found in another way."""
    for n in (14, 20, 24):
        x = np.random.default_rng([k, n]).normal(size=(n, 1))
        line = np.ascontiguousarray(x * [[0.6, 0.8]])
        best = squared_error(x, univariate(x, k))
        assert squared_error(line, exact(line, k)) == pytest.approx(best, rel=1e-8)
        assert exact(x, k).tolist() == univariate(x, k).tolist()


def test_two_groups_in_both_ways():
    """Prices and branch and bound over signs agree where there are two groups."""
    for seed in range(4):
        X = points("normal", 15, 3, seed)
        D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        signs = module._two_groups(D, 6, np.inf)
        prices = module._Covers(D, 6, 2).best(signs, module.squared_errors(D, signs) * (1 + 1e-6))
        assert squared_error(X, prices) == pytest.approx(squared_error(X, signs), rel=1e-8)


def test_the_printed_optimum():
    X = standardized(companies().select("surface", "employees"))
    labels = exact(X, 3)
    assert squared_error(X, labels) == pytest.approx(7.484795, abs=1e-6)
    groups = {tuple(np.flatnonzero(labels == label) + 1) for label in range(3)}
    assert groups == {(1, 2, 3, 10), (4, 5, 9), (6, 7, 8, 11)}


def test_the_result_is_always_the_same_and_does_not_change_with_the_unit():
    X = points("normal", 18, 3, 1)
    labels = exact(X, 3)
    assert exact(X, 3).tolist() == labels.tolist()
    assert squared_error(X, exact(X * 2.0**40, 3) * 1) == pytest.approx(squared_error(X, labels))
    shuffled = np.random.default_rng(1).permutation(18)
    assert squared_error(X[shuffled], exact(X[shuffled], 3)) == pytest.approx(squared_error(X, labels))


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_moving_and_swapping_gain_nothing_on_thirty_records(k):
    X = points("normal", 30, 2, k)
    labels = exact(X, k)
    best = squared_error(X, labels)
    assert np.bincount(labels).min() >= k
    for start in range(3):
        other = np.random.default_rng(start).permutation(np.arange(30) // k % (30 // k))
        D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        module.polish(D, other, np.bincount(other), k)
        assert squared_error(X, other) >= best * (1 - 1e-9)


def test_equal_records_cost_nothing():
    X = np.repeat(np.arange(6.0)[:, None] * [[1.0, 2.0]], 4, axis=0)
    assert squared_error(X, exact(X, 4)) == 0
    assert squared_error(np.ones((12, 3)), exact(np.ones((12, 3)), 2)) == 0


def test_many_equal_records_cost_nothing_and_need_no_proof():
    """Means of equal records are rounded, so that their error is not exactly 0."""
    points = np.random.default_rng(0).normal(size=(4, 3)) / 3
    X = np.repeat(points, [6, 7, 13, 9], axis=0)
    assert len(np.unique(exact(X, 5, time_limit=0.5))) >= 4


def test_what_cannot_be_proven_is_refused_with_the_bound():
    X = points("normal", 120, 3, 0)
    with pytest.raises(
        TooLargeError, match=r"no proof for 120 records and k = 6 in 1 s\. No partition has a loss below"
    ):
        exact(X, 6, time_limit=1)


def test_too_many_records_are_refused():
    with pytest.raises(TooLargeError, match=r"at most 6000 records\. Got 6001"):
        exact(np.zeros((6001, 2)), 2)


@pytest.mark.parametrize(("n", "k"), [(31, 2), (80, 2), (31, 3), (60, 3), (36, 5)])
def test_more_records_are_settled_by_another_way(n, k):
    """Moves and swaps gain nothing; with 30 records both ways agree."""
    X = points("normal", n, 2, k)
    labels = exact(X, k)
    assert np.bincount(labels).min() >= k
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    best = squared_error(X, labels)
    for method in (module.mdav, module.mdav_star, module.cbfs_mhm):
        other = np.ascontiguousarray(method(X, k))
        module.polish(D, other, np.bincount(other), k)
        assert squared_error(X, other) >= best * (1 - 1e-6)
    few = np.ascontiguousarray(X[:30])
    assert squared_error(few, module._many(few, k, 60.0, module.silent)) == pytest.approx(
        squared_error(few, exact(few, k)), rel=1e-6
    )


def test_progress_rises_to_one():
    seen = []
    exact(points("normal", 15, 2, 0), 3, report=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_ctrl_c_is_heard():
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exact(points("normal", 15, 2, 0), 3, report=stop)
