"""Rows spread over files of a spill folder by the number of a bucket, with a bound on what is kept in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import Array
from shoal.engines.spill import Spill, private, spilling

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Buckets", "undictionaried"]

_INDEX = "index.json"


class Buckets:
    """Rows by bucket. Rows of a bucket keep the order in which they were appended.

    Parameters
    ----------
    spill : Spill
    name : str
        Of a folder inside, which is made anew.
    schema : pyarrow.Schema
        Of the rows; categories become their values.
    count : int
        The number of buckets.
    memory : int
        Bytes that may be kept before they are written; about three times as much is used while they are.
    """

    def __init__(self, spill: Spill, name: str, schema: pa.Schema, count: int, memory: int = 2**26) -> None:
        self.spill, self.name, self.count, self.memory = spill, name, count, memory
        self.schema = undictionaried(schema)
        self.folder = spill.made(name)
        self.counts = np.zeros(count, np.int64)
        self.bytes = np.zeros(count, np.int64)
        self._kept: list[tuple[pa.Table, Array]] = []
        self._size = 0

    @classmethod
    def again(cls, spill: Spill, name: str) -> Buckets:
        """Return the buckets of a finished phase of an earlier run."""
        import pyarrow as pa

        self = cls.__new__(cls)
        self.spill, self.name, self.memory, self.folder = spill, name, 0, spill.path(name)
        with spilling(spill.folder), open(self.folder / _INDEX, "rb") as file:
            facts = json.loads(file.readline())
            self.schema = pa.ipc.read_schema(pa.py_buffer(file.read()))
        self.counts, self.bytes = np.array(facts["counts"], np.int64), np.array(facts["bytes"], np.int64)
        self.count, self._kept, self._size = len(self.counts), [], 0
        return self

    def append(self, rows: pa.Table | pa.RecordBatch, buckets: Array) -> None:
        """Add rows, each to its bucket (int64[n])."""
        import pyarrow as pa

        table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
        table = as_schema(table, self.schema)
        self._kept.append((table, np.asarray(buckets, np.int64)))
        self._size += table.nbytes + 8 * table.num_rows
        if self._size >= self.memory:
            self.flush()

    def flush(self) -> None:
        """Write what is kept."""
        import pyarrow as pa

        if not self._kept:
            return
        ids = np.concatenate([own for _, own in self._kept])
        table = pa.concat_tables([own for own, _ in self._kept]).combine_chunks()
        self._kept, self._size = [], 0
        order = np.argsort(ids, kind="stable")
        table = table.take(pa.array(order)).combine_chunks()
        ids = ids[order]
        starts = np.flatnonzero(np.diff(ids, prepend=-1))
        with spilling(self.spill.folder):
            for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(ids)], strict=True):
                for batch in table.slice(start, stop - start).to_batches():
                    self._write(int(ids[start]), batch)

    def _write(self, bucket: int, batch: pa.RecordBatch) -> None:
        content = memoryview(batch.serialize())
        with private(self._path(bucket), "ab") as file:
            file.write(content)
        self.counts[bucket] += batch.num_rows
        self.bytes[bucket] += len(content)

    def finish(self) -> Array:
        """Write the rest, and return int64[count]: how many rows each bucket has."""
        self.flush()
        facts = json.dumps({"counts": self.counts.tolist(), "bytes": self.bytes.tolist()})
        self.spill.write(f"{self.name}/{_INDEX}", facts.encode() + b"\n" + self.schema.serialize().to_pybytes())
        return self.counts

    def batches(self, bucket: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a bucket, in pieces."""
        import pyarrow as pa

        if not self.counts[bucket]:
            return
        with spilling(self.spill.folder), open(self._path(bucket), "rb") as file:
            while file.tell() < self.bytes[bucket]:
                message: Any = pa.ipc.read_message(file)
                yield pa.ipc.read_record_batch(message, self.schema)

    def read(self, bucket: int) -> pa.Table:
        """Return the rows of a bucket."""
        import pyarrow as pa

        return pa.Table.from_batches(self.batches(bucket), schema=self.schema)

    def remove(self, bucket: int | None = None) -> None:
        """Remove the file of a bucket, or of all of them, from the disk."""
        if bucket is None:
            self.spill.remove(self.name)
        else:
            self._path(bucket).unlink(missing_ok=True)

    def _path(self, bucket: int) -> Path:
        return self.folder / f"{bucket}.rows"


def undictionaried(schema: pa.Schema) -> pa.Schema:
    """Return a schema with the values of categories in their place."""
    import pyarrow as pa

    plain = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field for field in schema
    ]
    return pa.schema(plain)


def as_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns of a schema in its order and types: categories as values, and the reverse."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for field in schema:
        column = table.column(field.name)
        if column.type != field.type:
            if pa.types.is_dictionary(field.type) and not pa.types.is_dictionary(column.type):
                column = pc.dictionary_encode(column.combine_chunks())
            column = column.cast(field.type)
        columns.append(column)
    return pa.table(columns, schema=schema)
