"""New records that may join groups of the earlier release: its published values are their coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError
from shoal.plan import Plan
from shoal.privacy.classes import classes_of, refined
from shoal.privacy.demands import Demand, attribute_of, demands_of, offending
from shoal.privacy.intersection import Rule
from shoal.privacy.two_tables import stacked
from shoal.release.omission import open_columns
from shoal.release.preparation import Prepared, prepare
from shoal.release.updates.earlier import Earlier
from shoal.release.updates.grouping import Grown, grouped
from shoal.release.updates.joining import Groups, errors, join
from shoal.release.updates.tables import as_before, in_one_order
from shoal.tables import frames

# Fields of a plan with which new records cannot join groups of the earlier release, and why.
ALONE = {
    "unit": "the earlier release does not publish the units of its rows",
    "blocks": "groups of several blocks have no values in common",
    "suppress": "which records are left out depends on groups of their own",
    "small_strata": "strata that were merged have other names than those of new records",
}


def placed(earlier: Earlier, new: Any, plan: Plan, rule: Rule) -> Grown:
    """Return new records in groups of their own, or in those of the earlier release where they lose less there.

    Parameters
    ----------
    earlier : Earlier
    new : data frame
    plan : Plan
        For the new records.
    rule : Rule
    """
    _refuse(plan)
    prepared = _together(earlier, new, plan)
    n = earlier.table.num_rows
    rows = np.arange(n, prepared.rows_in) if prepared.keep is None else prepared.keep[prepared.keep >= n]
    if len(rows) != prepared.table.num_rows - n:
        raise DataError("The quasi-identifiers of the earlier release must not be missing (missing='drop'). Got some.")
    if not len(rows):
        raise DataError("Some new records must have all quasi-identifiers (missing='drop'). Got none.")
    strata = prepared.constraints.strata
    strata = np.zeros(prepared.table.num_rows, np.int64) if strata is None else strata
    classes = _classes(prepared.table.slice(0, n), prepared)
    first = np.unique(classes, return_index=True)[1]
    X = prepared.embedded().together()
    groups = Groups(X[n:], strata[n:], X[:n][first], strata[:n][first])
    limits = _Limits(earlier, prepared, plan, rule, classes)

    def among(staying: Array) -> _Way:
        return _among(earlier, new, plan, rows - n, groups, staying)

    best = _best(groups, rule.newcomers or plan.k, plan.k, limits.offending, among)
    spread = float(((X[n:] - X[n:].mean(axis=0)) ** 2).sum())
    own = best.own
    return Grown(
        table=_published(earlier, new, prepared, rows - n, best, first),
        attributes=prepared.attributes,
        blocks=(tuple(name for one in prepared.attributes for name in one.columns),),
        methods=((*(own.methods if own else ()), "join")),
        loss=min(1.0, best.error / spread) if spread > 0 else 0.0,
        rows_in=len(new),
        rows_dropped=len(new) - len(rows),
        rows_joined=int((best.classes >= 0).sum()),
        warnings=own.warnings if own else (),
    )


class _Way(NamedTuple):
    """A way to place newcomers.

    Attributes
    ----------
    classes : int64[n]
        The group of the earlier release that each joins; -1 for those in groups of their own.
    own : Grown or None
        Those groups, if there are any.
    costs : float64[n]
        Squared distances to what is published; infinite for those who have no place yet.
    """

    classes: Array
    own: Grown | None
    costs: Array

    @property
    def error(self) -> float:
        """Return the sum of squared distances."""
        return float(self.costs.sum())


def _among(earlier: Earlier, new: Any, plan: Plan, rows: Array, groups: Groups, staying: Array) -> _Way:
    """Return newcomers in groups of their own: those of `staying` (bool[n]) whose stratum has enough of them."""
    sizes = np.bincount(groups.strata[staying], minlength=int(groups.strata.max()) + 1)
    there = np.flatnonzero(staying & (sizes[groups.strata] >= plan.k))
    costs, own = np.full(len(rows), np.inf), None
    if len(there):
        own = grouped(earlier, _taken(new, rows[there]), plan)
        costs[there] = errors(groups.X[there], np.asarray(own.labels))
    return _Way(np.full(len(rows), -1, np.int64), own, costs)


def _best(
    groups: Groups, least: int, k: int, offending: Callable[[Array], Array], among: Callable[[Array], _Way]
) -> _Way:
    """Return the best way: all newcomers among themselves, all in other groups, or each where it loses less."""
    alone = among(np.ones(len(groups.X), bool))
    ways = [alone] if np.isfinite(alone.error) else []
    for worth in (alone.costs, np.where(np.isfinite(alone.costs), np.finfo(float).max / len(alone.costs), np.inf)):
        done = join(groups, least, k, worth, offending)
        joined = done.classes >= 0
        if not joined.any():
            continue
        rest = among(~joined)
        ways.append(_Way(done.classes, rest.own, np.where(joined, done.costs, rest.costs)))
    return min(ways, key=lambda way: way.error)


def _refuse(plan: Plan) -> None:
    """Refuse plans with which new records can form groups of their own only."""
    for field, why in ALONE.items():
        if getattr(plan, field) != Plan.model_fields[field].default:
            raise OptionError(
                f"With {field!r} in the plan, 'newcomers' must be k: {why}.", hint="leave out newcomers (--newcomers)."
            )
    if plan.release != "microaggregation" or plan.representatives:
        field = "release" if plan.release != "microaggregation" else "representatives"
        raise OptionError(
            f"With {field!r} in the plan, 'newcomers' must be k: only typical values can be compared with new records.",
            hint="leave out newcomers (--newcomers).",
        )


def _together(earlier: Earlier, new: Any, plan: Plan) -> Prepared:
    """Return the earlier release and the new records prepared as one table: both have the same coordinates."""
    names = earlier.published
    columns = frames.to_arrow(new, "update", names)
    typed = [as_before(columns.column(name), earlier.table.column(name).type, name) for name in names]
    both = stacked(earlier.table, columns.from_arrays(typed, names=names))
    # Categories of data frames have an order, which texts do not.
    ordered = [name for name, kind in earlier.kinds.items() if kind == "ordinal" and _has_levels(columns.column(name))]
    levels = {
        name: in_one_order(_levels(earlier.table.column(name)), _levels(columns.column(name)), name) for name in ordered
    }
    update = {"identifiers": (), "drop": (), "bound": "none", "levels": {**levels, **plan.levels}}
    alone = plan.model_copy(update=update)
    prepared = prepare(both, alone, text=earlier.text, decimal=earlier.decimal)
    left_open = open_columns(prepared.columns, prepared.plan)
    if left_open:
        raise OptionError(
            f"With columns without a role, 'newcomers' must be k. Got {left_open[0]!r}, whose role was not said.",
            hint="leave out newcomers (--newcomers).",
        )
    return prepared


def _has_levels(column: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_dictionary(column.type))


def _levels(column: Any) -> list[Any]:
    """Return the categories of a column, in their order."""
    if not _has_levels(column):
        return []
    levels: list[Any] = column.unify_dictionaries().chunk(0).dictionary.to_pylist()
    return levels


def _classes(table: Any, prepared: Prepared) -> Array:
    names = [name for one in prepared.attributes for name in one.columns]
    return classes_of(table, [*names, *prepared.plan.stratum])


def _taken(native: Any, rows: Array) -> Any:
    return frames.rebuilt(native, frames.names_of(native, "update"), rows, {}, relabel=True)


class _Limits:
    """Which newcomers must not join a group, because of sensitive values."""

    def __init__(self, earlier: Earlier, prepared: Prepared, plan: Plan, rule: Rule, classes: Array) -> None:
        how: dict[str, Any] = {"text": earlier.text, "decimal": earlier.decimal}
        self.rule, self.classes = rule, classes
        self.demands: tuple[Demand, ...] = demands_of(prepared.table, plan, **how)
        names = plan.demanded_of if rule.same_values else ()
        self.values = [attribute_of(prepared.table, name, plan, **how).codes for name in names]

    def offending(self, joined: Array) -> Array:
        """Return bool[n]: newcomers in groups that would break a demand, given the groups that they join."""
        n, count = len(self.classes), int(self.classes.max()) + 1
        # The others are groups of their own, of which nothing is asked here.
        labels = np.concatenate([self.classes, np.where(joined >= 0, joined, count)])
        bad = np.zeros(len(joined), bool)
        if self.demands:
            new = np.repeat([0, 1], [n, len(joined)]) if self.rule.parts else np.zeros(len(labels), np.int64)
            parts = refined(labels, new)[0]
            bad |= offending(parts, self.demands)[parts][n:]
        for codes in self.values:
            width = int(codes.max()) + 2
            keys = labels * width + codes + 1
            bad |= ~np.isin(keys[n:], keys[:n])
        return bad & (joined >= 0)


def _published(earlier: Earlier, new: Any, prepared: Prepared, rows: Array, way: _Way, first: Array) -> Any:
    """Return the new records to publish, with the values of the groups that they are in."""
    import pyarrow as pa

    names = [name for one in prepared.attributes for name in one.columns]
    joins, stays = np.flatnonzero(way.classes >= 0), np.flatnonzero(way.classes < 0)
    order = np.empty(len(rows), np.int64)
    order[stays] = np.arange(len(stays))
    order[joins] = len(stays) + np.arange(len(joins))
    changed = {}
    alone = None if way.own is None else frames.to_arrow(way.own.table, "update")
    for name in names:
        column = earlier.table.column(name)
        pieces = [column.take(pa.array(first[way.classes[joins]]))]
        if alone is not None:
            pieces.insert(0, as_before(alone.column(name), column.type, name))
        whole = pa.chunked_array([chunk for piece in pieces for chunk in piece.chunks], column.type)
        changed[name] = whole.take(pa.array(order))
    for name in prepared.coded:
        if name not in changed:
            changed[name] = prepared.table.column(name).slice(prepared.table.num_rows - len(rows))
    return frames.rebuilt(new, earlier.published, rows, changed, relabel=True)
