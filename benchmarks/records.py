"""How low the loss goes, in how much time, and how far from the optimum that is at most.

    python -m benchmarks.records [--quick] [--only a,b,..] [--seconds 60] [--bound-seconds 300]

prints our losses next to the best printed ones, the figures aimed at and the bounds, writes docs/reference/records.md
and keeps the best partition ever found for each table and k in benchmarks/records.json.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import hashlib
import json
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import shoal
from benchmarks.engine import correlated, figure
from benchmarks.pages import PAGES, Table, origin, write
from benchmarks.published import best_printed, cells, table
from benchmarks.timing import show
from shoal.arrays import Array
from shoal.partitioning.bounds import covered
from shoal.partitioning.pool import cost_of
from shoal.progress import Standing

RECORDS = Path(__file__).with_name("records.json")
K = (2, 3, 4, 5, 7, 10, 20, 30)
# What is aimed at within a minute; a star marks a proven optimum.
AIMS = {
    "Census": ("2.7583*", "4.690", "6.040", "7.245", "9.090", "11.345", "16.325", "19.516"),
    "Tarragona": ("8.8155*", "14.469", "17.083", "20.147", "25.658", "30.110", "40.436", "46.368"),
    "EIA": ("0.1769*", "0.3477", "0.4836", "0.7333", "1.471", "1.944", "5.698", "8.507"),
}
# Bounded region by region.
LARGE = ("Credit Card", "Adult")
INTRO = """\
The method `anytime` on the tables of the literature, against everything that was ever printed. Losses are 100 SSE/SST
on standardised attributes, computed anew by `shoal.information_loss`. How the search works is told in
[How the search works](../explanation/search.md), what a bound is in
[How far from the optimum](../explanation/bounds.md). Runs by time are not reproducible; the partitions themselves are
kept (below). Times on this page are by the clock.

![Loss against time](records-time.svg)
"""


class Run(NamedTuple):
    """Labels, loss in per cent, and (seconds, loss) on the way."""

    labels: Array
    loss: float
    way: list[tuple[float, float]]


def search(X: Array, k: int, seconds: float, *, n_jobs: int = 1, seed: int = 1) -> Run:
    """Search for some seconds; kernels are compiled before."""
    shoal.partition(X[: 4 * k + 8], k, "anytime", max_steps=4, random_state=0)
    way: list[tuple[float, float]] = []

    def told(standing: float) -> None:
        if isinstance(standing, Standing):
            way.append((standing.seconds, 100 * standing.loss))

    labels = shoal.partition(X, k, "anytime", time_limit=seconds, random_state=seed, n_jobs=n_jobs, progress=told)
    return Run(labels, 100 * shoal.information_loss(X, labels), way)


# --- records ----------------------------------------------------------------------------------------------


def checksum(labels: Array) -> str:
    """Return the SHA-256 of a partition: its labels, numbered by first appearance, as 16-bit little-endian integers."""
    return hashlib.sha256(labels.astype("<u2").tobytes()).hexdigest()


def packed(labels: Array) -> str:
    """Return labels as text."""
    return base64.b64encode(zlib.compress(labels.astype("<u2").tobytes(), 9)).decode("ascii")


def unpacked(text: str) -> Array:
    """Return the labels that were `packed`."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<u2").astype(np.int64)


def records() -> dict[str, dict[str, Any]]:
    """Return the best partitions ever found: name and k -> loss, date, seconds, checksum, labels."""
    return dict(json.loads(RECORDS.read_text(encoding="utf-8"))) if RECORDS.exists() else {}


def note_record(dataset: str, k: int, X: Array, labels: Array, seconds: float) -> dict[str, Any]:
    """Keep a partition if it is the best ever found; return the record."""
    loss = 100 * shoal.information_loss(X, labels)
    known = records()
    key = f"{dataset} {k}"
    if key not in known or loss < known[key]["loss"] * (1 - 1e-9):
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        found = {"loss": loss, "date": today, "seconds": round(seconds), "checksum": checksum(labels)}
        known[key] = {**known.get(key, {}), **found, "labels": packed(labels)}
        RECORDS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    return known[key]


