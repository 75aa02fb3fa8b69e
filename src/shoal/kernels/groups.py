"""Exact sums, means and costs of groups.

A sum is kept as an unevaluated pair of doubles (about 32 digits), so that it does not depend on the order
in which records came and went: a mean is what `math.fsum` divided by the count gives.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import kernel
from shoal.kernels.sums import add_exactly, square_distance


@kernel
def join(X, rows, group, labels, totals, sizes, means):  # type: ignore[no-untyped-def]
    """Add `rows` to `group`: labels int64[n], totals float64[g, 2, d], sizes int64[g], means float64[g, d]."""
    d = X.shape[1]
    for i in rows:
        labels[i] = group
        for j in range(d):
            add_exactly(totals[group], j, X[i, j])
    sizes[group] += rows.shape[0]
    for j in range(d):
        means[group, j] = (totals[group, 0, j] + totals[group, 1, j]) / sizes[group]


@kernel
def mean_of(X, rows):  # type: ignore[no-untyped-def]
    """Mean of `rows` of X: float64[d]."""
    d = X.shape[1]
    total = np.zeros((2, d))
    for i in rows:
        for j in range(d):
            add_exactly(total, j, X[i, j])
    mean = np.empty(d)
    for j in range(d):
        mean[j] = (total[0, j] + total[1, j]) / rows.shape[0]
    return mean


@kernel
def mean_with(total, size, x):  # type: ignore[no-untyped-def]
    """Mean of a group of `size` records with sum `total` float64[2, d] (overwritten) and the record x."""
    mean = np.empty(x.shape[0])
    for j in range(x.shape[0]):
        add_exactly(total, j, x[j])
        mean[j] = (total[0, j] + total[1, j]) / (size + 1)
    return mean


@kernel
def cost_of(X, rows):  # type: ignore[no-untyped-def]
    """Sum of squared distances of `rows` to their mean."""
    mean = mean_of(X, rows)
    total = np.zeros((2, 1))
    for i in rows:
        add_exactly(total, 0, square_distance(X, i, mean))
    return total[0, 0] + total[1, 0]


@kernel
def all_means(X, labels, groups):  # type: ignore[no-untyped-def]
    """Mean of each group: float64[groups, d]."""
    n, d = X.shape
    sizes = np.zeros(groups, np.int64)
    means = np.zeros((groups, d))
    totals = np.zeros((groups, 2, d))
    for i in range(n):
        sizes[labels[i]] += 1
        for j in range(d):
            add_exactly(totals[labels[i]], j, X[i, j])
    for g in range(groups):
        for j in range(d):
            means[g, j] = (totals[g, 0, j] + totals[g, 1, j]) / sizes[g]
    return means


@kernel
def squared_error(X, labels, groups):  # type: ignore[no-untyped-def]
    """Sum over all records of the squared distance to the mean of their group."""
    means = all_means(X, labels, groups)
    total = np.zeros((2, 1))
    for i in range(X.shape[0]):
        add_exactly(total, 0, square_distance(X, i, means[labels[i]]))
    return total[0, 0] + total[1, 0]
