"""The declared values of one column, and their places on a grid of integers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, near_names
from shoal.plan_checks import moment_of
from shoal.tables import columns as _columns
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.notation import is_text, matches, trimmed

NUMBERS = ("integer", "continuous")
TIMES = {"date": 86400, "datetime": 1}  # seconds of a step of 1
CATEGORIES = ("nominal", "ordinal", "boolean", "hierarchical")
# Sums of positions of two thousand million rows fit into 64 bits.
MOST_PLACES = 2**31
# A continuous column without a step gets this many places or up to ten times as many, in a power of ten.
PLACES = 10_000
# Moments that can be read one by one.
PLAIN_MOMENT = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$"
KEYS = {
    **dict.fromkeys((*NUMBERS, *TIMES), ("lower", "upper", "step", "missing")),
    **dict.fromkeys(("nominal", "ordinal"), ("values", "missing", "other")),
    "boolean": ("missing", "other", "values"),
    "hierarchical": ("hierarchy", "missing", "other"),
}


@dataclass(frozen=True, eq=False)
class AttributeDomain(ABC):
    """The values that a column can have, numbered from 0 to `size` - 1.

    Attributes
    ----------
    name, kind : str
    size : int
    missing : int or None
        The position that a missing value counts as; None: missing values are refused.
    plain : mapping
        The description, from which it was made.
    """

    name: str
    kind: str
    size: int
    missing: int | None
    plain: Mapping[str, Any]

    @property
    def ordered(self) -> bool:
        """Return whether positions have an order that means something."""
        return self.kind not in ("nominal", "boolean", "hierarchical")

    def encode(
        self,
        column: Any,
        *,
        text: bool = False,
        decimal: str = ".",
        formats: Mapping[str, str] | None = None,
        thousands: str | None = None,
    ) -> Array:
        """Return int64[n]: the positions of the values of a column (pyarrow.ChunkedArray)."""
        kind = "nominal" if self.kind in CATEGORIES else self.kind
        kind = "continuous" if kind == "integer" else kind
        pattern = (formats or {}).get(self.name, "")
        how: dict[str, Any] = {"text": text, "decimal": decimal, "pattern": pattern, "thousands": thousands}
        self._check_notation(column, pattern)
        values, writing = _columns.decode(column, kind, name=self.name, clipped=True, **how)
        if kind == "continuous" and (writing.prefix or writing.suffix or writing.thousands not in ("", thousands)):
            raise self._undeclared("numbers without marks between thousands, and without units", "'thousands'")
        lost = int(values.missing.sum())
        if lost and self.missing is None:
            raise DataError(
                f"The column {self.name!r} must have no missing values, unless its domain says what they count as. "
                f"Got {lost}.",
                hint="add `missing: VALUE` to its domain, or drop these rows.",
            )
        codes = self._positions(values)
        codes[values.missing] = self.missing or 0
        return codes

    def _check_notation(self, column: Any, pattern: str) -> None:
        """Refuse dates whose notation would be guessed from all of them: one record could change how others are read.

        Years before months before days are read alike, whatever the other records are.
        """
        if self.kind not in TIMES or pattern:
            return
        plain = not is_text(column.type) or matches(trimmed(column.drop_null()), PLAIN_MOMENT)
        if not plain or _is_number(column.type):
            raise self._undeclared("dates such as 1990-12-31, or moments such as 1990-12-31T08:30:00", "'formats'")

    def _undeclared(self, what: str, field: str) -> DataError:
        return DataError(
            f"The column {self.name!r} must hold {what}, unless the plan says how they are written. Got others.",
            hint=f"declare it ({field}): a notation that is guessed from the table depends on single records.",
        )

    @abstractmethod
    def _positions(self, values: Any) -> Array:
        """Return int64[n]: the positions of values on the grid."""

    @abstractmethod
    def decode(self, positions: Array) -> Any:
        """Return a pyarrow array of the values at these positions, rounded to whole ones."""

    def holds(self, column: Any, *, text: bool = False, decimal: str = ".") -> bool:
        """Return whether a column has values of this domain only: a release must."""
        try:
            positions = self._alone().encode(column, text=text, decimal=decimal)
        except DataError:
            return False
        if self.kind in CATEGORIES:
            return True  # others were refused
        kind = "continuous" if self.kind == "integer" else self.kind
        again = _columns.decode(self.decode(positions), kind, name=self.name)[0]
        found = _columns.decode(column, kind, text=text, decimal=decimal, name=self.name)[0]
        return bool(np.allclose(again.values, found.values, rtol=1e-12, atol=0))  # type: ignore[union-attr]

    def _alone(self) -> AttributeDomain:
        """Return this domain without values that others count as: a release has declared ones alone."""
        return replace(self, missing=None)

    def snapped(self, positions: Array) -> Array:
        """Return int64[m]: the nearest positions that exist."""
        return np.clip(np.rint(positions), 0, self.size - 1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Grid(AttributeDomain):
    """Numbers, dates or moments: `lower`, `lower + step`, .. up to `upper`."""

    lower: Fraction = Fraction(0)  # in days for dates, in seconds since 1970 for moments
    step: Fraction = Fraction(1)

    def _positions(self, values: Any) -> Array:
        numbers = values.values / 1e6 if self.kind == "datetime" else values.values
        # Infinities are beyond all bounds; what is missing is put in by `encode`.
        places = np.rint((numbers - float(self.lower)) / float(self.step))
        whole: Array = np.clip(np.nan_to_num(places, nan=0.0), 0, self.size - 1).astype(np.int64)
        return whole

    def decode(self, positions: Array) -> Any:
        """Return a pyarrow array of the values at these positions, rounded to whole ones."""
        import pyarrow as pa

        places = self.snapped(positions)
        if self.kind in TIMES:
            numbers = int(self.lower) + int(self.step) * places
            if self.kind == "date":
                return pa.array(numbers.astype(np.int32), pa.int32()).cast(pa.date32())
            return pa.array(numbers, pa.int64()).cast(pa.timestamp("s"))
        if self.kind == "integer":
            return pa.array(int(self.lower) + int(self.step) * places, pa.int64())
        # Quotients of whole numbers are the doubles that are written shortest: 0.3, not 0.30000000000000004.
        over = self.lower.denominator * self.step.denominator
        start, width = int(self.lower * over), int(self.step * over)
        return pa.array([(start + width * place) / over for place in places.tolist()], pa.float64())


@dataclass(frozen=True, eq=False)
class Categories(AttributeDomain):
    """Names: nominal, ordinal, boolean, or the leaves of a hierarchy in the order of its tree."""

    values: tuple[Any, ...] = ()
    other: int | None = None
    hierarchy: Hierarchy | None = field(default=None, repr=False)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {_word(value, self.kind): at for at, value in enumerate(self.values)}

    def _alone(self) -> AttributeDomain:
        return replace(self, missing=None, other=None)

    def _positions(self, values: Any) -> Array:
        of_levels = np.array([self._index.get(_word(level, self.kind), -1) for level in values.levels] or [0], np.int64)
        unknown = int((of_levels[: len(values.levels)] < 0).sum())
        if unknown and self.other is None:
            raise DataError(
                f"The column {self.name!r} must hold declared values only. Got {unknown} different ones that its "
                "domain does not list.",
                hint="add them to the domain if anyone could know of them, or `other: VALUE` to count them as VALUE.",
            )
        of_levels[of_levels < 0] = self.other or 0
        codes: Array = of_levels[np.maximum(values.codes, 0)]
        return codes

    def decode(self, positions: Array) -> Any:
        """Return a pyarrow array of the values at these positions."""
        import pyarrow as pa

        return pa.array(list(self.values)).take(pa.array(self.snapped(positions)))


def attribute_of(name: str, described: Any, folder: Path | None = None) -> AttributeDomain:
    """Return the domain of a column that plain values describe; raise OptionError if they do not."""
    if not isinstance(described, Mapping) or described.get("kind") not in KEYS:
        kind = described.get("kind") if isinstance(described, Mapping) else None
        near = near_names(kind, KEYS, f"kinds are {', '.join(KEYS)}.")
        raise OptionError(f"The domain of the column {name!r} must have a kind that exists. Got {kind!r}.", hint=near)
    kind = str(described["kind"])
    for key, value in described.items():
        if key not in ("kind", *KEYS[kind]):
            near = near_names(key, KEYS[kind], f"it has {', '.join(KEYS[kind])}.")
            raise OptionError(f"The domain of the column {name!r} has no {key!r} for the kind {kind!r}.", hint=near)
        if value is None or value == "FILL IN":
            raise OptionError(
                f"The {key!r} of the column {name!r} must be filled in. Got none.",
                hint="take it from what is known about the subject, not from the table.",
            )
    make = _categories if kind in CATEGORIES else _grid
    return make(name, kind, described, folder)


def _grid(name: str, kind: str, described: Mapping[str, Any], folder: Path | None) -> Grid:
    lower, upper = (_bound(name, kind, key, described.get(key)) for key in ("lower", "upper"))
    if lower >= upper:
        raise OptionError(f"The 'lower' of the column {name!r} must be below its 'upper'. Got them equal or swapped.")
    step = _step(name, kind, described.get("step"), upper - lower)
    places = (upper - lower) / step
    if places.denominator != 1:
        raise OptionError(f"The bounds of the column {name!r} must be whole numbers of steps apart.")
    size = int(places) + 1
    if size > MOST_PLACES:
        raise OptionError(
            f"The column {name!r} must have at most {MOST_PLACES:,} places between its bounds. Got {size:,}.",
            hint="declare a larger step.",
        )
    missing = None
    if "missing" in described:
        missing = round((_bound(name, kind, "missing", described["missing"]) - lower) / step)
        if not 0 <= missing < size:
            raise OptionError(f"The 'missing' of the column {name!r} must lie within its bounds.")
    return Grid(name, kind, size, missing, _plain(described), lower, step)


def _bound(name: str, kind: str, key: str, value: Any) -> Fraction:
    """Return a bound as a number: in days for dates, in seconds for moments."""
    try:
        if kind in TIMES:
            moment = moment_of(value.isoformat() if isinstance(value, date) else value)
            number = Fraction(int(moment.timestamp()), TIMES[kind])
            if not isinstance(value, str | date | datetime) or number.denominator != 1:
                raise ValueError
            return number
        if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
            raise ValueError
        number = Fraction(Decimal(str(value)))
        if kind == "integer" and number.denominator != 1:
            raise ValueError
        return number
    except (ValueError, InvalidOperation, OverflowError, TypeError):
        what = {"date": "a date such as 1990-12-31", "datetime": "a moment such as 1990-12-31T08:30:00"}.get(
            kind, "a whole number" if kind == "integer" else "a finite number"
        )
        got = "Got none." if value is None else "Got something else."
        raise OptionError(f"The {key!r} of the column {name!r} must be {what}. {got}") from None


def _step(name: str, kind: str, given: Any, width: Fraction) -> Fraction:
    """Return the distance of neighbouring places; the default of continuous columns is a power of ten."""
    if given is None:
        if kind != "continuous":
            return Fraction(1)
        step = Fraction(10) ** (len(str(int(width))) + 1)
        while width / step < PLACES or (width / step).denominator != 1:
            step /= 10
        return step
    step = _bound(name, "integer" if kind != "continuous" else kind, "step", given)
    if step <= 0:
        raise OptionError(f"The 'step' of the column {name!r} must be above 0.")
    return step


def _categories(name: str, kind: str, described: Mapping[str, Any], folder: Path | None) -> Categories:
    hierarchy = None
    plain = _plain(described)
    if kind == "hierarchical":
        hierarchy = _hierarchy(name, described.get("hierarchy"), folder)
        values: tuple[Any, ...] = hierarchy.leaves
        plain["hierarchy"] = hierarchy.to_plain()
    else:
        given = described.get("values", [False, True] if kind == "boolean" else None)
        if not isinstance(given, list | tuple) or not given:
            raise OptionError(f"The 'values' of the column {name!r} must be a list of its categories. Got none.")
        values = tuple(given)
        if any(isinstance(value, bool) for value in values) and kind != "boolean":
            raise OptionError(
                f"The 'values' of the column {name!r} must be texts and numbers: put yes, no, true and false into "
                "quotes."
            )
        if not all(isinstance(value, str | int | float) for value in values):
            raise OptionError(f"The 'values' of the column {name!r} must be texts or numbers.")
        if len({type(value) for value in values}) > 1:
            values = tuple(_word(value) for value in values)
    words = [_word(value, kind) for value in values]
    if any("\ud800" <= letter <= "\udfff" for word in words for letter in word):
        raise OptionError(f"The 'values' of the column {name!r} must be valid texts. Got half a character.")
    if len(set(words)) < len(words):
        raise OptionError(f"The 'values' of the column {name!r} must differ. Got some twice.")
    stand_in = {key: _word(described[key], kind) for key in ("missing", "other") if key in described}
    places = {key: _place(name, key, word, words) for key, word in stand_in.items()}
    return Categories(name, kind, len(values), places.get("missing"), plain, values, places.get("other"), hierarchy)


def _place(name: str, key: str, word: str, words: list[str]) -> int:
    if word not in words:
        raise OptionError(f"The {key!r} of the column {name!r} must be one of its declared values.")
    return words.index(word)


def _hierarchy(name: str, given: Any, folder: Path | None) -> Hierarchy:
    if isinstance(given, Hierarchy):
        return given
    if isinstance(given, str):
        return Hierarchy.load((folder or Path()) / given)
    if isinstance(given, Mapping) and set(given) >= {"labels", "parents"}:
        return Hierarchy.from_plain(dict(given), f"the hierarchy of {name!r}")
    if isinstance(given, Mapping | list) and given:
        return Hierarchy.from_nested(given, name=f"the hierarchy of {name!r}")
    raise OptionError(f"The 'hierarchy' of the column {name!r} must be a file, or nested names. Got none.")


def _is_number(kind: Any) -> bool:
    import pyarrow.types as pt

    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind))


def _plain(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description with dates as texts and tuples as lists, as files hold them."""
    return {
        str(key): value.isoformat() if isinstance(value, date) else list(value) if isinstance(value, tuple) else value
        for key, value in described.items()
    }


def _word(value: Any, kind: str = "") -> str:
    """Return a category as tables write it; truth values are also written True and TRUE."""
    word = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return word.lower() if isinstance(value, bool) or kind == "boolean" else word
