"""The best cut into large groups is that of the plain programme, to the last tie."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.kernels.cuts import cut_values
from shoal.kernels.monotone_cuts import cut_many
from shoal.partitioning import paths


def tables(n, rng):
    """Values of many kinds, by name."""
    halves = rng.normal(size=n)
    return {
        "normal": rng.normal(size=n),
        "far from zero": 1e9 + rng.random(n),
        "farther": 1e15 + rng.integers(0, 10**6, size=n) * 0.125,
        "skewed": np.exp(5 * rng.normal(size=n)),
        "heavy tails": rng.standard_cauchy(size=n),
        "few different": rng.integers(0, 9, size=n) * 0.1,
        "some equal": rng.integers(0, n, size=n) * 0.1,
        "each twice": np.repeat(halves, 2)[:n],
        "mirrored": np.append(halves[: n // 2], -halves[: n - n // 2]),
        "evenly spaced": np.arange(n) * 1.0,
        "equal": np.ones(n),
        "clumps": np.repeat(halves, 7)[:n] + 1e-9 * rng.normal(size=n),
        "one far away": np.append(rng.normal(size=n - 1), 1e12),
        "tiny": 1e-130 * rng.normal(size=n),
        "huge": 1e140 * rng.normal(size=n),
    }


@pytest.mark.parametrize("k", [2, 3, 7, 20, 63, 64, 65, 100, 130])
def test_cuts_are_those_of_the_plain_programme(k):
    rng = np.random.default_rng(k)
    decided = 0
    for n in sorted({k, k + 1, 2 * k - 1, 2 * k, 2 * k + 1, 3 * k - 1, 3 * k, 3 * k + 1, 5 * k + 3, 900}):
        for name, y in tables(n, rng).items():
            y = np.sort(y)
            found = cut_many(y, k)
            if len(found):
                decided += 1
                np.testing.assert_array_equal(found, cut_values(y, k), err_msg=f"{name}, n = {n}")
    assert decided > 60


@given(k=st.integers(2, 12), n=st.integers(0, 80), different=st.integers(1, 60), seed=st.integers(0, 10**6))
def test_ties_are_settled_as_there_or_left_open(k, n, different, seed):
    y = np.sort(np.random.default_rng(seed).integers(0, different, size=k + n) * 0.1)
    found = cut_many(y, k)
    if len(found):
        np.testing.assert_array_equal(found, cut_values(y, k))


@pytest.mark.parametrize(
    ("name", "n", "k"),
    [("normal", 20_000, 100), ("skewed", 20_000, 100), ("far from zero", 20_000, 300), ("normal", 5_000, 1000)],
)
def test_usual_values_are_decided_here(name, n, k):
    y = np.sort(tables(n, np.random.default_rng(0))[name])
    np.testing.assert_array_equal(cut_many(y, k), cut_values(y, k))


@pytest.mark.parametrize(
    ("name", "n", "k"), [("equal", 500, 10), ("evenly spaced", 3000, 10), ("few different", 900, 3)]
)
def test_too_many_ties_are_left_to_the_plain_programme(name, n, k):
    assert not len(cut_many(np.sort(tables(n, np.random.default_rng(0))[name]), k))


@pytest.mark.parametrize("values", [[0.0, 1e-200, 1.0, 2.0], [-1e150, 0.0, 1.0, 1e150]])
def test_squares_that_are_rounded_off_are_left_to_the_plain_programme(values):
    assert not len(cut_many(np.array(values), 2))


@pytest.mark.parametrize("k", [100, 101, 250])
@pytest.mark.parametrize("parts", [1, 2, 3, 20])
def test_labels_of_rows_do_not_depend_on_the_search(k, parts):
    rng = np.random.default_rng(parts)
    for extra in (-1, 0, 1):
        for x in tables(max(k, parts * k + extra), rng).values():
            x = rng.permutation(x)[:, None]
            labels = shoal.partition(x, k, "univariate")
            with patch.object(paths, "LARGE", 10**9):
                np.testing.assert_array_equal(labels, shoal.partition(x, k, "univariate"))


@pytest.mark.parametrize(("k", "n"), [(8, 21), (30, 77), (30, 110)])
def test_ties_but_for_rounding_go_as_in_the_plain_programme(k, n):
    y = np.arange(n) * 0.1
    np.testing.assert_array_equal(cut_many(y, k), cut_values(y, k))
