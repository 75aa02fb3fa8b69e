"""Runs and checks: the pipeline of the command line, with hooks that tell the server how it stands."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from shoal.errors import DisclosureWarning
from shoal.io.files import sha256_of
from shoal.io.formats import FORMATS, locate
from shoal.plan import Plan
from shoal.progress import Progress, Standing
from shoal.release import pipeline
from shoal.release.hooks import Hooks
from shoal.release.job import Job, certificate_beside, record_beside, seeded
from shoal.release.private.table import PrivateTable
from shoal.web.tasks import private
from shoal.web.tasks.again import again
from shoal.web.tasks.results import result_of
from shoal.web.tasks.sources import named, put_beside
from shoal.web.worker import Line

if TYPE_CHECKING:
    from shoal.io import Source
    from shoal.release.preparation import Prepared
    from shoal.release.release import Release

REPORT, JOB_FILE, RESULT = "report.html", "job.yaml", "result.json"
# Seconds between two reports of progress.
PACE = 0.1
# Bytes of a file from which on commands choose where it is anonymised, as `shoal.engines.choice` has it.
LARGE = 1 << 30
# Formats of files that can be written; a table of another is released as CSV.
WRITTEN = ("csv", "jsonl", "parquet", "arrow", "excel", "stata", "spss", "sas-transport")
TYPES = {".csv": "text/csv", ".json": "application/json", ".html": "text/html", ".yaml": "application/yaml"}


class Spoken(Hooks):
    """Tells the server the phase, the progress, the loss so far and the gap so far."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self._lock = Lock()

    def on_step(self, step: str) -> Progress:
        """Tell the phase, and return what tells its progress."""
        self.line.say(phase=step)
        return paced(self.line)

    def on_prepared(self, source: Source, prepared: Prepared) -> None:
        """Tell that the table was read."""
        self.line.say(phase="preparing", fraction=1.0)

    @contextmanager
    def grouping(self) -> Iterator[None]:
        """Leave warnings to `on_warning`."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("ignore", DisclosureWarning)
            yield

    def enough(self) -> bool:
        """Return whether the user has enough."""
        return self.line.enough.is_set()

    def on_warning(self, words: str) -> None:
        """Tell what weakens the protection."""
        self.line.say(warning=words)


def paced(line: Line) -> Progress:
    """Return what tells progress, not too often."""
    last, lock = [0.0], Lock()

    def report(fraction: float) -> None:
        with lock:
            now = time.monotonic()
            if now - last[0] < PACE and fraction < 1:
                return
            last[0] = now
        said: dict[str, Any] = {"fraction": min(max(float(fraction), 0.0), 1.0)}
        if isinstance(fraction, Standing) and isfinite(fraction.loss):
            said |= {"loss": fraction.loss, "gap": fraction.gap if isfinite(fraction.gap) else None}
        line.say(**said)

    return report


def job_for(source: str, plan: Plan, reading: Mapping[str, Any], writing: Mapping[str, Any]) -> Job:
    """Return the job of a run: its files lie in this folder, under the names that a command would give them."""
    place = locate(source, reading.get("format"), "source")
    format = writing.get("format") or (place.format.name if place.format.name in WRITTEN else "csv")
    known = locate("release.csv", format, "output").format
    suffix = place.suffix if place.format is known and place.suffix else FORMATS[known.name].suffixes[0]
    output = f"release{suffix}"
    if plan.dp is None and place.path is not None and place.path.is_file() and place.path.stat().st_size >= LARGE:
        # The command would choose by the memory that is free then, and make other groups in pieces.
        plan = plan.model_copy(update={"engine": "memory"})
    return Job(
        seeded(plan),
        source,
        output,
        certificate_beside(output),
        record_beside(output),
        REPORT,
        JOB_FILE,
        reading=dict(reading),
        writing={name: value for name, value in writing.items() if name != "format"},
    )


def run(
    line: Line,
    where: str,
    label: str | None,
    reading: Mapping[str, Any],
    files: Mapping[str, str],
    plan: dict[str, Any],
    writing: dict[str, Any],
) -> dict[str, Any]:
    """Make a release, with all of its documents and what the page shows of it."""
    line.say(phase="reading")
    put_beside(files)
    job = job_for(named(where, label), Plan.of(**plan), reading, writing)
    release = pipeline.run(job, Spoken(line))
    line.say(phase="measuring")
    made, summary = _made(release)
    commands = again(job, release)
    for name, words in (("command.txt", commands["command"]), ("again.py", commands["python"])):
        Path(name).write_text(words + "\n", encoding="utf-8")
    offered = _files(job)
    _keep({**made, "again": commands, "files": list(offered.values())})
    return {"summary": summary, "files": offered}


def _made(release: Release | PrivateTable) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the page shows of a release, and what a list of runs does."""
    if isinstance(release, PrivateTable):
        return private.result_of(release), private.summary_of(release)
    summary = {
        "k": release.k,
        "loss": release.loss,
        "risk": release.risk,
        "groups": release.audit.classes,
        "rows": release.audit.rows,
    }
    return result_of(release), summary


def _keep(result: dict[str, Any]) -> None:
    Path(RESULT).write_text(json.dumps(result, ensure_ascii=False, allow_nan=False), encoding="utf-8")


def _files(job: Job) -> dict[str, dict[str, Any]]:
    """Return the files of a run, by the names under which the page offers them."""
    listed = {
        "release": (job.output, True),
        "certificate": (job.certificate, True),
        "report": (job.report, True),
        "record": (job.record, False),
        "job_file": (job.job_file, False),
        "command": ("command.txt", False),
        "python": ("again.py", False),
    }
    return {
        name: {
            "name": name,
            "file": str(path),
            "bytes": os.stat(str(path)).st_size,
            "sha256": sha256_of(Path(str(path))),
            "public": public,
            "type": TYPES.get(Path(str(path)).suffix, "application/octet-stream"),
        }
        for name, (path, public) in listed.items()
    }


def check(
    line: Line,
    where: str,
    label: str | None,
    reading: Mapping[str, Any],
    files: Mapping[str, str],
    plan: dict[str, Any],
) -> dict[str, Any]:
    """Read and check everything that a plan says, and return what it means; nothing is released."""
    line.say(phase="reading")
    put_beside(files)
    job = Job(seeded(Plan.of(**plan)), named(where, label), reading=dict(reading))
    if job.plan.dp is not None:
        _keep(private.check(job, Spoken(line)))
        return {}
    prepared = pipeline.rehearse(job, Spoken(line))
    found = pipeline.rehearsed(prepared, prepared.methods(prepared.embedded()))
    _keep({**found, "most_groups": prepared.table.num_rows // prepared.plan.k})
    return {}
