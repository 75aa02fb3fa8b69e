"""Blocks of attributes that are partitioned separately; usually there is only one block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import OptionError
from shoal.partitioning.registry import find
from shoal.partitioning.run import extent_for
from shoal.plan import Plan
from shoal.progress import Listener, Progress, Tried, part
from shoal.release.groups.coordinates import Coordinates
from shoal.release.groups.grouping import Constraints, group, method_in_words, settled
from shoal.tables.schema import Attribute


class Block(NamedTuple):
    """Attributes that were grouped together, and their groups."""

    attributes: tuple[str, ...]
    columns: tuple[str, ...]
    labels: Array  # int64[n], in the order of the input
    method: str
    why: str
    optimal: bool = False  # whether it is proven that no allowed partition loses less
    tried: tuple[Tried, ...] = ()  # what a search started from; for the data holder only


def partitioned(
    attributes: Sequence[Attribute], coordinates: Coordinates, plan: Plan, constraints: Constraints, report: Progress
) -> list[Block]:
    """Return the partition of each block of attributes."""
    blocks = []
    sets = attribute_sets(attributes, plan)
    for at, names in enumerate(sets):
        X = coordinates.together(names)
        progress = part(report, at / len(sets), (at + 1) / len(sets))
        n, d = X.shape
        chosen, why, kicks = settled(plan, n, d, constraints, len(sets), extent_for(plan.method, X))
        columns = tuple(name for attribute in attributes if attribute.name in names for name in attribute.columns)
        seconds = None if plan.time_limit is None else plan.time_limit / len(sets)
        heard = Listener(progress)
        labels = group(X, chosen, constraints, heard, kicks, seconds)
        # Changing groups afterwards, for units, equal records or privacy models, does not preserve an optimum, and one
        # in projected coordinates need not be one in true distances.
        free = constraints.units is None and not constraints.together and not constraints.demands
        tried = heard.tried if free and constraints.strata is None else ()
        optimal = find(chosen.method).optimal and free and coordinates.projected.keys().isdisjoint(names)
        blocks.append(Block(tuple(names), columns, labels, method_in_words(chosen), why, optimal, tried))
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
    flat = [name for block_names in sets for name in block_names]
    if sorted(flat) != sorted(names):
        raise OptionError(
            "Every quasi-identifier must be in exactly one block. "
            f"Got {len(flat)} names in blocks for {len(names)} quasi-identifiers."
        )
    return sets


def joint(blocks: Sequence[Block]) -> Array:
    """Return int64[n]: records have the same label if they are in the same group in all blocks."""
    if len(blocks) == 1:
        return blocks[0].labels
    keys = np.column_stack([block.labels for block in blocks])
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
