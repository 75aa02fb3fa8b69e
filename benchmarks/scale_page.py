"""The tables of ``docs/explanation/scale.md``: written from what ``benchmarks.scale`` has measured, size by size.

A table stands between two comments, ``<!-- begin name -->`` and ``<!-- end name -->``; all else is written by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.pages import ROOT, machine, origin

KEPT = ROOT / "benchmarks" / "scale.json"
PAGE = ROOT / "docs" / "explanation" / "scale.md"
PHASES = ("survey", "statistics", "routing", "grouping", "refining", "writing", "auditing")
NONE = "*Not measured yet.*"
# How the largest tables are grouped, as runs of another size that are grouped like this are named.
LARGEST = ", cbfs, 0 rounds"
# The cluster of the estimate: machines, cores of each, and what one sends to the others in a second.
RECORDS, MACHINES, CORES, NETWORK = 10**10, 100, 16, 1.25e9


def known() -> dict[str, dict[str, Any]]:
    """Return what was measured before: by kind and by name."""
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}


def keep(kind: str, name: str, found: dict[str, Any]) -> None:
    """Keep a measurement, in place of an earlier one of the same name."""
    every = known()
    every.setdefault(kind, {})[name] = {**found, "origin": f"{origin()} {machine()}"}
    KEPT.write_text(json.dumps(every, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def write() -> None:
    """Write the tables into the page."""
    every = known()
    makers: dict[str, Callable[[dict[str, Any]], str]] = {
        "stream": partial(_stream, ""),
        "phases": partial(_phases, ""),
        "sizes": partial(_stream, LARGEST),
        "sizes by phase": partial(_phases, LARGEST),
        "loss": _loss,
        "spark": _spark,
        "cuts": _cuts,
        "model": _model,
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, maker in makers.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise SystemExit(f"{PAGE.name} must have the comments {begin} and {end}")
        text = f"{before}{begin}\n\n{maker(every) or NONE}\n\n{end}{after}"
    PAGE.write_text(text, encoding="utf-8")


def table(head: list[str], rows: list[list[str]], measured: list[dict[str, Any]]) -> str:
    """Return a table in Markdown, and where its rows come from."""
    if not rows:
        return ""
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    lines.insert(1, "|---" + "|---:" * (len(head) - 1) + "|")
    origins = dict.fromkeys(one["origin"] for one in measured)
    return "\n".join([*lines, "", *origins])


def _runs(every: dict[str, Any], way: str = "") -> dict[float, dict[str, Any]]:
    """Return the runs of the stream by millions of rows: k = 5, method and rounds by default or as `way` says."""
    found = {}
    for name, one in every.get("stream", {}).items():
        fits = re.fullmatch(r"([\d.]+) million, k = 5" + re.escape(way), name)
        if fits:
            found[float(fits[1])] = one
    return dict(sorted(found.items()))


def _stream(way: str, every: dict[str, Any]) -> str:
    runs = _runs(every, way)
    head = ["million rows", "groups by", "minutes", "processor, minutes", "rows/s", "peak memory, GB", "disk, GB",
            "loss, %"]  # fmt: skip
    rows = [
        [f"{millions:g}", one["method"], f"{one['clock'] / 60:.1f}", f"{one['processor'] / 60:.1f}",
         f"{one['rows'] / one['clock']:,.0f}", f"{one['peak'] / 1e9:.2f}", f"{one['spilled'] / 1e9:.1f}",
         f"{100 * one['loss']:.3f}"]
        for millions, one in runs.items()
    ]  # fmt: skip
    return table(head, rows, list(runs.values()))


def _phases(way: str, every: dict[str, Any]) -> str:
    runs = _runs(every, way)
    rows = []
    for millions, one in runs.items():
        spent = one["phases"]
        cells = [f"{1e6 * spent[phase][1] / one['rows']:.2f}" if phase in spent else "" for phase in PHASES]
        rows.append([f"{millions:g}", *cells, f"{1e6 * one['processor'] / one['rows']:.1f}"])
    return table(["million rows", *PHASES, "in all"], rows, list(runs.values()))


def _loss(every: dict[str, Any]) -> str:
    rows, used = [], []
    memory, stream = every.get("memory", {}), every.get("stream", {})
    ways = {"": "stream", ", 8 rounds": "stream, 8 rounds"}
    ways = {way: words for way, words in ways.items() if any(name + way in stream for name in memory)}
    for name, whole in sorted(memory.items(), key=lambda one: (len(one[0]), one[0])):
        cells = [name, f"{100 * whole['loss']:.3f}"]
        for way in ways:
            one = stream.get(name + way)
            if one is None:
                cells.append("")
                continue
            above = 100 * (one["loss"] / whole["loss"] - 1)
            cells.append(f"{100 * one['loss']:.3f} ({above:+.2f} %)")
            used.append(one)
        rows.append(cells)
        used.append(whole)
    return table(["rows", "memory, ONA\\*", *ways.values()], rows, used)


def _spark(every: dict[str, Any]) -> str:
    rows, used = [], []
    for name, one in sorted(every.get("spark", {}).items(), key=lambda one: one[1]["rows"]):
        beside = every.get("stream", {}).get(name)
        again, overhead = len(one["clocks"]) > 1, _overhead(one, beside)
        cells = [name, f"{one['start']:.0f}", f"{one['clocks'][0]:.0f}", f"{one['clocks'][-1]:.0f}" if again else ""]
        cells += [f"{one['processors'][-1]:.0f}" if "processors" in one else "", overhead and f"{overhead:.2f}"]
        cells += [f"{one['shuffled'] / one['rows']:.0f}", f"{one['peak'] / 1e9:.2f}", f"{100 * one['loss']:.3f}"]
        rows.append(list(map(str, cells)))
        used.append(one)
    head = ["rows", "start, s", "first run, s", "again, s", "processor of the last, s", "times the stream"]
    return table([*head, "bytes shuffled a row", "peak, GB", "loss, %"], rows, used)


def _overhead(spark: dict[str, Any], stream: dict[str, Any] | None) -> float | str:
    """Return how many times the stream's seconds of the processor Spark took for the same groups, if that is known."""
    if stream is None or "processors" not in spark or spark["method"] != stream["method"]:
        return ""
    return float(spark["processors"][-1] / stream["processor"])


