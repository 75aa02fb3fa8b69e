"""Distances and sums as every method of the house computes them, to the bit.

A squared distance is summed coordinate by coordinate. A sum is kept in unevaluated parts, so that it does not depend on
the order in which records came and went.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import inlined, inner, kernel, lent


@lent
def square_distance(X, i, q):  # type: ignore[no-untyped-def]
    """Squared distance of row i of X to q, summed coordinate by coordinate."""
    acc = 0.0
    for j in range(q.shape[0]):
        t = X[i, j] - q[j]
        acc += t * t
    return acc


@inlined
def equal_rows(X, i, j):  # type: ignore[no-untyped-def]
    """Whether rows i and j of X are equal."""
    c = 0
    while c < X.shape[1] and X[i, c] == X[j, c]:
        c += 1
    return c == X.shape[1]


@lent
def add_exactly(pair, j, x):  # type: ignore[no-untyped-def]
    """Add x to the unevaluated sum pair[0, j] + pair[1, j] (error-free transformation)."""
    high = pair[0, j]
    total = high + x
    part = total - high
    error = (high - (total - part)) + (x - part) + pair[1, j]
    pair[0, j] = total + error
    pair[1, j] = error - (pair[0, j] - total)


@lent
def add_at_length(parts, j, x):  # type: ignore[no-untyped-def]
    """Add x to the unevaluated sum of parts[:, j], the error of each part going into the next.

    Four parts keep the sum exact when records that are 1e30 times larger than the others come and go.
    """
    for c in range(parts.shape[0]):
        old = parts[c, j]
        new = old + x
        part = new - old
        x = (old - (new - part)) + (x - part)
        parts[c, j] = new


@kernel
def add_all(X, rows, parts):  # type: ignore[no-untyped-def]
    """Add some rows of X to the unevaluated sums `parts`."""
    for i in rows:
        for j in range(X.shape[1]):
            add_at_length(parts, j, X[i, j])


@inner
def rounded_sum(parts, j):  # type: ignore[no-untyped-def]
    """The sum of parts[:, j], rounded once (as `math.fsum`)."""
    kept = np.empty(parts.shape[0])
    count = 0
    for c in range(parts.shape[0]):
        x = parts[c, j]
        i = 0
        for p in range(count):
            y = kept[p]
            if abs(x) < abs(y):
                x, y = y, x
            high = x + y
            low = y - (high - x)
            if low != 0:
                kept[i] = low
                i += 1
            x = high
        kept[i] = x
        count = i + 1
    high, low = 0.0, 0.0
    while count > 0 and low == 0:
        count -= 1
        x, y = high, kept[count]
        high = x + y
        low = y - (high - x)
    # Halfway between two numbers, what is left decides.
    if count > 0 and ((low < 0 and kept[count - 1] < 0) or (low > 0 and kept[count - 1] > 0)):
        twice = 2 * low
        x = high + twice
        if twice == x - high:
            high = x
    return high


@kernel
def exact_mean(X):  # type: ignore[no-untyped-def]
    """Mean of all rows of X, from exact sums, or their value if they are all equal: float64[d]."""
    n, d = X.shape
    total, mean = np.zeros((4, d)), np.empty(d)
    equal = True
    for i in range(n):
        equal = equal and equal_rows(X, 0, i)
        for j in range(d):
            add_at_length(total, j, X[i, j])
    for j in range(d):
        mean[j] = X[0, j] + 0.0 if equal else rounded_sum(total, j) / n
    return mean
