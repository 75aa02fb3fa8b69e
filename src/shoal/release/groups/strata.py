"""Units and strata, which the partition of a table must respect; merges small strata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError
from shoal.privacy.classes import Units, classes_of, units_of
from shoal.release.groups.grouping import Constraints

if TYPE_CHECKING:
    from shoal.plan import Plan

TOGETHER = " + "
NO_VALUE = "no value"


def constraints_of(table: Any, plan: Plan, units: Array | None) -> tuple[Constraints, list[str], dict[str, Any]]:
    """Return the constraints of the partition, the columns of the strata, and those that merging changed."""
    together = plan.release == "global-recoding"
    if not plan.stratum:
        return Constraints(None, units, together), [], {}
    names = list(plan.stratum)
    strata = classes_of(table, names)
    changed: dict[str, Any] = {}
    sizes = _sizes(strata, units)
    # In a full-domain release, small strata may be left out.
    if sizes.min() < plan.k and plan.release != "full-domain":
        if plan.small_strata == "error":
            what = "rows" if units is None else f"different values of {plan.unit!r}"
            small = int((sizes < plan.k).sum())
            raise DataError(
                f"Every stratum must have at least {plan.k} {what}. Got {small} of {len(sizes)} strata with fewer.",
                hint="use small_strata='merge' to merge the small strata, or remove the stratum.",
            )
        strata, changed = merged_strata(table, names, strata, plan.k, units)
    return Constraints(strata, units, together), names, changed


def checked_units(table: Any, plan: Plan, decimal: str) -> Units | None:
    """Return the units of the rows, or refuse missing or too few units; None if the plan has none."""
    if plan.unit is None:
        return None
    units = units_of(table.column(plan.unit), plan.unit, decimal)
    if units.missing:
        raise DataError(f"The unit {plan.unit!r} must be known for every row. Got {units.missing} missing.")
    different = len(np.unique(units.codes))
    if different < plan.k:
        raise OptionError(f"k counts units: there must be at least {plan.k} different ones. Got {different}.")
    return units


def _sizes(strata: Array, units: Array | None) -> Array:
    """Return the number of rows (units) of each stratum."""
    if units is None:
        return np.bincount(strata)
    return np.bincount(np.unique(np.column_stack([strata, units]), axis=0)[:, 0])


def merged_strata(
    table: Any, names: list[str], strata: Array, k: int, units: Array | None = None
) -> tuple[Array, dict[str, Any]]:
    """Merge strata of fewer than k rows (units), with the next smallest if they still have too few.

    Parameters
    ----------
    table : pyarrow.Table
        With at least k rows (units).
    names : list of str
        The columns of the strata.
    strata : int64[n]
    k : int
    units : int64[n] or None

    Returns
    -------
    strata : int64[n]
    changed : {name: pyarrow.ChunkedArray}
        The columns to publish, in which rows of merged strata have the names of all of them, as text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    sizes = _sizes(strata, units)
    order = np.argsort(sizes, kind="stable")
    together = int((sizes < k).sum())
    gone = np.isin(strata, order[:together])
    while (gone.sum() if units is None else len(np.unique(units[gone]))) < k:
        together += 1
        gone = np.isin(strata, order[:together])
    new = np.where(gone, strata.max() + 1, strata)
    changed = {}
    for name in names:
        words = pc.cast(table.column(name), pa.string())
        inside = pc.unique(words.filter(pa.array(gone))).to_pylist()
        if len(inside) > 1:
            label = TOGETHER.join(sorted(NO_VALUE if word is None else word for word in inside))
            changed[name] = pc.if_else(pa.array(gone), label, words)
    return np.unique(new, return_inverse=True)[1].astype(np.int64), changed
