"""Methods that start at random and run several times, to keep the best result.

Source: T = Thaeter (2021), dissertation, 6.1, 6.3 and 6.4.

Every start has its own random numbers, derived from the seed, so the result does not depend on how many starts run at
the same time.
"""

from __future__ import annotations

from collections.abc import Callable
from math import fsum

import numpy as np

from shoal.arrays import Array
from shoal.kernels import few_centres as _few
from shoal.kernels import partition as _partition
from shoal.kernels import rounds as _rounds
from shoal.kernels.centres import draw_centres
from shoal.kernels.groups import all_means
from shoal.partitioning.maximum_distance import mdav_plus
from shoal.partitioning.pool import SMALL_TABLE, Kinds, kinds, mapped, nearest_each, numbered
from shoal.partitioning.refine import Work, split_large
from shoal.progress import Progress, silent

Generator = np.random.Generator

# Rounds of ONA, of the nested ONA that splits its groups, and of the one nested in that.
ONA_ROUNDS = (30, 10, 0)
LLOYD_ROUNDS = 50
# Up to so many centres, and so many records for Ctrl-C to work, Lloyd's rounds run without a tree of the centres.
FEW_CENTRES, FEW_RECORDS = 1500, 20_000


def ona(X: Array, k: int, *, rng: Generator, n_init: int = 10, n_jobs: int = 1, report: Progress = silent) -> Array:
    """ONA: from a random partition, reassign records and dissolve groups; split by ONA again (T algorithm 14).

    A run ends with a round that changes nothing, or after 30 rounds. Groups that reach 2k are split by ONA with
    10 rounds, in which large groups are split by a random partition.
    """
    return best_of(lambda start: _ona(X, k, start, ONA_ROUNDS), X, rng, n_init, n_jobs, report)


def lmas(X: Array, k: int, *, rng: Generator, n_init: int = 10, n_jobs: int = 1, report: Progress = silent) -> Array:
    """LMaS: Lloyd from k-means++ with n / k centres, merge small groups, split large ones (T algorithms 9, 11 to 13).

    Lloyd ends when nothing changes, or after 50 rounds; large groups are split by MDAV+.
    """
    same = kinds(X)
    return best_of(lambda start: _lmas(X, k, start, same), X, rng, n_init, n_jobs, report)


def best_of(
    run: Callable[[Generator], Array], X: Array, rng: Generator, n_init: int, n_jobs: int, report: Progress
) -> Array:
    """Return the labels of least squared error among `n_init` runs, the first on ties."""
    best, chosen = np.inf, np.empty(0, np.int64)
    for done, labels in enumerate(mapped(run, rng.spawn(n_init), n_jobs), 1):
        cost = fsum(_few.group_costs(X, labels).tolist())
        if done == 1 or cost < best:
            best, chosen = cost, labels
        report(done / n_init)
    return chosen


def _ona(X: Array, k: int, rng: Generator, limits: tuple[int, ...]) -> Array:
    """Run ONA once; labels are numbered in the final order of the groups."""
    n = len(X)
    count = n // k
    order = rng.permutation(n)
    labels = np.empty(n, np.int64)
    labels[order[: count * k]] = np.repeat(np.arange(count), k)
    labels[order[count * k :]] = np.arange(n - count * k) % count
    if limits[0] == 0:
        return labels
    work = Work(X, labels, k)
    for _ in range(limits[0]):
        before = numbered(work.parts.labels)
        row = 0
        while row < n:
            row = _rounds.ona_steps(work.parts, row, k)
            if limits[1:]:
                _split(work, rng, limits[1:])
        if np.array_equal(numbered(work.parts.labels), before):
            break
    return work.labels()


def _split(work: Work, rng: Generator, limits: tuple[int, ...]) -> None:
    """Split the groups of 2k records or more by a nested run."""
    for group in np.flatnonzero(work.parts.sizes[: work.count] >= 2 * work.k):
        rows = _partition.rows_of(work.parts, group)
        pieces = _ona(np.ascontiguousarray(work.X[rows]), work.k, rng, limits)
        _partition.spread(work.parts, group, rows, pieces, int(pieces.max()) + 1)
    if work.count + 2 * work.k > len(work.parts.sizes):
        work.make_room()


def _lmas(X: Array, k: int, rng: Generator, same: Kinds) -> Array:
    """Run LMaS once."""
    count, first = len(X) // k, int(rng.integers(len(X)))
    uniforms = rng.random(count - 1)
    if count <= FEW_CENTRES and len(X) <= FEW_RECORDS:
        centres = X[_few.draw_few_centres(X, first, uniforms)]
        labels: Array = _few.lloyd(X, same.firsts, same.of, centres, LLOYD_ROUNDS)
        labels = _few.split_few(X, _few.merge_few(X, labels, k), k, SMALL_TABLE)
    else:
        work = Work(X, _lloyd(X, X[draw_centres(X, first, uniforms)], same), k)
        _rounds.merge_small(work.parts, k)
        labels = work.labels()
    if np.bincount(labels).max() < 2 * k:
        return labels
    return split_large(X, k, labels, mdav_plus, in_place=True)


def _lloyd(X: Array, centres: Array, same: Kinds) -> Array:
    """Run Lloyd's rounds with a tree of the centres; return the groups in their order."""
    different = np.ascontiguousarray(X[same.firsts])
    labels = np.full(len(X), -1, np.int64)
    for _ in range(LLOYD_ROUNDS):
        nearest = nearest_each(centres, different, 1)[same.of, 0]
        nearest = np.unique(nearest, return_inverse=True)[1].astype(np.int64)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        centres = all_means(X, labels, int(labels.max()) + 1)
    return labels
