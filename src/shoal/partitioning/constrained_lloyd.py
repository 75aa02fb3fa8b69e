"""Lloyd's algorithm with a least group size, for every k: the assignment step is a minimum-cost flow.

Source: T = Thaeter (2021), dissertation; the method is that of Rebollo-Monedero et al. (2013). See the
reference of methods for full titles.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import ShoalError
from shoal.kernels import flow as _flow
from shoal.kernels import groups as _groups
from shoal.partitioning.equal_groups import in_play
from shoal.partitioning.maximum_distance import mdav, mdav_star
from shoal.partitioning.mondrian import mondrian_v
from shoal.partitioning.pool import kinds, members, nearest_each, numbered, squared_error
from shoal.progress import Progress, part, silent

Start = Literal["mdav*", "mdav", "mondrian-v"]

ROUNDS = 200
# Number of nearest groups that a record may go to at first; the proof adds others as needed.
NEAR = 8
# How far the movement of the means is anticipated when records are exchanged.
FORESIGHT = (1.0, 0.75, 0.5, 0.25)
# Ranks of the neighbours that a group is divided together with.
PARTNERS = (1, 2, 3)
# A gain of this share of the squared error ends a round, as it pays to start again with the cheapest step.
WORTHWHILE = 1e-3
# A proposal has to lower the squared error by more than the rounding of sums.
GAIN = 2.0**-40


def pcl(X: Array, k: int, *, start: Start = "mdav*", report: Progress = silent) -> Array:
    """Lloyd with a least group size: assignment by minimum-cost flow and means in turn (T 6.2, algorithm 10).

    A round assigns all records to the means of the groups at the least sum of squared distances that
    leaves k records or more in every group (`assign`: exact, proven by duals). If that gains little (less
    than a thousandth of the squared error), more is tried in the same round, until the gain is worthwhile:

    - `exchanged`: the same flow with costs that anticipate how means move when a record leaves or joins;
    - `dissolved`: groups whose records go to their cheapest neighbours;
    - `divided`: groups of 2k or more records, then pairs of neighbouring groups of 3k or more, by `mdav_star`.

    Each is only a proposal. It falls into parts that share no group, and a part is accepted if and only if
    it lowers the squared error (`improvement`). So the squared error falls strictly in every round and never
    exceeds that of the start, every group has k records or more at any time, and the number of groups is not
    fixed. The method ends with a round in which nothing helps, or after 200 rounds. Of the groups
    of equal records, which cost nothing, one of each kind takes part (`equal_groups.in_play`).

    Parameters
    ----------
    X : float64[n, d]
    k : int
    start : {"mdav*", "mdav", "mondrian-v"}
        Method of the first partition; "mondrian-v" is much faster for large n and small k.
    report : callable

    Notes
    -----
    Cost: the start, then O(n^2 d / k) per round at worst for the nearest means of all records, plus the
    flow, which is local and starts from the prices of the last round. Memory O(n (d + t)) with t = 8 arcs per
    record and those that the proofs add. Nothing is random, and nothing runs in threads.

    Where it differs from the paper: there, prices are sought that make all n / k groups equally large, by a
    method for continuous distributions that fails for k below some hundreds. Here they are the duals of a
    flow, and sizes have a lower bound only, as k-anonymity requires, which works for every k. The steps other
    than assignment and update are our own.

    The flow is our own code, because HiGHS in scipy has an absolute tolerance of 1e-7, whatever the units of X
    (on skewed data that costs the eighth digit), and cannot start from known prices: at n = 30000 and k = 10,
    one solution took it 8 s.
    """
    first = {"mdav*": mdav_star, "mdav": mdav, "mondrian-v": mondrian_v}[start]
    labels = numbered(first(X, k, report=part(report, 0.0, 0.3)))
    rows = in_play(X, labels, 0)
    found = _Rounds(np.ascontiguousarray(X[rows]), k, numbered(labels[rows])).run(part(report, 0.3, 1.0))
    labels[rows] = len(X) + found
    return numbered(labels)


class _Rounds:
    """One run of `pcl`, from a partition into groups of at least k."""

    def __init__(self, X: Array, k: int, labels: Array) -> None:
        self.X, self.k, self.labels = X, k, labels
        self.error = squared_error(X, labels)
        self._last: Assignment | None = None

    def run(self, report: Progress) -> Array:
        for done in range(ROUNDS):
            before = self.error
            for proposed in self._proposals():
                self._accept(proposed)
                if self.error < before * (1 - WORTHWHILE):
                    break
            if not self.error < before:
                break
            report((done + 1) / ROUNDS)
        return self.labels

    def _proposals(self) -> Iterator[Array]:
        """Yield partitions that may be better than `labels`, which may change between two of them."""
        X, k = self.X, self.k
        centres = _groups.all_means(X, self.labels, int(self.labels.max()) + 1)
        cheapest = self._last = assign(X, centres, k, self.labels, self._last)
        # These arcs are kept even if `labels` changes a little: every result is only a proposal.
        arcs = _arcs(X, centres, _keys(self.labels, cheapest.near, len(centres)))
        yield cheapest.labels
        for foresight in FORESIGHT:
            yield exchanged(arcs, self.labels, k, foresight, cheapest.prices)
        yield dissolved(X, self.labels, arcs)
        for partner in (0, *PARTNERS):
            yield divided(X, self.labels, k, partner)

    def _accept(self, proposed: Array) -> None:
        """Accept the parts of a proposal that lower the squared error."""
        labels = improvement(self.X, self.labels, proposed)
        error = squared_error(self.X, labels)
        if not error < self.error:
            return
        groups = int(self.labels.max()) + 1
        sizes = np.bincount(labels, minlength=groups)
        if len(sizes) > groups or sizes.min() == 0:
            # Groups came or went, so their numbers change, and the last assignment is void.
            labels, self._last = numbered(labels), None
        self.labels, self.error = labels, error


def improvement(X: Array, labels: Array, proposed: Array) -> Array:
    """Return `labels`, changed to `proposed` wherever that lowers the squared error.

    Groups between which a record would move form a part. Changes in one part do not affect the squared
    error of another, so each part is judged separately.

    Parameters
    ----------
    X : float64[n, d]
    labels, proposed : int64[n]
        Partitions; groups with the same number correspond.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    moved = np.flatnonzero(proposed != labels)
    groups = int(max(labels.max(), proposed.max())) + 1
    links = coo_array((np.ones(len(moved)), (labels[moved], proposed[moved])), shape=(groups, groups))
    part_of: Array = connected_components(links, directed=False)[1]
    before = np.bincount(part_of, group_costs(X, labels, groups))
    after = np.bincount(part_of, group_costs(X, proposed, groups))
    better = after < before * (1 - GAIN)
    changed: Array = np.where(better[part_of[labels]], proposed, labels)
    return changed


