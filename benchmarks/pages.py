"""Pages of measurements: their tables, and the line that says on which commit, when and where they were measured."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"
# What a measurement depends on; the pages themselves and the records change while benchmarks run.
MEASURED = ("src", "benchmarks", "pyproject.toml", ":!benchmarks/records.json", ":!benchmarks/dp_audits.json",
            ":!benchmarks/scale.json")  # fmt: skip
TIMES = """\
One thread is used unless it says otherwise. Times are seconds of the processor (what a free core takes by the clock),
the least of a few runs where they are short; compare within a table, not across machines.
"""
BEGIN = time.monotonic()
# Set in the environment of a page that is measured while another one is.
BESIDE = "SHOAL_BENCH_BESIDE"


@dataclass
class Table:
    """Rows under a title, for the screen and for a page.

    Attributes
    ----------
    title, text : str
        Heading, and what a reader needs to know before the table.
    head : list of str
        Names of the columns.
    rows : list of list of str
    verdicts : list of str
        One sentence each, below the table.
    origin : str
        Where the rows come from, if not from the run that writes the page.
    """

    title: str
    text: str
    head: list[str]
    rows: list[list[str]] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    origin: str = ""

    def add(self, *cells: Any) -> None:
        """Append a row and show it at once: long runs are watched."""
        self.rows.append([str(cell) for cell in cells])
        print("  ...", " | ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def plain(self) -> str:
        """Return the table as aligned text."""
        widths = [max(len(row[i]) for row in [self.head, *self.rows]) for i in range(len(self.head))]
        lines = [
            row[0].ljust(widths[0]) + "".join("  " + row[i].rjust(widths[i]) for i in range(1, len(row)))
            for row in [self.head, *self.rows]
        ]
        return "\n".join([self.title, "-" * len(self.title), *lines, *self.verdicts, ""])

    def markdown(self) -> str:
        """Return the table as a section of a page."""
        lines = [f"## {self.title}", "", *([self.origin, ""] if self.origin else []), self.text, "", _row(self.head)]
        lines.append("|---" + "|---:" * (len(self.head) - 1) + "|")
        lines += [_row(row) for row in self.rows]
        if self.verdicts:
            lines += ["", *(f"- {verdict}" for verdict in self.verdicts)]
        return "\n".join([*lines, ""])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def publish(
    name: str,
    title: str,
    intro: str,
    tables: Sequence[Table],
    *,
    quick: bool,
    times: str = TIMES,
    module: str = "",
) -> None:
    """Print all tables and write the page docs/reference/<name>.md; `times` says how it was timed."""
    for table in tables:
        print(table.plain())
    told = [intro, times] if times else [intro]
    write(name, title, told, [table.markdown() for table in tables], quick=quick, module=module)


def write(
    name: str, title: str, intro: Sequence[str], sections: Sequence[str], *, quick: bool, module: str = ""
) -> None:
    """Write the page docs/reference/<name>.md: title, introduction, origin, sections.

    Parameters
    ----------
    name, title : str
    intro, sections : sequence of str
        Markdown, before and after the line of the origin.
    quick : bool
        Whether sizes were smaller than in a full run; the page says so.
    module : str
        The module of `benchmarks` that made the page, if it is not called like it.
    """
    module = module or name.replace("-", "_")
    head = f"# {title}\n\n<!-- Written by `python -m benchmarks.{module}`. Do not edit. -->\n"
    remark = "**A quick run: sizes are smaller than in a full one.**\n\n" if quick else ""
    minutes = (time.monotonic() - BEGIN) / 60
    beside = ", beside that of another page" if os.environ.get(BESIDE) else ""
    took = f" The run took {max(minutes, 1):.0f} min{beside}." if minutes >= 1 or beside else ""
    page = "\n".join([head, *intro, f"{remark}{origin()}{took} {machine()}\n", *sections])
    (PAGES / f"{name}.md").write_text(page.rstrip() + "\n", encoding="utf-8")
    print(f"written: docs/reference/{name}.md", file=sys.stderr)


@cache
def origin() -> str:
    """Return the commit, the state of the tree and the day of a measurement."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    try:
        commit, day = _git("log", "-1", "--format=%h %cs").split()
        changed = _git("status", "--porcelain", "--", *MEASURED)
    except (OSError, subprocess.CalledProcessError):
        return f"Measured on {today}, outside a git checkout."
    state = "with uncommitted changes" if changed else "clean tree"
    return f"Measured on {today} on commit `{commit}` of {day}, {state}."


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def machine() -> str:
    """Describe the machine in general terms."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
    cores = f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()})"
    return f"Machine: {cores}. Python {platform.python_version()}, {packages}."
