"""The order of rows that do not fit into memory: as in the source, or at random, by buckets of the spill folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import Array
from shoal.engines.batches import row_bytes
from shoal.engines.buckets import Buckets, as_schema
from shoal.engines.spill import Spill, spilling
from shoal.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ROW", "InOrder", "regrouped", "shuffled", "with_columns_of"]

ROW = "__row"
_SCHEMA = "schema.arrow"
FACTOR = 6  # bytes needed for each byte of the rows that are put in order at once


class InOrder:
    """Rows in the order of their numbers.

    Parameters
    ----------
    spill, name : Spill, str
        Where to put them.
    schema : pyarrow.Schema
        Of the rows, with their number in the column `ROW`.
    rows : int
        All numbers are below this.
    memory : int
        Bytes that may be used.
    row : int or None
        About how many bytes a row takes; None: as its types say.
    """

    def __init__(
        self, spill: Spill, name: str, schema: pa.Schema, rows: int, memory: int, row: int | None = None
    ) -> None:
        self._schema, self.width = schema, width_of(row or row_bytes(schema), rows, memory)
        self.buckets = Buckets(spill, name, schema, max(1, -(-rows // self.width)), memory // 8)

    def append(self, table: pa.Table) -> None:
        """Add rows in any order."""
        self.buckets.append(table, table.column(ROW).to_numpy() // self.width)

    def finish(self) -> None:
        """Write the rest, so that the rows can be read."""
        self.buckets.finish()
        self.buckets.spill.write(f"{self.buckets.name}/{_SCHEMA}", self._schema.serialize().to_pybytes())

    @classmethod
    def again(cls, spill: Spill, name: str) -> InOrder:
        """Return the rows of a finished phase of an earlier run, to be read."""
        import pyarrow as pa

        self = cls.__new__(cls)
        self.buckets, self.width = Buckets.again(spill, name), 0
        with spilling(spill.folder):
            self._schema = pa.ipc.read_schema(pa.py_buffer(spill.path(f"{name}/{_SCHEMA}").read_bytes()))
        return self

    def read(self, *others: InOrder) -> Iterator[pa.Table]:
        """Yield the rows, with those of others that were made for the same table, by their numbers, which they keep."""
        import pyarrow as pa

        for at in range(self.buckets.count):
            table = pa.concat_tables([one.buckets.read(at) for one in (self, *others)])
            order = np.argsort(table.column(ROW).to_numpy(), kind="stable")
            if len(order):
                yield as_schema(table.take(pa.array(order)).combine_chunks(), self._schema)


def width_of(row: int, rows: int, memory: int) -> int:
    """Return how many rows of a bucket fit into memory, if each takes `row` bytes."""
    return int(max(1, min(memory // (FACTOR * row), rows)))


def shuffled(
    tables: Iterable[pa.Table], spill: Spill, name: str, rows: int, memory: int, seed: int
) -> Iterator[pa.Table]:
    """Yield rows in random order: each goes to a random bucket, and the rows of a bucket are shuffled.

    The seed must be a secret: whoever knows it knows the order of the source.
    """
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    buckets, schema = None, None
    for table in tables:
        if buckets is None:
            schema = table.schema
            row = max(row_bytes(schema), int(sizes_of(table).mean()))
            buckets = Buckets(spill, name, schema, -(-2 * rows // width_of(row, rows, memory)), memory // 8)
        buckets.append(table, rng.integers(0, buckets.count, table.num_rows))
    if buckets is None or schema is None:
        return
    buckets.finish()
    for at in range(buckets.count):
        table = buckets.read(at)
        buckets.remove(at)
        if table.num_rows:
            yield as_schema(table.take(pa.array(rng.permutation(table.num_rows))).combine_chunks(), schema)
    buckets.remove()


def with_columns_of(
    source: Iterator[pa.RecordBatch], published: Iterable[pa.Table], names: Sequence[str]
) -> Iterator[pa.Table]:
    """Yield published rows with the columns of the source that are published as they are.

    Parameters
    ----------
    source : iterator of pyarrow.RecordBatch
        All rows of the source in its order, with the columns that are passed on.
    published : iterable of pyarrow.Table
        Rows by their number `ROW` in the source, some of which may be left out.
    names : names
        The columns of the result, in this order.
    """
    import pyarrow as pa

    start, piece = 0, None  # rows of the source are looked for in one piece at a time, whatever is published at once
    for table in published:
        numbers, at = table.column(ROW).to_numpy(), 0
        while at < len(numbers):
            while piece is None or start + piece.num_rows <= numbers[at]:
                start += 0 if piece is None else piece.num_rows
                piece = next(source, None)
                if piece is None:
                    raise DataError("The source must have every row that is published. Got fewer rows.")
            stop = int(np.searchsorted(numbers, start + piece.num_rows))
            rows, own = piece.take(pa.array(numbers[at:stop] - start)), table.slice(at, stop - at)
            columns = [own.column(name) if name in own.column_names else rows.column(name) for name in names]
            yield pa.table(columns, names=list(names))
            at = stop
    for _ in source:
        pass  # to its end, where a change is noticed


def regrouped(tables: Iterable[pa.Table], rows: int, size: int) -> Iterator[pa.Table]:
    """Yield the same rows in tables of `rows` rows, or of fewer that have about `size` bytes; the last may be smaller.

    Where one ends depends on the rows alone, not on the pieces in which they come.
    """
    import pyarrow as pa

    kept: list[pa.Table] = []
    count = held = 0
    for table in tables:
        ends, at = np.cumsum(sizes_of(table)), 0
        while at < table.num_rows:
            before = int(ends[at - 1]) if at else 0
            stop = min(at + rows - count, int(np.searchsorted(ends, before + size - held, "right")))
            stop = min(max(stop, at + (count == 0)), table.num_rows)  # a row of more bytes is alone
            if stop > at:
                kept.append(table.slice(at, stop - at))
                count, held = count + stop - at, held + int(ends[stop - 1]) - before
            if stop < table.num_rows or count == rows:
                yield pa.concat_tables(kept)
                kept, count, held = [], 0, 0
            at = stop
    if count:
        yield pa.concat_tables(kept)


def sizes_of(table: pa.Table) -> Array:
    """Return int64[n]: about how many bytes each row takes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sizes = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        sizes += row_bytes(pa.schema([("", column.type)]))
        if pa.types.is_large_unicode(column.type) or pa.types.is_unicode(column.type) or _is_binary(column.type):
            sizes += np.asarray(pc.fill_null(pc.binary_length(column), 0).to_numpy(), np.int64)
    return sizes


def _is_binary(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def numbered(batch: pa.RecordBatch, start: int) -> Array:
    """Return int64[n]: the numbers of the rows of a batch that begins with the row `start`."""
    return np.arange(start, start + batch.num_rows)
