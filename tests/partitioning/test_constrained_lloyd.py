"""PCL: its flow is as cheap as a dense solution, its rounds only ever lower the squared error.

The oracle of the assignment is dense and plain, in three ways: an assignment problem (`cheapest`), a linear
programme (`cheapest_by_programme`), and on tiny tables all assignments one after the other (`cheapest_of_all`).
"""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import linear_sum_assignment, linprog

import naive
from invariants import check_partition, same_groups
from partitioning.strategies import KINDS, cases, table
from shoal.partitioning import constrained_lloyd
from shoal.partitioning.constrained_lloyd import (
    _Rounds,
    assign,
    dissolved,
    divided,
    exchanged,
    group_costs,
    improvement,
    pcl,
)
from shoal.partitioning.pool import numbered, squared_error

MDAV = {3: 5.692, 5: 9.088, 10: 14.156}
ENDS = {3: 5.035, 5: 7.636, 10: 11.720}


# --- the oracle ------------------------------------------------------------------------------------------------------


def distances(X, centres):
    """Squared distances of all records to all centres."""
    return np.array([naive.sqdist(centres, x) for x in X])


def cheapest(D, k):
    """Least cost of giving every row of D a column, each column k times or more.

    As an assignment problem: every column has k places, and the rows left over go wherever it is cheapest.
    """
    n, g = D.shape
    places = np.column_stack([np.repeat(D, k, axis=1), np.repeat(D.min(axis=1)[:, None], n - g * k, axis=1)])
    return places[linear_sum_assignment(places)].sum()


def cheapest_by_programme(D, k):
    """The same as a dense linear programme, scaled as its solver has absolute tolerances (1e-7 if not told)."""
    n, g = D.shape
    scale = max(D.max(), 1e-300)
    one_group = np.kron(np.eye(n), np.ones(g))
    sizes = np.kron(np.ones(n), np.eye(g))
    tolerances = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    solved = linprog(
        D.ravel() / scale,
        A_ub=-sizes,
        b_ub=-np.full(g, k),
        A_eq=one_group,
        b_eq=np.ones(n),
        options=tolerances,
    )
    assert solved.status == 0
    return solved.fun * scale


def cheapest_of_all(D, k):
    """The same by trying everything."""
    n, g = D.shape
    ways = (way for way in product(range(g), repeat=n) if np.bincount(way, minlength=g).min() >= k)
    return min(D[np.arange(n), list(way)].sum() for way in ways)


