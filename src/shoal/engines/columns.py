"""What is known of a column that was read in pieces: its different values, or what its type is told by.

A column of few different values is known by them and their counts. Of any other column, the survey keeps what memory
would decide its type by: the range and decimal places of numbers, and for texts, the first and the last of each shape
(digits all written 9). Nothing depends on how the column was cut into pieces, or on the order of the pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.engines.hashing import hashes_of
from shoal.tables.columns import MOST_DIGITS, floats
from shoal.tables.notation import is_text
from shoal.tables.numerals import rounded

# Columns with more different values are known by their types alone; days of seven centuries are fewer.
MANY = 1 << 18
# So are columns whose different texts or floating-point numbers have more bytes; of those that are only passed on, and
# of floating-point numbers, which hardly anybody takes for categories, fewer are kept.
MOST_BYTES, FEW_BYTES = 1 << 23, 1 << 20
# Texts of more shapes than this are words, no numbers.
SHAPES = 4096
# Hashes that are kept to estimate the number of different values, with a relative standard error of 1 / sqrt(SKETCH).
SKETCH = 4096
ROUGH = MOST_DIGITS + 1  # decimal places of numbers that have more than any writing


@dataclass
class ColumnSurvey:
    """One column; `add` and `merge` in any order give the same.

    Attributes
    ----------
    type : pyarrow.DataType
        That of single values, if the column has a dictionary.
    most_bytes : int
        Of different texts, above which there are many.
    rows, missing : int
        All rows, and those without a value.
    values, counts : pyarrow.Array and int64[m], or None
        The different values and how often each occurs; None if there are more than `MANY`, or they are long.
    low, high : float or None
        The range of a column of numbers.
    depth : int
        Decimal places of its numbers; `ROUGH` if they have more than any writing has.
    shapes : {shape: (first, last)} or None
        Of a column of texts with many values; None if it has more than `SHAPES`.
    sketch : uint64[m]
        The smallest hashes of values, of a column with many values that are not floating-point numbers: nobody takes
        these for identifiers.
    """

    type: Any
    most_bytes: int = MOST_BYTES
    rows: int = 0
    missing: int = 0
    values: Any = None
    counts: Array | None = field(default_factory=lambda: np.zeros(0, np.int64))
    low: float | None = None
    high: float | None = None
    depth: int = 0
    shapes: dict[str, tuple[str, str]] | None = field(default_factory=dict)
    sketch: Array = field(default_factory=lambda: np.zeros(0, np.uint64))

    @property
    def many(self) -> bool:
        """Return whether the column has more different values than are kept."""
        return self.counts is None

    @property
    def present(self) -> int:
        """Return the number of rows with a value."""
        return self.rows - self.missing

    @property
    def different(self) -> int:
        """Return the number of different values, estimated if there are many."""
        if self.counts is not None:
            return len(self.counts)
        if len(self.sketch) < SKETCH:
            return len(self.sketch)
        return round((SKETCH - 1) / (float(self.sketch[-1]) / 2.0**64))

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Return the lowest and the highest number; None if the column does not hold numbers."""
        if self.counts is None or self.values is None or not _is_numeric(self.type):
            return self.low, self.high
        numbers = floats(self.values)
        return float(numbers.min()), float(numbers.max())

    def add(self, column: Any) -> None:
        """Add some rows: a pyarrow.Array or ChunkedArray without markers of missing values."""
        present = present_of(column)
        self.rows += len(column)
        self.missing += len(column) - len(present)
        if len(present) == 0:
            return
        if self.counts is not None:
            import pyarrow.compute as pc

            found = pc.value_counts(present)
            found = found.combine_chunks() if hasattr(found, "combine_chunks") else found
            self._count(self.counts, found.field(0), np.asarray(found.field(1), np.int64))
        else:
            self._widen(present)

    def merge(self, other: ColumnSurvey) -> None:
        """Add what another survey has found."""
        self.rows, self.missing = self.rows + other.rows, self.missing + other.missing
        if other.counts is not None:
            if other.values is None:
                return
            if self.counts is not None:
                self._count(self.counts, other.values, other.counts)
            else:
                self._widen(other.values)
            return
        self._spill()
        self._range(other.low, other.high, other.depth)
        self._shaped(other.shapes)
        self.sketch = _smallest(self.sketch, other.sketch)

    def _count(self, known: Array, values: Any, counts: Array) -> None:
        """Add different values, each with its count, to those that occur as often as `known` says."""
        import pyarrow as pa

        if self.values is not None:
            both = pa.table(
                {"value": pa.concat_arrays([self.values, values]), "count": np.concatenate([known, counts])}
            )
            summed = both.group_by("value").aggregate([("count", "sum")])
            values = summed.column("value").combine_chunks()
            counts = np.asarray(summed.column("count_sum"), np.int64)
        self.values, self.counts = values, counts
        most = FEW_BYTES if _is_fraction(self.type) else self.most_bytes
        if len(counts) > MANY or _bytes(values) > most:
            self._spill()

    def _spill(self) -> None:
        """Go over to a survey of many values."""
        if self.counts is not None:
            values, self.values, self.counts = self.values, None, None
            if values is not None:
                self._widen(values)

    def _widen(self, present: Any) -> None:
        """Add values to a survey of many."""
        kind = present.type
        if is_text(kind):
            self._shaped(_shapes(present) if self.shapes is not None else {})
        elif _is_numeric(kind):
            numbers = floats(present)
            self._range(float(numbers.min()), float(numbers.max()), _depth(numbers, self.depth, kind))
        if not _is_fraction(kind):
            self.sketch = _smallest(self.sketch, hashes_of(present))

    def _range(self, low: float | None, high: float | None, depth: int) -> None:
        if low is not None and high is not None:
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)
        self.depth = max(self.depth, depth)

    def _shaped(self, found: dict[str, tuple[str, str]] | None) -> None:
        if found is None or self.shapes is None:
            self.shapes = None
            return
        for shape, (first, last) in found.items():
            own = self.shapes.get(shape, (first, last))
            self.shapes[shape] = (min(own[0], first), max(own[1], last))
        if len(self.shapes) > SHAPES:
            self.shapes = None

    def witnesses(self) -> tuple[Any, Array]:
        """Return values of which memory makes the same type, and how often each occurs (1 if that is not known).

        The last is null if values are missing.
        """
        import pyarrow as pa

        if self.counts is not None:
            values = pa.nulls(0, self.type) if self.values is None else self.values
            order = np.argsort(hashes_of(values), kind="stable")
            values, counts = values.take(pa.array(order)), self.counts[order]
        elif is_text(self.type):
            pairs = sorted({text for pair in (self.shapes or {}).values() for text in pair})
            values, counts = pa.array(pairs, self.type), np.ones(len(pairs), np.int64)
        elif self.low is not None and self.high is not None:
            deepest = {0: [], ROUGH: [1 / 3]}.get(self.depth, [10.0**-self.depth])
            numbers = [self.low, self.high, *deepest]
            values = pa.array(numbers).cast(self.type, safe=False)
            counts = np.ones(len(numbers), np.int64)
        else:
            values, counts = pa.nulls(0, self.type), np.zeros(0, np.int64)
        if self.missing:
            values = pa.concat_arrays([values, pa.nulls(1, self.type)])
            counts = np.append(counts, self.missing)
        return values, counts