def group_costs(X: Array, labels: Array, groups: int) -> Array:
    """Return the squared error of each group, 0 for empty ones: float64[groups]."""
    means = _groups.all_means(X, labels, groups)
    return np.bincount(labels, ((X - means[labels]) ** 2).sum(axis=1), groups)


def exchanged(arcs: _flow.Arcs, labels: Array, k: int, foresight: float, prices: Array) -> Array:
    """Propose the cheapest assignment for costs that anticipate how means move.

    A record at squared distance s that leaves its group of m records lowers the squared error by
    s m / (m - 1); one that joins a group of m raises it by s m / (m + 1). These costs are exact for a single
    move, while those of Lloyd hold too many records back. For several moves in the same group they are not
    exact; a `foresight` below 1 lies between the two.

    Parameters
    ----------
    arcs : Arcs
        Squared distances of records to means, including that of their own group.
    labels : int64[n]
    k : int
    foresight : float
        0 gives the costs of Lloyd, 1 those above.
    prices : float64[g]
        Prices to start from.
    """
    sizes = np.bincount(labels).astype(np.float64)[arcs.groups]
    own = labels[arcs.records] == arcs.groups
    factor = np.where(own, sizes / (sizes - 1), sizes / (sizes + 1))
    costs = arcs.costs * (1 + foresight * (factor - 1))
    return _settled(arcs._replace(costs=costs), labels, prices, k).labels