def problem(seed, most=60):
    """Return X, centres, k and a feasible start, with ties and duplicates of records and of centres."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 7))
    n = int(rng.integers(k, most))
    X = table(KINDS[seed % len(KINDS)], n, int(rng.integers(1, 6)), rng)
    g = n // k if rng.random() < 0.4 else int(rng.integers(1, n // k + 1))
    centres = X[rng.integers(0, n, size=g)]
    if rng.random() < 0.5:
        centres = centres + rng.normal(size=centres.shape) * X.std()
    if rng.random() < 0.3:
        centres[: g // 2] += 100 * (1 + X.std())
    return X, np.ascontiguousarray(centres), k, rng.permutation(np.arange(n) % g)


def check_assignment(found, X, centres, k, least):
    D = distances(X, centres)
    assert np.bincount(found.labels, minlength=len(centres)).min() >= k
    assert (found.prices >= 0).all()
    assert found.cost == pytest.approx(D[np.arange(len(X)), found.labels].sum(), rel=1e-12)
    assert found.cost == pytest.approx(least, rel=1e-9, abs=1e-300)
    assert found.bound == pytest.approx(least, rel=1e-9, abs=1e-9 * D.max())
    # The proof, with every arc: nobody would rather be elsewhere, and only full groups have a price.
    values = D - found.prices
    here = values[np.arange(len(X)), found.labels]
    assert (here <= values.min(axis=1) + 1e-11 * (1e-300 + D.max() + found.prices.max())).all()
    assert (np.bincount(found.labels, minlength=len(centres))[found.prices > 0] == k).all()


# --- the assignment --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("near", [1, 2, 8])
@pytest.mark.parametrize("part", range(9))
def test_assignment_is_the_cheapest(monkeypatch, near, part):
    """The fewer arcs there are at first, the more has to be found by the proof."""
    monkeypatch.setattr(constrained_lloyd, "NEAR", near)
    for seed in range(part, 450, 9):
        X, centres, k, start = problem(seed)
        check_assignment(assign(X, centres, k, start), X, centres, k, cheapest(distances(X, centres), k))


def test_assignment_costs_what_a_linear_programme_costs():
    for seed in range(100):
        X, centres, k, start = problem(seed, most=30)
        D = distances(X, centres)
        assert cheapest_by_programme(D, k) == pytest.approx(cheapest(D, k), rel=1e-9, abs=1e-9 * D.max())
        check_assignment(assign(X, centres, k, start), X, centres, k, cheapest(D, k))


def test_assignment_is_the_cheapest_of_all_there_are():
    for seed in range(60):
        X, centres, k, start = problem(seed, most=8)
        if len(centres) ** len(X) > 5000:
            continue
        least = cheapest_of_all(distances(X, centres), k)
        check_assignment(assign(X, centres, k, start), X, centres, k, least)


def test_assignment_from_the_prices_of_other_centres_is_as_cheap():
    for seed in range(200):
        X, centres, k, start = problem(seed)
        last = assign(X, centres, k, start)
        rng = np.random.default_rng(seed)
        moved = centres + rng.normal(size=centres.shape) * X.std() * rng.choice([0.0, 1e-3, 1.0])
        found = assign(X, moved, k, last.labels, last)
        check_assignment(found, X, moved, k, cheapest(distances(X, moved), k))


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_assignment_does_not_depend_on_units(scale):
    for seed in range(50):
        X, centres, k, start = problem(seed)
        X, centres = X * scale, centres * scale
        check_assignment(assign(X, centres, k, start), X, centres, k, cheapest(distances(X, centres), k))


def test_a_table_of_some_size():
    X = np.random.default_rng(0).normal(size=(900, 4))
    start = numbered(np.arange(900) % 60)
    centres = X[:60] * 3
    check_assignment(assign(X, centres, 14, start), X, centres, 14, cheapest(distances(X, centres), 14))


# --- proposals -------------------------------------------------------------------------------------------------------


def test_without_foresight_an_exchange_is_lloyds_assignment():
    X = np.random.default_rng(1).normal(size=(80, 2))
    labels = numbered(naive.mdav(X, 4))
    centres = np.array([naive.mean(X[labels == g]) for g in range(labels.max() + 1)])
    found = assign(X, centres, 4, labels)
    arcs = constrained_lloyd._arcs(X, centres, np.arange(len(X) * len(centres)))
    swapped = exchanged(arcs, labels, 4, 0.0, np.zeros(len(centres)))
    D = distances(X, centres)
    assert D[np.arange(80), swapped].sum() == pytest.approx(found.cost, rel=1e-12)


def test_improvement_judges_independent_parts_by_themselves():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [100.0], [101.0], [110.0], [111.0]])
    labels = np.array([0, 1, 0, 1, 2, 2, 3, 3])
    proposed = np.array([0, 0, 1, 1, 2, 3, 2, 3])
    np.testing.assert_array_equal(improvement(X, labels, proposed), [0, 0, 1, 1, 2, 2, 3, 3])
    np.testing.assert_array_equal(improvement(X, labels, labels), labels)
    np.testing.assert_array_equal(improvement(X * 0, labels, proposed), labels)


def test_group_costs_are_those_of_the_oracle():
    X = np.random.default_rng(2).normal(size=(20, 3)) + 1e6
    labels = np.repeat([0, 2, 3], [5, 5, 10])
    want = [naive.cost(X[:5]), 0.0, naive.cost(X[5:10]), naive.cost(X[10:])]
    np.testing.assert_allclose(group_costs(X, labels, 4), want, rtol=1e-9)


def test_large_groups_are_split_alone_or_two_into_three():
    X = np.array([[0.0], [0.1], [9.0], [9.1], [100.0], [100.1], [100.2]])
    labels = np.array([0, 0, 0, 0, 1, 1, 1])
    assert same_groups(divided(X, labels, 2, 0), np.array([0, 0, 1, 1, 2, 2, 2]))
    X = np.array([[0.0], [0.1], [4.9], [5.1], [10.0], [10.1]])
    labels = np.array([0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(divided(X, labels, 2, 0), labels)
    assert same_groups(divided(X, labels, 2, 1), np.array([0, 0, 1, 1, 2, 2]))
    np.testing.assert_array_equal(divided(X, labels, 2, 2), labels)


def test_a_group_between_two_others_is_dissolved():
    X = np.array([[0.0], [0.1], [0.2], [10.0], [0.1], [10.1], [10.2], [9.9]])
    labels = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    centres = np.array([naive.mean(X[labels == g]) for g in range(3)])
    arcs = constrained_lloyd._arcs(X, centres, np.arange(24))
    assert same_groups(dissolved(X, labels, arcs), np.array([0, 0, 0, 2, 0, 2, 2, 2]))


# --- the method ------------------------------------------------------------------------------------------------------


@given(case=cases())
def test_groups_hold_k_and_the_error_never_exceeds_that_of_the_start(case):
    _, X, k = case
    labels = pcl(X, k)
    check_partition(numbered(labels), len(X), k)
    assert squared_error(X, labels) <= squared_error(X, naive.mdav_star(X, k))


@pytest.mark.parametrize("start", ["mdav*", "mdav", "mondrian-v"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_error_falls_with_whatever_is_taken_over(monkeypatch, kind, start):
    errors = []
    accept = _Rounds._accept

    def watched(rounds, proposed):
        before, labels = rounds.error, rounds.labels
        accept(rounds, proposed)
        assert rounds.error < before or rounds.labels is labels
        assert rounds.error == squared_error(X, rounds.labels)
        assert np.bincount(rounds.labels).min() >= 3
        errors.append(rounds.error)

    monkeypatch.setattr(_Rounds, "_accept", watched)
    X = table(kind, 130, 3, np.random.default_rng(5))
    labels = pcl(X, 3, start=start)
    assert squared_error(X, labels) == errors[-1] == min(errors)


def test_when_it_ends_no_assignment_to_its_means_is_better():
    X = np.random.default_rng(3).normal(size=(150, 2))
    labels = pcl(X, 5)
    means = np.array([naive.mean(X[labels == g]) for g in range(labels.max() + 1)])
    assert cheapest(distances(X, means), 5) == pytest.approx(squared_error(X, labels), rel=1e-9)


def exact_error(X, labels):
    """Return the squared error of groups of one coordinate in exact arithmetic: that of equal records is 0."""
    total = Fraction(0)
    for group in range(labels.max() + 1):
        values = [Fraction(float(x)) for x in X[labels == group, 0]]
        total += sum(v * v for v in values) - sum(values) ** 2 / len(values)
    return total


@given(case=cases(one_column=True, most_records=40, largest_k=8))
def test_no_partition_is_better_than_the_optimum_of_one_column(case):
    _, X, k = case
    optimum = exact_error(X, naive.univariate(X, k))
    assert exact_error(X, pcl(X, k)) >= optimum * Fraction(1 - 1e-9)


def test_the_same_labels_again_and_in_any_number_of_threads():
    tables = [table(kind, 90, 4, np.random.default_rng(6)) for kind in KINDS]
    wanted = [pcl(X, 4) for X in tables]
    with ThreadPoolExecutor(4) as threads:
        for labels, again in zip(wanted, threads.map(lambda X: pcl(X, 4), tables), strict=True):
            np.testing.assert_array_equal(labels, again)


def test_the_order_of_the_rows_does_not_matter_without_ties():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(200, 3))
    order = rng.permutation(200)
    assert same_groups(pcl(X, 4)[order], pcl(np.ascontiguousarray(X[order]), 4))


def test_progress_rises():
    told = []
    pcl(np.random.default_rng(8).normal(size=(100, 3)), 3, report=told.append)
    assert told == sorted(told)
    assert 0 <= told[0] <= told[-1] <= 1


@pytest.mark.parametrize("k", MDAV)
def test_census_is_clearly_below_mdav(benchmark_table, k):
    X = benchmark_table("census")
    loss = 100 * squared_error(X, pcl(X, k)) / squared_error(X, np.zeros(len(X), np.int64))
    assert loss < 0.9 * MDAV[k]
    assert loss == pytest.approx(ENDS[k], abs=0.02)
