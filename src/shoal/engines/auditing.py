"""The audit of a table that does not fit into memory: part by part.

Rows with equal published quasi-identifiers have the same hash and come into the same part. So `privacy.audit` counts
every group in its part, and the results are added up. Nothing is sampled, and no row is compared by its hash alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import Array
from shoal.engines.batches import Batches, row_bytes
from shoal.engines.buckets import Buckets
from shoal.engines.hashing import hashes_of, mixed, row_hashes
from shoal.engines.order import ROW
from shoal.engines.partial_audits import PartialAudit, audit_partition, merge
from shoal.engines.spill import Spill
from shoal.engines.whole_table import Cells, WholeTable, models_asked, whole_table, with_units
from shoal.errors import DataError, ShoalError
from shoal.plan import Plan
from shoal.privacy.audit import Audit
from shoal.privacy.classes import by_first_row, classes_of, units_of
from shoal.privacy.spectrum import whole_of as distribution_of
from shoal.privacy.whole import Whole, whole_of
from shoal.tables.spelling import UNITS_READ_ALIKE, as_read, said

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PartialAudit", "audit_batches", "audit_partition", "merge"]

# Bytes that the audit of a part needs for each byte of its rows.
FACTOR = 6
MOST_PARTS = 4096


Beside = Callable[[], Iterator["pa.RecordBatch"]]


def audit_batches(
    batches: Batches,
    names: Sequence[str],
    plan: Plan,
    spill: Spill,
    memory: int,
    *,
    wanted: int | None = None,
    unit: str | None = None,
    beside: Beside | None = None,
    everything: Sequence[str] | None = None,
    glances: bool = False,
    name: str = "audit",
) -> Audit:
    """Return the audit of a published table that is read in pieces.

    Parameters
    ----------
    batches : Batches
        The table as published.
    names : names
        The quasi-identifiers, strata included.
    plan : Plan
        What is required of sensitive attributes, and how they are read.
    spill, memory : Spill, int
        Where to put rows, and how many bytes the audit may use.
    wanted : int or None
        The required k.
    unit : name or None
        Column of units, of the table or of `beside`.
    beside : callable or None
        Returns the rows of the column of units in the order of the table, if it is not published.
    everything : names or None
        Columns for which the k of all together is counted. None: all but `unit`.
    glances : bool
        Whether to measure sensitive attributes of which nothing is required.
    name : str
        Of the folder inside `spill`.
    """
    everything = [one for one in batches.names if one != unit] if everything is None else list(everything)
    demands, measured = models_asked(plan)
    sensitive = list(dict.fromkeys(name for _, name in (*demands, *(measured if glances else ()))))
    cells = {one: Cells(one, memory // 8) for one in sensitive}
    for batch in batches.read(sensitive) if sensitive else ():
        for one in sensitive:
            cells[one].add(batch.column(one))
    how: dict[str, Any] = {"text": batches.text, "decimal": batches.decimal, "glances": glances}
    whole = whole_table(names, wanted, plan, cells.values(), everything=everything, unit=unit, **how)

    def rows() -> Iterator[pa.RecordBatch]:
        own = [one for one in whole.needed if beside is None or one != unit]
        source = batches.read(own)
        return source if beside is None else _with(source, beside())

    if unit is not None:
        published = beside is None
        whole = _counted_units(rows, whole, unit, published, _count(batches, memory), spill, memory, f"{name}-units")
    buckets = _spread(rows, whole, _count(batches, memory), spill, memory, name)
    limit = max(memory // FACTOR, 1)
    parts = [part for at in range(buckets.count) for part in _audited(buckets, at, limit, whole)]
    buckets.remove()
    return merge(parts, whole)


def _count(batches: Batches, memory: int) -> int:
    """Return into how many parts a table is cut: each is audited in memory."""
    rows = batches.rows if batches.rows is not None else (batches.size or 0) // max(1, len(batches.names) * 4)
    size = max(rows * (row_bytes(batches.schema) + 8), batches.size or 0)
    return int(min(max(1, -(-2 * FACTOR * size // memory)), MOST_PARTS))


def _spread(
    rows: Callable[[], Iterator[pa.RecordBatch]], whole: WholeTable, count: int, spill: Spill, memory: int, name: str
) -> Buckets:
    """Return the rows of a table by the hash of their quasi-identifiers, with their numbers."""
    import pyarrow as pa

    buckets, done = None, 0
    for batch in rows():
        numbers = pa.array(np.arange(done, done + batch.num_rows))
        done += batch.num_rows
        table = pa.Table.from_batches([batch]).append_column(ROW, numbers)
        if buckets is None:
            buckets = Buckets(spill, name, table.schema, count, memory // 8)
        buckets.append(table, (row_hashes(batch, whole.together) % np.uint64(count)).astype(np.int64))
    if buckets is None:
        raise DataError("A published table must have rows. Got none.")
    buckets.finish()
    return buckets


def _audited(buckets: Buckets, bucket: int, limit: int, whole: WholeTable, depth: int = 1) -> Iterator[PartialAudit]:
    """Yield the audits of the rows of a bucket, which are cut further if they are too many."""
    if not buckets.counts[bucket]:
        return
    if buckets.bytes[bucket] <= limit:
        yield audit_partition(buckets.read(bucket), whole)
        buckets.remove(bucket)
        return
    finer = _finer(buckets, bucket, limit, whole.together, depth)
    if finer.bytes.max() > 0.9 * buckets.bytes[bucket]:
        finer.remove()
        yield _of_equal_rows(buckets, bucket, limit, whole, depth)
        buckets.remove(bucket)
        return
    buckets.remove(bucket)
    for at in range(finer.count):
        yield from _audited(finer, at, limit, whole, depth + 1)
    finer.remove()


def _finer(buckets: Buckets, bucket: int, limit: int, names: Sequence[str], depth: int) -> Buckets:
    """Return the rows of a bucket in finer ones, by other hashes of these columns."""
    count = int(2 * -(-buckets.bytes[bucket] // limit))
    finer = Buckets(buckets.spill, f"{buckets.name}-{depth}", buckets.schema, count, limit)
    for batch in buckets.batches(bucket):
        hashes = mixed(row_hashes(batch, names) + np.uint64(depth))
        finer.append(batch, (hashes % np.uint64(count)).astype(np.int64))
    finer.finish()
    return finer


def _of_equal_rows(buckets: Buckets, bucket: int, limit: int, whole: WholeTable, depth: int) -> PartialAudit:
    """Return the audit of a bucket with more rows of one group than fit into memory.

    Rows that do not differ in what is asked for are counted as one. All columns together are counted by themselves.
    """
    unit = [] if whole.unit is None else [whole.unit]
    names = list(dict.fromkeys([*whole.names, *whole.attributes, *unit]))
    table, counts = _distinct(buckets, bucket, names, limit)
    part = audit_partition(table, replace(whole, everything=()), counts=counts)
    if not whole.everything:
        return part
    everything, found = list(whole.everything), []
    finer = _finer(buckets, bucket, limit, everything, depth)
    for at in range(finer.count):
        if finer.counts[at]:
            rows, times = _distinct(finer, at, everything, limit)
            found.append(whole_of(rows.select(everything), everything, counts=times))
    finer.remove()
    together = Whole(len(everything), min(one.k for one in found), sum(one.unique for one in found))
    return replace(part, audit=replace(part.audit, whole=together))


def _distinct(buckets: Buckets, bucket: int, names: Sequence[str], limit: int) -> tuple[pa.Table, Array]:
    """Return the different rows of a bucket with the numbers of the first of each, and how often each occurs."""
    import pyarrow as pa

    kept: list[tuple[pa.Table, Array]] = []
    for batch in buckets.batches(bucket):
        rows = pa.Table.from_batches([batch]).select([*names, ROW])
        kept.append(_counted(rows, np.ones(rows.num_rows, np.int64), names))
        if sum(table.nbytes for table, _ in kept) > limit:
            tables, times = zip(*kept, strict=True)
            kept = [_counted(pa.concat_tables(tables).combine_chunks(), np.concatenate(times), names)]
            if kept[0][0].nbytes > limit / 2:
                raise ShoalError(
                    "Rows with the same quasi-identifiers must fit into memory, as far as other columns differ. Got "
                    f"{int(buckets.counts[bucket]):,} rows that do not.",
                    "give more memory (--memory).",
                )
    tables, times = zip(*kept, strict=True)
    return _counted(pa.concat_tables(tables).combine_chunks(), np.concatenate(times), names)


def _counted(table: pa.Table, counts: Array, names: Sequence[str]) -> tuple[pa.Table, Array]:
    """Return the different rows in the order of their first, and how many rows each stands for."""
    import pyarrow as pa

    classes, first = by_first_row(classes_of(table, names))
    return table.take(pa.array(first)).combine_chunks(), np.bincount(classes, counts).astype(np.int64)


def _with(source: Iterator[pa.RecordBatch], beside: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows with the columns of both, which have the same rows in pieces of their own."""
    import pyarrow as pa

    for one, other in aligned(source, beside):
        columns = [*one.columns, *other.columns]
        yield pa.RecordBatch.from_arrays(columns, names=[*one.schema.names, *other.schema.names])


