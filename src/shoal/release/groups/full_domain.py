"""Full-domain generalisation: one level of its hierarchy for each quasi-identifier, the same for all records.

The levels are those of least cost that k and the privacy models allow, found by an exact search of all combinations
(:mod:`shoal.release.groups.lattice`). Records are left out up to the limit of the plan, with their whole groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import floor
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError
from shoal.measure.utility import leaf_shares
from shoal.partitioning.pool import numbered
from shoal.plan import Plan
from shoal.release.groups.cells import Cell, Cells, named_cells, value_cell
from shoal.release.groups.lattice import Found, Ladder, Lattice, of_group_alone
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.representatives import SUPPRESSED
from shoal.tables.schema import Attribute, Read
from shoal.tables.values import Codes, Numbers

if TYPE_CHECKING:
    from shoal.release.groups.grouping import Constraints

FORM = "full-domain"
METHOD, WHY = "full-domain generalisation", "the levels with the least NCP are searched for"
_NO_METHOD = "records are grouped by levels of hierarchies, without a method"
_OWN_LEVEL = "each record publishes its value on the level that is chosen"
_NOT_COUNTED = "matches in a population are not part of the search"
# Fields of a plan that this form does not allow, and why.
NO_PLACE = {
    **dict.fromkeys(("method", "options", "refine", "time_limit", "random_state", "bound", "enforcement"), _NO_METHOD),
    **dict.fromkeys(("representatives", "digits", "outward", "trim"), _OWN_LEVEL),
    "blocks": "levels are chosen for all quasi-identifiers together",
    "small_strata": "a stratum is part of what records share",
    **dict.fromkeys(("population", "k_map", "presence"), _NOT_COUNTED),
}


class Rungs(NamedTuple):
    """The levels of a quasi-identifier: what records publish on each, and what it costs."""

    cells: tuple[Cell, ...]
    ladder: Ladder

    def words(self, level: int) -> str:
        """Return what is published on a level."""
        last = len(self.cells) - 1
        return "value" if level == 0 else "suppression" if level == last else f"level {level} of {last}"


def budget_of(plan: Plan, n: int) -> int:
    """Return the largest number of n records that may be left out."""
    # 0.07 of 100 records are 7, though 0.07 * 100 is a little more and 0.29 * 100 a little less.
    return floor(round(plan.suppress * n, 9))


def refuse_demands(constraints: Constraints, budget: int) -> None:
    """Refuse models for which the best levels cannot be found."""
    for demand in constraints.demands:
        if not demand.model.monotone:
            raise OptionError(
                "The models of a full-domain release must hold for unions of groups for which they hold. Got "
                f"{str(demand.model)!r}.",
                hint="use t-closeness, or another form of release.",
            )
        if budget and not of_group_alone(demand):
            raise OptionError(
                "If a full-domain release may leave records out ('suppress'), its models must not depend on the whole "
                f"table, which changes with it. Got {str(demand.model)!r}.",
                hint="leave 'suppress' out, or demand l-diversity, or use another form of release.",
            )


def found_cells(reads: Sequence[Read], plan: Plan, constraints: Constraints) -> Cells:
    """Return what records publish on the best levels, and which records are left out.

    Parameters
    ----------
    reads : the quasi-identifiers with their values
    plan : Plan
    constraints : Constraints
        Strata, units and demands.
    """
    n = len(reads[0].values.missing)
    budget = budget_of(plan, n)
    refuse_demands(constraints, budget)
    rungs = [rungs_of(read) for read in reads]
    lattice = Lattice(
        [one.ladder for one in rungs],
        k=plan.k,
        budget=budget,
        fixed=constraints.strata,
        units=constraints.units,
        demands=constraints.demands,
    )
    found = lattice.best()
    if found is None:
        raise DataError(
            "The levels of a full-domain release must leave groups that satisfy k and all models. Got none, even if "
            "all values are suppressed.",
            hint="demand less, allow more records to be left out ('suppress'), or merge strata.",
        )
    return _cells(reads, rungs, found)


def _cells(reads: Sequence[Read], rungs: Sequence[Rungs], found: Found) -> Cells:
    chosen = list(zip(reads, rungs, found.node, strict=True))
    described = [
        replace(read, attribute=replace(read.attribute, representative=one.words(level))) for read, one, level in chosen
    ]
    cells = {read.attribute.name: one.cells[level] for read, one, level in chosen}
    words = ", ".join(f"{read.attribute.name} {level} of {len(one.cells) - 1}" for read, one, level in chosen)
    how = {"method": f"{METHOD} ({words})", "why": "these levels have the least NCP"}
    if found.kept.all():
        return Cells(cells, numbered(found.labels), None, described, **how)
    rows = np.flatnonzero(found.kept)
    kept = {name: Cell(cell.codes[rows], cell.texts) for name, cell in cells.items()}
    return Cells(kept, numbered(found.labels[rows]), rows, described, **how)


# --- the levels of an attribute ---


def rungs_of(read: Read) -> Rungs:
    """Return the levels of a quasi-identifier: its values, those of its hierarchy, and ``*``."""
    attribute = read.attribute
    if attribute.kind == "place":
        raise OptionError(
            f"Places have no levels in a full-domain release. Got {attribute.name}.",
            hint="leave 'places' out and treat both columns as numbers, with hierarchies such as widths:0.1,1.",
        )
    codes, values = _values(read)
    levels, costs, cells = [np.arange(values + 1)], [np.zeros(values + 1)], [value_cell(read)]
    if attribute.hierarchy is not None:
        _climb(read, attribute, levels, costs, cells)
    # Missing values are suppressed too, so that nobody can tell that they are missing.
    levels.append(np.zeros(values + 1, np.int64))
    costs.append(np.ones(values + 1))
    cells.append(Cell(np.zeros(len(codes), np.int64), (SUPPRESSED,)))
    weighted = [attribute.importance * cost for cost in costs]
    return Rungs(tuple(cells), Ladder(np.where(codes < 0, values, codes), levels, weighted))


def _values(read: Read) -> tuple[Array, int]:
    """Return int64[n]: the value of each record, -1 if missing; and the number of values."""
    values = read.values
    if isinstance(values, Numbers):
        kinds, codes = np.unique(values.values + 0.0, return_inverse=True)  # NaN is the last one
        return np.where(values.missing, -1, codes), len(kinds) - int(values.missing.any())
    values = cast(Codes, values)
    return values.codes, len(values.levels)


def _climb(read: Read, attribute: Attribute, levels: list[Array], costs: list[Array], cells: list[Cell]) -> None:
    """Add the levels of a hierarchy between its leaves and its root."""
    tree, values = cast(Hierarchy, attribute.hierarchy), cast(Codes, read.values)
    occurring = np.unique(values.codes[values.codes >= 0])
    nodes = np.zeros(len(values.levels), np.int64)
    nodes[occurring] = tree.nodes_of([values.levels[code] for code in occurring.tolist()], f"column {attribute.name!r}")
    shares = leaf_shares(tree)
    costs[0] = np.append(shares[nodes], 0.0)
    for _ in range(int(tree.depths.max()) - 1):
        nodes = np.maximum(tree.parents[nodes], 0)
        cell = named_cells([tree.labels[node] for node in nodes.tolist()], np.arange(len(nodes)))
        classes = np.append(cell.codes, len(cell.texts or ()))
        if _splits(levels[-1], classes):
            raise DataError(
                f"Each level of the hierarchy of {attribute.name!r} must be coarser than the one below. It is not: "
                "nodes with one label have different parents.",
                hint="give these nodes different labels.",
            )
        levels.append(classes)
        costs.append(np.append(shares[nodes], 0.0))
        cells.append(Cell(np.append(cell.codes, -1)[values.codes], cell.texts))


def _splits(below: Array, above: Array) -> bool:
    """Return whether values of one class of a level are in several classes of the level above."""
    return len(np.unique(below)) < len(np.unique(below * (int(above.max()) + 1) + above))
