"""Trees of hierarchies, as the page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.plan import Plan
from shoal.tables import schema
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.values import Codes
from shoal.web.tasks.sources import in_short, read_table
from shoal.web.worker import Line

# Nodes that are shown, at most: the top of the tree.
NODES = 2000


def tree(line: Line, where: str, reading: Mapping[str, Any], column: str, hierarchy: Any) -> dict[str, Any]:
    """Return the tree of a hierarchy of a column, which must contain all of its values."""
    source = read_table(where, reading)
    plan = Plan.of(hierarchies={column: hierarchy})
    read = schema.attribute(source.table, column, plan, text=source.text, decimal=source.decimal)
    grown = read.attribute.hierarchy
    if grown is None or not isinstance(read.values, Codes):
        raise RuntimeError("a column with a hierarchy is hierarchical")
    position = source.table.column_names.index(column)
    return {"column": column, "position": position, **_plain(grown, read.values)}


def load_tree(line: Line, where: str, reading: Mapping[str, Any], column: str, path: str) -> dict[str, Any]:
    """Return the tree of a hierarchy in a file, and the hierarchy for the plan."""
    hierarchy = Hierarchy.load(in_short(path)).to_plain()
    return {"tree": tree(line, where, reading, column, hierarchy), "hierarchy": hierarchy}


def _plain(hierarchy: Hierarchy, values: Codes) -> dict[str, Any]:
    """Return the nodes of a tree, breadth first, with the number of records below each."""
    plain = hierarchy.to_plain()
    labels, parents = plain["labels"], plain["parents"]
    records, children = np.zeros(len(labels), np.int64), np.zeros(len(labels), np.int64)
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.levels))
    occurring = np.flatnonzero(counts)
    np.add.at(records, hierarchy.nodes_of([values.levels[at] for at in occurring]), counts[occurring])
    depths = hierarchy.depths
    order = np.argsort(depths, kind="stable")
    for node in order[::-1]:
        if parents[node] >= 0 and parents[node] != node:
            records[parents[node]] += records[node]
            children[parents[node]] += 1
    shown = order[:NODES]
    place = {int(node): at for at, node in enumerate(shown)}
    root = [parents[node] < 0 or parents[node] == node for node in shown]
    return {
        "nodes": [
            {
                "label": labels[node],
                "parent": -1 if top else place[parents[node]],
                "children": int(children[node]),
                "records": int(records[node]),
            }
            for node, top in zip(shown.tolist(), root, strict=True)
        ],
        "shown": len(shown),
        "all": len(labels),
        "height": int(depths.max()),
        "uncovered": 0,
    }
