"""The survey of a table: one pass over all rows, from which its layout follows.

Surveys of parts of a table are merged in any order and give the survey of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.engines.columns import FEW_BYTES, MANY, MOST_BYTES, ColumnSurvey
from shoal.engines.support import refuse_unsupported
from shoal.errors import DataError
from shoal.plan import Plan
from shoal.tables import columns as _columns
from shoal.tables import schema as _schema
from shoal.tables.markers import without_markers


@dataclass
class Survey:
    """What one pass over a table finds.

    Attributes
    ----------
    plan : Plan
    schema : pyarrow.Schema
    text, decimal : bool, str
        Whether the table is text as in a CSV file, and its decimal mark.
    roles : the columns with their roles
    columns : {name: ColumnSurvey}
    strata : pyarrow.Table or None
        The different strata, with a column of counts of each.
    rows, dropped : int
        All rows, and those that are dropped because a quasi-identifier is missing.
    """

    plan: Plan
    schema: Any
    text: bool
    decimal: str
    roles: tuple[_schema.Column, ...]
    columns: dict[str, ColumnSurvey] = field(default_factory=dict)
    strata: Any = None
    rows: int = 0
    dropped: int = 0

    @classmethod
    def of(cls, plan: Plan, schema: Any, *, text: bool = False, decimal: str = ".") -> Survey:
        """Return the survey of no rows; refuse plans that need the whole table in memory."""
        roles = _schema.roles(list(schema.names), plan)
        refuse_unsupported(plan, roles)
        survey = cls(plan, schema, text, decimal, roles)
        for name in filter(None, [*survey.needed, plan.unit]):
            _refuse_nested(name, schema.field(name).type)
        for name in survey.counted:
            kind = schema.field(name).type
            own = name in survey.quasi_identifiers or name in survey.demanded
            survey.columns[name] = ColumnSurvey(getattr(kind, "value_type", kind), MOST_BYTES if own else FEW_BYTES)
        return survey

    @property
    def quasi_identifiers(self) -> list[str]:
        """Return the names of the quasi-identifiers."""
        return [column.name for column in self.roles if column.role == "quasi-identifier"]

    @property
    def demanded(self) -> list[str]:
        """Return the sensitive columns with demands."""
        return list(self.plan.demanded_of) if self.plan.has_demands else []

    @property
    def counted(self) -> list[str]:
        """Return the columns whose values are surveyed: also those without a said role, which may be identifiers."""
        inferred = [column.name for column in self.roles if column.inferred and column.role != "dropped"]
        weight = [] if self.plan.weight is None else [self.plan.weight]
        return list(dict.fromkeys([*self.quasi_identifiers, *self.demanded, *weight, *inferred]))

    @property
    def needed(self) -> list[str]:
        """Return the columns that a survey reads."""
        return list(dict.fromkeys([*self.counted, *self.plan.stratum]))

    def add(self, table: Any) -> None:
        """Add rows: a pyarrow.Table or RecordBatch with the `needed` columns."""
        import pyarrow as pa

        table = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
        self.rows += table.num_rows
        kept, dropped = complete_rows(table, self.quasi_identifiers, self.plan, self.decimal)
        self.dropped += dropped
        own = set(self.quasi_identifiers)
        for name, survey in self.columns.items():
            column = kept.column(name)
            survey.add(
                without_markers(column, _schema.markers(self.plan, name), self.decimal) if name in own else column
            )
        if self.plan.stratum:
            self._add_strata(_strata_of(kept, list(self.plan.stratum)))

    def narrow(self, known: Survey) -> None:
        """Spare what another survey, with which this one is to be merged, need not know: values of columns of many."""
        for name, survey in self.columns.items():
            if known.columns[name].many:
                survey.counts = None
                survey.depth = known.columns[name].depth
                survey.shapes = None if known.columns[name].shapes is None else {}

    def merge(self, other: Survey) -> None:
        """Add what the survey of other rows of the table has found."""
        self.rows, self.dropped = self.rows + other.rows, self.dropped + other.dropped
        for name, survey in self.columns.items():
            survey.merge(other.columns[name])
        if other.strata is not None:
            self._add_strata(other.strata)

    def _add_strata(self, found: Any) -> None:
        import pyarrow as pa

        names = list(self.plan.stratum)
        if self.strata is not None:
            found = pa.concat_tables([self.strata, found])
            found = found.group_by(names).aggregate([("__count", "sum")])
            found = found.rename_columns([*names, "__count"]).combine_chunks()
        if found.num_rows > MANY:
            raise DataError(
                f"A table that is read in pieces must have at most {MANY:,} strata. Got more.",
                hint="name fewer or coarser columns as 'stratum'.",
            )
        self.strata = found


def complete_rows(table: Any, names: list[str], plan: Plan, decimal: str) -> tuple[Any, int]:
    """Return the rows that are kept under the plan's rule for missing values, and how many are not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if plan.missing != "drop":
        return table, 0
    gone = None
    for name in names:
        column = without_markers(table.column(name), _schema.markers(plan, name), decimal)
        empty = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
        gone = empty if gone is None else pc.or_(gone, empty)
    dropped = pc.sum(gone).as_py() or 0
    return (table.filter(pc.invert(gone)), int(dropped)) if dropped else (table, 0)


def _refuse_nested(name: str, kind: Any) -> None:
    """Refuse lists and structures, whose values are not counted, with the words of memory."""
    import pyarrow as pa

    if pa.types.is_nested(kind):
        _columns.infer(pa.nulls(0, kind), text=False, decimal=".", name=name)


def _strata_of(table: Any, names: list[str]) -> Any:
    """Return the different strata of some rows, with their counts."""
    import pyarrow as pa

    columns = {}
    for name in names:
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_floating(column.type):
            raise DataError(
                f"A table that is read in pieces must not have strata of floating-point numbers. Got {name!r}.",
                hint="write them as texts or whole numbers, or make the column a quasi-identifier.",
            )
        columns[name] = column
    found = pa.table({**columns, "__count": np.ones(table.num_rows, np.int64)})
    found = found.group_by(names).aggregate([("__count", "sum")])
    return found.rename_columns([*names, "__count"]).combine_chunks()
