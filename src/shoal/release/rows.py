"""Which records of a table are published: those kept, those left out, and their values and weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.plan import Plan
from shoal.tables import schema
from shoal.tables.values import Codes, Numbers, Places, Values
from shoal.tables.weights import no_weights, weights_in


class LeftOut(NamedTuple):
    """The records before some were left out.

    Attributes
    ----------
    rows : int64[m]
        Those that are published.
    everybody : the quasi-identifiers with the values of all records
    weights : float64[n] or None
        The weights of all records.
    """

    rows: Array
    everybody: list[schema.Read]
    weights: Array | None

    @property
    def removed(self) -> int:
        """Return the number of records that were left out."""
        return len(self.everybody[0].values.missing) - len(self.rows)


def kept_rows(reads: list[schema.Read], missing: dict[str, int], plan: Plan) -> tuple[Array | None, int]:
    """Return the rows to keep (None for all) and the number of rows to drop, by the rule for missing values."""
    incomplete = [name for name, count in missing.items() if count]
    if plan.missing == "value" or not incomplete:
        return None, 0
    if plan.missing == "error":
        raise DataError(
            f"No quasi-identifier may have missing values (missing='error'). Got {sum(missing.values())}, "
            f"in {', '.join(repr(name) for name in incomplete)}.",
            hint="missing='value' publishes them as missing, missing='drop' drops these rows.",
        )
    dropped = np.logical_or.reduce([read.values.missing for read in reads])
    return np.flatnonzero(~dropped), int(dropped.sum())


def taken(read: schema.Read, rows: Array) -> schema.Read:
    """Return the values of some records."""
    values: Values = read.values
    if isinstance(values, Codes):
        values = Codes(values.codes[rows], values.levels)
    elif isinstance(values, Places):
        values = Places(values.degrees[rows])
    else:
        values = Numbers(values.values[rows])
    original = None if read.original is None else Numbers(read.original.values[rows])
    return schema.Read(read.attribute, values, read.writings, original)


def weights_of(table: Any, plan: Plan, decimal: str) -> Array | None:
    """Return the weights of the records, None if the plan names none."""
    if plan.weight is None:
        return None
    weights = weights_in(table.column(plan.weight), plan.weight, decimal)
    if not weights.sum() > 0:
        raise no_weights(plan.weight, "zeros only")
    return weights
