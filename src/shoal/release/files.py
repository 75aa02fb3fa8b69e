"""Writes releases and their documents to files, verified before they get their names.

A release never stands beside documents of another one, whenever the process is killed. Once the new release has been
written and verified without a name, the documents of an old one are removed, its certificate first; then the release
gets its name; then its own documents are written. A certificate is of use only with the file whose hash it has. From
the removal of old documents to the last new one, a process has the folder for itself (see `shoal.io.turns`).
"""

from __future__ import annotations

import json
import os
import time
import warnings
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from shoal.errors import DataError
from shoal.io import Source, write
from shoal.io.files import cannot_write, checked_target, draft
from shoal.io.turns import in_turn
from shoal.progress import Progress, drawn
from shoal.release.hooks import Hooks
from shoal.release.job import Job, record_for
from shoal.release.targets import Target
from shoal.tables.columns import typed
from shoal.tables.frames import to_arrow

if TYPE_CHECKING:
    from shoal.io.source import Written
    from shoal.release.private.table import PrivateTable
    from shoal.release.release import Release
    from shoal.release.updates.update import Update

R = TypeVar("R", "Release", "PrivateTable", "Update")

# Kinds whose values stay text, even if they look like numbers.
WORDS = ("nominal", "ordinal", "hierarchical")


class Documented(Protocol):
    """A release of any kind that has documents beside it."""

    @property
    def written(self) -> Written | None:
        """Return the file that was written."""

    @property
    def record(self) -> dict[str, Any]:
        """Return the record, for the data holder."""

    @property
    def certificate(self) -> dict[str, Any]:
        """Return the certificate, for everyone."""


class _WritingProgress(Hooks):
    """Reports the progress of writing."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress

    def on_step(self, step: str) -> Progress | None:
        return self.progress


def save(
    release: R,
    path: Target,
    *,
    certificate: Target | None = None,
    record: Target | bool = True,
    report: Target | None = None,
    force: bool = False,
    progress: Progress | bool | None = None,
    **options: Any,
) -> R:
    """Write a release; see :meth:`Release.save`."""
    kept = record_for(record, path, certificate, options.get("format"))
    job = Job(release.plan, release.source, path, certificate, kept, report, writing=options, force=force)
    job.check_targets()
    with drawn(progress, "save") as shown:
        release = write_release(release, job, _WritingProgress(shown))
    warn_of(release)
    return release


def warn_of(release: Documented) -> None:
    """Issue the warnings about the file that was written as Python warnings."""
    for words in release.written.warnings if release.written is not None else ():
        warnings.warn(words, UserWarning, stacklevel=4)


def write_release(release: R, job: Job, hooks: Hooks) -> R:
    """Write a release, read and verify it before the file gets its name, and write its documents."""
    job.check_files()  # again, because files may have appeared in the meantime
    with ExitStack() as turn:
        if job.output is not None:
            release = _written(release, job, job.output, hooks, turn)
        write_documents(release, job)
    return release


def write_documents(release: Documented, job: Job) -> None:
    """Write the documents that a job asks for: the record first, so that no certificate stands without it."""
    if job.record is not None:
        write_text(_json(release.record), job.record, force=job.force, private=True)
    if job.certificate is not None:
        write_text(_json(release.certificate), job.certificate, force=job.force)
    if job.report is not None:
        page: str = release.report()  # type: ignore[attr-defined]  # an update has none, and its jobs ask for none
        write_text(page, job.report, force=job.force)
    write_job_file(job)


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _written(release: R, job: Job, output: Target, hooks: Hooks, turn: ExitStack) -> R:
    start = time.perf_counter()
    if release.plan.dp is not None and not len(release.table):
        raise DataError(
            "A private release must have rows to be written. Got none: what noise or the least count left is nothing.",
            hint="its epsilon is spent all the same; a larger epsilon, fewer columns or a smaller k leave more.",
        )
    place = job.place
    folder = [] if place is None or place.path is None else [Path(os.path.realpath(place.path)).parent]
    table = to_arrow(release.table, "save")
    if release.text and place is not None and place.format.name != "csv":
        table = _typed(table, release)
    progress = hooks.on_step("writing")

    def check(again: Source) -> None:
        release.check(again)
        # The last step before the release gets its name. A database is checked twice, but has one turn.
        if folder:
            turn.enter_context(in_turn(folder.pop()))
        remove_superseded(job)

    how: dict[str, Any] = {"check": check, "force": job.force, "progress": progress, **job.writing}
    # Labels, encoding and decimal mark of a file follow its values; a private release has what was declared.
    like = release.source if release.plan.dp is None else None
    written = write(table, output, like=like, **how)
    timings = {**release.timings, "writing": time.perf_counter() - start}
    release = replace(release, written=written, timings=timings)
    hooks.on_written(release)
    for words in written.notes:
        hooks.on_note(words)
    for words in written.warnings:
        hooks.on_warning(words)
    return release


def remove_superseded(job: Job) -> None:
    """Remove the documents of the release that this one takes the place of."""
    for path in job.superseded if job.force else ():
        try:
            path.unlink()
        except OSError as error:
            raise cannot_write(path, error) from None


def write_job_file(job: Job) -> None:
    """Write the job file, if the job has one."""
    if job.job_file is not None:
        write_text(job.text(), job.job_file, force=job.force)


def _typed(table: Any, release: Release | PrivateTable | Update) -> Any:
    """Return a table of text with inferred types, for formats with types."""
    decimal = "." if release.source is None else release.source.decimal
    words = [name for a in release.attributes if a.kind in WORDS for name in a.columns]
    for at, name in enumerate(table.column_names):
        if name not in words:
            table = table.set_column(at, name, typed(table.column(at), decimal, name))
    return table


def write_text(text: str, path: Target, *, force: bool = False, private: bool = False) -> None:
    """Write a text file atomically; only its owner can read a private one."""
    target = checked_target(Path(path), force)
    with draft(target, mode=0o600 if private else 0o666) as beside:
        beside.path.write_text(text, encoding="utf-8")
        beside.publish(force)
