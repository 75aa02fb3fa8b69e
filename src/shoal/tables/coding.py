"""Top coding, bottom coding and rounding: values are changed before anything else is done with them.

What is lost by it counts: :class:`shoal.tables.schema.Read` keeps the original values, and losses are measured against
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import OptionError, Problems, ShoalError
from shoal.plan import Plan
from shoal.plan_checks import moment_of
from shoal.tables import columns as _columns
from shoal.tables.calendar import MICROSECONDS_A_DAY
from shoal.tables.ladders import steps_below
from shoal.tables.markers import without_markers
from shoal.tables.notation import Notation
from shoal.tables.schema import Column, Read, attribute, coding_field, markers
from shoal.tables.values import Computed, Numbers

FIELDS = ("rounding", "top_coding", "bottom_coding")
ROLES = ("quasi-identifier", "sensitive", "other")
NUMERIC, DATED = ("continuous", "integer"), ("date", "datetime")


def applied(
    table: Any, columns: Sequence[Column], reads: list[Read], plan: Plan, *, text: bool = False, decimal: str = "."
) -> tuple[Any, list[Read], dict[str, Any]]:
    """Return a table with changed values, the quasi-identifiers with theirs, and the other columns that changed.

    Parameters
    ----------
    table : pyarrow.Table
    columns : columns with their roles
    reads : the quasi-identifiers with their values
    plan : Plan
    text, decimal : bool, str
        Whether types are inferred from text, with this decimal mark.

    Raises
    ------
    OptionError
        If columns are neither numbers nor dates, have another role, or cannot hold the values; all problems at once.
    """
    by_name = {name: read for read in reads for name in read.attribute.columns}
    role = {column.name: column.role for column in columns}
    done: dict[str, Read] = {}
    others: dict[str, Any] = {}
    problems = Problems()
    for name in plan.coded:
        field = coding_field(plan, name)
        with problems.collected():
            read = by_name.get(name)
            if role[name] not in ROLES or (read is not None and read.attribute.kind == "place"):
                what = "place" if read is not None else role[name]
                raise OptionError(
                    f"The {field!r} of a plan must be about quasi-identifiers and other columns that are "
                    f"published. Got {name!r}, whose role is {what!r}.",
                    hint="leave it out.",
                )
            own = attribute(table, name, plan, text=text, decimal=decimal, sensitive=True) if read is None else read
            changed, column = _changed(own, table.column(name), plan)
            table = table.set_column(table.column_names.index(name), table.schema.field(name), column)
            if read is None:
                others[name] = column
            else:
                done[name] = changed
    problems.refuse()
    return table, [done.get(read.attribute.name, read) for read in reads], others


def in_words(plan: Plan, name: str) -> str:
    """Return how a column is changed, such as ``at most 90``; an empty text if it is not."""
    words = [f"rounded to multiples of {plan.rounding[name]}"] if name in plan.rounding else []
    words += [f"at least {plan.bottom_coding[name]}"] if name in plan.bottom_coding else []
    words += [f"at most {plan.top_coding[name]}"] if name in plan.top_coding else []
    return ", ".join(words)


def _changed(read: Read, column: Any, plan: Plan) -> tuple[Read, Any]:
    """Return an attribute with changed values, and its column; values that stay keep the way they are written."""
    import pyarrow as pa
    import pyarrow.compute as pc

    name, kind, values = read.attribute.name, read.attribute.kind, read.values
    field = coding_field(plan, name)
    if kind not in (*NUMERIC, *DATED) or not isinstance(values, Numbers):
        raise OptionError(
            f"The {field!r} of a plan must be about numbers and dates. Got {name!r}, which is {kind}.",
            hint="leave it out, or declare another type." if read.attribute.hierarchy is None else "leave it out.",
        )
    new = values.values
    if name in plan.rounding:
        if kind in DATED:
            raise OptionError(
                f"The 'rounding' of a plan must be about numbers. Got {name!r}, which is a {kind}.",
                hint="'outward' and 'cells' make intervals of dates.",
            )
        new = rounded(new, plan.rounding[name])
    if name in plan.bottom_coding:
        # Not np.maximum, of which the processor decides whether 0 or -0 is more.
        bottom = _limit(plan, "bottom_coding", name, kind)
        new = np.where(new < bottom, bottom, new)
    if name in plan.top_coding:
        top = _limit(plan, "top_coding", name, kind)
        new = np.where(new > top, top, new)
    if kind == "integer" and not (new[~values.missing] == np.rint(new[~values.missing])).all():
        raise OptionError(
            f"The {field!r} of a plan must be a whole number for {name!r}, which holds whole numbers.",
            hint=f"pass types={{{name!r}: 'continuous'}} if it is to have decimals.",
        )
    # A zero that is rounded loses its sign, which would tell it from those that others were rounded to.
    moved = ((new != values.values) | (np.signbit(new) != np.signbit(values.values))) & ~values.missing
    described = replace(read.attribute, note="; ".join(filter(None, [read.attribute.note, in_words(plan, name)])))
    kinds, place = np.unique(new[moved], return_inverse=True)
    if len(kinds) == 0:
        return replace(read, attribute=described), column
    labels = np.zeros(len(new), np.int64)
    labels[moved] = place
    written = _written(kinds, read, column, plan)
    if without_markers(written, markers(plan, name)).null_count:
        raise OptionError(
            f"The {field!r} of a plan must not turn values of {name!r} into one that stands for a missing value.",
            hint="choose another limit or step, or another of 'missing_values'.",
        )
    written = written.take(pa.array(labels))
    changed = pc.if_else(pa.array(moved), written.combine_chunks(), column)
    return replace(read, attribute=described, values=Numbers(new), original=values), changed


def _written(numbers: Array, read: Read, column: Any, plan: Plan) -> Any:
    """Return numbers as the column writes them, or refuse those that it cannot hold."""
    import pyarrow as pa

    name, kind = read.attribute.name, read.attribute.kind
    writing = _writing(read.writings[0], plan, name)
    try:
        written = _columns.encode(Computed(numbers), np.arange(len(numbers)), column, kind, writing)
        written = written if written.type == column.type else written.cast(column.type)
        again = _columns.decode_again(written, kind, writing, name)
    except (pa.ArrowException, ShoalError, OverflowError, ValueError):
        again = None
    # Columns may hold single precision, or whole seconds.
    near = 1e6 if kind == "datetime" else 0.0
    if not isinstance(again, Numbers) or not np.allclose(again.values, numbers, rtol=1e-6, atol=near):
        raise OptionError(
            f"The {coding_field(plan, name)!r} of a plan must be a value that the column {name!r} can hold. Its type "
            f"is {column.type}.",
            hint="choose another value, or give the column a wider type.",
        )
    return written


def _limit(plan: Plan, field: str, name: str, kind: str) -> float:
    """Return the top or the bottom of a column as its values are held."""
    limit = getattr(plan, field)[name]
    if isinstance(limit, str) != (kind in DATED):
        needed = "a date such as '1990-12-31'" if kind in DATED else "a number"
        raise OptionError(f"The {field!r} of a plan must be {needed} for {name!r}, which is {kind}. Got {limit!r}.")
    if not isinstance(limit, str):
        return float(limit)
    micro = int(np.datetime64(moment_of(limit).replace(tzinfo=None), "us").astype(np.int64))
    if moment_of(limit).utcoffset():
        raise OptionError(f"The {field!r} of a plan must be dates without an offset, in UTC. Got {limit!r}.")
    return float(micro // MICROSECONDS_A_DAY if kind == "date" else micro)


def rounded(numbers: Array, step: float) -> Array:
    """Return the nearest multiples of a step, halves upwards, by decimal digits: 0.15 becomes 0.2 with the step 0.1."""
    present = ~np.isnan(numbers)
    kinds, place = np.unique(numbers[present], return_inverse=True)
    unit = Decimal(str(step))
    halves = steps_below(kinds, float(unit / 2))
    multiples = np.array([float((i + 1) // 2 * unit) for i in halves])
    result = numbers.copy()
    result[present] = multiples[place] if len(kinds) else 0.0
    return result


def _writing(writing: Notation, plan: Plan, name: str) -> Notation:
    """Return how changed values are written: with the decimals of steps and limits, if the column has fewer."""
    if writing.digits is None:
        return writing
    given = [getattr(plan, field).get(name) for field in FIELDS]
    places = [-int(Decimal(str(x)).normalize().as_tuple().exponent) for x in given if isinstance(x, int | float)]
    return writing._replace(digits=max([writing.digits, *places]))
