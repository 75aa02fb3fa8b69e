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
from shoal.partitioning.cutting import Pieces, axes_of, from_means, leading_axes, median_cuts, runs, spread_of
from shoal.partitioning.rule_growth import closeness, in_order, least_size, measured, subsets
from shoal.progress import Progress, silent

# Records of a region at least, and how much of what the demand allows may come from ranks that are moved: the rest is
# for the chance that is in every group.
REGION, MOVED = 200, 0.55
# Where ranks are moved, groups have so many times as many records as would do: the more there are, the less is chance,
# and they are cut later. These worked best on Adult.
WIDER = 2
# Parts are cut together up to so many records; of a larger one, about so many tell the axes.
TOGETHER, TOLD = 1 << 14, 1 << 13


def bucket_cuts(X: Array, k: int, rules: Rules, *, report: Progress = silent, until: float = np.inf) -> Array:
    """Cut all buckets alike until every part has one record of each; return the labels (int64[n], from 0 on).

    The first demand of t-closeness decides. After `until` nothing more is cut.
    """
    n, g = len(X), closeness(rules)[0]
    size = least_size(k, rules)
    order = _shuffled(in_order(rules, g)[0], _rules.values_in(rules, g))
    if rules.kinds[g] == _rules.LINE and n >= 2 * REGION:
        size = min(n, WIDER * size)
        order = np.argsort(_moved_ranks(X, rules, g), kind="stable")
    bucket, weights = _joined(order, _rules.values_in(rules, g), subsets(n, size))
    parts, shares = Pieces(np.arange(n), np.zeros(n, np.int64)), np.array([n // size])
    while shares.max() > 1 and (until == np.inf or time.perf_counter() < until):
        report(float(np.log(len(shares)) / np.log(n // size)))
        upper = _upper(X, parts, bucket, weights, shares)
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


def _shuffled(order: Array, values: Array) -> Array:
    """Return records in the same order of their values; those of one value, which may lie in order, are drawn anew."""
    equal = np.cumsum(np.diff(values[order], prepend=values[order[0]]) != 0)
    shuffled: Array = order[np.lexsort((np.random.default_rng(0).random(len(order)), equal))]
    return shuffled


def _joined(order: Array, values: Array, bounds: Array) -> tuple[Array, Array]:
    """Return the bucket of each record, int64[n], and of how many buckets each is made, int64[b].

    Buckets that follow each other and hold one value are one: which of its records a part takes is left to the cuts.
    """
    size = len(bounds) - 1
    ranked = values[order]
    least, most = np.minimum.reduceat(ranked, bounds[:-1]), np.maximum.reduceat(ranked, bounds[:-1])
    first = np.ones(size, bool)
    first[1:] = (least[1:] != most[1:]) | (least[:-1] != most[:-1]) | (least[1:] != least[:-1])
    joined = np.cumsum(first) - 1
    bucket = np.empty(len(order), np.int64)
    bucket[order] = np.repeat(joined, np.diff(bounds))
    return bucket, np.bincount(joined)


def _upper(X: Array, parts: Pieces, bucket: Array, weights: Array, shares: Array) -> Array:
    """Return bool[r]: which records are on the upper side of the cut of their part that saves most.

    Of each bucket, the lower side takes half of the `shares` int64[p] that a part has in it, times the weight int64[b]
    of the bucket. Some parts are cut at a time, so that their records lie together in memory.
    """
    upper = np.zeros(len(parts.own), bool)
    for those, some in runs(parts.sizes, TOGETHER):
        rows, own = parts.rows[some], parts.own[some] - those.start
        if shares[those].max() > 1:
            cut = _upper_of_some if len(rows) <= TOGETHER else _upper_of_one
            upper[some] = cut(X, Pieces(rows, own), (bucket[rows], weights), shares[those])
    return upper


def _upper_of_some(X: Array, parts: Pieces, buckets: tuple[Array, Array], shares: Array) -> Array:
    """Return the upper sides of several parts; `buckets` are those of their records, int64[r], and all weights."""
    X, parts = X[parts.rows], Pieces(np.arange(len(parts.rows)), parts.own)
    sizes, starts, own = parts.sizes, parts.starts, parts.own
    most, best = np.zeros(len(sizes)), np.zeros(len(own), bool)
    for along in axes_of(X, parts, spread_of(X, parts)):
        upper = _halved(along, own, buckets, shares)
        square = np.zeros(len(sizes))
        for _, some in from_means(X, parts):
            square += (np.add.reduceat(np.where(upper[:, None], some, 0.0), starts, axis=0) ** 2).sum(axis=1)
        above = np.add.reduceat(upper.astype(np.int64), starts)
        saved = square * sizes / np.maximum(1, above * (sizes - above))
        better = (saved > most) | ((above > 0) & (most == 0))
        most = np.where(better, saved, most)
        best = np.where(better[own], upper, best)
    return best


def _upper_of_one(X: Array, parts: Pieces, buckets: tuple[Array, Array], shares: Array) -> Array:
    """Return the upper side of a large part: some of its records tell the axes, and along which the cut saves most."""
    rows = parts.rows
    told = slice(None, None, 1 + len(rows) // TOLD)
    sample = X[rows[told]]
    centred = sample - sample.mean(axis=0)
    most, best = -1.0, np.zeros(len(rows), bool)
    for axis in leading_axes(centred):
        along = np.empty(len(rows))
        for some in np.array_split(np.arange(len(rows)), 1 + len(rows) // TOGETHER):
            along[some] = np.einsum("ij,j->i", X[rows[some]], axis)
        upper = _halved(along, parts.own, buckets, shares)
        side = upper[told]
        above = int(side.sum())
        saved = float((centred[side].sum(axis=0) ** 2).sum()) / max(1, above * (len(side) - above))
        if saved > most:
            most, best = saved, upper
    return best


def _halved(along: Array, own: Array, buckets: tuple[Array, Array], shares: Array) -> Array:
    """Return bool[r]: of each bucket of a part that is to be cut, which records are in the upper half along an axis."""
    bucket, weights = buckets
    order = np.lexsort((along, bucket, own))
    starts = np.flatnonzero((np.diff(bucket[order], prepend=-1) != 0) | (np.diff(own, prepend=-1) != 0))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    upper = np.zeros(len(own), bool)
    upper[order] = (place >= (shares // 2)[own] * weights[bucket[order]]) & (shares > 1)[own]
    return upper
