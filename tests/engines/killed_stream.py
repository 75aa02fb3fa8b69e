"""Runs of the stream engine that are killed at some point, and runs that go on with them: run by the tests of it.

Every run is a process of its own, forked before anything is computed: imports and kernels are loaded once.
"""

import hashlib
import json
import os
import signal
import sys
import traceback
from pathlib import Path

import pyarrow.parquet as pq

from shoal.engines import auditing, buckets, order, output, rounds, stream_release, sums, survey
from shoal.engines.stream import run
from shoal.io import files
from shoal.plan import Plan
from shoal.release.hooks import Hooks
from shoal.release.job import Job

# Where a run is killed: before the call of this number of a function.
POINTS = {
    "survey": (survey.Survey, "add", 2),
    "statistics": (sums.Sums, "add", 2),
    "routing": (buckets.Buckets, "_write", 5),
    "routed": (buckets.Buckets, "finish", 1),
    "grouping": (rounds, "group_block", 3),
    "refining": (rounds, "refine_block", 2),
    "later round": (rounds, "refine_block", 9),
    "publishing": (order.InOrder, "append", 2),
    "writing": (output, "without_traces", 1),
    "auditing": (auditing, "audit_partition", 1),
    "naming": (files.Draft, "publish", 1),
    "documents": (stream_release, "write_documents", 1),
}


def killed(point: str) -> None:
    """Let the process be killed at a point."""
    place, name, number = POINTS[point]
    real, calls = getattr(place, name), []

    def replaced(*arguments, **options):
        calls.append(1)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)

    setattr(place, name, replaced)


class Said(Hooks):
    """Keeps notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def on_note(self, words: str) -> None:
        self.notes.append(words)


def released(
    folder: Path, name: str, *, resume: bool = False, point: str | None = None, reading: dict | None = None, **fields
) -> None:
    """Run a job, and write what it said to a file."""
    if point is not None:
        killed(point)
    plan = Plan(
        k=3, quasi_identifiers=["a", "b"], sensitive_attributes=["ill"], other=["note"], memory="1GB", method="mdav",
        engine="stream", n_jobs=2, **fields,
    )  # fmt: skip
    target = folder / name
    documents = f"{target}.manifest.json", f"{target}.record.json"
    job = Job(plan, folder / "in.parquet", target, *documents, reading=reading or {}, force=True)
    said = Said()
    release = run(job, said, resume=resume, block_records=100, batch_bytes=4000)
    Path(f"{target}.said").write_text(json.dumps({"notes": said.notes, "k": release.audit.k}))


def forked(*arguments, **options) -> int:
    """Return how a process ended that ran a job."""
    child = os.fork()
    if child == 0:
        try:
            released(*arguments, **options)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(folder: Path, points: list[str], **fields) -> None:
    """Kill a run at each point, go on with it, and say what became of it."""
    found = {}
    for point in points:
        name = "out.parquet"
        ended = forked(folder, name, point=point, **fields)
        left = [path for path in folder.iterdir() if path.name.startswith(".shoal-spill-")]
        private = all(path.stat().st_mode & 0o077 == 0 for one in left for path in (one, *one.rglob("*")))
        named = (folder / name).exists()
        documents = (folder / f"{name}.manifest.json").exists()
        rest = [one for one in os.listdir(folder) if one.startswith(".") and not one.startswith(".shoal-spill-")]
        again = forked(folder, name, resume=True, **fields)
        said = json.loads((folder / f"{name}.said").read_text())
        content = (folder / name).read_bytes()
        found[point] = {
            "ended": ended, "left": len(left), "private": private, "named": named, "documents": documents,
            "rest": rest, "again": again, "sha256": hashlib.sha256(content).hexdigest(), **said,
            "rows": pq.read_metadata(folder / name).num_rows,
            "hidden": [one for one in os.listdir(folder) if one.startswith(".")],
        }  # fmt: skip
        for one in folder.glob("out.parquet*"):
            one.unlink()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2].split(","), **json.loads(sys.argv[3]))
