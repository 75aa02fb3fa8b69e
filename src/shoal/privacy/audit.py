"""k, counted on the published table alone.

Nothing of how the table was made is used: rows are alike if all their quasi-identifiers are, as published, value by
value, a missing value being like a missing value and like nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import DataError, DisclosureError, OptionError, near_names
from shoal.tables.frames import to_arrow

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Audit:
    """What was counted.

    Attributes
    ----------
    rows, classes : int
        Rows, and sets of rows that are alike.
    k : int
        What holds: every row is like at least k - 1 others.
    k_units : int or None
        The same in units: the rows that are alike belong to at least so many different ones.
    wanted : int or None
    classes_below, rows_below : int
        Classes with fewer rows (units) than wanted, and the rows in them.
    sizes : dict
        How many classes there are of each size.
    """

    rows: int
    classes: int
    k: int
    k_units: int | None
    wanted: int | None
    classes_below: int
    rows_below: int
    sizes: dict[int, int]

    @property
    def holds(self) -> bool:
        """Return whether the wanted k holds."""
        return self.wanted is None or self.classes_below == 0

    def __bool__(self) -> bool:
        return self.holds


def verify(
    table: Any, quasi_identifiers: Sequence[str] | None = None, k: int | None = None, *, unit: str | None = None
) -> Audit:
    """Count the k that holds in a table.

    Parameters
    ----------
    table : data frame
        Of pandas, polars, pyarrow, ..; as it is published.
    quasi_identifiers : names or None
        None: all columns but `unit`.
    k : int or None
        What is wanted: the classes below it are counted.
    unit : name or None
        A column that says whose row it is: k then counts different units.

    Returns
    -------
    Audit
        True if k holds.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> table = pa.table({"age": [30, 30, 41, 41, 41], "sex": ["f", "f", "m", "m", "m"]})
    >>> shoal.verify(table, ["age", "sex"]).k
    2
    """
    data = to_arrow(table, "verify")
    names = [name for name in data.column_names if name != unit] if quasi_identifiers is None else quasi_identifiers
    names = [names] if isinstance(names, str) else list(names)
    for name in [*names, *([] if unit is None else [unit])]:
        if name not in data.column_names:
            hint = near_names(name, data.column_names, f"it has {len(data.column_names)} columns.")
            raise OptionError(f"The table has no column {name!r}.", hint=hint)
    if not names:
        raise OptionError("At least one quasi-identifier must be named. Got none.")
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise OptionError(f"The 'k' option of verify must be a positive integer. Got {k!r}.")
    return audit(data, names, k, units=None if unit is None else codes_of(data.column(unit)))


def audit(table: Any, names: Sequence[str], wanted: int | None, *, units: Array | None = None) -> Audit:
    """Count the k that holds in a pyarrow.Table, by rows and by `units` int64[n] if given."""
    if table.num_rows == 0:
        raise DataError("A published table must have rows. Got none.")
    classes = classes_of(table, names)
    sizes = np.bincount(classes)
    counted, k_units = sizes, None
    if units is not None:
        pairs = np.unique(np.column_stack([classes, units]), axis=0)[:, 0] if len(units) else classes
        counted = np.bincount(pairs, minlength=len(sizes))
        k_units = int(counted.min())
    below = counted < (wanted or 0)
    kinds, numbers = np.unique(sizes, return_counts=True)
    return Audit(
        rows=table.num_rows,
        classes=len(sizes),
        k=int(sizes.min()),
        k_units=k_units,
        wanted=wanted,
        classes_below=int(below.sum()),
        rows_below=int(sizes[below].sum()),
        sizes=dict(zip(kinds.tolist(), numbers.tolist(), strict=True)),
    )


def classes_of(table: Any, names: Sequence[str]) -> Array:
    """Return int64[n]: the number of the class of each row, rows with equal values in all columns being in one."""
    classes = np.zeros(table.num_rows, np.int64)
    count = 1
    for name in names:
        codes = codes_of(table.column(name))
        if count * (int(codes.max()) + 1) > 2**62:
            raise DataError("There are too many different values to compare.")
        classes, count = _renumbered(classes * (int(codes.max()) + 1) + codes)
    return classes


def codes_of(column: Any) -> Array:
    """Return int64[n]: equal numbers for equal values; missing values (null and NaN) are equal to each other."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        # 0 and -0 are printed differently, so they are different here too.
        numbers = np.array(pc.fill_null(column, float("nan")).to_numpy(zero_copy_only=False), np.float64)
        numbers[np.isnan(numbers)] = np.nan  # of which there are many
        return _renumbered(numbers.view(np.int64))[0]
    try:
        encoded = pc.dictionary_encode(column)
    except pa.ArrowNotImplementedError:
        raise DataError(
            f"Values that are compared must be single ones. Got a column of type {column.type}.",
            hint="name the quasi-identifiers, or leave that column out.",
        ) from None
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    codes = pc.fill_null(encoded.indices, len(encoded.dictionary))
    return np.array(codes.to_numpy(zero_copy_only=False), np.int64)


def _renumbered(keys: Array) -> tuple[Array, int]:
    kinds, numbers = np.unique(keys, return_inverse=True)
    return numbers.astype(np.int64), len(kinds)


def require(found: Audit, what: str) -> None:
    """Raise unless the wanted k holds."""
    if not found.holds:
        held = found.k if found.k_units is None else found.k_units
        raise DisclosureError(
            f"{what} must hide every record among {found.wanted}. Got {found.classes_below} groups below, "
            f"the smallest of {held}.",
            hint="nothing was published.",
        )
