"""Random tables that are read in pieces: plans for tiny blocks, and comparisons with what memory does.

What is published is counted by the same plain checks as everything else. Besides, a release must be the same whatever
the pieces and threads, the same as in memory if the table is one block, and refused only if memory refuses it too.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from fuzz import files, markers
from fuzz.case import Case

SHARE = 0.025  # of all inputs: each takes as long as half a dozen others
PIECES = 20  # about so many pieces are read, not one for every few rows: each takes its time, and they are alike
# Fields of a plan that need the whole table in memory; some inputs keep them, to be refused.
IN_MEMORY = (
    *("places", "blocks", "k_map", "presence", "suppress", "cells", "top_coding", "bottom_coding", "rounding"),
    *("small_strata", "time_limit"),
)
FORMS = ("microaggregation", "local-recoding")
OF_UNITS = ("distinct-diversity", "p-sensitive", "k-anonymity")
# What is said of plans and tables that memory takes.
OURS = (
    "read in pieces",
    "in memory",
    "in pieces",
    "read piece by piece",
    "must have values of one type",
    "Categories with an order",
)
# What is said of a column that mostly holds numbers or dates.
OF_TYPES = "in all rows. Got"


def is_streamed(seed: int) -> bool:
    """Return whether the input of a seed is read in pieces."""
    return Random(f"{seed} stream").random() < SHARE


def number_of_rows(seed: int) -> int:
    """Return a number of rows: enough for several blocks."""
    random = Random(f"{seed} stream rows")
    return random.choice((random.randint(6, 40), random.randint(30, 120), random.randint(60, 300)))


def changed(case: Case) -> Case:
    """Return an input that is read in pieces, with a plan that can mostly be carried out so."""
    random = Random(f"{case.seed} stream plan")
    plan = dict(case.plan)
    if random.random() > 0.06:
        _fit(random, plan)
    came = random.choice(("csv", "csv", "parquet", "parquet", "parquet", "arrow", "sqlite"))
    way = {
        "frame": "file",
        "input": came,
        "output": "csv" if came == "csv" else random.choice(("parquet", "parquet", "arrow", "csv")),
        "cli": "",
        "dialect": {"delimiter": random.choice(",;"), "encoding": "utf-8", "newline": "\n", "all_quoted": False},
        "folder": markers.path(random),
        "report": random.random() < 0.1,
        "certificate": True,
        "stream": {
            "block_records": random.choice((4, 8, 15, 30, 60, None)),
            "rounds": random.choice((0, 1, 2, 3)),
            "batch_bytes": max(random.choice((100, 1000, 2**20)), _least_bytes(case)),
        },
        "against": random.random() < 0.6,
    }
    return replace(case, plan=plan, way=way, population=None)


def _least_bytes(case: Case) -> int:
    """Return how many bytes to read at once for about `PIECES` pieces."""
    return 8 * case.rows * len(case.columns) // PIECES


def _fit(random: Random, plan: dict[str, Any]) -> None:
    """Take out of a plan what cannot be done in pieces."""
    for field in IN_MEMORY:
        plan.pop(field, None)
    if plan.get("release", FORMS[0]) not in FORMS:
        del plan["release"]
    plan.setdefault("rest", random.choice(("other", "drop")))
    plan["method"] = plan.get("method", "mdav")
    if plan["method"] in ("exact", "auto") and random.random() < 0.8:
        plan["method"] = "mdav"
        plan.pop("options", None)
    models = plan.get("models")
    if isinstance(models, dict):
        kept = {name: [one for one in _listed(many) if not one.startswith("n-t-")] for name, many in models.items()}
        plan["models"] = {name: many for name, many in kept.items() if many}
        if not plan["models"]:
            del plan["models"]
    if "unit" in plan:
        plan.pop("shuffle", None)
        others = [one for many in plan.get("models", {}).values() for one in many if not one.startswith(OF_UNITS)]
        if others or "t" in plan:
            for field in ("t", "models", "enforcement"):
                plan.pop(field, None)


def _listed(many: Any) -> list[str]:
    return [many] if isinstance(many, str) else list(many)


def carried_out(
    case: Case, fields: dict[str, Any], source: Path, target: Path, certificate: Path, report: Path | None
) -> tuple[Any, list[str]]:
    """Return the release of a file that is read in pieces, and what is wrong with it."""
    import shoal
    from shoal.engines.choice import BLOCK_RECORDS
    from shoal.engines.stream import run
    from shoal.plan import Plan
    from shoal.release.hooks import Hooks
    from shoal.release.job import Job

    how = dict(case.way["stream"])
    how["block_records"] = how["block_records"] or BLOCK_RECORDS
    given = {"engine": "stream", "memory": "1GB", **fields}
    plan = Plan.of(**given)
    try:
        release = run(Job(plan, source, target, certificate, None, report), Hooks(), **how)
    except shoal.ShoalError as error:
        apart = case.way["against"] and not any(words in str(error) for words in OURS)
        # Types that a plan does not tell follow from the rows that are kept, in memory from all.
        apart = apart and not (fields.get("missing") == "drop" and OF_TYPES in str(error))
        # Written as well: what a file cannot hold is refused then.
        if apart and _in_memory(source, fields, target.with_name(f"memory{target.suffix}")):
            raise RefusedOnlyInPieces(str(error)) from None
        raise
    found = list(_verified(target, certificate, release))
    if case.way["against"]:
        other = target.with_name(f"again{target.suffix}")
        again = Plan.of(**{**given, "n_jobs": 2, "memory": "2GB"})
        run(Job(again, source, other), Hooks(), **{**how, "batch_bytes": max(333, 2 * _least_bytes(case))})
        if not plan.shuffle and other.read_bytes() != target.read_bytes():
            found.append("stream: other pieces and threads give another release")
        found += _against_memory(case, fields, source, target)
    return release, found


class RefusedOnlyInPieces(Exception):
    """Memory releases what was refused in pieces."""


def _in_memory(source: Path, fields: dict[str, Any], target: Path | None = None) -> Any:
    """Return the release of memory, or None if it refuses."""
    import shoal

    try:
        return shoal.anonymize_file(source, target, **{"random_state": 0, **fields, "engine": "memory"})
    except shoal.ShoalError:
        return None


def _against_memory(case: Case, fields: dict[str, Any], source: Path, target: Path) -> list[str]:
    """Return what differs from memory, if the table is one block and grouped by the same method."""
    if case.way["stream"]["block_records"] is not None or fields.get("method", "auto") == "auto":
        return []
    if fields.get("shuffle") or case.way["input"] != case.way["output"] == "csv":
        return []  # moments that become text have their time of day, as no piece knows those of the others
    if fields.get("missing") == "drop":
        return []  # types and levels are those of the rows that are kept
    if "medoid" in fields.get("representatives", {}).values() and any(
        one.notation == "offsets" for one in case.columns
    ):
        return []  # moments are published in universal time, as no piece keeps the offset of each
    import shoal

    other = target.with_name(f"memory{target.suffix}")
    try:
        shoal.anonymize_file(source, other, **{"random_state": 0, **fields, "engine": "memory"})
    except shoal.ShoalError as error:
        return [f"stream: released what memory refuses: {error}"]
    dialect = case.way["dialect"] if case.way["input"] == "csv" else {"delimiter": ",", "encoding": "utf-8"}
    one, two = (files.read(path, case.way["output"], dialect) for path in (target, other))
    return [f"stream: {name} is not as in memory" for name in one if repr(one[name]) != repr(two.get(name))]


def _verified(target: Path, certificate: Path, release: Any) -> list[str]:
    """Return what is wrong with the release if it is verified in pieces."""
    import shoal
    from shoal.engines.verification import open_published, verify_promised
    from shoal.release.certificate import read_certificate

    memory = 400_000
    try:
        audit, held = verify_promised(open_published(target, {}, memory), read_certificate(certificate), memory=memory)
    except shoal.ShoalError as error:
        return [f"verify in pieces: {error}"]
    told, counted = release.audit, audit
    if not audit or not all(held) or (told.k, dict(told.sizes)) != (counted.k, dict(counted.sizes)):
        return ["verify in pieces: not what was released"]
    return [] if told.whole == counted.whole else ["verify in pieces: another k of all columns"]
