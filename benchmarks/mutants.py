"""Do the tests notice defects? Run with ``python -m benchmarks.mutants [--sample 400] [--minutes 60] [--seed 0]``.

Mutants are drawn at random from all places of the packages that keep the promises; each is run against the tests that
run its place, on a copy of the project, in a process that cannot write anywhere else. A mutant that no test notices is
looked at: it is equivalent (`equivalent_mutants.json` says why), or a test is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks.confinement import version
from benchmarks.mutant_tests import PACKAGES, Coverage, Workshop, read_coverage, test_files, write_coverage
from benchmarks.mutations import Mutant, drawn, mutant
from benchmarks.pages import ROOT, Table, origin, publish

JUDGED = ROOT / "benchmarks" / "equivalent_mutants.json"
CACHE = ROOT / ".cache" / "mutants"
# Seconds of tests for each mutant at first, the quickest; those that survive meet more, first those of their package.
FIRST, MORE = 4.0, 40.0
# Whose tests need a server.
SERVED = ("io/postgres.py",)
# A page of fewer says that it is a quick one.
FEW = 200
INTRO = """\
A test suite is as good as the defects that it notices. Small changes are made to the source, one at a time: a
comparison, a number or an operator exchanged, a part of a condition or a call left out, a loop not entered, a decorator
removed ([Cosmic Ray](https://cosmic-ray.readthedocs.io), and two operators of our own). Places are drawn at random,
with seed {seed}, and one change for each. A changed program is *noticed* if one of the tests that run this place fails,
or never ends. *Equivalent* are changes that make no difference that a test could see; each was looked at, and
`benchmarks/equivalent_mutants.json` gives the reason. The score is the share of noticed ones among those that are not
equivalent. Tests that start processes or servers, and those of documentation and methods, are left out;
so is the module for PostgreSQL.
"""


class Fate(NamedTuple):
    """What became of a mutant: noticed, equivalent, survived, or not run by any test; and by which test."""

    mutant: Mutant
    verdict: str
    test: str = ""


def judged() -> dict[tuple[str, str, str], str]:
    """Return the reasons why mutants are equivalent, by module and the lines before and after."""
    entries = json.loads(JUDGED.read_text(encoding="utf-8")) if JUDGED.exists() else []
    return {(entry["module"], entry["before"], entry["after"]): entry["why"] for entry in entries}


def fate(workshop: Workshop, coverage: Coverage, one: Mutant, killers: dict[str, str]) -> Fate:
    """Run the tests on a mutant."""
    if (one.module, one.before, one.after) in judged():
        return Fate(one, "equivalent")
    tests = coverage.of(workshop.package, one.module, one.line, one.last)
    if not tests:
        return Fate(one, "not run")
    path = workshop.package / one.module
    before = path.read_bytes()
    name = f"{one.module} {one.operator} {one.before} {one.after}"
    known = [test for test in tests if test == killers.get(name)]
    met: set[str] = set()
    path.write_text(one.source, encoding="utf-8")
    try:
        own = f"tests/{one.module.partition('/')[0]}/"
        for most, waiting in ((FIRST, [*known, *tests]), (MORE, sorted(tests, key=lambda test: own not in test))):
            chosen, seconds = [], 0.0
            for test in dict.fromkeys(waiting):
                if test not in met and seconds < most:
                    chosen.append(test)
                    seconds += coverage.tests[test]
            met |= set(chosen)
            failed = workshop.failing(chosen, 60 + 10 * seconds) if chosen else None
            if failed is not None:
                killers[name] = failed
                return Fate(one, "noticed", failed)
        return Fate(one, "survived")
    finally:
        path.write_bytes(before)


def covered(workshop: Workshop) -> Coverage:
    """Return which tests run which lines; only files of tests that have changed since the last time are run again."""
    source = _digest(path for path in _python("src", "tests") if not path.name.startswith("test_"))
    kept = {file: CACHE / f"{source}-{_digest([ROOT / file])}.json" for file in test_files()}
    changed = [file for file, path in kept.items() if not path.exists()]
    if changed:
        print(f"looking what the tests of {len(changed)} files run", file=sys.stderr, flush=True)
        found = workshop.coverage(changed, 3600 * len(changed))
        CACHE.mkdir(parents=True, exist_ok=True)
        for file in changed:
            write_coverage(found.only(file), kept[file])
    coverage = Coverage()
    for path in kept.values():
        coverage.add(read_coverage(path))
    return coverage


def _python(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        text = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT)} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:16]


def run(sample: int, minutes: float, seed: int, packages: tuple[str, ...]) -> tuple[list[Fate], Counter[str]]:
    """Return the fates of mutants, as many as fit into the time, and how many places each package has."""
    fates: list[Fate] = []
    with tempfile.TemporaryDirectory(prefix="shoal-mutants-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        workshop = Workshop(folder)
        found = [one for one in drawn(workshop.package, packages, random.Random(seed)) if one[0] not in SERVED]
        places = Counter(module.partition("/")[0] for module, _, _ in found)
        coverage = covered(workshop)
        kept = CACHE / "killers.json"
        killers: dict[str, str] = json.loads(kept.read_text()) if kept.exists() else {}
        print(f"{len(coverage.tests)} tests, {len(found)} places", file=sys.stderr, flush=True)
        end = time.monotonic() + 60 * minutes
        made = (one for place in found if (one := mutant(workshop.package, *place)) is not None)
        with suppress(KeyboardInterrupt):  # who does not want to wait gets the page of what has been run
            for one in islice(made, sample):
                if time.monotonic() > end:
                    break
                fates.append(fate(workshop, coverage, one, killers))
                kept.write_text(json.dumps(killers, indent=1), encoding="utf-8")
                said = f"{one.module}:{one.line} {one.operator}: {one.before}  ->  {one.after}"
                print(f"{len(fates)} {fates[-1].verdict} | {said} | {fates[-1].test}", file=sys.stderr, flush=True)
    return fates, places


def tables(fates: list[Fate], places: Counter[str]) -> list[Table]:
    """Return the score of each package, and what was not noticed."""
    verdicts = ("noticed", "equivalent", "survived", "not run")
    score = Table(
        "Score", "", ["Package", "places", "changed", "noticed", "equivalent", "survived", "not run by tests", "score"]
    )
    for package in (*places, "all"):
        of = [one for one in fates if package in ("all", one.mutant.module.partition("/")[0])]
        counts = Counter(one.verdict for one in of)
        judged = len(of) - counts["equivalent"]
        share = f"{100 * counts['noticed'] / judged:.0f} %" if judged else ""
        all_places = sum(places.values()) if package == "all" else places[package]
        score.add(f"`{package}`", all_places, len(of), *(counts[verdict] for verdict in verdicts), share)
    left = Table("What was not noticed", "", ["Where", "before", "after"])
    for one in sorted(fates, key=lambda one: (one.mutant.module, one.mutant.line)):
        if one.verdict in ("survived", "not run"):
            at = one.mutant
            left.add(f"`{at.module}:{at.line}`", _code(at.before), _code(at.after))
    return [score, left] if left.rows else [score]


def _code(text: str) -> str:
    return f"`` {text} ``" if text else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=400, help="how many mutants, at most (400)")
    parser.add_argument("--minutes", type=float, default=60, help="no mutant is begun after so many (60)")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing (0)")
    parser.add_argument("--only", default="", help=f"some of {','.join(PACKAGES)}; no page is written")
    given = parser.parse_args()
    if not version():
        parser.error(
            "mutants are run only where they can be kept from doing damage: Linux 5.13 or later, with Landlock"
        )
    origin()  # of what is measured, not of what is there when it ends
    packages = tuple(given.only.split(",")) if given.only else PACKAGES
    fates, places = run(given.sample, given.minutes, given.seed, packages)
    found = tables(fates, places)
    if given.only:
        for table in found:
            print(table.plain())
    else:
        publish("mutants", "Mutants", INTRO.format(seed=given.seed), found, quick=len(fates) < FEW, times="")


if __name__ == "__main__":
    main()
