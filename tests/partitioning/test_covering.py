"""Set partitioning: against enumeration, against a plain mixed-integer programme, and stopped at any moment."""

from functools import partial
from itertools import combinations, pairwise

import numpy as np
import pytest

import naive_approx
from clocks import PATIENCE, Clock
from partitioning.strategies import points as points_of
from shoal.measure import information_loss
from shoal.partitioning import bounds, cover_prices, cover_programme, covering
from shoal.partitioning.cover_cuts import Cut, Cuts
from shoal.partitioning.cover_separation import Separation, multisets, odd_sets
from shoal.partitioning.pool import squared_error

points = partial(points_of, spread=100)


@pytest.mark.parametrize("kind", ["normal", "duplicates", "clustered"])
@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_small_tables_are_settled(kind, k):
    for n in (k, 2 * k - 1, 2 * k, 2 * k + 1, 11):
        X = points(kind, n, 2, k)
        found = covering.solve(X, k, time_limit=PATIENCE)
        best = naive_approx.optimum(X, k)
        assert found.proven
        assert np.bincount(found.labels).min() >= k
        assert found.error == pytest.approx(squared_error(X, found.labels), rel=1e-9, abs=1e-12)
        assert found.error == pytest.approx(best, rel=1e-6, abs=1e-12)
        assert best * (1 - 1e-5) - 1e-12 <= found.bound <= best + 1e-12


def pairs_and_triples(X):
    """The optimum for k = 2 by a mixed-integer programme over all pairs and triples, made of nothing of ours."""
    import scipy.sparse as sp
    from scipy.optimize import Bounds, LinearConstraint, milp

    n = len(X)
    groups = [*combinations(range(n), 2), *combinations(range(n), 3)]
    costs = [((X[list(g)] - X[list(g)].mean(axis=0)) ** 2).sum() for g in groups]
    rows, columns = np.array([(row, c) for c, g in enumerate(groups) for row in g]).T
    A = sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, len(groups)))
    solved = milp(costs, integrality=1, bounds=Bounds(0, 1), constraints=LinearConstraint(A, 1, 1))
    assert solved.status == 0
    return solved.fun


@pytest.mark.parametrize(("n", "d"), [(30, 2), (37, 3), (50, 2)])
def test_pairs_against_a_plain_programme(n, d):
    X = points("normal", n, d, 7)
    found = covering.solve(X, 2, time_limit=PATIENCE)
    assert found.proven
    assert found.error == pytest.approx(pairs_and_triples(X), rel=1e-6)


def test_labels_given_are_used_and_large_groups_split():
    X = points("normal", 40, 2, 1)
    found = covering.solve(X, 3, np.repeat([0, 1], 20), time_limit=PATIENCE)
    assert np.bincount(found.labels).max() < 6
    again = covering.solve(X, 3, found.labels, time_limit=PATIENCE)
    assert again.error <= found.error * (1 + 1e-12)


@pytest.mark.parametrize("ticks", [1, 2, 3, 4, 5, 7, 9, 12, 16, 20, 30, 50, 80])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_the_bound_is_valid_whenever_it_stops(k, ticks, monkeypatch):
    X = points("normal", 24, 3, 0)
    best = covering.solve(X, k, time_limit=PATIENCE)
    assert best.proven
    Clock().give_to(monkeypatch, covering, cover_prices, cover_programme)
    found = covering.solve(X, k, time_limit=ticks)
    assert np.bincount(found.labels).min() >= k
    assert bounds.neighbour_bound(X, k) * (1 - 1e-5) <= found.bound <= best.error * (1 + 1e-9)
    assert found.error >= best.error * (1 - 1e-6)
    assert found.proven <= (found.error <= best.error * (1 + 1e-6))


@pytest.mark.parametrize("limit", [0.5, 2, 20, 50])
def test_the_time_limit_is_kept(limit, monkeypatch):
    clock = Clock().give_to(monkeypatch, covering, cover_prices, cover_programme)
    found = covering.solve(points("normal", 400, 4, 3), 4, time_limit=limit)
    assert clock.now < limit + 20
    assert 0 < found.bound <= found.error


