"""Columns without a said role: they are published only if the wanted k holds for them as well.

A plan that names its quasi-identifiers may leave columns open. Each of them may be known to somebody, so a release in
which they go out unchanged must be as safe as if they were quasi-identifiers: the quasi-identifiers together with them
must keep the k that was wanted. Where they do not, the release is refused, and the plan has to say what they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DisclosureError
from shoal.privacy.classes import refined
from shoal.privacy.whole import NOTHING, seen

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.release.groups.blocks import Block
    from shoal.release.preparation import Prepared
    from shoal.tables.schema import Column

MOST = 20  # names that an error lists


def open_columns(columns: Sequence[Column], plan: Plan) -> list[str]:
    """Return the columns that would go out unchanged although nobody has said so."""
    if plan.rest is not None:
        return []
    return [column.name for column in columns if column.role == "other" and column.inferred]


def refuse_early(prepared: Prepared) -> None:
    """Refuse open columns that cannot keep k, whatever the groups will be: some of their values are too rare."""
    names = open_columns(prepared.columns, prepared.plan)
    refuse_rare(prepared.table, names, prepared.plan.k, prepared.constraints.units)


def refuse_rare(table: Any, names: list[str], k: int, units: Array | None) -> None:
    """Refuse open columns of which some values are too rare to keep k."""
    if names:
        _refuse(table, names, [np.zeros(table.num_rows, np.int64)], k, units)


def refuse_open(
    result: Any, prepared: Prepared, blocks: Sequence[Block], units: Array | None, apart: Mapping[str, Any]
) -> None:
    """Refuse open columns with which k does not hold on the table to publish, in any block of quasi-identifiers."""
    names = open_columns(prepared.columns, prepared.plan)
    if names:
        known = []
        for block in blocks:
            classes = np.zeros(len(result), np.int64)
            for name in (*block.columns, *prepared.strata):
                classes = refined(classes, seen(result, name, apart))[0]
            known.append(classes)
        _refuse(result, names, known, prepared.plan.k, units, apart)


def _refuse(
    native: Any, names: list[str], known: list[Array], k: int, units: Array | None, apart: Mapping[str, Any] = NOTHING
) -> None:
    """Refuse the columns that lower k alone; if none does, all of them if they do together."""
    together, alone, held = list(known), [], len(native)
    for name in names:
        codes = seen(native, name, apart)
        lowest = min(_k(refined(classes, codes)[0], units) for classes in known)
        if lowest < k:
            alone.append(name)
            held = min(held, lowest)
        together = [refined(classes, codes)[0] for classes in together]
    if not alone:
        held = min(_k(classes, units) for classes in together)
    if held < k:
        guilty = alone or names
        left = [name for name in names if name not in guilty]
        besides = f" No role was said for {_listed(left)} either." if left else ""
        raise DisclosureError(
            f"Columns without a role must not single records out. Got {_listed(guilty)}: with "
            f"{'this column' if len(guilty) == 1 else 'these columns'}, only k = {held} would hold, not {k}.{besides}",
            hint="say what they are: quasi_identifiers=[..] if others may know them, other=[..] if nobody does "
            "(published unchanged), drop=[..] leaves them out. rest='other' says it for all other columns; so do "
            "'qi' and 'drop'.",
        )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(map(repr, names[:MOST])) + more


def _k(classes: Array, units: Array | None) -> int:
    """Return the number of rows, or of different units, in the smallest class."""
    if units is not None:
        classes = np.unique(np.column_stack([classes, units]), axis=0)[:, 0]
    return int(np.bincount(classes).min())
