"""MDAV, MDAV+, MDAV* and ONA* by brute force: what the engine is measured against.

Compiled code in double precision, on one thread and without an index: every question for the nearest or furthest
records is a loop over all unassigned ones, every question for the nearest group a loop over all means, and no answer
is kept for a later question. Sums of records are kept: MDAV subtracts what leaves from the sum of what remains.

The labels are those of `shoal.partition`: squared distances are summed coordinate by coordinate, sums of records are
exact, ties go to the lowest row and to the first group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import Array
from shoal.kernels.groups import cost_of, join, mean_of
from shoal.kernels.growth import Made
from shoal.kernels.sums import add_exactly
from shoal.partitioning.pool import numbered

MOST_ROUNDS = 30


# --- searches ---------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def square(X, i, q):  # type: ignore[no-untyped-def]
    """Squared distance of row i of X to q."""
    total = 0.0
    for j in range(q.shape[0]):
        step = X[i, j] - q[j]
        total += step * step
    return total


@njit(cache=True, nogil=True)
def furthest(X, rows, q):  # type: ignore[no-untyped-def]
    """The row furthest from q; `rows` ascend."""
    best, most = -1, -1.0
    for i in rows:
        distance = square(X, i, q)
        if distance > most:
            best, most = i, distance
    return best


@njit(cache=True, nogil=True)
def around(X, rows, seed, k, skip):  # type: ignore[no-untyped-def]
    """The seed and the k - 1 rows nearest to it, in order of (distance, row), `skip` left out; `rows` ascend."""
    found, distances = np.empty(k, np.int64), np.full(k, np.inf)
    found[0], distances[0] = seed, -1.0
    q = X[seed]
    for i in rows:
        distance = square(X, i, q)
        if distance < distances[k - 1] and i != seed and i != skip:
            p = k - 1
            while distance < distances[p - 1]:
                found[p], distances[p] = found[p - 1], distances[p - 1]
                p -= 1
            found[p], distances[p] = i, distance
    return found


@njit(cache=True, nogil=True)
def nearest_group(means, sizes, count, x, own):  # type: ignore[no-untyped-def]
    """Squared distance to the nearest mean of the first `count` groups, and that group; `own` is left out."""
    best, least = -1, np.inf
    for group in range(count):
        if sizes[group] > 0 and group != own:
            distance = square(means, group, x)
            if distance < least:
                best, least = group, distance
    return least, best


@njit(cache=True, nogil=True)
def unassigned(rows, labels):  # type: ignore[no-untyped-def]
    """The `rows` without a label, in the same array."""
    count = 0
    for i in rows:
        rows[count] = i
        count += labels[i] < 0
    return rows[:count]


# --- MDAV, MDAV+, MDAV* -----------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def mdav(X, k):  # type: ignore[no-untyped-def]
    """Labels and number of groups of MDAV."""
    n, d = X.shape
    labels, rows, count = np.full(n, -1, np.int64), np.arange(n), 0
    total = np.zeros((2, d))
    for i in range(n):
        for j in range(d):
            add_exactly(total, j, X[i, j])
    r = -1
    while rows.shape[0] >= 2 * k:
        # By turns, the record furthest from the mean and the one furthest from that.
        r = furthest(X, rows, (total[0] + total[1]) / rows.shape[0] if r < 0 else X[r])
        for i in around(X, rows, r, k, -1):
            labels[i] = count
            for j in range(d):
                add_exactly(total, j, -X[i, j])
        rows = unassigned(rows, labels)
        count += 1
        r = r if count % 2 == 1 else -1
    labels[rows] = count
    return labels, count + 1


@njit(cache=True, nogil=True)
def _one_seed_a_round(X, k, star):  # type: ignore[no-untyped-def]
    """MDAV+, or MDAV* if `star`."""
    n, d = X.shape
    labels, sizes, count = np.full(n, -1, np.int64), np.zeros(n // k, np.int64), 0
    totals, means = np.zeros((n // k, 2, d)), np.zeros((n // k, d))
    made = Made(labels, sizes, means, totals, np.zeros(n // k, np.int64), np.zeros(1, np.int64))
    rows = np.arange(n)
    centre = mean_of(X, rows)
    while rows.shape[0] >= k:
        r = furthest(X, rows, centre)
        group, members = count, around(X, rows, r, k, -1)
        if star and count > 0 and rows.shape[0] > k:
            closest = nearest_group(means, sizes, count, X[r], -1)[1]
            if _extends(X, k, rows, members, sizes[closest], means[closest]):
                group, members = closest, members[:1]
        join(X, members, group, made)
        rows = unassigned(rows, labels)
        count = max(count, group + 1)
    while rows.shape[0] > 0:  # what is left goes to the nearest groups, the record closest to its group first
        least, row, group = np.inf, rows[:1], -1
        for p in range(rows.shape[0]):
            distance, closest = nearest_group(means, sizes, count, X[rows[p]], -1)
            if distance < least:
                least, row, group = distance, rows[p : p + 1], closest
        join(X, row, group, made)
        rows = unassigned(rows, labels)
    return labels, count


@njit(cache=True, nogil=True)
def _extends(X, k, rows, members, m, mean):  # type: ignore[no-untyped-def]
    """Whether the seed members[0] had better join a group of m records than found the group `members`."""
    seed, second = members[0], members[1]
    joined = (m / (m + 1)) * square(X, seed, mean)
    rest = cost_of(X, around(X, rows, second, k, seed))
    return (joined + rest) / (k + 1) < cost_of(X, members) / k


def mdav_plus(X: Array, k: int) -> tuple[Array, int]:
    """Return labels, in order of creation, and number of groups of MDAV+."""
    found: tuple[Array, int] = _one_seed_a_round(X, k, False)
    return found


def mdav_star(X: Array, k: int) -> tuple[Array, int]:
    """Return labels, in order of creation, and number of groups of MDAV*."""
    found: tuple[Array, int] = _one_seed_a_round(X, k, True)
    return found


# --- ONA* -------------------------------------------------------------------------------------------------


class Parts(NamedTuple):
    """A partition under work.

    Attributes
    ----------
    X : float64[n, d]
    members : int64[g, 3k]
        The rows of each group, ascending.
    sizes : int64[g]
        0 if a group is gone.
    means : float64[g, d]
    used : int64[1]
        How many group numbers are in use.
    """

    X: Array
    members: Array
    sizes: Array
    means: Array
    used: Array


@njit(cache=True, nogil=True)
def rows_of(parts, group):  # type: ignore[no-untyped-def]
    """The rows of a group, ascending."""
    return parts.members[group, : parts.sizes[group]]


@njit(cache=True, nogil=True)
def put(parts, group, row):  # type: ignore[no-untyped-def]
    """Add a row to a group; its mean stays as it was."""
    p = parts.sizes[group]
    while p > 0 and parts.members[group, p - 1] > row:
        parts.members[group, p] = parts.members[group, p - 1]
        p -= 1
    parts.members[group, p] = row
    parts.sizes[group] += 1


@njit(cache=True, nogil=True)
def renew(parts, group):  # type: ignore[no-untyped-def]
    """Compute the mean of a group anew."""
    mean = mean_of(parts.X, rows_of(parts, group))
    for j in range(mean.shape[0]):  # compiles faster than the assignment of an array
        parts.means[group, j] = mean[j]


@njit(cache=True, nogil=True)
def fill(parts, order, starts):  # type: ignore[no-untyped-def]
    """Make groups 0, 1, .. of the rows `order`, cut at `starts`."""
    parts.sizes[:] = 0
    parts.used[0] = starts.shape[0] - 1
    for group in range(parts.used[0]):
        for row in order[starts[group] : starts[group + 1]]:
            put(parts, group, row)
        renew(parts, group)


@njit(cache=True, nogil=True)
def dissolve(parts, group):  # type: ignore[no-untyped-def]
    """Give the records of a group to the nearest other means if that lowers the squared error.

    Return the size of the largest group that took some, or 0.
    """
    X, sizes, rows = parts.X, parts.sizes, rows_of(parts, group)
    targets = np.empty(rows.shape[0], np.int64)
    for p in range(rows.shape[0]):
        targets[p] = nearest_group(parts.means, sizes, parts.used[0], X[rows[p]], group)[1]
    if targets[0] < 0:
        return 0
    sums = np.zeros((2, 2))  # of what keeping costs, and of what dissolving costs
    add_exactly(sums, 0, cost_of(X, rows))
    for first in range(rows.shape[0]):
        target = targets[first]
        if target in targets[:first]:
            continue
        joined, size = parts.members[target].copy(), sizes[target]
        add_exactly(sums, 0, cost_of(X, joined[:size]))
        for p in range(first, rows.shape[0]):
            if targets[p] == target:
                joined[size] = rows[p]
                size += 1
        add_exactly(sums, 1, cost_of(X, joined[:size]))
    if not sums[0, 0] + sums[1, 0] > sums[0, 1] + sums[1, 1]:
        return 0
    for p in range(rows.shape[0]):
        put(parts, targets[p], rows[p])
    sizes[group] = 0
    largest = 0
    for target in targets:
        renew(parts, target)
        largest = max(largest, sizes[target])
    return largest


@njit(cache=True, nogil=True)
def reassign(parts, group):  # type: ignore[no-untyped-def]
    """Make the move out of a group that lowers the squared error most; return the size of where it went, or 0."""
    X, sizes, means, m = parts.X, parts.sizes, parts.means, parts.sizes[group]
    gain, best, target = 0.0, -1, -1
    for row in rows_of(parts, group):
        distance, to = nearest_group(means, sizes, parts.used[0], X[row], group)
        removed = (m / (m - 1)) * square(X, row, means[group])
        added = (sizes[to] / (sizes[to] + 1)) * distance
        if removed - added > gain:
            gain, best, target = removed - added, row, to
    if best < 0:
        return 0
    rows = rows_of(parts, group).copy()
    sizes[group] = 0
    for row in rows:
        put(parts, target if row == best else group, row)
    renew(parts, group)
    renew(parts, target)
    return sizes[target]


@njit(cache=True, nogil=True)
def dissolve_from(parts, group, stop, k):  # type: ignore[no-untyped-def]
    """Try to dissolve the groups of k from `group` on, until one of 2k arises; return where to go on."""
    while group < stop:
        group += 1
        if parts.sizes[group - 1] == k and dissolve(parts, group - 1) >= 2 * k:
            break
    return group


@njit(cache=True, nogil=True)
def reassign_from(parts, group, k):  # type: ignore[no-untyped-def]
    """Reassign from the groups of more than k from `group` on, until one of 2k arises; return where to go on."""
    while group < parts.used[0]:
        size = reassign(parts, group) if parts.sizes[group] > k and parts.used[0] > 1 else 0
        if size >= 2 * k:
            break
        if size == 0:
            group += 1
    return group


@njit(cache=True, nogil=True)
def error_and_labels(parts):  # type: ignore[no-untyped-def]
    """Squared error of a partition, and its labels."""
    total, labels = np.zeros((2, 1)), np.empty(parts.X.shape[0], np.int64)
    for group in range(parts.used[0]):
        add_exactly(total, 0, cost_of(parts.X, rows_of(parts, group)))
        labels[rows_of(parts, group)] = group
    return total[0, 0] + total[1, 0], labels


def replace(parts: Parts, group: int, rows: Array) -> None:
    """Let a group consist of `rows`, which ascend."""
    parts.sizes[group] = len(rows)
    parts.members[group, : len(rows)] = rows
    parts.means[group] = mean_of(parts.X, rows)


def split_large(parts: Parts, k: int) -> None:
    """Split groups of 2k records or more by MDAV*: the first piece keeps the number, the others come last."""
    for group in np.flatnonzero(parts.sizes[: parts.used[0]] >= 2 * k).tolist():
        rows = parts.members[group, : parts.sizes[group]].copy()
        labels, pieces = mdav_star(parts.X[rows], k)
        replace(parts, group, rows[labels == 0])
        for piece in range(1, pieces):
            replace(parts, parts.used[0], rows[labels == piece])
            parts.used[0] += 1


def by_group(labels: Array) -> tuple[Array, Array]:
    """Return all rows, group by group and ascending in each, and where each group begins and ends."""
    return np.argsort(labels, kind="stable"), np.append(0, np.bincount(labels).cumsum())


def one_round(parts: Parts, k: int) -> None:
    """Dissolve groups of k, but none made meanwhile; then reassign from all that are larger."""
    group, stop = 0, int(parts.used[0])
    while group < stop:
        group = dissolve_from(parts, group, stop, k)
        split_large(parts, k)
    there = np.flatnonzero(parts.sizes[: parts.used[0]])
    for values in (parts.members, parts.means, parts.sizes):
        values[: len(there)] = values[there]
    group, parts.used[0] = 0, len(there)
    while group < parts.used[0]:
        group = reassign_from(parts, group, k)
        split_large(parts, k)


def ona_star(X: Array, k: int) -> tuple[Array, int]:
    """Return labels and number of groups of ONA*."""
    labels, count = mdav_star(X, k)
    order, starts = by_group(labels)
    for group in np.flatnonzero(np.diff(starts) >= 2 * k):
        rows = order[starts[group] : starts[group + 1]]
        own, pieces = mdav_plus(X[rows], k)
        labels[rows] = np.where(own == 0, group, count + own - 1)
        count += pieces - 1
    room = 2 * (len(X) // k) + 1  # a group that is dissolved keeps its number for the rest of the phase
    shapes = ((room, 3 * k), np.int64), (room, np.int64), ((room, X.shape[1]), np.float64), (1, np.int64)
    parts = Parts(X, *(np.zeros(shape, kind) for shape, kind in shapes))
    fill(parts, *by_group(labels))
    total, labels = error_and_labels(parts)
    by_row = False
    for _ in range(MOST_ROUNDS):
        one_round(parts, k)
        lower, new = error_and_labels(parts)
        if lower < total:
            total, labels, by_row = lower, new, False
        elif by_row:
            break
        else:  # undone, and tried again with the groups in order of their first rows
            labels, by_row = numbered(labels), True
            fill(parts, *by_group(labels))
    return labels, int(labels.max()) + 1


METHODS: dict[str, Callable[[Array, int], tuple[Array, int]]]
METHODS = {"mdav": mdav, "mdav+": mdav_plus, "mdav*": mdav_star, "ona*": ona_star}


def partition(X: Array, k: int, method: str) -> Array:
    """Return the labels of a method, groups numbered by first appearance: int64[n]."""
    return numbered(METHODS[method](X, k)[0])
