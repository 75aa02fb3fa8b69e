"""The plan of cuts: trees that send every row to a block of records that are near to each other.

Every stratum with more records than a block has a tree of its own (`partitioning.cut_trees`), which is grown on a
sample; small strata are packed whole into blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.engines.layout import STRATUM, Layout, numpy_of
from shoal.partitioning.cut_trees import Tree, grown, rotated, rotation_of, shares_of

# Coordinates of the sample that is cut: several times their bytes are in memory. Of wide rows there are fewer.
COORDINATES = 4_000_000


@dataclass(frozen=True)
class Cuts:
    """Where each row of a table goes.

    Attributes
    ----------
    rotation : float64[d, d] or None
        By which coordinates are multiplied before they are cut.
    trees : trees of the strata that have one
    firsts : int64[strata]
        The first leaf of each stratum, which is its only one if it has no tree.
    owners : int64[strata]
        The tree of each stratum; -1 if it has none.
    blocks : int64[leaves]
        The block of each leaf.
    """

    rotation: Array | None
    trees: tuple[Tree, ...]
    firsts: Array
    owners: Array
    blocks: Array

    @property
    def count(self) -> int:
        """Return the number of blocks."""
        return int(self.blocks.max()) + 1

    @property
    def leaves(self) -> int:
        """Return the number of leaves."""
        return len(self.blocks)

    @classmethod
    def of(cls, sample: Any, layout: Layout, block_records: int, *, round: int = 0) -> Cuts:
        """Return the cuts of a round, from the rows of a finished sample.

        Parameters
        ----------
        sample : pyarrow.Table
            See `Sample.finished`. Of its first rows, which are a sample as well, as many are used as fit into memory.
        layout : Layout
        block_records : int
            About the number of records in a block.
        round : int
            0 for the first cuts; the later ones are rotated.
        """
        sample = sample.slice(0, max(1, COORDINATES // max(1, layout.width)))
        X = layout.coordinates(sample)
        counts = numpy_of(sample, "__count").astype(np.float64)
        rotation = rotation_of(X.shape[1], round)
        X = X if rotation is None else rotated(X, rotation)
        rng = shares_of(round)
        strata = np.zeros(len(X), np.int64) if layout.strata is None else numpy_of(sample, STRATUM).astype(np.int64)
        sizes = np.array([layout.rows]) if layout.strata is None else numpy_of(layout.strata, "__count")
        order = np.argsort(strata, kind="stable")
        bounds = np.searchsorted(strata[order], np.arange(len(sizes) + 1))
        trees: list[Any] = []
        firsts, owners = np.zeros(len(sizes), np.int64), np.full(len(sizes), -1, np.int64)
        leaves: list[int] = []
        packed, room = -1, 0
        blocks = 0
        for stratum, size in enumerate(sizes.tolist()):
            firsts[stratum] = len(leaves)
            own = order[bounds[stratum] : bounds[stratum + 1]]
            if size > 1.5 * block_records and len(own) > 1:
                tree = grown(X[own], counts[own], size, block_records, rng)
                owners[stratum] = len(trees)
                trees.append(tree)
                leaves += range(blocks, blocks + tree.leaves)
                blocks += tree.leaves
            else:
                if packed < 0 or room < size:
                    packed, room, blocks = blocks, block_records, blocks + 1
                room -= size
                leaves.append(packed)
        return cls(rotation, tuple(trees), firsts, owners, np.array(leaves, np.int64))

    def route(self, X: Array, strata: Array | None) -> Array:
        """Return int64[n]: the leaf of each row.

        Parameters
        ----------
        X : float64[n, d]
            Coordinates of rows, or means of groups.
        strata : int[n] or None
        """
        X = X if self.rotation is None else rotated(X, self.rotation)
        if strata is None:
            return self.trees[0].route(X) if self.trees else np.zeros(len(X), np.int64)
        leaves = self.firsts[strata]
        owners = self.owners[strata]
        for tree in np.unique(owners[owners >= 0]).tolist():
            rows = np.flatnonzero(owners == tree)
            leaves[rows] += self.trees[tree].route(X[rows])
        return leaves

    @property
    def settled(self) -> Array:
        """Return bool[strata]: those that lie in one block, so that later rounds change nothing."""
        alone = np.ones(len(self.owners), bool)
        for stratum, owner in enumerate(self.owners.tolist()):
            if owner >= 0:
                own = self.blocks[self.firsts[stratum] : self.firsts[stratum] + self.trees[owner].leaves]
                alone[stratum] = len(np.unique(own)) == 1
        return alone

    def merged(self, falls_short: Any) -> Cuts:
        """Return the cuts without leaves that fall short: each is put together with its sibling, up the tree.

        Parameters
        ----------
        falls_short : callable
            Takes the block of each leaf, int64[leaves] (0, 1, ..), and returns bool[blocks].
        """
        blocks = numbered(self.blocks)
        while True:
            short = falls_short(blocks)
            if not short.any():
                return replace(self, blocks=blocks)
            again = blocks.copy()
            for stratum, owner in enumerate(self.owners.tolist()):
                if owner >= 0:
                    tree, first = self.trees[owner], int(self.firsts[stratum])
                    part = slice(first, first + tree.leaves)
                    again[part] = _joined(tree, again[part], short)
            again = numbered(again)
            if int(again.max()) == int(blocks.max()):
                return replace(self, blocks=again)  # what is left cannot be put together with anything
            blocks = again


def _joined(tree: Tree, blocks: Array, short: Array) -> Array:
    """Return blocks of the leaves of a tree; wherever one falls short, it is that of its whole parent."""
    blocks = blocks.copy()
    ends = tree.axes[:, 0] < 0
    below = {int(node): [int(tree.axes[node, 1])] for node in np.flatnonzero(ends)}
    lacking = {node: bool(short[blocks[leaves[0]]]) for node, leaves in below.items()}
    for node in np.flatnonzero(~ends)[::-1].tolist():
        one, two = int(tree.children[node]), int(tree.children[node]) + 1
        below[node] = below[one] + below[two]
        whole = len(np.unique(blocks[below[node]])) == 1
        # What was put together just now is looked at again in the next round.
        lacking[node] = whole and lacking[one] and lacking[two]
        if not whole and (lacking[one] or lacking[two]):
            blocks[below[node]] = blocks[below[node]].min()
            lacking[node] = False
    return blocks


def numbered(blocks: Array) -> Array:
    """Return the same blocks, numbered 0, 1, .. in their order."""
    return np.unique(blocks, return_inverse=True)[1].astype(np.int64)
