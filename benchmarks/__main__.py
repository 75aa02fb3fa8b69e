"""All benchmarks, one after the other: ``python -m benchmarks [--quick] [--only golden,speed,..]``.

Each writes its page under docs/reference, with the commit that it was measured on. The whole is meant to take about an
hour on two quiet cores. So some are given less time here than they take by default (`SHORT` says which), and pages of
one thread are measured two at a time, which they say.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from benchmarks.pages import BESIDE, ROOT
from shoal.release.warming import warm_up

LOGS = ROOT / ".cache" / "benchmarks"

# Page -> module.
MODULES = {
    "first-minute": "first_minute",
    "page-speed": "page",
    "release": "release",
    "univariate": "univariate",
    "equal-rows": "equal_rows",
    "real-tables": "real_tables",
    "risk-speed": "risk",
    "dp-comparison": "dp",
    "mdav-speedups": "mdav_speedups",
    "optimality": "optimality",
    "speed": "speed",
    "model-prices": "model_prices",
    "records": "records",
    "engine": "engine",
    "golden": "loss",
}
# Pages that time a machine by the clock, or two threads: each runs alone, before the others.
ALONE = ("first-minute", "page-speed", "release", "engine", "records")
# The longest of the others begin first, so that no core waits for one of them in the end.
LONG = ("golden", "real-tables", "model-prices")
# What is shorter than by default, so that all of it fits into an hour.
SHORT = {
    # k = 5 alone in place of 3, 5 and 10 for tables of 100,000 rows and more.
    "real-tables": ["--few"],
    # Searches of 6 s in place of 10.
    "model-prices": ["--seconds", "6"],
    # Searches of 10 s in place of a minute, bounds of 5 s in place of five minutes, 100,000 records in place of a
    # million; `make bench-loss` takes the full time. Records and bounds that were found before are kept.
    "records": ["--seconds", "10", "--bound-seconds", "5", "--records", "100000"],
    # Brute force is run to its end if that takes 15 s in place of ten minutes, and else extrapolated.
    "engine": ["--patience", "15"],
}


def main() -> int:
    """Run the benchmarks; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes; the pages say so")
    parser.add_argument("--only", default=",".join(MODULES), help="some of the pages; the others stay as they are")
    given = parser.parse_args()
    pages = given.only.split(",")
    if not set(pages) <= set(MODULES):
        parser.error(f"--only takes some of {','.join(MODULES)}")
    # Compiling is not to count; the page of the first minute has caches of its own.
    warm_up()
    alone = [page for page in ALONE if page in pages]
    others = [page for page in dict.fromkeys((*LONG, *MODULES)) if page in pages and page not in ALONE]
    done = [measured(page, quick=given.quick) for page in alone]
    with ThreadPoolExecutor(2) as two:
        done += two.map(partial(measured, quick=given.quick, beside=len(others) > 1), others)
    failed = [page for page, is_done in zip((*alone, *others), done, strict=True) if not is_done]
    if failed:
        print(f"failed, so that their pages are of an older commit: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def measured(page: str, *, quick: bool, beside: bool = False) -> bool:
    """Write a page and say how long it took; return whether that went well. What it prints goes into a file."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log, begin = LOGS / f"{page}.log", time.monotonic()
    command = [sys.executable, "-m", f"benchmarks.{MODULES[page]}", *(["--quick"] if quick else SHORT.get(page, []))]
    environment = os.environ | ({BESIDE: "1"} if beside else {})
    with log.open("w", encoding="utf-8") as file:
        code = subprocess.run(
            command, cwd=ROOT, check=False, env=environment, stdout=file, stderr=subprocess.STDOUT
        ).returncode
    print(f"{page}: {(time.monotonic() - begin) / 60:.1f} min, see {log.relative_to(ROOT)}", flush=True)
    if code:
        last = deque(log.open(encoding="utf-8"), maxlen=20)
        print(f"{page} failed (exit code {code}):\n{''.join(last)}", file=sys.stderr, flush=True)
    return not code


if __name__ == "__main__":
    sys.exit(main())
