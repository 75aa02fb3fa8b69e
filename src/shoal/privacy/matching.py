"""Which values of a population a published value may stand for.

A published value stands for the same value; an interval ``[a, b]``, ``[a, b)``, ... for the numbers, dates or levels
in it; a set ``{a, b}`` for its values; a node of a hierarchy for itself and everything below it; ``*`` for everything.

A missing value stands for a missing value, and a missing value of the population is matched by that and by ``*``. But a
group publishes "missing" if at least half of its members have no value, and a range of the present ones otherwise, so
that some members do not match in this sense. In a wider sense, a published missing value stands for everything, and a
missing value of the population is matched by everything.

The values of the population are sorted so that each published value stands for a few ranges of them.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.tables import columns as _columns
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.representatives import SUPPRESSED
from shoal.tables.values import Codes, Numbers

Range = tuple[int, int]

INTERVAL = re.compile(r"([\[(])(.+), (.+)([\])])", re.DOTALL)
SET = re.compile(r"\{(.*)\}", re.DOTALL)
MICROSECONDS = 1e6


class Matching(NamedTuple):
    """The values of a population that the published values of an attribute stand for.

    Attributes
    ----------
    published : int64[n]
        The number of the published value of each row.
    population : int64[N]
        The code of each row of the population. Rows with the same code are matched by the same published values.
    codes : int
        The number of codes.
    owners, lows, highs : int64[r]
        Published value owners[i] stands for the codes lows[i] .. highs[i] - 1. Sorted by owner, then ascending.
    missing : bool[n]
        Which rows publish a missing value.
    wider : Matching or None
        The same in the wider sense, if there are missing values on either side.
    """

    published: Array
    population: Array
    codes: int
    owners: Array
    lows: Array
    highs: Array
    missing: Array
    wider: Matching | None = None


class _Order(NamedTuple):
    """The sorted values of a population, and how to find them by their text."""

    codes: Array  # int64[N], -1 where missing
    values: int
    find: Callable[[str], Sequence[Range]]  # the ranges of values that a text stands for
    ordered: bool  # whether texts may be intervals; `find` then returns one range


def matched(
    published: Any,
    population: Any,
    name: str,
    *,
    hierarchy: Hierarchy | None = None,
    levels: Sequence[Any] = (),
    text: bool = False,
    decimal: str = ".",
) -> Matching:
    """Match the values of a published column with those of a population.

    Parameters
    ----------
    published, population : pyarrow.ChunkedArray
    name : str
        For messages.
    hierarchy : Hierarchy or None
    levels : values
        Levels of an ordinal attribute, lowest first, so that intervals of them can be read.
    text, decimal : bool, str
        Whether to infer types from text, and the decimal mark of numbers in it.
    """
    if text and hierarchy is None and not len(levels):  # labels such as 1.50 must stay text
        published, population = (_typed(column, decimal, name) for column in (published, population))
    if hierarchy is not None:
        order = _by_nodes(population, hierarchy, name)
    elif _scale(population) is None:
        order = _by_words(population, levels, name)
    else:
        numbers = _numbers(population, name)
        if _scale(published) == _scale(population):
            return _numbers_matched(_numbers(published, name), numbers)
        order = _by_size(numbers, _scale(population) == "time", decimal)
    words = _words(published, name)
    ranges = [_ranges(word, order) for word in words.levels]
    ranges.append([(order.values, order.values + 1)])  # missing values come last
    owners = np.repeat(np.arange(len(ranges)), [len(some) for some in ranges])
    bounds = np.array([pair for some in ranges for pair in some], np.int64).reshape(-1, 2)
    rows = np.where(words.codes < 0, len(words.levels), words.codes)
    codes = np.where(order.codes < 0, order.values, order.codes)
    strict = Matching(rows, codes, order.values + 1, owners, bounds[:, 0], bounds[:, 1], words.missing)
    return _in_both_senses(strict, len(words.levels))


def _in_both_senses(strict: Matching, none: int) -> Matching:
    """Return the matching with the wider one; its last code is that of missing values, and `none` publishes them."""
    last = strict.codes - 1
    wider = None
    if strict.missing.any() or (strict.population == last).any():
        published = np.arange(none + 1)
        covered = np.zeros(none + 1, bool)
        covered[strict.owners[strict.highs > last]] = True
        covered[none] = True
        kept, more = strict.owners != none, published[~covered]
        owners = np.concatenate([strict.owners[kept], more, [none]])
        lows = np.concatenate([strict.lows[kept], np.full(len(more), last), [0]])
        highs = np.concatenate([strict.highs[kept], np.full(len(more) + 1, last + 1)])
        order = np.lexsort((lows, owners))
        wider = _compact(strict._replace(owners=owners[order], lows=lows[order], highs=highs[order]))
    return _compact(strict)._replace(wider=wider)


def _compact(matching: Matching) -> Matching:
    """Merge codes that no published value distinguishes."""
    cuts = np.unique(np.concatenate([matching.lows, matching.highs]))
    return matching._replace(
        population=np.searchsorted(cuts, matching.population, side="right"),
        codes=len(cuts) + 1,
        lows=np.searchsorted(cuts, matching.lows, side="right"),
        highs=np.searchsorted(cuts, matching.highs, side="right"),
    )


def _numbers_matched(published: Array, population: Array) -> Matching:
    """Match plain numbers: equal ones match."""
    missing = np.isnan(published)
    values = np.unique(published[~missing])
    own = np.unique(population[~np.isnan(population)])
    rows = np.where(missing, len(values), np.searchsorted(values, published))
    codes = np.where(np.isnan(population), len(own), np.searchsorted(own, population))
    place = np.searchsorted(own, values)
    same = np.append(own, np.nan)[place] == values
    owners = np.append(np.flatnonzero(same), len(values))
    lows = np.append(place[same], len(own))
    return _in_both_senses(Matching(rows, codes, len(own) + 1, owners, lows, lows + 1, missing), len(values))


# --- sorting the values of a population ---


def _by_size(numbers: Array, times: bool, decimal: str) -> _Order:
    values, codes = np.unique(numbers[~np.isnan(numbers)], return_inverse=True)
    placed = np.full(len(numbers), -1, np.int64)
    placed[~np.isnan(numbers)] = codes
    plain = values.tolist()

    def find(word: str) -> list[Range]:
        number = _moment(word) if times else _number(word, decimal)
        return [] if number is None else [(bisect_left(plain, number), bisect_right(plain, number))]

    return _Order(placed, len(plain), find, True)


def _by_words(population: Any, levels: Sequence[Any], name: str) -> _Order:
    import pyarrow as pa

    ordinal = len(levels) > 0 or (pa.types.is_dictionary(population.type) and population.type.ordered)
    values = _words(population, name, levels if ordinal else None)
    place = {word: i for i, word in enumerate(values.levels)}

    def find(word: str) -> list[Range]:
        return [(place[word], place[word] + 1)] if word in place else []

    return _Order(values.codes, len(place), find, ordinal)


def _by_nodes(population: Any, hierarchy: Hierarchy, name: str) -> _Order:
    """Sort values by their nodes, so that those below a node are adjacent; values without a node come last."""
    values = _words(population, name)
    lost = set(hierarchy.uncovered(values.levels))
    inside = np.array([word not in lost for word in values.levels], bool)
    nodes = np.full(len(inside), len(hierarchy), np.int64)
    nodes[inside] = hierarchy.nodes_of([word for word in values.levels if word not in lost], name)
    order = np.argsort(nodes, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    sorted_nodes = nodes[order]
    ends = np.arange(1, len(hierarchy) + 1)
    for node in range(len(hierarchy) - 1, 0, -1):
        ends[hierarchy.parents[node]] = max(ends[hierarchy.parents[node]], ends[node])
    labels: dict[str, list[int]] = {}
    for node, label in enumerate(hierarchy.labels):
        labels.setdefault(label, []).append(node)
    place = dict(zip(values.levels, rank.tolist(), strict=True))

    def find(word: str) -> list[Range]:
        if word not in labels:
            return [(place[word], place[word] + 1)] if word in place else []
        # Several nodes may have the same label, and the published text does not say which is meant.
        spans = np.array([(node, ends[node]) for node in labels[word]])
        return [(int(a), int(b)) for a, b in np.searchsorted(sorted_nodes, spans) if a < b]

    codes = np.append(rank, -1)[values.codes]
    return _Order(codes, len(rank), find, False)


# --- reading published texts ---


def _ranges(word: str, order: _Order) -> list[Range]:
    """Return the ranges of codes that a published text stands for, disjoint and ascending."""
    if word == SUPPRESSED:
        return [(0, order.values + 1)]
    ranges = list(order.find(word))
    interval = INTERVAL.fullmatch(word) if order.ordered else None
    if not ranges and interval is not None:
        opening, low, high, closing = interval.groups()
        ends = [*order.find(low), *order.find(high)]
        if len(ends) == 2:
            ranges = [(ends[0][opening == "("], ends[1][closing == "]"])]
    members = SET.fullmatch(word)
    if not ranges and members is not None:
        ranges = _members(members[1].split(", "), order.find)
    return _disjoint(ranges)


def _members(parts: list[str], find: Callable[[str], Sequence[Range]]) -> list[Range]:
    """Return the ranges of the members of a set.

    Values may contain commas themselves, so the longest texts are tried first: ``{a, b, c}`` has the value ``a, b`` if
    the population has it, and else ``a`` and ``b``. The text alone does not tell more.
    """
    ranges: list[Range] = []
    at = 0
    while at < len(parts):
        for stop in range(len(parts), at, -1):
            some = find(", ".join(parts[at:stop]))
            if some or stop == at + 1:
                ranges.extend(some)
                at = stop
                break
    return ranges


def _disjoint(ranges: list[Range]) -> list[Range]:
    """Return the union of ranges as ascending ranges that do not touch."""
    result: list[Range] = []
    for low, high in sorted(ranges):
        if result and low <= result[-1][1]:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        elif low < high:
            result.append((low, high))
    return result


def _number(word: str, decimal: str) -> float | None:
    try:
        number = float(word if decimal == "." else word.replace(decimal, "."))
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _moment(word: str) -> float | None:
    """Return an ISO 8601 date or time as seconds since 1970; infinite bounds stay infinite."""
    if word in ("-inf", "inf"):
        return float(word)
    try:
        moment = datetime.fromisoformat(word.removesuffix(" UTC"))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


# --- columns ---


def _typed(column: Any, decimal: str, name: str) -> Any:
    """Return a column of text as the type inferred from it."""
    import pyarrow as pa

    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return _columns.typed(column, decimal, name) if is_text else column


def _scale(column: Any) -> str | None:
    """Return the scale of a column, ``number`` or ``time``; None for words."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    return "time" if pa.types.is_date(kind) or pa.types.is_timestamp(kind) else None


def _numbers(column: Any, name: str) -> Array:
    """Return a column of numbers, or of dates in seconds, as float64[n]; NaN where missing."""
    kind = "continuous" if _scale(column) == "number" else "datetime"
    values, _ = _columns.decode(column, kind, name=name)
    if not isinstance(values, Numbers):
        raise DataError(f"The column {name!r} must hold numbers or dates. Got others.")
    return values.values + 0.0 if kind == "continuous" else values.values / MICROSECONDS


def _words(column: Any, name: str, levels: Sequence[Any] | None = None) -> Codes:
    """Return the words of a column; those of an ordinal one in the order of its levels or categories."""
    import pyarrow as pa

    if pa.types.is_date(column.type):
        column = column.cast(pa.string())
    values, _ = _columns.decode(column, "nominal" if levels is None else "ordinal", levels=levels or (), name=name)
    if not isinstance(values, Codes):
        raise DataError(f"The column {name!r} must hold words. Got others.")
    return values
