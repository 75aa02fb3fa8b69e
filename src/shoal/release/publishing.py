"""Writes what groups publish back into columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.io.labels import kept_labels
from shoal.release.groups.blocks import Block
from shoal.release.groups.cells import Cells
from shoal.release.report.evidence import Measured
from shoal.tables import columns as _columns
from shoal.tables.notation import Notation
from shoal.tables.outward import outward_texts
from shoal.tables.representatives import represent
from shoal.tables.schema import Read
from shoal.tables.texts import writer
from shoal.tables.values import Chosen, Codes, Computed, GroupedRows, Numbers, Places, Texts, Values, grouped


def published(
    table: Any, reads: list[Read], blocks: list[Block], weights: Array | None, trim: float, cells: Cells | None = None
) -> tuple[dict[str, Any], list[Measured]]:
    """Return the columns to publish, from `cells` if given, and every attribute before and after."""
    changed: dict[str, Any] = {}
    measured = []
    for block in blocks:
        groups = grouped(block.labels)
        first = groups.order[groups.starts[:-1]]
        for read in reads:
            attribute = read.attribute
            if attribute.name not in block.attributes:
                continue
            chosen = _represented(read, groups, weights, trim) if cells is None else cells.chosen(read, first)
            parts = []
            for at, name in enumerate(attribute.columns):
                of_column, kind = chosen, attribute.kind
                if isinstance(chosen, Computed) and attribute.kind == "place":
                    of_column, kind = Computed(chosen.numbers[:, at]), "continuous"
                changed[name] = _columns.encode(of_column, block.labels, table.column(name), kind, read.writings[at])
                if isinstance(of_column, Computed):
                    parts.append(_rounded(of_column, table.column(name), kind, read.writings[at], name))
            if parts:
                # As published: what a group computes has more digits, which say more of its records.
                chosen = Computed(parts[0] if len(parts) == 1 else np.column_stack(parts))
            after = _after(read.values, chosen, block.labels)
            named = Measured(attribute.name, attribute.kind, read.values, after, block.labels)
            measured.append((attribute.name, named))
    by_name = dict(measured)
    return changed, [by_name[read.attribute.name] for read in reads]


def _represented(read: Read, groups: GroupedRows, weights: Array | None, trim: float) -> Chosen:
    attribute, step = read.attribute, read.attribute.outward
    return represent(
        read.values,
        groups,
        attribute.representative,
        kind=attribute.kind,
        hierarchy=attribute.hierarchy,
        weights=weights,
        trim=trim,
        text=writer(attribute.kind, read.writings[0]),
        interval=None if step is None else outward_texts(attribute.kind, step, read.writings[0]),
        digits=read.writings[0].digits if attribute.kind == "continuous" else None,
        scientific="scientific" in read.writings[0].style,
        name=f"column {attribute.name!r}",
    )


def _rounded(chosen: Computed, column: Any, kind: str, writing: Notation, name: str) -> Array:
    """Return float64[m]: the numbers that groups publish, as they are read from the published column."""
    groups = np.arange(len(chosen.numbers))
    of_groups = _columns.encode(chosen, groups, column, kind, writing)
    values = _columns.decode_again(of_groups, kind, writing, name)
    return values.values if isinstance(values, Numbers) else chosen.numbers


def without_metadata(native: Any) -> Any:
    """Return a data frame with labels of its columns and of values that occur, and no other metadata of Arrow."""
    import pyarrow as pa

    return kept_labels(native) if isinstance(native, pa.Table) else native


def _after(values: Values, chosen: Chosen, labels: Array) -> Values:
    """Return the published values of every row."""
    if isinstance(chosen, Texts):
        words = tuple(sorted({text for text in chosen.texts if text is not None}))
        place = {word: at for at, word in enumerate(words)}
        return Codes(np.array([-1 if t is None else place[t] for t in chosen.texts], np.int64)[labels], words)
    if isinstance(chosen, Computed):
        return (Places if isinstance(values, Places) else Numbers)(chosen.numbers[labels])
    rows = chosen.rows
    if isinstance(values, Codes):
        return Codes(np.where(rows < 0, -1, values.codes[rows])[labels], values.levels)
    if isinstance(values, Places):
        return Places(np.where(rows[:, None] < 0, np.nan, values.degrees[rows])[labels])
    return Numbers(np.where(rows < 0, np.nan, values.values[rows])[labels])
