"""Enumeration of good groups, and of the partitions made of them. Groups are bit masks of at most 62 records.

For groups of s records put w_ij = D_ij / s - (pi_i + pi_j) / (s - 1), with D the squared distances and pi a
price a record. The squared error of a group less the prices of its members is then the sum of w over its
pairs. Taking away the member with the largest sum of w to the others, which is at least twice the average,
leaves a group whose sum is at most (s - 2) / s of what it was. So a group whose sum is at most R grows,
record by record, through groups of m whose sum is at most R m (m - 1) / (s (s - 1)); and as the record
added last is the one with the largest sum (the highest row on ties), it grows in one way only.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import kernel

MEMORY_BITS = 20


@kernel
def _least_rest(incident, half, inside, need, least):  # type: ignore[no-untyped-def]
    """Sum of the `need` smallest incident + half over records outside; `least` float64[need] is scratch."""
    kept = 0
    for j in range(incident.shape[0]):
        if inside[j]:
            continue
        v = incident[j] + half[j]
        if kept < need:
            p = kept
            kept += 1
        elif v < least[need - 1]:
            p = need - 1
        else:
            continue
        while p > 0 and least[p - 1] > v:
            least[p] = least[p - 1]
            p -= 1
        least[p] = v
    if kept < need:
        return np.inf
    total = 0.0
    for p in range(need):
        total += least[p]
    return total


@kernel
def _is_largest(W, incident, chosen, m, j):  # type: ignore[no-untyped-def]
    """Whether j would have the largest sum to the others, or the highest row among equals."""
    for t in range(m):
        i = chosen[t]
        v = incident[i] + W[i, j]
        if v > incident[j] or (v == incident[j] and i > j):
            return False
    return True


@kernel
def groups_below(W, halves, size, first, limit, budget, masks, values):  # type: ignore[no-untyped-def]
    """List the groups of `size` records whose pairs sum to at most `limit`.

    Parameters
    ----------
    W : float64[n, n]
        Weight of each pair, zero on the diagonal.
    halves : float64[size, n]
        Row m: half the sum of the m smallest weights of each record.
    size : int
        At least 2.
    first : int
        Only groups that grow from a pair with `first` as its lower record.
    limit : float
    budget : int
        Most steps to take.
    masks : int64[c], values : float64[c]
        Filled with the groups and their sums.

    Returns
    -------
    count : int
        How many groups there are; more than c if they did not fit.
    steps : int
        More than `budget` if the list is not complete.
    """
    n = W.shape[0]
    sums = np.zeros((size + 1, n))
    weight = np.zeros(size + 1)
    chosen = np.zeros(size, np.int64)
    following = np.zeros(size + 1, np.int64)
    inside = np.zeros(n, np.bool_)
    least = np.empty(size)
    chosen[0] = first
    inside[first] = True
    sums[1] = W[first]
    m = 1
    following[1] = first + 1
    count, steps = 0, 0
    while steps <= budget:
        j = following[m]
        if j >= n:
            m -= 1
            if m == 0:
                break
            inside[chosen[m]] = False
            continue
        following[m] = j + 1
        w = weight[m] + sums[m, j]
        if inside[j] or w > limit * (m * (m + 1)) / (size * (size - 1)):
            continue
        if m >= 2 and not _is_largest(W, sums[m], chosen, m, j):
            continue
        steps += 1
        if m + 1 == size:
            if count < masks.shape[0]:
                mask = 1 << j
                for t in range(m):
                    mask |= 1 << chosen[t]
                masks[count] = mask
                values[count] = w
            count += 1
            continue
        sums[m + 1] = sums[m] + W[j]
        inside[j] = True
        need = size - m - 1
        if w + _least_rest(sums[m + 1], halves[need - 1], inside, need, least) > limit:
            inside[j] = False
            continue
        chosen[m] = j
        m += 1
        weight[m] = w
        following[m] = 0
    return count, steps


@kernel
def _known(seen, worth, mask, level, total):  # type: ignore[no-untyped-def]
    """Whether the records of `mask` were covered by `level` groups before at no higher total; note it if not.

    The memory has one place for each value of a hash, and what was there before is forgotten.
    """
    key = (np.uint64(mask) * np.uint64(64) + np.uint64(level)) * np.uint64(0x9E3779B97F4A7C15)
    at = np.int64(key >> np.uint64(64 - MEMORY_BITS))
    if seen[at, 0] == mask and seen[at, 1] == level and worth[at] <= total:
        return True
    seen[at, 0], seen[at, 1], worth[at] = mask, level, total
    return False


@kernel
def cheapest_cover(groups, first, wanted, limit, memory, chosen):  # type: ignore[no-untyped-def]
    """Find the cheapest partition of all records into `wanted` of the listed groups, one of them given.

    What is left to do depends only on which records are covered, and by how many groups: a set that was
    reached before at no higher total is not looked at again.

    Parameters
    ----------
    groups : (int64[c], float64[c], int64[n + 1])
        Masks and values of the groups, by their lowest record and then by rising value, and where those with
        each lowest record begin. Values are not negative.
    first : int
        Index of the group that holds record 0.
    wanted : int
        At least 2.
    limit : float
        Only partitions with a sum of values below this one.
    memory : (int64[2^MEMORY_BITS, 2], float64[2^MEMORY_BITS])
        What was reached (zeros at first), for calls with the same groups and limits that do not rise.
    chosen : int64[wanted]
        Overwritten with the groups of the best partition, if there is one.

    Returns
    -------
    float
        The sum of its values, or `limit` if there is none.
    """
    masks, values, starts = groups
    seen, worth = memory
    n = starts.shape[0] - 1
    stack = np.zeros(wanted, np.int64)
    covered = np.zeros(wanted + 1, np.int64)
    total = np.zeros(wanted + 1)
    lowest = np.zeros(wanted + 1, np.int64)
    stack[0], covered[1], total[1] = first, masks[first], values[first]
    level, best = 1, limit
    lowest[1] = _lowest_free(covered[1], n)
    stack[1] = starts[lowest[1]]
    while level > 0:
        at, low = stack[level], lowest[level]
        if low == n or at >= starts[low + 1] or total[level] + values[at] >= best:
            level -= 1
            stack[level] += 1
            continue
        mask = covered[level] | masks[at]
        if masks[at] & covered[level]:
            stack[level] += 1
            continue
        covered[level + 1] = mask
        total[level + 1] = total[level] + values[at]
        low = _lowest_free(mask, n)
        if level + 1 == wanted:
            if low == n:
                best = total[level + 1]
                chosen[:] = stack
            stack[level] += 1
        elif _known(seen, worth, mask, level + 1, total[level + 1]):
            stack[level] += 1
        else:
            level += 1
            lowest[level] = low
            stack[level] = starts[low]
    return best


@kernel
def _lowest_free(mask, n):  # type: ignore[no-untyped-def]
    """Lowest of n records that is not in the mask, n if all are."""
    low = 0
    while low < n and (mask >> low) & 1:
        low += 1
    return low


@kernel
def polish(D, labels, sizes, k):  # type: ignore[no-untyped-def]
    """Move and swap records between groups while the squared error falls, the best step first; in place.

    Parameters
    ----------
    D : float64[n, n]
        Squared distances.
    labels : int64[n], sizes : int64[g]
    k : int
        Least size of a group.
    """
    n, g = D.shape[0], sizes.shape[0]
    # Sum of squared distances of a record to a group, and over all pairs of a group.
    reach = np.zeros((n, g))
    inner = np.zeros(g)
    for i in range(n):
        for j in range(n):
            reach[i, labels[j]] += D[i, j]
        inner[labels[i]] += 0.5 * reach[i, labels[i]]
    # Each step gains, but rounding could make a circle of very small ones.
    for _ in range(50 * n):
        best, a, b = -1e-12 * np.sum(inner / sizes), -1, -1
        for i in range(n):
            p = labels[i]
            if sizes[p] > k:
                lost = inner[p] / sizes[p] - (inner[p] - reach[i, p]) / (sizes[p] - 1)
                for q in range(g):
                    change = (inner[q] + reach[i, q]) / (sizes[q] + 1) - inner[q] / sizes[q] - lost
                    if q != p and change < best:
                        best, a, b = change, i, -q - 2
            for j in range(i + 1, n):
                q = labels[j]
                if q != p:
                    change = (reach[j, p] - reach[i, p] - D[i, j]) / sizes[p]
                    change += (reach[i, q] - reach[j, q] - D[i, j]) / sizes[q]
                    if change < best:
                        best, a, b = change, i, j
        if a < 0:
            return
        target = labels[b] if b >= 0 else -b - 2
        if b >= 0:
            _move(D, reach, inner, sizes, labels, b, labels[a])
        _move(D, reach, inner, sizes, labels, a, target)


@kernel
def _move(D, reach, inner, sizes, labels, i, target):  # type: ignore[no-untyped-def]
    """Move record i to another group and keep the sums up to date."""
    source = labels[i]
    inner[source] -= reach[i, source]
    inner[target] += reach[i, target]
    for j in range(D.shape[0]):
        reach[j, source] -= D[j, i]
        reach[j, target] += D[j, i]
    sizes[source] -= 1
    sizes[target] += 1
    labels[i] = target


@kernel
def descend(D, prices, inside, least, most, gain):  # type: ignore[no-untyped-def]
    """Add, drop or exchange a record, whichever is best, while the reduced cost of a group falls.

    Parameters
    ----------
    D : float64[n, n]
    prices : float64[n]
    inside : bool[c, n]
        Who is in each group; overwritten.
    least, most : int
        Allowed sizes.
    gain : float
        What a change has to gain at least.

    Returns
    -------
    int64[c]
        Masks of the groups reached.
    """
    c, n = inside.shape
    masks = np.zeros(c, np.int64)
    for row in range(c):
        group = inside[row]
        reach = np.zeros(n)
        size, value, pairs = 0, 0.0, 0.0
        for i in range(n):
            if group[i]:
                size += 1
                value += prices[i]
                for j in range(n):
                    reach[j] += D[i, j]
        for i in range(n):
            if group[i]:
                pairs += 0.5 * reach[i]
        for _ in range(10 * n):
            best, out, into = pairs / size - value - gain, -1, -1
            for i in range(n):
                if not group[i]:
                    if size < most and (pairs + reach[i]) / (size + 1) - value - prices[i] < best:
                        best, out, into = (pairs + reach[i]) / (size + 1) - value - prices[i], -1, i
                    continue
                if size > least and (pairs - reach[i]) / (size - 1) - value + prices[i] < best:
                    best, out, into = (pairs - reach[i]) / (size - 1) - value + prices[i], i, -1
                for j in range(n):
                    if not group[j]:
                        v = (pairs - reach[i] + reach[j] - D[i, j]) / size - value + prices[i] - prices[j]
                        if v < best:
                            best, out, into = v, i, j
            if out < 0 and into < 0:
                break
            if out >= 0:
                pairs -= reach[out]
                value -= prices[out]
                size -= 1
                group[out] = False
                for j in range(n):
                    reach[j] -= D[out, j]
            if into >= 0:
                pairs += reach[into]
                value += prices[into]
                size += 1
                group[into] = True
                for j in range(n):
                    reach[j] += D[into, j]
        for i in range(n):
            if group[i]:
                masks[row] |= 1 << i
    return masks
