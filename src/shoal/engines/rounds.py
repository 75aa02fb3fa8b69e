"""Rounds of the stream engine: all blocks are grouped once, then refined in blocks that are cut elsewhere.

A round reads its rows from the spill folder, and leaves there what is published, and the rows of the next round.
"""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.engines.aggregates import Aggregates, losses_of
from shoal.engines.blocks import group_block, in_rows, publish_block, refine_block, route_groups, with_groups
from shoal.engines.buckets import Buckets
from shoal.engines.choice import KICKS, Way
from shoal.engines.comparing import Pairs, told, windows_of, with_published
from shoal.engines.cuts import Cuts
from shoal.engines.layout import GROUP, ORIGIN, STRATUM, Layout, numpy_of
from shoal.engines.order import InOrder, sizes_of
from shoal.engines.pacing import Phases, ahead
from shoal.engines.spill import Spill, spilling
from shoal.release.report.comparison import Comparison, Counted, Largest
from shoal.release.report.windows import Published


class Grouped(NamedTuple):
    """What groups publish.

    Attributes
    ----------
    rows : list of InOrder
        By the number of the row; together all rows.
    schema : pyarrow.Schema
        Of these rows.
    aggregates : list of Aggregates
        Of all blocks.
    comparison : Comparison
        Of the originals with what is published.
    """

    rows: list[InOrder]
    schema: Any
    aggregates: list[Aggregates]
    comparison: Comparison


