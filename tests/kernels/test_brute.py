"""The brute force that the engine is measured against gives the labels of the engine, ties included."""

import numpy as np
import pytest
from benchmarks.brute import METHODS, partition

import shoal

N = 150


def random(rng):
    return rng.normal(size=(N, 3))


def duplicates(rng):
    return rng.normal(size=(N // 4, 4))[rng.integers(N // 4, size=N)]


def lattice(rng):
    return rng.integers(0, 5, size=(N, 2)).astype(float)


def circle(rng):
    angles = 2 * np.pi * np.arange(N) / N
    return np.column_stack([np.cos(angles), np.sin(angles)])


def line(rng):
    return np.outer(np.arange(N), [1.0, 2.0])


def wide(rng):
    return rng.normal(size=(40, 60))


def scales(rng):
    return rng.normal(size=(N, 3)) * [1.0, 1e6, 1e-6]


def outliers(rng):
    return np.exp(3 * rng.normal(size=(N, 3)))


KINDS = (random, duplicates, lattice, circle, line, wide, scales, outliers)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("k", [3, 5])
def test_labels_are_those_of_the_engine(kind, k, method):
    X = kind(np.random.default_rng(k))
    np.testing.assert_array_equal(partition(X, k, method), shoal.partition(X, k, method))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [3, 5, 6, 8, 9, 11])
def test_few_records(n, method):
    X = np.random.default_rng(n).normal(size=(n, 2))
    np.testing.assert_array_equal(partition(X, 3, method), shoal.partition(X, 3, method))
