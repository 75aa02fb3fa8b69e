"""The release of the stream engine: its rows are put together and written, read again and audited, then documented."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engines.aggregates import losses_of, utility_of
from shoal.engines.auditing import audit_batches
from shoal.engines.batches import Batches
from shoal.engines.choice import Way
from shoal.engines.layout import Layout
from shoal.engines.lone import Lone, Lones
from shoal.engines.order import shuffled, with_columns_of
from shoal.engines.output import write_batches
from shoal.engines.pacing import Phases
from shoal.engines.result import LargeRelease
from shoal.engines.rounds import Grouped
from shoal.engines.spill import Spill
from shoal.engines.survey import complete_rows
from shoal.errors import ShoalError
from shoal.privacy.audit import Audit, require_privacy
from shoal.release.files import write_documents
from shoal.release.groups.blocks import Block
from shoal.release.hooks import Hooks
from shoal.release.job import Job
from shoal.tables.schema import UNPUBLISHED

if TYPE_CHECKING:
    from shoal.io import Written


@dataclass(frozen=True)
class Publication:
    """What is published of a table whose groups are formed.

    Attributes
    ----------
    job, hooks : Job, Hooks
    batches : Batches
        The source, for columns that are published as they are.
    spill, phases : Spill, Phases
    room : int
        Bytes that rows may take.
    layout, way : Layout, Way
    grouped : Grouped
    blocks, rounds : int
        How often the table was cut, and groups were refined.
    """

    job: Job
    hooks: Hooks
    batches: Batches
    spill: Spill
    phases: Phases
    room: int
    layout: Layout
    way: Way
    grouped: Grouped
    blocks: int
    rounds: int

    def written(self) -> LargeRelease:
        """Write the release, verify it, and return what is known of it."""
        made: list[LargeRelease] = []
        passed_on = [column.name for column in self.layout.columns if column.role in ("sensitive", "other")]
        lones = Lones({name: Lone() for name in passed_on})

        def check(again: Batches) -> Audit:
            writing()
            return self._audited(again)

        def finish(written: Written, found: Audit) -> None:
            made.append(self._documented(written, found, lones.words))

        writing = self.phases.begun("writing")
        write_batches(
            lones.watched(self._tables()),
            self.job,
            schema=self._schema,
            like=self.batches,
            check=check,
            finish=finish,
            rows=self.layout.rows,
            progress=self.hooks.on_step("writing"),
        )
        return made[0]

    @property
    def _names(self) -> list[str]:
        """Return the columns of the release."""
        return [column.name for column in self.layout.columns if column.role not in UNPUBLISHED]

    @property
    def _schema(self) -> Any:
        """Return the schema of the release."""
        import pyarrow as pa

        own, source = self.grouped.schema, self.batches.schema
        return pa.schema([(own if name in own.names else source).field(name) for name in self._names])

    def _tables(self) -> Iterator[Any]:
        """Return the rows of the release, in their order."""
        names = self._names
        kept = [name for name in names if name not in self.layout.quasi_identifiers]
        first, *others = self.grouped.rows
        tables = first.read(*others)
        if kept:
            tables = with_columns_of(self.batches.read(kept), tables, names)
        else:
            tables = (table.select(names) for table in tables)
        if not self.job.plan.shuffle:
            return tables
        seed = self.spill.kept("seed", lambda: secrets.randbits(128))
        return shuffled(tables, self.spill, "shuffled", self.layout.rows, self.room // 3, seed)

    def _audited(self, again: Batches) -> Audit:
        """Return what was counted in the file; refuse one that must not be published."""
        plan, layout = self.job.plan, self.layout
        with self.phases("auditing", None):
            found = audit_batches(
                again,
                [*layout.quasi_identifiers, *plan.stratum],
                plan,
                self.spill,
                self.room // 2,
                wanted=plan.k,
                unit=plan.unit,
                beside=None if plan.unit is None else partial(self._units, plan.unit),
            )
        require_privacy(found, "The file")
        if found.rows != layout.rows:
            raise ShoalError("A release must have all rows of its table. Got others; please report this.")
        return found

    def _units(self, unit: str) -> Iterator[Any]:
        """Yield the units of the rows that are published, in their order."""
        import pyarrow as pa

        layout = self.layout
        for batch in self.batches.read(list(dict.fromkeys([unit, *layout.quasi_identifiers]))):
            table = complete_rows(
                pa.Table.from_batches([batch]), layout.quasi_identifiers, layout.plan, layout.decimal
            )[0]
            yield from table.select([unit]).to_batches()

    def _documented(self, written: Written, found: Audit, warnings: list[str]) -> LargeRelease:
        """Return the release, after its documents were written."""
        job = self.job
        hashed = getattr(self.batches, "hashed", None)
        if hashed is not None and job.record is not None:
            hashed()
        release = self._release(written, found, warnings)
        self.hooks.on_written(release)  # type: ignore[arg-type]
        for words in (*written.notes, *self.batches.notes):
            self.hooks.on_note(words)
        for words in (*written.warnings, *found.notes, *warnings):
            if words not in self.layout.warnings:  # which were told before
                self.hooks.on_warning(words)
        write_documents(release, job)
        return release

    def _release(self, written: Written, found: Audit, warnings: list[str]) -> LargeRelease:
        """Return what is known of the release."""
        layout, plan = self.layout, self.job.plan.model_copy(update={"bound": "none", "engine": "stream"})
        block = Block(
            tuple(part.name for part in layout.parts),
            tuple(layout.quasi_identifiers),
            np.zeros(0, np.int64),
            self.way.in_words(self.rounds),
            self.way.why,
        )
        return LargeRelease(
            plan=plan,
            columns=layout.columns,
            attributes=tuple(part.attribute for part in layout.parts),
            blocks=(block,),
            audit=found,
            losses=losses_of(self.grouped.aggregates, layout),
            utility=utility_of(found.sizes, plan.k),
            missing_counts=tuple((part.name, part.missing) for part in layout.parts),
            rows_in=layout.rows_in,
            rows_dropped=layout.rows_dropped,
            warnings=tuple(dict.fromkeys((*layout.warnings, *found.notes, *warnings))),
            timings=dict(self.phases.seconds),
            comparison=self.grouped.comparison,
            way=_in_words(self.blocks, self.rounds),
            cells={one.name: one.table for one in layout.sensitives},
            text=layout.text,
            source=self.batches.like(),
            written=written,
        )


def _in_words(blocks: int, rounds: int) -> str:
    counts = {"block": blocks, "round": rounds}
    return ", ".join(f"{count:,} {what}{'s' * (count > 1)}" for what, count in counts.items() if count)
