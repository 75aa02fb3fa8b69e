"""A plan carried out by Spark: passes over all rows that find statistics, then one job that makes the table.

Nothing comes to the driver but statistics, the sample, the plan of cuts and counts. The table that is made is kept by
the executors (a local checkpoint), so that what was audited is what is published: it is never computed again. Beside it
lie the originals of each block until they are compared with it for the report; the table that is left has them no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.engines import spark_audit, spark_tasks
from shoal.engines.aggregates import losses_of
from shoal.engines.blocks import publish_block
from shoal.engines.choice import BLOCK_RECORDS, Way, way_of
from shoal.engines.cuts import Cuts
from shoal.engines.heavy import Heavy, Often
from shoal.engines.layout import GROUP, ORIGIN, Layout
from shoal.engines.sample import Sample
from shoal.engines.spark_comparing import comparison_of
from shoal.engines.spark_errors import told
from shoal.engines.spark_frames import PAIRS, PART, SLOT, Frame, collected, found, plain
from shoal.engines.spark_tasks import BLOCK, Checksum, Counted, Surveyed, Tallied, Work, published_names, with_kept
from shoal.engines.survey import Survey
from shoal.engines.tally import Tally
from shoal.errors import DataError, OptionError
from shoal.partitioning.blocks import OVERFULL
from shoal.plan import Plan
from shoal.progress import Progress, silent
from shoal.release.report.comparison import Comparison

# Partitions of a shuffle; more blocks share them.
MOST_SLOTS = 20_000


@dataclass
class Made:
    """A table that was made, and what is known of it; it is not verified yet.

    Attributes
    ----------
    frame : pyspark.sql.DataFrame
        The published columns under their names; kept by the executors.
    layout : Layout
    aggregates : list of Aggregates
        Of each block.
    comparison : Comparison
        Of the originals with what is published.
    units : {number of units: (classes, rows)} or None
        Counted on the published columns together with the unit, which is not published.
    way : Way
    blocks, rounds : int
    seconds : {phase: seconds}
    """

    frame: Any
    layout: Layout
    aggregates: list[Any]
    comparison: Comparison
    units: dict[int, tuple[int, int]] | None
    way: Way
    blocks: int
    rounds: int
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass
class Milestones:
    """Measures the seconds of phases, and tells the progress."""

    progress: Progress = silent
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str, until: float) -> Iterator[None]:
        """Measure a phase, after which so much is done."""
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
        self.progress(until)


def make(
    frame: Frame,
    plan: Plan,
    *,
    text: bool = False,
    decimal: str = ".",
    block_records: int = BLOCK_RECORDS,
    rounds: int | None = None,
    on_layout: Callable[[Layout], None] = lambda _: None,
    progress: Progress = silent,
) -> Made:
    """Make the table to publish: survey, cuts, groups, rounds."""
    phase = Milestones(progress)
    survey = Survey.of(plan, frame.schema, text=text, decimal=decimal)
    names = used(survey, frame.names)
    with phase("survey", 0.1):
        surveyed = found(frame, Surveyed(survey), names)
    if surveyed.seen.rows == 0:
        raise DataError("The table must have rows. Got none.")
    layout = Layout.of(surveyed.survey)
    on_layout(layout)
    way = way_of(plan, layout.rows)
    rounds = way.rounds if rounds is None else rounds
    with phase("statistics", 0.25):
        layout, sample = _settled(frame, layout)
    with phase("cuts", 0.35):
        cuts = [Cuts.of(sample, layout, block_records, round=round) for round in range(rounds + 1)]
        tallied = found(frame, Tallied(layout, cuts[0], Tally(layout, cuts[0].leaves)), layout.needed)
        first = cuts[0].merged(tallied.tally.falls_short)
        sizes = np.bincount(first.blocks, tallied.tally.counts, first.count).astype(np.int64)
        _require_blocks(tallied.tally, first)
        if first.count == 1 or first.settled.all():
            cuts = cuts[:1]
        heavy = _heavy(frame, layout, first, sizes, block_records)
        beyond = heavy.total + (first.count if layout.strata is not None else 0)
        work = Work(
            layout=layout,
            plan=way.plan,
            kicks=way.kicks,
            names=names,
            kept=[name for name in published_names(layout) if name not in layout.quasi_identifiers],
            rounds=[first, *cuts[1:]],
            slots=[min(MOST_SLOTS, one.count + beyond) for one in [first, *cuts[1:]]],
            heavy=heavy,
            block_records=block_records,
        )
    with phase("groups", 0.8), told():
        kept = carried_out(frame, work, sample).localCheckpoint(eager=True)
        parts = list(collected(kept))
        units = _units(kept, work)
    _require_unchanged(surveyed.seen, [seen for _, seen in parts])
    aggregates = [one for one, _ in parts]
    columns = published_names(layout)
    with phase("comparing", 0.85), told():
        comparison = comparison_of(kept, work.slots[-1], layout, losses_of(aggregates, layout).most)
        table = kept.select(*plain(columns)).toDF(*columns).localCheckpoint(eager=True)
    return Made(table, layout, aggregates, comparison, units, way, first.count, len(cuts) - 1, phase.seconds)


def used(survey: Survey, names: list[str]) -> list[str]:
    """Return the columns that are read at all, in the order of the table."""
    from shoal.tables.schema import UNPUBLISHED

    published = {column.name for column in survey.roles if column.role not in UNPUBLISHED}
    unit = {survey.plan.unit} - {None}
    return [name for name in names if name in published | unit | set(survey.needed)]


def _settled(frame: Frame, layout: Layout) -> tuple[Layout, Any]:
    """Return the layout with all constants, and the rows of the sample."""
    sample: Any = Sample()
    while layout.open or sample is not None:
        parts: list[Any] = ([layout.sums()] if layout.open else []) + ([] if sample is None else [sample])
        counted = found(frame, Counted(layout, parts), layout.needed)
        rest = list(counted.parts)
        if layout.open:
            layout = layout.settled(rest.pop(0))
        if rest:
            rows, sample = rest[0].finished(), None
    return layout, rows


def _require_blocks(tally: Tally, cuts: Cuts) -> None:
    """Refuse demands that a block cannot satisfy as one group, although it is the whole table or stratum."""
    if tally.falls_short(cuts.blocks).any():
        raise OptionError(
            "Every block of records that are near to each other must be able to satisfy 'unit', 'l', 't' and 'models' "
            "as one group. Got one that cannot, although it is the whole table or stratum.",
            hint="demand less.",
        )


def _heavy(frame: Frame, layout: Layout, cuts: Cuts, sizes: Array, block_records: int) -> Heavy:
    """Return the rows that are dealt out because they occur very often; one or two more passes if a block is too large.

    With strata, units or demands, equal rows might not be able to keep what their whole block can: it stays whole.
    """
    large = sizes > OVERFULL * block_records
    if not large.any() or layout.plan.unit is not None or layout.sensitives or layout.strata is not None:
        return Heavy()
    often = found(frame, Often(layout, cuts, large), layout.needed)
    if often.lowered > max(block_records, layout.plan.k):
        return Heavy()  # more different rows than can be counted: it stays whole
    if often.lowered:
        often = found(frame, often.exactly(), layout.needed)
    return often.heavy(sizes, block_records)


def carried_out(frame: Frame, work: Work, sample: Any) -> Any:
    """Return the published rows, with the aggregates of each block in one of them; nothing runs yet."""
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_schema

    packed, last = work.packed(), len(work.rounds) - 1
    travelling, published = schemas(frame, work, sample)

    def send(batches: Iterator[Any]) -> Iterator[Any]:
        return spark_tasks.sent(batches, packed)

    def carry(round: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
        return lambda batches: spark_tasks.carried(batches, packed, round)

    def finish(batches: Iterator[Any]) -> Iterator[Any]:
        return spark_tasks.finished(batches, packed, last)

    rows = frame.some(work.names).mapInArrow(send, from_arrow_schema(travelling[0]))
    for round in range(last):
        there = rows.repartitionById(work.slots[round], F.col(SLOT))
        rows = there.mapInArrow(carry(round), from_arrow_schema(travelling[1]))
    there = rows.repartitionById(work.slots[last], F.col(SLOT))
    return there.mapInArrow(finish, from_arrow_schema(published))


def schemas(frame: Frame, work: Work, sample: Any) -> tuple[list[Any], Any]:
    """Return the schemas of rows that travel, before and after they are grouped, and of what is published.

    What is published is found by publishing one row of the sample, which goes nowhere.
    """
    import pyarrow as pa

    layout = work.layout
    empty = frame.schema.empty_table()
    values = with_kept(layout.decode(empty.select(layout.needed)), empty, work.kept)
    to_blocks = [pa.field(BLOCK, pa.int64()), pa.field(SLOT, pa.int32())]
    groups = [pa.field(GROUP, pa.int64()), pa.field(ORIGIN, pa.int32())]
    before = pa.schema([*values.schema, *to_blocks])
    after = pa.schema([*values.schema, *groups, *to_blocks])
    one = sample.slice(0, 1)
    own = {name: one.column(name) if name in one.column_names else pa.array([0]).cast(kind) for name, kind in
           zip(values.schema.names, values.schema.types, strict=True) if not name.startswith("p")}  # fmt: skip
    alone = pa.table({**own, GROUP: pa.array([0])})
    quasi = publish_block(alone, layout)[0].schema
    columns = []
    for at, name in enumerate(published_names(layout)):
        kind = quasi.field(name).type if name in quasi.names else frame.schema.field(name).type
        columns.append(pa.field(f"c{at}", kind))
    unit = [pa.field("__unit", pa.int64())] if work.plan.unit is not None else []
    return [before, after], pa.schema([*columns, *unit, pa.field(PART, pa.binary()), pa.field(PAIRS, pa.binary())])


def _units(kept: Any, work: Work) -> dict[int, tuple[int, int]] | None:
    """Return how many units the classes of the published columns have."""
    if work.plan.unit is None:
        return None
    columns = published_names(work.layout)
    names = [*work.layout.quasi_identifiers, *work.plan.stratum]
    return spark_audit.units_of(kept, [f"c{columns.index(name)}" for name in names], "__unit")


def _require_unchanged(before: Checksum, parts: list[Checksum]) -> None:
    """Refuse a table that was another one in a later pass."""
    after = Checksum()
    for part in parts:
        after.merge(part)
    if after != before:
        raise DataError(
            "The data frame must give the same rows each time it is computed. Got others; nothing was published.",
            hint="write it to files first, or checkpoint it; it must not depend on chance, order or time.",
        )
