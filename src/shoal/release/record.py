"""The record: everything that is known about how a release was made, for whoever holds the data.

It holds the plan with its levels and hierarchies, exact figures, counts of what was left out, and the input's path and
SHA-256. From these and the release the originals can be rebuilt, so it is not published, and only its owner can read
the file.
"""

from __future__ import annotations

import shlex
from math import isfinite
from typing import TYPE_CHECKING, Any

from shoal.options.option import arguments_of
from shoal.options.table import PLAN
from shoal.release.certificate import base_name, versions

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.release.release import Release

FORMAT = 1


def record_of(release: Release) -> dict[str, Any]:
    """Return the record as plain values for JSON."""
    audit, plan = release.audit, release.plan
    gap = release.gap
    return {
        "format": FORMAT,
        "created": release.created,
        "versions": versions(),
        "input": _file(release.source, release.rows_in),
        "output": _file(release.written, audit.rows),
        "job": plan.job(),
        "again": _again(release),
        "columns": [
            {"name": column.name, "role": column.role, "role_inferred": column.inferred} for column in release.columns
        ],
        "quasi_identifiers": release.quasi_identifiers,
        "attributes": _attributes(release),
        "k": {
            "wanted": plan.k,
            "held": audit.k,
            "held_in_units": audit.k_units,
            "held_for_all": release.whole.k,
            "unique": release.whole.unique,
            "blocks": [list(block.columns) for block in release.blocks],
        },
        "models": [
            {
                "attribute": finding.attribute,
                "model": str(finding.model),
                "held": finding.held if isfinite(finding.held) else None,
                "groups": finding.groups,
                "groups_below": finding.groups_below,
            }
            for finding in audit.models
        ],
        "groups": audit.classes,
        "group_sizes": {str(size): count for size, count in audit.sizes.items()},
        "rows": {
            "in": release.rows_in,
            "dropped": release.rows_dropped,
            "removed": release.rows_removed,
            "published": audit.rows,
        },
        "loss": release.loss,
        "loss_in_all": release.loss_in_all,
        "utility": release.utility.plain(),
        "lower_bound": release.lower_bound,
        "gap": gap if gap is not None and isfinite(gap) else None,
        "methods": _methods(release),
        "stopped": release.stopped,
        "warnings": list(release.warnings),
        "seconds": {step: round(seconds, 3) for step, seconds in release.timings.items()},
    }


def _again(release: Release) -> dict[str, str | None]:
    """Return the code and the command that make the release again; in pieces and on Spark, it must be written."""
    plan, written = release.plan, release.written
    name = None if release.source is None else str(release.source.name)
    large = plan.engine in ("stream", "spark")
    output = base_name(written.name) if large and written is not None else None
    return {
        "python": python_lines(plan, name, output),
        "command": None if name is None else command_line(plan, name, output or "release.csv"),
    }


def _attributes(release: Release) -> list[dict[str, Any]]:
    return [
        {
            "columns": list(a.columns),
            "type": a.kind,
            "type_inferred": a.inferred,
            "published": a.published,
            "importance": a.importance,
            "missing": release.missing[a.name],
            "loss": release.losses.by_attribute[a.name],
            "note": a.note,
        }
        for a in release.attributes
    ]


def _methods(release: Release) -> list[dict[str, Any]]:
    return [
        {
            "columns": list(b.columns),
            "method": b.method,
            "why": b.why,
            "tried": [{"how": one.how, "loss": one.loss} for one in b.tried],
        }
        for b in release.blocks
    ]


def _file(thing: Any, rows: int) -> dict[str, Any] | None:
    return None if thing is None else {"name": str(thing.name), "sha256": thing.sha256, "rows": rows}


def python_lines(plan: Plan, name: str | None, output: str | None = None) -> str:
    """Return the Python code that makes this release, and writes it to `output` if that is given."""
    fields = plan.job()
    lines = ["import shoal", ""]
    if name is None:
        lines.append("release = shoal.anonymize(")
        lines.append("    table,")
    else:
        lines.append("release = shoal.anonymize_file(")
        lines += [f"    {file!r}," for file in (name, output) if file is not None]
    lines += [f"    {field}={value!r}," for field, value in fields.items()]
    return "\n".join([*lines, ")"])


def command_line(plan: Plan, name: str, output: str = "release.csv") -> str:
    """Return the command that makes this release, with a job file if options do not suffice."""
    fields = plan.job()
    words = arguments_of({field: value for field, value in fields.items() if field != "k"}, PLAN)
    if words is None:
        return shlex.join(["shoal", "anonymize", name, "--job", "job.yaml", "-o", output])
    return shlex.join(["shoal", "anonymize", name, "-k", str(plan.k), "-o", output, *words])
