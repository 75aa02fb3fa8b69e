"""PostgreSQL through ADBC: Arrow in and out, tables replaced inside a transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError, ShoalError
from shoal.io.database import Check, Database, check_names
from shoal.io.formats import Place, needed
from shoal.io.source import Source, Written
from shoal.io.sql import Address, identifiers, no_rows, quoted, single
from shoal.io.typed import finer, microseconds, plain
from shoal.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read", "write"]

# Classes of SQLSTATE whose messages are about names, rights and syntax, never about values of the data.
_ABOUT_NAMES = ("08", "0A", "25", "28", "2B", "3D", "3F", "42", "53", "55", "57")


def read(place: Place, *, table: str | None, query: str | None, progress: Progress) -> Source:
    """Read a table, or the result of a query, in a transaction that can change nothing."""
    source = opened(place).read(table, query)
    progress(1.0)
    return source


def opened(place: Place) -> Database:
    """Return the database, in a transaction that can change nothing."""
    return _Postgres(place.url or "", read_only=True)


def write(table: pa.Table, place: Place, *, name: str | None, check: Check, force: bool, progress: Progress) -> Written:
    """Write a table into a database in one transaction."""
    if name is None:
        raise OptionError("The 'name_of_table' must be given to write into PostgreSQL. Got none.")
    parts = identifiers(name)
    notes: list[str] = []
    rows = _fitting(plain(table, "PostgreSQL"), notes)
    database = _Postgres(place.url or "")
    database.replace(parts, rows, check, force)
    progress(1.0)
    return Written(f"{database.name}, table {'.'.join(parts)}", None, table.num_rows, None, tuple(notes))


class _Postgres(Database):
    format = "postgresql"

    def __init__(self, url: str, read_only: bool = False) -> None:
        address = Address(url)
        driver = needed("adbc_driver_postgresql.dbapi", "postgres", "PostgreSQL")
        self._address = address
        self._errors: Any = driver.Error
        self._enums: dict[str, bool] = {}
        self.name = address.name
        try:
            self._connection = driver.connect(address.url)
            self._cursor = self._connection.cursor()
        except self._errors as error:
            reason = address.redacted(str(error)).rpartition("Failed to connect: ")[2]
            raise DataError(
                f"The server of {self.name} must accept the connection. Got: {reason}",
                "check host, port, database and user; the password may also come from PGPASSWORD or ~/.pgpass.",
            ) from None
        # Keep the stored order of rows, even while another session scans the same table.
        self.run("SET LOCAL synchronize_seqscans = off")
        if read_only:
            self.run("SET TRANSACTION READ ONLY")

    def run(self, statement: str, values: Any = None) -> Any:
        """Execute a statement and return the cursor."""
        try:
            self._cursor.execute(statement, values)
        except self._errors as error:
            raise self._translated(error) from None
        return self._cursor

    def _translated(self, error: Any) -> ShoalError:
        """Return an error without values and without the password."""
        state = error.sqlstate or ""
        primary = dict(error.details or []).get(b"PG_DIAG_MESSAGE_PRIMARY", b"").decode(errors="replace")
        reason = primary if state[:2] in _ABOUT_NAMES and primary else f"an error with SQLSTATE {state or 'unknown'}"
        return self.failed(self._address.redacted(reason))

    def begin(self) -> None:
        """Do nothing: the driver begins a transaction by itself."""

    def commit(self) -> None:
        """Make everything permanent at once."""
        try:
            self._connection.commit()
        except self._errors as error:
            raise self._translated(error) from None

    def rollback(self) -> None:
        """Undo everything; if the connection is lost, the server has done so already."""
        with suppress(self._errors):
            self._connection.rollback()

    def close(self) -> None:
        """Close the connection."""
        with suppress(self._errors):
            self._cursor.close()
            self._connection.close()

    def tables(self) -> list[str]:
        """Return the names of the tables and views that need no schema before their name."""
        rows = self.run(
            "SELECT table_name::text FROM information_schema.tables WHERE table_schema = ANY (current_schemas(false)) "
            "ORDER BY 1"
        ).fetchall()
        return [row[0] for row in rows]

    def exists(self, table: tuple[str, ...]) -> bool:
        """Return whether there is a table or view of that name."""
        return self.run("SELECT to_regclass($1)::text", (quoted(*table),)).fetchone()[0] is not None

    def insert(self, table: tuple[str, ...], rows: Any) -> None:
        """Create the table, with narrower types than the driver would choose, and fill it."""
        columns = ", ".join(f"{quoted(field.name)} {_declaration(field.type)}" for field in rows.schema)
        self.run(f"CREATE TABLE {quoted(*table)} ({columns})")
        place = {"db_schema_name": table[-2]} if len(table) > 1 else {}
        try:
            self._cursor.adbc_ingest(table[-1], rows, mode="append", **place)
        except self._errors as error:
            raise self._translated(error) from None

    def result(self, query: str, notes: list[str]) -> Any:
        """Return the rows of a query, with PostgreSQL's types converted to Arrow's."""
        import pyarrow as pa

        # Only what returns rows can stand in brackets: COPY .. TO PROGRAM, for one, is no change for PostgreSQL.
        cursor = self.run(f"SELECT * FROM (\n{single(query)}\n) AS query")
        try:
            rows = cursor.fetch_arrow_table()
        except self._errors as error:
            raise self._translated(error) from None
        check_names(rows.column_names)
        if not rows.num_columns:
            raise no_rows()
        arrays = [self._native(rows.column(i), field, notes) for i, field in enumerate(rows.schema)]
        self.apart = _apart(rows, arrays)
        return pa.table(arrays, names=rows.column_names)

    def pieces(self, query: str, rows: int) -> Iterator[Any]:
        """Yield the rows of a query; the driver decides how many at a time."""
        import pyarrow as pa

        cursor = self.run(f"SELECT * FROM (\n{single(query)}\n) AS query")
        try:
            with cursor.fetch_record_batch() as reader:
                for batch in reader:
                    table = pa.Table.from_batches([batch])
                    notes: list[str] = []
                    fields = enumerate(table.schema)
                    arrays = [self._in_pieces(table.column(i), field, notes) for i, field in fields]
                    yield from pa.table(arrays, names=table.column_names).combine_chunks().to_batches()
        except (self._errors, pa.ArrowException, OSError) as error:
            raise (self._translated(error) if isinstance(error, self._errors) else self.failed("an error")) from None

    def _in_pieces(self, values: Any, field: Any, notes: list[str]) -> Any:
        kept = self._native(values, field, notes)
        about = field.metadata or {}
        if about.get(b"POSTGRESQL:type") == b"numeric" and (notes or int(about.get(b"POSTGRESQL:typmod", b"-1")) < 4):
            # How many digits such numbers need is known when all of them have been read.
            raise DataError(
                f"Numbers that are read in pieces must have a declared number of digits. Got {field.name!r} of "
                "PostgreSQL's type numeric.",
                f"read it with a query that converts it: select {quoted(field.name)}::numeric(12, 2), ...",
            )
        return kept

    def _native(self, values: Any, field: Any, notes: list[str]) -> Any:
        import pyarrow as pa

        kind = (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
        if kind == "numeric":
            modifier = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1"))
            return _decimals(values, field.name, modifier, notes)
        if kind == "uuid":
            texts = [None if value is None else str(value) for value in values.to_pylist()]
            return pa.chunked_array([texts], pa.string())
        if isinstance(field.type, pa.BaseExtensionType):
            enumerated = kind.startswith("unnamed<oid:") and self._is_enum(kind)
            if enumerated or kind in ("json", "jsonb", "xml", "citext"):
                return _stored(values).cast(pa.string())
        elif kind != "money":  # for which the driver drops the decimal point
            return values
        raise DataError(
            f"A column must have a type that can be read. Got {field.name!r} of PostgreSQL's type {kind}.",
            f"read it with a query that converts it to text or a number: select {quoted(field.name)}::text, ...",
        )

    def _is_enum(self, kind: str) -> bool:
        if kind not in self._enums:
            number = int(kind.removeprefix("unnamed<oid:").rstrip(">"))
            row = self.run("SELECT typtype::text FROM pg_type WHERE oid = $1::bigint::oid", (number,)).fetchone()
            self._enums[kind] = row is not None and row[0] == "e"
        return self._enums[kind]


def _apart(rows: Any, arrays: list[Any]) -> dict[str, Any]:
    """Return what tells numeric values apart that are written with different scales, such as 1.0 and 1.00."""
    apart = {}
    for field, values, read in zip(rows.schema, rows.columns, arrays, strict=True):
        if (field.metadata or {}).get(b"POSTGRESQL:type") == b"numeric":
            differing = finer(_stored(values), read)
            if differing is not None:
                apart[field.name] = differing
    return apart


def _stored(values: Any) -> Any:
    """Return the stored values of a column of an extension type."""
    import pyarrow as pa

    return pa.chunked_array([chunk.storage for chunk in values.chunks], values.type.storage_type)


def _decimals(values: Any, name: str, modifier: int, notes: list[str]) -> Any:
    """Return values of type numeric as decimals of the declared scale, or of the scale they need."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = _stored(values)
    if modifier >= 4:
        precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
        scale = scale - 2048 if scale >= 1024 else scale
    else:
        fractions = pc.utf8_length(pc.replace_substring_regex(texts, r"^[^.]*\.?", ""))
        precision, scale = 38, pc.max(fractions).as_py() or 0
    try:
        if precision <= 38 and 0 <= scale <= 38:
            return texts.cast(pa.decimal128(precision, scale))
    except pa.ArrowInvalid:
        pass
    notes.append(f"column {name!r}: numeric values that no decimal can hold, read as floating-point numbers")
    return texts.cast(pa.float64())


