"""Tables larger than memory: ``python -m benchmarks.scale [--millions 10,20,40,100] [--memory 2GB] [-k 5]``.

A generator writes Parquet piece by piece: ten correlated columns of doubles. Each table is anonymised by a process of
its own with ``engine="stream"``. Seconds are those of the clock and of the processor, by phase; memory is the peak of
the whole tree of processes, seen twenty times a second, and room on the disk that of the spill folder, seen every two
seconds. ``--against`` also groups each table in memory by ONA*, to compare the losses; that takes some minutes of the
processor for a million rows. ``--spark`` measures a local Spark in place of the stream, ``--cuts 1e10`` cuts a table
that is never made.

What was measured is kept in ``benchmarks/scale.json``, each size by itself, and written into
``docs/explanation/scale.md`` after each measurement; ``--page`` writes the page alone, ``--try`` neither.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import scale_page

COLUMNS, FACTORS, PIECE = 10, 4, 1_000_000


def generate(path: Path, rows: int, *, columns: int = COLUMNS) -> None:
    """Write a table of correlated columns, piece by piece; the first rows of two tables are the same."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    mix = np.random.default_rng(0).normal(size=(FACTORS, columns))
    schema = pa.schema([(f"x{at}", pa.float64()) for at in range(columns)])
    with pq.ParquetWriter(path, schema) as writer:
        for at in range(0, rows, PIECE):
            rng, n = np.random.default_rng([1, at // PIECE]), min(PIECE, rows - at)
            X = rng.normal(size=(n, FACTORS)) @ mix + 0.7 * rng.normal(size=(n, columns))
            writer.write_table(pa.table(list(X.T), schema=schema), row_group_size=250_000)


class Watch(threading.Thread):
    """Watches the resident memory of a process and of all that it starts, and the spill folder beside its output."""

    def __init__(self, pid: int, folder: Path) -> None:
        super().__init__(daemon=True)
        self.pid, self.folder, self.peak, self.spilled, self.ended = pid, folder, 0, 0, threading.Event()

    def run(self) -> None:
        """Look twenty times a second, at the disk every two seconds."""
        turn = 0
        while not self.ended.wait(0.05):
            self.peak = max(self.peak, sum(_resident(pid) for pid in _tree(self.pid)))
            turn += 1
            if turn % 40 == 0:
                self.spilled = max(self.spilled, sum(map(_size, self.folder.glob(".shoal-spill-*"))))


def _size(folder: Path) -> int:
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # gone meanwhile
                total += os.lstat(os.path.join(path, name)).st_size
    return total


def _tree(pid: int) -> list[int]:
    found = [pid]
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            children = Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
            found += [other for child in children for other in _tree(int(child))]
    except OSError:
        pass
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def stream(source: str, output: str, fields: dict[str, Any], how: dict[str, Any]) -> dict[str, Any]:
    """Anonymise a file in this process, and return what was measured."""
    from shoal.engines.stream import run
    from shoal.plan import Plan
    from shoal.release.hooks import Hooks
    from shoal.release.job import Job

    spent: dict[str, list[float]] = {}
    now: list[Any] = ["start", time.perf_counter(), time.process_time()]

    def enter(phase: str) -> None:
        clock, processor = time.perf_counter(), time.process_time()
        own = spent.setdefault(str(now[0]), [0.0, 0.0])
        own[0] += clock - float(now[1])
        own[1] += processor - float(now[2])
        now[:] = [phase, clock, processor]

    class Phased(Hooks):
        def on_step(self, step: str) -> Any:
            if step == "writing":
                enter("writing")
            return lambda fraction: enter(fraction.phase) if getattr(fraction, "phase", now[0]) != now[0] else None

    begun = time.perf_counter()
    release = run(Job(Plan.of(engine="stream", **fields), source, output, force=True), Phased(), **how)
    enter("end")
    return {
        "rows": release.audit.rows,
        "k": release.k,
        "groups": release.audit.classes,
        "loss": release.loss,
        "method": release.blocks[0].method,
        "clock": time.perf_counter() - begun,
        "processor": time.process_time(),
        "phases": {phase: [round(one, 2) for one in both] for phase, both in spent.items()},
    }


def spark(source: str, output: str, fields: dict[str, Any], how: dict[str, Any], runs: int) -> dict[str, Any]:
    """Anonymise a file with a local Spark of two workers, several times in one session; the first run is cold."""
    from shoal.engines.spark_run import run
    from shoal.engines.spark_session import opened
    from shoal.plan import Plan
    from shoal.release.hooks import Hooks
    from shoal.release.job import Job

    begun = time.perf_counter()
    with opened("local[2]") as session:
        started, clocks, processors = time.perf_counter() - begun, [], []
        for _ in range(runs):
            before, start, used = _shuffled(session), time.perf_counter(), _used()
            job = Job(Plan.of(engine="spark", **fields), source, output, force=True)
            release = run(job, Hooks(), session=session, **how)
            clocks.append(round(time.perf_counter() - start, 1))
            processors.append(round(_used() - used, 1))
            moved = _shuffled(session) - before
        return {
            "rows": release.audit.rows,
            "k": release.k,
            "loss": release.loss,
            "method": release.blocks[0].method,
            "start": round(started, 1),
            "clocks": clocks,
            "processors": processors,
            "phases": {name: round(seconds, 1) for name, seconds in release.timings.items()},
            "shuffled": moved,
        }


def _used() -> float:
    """Return the seconds of the processor that this process and all that it has started have taken, ended ones too."""
    ticks = 0
    for pid in _tree(os.getpid()):
        with suppress(OSError):  # gone meanwhile
            ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _shuffled(session: Any) -> int:
    """Return the bytes that all stages of a session have sent through shuffles."""
    context = session.sparkContext
    store, gateway = context._jsc.sc().statusStore(), context._gateway
    none = gateway.jvm.java.util.ArrayList()
    stages = store.stageList(None, False, False, gateway.new_array(gateway.jvm.double, 0), none)
    return sum(stages.apply(at).shuffleWriteBytes() for at in range(stages.length()))


def in_memory(source: str, k: int) -> dict[str, Any]:
    """Group a file in memory by ONA*, in this process."""
    import pyarrow.parquet as pq

    import shoal

    X = np.column_stack([column.to_numpy() for column in pq.read_table(source).columns])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    start = time.process_time()
    labels = shoal.partition(X, k, "ona*", n_jobs=1)
    return {"k": k, "loss": shoal.information_loss(X, labels), "processor": time.process_time() - start}


def cuts(rows: int, sample: int, fresh: int, columns: int = COLUMNS) -> dict[str, Any]:
    """Cut a table of so many rows by a sample, and count where fresh rows go: how even the blocks would be.

    Rows of the table are never drawn all. The mass of a leaf is estimated from the fresh rows in it, and the noise of
    counting is taken off the spread of the masses.
    """
    import pickle

    from shoal.engines.choice import BLOCK_RECORDS
    from shoal.partitioning.cut_trees import grown

    mix = np.random.default_rng(0).normal(size=(FACTORS, columns))

    def draw(n: int, seed: int) -> Any:
        rng = np.random.default_rng([2, seed])
        X = rng.normal(size=(n, FACTORS)) @ mix + 0.7 * rng.normal(size=(n, columns))
        return X / np.sqrt((mix**2).sum(axis=0) + 0.49)

    start = time.process_time()
    tree = grown(draw(sample, 0), np.ones(sample), rows, BLOCK_RECORDS)
    built = time.process_time() - start
    counts = np.zeros(tree.leaves, np.int64)
    start = time.process_time()
    for at in range(0, fresh, 500_000):
        counts += np.bincount(tree.route(draw(500_000, 1 + at)), minlength=tree.leaves)
    routed = time.process_time() - start
    mean = counts.mean()
    spread = max(0.0, float(counts.var()) - float(mean)) ** 0.5 / mean
    return {
        "rows": rows,
        "leaves": tree.leaves,
        "sample": sample,
        "seconds to cut": round(built, 1),
        "microseconds to route a row, drawing included": round(1e6 * routed / fresh, 2),
        "relative spread of the blocks": round(spread, 3),
        "largest over average, counted": round(float(counts.max() / mean), 2),
        "empty leaves": int((counts == 0).sum()),
        "bytes of the cuts": len(pickle.dumps(tree)),
    }


def measured(function: str, folder: Path, **call: Any) -> dict[str, Any]:
    """Return what a fresh process measured, the peak memory of its tree, and the room that it took on the disk."""
    command = [sys.executable, "-m", "benchmarks.scale", "--call", json.dumps({"function": function, **call})]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        watch = Watch(process.pid, folder)
        watch.start()
        said, _ = process.communicate()
        watch.ended.set()
    if process.returncode:
        raise SystemExit(f"the measured process ended with {process.returncode}")
    return {**json.loads(said.splitlines()[-1]), "peak": watch.peak, "spilled": watch.spilled}


def main() -> None:
    """Measure, keep what was measured, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", default="10,20,40,100")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("-k", default="5", help="one or several, such as 3,5,10")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--against", action="store_true", help="compare with ONA* in memory")
    parser.add_argument("--spark", action="store_true", help="on a local Spark, in place of the stream")
    parser.add_argument("--cuts", type=float, help="cut a table of so many rows by a sample, without making it")
    parser.add_argument("--sample", type=float, default=4e6, help="rows of that sample")
    parser.add_argument("--page", action="store_true", help="write the page of what was measured before")
    parser.add_argument("--try", action="store_true", dest="trial", help="keep nothing, and write no page")
    parser.add_argument("--call", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.call:
        call = json.loads(given.call)
        print(json.dumps(globals()[call.pop("function")](**call)))
        return
    if given.cuts:
        rows = int(given.cuts)
        _keep(given, "cuts", f"{rows:.0e}", cuts(rows, int(given.sample), 5 * int(given.sample)))
    elif not given.page:
        for millions in given.millions.split(","):
            for k in map(int, given.k.split(",")):
                _one(given, float(millions), k)
    if not given.trial:
        scale_page.write()


def _one(given: argparse.Namespace, millions: float, k: int) -> None:
    """Measure one table for one k."""
    rows, folder = round(millions * 1e6), given.folder
    source, output = folder / f"scale-{rows}.parquet", folder / f"scale-{rows}-released.parquet"
    if not source.exists():
        generate(source, rows)
    fields: dict[str, Any] = {"k": k, "method": given.method}
    name = f"{millions:g} million, k = {k}"
    paths = {"source": str(source), "output": str(output)}
    how = {} if given.rounds is None else {"rounds": given.rounds}
    others = [given.method] if given.method != "auto" else []
    others += [] if given.rounds is None else [f"{given.rounds} rounds"]
    if given.spark:
        found = measured("spark", folder, **paths, fields=fields, how=how, runs=2 if millions <= 2 else 1)
        shutil.rmtree(output)
        _keep(given, "spark", ", ".join([name, *others]), found)
        return
    found = measured("stream", folder, **paths, fields={**fields, "memory": given.memory}, how=how)
    output.unlink()
    others += [] if given.memory == "2GB" else [given.memory]
    _keep(given, "stream", ", ".join([name, *others]), found)
    if given.against and (given.trial or name not in scale_page.known().get("memory", {})):
        _keep(given, "memory", name, measured("in_memory", folder, source=str(source), k=k))


def _keep(given: argparse.Namespace, kind: str, name: str, found: dict[str, Any]) -> None:
    print(kind, name, json.dumps(found), flush=True)
    if not given.trial:
        scale_page.keep(kind, name, found)
        scale_page.write()


if __name__ == "__main__":
    main()
