"""All benchmarks, one after the other: ``python -m benchmarks [--quick] [--only golden,speed,..]``.

Each writes its page under docs/reference, with the commit that it was measured on. The whole is meant to take about an
hour on two quiet cores, so some are given less time here than they take by default; `SHORT` says which.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from benchmarks.pages import ROOT
from shoal.release.warming import warm_up

# Page -> module, in the order of running: the quickest feedback first, the longest last.
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
# What is shorter than by default, so that all of it fits into an hour.
SHORT = {
    # k = 5 alone in place of 3, 5 and 10 for tables of 100,000 rows.
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
    failed = []
    for page in (page for page in MODULES if page in pages):
        options = ["--quick"] if given.quick else SHORT.get(page, [])
        begin = time.monotonic()
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{MODULES[page]}", *options], cwd=ROOT, check=False)
        print(f"{page}: {(time.monotonic() - begin) / 60:.1f} min", flush=True)
        if done.returncode:
            failed.append(page)
    if failed:
        print(f"failed, so that their pages are of an older commit: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