def test_cuts_hold_for_partitions_and_spread_below_what_they_cost():
    rng = np.random.default_rng(3)
    sets = [Cut(tuple(sorted(rng.choice(20, size, replace=False).tolist()))) for size in (3, 3, 5, 7, 9)]
    kinds = ((3, 5), (3, 5), (3, 8), (4, 7), (4, 11), (5, 9))
    sets += [Cut(tuple(sorted(rng.choice(20, size).tolist())), divisor) for divisor, size in kinds]
    sets += [Cut((0, 0, 1, 2, 3), 3), Cut((4, 4, 5, 5, 6, 7, 8), 4), Cut((1, 1, 1, 2, 3, 4, 5), 4)]
    cuts = Cuts(20, sets)
    sigma = rng.random(len(sets))
    for k in (2, 3, 4):
        weights = {size: np.zeros((20, 20)) for size in range(k, 2 * k)}
        for size, dense in weights.items():
            starts, ids, values = cuts.spread(sigma, size)
            for a in range(20):
                dense[a, ids[starts[a] : starts[a + 1]]] = values[starts[a] : starts[a + 1]]
            assert (dense == dense.T).all()
        for _ in range(60):
            order = rng.permutation(20)
            ends = np.cumsum([0] + [k] * (20 // k))
            ends[-1] = 20
            rows = [order[a:b] for a, b in pairwise(ends)]
            groups = np.full((len(rows), 2 * k), 20, np.int32)
            for row, members in zip(groups, rows, strict=True):
                row[: len(members)] = members
            coefficients = cuts.coefficients(groups).toarray()
            for cut, counted in zip(sets, coefficients, strict=True):
                assert counted.tolist() == [sum(cut.rows.count(row) for row in m) // cut.divisor for m in rows]
            assert (coefficients.sum(axis=1) <= cuts.right).all()
            for members, paid in zip(rows, coefficients.T @ sigma, strict=True):
                if len(members) in weights:
                    assert weights[len(members)][np.ix_(members, members)].sum() / 2 <= paid + 1e-12


def test_separation_sees_odd_rings():
    """Halves of the edges of a ring of three, and of five, violate the cut of its records by a half."""
    edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (5, 6), (6, 7), (3, 7), (8, 9)]
    groups = np.array([(a, b, 10) for a, b in edges], np.int32)
    fractions = np.array([0.5] * 8 + [1.0])
    assert set(odd_sets(groups, fractions, 10, 3)) == {Cut((0, 1, 2))}
    rings = {Cut((0, 1, 2)): pytest.approx(0.5), Cut((3, 4, 5, 6, 7)): pytest.approx(0.5)}
    assert odd_sets(groups, fractions, 10, 9) == rings
    assert set(Separation(10, 2).cuts(groups, fractions, [])) == set(rings)
    assert Separation(10, 2).cuts(groups, fractions, list(rings)) == []
    assert Separation(10, 2).cuts(groups, np.ones(9), []) == []


def test_separation_sees_that_few_records_make_few_groups():
    """Eight records that are apart make no more than two groups of three, not 8/3; four make no more than one."""
    groups = np.array([*combinations(range(8), 3), *combinations(range(8, 12), 3)], np.int32)
    fractions = np.array([8 / 3 / 56] * 56 + [1 / 3] * 4)
    assert set(odd_sets(groups, fractions, 12, 3)) == {Cut(rows) for rows in combinations(range(8, 12), 3)}
    found = multisets(groups, fractions, 12, 3, 8, 4, np.ones(1, np.uint64))
    assert found[Cut(tuple(range(8)), 3)] == pytest.approx(2 / 3)
    found = multisets(groups, fractions, 12, 3, 5, 8, np.ones(1, np.uint64))
    assert max(found.values()) == pytest.approx(1 / 3)
    for cut, value in found.items():
        counted = [sum(cut.rows.count(row) for row in group) // 3 for group in groups.tolist()]
        assert value == pytest.approx(np.dot(counted, fractions) - cut.right)
        assert len(cut.rows) == 5


def test_census_pairs(benchmark_table):
    X = benchmark_table("census")
    found = covering.solve(X, 2, time_limit=PATIENCE)
    assert found.proven
    assert 100 * information_loss(X, found.labels) == pytest.approx(2.758267, abs=1e-6)


def test_cuts_of_multisets_close_the_gap():
    """Clusters of eight: fractions of groups would make 8/3 groups of each, which sets of three do not forbid."""
    rng = np.random.default_rng(4)
    X = np.repeat(100 * rng.normal(size=(6, 2)), 8, axis=0) + rng.normal(size=(48, 2))
    found = covering.solve(X, 3, time_limit=PATIENCE)
    assert found.proven
    assert found.error == pytest.approx(sum(naive_approx.optimum(X[8 * c : 8 * c + 8], 3) for c in range(6)), rel=1e-6)


@pytest.mark.parametrize("seed", [1, 2])
def test_prices_with_cuts_hold_for_all_groups_in_plain_numpy(seed, monkeypatch):
    """Before a last programme is solved: no group is cheaper than its records, less what it pays for cuts."""
    monkeypatch.setattr(covering._Search, "prove", lambda *_: False)
    rng, k = np.random.default_rng(seed), 3
    X = np.repeat(100 * rng.normal(size=(2, 2)), 8, axis=0) + rng.normal(size=(16, 2))
    X *= np.sqrt(16 / covering.total_cost(X, labels := covering.ona_star(X, k)))
    search = covering._Search(X, k, covering._small_groups(X, k, labels), np.inf)
    search.run(lambda _: None)
    prices, sigma, bound = search.best
    cuts = search.programme.cuts.all
    assert len(cuts) == len(sigma)
    assert max((cut.divisor for cut, price in zip(cuts, sigma, strict=True) if price > 1e-6), default=0) > 2
    assert (sigma >= 0).all()
    assert bound == pytest.approx(prices.sum() - sum(s * cut.right for cut, s in zip(cuts, sigma, strict=True)))
    assert 0.99 * search.ceiling < bound <= search.ceiling * (1 + 1e-9)
    for size in range(k, 2 * k):
        for group in combinations(range(16), size):
            members = X[list(group)]
            left = ((members - members.mean(axis=0)) ** 2).sum() - prices[list(group)].sum()
            for cut, price in zip(cuts, sigma, strict=True):
                left += price * (sum(cut.rows.count(row) for row in group) // cut.divisor)
            assert left >= -1e-9


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "k", "loss"), [("tarragona", 2, 8.815475), ("eia", 2, 0.178242), ("census", 3, 4.667936)]
)
def test_proven_optima_of_benchmark_tables(name, k, loss, benchmark_table):
    X = benchmark_table(name)
    found = covering.solve(X, k, time_limit=PATIENCE)
    assert found.proven
    assert 100 * information_loss(X, found.labels) == pytest.approx(loss, abs=1e-6)
