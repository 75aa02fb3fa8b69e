"""A part is sorted along the direction of its cut, equal values as they were, however many there are."""

import numpy as np
import pytest

from shoal.kernels.halves import MANY, RANGE, halve

VALUES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "few": lambda rng, n: rng.integers(-3, 4, size=n) * 0.1,
    "zeros": lambda rng, n: rng.choice([-0.0, 0.0, 1.0], size=n),
    "negative": lambda rng, n: -rng.integers(0, 50, size=n) - 1e9,
    "scales": lambda rng, n: rng.choice([-1.0, 1.0], size=n) * 2.0 ** rng.integers(-1074, 400, size=n),
    "falling": lambda rng, n: -np.arange(n) * 1.0,
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("n", [9, MANY - 1, MANY, 3 * MANY + 1])
def test_rows_are_sorted_as_by_comparisons(kind, n):
    rng = np.random.default_rng(n)
    X = VALUES[kind](rng, n)[:, None]
    before = rng.permutation(n)
    rows = before.copy()
    assert halve(X, rows, RANGE, 1.0) == n // 2
    np.testing.assert_array_equal(rows, before[np.argsort(X[before, 0], kind="stable")])
