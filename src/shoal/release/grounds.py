"""How sensitive columns with demands are read, for a certificate: with values of the release only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.tables.markers import can_hold, without_markers
from shoal.tables.notation import is_text
from shoal.tables.schema import attribute, markers
from shoal.tables.values import Codes, Numbers

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.release.release import Release
    from shoal.tables.hierarchy import Hierarchy


def readings_of(release: Release) -> dict[str, dict[str, Any]]:
    """Return, for each sensitive column with a demand, the fields of a plan with which it is read again.

    Levels and hierarchies are cut down to values that occur in the release, and markers of missing values to those that
    occur there; nodes of a hierarchy above the values have no names. All models measure the same with these.
    """
    demanded = dict.fromkeys(finding.attribute for finding in release.audit.models if finding.attribute is not None)
    if not demanded:
        return {}
    tables = release.columns_of(list(demanded))
    decimal = "." if release.source is None else release.source.decimal
    return {name: _reading(tables[name], name, release.plan, release.text, decimal) for name in demanded}


def _reading(table: Any, name: str, plan: Plan, text: bool, decimal: str) -> dict[str, Any]:
    read = attribute(table, name, plan, text=text, decimal=decimal, sensitive=True)
    reading: dict[str, Any] = {}
    if name in plan.types:
        reading["type"] = plan.types[name]
    if name in plan.formats:
        reading["format"] = plan.formats[name]
    column = table.column(name)
    if plan.thousands is not None and is_text(column.type) and isinstance(read.values, Numbers):
        reading["thousands"] = plan.thousands
    there, kind, pattern = column.null_count, read.attribute.kind, plan.formats.get(name, "")
    gone = [
        one
        for one in markers(plan, name)
        if without_markers(column, [one], decimal).null_count > there
        and not can_hold(column, one, kind, decimal, pattern)
    ]
    if gone:
        reading["missing_values"] = gone
    if isinstance(read.values, Codes):
        occurring = np.unique(read.values.codes[read.values.codes >= 0]).tolist()
        if name in plan.levels:
            reading["levels"] = [plan.levels[name][code] for code in occurring]
        elif read.attribute.hierarchy is not None:
            reading["hierarchy"] = cut_down(read.attribute.hierarchy, [read.values.levels[code] for code in occurring])
    return reading


def cut_down(hierarchy: Hierarchy, values: list[str]) -> dict[str, Any]:
    """Return the plain form of the tree above some values, in which no other node has a name.

    A node keeps its height: where what was below it is cut off, nameless nodes are put in its place.
    """
    heights = np.zeros(len(hierarchy), np.int64)
    kept = np.zeros(len(hierarchy), bool)
    kept[0] = True
    kept[hierarchy.nodes_of(values)] = True
    for node in range(len(hierarchy) - 1, 0, -1):
        above = hierarchy.parents[node]
        heights[above] = max(heights[above], heights[node] + 1)
        kept[above] |= kept[node]
    named = {int(node): value for node, value in zip(hierarchy.nodes_of(values), values, strict=True)}
    nameless = _nameless(values)
    labels: list[str] = []
    parents: list[int] = []

    def put(label: str | None, parent: int) -> int:
        labels.append(f"{nameless}{len(labels)}" if label is None else label)
        parents.append(parent)
        return len(labels) - 1

    place: dict[int, int] = {}
    for node in np.flatnonzero(kept).tolist():
        place[node] = put(named.get(node), place.get(int(hierarchy.parents[node]), -1))
    reached = _heights(parents)
    # Nodes are listed in preorder, so what is put below a node follows it directly; it is appended and sorted later.
    for node, at in place.items():
        below = at
        for _ in range(int(heights[node]) if reached[at] < heights[node] else 0):
            below = put(None, below)
    return _in_preorder(labels, parents)


def _heights(parents: list[int]) -> list[int]:
    heights = [0] * len(parents)
    for node in range(len(parents) - 1, 0, -1):
        heights[parents[node]] = max(heights[parents[node]], heights[node] + 1)
    return heights


def _nameless(values: list[str]) -> str:
    """Return how the names of nameless nodes begin: as no value does."""
    start = "*"
    while any(value.startswith(start) for value in values):
        start += "*"
    return start


def _in_preorder(labels: list[str], parents: list[int]) -> dict[str, Any]:
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(parents):
        children.setdefault(parent, []).append(node)
    order: list[int] = []
    stack, place = [0], {-1: -1}
    while stack:
        node = stack.pop()
        place[node] = len(order)
        order.append(node)
        stack += reversed(children.get(node, []))
    return {"labels": [labels[node] for node in order], "parents": [place[parents[node]] for node in order]}