def present_of(column: Any) -> Any:
    """Return the values of a column that are neither null nor NaN, of single values if it has a dictionary."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        if pa.types.is_float16(column.type):
            column = column.cast(pa.float32())
        nan = pc.is_nan(column)
        if pc.any(nan).as_py():
            column = column.filter(pc.invert(pc.fill_null(nan, True)))
        # 0 and -0 are one value.
        column = pc.add(column, pa.scalar(0.0, column.type))
    return column.drop_null() if column.null_count else column


def _is_numeric(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_fraction(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(kind))


def _bytes(values: Any) -> int:
    """Return the bytes of texts and floating-point numbers; 0 for others, of which few different ones are long."""
    import pyarrow.compute as pc

    if is_text(values.type):
        return int(pc.sum(pc.binary_length(values)).as_py() or 0)
    return len(values) * values.type.bit_width // 8 if _is_fraction(values.type) else 0


def _smallest(one: Array, other: Array) -> Array:
    """Return the smallest different hashes of both."""
    if len(one) == SKETCH:
        other = other[other < one[-1]]
    return np.unique(np.concatenate([one, other]))[:SKETCH]


def _shapes(present: Any) -> dict[str, tuple[str, str]] | None:
    """Return the first and the last text of each shape; None if there are too many."""
    import pyarrow as pa
    import pyarrow.compute as pc

    shapes = pc.replace_substring_regex(present, r"\d", "9")
    found = pa.table({"shape": shapes, "text": present}).group_by("shape").aggregate([("text", "min"), ("text", "max")])
    if found.num_rows > SHAPES:
        return None
    pairs = zip(found.column("text_min").to_pylist(), found.column("text_max").to_pylist(), strict=True)
    return dict(zip(found.column("shape").to_pylist(), pairs, strict=True))


def _depth(numbers: Array, depth: int, kind: Any) -> int:
    """Return how many decimal places numbers need, at least `depth`; `ROUGH` if more than any writing has."""
    import pyarrow as pa

    if not pa.types.is_floating(kind):
        return depth  # whole numbers have none, and decimals those of their type
    numbers = numbers[np.isfinite(numbers)]
    single = not pa.types.is_float64(kind)

    def fits(some: Array, digits: int) -> bool:
        if not single:
            return bool((rounded(some, digits) == some).all())
        exact = some.astype(np.float32).astype(str).astype(np.float64)
        return bool((rounded(exact, digits).astype(np.float32) == some).all())

    while depth < ROUGH and not (fits(numbers[:1000], depth) and fits(numbers, depth)):
        depth += 1
    return depth
