"""The best node of a lattice of generalisations: one level for each attribute, the same for all records.

A node is a level for each attribute. Its groups are the records that are equal on these levels; records of groups that
fall short are left out, as many as allowed. The cost of a node is the certainty penalty of what is published: a value
costs the share of all leaves that its generalisation covers, and each value of a record that is left out costs 1.

The search is exact. Nodes are visited in the order of what they cost if no record is left out, which is the least they
can cost, until no node can be cheaper than the best one found. If a node leaves out too many records, so does every
node below it (LeFevre, DeWitt, Ramakrishnan 2005; Samarati 2001). The border between both is found by halving a path
from each visited node to the top (Kohlmayer, Prasser et al. 2012), and all nodes below it are tagged at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import TooLargeError
from shoal.privacy.demands import Demand, satisfied, spectra
from shoal.privacy.diversity import DistinctDiversity, EntropyDiversity, KAnonymity, PSensitive, RecursiveDiversity
from shoal.privacy.frequencies import AlphaFrequency
from shoal.privacy.spectrum import Spectrum

MOST_NODES = 2**24
# Keys below this are counted in a table instead of being sorted.
_TABLE = 2**21
_KEYS = 2**62
# Costs that differ by less are equal but for rounding.
_SAME = 1e-12

# If a group satisfies one of these, so does every group that contains it. A union of groups that satisfy one of the
# other models satisfies it too, but not one with groups that do not.
GROWING = (KAnonymity, DistinctDiversity, PSensitive)
# These depend on the records of a group alone, besides those above.
OF_GROUPS = (EntropyDiversity, RecursiveDiversity, AlphaFrequency)

Node = tuple[int, ...]


class Ladder(NamedTuple):
    """The levels of an attribute, from its values to one class of all.

    Attributes
    ----------
    codes : int64[n]
        The value of each record.
    levels : sequence of int64[values]
        For each level, the class of each value. Classes of a level are unions of classes of the level before.
    costs : sequence of float64[values]
        For each level, what a record with this value costs: from 0 to 1, and never less than on the level before.
    """

    codes: Array
    levels: Sequence[Array]
    costs: Sequence[Array]


class Found(NamedTuple):
    """The best node.

    Attributes
    ----------
    node : levels, one for each attribute
    cost : float
        The sum over all records and attributes.
    kept : bool[n]
        The records that are not left out.
    labels : int64[n]
        The group of each record at the node, whether it is kept or not.
    nodes, checked : int
        The number of nodes, and of those whose groups were counted.
    """

    node: Node
    cost: float
    kept: Array
    labels: Array
    nodes: int
    checked: int


class _State(NamedTuple):
    """What was counted at a node: whether it, and all nodes below it, leave out too many; its cost, if it does not."""

    blocked: bool
    cost: float | None


class Lattice:
    """The lattice of a table.

    Parameters
    ----------
    ladders : sequence of Ladder
    k : int
        Least number of records of a group; of units, if given.
    budget : int
        Largest number of records that may be left out.
    fixed : int64[n] or None
        Records with different values are never in one group, such as those of different strata.
    units : int64[n] or None
    demands : sequence of Demand
        Each must be monotone; if records may be left out, none may depend on the whole table.
    """

    def __init__(
        self,
        ladders: Sequence[Ladder],
        *,
        k: int,
        budget: int = 0,
        fixed: Array | None = None,
        units: Array | None = None,
        demands: Sequence[Demand] = (),
    ) -> None:
        self.k, self.budget, self.demands = k, budget, tuple(demands)
        self.shape = tuple(len(ladder.levels) for ladder in ladders)
        nodes = float(np.prod(np.array(self.shape, float)))
        if nodes > MOST_NODES:
            raise TooLargeError(
                f"A full-domain release must have at most {MOST_NODES:,} combinations of levels. Got {nodes:.3g}.",
                hint="name fewer quasi-identifiers, or give hierarchies with fewer levels.",
            )
        base = [ladder.codes for ladder in ladders] + ([] if fixed is None else [fixed])
        self.kinds = _combined([(codes, int(codes.max()) + 1) for codes in base])[0]
        first = np.unique(self.kinds, return_index=True)[1]
        self.counts = np.bincount(self.kinds)
        self.fixed = None if fixed is None else (fixed[first], int(fixed.max()) + 1)
        self.classes = [[level[ladder.codes[first]] for level in ladder.levels] for ladder in ladders]
        # What all records of a kind cost together, on each level of each attribute.
        self.costs = [[cost[ladder.codes[first]] * self.counts for cost in ladder.costs] for ladder in ladders]
        self.least = np.zeros(self.shape)
        for at, costs in enumerate(self.costs):
            own = np.array([float(cost.sum()) for cost in costs])
            self.least += own.reshape([-1 if axis == at else 1 for axis in range(len(self.shape))])
        self.lost = float(sum(np.max(ladder.costs[-1], initial=0.0) for ladder in ladders))
        self.pairs = None
        if units is not None:
            pairs = np.unique(self.kinds * (int(units.max()) + 1) + units)
            self.pairs = np.divmod(pairs, int(units.max()) + 1)
        self.spectra = spectra(self.kinds, self.demands)
        self.checked = 0

    def groups(self, node: Node) -> tuple[Array, int]:
        """Return the group of each different row, and the number of groups."""
        columns = [(of[level], int(of[level].max()) + 1) for of, level in zip(self.classes, node, strict=True)]
        return _combined(columns + ([] if self.fixed is None else [self.fixed]))

    def holding(self, labels: Array, groups: int) -> tuple[Array, Array]:
        """Return bool[groups] twice: which groups do not fall short, and which may have a union that does not."""
        if self.pairs is None:
            enough = np.bincount(labels, self.counts, groups) >= self.k
        else:
            width = int(self.pairs[1].max()) + 1
            different = np.unique(labels[self.pairs[0]] * width + self.pairs[1]) // width
            enough = np.bincount(different, minlength=groups) >= self.k
        good = enough.copy()
        pooled: dict[int, Spectrum] = {}
        for spectrum, demand in zip(self.spectra, self.demands, strict=True):
            if id(spectrum) not in pooled:
                pooled[id(spectrum)] = spectrum.pooled(labels)
            holds = satisfied([pooled[id(spectrum)]], [demand])
            good &= holds
            if self.budget == 0 or isinstance(demand.model, GROWING):
                enough &= holds
        return good, enough

    def check(self, node: Node) -> _State:
        """Return what is found at a node."""
        self.checked += 1
        labels, groups = self.groups(node)
        good, enough = self.holding(labels, groups)
        if self._left_out(labels, enough) > self.budget:
            return _State(True, None)
        if self._left_out(labels, good) > self.budget:
            return _State(False, None)
        gone = np.flatnonzero(~good[labels])
        spared = sum(float(of[level][gone].sum()) for of, level in zip(self.costs, node, strict=True))
        return _State(False, float(self.least[node]) - spared + self.lost * int(self.counts[gone].sum()))

    def _left_out(self, labels: Array, good: Array) -> int:
        return 0 if good.all() else int(self.counts[~good[labels]].sum())

    def best(self) -> Found | None:
        """Return the node of least cost, the first of several; None if every node leaves out too many records."""
        blocked, open_ = np.zeros(self.shape, bool), np.zeros(self.shape, bool)
        best, cheapest = None, np.inf
        for at in np.argsort(self.least, axis=None, kind="stable").tolist():
            start = tuple(int(level) for level in np.unravel_index(at, self.shape))
            if self.least[start] >= cheapest * (1 - _SAME):
                break
            if blocked[start] or open_[start]:
                continue
            path = self._path(start, blocked)
            low, high = 0, len(path)
            while low < high:
                middle = (low + high) // 2
                node = path[middle]
                known = open_[node] or blocked[node]
                state = _State(bool(blocked[node]), None) if known else self.check(node)
                if state.blocked:
                    blocked[tuple(slice(level + 1) for level in node)] = True
                    low = middle + 1
                    continue
                open_[node] = True
                high = middle
                if state.cost is not None and state.cost < cheapest * (1 - _SAME):
                    best, cheapest = node, state.cost
        return None if best is None else self._found(best, cheapest)

    def _path(self, start: Node, blocked: Array) -> list[Node]:
        """Return nodes from this one to the top, each with a level more: that of least cost that is not blocked."""
        path = [start]
        while True:
            node = path[-1]
            above = [
                (*node[:axis], level + 1, *node[axis + 1 :])
                for axis, level in enumerate(node)
                if level + 1 < self.shape[axis]
            ]
            if not above:
                return path
            path.append(min(above, key=lambda one: (bool(blocked[one]), float(self.least[one]), one)))

    def _found(self, node: Node, cost: float) -> Found:
        labels, groups = self.groups(node)
        good = self.holding(labels, groups)[0]
        return Found(node, cost, good[labels][self.kinds], labels[self.kinds], self.least.size, self.checked)


def of_group_alone(demand: Demand) -> bool:
    """Return whether a demand depends on the records of a group alone, not on the rest of the table."""
    return isinstance(demand.model, GROWING + OF_GROUPS)


def _combined(columns: Sequence[tuple[Array, int]]) -> tuple[Array, int]:
    """Return labels 0 .. m - 1 of rows, equal where all columns are, and m; each column has codes below its width."""
    key, width = columns[0]
    for codes, more in columns[1:]:
        if width * more > _KEYS:
            kinds, key = np.unique(key, return_inverse=True)
            width = len(kinds)
        key, width = key * more + codes, width * more
    if width > _TABLE:
        kinds, labels = np.unique(key, return_inverse=True)
        return labels.reshape(-1), len(kinds)
    there = np.zeros(width, bool)
    there[key] = True
    place = np.cumsum(there) - 1
    return place[key], int(place[-1]) + 1
