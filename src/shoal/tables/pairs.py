"""An original table and its release, read together: every attribute as coordinates of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError
from shoal.tables import columns as _columns
from shoal.tables.embedding import embed, stack
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.inputs import chosen, codes_of, columns, together
from shoal.tables.occurring import FEW
from shoal.tables.values import Codes, Numbers, Values

# Kinds of attributes that count as numbers.
NUMERIC = ("continuous", "integer", "date", "datetime", "ordinal")


@dataclass(frozen=True, repr=False)
class Attribute:
    """An attribute of an original table and of its release.

    Attributes
    ----------
    name, kind : str
    values : Numbers or Codes
        Of the original records that were released, followed by those of their published rows.
    points : float64[2 n, c]
        Their coordinates, scaled by the spread of both tables (:mod:`shoal.tables.embedding`).
    """

    name: str
    kind: str
    values: Values
    points: Array

    @property
    def numeric(self) -> bool:
        """Return whether the attribute has an order and distances."""
        return self.kind in NUMERIC

    def numbers(self) -> Array:
        """Return float64[2 n]: the numbers of a numeric attribute, NaN where missing."""
        if isinstance(self.values, Numbers):
            return self.values.values
        if isinstance(self.values, Codes):
            return np.where(self.values.missing, np.nan, self.values.codes.astype(np.float64))
        raise DataError(f"The column {self.name!r} must hold numbers. It holds places.")

    def categories(self, bins: int) -> tuple[Array, Array, int]:
        """Return the categories of original and release, int64[n] each, and how many there are.

        Category 0 is a missing value. Numbers with more than 24 different values are cut into intervals between
        quantiles of the original.
        """
        n = len(self.points) // 2
        if not self.numeric:
            codes = self.values.codes  # type: ignore[union-attr]
            return codes[:n] + 1, codes[n:] + 1, int(codes.max(initial=-1)) + 2
        both = self.numbers()
        present = ~np.isnan(both)
        kinds = np.unique(both[present])
        if len(kinds) > FEW:
            before = both[:n][present[:n]]
            # A column that is missing in the whole original has no quantiles.
            edges = np.unique(np.quantile(before, np.arange(1, bins) / bins)) if len(before) else np.empty(0)
            codes, count = np.searchsorted(edges, both, "right"), len(edges) + 1
        else:
            codes, count = np.searchsorted(kinds, both), len(kinds)
        codes = np.where(present, codes + 1, 0)
        return codes[:n], codes[n:], count + 1


@dataclass(frozen=True, repr=False)
class Pair:
    """Two tables read once for all measures of linkage: each takes it in place of the original, and None for the rest.

    Attributes
    ----------
    attributes : tuple of Attribute
    size : int
        The number of records of the original.
    rows : int64[n]
        The records of the original that were released, in the order of the release.
    """

    attributes: tuple[Attribute, ...]
    size: int
    rows: Array

    def __repr__(self) -> str:
        return f"Pair({len(self.attributes)} attributes, {len(self.rows)} of {self.size} records released)"

    def coordinates(self, which: Sequence[int] | None = None) -> tuple[Array, Array]:
        """Return float64[n, d] of the original and of the release, of some attributes (None: all)."""
        parts = [one.points for at, one in enumerate(self.attributes) if which is None or at in which]
        n = len(self.rows)
        return stack([part[:n] for part in parts]), stack([part[n:] for part in parts])

    def numeric(self, caller: str) -> tuple[list[str], Array, Array]:
        """Return the names of the numeric attributes, and float64[n, d] of the original and of the release."""
        found = [one for one in self.attributes if one.numeric]
        if not found:
            raise DataError(f"The columns of {caller} must hold at least one with numbers or dates. Got none.")
        both = np.column_stack([one.numbers() for one in found])
        n = len(self.rows)
        return [one.name for one in found], both[:n], both[n:]

    @classmethod
    def of(cls, original: Any, release: Any, wanted: Any, caller: str, settings: Settings | None = None) -> Pair:
        """Return two data frames read together; a pair that is prepared already is returned as it is.

        Parameters
        ----------
        original, release : data frames
        wanted : names or None
            The columns to compare, None: all that both have.
        caller : str
            For messages.
        settings : Settings, optional
        """
        if isinstance(original, Pair):
            return original
        settings = settings or Settings()
        if wanted is None:
            wanted = _shared_names(original, release, caller, settings.by)
        names = chosen(original, wanted, "columns", caller)
        ours = columns(original, names, caller)
        theirs = columns(release, chosen(release, names, "columns", f"{caller} (release)"), caller)
        size = len(ours[names[0]])
        rows = _matched(original, release, size, len(theirs[names[0]]), settings.by, caller)
        return cls(side_by_side((ours, theirs), caller, settings, rows), size, rows)


@dataclass(frozen=True)
class Settings:
    """How two tables are read.

    Attributes
    ----------
    by : str or None
        A column that names the records in both. None: rows stand in the same order.
    types : {name: kind}
        Kinds of columns that are not those inferred from the original.
    hierarchies : {name: Hierarchy}
    """

    by: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)


def side_by_side(
    tables: Sequence[Mapping[str, Any]], caller: str, settings: Settings, rows: Array | None = None
) -> tuple[Attribute, ...]:
    """Return columns of several tables, one below the other, read as one kind and in one scale.

    Parameters
    ----------
    tables : sequence of {name: pyarrow.ChunkedArray}
        Columns of the same names. Those of the first table say of which kind they are.
    caller : str
        For messages.
    settings : Settings
        Kinds and hierarchies.
    rows : int64[n], optional
        The rows of the first table to take. By default all, in their order.
    """
    for name in (*settings.types, *settings.hierarchies):
        if name not in tables[0]:
            raise OptionError(f"The types and hierarchies of {caller} must be of its columns. Got {name!r}.")
    return tuple(_attribute(name, [table[name] for table in tables], rows, settings) for name in tables[0])


def _shared_names(original: Any, release: Any, caller: str, by: str | None) -> list[str]:
    from shoal.tables.frames import names_of

    theirs = set(names_of(release, f"{caller} (release)"))
    shared = [name for name in names_of(original, caller) if name in theirs and name != by]
    if not shared:
        raise DataError(f"The tables of {caller} must have columns in common. Got none.")
    return shared


def _matched(original: Any, release: Any, ours: int, theirs: int, by: str | None, caller: str) -> Array:
    """Return int64[n]: the record of the original that each row of the release was made of."""
    if by is None:
        if ours != theirs:
            raise DataError(
                f"The tables of {caller} must have the same records in the same order. Got {ours} and {theirs} rows.",
                hint="name a column that identifies the records in both tables (by=..).",
            )
        return np.arange(ours)
    column = together(
        columns(original, chosen(original, by, "by", caller), caller)[by],
        columns(release, chosen(release, by, "by", f"{caller} (release)"), caller)[by],
        by,
    )
    codes, _ = codes_of(column, by)
    a, b = codes[:ours], codes[ours:]
    twice = sum(len(side) - len(np.unique(side)) for side in (a, b)) + int((codes < 0).any())
    if twice:
        raise DataError(
            f"The column {by!r} must name each record once. Got names that are missing or occur again.",
            hint="name another column, or put the rows of both tables into one order.",
        )
    order = np.argsort(a, kind="stable")
    place = np.minimum(np.searchsorted(a[order], b), ours - 1)
    rows = order[place]
    unknown = int((a[rows] != b).sum())
    if unknown:
        raise DataError(
            f"The release of {caller} must hold records of the original only. Got {unknown} others in {by!r}."
        )
    return rows


def _attribute(name: str, parts: Sequence[Any], rows: Array | None, settings: Settings) -> Attribute:
    """Return a column of all tables, read as one kind."""
    import pyarrow as pa

    ours, *others = parts
    hierarchy = settings.hierarchies.get(name)
    kind = settings.types.get(name)
    levels: tuple[Any, ...] = ()
    if hierarchy is not None:
        kind = "hierarchical"
    elif kind is None:
        kind = _columns.infer(ours, text=False, decimal=".", name=name)[0]
    if kind == "integer":
        kind = "continuous"  # a mean of whole numbers is none
    if kind == "ordinal" and pa.types.is_dictionary(ours.type):
        levels = tuple(ours.chunk(0).dictionary.to_pylist())
    # A record that was not released counts for nothing.
    if rows is not None and not (len(rows) == len(ours) and bool((rows == np.arange(len(rows))).all())):
        ours = ours.take(pa.array(rows))
    for other in others:
        ours = together(ours, other, name)
    values = _columns.decode(ours, kind, levels=levels, name=name)[0]
    points = embed(values, kind=kind, hierarchy=hierarchy, name=f"the column {name!r}")
    return Attribute(name, kind, values, points)
