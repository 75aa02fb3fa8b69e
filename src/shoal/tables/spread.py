"""The true squared error of nominal and hierarchical attributes with many levels, from counts.

An attribute with more levels than coordinates is searched in a random projection (:mod:`shoal.tables.embedding`), in
which distances are right on average only. Groups are formed of records that are close there, so that a loss measured
there is too low. In its full coordinates, of which there is one for each edge of the tree, the squared error of a group
follows from the weight of its records below each edge. Neither these coordinates nor distances are needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array


class Spread(NamedTuple):
    """A nominal or hierarchical attribute in full coordinates, centred and scaled as in :mod:`shoal.tables.embedding`.

    Attributes
    ----------
    nodes : int64[n]
        The lowest edge above each record; -1 if there is none, or if the value is missing.
    missing : bool[n]
    parents : int64[c]
        The next edge above each edge, which comes before it; -1 if there is none.
    squares : float64[c]
        The squared length of each edge.
    shares : float64[c]
        The share of the records with a value that are below each edge.
    """

    nodes: Array
    missing: Array
    parents: Array
    squares: Array
    shares: Array

    def taken(self, codes: Array) -> Spread:
        """Return the spread of records, given that of levels and the level of each record (-1 if it is missing)."""
        return self._replace(nodes=np.append(self.nodes, -1)[codes], missing=codes < 0)

    def squared_error(self, labels: Array | None = None, weights: Array | None = None) -> float:
        """Return the sum of squared distances of records to the means of their groups, with weights.

        Below an edge a record is at 1 if its value is there, else at 0, and at the mean if its value is missing. With
        the weights W of a group, M of its missing values and V of its records below an edge of share s, the error at
        this edge is V + M s^2 - (V + M s)^2 / W. Missing values are at 1 in one coordinate more, all others at 0.

        Parameters
        ----------
        labels : int64[n] or None
            None: one group.
        weights : float64[n] or None
        """
        labels = np.zeros(len(self.nodes), np.int64) if labels is None else labels
        own = np.ones(len(labels)) if weights is None else weights
        groups = int(labels.max()) + 1
        whole, missing = np.bincount(labels, own, groups), np.bincount(labels, own * self.missing, groups)
        ones, mixed = self._above(self.squares), self._above(self.squares * self.shares)
        first, cross = (np.bincount(labels, own * at[self.nodes], groups) for at in (ones, mixed))
        centre = float((self.squares * self.shares**2).sum())
        sums = self._squared_sums(labels, own, groups) + 2 * missing * cross + missing**2 * (centre + 1)
        some = whole > 0
        errors = first[some] + missing[some] * (centre + 1) - sums[some] / whole[some]
        return float(np.maximum(errors, 0.0).sum())

    def least_error(self, k: int) -> float:
        """Return a squared error that no groups of at least k records go below.

        If fewer than k records are below an edge, V of them in a group of W records cost V (1 - V / W) there, which is
        at least V (1 - c / k) where c is the number of records below the edge. The same holds for the records that are
        not below it. Nothing is claimed where values are missing.
        """
        if self.missing.any():
            return 0.0
        n = len(self.nodes)
        below = np.rint(self.shares * n)
        few = np.minimum(below, n - below)
        return float((self.squares * few * np.maximum(0.0, 1 - few / k)).sum())

    def _above(self, amounts: Array) -> Array:
        """Return float64[c + 1]: the sum of amounts over each edge and all edges above it; 0 at -1, the last."""
        sums = np.append(amounts, 0.0)
        for edge, above in enumerate(self.parents.tolist()):
            sums[edge] += sums[above]
        return sums

    def _squared_sums(self, labels: Array, own: Array, groups: int) -> Array:
        """Return float64[groups]: the sum over edges of the squared length times the squared weight below."""
        depths = np.zeros(len(self.parents) + 1, np.int64)
        for at, above in enumerate(self.parents.tolist()):
            depths[at] = depths[above] + 1
        present = self.nodes >= 0
        keys, amounts = _added(labels[present] * len(self.parents) + self.nodes[present], own[present])
        sums = np.zeros(groups)
        for depth in range(int(depths.max(initial=0)), 0, -1):
            # All records at this depth or below have been lifted to it.
            group, edge = np.divmod(keys, max(1, len(self.parents)))
            here = depths[edge] == depth
            sums += np.bincount(group[here], self.squares[edge[here]] * amounts[here] ** 2, groups)
            lifted = np.where(here, self.parents[edge], edge)
            kept = lifted >= 0
            keys, amounts = _added(group[kept] * len(self.parents) + lifted[kept], amounts[kept])
        return sums


def _added(keys: Array, amounts: Array) -> tuple[Array, Array]:
    """Return the distinct keys, ascending, and the sum of the amounts of each."""
    kinds, place = np.unique(keys, return_inverse=True)
    return kinds, np.bincount(place, amounts, len(kinds))