def note_bound(dataset: str, k: int, quick: float, bound: float, seconds: float) -> None:
    """Keep a bound, in per cent, if it is the best ever proven."""
    known = records()
    record = known[f"{dataset} {k}"]
    if bound > record.get("bound", 0.0):
        record |= {"neighbours": quick, "bound": bound, "bound_seconds": seconds}
        RECORDS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


# --- parts ------------------------------------------------------------------------------------------------


def part_a(options: argparse.Namespace) -> Table:
    """Search the classical tables for a second and for a minute."""
    a = Table(
        "(a) Census, Tarragona and EIA",
        f"One thread. *1 s* and *{options.seconds:g} s* are runs of their own; *aim* is what was to be reached in a "
        "minute (a star: called a proven optimum); *below* is how far the longer run is below the best printed figure.",
        ["Table", "k", "best printed", "1 s", f"{options.seconds:g} s", "aim", "below"],
    )
    second = minute = 0
    for dataset, aims in ((name, AIMS[name]) for name in options.tables):
        X = table(dataset)
        for k, aim in zip(K, aims, strict=True):
            printed = best_printed(dataset, k)
            short, long = search(X, k, 1.0), search(X, k, options.seconds)
            for run, seconds in ((short, 1.0), (long, options.seconds)):
                note_record(dataset, k, X, run.labels, seconds)
            digits = 5 if dataset == "EIA" else 4
            below = f"{100 * (1 - long.loss / float(printed)):.1f} %"
            a.add(dataset, k, printed, f"{short.loss:.{digits}f}", f"{long.loss:.{digits}f}", aim, below)
            second += short.loss < float(printed)
            minute += long.loss <= float(aim.rstrip("*")) * 1.001
    count = len(a.rows)
    a.verdicts.append(f"Below the best printed figure after a second: {second} of {count} cells.")
    a.verdicts.append(f"At the aim or below, within 0.1 %, after {options.seconds:g} s: {minute} of {count} cells.")
    return a


def part_b(options: argparse.Namespace) -> Table:
    """Search Cloud1 and Cloud2 for ten seconds at most."""
    limit = min(10.0, options.seconds)
    b = Table(
        "(b) Cloud1 and Cloud2",
        f"{limit:g} seconds on one thread against the best printed ONA*_gamma. Target: at least 4 % below.",
        ["Table", "k", "ONA*_gamma, printed", f"{limit:g} s", "below"],
    )
    held = count = 0
    for cell in sorted(cells(), key=lambda c: (c.dataset, c.k)):
        if cell.dataset in ("Cloud1", "Cloud2") and cell.method == "ONA*_gamma":
            X = table(cell.dataset)
            run = search(X, cell.k, limit)
            note_record(cell.dataset, cell.k, X, run.labels, limit)
            below = 1 - run.loss / cell.value
            b.add(cell.dataset, cell.k, cell.printed, f"{run.loss:.4f}", f"{100 * below:.1f} %")
            held, count = held + (below >= 0.04), count + 1
    b.verdicts.append(f"At least 4 % below: {held} of {count} cells.")
    return b


def part_c(options: argparse.Namespace) -> Table:
    """Search Credit Card and Adult."""
    c = Table(
        "(c) Credit Card and Adult",
        f"{options.seconds:g} s by the clock on two threads against ONA*. Target: at least 5 % below in a minute.",
        ["Table", "k", "ONA*", "ONA*, s", f"{options.seconds:g} s", "below"],
    )
    held = count = 0
    for dataset in ("Credit Card", "Adult"):
        X = table(dataset)
        for k in (3, 5, 10):
            start = time.perf_counter()
            plain = 100 * shoal.information_loss(X, shoal.partition(X, k, "ona*", n_jobs=2))
            spent = time.perf_counter() - start
            run = search(X, k, options.seconds, n_jobs=2)
            note_record(dataset, k, X, run.labels, options.seconds)
            below = 1 - run.loss / plain
            c.add(dataset, k, f"{plain:.4f}", show(spent), f"{run.loss:.4f}", f"{100 * below:.1f} %")
            held, count = held + (below >= 0.05), count + 1
    c.verdicts.append(f"At least 5 % below: {held} of {count} cells.")
    return c


