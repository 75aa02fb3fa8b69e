"""A partition under search: its groups, what a step has changed of them, and how to take that back.

The mean and the squared error of a group that changed are computed anew from its records: nothing drifts. A step saves
every group before it is first changed, so that it costs the same however many records there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import lent

# Places in `counts`.
FREE, SAVED, DIRTY, CLOCK, MET, SINCE = range(6)
COUNTS = 6
# Typed, as a literal or an index of another width would have the kernels that take it compiled once more.
ZERO = np.int64(0)
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


@lent
def draw(random):  # type: ignore[no-untyped-def]
    """A number from [0, 1): splitmix64, whose whole state is one integer."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@lent
def dot(X, i, y):  # type: ignore[no-untyped-def]
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


@lent
def square_apart(X, i, Y, g):  # type: ignore[no-untyped-def]
    """Squared distance of row i of X and row g of Y, summed as in `dot`."""
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


@lent
def settle(s, g):  # type: ignore[no-untyped-def]
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
        i = np.int64(s.members[g, p])
        code += s.keys[i]
        square = square_apart(s.X, i, s.means, g)
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


@lent
def save(s, g):  # type: ignore[no-untyped-def]
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


@lent
def take_number(s):  # type: ignore[no-untyped-def]
    """Return the number of a new, empty group."""
    s.counts[FREE] -= 1
    g = s.free[s.counts[FREE]]
    save(s, g)
    return g


@lent
def push_number(s, g):  # type: ignore[no-untyped-def]
    """Note that no group has number g."""
    s.free[s.counts[FREE]] = g
    s.free_at[g] = s.counts[FREE]
    s.counts[FREE] += 1
    s.totals[NOW] -= s.costs[g]
    s.sizes[g], s.costs[g], s.radii[g] = 0, 0.0, 0.0


@lent
def undo(s):  # type: ignore[no-untyped-def]
    """Take back everything since the last `keep`."""
    for at in range(s.counts[SAVED]):
        g, size = s.saved_ids[at], s.saved_sizes[at]
        if size == 0:
            if s.sizes[g] > 0:
                push_number(s, g)
            continue
        if s.sizes[g] == 0:
            s.counts[FREE] -= 1
            last = s.free[s.counts[FREE]]
            s.free[s.free_at[g]] = last
            s.free_at[last] = s.free_at[g]
        s.sizes[g] = size
        for p in range(size):
            s.members[g, p] = s.saved_members[at, p]
        settle(s, g)
    for t in range(s.counts[DIRTY]):
        s.dirty[s.stack[t]] = False
    s.counts[DIRTY] = 0
    keep(s)


@lent
def keep(s):  # type: ignore[no-untyped-def]
    """Forget what was saved."""
    for at in range(s.counts[SAVED]):
        s.saved_at[s.saved_ids[at]] = -1
    s.counts[SAVED] = 0
