"""Keys: what an intruder may know of a record, and how many records share it, in the table and in the population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import TooLargeError
from shoal.tables.inputs import choice_of, chosen, codes_of, columns, weights_of

# Numbers below this bound, or below ROOM times the number of rows, are counted in a table rather than sorted.
SMALL, ROOM = 1 << 16, 4
# Different sets of missing attributes that are compared with each other.
MOST_PATTERNS = 512


@dataclass(frozen=True, repr=False)
class Keys:
    """The keys of a table, read once for all measures: each takes them in place of the table.

    Attributes
    ----------
    names : tuple of str
    codes : tuple of int64[n]
        For each attribute, equal numbers for equal values, -1 where missing.
    counts : tuple of int
        The number of values of each attribute.
    classes : int64[n]
        The class of each record: 0 .. m - 1. Records of a class have equal keys; a missing value equals a missing value
        only.
    sizes : int64[m]
        The number of records of each class.
    """

    names: tuple[str, ...]
    codes: tuple[Array, ...]
    counts: tuple[int, ...]
    classes: Array
    sizes: Array

    def __repr__(self) -> str:
        return f"Keys({len(self.names)} attributes, {self.records} records, {len(self.sizes)} classes)"

    @property
    def records(self) -> int:
        """Return the number of records."""
        return len(self.classes)

    @property
    def missing(self) -> bool:
        """Return whether any value is missing."""
        return any(bool((codes < 0).any()) for codes in self.codes)

    def firsts(self) -> Array:
        """Return int64[m]: a record of each class."""
        first = np.empty(len(self.sizes), np.int64)
        first[self.classes[::-1]] = np.arange(self.records)[::-1]
        return first

    @classmethod
    def of(cls, table: Any, keys: Any, caller: str) -> Keys:
        """Return the keys of a data frame; keys that are prepared already are returned as they are."""
        if isinstance(table, Keys):
            return table
        names = chosen(table, keys, "keys", caller)
        read = [codes_of(column, name) for name, column in columns(table, names, caller).items()]
        codes, counts = tuple(codes for codes, _ in read), tuple(count for _, count in read)
        classes, _ = combined(codes, counts)
        return cls(tuple(names), codes, counts, classes, np.bincount(classes))


@dataclass(frozen=True, repr=False)
class KeyCounts:
    """How many records share the key of each record.

    Attributes
    ----------
    sample : int64[n]
        The number of records of the table.
    population : float64[n] or None
        The sum of their weights: an estimate of their number in the population. None without weights.
    """

    sample: Array
    population: Array | None

    def __repr__(self) -> str:
        unique = int((self.sample == 1).sum())
        return f"KeyCounts({len(self.sample)} records, {unique} of them unique)"


def key_counts(table: Any, keys: Any, weight: Any = None, *, missing: str = "value") -> KeyCounts:
    """Return how many records share the key of each record: sample counts f and weighted counts F.

    Parameters
    ----------
    table : data frame
        Of any kind that narwhals supports.
    keys : names
        The attributes that an intruder may know.
    weight : str or array-like of shape (n,), optional
        The column of sampling weights, or the weights: how many people of the population each record stands for.
    missing : {"value", "any"}
        Whether a missing value is a value like any other, as in the audit of a release, or matches every value, as in
        sdcMicro's `freqCalc`. The second counts more records, and so shows less risk.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 30, 40], "town": ["Ulm", "Ulm", "Ulm"], "weight": [10, 20, 5]})
    >>> shoal.risk.key_counts(people, ["age", "town"], "weight").population.tolist()
    [30.0, 30.0, 5.0]
    """
    caller = "shoal.risk.key_counts"
    choice_of(missing, "missing", caller, ("value", "any"))
    prepared = Keys.of(table, keys, caller)
    weights = None if weight is None else weights_of(table, weight, prepared.records, caller)
    return counted(prepared, weights, missing)


def counted(keys: Keys, weights: Array | None, missing: str = "value") -> KeyCounts:
    """Return the counts of prepared keys."""
    wide = missing == "any" and keys.missing
    sums = None if weights is None else np.bincount(keys.classes, weights, len(keys.sizes))
    sample = matching(keys, keys.sizes) if wide else keys.sizes
    if sums is not None and wide:
        sums = matching(keys, sums)
    return KeyCounts(sample[keys.classes], None if sums is None else sums[keys.classes])


def matching(keys: Keys, amounts: Array) -> Array:
    """Return, for each class, the sum of amounts over all classes that match it, a missing value matching every value.

    Two records match if they are equal in all attributes that both have. Classes are compared by the attributes they
    lack: for each two sets of these, once.
    """
    firsts = keys.firsts()
    codes = [column[firsts] for column in keys.codes]
    lacking, pattern = np.unique(np.column_stack([column < 0 for column in codes]), axis=0, return_inverse=True)
    if len(lacking) > MOST_PATTERNS:
        raise TooLargeError(
            f"Missing values that match every value must follow at most {MOST_PATTERNS} patterns. Got {len(lacking)}.",
            hint="count them as a value of their own (missing='value').",
        )
    rows = [np.flatnonzero(pattern.ravel() == number) for number in range(len(lacking))]
    result = np.zeros(len(firsts), amounts.dtype)
    for a, own in enumerate(rows):
        for b, others in enumerate(rows):
            both = np.flatnonzero(~(lacking[a] | lacking[b]))
            at = np.concatenate([own, others])
            kinds, count = combined([codes[j][at] for j in both], [keys.counts[j] for j in both], len(at))
            sums = np.zeros(count, amounts.dtype)
            np.add.at(sums, kinds[len(own) :], amounts[others])
            result[own] += sums[kinds[: len(own)]]
    return result


def combined(codes: Sequence[Array], counts: Sequence[int], rows: int = 0) -> tuple[Array, int]:
    """Return int64[n], equal numbers 0 .. m - 1 for rows that are equal in all columns, and m.

    Parameters
    ----------
    codes : sequence of int64[n]
        From -1 (missing) on.
    counts : sequence of int
        Codes of each column are less.
    rows : int
        The number of rows, if there is no column.
    """
    if not codes:
        return np.zeros(rows, np.int64), 1
    numbers, bound = np.zeros(len(codes[0]), np.int64), 1
    for column, count in zip(codes, counts, strict=True):
        if bound * (count + 1) > 2**62:
            numbers, bound = renumbered(numbers, bound)
        numbers = numbers * (count + 1) + (column + 1)
        bound *= count + 1
    return renumbered(numbers, bound)


def renumbered(numbers: Array, bound: int) -> tuple[Array, int]:
    """Return numbers from 0 to bound - 1 as 0 .. m - 1 without gaps, and m."""
    if bound <= max(SMALL, ROOM * len(numbers)):
        place = np.zeros(bound, np.int64)
        place[numbers] = 1
        count = int(place.sum())
        place = np.cumsum(place) - 1
        return place[numbers], count
    kinds, place = np.unique(numbers, return_inverse=True)
    return place.astype(np.int64), len(kinds)
