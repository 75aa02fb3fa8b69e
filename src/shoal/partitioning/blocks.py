"""Blocks of near records, grouped one by one on several threads, then refined in blocks that are cut elsewhere.

A block is grouped as if it were a table. Groups at its border could not take records from the other side. So the groups
are cut anew by their means, along rotated coordinates and at other shares: old borders fall inside of new blocks. Whole
groups travel, so every group keeps k. The engines for tables larger than memory cut alike, and search the groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from shoal.arrays import Array, group_means
from shoal.kernels import halves as _halves
from shoal.partitioning.cut_trees import grown, rotated, rotation_of, shares_of
from shoal.partitioning.lloyd import ona_star
from shoal.partitioning.pool import mapped, numbered
from shoal.partitioning.refine import ona_rounds
from shoal.progress import Progress, part, silent

# A block of more than this many times the records it should have is cut again, also between equal records.
OVERFULL = 2
# A table of at most this many times the records of a block is not cut.
WHOLE = 1.5
# Nearest groups that are asked where they come from.
NEIGHBOURS = 6
# Of the squared error: what is gained beyond rounding.
ROUNDING = 1e-9


def ona_blocks(
    X: Array, k: int, *, block: int = 50_000, rounds: int = 3, n_jobs: int = 1, report: Progress = silent
) -> Array:
    """ONA* in blocks of about `block` records, then `rounds` rounds in shifted blocks.

    Tables of at most one and a half blocks are left to ONA* as a whole. In the first round, groups near to groups of
    another block are dissolved, and their records grouped anew if that loses less; then, as in the later rounds,
    records are moved between the groups of a block as by `ona-rounds`.
    """
    n, block = len(X), max(block, 2 * k)
    if n <= WHOLE * block:
        return ona_star(X, k, n_jobs=n_jobs, report=report)
    first = part(report, 0.0, 0.5)
    leaves = grown(X, np.ones(n), n, block, least=k).route(X)
    pieces = [piece for rows in _parts(leaves) for piece in halved(X, rows, block, k)]
    origins = np.empty(n, np.int64)
    for at, piece in enumerate(pieces):
        origins[piece] = at
    labels = _worked(pieces, lambda rows: ona_star(np.ascontiguousarray(X[rows]), k), n, n_jobs, first)
    for turn in range(1, rounds + 1):
        step = part(report, 0.5 + 0.5 * (turn - 1) / rounds, 0.5 + 0.5 * turn / rounds)
        blocks = _shifted(X, labels, block, turn)
        again = turn == 1

        def refined(rows: Array, before: Array = labels, again: bool = again) -> Array:
            return _refined(np.ascontiguousarray(X[rows]), before[rows], origins[rows], k, again)

        labels = _worked(list(_parts(blocks)), refined, n, n_jobs, step)
    report(1.0)
    return labels


def halved(X: Array, rows: Array, most: int, k: int) -> Iterator[Array]:
    """Yield the rows (ascending) of a block; of an overfull one, those of its halves of halves, down to `most` records.

    Halves of more than 2k records have k each, so none has fewer.
    """
    if len(rows) <= OVERFULL * most:
        yield rows
        return
    pieces = np.empty(len(X), np.int64)
    _halves.halve_down(X, rows.copy(), max(most, 2 * k), _halves.DIAGONALS, 1.0, pieces)
    for piece in _parts(pieces[rows]):
        yield rows[piece]


def reformed(X: Array, labels: Array, origins: Array, group: Callable[[Array], Array]) -> Array:
    """Return the groups after those near to groups of another origin were formed anew, if that loses less.

    Parameters
    ----------
    X : float64[n, d]
    labels, origins : int64[n]
        Groups (0, 1, ..), and the block that each record was in; that of a group is that of its first record.
    group : callable
        Takes rows, and returns groups of them that keep k and all demands.
    """
    means = group_means(X, labels)
    near = _bordering(means, origins[np.unique(labels, return_index=True)[1]])
    rows = np.flatnonzero(near[labels])
    if len(np.unique(labels[rows])) < 2:
        return labels
    again = group(rows)
    if _error(X[rows], again) >= (1 - ROUNDING) * _error(X[rows], numbered(labels[rows])):
        return labels
    result = labels.copy()
    result[rows] = again + int(labels.max()) + 1
    return numbered(result)


def _refined(X: Array, labels: Array, origins: Array, k: int, again: bool) -> Array:
    """Return the groups of a block of whole groups after a round."""
    labels = numbered(labels)
    if again:
        labels = reformed(X, labels, origins, lambda rows: ona_star(np.ascontiguousarray(X[rows]), k))
    return ona_rounds(X, k, labels)


def _shifted(X: Array, labels: Array, block: int, turn: int) -> Array:
    """Return int64[n]: the block of each record in a later round; groups are not parted."""
    means, sizes = group_means(X, labels), np.bincount(labels).astype(np.float64)
    rotation = rotation_of(X.shape[1], turn)
    means = means if rotation is None else rotated(means, rotation)
    return np.asarray(grown(means, sizes, len(X), block, shares_of(turn)).route(means)[labels])


def _parts(numbers: Array) -> Iterator[Array]:
    """Yield the rows of each number, the largest part first, so that no thread waits long."""
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    yield from sorted(np.split(order, starts[1:]), key=len, reverse=True)


def _worked(parts: list[Array], work: Callable[[Array], Array], n: int, n_jobs: int, report: Progress) -> Array:
    """Return int64[n]: the groups that `work` makes of each part, on several threads."""
    labels, done = np.empty(n, np.int64), 0

    def finish(rows: Array) -> int:
        own = work(rows)
        # A group is numbered by its first row, so that numbers differ between parts.
        labels[rows] = rows[np.unique(own, return_index=True)[1]][own]
        return len(rows)

    for count in mapped(finish, parts, n_jobs):
        done += count
        report(done / n)
    return numbered(labels)


def _bordering(means: Array, origins: Array) -> Array:
    """Return bool[m]: groups one of whose nearest groups is of another origin."""
    from scipy.spatial import cKDTree

    if len(np.unique(origins)) < 2:
        return np.zeros(len(means), bool)
    most = min(NEIGHBOURS + 1, len(means))
    nearest = cKDTree(means).query(means, k=most)[1].reshape(len(means), most)
    return np.asarray((origins[nearest] != origins[:, None]).any(axis=1))


def _error(X: Array, labels: Array) -> float:
    means = group_means(X, labels)
    return sum(float(((x - mean[labels]) ** 2).sum()) for x, mean in zip(X.T, means.T, strict=True))
