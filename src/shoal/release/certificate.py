"""The certificate: a record of what was done, without any value of the table."""

from __future__ import annotations

import platform
from importlib import metadata
from math import isfinite
from typing import TYPE_CHECKING, Any

import shoal

if TYPE_CHECKING:
    from shoal.release.release import Release

FORMAT = 1
PACKAGES = ("numpy", "numba", "scipy", "scikit-learn", "highspy", "narwhals", "pyarrow", "pydantic")


def versions() -> dict[str, str]:
    """Return the versions of Shoal, Python and the packages that affect a release."""
    by_package = {"shoal": shoal.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        by_package[package] = metadata.version(package)
    return by_package


def certificate_of(release: Release) -> dict[str, Any]:
    """Return the certificate as plain values for JSON."""
    audit, plan = release.audit, release.plan
    return {
        "format": FORMAT,
        "created": release.created,
        "versions": versions(),
        "input": _file(release.source, release.rows_in),
        "output": _file(release.written, audit.rows),
        "plan": plan.job(),
        "columns": [
            {"name": column.name, "role": column.role, "role_inferred": column.inferred} for column in release.columns
        ],
        "quasi_identifiers": release.quasi_identifiers,
        "attributes": [
            {
                "columns": list(a.columns),
                "type": a.kind,
                "type_inferred": a.inferred,
                "published": a.published,
                "importance": a.importance,
                "missing": release.missing[a.name],
                "loss": release.losses.by_attribute[a.name],
            }
            for a in release.attributes
        ],
        "k": {
            "wanted": plan.k,
            "held": audit.k,
            "held_in_units": audit.k_units,
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
        "utility": release.utility.plain(),
        "lower_bound": release.lower_bound,
        "gap": release.gap if release.gap is not None and isfinite(release.gap) else None,
        "methods": [{"columns": list(b.columns), "method": b.method, "why": b.why} for b in release.blocks],
        "warnings": list(release.warnings),
        "seconds": {step: round(seconds, 3) for step, seconds in release.timings.items()},
    }


def _file(thing: Any, rows: int) -> dict[str, Any] | None:
    if thing is None:
        return None
    return {"name": str(thing.name), "sha256": thing.sha256, "rows": rows}
