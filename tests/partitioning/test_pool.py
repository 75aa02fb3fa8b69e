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
