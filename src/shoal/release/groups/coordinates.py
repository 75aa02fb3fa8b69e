"""The coordinates of a table, by attribute, and combined with the importance of attributes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import sqrt
from types import MappingProxyType
from typing import NamedTuple

from shoal.arrays import Array
from shoal.plan import Plan
from shoal.tables.embedding import embed, spread_of, stack
from shoal.tables.schema import Read
from shoal.tables.spread import Spread


class Coordinates(NamedTuple):
    """Embedded attributes.

    Attributes
    ----------
    parts : {name: float64[n, c]}
        Without importance, because the loss of an attribute does not depend on it.
    importance : {name: float}
    projected : {name: Spread}
        Attributes whose coordinates are a projection. Their true squared error is measured by these.
    """

    parts: dict[str, Array]
    importance: dict[str, float]
    projected: Mapping[str, Spread] = MappingProxyType({})

    def together(self, names: Collection[str] | None = None) -> Array:
        """Return float64[n, d]: the coordinates in which records are compared, of these attributes (None for all)."""
        chosen = [name for name in self.parts if names is None or name in names]
        return stack([self._scaled(name) for name in chosen])

    def _scaled(self, name: str) -> Array:
        importance = self.importance[name]
        if importance == 1:
            return self.parts[name]
        return self.parts[name][:, :0] if importance == 0 else sqrt(importance) * self.parts[name]


def embedded(reads: list[Read], plan: Plan) -> Coordinates:
    """Return the coordinates of attributes that were read."""
    parts = {
        read.attribute.name: embed(
            read.values,
            kind=read.attribute.kind,
            hierarchy=read.attribute.hierarchy,
            coordinates=plan.coordinates,
            name=f"column {read.attribute.name!r}",
        )
        for read in reads
    }
    spreads = {
        read.attribute.name: spread_of(
            read.values, kind=read.attribute.kind, hierarchy=read.attribute.hierarchy, coordinates=plan.coordinates
        )
        for read in reads
    }
    projected = {name: spread for name, spread in spreads.items() if spread is not None}
    return Coordinates(parts, {read.attribute.name: read.attribute.importance for read in reads}, projected)
