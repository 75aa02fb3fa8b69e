"""Neighbours of small tables are found without an index, and are those that it finds."""

import numpy as np
import pytest

from shoal.partitioning import pool


@pytest.mark.parametrize("decimals", [0, 1, 12])
@pytest.mark.parametrize("m", [0, 1, 4, 59])
@pytest.mark.parametrize("n", [60, 64, 150])
def test_small_tables_have_the_neighbours_of_an_index(monkeypatch, decimals, m, n):
    X = np.round(np.random.default_rng(m).normal(size=(n, 3)), decimals)
    rows, squares = pool.nearest_others(X, m)
    monkeypatch.setattr(pool, "SMALL_TABLE", 0)
    indexed_rows, indexed_squares = pool.nearest_others(X, m)
    np.testing.assert_array_equal(rows, indexed_rows)
    np.testing.assert_array_equal(squares, indexed_squares)


@pytest.mark.parametrize("small", [0, 1000])
@pytest.mark.parametrize("jobs", [1, 2])
def test_rows_that_do_not_matter_are_nobodys_neighbours(monkeypatch, small, jobs):
    monkeypatch.setattr(pool, "SMALL_TABLE", small)
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(3000, 2)), 1)
    rows = np.flatnonzero(rng.random(len(X)) < 0.3)
    found, squares = pool.nearest_others(X, 4, jobs, rows)
    alone, same = pool.nearest_others(np.ascontiguousarray(X[rows]), 4, jobs)
    np.testing.assert_array_equal(found, rows[alone])
    np.testing.assert_array_equal(squares, same)
