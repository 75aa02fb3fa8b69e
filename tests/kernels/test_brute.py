"""The brute force that the engine is measured against gives the labels of the engine, ties included."""

import numpy as np
import pytest
from benchmarks.brute import METHODS, partition

import shoal
from shoal.partitioning import refine

FEW, MANY = 150, 2500  # the latter is beyond what plain loops are used for


def random(rng, n):
    return rng.normal(size=(n, 3))


def duplicates(rng, n):
    return rng.normal(size=(n // 4, 4))[rng.integers(n // 4, size=n)]


def lattice(rng, n):
    return rng.integers(0, 5 + n // 100, size=(n, 2)).astype(float)


def circle(rng, n):
    angles = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(angles), np.sin(angles)])


def line(rng, n):
    return np.outer(np.arange(n), [1.0, 2.0])


def wide(rng, n):
    return rng.normal(size=(n // 4, n // 3))


def scales(rng, n):
    return rng.normal(size=(n, 3)) * [1.0, 1e6, 1e-6]


def outliers(rng, n):
    return np.exp(3 * rng.normal(size=(n, 3)))


KINDS = (random, duplicates, lattice, circle, line, wide, scales, outliers)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("k", [3, 5])
def test_labels_are_those_of_the_engine(kind, k, method):
    X = kind(np.random.default_rng(k), FEW)
    np.testing.assert_array_equal(partition(X, k, method), shoal.partition(X, k, method))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not wide], ids=lambda kind: kind.__name__)
def test_labels_are_those_of_the_engine_on_tables_with_a_deep_tree(kind, method):
    X = kind(np.random.default_rng(0), MANY)
    expected = partition(X, 4, method)
    np.testing.assert_array_equal(expected, shoal.partition(X, 4, method))
    np.testing.assert_array_equal(expected, shoal.partition(X, 4, method, n_jobs=2))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not wide], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_labels_do_not_depend_on_how_many_changes_are_remembered(kind, n_jobs, monkeypatch):
    """Small tables never have as many changes as are remembered: with few of them, rounds search anew all the time."""
    X = kind(np.random.default_rng(1), MANY)
    expected = shoal.partition(X, 4, "ona*")
    monkeypatch.setattr(refine, "LOG", 64)
    np.testing.assert_array_equal(expected, shoal.partition(X, 4, "ona*", n_jobs=n_jobs))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [3, 5, 6, 8, 9, 11])
def test_few_records(n, method):
    X = np.random.default_rng(n).normal(size=(n, 2))
    np.testing.assert_array_equal(partition(X, 3, method), shoal.partition(X, 3, method))
