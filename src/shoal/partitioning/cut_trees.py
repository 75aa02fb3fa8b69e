"""A tree of cuts, which sends every record to a block of records that are near to each other.

A node is cut along the coordinate, or the diagonal of two coordinates, with the largest variance (Mondrian_V2D), at a
quantile that gives both sides a whole number of blocks. The trees of later rounds are made in rotated coordinates and
cut at other shares, so that the borders of one round lie within the blocks of the next. Trees can be grown on records,
on a sample of them, or on the means of groups.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import Array

# Most coordinates whose diagonals are tried, and that are rotated.
MOST_DIAGONAL, MOST_ROTATED = 24, 64
_SEED = 20_019
LEAST, MOST_SHARE = 0.3, 0.7  # where later rounds cut


@dataclass(frozen=True)
class Tree:
    """A tree of cuts; node 0 is the root.

    Attributes
    ----------
    axes : int64[nodes, 2]
        The coordinate of a cut, and that of its diagonal (-1: none); of a leaf, -1 and the number of the leaf.
    signs : float64[nodes]
        Of the second coordinate of a diagonal.
    limits : float64[nodes]
        Rows at most here go to the first child.
    children : int64[nodes]
        The first child; the second follows it.
    """

    axes: Array
    signs: Array
    limits: Array
    children: Array

    @property
    def leaves(self) -> int:
        """Return the number of leaves."""
        return int((self.axes[:, 0] < 0).sum())

    def route(self, X: Array) -> Array:
        """Return int64[n]: the leaf of each row."""
        at = np.zeros(len(X), np.int64)
        going = np.arange(len(X)) if self.axes[0, 0] >= 0 else np.zeros(0, np.int64)
        while len(going):
            nodes = at[going]
            first, second = self.axes[nodes, 0], self.axes[nodes, 1]
            along = X[going, first] + self.signs[nodes] * X[going, second]
            at[going] = self.children[nodes] + (along > self.limits[nodes])
            going = going[self.axes[at[going], 0] >= 0]
        return np.asarray(self.axes[at, 1])


def rotation_of(d: int, round: int) -> Array | None:
    """Return float64[d, d]: the rotation of a round, always the same; None for the first round and many coordinates."""
    if round == 0 or d < 2 or d > MOST_ROTATED:
        return None
    bits = np.random.PCG64(_SEED + 7 * round).random_raw(2 * d * d) >> np.uint64(11)
    uniform = bits.astype(np.float64) * 2.0**-53
    normal = np.sqrt(-2 * np.log1p(-uniform[: d * d])) * np.cos(2 * math.pi * uniform[d * d :])
    return _orthogonal(normal.reshape(d, d))


def rotated(X: Array, rotation: Array) -> Array:
    """Return X @ rotation, summed in one order: that of a library for matrices may vary with rows and threads."""
    result = X[:, :1] * rotation[0]
    for j in range(1, X.shape[1]):
        result += X[:, j : j + 1] * rotation[j]
    return np.asarray(result)


def _orthogonal(A: Array) -> Array:
    """Return orthonormal rows by Gram and Schmidt, the same on every machine."""
    rows: list[Array] = []
    for row in A:
        for known in rows:
            row = row - (row * known).sum() * known
        rows.append(row / math.sqrt(float((row * row).sum())))
    return np.ascontiguousarray(np.array(rows).T)


def shares_of(round: int) -> np.random.Generator | None:
    """Return where the shares of the cuts of a round come from, always the same; None for the first: halves."""
    return None if round == 0 else np.random.default_rng(_SEED + round)


def grown(
    X: Array,
    counts: Array,
    size: float,
    block_records: int,
    rng: np.random.Generator | None = None,
    *,
    least: float = 0,
) -> Tree:
    """Return a tree for a sample, cut until no leaf stands for more than about `block_records` records.

    Parameters
    ----------
    X : float64[m, d]
    counts : float64[m]
        How many records each row of the sample stands for, up to a common factor.
    size : float
        The number of all records.
    block_records : int
    rng : numpy.random.Generator or None
        For the shares of cuts; None: halves.
    least : float
        Least sum of the counts of a leaf; parts that no cut leaves so many of on both sides stay whole.
    """
    parts = max(1, math.ceil(size / block_records))
    unit = counts.sum() / parts  # of a leaf
    axes, signs, limits, children = [[-1, 0]], [0.0], [0.0], [0]
    waiting = deque([(0, np.arange(len(X)), parts)])
    leaves = 0
    while waiting:
        node, rows, parts = waiting.popleft()
        share = 0.5 if rng is None else float(rng.uniform(LEAST, MOST_SHARE))
        share = min(max(round(share * parts - 0.01), 1), parts - 1) / parts
        cut = _cut(X[rows], counts[rows], share, least) if parts > 1 else None
        if cut is None:
            axes[node] = [-1, leaves]
            leaves += 1
            continue
        (first, second, sign, limit), lower = cut
        axes[node], signs[node], limits[node], children[node] = [first, second], sign, limit, len(axes)
        for side in (rows[lower], rows[~lower]):
            waiting.append((len(axes), side, max(1, round(counts[side].sum() / unit))))
            axes.append([-1, 0])
            signs.append(0.0)
            limits.append(0.0)
            children.append(0)
    return Tree(np.array(axes, np.int64), np.array(signs), np.array(limits), np.array(children, np.int64))


def _cut(X: Array, counts: Array, share: float, least: float) -> tuple[tuple[int, int, float, float], Array] | None:
    """Return where to cut a part of the sample, and bool[m]: which rows are below; None if no cut is allowed."""
    for first, second, sign in _directions(X, counts):
        along = X[:, first] + sign * X[:, second]
        order = np.argsort(along, kind="stable")
        ranked = along[order]
        reached = np.cumsum(counts[order])
        allowed = (ranked[1:] > ranked[:-1]) & (reached[:-1] >= least) & (reached[-1] - reached[:-1] >= least)
        gaps = np.flatnonzero(allowed)  # a cut after one of these separates
        if len(gaps) == 0:
            continue
        at = gaps[np.argmin(np.abs(reached[gaps] - share * reached[-1]))]
        limit = float(ranked[at])
        return (first, second, sign, limit), along <= limit
    return None


def _directions(X: Array, counts: Array) -> Sequence[tuple[int, int, float]]:
    """Return coordinates and diagonals by falling variance: the first coordinate, the second, and its sign.

    A plain coordinate has sign 0. Only the few best are returned, then all plain ones.
    """
    total = counts.sum()
    means = (counts[:, None] * X).sum(axis=0) / total
    Y = X - means
    variances = (counts[:, None] * Y * Y).sum(axis=0) / total
    d = X.shape[1]
    order = np.argsort(-variances, kind="stable")
    found = [(float(variances[j]), (int(j), 0, 0.0)) for j in order.tolist()]
    if d > 1:
        top = np.sort(order[:MOST_DIAGONAL]).tolist()
        scaled = counts[:, None] * Y[:, top]
        for i, a in enumerate(top):
            across = (scaled[:, i : i + 1] * Y[:, top[i + 1 :]]).sum(axis=0) / total
            for b, shared in zip(top[i + 1 :], across.tolist(), strict=True):
                half = (variances[a] + variances[b]) / 2
                found += [(float(half + shared), (a, b, 1.0)), (float(half - shared), (a, b, -1.0))]
    found.sort(key=lambda one: -one[0])
    plain = [one for _, one in found if one[2] == 0.0]
    return [found[0][1], *plain]
