"""The command and the Python code that make a release again, byte for byte, and whether they do."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from shoal.io.sql import Address
from shoal.options.option import arguments_of
from shoal.options.table import PLAN, READING, WRITING
from shoal.release.report.facts import by_the_clock

if TYPE_CHECKING:
    from shoal.release.job import Job
    from shoal.release.release import Release


def again(job: Job, release: Release) -> dict[str, Any]:
    """Return the command, the Python code, and why they may give another release, if so."""
    why = _why(release)
    return {"command": command_of(job), "python": python_of(job), "exact": why is None, "why": why}


def _why(release: Release) -> str | None:
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
    start = ["shoal", "anonymize", _named(job), "-k", str(job.plan.k), "-o", str(job.output)]
    return shlex.join([*start, *options, "--report", str(job.report)])


def _named(job: Job) -> str:
    """Return the table as a command names it: the address of a database without its password."""
    where = str(job.source)
    return Address(where).name if where.startswith("postgres") and "://" in where else where


def python_of(job: Job) -> str:
    """Return the Python code."""
    read = ", ".join([repr(_named(job)), *(f"{name}={value!r}" for name, value in job.reading.items())])
    lines = ["import shoal", "", "release = shoal.anonymize_file("]
    lines.append(f"    {read}," if not job.reading else f"    shoal.io.read({read}),")
    lines.append(f"    {str(job.output)!r},")
    lines += [f"    {name}={str(path)!r}," for name, path in (("certificate", job.certificate), ("report", job.report))]
    lines += [f"    {name}={value!r}," for name, value in job.writing.items()]
    lines += [f"    {field}={value!r}," for field, value in job.plan.job().items()]
    return "\n".join([*lines, ")"])
