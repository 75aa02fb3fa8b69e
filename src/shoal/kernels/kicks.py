"""Iterated local search over partitions: exact moves between neighbouring groups, and kicks that free a few of them.

Notation: c_A, a = mean and size of group A; u = c_B - c_A; h = 1/a + 1/b.

- *Shift* of x from A to B changes the squared error by b/(b+1) |x - c_B|^2 - a/(a-1) |x - c_A|^2.
- *Swap* of x in A and y in B changes it by 2 (y - x).u - h |y - x|^2. With x = c_A + e, y = c_B + f, w = f - e this is
  (2-h)|u|^2 + (2-2h) u.w - h |w|^2, which is not negative where |u| is at least the sum of the two radii: most pairs of
  groups need one distance only.

Whatever a move promises, the mean and the squared error of a group that changed are computed anew from its records:
nothing drifts. A kick saves every group before it is first changed, so that a step costs the same however many
records there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner, kernel

# Places in `counts`.
FREE, SAVED, DIRTY, CLOCK, MET, SINCE = range(6)
COUNTS = 6
# Most groups that a kick frees.
MOST_FREED = 5
# Most groups that share the records of one that is dissolved.
MOST_TAKERS = 64
# Places in `totals`: squared error now, the least so far, and what counts as a gain.
NOW, BEST, EPSILON = range(3)


class State(NamedTuple):
    """A partition under search. Groups have k to 2k - 1 records; their numbers are below the room for them, r.

    Attributes
    ----------
    X : float64[n, d]
    near : int32[n, m]
        Neighbours of each record, nearest first; -1 where there are none.
    labels : int64[n]
    members : int32[r, 2k], sizes : int64[r]
    means : float64[r, d], costs : float64[r], radii : float64[r]
    squares : float64[n]
        Squared distance of each record to the mean of its group.
    free, free_at : int64[r]
        Numbers that no group has, a stack; place of each in it.
    stack : int64[r], dirty : bool[r]
        Groups to look at.
    marks : int64[r]
        When a group was last met, by the clock in `counts`.
    saved_ids : int64[r], saved_at : int64[r]
        Groups that this kick changed; place of each in what was saved, -1 if it was not.
    saved_members : int32[r, 2k], saved_sizes : int64[r]
    best : int64[n], since : int32[n]
        Labels of the least squared error so far; the records that kept steps have touched since then.
    counts : int64[COUNTS], totals : float64[3]
    keys : uint64[n], codes : uint64[r]
        A random number for each record, and the sum of those of a group, by which it is recognised.
    ruled : uint64[2^b]
        Pairs of groups, by their codes, between which no move gains: most kicks end where they began.
    slots : int64[2^b]
        Hash table of the groups met in good partitions: their places in `pool`, -1 where there is none.
    pool : int32[c, 2k - 1], pool_sizes : int64[c], pool_keys : uint64[c], pool_costs : float64[c]
        The groups met.
    random : uint64[1]
    """

    X: np.ndarray
    near: np.ndarray
    labels: np.ndarray
    members: np.ndarray
    sizes: np.ndarray
    means: np.ndarray
    costs: np.ndarray
    radii: np.ndarray
    squares: np.ndarray
    free: np.ndarray
    free_at: np.ndarray
    stack: np.ndarray
    dirty: np.ndarray
    marks: np.ndarray
    saved_ids: np.ndarray
    saved_at: np.ndarray
    saved_members: np.ndarray
    saved_sizes: np.ndarray
    best: np.ndarray
    since: np.ndarray
    counts: np.ndarray
    totals: np.ndarray
    keys: np.ndarray
    codes: np.ndarray
    ruled: np.ndarray
    slots: np.ndarray
    pool: np.ndarray
    pool_sizes: np.ndarray
    pool_keys: np.ndarray
    pool_costs: np.ndarray
    random: np.ndarray


@inner
def _draw(random):  # type: ignore[no-untyped-def]
    """A number from [0, 1): splitmix64, whose whole state is one integer."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inner
def _dot(X, i, y):  # type: ignore[no-untyped-def]
    """Inner product of row i of X and y in four interleaved sums, which do not wait for each other."""
    d = y.shape[0]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    j = 0
    while j + 4 <= d:
        s0 += X[i, j] * y[j]
        s1 += X[i, j + 1] * y[j + 1]
        s2 += X[i, j + 2] * y[j + 2]
        s3 += X[i, j + 3] * y[j + 3]
        j += 4
    while j < d:
        s0 += X[i, j] * y[j]
        j += 1
    return (s0 + s1) + (s2 + s3)


