"""Forms the groups of a release, and chooses the records that are left out, as many as the plan allows.

Which records to leave out is the problem of trimmed clustering (Cuesta-Albertos, Gordaliza, Matran 1997), with groups
of at least k records. It is solved by turns: the records that add most to the loss are left out, one by one or with
their whole groups, and the others are grouped anew by the method of the plan; this in a few steps; then those left out
and those kept are compared once more. Of all these candidates, and of the groups of all records, the one with the
lowest loss is taken: leaving records out never raises the loss.

The loss is that of the records that remain, in coordinates of these records alone: what they lose, divided by how much
they vary. A record therefore helps by leaving if it adds more to the one than, at the present ratio, to the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shoal.arrays import Array, group_means
from shoal.errors import ShoalError
from shoal.plan import Plan
from shoal.progress import Progress, part, silent
from shoal.release.groups import full_domain
from shoal.release.groups.blocks import Block
from shoal.release.groups.coordinates import Coordinates
from shoal.release.measures.losses import losses
from shoal.release.preparation import Prepared

# Steps in which records are left out, each followed by new groups; then one step to compare all of them again.
STEPS = 2
# Tables so small that every record can be tried: groups that are formed for it, at most.
TRIALS = 100
# Distances between records that were left out and groups that are computed at most, and at a time.
MOST_DISTANCES, AT_A_TIME = 2e9, 2**24


@dataclass(frozen=True)
class Formed:
    """Groups, the records that are in them, and their coordinates."""

    prepared: Prepared
    coordinates: Coordinates
    blocks: list[Block]

    @cached_property
    def loss(self) -> float:
        """Return the loss of these records."""
        labels = {name: block.labels for block in self.blocks for name in block.attributes}
        return losses(self.coordinates, labels, self.prepared.weights).total


def formed(prepared: Prepared, coordinates: Coordinates, plan: Plan, progress: Progress = silent) -> Formed:
    """Return the groups of a release, by the method and k of `plan`; records may be left out.

    Parameters
    ----------
    prepared : Prepared
        With all records.
    coordinates : Coordinates
        Of all records.
    plan : Plan
    progress : callable
    """
    if plan.release == full_domain.FORM:
        return _full_domain(prepared, coordinates)
    budget = 0 if prepared.cells is not None else full_domain.budget_of(plan, prepared.table.num_rows)
    if budget == 0:
        return Formed(prepared, coordinates, prepared.partitioned(coordinates, plan, progress))
    runs = 3 + 2 * min(STEPS, budget)
    if plan.time_limit is not None:
        plan = plan.model_copy(update={"time_limit": plan.time_limit / runs})
    everybody = Formed(prepared, coordinates, prepared.partitioned(coordinates, plan, part(progress, 0.0, 1 / runs)))
    best = everybody
    for candidate in _candidates(everybody, budget, plan, part(progress, 1 / runs, 1.0)):
        best = candidate if candidate.loss < best.loss else best
    return best


def _full_domain(prepared: Prepared, coordinates: Coordinates) -> Formed:
    cells = full_domain.found_cells(prepared.reads, prepared.plan, prepared.constraints)
    if cells.rows is None:
        found = replace(prepared, reads=cells.everybody, cells=cells)
    else:
        found = prepared.without(cells.rows, cells)
        coordinates = found.embedded()
    return Formed(found, coordinates, [cells.block(found.attributes)])


def _candidates(everybody: Formed, budget: int, plan: Plan, progress: Progress) -> Iterator[Formed]:
    """Yield groups of fewer and fewer records, and then of another choice of them.

    Single records leave, or whole groups; in steps, because the others are grouped anew.
    """
    prepared, n, steps = everybody.prepared, everybody.prepared.table.num_rows, min(STEPS, budget)
    limits = [budget * step // steps for step in range(1, steps + 1)]
    # What whole groups leave of the budget is for single records.
    turns = [
        [(_single_records, limit) for limit in limits],
        [*((_whole_groups, limit) for limit in limits), (_single_records, budget)],
    ]
    best, least, done = everybody, np.arange(n), 0
    for turn in turns:
        now, rows = everybody, np.arange(n)
        for choice, limit in turn:
            done += 1
            gone = choice(now, limit - (n - len(rows)))
            if len(gone) == 0:
                continue
            found = _grouped(prepared, np.delete(rows, gone), plan)
            if found is None:
                break
            now, rows = found, np.delete(rows, gone)
            if now.loss < best.loss:
                best, least = now, rows
            progress(done / (2 * steps + 2))
            yield now
    if n * budget <= TRIALS:
        yield from _one_by_one(everybody, budget, plan)
    if best is everybody:
        return
    again = np.delete(np.arange(n), _worst(everybody, _compared(everybody, best, least), budget))
    found = None if np.array_equal(again, least) else _grouped(prepared, again, plan)
    if found is not None:
        yield found


def _one_by_one(everybody: Formed, budget: int, plan: Plan) -> Iterator[Formed]:
    """Yield groups of one record fewer each time, after trying every record."""
    rows = np.arange(everybody.prepared.table.num_rows)
    for _ in range(budget):
        tried = [(_grouped(everybody.prepared, np.delete(rows, at), plan), at) for at in range(len(rows))]
        found = [(one.loss, at, one) for one, at in tried if one is not None]
        if not found:
            return
        _, at, now = min(found, key=lambda one: one[:2])
        rows = np.delete(rows, at)
        yield now


def _grouped(prepared: Prepared, rows: Array, plan: Plan) -> Formed | None:
    """Return the groups of some records; None if they have none, because too few of a stratum or value are left."""
    if len(rows) < plan.k:
        return None
    try:
        fewer = prepared.without(rows)
        coordinates = fewer.embedded()
        return Formed(fewer, coordinates, fewer.partitioned(coordinates, plan))
    except ShoalError:
        return None


def _single_records(now: Formed, budget: int) -> Array:
    """Return at most `budget` records: those whose leaving their groups would improve the loss most."""
    X, labels = now.coordinates.together(), now.blocks[0].labels
    sizes = np.bincount(labels)[labels]
    within = _squared(X, group_means(X, labels)[labels]) * sizes / np.maximum(1, sizes - 1)
    return _worst(now, _relative(within, X, now), budget)


def _relative(within: Array, X: Array, now: Formed) -> Array:
    """Return what records add to the loss, less what they add, at the same ratio, to the variation."""
    weights = now.prepared.weights
    gains = within - now.loss * _squared(X, np.average(X, axis=0, weights=weights))
    return np.asarray(gains if weights is None else gains * weights)


def _compared(everybody: Formed, best: Formed, rows: Array) -> Array:
    """Return float64[n]: how much it helps to leave a record out, for those kept and those left out so far."""
    X, labels = everybody.coordinates.together(), best.blocks[0].labels
    means, sizes = group_means(X[rows], labels), np.bincount(labels)
    within = np.full(len(X), np.inf)
    within[rows] = _squared(X[rows], means[labels]) * (sizes / np.maximum(1, sizes - 1))[labels]
    gone = np.setdiff1d(np.arange(len(X)), rows)
    if len(gone) * len(means) <= MOST_DISTANCES:
        at_once = max(1, AT_A_TIME // len(means))
        lengths, factors = (means**2).sum(axis=1), sizes / (sizes + 1)
        for start in range(0, len(gone), at_once):
            some = gone[start : start + at_once]
            squares = (X[some] ** 2).sum(axis=1)[:, None] - 2 * X[some] @ means.T + lengths
            within[some] = (np.maximum(squares, 0.0) * factors).min(axis=1)
    return _relative(within, X, everybody)


def _worst(now: Formed, gains: Array, count: int) -> Array:
    """Return the positions of at most `count` records with the largest gains; equal records go together if they must.

    No stratum is left with fewer than k records unless all of them leave.
    """
    constraints, k = now.prepared.constraints, now.prepared.plan.k
    order = np.argsort(-gains, kind="stable")
    if constraints.together:
        X = now.coordinates.together()
        kinds = np.unique(X + 0.0, axis=0, return_inverse=True)[1].reshape(-1)
        # The first of equal records stands for all of them.
        first = np.unique(kinds[order], return_index=True)[1]
        sizes = np.bincount(kinds)[kinds[order][np.sort(first)]]
        chosen, room = [], count
        for kind, size in zip(kinds[order][np.sort(first)].tolist(), sizes.tolist(), strict=True):
            if size <= room:
                chosen.append(kind)
                room -= size
            if room == 0:
                break
        return np.flatnonzero(np.isin(kinds, chosen))
    if constraints.strata is None:
        return order[:count]
    strata = constraints.strata[order]
    by_stratum = np.argsort(strata, kind="stable")
    rank = np.empty(len(order), np.int64)
    starts = np.cumsum(np.bincount(strata)) - np.bincount(strata)
    rank[by_stratum] = np.arange(len(order)) - starts[strata[by_stratum]]
    return order[rank < np.bincount(strata)[strata] - k][:count]


def _whole_groups(now: Formed, budget: int) -> Array:
    """Return the records of whole groups, at most `budget` of them: those with the largest gain for each record."""
    X, labels = now.coordinates.together(), now.blocks[0].labels
    gains = _relative(_squared(X, group_means(X, labels)[labels]), X, now)
    sizes = np.bincount(labels)
    mean = np.bincount(labels, gains) / sizes
    chosen, room = np.zeros(len(sizes), bool), budget
    for group in np.argsort(-mean, kind="stable").tolist():
        if sizes[group] <= room and mean[group] > 0:
            chosen[group] = True
            room -= int(sizes[group])
    return np.flatnonzero(chosen[labels])


def _squared(X: Array, centres: Array) -> Array:
    return np.asarray(((X - centres) ** 2).sum(axis=1))
