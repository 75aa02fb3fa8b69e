"""Exact pricing: all groups of a size whose cost, less the prices of their records, is at most a limit.

For groups of s records put w_ij = D_ij / s - (pi_i + pi_j) / (s - 1), with D the squared distances and pi a
price a record. The squared error of a group less the prices of its records, its *reduced cost*, is then the sum
of w over its pairs. `extra` may raise single weights: the price of a cut (see :mod:`shoal.partitioning.cover_cuts`)
is spread over pairs so that the sum stays at or below the reduced cost.

*Growth.* Taking away the member with the largest sum of w to the others, which is at least twice the average,
leaves a group whose sum is at most (s - 2) / s of what it was. So a group whose sum is at most R grows, record
by record, through groups M of m records with a sum w(M) <= T(m) = R m (m - 1) / (s (s - 1)); and as the record
added last is the one with the largest sum (the highest row on ties), it grows in one way only.

*Neighbours.* Let h_i(r) be half the sum of the r smallest weights of i, and H_i the least of h_i(0 .. s - 2),
which is at most 0. As w(M) is half the sum over i in M of the weights of i within M, it is at least the sum of
H_i over M if m < s. A record j that M grows by has a sum of w_ij over M of at most T(m + 1) - w(M), hence w_ij <=
T(m + 1) / m - H_i for some i in M. With theta_i = max(R, 0) / (s - 1) - H_i, which is no less (T(m + 1) / m
is at most R / (s - 1), and negative for negative R), j is in the list {j: w_ij <= max(theta_i, theta_j)} of a
member. So looking only at the *pool*, the union of the lists of M, misses no group.

*Bound.* A group S of s records that contains M has w(S) >= w(M) + sum over j in S - M of v_j, with v_j the sum
of w_ij over M plus h_j(s - m - 1). Outside the pool each w_ij exceeds theta_j >= -H_j, so that v_j >= 0 there.
So w(M) plus the s - m smallest of the v_j in the pool, where negative, bounds all groups that grow from M; and
a record whose v_j with the s - m - 1 smallest others exceeds the limit is in none of them.

All comparisons are in double precision: a group may be missed if its reduced cost is within rounding (SLACK
times the numbers at hand) of the limit and no further below.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import inlined, kernel, lent

# Relative: how far thresholds are moved to the safe side for rounding.
SLACK = 1e-12


@lent
def _fill_weights(columns, prices, size, extra, i, row):  # type: ignore[no-untyped-def]
    """Put the weights of i and all records into `row`, infinity for itself."""
    d, n = columns.shape
    row[:] = 0.0
    for c in range(d):
        x = columns[c, i]
        column = columns[c]
        for j in range(n):
            step = column[j] - x
            row[j] += step * step
    p, scale, share = prices[i], 1.0 / size, 1.0 / (size - 1)
    for j in range(n):
        row[j] = row[j] * scale - (p + prices[j]) * share
    starts, ids, values = extra
    for t in range(starts[i], starts[i + 1]):
        row[ids[t]] += values[t]
    row[i] = np.inf


@kernel
def thresholds(columns, prices, size, limit, extra):  # type: ignore[no-untyped-def]
    """Return half the sums of the smallest weights of each record, and up to which weight neighbours matter.

    Parameters
    ----------
    columns : float64[d, n]
        Coordinates of the records, transposed.
    prices : float64[n]
    size : int
        From 2 to n.
    limit : float
    extra : (int64[n + 1], int32[e], float64[e])
        What is added to weights: of record i to ids[t] for t from starts[i] to starts[i + 1]; both ways.

    Returns
    -------
    halves : float64[size, n]
        Row r: half the sum of the r smallest weights.
    theta : float64[n]
    """
    n = columns.shape[1]
    halves, theta = np.zeros((size, n)), np.empty(n)
    row, least = np.empty(n), np.empty(size - 1)
    for i in range(n):
        _fill_weights(columns, prices, size, extra, i, row)
        least[:] = np.inf
        for j in range(n):
            v = row[j]
            if v < least[size - 2]:
                p = size - 2
                while p > 0 and least[p - 1] > v:
                    least[p] = least[p - 1]
                    p -= 1
                least[p] = v
        lowest = 0.0
        for r in range(1, size):
            halves[r, i] = halves[r - 1, i] + 0.5 * least[r - 1]
            if r <= size - 2:
                lowest = min(lowest, halves[r, i])
        theta[i] = max(limit, 0.0) / (size - 1) - lowest
        theta[i] += SLACK * (abs(theta[i]) + abs(prices[i]))
    return halves, theta


@kernel
def neighbour_lists(columns, prices, size, extra, theta, ids):  # type: ignore[no-untyped-def]
    """List for each record the others whose weight is at most the larger theta of both.

    Parameters
    ----------
    columns, prices, size, extra
        As for `thresholds`.
    theta : float64[n]
    ids : int32[c]
        Overwritten with the neighbours of record 0, of record 1 and so on.

    Returns
    -------
    starts : int64[n + 1]
        Where the neighbours of each record begin; the last is above c if they did not fit.
    """
    n = columns.shape[1]
    starts = np.zeros(n + 1, np.int64)
    row = np.empty(n)
    count = 0
    for i in range(n):
        _fill_weights(columns, prices, size, extra, i, row)
        for j in range(n):
            if j != i and (row[j] <= theta[i] or row[j] <= theta[j]):
                if count < ids.shape[0]:
                    ids[count] = j
                count += 1
        starts[i + 1] = count
        if count > ids.shape[0]:
            starts[n] = count
            break
    return starts


@lent
def _weight(X, prices, size, extra, i, j):  # type: ignore[no-untyped-def]
    square = 0.0
    for c in range(X.shape[1]):
        step = X[i, c] - X[j, c]
        square += step * step
    w = square * (1.0 / size) - (prices[i] + prices[j]) * (1.0 / (size - 1))
    starts, ids, values = extra
    low, high = starts[i], starts[i + 1]
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < j:
            low = middle + 1
        else:
            high = middle
    if low < starts[i + 1] and ids[low] == j:
        w += values[low]
    return w


@lent
def _kept(pool, sums, count, half, need, weight, limit, least):  # type: ignore[no-untyped-def]
    """Drop from the pool who is in no group within the limit; return how many are left (0: no such group)."""
    least[:need] = 0.0
    for p in range(count):
        v = sums[p] + half[pool[p]]
        if v < least[need - 1]:
            q = need - 1
            while q > 0 and least[q - 1] > v:
                least[q] = least[q - 1]
                q -= 1
            least[q] = v
    others = 0.0
    for q in range(need - 1):
        others += least[q]
    if weight + others + least[need - 1] > limit:
        return 0
    kept = 0
    last = least[need - 2] if need > 1 else -np.inf
    for p in range(count):
        v = sums[p] + half[pool[p]]
        if v <= last or weight + others + v <= limit:
            pool[kept], sums[kept] = pool[p], sums[p]
            kept += 1
    return kept


@kernel
def sized_groups_below(X, prices, size, limit, extra, lists, halves, first, budget, found, values):  # type: ignore[no-untyped-def]
    """List the groups of `size` records whose weights sum to at most `limit`, from the root `first` on.

    A group belongs to the lower record of the pair that it grows from, its root. Roots are taken one after the
    other; the list is complete for those below the one that is returned.

    Parameters
    ----------
    X : float64[n, d]
    prices, size, limit, extra
        As for `thresholds`.
    lists : (int64[n + 1], int32[c])
        From `neighbour_lists`.
    halves : float64[size, n]
    first : int
    budget : int
        About how many weights to look at, at most.
    found : int32[m, size], values : float64[m]
        Filled with the groups and their sums.

    Returns
    -------
    count : int
        How many groups were found. Those of the root at which the work stopped are not counted.
    root : int
        The next root, n if the list is complete.
    steps : int
        How many weights were looked at.
    """
    n = X.shape[0]
    starts, ids = lists
    pool, sums = np.empty((size + 1, n), np.int32), np.empty((size + 1, n))
    fresh, kept = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
    following, weight = np.zeros(size + 1, np.int64), np.zeros(size + 1)
    chosen, inside = np.zeros(size, np.int64), np.zeros((size + 1, size))
    added = np.empty((size + 1, n), np.int32)
    marked = np.zeros(n, np.bool_)
    least = np.empty(size)
    slack = SLACK * (abs(limit) + np.abs(prices).mean() * size)
    count, steps = 0, 0
    for root in range(first, n):
        before = count
        marked[root] = True
        chosen[0] = root
        m, weight[1] = 1, 0.0
        kept[1] = starts[root + 1] - starts[root]
        fresh[1] = kept[1]
        for p in range(kept[1]):
            j = ids[starts[root] + p]
            pool[1, p], added[1, p] = j, j
            sums[1, p] = _weight(X, prices, size, extra, root, j)
            marked[j] = True
        steps += kept[1]
        following[1] = 0
        if size > 2:
            kept[1] = _kept(pool[1], sums[1], fresh[1], halves[size - 2], size - 1, 0.0, limit + slack, least)
        while m > 0:
            if following[m] >= kept[m]:
                for p in range(fresh[m]):
                    marked[added[m, p]] = False
                m -= 1
                continue
            p = following[m]
            following[m] += 1
            j, reach = pool[m, p], sums[m, p]
            total = weight[m] + reach
            if total > limit * (m * (m + 1)) / (size * (size - 1)) + slack or (m == 1 and j < root):
                continue
            if m > 1:
                largest = True
                for t in range(m):
                    w = _weight(X, prices, size, extra, chosen[t], j)
                    inside[m + 1, t] = inside[m, t] + w
                    if inside[m + 1, t] > reach or (inside[m + 1, t] == reach and chosen[t] > j):
                        largest = False
                        break
                steps += m
                if not largest:
                    continue
            else:
                inside[2, 0] = reach
            if m + 1 == size:
                if count < values.shape[0]:
                    for t in range(m):
                        found[count, t] = chosen[t]
                    found[count, m] = j
                    values[count] = total
                count += 1
                continue
            # Go down: the pool without those left out above, and the neighbours of j.
            chosen[m] = j
            inside[m + 1, m] = reach
            c = 0
            for q in range(kept[m]):
                i = pool[m, q]
                if i != j:
                    pool[m + 1, c] = i
                    sums[m + 1, c] = sums[m, q] + _weight(X, prices, size, extra, j, i)
                    c += 1
            fresh[m + 1] = 0
            for q in range(starts[j], starts[j + 1]):
                i = ids[q]
                if not marked[i]:
                    marked[i] = True
                    added[m + 1, fresh[m + 1]] = i
                    fresh[m + 1] += 1
                    v = _weight(X, prices, size, extra, j, i)
                    for t in range(m):
                        v += _weight(X, prices, size, extra, chosen[t], i)
                    pool[m + 1, c], sums[m + 1, c] = i, v
                    c += 1
            steps += c + m * fresh[m + 1]
            m += 1
            weight[m], following[m] = total, 0
            need = size - m
            kept[m] = _kept(pool[m], sums[m], c, halves[need - 1], need, total, limit + slack, least)
            if steps > budget:
                return before, root, steps
        marked[root] = False
        if count > values.shape[0]:
            return before, root, steps
    return count, n, steps


@kernel
def reduced_costs(X, prices, groups):  # type: ignore[no-untyped-def]
    """Return the squared error of each group, and what is left of it less the prices of its records.

    Parameters
    ----------
    X : float64[n, d]
    prices : float64[n]
    groups : int32[c, m]
        Rows of the records of each group, n in unused places.

    Returns
    -------
    costs, reduced : float64[c]
    """
    n, d = X.shape
    c, most = groups.shape
    costs, reduced = np.zeros(c), np.zeros(c)
    for g in range(c):
        size, value = 0, 0.0
        for t in range(most):
            i = groups[g, t]
            if i == n:
                continue
            size += 1
            value += prices[i]
            for u in range(t):
                j = groups[g, u]
                if j < n:
                    for q in range(d):
                        costs[g] += (X[i, q] - X[j, q]) ** 2
        costs[g] /= size
        reduced[g] = costs[g] - value
    return costs, reduced


@kernel
def lowered(prices, groups, reduced, base):  # type: ignore[no-untyped-def]
    """Lower prices until none of the given groups has a negative reduced cost; return those with the larger sum.

    Two ways are tried. Each record gives the largest share, -reduced / size, of all groups that hold it; or the
    groups are taken in the order given, and the records of each share what is still missing.

    Parameters
    ----------
    prices : float64[n]
    groups : int32[c, m]
        Padded with n. Those with a negative reduced cost matter.
    reduced : float64[c]
    base : float
        What every record gives in any case, at least 0, for groups that are not in the list.
    """
    n = prices.shape[0]
    at_once, in_turn = prices - base, prices - base
    for g in range(groups.shape[0]):
        size, given = 0, 0.0
        for t in range(groups.shape[1]):
            i = groups[g, t]
            if i < n:
                size += 1
                given += prices[i] - in_turn[i]
        for t in range(groups.shape[1]):
            i = groups[g, t]
            if i < n:
                at_once[i] = min(at_once[i], prices[i] + reduced[g] / size)
                in_turn[i] += min(0.0, reduced[g] + given) / size
    return at_once if at_once.sum() >= in_turn.sum() else in_turn


@kernel
def lower_costs(X, prices, near, least, gain, groups):  # type: ignore[no-untyped-def]
    """Add, drop or exchange a record, whichever is best, while the reduced cost of a group falls; in place.

    The first record of a group stays, so that starts at many records lead to many groups.

    Parameters
    ----------
    X : float64[n, d]
    prices : float64[n]
    near : int32[n, q]
        Who may join: neighbours of members.
    least : int
        Least size of a group.
    gain : float
        What a change has to gain at least.
    groups : int32[c, most]
        Padded with n at the end; overwritten.
    """
    n = X.shape[0]
    c, most = groups.shape
    reach, state = np.zeros(n), np.zeros(n, np.int8)
    seen = np.empty(most * near.shape[1] + 2 * most, np.int64)
    for g in range(c):
        group = groups[g]
        size = 0
        while size < most and group[size] < n:
            size += 1
        for _ in range(4 * most):
            count, pairs, value = _look_around(X, prices, near, group, size, reach, state, seen)
            out, into = _best_change(X, prices, group, size, least, gain, reach, state, seen[:count], pairs, value)
            for p in range(count):
                state[seen[p]] = 0
            if out < 0 and into < 0:
                break
            if out >= 0 and into >= 0:
                group[out] = into
            elif out >= 0:
                size -= 1
                group[out] = group[size]
                group[size] = n
            else:
                group[size] = into
                size += 1


@inlined
def _look_around(X, prices, near, group, size, reach, state, seen):  # type: ignore[no-untyped-def]
    """List who is in a group and who may join.

    Parameters
    ----------
    reach : float64[n], state : int8[n], seen : int64[c]
        Filled for those listed in `seen`: the sum of squared distances to the group; 2 who is in, 1 who may join.

    Returns
    -------
    int, float, float
        How many there are; the squared distances of all pairs of the group, and the prices of its records, in total.
    """
    count, pairs, value = 0, 0.0, 0.0
    for t in range(size):
        state[group[t]] = 2
        value += prices[group[t]]
        seen[count] = group[t]
        count += 1
    for t in range(size):
        for j in near[group[t]]:
            if state[j] == 0:
                state[j] = 1
                seen[count] = j
                count += 1
    for p in range(count):
        j = seen[p]
        reach[j] = 0.0
        for t in range(size):
            for q in range(X.shape[1]):
                reach[j] += (X[j, q] - X[group[t], q]) ** 2
        if state[j] == 2:
            pairs += 0.5 * reach[j]
    return count, pairs, value


@inlined
def _best_change(X, prices, group, size, least, gain, reach, state, seen, pairs, value):  # type: ignore[no-untyped-def]
    """Return which place of a group is given up and who joins (-1: none), for the least reduced cost."""
    best, out, into = pairs / size - value - gain, -1, -1
    if size < group.shape[0]:
        for j in seen:
            if state[j] == 1:
                v = (pairs + reach[j]) / (size + 1) - value - prices[j]
                if v < best:
                    best, out, into = v, -1, j
    for t in range(1, size):
        i = group[t]
        if size > least:
            v = (pairs - reach[i]) / (size - 1) - value + prices[i]
            if v < best:
                best, out, into = v, t, -1
        for j in seen[size:]:
            rough = (pairs - reach[i] + reach[j]) / size - value + prices[i] - prices[j]
            square = 0.0
            for q in range(X.shape[1]):
                square += (X[j, q] - X[i, q]) ** 2
            if rough - square / size < best:
                best, out, into = rough - square / size, t, j
    return out, into