@inner
def _apart(X, i, Y, g):  # type: ignore[no-untyped-def]
    """Squared distance of row i of X and row g of Y, summed as in `_dot`."""
    d = X.shape[1]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    j = 0
    while j + 4 <= d:
        t0, t1 = X[i, j] - Y[g, j], X[i, j + 1] - Y[g, j + 1]
        t2, t3 = X[i, j + 2] - Y[g, j + 2], X[i, j + 3] - Y[g, j + 3]
        s0 += t0 * t0
        s1 += t1 * t1
        s2 += t2 * t2
        s3 += t3 * t3
        j += 4
    while j < d:
        t0 = X[i, j] - Y[g, j]
        s0 += t0 * t0
        j += 1
    return (s0 + s1) + (s2 + s3)


@inner
def _settle(s, g):  # type: ignore[no-untyped-def]
    """Compute mean, squared error and radius of group g from its records, and put it on the stack."""
    size, d = s.sizes[g], s.X.shape[1]
    for j in range(d):
        s.means[g, j] = 0.0
    for p in range(size):
        i = s.members[g, p]
        for j in range(d):
            s.means[g, j] += s.X[i, j]
    for j in range(d):
        s.means[g, j] /= size
    cost, largest, code = 0.0, 0.0, np.uint64(0)
    for p in range(size):
        i = s.members[g, p]
        code += s.keys[i]
        square = _apart(s.X, i, s.means, g)
        s.squares[i] = square
        s.labels[i] = g
        cost += square
        largest = max(largest, square)
    s.totals[NOW] += cost - s.costs[g]
    s.costs[g] = cost
    s.codes[g] = code
    s.radii[g] = np.sqrt(largest)
    if not s.dirty[g]:
        s.dirty[g] = True
        s.stack[s.counts[DIRTY]] = g
        s.counts[DIRTY] += 1


@inner
def _save(s, g):  # type: ignore[no-untyped-def]
    """Keep what group g is, unless this kick did so before."""
    if s.saved_at[g] >= 0:
        return
    at = s.counts[SAVED]
    s.saved_at[g] = at
    s.saved_ids[at] = g
    s.saved_sizes[at] = s.sizes[g]
    for p in range(s.sizes[g]):
        s.saved_members[at, p] = s.members[g, p]
    s.counts[SAVED] = at + 1


@inner
def _take_number(s):  # type: ignore[no-untyped-def]
    """Return the number of a new, empty group."""
    s.counts[FREE] -= 1
    g = s.free[s.counts[FREE]]
    _save(s, g)
    return g


@inner
def _push_number(s, g):  # type: ignore[no-untyped-def]
    """Note that no group has number g."""
    s.free[s.counts[FREE]] = g
    s.free_at[g] = s.counts[FREE]
    s.counts[FREE] += 1
    s.totals[NOW] -= s.costs[g]
    s.sizes[g], s.costs[g], s.radii[g] = 0, 0.0, 0.0


@inner
def _undo(s):  # type: ignore[no-untyped-def]
    """Take back everything since the last `_keep`."""
    for at in range(s.counts[SAVED]):
        g, size = s.saved_ids[at], s.saved_sizes[at]
        if size == 0:
            if s.sizes[g] > 0:
                _push_number(s, g)
            continue
        if s.sizes[g] == 0:
            s.counts[FREE] -= 1
            last = s.free[s.counts[FREE]]
            s.free[s.free_at[g]] = last
            s.free_at[last] = s.free_at[g]
        s.sizes[g] = size
        for p in range(size):
            s.members[g, p] = s.saved_members[at, p]
        _settle(s, g)
    for t in range(s.counts[DIRTY]):
        s.dirty[s.stack[t]] = False
    s.counts[DIRTY] = 0
    _keep(s)


@inner
def _keep(s):  # type: ignore[no-untyped-def]
    """Forget what was saved."""
    for at in range(s.counts[SAVED]):
        s.saved_at[s.saved_ids[at]] = -1
    s.counts[SAVED] = 0


