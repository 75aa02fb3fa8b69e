"""The best cut of an order: Hansen and Mukherjee's shortest path, for any number of coordinates."""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import kernel


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
    labels = np.empty(n, np.int64)
    end, group = n, 0
    while end > 0:
        labels[end - size[end] : end] = group
        end -= size[end]
        group += 1
    for p in range(n):
        labels[p] = group - 1 - labels[p]
    return labels
