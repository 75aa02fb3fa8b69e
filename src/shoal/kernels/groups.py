"""Exact sums, means and costs of groups.

A sum is kept as an unevaluated pair of doubles (about 32 digits), so that it does not depend on the order
in which records came and went: a mean is what `math.fsum` divided by the count gives.

That is rounded twice, and could miss the value of records that are all equal by its last digit (0.1, three times).
Their mean is their value: a group of equal records costs nothing, and no move out of it seems to gain.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import kernel, lent
from shoal.kernels.sums import add_exactly, equal_rows, square_distance

# In place of a row that all records of a group are equal to.
DIFFERENT = -1


@lent
def common(X, rows, one):  # type: ignore[no-untyped-def]
    """Row `one` if `rows` of X are all equal to it; DIFFERENT if not, or if `one` is that."""
    p = 0
    while one != DIFFERENT and p < rows.shape[0]:
        if not equal_rows(X, one, rows[p]):
            one = np.int64(DIFFERENT)
        p += 1
    return one


@lent
def write_mean(X, one, total, size, mean):  # type: ignore[no-untyped-def]
    """Write the mean of `size` records with sum `total` float64[2, d] to `mean`; row `one` if they are equal to it."""
    for j in range(mean.shape[0]):
        # A zero is written without its sign.
        mean[j] = (total[0, j] + total[1, j]) / size if one == DIFFERENT else X[one, j] + 0.0


@lent
def join(X, rows, group, made):  # type: ignore[no-untyped-def]
    """Add `rows` to a group of `made` (`shoal.kernels.growth.Made`)."""
    total = made.totals[group]
    made.kinds[group] = common(X, rows, made.kinds[group] if made.sizes[group] > 0 else rows[0])
    for i in rows:
        made.labels[i] = group
        for j in range(X.shape[1]):
            add_exactly(total, j, X[i, j])
    made.sizes[group] += rows.shape[0]
    write_mean(X, made.kinds[group], total, made.sizes[group], made.means[group])


@kernel
def join_rows(X, rows, group, made):  # type: ignore[no-untyped-def]
    """Add `rows` to a group of `made`: `join`, for callers that are not compiled."""
    join(X, rows, group, made)


@lent
def write_mean_of(X, rows, total, mean):  # type: ignore[no-untyped-def]
    """Write the mean of `rows` of X to `mean` float64[d]; `total` float64[2, d + 1] is for work."""
    d = X.shape[1]
    for j in range(d):
        total[0, j], total[1, j] = 0.0, 0.0
    for i in rows:
        for j in range(d):
            add_exactly(total, j, X[i, j])
    write_mean(X, common(X, rows, rows[0]), total, rows.shape[0], mean)


@kernel
def mean_of(X, rows):  # type: ignore[no-untyped-def]
    """Mean of `rows` of X: float64[d]."""
    mean = np.empty(X.shape[1])
    write_mean_of(X, rows, np.empty((2, X.shape[1] + 1)), mean)
    return mean


@lent
def write_mean_with(X, row, group, made, total, mean):  # type: ignore[no-untyped-def]
    """Write the mean of a group of `made` and one more row of X to `mean`; `total` float64[2, d + 1] is for work."""
    for j in range(X.shape[1]):
        total[0, j], total[1, j] = made.totals[group, 0, j], made.totals[group, 1, j]
        add_exactly(total, j, X[row, j])
    one = made.kinds[group]
    if one != DIFFERENT and not equal_rows(X, one, row):
        one = np.int64(DIFFERENT)
    write_mean(X, one, total, made.sizes[group] + 1, mean)


@lent
def cost_within(X, rows, total, mean):  # type: ignore[no-untyped-def]
    """Sum of squared distances of `rows` to their mean; `total` float64[2, d + 1], `mean` float64[d] are for work."""
    write_mean_of(X, rows, total, mean)
    last = X.shape[1]
    total[0, last], total[1, last] = 0.0, 0.0
    for i in rows:
        add_exactly(total, last, square_distance(X, i, mean))
    return total[0, last] + total[1, last]


@kernel
def cost_of(X, rows):  # type: ignore[no-untyped-def]
    """Sum of squared distances of `rows` to their mean."""
    return cost_within(X, rows, np.empty((2, X.shape[1] + 1)), np.empty(X.shape[1]))


@kernel
def all_means(X, labels, groups):  # type: ignore[no-untyped-def]
    """Mean of each group, NaN for a number that none has: float64[groups, d]."""
    n, d = X.shape
    sizes, kinds = np.zeros(groups, np.int64), np.full(groups, DIFFERENT)
    means = np.empty((groups, d))
    totals = np.zeros((groups, 2, d))
    for i in range(n):
        group = labels[i]
        if sizes[group] == 0:
            kinds[group] = i
        elif kinds[group] != DIFFERENT and not equal_rows(X, kinds[group], i):
            kinds[group] = DIFFERENT
        sizes[group] += 1
        for j in range(d):
            add_exactly(totals[group], j, X[i, j])
    for group in range(groups):
        write_mean(X, kinds[group], totals[group], sizes[group], means[group])
    return means


@kernel
def squared_error(X, labels, groups):  # type: ignore[no-untyped-def]
    """Sum over all records of the squared distance to the mean of their group."""
    means = all_means(X, labels, groups)
    total = np.zeros((2, 1))
    for i in range(X.shape[0]):
        add_exactly(total, 0, square_distance(X, i, means[labels[i]]))
    return total[0, 0] + total[1, 0]
