"""Newcomers that join groups of the earlier release: they publish the values of a group, which stay as they are.

Only where fewer than k newcomers may be new in a group. They join in batches of as many as must be new in a group, each
the group that is nearest to its mean; those who would lose less among themselves stay there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array, group_means
from shoal.errors import DisclosureError

# Newcomers whose distances to all groups are computed at a time.
AT_ONCE = 1000


class Joined(NamedTuple):
    """Where newcomers go.

    Attributes
    ----------
    classes : int64[n]
        The group of the earlier release that each newcomer joins; -1 for those who form groups among themselves.
    costs : float64[n]
        The squared distance of each to what that group publishes.
    """

    classes: Array
    costs: Array


class Groups(NamedTuple):
    """Groups that newcomers may be in.

    Attributes
    ----------
    X : float64[n, d]
        Coordinates of the newcomers.
    strata : int64[n]
    centres, of : float64[m, d], int64[m]
        What the groups of the earlier release publish, in the same coordinates, and their strata.
    """

    X: Array
    strata: Array
    centres: Array
    of: Array


def join(groups: Groups, least: int, k: int, alone: Array, offending: Callable[[Array], Array]) -> Joined:
    """Return where newcomers go, so that at least `least` of them are new in a group that has any.

    Those who join none are at least k in each stratum, or nobody.

    Parameters
    ----------
    groups : Groups
    least, k : int
    alone : float64[n]
        What each newcomer would lose in a group of newcomers: a batch joins if it loses less. Infinite for all of a
        stratum that has fewer than k newcomers, who have to join.
    offending : callable
        Takes the classes that newcomers join (int64[n]), returns bool[n]: those who must not join theirs.

    Raises
    ------
    DisclosureError
        If newcomers who have to join cannot.
    """
    batches = _batches(groups, least)
    nearest, costs = _nearest(groups, batches)
    count = int(batches.max()) + 1
    there = batches >= 0
    with np.errstate(invalid="ignore"):
        gains = np.bincount(batches[there], (alone - costs)[there], count + 1)
    joins = np.zeros(count + 1, bool)  # the last, which is -1 too, is of those without a batch: they do not join
    joins[batches[there & (nearest >= 0)]] = True
    joins &= gains > 0
    while True:
        classes = np.where(joins[batches], nearest, -1)
        _leave_enough(classes, batches, gains, joins, groups.strata, k)
        classes = np.where(joins[batches], nearest, -1)
        bad = offending(classes) & (classes >= 0)
        if not bad.any():
            break
        joins[batches[bad]] = False
    sizes = np.bincount(groups.strata)[groups.strata]
    stuck = int(((classes < 0) & (sizes < k)).sum())
    if stuck:
        raise DisclosureError(
            f"New records must form groups of their own or join groups of the earlier release. Got {stuck:,} that can "
            "do neither: too few of their stratum are new, or no group there may take them.",
            hint="wait until there are more, or leave them out.",
        )
    return Joined(classes, costs)


def _leave_enough(classes: Array, batches: Array, gains: Array, joins: Array, strata: Array, k: int) -> None:
    """Let batches stay that gain least by joining, where fewer than k of a stratum would stay; changes `joins`."""
    for stratum in np.unique(strata[classes < 0]):
        rows = strata == stratum
        if rows.sum() < k:
            continue  # they have to join
        staying = int((rows & (classes < 0)).sum())
        there = np.unique(batches[rows & (classes >= 0)])
        for batch in there[np.argsort(gains[there], kind="stable")]:
            if staying >= k:
                break
            joins[batch] = False
            staying += int((batches == batch).sum())


def _batches(groups: Groups, least: int) -> Array:
    """Return int64[n]: batches of at least `least` newcomers of one stratum; -1 where there are too few."""
    from shoal.partitioning.run import partition

    batches = np.full(len(groups.X), -1, np.int64)
    count = 0
    for stratum in np.unique(groups.strata):
        rows = np.flatnonzero(groups.strata == stratum)
        if len(rows) < least:
            continue
        made = np.arange(len(rows)) if least == 1 else partition(groups.X[rows], least, "mdav")
        batches[rows] = made + count
        count += int(made.max()) + 1
    return batches


def _nearest(groups: Groups, batches: Array) -> tuple[Array, Array]:
    """Return the group nearest to the batch of each newcomer (int64[n], -1 if none), and squared distances to it."""
    nearest, cost = np.full(len(batches), -1, np.int64), np.full(len(batches), np.inf)
    for stratum in np.unique(groups.strata):
        there = np.flatnonzero(groups.of == stratum)
        rows = np.flatnonzero((groups.strata == stratum) & (batches >= 0))
        if not len(there) or not len(rows):
            continue
        kinds, place = np.unique(batches[rows], return_inverse=True)
        means = group_means(groups.X[rows], place.astype(np.int64))
        centres = groups.centres[there]
        squares = np.einsum("ij,ij->i", centres, centres)
        chosen = np.empty(len(kinds), np.int64)
        for start in range(0, len(kinds), AT_ONCE):
            stop = start + AT_ONCE
            chosen[start:stop] = np.argmin(squares - 2 * means[start:stop] @ centres.T, axis=1)
        nearest[rows] = there[chosen][place]
        cost[rows] = ((groups.X[rows] - groups.centres[nearest[rows]]) ** 2).sum(axis=1)
    return nearest, cost


def errors(X: Array, labels: Array) -> Array:
    """Return float64[n]: the squared distance of each record to the mean of its group."""
    apart = X - group_means(X, labels)[labels]
    squares: Array = (apart**2).sum(axis=1)
    return squares
