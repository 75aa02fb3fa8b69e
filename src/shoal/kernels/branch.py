"""Enumeration of good groups, and of the partitions made of them. Groups are bit masks of at most 62 records.

For groups of s records put w_ij = D_ij / s - (pi_i + pi_j) / (s - 1), with D the squared distances and pi a price a
record. The squared error of a group less the prices of its members is then the sum of w over its pairs.
Taking away the member with the largest sum of w to the others, which is at least twice the average, leaves a group whose sum
is at most (s - 2) / s of what it was. So a group whose sum is at most R grows, record by record, through
groups of m whose sum is at most R m (m - 1) / (s (s - 1)); and as the record added last is the one with the largest
sum (the highest row on ties), it grows in one way only.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import kernel


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
def cheapest_cover(masks, values, starts, first, everything, wanted, limit, chosen):  # type: ignore[no-untyped-def]
    """Find the cheapest partition of all records into `wanted` of the listed groups, one of them given.

    Parameters
    ----------
    masks : int64[c], values : float64[c]
        The groups by their lowest record, and by rising value among those with the same.
    starts : int64[n + 1]
        Where the groups with each lowest record begin.
    first : int
        Index of the group that holds record 0.
    everything : int
        The mask of all records.
    wanted : int
    limit : float
        Only partitions with a sum of values below this one.
    chosen : int64[wanted]
        Overwritten with the groups of the best partition, if there is one.

    Returns
    -------
    float
        The sum of its values, or `limit` if there is none.
    """
    n = starts.shape[0] - 1
    stack = np.zeros(wanted, np.int64)
    covered = np.zeros(wanted + 1, np.int64)
    total = np.zeros(wanted + 1)
    stack[0], covered[1], total[1] = first, masks[first], values[first]
    level = 1
    best = limit
    if wanted == 1:
        if covered[1] == everything and total[1] < best:
            chosen[0] = first
            best = total[1]
        return best
    low = _lowest_free(covered[1], n)
    stack[1] = starts[low] if low < n else starts[n]
    while True:
        at = stack[level]
        low = _lowest_free(covered[level], n)
        if low == n or at >= starts[low + 1] or total[level] + values[at] >= best:
            level -= 1
            if level == 0:
                return best
            stack[level] += 1
            continue
        if masks[at] & covered[level]:
            stack[level] += 1
            continue
        covered[level + 1] = covered[level] | masks[at]
        total[level + 1] = total[level] + values[at]
        if level + 1 == wanted:
            if covered[level + 1] == everything:
                best = total[level + 1]
                chosen[:] = stack
            stack[level] += 1
            continue
        level += 1
        low = _lowest_free(covered[level], n)
        stack[level] = starts[low] if low < n else starts[n]


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
    while True:
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
