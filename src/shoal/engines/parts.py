"""Attributes of a layout: quasi-identifiers and sensitive attributes, made from the surveys of their columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import Array
from shoal.engines.columns import MANY, MOST_BYTES, present_of
from shoal.engines.sums import Range
from shoal.errors import DataError, OptionError
from shoal.privacy.demands import attribute_of
from shoal.tables import columns as _columns
from shoal.tables.embedding import level_points, level_spread
from shoal.tables.markers import without_markers
from shoal.tables.notation import Notation, is_text
from shoal.tables.scaling import ExactSum, Standard, standard_of
from shoal.tables.schema import Attribute, Read, attribute, markers
from shoal.tables.sensitive import Sensitive
from shoal.tables.spelling import said
from shoal.tables.spread import Spread
from shoal.tables.values import Codes, Computed, Numbers

if TYPE_CHECKING:
    from shoal.engines.layout import Layout
    from shoal.engines.survey import Survey

# Rows whose coordinates are in memory at the same time, for the limit of coordinates.
AT_ONCE = 1 << 17


@dataclass(frozen=True)
class Part:
    """A quasi-identifier of a layout.

    Attributes
    ----------
    attribute : Attribute
    writing : Notation
    missing, present : int
        Rows without a value, and with one.
    coordinates : int
        Most coordinates of an attribute with levels.
    standard : Standard or None
        Of numbers; None if their range is not known yet.
    levels, cells, counts : tuple of str, pyarrow.Array, int64[levels]
        Of an attribute with levels: their names, how the column holds them (null if one does not occur), and in how
        many rows each occurs.
    """

    attribute: Attribute
    writing: Notation
    missing: int
    present: int
    coordinates: int
    standard: Standard | None = None
    levels: tuple[str, ...] = ()
    cells: Any = None
    counts: Array | None = None

    @property
    def name(self) -> str:
        """Return the name of its column."""
        return self.attribute.name

    @property
    def coded(self) -> bool:
        """Return whether it has levels, not numbers."""
        return self.counts is not None

    @property
    def open(self) -> bool:
        """Return whether constants of its coordinates are still to be found."""
        return not self.coded and self.present > 0 and (self.standard is None or self.standard.open)

    @property
    def publishes_rows(self) -> bool:
        """Return whether groups may publish the value of one of their rows, as its column holds it."""
        return self.coded or self.attribute.representative == "medoid"

    def with_sum(self, total: Range | ExactSum) -> Part:
        """Return the same with the constant that follows from a sum over all rows."""
        if isinstance(total, Range):
            return replace(self, standard=Standard(total.low, total.high))
        return replace(self, standard=self._known_standard.with_sum(total))

    @property
    def _known_standard(self) -> Standard:
        """Return how its numbers are standardised, once their range is known."""
        if self.standard is None:
            raise RuntimeError("the range of numbers is found before they are standardised")
        return self.standard

    def decode(self, column: Any, layout: Layout) -> Array:
        """Return the values of some rows: float64[n] (NaN where missing) or int32[n] codes of levels (-1)."""
        column = without_markers(column, markers(layout.plan, self.name), layout.decimal)
        return codes_in(column, self.cells, self.name) if self.coded else self._numbers(column)

    def _numbers(self, column: Any) -> Array:
        import pyarrow as pa

        kind = column.type
        plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if plain and self.attribute.kind in ("continuous", "integer"):
            numbers = _columns.floats(column)
            _columns.check_numbers(numbers, self.attribute.kind, self.name)
            return numbers
        values = _columns.decode_again(column, self.attribute.kind, self.writing, self.name)
        return values.values if isinstance(values, Numbers) else np.full(len(column), np.nan)

    @property
    def level_bytes(self) -> int:
        """Return the bytes that the coordinates of its levels take."""
        return (
            0
            if not self.coded or self.attribute.kind == "ordinal"
            else 8 * len(self.levels) * min(len(self.levels), self.coordinates)
        )

    @cached_property
    def _level_points(self) -> Array:
        """Return the coordinates of levels, and a last row for missing values."""
        if self.counts is None or self.present == 0:
            return np.zeros((len(self.levels) + 1, 0))
        points = level_points(
            self.levels,
            self.counts,
            kind=self.attribute.kind,
            hierarchy=self.attribute.hierarchy,
            coordinates=self.coordinates,
            name=f"column {self.name!r}",
            at_once=AT_ONCE,
        )
        return np.vstack([points, np.zeros((1, points.shape[1]))])

    @cached_property
    def spread(self) -> Spread | None:
        """Return its levels in full coordinates, if they are compared in a projection; else None."""
        if self.counts is None or self.present == 0 or self.attribute.kind == "ordinal":
            return None
        one = self.attribute
        return level_spread(
            self.levels, self.counts, kind=one.kind, hierarchy=one.hierarchy, coordinates=self.coordinates
        )

    def points(self, x: Array) -> Array:
        """Return the coordinates of values: float64[n, c], as in memory."""
        absent = x < 0 if self.coded else np.isnan(x)
        if self.present == 0:
            return np.zeros((len(x), 0))
        if self.coded:
            points = self._level_points[x]
        else:
            points = self._known_standard.points(x)
            points[absent] = 0.0
        return points if self.missing == 0 else np.column_stack([points, absent.astype(np.float64)])

    def published_column(self, x: Array) -> Any:
        """Return values as their column holds them, for groups that publish a value of one of their rows."""
        import pyarrow as pa

        if self.coded:
            return pa.chunked_array([self.cells.take(pa.array(x, mask=x < 0))])
        return _columns.encode(Computed(x), np.arange(len(x)), None, self.attribute.kind, self.writing)


@dataclass(frozen=True)
class SensitivePart:
    """A sensitive attribute of a layout.

    Attributes
    ----------
    sensitive : Sensitive
        Without codes, and with the distribution in the whole table.
    cells, codes : pyarrow.Array, int32[m]
        The different values of the column, and the code of each.
    said : tuple of str
        What must be said: which have several spellings that count as one value.
    table : pyarrow.Table
        The different values, one of which is missing if some are, as a column of this name.
    """

    sensitive: Sensitive
    cells: Any
    codes: Array
    said: tuple[str, ...] = ()
    table: Any = None

    @property
    def name(self) -> str:
        """Return the name of its column."""
        return self.sensitive.name

    def decode(self, column: Any) -> Array:
        """Return int32[n]: the codes of some rows."""
        return np.asarray(np.append(self.codes, np.int32(-1))[codes_in(column, self.cells, self.name)])


def codes_in(column: Any, cells: Any, name: str) -> Array:
    """Return int32[n]: the position of each value among `cells`, -1 where it is missing; refuse others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = column.cast(cells.type)
        column = pc.if_else(pc.is_nan(column), None, pc.add(column, pa.scalar(0.0, column.type)))
    codes = pc.index_in(column, value_set=cells, skip_nulls=True)
    if codes.null_count > column.null_count:
        raise changed(name)
    return np.asarray(pc.fill_null(codes, -1).to_numpy(), np.int32)


