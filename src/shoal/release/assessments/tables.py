"""Original and release as the measures need them: rows matched, columns of one kind, roles settled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, ShoalError, near_names
from shoal.io import Source
from shoal.plan import Kind
from shoal.release.finished import Published
from shoal.release.matching import rows_of
from shoal.release.verification import require_same_file
from shoal.risk.keys import combined
from shoal.tables import columns as _columns
from shoal.tables.values import Codes, Numbers

# A name that no column of a table has: it has a line end.
ROW = "row\n"
# Kinds of single columns.
KINDS = tuple(kind for kind in get_args(Kind) if kind != "place")


@dataclass(frozen=True)
class Roles:
    """Which columns mean what.

    Attributes
    ----------
    quasi_identifiers, sensitive : tuple of str
    weight : str or None
        The column of sampling weights of the original.
    types : {name: kind}
        Kinds of columns, where another than the one inferred is meant.
    told : {name: kind}
        Those of the certificate, which hold where none is declared.
    """

    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    weight: str | None
    types: Mapping[str, str]
    told: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Tables:
    """An original and its release, ready to be measured.

    Attributes
    ----------
    original, release : pyarrow.Table
        The columns that can be compared, of one kind in both, and the number of the row of the original (ROW).
    before, after : pyarrow.Table
        The quasi-identifiers and sensitive attributes as they are, of all rows of each.
    rows : int64[n]
        The row of the original of each row of the release.
    roles : Roles
    compared, numeric : tuple of str
        The columns that can be compared, and those of them that hold numbers or dates.
    weights : float64[N] or None
        Of the records of the original.
    k : int or None
        The k that was promised.
    notes : tuple of str
        What the reader of figures must know.
    """

    original: Any
    release: Any
    before: Any
    after: Any
    rows: Array
    roles: Roles
    compared: tuple[str, ...]
    numeric: tuple[str, ...]
    weights: Array | None
    k: int | None
    notes: tuple[str, ...]

    @property
    def known(self) -> tuple[str, ...]:
        """Return the quasi-identifiers that can be compared."""
        return tuple(name for name in self.roles.quasi_identifiers if name in self.compared)


def tables_of(original: Source, published: Published, roles: Roles, key: str | None) -> Tables:
    """Return an original and its release with rows matched and columns read alike."""
    release, promised = published.source, published.certificate
    if promised is not None:
        require_same_file(release, promised)
    roles = _settled(original, release, published, roles, key)
    notes: list[str] = []
    shuffled = promised is not None and promised.shuffled
    found = published.rows
    if found is None or key is not None:
        found = rows_of(original, release, key, roles.quasi_identifiers, shuffled=shuffled, notes=notes)
    rows = np.arange(release.table.num_rows) if found is None else found
    _require_records(rows)
    names = [name for name in original.table.column_names if name in release.table.column_names]
    names = [name for name in names if name not in (key, roles.weight, ROW)]
    both = {name: pair for name in names if (pair := _alike(original, release, name, roles, notes)) is not None}
    listed = [*roles.quasi_identifiers, *roles.sensitive]
    return Tables(
        original=_table({name: ours for name, (ours, _, _) in both.items()}, np.arange(original.table.num_rows)),
        release=_table({name: theirs for name, (_, theirs, _) in both.items()}, rows),
        before=original.table.select(listed),
        after=release.table.select(listed),
        rows=rows,
        roles=roles,
        compared=tuple(both),
        numeric=tuple(name for name, (_, _, numeric) in both.items() if numeric),
        weights=_weights(original, roles.weight),
        k=None if promised is None else promised.k.wanted,
        notes=tuple(notes),
    )


def _require_records(rows: Array) -> None:
    if len(rows) < 2:
        raise DataError(f"A release must have at least 2 records to be assessed. Got {len(rows)}.")


def _settled(original: Source, release: Source, published: Published, roles: Roles, key: str | None) -> Roles:
    """Return the roles, from the certificate where none are given; all columns must exist."""
    ours, theirs = original.table.column_names, release.table.column_names
    promised = published.certificate
    sensitive = roles.sensitive
    if not sensitive and promised is not None:
        sensitive = tuple(column.name for column in promised.columns if column.role == "sensitive")
    wanted = roles.quasi_identifiers
    if not wanted:
        taken = {key, roles.weight, *sensitive}
        wanted = (
            tuple(promised.quasi_identifiers)
            if promised is not None
            else tuple(name for name in ours if name in theirs and name not in taken)
        )
    if not wanted:
        raise OptionError(
            "The original and the release must have columns in common. Got none to assess.",
            "name those that others may know (quasi_identifiers, --qi).",
        )
    for name in [*wanted, *sensitive]:
        for where, known in (("the original", ours), (release.name, theirs)):
            if name not in known:
                hint = near_names(name, known, f"it has {len(known)} columns.")
                raise OptionError(f"Every column to assess must be in both tables. Got none {name!r} in {where}.", hint)
    for name, kind in roles.types.items():
        if kind not in KINDS:
            raise OptionError(f"The type of {name!r} must be one of {', '.join(KINDS)}. Got {kind!r}.")
    for name in [*([key] if key else []), *([roles.weight] if roles.weight else []), *roles.types]:
        if name not in ours:
            hint = near_names(name, ours, f"it has {len(ours)} columns.")
            raise OptionError(f"Every column with a role must be in the original. Got {name!r}.", hint)
    both = set(wanted) & set(sensitive)
    if both:
        raise OptionError(f"A column must have one role. Got {sorted(both)[0]!r} as quasi-identifier and as sensitive.")
    return Roles(
        tuple(dict.fromkeys(wanted)), tuple(dict.fromkeys(sensitive)), roles.weight, roles.types, _told(published)
    )


def _told(published: Published) -> dict[str, str]:
    """Return the kinds of quasi-identifiers that the certificate tells."""
    promised = published.certificate
    listed = () if promised is None else promised.columns
    return {one.name: one.type for one in listed if one.type is not None and one.type in KINDS}


def _alike(
    original: Source, release: Source, name: str, roles: Roles, notes: list[str]
) -> tuple[Any, Any, bool] | None:
    """Return a column of both tables as numbers or as texts, and which; None, and a note, if that cannot be done."""
    ours, theirs = original.table.column(name), release.table.column(name)
    try:
        kind = _kind(original, name, roles)
        before = _columns.decode(ours, kind, text=original.text, decimal=original.decimal, name=name)[0]
    except ShoalError:
        if name in roles.types:
            raise  # as declared, so that it is a mistake
        notes.append(f"the column {name!r} cannot be compared: its values are of no kind that can be measured")
        return None
    numeric = isinstance(before, Numbers)
    try:
        # A mean of whole numbers is none.
        read_as = "continuous" if kind == "integer" else kind
        after = _columns.decode(theirs, read_as, text=release.text, decimal=release.decimal, name=name)[0]
    except ShoalError:
        notes.append(
            f"the column {name!r} is counted in keys only: the release has ranges or other values of another kind"
        )
        return None
    if isinstance(before, Codes) and isinstance(after, Codes):
        others = len(set(after.levels) - set(before.levels))
        if others:
            notes.append(f"{others} categories of {name!r} in the release do not occur in the original")
    return _plain(before), _plain(after), numeric


def _kind(original: Source, name: str, roles: Roles) -> str:
    """Return the kind by which a column of the original is read."""
    kind = (
        roles.types.get(name)
        or roles.told.get(name)
        or _columns.infer(original.table.column(name), text=original.text, decimal=original.decimal, name=name)[0]
    )
    return "nominal" if kind in ("ordinal", "hierarchical") else kind


def held_out_of(original: Source, held_out: Source, tables: Tables) -> Any:
    """Return records that were set aside before the release was made, read as those of the original are."""
    import pyarrow as pa

    table, made = held_out.table, {}
    for name in tables.compared:
        if name not in table.column_names:
            raise OptionError(
                f"Held-out records must have the columns that are compared. Got none {name!r} in {held_out.name}."
            )
        kind = _kind(original, name, tables.roles)
        read_as = "continuous" if kind == "integer" else kind
        made[name] = _plain(
            _columns.decode(table.column(name), read_as, text=held_out.text, decimal=held_out.decimal, name=name)[0]
        )
    if table.num_rows < 2:
        raise DataError(f"There must be at least 2 held-out records. Got {table.num_rows} in {held_out.name}.")
    found = pa.table(made)
    _require_set_aside(tables.original.select(list(made)), found, held_out.name)
    return found


def _require_set_aside(original: Any, held_out: Any, name: str) -> None:
    """Refuse held-out records most of which are in the original, unless most of its records have equals there."""
    from shoal.tables.inputs import codes_of, together

    n = original.num_rows
    columns = [together(original.column(one), held_out.column(one), one) for one in original.column_names]
    read = [codes_of(column, one) for column, one in zip(columns, original.column_names, strict=True)]
    kinds, count = combined([codes for codes, _ in read], [values for _, values in read])
    times = np.bincount(kinds[:n], minlength=count)
    inside = int((times[kinds[n:]] > 0).sum())
    if 2 * inside > held_out.num_rows and 2 * int((times[kinds[:n]] == 1).sum()) > n:
        raise DataError(
            f"Held-out records must not be in the original. Got {inside} of {held_out.num_rows} in {name} that are.",
            "set records aside first, and release the others.",
        )


def _plain(values: Any) -> Any:
    """Return a column of plain numbers or texts."""
    import pyarrow as pa

    if isinstance(values, Numbers):
        return pa.array(values.values, from_pandas=True)
    return pa.array(values.levels, pa.string()).take(pa.array(values.codes, mask=values.codes < 0))


def _table(columns: Mapping[str, Any], rows: Array) -> Any:
    import pyarrow as pa

    return pa.table({**columns, ROW: pa.array(rows)})


def _weights(original: Source, name: str | None) -> Array | None:
    if name is None:
        return None
    from shoal.tables.inputs import weights_of

    column = original.table.column(name)
    try:
        values = _columns.decode(column, "continuous", text=original.text, decimal=original.decimal, name=name)[0]
    except ShoalError:
        raise DataError(f"The column of weights must hold numbers. Got {name!r}, which holds others.") from None
    return weights_of(None, values.values, len(column), "shoal.assess")  # type: ignore[union-attr]


def grouping(original: Source, name: str) -> Sequence[Any]:
    """Return the values of a column of the original by which records are put into subgroups."""
    if name not in original.table.column_names:
        known = original.table.column_names
        hint = near_names(name, known, f"it has {len(known)} columns.")
        raise OptionError(f"The subgroups must be those of a column of the original. Got {name!r}.", hint)
    values: Sequence[Any] = original.table.column(name).to_pylist()
    return values
