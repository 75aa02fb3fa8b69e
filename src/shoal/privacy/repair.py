"""Partitions made to satisfy models of privacy: groups that fall short are merged, then cut where the models allow it.

Works for every model, on the labels of every method.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.errors import DataError
from shoal.privacy.classes import by_first_row
from shoal.privacy.cuts import Short, recut
from shoal.privacy.demands import Demand, centres_of, offending, satisfied, spectra
from shoal.privacy.spectrum import Spectrum
from shoal.progress import Progress, silent

Array = np.ndarray[Any, Any]

# Groups around an offending one that it may be merged with; more of them where none of these would satisfy the demands.
NEAREST, WIDER = 9, 65
# A union that still falls short has to be merged again: it counts so many times its cost, and more the wider the gap is
# between what it has and the wish, as a share of that; a gap counts as one of at least and at most so much.
AGAIN, GAP, WIDEST = 10.0, 1e-9, 5.0


def enforce(
    X: Array,
    labels: Array,
    k: int,
    demands: Sequence[Demand],
    *,
    rows: Array | None = None,
    short: Short | None = None,
    resplit: bool = True,
    report: Progress = silent,
) -> Array:
    """Return labels of groups that have at least k records each and satisfy all demands.

    Parameters
    ----------
    X : float64[n, d]
    labels : int64[n]
        0 .. m - 1 without a gap.
    k : int
    demands : sequence of Demand
        On attributes of the whole table; at least one.
    rows : int64[n] or None
        The records of the table that X is of; all of them if not said.
    short : callable or None
        Gives, for rows of X and their labels, bool[m]: which groups fall short of something else, too few units say.
    resplit : bool
        Whether groups are cut in two where both sides satisfy everything. If not, no two records are separated that
        were together.
    report : callable

    Raises
    ------
    DataError
        If all records in one group do not satisfy the demands.
    """

    def falls_short(own: Array, found: Array) -> Array:
        bad = np.bincount(found) < k
        bad |= offending(found, demands, own if rows is None else rows[own], X[own])
        return bad if short is None else bad | short(own, found)

    labels = _merged(X, labels, k, demands, rows, short, report)
    if resplit:
        cut = recut(X, labels, k, falls_short)
        # A model that compares groups with their surroundings may see in all cuts together what it did not in each.
        if _local(demands) or not falls_short(np.arange(len(X)), cut).any():
            labels = cut
    report(1.0)
    return by_first_row(labels)[0]


def _local(demands: Sequence[Demand]) -> bool:
    """Whether what a group has depends on its own records only, and does not become less by merging."""
    return all(demand.model.monotone for demand in demands)


def _merged(
    X: Array,
    labels: Array,
    k: int,
    demands: Sequence[Demand],
    rows: Array | None,
    short: Short | None,
    report: Progress,
) -> Array:
    """Merge groups that fall short with the neighbour that costs least, in rounds, until none does."""
    everyone, local = np.arange(len(X)), _local(demands)
    found = spectra(labels, demands, rows)
    sizes, centres = np.bincount(labels), centres_of(X, labels)
    good = satisfied(found, demands, centres)
    most = 0
    while True:
        bad = ~good | (sizes < k)
        if short is not None:
            bad |= short(everyone, labels)
        offenders = np.flatnonzero(bad)
        most = max(most, len(offenders))
        if len(offenders) == 0:
            return labels
        if len(sizes) == 1:
            _refuse(found, demands, k, len(X))
        report(0.5 * (1 - len(offenders) / most))
        costs, partners = _partners(offenders, sizes, centres, found, demands, k if local else None)
        target = _mergers(offenders, partners, costs, len(sizes))
        changed = np.bincount(target) > 1
        labels = target[labels]
        found = _each(found, lambda one, target=target: one.pooled(target))
        whole = np.bincount(target, sizes).astype(np.int64)
        centres = np.column_stack([np.bincount(target, c * sizes) for c in centres.T]) / whole[:, None]
        sizes = whole
        if local:
            kept = np.zeros(len(sizes), bool)
            kept[target] = good
            kept[changed] = satisfied(
                _each(found, lambda one, changed=changed: one.take(np.flatnonzero(changed))), demands
            )
            good = kept
        else:
            good = satisfied(found, demands, centres)


def _partners(
    offenders: Array, sizes: Array, centres: Array, found: list[Spectrum], demands: Sequence[Demand], k: int | None
) -> tuple[Array, Array]:
    """Return what merging each offender costs at least, and with whom.

    With k, unions that satisfy the demands and have k records are preferred.
    """
    from scipy.spatial import cKDTree

    groups = len(sizes)
    tree = cKDTree(centres)
    costs, partners = np.full(len(offenders), np.inf), np.zeros(len(offenders), np.int64)
    left = np.arange(len(offenders))
    for wide in (NEAREST, WIDER):
        width = min(groups, wide)
        own = offenders[left]
        distances, nearest = tree.query(centres[own], k=width)
        a, b = sizes[own][:, None], sizes[nearest]
        amounts = np.where(nearest == own[:, None], np.inf, a * b / (a + b) * distances**2)
        enough = np.zeros(amounts.shape, bool)
        if k is not None:
            gaps = _gaps(np.repeat(own, width), nearest.ravel(), found, demands).reshape(amounts.shape)
            enough = (gaps == 0) & (a + b >= k)
            amounts = np.where(enough, amounts, AGAIN * (1 + gaps) * amounts)
        best = amounts.argmin(axis=1)
        line = np.arange(len(own))
        partners[left], costs[left] = nearest[line, best], amounts[line, best]
        # Groups with equal means may hide all others.
        left = left[~(enough & np.isfinite(amounts)).any(axis=1)]
        if k is None or width == groups or len(left) == 0:
            break
    return costs, partners


def _gaps(one: Array, other: Array, found: list[Spectrum], demands: Sequence[Demand]) -> Array:
    """Return float64[p]: by how much unions of two groups miss demands, as a part of the wish; 0 where they hold."""
    pairs = np.arange(len(one))
    both, target = np.concatenate([one, other]), np.concatenate([pairs, pairs])
    gaps = np.zeros(len(one))
    for spectrum, demand in zip(_each(found, lambda all_: all_.take(both).pooled(target)), demands, strict=True):
        measured, wish = demand.model.measure(spectrum), demand.model.wish
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = wish / measured if demand.model.rising else measured / wish
        gap = np.where(ratio - 1 < WIDEST, np.maximum(ratio - 1, 0.0), WIDEST) + GAP
        gaps = np.maximum(gaps, np.where(demand.model.allows(measured), 0.0, gap))
    return gaps


def _mergers(offenders: Array, partners: Array, costs: Array, groups: int) -> Array:
    """Return int64[m]: the new number of each group. The cheapest come first; a group takes part in one a round."""
    joined = np.arange(groups)
    used = np.zeros(groups, bool)
    for p in np.argsort(costs, kind="stable").tolist():
        a, b = int(offenders[p]), int(partners[p])
        if not (used[a] or used[b]):
            joined[max(a, b)] = min(a, b)
            used[a] = used[b] = True
    return np.unique(joined, return_inverse=True)[1].astype(np.int64)


def _each(found: list[Spectrum], change: Any) -> list[Spectrum]:
    """Return the changed spectra, one object for demands on the same attribute."""
    made = {id(spectrum): change(spectrum) for spectrum in {id(one): one for one in found}.values()}
    return [made[id(spectrum)] for spectrum in found]


def _refuse(found: list[Spectrum], demands: Sequence[Demand], k: int, n: int) -> None:
    """Raise what is the matter with a single group of all records."""
    for spectrum, demand in zip(found, demands, strict=True):
        measured = demand.model.measure(spectrum, np.zeros((1, 1)))
        if not demand.model.allows(measured)[0]:
            raise DataError(
                f"Groups must satisfy {demand.model} on {demand.sensitive.name!r}. "
                f"Got {measured[0]:.6g} for all {n} records in one group.",
                hint="no partition of these records does better; ask for less, or merge strata.",
            )
    raise DataError(
        f"Groups must have at least {k} records, and units where they are counted. Got too few in {n} records.",
        hint="ask for a smaller k.",
    )
