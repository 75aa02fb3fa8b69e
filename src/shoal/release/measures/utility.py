"""Measures of recoding schemes, for releases of every form.

They depend on the size of groups and on their width in each attribute, but not on what groups publish, with three
exceptions: a suppressed attribute costs 1 in every record, as the top of a hierarchy does, and so does every attribute
of a record that was left out; intervals that end at multiples of a step are as wide as they are published.
The sizes and ranges of groups are compared with those of the table that includes removed records, and each removed
record adds the size of the table to C_DM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from shoal.arrays import Array
from shoal.measure.utility import certainty_penalty, total_information_loss
from shoal.release.groups.blocks import Block, joint
from shoal.tables.outward import outward
from shoal.tables.schema import Attribute, Read
from shoal.tables.values import Codes, Numbers, grouped

if TYPE_CHECKING:
    from shoal.release.rows import LeftOut
    from shoal.tables.hierarchy import Hierarchy


class Utility(NamedTuple):
    """Measures of recoding schemes. All of them are costs: less is better.

    Attributes
    ----------
    discernability : int
        C_DM: the sum of squared group sizes.
    average_group_size : float
        C_AVG: the average group size divided by k; 1 is best.
    certainty_penalty : float or None
        NCP per record and attribute, from 0 to 1 (GCP), weighted by the importance of attributes.
    certainty_penalty_total : float or None
        Its sum over records and attributes.
    total_information_loss : float or None
        Total-IL per record and attribute, from 0 to 1.
    by_attribute : {name: float}
        NCP of each attribute, per record.
    left_out : names
        Places, which have neither a range nor a hierarchy. The penalties are None if there are no other attributes.
    """

    discernability: int
    average_group_size: float
    certainty_penalty: float | None
    certainty_penalty_total: float | None
    total_information_loss: float | None
    by_attribute: Mapping[str, float]
    left_out: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**self._asdict(), "by_attribute": dict(self.by_attribute), "left_out": list(self.left_out)}


def utility_of(reads: Sequence[Read], blocks: Sequence[Block], k: int, left_out: LeftOut | None = None) -> Utility:
    """Return the measures of the groups of a release.

    Parameters
    ----------
    reads : the quasi-identifiers with their values, of the records that are published
    blocks : blocks of attributes with their groups; the sizes are those of all of them together
    k : int
    left_out : LeftOut or None
        The records before some were left out; None if none were.
    """
    sizes = np.bincount(joint(blocks))
    removed = 0 if left_out is None else left_out.removed
    n = int(sizes.sum()) + removed
    measured = [read for read in reads if read.attribute.kind != "place"]
    wide = {read.attribute.name: 1.0 for read in measured if read.attribute.representative == "suppression"}
    by, high = dict(wide), dict(wide)
    for block in blocks:
        in_block = [r for r in measured if r.attribute.name in block.attributes and r.attribute.name not in wide]
        for name, cost in _costs(certainty_penalty, in_block, block.labels, left_out).items():
            # Both measures are the same for numbers.
            by[name] = high[name] = (cost + removed) / n
        words = [read for read in in_block if read.attribute.kind in ("nominal", "boolean", "hierarchical")]
        for name, cost in _costs(total_information_loss, words, block.labels, left_out).items():
            high[name] = (cost + removed) / n
    importance = {read.attribute.name: read.attribute.importance for read in measured}
    weight = fsum(importance.values())
    return Utility(
        discernability=int((sizes**2).sum()) + removed * n,
        average_group_size=n / len(sizes) / k,
        certainty_penalty=_average(by, importance),
        certainty_penalty_total=None if not measured else n * weight * (_average(by, importance) or 0.0),
        total_information_loss=_average(high, importance),
        by_attribute=MappingProxyType({name: by[name] for name in importance}),
        left_out=tuple(read.attribute.name for read in reads if read.attribute.kind == "place"),
    )


def _costs(unit: Any, reads: Sequence[Read], labels: Array, left_out: LeftOut | None) -> dict[str, float]:
    """Return the cost of each attribute in one of the measures, summed over all published records."""
    trees = {read.attribute.name: read.attribute.hierarchy for read in reads if read.attribute.hierarchy is not None}
    if left_out is None:
        return _sums(unit, reads, labels, trees)
    # Ranges and numbers of values are those of all records: each removed record is in a group of its own, where it
    # costs nothing. Hierarchies are complete anyway.
    by_tree = _sums(unit, [read for read in reads if read.attribute.name in trees], labels, trees)
    names = {read.attribute.name for read in reads} - set(trees)
    everybody = np.arange(len(labels), len(labels) + len(left_out.everybody[0].values.missing))
    everybody[left_out.rows] = labels
    return by_tree | _sums(unit, [read for read in left_out.everybody if read.attribute.name in names], everybody, {})


def _sums(unit: Any, reads: Sequence[Read], labels: Array, trees: dict[str, Hierarchy]) -> dict[str, float]:
    if not reads:
        return {}
    columns = {read.attribute.name: _column(read, labels) for read in reads}
    return dict(unit(columns, labels, hierarchies=trees).by_attribute)


def _column(read: Read, labels: Array) -> Any:
    """Return the values of an attribute as numbers or texts, as the measures take them."""
    import pyarrow as pa

    # Against the originals: values that were changed before grouping are lost as well.
    values = cast(Codes | Numbers, read.values if read.original is None else read.original)
    if isinstance(values, Codes) and read.attribute.kind != "ordinal":
        codes = pa.array(values.codes.astype(np.int32), mask=values.missing)
        return pa.DictionaryArray.from_arrays(codes, pa.array(values.levels, pa.string()))
    numbers = values.values if isinstance(values, Numbers) else np.where(values.missing, np.nan, values.codes)
    if read.attribute.outward is not None:
        numbers = _stretched(numbers, labels, read.attribute)
    # Scaled below 1 by a power of two, which is exact: large whole numbers would be taken for identifiers.
    return np.ldexp(numbers, -int(np.frexp(np.nanmax(np.abs(numbers), initial=0.0))[1]))


def _stretched(numbers: Array, labels: Array, attribute: Attribute) -> Array:
    """Return numbers whose groups are as wide as their published intervals: the first is the lower end of its group."""
    groups = grouped(labels)
    ordered = numbers[groups.order]
    low, high = (f.reduceat(ordered, groups.starts[:-1]) for f in (np.fmin, np.fmax))
    present = ~np.isnan(low)
    low[present], high[present] = outward(low[present], high[present], attribute.kind, attribute.outward or 1)
    there = groups.order[~np.isnan(ordered)]
    first = np.zeros(len(numbers), bool)
    first[there[np.unique(labels[there], return_index=True)[1]]] = True
    return np.where(np.isnan(numbers), np.nan, np.where(first, low[labels], high[labels]))


def _average(by: dict[str, float], importance: dict[str, float]) -> float | None:
    weight = fsum(importance.values())
    if not importance:
        return None
    return min(1.0, fsum(importance[name] * cost for name, cost in by.items()) / weight) if weight else 0.0
