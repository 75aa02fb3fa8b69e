"""The optimum of a single coordinate, and the best cut of an order."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import shoal
from partitioning.strategies import cases
from shoal.partitioning.paths import mhm


def exact_sse(x, labels):
    """The squared error in rational arithmetic."""
    total = Fraction(0)
    for g in set(labels.tolist()):
        values = [Fraction(float(v)) for v in x[labels == g]]
        mean = sum(values) / len(values)
        total += sum((v - mean) ** 2 for v in values)
    return total


def optimum(x, k):
    """The least squared error of all partitions into stretches, in rational arithmetic."""
    values = sorted(Fraction(float(v)) for v in x)
    n = len(values)
    best = [Fraction(0)] + [None] * n
    for j in range(k, n + 1):
        for i in range(max(0, j - 2 * k + 1), j - k + 1):
            if best[i] is not None:
                mean = sum(values[i:j]) / (j - i)
                value = best[i] + sum((v - mean) ** 2 for v in values[i:j])
                best[j] = value if best[j] is None else min(best[j], value)
    return best[n]


@given(
    k=st.integers(2, 5),
    extra=st.integers(0, 12),
    seed=st.integers(0, 10**6),
    offset=st.sampled_from([0, 1e9, -1e6]),
)
def test_is_the_optimum_in_exact_arithmetic(k, extra, seed, offset):
    x = offset + np.random.default_rng(seed).normal(size=k + extra) * 1e-3
    labels = shoal.partition(x[:, None], k, "univariate")
    found, best = exact_sse(x, labels), optimum(x, k)
    assert found == best or float((found - best) / best) < 1e-9


@pytest.mark.parametrize("k", [2, 3, 5, 10])
@pytest.mark.parametrize("size", ["k", "2k-1", "2k", "2k+1", "3k"])
def test_sizes_at_which_the_number_of_groups_changes(k, size):
    n = {"k": k, "2k-1": 2 * k - 1, "2k": 2 * k, "2k+1": 2 * k + 1, "3k": 3 * k}[size]
    rng = np.random.default_rng(n)
    for _ in range(20):
        x = rng.normal(size=n)
        labels = shoal.partition(x[:, None], k, "univariate")
        found, best = exact_sse(x, labels), optimum(x, k)
        assert float(found) == pytest.approx(float(best), rel=1e-12)


def test_labels_belong_to_the_rows_not_to_the_sorted_values():
    # microagg1d 0.4.0 returns labels in sorted order at n = 2k; the rows here are not sorted.
    x = np.array([[5.0], [1.0], [6.0], [2.0]])
    assert shoal.partition(x, 2, "univariate").tolist() == [0, 1, 0, 1]


def test_digits_survive_a_large_offset():
    x = np.random.default_rng(0).normal(size=300)
    x = np.round(x * 2**20) / 2**20  # so that the offset is exact
    np.testing.assert_array_equal(
        shoal.partition(x[:, None], 4, "univariate"), shoal.partition((x + 2.0**30)[:, None], 4, "univariate")
    )


@given(case=cases(most_records=13, most_columns=3, largest_k=4))
def test_cut_of_any_order_is_the_best_one(case):
    _, X, k = case
    order = np.random.default_rng(len(X)).permutation(len(X))
    labels = mhm(X, order, k)
    groups = [np.flatnonzero(labels == g) for g in np.unique(labels)]
    found = math.fsum(naive.cost(X[g]) for g in groups)
    best = naive.optimal_cut_cost(X, order.tolist(), k)
    assert found == pytest.approx(best, rel=1e-9, abs=1e-12 * (1 + abs(X).max() ** 2 * 1e-4))


def test_many_equal_values():
    x = np.repeat([1.0, 2.0, 3.0], [40_000, 1, 40_000])[:, None]
    labels = shoal.partition(x, 3, "univariate")
    assert shoal.information_loss(x, labels) < 1e-5


def test_needs_a_single_coordinate():
    with pytest.raises(shoal.ShoalError, match=r"exactly one coordinate\. Got 2"):
        shoal.partition(np.zeros((4, 2)), 2, "univariate")
