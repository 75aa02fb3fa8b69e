"""The stream engine: a table of any size on one machine, in the memory that it is given.

Passes over the source: a survey; sums and a sample; rows are sent to their blocks; and the columns that are published
as they are. Between them, blocks are grouped and refined, and what they publish is put in the order of the rows. The
release is written without a name, read again, audited, and only then named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.engines.batches import Batches
from shoal.engines.buckets import Buckets
from shoal.engines.choice import BASE, BLOCK_RECORDS, memory_of, way_of
from shoal.engines.cuts import COORDINATES, Cuts
from shoal.engines.layout import STRATUM, Layout, numpy_of
from shoal.engines.output import check_output
from shoal.engines.pacing import Phases, ahead
from shoal.engines.result import LargeRelease
from shoal.engines.rounds import Rounds
from shoal.engines.sample import MOST, Sample
from shoal.engines.seen import Seen
from shoal.engines.sources import open_batches
from shoal.engines.spill import Spill, key_of, spill_parent
from shoal.engines.stream_release import Publication
from shoal.engines.sums import Sums
from shoal.engines.survey import Survey
from shoal.engines.tally import Tally
from shoal.errors import OptionError, ShoalError
from shoal.partitioning.door import threads
from shoal.release.hooks import Hooks
from shoal.release.job import Job

# About what share of the time each phase takes.
SHARES: dict[str, float] = {
    "survey": 4,
    "statistics": 5,
    "routing": 6,
    "grouping": 45,
    "refining": 30,
    "writing": 4,
    "auditing": 6,
}
# Bytes of the coordinates of a block that its grouping takes, for each of their own.
PER_BYTE = 12
# Copies of the coordinates of the levels of a column while they are made.
LEVELS = 2
# Of the bytes for rows, what one block, or the levels of all columns, may take.
SHARE = 0.75


def run(
    job: Job,
    hooks: Hooks,
    *,
    resume: bool = False,
    block_records: int = BLOCK_RECORDS,
    rounds: int | None = None,
    batch_bytes: int = 2**23,
) -> LargeRelease:
    """Run a job in pieces, and return what is known of the release, which is in its file.

    Parameters
    ----------
    job : Job
        With an output.
    hooks : Hooks
    resume : bool
        Whether to go on where an earlier run of the same plan on the same file was killed.
    block_records, rounds : int, int or None
        Records of a block, and shifted rounds; None: as many as usual. Other numbers give other groups.
    batch_bytes : int
        Bytes of the source that are read at once; the groups do not depend on it.
    """
    if job.source is None or not isinstance(job.source, str | os.PathLike):
        raise OptionError("A table that is read in pieces must be a file or in a database. Got one in memory.")
    if job.output is None:
        raise OptionError(
            "A release of a table that is read in pieces must be written. Got no output.",
            "name a file with output (-o).",
        )
    if job.plan.shuffle and job.plan.unit is not None:
        raise OptionError(
            "The 'shuffle' of a plan must be left out with 'unit' if the table is read in pieces. Got both.",
            "leave one of them out, or use engine='memory'.",
        )
    job.check_targets()
    memory = memory_of(job.plan)
    batches = open_batches(job.source, job.reading, batch_bytes=batch_bytes)
    try:
        check_output(job, batches)
        how = repr((sorted(job.reading.items()), block_records, rounds))
        key = key_of(batches.fingerprint, job.plan.model_dump_json(), how)
        with (
            Spill(spill_parent(job.output), key, resume=resume) as spill,
            ThreadPoolExecutor(threads(job.plan.n_jobs, "anonymize")) as executor,
        ):
            if resume:
                hooks.on_note(_said_of(spill))
            memory = spill.kept("memory", lambda: memory)
            return _Stream(job, hooks, batches, spill, executor, memory, block_records, rounds).run()
    finally:
        batches.close()


@dataclass
class _Stream:
    """One run."""

    job: Job
    hooks: Hooks
    batches: Batches
    spill: Spill
    executor: ThreadPoolExecutor
    memory: int
    block_records: int
    wanted_rounds: int | None
    phases: Phases = field(init=False)

    def __post_init__(self) -> None:
        self.phases = Phases(SHARES, self.hooks.on_step("grouping") or (lambda _: None))
        self.room = self.memory - BASE  # for rows
        self.workers: int = self.executor._max_workers

    def run(self) -> LargeRelease:
        plan = self.job.plan
        layout = self.spill.kept("surveyed", self._surveyed)
        for words in layout.warnings:
            self.hooks.on_warning(words)
        way = way_of(plan, layout.rows)
        rounds = way.rounds if self.wanted_rounds is None else self.wanted_rounds
        self.hooks.on_prepared(self.batches.like(), Seen(layout, layout.warnings))  # type: ignore[arg-type]
        layout, cuts = self.spill.kept("settled", lambda: self._cut(layout, rounds))
        first, counts = self.spill.kept("routed", lambda: self._routed(layout, cuts[0]))
        at_once = self._at_once(layout, counts)
        if first.count == 1 or first.settled.all():
            cuts, rounds = cuts[:1], 0
        every = Rounds(
            layout=layout,
            way=way,
            cuts=[first, *cuts[1:]],
            spill=self.spill,
            executor=self.executor,
            phases=self.phases,
            room=self.room,
            block_records=self.block_records,
            at_once=at_once,
        )
        with self.hooks.grouping():
            grouped = every.grouped()
        return Publication(
            job=self.job,
            hooks=self.hooks,
            batches=self.batches,
            spill=self.spill,
            phases=self.phases,
            room=self.room,
            layout=layout,
            way=way,
            grouped=grouped,
            blocks=first.count,
            rounds=rounds,
        ).written()

    # --- passes over the source ---

    def _pieces(self, columns: list[str], width: int = 0) -> Iterator[Any]:
        """Yield batches of the source, cut so that their coordinates fit into memory."""
        most = 1 << 17 if not width else max(1000, self.room // (16 * 8 * width * (self.workers + 1)))
        start = 0
        for batch in self.batches.read(columns):
            for at in range(0, batch.num_rows, most):
                piece = batch.slice(at, most)
                yield start, piece
                start += piece.num_rows

    def _surveyed(self) -> Layout:
        """Return the layout that follows from the first pass."""
        how: dict[str, Any] = {"text": self.batches.text, "decimal": self.batches.decimal}
        survey = Survey.of(self.job.plan, self.batches.schema, **how)

        def surveyed(piece: tuple[int, Any]) -> Survey:
            own = Survey.of(self.job.plan, self.batches.schema, **how)
            own.narrow(survey)
            own.add(piece[1])
            return own

        with self.phases("survey", self.batches.rows):
            for own in ahead(self.executor, surveyed, self._pieces(survey.needed), self.workers + 1):
                survey.merge(own)
                self.phases.add(own.rows)
        layout = Layout.of(survey)
        self._require_room(layout)
        return layout

    def _require_room(self, layout: Layout) -> None:
        """Refuse columns of so many levels that their coordinates do not fit into memory."""
        most = max(layout.parts, key=lambda part: part.level_bytes)
        needed = sum(part.level_bytes for part in layout.parts) + LEVELS * most.level_bytes
        if needed > SHARE * self.room:
            raise ShoalError(
                f"The levels of all quasi-identifiers must fit into memory. Got {len(most.levels):,} of {most.name!r}, "
                f"which need about {(needed / SHARE + BASE) / 1e9:.1f} GB.",
                "give more memory (--memory), make the column coarser, or give it another role.",
            )

    def _cut(self, layout: Layout, rounds: int) -> tuple[Layout, list[Cuts]]:
        """Return the layout with all constants, and the cuts of all rounds."""
        layout, sample = self._settled(layout)
        return layout, [Cuts.of(sample, layout, self.block_records, round=round) for round in range(rounds + 1)]

    def _settled(self, layout: Layout) -> tuple[Layout, Any]:
        """Return the layout with all constants, and the sample; one pass for each constant that is open."""
        sample = Sample(min(MOST, COORDINATES // max(1, len(layout.parts))))
        sampled = False
        while layout.open or not sampled:
            sums = layout.sums()
            limit = None if sampled else sample

            def counted(
                piece: tuple[int, Any], layout: Layout = layout, limit: Sample | None = limit
            ) -> tuple[int, Sums, Any]:
                values = layout.decode(piece[1], piece[0])
                own = layout.sums()
                own.add(values)
                few = None
                if limit is not None:
                    few = Sample(limit.most, limit=limit.limit)
                    few.add(values)
                return piece[1].num_rows, own, few

            with self.phases("statistics", layout.rows_in):
                for rows, own, few in ahead(
                    self.executor, counted, self._pieces(layout.needed, len(layout.parts)), self.workers + 1
                ):
                    sums.merge(own)
                    if few is not None:
                        sample.merge(few)
                    self.phases.add(rows)
            sampled = True
            layout = layout.settled(sums) if layout.open else layout
        return layout, sample.finished()

    def _routed(self, layout: Layout, cuts: Cuts) -> tuple[Cuts, Array]:
        """Send the rows to their leaves; return the cuts after leaves that fall short were merged, and block sizes."""
        tally = Tally(layout, cuts.leaves)
        buckets: Buckets | None = None

        def routed(piece: tuple[int, Any]) -> tuple[int, Any, Array, Tally]:
            values = layout.decode(piece[1], piece[0])
            strata = numpy_of(values, STRATUM) if STRATUM in values.column_names else None
            leaves = cuts.route(layout.coordinates(values), strata)
            own = Tally(layout, cuts.leaves)
            own.add(values, leaves)
            return piece[1].num_rows, values, leaves, own

        with self.phases("routing", layout.rows_in):
            pieces = self._pieces(layout.needed, layout.width)
            for rows, values, leaves, own in ahead(self.executor, routed, pieces, self.workers + 1):
                if buckets is None:
                    buckets = Buckets(self.spill, "round-0", values.schema, cuts.leaves, self.room // 16)
                buckets.append(values, leaves)
                tally.merge(own)
                self.phases.add(rows)
            if buckets is None:
                raise self.batches.changed()
            buckets.finish()
        if int(tally.counts.sum()) != layout.rows:
            raise self.batches.changed()
        cuts = cuts.merged(tally.falls_short)
        if tally.falls_short(cuts.blocks).any():
            raise OptionError(
                "Every block of records that are near to each other must be able to satisfy 'unit', 'l', 't' and "
                "'models' as one group. Got one that cannot, although it is the whole table or stratum.",
                "demand less.",
            )
        return cuts, np.bincount(cuts.blocks, tally.counts)

    def _at_once(self, layout: Layout, counts: Array) -> int:
        """Return how many blocks fit into memory at once; refuse one that does not."""
        largest = int(counts.max()) * (8 * layout.width * PER_BYTE + 3 * layout.row_bytes)
        if largest > SHARE * self.room:
            raise ShoalError(
                f"Every block of records must fit into memory. Got one of {int(counts.max()):,} records, which needs "
                f"about {(largest / SHARE + BASE) / 1e9:.1f} GB.",
                "give more memory (--memory), or demand less, if blocks were merged for 't' or 'models'.",
            )
        return max(1, min(self.workers, int(0.6 * self.room / max(1, largest))))


def _said_of(spill: Spill) -> str:
    """Return a line that says whether a run goes on with an earlier one."""
    if spill.resumed:
        return "Goes on where an earlier run was killed."
    if spill.key is None:
        return "Begins anew: a table of this source cannot be known to be that of an earlier run."
    return "Begins anew: there is no killed run of this plan on this file."
