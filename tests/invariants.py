"""What must hold for every partition, whatever the method."""

import numpy as np

import shoal


def check_partition(labels, n, k):
    """n labels of type int64, groups numbered by first appearance, each of at least k records."""
    assert labels.dtype == np.int64
    assert labels.shape == (n,)
    first = [int(np.flatnonzero(labels == g)[0]) for g in range(labels.max() + 1)]
    assert first == sorted(first)
    assert np.bincount(labels).min() >= k


def same_groups(a, b):
    """Whether two labellings are the same partition under other numbers."""
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist())) == len(set(b.tolist()))


def check_permutation(X, k, method, rng, **options):
    """The groups do not depend on the order of the rows (for data without ties)."""
    order = rng.permutation(len(X))
    labels = shoal.partition(X, k, method, **options)
    shuffled = shoal.partition(np.ascontiguousarray(X[order]), k, method, **options)
    assert same_groups(labels[order], shuffled)


def check_threads(X, k, method, **options):
    """One thread and four give the same labels."""
    one = shoal.partition(X, k, method, n_jobs=1, **options)
    four = shoal.partition(X, k, method, n_jobs=4, **options)
    np.testing.assert_array_equal(one, four)
