"""Special uniques: records that few attributes single out (SUDA2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import TooLargeError
from shoal.risk.keys import ROOM, SMALL, Keys, renumbered
from shoal.tables.inputs import count_of, fraction_of

# The most subsets of attributes times classes that are looked at.
LIMIT = 20_000_000_000


@dataclass(frozen=True, repr=False)
class Suda:
    """Scores of special uniques.

    Attributes
    ----------
    scores : float64[n]
        The SUDA score of each record, 0 if no set of attributes makes it unique.
    dis_scores : float64[n]
        The DIS-SUDA score of each record: an estimate of the chance that a match of it is right.
    contributions : float64[n, d]
        The share of each record's score that comes from sets with each attribute; rows of 0 where the score is 0. A set
        counts for all its attributes, so that a row may add up to more than 1.
    attributes : float64[d]
        The same for all scores together, from 0 to 1.
    names : tuple of str
        Of the attributes.
    sizes : int64[d]
        The number of minimal sample uniques of 1, 2, .. d attributes.
    """

    scores: Array
    dis_scores: Array
    contributions: Array
    attributes: Array
    names: tuple[str, ...]
    sizes: Array

    def __repr__(self) -> str:
        special = int((self.scores > 0).sum())
        return f"Suda({len(self.scores)} records, {special} of them special uniques)"


def suda(table: Any, keys: Any, fraction: float = 0.1, *, largest: int | None = None) -> Suda:
    """Return SUDA2 scores: how many sets of attributes single out each record, and how small these are.

    A minimal sample unique (MSU) of a record is a set of attributes in which it is unique, while it is so in no part of
    the set. Of d attributes, an MSU of size s adds (d - s)! to the score of its record. All MSUs are found: a set is
    looked at only for records that are unique in none of its parts, as no other record can equal one that is.

    The DIS-SUDA score scales the scores so that they agree with the estimate of Skinner and Elliot for the whole
    table, U q / (U q + P (1 - q)), for U unique records, P records in pairs and a sampling fraction q.

    A missing value belongs to no MSU and equals no other value, as in sdcMicro; U and P take it for a value.

    Manning, A. M., Haglin, D. J., Keane, J. A. (2008): A recursive search algorithm for statistical disclosure
    assessment. Data Mining and Knowledge Discovery 16.

    Parameters
    ----------
    table : data frame
    keys : names
    fraction : float
        The sampling fraction: which part of the population is in the table.
    largest : int, optional
        The size of the largest MSUs to look for. By default all sizes.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 30, 40, 40], "sex": list("fmfm"), "town": ["Ulm", "Ulm", "Ulm", "Bonn"]})
    >>> shoal.risk.suda(people, ["age", "sex", "town"]).scores.tolist()
    [1.0, 2.0, 2.0, 3.0]
    """
    caller = "shoal.risk.suda"
    fraction = fraction_of(fraction, "fraction", caller)
    prepared = Keys.of(table, keys, caller)
    d = len(prepared.names)
    largest = d if largest is None else count_of(largest, "largest", caller, most=d)
    subsets = sum(comb(d, size) for size in range(1, largest + 1))
    if subsets * len(prepared.sizes) > LIMIT:
        raise TooLargeError(
            f"The sets of attributes of {caller}, times the classes, must be at most {LIMIT}. Got {subsets} sets of "
            f"{len(prepared.sizes)} classes.",
            hint="name fewer keys, or look for smaller sets only (largest=3).",
        )
    firsts = prepared.firsts()
    scores, parts, sizes = np.zeros(len(firsts)), np.zeros((len(firsts), d)), np.zeros(d, np.int64)
    for attributes, rows in _minimal(prepared, firsts, largest):
        worth = factorial(d - len(attributes))
        scores[rows] += worth
        parts[np.ix_(rows, np.array(attributes))] += worth
        sizes[len(attributes) - 1] += len(rows)
    total = scores.sum()
    overall = parts.sum(axis=0) / total if total else np.zeros(d)
    np.divide(parts, scores[:, None], out=parts, where=scores[:, None] > 0)
    dis = _dis(scores, prepared.sizes, d, fraction)
    at = prepared.classes
    return Suda(scores[at], dis[at], parts[at], overall, prepared.names, sizes)


def _minimal(keys: Keys, firsts: Array, largest: int) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Yield sets of attributes, smaller ones first, with the classes for which they are minimal uniques."""
    codes = [column[firsts] for column in keys.codes]
    single = keys.sizes == 1
    shared: dict[tuple[int, ...], Array] = {}  # packed bits: classes that are unique in no part, for sets of one size
    m = len(firsts)
    for size in range(1, largest + 1):
        before, shared = shared, {}
        for attributes in combinations(range(len(codes)), size):
            open_to = _candidates(attributes, before, codes, m)
            if open_to is None:
                continue
            alone = _alone([codes[j][open_to] for j in attributes], [keys.counts[j] for j in attributes])
            # Several records of one class are equal, but stand in one row here.
            unique = alone & single[open_to]
            if unique.any():
                yield attributes, open_to[unique]
            left = np.zeros(m, bool)
            left[open_to[~unique]] = True
            shared[attributes] = np.packbits(left)


