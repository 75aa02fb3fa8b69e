"""Lower bounds: never above the optimum, and what they say at the edges."""

from functools import cache, partial
from itertools import combinations
from math import inf

import numpy as np
import pytest

import shoal
from clocks import PATIENCE
from partitioning.strategies import points as points_of
from shoal.errors import DataError, OptionError, TooLargeError
from shoal.measure.bounds import gap, lower_bound
from shoal.partitioning import covering
from shoal.partitioning.paths import univariate

points = partial(points_of, offset=1e8)
KINDS = ("normal", "duplicates", "clustered", "collinear", "far", "wide")


def optimum(X, k):
    """The least loss, from all groups of k to 2k - 1 records, the lowest record left first."""
    n = len(X)
    X = X - X.mean(axis=0)
    costs = {
        group: float(((X[list(group)] - X[list(group)].mean(axis=0)) ** 2).sum())
        for size in range(k, min(2 * k - 1, n) + 1)
        for group in combinations(range(n), size)
    }

    @cache
    def best(rows):
        if not rows:
            return 0.0
        found = inf
        for size in range(k, min(2 * k - 1, len(rows)) + 1):
            if size == len(rows) or len(rows) - size >= k:
                for others in combinations(rows[1:], size - 1):
                    rest = tuple(row for row in rows if row not in others and row != rows[0])
                    found = min(found, costs[rows[0], *others] + best(rest))
        return found

    total = float((X**2).sum())
    return best(tuple(range(n))) / total if total > 0 else 0.0


@pytest.mark.parametrize("k", range(2, 8))
@pytest.mark.parametrize("kind", KINDS)
def test_never_above_the_optimum(kind, k):
    for n in sorted({k, 2 * k - 1, 2 * k, 2 * k + 1, 10, 11} | ({12, 14} if k >= 5 else set())):
        if k <= n <= 14:
            for d in (1, 2, 3):
                X = points(kind, n, d, k)
                best = optimum(X, k)
                quick, lp = lower_bound(X, k), lower_bound(X, k, "lp")
                assert 0 <= quick <= best * (1 + 1e-9) + 1e-15
                assert quick * (1 - 1e-5) <= lp <= best * (1 + 1e-9) + 1e-15
                # So few records are settled.
                assert lp == pytest.approx(best, rel=1e-5, abs=1e-12)
                if d == 2:
                    centred = X - X.mean(axis=0)
                    total = (centred**2).sum()
                    assert covering.solve(centred, k, time_limit=0.2).bound <= best * total * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("k", [3, 4, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_regions_are_never_above_the_optimum(kind, k):
    """Also with two groups only, a constant column, and an outlier so far away that it is all there is to see."""
    for n in (2 * k, 11):
        X = np.column_stack([points(kind, n, 2, k), np.full(n, 7.0)])
        assert 0 <= lower_bound(X, k, "regions") <= optimum(X, k) * (1 + 1e-9) + 1e-15
        X[0, 0] += 1e12 * np.abs(X).max()
        assert 0 <= lower_bound(X, k, "regions") <= optimum(X, k) * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_centres_are_never_above_the_optimum(kind, k):
    from shoal.partitioning.bounds import centres_bound

    for d in (1, 2):
        X = points(kind, 11, d, k)
        total = ((X - X.mean(axis=0)) ** 2).sum()
        assert lower_bound(X, k, "quick") <= lower_bound(X, k, "centres") <= optimum(X, k) * (1 + 1e-9) + 1e-15
        for cells in (1, 2, 20):
            assert centres_bound(X - X.mean(axis=0), k, cells) <= optimum(X, k) * total * (1 + 1e-9) + 1e-15


def test_centres_come_closer_with_more_cells():
    from shoal.partitioning.bounds import centres_bound

    X = points("normal", 12, 2, 1)
    few, many = centres_bound(X, 3, 30), centres_bound(X, 3, 400)
    best = optimum(X, 3) * ((X - X.mean(axis=0)) ** 2).sum()
    assert few < many <= best
    assert centres_bound(np.repeat(X, 2, axis=0)[:14], 3, 100) >= 0


def test_two_means_in_one_cell():
    """Two pairs of equal records and one cell: it may be used twice."""
    from shoal.partitioning.bounds import centres_bound

    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 2.0], [1.0, 2.0]])
    assert centres_bound(X, 2, 1) <= optimum(X, 2) * ((X - X.mean(axis=0)) ** 2).sum()


def test_many_records():
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    quick = lower_bound(X, 5, n_jobs=2)
    assert quick == lower_bound(X, 5)
    assert 0.4 < quick / shoal.information_loss(X, shoal.partition(X, 5, "mdav*")) < 1
    assert lower_bound(X, 5, "lp", time_limit=1) >= quick * (1 - 1e-12)


def test_one_coordinate_has_its_optimum():
    x = np.random.default_rng(2).normal(size=(500, 1))
    best = shoal.information_loss(x, univariate(x, 4))
    assert lower_bound(x, 4, "lp") == pytest.approx(best, rel=1e-8)
    assert lower_bound(x, 4, "lp") <= best


@pytest.mark.parametrize("effort", ["quick", "lp", "regions", "centres"])
def test_edges(effort):
    X = points("normal", 9, 2, 0)
    assert lower_bound(X, 5, effort) == 1.0
    assert lower_bound(np.full((12, 3), 0.1), 2, effort) == 0.0
    assert lower_bound(np.repeat(X, 3, axis=0), 3, effort) == 0.0
    middle = lower_bound(X, 3, effort)
    for scale in (2.0**490, 2.0**-460):
        assert lower_bound(X * scale, 3, effort) == pytest.approx(middle, rel=1e-5)
    assert lower_bound(X + 1e8, 3, effort) == pytest.approx(middle, rel=1e-5)


def test_labels_and_progress():
    X = points("normal", 60, 3, 1)
    labels = shoal.partition(X, 3, "mdav*")
    seen = []
    bound = lower_bound(X, 3, "lp", labels=labels, time_limit=PATIENCE, progress=seen.append)
    assert bound <= shoal.information_loss(X, labels)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert gap(shoal.information_loss(X, labels), bound) < 0.5
    with pytest.raises(DataError, match=r"at least 4 records\. Got one of 3"):
        lower_bound(X, 4, "lp", labels=np.arange(60) // 3)


def test_what_is_refused():
    X = points("normal", 61, 2, 1)
    with pytest.raises(OptionError, match=r"'quick', 'lp', 'regions' or 'centres'\. Got 'slow'"):
        lower_bound(X, 3, "slow")
    with pytest.raises(OptionError, match="positive number of seconds"):
        lower_bound(X, 3, "lp", time_limit=0)
    with pytest.raises(TooLargeError, match=r"at most 60 records\. Got 61"):
        lower_bound(X, 3, "centres")


def test_the_gap():
    assert gap(0.0, 0.0) == 0.0
    assert gap(0.1, 0.0) == inf
    assert gap(0.11, 0.1) == pytest.approx(0.1)
    assert gap(0.1, 0.1000001) == 0.0
