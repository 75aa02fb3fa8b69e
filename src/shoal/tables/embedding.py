"""Every attribute is turned into coordinates whose squared Euclidean distance *is* its dissimilarity.

So every method that groups points works on every table. Before scaling, the squared distance of two present values a
and b of an attribute is

============================  =========================================================================================
continuous, integer           (a - b)^2
date, datetime                (a - b)^2 in days or microseconds
ordinal                       (i - j)^2, the difference of the positions of the levels
nominal, boolean              0 if they are equal, else 2 (indicators of the levels)
hierarchical                  the length of the path from a to b in the tree (a coordinate for each edge)
place                         the squared length of the straight line from a to b through the unit sphere
============================  =========================================================================================

Coordinates are centred and divided by the root of their mean squared norm over the present rows, so that two present
rows drawn at random are at squared distance 2 on average, whatever the kind. A missing value lies at the centre, and at
1 in an extra coordinate of its own attribute: on average it is as far from a present value as two present values are
from each other. When attributes are put side by side, the importance of each multiplies its squared distances.

An attribute that does not vary takes no coordinate. Equal values have equal coordinates, and the coordinates do not
depend on the order of rows, both to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, TooLargeError, near_names
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.scaling import standard_of
from shoal.tables.spread import Spread
from shoal.tables.sums import exact_sum, power_above
from shoal.tables.values import Codes, Numbers, Places, Values

FORMS: dict[str, type[Numbers] | type[Codes] | type[Places]] = {
    "continuous": Numbers,
    "integer": Numbers,
    "date": Numbers,
    "datetime": Numbers,
    "ordinal": Codes,
    "nominal": Codes,
    "boolean": Codes,
    "hierarchical": Codes,
    "place": Places,
}

LIMIT = 4 * 2**30  # bytes of the coordinates of one attribute
_SEED = 20_010  # of the random projection; fixed, so that coordinates are the same in every version
_NOISE = 1e-15  # places closer than this on the unit sphere, some nanometres on the globe, are equal


def embed(
    values: Values,
    *,
    kind: str,
    hierarchy: Hierarchy | None = None,
    coordinates: int | None = None,
    name: str = "the attribute",
) -> Array:
    """Return the coordinates of an attribute: float64[n, c].

    Parameters
    ----------
    values : Numbers, Codes or Places
    kind : str
        A key of `FORMS`.
    hierarchy : Hierarchy
        For hierarchical attributes. Every value that occurs must be a node of it.
    coordinates : int, optional
        For nominal and hierarchical attributes: if they would take more coordinates than this, they are projected to
        this number of random directions, always the same ones, and scaled as above. Squared distances are then kept on
        average only, each with a relative standard deviation of about sqrt(2 / coordinates). What groups lose must not
        be measured there: see :func:`spread_of`.
    name : str
        Whose values they are, for messages.

    Returns
    -------
    float64[n, c]
        c is 0 if nothing varies.
    """
    check_kind(values, kind)
    if coordinates is not None and coordinates < 1:
        raise OptionError(f"The 'coordinates' of {name} must be at least 1. Got {coordinates}.")
    missing = values.missing
    present = None if not missing.any() else np.flatnonzero(~missing)
    n = len(missing)
    if n == 0 or (present is not None and len(present) == 0):
        return np.zeros((n, 0))
    points = _points(values, present, kind, hierarchy, coordinates, name)
    if present is None:
        return points
    result = np.zeros((n, points.shape[1] + 1))
    result[present, :-1] = points
    result[missing, -1] = 1.0
    return result


def check_kind(values: Values, kind: str) -> None:
    """Raise OptionError unless the kind exists and the values have its form."""
    if kind not in FORMS:
        raise OptionError(
            f"The kind of an attribute must be one of {', '.join(FORMS)}. Got {kind!r}.",
            hint=near_names(kind, FORMS, "see the list."),
        )
    if not isinstance(values, FORMS[kind]):
        raise OptionError(
            f"A {kind} attribute must be given as {FORMS[kind].__name__}. Got {type(values).__name__}.",
        )


def stack(parts: Sequence[Array]) -> Array:
    """Return the coordinates of several attributes side by side: C-contiguous float64[n, max(1, d)].

    If nothing varies, there is one coordinate, which is 0.
    """
    if not parts:
        raise DataError("At least one attribute must be compared. Got none.")
    n, widths = len(parts[0]), [part.shape[1] for part in parts]
    X = np.zeros((n, max(1, sum(widths))))
    end = 0
    for part, width in zip(parts, widths, strict=True):
        X[:, end : end + width] = part
        end += width
    return X


def _points(
    values: Values,
    present: Array | None,
    kind: str,
    hierarchy: Hierarchy | None,
    coordinates: int | None,
    name: str,
) -> Array:
    """Return the coordinates of the present rows (None: all rows), centred and scaled."""
    rows = slice(None) if present is None else present
    if isinstance(values, Numbers):
        x = values.values[rows]
        return standard_of(x).points(x)
    if isinstance(values, Places):
        return _on_the_sphere(values.degrees[rows])
    codes = values.codes[rows]
    counts = np.bincount(codes, minlength=len(values.levels))
    return np.asarray(
        level_points(values.levels, counts, kind=kind, hierarchy=hierarchy, coordinates=coordinates, name=name)[codes]
    )


def level_points(
    levels: Sequence[str],
    counts: Array,
    *,
    kind: str,
    hierarchy: Hierarchy | None = None,
    coordinates: int | None = None,
    name: str = "the attribute",
    at_once: int | None = None,
) -> Array:
    """Return the coordinates of levels: float64[levels, c]. Those of levels that do not occur mean nothing.

    Parameters
    ----------
    levels : sequence of str
    counts : int64[levels]
        How many present rows have each level; some have one.
    kind, hierarchy, coordinates, name
        As for :func:`embed`; the kind is ordinal, nominal, boolean or hierarchical.
    at_once : int or None
        The number of rows whose coordinates are in memory at the same time; None: all.
    """
    if kind == "ordinal":
        places = np.arange(len(levels), dtype=np.float64)
        occurring = counts > 0
        return standard_of(places[occurring], counts[occurring]).points(places)
    tree, node_of_level = _tree_of(levels, counts, kind, hierarchy, name)
    n = int(counts.sum())
    return np.asarray(_tree_points(tree, n, coordinates, name, n if at_once is None else at_once)[node_of_level])


def spread_of(
    values: Values, *, kind: str, hierarchy: Hierarchy | None, coordinates: int, name: str = "the attribute"
) -> Spread | None:
    """Return an attribute in full coordinates if :func:`embed` projects it, else None. The parameters are the same."""
    if not isinstance(values, Codes) or kind == "ordinal" or values.missing.all():
        return None
    counts = np.bincount(values.codes[~values.missing], minlength=len(values.levels))
    spread = level_spread(values.levels, counts, kind=kind, hierarchy=hierarchy, coordinates=coordinates, name=name)
    return None if spread is None else spread.taken(values.codes)


def level_spread(
    levels: Sequence[str],
    counts: Array,
    *,
    kind: str,
    hierarchy: Hierarchy | None,
    coordinates: int,
    name: str = "the attribute",
) -> Spread | None:
    """Return levels in full coordinates if :func:`level_points` projects them, else None."""
    n = int(counts.sum())
    tree, node_of_level = _tree_of(levels, counts, kind, hierarchy, name)
    total = tree.total(n)
    if total == 0 or len(tree.parents) <= coordinates:
        return None
    return Spread(node_of_level, np.zeros(len(levels), bool), tree.parents, tree.lengths / total, tree.rows / n)


def _tree_of(
    levels: Sequence[str], counts: Array, kind: str, hierarchy: Hierarchy | None, name: str
) -> tuple[_Tree, Array]:
    """Return the tree that separates present rows, and the node of each level; -1 for the root."""
    occurring = np.flatnonzero(counts)
    if kind == "nominal" or kind == "boolean":
        tree, at = _star(counts[occurring])
    elif hierarchy is None:
        raise OptionError(f"A hierarchical attribute must have a hierarchy. Got none for {name}.")
    else:
        nodes = hierarchy.nodes_of([levels[i] for i in occurring.tolist()], name)
        tree, at = _condensed(hierarchy, nodes, counts[occurring])
    node_of_level = np.full(len(levels), -1, np.int64)
    node_of_level[occurring] = at
    return tree, node_of_level


def _on_the_sphere(degrees: Array) -> Array:
    """Return places as points of the unit sphere, centred and scaled: float64[n, c], c <= 3."""
    points = unit_vectors(degrees)
    spread = points.max(axis=0) - points.min(axis=0)
    points = points[:, spread > _NOISE]
    if points.shape[1] == 0:
        return points
    total = 0.0
    for column in points.T:
        column -= exact_sum(column) / len(column)
        # Enlarged first: exact sums cut off the squares of very small differences.
        power = power_above(np.abs(column).max())
        total += exact_sum((column / power) ** 2) / len(column) * float(power) ** 2
    points /= math.sqrt(total)
    return points


def unit_vectors(degrees: Array) -> Array:
    """Return places as points of the unit sphere: float64[n, 3].

    Each pole is one place, whatever the longitude, and longitudes of -180 and 180 degrees are the same.
    """
    turns = degrees[:, 1] / 360.0
    longitude = degrees[:, 1] - 360.0 * np.rint(turns)
    longitude[longitude == -180.0] = 180.0
    latitude = np.radians(degrees[:, 0])
    np.radians(longitude, out=longitude)
    radius = np.cos(latitude)
    radius[np.abs(degrees[:, 0]) == 90.0] = 0.0
    # Adding 0 turns -0 into 0.
    return np.column_stack([radius * np.cos(longitude), radius * np.sin(longitude), np.sin(latitude)]) + 0.0


class _Tree(NamedTuple):
    """Edges that separate rows; an edge has the number of the node at its lower end."""

    parents: Array  # int64[c], each before its children; -1: the root
    lengths: Array  # float64[c]
    rows: Array  # float64[c]: the number of rows below

    def total(self, n: int) -> float:
        """Return the mean squared distance of n rows from their mean."""
        shares = self.rows / n
        return float((self.lengths * shares * (1.0 - shares)).sum())


def _star(counts: Array) -> tuple[_Tree, Array]:
    """Return nominal levels as a tree, and the node of each.

    Two levels need a single edge: only their distance matters, and scaling makes that the same.
    """
    edges = {1: 0, 2: 1}.get(len(counts), len(counts))
    at = np.arange(len(counts))
    at[edges:] = -1
    return _Tree(np.full(edges, -1), np.ones(edges), counts[:edges].astype(np.float64)), at


def _condensed(hierarchy: Hierarchy, nodes: Array, counts: Array) -> tuple[_Tree, Array]:
    """Return the part of a hierarchy that separates rows, and the position in it of the nodes with rows.

    Nodes above all rows or none are left out, and a node above the same rows as its parent is merged with it.
    """
    below = np.zeros(len(hierarchy), np.int64)
    np.add.at(below, nodes, counts)
    above_of = hierarchy.parents.tolist()
    for node in range(len(hierarchy) - 1, 0, -1):
        below[above_of[node]] += below[node]
    place = np.full(len(hierarchy), -1, np.int64)
    parents: list[int] = []
    lengths: list[float] = []
    rows: list[int] = []
    for node in np.flatnonzero((below > 0) & (below < counts.sum())).tolist():
        above = int(place[above_of[node]])
        if above >= 0 and below[node] == rows[above]:
            place[node] = above
            lengths[above] += float(hierarchy.lengths[node])
        else:
            place[node] = len(parents)
            parents.append(above)
            lengths.append(float(hierarchy.lengths[node]))
            rows.append(int(below[node]))
    return _Tree(np.array(parents, np.int64), np.array(lengths), np.array(rows, np.float64)), place[nodes]


def _tree_points(tree: _Tree, n: int, coordinates: int | None, name: str, at_once: int) -> Array:
    """Return the coordinates of all nodes, centred and scaled, the root last: float64[c + 1, width]."""
    shares, total = tree.rows / n, tree.total(n)
    c = len(tree.parents) if total > 0 else 0
    width = c if coordinates is None else min(c, coordinates)
    if at_once * width * 8 > LIMIT:
        raise TooLargeError(
            f"The coordinates of {name} must fit into {LIMIT >> 30} GiB. Got {at_once} rows of {width} coordinates.",
            hint="give it a hierarchy with fewer nodes, or set 'coordinates' (to 100, say) to project it.",
        )
    points = np.zeros((len(tree.parents) + 1, width))
    if width == 0:
        return points
    own = np.sqrt(tree.lengths / total)
    directions = _directions(c, width) if width < c else None
    # From the top down: the coordinates of the parent, and a step in a direction of its own. Parent -1 is the last row,
    # the root.
    for node, above in enumerate(tree.parents.tolist()):
        points[node] = points[above]
        if directions is None:
            points[node, node] = own[node]
        else:
            points[node] += own[node] * directions[node]
    if directions is None:
        points -= own * shares
        return points
    points -= (own * shares) @ directions
    # The projection changes the total variance slightly: scale again.
    here = np.append(tree.rows, n)
    np.subtract.at(here, tree.parents, tree.rows)
    points *= math.sqrt(n / float(here @ (points**2).sum(axis=1)))
    return points


def _directions(nodes: int, width: int) -> Array:
    """Return float64[nodes, width]: independent random numbers of mean 0 and variance 1 / width, always the same.

    They are made from raw bits, which are the same in every version of NumPy, and uniform, so that no two rows
    coincide.
    """
    bits = np.random.PCG64(_SEED).random_raw(nodes * width) >> np.uint64(11)
    uniform = bits.astype(np.float64).reshape(nodes, width) * 2.0**-52 - 1.0
    return np.asarray(uniform * math.sqrt(3.0 / width))
