"""A rehearsal of a run in pieces: the first pass alone, which refuses what cannot be done; nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.engines.batches import BATCH_BYTES
from shoal.engines.choice import Way, memory_of, way_of
from shoal.engines.layout import Layout
from shoal.engines.sources import open_batches
from shoal.engines.survey import Survey
from shoal.errors import OptionError

if TYPE_CHECKING:
    from shoal.io import Source
    from shoal.release.hooks import Hooks
    from shoal.release.job import Job


class Rehearsed(NamedTuple):
    """What the first pass found, and how the blocks would be grouped."""

    source: Source
    layout: Layout
    way: Way

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        layout = self.layout
        return {
            "rows": {"in": layout.rows_in, "dropped": layout.rows_dropped, "published": layout.rows},
            "columns": [{"name": one.name, "role": one.role, "role_inferred": one.inferred} for one in layout.columns],
            "attributes": [
                {
                    "columns": [part.name],
                    "type": part.attribute.kind,
                    "type_inferred": part.attribute.inferred,
                    "published": part.attribute.published,
                    "missing": part.missing,
                    "note": part.attribute.note,
                }
                for part in layout.parts
            ],
            "methods": [{"attributes": layout.quasi_identifiers, "method": self.way.plan.method, "why": self.way.why}],
            "warnings": list(layout.warnings),
        }


def rehearse(job: Job, hooks: Hooks) -> Rehearsed:
    """Survey the table of a job."""
    if job.source is None or (not isinstance(job.source, str) and not hasattr(job.source, "__fspath__")):
        raise OptionError("A table that is read in pieces must be a file or in a database. Got one in memory.")
    job.check_targets(dry_run=True)
    memory_of(job.plan)
    progress = hooks.on_step("reading") or (lambda _: None)
    batches = open_batches(job.source, job.reading, batch_bytes=BATCH_BYTES)
    try:
        survey = Survey.of(job.plan, batches.schema, text=batches.text, decimal=batches.decimal)
        for batch in batches.read(survey.needed):
            survey.add(batch)
            if batches.rows:
                progress(survey.rows / batches.rows)
        layout = Layout.of(survey)
        for words in layout.warnings:
            hooks.on_warning(words)
        return Rehearsed(batches.like(), layout, way_of(job.plan, layout.rows))
    finally:
        batches.close()
