"""Median cuts: halving a set of records along the direction in which it spreads most."""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import kernel

RANGE, VARIANCE, DIAGONALS = 0, 1, 2
SLACK = 1.0 + 1e-9


@kernel
def _widest(X, rows):  # type: ignore[no-untyped-def]
    """Coordinate with the widest range among `rows`; the first on ties."""
    d = X.shape[1]
    low, high = X[rows[0]].copy(), X[rows[0]].copy()
    for i in rows:
        for j in range(d):
            low[j] = min(low[j], X[i, j])
            high[j] = max(high[j], X[i, j])
    best = 0
    for j in range(d):
        if high[j] - low[j] > high[best] - low[best]:
            best = j
    return best


@kernel
def _most_varied(X, rows, diagonals, weight):  # type: ignore[no-untyped-def]
    """Direction of largest variance: (i, i, 0) for a coordinate, (i, j, +-1) for a diagonal.

    Sums run over `rows` in the order given. The variance along (x_i +- x_j) / sqrt(2) is
    (var_i + var_j) / 2 +- cov_ij, times `weight`. A later direction must be better by more than rounding:
    standardised columns all have the same variance, and noise is not to choose among them.
    """
    d = X.shape[1]
    mean = np.zeros(d)
    for i in rows:
        for j in range(d):
            mean[j] += X[i, j]
    for j in range(d):
        mean[j] /= rows.shape[0]
    spread = np.zeros((d, d) if diagonals else (1, d))
    step = np.empty(d)
    for i in rows:
        for j in range(d):
            step[j] = X[i, j] - mean[j]
        if diagonals:
            for a in range(d):
                for b in range(a, d):
                    spread[a, b] += step[a] * step[b]
        else:
            for j in range(d):
                spread[0, j] += step[j] * step[j]
    first, second, sign = 0, 0, 0
    largest = spread[0, 0] * SLACK
    for j in range(1, d):
        variance = spread[j, j] if diagonals else spread[0, j]
        if variance > largest:
            first, second, largest = j, j, variance * SLACK
    if diagonals:
        for a in range(d):
            for b in range(a + 1, d):
                half = (spread[a, a] + spread[b, b]) / 2
                for way in (1, -1):
                    variance = weight * (half + way * spread[a, b])
                    if variance > largest:
                        first, second, sign, largest = a, b, way, variance * SLACK
    return first, second, sign


@kernel
def halve(X, rows, rule, weight):  # type: ignore[no-untyped-def]
    """Sort `rows` along the chosen direction and return the size of the lower half, rounded down.

    The sort is stable: ties at the median are cut apart by the order that earlier cuts left behind, and at
    last by row, so that the halves differ by at most one record.
    """
    m = rows.shape[0]
    if rule == RANGE:
        first = _widest(X, rows)
        second, sign = first, 0
    else:
        first, second, sign = _most_varied(X, rows, rule == DIAGONALS, weight)
    values = np.empty(m)
    for p in range(m):
        values[p] = X[rows[p], first]
        if sign == 1:
            values[p] += X[rows[p], second]
        elif sign == -1:
            values[p] -= X[rows[p], second]
    rows[:] = rows[np.argsort(values, kind="mergesort")]
    return m // 2


@kernel
def halve_down(X, rows, most, rule, weight, labels):  # type: ignore[no-untyped-def]
    """Halve until no part has more than `most` records; label each part by one of its rows."""
    starts = [0]
    ends = [rows.shape[0]]
    while len(starts) > 0:
        start, end = starts.pop(), ends.pop()
        if end - start <= most:
            for p in range(start, end):
                labels[rows[p]] = rows[start]
            continue
        middle = start + halve(X, rows[start:end], rule, weight)
        starts.append(start)
        ends.append(middle)
        starts.append(middle)
        ends.append(end)
