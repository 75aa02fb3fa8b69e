"""Data frames of Spark as tables of Arrow: names of columns, schemas, and what is found out by all tasks together.

Spark takes a dot in a name for a field of a structure wherever functions in Python are applied, so that columns travel
under plain names of their own (`c0`, `c1`, ..) and have their names inside of tasks only.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from inspect import signature
from typing import Any, Protocol, Self, TypeVar

from shoal.engines.spark_errors import quiet, told
from shoal.errors import DataError

PART, SLOT, PAIRS = "__part", "__slot", "__pairs"
# The parts that tasks find are merged by this many tasks before the driver merges these.
FAN = 4
# Rows that are looked at together.
ROWS = 200_000


class Mergeable(Protocol):
    """What is found out on parts of a table: in whatever order parts are added and merged, the result is the same."""

    def add(self, table: Any) -> None:
        """Add rows, a pyarrow.Table."""

    def merge(self, other: Self) -> None:
        """Add what was found on other rows."""


M = TypeVar("M", bound=Mergeable)


class Frame:
    """A data frame of Spark whose columns have plain names.

    Attributes
    ----------
    spark : pyspark.sql.DataFrame
        The data frame, with the columns `c0`, `c1`, ..
    names : list of str
        The names of the columns in the table.
    schema : pyarrow.Schema
        Of the table, as tasks get it.
    """

    def __init__(self, frame: Any) -> None:
        with told():
            self.names = list(frame.columns)
        read = self.names if _minds_case(frame.sparkSession) else [name.lower() for name in self.names]
        if len(set(read)) < len(read):
            again = next(name for at, name in enumerate(self.names) if read[at] in read[:at])
            raise DataError(
                f"Columns of a data frame must have different names. Got {again!r} twice, as Spark reads names.",
                hint="rename one; Spark minds case only with spark.sql.caseSensitive.",
            )
        self.spark = frame.toDF(*plain(self.names))
        self.schema = _arrow_schema(frame.schema)

    @property
    def session(self) -> Any:
        """Return the session that the data frame belongs to."""
        return self.spark.sparkSession

    def some(self, names: Sequence[str]) -> Any:
        """Return the data frame with some columns, under their plain names."""
        places = {name: f"c{at}" for at, name in enumerate(self.names)}
        return self.spark.select(*(places[name] for name in names))


def _arrow_schema(schema: Any) -> Any:
    """Return a schema of Spark as one of Arrow, or refuse the first column that Arrow cannot hold."""
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    how: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    for field in schema.fields:
        try:
            to_arrow_schema(StructType([field]), **how)
        except PySparkTypeError:
            raise DataError(
                f"Columns of a data frame must have types that Arrow can hold. Got {field.dataType.simpleString()} in "
                f"{field.name!r}.",
                hint="cast it, or select the other columns.",
            ) from None
    return to_arrow_schema(schema, **how)


def _minds_case(session: Any) -> bool:
    """Return whether names that differ in case alone are different names in a session."""
    return str(session.conf.get("spark.sql.caseSensitive")).lower() == "true"


def plain(names: Sequence[str]) -> list[str]:
    """Return the plain names of columns."""
    return [f"c{at}" for at in range(len(names))]


def tables(batches: Iterator[Any], names: Sequence[str], rows: int = ROWS) -> Iterator[Any]:
    """Yield batches as tables of at least so many rows, whose first columns have these names; others keep theirs."""
    import pyarrow as pa

    held: list[Any] = []

    def put_together() -> Any:
        table = pa.Table.from_batches(held)
        held.clear()
        return table.rename_columns([*names, *table.column_names[len(names) :]])

    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            if sum(one.num_rows for one in held) >= rows:
                yield put_together()
    if held:
        yield put_together()


def found(frame: Frame, start: M, columns: Sequence[str], rows: int = ROWS) -> M:
    """Return what all tasks find on some columns of a data frame, beginning with `start` in each of them.

    They look at about so many rows together.

    Only what is found comes to the driver, merged by some tasks before.
    """
    from pyspark.sql import functions as F

    names, empty = list(columns), pickle.dumps(start)

    def add(batches: Iterator[Any]) -> Iterator[Any]:
        return added(batches, names, empty, rows)

    def merge(batches: Iterator[Any]) -> Iterator[Any]:
        return merged(batches)

    parts = frame.some(names).mapInArrow(add, f"{PART} binary")
    slots = parts.withColumn(SLOT, (F.spark_partition_id() % FAN).cast("int"))
    result: M = pickle.loads(empty)
    for part in collected(slots.repartitionById(FAN, F.col(SLOT)).select(PART).mapInArrow(merge, f"{PART} binary")):
        result.merge(part)
    return result


def collected(frame: Any) -> Iterator[Any]:
    """Yield the objects that tasks have made, one in a row or none (see :func:`blob`), on the driver.

    They come as Arrow: Java would pickle rows of many megabytes once more, which takes several times their size.
    """
    with told():
        blobs = frame.select(PART).dropna().toArrow().column(0)
    for one in blobs:
        yield pickle.loads(one.as_py())


@quiet
def added(batches: Iterator[Any], names: list[str], empty: bytes, rows: int) -> Iterator[Any]:
    """Yield what is found on the rows of one partition; nothing of one without rows."""
    part = None
    for table in tables(batches, names, rows):
        part = pickle.loads(empty) if part is None else part
        part.add(table)
    if part is not None:
        yield blob(part)


@quiet
def merged(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield what was found on several partitions, merged."""
    whole = None
    for batch in batches:
        for one in batch.column(0):
            part = pickle.loads(one.as_py())
            if whole is None:
                whole = part
            else:
                whole.merge(part)
    if whole is not None:
        yield blob(whole)


def blob(part: Any) -> Any:
    """Return an object as a batch of one row."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(part)], pa.binary())], [PART])


def quoted(name: str) -> str:
    """Return the name of a column as Spark reads it: a dot would mean a field of a structure."""
    return "`" + name.replace("`", "``") + "`"