def changed(name: str) -> DataError:
    """Return the error for a column that is not what it was in an earlier pass."""
    return DataError(
        f"The table must stay as it is while it is read more than once. Got a change in the column {name!r}; nothing "
        "was published.",
        "copy it, and read the copy.",
    )


def inferred_kind(survey: Survey, name: str) -> str:
    """Return the kind that a column seems to have, for those that may be identifiers."""
    column = survey.columns[name]
    if column.many and is_text(column.type) and column.shapes is None:
        return "nominal"
    values, counts = column.witnesses()
    how: dict[str, Any] = {"text": survey.text, "decimal": survey.decimal, "counts": counts}
    try:
        return _columns.infer(_chunked(values), name=name, **how)[0]
    except DataError:
        return "unclear"  # reported when the column is read, if it is read at all


def part_of(survey: Survey, name: str) -> Part:
    """Return a quasi-identifier, of the kind that memory would give it."""
    column = survey.columns[name]
    if column.many and is_text(column.type) and column.shapes is None:
        raise _too_many(name)
    read, counts = _read(survey, name)
    own = Part(read.attribute, read.writings[0], column.missing, column.present, survey.plan.coordinates)
    if isinstance(read.values, Codes):
        if column.many:
            raise _too_many(name)
        return _of_levels(own, read.values, column.witnesses()[0], counts)
    if column.many:
        known = column.low is not None and column.high is not None and read.attribute.kind in ("continuous", "integer")
        return replace(own, standard=Standard(float(column.low), float(column.high)) if known else None)  # type: ignore[arg-type]
    if not isinstance(read.values, Numbers):
        raise RuntimeError("a column by itself has levels or numbers")
    there = ~read.values.missing
    if not there.any():
        return own
    return replace(own, standard=standard_of(read.values.values[there], counts[there]))


