"""Centres drawn at random, as k-means++ draws them."""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import kernel
from shoal.kernels.sums import square_distance


@kernel
def draw_centres(X, first, uniforms):  # type: ignore[no-untyped-def]
    """k-means++: rows of centres, each drawn with a chance proportional to the squared distance to those before.

    One number of `uniforms` is used for each after the first; fewer centres come back if there are fewer different
    records.
    """
    n = X.shape[0]
    rows = np.empty(uniforms.shape[0] + 1, np.int64)
    rows[0] = first
    near = np.full(n, np.inf)
    sums = np.empty(n)
    for count in range(1, rows.shape[0]):
        total = 0.0
        for i in range(n):
            near[i] = min(near[i], square_distance(X, i, X[rows[count - 1]]))
            total += near[i]
            sums[i] = total
        if not total > 0:
            return rows[:count]
        rows[count] = np.searchsorted(sums, uniforms[count - 1] * total, side="right")
    return rows
