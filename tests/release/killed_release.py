"""Replaces a release by another in processes that are killed at every step of writing. Run by test_killed_releases.

Usage: killed_release.py FOLDER. Prints one JSON object per kill. A step is a call of a function of shoal.release.files,
or the end of a call of the system by which a file gets its name, loses it, or is flushed.
"""

import fcntl
import hashlib
import importlib
import json
import os
import shutil
import signal
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import shoal
from shoal.io import files
from shoal.io.private import PREFIX
from shoal.release import files as writing

MARK, RAW = "marker-of-the-release", "marker-of-the-input"
SYSTEM = ("link", "unlink", "replace", "fsync", "chmod")
WATCHED = (files.__file__, writing.__file__, os.path.join(os.path.dirname(os.__file__), "pathlib.py"))


def in_child(work):
    """Do something in a process of its own; return what it sent, and its status."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        try:
            work(writer)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        sent = pipe.read()
    return sent, os.waitpid(process, 0)[1]


def table_of(folder, mark):
    """Write a table whose release differs with the mark."""
    lines = [f"{20 + at + 10 * (mark == 'new')},{RAW}-{at},{MARK}-{mark}" for at in range(9)]
    (folder / f"{mark}.csv").write_text("age,name,note\n" + "\n".join(lines) + "\n")


def released(base, mark):
    """Make the release of a table, with all of its documents, in place of whatever is there."""
    out = base / "out"
    shoal.anonymize_file(
        base / f"{mark}.csv",
        out / "r.csv",
        certificate=out / "r.csv.manifest.json",
        report=out / "r.html",
        force=True,
        **{"k": 3, "method": "mdav", "quasi_identifiers": ["age"], "identifiers": ["name"], "other": ["note"]},
    )


def watched(step):
    """Call `step` with the name and the number of every step."""
    count = Counter()

    def watch(frame, event, argument):
        where = frame.f_code.co_filename
        if where not in WATCHED:
            return
        if event == "call" and where == writing.__file__:
            name = frame.f_code.co_name
        elif event == "c_return" and argument.__name__ in SYSTEM and argument.__module__ == "posix":
            name = f"after {argument.__name__}"
        else:
            return
        count[name] += 1
        step(f"{name} {count[name]}")

    sys.setprofile(watch)


def replaced(base, at, pipe):
    """Replace the old release, and be killed at a step; without one, send all steps."""
    seen = []

    def step(now):
        seen.append(now)
        if now == at:
            os.kill(os.getpid(), signal.SIGKILL)

    watched(step)
    released(base, "new")
    sys.setprofile(None)
    os.write(pipe, json.dumps(seen).encode())


def marks_of(path):
    """Return which of the releases a file has something of, and whether it has anything of the input."""
    text = path.read_text(errors="replace")
    return [mark for mark in (f"{MARK}-old", f"{MARK}-new", RAW) if mark in text]


def left(base):
    """Say what a killed process has left."""
    out = base / "out"
    release, certificate = out / "r.csv", out / "r.csv.manifest.json"
    lock = os.open(out, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises an error if a dead process still had it
    os.close(lock)
    here = hashlib.sha256(release.read_bytes()).hexdigest()
    told = json.loads(certificate.read_text())["output"]["sha256"] if certificate.exists() else None
    open_to_others = [path for path in out.rglob("*") if path.is_file() and not path.parent.name.startswith(PREFIX)]
    return {
        "certificate": "none" if told is None else "right" if told == here else "wrong",
        "release": marks_of(release),
        "report": marks_of(out / "r.html") if (out / "r.html").exists() else [],
        "others": sorted(path.name for path in open_to_others),
        "raw": [path.name for path in out.rglob("*") if path.is_file() and RAW in marks_of(path)],
        "private": [oct(path.stat().st_mode & 0o777) for path in out.iterdir() if path.is_dir()],
    }


def in_advance(pipe_of):
    """Load what a process has loaded, so that others need not; not by doing its work, as that starts threads."""
    for name in json.loads(pipe_of):
        with suppress(Exception):
            importlib.import_module(name)


def main(base):
    out, kept = base / "out", base / "kept"
    out.mkdir()
    for mark in ("old", "new"):
        table_of(base, mark)

    def first(pipe):
        released(base, "old")
        os.write(pipe, json.dumps([name for name in sys.modules if "." in name or name.isidentifier()]).encode())

    in_advance(in_child(first)[0])
    shutil.copytree(out, kept)
    for at in json.loads(in_child(lambda pipe: replaced(base, None, pipe))[0]):
        shutil.rmtree(out)
        shutil.copytree(kept, out)
        _, status = in_child(lambda pipe, at=at: replaced(base, at, pipe))
        result = {"step": at, "killed": os.WIFSIGNALED(status), **left(base)}
        if result["private"]:
            in_child(lambda _: released(base, "new"))
        print(json.dumps({**result, "again": left(base)}))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