@inner
def _cut_in_two(s, g, order, along, k):  # type: ignore[no-untyped-def]
    """Split a group of 2k records in halves, in the best of three ways.

    The ends are the record furthest from the mean and the one furthest from that. Halves are made along the line
    between them, of the records nearest to the one end, and of those nearest to the other.
    """
    size, d = s.sizes[g], s.X.shape[1]
    _save(s, g)
    new = _take_number(s)
    one = s.members[g, 0]
    for p in range(size):
        order[p] = s.members[g, p]
        if s.squares[order[p]] > s.squares[one]:
            one = s.members[g, p]
    other, furthest = one, -1.0
    for p in range(size):
        square = _apart(s.X, order[p], s.X, one)
        if square > furthest:
            other, furthest = s.members[g, p], square
    part = np.empty((1, d))
    best = -1.0
    for way in range(3):
        for p in range(size):
            v = 0.0
            if way != 2:
                v += _apart(s.X, order[p], s.X, one)
            if way != 1:
                v -= _apart(s.X, order[p], s.X, other)
            along[p] = v
        for p in range(1, size):
            i, v, q = order[p], along[p], p
            while q > 0 and along[q - 1] > v:
                order[q], along[q] = order[q - 1], along[q - 1]
                q -= 1
            order[q], along[q] = i, v
        # The further the sum of a half, relative to the mean of all, is from zero, the better.
        for j in range(d):
            part[0, j] = 0.0
        for p in range(k):
            for j in range(d):
                part[0, j] += s.X[order[p], j] - s.means[g, j]
        value = _dot(part, 0, part[0])
        if value > best:
            best = value
            for p in range(k):
                s.members[g, p] = order[p]
                s.members[new, p] = order[k + p]
    s.sizes[g], s.sizes[new] = k, k
    _settle(s, g)
    _settle(s, new)


@inner
def _leave(s, g, i):  # type: ignore[no-untyped-def]
    for p in range(s.sizes[g]):
        if s.members[g, p] == i:
            s.sizes[g] -= 1
            s.members[g, p] = s.members[g, s.sizes[g]]
            return


@inner
def _enter(s, g, i):  # type: ignore[no-untyped-def]
    s.members[g, s.sizes[g]] = i
    s.sizes[g] += 1


@inner
def _best_between(s, A, B, k, u, ahead, behind):  # type: ignore[no-untyped-def]
    """Find the best shift or swap between two groups.

    Returns
    -------
    int, int
        The record that goes from A to B and the one that goes from B to A (-1: none).
    """
    a, b, d = s.sizes[A], s.sizes[B], s.X.shape[1]
    square = _apart(s.means, A, s.means, B)
    least, out, into = -s.totals[EPSILON], np.int64(-1), np.int64(-1)
    apart = np.sqrt(square)
    swaps = apart < s.radii[A] + s.radii[B]
    # |x - c_B| is at least `apart` less the radius of A.
    give = a > k and _may_shift(apart, s.radii[A], a, b)
    take = b > k and _may_shift(apart, s.radii[B], b, a)
    if not (swaps or give or take):
        return out, into
    for j in range(d):
        u[j] = s.means[B, j] - s.means[A, j]
    shift = _dot(s.means, A, u)
    low, high = np.inf, -np.inf
    for p in range(a):
        i = s.members[A, p]
        ahead[p] = _dot(s.X, i, u) - shift
        high = max(high, ahead[p])
        if give:
            change = (square - 2.0 * ahead[p] + s.squares[i]) * b / (b + 1.0) - s.squares[i] * a / (a - 1.0)
            if change < least:
                least, out, into = change, np.int64(i), np.int64(-1)
    for q in range(b):
        i = s.members[B, q]
        behind[q] = _dot(s.X, i, u) - shift - square
        low = min(low, behind[q])
        if take:
            change = (square + 2.0 * behind[q] + s.squares[i]) * a / (a + 1.0) - s.squares[i] * b / (b - 1.0)
            if change < least:
                least, out, into = change, np.int64(-1), np.int64(i)
    if not swaps:
        return out, into
    h = 1.0 / a + 1.0 / b
    base, slope = (2.0 - h) * square, 2.0 - 2.0 * h
    widest = s.radii[A] + s.radii[B]
    if base + slope * (low - high) - h * widest * widest >= least:
        return out, into
    for p in range(a):
        i = s.members[A, p]
        if base + slope * (low - ahead[p]) - h * (np.sqrt(s.squares[i]) + s.radii[B]) ** 2 >= least:
            continue
        for q in range(b):
            j = s.members[B, q]
            sum2 = s.squares[i] + s.squares[j]
            # |w|^2 <= 2 (|e|^2 + |f|^2)
            if base + slope * (behind[q] - ahead[p]) - h * 2.0 * sum2 >= least:
                continue
            change = 2.0 * (square + behind[q] - ahead[p]) - h * _apart(s.X, i, s.X, j)
            if change < least:
                least, out, into = change, np.int64(i), np.int64(j)
    return out, into