@dataclass(frozen=True)
class Rounds:
    """All rounds of a run.

    Attributes
    ----------
    layout, way : Layout, Way
    cuts : list of Cuts
        Of each round; the rows of the first are in the spill folder, as ``round-0``.
    spill, executor, phases : Spill, ThreadPoolExecutor, Phases
    room : int
        Bytes that rows may take.
    block_records : int
    at_once : int
        Blocks that are worked on at once.
    """

    layout: Layout
    way: Way
    cuts: list[Cuts]
    spill: Spill
    executor: ThreadPoolExecutor
    phases: Phases
    room: int
    block_records: int
    at_once: int

    def grouped(self) -> Grouped:
        """Carry out the rounds that no earlier run has finished, and return what groups publish after all of them."""
        rows: list[InOrder] = []
        every: list[Aggregates] = []
        of_all: list[Published] = []
        schema = None
        for turn in range(len(self.cuts)):
            name = f"published-{turn}"
            own, aggregates, published = self.spill.kept(name, partial(self._turned, turn))
            self.spill.remove(f"round-{turn}")  # what it was made of
            if own is not None:
                schema, rows = own, [*rows, InOrder.again(self.spill, name)]
                every, of_all = [*every, *aggregates], with_published(of_all, published)
        done = self.phases.begun("comparing")
        comparison = self.spill.kept("compared", lambda: self._compared(of_all, losses_of(every, self.layout).most))
        done()
        for turn in range(len(self.cuts)):
            self.spill.remove(_pairs(turn))
        return Grouped(rows, schema, every, comparison)

    def _compared(self, published: list[Published], most: int) -> Comparison:
        """Return what the report tells of the pairs that all rounds have kept: counts first, then the largest parts."""
        layout = self.layout
        counted = Counted(windows_of(published, layout))
        kept = [path for turn in range(len(self.cuts)) for path in sorted(self.spill.path(_pairs(turn)).iterdir())]

        def pairs(path: Path) -> Pairs:
            with spilling(self.spill.folder):
                again: Pairs = pickle.loads(path.read_bytes())
            return again

        def counts(path: Path) -> Counted:
            return pairs(path).counted(counted.windows, layout)

        def largest(path: Path) -> Largest:
            return pairs(path).largest(counted, layout)

        for own in ahead(self.executor, counts, kept, self.at_once):
            counted.merge(own)
        return told(counted, ahead(self.executor, largest, kept if most else [], self.at_once), layout, most)

    def _turned(self, turn: int) -> tuple[Any, list[Aggregates], list[Published]]:
        """Group or refine all blocks once; return the schema of what is published after that, and what is known of it.

        The pairs of each block are left in the spill folder.
        """
        layout, cuts = self.layout, self.cuts
        published: InOrder | None = None
        schema = None
        parts: list[Aggregates] = []
        of_all: list[Published] = []
        self.spill.made(_pairs(turn))
        buckets = Buckets.again(self.spill, f"round-{turn}")
        last = turn == len(cuts) - 1
        following = None
        if not last:
            leaves, travelling = cuts[turn + 1].leaves, _travelling(buckets.schema)
            following = Buckets(self.spill, f"round-{turn + 1}", travelling, leaves, self.room // 16)

        def worked(item: tuple[int, list[int]]) -> Any:
            values = _read(buckets, item[1])
            if turn == 0:
                labels = group_block(values, layout, self.way.plan, self.block_records, kicks=self.way.kicks)
            else:
                labels = refine_block(values, layout, self.way.plan, kicks=KICKS)
            values = with_groups(values, labels, item[0])
            done, rest = (values, None) if last else _apart(values, cuts[0].settled, turn)
            ready = None
            if done is not None and done.num_rows:
                table, aggregates, pairs = publish_block(done, layout)
                self.spill.write(f"{_pairs(turn)}/{item[0]}", pickle.dumps(pairs))
                ready = table, aggregates, pairs.published(layout)
            leaves = None if rest is None else route_groups(rest, layout, cuts[turn + 1])
            return values.num_rows, ready, rest, leaves

        with self.phases("grouping" if turn == 0 else "refining", layout.rows * (1 if turn == 0 else len(cuts) - 1)):
            if turn > 1:
                self.phases.add(layout.rows * (turn - 1))
            for rows, ready, rest, leaves in ahead(self.executor, worked, _blocks(cuts[turn], buckets), self.at_once):
                if ready is not None:
                    table, aggregates, own = ready
                    if published is None:
                        schema = table.schema
                        row = self.spill.kept("row", partial(_row_bytes, table))  # one for all rounds
                        name, memory = f"published-{turn}", self.room // 3
                        published = InOrder(self.spill, name, schema, layout.rows_in, memory, row)
                    published.append(table)
                    parts.append(aggregates)
                    of_all = with_published(of_all, own)
                if rest is not None and following is not None:
                    following.append(rest, leaves)
                self.phases.add(rows)
            if following is not None:
                following.finish()
        if published is not None:
            published.finish()
        return schema, parts, of_all


def _pairs(turn: int) -> str:
    """Return the name of the folder for the pairs of a round."""
    return f"pairs-{turn}"


def _row_bytes(table: Any) -> int:
    """Return about how many bytes a row takes."""
    return 1 + int(sizes_of(table).mean())


def _blocks(cuts: Cuts, buckets: Buckets) -> list[tuple[int, list[int]]]:
    """Return the blocks that have rows, each with its leaves; the largest first, so that no thread waits long."""
    sizes = np.bincount(cuts.blocks, buckets.counts, cuts.count)
    order = np.argsort(-sizes, kind="stable")
    leaves: dict[int, list[int]] = {}
    for leaf, block in enumerate(cuts.blocks.tolist()):
        leaves.setdefault(block, []).append(leaf)
    return [(int(block), leaves[int(block)]) for block in order if sizes[block] > 0]


def _read(buckets: Buckets, leaves: list[int]) -> Any:
    """Return the rows of a block."""
    import pyarrow as pa

    # Their files stay until all blocks are done: a run that goes on begins with them.
    return in_rows(pa.concat_tables([buckets.read(leaf) for leaf in leaves]).combine_chunks())


def _travelling(schema: Any) -> Any:
    """Return the schema of values tables with groups."""
    import pyarrow as pa

    kept = [one for one in schema if one.name not in (GROUP, ORIGIN)]
    return pa.schema([*kept, pa.field(GROUP, pa.int64()), pa.field(ORIGIN, pa.int32())])


def _apart(values: Any, settled: Array, turn: int) -> tuple[Any, Any]:
    """Return the rows of strata that lie in one block, which are ready, and the others."""
    if turn > 0 or STRATUM not in values.column_names:
        return None, values
    ready = settled[numpy_of(values, STRATUM)]
    if not ready.any():
        return None, values
    if ready.all():
        return values, None
    return values.take(np.flatnonzero(ready)), values.take(np.flatnonzero(~ready))
