"""Methods that take a seed and grow a group around it, as compiled runs.

A run is cut into calls of some thousand groups, between which progress is told and Ctrl-C is heard.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.kernels.groups import join
from shoal.kernels.index import PRESENT, take_out
from shoal.kernels.jit import kernel, lent
from shoal.kernels.search import after, furthest, into_order, nearest_one, search_near
from shoal.kernels.sums import rounded_sum

# Where seeds come from: lists in turn, the record furthest from the mean of those left, or that and the record
# furthest from it in turn.
FROM_LISTS, FROM_MEAN, OPPOSITE = 0, 1, 2
# How groups grow: by the nearest neighbours of the seed, or by the record nearest to the moving mean.
BY_SEED, BY_MEAN = 0, 1


class Made(NamedTuple):
    """Groups under construction.

    Attributes
    ----------
    labels : int64[n]
        Group of each record, -1 if unassigned.
    sizes : int64[g]
    means : float64[g, d]
    totals : float64[g, 2, d]
        Sums in unevaluated pairs.
    kinds : int64[g]
        A record that all of a group are equal to, -1 if they differ; of no account while a group is empty.
    groups : int64[1]
        How many there are.
    """

    labels: Array
    sizes: Array
    means: Array
    totals: Array
    kinds: Array
    groups: Array


@kernel
def mean_present(points, mean):  # type: ignore[no-untyped-def]
    """Write the mean of the present points to `mean`: their sum, which is kept exactly, divided by their number.

    Only which point is furthest from it matters: if all are equal, all are equally far, whatever the last digit is.
    """
    for j in range(mean.shape[0]):
        mean[j] = rounded_sum(points.total, j) / points.state[PRESENT]


@lent
def add_to(points, made, rows, group):  # type: ignore[no-untyped-def]
    """Move `rows` from the pool to a group."""
    for i in rows:
        take_out(points, i)
    join(points.X, rows, group, made)


@lent
def grow(points, made, seed, k, growth, dist, members):  # type: ignore[no-untyped-def]
    """Open a group of `seed` and k - 1 more records of the pool; `members` int64[k] is filled, `dist` is for work."""
    group = made.groups[0]
    made.groups[0] += 1
    members[0] = seed
    m = k - 1 if growth == BY_SEED else 1
    query = points.X[seed]
    at = 1
    if k > 1 and growth == BY_MEAN:
        add_to(points, made, members[:1], group)
    while at < k:
        near = members[at : at + m]
        search_near(points, query, m, seed, np.int64(-1), np.int64(-1), dist, near, np.int64(0))
        if growth == BY_MEAN:
            add_to(points, made, near, group)
            query = made.means[group]
        else:
            into_order(dist, near, m)
        at += m
    if growth == BY_SEED or k == 1:
        add_to(points, made, members, group)


@kernel
def grow_steps(points, made, seeds, positions, seeding, growth, k, least, steps):  # type: ignore[no-untyped-def]
    """Grow groups of k while at least `least` records are left, at most `steps` times; return whether they still are.

    Parameters
    ----------
    points : Points
        The unassigned records.
    made : Made
    seeds : int64[c, n]
        Records in the order in which they become seeds, if unassigned: the lists take turns.
    positions : int64[c + 1]
        How far each list was used; whose turn it is. Kept between calls.
    seeding, growth : int
        See above.
    k, least, steps : int
    """
    mean = np.empty(points.X.shape[1])
    dist, members = np.empty(k), np.empty(k, np.int64)
    turn = positions.shape[0] - 1
    # A pair of opposite seeds is not torn apart.
    while points.state[PRESENT] >= (k if seeding == OPPOSITE and positions[turn] >= 0 else least):
        if steps == 0:
            return True
        steps -= 1
        if seeding == FROM_LISTS:
            own = positions[turn]
            while points.slots[seeds[own, positions[own]]] < 0:
                positions[own] += 1
            seed = seeds[own, positions[own]]
            positions[turn] = (own + 1) % turn
        elif seeding == OPPOSITE and positions[turn] >= 0:
            seed = furthest(points, points.X[positions[turn]])[0]
            positions[turn] = -1
        else:
            mean_present(points, mean)
            seed = furthest(points, mean)[0]
            positions[turn] = seed
        grow(points, made, seed, k, growth, dist, members)
    return False


@kernel
def vmdav_steps(points, made, seeds, position, k, gamma, steps):  # type: ignore[no-untyped-def]
    """Run V-MDAV over at most `steps` of the `seeds`, from `position` on; return where it stopped, -1 at the end.

    A group takes in the unassigned record x closest to any of its members while that squared distance is below
    `gamma` times the squared distance of x to its nearest unassigned neighbour, up to 2k - 1 records.
    """
    X = points.X
    dist, members = np.empty(k), np.empty(2 * k, np.int64)
    squares, outside = np.empty(2 * k), np.empty(2 * k, np.int64)  # of each member: its nearest unassigned record
    for _ in range(steps):
        if points.state[PRESENT] < k:
            return -1
        while points.slots[seeds[position]] < 0:
            position += 1
        grow(points, made, seeds[position], k, BY_SEED, dist, members[:k])
        group, size = made.groups[0] - 1, k
        outside[:k] = -1
        while gamma > 0 and k > 1 and size < 2 * k - 1 and points.state[PRESENT] > 0:
            first = 0
            for p in range(size):
                if outside[p] < 0 or points.slots[outside[p]] < 0:
                    squares[p], outside[p] = nearest_one(points, X[members[p]], np.int64(-1))
                if after(squares[first], outside[first], squares[p], outside[p]):
                    first = p
            row = outside[first]
            squares[size], outside[size] = nearest_one(points, X[row], row)
            if not squares[first] < gamma * squares[size]:
                break
            members[size] = row
            add_to(points, made, members[size : size + 1], group)
            size += 1
    return position