def part_d(options: argparse.Namespace) -> Table:
    """Search a million records for twice the time of ONA*."""
    n = options.records
    d = Table(
        f"(d) {n:,} x 10 correlated records, k = 5",
        "By the clock on two threads. The search was given twice the time that ONA* took, its start included.",
        ["ONA*, s", "ONA*", "at half the time", "at the end", "below"],
    )
    X = correlated(n, 10)
    shoal.partition(X[:5000], 5, "ona*", n_jobs=2)
    start = time.perf_counter()
    labels = shoal.partition(X, 5, "ona*", n_jobs=2)
    spent = time.perf_counter() - start
    plain = 100 * shoal.information_loss(X, labels)
    run = search(X, 5, 2 * spent, n_jobs=2)
    half = min((loss for seconds, loss in run.way if seconds <= spent), default=float("nan"))
    below = f"{100 * (1 - run.loss / plain):.1f} %"
    d.add(show(spent), f"{plain:.4f}", f"{half:.4f}", f"{run.loss:.4f}", below)
    d.verdicts.append(f"Below ONA* within twice its time: {'yes' if run.loss < plain else 'no'}.")
    return d


def part_e(options: argparse.Namespace) -> Table:
    """Prove bounds, from the best partitions known; better ones that are met on the way are kept."""
    e = Table(
        "(e) Bounds",
        'What `lower_bound` proves with `effort="lp"`, given the record of the table; one thread; *neighbours* is '
        '`effort="quick"`. *Seconds* are those of the processor, with compiled kernels. *Gap*: how far the record is '
        "above the bound at most. Bounds are kept with the records; each comes from the run that proved it, and those "
        "before 2026-11-19 were timed by the clock.",
        ["Table", "k", "record", "neighbours", "lp", "seconds", "gap"],
    )
    for dataset in (*AIMS, *LARGE):
        for k in (k for k in K if k <= 10 and f"{dataset} {k}" in records()):
            if options.bound_seconds > 0 and dataset in options.tables:
                prove(dataset, k, options.bound_seconds)
            record = records()[f"{dataset} {k}"]
            if "bound" in record:
                seconds, said = show(record["bound_seconds"]), gap_in_words(record)
                figures = (f"{record[name]:.5f}" for name in ("loss", "neighbours", "bound"))
                e.add(dataset, k, *figures, seconds, said)
    return e


def prove(dataset: str, k: int, seconds: float) -> None:
    """Prove a bound for some seconds; keep it, and the partition that was met, if they are the best."""
    X = table(dataset)
    labels = unpacked(records()[f"{dataset} {k}"]["labels"])
    quick = 100 * shoal.lower_bound(X, k)
    start = time.process_time()
    if dataset in LARGE:
        bound = 100 * shoal.lower_bound(X, k, "lp", labels=labels, time_limit=seconds)
    else:
        Y = np.ascontiguousarray(X - X.mean(axis=0))
        found = covered(Y, k, labels, seconds)
        bound = 100 * found.bound / cost_of(Y, np.arange(len(Y)))
        note_record(dataset, k, X, found.labels, time.process_time() - start)
    note_bound(dataset, k, quick, bound, time.process_time() - start)


def gap_in_words(record: dict[str, Any]) -> str:
    """Return how far a record is above its bound at most."""
    above = 100 * (record["loss"] / record["bound"] - 1)
    return "optimal" if above < 1e-3 else f"{above:.2f} %"


def part_f(options: argparse.Namespace) -> Table:
    """Draw loss against time, with all other methods as points."""
    X, k = table("Census"), 5
    drawing = figure(8, 5)
    axes = drawing.add_subplot()
    f = Table(
        "(f) Loss against time, Census, k = 5",
        "Every method once (the second of two runs, one thread), and `anytime` on its way.",
        ["Method", "seconds", "loss"],
    )
    for method in shoal.methods():
        if method.univariate or method.name in ("anytime", "exact", "cbfs-nc", "ona-blocks"):
            continue
        seconds = []
        for _ in range(2):
            start = time.perf_counter()
            labels = shoal.partition(X, k, method.name, random_state=1)
            seconds.append(time.perf_counter() - start)
        loss = 100 * shoal.information_loss(X, labels)
        f.add(method.name, show(seconds[1]), f"{loss:.4f}")
        axes.plot(seconds[1], loss, "o", color="tab:gray", markersize=4)
        axes.annotate(method.name, (seconds[1], loss), (3, 3), textcoords="offset points", fontsize=7)
    limits = sorted({1.0, min(10.0, options.seconds), options.seconds})
    for seconds_, colour in zip(limits, ("tab:orange", "tab:green", "tab:blue"), strict=False):
        run = search(X, k, seconds_)
        f.add(f"anytime, {seconds_:g} s", show(seconds_), f"{run.loss:.4f}")
        axes.step(*zip(*run.way, strict=True), where="post", color=colour, label=f"anytime, {seconds_:g} s")
    axes.axhline(float(best_printed("Census", k)), color="tab:red", linestyle=":", label="best printed")
    bound = records().get(f"Census {k}", {}).get("bound")
    if bound:
        axes.axhline(bound, color="black", linestyle="--", label="proven bound")
    axes.set(xscale="log", xlabel="seconds", ylabel="loss, %", title="Census, k = 5", ylim=(None, 14))
    axes.legend()
    drawing.savefig(PAGES / "records-time.svg", metadata={"Date": None})
    return f


