"""Files of every format, written and read by other libraries than Shoal uses, or by plain code."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from fuzz.case import Column, arrow_table, arrow_type
from fuzz.values import PER_SECOND

SUFFIXES = {
    **{"csv": ".csv", "parquet": ".parquet", "arrow": ".arrow", "excel": ".xlsx", "sqlite": ".db"},
    **{"duckdb": ".duckdb", "stata": ".dta", "spss": ".sav", "jsonl": ".jsonl"},
}
TABLE = "people"
Read = dict[str, list[Any]]


class CannotWriteError(Exception):
    """The format cannot hold this table; the input is skipped, which is no fault of Shoal."""


# --- writing ---


def write(columns: list[Column], path: Path, format: str, dialect: dict[str, Any], metadata: dict[str, str]) -> None:
    """Write columns as a file."""
    try:
        if format == "csv":
            path.write_bytes(csv_text(columns, dialect).encode(dialect["encoding"]))
        elif format == "parquet":
            import pyarrow.parquet as pq

            pq.write_table(arrow_table(columns, metadata), path)
        elif format == "arrow":
            import pyarrow.feather as feather

            feather.write_feather(arrow_table(columns, metadata), str(path))
        elif format == "excel":
            _to_excel(columns, path)
        elif format == "sqlite":
            _to_sqlite(columns, path)
        elif format == "duckdb":
            _to_duckdb(columns, path)
        elif format == "jsonl":
            _to_json_lines(columns, path)
        else:
            _to_statistics(columns, path, format)
    except CannotWriteError:
        raise
    except Exception as error:
        raise CannotWriteError(f"{format}: {type(error).__name__}") from error


def csv_text(columns: list[Column], dialect: dict[str, Any]) -> str:
    """Return columns as CSV; nulls are empty fields without quotes, empty texts have quotes."""
    texts = [[None if v is None else as_text(v, column.type) for v in column.values] for column in columns]
    names: list[str | None] = [column.name for column in columns]
    rows = [names, *map(list, zip(*texts, strict=True))]
    if len(columns) == 1 and None in texts[0]:
        raise CannotWriteError("csv: an empty line")
    lines = (dialect["delimiter"].join(_field(text, dialect) for text in row) for row in rows)
    return "".join(line + dialect["newline"] for line in lines)


def _field(text: str | None, dialect: dict[str, Any]) -> str:
    if text is None:
        return ""
    awkward = any(c in text for c in (dialect["delimiter"], '"', "\n", "\r")) or text != text.strip() or not text
    return '"' + text.replace('"', '""') + '"' if awkward or dialect["all_quoted"] else text


def as_text(value: Any, kind: str) -> str | None:
    """Return a value of a column as a field of a CSV file; None where it has none."""
    if kind.startswith("timestamp"):
        unit, _, zone = kind[10:-1].partition(", tz=")
        if zone:
            raise CannotWriteError("csv: zones")
        moment = datetime(1970, 1, 1) + timedelta(microseconds=value * 10**6 // PER_SECOND[unit])
        return moment.isoformat(sep=" ")
    if isinstance(value, float):
        return None if value != value else repr(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def plain(column: Column) -> list[Any]:
    """Return the values of a column as Python objects: dates, moments without zone in UTC, decimals."""
    kind = arrow_type(column.type)
    if pa.types.is_date(kind):
        return [None if v is None else date.fromisoformat(v) for v in column.values]
    if pa.types.is_timestamp(kind):
        scale = PER_SECOND[kind.unit]
        start = datetime(1970, 1, 1, tzinfo=UTC if kind.tz else None)
        return [None if v is None else start + timedelta(microseconds=v * 10**6 // scale) for v in column.values]
    if pa.types.is_decimal(kind):
        return [None if v is None else Decimal(v) for v in column.values]
    return column.values


def _to_excel(columns: list[Column], path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append([column.name for column in columns])
    for row in zip(*(plain(column) for column in columns), strict=True):
        if any(isinstance(value, datetime) and value.tzinfo for value in row):
            raise CannotWriteError("excel: zones")
        sheet.append([None if value != value else value for value in row])
    book.save(path)


def _to_sqlite(columns: list[Column], path: Path) -> None:
    names = ", ".join('"' + column.name.replace('"', '""') + '"' for column in columns)
    lists = [[_for_sqlite(value) for value in plain(column)] for column in columns]
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE {TABLE} ({names})")
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", list(zip(*lists, strict=True)))
    connection.close()


def _for_sqlite(value: Any) -> Any:
    if isinstance(value, float) and value != value:
        return None
    return str(value) if isinstance(value, date | datetime | Decimal) else value


def _to_duckdb(columns: list[Column], path: Path) -> None:
    import duckdb

    connection = duckdb.connect(str(path))
    try:
        connection.register("given", arrow_table(columns))
        connection.execute(f"CREATE TABLE {TABLE} AS SELECT * FROM given")
    finally:
        connection.close()


def _to_json_lines(columns: list[Column], path: Path) -> None:
    """Write JSON lines; half of the columns leave out the key of a missing value, as programs do.

    The first line has all of them, which gives them their order.
    """
    lists = {column.name: [_for_json(value) for value in plain(column)] for column in columns}
    leaving_out = {name for at, name in enumerate(lists) if at % 2}
    with path.open("w", encoding="utf-8") as file:
        for at, row in enumerate(zip(*lists.values(), strict=True)):
            pairs = zip(lists, row, strict=True)
            kept = {name: value for name, value in pairs if at == 0 or value is not None or name not in leaving_out}
            file.write(json.dumps(kept, ensure_ascii=False, allow_nan=False) + "\n")


def _for_json(value: Any) -> Any:
    if isinstance(value, float) and value != value:
        return None
    return str(value) if isinstance(value, date | datetime | Decimal) else value


def _to_statistics(columns: list[Column], path: Path, format: str) -> None:
    import pyreadstat

    frame = arrow_table(columns).to_pandas()
    if not all(column.name.isidentifier() and column.name.isascii() for column in columns):
        raise CannotWriteError(f"{format}: names")
    (pyreadstat.write_dta if format == "stata" else pyreadstat.write_sav)(frame, str(path))


# --- reading ---


def read(path: Path, format: str, dialect: dict[str, Any], table: str | None = None) -> Read:
    """Return the columns of a file as a reader with another library sees them."""
    if format == "csv":
        return _from_csv(path, dialect)
    if format == "excel":
        return _from_excel(path)
    if format == "sqlite":
        with sqlite3.connect(path) as connection:
            cursor = connection.execute(f'SELECT * FROM "{table or path.stem}"')
            names, rows = [one[0] for one in cursor.description], cursor.fetchall()
        connection.close()
        return {name: [row[at] for row in rows] for at, name in enumerate(names)}
    if format == "duckdb":
        import duckdb

        with duckdb.connect(str(path), read_only=True) as database:
            found = database.sql(f'SELECT * FROM "{table or path.stem}"').arrow()
        return table_values(found if isinstance(found, pa.Table) else found.read_all())
    if format in ("stata", "spss"):
        return _from_statistics(path, format)
    if format == "jsonl":
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
        if any(list(row) != list(rows[0]) for row in rows):
            raise ValueError("lines with different keys")
        return {name: [row[name] for row in rows] for name in rows[0]}
    import pyarrow.feather as feather
    import pyarrow.parquet as pq

    return table_values(pq.read_table(path) if format == "parquet" else feather.read_table(str(path)))


def table_values(table: pa.Table) -> Read:
    """Return the columns of an Arrow table; moments are numbers of their unit, so that nothing is rounded."""
    result = {}
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        result[name] = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    return result


def frame_values(frame: Any) -> Read:
    """Return the columns of a table of any library."""
    if isinstance(frame, pa.Table):
        return table_values(frame)
    if hasattr(frame, "to_dict") and hasattr(frame, "iloc"):
        # Pandas holds views of Arrow, but cannot do anything with them.
        views = {name for name in frame.columns if str(frame[name].dtype) == "string_view[pyarrow]"}
        plain = {name: frame[name].array.__arrow_array__().to_pylist() for name in views}
        return {name: plain[name] if name in views else frame[name].astype(object).tolist() for name in frame.columns}
    return {name: _polars_values(frame[name]) for name in frame.columns}


def _polars_values(column: Any) -> list[Any]:
    """Return the values of a column of Polars; its lists of moments would lose nanoseconds, which Pandas keeps."""
    exact = getattr(column.dtype, "time_unit", None) == "ns"
    return list(column.to_pandas().astype(object).tolist() if exact else column.to_list())


def unused_categories(frame: Any) -> list[str]:
    """Return the categories that the types of columns name and no row has."""
    unused: list[str] = []
    if isinstance(frame, pa.Table):
        for column in frame.columns:
            if pa.types.is_dictionary(column.type):
                used = set(column.cast(column.type.value_type).to_pylist())
                unused += [
                    str(word) for part in column.chunks for word in part.dictionary.to_pylist() if word not in used
                ]
    elif hasattr(frame, "iloc"):
        for name in frame.columns:
            if hasattr(frame[name].dtype, "categories"):
                used = set(frame[name].dropna())
                unused += [str(word) for word in frame[name].dtype.categories if word not in used]
    return unused


def _from_excel(path: Path) -> Read:
    import openpyxl

    book = openpyxl.load_workbook(path, read_only=True)
    rows = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
    book.close()
    return {str(name): [row[at] if at < len(row) else None for row in rows[1:]] for at, name in enumerate(rows[0])}


def _from_statistics(path: Path, format: str) -> Read:
    import pyreadstat

    reader = pyreadstat.read_dta if format == "stata" else pyreadstat.read_sav
    frame, _ = reader(str(path), user_missing=True)
    return {name: frame[name].astype(object).tolist() for name in frame.columns}


def _from_csv(path: Path, dialect: dict[str, Any]) -> Read:
    text = path.read_bytes().decode(dialect["encoding"])
    rows = csv_rows(text.removeprefix("\ufeff"), dialect["delimiter"])
    if any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("lines of different length")
    return {str(name): [row[at] for row in rows[1:]] for at, name in enumerate(rows[0])}


def csv_rows(text: str, delimiter: str) -> list[list[str | None]]:
    """Return the fields of a CSV text; an empty field without quotes is None, which the csv module does not tell."""
    rows: list[list[str | None]] = []
    row: list[str | None] = []
    at, end = 0, len(text)
    while at < end:
        if text[at] == '"':
            field, at = _quoted(text, at + 1)
            row.append(field)
        else:
            stop = min((p for p in (text.find(c, at) for c in (delimiter, "\r", "\n")) if p >= 0), default=end)
            row.append(text[at:stop] or None)
            at = stop
        if at < end and text[at] == delimiter:
            at += 1
            if at == end or text[at] in "\r\n":
                row.append(None)
            else:
                continue
        at += 2 if text.startswith("\r\n", at) else 1
        rows.append(row)
        row = []
    return rows


def _quoted(text: str, at: int) -> tuple[str, int]:
    parts = []
    while True:
        stop = text.index('"', at)
        parts.append(text[at:stop])
        if not text.startswith('""', stop):
            return "".join(parts), stop + 1
        parts.append('"')
        at = stop + 2