def divided(X: Array, labels: Array, k: int, partner: int) -> Array:
    """Propose to divide large groups by `mdav_star`.

    Parameters
    ----------
    X : float64[n, d]
    labels : int64[n]
    k : int
    partner : int
        0: divide groups of 2k records or more. Else divide groups jointly with their neighbour of that rank (by
        means) if the two have 3k records or more, so that two groups may become three. Each group takes part
        once, the most costly first.
    """
    rows = members(labels)
    groups = len(rows)
    pairs = np.arange(groups)[:, None] if partner == 0 else _neighbours(X, labels, groups)
    free = np.ones(groups, bool)
    proposed = labels.copy()
    unused = groups
    for group in np.argsort(-group_costs(X, labels, groups), kind="stable"):
        if partner >= pairs.shape[1]:
            break
        other = pairs[group, partner]
        both = np.unique([group, other])
        taken = np.sort(np.concatenate([rows[one] for one in both]))
        if len(both) <= min(partner, 1) or len(taken) < (1 + len(both)) * k or not free[both].all():
            continue
        free[both] = False
        parts = mdav_star(X[taken], k)
        names = np.append(both, np.arange(unused, unused + parts.max() + 1))
        unused += int(parts.max()) + 1
        proposed[taken] = names[parts]
    return proposed


def _neighbours(X: Array, labels: Array, groups: int) -> Array:
    """Return the groups with the nearest means of each group, itself among them: int64[g, t]."""
    means = _groups.all_means(X, labels, groups)
    return _nearest(np.column_stack([means, np.zeros(groups)]), means, np.zeros(groups))


def dissolved(X: Array, labels: Array, arcs: _flow.Arcs) -> Array:
    """Propose to dissolve groups, each record going to the group whose squared error it raises least.

    Groups come in order of their expected gain, and are skipped if they touch a group that was changed.

    Parameters
    ----------
    X : float64[n, d]
    labels : int64[n]
    arcs : Arcs
        Squared distances of records to means. A record may go to these groups only.
    """
    rows = members(labels)
    sizes = np.bincount(labels).astype(np.float64)[arcs.groups]
    costs = np.where(labels[arcs.records] == arcs.groups, np.inf, arcs.costs * (sizes / (sizes + 1)))
    cheapest = np.lexsort((costs, arcs.records))[arcs.starts[:-1]]
    target = arcs.groups[cheapest]
    gains = group_costs(X, labels, len(rows)) - np.bincount(labels, costs[cheapest])
    free = np.ones(len(rows), bool)
    proposed = labels.copy()
    for group in np.argsort(-gains, kind="stable"):
        if not gains[group] > 0:
            break
        touched = np.append(target[rows[group]], group)
        if free[touched].all():
            free[touched] = False
            proposed[rows[group]] = target[rows[group]]
    return proposed


class Assignment(NamedTuple):
    """The cheapest assignment to given centres, with its proof.

    Attributes
    ----------
    labels : int64[n]
        Every group has at least k records.
    prices : float64[g]
        The dual solution: a reward for joining each group.
    near : int64[n, t]
        The groups of least squared distance - price for each record.
    cost : float
        Sum of the squared distances to the centres.
    bound : float
        Value of the dual solution, a lower bound on the cost of all assignments; equal to `cost` up to rounding.
    """

    labels: Array
    prices: Array
    near: Array
    cost: float
    bound: float


