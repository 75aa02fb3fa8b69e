"""Exact moves between neighbouring groups, and a climb by them.

Notation: c_A, a = mean and size of group A; u = c_B - c_A; h = 1/a + 1/b.

- *Shift* of x from A to B changes the squared error by b/(b+1) |x - c_B|^2 - a/(a-1) |x - c_A|^2.
- *Swap* of x in A and y in B changes it by 2 (y - x).u - h |y - x|^2. With x = c_A + e, y = c_B + f, w = f - e this is
  (2-h)|u|^2 + (2-2h) u.w - h |w|^2, which is not negative where |u| is at least the sum of the two radii.
- A group of 2k records is *split*, and one whose records cost less in the groups around it is *dissolved*.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import inlined, inner, lent
from shoal.kernels.search_state import (
    CLOCK,
    DIRTY,
    EPSILON,
    ZERO,
    dot,
    push_number,
    save,
    settle,
    square_apart,
    take_number,
)

# Most groups that share the records of one that is dissolved.
MOST_TAKERS = 64


@inner
def _cut_in_two(s, g, order, along, k):  # type: ignore[no-untyped-def]
    """Split a group of 2k records in halves, in the best of three ways.

    The ends are the record furthest from the mean and the one furthest from that. Halves are made along the line
    between them, of the records nearest to the one end, and of those nearest to the other.
    """
    size, d = s.sizes[g], s.X.shape[1]
    save(s, g)
    new = take_number(s)
    one = np.int64(s.members[g, 0])
    for p in range(size):
        order[p] = s.members[g, p]
        if s.squares[order[p]] > s.squares[one]:
            one = order[p]
    other, furthest = one, -1.0
    for p in range(size):
        square = square_apart(s.X, order[p], s.X, one)
        if square > furthest:
            other, furthest = order[p], square
    part = np.empty((1, d))
    best = -1.0
    for way in range(3):
        for p in range(size):
            v = 0.0
            if way != 2:
                v += square_apart(s.X, order[p], s.X, one)
            if way != 1:
                v -= square_apart(s.X, order[p], s.X, other)
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
        value = dot(part, ZERO, part[0])
        if value > best:
            best = value
            for p in range(k):
                s.members[g, p] = order[p]
                s.members[new, p] = order[k + p]
    s.sizes[g], s.sizes[new] = k, k
    settle(s, g)
    settle(s, new)


@lent
def leave(s, g, i):  # type: ignore[no-untyped-def]
    """Take record i out of group g, which is to be settled then."""
    for p in range(s.sizes[g]):
        if s.members[g, p] == i:
            s.sizes[g] -= 1
            s.members[g, p] = s.members[g, s.sizes[g]]
            return


@lent
def enter(s, g, i):  # type: ignore[no-untyped-def]
    """Put record i into group g, which is to be settled then."""
    s.members[g, s.sizes[g]] = i
    s.sizes[g] += 1


@lent
def _best_between(s, A, B, k, u, ahead, behind):  # type: ignore[no-untyped-def]
    """Find the best shift or swap between two groups.

    Returns
    -------
    int, int
        The record that goes from A to B and the one that goes from B to A (-1: none).
    """
    a, b, d = s.sizes[A], s.sizes[B], s.X.shape[1]
    square = square_apart(s.means, A, s.means, B)
    least, out, into = -s.totals[EPSILON], np.int64(-1), np.int64(-1)
    apart = np.sqrt(square)
    swaps = apart < s.radii[A] + s.radii[B]
    # |x - c_B| is at least `apart` less the radius of A.
    give = a > k and may_shift(apart, s.radii[A], a, b)
    take = b > k and may_shift(apart, s.radii[B], b, a)
    if not (swaps or give or take):
        return out, into
    for j in range(d):
        u[j] = s.means[B, j] - s.means[A, j]
    shift = dot(s.means, A, u)
    low, high = np.inf, -np.inf
    for p in range(a):
        i = np.int64(s.members[A, p])
        ahead[p] = dot(s.X, i, u) - shift
        high = max(high, ahead[p])
        if give:
            change = (square - 2.0 * ahead[p] + s.squares[i]) * b / (b + 1.0) - s.squares[i] * a / (a - 1.0)
            if change < least:
                least, out, into = change, i, np.int64(-1)
    for q in range(b):
        i = np.int64(s.members[B, q])
        behind[q] = dot(s.X, i, u) - shift - square
        low = min(low, behind[q])
        if take:
            change = (square + 2.0 * behind[q] + s.squares[i]) * a / (a + 1.0) - s.squares[i] * b / (b - 1.0)
            if change < least:
                least, out, into = change, np.int64(-1), i
    if not swaps:
        return out, into
    h = 1.0 / a + 1.0 / b
    base, slope = (2.0 - h) * square, 2.0 - 2.0 * h
    widest = s.radii[A] + s.radii[B]
    if base + slope * (low - high) - h * widest * widest >= least:
        return out, into
    for p in range(a):
        i = np.int64(s.members[A, p])
        if base + slope * (low - ahead[p]) - h * (np.sqrt(s.squares[i]) + s.radii[B]) ** 2 >= least:
            continue
        for q in range(b):
            back = np.int64(s.members[B, q])
            sum2 = s.squares[i] + s.squares[back]
            # |w|^2 <= 2 (|e|^2 + |f|^2)
            if base + slope * (behind[q] - ahead[p]) - h * 2.0 * sum2 >= least:
                continue
            change = 2.0 * (square + behind[q] - ahead[p]) - h * square_apart(s.X, i, s.X, back)
            if change < least:
                least, out, into = change, i, back
    return out, into


@lent
def may_shift(apart, radius, giver, taker):  # type: ignore[no-untyped-def]
    """Whether a record at most `radius` from the mean of its group could gain by going to the other."""
    if apart <= radius:
        return True
    return (apart - radius) ** 2 * taker * (giver - 1.0) < radius * radius * giver * (taker + 1.0)


@lent
def ruled(s, A, B):  # type: ignore[no-untyped-def]
    """A code for a pair of groups as they are, whatever their order, and its place among those that were ruled out."""
    one, other = s.codes[A], s.codes[B]
    z = (one + other) * np.uint64(0xBF58476D1CE4E5B9) ^ (one ^ other)
    z = (z ^ (z >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    return z, np.int64(z & np.uint64(s.ruled.shape[0] - 1))


@lent
def around(s, A, found, reach):  # type: ignore[no-untyped-def]
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


@lent
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
        i, least = np.int64(s.members[A, p]), np.inf
        for t in range(count):
            B = found[t]
            if s.sizes[B] < 2 * k - 1:
                least = min(least, square_apart(s.X, i, s.means, B) * s.sizes[B] / (s.sizes[B] + 1.0))
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
        i, least, taker = np.int64(s.members[A, p]), np.inf, -1
        for t in range(count):
            if sizes[t] < 2 * k - 1:
                change = square_apart(s.X, i, means, t) * sizes[t] / (sizes[t] + 1.0)
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


@lent
def share_out(s, A, found, takers):  # type: ignore[no-untyped-def]
    """Give the records of A to their takers."""
    size = s.sizes[A]
    save(s, A)
    for p in range(size):
        save(s, found[takers[p]])
        enter(s, found[takers[p]], np.int64(s.members[A, p]))
    push_number(s, A)
    for p in range(size):
        settle(s, found[takers[p]])


@lent
def exchange(s, A, B, out, into):  # type: ignore[no-untyped-def]
    """Let `out` go from A to B and `into` from B to A (-1: nobody)."""
    save(s, A)
    save(s, B)
    if out >= 0:
        leave(s, A, out)
    if into >= 0:
        leave(s, B, into)
        enter(s, A, into)
    if out >= 0:
        enter(s, B, out)
    settle(s, B)
    settle(s, A)


@inlined
def climb(s, k, found, scratch, order, along, reach):  # type: ignore[no-untyped-def]
    """Apply moves that gain until no group on the stack has one."""
    u, ahead, behind, sizes, means = scratch
    while s.counts[DIRTY] > 0:
        s.counts[DIRTY] -= 1
        A = s.stack[s.counts[DIRTY]]
        s.dirty[A] = False
        if s.sizes[A] == 0:
            continue
        count = around(s, A, found, reach)
        moved = False
        for t in range(count):
            B = found[t]
            pair, place = ruled(s, A, B)
            if s.ruled[place] == pair:
                continue
            out, into = _best_between(s, A, B, k, u, ahead, behind)
            if out < 0 and into < 0:
                s.ruled[place] = pair
                continue
            exchange(s, A, B, out, into)
            # At once: there is no room for one more.
            if s.sizes[A] == 2 * k:
                _cut_in_two(s, A, order, along, k)
            elif s.sizes[B] == 2 * k:
                _cut_in_two(s, B, order, along, k)
            moved = True
            break
        if not moved and _takers(s, A, found, min(count, MOST_TAKERS), k, order, sizes, means):
            share_out(s, A, found, order)
