"""The coordinates of a table: those of each attribute, and of several together by their importance."""

from __future__ import annotations

from collections.abc import Collection
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from shoal.plan import Plan
from shoal.tables.embedding import embed, stack
from shoal.tables.schema import Read

Array = np.ndarray[Any, Any]


class Coordinates(NamedTuple):
    """Embedded attributes.

    Attributes
    ----------
    parts : {name: float64[n, c]}
        As if all were equally important: what is lost of an attribute does not depend on that.
    importance : {name: float}
    """

    parts: dict[str, Array]
    importance: dict[str, float]

    def together(self, names: Collection[str] | None = None) -> Array:
        """Return float64[n, d]: the coordinates of some attributes (None: of all) in which records are compared."""
        chosen = [name for name in self.parts if names is None or name in names]
        return stack([self._weighed(name) for name in chosen])

    def _weighed(self, name: str) -> Array:
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
    return Coordinates(parts, {read.attribute.name: read.attribute.importance for read in reads})
