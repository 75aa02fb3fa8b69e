"""The command and the Python code that make a release again, byte for byte, and whether they do."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from shoal.io.sql import named
from shoal.options.option import arguments_of
from shoal.options.table import PLAN, READING, WRITING
from shoal.release.private.table import PrivateTable
from shoal.release.report.facts import by_the_clock

if TYPE_CHECKING:
    from shoal.release.job import Job
    from shoal.release.release import Release


def again(job: Job, release: Release | PrivateTable) -> dict[str, Any]:
    """Return the command, the Python code, and why they may give another release, if so."""
    why = _why(release)
    return {"command": command_of(job), "python": python_of(job), "exact": why is None, "why": why}


def _why(release: Release | PrivateTable) -> str | None:
    if isinstance(release, PrivateTable):
        return "Noise is drawn anew each time, and another release of the same people spends epsilon once more."
    if release.plan.shuffle:
        return "The rows are in random order, which is drawn anew each time."
    if release.stopped:
        return "The search was ended by hand: it would go on further, and may find other groups."
    if by_the_clock(release.plan):
        return "The clock ended the search: another run may find other groups."
    return None


def command_of(job: Job) -> str:
    """Return the command; if options do not suffice, one with the job file."""
    fields = {name: value for name, value in job.plan.job().items() if name != "k"}
    words = [
        arguments_of(fields, PLAN),
        arguments_of(job.reading, READING, "reading"),
        arguments_of(job.writing, WRITING, "writing"),
    ]
    if any(one is None for one in words):
        return shlex.join(["shoal", "anonymize", "--job", str(job.job_file)])
    options = [word for one in words for word in one or ()]
    groups = ["-k", str(job.plan.k)] if job.plan.dp is None else []
    start = ["shoal", "anonymize", named(str(job.source)), *groups, "-o", str(job.output)]
    return shlex.join([*start, *options, "--report", str(job.report)])


def python_of(job: Job) -> str:
    """Return the Python code."""
    read = ", ".join([repr(named(str(job.source))), *(f"{name}={value!r}" for name, value in job.reading.items())])
    lines = ["import shoal", "", "release = shoal.anonymize_file("]
    lines.append(f"    {read}," if not job.reading else f"    shoal.io.read({read}),")
    lines.append(f"    {str(job.output)!r},")
    lines += [f"    {name}={str(path)!r}," for name, path in (("certificate", job.certificate), ("report", job.report))]
    lines += [f"    {name}={value!r}," for name, value in job.writing.items()]
    lines += [f"    {field}={value!r}," for field, value in job.plan.job().items()]
    return "\n".join([*lines, ")"])