def _candidates(
    attributes: tuple[int, ...], before: dict[tuple[int, ...], Array], codes: Sequence[Array], m: int
) -> Array | None:
    """Return the classes that are unique in no part of a set and lack none of its values; None if there are none."""
    if len(attributes) == 1:
        return np.flatnonzero(codes[attributes[0]] >= 0)
    bits: Array | None = None
    for left_out in range(len(attributes)):
        part = before.get(attributes[:left_out] + attributes[left_out + 1 :])
        if part is None:
            return None
        bits = part if bits is None else bits & part
    rows = np.flatnonzero(np.unpackbits(bits, count=m))  # type: ignore[arg-type]
    return rows if len(rows) else None


def _alone(codes: Sequence[Array], counts: Sequence[int]) -> Array:
    """Return bool[n]: which rows equal no other row."""
    numbers, bound = codes[0], counts[0]
    for column, count in zip(codes[1:], counts[1:], strict=True):
        if bound * count > 2**62:
            numbers, bound = renumbered(numbers, bound)
        numbers = numbers * count + column
        bound *= count
    if bound <= max(SMALL, ROOM * len(numbers)):
        return np.asarray(np.bincount(numbers, minlength=bound)[numbers] == 1)
    return _alone_hashed(numbers)


def _alone_hashed(numbers: Array) -> Array:
    """Return bool[n]: which numbers occur once. The numbers are spread over a table, without sorting.

    One number owns each place of the table; those of others in this place, few, are spread again by themselves.
    """
    result = np.zeros(len(numbers), bool)
    at, turn = np.arange(len(numbers)), 0
    while len(at):
        here = numbers[at]
        if len(at) < 256 or turn == 8:
            place, times = np.unique(here, return_inverse=True, return_counts=True)[1:]
            result[at[times[place] == 1]] = True
            break
        bits = max(8, int(2 * len(at)).bit_length())
        odd = np.uint64(0x9E3779B97F4A7C15 + 2 * turn * 0x632BE59BD9B4E019 & 0xFFFFFFFFFFFFFFFF)
        place = ((here.astype(np.uint64) * odd) >> np.uint64(64 - bits)).astype(np.int64)
        owner = np.empty(1 << bits, np.int64)
        owner[place] = here
        owned = owner[place] == here
        times = np.bincount(place[owned], minlength=1 << bits)
        result[at[owned]] = times[place[owned]] == 1
        at, turn = at[~owned], turn + 1
    return result


def _dis(scores: Array, sizes: Array, d: int, fraction: float) -> Array:
    """Return the DIS-SUDA scores of classes with these scores and sizes."""
    paired = 2 * int((sizes == 2).sum())
    some = scores > 0
    result = np.zeros(len(scores))
    if some.any():
        # U / DIS - U, where DIS = U q / (U q + P (1 - q)).
        odds = paired * (1.0 - fraction) / fraction
        power = scores[some] ** (1.0 + (8.0 - d) / 20.0)
        result[some] = 1.0 / (1.0 + odds / (power * (1.0 / power).sum()))
    return result