def _read(survey: Survey, name: str) -> tuple[Read, Array]:
    """Return the witnesses of a column as memory reads them, and their counts."""
    column, plan = survey.columns[name], survey.plan
    values, counts = column.witnesses()
    if getattr(survey.schema.field(name).type, "ordered", False) and name not in plan.levels and name not in plan.types:
        raise OptionError(
            f"The levels of an ordered column must be given if the table is read in pieces. Got none for {name!r}.",
            hint=f"pass levels={{{name!r}: [lowest, .., highest]}}.",
        )
    table = _table(survey, name, values)
    how: dict[str, Any] = {"text": survey.text, "decimal": survey.decimal, "counts": counts}
    read = attribute(table, name, plan, **how)
    digits = read.attribute.inferred and read.attribute.kind == "date" and "digits" in read.attribute.note
    if column.many and digits:
        # More different numbers than there are days.
        whole = attribute(table, name, plan.model_copy(update={"types": {**plan.types, name: "integer"}}), **how)
        read = replace(whole, attribute=replace(whole.attribute, inferred=True))
    return read, counts


def _table(survey: Survey, name: str, values: Any) -> Any:
    """Return a table of one column, with what the source says of it."""
    import pyarrow as pa

    one = survey.schema.field(name).with_type(values.type)
    return pa.table([_chunked(values)], schema=pa.schema([one], survey.schema.metadata))


def _chunked(values: Any) -> Any:
    import pyarrow as pa

    return pa.chunked_array([values])


def _of_levels(part: Part, values: Codes, cells: Any, counts: Array) -> Part:
    """Return an attribute with levels, given the code of each different value of its column."""
    import pyarrow as pa

    here = values.codes >= 0
    place = np.full(len(values.levels), -1, np.int64)
    place[values.codes[here]] = np.flatnonzero(here)
    of_levels = np.zeros(len(values.levels), np.int64)
    of_levels[values.codes[here]] = counts[here]
    own = cells.take(pa.array(place, mask=place < 0))
    return replace(part, levels=values.levels, cells=own, counts=of_levels)


def _too_many(name: str) -> DataError:
    return DataError(
        f"A column of texts must have at most {MANY:,} different values, of {MOST_BYTES // 2**20} MiB together, if the "
        f"table is read in pieces. Got more in {name!r}.",
        hint="drop it (drop=[..]), publish it unchanged (other=[..]) if nobody knows it, or write it more coarsely.",
    )


def sensitive_part(survey: Survey, name: str) -> SensitivePart:
    """Return a sensitive attribute with the distribution of its values in the whole table."""
    column = survey.columns[name]
    if column.many:
        raise DataError(
            f"A sensitive attribute with demands must have at most {MANY:,} different values, of "
            f"{MOST_BYTES // 2**20} MiB together, if the table is read in pieces. Got more in {name!r}.",
            hint="demand nothing of it, or write it more coarsely.",
        )
    values, counts = column.witnesses()
    table = _table(survey, name, values)
    own = attribute_of(table, name, survey.plan, text=survey.text, decimal=survey.decimal, counts=counts)
    known = own.codes >= 0
    whole = np.bincount(own.codes[known], counts[known], own.values)
    absent = int(counts[~known].sum())
    present = present_of(values)
    codes = own.codes[: len(present)].astype(np.int32)  # a null comes last
    words = (said(name, own.spellings, own.values, "values"),) if own.spellings else ()
    whole = np.rint(whole).astype(np.int64)
    empty = own._replace(codes=np.zeros(0, np.int64), whole=(whole, absent))
    return SensitivePart(empty, present, codes, words, table)
