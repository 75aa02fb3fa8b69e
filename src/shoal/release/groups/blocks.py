"""Blocks of attributes, each with a partition of its own; usually there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.errors import OptionError
from shoal.partitioning.registry import find
from shoal.plan import Plan
from shoal.progress import Progress, part
from shoal.release.groups.coordinates import Coordinates
from shoal.release.groups.grouping import Constraints, group, method_in_words, settled
from shoal.tables.schema import Attribute

Array = np.ndarray[Any, Any]


class Block(NamedTuple):
    """Attributes that were grouped together."""

    attributes: tuple[str, ...]
    columns: tuple[str, ...]
    labels: Array  # int64[n], in the order of the table that came in
    method: str
    why: str
    optimal: bool = False  # whether no partition that satisfies the constraints loses less


def partitioned(
    attributes: Sequence[Attribute], coordinates: Coordinates, plan: Plan, constraints: Constraints, report: Progress
) -> list[Block]:
    """Return the partition of each block of attributes."""
    blocks = []
    sets = attribute_sets(attributes, plan)
    for at, own in enumerate(sets):
        X = coordinates.together(own)
        told = part(report, at / len(sets), (at + 1) / len(sets))
        n, d = X.shape
        chosen, why, kicks = settled(plan, n, d, constraints, len(sets))
        columns = tuple(name for attribute in attributes if attribute.name in own for name in attribute.columns)
        labels = group(X, chosen, constraints, told, kicks)
        # Mending groups afterwards, for units, equal records and models of privacy, does not keep an optimum.
        free = constraints.units is None and not constraints.together and not constraints.demands
        optimal = find(chosen.method).optimal and free
        blocks.append(Block(tuple(own), columns, labels, method_in_words(chosen), why, optimal))
    return blocks


def attribute_sets(attributes: Sequence[Attribute], plan: Plan) -> list[list[str]]:
    """Return the names of the attributes of each block."""
    names = [attribute.name for attribute in attributes]
    if plan.blocks == "joint":
        return [names]
    if plan.blocks == "each":
        return [[name] for name in names]
    owner = {column: attribute.name for attribute in attributes for column in attribute.columns}
    sets = []
    for block in plan.blocks:
        unknown = [name for name in block if name not in owner]
        if unknown:
            raise OptionError(f"Blocks must be made of quasi-identifiers. Got {unknown[0]!r}.")
        sets.append(list(dict.fromkeys(owner[name] for name in block)))
    flat = [name for own in sets for name in own]
    if sorted(flat) != sorted(names):
        raise OptionError(
            "Every quasi-identifier must be in exactly one block. "
            f"Got {len(flat)} names in blocks for {len(names)} quasi-identifiers."
        )
    return sets


def joint(blocks: Sequence[Block]) -> Array:
    """Return the groups of records that share the groups of all blocks: int64[n]."""
    if len(blocks) == 1:
        return blocks[0].labels
    keys = np.column_stack([block.labels for block in blocks])
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
