"""Median cuts: halving a set of records along the direction in which it spreads most, or cutting it between values."""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import inner, kernel, lent

RANGE, VARIANCE, DIAGONALS, STRICT = 0, 1, 2, 3
SLACK = 1.0 + 1e-9
# From so many values on, a sort by bytes is quicker than one by comparisons.
MANY = 1024


@inner
def _ranges(X, rows):  # type: ignore[no-untyped-def]
    """Range of each coordinate among `rows`."""
    d = X.shape[1]
    low, high = X[rows[0]].copy(), X[rows[0]].copy()
    for i in rows:
        for j in range(d):
            low[j] = min(low[j], X[i, j])
            high[j] = max(high[j], X[i, j])
    return high - low


@inner
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


@lent
def _count_bytes(keys, counts):  # type: ignore[no-untyped-def]
    """Turn the bits of values into keys that sort as they do, and count how often each byte occurs at each place.

    Two zeros are equal, whatever their sign.
    """
    for p in range(keys.shape[0]):
        key = keys[p]
        if key < 0:
            key = (key ^ np.int64(2**63 - 1)) + 1
        keys[p] = key
        for b in range(8):
            counts[b, (key >> (8 * b)) & 255] += 1


@lent
def _deal(keys, places, b, counts, new_keys, new_places):  # type: ignore[no-untyped-def]
    """Sort keys by their byte b, of which `counts` has the numbers, those that are equal as they were."""
    start, half = 0, 128 if b == 7 else 0
    for c in range(256):
        byte = (c + half) % 256  # the first byte has the sign
        start, counts[byte] = start + counts[byte], start
    for p in range(keys.shape[0]):
        byte = (keys[p] >> (8 * b)) & 255
        at = counts[byte]
        counts[byte] += 1
        new_keys[at], new_places[at] = keys[p], places[p]


@inner
def _in_order(values):  # type: ignore[no-untyped-def]
    """Places of finite values in ascending order, the lower one first on ties. Many values are overwritten."""
    n = values.shape[0]
    if n < MANY:
        return np.argsort(values, kind="mergesort")
    keys, places, counts = values.view(np.int64), np.arange(n), np.zeros((8, 256), np.int64)
    _count_bytes(keys, counts)
    new_keys, new_places = np.empty_like(keys), np.empty_like(places)
    for b in range(8):
        if counts[b, (keys[0] >> (8 * b)) & 255] < n:
            _deal(keys, places, b, counts[b], new_keys, new_places)
            keys, new_keys, places, new_places = new_keys, keys, new_places, places
    return places


@kernel
def halve(X, rows, rule, weight):  # type: ignore[no-untyped-def]
    """Sort `rows` along the chosen direction and return the size of the lower half, rounded down.

    The sort is stable: ties at the median are cut apart by the order that earlier cuts left behind, and at
    last by row, so that the halves differ by at most one record.
    """
    m = rows.shape[0]
    if rule == RANGE:
        first = np.argmax(_ranges(X, rows))
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
    rows[:] = rows[_in_order(values)]
    return m // 2


@kernel
def cut_between_values(X, rows, k):  # type: ignore[no-untyped-def]
    """Reorder `rows` by a cut between two values of a coordinate and return the size of the lower part.

    Both parts have at least k records. The coordinate is the widest one that has such a cut, the first on ties; its cut
    is the one nearest to the middle, the lower one on ties. 0 if there is none.
    """
    m = rows.shape[0]
    ranges = _ranges(X, rows)
    values = np.empty(m)
    for _ in range(ranges.shape[0]):
        widest = np.argmax(ranges)
        if m < 2 * k or ranges[widest] == 0.0:
            break
        ranges[widest] = 0.0
        for p in range(m):
            values[p] = X[rows[p], widest]
        order = np.argsort(values, kind="mergesort")
        # The median and its equals fill the middle: of all cuts, those below and above them are the nearest to it.
        below = above = m // 2
        median = values[order[below]]
        while below > 0 and values[order[below - 1]] == median:
            below -= 1
        while above < m and values[order[above]] == median:
            above += 1
        if below >= k and (m - above < k or m - 2 * below <= 2 * above - m):
            middle = below
        elif m - above >= k:
            middle = above
        else:
            continue
        rows[:] = rows[order]
        return middle
    return 0


@kernel
def halve_down(X, rows, most, rule, weight, labels):  # type: ignore[no-untyped-def]
    """Halve until no part has more than `most` records, or can be cut; label each part by one of its rows."""
    starts = [0]
    ends = [rows.shape[0]]
    while len(starts) > 0:
        start, end = starts.pop(), ends.pop()
        middle = start
        if end - start > most:
            part = rows[start:end]
            middle += cut_between_values(X, part, (most + 1) // 2) if rule == STRICT else halve(X, part, rule, weight)
        if middle == start:
            for p in range(start, end):
                labels[rows[p]] = rows[start]
            continue
        starts.append(start)
        ends.append(middle)
        starts.append(middle)
        ends.append(end)
