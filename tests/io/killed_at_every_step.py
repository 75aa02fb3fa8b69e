"""Writes files in processes that kill themselves at chosen steps, and says what is left. Run by test_killed_writers.

Usage: killed_at_every_step.py FOLDER MOST. Prints one JSON object per kill. A step is a call of a function of
shoal.io, or the beginning or the end of a call of a built-in function from there. MOST of them are tried for each way
of writing, and the one at which everything is written but nothing is verified yet; for CSV and databases also all that
make, name or replace a file.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa

import shoal.io
from shoal.io import access, write
from shoal.io.private import PREFIX

WHERE = str(Path(access.__file__).parent)
NAMING = ("posix.link", "posix.replace", "posix.mkdir")
MARKER = b"marker-of-the-release"
FORMATS = ("t.csv", "t.csv.gz", "t.parquet", "t.arrow", "t.xlsx", "t.dta", "t.sav", "t.xpt")
SMALL = pa.table({"a": [f"marker-of-the-release-{i}" for i in range(20)], "b": [float(i) for i in range(20)]})
# So large that SQLite's cache overflows, and that DuckDB writes them to the disk before they are committed.
LARGE = {
    "t.sqlite": pa.table({"a": [f"marker-of-the-release-{i:050}" for i in range(40_000)]}),
    "t.duckdb": pa.table({"a": [f"marker-of-the-release-{i * 7919 % 130_003:09}" for i in range(130_000)]}),
}
OLD = pa.table({"a": ["old"], "b": [0.0]})


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


def counted(step, seen):
    """Call `step` with every step: its name, and how many of that name there have been.

    Not with a number of their own: Arrow reads in threads, so that the number of steps is not always the same.
    """
    count = Counter()

    def watch(frame, event, argument):
        if not frame.f_code.co_filename.startswith(WHERE) or event in ("return", "c_exception"):
            return
        name = frame.f_code.co_name if event == "call" else f"{event} {argument.__module__}.{argument.__name__}"
        count[name] += 1
        seen.append((name, count[name]))
        step((name, count[name]))

    sys.setprofile(watch)


def writing(way, at, pipe):
    """Write the table, and kill this process at a step; without one, send all steps instead."""
    if way["hidden"]:
        del os.O_TMPFILE
    seen = []

    def step(now):
        if now == at:
            os.kill(os.getpid(), signal.SIGKILL)

    table = LARGE.get(way["name"], SMALL)
    how = {"name_of_table": "new"} if way["name"] in LARGE else {"force": way["force"]}

    def check(_):
        os.write(pipe, b"" if at is None else b"verified")

    counted(step, seen)
    write(table, Path(way["folder"]) / way["name"], check=check, **how)
    sys.setprofile(None)
    if at is None:
        os.write(pipe, json.dumps(seen).encode())


def chosen(way, steps, most):
    apart = max(len(steps) // (most + 1), 1)
    some = [*steps[apart::apart], ("require_same", 1)]
    if way["name"] in ("t.csv", *LARGE):
        some += [step for step in steps if step[0].rpartition(" ")[2] in NAMING]
    return dict.fromkeys(some)


def emptied(folder):
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def prepared(way):
    """Empty the folders; write an old file, if there is to be one."""
    emptied(Path(way["folder"]))
    emptied(Path(os.environ["TMPDIR"]))
    if way["force"]:
        how = {"name_of_table": "old"} if way["name"] in LARGE else {}
        in_child(lambda _: write(OLD, Path(way["folder"]) / way["name"], **how))


def state(way, target):
    """Say which of the tables can be read from the target."""

    def look(pipe):
        how = {"query": "SELECT * FROM new"} if way["name"] in LARGE else {}
        try:
            rows = shoal.io.read(target, **how).table.num_rows
        except shoal.ShoalError:
            how = {"query": "SELECT * FROM old"} if way["name"] in LARGE else {}
            rows = shoal.io.read(target, **how).table.num_rows
        os.write(pipe, {1: "old", LARGE.get(way["name"], SMALL).num_rows: "new"}.get(rows, "broken").encode())

    return in_child(look)[0].decode() or "broken" if target.exists() else "none"


def found(way, at):
    """Kill one writer, and return what is left."""
    prepared(way)
    folder = Path(way["folder"])
    target = folder / way["name"]
    sent, status = in_child(lambda pipe: writing(way, at, pipe))
    private = [path for path in folder.iterdir() if path.name.startswith(PREFIX)]
    others = [p.name for p in folder.iterdir() if p not in private and not p.name.startswith(way["name"])]
    files = [p for p in folder.rglob("*") if p.is_file()]
    result = {
        **way,
        "step": at[0],
        "killed": os.WIFSIGNALED(status),
        "verified": b"verified" in sent,
        "others": others + os.listdir(os.environ["TMPDIR"]),
        "companions": sorted(p.name for p in folder.iterdir() if p.name.startswith(way["name"] + "-")),
        "private": [oct(path.stat().st_mode & 0o777) for path in private],
        "marked": [str(p.relative_to(folder)) for p in files if MARKER in p.read_bytes()],
        "state": state(way, target),
    }
    if private:
        in_child(lambda _: write(SMALL, folder / "next.csv"))
    return {**result, "later": sorted(p.name for p in folder.iterdir() if p.name != "next.csv")}


def main(base, most):
    folder, temporary = base / "target", base / "temporary"
    folder.mkdir()
    temporary.mkdir()
    os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
    ways = [
        {"folder": str(folder), "name": name, "hidden": hidden, "force": force}
        for name in (*FORMATS, *LARGE)
        for hidden in (False, True)
        for force in (False, True)
        if not (name in LARGE and hidden) and not (name in FORMATS[1:] and (force or (hidden and most == 1)))
    ]
    for way in ways:
        prepared(way)
        sent, _ = in_child(lambda pipe, way=way: writing(way, None, pipe))
        for at in chosen(way, [tuple(step) for step in json.loads(sent)], most):
            print(json.dumps(found(way, at)))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