def _cuts(every: dict[str, Any]) -> str:
    runs = sorted(every.get("cuts", {}).values(), key=lambda one: one["rows"])
    names = [name for name in (runs[0] if runs else {}) if name not in ("origin", "rows", "sample")]
    rows = [[f"{one['rows']:,}", f"{one['sample']:,}", *(f"{one[name]:,}" for name in names)] for one in runs]
    return table(["rows", "sample", *names], rows, runs)


def _model(every: dict[str, Any]) -> str:
    """Return what 10 billion records would take, by the measured seconds and bytes of a row."""
    alike = {name: one for name, one in every.get("spark", {}).items() if re.fullmatch(r"[\d.]+ million, k = 5", name)}
    name, spark = max(alike.items(), key=lambda one: one[1]["rows"], default=("", None))
    beside = every.get("stream", {}).get(name)  # grouped alike
    rows, used = [], []
    for millions, one in _runs(every).items():
        seconds = one["processor"] / one["rows"]
        share = seconds * RECORDS / (MACHINES * CORES)
        cells = [f"{one['method']}, as of {millions:g} million", f"{1e6 * seconds:.1f}", f"{share / 3600:.1f}"]
        overhead = "" if spark is None else _overhead(spark, beside)
        if spark is not None and overhead:
            moved = spark["shuffled"] / spark["rows"]
            sent = moved * RECORDS / MACHINES / NETWORK
            cells += [f"{overhead:.2f}", f"{sent / 60:.0f}", f"{(share * max(float(overhead), 1.0) + sent) / 3600:.1f}"]
            used.append(spark)
        rows.append([*cells, *[""] * (6 - len(cells))])
        used.append(one)
    head = ["groups by", "processor, microseconds a row", f"hours on {MACHINES} x {CORES} cores", "times for Spark",
            "minutes of shuffles", "hours in all"]  # fmt: skip
    return table(head, rows, used)
