"""Adds the rows of new records to the table of an earlier release."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.errors import DataError
from shoal.plan import Plan
from shoal.release.publishing import without_metadata
from shoal.release.updates.earlier import Earlier
from shoal.tables import frames
from shoal.tables.schema import attribute


def combined(earlier: Earlier, new: Any, *, shuffle: bool = False, in_order: bool = False) -> Any:
    """Return a data frame with the rows of the earlier release and then the new ones, or all in random order.

    Parameters
    ----------
    earlier : Earlier
    new : data frame
        Of the same library, with the published columns in any order.
    shuffle : bool
    in_order : bool
        Whether to shuffle new rows only.
    """
    import pyarrow as pa

    n = earlier.table.num_rows if in_order else 0
    moved = np.random.default_rng().permutation(earlier.table.num_rows + len(new) - n) + n
    order = np.concatenate([np.arange(n), moved]) if shuffle else None
    names = earlier.published
    if isinstance(earlier.frame, pa.Table):
        if not isinstance(new, pa.Table):
            raise _other(earlier.frame, new)
        typed = [as_before(new.column(name), earlier.frame.schema.field(name).type, name) for name in names]
        later = pa.table(typed, schema=earlier.frame.schema)
        table = pa.concat_tables([earlier.frame, later])
        return without_metadata(table if order is None else table.take(pa.array(order)))
    import narwhals as nw

    first, second = (nw.from_native(one, eager_only=True) for one in (earlier.frame, new))
    if first.implementation != second.implementation:
        raise _other(earlier.frame, new)
    if first.implementation.is_pandas():
        first, second = _with_same_categories(first, second, names)
    for name in names:
        if first[name].dtype != second[name].dtype:
            second = second.with_columns(_cast(first[name], second[name], name))
    if first.implementation.is_pandas():
        import pandas as pd

        labelled = frames.has_labels(earlier.frame)
        table = pd.concat([one.to_native()[names] for one in (first, second)], ignore_index=not labelled)
        return table if order is None else table.iloc[order].reset_index(drop=True)
    try:
        both = nw.concat([first[names], second[names]], how="vertical")
    except Exception:
        raise DataError("The new records must have columns of the types that the release has. Got others.") from None
    return (both if order is None else both[order]).to_native()


def _with_same_categories(first: Any, second: Any, names: list[str]) -> tuple[Any, Any]:
    """Return two frames of pandas whose columns of categories have the same ones; texts would take their place else."""
    import narwhals as nw
    import pandas as pd

    pair = [one.to_native().copy() for one in (first, second)]
    for name in names:
        if all(isinstance(one[name].dtype, pd.CategoricalDtype) for one in pair):
            ordered = all(one[name].cat.ordered for one in pair)
            lists = [one[name].cat.categories.tolist() for one in pair]
            levels = in_one_order(lists[0], lists[1], name) if ordered else list(dict.fromkeys([*lists[0], *lists[1]]))
            for one in pair:
                one[name] = one[name].cat.set_categories(levels)
    return nw.from_native(pair[0], eager_only=True), nw.from_native(pair[1], eager_only=True)


def in_one_order(before: list[Any], after: list[Any], name: str) -> list[Any]:
    """Return all categories of two columns in an order that has the order of both, or refuse them."""
    longer, shorter = (before, after) if len(before) > len(after) else (after, before)
    merged = list(longer)
    for at, level in enumerate(shorter):
        if level not in merged:
            follows = [merged.index(one) for one in shorter[:at]]
            merged.insert(max(follows, default=-1) + 1, level)
    if [level for level in merged if level in set(shorter)] != list(shorter):
        raise DataError(
            f"The categories of {name!r} must be in the order that they have in the earlier release. Got another order."
        )
    return merged


def refuse_other_dates(earlier: Earlier, new: Any, plan: Plan) -> None:
    """Refuse dates in text that are written in another way than those of the earlier release."""
    if not earlier.text or plan.release != "microaggregation":
        return
    for name in (name for name, kind in earlier.kinds.items() if kind in ("date", "datetime")):
        tables = (earlier.table, frames.to_arrow(new, "update", [name]))
        reads = [attribute(table, name, plan, text=True, decimal=earlier.decimal) for table in tables]
        if reads[0].writings[0].pattern != reads[1].writings[0].pattern:
            raise DataError(
                f"The dates of {name!r} must be written as in the earlier release. Got another format.",
                hint="write them in the same format first.",
            )


def _other(earlier: Any, new: Any) -> DataError:
    kinds = f"{type(new).__module__.partition('.')[0]} for a release of {type(earlier).__module__.partition('.')[0]}"
    return DataError(f"The new records must be a data frame of the same library as the release. Got one of {kinds}.")


def as_before(column: Any, kind: Any, name: str) -> Any:
    """Return a column of Arrow in the type of the earlier release, or refuse values that it cannot hold."""
    import pyarrow as pa

    if column.type == kind:
        return column
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    try:
        return (
            plain.cast(kind.value_type).dictionary_encode().cast(kind)
            if pa.types.is_dictionary(kind)
            else plain.cast(kind)
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise _no_type(name) from None


def _cast(first: Any, second: Any, name: str) -> Any:
    """Return a series in the type of another one, which must hold all of its values."""
    try:
        changed = second.cast(first.dtype)
        same = bool((changed.cast(second.dtype) == second).fill_null(True).all())
    except Exception:
        same = False
    if not same:
        raise _no_type(name)
    return changed


def _no_type(name: str) -> DataError:
    return DataError(
        f"The column {name!r} of the new records must have values of its type in the earlier release. Got others.",
        hint="convert it first.",
    )
