"""Measures of loss for recoding, where groups publish what their records have in common.

Sources: T = Thaeter (2021), dissertation, 3.2 and 3.3; Xu et al. (2006) for the certainty penalty, Byun et al. (2007)
for the total information loss, Li, Li, Venkatasubramanian (2010) for the closeness utility. The measures that depend on
group sizes alone, C_DM and C_AVG, are in :mod:`shoal.measure.sizes`.

All missing values are equal, and different from every other value. A group with only missing values loses nothing; a
group with missing and present values loses the whole attribute, as its recoding covers both a value and its absence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import fsum, inf
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, near_names
from shoal.partitioning import door
from shoal.tables import columns as _columns
from shoal.tables.frames import to_arrow
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.values import Codes, GroupedRows, Numbers, grouped


class Penalty(NamedTuple):
    """The loss of a table, in total and by attribute.

    Attributes
    ----------
    total : float
        The sum over all records and attributes, weighted.
    average : float
        The average over records and attributes, from 0 (nothing lost) to 1 (everything lost); known as GCP for the
        certainty penalty.
    by_attribute : dict
        The part of the total that each attribute contributes.
    """

    total: float
    average: float
    by_attribute: dict[Any, float]


class _Unit(NamedTuple):
    """How a measure treats values that are not numbers.

    Attributes
    ----------
    caller : str
        The name of the function, for messages.
    of_nodes : callable
        Returns the costs of the nodes of a hierarchy, float64[nodes], from 0 to 1.
    of_sets : callable
        Returns the costs of sets without a hierarchy, given their sizes and the number of all values.
    """

    caller: str
    of_nodes: Callable[[Hierarchy], Array]
    of_sets: Callable[[Array, int], Array]


def certainty_penalty(
    values: Any,
    labels: Any,
    *,
    hierarchies: Mapping[Any, Hierarchy] | None = None,
    weights: Mapping[Any, float] | None = None,
) -> Penalty:
    """Return the normalised certainty penalty NCP: how wide groups are in each attribute (T definition 3.8).

    A number costs the range of its group divided by the range of the table. A value in a hierarchy costs the number of
    leaves below the closest common ancestor of its group divided by the number of all leaves; a leaf costs 0, and an
    inner node that occurs in the table costs what it covers, even if it is alone in its group. A text without a
    hierarchy costs the number of different texts in its group (0 if there is only one) divided by the number of all
    different texts. Ordered categories count as numbers. Each record of a group with both missing and present values
    costs 1.

    Parameters
    ----------
    values : mapping of names to arrays, data frame, or array-like of shape (n, d)
        The quasi-identifiers *before* recoding. The columns of an array are named 0, 1, ...
    labels : array-like of shape (n,)
        Group of each record, any integers or names.
    hierarchies : {name: Hierarchy}, optional
    weights : {name: number}, optional
        The weights of attributes, by default 1.

    Examples
    --------
    >>> from shoal.measure import certainty_penalty
    >>> penalty = certainty_penalty({"age": [20, 30, 60, 60], "sex": ["f", "m", "f", "f"]}, [0, 0, 1, 1])
    >>> penalty.total, penalty.average, penalty.by_attribute
    (2.5, 0.3125, {'age': 0.5, 'sex': 2.0})
    """
    unit = _Unit("certainty_penalty", leaf_shares, lambda sizes, total: sizes / total)
    return _penalty(unit, values, labels, hierarchies or {}, weights or {})


def total_information_loss(
    values: Any,
    labels: Any,
    *,
    hierarchies: Mapping[Any, Hierarchy] | None = None,
    weights: Mapping[Any, float] | None = None,
) -> Penalty:
    """Return the total information loss Total-IL: NCP with heights in place of leaves (T 3.2, Byun et al. 2007).

    A value in a hierarchy costs the height of the closest common ancestor of its group divided by the height of the
    tree; the height of a node is the number of levels down to its lowest leaf. Texts without a hierarchy have a single
    root, so a record of a group with different texts costs 1. Everything else is as in :func:`certainty_penalty`.
    Weights are not in the paper.

    Parameters
    ----------
    values, labels, hierarchies, weights
        As in :func:`certainty_penalty`.

    Examples
    --------
    >>> import shoal
    >>> places = shoal.Hierarchy.from_nested({"Europe": ["Rome", "Oslo"], "Asia": ["Kyoto", "Delhi"]})
    >>> town = {"town": ["Rome", "Oslo", "Rome", "Delhi"]}
    >>> shoal.measure.total_information_loss(town, [0, 0, 1, 1], hierarchies={"town": places}).total
    3.0
    """
    unit = _Unit("total_information_loss", _height_shares, lambda sizes, total: np.ones(len(sizes)))
    return _penalty(unit, values, labels, hierarchies or {}, weights or {})


def closeness_utility(labels: Any, sensitive: Any) -> float:
    """Return how much groups reveal about a sensitive attribute, in bits (T definition 3.15).

    This is the mutual information of group and value: the entropy of the values in the whole table minus their mean
    entropy within groups. A missing value counts as a value of its own. The more groups reveal, the higher the utility,
    so it may be highest where privacy is lowest: T table 3.5 has examples.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Group of each record.
    sensitive : array-like of shape (n,)

    Examples
    --------
    >>> from shoal.measure import closeness_utility
    >>> closeness_utility([0, 0, 1, 1], ["flu", "flu", "cold", "cold"])
    1.0
    """
    column = _table({"sensitive": sensitive}, "closeness_utility")["sensitive"]
    groups = door.group_numbers(labels, len(column))
    codes = _columns.decode(column, "nominal", name="sensitive")[0].codes + 1  # type: ignore[union-attr]
    pairs = np.unique(groups * (int(codes.max()) + 1) + codes, return_counts=True)[1]
    # All entropies have one denominator, so that shares that are exact in binary, such as 1/4, give exact results.
    n = len(column)
    whole = _spread(np.array([n])) - _spread(np.bincount(codes))
    within = _spread(np.bincount(groups)) - _spread(pairs)
    return max(0.0, (whole - within) / n)


def _spread(counts: Array) -> float:
    """Return the sum of c log2 c, rounded once."""
    kinds, times = np.unique(counts[counts > 0], return_counts=True)
    return fsum(kinds * times * np.log2(kinds))


def _penalty(
    unit: _Unit, values: Any, labels: Any, hierarchies: Mapping[Any, Hierarchy], weights: Mapping[Any, float]
) -> Penalty:
    table = _table(values, unit.caller)
    n = len(next(iter(table.values())))
    groups = grouped(door.group_numbers(labels, n))
    _check_names(unit.caller, "hierarchies", hierarchies, table)
    _check_names(unit.caller, "weights", weights, table)
    weight = {name: _weight(weights.get(name, 1.0), unit.caller) for name in table}
    parts = {}
    for name, column in table.items():
        costs = _costs(_read(column, name, hierarchies.get(name)), groups, unit, hierarchies.get(name), str(name))
        # Rounded once, so that neither the order of rows nor the numbering of groups matters.
        parts[name] = weight[name] * fsum(groups.sizes * costs)
    total = fsum(parts.values())
    most = n * fsum(weight.values())
    return Penalty(total, min(1.0, total / most) if most else 0.0, parts)


def _costs(values: Numbers | Codes, groups: GroupedRows, unit: _Unit, hierarchy: Hierarchy | None, name: str) -> Array:
    """Return the cost of each group in one attribute, from 0 to 1: float64[m]."""
    if isinstance(values, Numbers):
        costs = _of_ranges(values.values, groups)
    elif hierarchy is not None:
        nodes = np.append(hierarchy.nodes_of(values.levels, f"the attribute {name!r}"), 0)[values.codes]
        costs = unit.of_nodes(hierarchy)[hierarchy.common_ancestor(nodes[groups.order], groups.starts[:-1])]
    else:
        costs = _of_sets(values.codes, groups, unit)
    if values.missing.any():
        gaps = np.bincount(groups.labels[values.missing], minlength=len(costs))
        costs = np.where(gaps == 0, costs, np.where(gaps == groups.sizes, 0.0, 1.0))
    return costs


def _of_ranges(numbers: Array, groups: GroupedRows) -> Array:
    """Return the range of each group as a fraction of that of the table; undefined if all values are missing."""
    ordered = numbers[groups.order]
    low, high = (f.reduceat(ordered, groups.starts[:-1]) for f in (np.fmin, np.fmax))
    whole = np.fmax.reduce(high) - np.fmin.reduce(low)
    return (high - low) / whole if whole > 0 else np.zeros(len(low))


def _of_sets(codes: Array, groups: GroupedRows, unit: _Unit) -> Array:
    """Return the cost of the set of different values of each group, 0 for a single value."""
    present = codes >= 0
    counts = np.bincount(codes[present])
    # Sorted here: np.unique without further outputs hashes the values, which takes ten times as long.
    pairs = np.sort(groups.labels[present] * len(counts) + codes[present])
    firsts = pairs[np.diff(pairs, prepend=-1) > 0]
    sizes = np.bincount(firsts // max(1, len(counts)), minlength=len(groups.sizes))
    return np.where(sizes > 1, unit.of_sets(sizes, max(1, int(np.count_nonzero(counts)))), 0.0)


def leaf_shares(hierarchy: Hierarchy) -> Array:
    """Return the number of leaves below each node, as a fraction of all: float64[nodes], 0 for leaves."""
    below = np.zeros(len(hierarchy))
    below[hierarchy.leaf_nodes] = 1
    for node in range(len(hierarchy) - 1, 0, -1):
        below[hierarchy.parents[node]] += below[node]
    below[hierarchy.leaf_nodes] = 0
    return np.asarray(below / len(hierarchy.leaf_nodes))


def _height_shares(hierarchy: Hierarchy) -> Array:
    """Return the number of levels below each node, as a fraction of those below the root: float64[nodes]."""
    below = np.zeros(len(hierarchy))
    for node in range(len(hierarchy) - 1, 0, -1):
        parent = hierarchy.parents[node]
        below[parent] = max(below[parent], below[node] + 1)
    return np.asarray(below / max(1.0, below[0]))


# --- input ---


def _table(values: Any, caller: str) -> dict[Any, Any]:
    """Return the columns of a mapping, data frame or array as {name: pyarrow.ChunkedArray}, all of one length."""
    if not isinstance(values, Mapping) and hasattr(values, "columns"):
        frame = to_arrow(values, caller)
        return {name: _arrow(frame.column(name), name, caller) for name in frame.column_names}
    if not isinstance(values, Mapping):
        # As objects: otherwise numbers beside texts would become texts.
        given = values if isinstance(values, np.ndarray) else np.asarray(values, object)
        if given.ndim != 2:
            raise DataError(
                f"The values of {caller} must be columns with names, or an array of records and attributes. "
                f"Got {given.ndim} dimensions."
            )
        values = {j: given[:, j] for j in range(given.shape[1])}
    table = {name: _arrow(column, name, caller) for name, column in values.items()}
    lengths = sorted({len(column) for column in table.values()})
    if len(lengths) != 1 or lengths[0] == 0:
        actual = "none" if lengths in ([], [0]) else f"from {lengths[0]} to {lengths[-1]}"
        raise DataError(f"The values of {caller} must be columns with equally many records. Got {actual}.")
    return table


def _arrow(column: Any, name: Any, caller: str) -> Any:
    import pyarrow as pa

    try:
        if not isinstance(column, pa.ChunkedArray):
            column = pa.chunked_array([pa.array(column, from_pandas=True)])
        # A column without values has no type: it becomes one of missing texts.
        return column.cast(pa.string()) if pa.types.is_null(column.type) else column
    except (pa.ArrowException, TypeError, ValueError):
        raise DataError(
            f"The values of {caller} must be of one kind in each attribute: numbers, texts or dates. "
            f"Those of {name!r} are not.",
            hint="give the column one type first.",
        ) from None


def _read(column: Any, name: Any, hierarchy: Hierarchy | None) -> Numbers | Codes:
    """Return the values of a column: positions in a hierarchy, numbers, or texts."""
    if hierarchy is not None:
        return _columns.decode(column, "hierarchical", name=str(name))[0]  # type: ignore[return-value]
    kind = _columns.infer(column, text=False, decimal=".", name=str(name))[0]
    values = _columns.decode(column, kind, name=str(name))[0]
    if kind == "ordinal" and isinstance(values, Codes):
        return Numbers(np.where(values.missing, np.nan, values.codes))
    return values  # type: ignore[return-value]


def _check_names(caller: str, option: str, named: Mapping[Any, Any], known: Iterable[Any]) -> None:
    names = list(known)
    for name, value in named.items():
        if name not in names:
            hint = near_names(name, map(str, names), f"there are {len(names)} attributes.")
            raise OptionError(f"The {option!r} of {caller} must belong to attributes. Got {name!r}.", hint=hint)
        if option == "hierarchies" and not isinstance(value, Hierarchy):
            raise OptionError(
                f"The {option!r} of {caller} must be of the class shoal.Hierarchy. Got {type(value).__name__}.",
                hint="Hierarchy.from_nested and Hierarchy.load create one.",
            )


def _weight(weight: Any, caller: str) -> float:
    if isinstance(weight, bool) or not isinstance(weight, int | float | np.number) or not 0 <= weight < inf:
        raise OptionError(f"The 'weights' of {caller} must be finite numbers of at least 0. Got {weight!r}.")
    return float(weight)
