"""The work on one block: its records are grouped, its groups refined, what they have in common published.

All three are functions of the rows of the block alone: the same whatever the pieces, the threads or the machine.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from shoal.arrays import Array, group_means
from shoal.engines.layout import GROUP, ORIGIN, ROW, STRATUM, Layout, numpy_of
from shoal.partitioning.blocks import OVERFULL, halved, reformed
from shoal.partitioning.pool import numbered
from shoal.partitioning.short_search import short_search
from shoal.plan import Plan
from shoal.release.groups.blocks import Block
from shoal.release.groups.grouping import Constraints, group
from shoal.release.publishing import published


def in_rows(values: Any) -> Any:
    """Return a values table in the order of its rows."""
    import pyarrow as pa

    rows = numpy_of(values, ROW)
    if len(rows) and (rows[1:] >= rows[:-1]).all():
        return values
    return values.take(pa.array(np.argsort(rows, kind="stable"))).combine_chunks()


def group_block(values: Any, layout: Layout, plan: Plan, block_records: int, *, kicks: float = 0.0) -> Array:
    """Return int64[n]: groups of a block that keep k and all demands.

    Parameters
    ----------
    values : pyarrow.Table
        A values table, in an order that depends on its rows alone.
    layout : Layout
    plan : Plan
        With a settled method.
    block_records : int
        The number of records that a block should have; more than `OVERFULL` times as many are cut into several blocks,
        unless they have demands or units.
    kicks : float
        Of a short search, for each k^2 records; 0: no search. With demands or units there is none.
    """
    X = layout.coordinates(values)
    constraints = layout.constraints(values)
    if not _free(constraints):
        return group(X, plan, constraints)
    strata = _strata(constraints, len(X))
    if len(X) <= OVERFULL * block_records:
        labels = group(X, plan, constraints)
        return _searched(X, labels, strata, plan, kicks) if kicks else labels
    labels, count = np.empty(len(X), np.int64), 0
    for stratum in range(int(strata.max()) + 1):
        for own in halved(X, np.flatnonzero(strata == stratum), block_records, plan.k):
            at = group(X[own], plan, Constraints())
            if kicks:
                at = _searched(X[own], at, np.zeros(len(own), np.int64), plan, kicks)
            labels[own] = at + count
            count = int(labels[own].max()) + 1
    return numbered(labels)


def refine_block(values: Any, layout: Layout, plan: Plan, *, kicks: float) -> Array:
    """Return int64[n]: the groups of a block of whole groups, refined; they keep k and all demands.

    They are searched. With demands or units, groups near to groups of other origin are dissolved instead, and their
    records grouped anew if that loses less.

    Parameters
    ----------
    values : pyarrow.Table
        A values table with the groups of an earlier round, and in `ORIGIN` the block that each record was in.
    layout : Layout
    plan : Plan
        With a settled method.
    kicks : float
        Of the search, for each k^2 records.
    """
    X = layout.coordinates(values)
    constraints = layout.constraints(values)
    labels = numbered(numpy_of(values, GROUP))
    strata = _strata(constraints, len(X))
    if _free(constraints):
        return _searched(X, labels, strata, plan, kicks)
    origins = numpy_of(values, ORIGIN)
    result, count = np.empty(len(X), np.int64), 0
    for stratum in range(int(strata.max()) + 1):
        rows = np.flatnonzero(strata == stratum)
        own = X[rows]
        inner = layout.constraints(values.take(rows)) if len(rows) < len(X) else constraints
        again = partial(_grouped, own, plan, inner._replace(strata=None))
        result[rows] = reformed(own, numbered(labels[rows]), origins[rows], again) + count
        count = int(result[rows].max()) + 1
    return numbered(result)


def _searched(X: Array, labels: Array, strata: Array, plan: Plan, kicks: float) -> Array:
    """Return the groups of a block after a short search of each stratum."""
    seed = 0 if plan.random_state is None else plan.random_state
    result, count = np.empty(len(X), np.int64), 0
    for stratum in range(int(strata.max()) + 1):
        rows = np.flatnonzero(strata == stratum)
        result[rows] = short_search(X[rows], plan.k, labels[rows], kicks=kicks, seed=seed) + count
        count = int(result[rows].max()) + 1
    return numbered(result)


def _free(constraints: Constraints) -> bool:
    """Whether groups of k records of one stratum are all that is asked for."""
    return not constraints.demands and constraints.units is None


def _strata(constraints: Constraints, n: int) -> Array:
    """Return int64[n]: the stratum of each record, 0 if there are none."""
    return np.zeros(n, np.int64) if constraints.strata is None else constraints.strata


def _grouped(X: Array, plan: Plan, constraints: Constraints, rows: Array) -> Array:
    """Return groups of some records."""
    return group(X[rows], plan, _taken(constraints, rows))


def _taken(constraints: Constraints, rows: Array) -> Constraints:
    """Return the constraints of some records."""
    units = None if constraints.units is None else constraints.units[rows]
    demands = []
    for demand in constraints.demands:
        one = demand.sensitive
        of_units = None if one.units is None else np.unique(one.units[rows], return_inverse=True)[1].astype(np.int64)
        demands.append(demand._replace(sensitive=one._replace(codes=one.codes[rows], units=of_units)))
    return Constraints(None, units, False, tuple(demands))


def with_groups(values: Any, labels: Array, origin: int) -> Any:
    """Return a values table with its groups, each named by its lowest row number, and the block it was in."""
    import pyarrow as pa

    rows = numpy_of(values, ROW)
    lowest = np.full(int(labels.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(lowest, labels, rows)
    kept = values.select([name for name in values.column_names if name not in (GROUP, ORIGIN)])
    kept = kept.append_column(GROUP, pa.array(lowest[labels]))
    return kept.append_column(ORIGIN, pa.array(np.full(len(rows), origin, np.int32)))


def route_groups(values: Any, layout: Layout, cuts: Any) -> Array:
    """Return int64[n]: the leaf of each record in the cuts of the next round, by the mean of its group."""
    labels = numbered(numpy_of(values, GROUP))
    first = np.unique(labels, return_index=True)[1]
    strata = numpy_of(values, STRATUM)[first] if STRATUM in values.column_names else None
    return np.asarray(cuts.route(group_means(layout.coordinates(values), labels), strata)[labels])


def publish_block(values: Any, layout: Layout) -> tuple[Any, Any, Any]:
    """Return the rows of a block with what their groups publish, the aggregates of the block, and what is compared.

    Parameters
    ----------
    values : pyarrow.Table
        A values table with groups.
    layout : Layout

    Returns
    -------
    table : pyarrow.Table
        `ROW` and the quasi-identifiers as they are published.
    aggregates : Aggregates
    pairs : Pairs
    """
    import pyarrow as pa

    from shoal.engines.aggregates import Aggregates
    from shoal.engines.comparing import Pairs

    labels = numbered(numpy_of(values, GROUP))
    reads = layout.reads(values)
    names = tuple(layout.quasi_identifiers)
    block = Block(tuple(part.name for part in layout.parts), names, labels, "", "")
    raw = {
        part.name: part.published_column(numpy_of(values, f"q{at}")) if part.publishes_rows else _none(len(labels))
        for at, part in enumerate(layout.parts)
    }
    changed, measured = published(pa.table(raw), reads, [block], layout.weights(values), layout.plan.trim)
    table = pa.table({ROW: values.column(ROW), **{name: changed[name] for name in names}})
    return table, Aggregates.of(values, labels, layout), Pairs.of(values, measured, labels, layout)


def _none(n: int) -> Any:
    import pyarrow as pa

    return pa.nulls(n)
