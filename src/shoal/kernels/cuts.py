"""The best cut of an order: Hansen and Mukherjee's shortest path, for any number of coordinates."""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import inner, kernel, lent

# Stretches of values that grow side by side.
BLOCK = 64


@kernel
def cut_in_order(Y, k):  # type: ignore[no-untyped-def]
    """Cut the records of Y, in the order given, into groups of k .. 2k - 1 with the least squared error.

    The squared error of a stretch grows record by record with its running mean, in coordinates relative
    to its first record: no prefix sums, so no digits are lost when values sit at 1e9 plus a little. Time
    O(n k d), memory O(n).

    Parameters
    ----------
    Y : float64[n, d]
    k : int

    Returns
    -------
    int64[n]
        Group of each record, numbered along the order. Of equally good cuts, the one whose last group
        is smallest.
    """
    n, d = Y.shape
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    size = np.zeros(n + 1, np.int64)
    mean = np.empty(d)
    for start in range(n - k + 1):
        if best[start] == np.inf:
            continue
        mean[:] = 0.0
        cost = 0.0
        for m in range(min(2 * k - 1, n - start)):
            step = 0.0
            for j in range(d):
                y = Y[start + m, j] - Y[start, j]
                delta = y - mean[j]
                mean[j] += delta / (m + 1)
                step += delta * (y - mean[j])
            cost += step
            end = start + m + 1
            # Starts are visited from the left, so among ties the last (the shortest group) stays.
            if m + 1 >= k and best[start] + cost <= best[end]:
                best[end] = best[start] + cost
                size[end] = m + 1
    return labels_of(size)


@inner
def labels_of(size):  # type: ignore[no-untyped-def]
    """The groups along the order, given the size of the last group of the best cut of every beginning."""
    n = size.shape[0] - 1
    labels = np.empty(n, np.int64)
    end, group = n, 0
    while end > 0:
        labels[end - size[end] : end] = group
        end -= size[end]
        group += 1
    for p in range(n):
        labels[p] = group - 1 - labels[p]
    return labels


@lent
def _grow(y, k, first, mean, cost, costs):  # type: ignore[no-untyped-def]
    """Write the squared errors of the stretches of k .. 2k - 1 values from `first` and the next BLOCK - 1 values on.

    `costs` float64[k, BLOCK] has a row for each size. The operations are those of `cut_in_order`, for all starts at
    once.
    """
    n = y.shape[0]
    for p in range(BLOCK):
        mean[p], cost[p] = 0.0, 0.0
    for m in range(min(2 * k - 1, n - first)):
        many = min(BLOCK, n - first - m)
        starts, ends = y[first : first + many], y[first + m : first + m + many]
        for p in range(many):
            z = ends[p] - starts[p]
            delta = z - mean[p]
            mean[p] += delta / (m + 1)
            cost[p] += delta * (z - mean[p])
        if m + 1 >= k:
            row = costs[m + 1 - k]
            for p in range(many):
                row[p] = cost[p]


@kernel
def cut_values(y, k):  # type: ignore[no-untyped-def]
    """Like `cut_in_order`, to the last tie, for the values y float64[n] of one coordinate, in less time."""
    n = y.shape[0]
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    size = np.zeros(n + 1, np.int64)
    mean, cost, costs = np.empty(BLOCK), np.empty(BLOCK), np.empty((k, BLOCK))
    for first in range(0, n - k + 1, BLOCK):
        _grow(y, k, first, mean, cost, costs)
        starts = min(BLOCK, n - k + 1 - first)
        for p in range(starts if k < BLOCK else 0):
            known = best[first + p]
            if known == np.inf:
                continue
            for q in range(min(k, n + 1 - first - p - k)):
                end = first + p + k + q
                if known + costs[q, p] <= best[end]:
                    best[end], size[end] = known + costs[q, p], k + q
        # No stretch ends where another one of the block begins, so they may come in any order but that of ties: of
        # those with the same end, the longest first.
        for q in range(k - 1 if k >= BLOCK else -1, -1, -1):
            many = min(starts, n + 1 - first - k - q)
            if many <= 0:
                continue
            row, before = costs[q], best[first : first + many]
            after, sizes = best[first + k + q : first + k + q + many], size[first + k + q : first + k + q + many]
            for p in range(many):
                total = before[p] + row[p]
                better = (total <= after[p]) & (total < np.inf)
                after[p] = total if better else after[p]
                sizes[p] = k + q if better else sizes[p]
    return labels_of(size)
