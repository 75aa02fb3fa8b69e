"""How often each value of a sensitive attribute occurs in each group: all that privacy models look at.

Only counts above 0 are kept, so a million rows in a hundred thousand groups take a sort and a few passes, however many
values there are.

Where units (persons, households, ...) are counted, every unit of a group counts as one. If it has several records in
the group, each of them counts an equal part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.tables.sensitive import Ground, Line, Sensitive, Tree

__all__ = ["Ground", "Line", "Sensitive", "Spectrum", "Tree", "spectrum_of"]


class Parts(NamedTuple):
    """How many records of each unit have each value, in each group; sorted by group.

    Attributes
    ----------
    owners, units, codes, counts : int64[p]
        Group, unit, value (-1 if missing), and the number of records.
    """

    owners: Array
    units: Array
    codes: Array
    counts: Array


class Spectrum(NamedTuple):
    """The values of each group, and of the whole table.

    Attributes
    ----------
    starts : int64[m + 1]
        Group g has the entries starts[g] .. starts[g + 1] - 1.
    codes, counts : int64[e]
        The values of a group in ascending order, and how many of its records have each.
    missing : int64[m]
        Number of records of each group without a value.
    whole : int64[values]
        Number of records of the table with each value.
    whole_missing : int
        Number of records of the table without a value.
    ground : Line, Tree or None
    parts : Parts or None
        If units are counted: what the counts, which are float64 then, were made of.
    """

    starts: Array
    codes: Array
    counts: Array
    missing: Array
    whole: Array
    whole_missing: float
    ground: Ground
    parts: Parts | None = None

    @property
    def groups(self) -> int:
        """Return the number of groups."""
        return len(self.missing)

    @property
    def owners(self) -> Array:
        """Return int64[e]: the group of each entry."""
        return np.repeat(np.arange(self.groups), np.diff(self.starts))

    @property
    def known(self) -> Array:
        """Return int64[m]: the number of records of each group that have a value."""
        return self.totals(self.counts)

    @property
    def sizes(self) -> Array:
        """Return int64[m]: the number of records of each group, or of units if they are counted."""
        sizes = self.known + self.missing
        return sizes if self.parts is None else np.rint(sizes).astype(np.int64)

    @property
    def shares(self) -> Array:
        """Return float64[e]: each count as a share of the known values of its group."""
        return np.asarray(self.counts / np.repeat(self.known, np.diff(self.starts)))

    @property
    def whole_shares(self) -> Array:
        """Return float64[values]: the share of each value among the known values of the table."""
        total = self.whole.sum()
        return self.whole / (total if total > 0 else 1)

    def totals(self, amounts: Array) -> Array:
        """Return the sum over the entries of each group, in the type of `amounts`."""
        sums = np.zeros(self.groups, amounts.dtype)
        some = np.flatnonzero(np.diff(self.starts))  # reduceat cannot handle empty slices
        if len(some):
            sums[some] = np.add.reduceat(amounts, self.starts[some])
        return sums

    def greatest(self, amounts: Array, otherwise: float) -> Array:
        """Return float64[m]: the greatest amount among the entries of each group, or `otherwise` if it has none."""
        maxima = np.full(self.groups, otherwise)
        some = np.flatnonzero(np.diff(self.starts))
        if len(some):
            maxima[some] = np.maximum.reduceat(amounts, self.starts[some])
        return maxima

    def with_missing(self) -> Spectrum:
        """Return the spectrum with missing as one more value, the last one, if any values are missing."""
        if self.whole_missing == 0:
            return self
        some = np.flatnonzero(self.missing)
        owners = np.concatenate([self.owners, some])
        last = len(self.whole)
        codes = np.concatenate([self.codes, np.full(len(some), last)])
        counts = np.concatenate([self.counts, self.missing[some]])
        whole = np.append(self.whole, self.whole_missing)
        nobody = np.zeros_like(self.missing)
        return _entries(owners, codes, counts, nobody, whole, 0, self.ground)._replace(parts=self.parts)

    def in_one(self) -> Spectrum:
        """Return the spectrum of the whole table as a single group."""
        codes = np.flatnonzero(self.whole)
        missing = np.array([self.whole_missing])
        return self._replace(starts=np.array([0, len(codes)]), codes=codes, counts=self.whole[codes], missing=missing)

    def take(self, groups: Array) -> Spectrum:
        """Return the spectrum of some groups in this order; a group may occur several times."""
        if self.parts is not None:
            owners = self.parts.owners
            first = np.searchsorted(owners, groups)
            counts = np.searchsorted(owners, groups, side="right") - first
            ends = np.cumsum(counts)
            rows = np.repeat(first - (ends - counts), counts) + np.arange(counts.sum())
            taken = Parts(np.repeat(np.arange(len(groups)), counts), *(one[rows] for one in self.parts[1:]))
            return self._of(taken, len(groups))
        lengths = np.diff(self.starts)[groups]
        starts = np.concatenate(([0], np.cumsum(lengths)))
        at = np.repeat(self.starts[groups] - starts[:-1], lengths) + np.arange(starts[-1])
        return self._replace(starts=starts, codes=self.codes[at], counts=self.counts[at], missing=self.missing[groups])

    def pooled(self, target: Array) -> Spectrum:
        """Return the spectrum of unions: group g becomes part of group target[g], numbered 0, 1, ... without gaps."""
        if self.parts is not None:
            owners = target[self.parts.owners]
            order = np.argsort(owners, kind="stable")
            parts = Parts(owners[order], *(one[order] for one in self.parts[1:]))
            return self._of(parts, int(target.max()) + 1)
        missing = np.bincount(target, self.missing).astype(np.int64)
        return _entries(
            target[self.owners], self.codes, self.counts, missing, self.whole, self.whole_missing, self.ground
        )

    def _of(self, parts: Parts, groups: int) -> Spectrum:
        return _of_units(parts, groups, self.whole, self.whole_missing, self.ground)


def spectrum_of(labels: Array, sensitive: Sensitive, rows: Array | None = None) -> Spectrum:
    """Return the spectrum of groups.

    Parameters
    ----------
    labels : int64[n]
        Group of each record, from 0 to m - 1 without gaps.
    sensitive : Sensitive
        Of the whole table.
    rows : int64[n] or None
        The records that have these labels. None: all of them.
    """
    codes = sensitive.codes if rows is None else sensitive.codes[rows]
    groups = int(labels.max()) + 1 if len(labels) else 0
    whole, absent = whole_of(sensitive) if sensitive.whole is None else sensitive.whole
    if sensitive.units is not None:
        units = sensitive.units if rows is None else sensitive.units[rows]
        return _of_units(_parts(labels, units, codes), groups, whole, absent, sensitive.ground)
    known = codes >= 0
    missing = np.bincount(labels[~known], minlength=groups)
    return _entries(labels[known], codes[known], None, missing, whole, absent, sensitive.ground)


def whole_of(sensitive: Sensitive) -> tuple[Array, float]:
    """Return how many records, or units if they are counted, have each value, and how many have none."""
    if sensitive.units is not None:
        everyone = _parts(np.zeros(len(sensitive.codes), np.int64), sensitive.units, sensitive.codes)
        share = everyone.counts / _rows_of_units(everyone)
        known = everyone.codes >= 0
        return np.bincount(everyone.codes[known], share[known], sensitive.values), float(share[~known].sum())
    whole = np.bincount(sensitive.codes[sensitive.codes >= 0], minlength=sensitive.values)
    return whole, len(sensitive.codes) - int(whole.sum())


def _entries(
    owners: Array,
    codes: Array,
    counts: Array | None,
    missing: Array,
    whole: Array,
    whole_missing: float,
    ground: Ground,
) -> Spectrum:
    """Return the spectrum of entries in any order. Entries of the same group and value are added up."""
    width = max(1, len(whole))
    keys = owners * width + codes
    if counts is None:
        kinds, amounts = np.unique(keys, return_counts=True)
    else:
        kinds, place = np.unique(keys, return_inverse=True)
        amounts = np.bincount(place, counts).astype(counts.dtype)
    starts = np.searchsorted(kinds, np.arange(len(missing) + 1) * width)
    return Spectrum(starts, kinds % width, amounts, missing, whole, whole_missing, ground)


def _parts(labels: Array, units: Array, codes: Array) -> Parts:
    """Return how many records each unit has of each value, by group."""
    order = np.lexsort((codes, units, labels))
    rows = np.column_stack([labels[order], units[order], codes[order]])
    first = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]).any(axis=1))[: len(rows)])
    owners, own_units, values = rows[first].T
    return Parts(owners, own_units, values, np.diff(np.append(first, len(rows))))


def _rows_of_units(parts: Parts) -> Array:
    """Return int64[p]: how many records the unit of each part has in its group."""
    keys = parts.owners * (int(parts.units.max()) + 1 if len(parts.units) else 1) + parts.units
    _, place = np.unique(keys, return_inverse=True)
    rows: Array = np.bincount(place, parts.counts)[place]
    return rows


def _of_units(parts: Parts, groups: int, whole: Array, whole_missing: float, ground: Ground) -> Spectrum:
    """Return the spectrum in which every unit of a group counts as one, in equal parts for each of its records."""
    share = parts.counts / _rows_of_units(parts)
    known = parts.codes >= 0
    missing = np.bincount(parts.owners[~known], share[~known], groups)
    found = _entries(parts.owners[known], parts.codes[known], share[known], missing, whole, whole_missing, ground)
    return found._replace(parts=parts)