def aligned(
    source: Iterator[pa.RecordBatch], beside: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Yield pieces of two tables with the same number of rows, cut in the same places."""
    left, right = next(source, None), next(beside, None)
    while left is not None and right is not None:
        rows = min(left.num_rows, right.num_rows)
        if rows:
            yield left.slice(0, rows), right.slice(0, rows)
        left = left.slice(rows) if rows < left.num_rows else next(source, None)
        right = right.slice(rows) if rows < right.num_rows else next(beside, None)
    if left is not None or right is not None:
        raise DataError("Both parts of a table must have the same number of rows. Got different ones.")


def _counted_units(
    rows: Callable[[], Iterator[pa.RecordBatch]],
    whole: WholeTable,
    unit: str,
    published: bool,
    count: int,
    spill: Spill,
    memory: int,
    name: str,
) -> WholeTable:
    """Count the units of the whole table, each in one part; how many there are is said if they are published."""
    buckets, total = None, 0
    for batch in rows():
        kept = batch.select(list(dict.fromkeys([unit, *whole.attributes])))
        if buckets is None:
            buckets = Buckets(spill, name, kept.schema, count, memory // 8)
        buckets.append(kept, (_unit_hashes(kept.column(unit), whole.decimal) % np.uint64(count)).astype(np.int64))
        total += batch.num_rows
    if buckets is None:
        raise DataError("A published table must have rows. Got none.")
    buckets.finish()
    written = read = missing = 0
    texts = _is_text(buckets.schema.field(unit).type)
    counts = {one: (np.zeros(known.sensitive.values), 0.0) for one, known in whole.attributes.items()}
    for at in range(count):
        if not buckets.counts[at]:
            continue
        table = buckets.read(at)
        units = units_of(table.column(unit), unit, whole.decimal)
        read += len(np.unique(units.codes)) - (units.missing > 0)
        missing += units.missing
        written += _different(table.column(unit)) if texts else 0
        for one, known in whole.attributes.items():
            sensitive = known.part(table.column(one))._replace(units=units.codes, whole=None)
            values, absent = distribution_of(sensitive)
            counts[one] = (counts[one][0] + values, counts[one][1] + absent)
        buckets.remove(at)
    buckets.remove()
    notes = []
    if texts and read < written:
        notes.append(said(unit, written, read, "units") if published else UNITS_READ_ALIKE)
    if missing and published:
        notes.append(f"{missing} rows have no unit: they count as one unit together.")
    return with_units(whole, read + (missing > 0) < total, notes, counts)


def _different(column: Any) -> int:
    import pyarrow.compute as pc

    return int(pc.count_distinct(column).as_py())


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _unit_hashes(column: Any, decimal: str) -> Array:
    """Return uint64[n]: equal hashes for units that are one for a person who reads them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        numbers = np.array(column.to_numpy(zero_copy_only=False), np.float64) + 0.0
        return hashes_of(pa.array(np.where(np.isnan(numbers), np.nan, numbers)))
    if not _is_text(column.type):
        return hashes_of(column)
    encoded = pc.dictionary_encode(column.fill_null(""))
    keys = [as_read(text, decimal) for text in encoded.dictionary.to_pylist()]
    hashes: Array = hashes_of(pa.array(keys, pa.string()))[np.asarray(encoded.indices)]
    return hashes
