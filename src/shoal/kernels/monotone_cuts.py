"""The best cut of many values into large groups, by a search that makes use of their order.

Of a stretch of sorted values, the squared error satisfies the quadrangle inequality. So the best start of the last
group moves to the right with its end, and among k ends and 2k starts, log k rounds of at most 3k comparisons find all
of them, instead of k^2. The cost of any stretch that spans a multiple of k follows from those of its two parts there
and from their means, all sums of what is not negative, so that no digits are lost.

The labels must be those of `shoal.kernels.cuts.cut_values`, whose sums are rounded in another way. So this search only
says which cuts may be best up to rounding. Write u = 2^-53 for it. A cost has a relative error of at most

    8 (k^2 + 10 k) u there, as values that span a range R have a cost of R^2 / 2 or more, and of at most 20 u here.

In a block of k ends, a start is passed over, in any of the rounds, only if the one that was chosen instead is better by
that inequality, or worse by at most 40 u W + 2 u M: M is the largest error up to an end of the block, W the largest
difference to that up to a start. A path has one end in a block at most. So what is found is off by no more than the sum
of (42 W + 3 M) u, times log2 k + 2 rounds, over all blocks up to there. From the last value back, all starts within
these margins are listed, which is mostly one. The costs of these few stretches are computed and compared just as there.
If there are many, as among equal or evenly spaced values, nothing is decided here.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.cuts import labels_of
from shoal.kernels.jit import inlined, kernel, lent

UNIT = 2.0**-53
# Squares of differences outside of this range could be subnormal, or overflow.
LEAST, MOST = 2.0**-450, 2.0**450
# The part of all values at which so many stretches are at most compared as `cut_values` does.
FEW = 32


@inlined
def _suits(y, k):  # type: ignore[no-untyped-def]
    """Whether no 2k values are equal, and none are so near or far apart that squares are rounded off."""
    n = y.shape[0]
    for i in range(n - 1):
        gap = y[i + 1] - y[i]
        if 0 < gap < LEAST:
            return False
    for i in range(n - 2 * k + 1):
        if y[i] == y[i + 2 * k - 1]:
            return False
    return y[n - 1] - y[0] < MOST


@lent
def _grow(y, origin, first, step, count, means, costs):  # type: ignore[no-untyped-def]
    """Write the means, relative to `origin`, and the costs of the stretches of 1 .. `count` values from `first` on.

    They extend to the right (`step` 1) or to the left (-1). Sums are of absolute values and compensated (Kahan).
    """
    total, lost = 0.0, 0.0
    apart, slack = 0.0, 0.0  # by how much the last value is beyond all others, added up
    cost, rest = 0.0, 0.0
    means[0], costs[0] = 0.0, 0.0
    before = y[first] if count > 0 else 0.0
    for m in range(1, count + 1):
        value = y[first + step * (m - 1)]
        add = abs(value - origin) - lost
        new = total + add
        lost = (new - total) - add
        total = new
        add = (m - 1) * abs(value - before) - slack
        new = apart + add
        slack = (new - apart) - add
        apart = new
        before = value
        add = (apart * apart / (m * (m - 1)) if m > 1 else 0.0) - rest
        new = cost + add
        rest = (new - cost) - add
        cost = new
        means[m], costs[m] = total / m, cost


@lent
def _best_start(best, side, shares, low, high, corner, end, mean, cost):  # type: ignore[no-untyped-def]
    """The best start low .. high of the group up to `end`, and the least error of the beginning up to there.

    `side` has the means and costs of the stretches up to `corner`, `mean` and `cost` are those from there to the end.
    """
    means, costs = side[0], side[1]
    least, chosen, many = np.inf, low, end - corner
    for start in range(low, high + 1):
        before = corner - start
        between = mean + means[before]
        total = best[start] + (costs[before] + cost + before * many * shares[end - start] * between * between)
        if total < least:
            least, chosen = total, start
    return least, chosen


@lent
def _errors(y, k, best, left, right, shares, choices):  # type: ignore[no-untyped-def]
    """Write the least squared error of each beginning of y to `best` float64[n + 1], which is full of infinities.

    `left` float64[2, 2, k + 1], `right` float64[2, 2, 2k + 1], `shares` float64[2k], which has 1 / m, and `choices`
    int64[k + 1] are for work.
    """
    n = y.shape[0]
    best[0] = 0.0
    for corner in range(0, n, k):
        # Ends corner + 1 .. corner + k; their groups start after the corner before, or after the one before that.
        now, then = (corner // k) % 2, 1 - (corner // k) % 2
        _grow(y, y[corner], corner, 1, min(2 * k, n - corner), right[now, 0], right[now, 1])
        _grow(y, y[corner], corner - 1, -1, min(k, corner), left[now, 0], left[now, 1])
        first = max(corner + 1, k)
        rows = min(corner + k, n) + 1 - first
        stride = 1
        while stride < rows:
            stride *= 2
        while stride > 0:
            for row in range(stride, rows + 1, 2 * stride):
                end = first - 1 + row
                low, high = max(0, end - 2 * k + 1), end - k
                if row > stride:
                    low = max(low, choices[row - stride])
                if row + stride <= rows:
                    high = min(high, choices[row + stride])
                middle, r = corner - k, end - corner
                least, chosen = np.inf, low
                if low <= middle:
                    mean, cost = right[then, 0, r + k], right[then, 1, r + k]
                    least, chosen = _best_start(
                        best, left[then], shares, low, min(high, middle), middle, end, mean, cost
                    )
                if high > middle:
                    mean, cost = right[now, 0, r], right[now, 1, r]
                    total, start = _best_start(
                        best, left[now], shares, max(low, middle + 1), high, corner, end, mean, cost
                    )
                    if total < least:
                        least, chosen = total, start
                best[end], choices[row] = least, chosen
            stride //= 2


@lent
def _margins(best, k, margins):  # type: ignore[no-untyped-def]
    """Write by how much two sums here may be off together, block by block of k ends, to `margins`."""
    n, off = best.shape[0] - 1, 0.0
    rounds = np.ceil(np.log2(k)) + 2
    for block in range(margins.shape[0]):
        most, least = 0.0, np.inf
        for end in range(max(k, block * k + 1), min(n, block * k + k) + 1):
            most = max(most, best[end])
        for start in range(max(0, (block - 2) * k), block * k + 1):
            least = min(least, best[start])
        off += (42 * max(0.0, most - least) + 3 * most) * rounds * UNIT
        margins[block] = 2.5 * off


@lent
def _list_stretches(y, k, best, margins, share, wanted, pairs, means, costs):  # type: ignore[no-untyped-def]
    """List the stretches, by end and start, that the best cut may have, the last ends first and starts ascending.

    A start may be best if it is no further above the least error than `margins` of the block and a `share` of that
    error. Return their number, and how many of them are one of several with the same end; -1 if `pairs` int64[m, 2] has
    no room for all. `wanted` bool[n + 1] has no True.
    """
    n = y.shape[0]
    count, doubtful = 0, 0
    wanted[n] = True
    for end in range(n, 0, -1):
        if not wanted[end]:
            continue
        _grow(y, y[end - 1], end - 1, -1, min(2 * k - 1, end), means, costs)
        least = np.inf
        for start in range(max(0, end - 2 * k + 1), end - k + 1):
            least = min(least, best[start] + costs[end - start])
        limit = least + margins[(end - 1) // k] + share * least
        before = count
        for start in range(max(0, end - 2 * k + 1), end - k + 1):
            if best[start] + costs[end - start] <= limit:
                if count == pairs.shape[0]:
                    return -1, 0
                pairs[count, 0], pairs[count, 1] = end, start
                wanted[start] = True
                count += 1
        doubtful += count - before if count > before + 1 else 0
    return count, doubtful


@lent
def _settle(y, pairs, count, doubtful, best, size):  # type: ignore[no-untyped-def]
    """Write the size of the last group of each beginning among the pairs to `size`, as `cut_in_order` finds it."""
    best[0] = 0.0
    before, at = count, count
    while before > 0:
        at = before - 1
        end = pairs[at, 0]
        while at > 0 and pairs[at - 1, 0] == end:
            at -= 1
        best[end] = np.inf
        for p in range(at, before):
            start = pairs[p, 1]
            mean, cost = 0.0, 0.0
            for m in range(end - start if doubtful > 0 else 0):
                z = y[start + m] - y[start]
                delta = z - mean
                mean += delta / (m + 1)
                cost += delta * (z - mean)
            if best[start] + cost <= best[end]:
                best[end], size[end] = best[start] + cost, end - start
        before = at


@kernel
def cut_many(y, k):  # type: ignore[no-untyped-def]
    """Like `cut_values`, to the last tie, in time that hardly grows with k; no labels if this cannot be decided.

    Parameters
    ----------
    y : float64[n]
        Ascending.
    k : int
        At most n, and at least 2.

    Returns
    -------
    int64[n] or int64[0]
    """
    n = y.shape[0]
    none = np.empty(0, np.int64)
    if not _suits(y, k):
        return none
    best = np.full(n + 1, np.inf)
    shares = np.empty(2 * k)
    for m in range(1, 2 * k):
        shares[m] = 1 / m
    left, right = np.empty((2, 2, k + 1)), np.empty((2, 2, 2 * k + 1))
    _errors(y, k, best, left, right, shares, np.empty(k + 1, np.int64))
    margins = np.empty(-(-n // k))
    _margins(best, k, margins)
    share = 2.5 * (8 * (k * (k + 10.0)) + n / k + 41) * UNIT
    pairs = np.empty((n // FEW + 4, 2), np.int64)
    wanted = np.zeros(n + 1, np.bool_)
    count, doubtful = _list_stretches(y, k, best, margins, share, wanted, pairs, right[0, 0], right[0, 1])
    if count < 0:
        return none
    size = np.zeros(n + 1, np.int64)
    _settle(y, pairs, count, doubtful, best, size)
    return labels_of(size)
