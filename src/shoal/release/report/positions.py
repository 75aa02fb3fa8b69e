"""Where groups are, by what they publish: the coordinates of their published values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.arrays import Array
from shoal.release.report.evidence import Measured
from shoal.tables.embedding import embed, stack
from shoal.tables.values import Codes, Numbers, Places, Values


def positions_of(attributes: Sequence[Measured], labels: Array, coordinates: int) -> Array:
    """Return float64[m, d]: the coordinates of what groups publish.

    Parameters
    ----------
    attributes : sequence of Measured
    labels : int64[n]
        The group of each record, 0 .. m - 1.
    coordinates : int
        Largest number of coordinates of an attribute.
    """
    first = np.unique(labels, return_index=True)[1]
    return stack([_embedded(attribute, first, coordinates) for attribute in attributes])


def _embedded(attribute: Measured, first: Array, coordinates: int) -> Array:
    after = attribute.after
    values: Values
    if isinstance(after, Codes):
        # Only the levels that are published: neither others nor a hierarchy may move what is drawn.
        codes = after.codes[first]
        published = np.unique(codes[codes >= 0])
        levels = tuple(after.levels[code] for code in published.tolist())
        values = Codes(np.where(codes < 0, -1, np.searchsorted(published, codes)), levels)
        before = attribute.before.levels if isinstance(attribute.before, Codes) else ()
        kind = "ordinal" if attribute.kind == "ordinal" and after.levels == before else "nominal"
    elif isinstance(after, Places):
        values, kind = Places(after.degrees[first]), "place"
    else:
        values, kind = Numbers(after.values[first]), "continuous"
    return embed(values, kind=kind, coordinates=coordinates, name=f"column {attribute.name!r}")
