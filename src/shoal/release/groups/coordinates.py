"""The coordinates of a table, by attribute, and combined with the importance of attributes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import sqrt
from types import MappingProxyType
from typing import NamedTuple, cast

import numpy as np

from shoal.arrays import Array
from shoal.plan import Plan
from shoal.tables.embedding import embed, spread_of, stack
from shoal.tables.schema import Read
from shoal.tables.spread import Spread
from shoal.tables.values import Numbers


class Coordinates(NamedTuple):
    """Embedded attributes.

    Attributes
    ----------
    parts : {name: float64[n, c]}
        Without importance, because the loss of an attribute does not depend on it.
    importance : {name: float}
    projected : {name: Spread}
        Attributes whose coordinates are a projection. Their true squared error is measured by these.
    coded : {name: (float64[n, c], float64[n, c])}
        Attributes whose values were changed before grouping (top coding, ..): the original values and the changed ones,
        in the coordinates of the originals. Losses are measured by these.
    """

    parts: dict[str, Array]
    importance: dict[str, float]
    projected: Mapping[str, Spread] = MappingProxyType({})
    coded: Mapping[str, tuple[Array, Array]] = MappingProxyType({})

    def uncoded(self) -> Coordinates:
        """Return the coordinates of the original values."""
        return self._replace(parts={**self.parts, **{name: pair[0] for name, pair in self.coded.items()}}, coded={})

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
    coded = {read.attribute.name: _beside(read) for read in reads if read.original is not None}
    return Coordinates(parts, {read.attribute.name: read.attribute.importance for read in reads}, projected, coded)


def _beside(read: Read) -> tuple[Array, Array]:
    """Return original and changed numbers in the coordinates of the originals."""
    original, values = cast(Numbers, read.original), cast(Numbers, read.values).values
    points = embed(original, kind=read.attribute.kind, name=f"column {read.attribute.name!r}")
    changed = points.copy()
    present = ~original.missing
    if points.shape[1] > int(original.missing.any()):
        low, high = (int(place(original.values)) for place in (np.nanargmin, np.nanargmax))
        a, b = original.values[low], original.values[high]
        steps = (values[present] - a) / (b - a)
        changed[present, 0] = points[low, 0] + steps * (points[high, 0] - points[low, 0])
    return points, changed
