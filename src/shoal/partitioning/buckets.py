"""Groups that take their share of every bucket of similar sensitive values, and so are close to the table.

After Cao, Karras, Kalnis and Tan (2011): SABRE: a sensitive attribute bucketization and redistribution framework for
t-closeness. VLDB Journal 20(1). Here all buckets have the same size, which the bound of Soria-Comas et al. (2015)
gives, and are cut along with each other: at every cut, both sides take the same share of each bucket. So every part is
close enough at any time, and the work grows like that of sorting.

Along a line, there is more to gain: records of a region whose values are off need not be spread over the whole table,
only as far as the demand asks for. Their ranks are moved towards those in their region before the buckets are made.
"""

from __future__ import annotations

import time

import numpy as np

from shoal.arrays import Array
from shoal.kernels import rules as _rules
from shoal.kernels.rules import Rules
from shoal.partitioning.cutting import Pieces, axes_of, from_means, median_cuts, spread_of
from shoal.partitioning.rule_growth import closeness, in_order, least_size, measured, subsets
from shoal.progress import Progress, silent

# Records of a region at least, and how much of what the demand allows may come from ranks that are moved: the rest is
# for the chance that is in every group.
REGION, MOVED = 200, 0.55
# Where ranks are moved, groups have so many times as many records as would do: the more there are, the less is chance,
# and they are cut later. These worked best on Adult.
WIDER = 2


def bucket_cuts(X: Array, k: int, rules: Rules, *, report: Progress = silent, until: float = np.inf) -> Array:
    """Cut all buckets alike until every part has one record of each; return the labels (int64[n], from 0 on).

    The first demand of t-closeness decides. After `until` nothing more is cut.
    """
    n, g = len(X), closeness(rules)[0]
    size = least_size(k, rules)
    order = in_order(rules, g)[0]
    if rules.kinds[g] == _rules.LINE and n >= 2 * REGION:
        size = min(n, WIDER * size)
        order = np.argsort(_moved_ranks(X, rules, g), kind="stable")
    bucket = np.empty(n, np.int64)
    bucket[order] = np.repeat(np.arange(size), np.diff(subsets(n, size)))
    parts, shares = Pieces(np.arange(n), np.zeros(n, np.int64)), np.array([n // size])
    while shares.max() > 1 and (until == np.inf or time.perf_counter() < until):
        report(float(np.log(len(shares)) / np.log(n // size)))
        upper = _upper(X, parts, bucket, shares)
        # A part that is not cut has nothing on its upper side.
        halves = 2 * parts.own + upper
        kept, own = np.unique(halves, return_inverse=True)
        lower = np.where(shares > 1, shares // 2, shares)
        shares = np.column_stack([lower, shares - lower]).ravel()[kept]
        by = np.argsort(own, kind="stable")
        parts = Pieces(parts.rows[by], own[by])
    labels = np.empty(n, np.int64)
    labels[parts.rows] = parts.own
    return labels


def _moved_ranks(X: Array, rules: Rules, g: int) -> Array:
    """Return float64[n]: the rank of each record in the table, moved towards that in its region as far as allowed.

    Equal values are ranked in the same order in the table and in the region. Missing values come first.
    """
    n, codes = len(X), _rules.values_in(rules, g) + 1
    regions = median_cuts(X, REGION, lambda _, labels: np.bincount(labels) < REGION)
    away = measured(rules, regions)[g]
    among = np.random.default_rng(0).random(n)
    counts = np.bincount(codes)
    whole = ((np.cumsum(counts) - counts)[codes] + among * counts[codes]) / n
    order, sizes = np.lexsort((among, codes, regions)), np.bincount(regions)
    inside = np.empty(n)
    inside[order] = (np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 0.5) / np.repeat(sizes, sizes)
    share = np.minimum(1.0, MOVED * rules.limits[g] / np.maximum(away, 1e-12))[regions]
    moved: Array = whole + share * (inside - whole)
    return moved


def _upper(X: Array, parts: Pieces, bucket: Array, shares: Array) -> Array:
    """Return bool[r]: which records are on the upper side of the cut of their part that saves most.

    Of each bucket, the lower side takes half of the `shares` int64[p] that a part has in it.
    """
    sizes, starts, own = parts.sizes, parts.starts, parts.own
    most, best = np.zeros(len(sizes)), np.zeros(len(own), bool)
    for along in axes_of(X, parts, spread_of(X, parts)):
        order = np.lexsort((along, bucket[parts.rows], own))
        runs = np.flatnonzero((np.diff(bucket[parts.rows][order], prepend=-1) != 0) | (np.diff(own, prepend=-1) != 0))
        place = np.arange(len(order)) - np.repeat(runs, np.diff(np.append(runs, len(order))))
        upper = np.zeros(len(own), bool)
        upper[order] = (place >= (shares // 2)[own]) & (shares > 1)[own]
        square = np.zeros(len(sizes))
        for _, some in from_means(X, parts):
            square += (np.add.reduceat(np.where(upper[:, None], some, 0.0), starts, axis=0) ** 2).sum(axis=1)
        above = np.add.reduceat(upper.astype(np.int64), starts)
        saved = square * sizes / np.maximum(1, above * (sizes - above))
        better = (saved > most) | ((above > 0) & (most == 0))
        most = np.where(better, saved, most)
        best = np.where(better[own], upper, best)
    return best
