"""Minimum-cost assignment of records to groups of a least size: successive shortest paths with prices.

The assignment of n records to g groups, each of which must hold at least k, is a minimum-cost flow. Its
dual gives each group a price v >= 0, the reward for joining it, and says when a flow is optimal:

- every record is where cost - price is least, and
- a group with a price above 0 holds no more than k records.

`settle_flow` starts from any prices. It puts every record where cost - price is least, then moves records along
shortest paths of reduced costs: away from groups that have a price and more than k records (`_drain`), then
into groups that have fewer than k (`_fill`). A search ends at the first group that can give or take, so that
its cost depends on the neighbourhood and not on n; with prices from a similar problem few are needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.kernels.jit import kernel, lent


class Arcs(NamedTuple):
    """Who may go where, and at what cost.

    Attributes
    ----------
    starts : int64[n + 1]
        The arcs of record i are starts[i] .. starts[i + 1] - 1.
    records, groups : int64[m]
        The ends of each arc, in order of (record, group).
    costs : float64[m]
    into_starts : int64[g + 1], into : int64[m]
        The arcs into group j are into[into_starts[j]] .. into[into_starts[j + 1] - 1].
    """

    starts: Array
    records: Array
    groups: Array
    costs: Array
    into_starts: Array
    into: Array


class Flow(NamedTuple):
    """An assignment in the making.

    Attributes
    ----------
    labels : int64[n]
        The group of each record.
    costs : float64[n]
        What that costs.
    sizes : int64[g]
    prices : float64[g]
    first : int64[g], after, before : int64[n]
        The records of each group as a list linked both ways; -1 ends it.
    reach : float64[g]
        Work space of a search, infinite outside of it: the length of the best path to each group.
    via : int64[g]
        The arc at the near end of that path.
    heap, place : int64[g]
        The groups whose path may still become shorter, as a heap by (length, group), and their places in it.
    touched : int64[g]
        The groups that a path was found to.
    """

    labels: Array
    costs: Array
    sizes: Array
    prices: Array
    first: Array
    after: Array
    before: Array
    reach: Array
    via: Array
    heap: Array
    place: Array
    touched: Array


@lent
def _enter(flow, i, group, cost):  # type: ignore[no-untyped-def]
    """Put record i into `group`."""
    flow.labels[i] = group
    flow.costs[i] = cost
    flow.sizes[group] += 1
    second = flow.first[group]
    flow.after[i], flow.before[i] = second, -1
    if second >= 0:
        flow.before[second] = i
    flow.first[group] = i


@lent
def _leave(flow, i):  # type: ignore[no-untyped-def]
    """Take record i out of its group."""
    group = flow.labels[i]
    left, right = flow.before[i], flow.after[i]
    if left >= 0:
        flow.after[left] = right
    else:
        flow.first[group] = right
    if right >= 0:
        flow.before[right] = left
    flow.sizes[group] -= 1


@lent
def _move(arcs, flow, p):  # type: ignore[no-untyped-def]
    """Move a record along arc p and return the group that it left."""
    i = arcs.records[p]
    left = flow.labels[i]
    _leave(flow, i)
    _enter(flow, i, arcs.groups[p], arcs.costs[p])
    return left


@lent
def _begin(arcs, flow):  # type: ignore[no-untyped-def]
    """Put every record where cost - price is least: where it is on ties, else into the lowest group."""
    flow.sizes[:] = 0
    flow.first[:] = -1
    for i in range(flow.labels.shape[0]):
        best, least = -1, np.inf
        for p in range(arcs.starts[i], arcs.starts[i + 1]):
            value = arcs.costs[p] - flow.prices[arcs.groups[p]]
            if value < least or (value == least and arcs.groups[p] == flow.labels[i]):
                best, least = p, value
        _enter(flow, i, arcs.groups[best], arcs.costs[best])


@lent
def _excess(arcs, flow, p):  # type: ignore[no-untyped-def]
    """Reduced cost of arc p: what its record would lose by it, prices counted; below 0 only by rounding."""
    i = arcs.records[p]
    here = flow.costs[i] - flow.prices[flow.labels[i]]
    return max(0.0, (arcs.costs[p] - flow.prices[arcs.groups[p]]) - here)


@lent
def _sooner(flow, a, b):  # type: ignore[no-untyped-def]
    """Whether group a leaves the heap before group b."""
    return flow.reach[a] < flow.reach[b] or (flow.reach[a] == flow.reach[b] and a < b)


@lent
def _push(flow, size, group):  # type: ignore[no-untyped-def]
    """Bring `group`, new or with a shorter path now, to its place in the heap; return the new size."""
    hole = flow.place[group]
    if hole < 0:
        hole = size
        size += 1
    while hole > 0:
        above = flow.heap[(hole - 1) // 2]
        if not _sooner(flow, group, above):
            break
        flow.heap[hole] = above
        flow.place[above] = hole
        hole = (hole - 1) // 2
    flow.heap[hole] = group
    flow.place[group] = hole
    return size


@lent
def _pop(flow, size):  # type: ignore[no-untyped-def]
    """Take the first group off a heap of `size` and return it."""
    top, group = flow.heap[0], flow.heap[size - 1]
    flow.place[top] = -1
    if size == 1:
        return top
    size -= 1
    hole = 0
    while 2 * hole + 1 < size:
        child = 2 * hole + 1
        if child + 1 < size and _sooner(flow, flow.heap[child + 1], flow.heap[child]):
            child += 1
        if not _sooner(flow, flow.heap[child], group):
            break
        flow.heap[hole] = flow.heap[child]
        flow.place[flow.heap[hole]] = hole
        hole = child
    flow.heap[hole] = group
    flow.place[group] = hole
    return top


@lent
def _find(flow, sizes, group, length, via):  # type: ignore[no-untyped-def]
    """Note a path to `group` if it is the shortest so far; `sizes` are those of the heap and of `touched`."""
    if not length < flow.reach[group]:
        return
    if flow.reach[group] == np.inf:
        flow.touched[sizes[1]] = group
        sizes[1] += 1
    flow.reach[group] = length
    flow.via[group] = via
    sizes[0] = _push(flow, sizes[0], group)


@lent
def _clear(flow, sizes, length, way):  # type: ignore[no-untyped-def]
    """End a search: change prices by what paths fall short of `length`, and wipe the work space."""
    for q in range(sizes[1]):
        a = flow.touched[q]
        if flow.reach[a] < length:
            flow.prices[a] = max(0.0, flow.prices[a] + way * (length - flow.reach[a]))
        flow.reach[a] = np.inf
        flow.place[a] = -1
    sizes[:] = 0


@lent
def _drain(arcs, flow, sizes, k, source):  # type: ignore[no-untyped-def]
    """Rid `source` of one record too many, or of its price.

    The path ends at a group below k, or at a group whose price it brings down to 0 (the source itself,
    perhaps), which then may hold more than k.
    """
    _find(flow, sizes, source, 0.0, source)
    end, length = -1, np.inf
    while sizes[0] > 0:
        a = _pop(flow, sizes[0])
        sizes[0] -= 1
        far = flow.reach[a]
        if far >= length:
            break
        if flow.sizes[a] < k:
            end, length = a, far
            break
        if far + flow.prices[a] < length:
            end, length = a, far + flow.prices[a]
        i = flow.first[a]
        while i >= 0:
            for p in range(arcs.starts[i], arcs.starts[i + 1]):
                new = far + _excess(arcs, flow, p)
                if new < length:
                    _find(flow, sizes, arcs.groups[p], new, p)
            i = flow.after[i]
    _clear(flow, sizes, length, -1.0)
    if flow.sizes[end] >= k:
        flow.prices[end] = 0.0
    while end != source:
        end = _move(arcs, flow, flow.via[end])


@lent
def _fill(arcs, flow, sizes, k, target):  # type: ignore[no-untyped-def]
    """Bring one record to `target` from the nearest group with more than k; return whether there is one."""
    _find(flow, sizes, target, 0.0, target)
    end = -1
    while sizes[0] > 0:
        b = _pop(flow, sizes[0])
        sizes[0] -= 1
        if flow.sizes[b] > k:
            end = b
            break
        for q in range(arcs.into_starts[b], arcs.into_starts[b + 1]):
            p = arcs.into[q]
            a = flow.labels[arcs.records[p]]
            _find(flow, sizes, a, flow.reach[b] + _excess(arcs, flow, p), p)
    if end < 0:
        return False
    _clear(flow, sizes, flow.reach[end], 1.0)
    while end != target:
        p = flow.via[end]
        _move(arcs, flow, p)
        end = arcs.groups[p]
    return True


@kernel
def settle_flow(arcs, flow, k):  # type: ignore[no-untyped-def]
    """Make `flow` the cheapest assignment along `arcs` with k records or more in every group.

    Parameters
    ----------
    arcs : Arcs
        Must allow for some such assignment.
    flow : Flow
        `labels` (settle ties) and `prices` (>= 0, any) are read; all of it is rewritten.
    k : int

    Returns
    -------
    bool
        False if there is no such assignment.
    """
    _begin(arcs, flow)
    sizes = np.zeros(2, np.int64)
    for group in range(flow.sizes.shape[0]):
        while flow.sizes[group] > k and flow.prices[group] > 0.0:
            _drain(arcs, flow, sizes, k, group)
    for group in range(flow.sizes.shape[0]):
        while flow.sizes[group] < k:
            if not _fill(arcs, flow, sizes, k, group):
                return False
    return True


@kernel
def arc_costs(X, centres, records, groups):  # type: ignore[no-untyped-def]
    """Squared distance of each record to the centre of each group named: float64[m]."""
    costs = np.empty(records.shape[0])
    for p in range(records.shape[0]):
        acc = 0.0
        for j in range(X.shape[1]):
            step = X[records[p], j] - centres[groups[p], j]
            acc += step * step
        costs[p] = acc
    return costs


def empty_flow(labels: Array, prices: Array) -> Flow:
    """Return work space for `settle_flow` with copies of `labels` int64[n] and `prices` float64[g]."""
    n, g = len(labels), len(prices)
    return Flow(
        labels=labels.copy(),
        costs=np.zeros(n),
        sizes=np.zeros(g, np.int64),
        prices=prices.copy(),
        first=np.full(g, -1, np.int64),
        after=np.full(n, -1, np.int64),
        before=np.full(n, -1, np.int64),
        reach=np.full(g, np.inf),
        via=np.full(g, -1, np.int64),
        heap=np.empty(g, np.int64),
        place=np.full(g, -1, np.int64),
        touched=np.empty(g, np.int64),
    )
