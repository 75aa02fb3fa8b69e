"""MDAV*, with an index for large tables and by plain loops for the small ones that arise when groups are split."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.kernels.groups import cost_within, join, mean_of, write_mean_with
from shoal.kernels.growth import Made
from shoal.kernels.index import PRESENT, Points, put, take_out
from shoal.kernels.jit import inlined, kernel, lent
from shoal.kernels.search import into_order, nearest_of, offer, search_near
from shoal.kernels.sums import square_distance

BY_MEAN, BY_RECORD, BY_COST = 0, 1, 2


class Building(NamedTuple):
    """Groups under construction, and what is searched for it.

    Attributes
    ----------
    pool : Points
        The unassigned records.
    places : Points
        Where the groups are: their means, or for BY_RECORD the assigned records.
    made : Made
        The groups.
    """

    pool: Points
    places: Points
    made: Made


class Ahead(NamedTuple):
    """What was found for the seeds that come next, while none of them was assigned; some of it may be gone by now.

    Attributes
    ----------
    seeds : int64[b]
        In the order in which they come.
    near, squares : int64[b, w], float64[b, w]
        The nearest records of each seed, and how far they are.
    others, distances : int64[b, v], float64[b, v]
        The nearest records of the first of `near`; -1 first where they are sure to be among `near`.
    """

    seeds: Array
    near: Array
    squares: Array
    others: Array
    distances: Array


@lent
def still_there(pool, ids, squares, m, skip, dist, near):  # type: ignore[no-untyped-def]
    """Copy the first m of `ids` that are in the pool, `skip` left out, to `near`; return how many there are."""
    size = np.int64(0)
    for p in range(ids.shape[0]):
        if size < m and pool.slots[ids[p]] >= 0 and ids[p] != skip:
            dist[size], near[size] = squares[p], ids[p]
            size += 1
    return size


@lent
def contain_others(X, r, near, dist, k, some, found):  # type: ignore[no-untyped-def]
    """Whether the k - 1 nearest of the record nearest to r, r left out, are sure to be among `near`, those of r.

    They are written to `found` if so.
    """
    if near.shape[0] < k:
        return False
    second = near[0]
    nearest_of(X, near, X[second], k - 1, r, second, some, found)
    margin = (X.shape[1] + 8) * 2.0**-51
    reach = np.sqrt(square_distance(X, second, X[r])) * (1 + margin) + 8 * np.sqrt(X.shape[1]) * 2.0**-537
    return np.sqrt(some[k - 2]) * (1 + margin) + reach < np.sqrt(dist[near.shape[0] - 1]) * (1 - margin)


@kernel
def look_ahead(pool, ahead, places, k):  # type: ignore[no-untyped-def]
    """Fill `ahead` for the seeds at `places`."""
    X = pool.X
    some, found = np.empty(k), np.empty(k, np.int64)
    none, zero = np.int64(-1), np.int64(0)
    for p in places:
        r, near, dist = ahead.seeds[p], ahead.near[p], ahead.squares[p]
        search_near(pool, X[r], near.shape[0], r, none, none, dist, near, zero)
        into_order(dist, near, near.shape[0])
        others, dist = ahead.others[p], ahead.distances[p]
        others[0] = none
        if not contain_others(X, r, near, ahead.squares[p], k, some, found):
            search_near(pool, X[near[0]], others.shape[0], near[0], none, none, dist, others, zero)
            into_order(dist, others, others.shape[0])


@lent
def extends(X, made, r, rows, others, group, gamma, pairs, members, total, mean):  # type: ignore[no-untyped-def]
    """Whether r had better join `group` than found a group with its neighbours `rows` (T algorithms 5 and 6).

    `others` are the k - 1 nearest neighbours of the first of `rows`, r left out. `members` int64[k], `total`
    float64[2, d + 1] and `mean` float64[d] are for work.
    """
    k, m = members.shape[0], made.sizes[group]
    joined = (m / (m + 1)) * square_distance(X, r, made.means[group])
    members[0] = r
    for p in range(k - 1):
        members[p + 1] = rows[p]
    new = cost_within(X, members, total, mean) / k
    members[0] = rows[0]
    for p in range(k - 1):
        members[p + 1] = others[p]
    if (joined + cost_within(X, members, total, mean)) / (k + 1) < gamma * new:
        return True
    if not pairs:
        return False
    write_mean_with(X, r, group, made, total, mean)
    both = joined + ((m + 1) / (m + 2)) * square_distance(X, rows[0], mean)
    return both / 2 < new


@inlined
def chosen(made, r, near, k, group, members):  # type: ignore[no-untyped-def]
    """Who joins which group: r alone the one it extends, or r and its neighbours a new one (`group` -1)."""
    members[0] = r
    if group >= 0:
        return members[:1], group
    for p in range(k - 1):
        members[p + 1] = near[p]
    made.groups[0] += 1
    return members[:k], made.groups[0] - 1


@inlined
def closest_group(building, x, k, by, dist, ids):  # type: ignore[no-untyped-def]
    """The closest group of x by the definition `by`; `dist` and `ids` are for work, and hold 8 or more."""
    made = building.made
    wanted = np.int64(1)
    while True:
        few, near = (dist, ids) if wanted <= dist.shape[0] else (np.empty(wanted), np.empty(wanted, np.int64))
        size = search_near(building.places, x, wanted, np.int64(-1), np.int64(-1), np.int64(-1), few, near, np.int64(0))
        if by == BY_RECORD:
            return made.labels[near[0]]
        best, least = near[0], few[0]
        if by == BY_MEAN:
            return best
        least = np.inf
        for p in range(size):
            m = made.sizes[near[p]]
            increase = (m / (m + 1)) * few[p]
            if increase < least or (increase == least and near[p] < best):
                best, least = near[p], increase
        # Groups that are further away than these have at least k records; nothing is nearer than a mean at x itself.
        if size < wanted or least == 0.0 or few[0] * (k / (k + 1)) * (1 - 1e-12) > least:
            return best
        wanted = 8 * wanted


@kernel
def star_steps(building, ahead, seeds, position, steps, k, gamma, pairs, by):  # type: ignore[no-untyped-def]
    """Run MDAV* over at most `steps` of the `seeds`, from `position` on; return where it stopped.

    `ahead` must hold the unassigned ones from there on, or some of the first of them.
    It is finished when fewer than k records are unassigned, and returns len(seeds) then.
    """
    pool, made = building.pool, building.made
    X = pool.X
    # A few more neighbours of the seed than needed often contain those of the second record.
    wanted = 2 * k + 2
    dist, near = np.empty(max(8, wanted)), np.empty(max(8, wanted), np.int64)
    some, found = np.empty(max(8, k)), np.empty(max(8, k), np.int64)
    members = np.empty(k, np.int64)
    total, mean = np.empty((2, X.shape[1] + 1)), np.empty(X.shape[1])
    none, at = np.int64(-1), 0
    while position < seeds.shape[0] and steps > 0:
        if pool.state[PRESENT] < k:
            return seeds.shape[0]
        r = seeds[position]
        position += 1
        if pool.slots[r] < 0:
            continue
        steps -= 1
        weigh = made.groups[0] > 0 and pool.state[PRESENT] > k
        m = wanted if weigh else k - 1
        while at < ahead.seeds.shape[0] and ahead.seeds[at] != r:
            at += 1
        size, all_of_them = np.int64(0), False
        if at < ahead.seeds.shape[0]:
            size = still_there(pool, ahead.near[at], ahead.squares[at], m, r, dist, near)
        if size < k - 1:
            size = search_near(pool, X[r], m, r, none, none, dist, near, np.int64(0))
            into_order(dist, near, size)
            all_of_them = size < m
        group = none
        if weigh:
            group = closest_group(building, X[r], k, by, some, found)
            second, count = near[0], np.int64(0)
            if at < ahead.seeds.shape[0] and ahead.others[at, 0] >= 0 and ahead.near[at, 0] == second:
                count = still_there(pool, ahead.others[at], ahead.distances[at], k - 1, r, some, found)
            if count < k - 1 and not contain_others(X, r, near[:size], dist, k, some, found) and not all_of_them:
                search_near(pool, X[second], k - 1, r, second, none, some, found, np.int64(0))
                into_order(some, found, k - 1)
            if not extends(X, made, r, near[: k - 1], found[: k - 1], group, gamma, pairs, members, total, mean):
                group = none
        if group >= 0 and by != BY_RECORD:
            take_out(building.places, group)
        taken, group = chosen(made, r, near, k, group, members)
        for i in taken:
            take_out(pool, i)
        join(X, taken, group, made)
        for p in range(taken.shape[0] if by == BY_RECORD else 1):
            put(building.places, taken[p] if by == BY_RECORD else group)
    return position


@lent
def closest_of_all(X, made, i, by):  # type: ignore[no-untyped-def]
    """Distance of row i to its closest group, by the definition `by`, and that group, from a look at all of them."""
    best, least = np.int64(-1), np.inf
    if by == BY_RECORD:
        for row in range(X.shape[0]):
            if made.labels[row] >= 0:
                square = square_distance(X, row, X[i])
                if square < least:
                    best, least = made.labels[row], square
        return least, best
    for group in range(made.groups[0]):
        square = square_distance(made.means, group, X[i])
        if by == BY_COST:
            square = (made.sizes[group] / (made.sizes[group] + 1)) * square
        if square < least:
            best, least = np.int64(group), square
    return least, best


@kernel
def place_leftovers(X, made, rows, by):  # type: ignore[no-untyped-def]
    """Give the unassigned `rows` to their closest groups, one by one: always the one closest to its group."""
    left = rows.shape[0]
    distance, group = np.empty(left), np.empty(left, np.int64)
    placed = np.zeros(left, np.bool_)
    for p in range(left):
        group[p] = -1
    for _ in range(left):
        first = -1
        for p in range(left):
            if placed[p]:
                continue
            if group[p] < 0:
                distance[p], group[p] = closest_of_all(X, made, rows[p], by)
            if first < 0 or distance[p] < distance[first]:
                first = p
        placed[first] = True
        target = group[first]
        join(X, rows[first : first + 1], target, made)
        x = X[rows[first]]
        for p in range(left):
            # Only the group that grew can have become closer, or further.
            changed = group[p] == target
            if by == BY_RECORD:
                changed = changed or square_distance(X, rows[p], x) <= distance[p]
            else:
                changed = changed or square_distance(X, rows[p], made.means[target]) <= 2 * distance[p]
            if changed:
                group[p] = -1


@lent
def _run(X, made, pool, seeds, k, gamma, pairs, dist, near, others, members, total, mean):  # type: ignore[no-untyped-def]
    """Run MDAV* over all of the seeds; return how many records are left at the beginning of `pool`."""
    left, none = pool.shape[0], np.int64(-1)
    for r in seeds:
        if left < k:
            break
        if made.labels[r] >= 0:
            continue
        nearest_of(X, pool[:left], X[r], k - 1, r, r, dist, near)
        group = none
        if made.groups[0] > 0 and left > k:
            group = closest_of_all(X, made, r, BY_MEAN)[1]
            nearest_of(X, pool[:left], X[near[0]], k - 1, r, near[0], dist, others)
            if not extends(X, made, r, near[: k - 1], others[: k - 1], group, gamma, pairs, members, total, mean):
                group = none
        taken, group = chosen(made, r, near, k, group, members)
        join(X, taken, group, made)
        left = still_free(made, pool, left)
    return left


@lent
def still_free(made, pool, left):  # type: ignore[no-untyped-def]
    """Move the unassigned of the first `left` rows of the pool to its beginning; return how many there are."""
    count = 0
    for p in range(left):
        if made.labels[pool[p]] < 0:
            pool[count] = pool[p]
            count += 1
    return count


@lent
def sort_outermost(X, mean, seeds, inward):  # type: ignore[no-untyped-def]
    """Fill `seeds` with all rows by falling distance from the mean; `inward` is for work."""
    size = np.int64(0)
    for i in range(X.shape[0]):
        size = offer(inward, seeds, size, X.shape[0], -square_distance(X, i, mean), i)
    into_order(inward, seeds, size)


@kernel
def star(X, k, gamma, pairs):  # type: ignore[no-untyped-def]
    """Partition all of a small X by MDAV*; return the labels, groups numbered in order of creation, and their count."""
    n, d = X.shape
    groups = max(1, n // k)
    made = Made(
        np.full(n, -1),
        np.zeros(groups, np.int64),
        np.zeros((groups, d)),
        np.zeros((groups, 2, d)),
        np.empty(groups, np.int64),
        np.zeros(1, np.int64),
    )
    pool, seeds, inward = np.arange(n), np.empty(n, np.int64), np.empty(n)
    mean = mean_of(X, pool)
    sort_outermost(X, mean, seeds, inward)
    dist, near, others = np.empty(k), np.empty(k, np.int64), np.empty(k, np.int64)
    members, total = np.empty(k, np.int64), np.empty((2, d + 1))
    left = _run(X, made, pool, seeds, k, gamma, pairs, dist, near, others, members, total, mean)
    place_leftovers(X, made, pool[:left], BY_MEAN)
    return made.labels, made.groups[0]