def _declaration(kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamptz"
    names = {
        pa.bool_(): "boolean",
        pa.int16(): "smallint",
        pa.int32(): "integer",
        pa.int64(): "bigint",
        pa.float32(): "real",
        pa.float64(): "double precision",
        pa.date32(): "date",
        pa.time64("us"): "time",
        pa.binary(): "bytea",
    }
    return names.get(kind, "text")


def _fitting(table: pa.Table, notes: list[str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    for position, field in enumerate(table.schema):
        values, kind = table.column(position), field.type
        if pa.types.is_string(kind) and pc.any(pc.match_substring(values, "\0")).as_py():
            raise DataError(f"A text in PostgreSQL must not have NUL characters. Got one in {field.name!r}.")
        widened = {
            pa.int8(): pa.int16(),
            pa.uint8(): pa.int16(),
            pa.uint16(): pa.int32(),
            pa.uint32(): pa.int64(),
            pa.uint64(): pa.decimal128(20, 0),
            pa.float16(): pa.float32(),
            pa.large_binary(): pa.binary(),
            pa.date64(): pa.date32(),
        }
        if kind in widened:
            values = values.cast(widened[kind])
        elif pa.types.is_timestamp(kind):
            values = microseconds(values, field.name, notes)
        elif pa.types.is_time(kind):
            values = values.cast(pa.time64("us"), safe=False)
        table = table.set_column(position, pa.field(field.name, values.type), values)
    return table