def record_table() -> Table:
    """Return all records."""
    r = Table(
        "Records",
        "The best partition ever found for each table, and the best bound proven. The partitions are in "
        "`benchmarks/records.json` (labels of the rows in the order of the file, as 16-bit integers, compressed); the "
        "checksum is the SHA-256 of the labels, and a test computes every loss anew.",
        ["Table", "k", "loss", "bound", "at most above the optimum", "found", "in a run of", "checksum"],
    )
    for key, record in records().items():
        dataset, k = key.rsplit(" ", 1)
        shown, gap = (f"{record['bound']:.5f}", gap_in_words(record)) if "bound" in record else ("", "")
        r.add(
            dataset,
            k,
            f"{record['loss']:.6f}",
            shown,
            gap,
            record["date"],
            f"{record['seconds']} s",
            record["checksum"][:16],
        )
    return r


PARTS: dict[str, Callable[[argparse.Namespace], Table]] = {
    "a": part_a, "b": part_b, "c": part_c, "d": part_d, "e": part_e, "f": part_f
}  # fmt: skip


def main() -> None:
    """Run the parts asked for; those that were measured before stay on the page as they are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="abcdef", help="parts to run, such as a,c; the others stay as they are")
    parser.add_argument("--quick", action="store_true", help="Census only, a second each, 20,000 records in part d")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the long runs of parts a, c and f")
    parser.add_argument(
        "--bound-seconds", type=float, default=300.0, help="time limit of each bound; 0: none is computed"
    )
    parser.add_argument(
        "--tables", default="Census,Tarragona,EIA", help="tables of parts a and e (there also Credit Card and Adult)"
    )
    parser.add_argument("--records", type=int, default=1_000_000, help="records of part d")
    parser.add_argument("--memory", type=Path, default=None, help="a file of tables already made, to go on from")
    options = parser.parse_args()
    if options.quick:
        options.only, options.tables, options.records = "adef", "Census", 20_000
        options.seconds = options.bound_seconds = 1.0
    options.tables = options.tables.split(",")
    made: dict[str, Any] = json.loads(options.memory.read_text()) if options.memory and options.memory.exists() else {}
    for name, run in PARTS.items():
        if name in options.only:
            part = run(options)
            made[name] = [part.title, part.text, part.head, part.rows, part.verdicts, origin()]
            if options.memory:
                options.memory.write_text(json.dumps(made))
    sections = []
    for name in PARTS:
        if name in made:
            part = Table(*made[name])
            part.origin = "" if part.origin == origin() else part.origin
            print(part.plain())
            sections.append(part.markdown())
        elif not options.quick:
            sections += standing(name)
    write("records", "The lowest losses", [INTRO], [record_table().markdown(), *sections], quick=options.quick)


def standing(name: str) -> list[str]:
    """Return the section of a part on the page as it is, with the line that says where it comes from; or nothing."""
    page = PAGES / "records.md"
    head, *sections = page.read_text(encoding="utf-8").split("\n## ") if page.exists() else [""]
    measured = [line for line in head.splitlines() if line.startswith("Measured ")]
    for section in sections:
        if section.startswith(f"({name}) "):
            title, text = section.split("\n\n", 1)
            told = [] if text.startswith("Measured ") else measured
            return ["\n\n".join([f"## {title}", *told, text.rstrip() + "\n"])]
    return []


if __name__ == "__main__":
    main()