def assign(X: Array, centres: Array, k: int, labels: Array, last: Assignment | None = None) -> Assignment:
    """Assign records to centres at the least sum of squared distances, k or more to every centre.

    The flow is solved with a few arcs for each record. No other arc would help if squared distance - price is
    least, over all groups, where the record is. If centre j gets one more coordinate, sqrt(max price - price_j),
    then the groups where it is least are those with the nearest centres, so one exact search over *all* centres
    is the proof. Better arcs that it finds are added, until there are none.

    Parameters
    ----------
    X : float64[n, d]
    centres : float64[g, d]
    k : int
    labels : int64[n]
        Any assignment of k or more records to every centre. It makes the first flow feasible.
    last : Assignment, optional
        An assignment to similar centres in the same order, to start from.
    """
    n, g = len(X), len(centres)
    queries = np.column_stack([X, np.zeros(n)])
    prices = np.zeros(g) if last is None else last.prices
    near = _nearest(queries, centres, prices) if last is None else last.near
    keys = _keys(labels, near, g)
    while True:
        arcs = _arcs(X, centres, keys)
        labels, costs, _, prices, *_ = _settled(arcs, labels, prices, k)
        near = _nearest(queries, centres, prices)
        t = near.shape[1]
        others = _flow.arc_costs(X, centres, np.repeat(np.arange(n), t), near.ravel()).reshape(n, t)
        least = (others - prices[near]).min(axis=1)
        rounding = (X.shape[1] + 16) * 2.0**-50 * (costs + prices[labels])
        better = np.flatnonzero(least < costs - prices[labels] - rounding)
        missing = np.setdiff1d((better[:, None] * g + near[better]).ravel(), keys)
        if len(missing) == 0:
            bound = float(least.sum() + k * prices.sum())
            return Assignment(labels, prices, near, float(costs.sum()), bound)
        keys = np.sort(np.append(keys, missing))


def _nearest(queries: Array, centres: Array, prices: Array) -> Array:
    """Return, for each query (with a last coordinate 0), groups of least squared distance - price.

    Of groups with the same centre and the same price only the first counts: the others would fill all places, and a
    record could go nowhere else. Records that are equal share a search.
    """
    lifted = np.column_stack([centres, np.sqrt(prices.max() - prices)])
    different, asking = kinds(lifted).firsts, kinds(queries)
    t = min(NEAR, len(different))
    found = nearest_each(np.ascontiguousarray(lifted[different]), np.ascontiguousarray(queries[asking.firsts]), t)
    near: Array = different[found][asking.of]
    return near


def _keys(labels: Array, near: Array, groups: int) -> Array:
    """Return record * groups + group for the arcs to a record's own group and to near ones, ascending: int64[m]."""
    rows = np.arange(len(labels)) * groups
    return np.unique(np.column_stack([rows + labels, rows[:, None] + near]))


def _arcs(X: Array, centres: Array, keys: Array) -> _flow.Arcs:
    """Return the arcs named by `keys`, with squared distances as costs."""
    records, groups = np.divmod(keys, len(centres))
    starts = np.append(0, np.cumsum(np.bincount(records, minlength=len(X))))
    into_starts = np.append(0, np.cumsum(np.bincount(groups, minlength=len(centres))))
    into = np.argsort(groups, kind="stable")
    costs = _flow.arc_costs(X, centres, records, groups)
    return _flow.Arcs(starts, records, groups, costs, into_starts, into)


def _settled(arcs: _flow.Arcs, labels: Array, prices: Array, k: int) -> _flow.Flow:
    """Return the cheapest flow along `arcs`, starting from `labels` and `prices`, which stay unchanged."""
    flow = _flow.empty_flow(labels, prices)
    if not _flow.settle_flow(arcs, flow, k):
        raise ShoalError(
            "The method 'pcl' found no assignment where one is known: a defect of Shoal.",
            hint="please report it.",
        )
    return flow
