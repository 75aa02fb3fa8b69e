"""Parquet and Arrow IPC files. All types, all metadata of the table and the compression of Parquet are kept."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.io.files import sha256_of
from shoal.io.source import Expected, Reading, Source, Writing
from shoal.io.unpacking import LARGEST, check_cells, most_bytes, unpacks_to_more
from shoal.progress import part
from shoal.tables.traces import plain, without_hidden

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["compression_of", "read", "write"]

_MAGIC = b"ARROW1"
# Times its size that a large Parquet file may unpack to.
_TIMES = 200


def read(job: Reading) -> Source:
    """Read a Parquet file, or an Arrow file or stream."""
    import pyarrow as pa

    digest = sha256_of(job.path, part(job.progress, 0.0, 0.3))
    compression: str | None = None
    try:
        if job.format == "parquet":
            table, compression = _parquet(job)
        else:
            table = _arrow(job)
        table.validate()
        check_cells(job.path, job.name, table.num_rows, table.num_columns)  # before runs of values are written out
        table = plain(table)
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError):
        # Not passed on: Arrow's message may quote the file.
        raise DataError(
            f"The file {job.name} must be a complete {job.format} file. Got one that is damaged or of another format.",
            "if it is of another format, name it with format=.",
        ) from None
    if len(set(table.column_names)) != table.num_columns:
        raise DataError(f"The columns of {job.name} must have different names. Got a name twice.")
    job.progress(1.0)
    notes = () if compression is None else (f"compression: {compression.lower()} (detected)",)
    return Source(table, False, job.format, None, digest, job.name, notes, compression)


def _parquet(job: Reading) -> tuple[pa.Table, str | None]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(job.path) as file:
        compression = None
        known = file.metadata
        if known.num_row_groups and known.num_columns:
            compression = str(known.row_group(0).column(0).compression)
        check_cells(job.path, job.name, known.num_rows, known.num_columns)
        dense = known.num_rows * known.num_columns <= os.stat(job.path).st_size
        return (file.read() if dense else _by_parts(file, job)), compression


def _by_parts(file: Any, job: Reading) -> pa.Table:
    """Read a Parquet file of less than a byte for each cell in parts, and no more than a file of its size may have.

    A long text that is repeated takes no room in it, but takes all of its own in a table.
    """
    import pyarrow as pa

    known, most = file.metadata, most_bytes(job.path, _TIMES)
    places = [(group, column) for group in range(known.num_row_groups) for column in range(known.num_columns)]
    longest = max((known.row_group(g).column(c).total_uncompressed_size for g, c in places), default=1)
    parts, room = [], most
    for batch in file.iter_batches(min(65_536, max(256, LARGEST // max(1, longest)))):
        parts.append(batch)
        room -= batch.nbytes
        if room < 0:
            raise unpacks_to_more(job.name, _TIMES, "if you trust it, write it again as CSV.")
    return pa.Table.from_batches(parts, file.schema_arrow).combine_chunks()


def _arrow(job: Reading) -> pa.Table:
    import pyarrow as pa

    # Not mapped into memory: the table must not change when the file does.
    with pa.OSFile(str(job.path), "rb") as file:
        magic = file.read(len(_MAGIC))
        file.seek(0)
        reader: Any = pa.ipc.open_file(file) if magic == _MAGIC else pa.ipc.open_stream(file)
        return reader.read_all()


def _nothing_beneath_nulls(table: pa.Table) -> pa.Table:
    """Return a table without the values that lie beneath nulls, which an Arrow file would hold."""
    for at, field in enumerate(table.schema):
        table = table.set_column(at, field, without_hidden(table.column(at)))
    return table


def compression_of(job: Writing) -> str:
    """Return the compression of a Parquet file: that of `job.like`, or the usual one."""
    known = job.like.compression if job.like is not None and job.like.format == "parquet" else None
    return {"UNCOMPRESSED": "none", "LZ4_RAW": "lz4"}.get(known or "SNAPPY", known or "SNAPPY")


def write(table: pa.Table, job: Writing) -> Expected:
    """Write Parquet with the compression of `job.like`, or an Arrow file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if job.format == "parquet":
            pq.write_table(table, job.path, compression=compression_of(job))
        else:
            # Feather files are compressed by custom, plain Arrow files are made to be mapped into memory.
            options = pa.ipc.IpcWriteOptions(compression="lz4" if job.suffix == ".feather" else None)
            with pa.OSFile(str(job.path), "wb") as file, pa.ipc.new_file(file, table.schema, options=options) as writer:
                # Categories of one column must be numbered alike in all chunks.
                writer.write_table(_nothing_beneath_nulls(table).unify_dictionaries())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        kinds = (
            ", ".join(sorted({str(kind) for kind in table.schema.types if pa.types.is_nested(kind)})) or "one of them"
        )
        raise DataError(
            f"The types of all columns must be ones that {job.format} can hold. Got one that it cannot ({kinds})."
        ) from None
    job.progress(1.0)
    return Expected(table)
