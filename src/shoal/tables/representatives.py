"""What a group publishes in place of the values of its members.

A group publishes "missing" if at least half of its members, counted without weights, are missing. Otherwise it
publishes a representative of the present members for all of its members. This holds for intervals, sets and ancestors
too: they cover the present members, and members with a missing value (always fewer than half) get the same text.

Weights affect means, medians, modes, medoids and leaves; an interval, a set or an ancestor covers every present member
whatever its weight. If all present members of a group have weight 0, they count equally.

What is published does not depend on the order of rows, except for ties: a medoid is the first of equally close rows,
and among equal values with different weights a trimmed mean leaves out the first ones below and the last ones above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, near_names
from shoal.tables.embedding import check_kind, unit_vectors
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.members import Members, checked_weights, present_members
from shoal.tables.outward import rounded_ends
from shoal.tables.sums import power_above, segment_sums
from shoal.tables.values import Chosen, Codes, Computed, GroupedRows, Places, Rows, Texts, Values

SUPPRESSED = "*"
_NO_DIRECTION = 1e-12  # a mean of unit vectors shorter than this has no direction

_OF_NUMBERS = ("mean", "median", "trimmed-mean", "geometric-mean", "medoid", "interval", "suppression")
# Dates have no natural zero, so their geometric mean is meaningless.
_OF_DATES = tuple(how for how in _OF_NUMBERS if how != "geometric-mean")

REPRESENTATIVES: dict[str, tuple[str, ...]] = {
    "continuous": _OF_NUMBERS,
    "integer": _OF_NUMBERS,
    "date": _OF_DATES,
    "datetime": _OF_DATES,
    "ordinal": ("median", "mode", "interval", "suppression"),
    "nominal": ("mode", "set", "suppression"),
    "boolean": ("mode", "set", "suppression"),
    "hierarchical": ("leaf", "ancestor", "mode", "suppression"),
    "place": ("mean", "medoid", "suppression"),
}
"""The representatives of each kind; the first is the default."""


def represent(
    values: Values,
    groups: GroupedRows,
    how: str | None = None,
    *,
    kind: str,
    hierarchy: Hierarchy | None = None,
    weights: Array | None = None,
    trim: float,
    text: Callable[[Array], Sequence[str]] | None = None,
    interval: Callable[[Array, Array], Sequence[str]] | None = None,
    digits: int | None = None,
    scientific: bool = False,
    name: str = "the attribute",
) -> Chosen:
    """Return what each group publishes of an attribute.

    Parameters
    ----------
    values : Numbers, Codes or Places
    groups : GroupedRows
        No group may be empty.
    how : str, optional
        One of ``REPRESENTATIVES[kind]``, by default the first.

        - *mean*, *trimmed-mean*, *geometric-mean*: within the range of the group, and exactly the value if all are
          equal. The mean of places is the direction of the mean of their unit vectors, or the medoid if that mean has
          no direction (antipodes).
        - *median*: for an even number of members, the midpoint of the two middle values if the attribute is continuous,
          else the lower of them.
        - *medoid*: the member closest to the mean.
        - *mode*: the most frequent value; ties go to the value that is more frequent in the table, then to the first
          level.
        - *leaf*: the member with the least sum of tree distances to the others; ties as for the mode.
        - *ancestor*: the closest common ancestor. *interval*: ``[lowest, highest]``. *set*: ``{a, b}`` in the order
          of the levels. All three are the plain value if all members are equal.
        - *suppression*: ``*`` for every group, even if values are missing.
    kind : str
    hierarchy : Hierarchy
        For *leaf* and *ancestor*.
    weights : float64[n], optional
        Finite and not negative.
    trim : float
        For the trimmed mean: the share of members to leave out at each end, 0 <= trim < 0.5, rounded down to whole
        members.
    text : callable, optional
        For intervals of numbers: writes an array of numbers as texts. By default the shortest texts that round-trip,
        and ISO 8601 for dates.
    interval : callable, optional
        For intervals of numbers: writes the lowest and the highest values of all groups as intervals. By default
        ``[lowest, highest]``, written by `text`.
    digits : int, optional
        For intervals of numbers: the decimal places to which their ends are rounded, outward.
    scientific : bool
        Whether these are the places before exponents.
    name : str
        Whose values they are, for messages.

    Returns
    -------
    Computed, Rows or Texts
        Numbers are not rounded.
    """
    check_kind(values, kind)
    how = _checked_how(how, kind, name)
    if how == "suppression":
        return Texts((SUPPRESSED,) * (len(groups.starts) - 1))
    members = present_members(values.missing, groups, checked_weights(weights, len(groups.labels), name))
    if len(members.rows) == 0:
        return _nothing(values, how, len(members.live))
    if isinstance(values, Places):
        return _of_places(values.degrees[members.rows], members, how)
    if isinstance(values, Codes):
        if how not in ("leaf", "ancestor"):
            return _of_levels(values, members, how)
        if hierarchy is None:
            raise OptionError(f"A hierarchical attribute must have a hierarchy. Got none for {name}.")
        return _of_nodes(values, members, how, hierarchy, name)
    x = values.values[members.rows] + 0.0  # turns -0 into 0: which is published must not depend on the order of rows
    if how == "trimmed-mean":
        return _computed(_trimmed_mean(x, members, trim), members)
    if how == "geometric-mean":
        return _computed(_geometric_mean(x, members, values.values, name), members)
    if how == "interval":
        low, high = np.minimum.reduceat(x, members.starts), np.maximum.reduceat(x, members.starts)
        if interval is None and digits is not None:
            # Rounded outward: a range that does not contain its members would be wrong about them.
            low, high = rounded_ends(low, high, digits, scientific=scientific)
        write = interval if interval is not None else _closed(text if text is not None else _plain_texts(kind))
        return _texts(write(low, high), members)
    return _of_numbers(x, members, how, kind)


def _checked_how(how: str | None, kind: str, name: str) -> str:
    known = REPRESENTATIVES[kind]
    if how is None:
        return known[0]
    if how not in known:
        raise OptionError(
            f"What represents a group in a {kind} attribute must be one of {', '.join(known)}. Got {how!r} for {name}.",
            hint=near_names(how, known, f"the default is {known[0]!r}."),
        )
    return how


# --- results ---


def _nothing(values: Values, how: str, m: int) -> Chosen:
    """Return what is published if all groups publish "missing"."""
    if how in ("interval", "set", "ancestor"):
        return Texts((None,) * m)
    if how == "medoid" or isinstance(values, Codes):
        return Rows(np.full(m, -1))
    return Computed(np.full((m, 2) if isinstance(values, Places) else m, np.nan))


def _computed(numbers: Array, members: Members) -> Computed:
    result = np.full((len(members.live), *numbers.shape[1:]), np.nan)
    result[members.live] = numbers
    return Computed(result)


def _rows(positions: Array, members: Members) -> Rows:
    result = np.full(len(members.live), -1)
    result[members.live] = members.rows[positions]
    return Rows(result)


def _texts(texts: Sequence[str], members: Members) -> Texts:
    published = iter(texts)
    return Texts(tuple(next(published) if live else None for live in members.live.tolist()))


# --- numbers ---


def _of_numbers(x: Array, members: Members, how: str, kind: str) -> Chosen:
    if how == "mean":
        return _computed(_mean(x, members), members)
    if how == "median":
        return _computed(_median(x, members, between=kind == "continuous"), members)
    # The medoid. Halved, so that differences cannot overflow.
    return _rows(_closest(np.abs(0.5 * x - members.spread(0.5 * _mean(x, members))), members), members)


def _mean(x: Array, members: Members) -> Array:
    """Return the means of groups: independent of the order of members, and within the range of the group."""
    power = power_above(np.maximum.reduceat(np.abs(x), members.starts))
    scaled = x / members.spread(power)
    if members.weights is None:
        mean = segment_sums(scaled, members.starts) / members.sizes
    else:
        # Weights are scaled to at most 1, to keep products in the range of exact sums; powers of two round nothing.
        unit = power_above(np.maximum.reduceat(members.weights, members.starts))
        scaled *= members.weights / members.spread(unit)
        mean = segment_sums(scaled, members.starts) / (np.add.reduceat(members.weights, members.starts) / unit)
    return _within(mean * power, x, members)


def _geometric_mean(x: Array, members: Members, column: Array, name: str) -> Array:
    bad = int((column <= 0).sum())
    if bad:
        raise DataError(
            f"All values must be positive to have a geometric mean. Got {bad} that are not in {name}.",
            hint="use the mean or the median.",
        )
    return _within(np.exp(_mean(np.log(x), members)), x, members)


def _closest(distance: Array, members: Members) -> Array:
    """Return the position of the first member of each group at the least distance."""
    return members.first(distance == members.spread(np.minimum.reduceat(distance, members.starts)))


def _within(numbers: Array, x: Array, members: Members) -> Array:
    """Return numbers clipped to the range of their group, which rounding may have left."""
    low, high = np.minimum.reduceat(x, members.starts), np.maximum.reduceat(x, members.starts)
    return np.asarray(np.clip(numbers, low, high))


def _sorted(x: Array, members: Members) -> Array:
    """Return the positions of members, group by group, sorted by x and then by row."""
    by_value = np.argsort(x, kind="stable")
    rank = np.empty(len(x), np.int64)
    rank[by_value] = np.arange(len(x))
    # Group and rank in the upper and lower bits of one number: sorting that is faster than sorting by two keys.
    key = members.spread(np.arange(len(members.sizes)) << 32) | rank
    key.sort()
    return np.asarray(by_value[key & 0xFFFFFFFF])


def _median(x: Array, members: Members, *, between: bool) -> Array:
    order = _sorted(x, members)
    if members.weights is None:
        lower = members.starts + (members.sizes - 1) // 2
        upper = members.starts + members.sizes // 2
    else:
        weight = members.weights[order]
        reached = np.cumsum(weight)
        before = members.spread(reached[members.starts] - weight[members.starts])
        twice = 2 * (reached - before)
        total = members.spread(np.add.reduceat(weight, members.starts))
        lower = members.first(twice >= total)
        # If exactly half of the weight lies at or below, the upper middle value is the next one with a weight.
        upper = members.first(twice > total)
    low, high = x[order[lower]], x[order[upper]]
    return np.asarray(np.clip(0.5 * low + 0.5 * high, low, high) if between else low)


def _trimmed_mean(x: Array, members: Members, trim: float) -> Array:
    if not 0 <= trim < 0.5:
        raise OptionError(f"The 'trim' of a trimmed mean must be from 0 to below 0.5. Got {trim!r}.")
    # A little is added, so that 0.29 of 100 members are 29 despite rounding.
    cut = np.minimum(np.floor(trim * members.sizes + 1e-9).astype(np.int64), (members.sizes - 1) // 2)
    place = np.arange(len(x)) - members.spread(members.starts)
    kept = (place >= members.spread(cut)) & (place < members.spread(members.sizes - cut))
    order = _sorted(x, members)[kept]
    sizes = members.sizes - 2 * cut
    rest = Members(members.rows[order], np.cumsum(sizes) - sizes, sizes, members.live, None)
    if members.weights is not None:
        weights = members.weights[order]
        alone = np.add.reduceat(weights, rest.starts) == 0
        rest = rest._replace(weights=np.where(rest.spread(alone), 1, weights))
    return _mean(x[order], rest)


def _plain_texts(kind: str) -> Callable[[Array], Sequence[str]]:
    """Return the default writer of numbers of a kind."""
    if kind in ("date", "datetime"):
        unit = "D" if kind == "date" else "us"
        return lambda numbers: np.datetime_as_string(numbers.astype(np.int64).astype(f"datetime64[{unit}]")).tolist()
    return lambda numbers: [repr(int(x)) if x == int(x) and abs(x) < 1e16 else repr(x) for x in numbers.tolist()]


def _closed(write: Callable[[Array], Sequence[str]]) -> Callable[[Array, Array], Sequence[str]]:
    """Return the default writer of intervals."""
    return lambda low, high: [_interval(a, b) for a, b in zip(write(low), write(high), strict=True)]


def _interval(low: str, high: str) -> str:
    return low if low == high else f"[{low}, {high}]"


# --- places ---


def _of_places(degrees: Array, members: Members, how: str) -> Chosen:
    points = unit_vectors(degrees)
    mean = np.column_stack([_mean(points[:, j], members) for j in range(3)])
    medoid = _closest(((points - members.spread(mean)) ** 2).sum(axis=1), members)
    if how == "medoid":
        return _rows(medoid, members)
    x, y, z = mean.T
    result = np.degrees(np.column_stack([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)]))
    low, high = np.minimum.reduceat(degrees, members.starts), np.maximum.reduceat(degrees, members.starts)
    # A mean at the centre of the globe has no direction, and the mean of equal places must be exactly that place.
    kept = (np.sqrt((mean**2).sum(axis=1)) < _NO_DIRECTION) | (low == high).all(axis=1)
    result[kept] = degrees[medoid[kept]]
    return _computed(result, members)


# --- levels ---


class _Runs(NamedTuple):
    """The distinct levels of each group, in their order."""

    codes: Array  # int64[r]
    first: Array  # int64[r]: position of the first member with the level
    weights: Array  # int64[r]
    members: Members  # runs in place of members
    frequency: Array  # int64[r]: of the level in the whole table


def _of_levels(values: Codes, members: Members, how: str) -> Chosen:
    codes, levels = values.codes[members.rows], values.levels
    if how == "interval":
        low, high = np.minimum.reduceat(codes, members.starts), np.maximum.reduceat(codes, members.starts)
        pairs = zip(low.tolist(), high.tolist(), strict=True)
        return _texts([_interval(levels[a], levels[b]) for a, b in pairs], members)
    runs = _runs(values, codes, members)
    if how == "set":
        names = [levels[code] for code in runs.codes.tolist()]
        ends = runs.members.starts + runs.members.sizes
        spans = zip(runs.members.starts.tolist(), ends.tolist(), strict=True)
        return _texts([names[a] if b - a == 1 else "{" + ", ".join(names[a:b]) + "}" for a, b in spans], members)
    if how == "median":
        chosen = _median(np.arange(len(runs.codes)), runs.members, between=False)
    else:
        chosen = _best(-runs.weights, runs)
    return _rows(runs.first[chosen], members)


def _of_nodes(values: Codes, members: Members, how: str, hierarchy: Hierarchy, name: str) -> Chosen:
    codes = values.codes[members.rows]
    occurring = np.flatnonzero(np.bincount(codes, minlength=len(values.levels)))
    nodes = np.full(len(values.levels), -1)
    nodes[occurring] = hierarchy.nodes_of([values.levels[i] for i in occurring], name)
    if how == "ancestor":
        ancestors = hierarchy.common_ancestor(nodes[codes], members.starts)
        return _texts([hierarchy.labels[node] for node in ancestors.tolist()], members)
    runs = _runs(values, codes, members)
    return _rows(runs.first[_best(_remoteness(runs, nodes[runs.codes], hierarchy), runs)], members)


def _runs(values: Codes, codes: Array, members: Members) -> _Runs:
    groups = len(members.sizes)
    key = members.spread(np.arange(groups) * len(values.levels)) + codes
    order = np.argsort(key, kind="stable")
    key = key[order]
    begin = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    group, code = np.divmod(key[begin], len(values.levels))
    sizes = np.bincount(group, minlength=groups)
    weights = np.add.reduceat(members.amounts()[order], begin)
    frequency = np.bincount(values.codes[values.codes >= 0], minlength=len(values.levels))
    as_members = Members(begin, np.cumsum(sizes) - sizes, sizes, members.live, weights)
    return _Runs(code, order[begin], weights, as_members, frequency[code])


def _best(cost: Array, runs: _Runs) -> Array:
    """Return the run of least cost of each group; ties go to the more frequent in the table, then the first level."""
    members = runs.members
    least = cost == members.spread(np.minimum.reduceat(cost, members.starts))
    frequency = np.where(least, runs.frequency, -1)
    return members.first(frequency == members.spread(np.maximum.reduceat(frequency, members.starts)))


def _remoteness(runs: _Runs, at: Array, hierarchy: Hierarchy) -> Array:
    """Return float64[r]: the weighted sum of tree distances of each run to its group, up to a constant of the group.

    The sum over members j of w_j d(i, j) is, up to a constant of the group, the sum over the edges e above i of
    length(e) (W - 2 W(e)), where W is the weight of the group and W(e) that of its members below e.
    """
    group = runs.members.spread(np.arange(len(runs.members.sizes)))
    order = np.argsort(group * len(hierarchy) + at)
    node, weights = at[order], runs.weights[order]
    total = runs.members.spread(np.add.reduceat(runs.weights, runs.members.starts))
    cost = np.zeros(len(at))
    for depth in range(int(hierarchy.depths[node].max()), 0, -1):
        # All nodes at this depth or below have been lifted to it. In preorder, those below one node are consecutive.
        begin = np.flatnonzero(np.concatenate(([True], (node[1:] != node[:-1]) | (group[1:] != group[:-1]))))
        below = np.repeat(np.add.reduceat(weights, begin), np.diff(np.append(begin, len(node))))
        reached = hierarchy.depths[node] == depth
        cost += np.where(reached, hierarchy.lengths[node] * (total - 2 * below), 0.0)
        node = np.where(reached, hierarchy.parents[node], node)
    result = np.empty(len(at))
    result[order] = cost
    return result
