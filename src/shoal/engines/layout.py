"""The layout of a table: what every piece of it is read, compared and published by.

A layout follows from the survey of all rows. It turns rows into a *values table*, in which they travel from block to
block, without any text:

====================  =================================================================================================
``__row``             int64: the number of the row
``q0``, ``q1``, ..    the quasi-identifiers: float64 (NaN where missing), or int32 codes of levels (-1)
``__stratum``         int32: the stratum, if the plan has strata
``__unit``            int64: equal for rows of one unit, if the plan has a unit
``__weight``          float64, if the plan has weights
``s0``, ``s1``, ..    int32: the values of sensitive attributes with demands (-1 where missing)
====================  =================================================================================================

Layouts can be pickled, and hold nothing of single records but extreme numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.engines.parts import Part, SensitivePart, changed, part_of, sensitive_part
from shoal.engines.sums import Sums
from shoal.engines.survey import Survey, complete_rows
from shoal.engines.units import unit_numbers
from shoal.errors import DataError, OptionError, Problems
from shoal.partitioning.pool import numbered
from shoal.plan import Plan
from shoal.privacy.demands import Demand, in_units, models_of
from shoal.release.groups.coordinates import Coordinates
from shoal.release.groups.grouping import Constraints
from shoal.tables.identifiers import FEW_ROWS, refuse_one
from shoal.tables.schema import Column, Read
from shoal.tables.values import Codes, Numbers
from shoal.tables.weights import no_weights, weights_in

ROW, STRATUM, UNIT, WEIGHT, GROUP, ORIGIN = "__row", "__stratum", "__unit", "__weight", "__group", "__origin"


@dataclass(frozen=True)
class Layout:
    """How the rows of a table are read, compared and published.

    Attributes
    ----------
    plan : Plan
    text, decimal : bool, str
    columns : columns with their roles
    parts : the quasi-identifiers
    sensitives : the sensitive attributes with demands
    strata : pyarrow.Table or None
        The different strata, in the order of their numbers, with a column ``__count``.
    rows_in, rows_dropped : int
    warnings : tuple of str
    """

    plan: Plan
    text: bool
    decimal: str
    columns: tuple[Column, ...]
    parts: tuple[Part, ...]
    sensitives: tuple[SensitivePart, ...]
    strata: Any
    rows_in: int
    rows_dropped: int
    warnings: tuple[str, ...] = ()
    _cache: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, survey: Survey) -> Layout:
        """Return the layout of a surveyed table, or refuse what cannot be done."""
        plan = survey.plan
        problems = Problems()
        with problems.collected():
            _refuse_identifiers(survey)
        parts = []
        for name in survey.quasi_identifiers:
            with problems.collected():
                parts.append(part_of(survey, name))
        sensitives = []
        for name in survey.demanded:
            with problems.collected():
                sensitives.append(sensitive_part(survey, name))
        problems.refuse()
        strata = _sorted_strata(survey)
        rows = survey.rows - survey.dropped
        _check(survey, rows, strata)
        return cls(
            plan=plan,
            text=survey.text,
            decimal=survey.decimal,
            columns=survey.roles,
            parts=tuple(parts),
            sensitives=tuple(sensitives),
            strata=strata,
            rows_in=survey.rows,
            rows_dropped=survey.dropped,
            warnings=(*_of_weights(survey), *(words for one in sensitives for words in one.said)),
        )

    # --- what is still to be summed ---

    @property
    def open(self) -> bool:
        """Return whether constants of coordinates are still to be found, by another pass over all rows."""
        return any(part.open for part in self.parts)

    def sums(self) -> Sums:
        """Return empty sums, to which all rows are to be added."""
        return Sums({at: part.standard for at, part in enumerate(self.parts) if part.open})

    def settled(self, sums: Sums) -> Layout:
        """Return the layout with the constants that follow from the sums over all rows."""
        parts = [part if not part.open else part.with_sum(sums.totals[at]) for at, part in enumerate(self.parts)]
        return replace(self, parts=tuple(parts), _cache={})

    # --- names ---

    @property
    def rows(self) -> int:
        """Return the number of rows that are published."""
        return self.rows_in - self.rows_dropped

    @property
    def quasi_identifiers(self) -> list[str]:
        """Return the names of the quasi-identifiers."""
        return [name for part in self.parts for name in part.attribute.columns]

    @property
    def needed(self) -> list[str]:
        """Return the columns of the source that blocks are made of."""
        plan = self.plan
        more = [name for name in (plan.unit, plan.weight) if name is not None]
        names = [*self.quasi_identifiers, *plan.stratum, *more, *(one.name for one in self.sensitives)]
        return list(dict.fromkeys(names))

    @cached_property
    def width(self) -> int:
        """Return the number of coordinates."""
        return int(self.coordinates(self.empty).shape[1])

    @cached_property
    def row_bytes(self) -> int:
        """Return the bytes of a row of a values table, without a group."""
        codes = sum(part.coded for part in self.parts) + len(self.sensitives) + (self.strata is not None)
        wide = sum(not part.coded for part in self.parts) + 1
        return 4 * codes + 8 * (wide + (self.plan.unit is not None) + (self.plan.weight is not None))

    # --- rows ---

    def decode(self, table: Any, first: int | Array = 0) -> Any:
        """Return rows as a values table; refuse what is not as it was in the survey.

        Parameters
        ----------
        table : pyarrow.Table or RecordBatch
            With the `needed` columns.
        first : int or int64[n]
            The number of the first row, or those of all.
        """
        import pyarrow as pa

        table = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
        numbers = first + np.arange(table.num_rows) if isinstance(first, int) else np.asarray(first, np.int64)
        table = table.append_column(ROW, pa.array(numbers))
        table = complete_rows(table, self.quasi_identifiers, self.plan, self.decimal)[0]
        columns: dict[str, Any] = {ROW: table.column(ROW)}
        for at, part in enumerate(self.parts):
            columns[f"q{at}"] = part.decode(table.column(part.name), self)
        if self.strata is not None:
            columns[STRATUM] = self._strata_of(table)
        if self.plan.unit is not None:
            columns[UNIT] = unit_numbers(table.column(self.plan.unit), self.plan.unit, self.decimal)
        if self.plan.weight is not None:
            columns[WEIGHT] = weights_in(table.column(self.plan.weight), self.plan.weight, self.decimal)
        for at, one in enumerate(self.sensitives):
            columns[f"s{at}"] = one.decode(table.column(one.name))
        return pa.table(columns)

    def _strata_of(self, table: Any) -> Array:
        """Return int32[n]: the strata of rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        names = list(self.plan.stratum)
        if "strata" not in self._cache:
            known = [pc.unique(self.strata.column(name)) for name in names]
            keys = _keys([self.strata.column(name) for name in names], known)
            order = np.argsort(keys)
            self._cache["strata"] = known, keys[order], order.astype(np.int32)
        known, keys, order = self._cache["strata"]
        columns = [
            one.cast(one.type.value_type) if pa.types.is_dictionary(one.type) else one
            for one in map(table.column, names)
        ]
        own = _keys(columns, known)
        at = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
        if (keys[at] != own).any():
            raise changed(names[0])
        return np.asarray(order[at])

    @property
    def empty(self) -> Any:
        """Return a values table of no rows, with the quasi-identifiers alone."""
        import pyarrow as pa

        kinds = [pa.int32() if part.coded else pa.float64() for part in self.parts]
        return pa.table({f"q{at}": pa.array([], kind) for at, kind in enumerate(kinds)})

    def coordinates(self, values: Any) -> Array:
        """Return float64[n, d]: the coordinates of a values table, as they would be in memory."""
        return self.embedded(values).together()

    def embedded(self, values: Any) -> Coordinates:
        """Return the coordinates of each attribute of a values table."""
        points = {part.name: part.points(numpy_of(values, f"q{at}")) for at, part in enumerate(self.parts)}
        spreads = {
            part.name: part.spread.taken(numpy_of(values, f"q{at}"))
            for at, part in enumerate(self.parts)
            if part.spread is not None
        }
        return Coordinates(points, {part.name: part.attribute.importance for part in self.parts}, spreads)

    def reads(self, values: Any) -> list[Read]:
        """Return the quasi-identifiers of a values table as memory reads them."""
        reads = []
        for at, part in enumerate(self.parts):
            x = numpy_of(values, f"q{at}")
            own = Codes(x.astype(np.int64), part.levels) if part.coded else Numbers(x)
            reads.append(Read(part.attribute, own, (part.writing,)))
        return reads

    def constraints(self, values: Any) -> Constraints:
        """Return what groups of a values table must respect besides k."""
        names = values.column_names
        units = numpy_of(values, UNIT) if UNIT in names else None
        if units is not None:
            units = numbered(np.unique(units, return_inverse=True)[1].astype(np.int64))  # by first row, as in memory
        strata = None
        if STRATUM in names:
            strata = np.unique(numpy_of(values, STRATUM), return_inverse=True)[1].astype(np.int64)
        return Constraints(strata, units, False, in_units(self.demands(values), units))

    def demands(self, values: Any) -> tuple[Demand, ...]:
        """Return the demands on a values table, each with the distribution in the whole table."""
        demands = []
        for at, one in enumerate(self.sensitives):
            own = one.sensitive._replace(codes=numpy_of(values, f"s{at}").astype(np.int64))
            demands += [Demand(model, own) for model in models_of(self.plan, one.name)]
        return tuple(demands)

    def weights(self, values: Any) -> Array | None:
        """Return the weights of a values table."""
        return numpy_of(values, WEIGHT) if WEIGHT in values.column_names else None


