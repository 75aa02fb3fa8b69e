"""The audit itself: it lets an honest Laplace mechanism pass, and catches one with half the noise."""

import numpy as np
import pytest
from benchmarks.auditing import empirical_epsilon, lower_epsilon, share_interval

from auditing import largest_change

RUNS = 40_000


def laplace(count, scale, seed):
    return count + np.random.default_rng(seed).laplace(0, scale, RUNS)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_an_honest_mechanism_passes_and_half_the_noise_is_caught(epsilon):
    honest = empirical_epsilon(laplace(10, 1 / epsilon, 1), laplace(11, 1 / epsilon, 2))
    assert 0.8 * epsilon < honest <= epsilon
    assert empirical_epsilon(laplace(10, 0.5 / epsilon, 1), laplace(11, 0.5 / epsilon, 2)) > 1.5 * epsilon


def test_what_only_one_table_can_give_is_found():
    """An exact figure: there is no epsilon at all, and the bound grows with the runs."""
    assert empirical_epsilon(np.full(RUNS, 7), np.full(RUNS, 8)) > 8
    kept = np.random.default_rng(0).random(RUNS) < 0.05
    assert empirical_epsilon(kept.astype(int), np.zeros(RUNS, int), delta=0.01) > 4
    assert empirical_epsilon(kept.astype(int), np.zeros(RUNS, int), delta=0.06) == 0


def test_equal_outputs_give_nothing():
    assert empirical_epsilon(laplace(10, 1, 1), laplace(10, 1, 2)) < 0.1


def test_the_interval_of_a_share():
    """Clopper and Pearson, 95 % on both sides together, and its ends."""
    assert share_interval(8, 20, 0.025) == pytest.approx((0.1912, 0.6395), abs=1e-4)
    assert share_interval(0, 20, 0.025) == pytest.approx((0, 1 - 0.025 ** (1 / 20)))
    assert share_interval(20, 20, 0.025) == pytest.approx((0.025 ** (1 / 20), 1))
    assert lower_epsilon((0, 0), (20, 20)) == 0


def test_the_largest_change():
    tables, near = [np.array([0, 1]), np.array([2, 2])], [np.array([1, 3]), np.array([2, 2])]
    assert largest_change(lambda x: x, tables, near) == 3
    assert largest_change(lambda x: x, tables, near, order=np.inf) == 2
