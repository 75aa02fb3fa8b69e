"""The tasks of a job on Spark: rows find their blocks, blocks are grouped, groups travel, are refined and published.

Each task is a function of the rows it gets, whatever their order, so that a task that is tried again gives the same.
Rows are ordered by a hash of their content; rows with the same content are interchangeable.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.engines.blocks import group_block, publish_block, refine_block, route_groups
from shoal.engines.choice import KICKS
from shoal.engines.comparing import Pairs
from shoal.engines.cuts import Cuts
from shoal.engines.hashing import row_hashes
from shoal.engines.heavy import Heavy, alone
from shoal.engines.layout import GROUP, ORIGIN, ROW, STRATUM, Layout, numpy_of
from shoal.engines.spark_errors import quiet
from shoal.engines.spark_frames import PAIRS, PART, SLOT, tables
from shoal.engines.survey import complete_rows
from shoal.engines.tally import Tally
from shoal.plan import Plan

# A group is named by its block and its number there.
_BLOCK = 2**32
# Rows whose pairs lie beside one row of what is published.
PIECE = 1 << 14


@dataclass
class Checksum:
    """What a pass over all rows has seen: their number, and the sum of their hashes, whatever their order."""

    rows: int = 0
    total: int = 0

    def add(self, table: Any) -> None:
        """Add rows, a pyarrow.Table."""
        self.rows += table.num_rows
        self.total = (self.total + int(row_hashes(table, table.column_names).sum(dtype=np.uint64))) % 2**64

    def merge(self, other: Checksum) -> None:
        """Add what was seen of other rows."""
        self.rows, self.total = self.rows + other.rows, (self.total + other.total) % 2**64


@dataclass
class Surveyed:
    """A survey, and what was seen in the same pass."""

    survey: Any
    seen: Checksum = field(default_factory=Checksum)

    def add(self, table: Any) -> None:
        """Add rows, a pyarrow.Table."""
        survey = self.survey
        survey.add(table.select(survey.needed))
        self.seen.add(complete_rows(table, survey.quasi_identifiers, survey.plan, survey.decimal)[0])

    def merge(self, other: Surveyed) -> None:
        """Add what was found on other rows."""
        self.survey.merge(other.survey)
        self.seen.merge(other.seen)


@dataclass
class Counted:
    """What is counted on the values of rows: sums for coordinates, and a sample."""

    layout: Layout
    parts: list[Any]

    def add(self, table: Any) -> None:
        """Add rows, a pyarrow.Table with the columns that the layout needs."""
        values = self.layout.decode(table)
        for part in self.parts:
            part.add(values)

    def merge(self, other: Counted) -> None:
        """Add what was found on other rows."""
        for part, more in zip(self.parts, other.parts, strict=True):
            part.merge(more)


@dataclass
class Tallied:
    """Counts of the leaves of a plan of cuts."""

    layout: Layout
    cuts: Cuts
    tally: Tally

    def add(self, table: Any) -> None:
        """Add rows, a pyarrow.Table with the columns that the layout needs."""
        values = self.layout.decode(table)
        self.tally.add(values, routed(values, self.layout, self.cuts))

    def merge(self, other: Tallied) -> None:
        """Add the counts of other rows."""
        self.tally.merge(other.tally)


def routed(values: Any, layout: Layout, cuts: Cuts) -> Array:
    """Return int64[n]: the leaf of each row of a values table."""
    strata = numpy_of(values, STRATUM).astype(np.int64) if STRATUM in values.column_names else None
    return cuts.route(layout.coordinates(values), strata)


@dataclass(frozen=True)
class Work:
    """All that the tasks of a job are given.

    Attributes
    ----------
    layout : Layout
    plan : Plan
        With a settled method.
    kicks : float
        Of the search that follows the first grouping.
    names, kept : names
        The columns of the source that are read, and those that are published as they are.
    rounds : cuts of the first grouping, and of each later round
    slots : for each of these, the number of its partitions
    heavy : Heavy
        Rows that occur very often, and are published as they are. They are dealt out to pieces, which are numbered
        after the blocks, and take no part in later rounds.
    block_records : int
    """

    layout: Layout
    plan: Plan
    kicks: float
    names: list[str]
    kept: list[str]
    rounds: list[Cuts]
    slots: list[int]
    heavy: Heavy
    block_records: int

    def packed(self) -> bytes:
        """Return the work as bytes, to go along with tasks."""
        return pickle.dumps(self)


_unpacked: dict[int, tuple[bytes, Work]] = {}


def _work(packed: bytes) -> Work:
    """Return the work of a task; a worker that has had it keeps it."""
    key = hash(packed)
    known = _unpacked.get(key)
    if known is None or known[0] != packed:
        _unpacked.clear()
        _unpacked[key] = known = (packed, pickle.loads(packed))
    return known[1]


@quiet
def sent(batches: Iterator[Any], packed: bytes) -> Iterator[Any]:
    """Yield the values of rows with the block of each, and the columns that are published as they are."""
    work = _work(packed)
    layout, cuts = work.layout, work.rounds[0]
    for table in tables(batches, work.names, 1):
        table = complete_rows(table, layout.quasi_identifiers, layout.plan, layout.decimal)[0]
        if table.num_rows == 0:
            continue
        hashes = row_hashes(table, work.names)
        values = layout.decode(table, hashes.view(np.int64))
        blocks = cuts.blocks[routed(values, layout, cuts)]
        blocks = work.heavy.dealt(values, blocks, cuts.count)
        yield from out(with_kept(values, table, work.kept), blocks, work.slots[0])


def with_kept(values: Any, table: Any, kept: Sequence[str]) -> Any:
    """Return a values table with the columns that are published as they are."""
    for at, name in enumerate(kept):
        values = values.append_column(f"p{at}", table.column(name))
    return values


BLOCK = "__block"


def out(values: Any, blocks: Array, slots: int) -> Iterator[Any]:
    """Yield rows as batches, with their block and the partition it goes to."""
    import pyarrow as pa

    values = values.append_column(BLOCK, pa.array(blocks.astype(np.int64)))
    values = values.append_column(SLOT, pa.array((blocks % slots).astype(np.int32)))
    yield from values.combine_chunks().to_batches()


def blocks_of(batches: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    """Yield each block of a partition with its rows, in an order that depends on the rows alone."""
    import pyarrow as pa

    held = [batch for batch in batches if batch.num_rows]
    if not held:
        return
    values = pa.Table.from_batches(held)
    held.clear()
    keys = [numpy_of(values, ROW), numpy_of(values, BLOCK)]
    if GROUP in values.column_names:
        keys.insert(0, numpy_of(values, GROUP))
    order = np.lexsort(keys)
    blocks = keys[-1][order]
    starts = np.flatnonzero(np.append(True, blocks[1:] != blocks[:-1]))
    for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
        own = values.take(pa.array(order[start:stop])).combine_chunks().drop_columns([BLOCK, SLOT])
        if GROUP in own.column_names:
            small = np.unique(numpy_of(own, GROUP), return_inverse=True)[1].astype(np.int64)
            own = own.set_column(own.schema.get_field_index(GROUP), GROUP, pa.array(small))
        yield int(blocks[start]), own


def named(values: Any, labels: Array, block: int) -> Any:
    """Return a values table with its groups, and the block they were formed in."""
    import pyarrow as pa

    kept = values.select([name for name in values.column_names if name not in (GROUP, ORIGIN)])
    kept = kept.append_column(GROUP, pa.array(labels + block * _BLOCK))
    return kept.append_column(ORIGIN, pa.array(np.full(len(labels), block, np.int32)))


@quiet
def carried(batches: Iterator[Any], packed: bytes, round: int) -> Iterator[Any]:
    """Yield the rows of blocks with the groups of this round, on the way to the blocks of the next one."""
    work = _work(packed)
    for block, values in blocks_of(batches):
        values, whole = formed(values, block, work, round)
        yield from out(values, _next(values, block, work, round, whole), work.slots[round + 1])


def _next(values: Any, block: int, work: Work, round: int, whole: bool) -> Array:
    """Return int64[n]: the block of each row in the next round; what is ready is numbered after all blocks."""
    cuts = work.rounds[round + 1]
    if not whole:
        return np.full(values.num_rows, cuts.count + block - work.rounds[round].count, np.int64)
    blocks = cuts.blocks[route_groups(values, work.layout, cuts)]
    if round == 0 and STRATUM in values.column_names:
        # A stratum that lies in one block has no borders to be moved.
        ready = work.rounds[0].settled[numpy_of(values, STRATUM)]
        blocks[ready] = cuts.count + work.heavy.total + block
    return np.asarray(blocks)


@quiet
def finished(batches: Iterator[Any], packed: bytes, round: int) -> Iterator[Any]:
    """Yield the rows that blocks publish after the last round."""
    work = _work(packed)
    for block, values in blocks_of(batches):
        values = formed(values, block, work, round)[0]
        table, aggregates, pairs = publish_block(values, work.layout)
        if 0 <= block - work.rounds[round].count < work.heavy.total:
            table, _, one = publish_block(alone(values), work.layout)
            table, pairs = table.take(np.zeros(values.num_rows, np.int64)), replace(pairs, after=one.after)
        yield from _published(values, table, aggregates, pairs, work)


def formed(values: Any, block: int, work: Work, round: int) -> tuple[Any, bool]:
    """Return the rows of a block with the groups of a round, and whether it is a block, not a piece of one."""
    whole = block < work.rounds[round].count
    if round == 0:
        labels = np.zeros(values.num_rows, np.int64)  # of a piece: all are equal
        if whole:
            labels = group_block(values, work.layout, work.plan, work.block_records, kicks=work.kicks)
    elif whole:
        labels = refine_block(values, work.layout, work.plan, kicks=KICKS)
    else:
        labels = numpy_of(values, GROUP)
    return named(values, labels, block), whole


def _published(values: Any, table: Any, aggregates: Any, pairs: Pairs, work: Work) -> Iterator[Any]:
    """Yield rows as they are published, in an order that tells nothing of the originals.

    What is known of the block lies beside its first rows, until the report is made of it.
    """
    import pyarrow as pa

    by_name = {name: table.column(name) for name in table.column_names if name != ROW}
    by_name |= {name: values.column(f"p{at}") for at, name in enumerate(work.kept)}
    columns = published_names(work.layout)
    rows = pa.table([by_name[name] for name in columns], names=[f"c{at}" for at in range(len(columns))])
    # By what is published: an order by the originals would tell something of them.
    order = np.argsort(row_hashes(rows, rows.column_names), kind="stable")
    if work.plan.unit is not None:
        rows = rows.append_column("__unit", values.column("__unit"))
    rows = rows.take(pa.array(order)).combine_chunks()
    seen = Checksum(rows.num_rows, int(numpy_of(values, ROW).view(np.uint64).sum(dtype=np.uint64)))
    for name, objects in ((PART, [(aggregates, seen)]), (PAIRS, list(pairs.pieces(PIECE)))):
        blobs = [*map(pickle.dumps, objects), *[None] * (rows.num_rows - len(objects))]
        rows = rows.append_column(name, pa.array(blobs, pa.binary()))
    yield from rows.to_batches()


def published_names(layout: Layout) -> list[str]:
    """Return the columns of the release, in the order of the source."""
    from shoal.tables.schema import UNPUBLISHED

    return [column.name for column in layout.columns if column.role not in UNPUBLISHED]
