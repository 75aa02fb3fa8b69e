"""Groups are numbered by first appearance, whatever names they had."""

import numpy as np

from shoal.partitioning.pool import numbered


def test_names_may_be_as_large_as_row_numbers_of_a_large_table():
    """Arrays as long as the largest name would take terabytes."""
    assert numbered(np.array([10**12, 5, 10**12, 7, 5])).tolist() == [0, 1, 0, 2, 1]


def test_near_and_far_names_are_numbered_alike():
    rng = np.random.default_rng(0)
    near = rng.integers(0, 40, 100)
    assert numbered(near * 1_000_003 - 5).tolist() == numbered(near).tolist()
