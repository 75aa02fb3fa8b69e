"""Means of groups."""

import numpy as np

from shoal.arrays import group_means


def test_means_of_groups():
    X = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 60.0], [7.0, 0.0]])
    means = group_means(X, np.array([1, 0, 1, 1]))
    assert means.tolist() == [[2.0, 20.0], [11.0 / 3, 70.0 / 3]]


def test_a_group_of_one_record_has_that_record_as_its_mean():
    X = np.random.default_rng(0).normal(size=(9, 3))
    assert (group_means(X, np.arange(9)[::-1]) == X[::-1]).all()
