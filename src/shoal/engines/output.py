"""Writes a release piece by piece: without a name, read again, audited, and only then named.

The order of steps is that of `shoal.release.files`: a release never has its name before it passed its audit, and never
stands beside documents of another one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shoal.engines.batches import BATCH_BYTES, Batches, FileBatches
from shoal.engines.buckets import as_schema, undictionaried
from shoal.engines.hashing import row_hashes
from shoal.engines.order import regrouped
from shoal.errors import DataError, OptionError, ShoalError
from shoal.io import Written, formulas
from shoal.io.arrow_files import compression_of
from shoal.io.csv_writer import CsvLines, dialect_of, reading, texts, through
from shoal.io.files import cannot_write, checked_target, draft
from shoal.io.formats import FORMATS, Place
from shoal.io.source import Writing
from shoal.io.turns import in_turn
from shoal.progress import Progress, part, throttled
from shoal.release.files import remove_superseded
from shoal.release.job import Job
from shoal.release.targets import require_other_files
from shoal.tables.traces import without_traces

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_output", "write_batches"]

T = TypeVar("T")
# Rows of a row group, and bytes of fewer long ones, whatever the memory: the same release has the same bytes.
ROWS, BYTES = 131_072, 2**25
WRITTEN = ("csv", "parquet", "arrow")


@dataclass
class _Draft:
    """What was written, and how to read it."""

    schema: Any
    rows: int = 0
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._digest = hashlib.sha256()
        self._formulas: dict[str, int] = {}

    def add(self, table: pa.Table) -> None:
        """Note some rows that are written."""
        self._digest.update(row_hashes(table, table.column_names).astype("<u8").tobytes())
        self.rows += table.num_rows

    @property
    def digest(self) -> str:
        """Return the hash of all rows in their order."""
        return self._digest.hexdigest()


def check_output(job: Job, like: Batches) -> Place:
    """Return where to write the release; refuse what cannot be written piece by piece, before any work is done."""
    place = job.place
    if place is None:
        raise OptionError("The output must be a file. Got none.", "name a file with -o.")
    if place.standard or place.format.name not in WRITTEN:
        got = "standard output" if place.standard else f"the format {place.format.name!r}"
        raise OptionError(
            f"A release that is written piece by piece must be a CSV, Parquet or Arrow file. Got {got}.",
            "write Parquet, and load it from there; or use engine='memory' (--engine memory).",
        )
    if like.text and place.format.name != "csv":
        raise OptionError(
            "A release of a CSV file that is written piece by piece must be a CSV file, as its columns are text. Got "
            f"the format {place.format.name!r}.",
            "write CSV; or convert the table to Parquet first.",
        )
    if isinstance(like, FileBatches) and place.path is not None:
        require_other_files([place.path], like.paths)  # of a folder, these are not known before it is opened
    return place


def write_batches(
    tables: Iterable[pa.Table],
    job: Job,
    *,
    schema: pa.Schema,
    like: Batches,
    check: Callable[[Batches], T],
    finish: Callable[[Written, T], None] | None = None,
    rows: int | None = None,
    batch_bytes: int = BATCH_BYTES,
    progress: Progress | None = None,
) -> Written:
    """Write a release piece by piece, have it checked, and give it its name.

    Parameters
    ----------
    tables : iterable of pyarrow.Table
        The rows in the order of the release, with the columns of `schema`.
    job : Job
        Names the output, and its documents.
    like : Batches
        The source, whose dialect and compression are used.
    check : callable
        Called with the file, as read again from the disk, before it has a name; raises if it must not be published.
    finish : callable or None
        Called with what was written and what `check` returned, when the release has its name: writes the documents.
    rows : int or None
        The number of rows, for progress.
    """
    place = check_output(job, like)
    job.check_files()  # again, because files may have appeared in the meantime
    report = throttled(progress)
    path = checked_target(place.path or Path(), job.force)
    escaped = bool(job.writing.get("escape_formulas"))
    about = (place.format.name, str(place.path), place.suffix, place.compression, like.like(), escaped)
    with ExitStack() as turn:
        with draft(path) as beside:
            writing = Writing(beside.path, *about, progress=part(report, 0.0, 0.5))
            made = _written(tables, schema, writing, rows)
            again = _reopened(writing, batch_bytes)
            _require_same(again, made, writing, part(report, 0.5, 0.7))
            checked = check(again)
            sha256 = again.hashed()
            size = os.stat(beside.path).st_size
            again.require_unchanged()
            # The last steps before the release gets its name, which a process takes alone in a folder.
            turn.enter_context(in_turn(path.parent))
            remove_superseded(job)
            beside.publish(job.force)
        written = Written(str(place.path), sha256, made.rows, size, made.notes, made.warnings)
        if finish is not None:
            finish(written, checked)
    report(1.0)
    return written


def _written(tables: Iterable[pa.Table], schema: pa.Schema, job: Writing, rows: int | None) -> _Draft:
    """Write the file, and return what is in it."""
    import pyarrow as pa

    schema = schema.remove_metadata()
    written = _in_parquet(schema) if job.format == "parquet" else schema
    made = _Draft(written)

    def pieces() -> Any:
        for table in regrouped(tables, ROWS, BYTES):
            if not table.schema.remove_metadata().equals(schema):
                raise ShoalError("Every piece of a release must have the same columns. Got others; please report this.")
            # Categories anew: those of this piece alone, in the order of their rows.
            table = as_schema(as_schema(table, undictionaried(schema)), written)
            yield without_traces(table)
            if rows:
                job.progress(min(made.rows / rows, 1.0))

    try:
        {"csv": _csv, "parquet": _parquet, "arrow": _arrow}[job.format](pieces(), job, made)
    except OSError as error:
        raise cannot_write(Path(job.name), error) from None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise DataError(
            f"The types of all columns must be ones that {job.format} can hold. Got one that it cannot."
        ) from None
    if made.rows == 0:
        raise DataError("A release must have rows. Got none.")
    return made


def _csv(tables: Iterable[pa.Table], job: Writing, made: _Draft) -> None:
    import pyarrow as pa

    dialect = dialect_of(job)
    made.schema = pa.schema([(name, pa.string()) for name in made.schema.names])
    begin_like_formulas = np.zeros(len(made.schema.names), bool)

    def fill(sink: Any) -> None:
        lines = CsvLines(made.schema.names, dialect, sink, job.name)
        for table in tables:
            wanted = texts(table, dialect.decimal, piece=True)
            if job.escape_formulas:
                wanted = formulas.escaped(wanted)
            else:
                hits = [formulas.begins_like_a_formula(column) for column in wanted.columns]
                begin_like_formulas[:] |= [bool(_any(hit)) for hit in hits]
            made.add(wanted)
            for batch in wanted.combine_chunks().to_batches():
                lines.write(batch)

    with open(job.path, "wb", buffering=0) as file:
        through(file, job.compression, fill)
    if not job.escape_formulas:
        made.warnings = formulas.warning(made.schema.empty_table(), begin_like_formulas.tolist())


def _any(hits: Any) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(hits).as_py())


def _in_parquet(schema: pa.Schema) -> pa.Schema:
    """Return the types that a schema has when it is read from Parquet, which has no moments in whole seconds."""
    import pyarrow as pa

    finer = {pa.time32("s"): pa.time32("ms")}
    fields = []
    for field in schema:
        kind = field.type
        if pa.types.is_timestamp(kind) and kind.unit == "s":
            kind = pa.timestamp("ms", kind.tz)
        fields.append(field.with_type(finer.get(kind, kind)))
    return pa.schema(fields)


def _parquet(tables: Iterable[pa.Table], job: Writing, made: _Draft) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(job.path, made.schema, compression=compression_of(job)) as writer:
        for table in tables:
            made.add(table)
            writer.write_table(table, row_group_size=ROWS)


def _arrow(tables: Iterable[pa.Table], job: Writing, made: _Draft) -> None:
    import pyarrow as pa

    plain = undictionaried(made.schema)
    if plain != made.schema:
        # An Arrow file has one list of categories for all batches, which is known only in the end.
        made.schema, made.notes = plain, ("categories are written as the values that they stand for",)
    options = pa.ipc.IpcWriteOptions(compression="lz4" if job.suffix == ".feather" else None)
    with pa.OSFile(str(job.path), "wb") as file, pa.ipc.new_file(file, plain, options=options) as writer:
        for table in tables:
            rows = as_schema(table, plain)
            made.add(rows)
            writer.write_table(rows.combine_chunks())


def _reopened(job: Writing, batch_bytes: int) -> Any:
    """Return the file that was written, to be read in pieces."""
    from shoal.engines import arrow_batches, csv_batches

    if job.format == "csv":
        place = Place(FORMATS["csv"], job.path, None, job.suffix, job.compression)
        return csv_batches.CsvBatches(place, reading(dialect_of(job)), batch_bytes, job.name)
    if job.format == "parquet":
        return arrow_batches.ParquetBatches(job.name, [job.path], batch_bytes)
    return arrow_batches.ArrowBatches(job.path, batch_bytes, job.name)


def _require_same(again: Batches, made: _Draft, job: Writing, progress: Progress) -> None:
    """Refuse a file that does not give back the rows that were written, in their order."""
    found = replace(made, rows=0)
    if again.names == made.schema.names:
        for batch in again.read():
            found.add(batch)
            progress(found.rows / made.rows)
    if (found.rows, found.digest) != (made.rows, made.digest):
        raise ShoalError(
            f"The table read back from {job.name} must equal the table written. Got another one; nothing was "
            "published.",
            "write Parquet, which keeps every type, and please report this.",
        )
