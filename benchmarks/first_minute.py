"""What a newcomer waits for: ``python -m benchmarks.first_minute [--quick]``.

Every command is a process of its own. Kernels are compiled when they are first used and kept in a cache, so each is run
with an empty cache, and again with the cache that the first run left.
"""

from __future__ import annotations

import argparse
import compileall
import os
import subprocess
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

import shoal
from benchmarks.pages import Table, write

COLUMNS = ("person_id", "region", "birth_date", "sex", "education", "income", "diagnosis")
RELEASE = "anonymize people.csv -k 5 -o release.csv --id person_id --sensitive diagnosis"
INTRO = """\
Seconds from the command to its end, for somebody who has just installed Shoal: {n} people of the survey in a CSV file,
seven columns, become a verified release with `shoal anonymize people.csv -k 5 -o release.csv --id person_id --sensitive
diagnosis`. The compiled parts of Shoal are compiled when they are first used, and kept on disk. *Empty cache*: nothing
has been compiled yet, except for the byte code of modules, which an installer writes. *Warm*: the same command again.
Seconds by the clock and of the processor, over all its threads.
"""


class Spent(NamedTuple):
    """Seconds of a process, by the clock and of the processor."""

    clock: float
    processor: float


def install() -> None:
    """Do for the modules of Shoal what an installer does: have their byte code written."""
    compileall.compile_dir(str(files(shoal)), quiet=1)


def run(command: str, folder: Path, cache: Path) -> Spent:
    """Run ``shoal <command>`` in a new process, with compiled kernels in `cache`."""
    for made in folder.glob("release.csv*"):  # what is there is never overwritten
        made.unlink()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal", *command.split()],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    spent = Spent(time.perf_counter() - begin, usage.ru_utime + usage.ru_stime)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"shoal {command} ended with {process.returncode}")
    return spent


def cold_and_warm(command: str, folder: Path) -> tuple[Spent, Spent]:
    """Return what a command takes with an empty cache, and with the cache that it left."""
    with tempfile.TemporaryDirectory() as cache:
        return run(command, folder, Path(cache)), run(command, folder, Path(cache))


def can_warm(folder: Path) -> bool:
    """Whether there is a command that compiles everything ahead."""
    told = subprocess.run(
        [sys.executable, "-m", "shoal", "warm", "--help"], cwd=folder, capture_output=True, check=False
    )
    return told.returncode == 0


def measure(n: int) -> Table:
    """Time the commands on a table of n people."""
    table = Table(
        "Seconds",
        "",
        ["Command", "empty cache, clock", "empty cache, processor", "warm, clock", "warm, processor"],
    )
    install()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        people = shoal.datasets.survey(n)
        shoal.io.write(pa.table({name: people[name] for name in COLUMNS}), folder / "people.csv")
        commands = {
            "the release": RELEASE,
            "with `--l 3`": f"{RELEASE} --l 3",
            "with `--method mdav`": f"{RELEASE} --method mdav",
        }
        if can_warm(folder):
            commands["`shoal warm`"] = "warm"
        for shown, command in commands.items():
            cold, warm = cold_and_warm(command, folder)
            table.add(shown, *(f"{seconds:.1f}" for seconds in (*cold, *warm)))
        if can_warm(folder):
            with tempfile.TemporaryDirectory() as cache:
                run("warm", folder, Path(cache))
                table.add(
                    "the release after `shoal warm`", "", "", *(f"{s:.1f}" for s in run(RELEASE, folder, Path(cache)))
                )
    return table


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smaller table; compiling takes as long")
    quick = parser.parse_args().quick
    n = 100 if quick else 300
    table = measure(n)
    print(table.plain())
    write("first-minute", "The first minute", [INTRO.format(n=n)], [table.markdown()], quick=quick)


if __name__ == "__main__":
    main()
