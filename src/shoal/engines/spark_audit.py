"""The audit of a release as a job of Spark, which knows the published columns and nothing of how they were made.

Classes of equal rows are counted by Spark itself: however many rows a class has, no task holds more of it than a key
and a number. Privacy models need the rows of a class together, and are checked by `audit_partition`, on partitions that
no class spans.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from shoal.engines.auditing import audit_partition, merge
from shoal.engines.spark_errors import quiet, told
from shoal.engines.spark_frames import PART, SLOT, Frame, blob, collected, found, quoted, tables
from shoal.engines.whole_table import Cells, models_asked, whole_table
from shoal.errors import DisclosureError
from shoal.plan import Plan
from shoal.privacy.audit import Audit
from shoal.privacy.whole import FEW_ROWS, NEARLY, Whole

# Rows that are audited together, about; a class is never parted.
PART_ROWS = 200_000
COUNT, ROWS, SIGN, UNITS = "__count", "__rows", "__sign", "__units"


def sizes_of(frame: Any, names: Sequence[str]) -> dict[int, int]:
    """Return the number of classes of each size: rows that are equal in all of these columns are a class."""
    from pyspark.sql import functions as F

    classes = frame.groupBy(*_keys(frame, names)).agg(F.count(F.lit(1)).alias(COUNT))
    found = classes.groupBy(COUNT).agg(F.count(F.lit(1)).alias(ROWS)).collect()
    return {int(row[COUNT]): int(row[ROWS]) for row in sorted(found)}


def units_of(frame: Any, names: Sequence[str], unit: str) -> dict[int, tuple[int, int]]:
    """Return, for each number of units, how many classes have it, and how many rows are in them."""
    from pyspark.sql import functions as F

    keyed = frame.groupBy(*_keys(frame, names), F.col(quoted(unit)).alias(UNITS)).agg(F.count(F.lit(1)).alias(ROWS))
    keys = [name for name in keyed.columns if name not in (UNITS, ROWS)]
    classes = keyed.groupBy(*map(quoted, keys)).agg(F.count(F.lit(1)).alias(COUNT), F.sum(ROWS).alias(ROWS))
    found = classes.groupBy(COUNT).agg(F.count(F.lit(1)).alias(UNITS), F.sum(ROWS).alias(ROWS)).collect()
    return {int(row[COUNT]): (int(row[UNITS]), int(row[ROWS])) for row in sorted(found)}


def audited(
    frame: Any,
    plan: Plan,
    names: Sequence[str],
    *,
    text: bool = False,
    decimal: str = ".",
    units: Mapping[int, tuple[int, int]] | None = None,
) -> Audit:
    """Return the audit of a published data frame: k, all models, and the k of all columns together.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The published columns.
    plan : Plan
    names : names
        The quasi-identifiers, strata included.
    text, decimal : bool, str
        Whether columns are text as in a CSV file, and their decimal mark.
    units : mapping or None
        How many units classes have (see :func:`units_of`), where they are counted.
    """
    with told():
        result = counted(frame, names, plan.k, units)
        result = replace(result, whole=whole_of(frame, names, result.sizes))
    if not plan.has_demands:
        return result
    models = models_of(frame, names, plan, result.rows, text=text, decimal=decimal)
    if (models.rows, models.classes, models.k) != (result.rows, result.classes, result.k):
        raise DisclosureError("Two ways to count the groups of the release must agree. Got a difference.")
    return replace(result, models=models.models, notes=models.notes)


def counted(frame: Any, names: Sequence[str], wanted: int, units: Mapping[int, tuple[int, int]] | None = None) -> Audit:
    """Return the audit of k, in rows and in `units` if given; models are to be added."""
    sizes = sizes_of(frame, names)
    below = {size: (count, size * count) for size, count in sizes.items() if size < wanted}
    if units is not None:
        below = {number: both for number, both in units.items() if number < wanted}
    return Audit(
        rows=sum(size * count for size, count in sizes.items()),
        classes=sum(sizes.values()),
        k=min(sizes, default=0),
        k_units=None if units is None else min(units, default=0),
        wanted=wanted,
        classes_below=sum(classes for classes, _ in below.values()),
        rows_below=sum(rows for _, rows in below.values()),
        sizes=MappingProxyType(sizes),
    )


def whole_of(frame: Any, names: Sequence[str], known: Mapping[int, int]) -> Whole:
    """Return what holds for all columns of a release together, given the sizes of its classes by these columns."""
    sizes = known if set(names) == set(frame.columns) else sizes_of(frame, frame.columns)
    return Whole(len(frame.columns), min(sizes, default=0), sizes.get(1, 0))


def nearly_unique(frame: Any, names: Sequence[str], rows: int) -> dict[str, int]:
    """Return the columns whose values single most records out by themselves, and how many records each of them does."""
    if rows < FEW_ROWS:
        return {}
    alone = {name: sizes_of(frame, [name]).get(1, 0) for name in names}
    return {name: count for name, count in alone.items() if count >= NEARLY * rows}


def _keys(frame: Any, names: Sequence[str]) -> list[Any]:
    """Return columns that are equal where every reader of a table sees equal values.

    Spark takes 0 and -0 for one, which are written differently, and texts that a collation has equal; it cannot compare
    maps.
    """
    from pyspark.sql import functions as F

    kinds = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    keys = []
    for at, name in enumerate(names):
        column = F.col(quoted(name))
        kind = kinds[name]
        key = F.to_json(column) if kind in ("map", "struct", "array", "variant") else column
        keys.append((key.cast("binary") if kind == "string" else key).alias(f"c{at}"))
        if kind in ("float", "double"):
            sign = F.when(column == F.lit(0.0), column.cast("string")).alias(f"{SIGN}{at}")
            keys.append(sign)
    return keys


@dataclass
class SensitiveCells:
    """The different values of sensitive columns in the whole table, and how often each occurs."""

    cells: dict[str, Cells]

    def add(self, table: Any) -> None:
        """Add rows, a pyarrow.Table."""
        for name, cells in self.cells.items():
            cells.add(table.column(name))

    def merge(self, other: SensitiveCells) -> None:
        """Add the values of other rows."""
        for name, cells in self.cells.items():
            cells.merge(other.cells[name])


def models_of(frame: Any, names: Sequence[str], plan: Plan, rows: int, *, text: bool, decimal: str) -> Audit:
    """Return the audit with the findings of all demands of a plan.

    The rows of a class come together in one task, which is given the distribution in the whole table.
    """
    from pyspark.sql import functions as F

    table = Frame(frame)
    demands, _ = models_asked(plan)
    sensitive = list(dict.fromkeys(name for _, name in demands))
    cells = found(table, SensitiveCells({name: Cells(name) for name in sensitive}), sensitive)
    whole = whole_table(names, plan.k, plan, cells.cells.values(), text=text, decimal=decimal, glances=False)
    needed, packed = list(whole.needed), pickle.dumps(whole)
    places = {name: f"c{at}" for at, name in enumerate(table.names)}
    slots = max(1, -(-rows // PART_ROWS))
    # Spark takes 0 and -0 for one, and all NaN: these are told apart inside of a part.
    slot = F.pmod(F.xxhash64(*(places[name] for name in names)), F.lit(slots)).cast("int")
    spread = table.some(needed).withColumn(SLOT, slot).repartitionById(slots, F.col(SLOT)).drop(SLOT)

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        return partly_audited(batches, needed, packed)

    return merge(list(collected(spread.mapInArrow(task, f"{PART} binary"))), whole)


@quiet
def partly_audited(batches: Iterator[Any], names: list[str], packed: bytes) -> Iterator[Any]:
    """Yield the audit of the rows of one partition, which has all rows of each of its classes."""
    for table in tables(batches, names, sys.maxsize):
        part = audit_partition(table.combine_chunks(), pickle.loads(packed))
        yield blob(replace(part, audit=replace(part.audit, sizes=dict(part.audit.sizes))))  # views do not travel
