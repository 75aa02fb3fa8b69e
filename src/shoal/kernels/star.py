"""MDAV* and the placing of leftover records, as one compiled run.

Written for tables of any size: large ones run a few thousand seeds a call, and the many small ones that arise
when groups are split or a table is cut into parts cost no detour through Python.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.groups import cheapest_group, cost_of, join, mean_of, mean_with
from shoal.kernels.jit import inlined, kernel
from shoal.kernels.search import (
    Points,
    empty_points,
    nearest_few,
    nearest_one,
    put,
    put_all,
    scan_rows,
    square_distance,
    take_out,
)

Array = np.ndarray[Any, Any]

BY_MEAN, BY_RECORD, BY_COST = 0, 1, 2


class Building(NamedTuple):
    """Groups under construction.

    Attributes
    ----------
    pool : Points
        The unassigned records.
    assigned : Points
        The assigned records; kept up to date for BY_RECORD only.
    centres : Points
        The means of the groups.
    labels : int64[n]
        Group of each record, -1 if unassigned.
    sizes : int64[g]
    totals : float64[g, 2, d]
    groups : int64[1]
        How many groups there are.
    """

    pool: Points
    assigned: Points
    centres: Points
    labels: Array
    sizes: Array
    totals: Array
    groups: Array


@kernel
def take(building, rows, group, by):  # type: ignore[no-untyped-def]
    """Move `rows` from the pool to `group`, which is opened if it is the next one."""
    X = building.pool.X
    for i in rows:
        take_out(building.pool, i)
        if by == BY_RECORD:
            put(building.assigned, i)
    if group == building.groups[0]:
        building.groups[0] += 1
    else:
        take_out(building.centres, group)
    join(X, rows, group, building.labels, building.totals, building.sizes, building.centres.X)
    put(building.centres, group)


@inlined
def closest_group(building, i, by):  # type: ignore[no-untyped-def]
    """Distance of row i to its closest group, by the definition `by`, and that group."""
    x = building.pool.X[i]
    if by == BY_COST:
        return cheapest_group(building.centres.X, building.sizes, building.groups[0], x)
    if by == BY_RECORD:
        square, record = nearest_one(building.assigned, x, np.int64(-1))
        return square, building.labels[record]
    return nearest_one(building.centres, x, np.int64(-1))


@inlined
def extends(building, r, rows, near, radius, group, k, gamma, pairs):  # type: ignore[no-untyped-def]
    """Whether r had better join `group` than found a group with its neighbours `rows` (T algorithms 5 and 6).

    `near` holds more neighbours of r; all other unassigned records are at least `radius` away from it.
    """
    X = building.pool.X
    second = rows[0]
    m = building.sizes[group]
    joined = (m / (m + 1)) * square_distance(X, r, building.centres.X[group])
    members = np.empty(k, np.int64)
    members[0] = r
    members[1:] = rows
    new = cost_of(X, members) / k
    others, squares = scan_rows(building.pool, near, X[second], k - 1, r, second)
    margin = (X.shape[1] + 8) * 2.0**-51
    reach = np.sqrt(square_distance(X, second, X[r])) * (1 + margin) + 8 * np.sqrt(X.shape[1]) * 2.0**-537
    proven = others.shape[0] == k - 1 and np.sqrt(squares[-1]) * (1 + margin) + reach < radius * (1 - margin)
    if not proven:
        others, _ = nearest_few(building.pool, X[second], k - 1, r, second)
    members[0] = second
    members[1:] = others
    if (joined + cost_of(X, members)) / (k + 1) < gamma * new:
        return True
    if not pairs:
        return False
    mean = mean_with(building.totals[group].copy(), m, X[r])
    both = joined + ((m + 1) / (m + 2)) * square_distance(X, second, mean)
    return both / 2 < new


@kernel
def star_steps(building, seeds, position, steps, k, gamma, pairs, by):  # type: ignore[no-untyped-def]
    """Run MDAV* over at most `steps` of the `seeds`, from `position` on; return where it stopped.

    It is finished when fewer than k records are unassigned, and returns len(seeds) then.
    """
    pool, groups = building.pool, building.groups
    X = pool.X
    spare = 2 * k + 20
    while position < seeds.shape[0] and steps > 0:
        if pool.present[0] < k:
            return seeds.shape[0]
        r = seeds[position]
        position += 1
        if pool.slots[r] < 0:
            continue
        steps -= 1
        near, squares = nearest_few(pool, X[r], k - 1 + spare, r, np.int64(-1))
        rows = near[: k - 1]
        radius = np.sqrt(squares[-1]) if near.shape[0] == k - 1 + spare else np.inf
        group = -1
        if groups[0] > 0 and pool.present[0] > k:
            group = closest_group(building, r, by)[1]
        if group >= 0 and extends(building, r, rows, near, radius, group, k, gamma, pairs):
            take(building, seeds[position - 1 : position], group, by)
        else:
            members = np.empty(k, np.int64)
            members[0] = r
            members[1:] = rows
            take(building, members, groups[0], by)
    return position


@kernel
def place_leftovers(building, by):  # type: ignore[no-untyped-def]
    """Give the records that are left to their closest groups, one by one: always the one closest to its group."""
    pool = building.pool
    rows = np.sort(pool.ids[: pool.present[0]])
    left = rows.shape[0]
    distance = np.empty(left)
    group = np.empty(left, np.int64)
    for p in range(left):
        distance[p], group[p] = closest_group(building, rows[p], by)
    placed = np.zeros(left, np.bool_)
    for _ in range(left):
        first = -1
        for p in range(left):
            if not placed[p] and (first < 0 or distance[p] < distance[first]):
                first = p
        placed[first] = True
        target = group[first]
        take(building, rows[first : first + 1], target, by)
        x = pool.X[rows[first]]
        for p in range(left):
            if placed[p]:
                continue
            # Only the group that grew can have become closer, or further.
            changed = group[p] == target
            if by == BY_RECORD:
                changed = changed or square_distance(pool.X, rows[p], x) <= distance[p]
            else:
                changed = changed or square_distance(pool.X, rows[p], building.centres.X[target]) <= 2 * distance[p]
            if changed:
                distance[p], group[p] = closest_group(building, rows[p], by)


@kernel
def star(X, k, gamma, pairs):  # type: ignore[no-untyped-def]
    """Partition all of a small X by MDAV*; return the labels, groups numbered in order of creation, and their count."""
    n, d = X.shape
    lowest, highest = X[0].copy(), X[0].copy()
    for i in range(n):
        for j in range(d):
            lowest[j] = min(lowest[j], X[i, j])
            highest[j] = max(highest[j], X[i, j])
    groups = max(1, n // k)
    sample = np.empty(0, np.float32)
    building = Building(
        empty_points(X, lowest, highest, sample, 2.0**-24, 2.0**-120),
        empty_points(X[:0], lowest, highest, sample, 2.0**-24, 2.0**-120),
        empty_points(np.zeros((groups, d)), lowest, highest, sample, 2.0**-24, 2.0**-120),
        np.full(n, -1, np.int64),
        np.zeros(groups, np.int64),
        np.zeros((groups, 2, d)),
        np.zeros(1, np.int64),
    )
    everyone = np.arange(n)
    put_all(building.pool, everyone)
    mean = mean_of(X, everyone)
    inward = np.empty(n)
    for i in range(n):
        inward[i] = -square_distance(X, i, mean)
    star_steps(building, np.argsort(inward, kind="mergesort"), 0, n, k, gamma, pairs, BY_MEAN)
    place_leftovers(building, BY_MEAN)
    return building.labels, building.groups[0]
