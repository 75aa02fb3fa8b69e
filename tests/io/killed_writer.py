"""Writes a file again and again in processes that are killed; says what was left. Run by test_safe_writing.

Usage: killed_writer.py FOLDER NAME TIMES. Prints one JSON object.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import pyarrow as pa

from shoal.io import write

folder, name, times = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
target = folder / name
rows = 60_000
old = pa.table({"version": ["old"] * 10, "x": ["1"] * 10})
new = pa.table({"version": ["new"] * rows, "x": [str(i % 97) for i in range(rows)]})


def child(pipe, moment, force, waits):
    """Write the new table; say so through the pipe at the given moment of the work, and wait to be killed or go on."""

    def now():
        os.write(pipe, b".")
        if waits:
            signal.pause()

    def progress(fraction):
        if fraction >= moment:
            now()

    def check(_):
        now()

    write(new, target, force=force, check=check, progress=progress)
    os._exit(0)


def one(turn):
    """Kill one writer and return what was found afterwards."""
    force = turn % 2 == 1
    for path in folder.iterdir():
        # A folder is not expected, but must not end this script: what is left is for the test to judge.
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if force:
        write(old, target)
    before = target.read_bytes() if force else None
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        # Most wait, so that they are killed in the middle of the work on a busy machine too; all of those that replace
        # an old file do, as there is an instant between the two names of the new one.
        child(writer, random.Random(turn).uniform(0.0, 0.95), force, waits=force or turn % 3 != 2)
    os.close(writer)
    os.read(reader, 1)
    if not force:
        time.sleep(random.Random(turn).uniform(0.0, 0.02))
    os.kill(process, signal.SIGKILL)
    os.close(reader)
    _, status = os.waitpid(process, 0)
    left = sorted(path.name for path in folder.iterdir())
    if not target.exists():
        state = "none"
    else:
        content = target.read_bytes()
        state = "old" if content == before else "new" if content == whole else "broken"
    return {"force": force, "killed": os.WIFSIGNALED(status), "left": left, "state": state}


if __name__ == "__main__":
    # Made in a process of its own: threads of Arrow must not be there when this one forks.
    if os.fork() == 0:
        write(new, target)
        os._exit(0)
    os.wait()
    whole = target.read_bytes()
    print(json.dumps([one(turn) for turn in range(times)]))  # noqa: T201
