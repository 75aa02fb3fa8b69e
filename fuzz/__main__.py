"""``python -m fuzz``: run the fuzzer, or repeat one input."""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from fuzz.case import Case
from fuzz.plans import random_case
from fuzz.workers import FOLDER, LIMIT, Budget, Run, examined


def main() -> int:
    """Return 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="time budget (default: %(default)s)")
    parser.add_argument("--inputs", type=int, help="most inputs; then the time budget is an hour unless given")
    parser.add_argument("--seed", type=int, help="number of the first input; by default drawn anew and shown")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where findings go (default: %(default)s)")
    parser.add_argument("--skip", default="", help="findings to leave out, by their first words, separated by commas")
    parser.add_argument("--patience", type=float, default=LIMIT, help="seconds for one input (default: %(default)s)")
    parser.add_argument("--replay", metavar="SEED|FILE", help="repeat one input and show what is wrong with it")
    given = parser.parse_args()
    if given.replay is not None:
        return replay(given.replay)
    start = random.SystemRandom().randrange(10**12) if given.seed is None else given.seed
    skip = tuple(words.strip() for words in given.skip.split(",") if words.strip())
    seconds = 3600.0 if given.inputs is not None and "--seconds" not in " ".join(sys.argv) else given.seconds
    began = time.monotonic()
    print(f"inputs from {start}, {given.jobs} processes, at most {seconds:g} seconds", file=sys.stderr)
    budget = Budget(start, given.jobs, began + seconds, given.inputs, skip, patience=given.patience)
    run = Run(budget, given.folder)
    counts = run.carry_out()
    rate = counts.total / counts.seconds if counts.seconds else 0.0
    print(
        f"\n{counts.table()}\n\n{counts.line()}; {rate:.0f} a second of a core, {time.monotonic() - began:.0f} seconds"
    )
    for name, count in counts.findings.most_common():
        files = ", ".join(str(path) for path in run.kept.get(name, []))
        print(f"  {count:6,}  {name}\n          {files}")
    return 1 if counts.findings else 0


def replay(what: str) -> int:
    """Repeat an input, given by its seed or by the file of a finding."""
    path = Path(what)
    case = Case.from_json(path.read_text(encoding="utf-8")) if path.is_file() else random_case(int(what))
    print(case.to_json() if not path.is_file() else f"{path}: {case.rows} rows, plan {case.plan}, {case.way}")
    kind, found = examined(case)
    print(kind, *found, sep="\n  ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
