"""How often each group has each value of a sensitive attribute: all that models of privacy look at.

Counts are kept only where they are not 0, so that a million rows in a hundred thousand groups take a sort and a few
passes, however many values there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.tables.sensitive import Ground, Line, Sensitive, Tree

__all__ = ["Ground", "Line", "Sensitive", "Spectrum", "Tree", "spectrum_of"]


class Spectrum(NamedTuple):
    """The values of each group, and of the whole table.

    Attributes
    ----------
    starts : int64[m + 1]
        Group g has the entries starts[g] .. starts[g + 1] - 1.
    codes, counts : int64[e]
        The values of a group, rising, and how many of its records have each.
    missing : int64[m]
        Records of each group without a value.
    whole : int64[values]
        How many records of the table have each value.
    whole_missing : int
    ground : Line, Tree or None
    """

    starts: Array
    codes: Array
    counts: Array
    missing: Array
    whole: Array
    whole_missing: int
    ground: Ground

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
        """Return int64[m]: records of each group that have a value."""
        return self.totals(self.counts)

    @property
    def sizes(self) -> Array:
        """Return int64[m]: records of each group."""
        return self.known + self.missing

    @property
    def shares(self) -> Array:
        """Return float64[e]: which part of the known values of its group each entry is."""
        return np.asarray(self.counts / np.repeat(self.known, np.diff(self.starts)))

    @property
    def whole_shares(self) -> Array:
        """Return float64[values]: which part of the known values of the table each is."""
        return self.whole / max(1, int(self.whole.sum()))

    def totals(self, amounts: Array) -> Array:
        """Return the sum over the entries of each group, in the type of `amounts`."""
        sums = np.zeros(self.groups, amounts.dtype)
        some = np.flatnonzero(np.diff(self.starts))  # reduceat knows no empty stretch
        if len(some):
            sums[some] = np.add.reduceat(amounts, self.starts[some])
        return sums

    def greatest(self, amounts: Array, otherwise: float) -> Array:
        """Return float64[m]: the greatest over the entries of each group, or `otherwise` where it has none."""
        found = np.full(self.groups, otherwise)
        some = np.flatnonzero(np.diff(self.starts))
        if len(some):
            found[some] = np.maximum.reduceat(amounts, self.starts[some])
        return found

    def with_missing(self) -> Spectrum:
        """Return the spectrum in which missing is one more value, the last one, if some are: for the equal distance."""
        if self.whole_missing == 0:
            return self
        some = np.flatnonzero(self.missing)
        own = np.concatenate([self.owners, some])
        last = len(self.whole)
        codes = np.concatenate([self.codes, np.full(len(some), last)])
        counts = np.concatenate([self.counts, self.missing[some]])
        whole = np.append(self.whole, self.whole_missing)
        nobody = np.zeros_like(self.missing)
        return _entries(own, codes, counts, nobody, whole, 0, self.ground)

    def in_one(self) -> Spectrum:
        """Return the spectrum of the whole table as a single group."""
        codes = np.flatnonzero(self.whole)
        missing = np.array([self.whole_missing])
        return self._replace(starts=np.array([0, len(codes)]), codes=codes, counts=self.whole[codes], missing=missing)

    def take(self, groups: Array) -> Spectrum:
        """Return the spectrum of some groups, in this order; one may stand there several times."""
        lengths = np.diff(self.starts)[groups]
        starts = np.concatenate(([0], np.cumsum(lengths)))
        at = np.repeat(self.starts[groups] - starts[:-1], lengths) + np.arange(starts[-1])
        return self._replace(starts=starts, codes=self.codes[at], counts=self.counts[at], missing=self.missing[groups])

    def pooled(self, target: Array) -> Spectrum:
        """Return the spectrum of unions: group g becomes part of group target[g], which are 0 .. without a gap."""
        missing = np.bincount(target, self.missing).astype(np.int64)
        own = target[self.owners]
        return _entries(own, self.codes, self.counts, missing, self.whole, self.whole_missing, self.ground)


def spectrum_of(labels: Array, sensitive: Sensitive, rows: Array | None = None) -> Spectrum:
    """Return the spectrum of groups.

    Parameters
    ----------
    labels : int64[n]
        Group of each record, 0 .. m - 1 without a gap.
    sensitive : Sensitive
        Of the whole table.
    rows : int64[n] or None
        The records that the labels are of; all of them if not said.
    """
    own = sensitive.codes if rows is None else sensitive.codes[rows]
    groups = int(labels.max()) + 1 if len(labels) else 0
    known = own >= 0
    missing = np.bincount(labels[~known], minlength=groups)
    whole = np.bincount(sensitive.codes[sensitive.codes >= 0], minlength=sensitive.values)
    return _entries(
        labels[known],
        own[known],
        None,
        missing,
        whole,
        len(sensitive.codes) - int(whole.sum()),
        sensitive.ground,
    )


def _entries(
    own: Array, codes: Array, counts: Array | None, missing: Array, whole: Array, whole_missing: int, ground: Ground
) -> Spectrum:
    """Return the spectrum of entries in any order, those of the same group and value put together."""
    width = max(1, len(whole))
    keys = own * width + codes
    if counts is None:
        kinds, amounts = np.unique(keys, return_counts=True)
    else:
        kinds, place = np.unique(keys, return_inverse=True)
        amounts = np.bincount(place, counts).astype(np.int64)
    starts = np.searchsorted(kinds, np.arange(len(missing) + 1) * width)
    return Spectrum(starts, kinds % width, amounts, missing, whole, whole_missing, ground)
