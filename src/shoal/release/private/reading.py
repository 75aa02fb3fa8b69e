"""What a private release asks of how its table was read: no record may decide how the others are read.

A notation that is guessed from all records, such as an encoding, would let one of them change all values at once.
"""

from __future__ import annotations

from shoal.dp.attributes import CATEGORIES
from shoal.dp.domain import Domain
from shoal.errors import DataError, OptionError
from shoal.io import Source
from shoal.tables.notation import is_text

# Formats in which every value has a type of its own, so that the type of a column is found by looking at all values.
UNTYPED = ("excel", "jsonl", "sqlite")


def require_declared(source: Source) -> None:
    """Refuse a file whose encoding or delimiter was guessed from its records."""
    for option in source.guessed:
        example = {"encoding": "cp1252", "quote": "'"}.get(option, ";")
        raise OptionError(
            f"With dp, the {option} of {source.name} must be given, because its first bytes and its header do not tell "
            "it. Got none: what is guessed from records lets one of them change how all others are read.",
            hint=f"pass {option}={example!r} (--{option} {example!r}), or what it is.",
        )


def require_one_kind(source: Source, domain: Domain, unit: str | None = None) -> None:
    """Refuse categories, and names of units, of a column whose values would be written otherwise beside others.

    The number 2.0 is the category 2, but beside a text it is read as the text 2.0; two units may be written alike then.
    Texts that look like dates are read as dates if all do.
    """
    import pyarrow as pa

    names = [name for name, one in domain.columns.items() if one.kind in CATEGORIES]
    for name in (*names, *([] if unit is None else [unit])):
        if source.format not in UNTYPED or name not in source.table.column_names:
            continue
        kind = source.table.column(name).type
        if pa.types.is_temporal(kind):
            raise DataError(
                f"With dp, the column {name!r} of {source.name} must be declared as a date or datetime. Got names.",
                hint="one text among its dates would make texts of all, which are written otherwise.",
            )
        if is_text(kind) and name in source.apart:
            raise DataError(
                f"With dp, the column {name!r} of {source.name} must hold values of one kind. Got texts among others.",
                hint="store all of its values as texts.",
            )
