"""Texts that spreadsheet programs take for formulas when they open a CSV file.

A formula can send what stands in other cells to somebody, or start a program. The apostrophe before a text tells the
program that it is one. Texts that begin with apostrophes and would be formulas without them get another one, so that
different texts stay different, and as many rows are alike as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["begins_like_a_formula", "escaped", "warning"]

_FORMULA = r"(?s)^'*(\s*[=+\-@\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}].|[\t\r\n])"
_NUMBER = r"^\s*[-+]\s?[0-9.,][0-9.,' ]*([eE][-+]?[0-9]+)?\s?%?\s*$"


def begins_like_a_formula(column: Any) -> Any:
    """Return where a column of strings has texts that may be taken for formulas; numbers are not."""
    import pyarrow.compute as pc

    formula = pc.match_substring_regex(column, _FORMULA)
    number = pc.match_substring_regex(column, _NUMBER)
    return pc.fill_null(pc.and_not(formula, number), False)


def escaped(table: pa.Table) -> pa.Table:
    """Return a table of strings with an apostrophe before every text that may be taken for a formula."""
    import pyarrow as pa
    import pyarrow.compute as pc

    named = _names(table)
    if named:
        raise DataError(
            "The names of columns must not begin like formulas, with =, +, - or @. "
            f"Got {', '.join(repr(name) for name in named)}.",
            "rename them: other values are escaped, names are not.",
        )
    for at, name in enumerate(table.column_names):
        column = table.column(at)
        hit = begins_like_a_formula(column)
        if pc.any(hit).as_py():
            marked = pc.binary_join_element_wise("'", column, "")
            table = table.set_column(at, pa.field(name, column.type), pc.if_else(hit, marked, column))
    return table


def warning(table: pa.Table, found: Sequence[bool] | None = None) -> tuple[str, ...]:
    """Return a warning if texts or names of a table of strings may be taken for formulas.

    If the table was looked at in pieces, `found` says which of its columns have such texts.
    """
    import pyarrow.compute as pc

    if found is None:
        found = [bool(pc.any(begins_like_a_formula(column)).as_py()) for column in table.columns]
    named = _names(table)
    where = [name for name, hit in zip(table.column_names, found, strict=True) if hit or name in named]
    if not where:
        return ()
    shown = ", ".join(repr(name) for name in where[:5]) + (", .." if len(where) > 5 else "")
    return (
        f"Texts of {shown} begin like formulas, with =, +, - or @, which a spreadsheet program may run when it opens "
        "the file. escape_formulas=True (--escape-formulas) puts an apostrophe before them.",
    )


def _names(table: pa.Table) -> list[str]:
    import pyarrow as pa

    hits = begins_like_a_formula(pa.array(table.column_names, pa.string())).to_pylist()
    return [name for name, hit in zip(table.column_names, hits, strict=True) if hit]