@inner
def _may_shift(apart, radius, giver, taker):  # type: ignore[no-untyped-def]
    """Whether a record at most `radius` from the mean of its group could gain by going to the other."""
    if apart <= radius:
        return True
    return (apart - radius) ** 2 * taker * (giver - 1.0) < radius * radius * giver * (taker + 1.0)


@inner
def _pair(one, other):  # type: ignore[no-untyped-def]
    """A code for a pair of groups, whatever their order."""
    z = (one + other) * np.uint64(0xBF58476D1CE4E5B9) ^ (one ^ other)
    return (z ^ (z >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)


@inner
def _around(s, A, found, reach):  # type: ignore[no-untyped-def]
    """List the groups of the neighbours of A's records."""
    s.counts[CLOCK] += 1
    now, count = s.counts[CLOCK], 0
    s.marks[A] = now
    for p in range(s.sizes[A]):
        i = s.members[A, p]
        for t in range(reach):
            j = s.near[i, t]
            if j < 0:
                break
            B = s.labels[j]
            if s.marks[B] != now:
                s.marks[B] = now
                found[count] = B
                count += 1
    return count


@inner
def _takers(s, A, found, count, k, takers, sizes, means):  # type: ignore[no-untyped-def]
    """Find who would take the records of A, one by one; return whether dissolving A pays.

    Parameters
    ----------
    found : int64[c]
        The first `count`: groups around A.
    takers : int64[2k]
        Filled with the place in `found` of the group that takes each record.
    sizes : int64[c], means : float64[c, d]
        Scratch: what the groups around become.
    """
    gain = s.costs[A]
    for p in range(s.sizes[A]):
        i, least = s.members[A, p], np.inf
        for t in range(count):
            B = found[t]
            if s.sizes[B] < 2 * k - 1:
                least = min(least, _apart(s.X, i, s.means, B) * s.sizes[B] / (s.sizes[B] + 1.0))
        gain -= least
        if gain <= s.totals[EPSILON]:
            return False
    # That was with each taker as it is now, and would be the change if no two records went to the same group.
    gain = s.costs[A]
    for t in range(count):
        sizes[t] = s.sizes[found[t]]
        for j in range(means.shape[1]):
            means[t, j] = s.means[found[t], j]
    for p in range(s.sizes[A]):
        i, least, taker = s.members[A, p], np.inf, -1
        for t in range(count):
            if sizes[t] < 2 * k - 1:
                change = _apart(s.X, i, means, t) * sizes[t] / (sizes[t] + 1.0)
                if change < least:
                    least, taker = change, t
        gain -= least
        if taker < 0 or gain <= s.totals[EPSILON]:
            return False
        takers[p] = taker
        sizes[taker] += 1
        for j in range(means.shape[1]):
            means[taker, j] += (s.X[i, j] - means[taker, j]) / sizes[taker]
    return True


@inner
def _dissolve(s, A, found, takers):  # type: ignore[no-untyped-def]
    """Give the records of A to their takers."""
    size = s.sizes[A]
    _save(s, A)
    for p in range(size):
        _save(s, found[takers[p]])
        _enter(s, found[takers[p]], s.members[A, p])
    _push_number(s, A)
    for p in range(size):
        _settle(s, found[takers[p]])


@inner
def _climb(s, k, found, scratch, order, along, reach):  # type: ignore[no-untyped-def]
    """Apply moves that gain until no group on the stack has one."""
    u, ahead, behind, sizes, means = scratch
    while s.counts[DIRTY] > 0:
        s.counts[DIRTY] -= 1
        A = s.stack[s.counts[DIRTY]]
        s.dirty[A] = False
        if s.sizes[A] == 0:
            continue
        count = _around(s, A, found, reach)
        moved = False
        for t in range(count):
            B = found[t]
            pair = _pair(s.codes[A], s.codes[B])
            place = np.int64(pair & np.uint64(s.ruled.shape[0] - 1))
            if s.ruled[place] == pair:
                continue
            out, into = _best_between(s, A, B, k, u, ahead, behind)
            if out < 0 and into < 0:
                s.ruled[place] = pair
                continue
            _save(s, A)
            _save(s, B)
            if out >= 0:
                _leave(s, A, out)
            if into >= 0:
                _leave(s, B, into)
                _enter(s, A, into)
            if out >= 0:
                _enter(s, B, out)
            _settle(s, B)
            _settle(s, A)
            # At once: there is no room for one more.
            if s.sizes[A] == 2 * k:
                _cut_in_two(s, A, order, along, k)
            elif s.sizes[B] == 2 * k:
                _cut_in_two(s, B, order, along, k)
            moved = True
            break
        if not moved and _takers(s, A, found, min(count, MOST_TAKERS), k, order, sizes, means):
            _dissolve(s, A, found, order)


@inner
def _free_groups(s, wanted, chosen, reach):  # type: ignore[no-untyped-def]
    """Choose groups next to each other, from a random record on; return how many."""
    n = s.X.shape[0]
    s.counts[CLOCK] += 1
    now = s.counts[CLOCK]
    i = int(_draw(s.random) * n)
    j = int(_draw(s.random) * n)
    if s.squares[j] > s.squares[i]:
        i = j
    first = s.labels[i]
    s.marks[first] = now
    chosen[0] = first
    count, tries = 1, 0
    while count < wanted and tries < 8 * wanted:
        tries += 1
        g = chosen[int(_draw(s.random) * count)]
        i = s.members[g, int(_draw(s.random) * s.sizes[g])]
        j = s.near[i, int(_draw(s.random) * reach)]
        if j >= 0 and s.marks[s.labels[j]] != now:
            s.marks[s.labels[j]] = now
            chosen[count] = s.labels[j]
            count += 1
    return count


@inner
def _regroup(s, chosen, count, k, pool, mean):  # type: ignore[no-untyped-def]
    """Pool the records of some groups and build groups of them anew, greedily and with noise."""
    d = s.X.shape[1]
    left = 0
    for t in range(count):
        for p in range(s.sizes[chosen[t]]):
            pool[left] = s.members[chosen[t], p]
            left += 1
    wish = _draw(s.random)
    wanted = count - (wish < 0.15) + (wish > 0.85)
    wanted = min(max(wanted, (left + 2 * k - 2) // (2 * k - 1)), left // k)
    for t in range(count):
        _save(s, chosen[t])
        _push_number(s, chosen[t])
    extreme = _draw(s.random) < 0.5
    for t in range(wanted):
        g = _take_number(s)
        chosen[t] = g
        at = int(_draw(s.random) * left)
        if extreme:
            for j in range(d):
                mean[0, j] = 0.0
            for p in range(left):
                for j in range(d):
                    mean[0, j] += s.X[pool[p], j]
            for j in range(d):
                mean[0, j] /= left
            furthest = -1.0
            for p in range(left):
                square = _apart(s.X, pool[p], mean, 0) * (0.7 + 0.6 * _draw(s.random))
                if square > furthest:
                    furthest, at = square, p
        for j in range(d):
            mean[0, j] = 0.0
        s.sizes[g] = 0
        for m in range(k):
            if m > 0:
                nearest = np.inf
                for p in range(left):
                    square = _apart(s.X, pool[p], mean, 0) * (0.8 + 0.4 * _draw(s.random))
                    if square < nearest:
                        nearest, at = square, p
            i = pool[at]
            left -= 1
            pool[at] = pool[left]
            _enter(s, g, i)
            for j in range(d):
                mean[0, j] += (s.X[i, j] - mean[0, j]) / (m + 1)
        for j in range(d):
            s.means[g, j] = mean[0, j]
    for p in range(left):
        i = pool[p]
        least, target = np.inf, -1
        for t in range(wanted):
            g = chosen[t]
            if s.sizes[g] < 2 * k - 1:
                change = _apart(s.X, i, s.means, g) * s.sizes[g] / (s.sizes[g] + 1.0)
                if change < least:
                    least, target = change, g
        _enter(s, target, i)
        for j in range(d):
            s.means[target, j] += (s.X[i, j] - s.means[target, j]) / s.sizes[target]
    for t in range(wanted):
        _settle(s, chosen[t])


@inner
def _rotate(s, chosen, count):  # type: ignore[no-untyped-def]
    """Pass a random record of each group on to the next."""
    first = chosen[0]
    _save(s, first)
    at = int(_draw(s.random) * s.sizes[first])
    hand = s.members[first, at]
    for t in range(1, count):
        g = chosen[t]
        _save(s, g)
        p = int(_draw(s.random) * s.sizes[g])
        hand, s.members[g, p] = s.members[g, p], hand
    s.members[first, at] = hand
    for t in range(count):
        _settle(s, chosen[t])


@inner
def _remember(s):  # type: ignore[no-untyped-def]
    """Put the groups that this kick made into the pool, as long as there is room."""
    mask = np.uint64(s.slots.shape[0] - 1)
    for at in range(s.counts[SAVED]):
        g = s.saved_ids[at]
        if s.sizes[g] == 0 or s.counts[MET] == s.pool.shape[0]:
            continue
        key = s.codes[g]
        slot = np.int64(key & mask)
        while s.slots[slot] >= 0 and s.pool_keys[s.slots[slot]] != key:
            slot = np.int64(np.uint64(slot + 1) & mask)
        if s.slots[slot] < 0:
            new = s.counts[MET]
            s.slots[slot] = new
            s.pool_keys[new], s.pool_sizes[new], s.pool_costs[new] = key, s.sizes[g], s.costs[g]
            for p in range(s.sizes[g]):
                s.pool[new, p] = s.members[g, p]
            s.counts[MET] += 1


@inner
def _touch(s):  # type: ignore[no-untyped-def]
    """Note whose labels the step that is about to be kept may have changed; too many stand for all."""
    count, n = s.counts[SINCE], s.X.shape[0]
    for at in range(s.counts[SAVED]):
        g = s.saved_ids[at]
        for p in range(s.sizes[g]):
            if count < n:
                s.since[count] = s.members[g, p]
            count += 1
    s.counts[SINCE] = count


@inner
def _note_best(s):  # type: ignore[no-untyped-def]
    """Take the present partition for the best, at the cost of what was touched since the last one."""
    s.totals[BEST] = s.totals[NOW]
    if s.counts[SINCE] > s.X.shape[0]:
        for i in range(s.X.shape[0]):
            s.best[i] = s.labels[i]
    else:
        for t in range(s.counts[SINCE]):
            s.best[s.since[t]] = s.labels[s.since[t]]
    s.counts[SINCE] = 0


@kernel
def search(s, k, steps, heat, cooling, margin, reach):  # type: ignore[no-untyped-def]
    """Climb from the groups on the stack, then make `steps` kicks, each followed by a climb and kept or undone.

    Parameters
    ----------
    s : State
    k : int
    steps : int
    heat, cooling : float
        A step that loses x is kept with probability exp(-x / t); t is `heat` at first and falls by `cooling` a step.
    margin : float
        Groups of partitions that lose at most so much against the best go into the pool.
    reach : int
        How many neighbours of a record are looked at.

    Returns
    -------
    int
        How many steps were kept.
    """
    d = s.X.shape[1]
    found = np.empty(s.sizes.shape[0], np.int64)
    scratch = (
        np.empty(d),
        np.empty(2 * k),
        np.empty(2 * k),
        np.empty(MOST_TAKERS, np.int64),
        np.empty((MOST_TAKERS, d)),
    )
    order, along = np.empty(2 * k, np.int64), np.empty(2 * k)
    chosen = np.empty(MOST_FREED + 2, np.int64)
    pool, mean = np.empty((MOST_FREED + 1) * 2 * k, np.int64), np.empty((1, d))
    _climb(s, k, found, scratch, order, along, reach)
    _touch(s)
    _keep(s)
    if s.totals[NOW] < s.totals[BEST]:
        _note_best(s)
    kept = 0
    for step in range(steps):
        before = s.totals[NOW]
        rotation = _draw(s.random) < 0.3
        wanted = 2 + int(_draw(s.random) * (MOST_FREED - 1))
        count = _free_groups(s, max(wanted, 3) if rotation else wanted, chosen, reach)
        if count < 2:
            continue
        if rotation:
            _rotate(s, chosen, count)
        else:
            _regroup(s, chosen, count, k, pool, mean)
        _climb(s, k, found, scratch, order, along, reach)
        lost = s.totals[NOW] - before
        t = heat - cooling * step
        if lost <= 0.0 or (t > 0.0 and _draw(s.random) < np.exp(-lost / t)):
            if s.totals[NOW] <= s.totals[BEST] + margin:
                _remember(s)
            _touch(s)
            _keep(s)
            kept += 1
            if s.totals[NOW] < s.totals[BEST] - s.totals[EPSILON]:
                _note_best(s)
        else:
            _undo(s)
            s.totals[NOW] = before
    return kept
