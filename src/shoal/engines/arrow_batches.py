"""Parquet files, folders of them, and Arrow files, in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engines.batches import FileBatches, row_bytes, sliced
from shoal.errors import DataError
from shoal.tables.traces import plain

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowBatches", "ParquetBatches"]

_MAGIC = b"ARROW1"
_LARGEST = 2**28  # bytes of a batch of an Arrow file, which is read whole


class _Typed(FileBatches):
    """A file with types: names and types are checked when it is opened."""

    def _settled(self, schema: pa.Schema) -> None:
        """Keep the schema with types that can be computed with; refuse what cannot be read in pieces."""
        import pyarrow as pa

        if len(set(schema.names)) != len(schema.names):
            raise DataError(f"The columns of {self.name} must have different names. Got a name twice.")
        for field in schema:
            if pa.types.is_dictionary(field.type) and field.type.ordered:
                raise DataError(
                    "Categories with an order must be read whole: pieces of a table have different ones. Got the "
                    f"column {field.name!r} of {self.name}.",
                    "convert it to text, and give the order as levels; or read the table with engine='memory'.",
                )
        self.schema = plain(schema.empty_table()).schema.remove_metadata()

    @contextmanager
    def _damage_reported(self, path: Path | None = None) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except DataError:
            raise
        except (pa.ArrowException, OSError, ValueError):
            self.require_unchanged()
            # Not passed on: Arrow's message may quote the file.
            raise DataError(
                f"The file {path or self.name} must be a complete {self.format} file. "
                "Got one that is damaged or of another format.",
                "copy it again from where it comes from.",
            ) from None

    def _whole(self, batch: pa.RecordBatch, columns: list[str]) -> pa.RecordBatch:
        """Return the columns in their order, with types that can be computed with."""
        import pyarrow as pa

        table = plain(pa.Table.from_batches([batch.select(columns)])).replace_schema_metadata(None)
        return table.to_batches()[0]


class ParquetBatches(_Typed):
    """A Parquet file, or the files of a folder in the order of their names."""

    def __init__(self, name: str, paths: Sequence[Path], batch_bytes: int, folder: Path | None = None) -> None:
        super().__init__(name, "parquet", paths, batch_bytes, folder)
        first, rows, widest = None, 0, 0
        for path in self.paths:
            with self._damage_reported(path), _opened(path) as file:
                schema, meta = file.schema_arrow, file.metadata
                rows += meta.num_rows
                groups = [meta.row_group(at) for at in range(meta.num_row_groups)]
                widest = max([widest, *(one.total_byte_size // max(one.num_rows, 1) for one in groups)])
                if self.compression is None and groups and meta.num_columns:
                    self.compression = str(groups[0].column(0).compression)
            if first is None:
                first = schema
            elif not schema.equals(first):
                raise DataError(
                    f"The Parquet files of {name} must have the same columns of the same types. Got others in "
                    f"{path.name}.",
                    "write them alike, or name one of them.",
                )
        self._settled(first)
        self.rows = rows
        self._rows = max(1, batch_bytes // max(widest, row_bytes(self.schema)))
        if self.compression:
            self.notes = (f"compression: {self.compression.lower()} (detected)",)

    def _pieces(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        for path in self.paths:
            with self._damage_reported(path), _opened(path) as file:
                before = 0
                for batch in file.iter_batches(self._rows, columns=columns) if columns else ():
                    batch.validate()
                    before += batch.num_rows
                    yield from sliced(self._whole(batch, columns), 2 * self.batch_bytes)
                if columns and before != file.metadata.num_rows:
                    raise ValueError  # fewer rows than the file says


def _opened(path: Path) -> Any:
    import pyarrow.parquet as pq

    # Without buffering ahead, which would hold a whole row group.
    return pq.ParquetFile(path, pre_buffer=False, buffer_size=2**18, page_checksum_verification=True)


class ArrowBatches(_Typed):
    """An Arrow file or stream."""

    def __init__(self, path: Path, batch_bytes: int, name: str | None = None) -> None:
        super().__init__(name or str(path), "arrow", [path], batch_bytes)
        largest = max(_LARGEST, 8 * batch_bytes)
        with self._damage_reported(), self._reader() as reader:
            schema = reader.schema
            pieces = getattr(reader, "num_record_batches", None)
        if pieces is not None and (self.size or 0) > largest * max(pieces, 1):
            raise DataError(
                f"An Arrow file that is read in pieces must consist of small batches. Got {pieces} in {self.name}, of "
                f"more than {largest / 2**20:,.0f} MiB.",
                "write it in smaller batches, or as Parquet.",
            )
        self._settled(schema)

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        import pyarrow as pa

        # Not mapped into memory: rows must not change when the file does.
        with pa.OSFile(str(self.paths[0]), "rb") as file:
            magic = file.read(len(_MAGIC))
            file.seek(0)
            with pa.ipc.open_file(file) if magic == _MAGIC else pa.ipc.open_stream(file) as reader:
                yield reader

    def _pieces(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        with self._damage_reported(), self._reader() as reader:
            if hasattr(reader, "num_record_batches"):
                batches: Iterator[Any] = (reader.get_batch(at) for at in range(reader.num_record_batches))
            else:
                batches = iter(reader)
            for batch in batches:
                batch.validate()
                if batch.num_rows:
                    yield from sliced(self._whole(batch, columns), 2 * self.batch_bytes)
