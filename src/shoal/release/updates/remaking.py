"""Groups of the earlier release that new records make fall short of a model: they are merged with others, or refused.

Models that compare groups with the whole table, such as t-closeness, are about another table once new records are in
it. Merged groups publish what their published values have in common, so that nothing of the original table is used, and
nothing is told about old records that the earlier release does not tell.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DisclosureError, OptionError
from shoal.plan import Plan
from shoal.privacy.classes import by_first_row, classes_of
from shoal.privacy.demands import Demand, demands_of, offending
from shoal.privacy.spectrum import whole_of
from shoal.privacy.two_tables import stacked
from shoal.release.groups.blocks import Block
from shoal.release.preparation import Prepared, prepare
from shoal.release.publishing import published
from shoal.release.updates.earlier import Earlier
from shoal.release.updates.tables import as_before
from shoal.tables import frames


def remade(earlier: Earlier, new: Any, names: list[str], plan: Plan, *, allowed: bool) -> Earlier:
    """Return the earlier release with groups merged that fall short of a model now; as it was if none does.

    Parameters
    ----------
    earlier : Earlier
    new : data frame
        The new rows to publish.
    names : names of quasi-identifiers, with strata
    plan : Plan
    allowed : bool
        Whether published rows may change.

    Raises
    ------
    DisclosureError
        If groups fall short, and published rows must not change.
    """
    labels = by_first_row(classes_of(earlier.table, names))[0]
    demands = demands_on_all(earlier, new, plan)
    bad = offending(labels, demands)
    if not bad.any():
        return earlier
    if not allowed:
        first = next(one for one in demands if offending(labels, [one]).any())
        raise DisclosureError(
            f"Groups of the earlier release must still satisfy {str(first.model)!r} in {first.sensitive.name!r}, "
            f"compared with all records, old and new. Got {int(bad.sum()):,} that do not.",
            hint="allow_changes (--allow-changes) merges them with others, which changes their published rows.",
        )
    if plan.release != "microaggregation" or plan.representatives:
        field = "release" if plan.release != "microaggregation" else "representatives"
        raise OptionError(f"With {field!r} in the plan, groups of the earlier release cannot be merged.")
    changes: dict[str, Any] = {
        "identifiers": (),
        "drop": (),
        "unit": None,
        "bound": "none",
        "l": None,
        "t": None,
        "models": {},
    }
    declared = tuple(dict.fromkeys([*plan.sensitive_attributes, *plan.models]))
    alone = plan.model_copy(
        update={**changes, "sensitive_attributes": declared, "types": _of_attributes(earlier, plan)}
    )
    prepared = prepare(earlier.table, alone, text=earlier.text, decimal=earlier.decimal)
    merged = _merged(prepared, labels, demands)
    return replace(earlier, frame=_rewritten(earlier, prepared, labels, merged))


def demands_on_all(earlier: Earlier, new: Any, plan: Plan) -> tuple[Demand, ...]:
    """Return the demands of a plan on the rows of the earlier release, among all rows that are published."""
    sensitive = list(plan.demanded_of)
    later = frames.to_arrow(new, "update", sensitive)
    typed = [as_before(later.column(name), earlier.table.column(name).type, name) for name in sensitive]
    both = stacked(earlier.table.select(sensitive), later.from_arrays(typed, names=sensitive))
    n = earlier.table.num_rows
    return tuple(
        one._replace(sensitive=one.sensitive._replace(codes=one.sensitive.codes[:n], whole=whole_of(one.sensitive)))
        for one in demands_of(both, plan, text=earlier.text, decimal=earlier.decimal)
    )


def _of_attributes(earlier: Earlier, plan: Plan) -> dict[str, Any]:
    """Return the types of quasi-identifiers; those of sensitive attributes belong to models."""
    return {name: kind for name, kind in plan.types.items() if name in earlier.kinds}


def _merged(prepared: Prepared, labels: Array, demands: tuple[Demand, ...]) -> Array:
    """Return int64[n]: groups of the earlier release, whole, merged within strata until none falls short."""
    from shoal.partitioning.repair import repair
    from shoal.release.groups.rules import requirements_of

    X, k = prepared.embedded().together(), prepared.plan.k
    strata = prepared.constraints.strata
    strata = np.zeros(len(X), np.int64) if strata is None else strata
    merged = np.empty(len(X), np.int64)
    order = np.argsort(strata, kind="stable")
    count = 0
    for start, stop in pairwise([0, *(np.flatnonzero(np.diff(strata[order])) + 1), len(order)]):
        rows = order[start:stop]
        own = np.unique(labels[rows], return_inverse=True)[1].astype(np.int64)
        made = repair(X[rows], own, k, requirements_of(X[rows], k, demands, rows=rows), resplit=False)
        merged[rows] = made + count
        count += int(made.max()) + 1
    return merged


def _rewritten(earlier: Earlier, prepared: Prepared, labels: Array, merged: Array) -> Any:
    """Return the table of the earlier release, in which the rows of merged groups publish what these have in common."""
    import pyarrow as pa
    import pyarrow.compute as pc

    pairs = np.unique(np.column_stack([merged, labels]), axis=0)[:, 0]
    changed = (np.bincount(pairs) > 1)[merged]
    names = tuple(read.attribute.name for read in prepared.reads)
    columns = tuple(name for read in prepared.reads for name in read.attribute.columns)
    block = Block(names, columns, np.unique(merged, return_inverse=True)[1].astype(np.int64), "merge", "")
    made, _ = published(prepared.table, prepared.reads, [block], prepared.weights, prepared.plan.trim)
    mask = pa.array(changed)
    new = {}
    for name in columns:
        before = earlier.table.column(name)
        after = as_before(made[name], before.type, name)
        if pa.types.is_dictionary(before.type):
            plain = before.type.value_type
            new[name] = pc.if_else(mask, after.cast(plain), before.cast(plain)).dictionary_encode().cast(before.type)
        else:
            new[name] = pc.if_else(mask, after, before)
    return frames.rebuilt(earlier.frame, earlier.published, None, new, relabel=False)