def numpy_of(values: Any, name: str) -> Array:
    """Return a column of a values table as an array."""
    column = values.column(name)
    return np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)


def _keys(columns: list[Any], known: list[Any]) -> Array:
    """Return int64[n]: a number for each combination of values, -1 for values that are not known."""
    import pyarrow.compute as pc

    keys = np.zeros(len(columns[0]), np.int64)
    lost = np.zeros(len(keys), bool)
    for column, values in zip(columns, known, strict=True):
        codes = pc.index_in(column, value_set=values).fill_null(-1).to_numpy().astype(np.int64)
        lost |= codes < 0
        keys = keys * len(values) + codes
    return np.where(lost, -1, keys)


def _sorted_strata(survey: Survey) -> Any:
    """Return the strata in an order that depends on their values alone; None if there are none."""
    import pyarrow as pa

    from shoal.engines.hashing import row_hashes

    if survey.strata is None:
        return None
    order = np.argsort(row_hashes(survey.strata, list(survey.plan.stratum)), kind="stable")
    return survey.strata.take(pa.array(order))


def _check(survey: Survey, rows: int, strata: Any) -> None:
    """Refuse tables and strata of fewer than k rows, and missing values if they are errors."""
    plan = survey.plan
    missing = {name: survey.columns[name].missing for name in survey.quasi_identifiers}
    incomplete = [name for name, count in missing.items() if count]
    if plan.missing == "error" and incomplete:
        raise DataError(
            f"No quasi-identifier may have missing values (missing='error'). Got {sum(missing.values())}, "
            f"in {', '.join(repr(name) for name in incomplete)}.",
            hint="missing='value' publishes them as missing, missing='drop' drops these rows.",
        )
    if rows < plan.k:
        without = "" if rows == survey.rows else f" (of {survey.rows}, the others have missing values)"
        raise OptionError(
            f"The 'k' option of anonymize must be an integer from 2 to the number of rows. Got {plan.k} for {rows} rows"
            f"{without}.",
            hint="a table of fewer than k records cannot be published.",
        )
    if strata is not None:
        small = int((np.asarray(strata.column("__count")) < plan.k).sum())
        if small:
            raise DataError(
                f"Every stratum must have at least {plan.k} rows. Got {small} of {strata.num_rows} strata with fewer.",
                hint="remove the stratum, or merge strata in memory (small_strata='merge', engine='memory').",
            )


def _refuse_identifiers(survey: Survey) -> None:
    """Refuse columns without a said role that look like identifiers."""
    from shoal.engines.parts import inferred_kind

    problems = Problems()
    for column in survey.roles:
        if not column.inferred or column.role == "dropped" or survey.rows < FEW_ROWS:
            continue
        own = survey.columns[column.name]
        with problems.collected():
            refuse_one(column, inferred_kind(survey, column.name), own.different, own.present, own.ends)
    problems.refuse()


def _of_weights(survey: Survey) -> list[str]:
    """Return the warning of weights that few records share; refuse what cannot be weights."""
    plan = survey.plan
    if plan.weight is None:
        return []
    own = survey.columns[plan.weight]
    if own.counts is not None:
        values, _ = own.witnesses()
        if not weights_in(values, plan.weight, survey.decimal).any():
            raise no_weights(plan.weight, "zeros only")
    alone = None if own.counts is None else int((own.counts < plan.k).sum())
    if alone == 0:
        return []
    few = "many" if alone is None or own.counts is None else f"{alone} of their {len(own.counts)}"
    return [
        f"The weights {plan.weight!r} are published unchanged, and {few} values are shared by fewer than {plan.k} "
        "records."
    ]
