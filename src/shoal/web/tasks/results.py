"""What the page shows of a release: the figures of its report and of its record, as plain values."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

from shoal.release.report.evidence import Histogram
from shoal.release.report.facts import facts_of
from shoal.release.report.render import verdict_of

if TYPE_CHECKING:
    from shoal.release.release import Release
    from shoal.release.report.evidence import Evidence, Figures, Frequencies

MICROSECONDS_OF_DAY = 86_400e6


def result_of(release: Release) -> dict[str, Any]:
    """Return the figures of a release. Pictures show what the report shows: aggregates, nothing below k."""
    record, evidence, facts = release.record, release.evidence, facts_of(release)
    kept = ("rows", "loss", "loss_in_all", "lower_bound", "gap", "groups", "methods", "warnings", "seconds")
    held = record["k"]
    return {
        "verdict": asdict(verdict_of(facts)),
        **{name: record[name] for name in kept},
        "k": {
            "wanted": held["wanted"],
            "held": release.k,
            "held_for_all": held["held_for_all"],
            "units": held["held_in_units"],
        },
        "risk": release.risk,
        "sizes": {**asdict(evidence.sizes), "bars": [list(bar) for bar in evidence.sizes.bars]},
        "columns": _columns(release, evidence),
        "axes": None if evidence.axes is None else asdict(evidence.axes),
        "correlations": None if evidence.correlations is None else asdict(evidence.correlations),
        "models": [
            {
                "attribute": finding.attribute,
                "model": str(finding.model),
                "held": finding.held if isfinite(finding.held) else None,
                "holds": bool(finding),
            }
            for finding in release.audit.models
        ],
        "checks": [{"what": one.name, "holds": one.passed, "words": one.words} for one in facts.checks],
        "notes": list(facts.notes),
    }


def _columns(release: Release, evidence: Evidence) -> list[dict[str, Any]]:
    """Return every quasi-identifier before and after; a place has two."""
    owner = {name: attribute for attribute in release.attributes for name in (attribute.name, *attribute.columns)}
    listed = []
    for drawn, figures in zip(evidence.distributions, evidence.figures, strict=True):
        attribute = owner.get(drawn.name)
        listed.append(
            {
                "name": drawn.name,
                "type": drawn.kind if attribute is None else attribute.kind,
                "published": "" if attribute is None else attribute.published,
                "loss": None if attribute is None else release.losses.by_attribute[attribute.name],
                "distribution": _distribution(drawn),
                "figures": _figures(figures),
            }
        )
    return listed


def _distribution(drawn: Histogram | Frequencies) -> dict[str, Any]:
    if isinstance(drawn, Histogram):
        per = MICROSECONDS_OF_DAY if drawn.kind == "datetime" else 1.0
        return {
            "shape": "bars",
            "edges": [edge / per for edge in drawn.edges],
            "before": None if drawn.before is None else list(drawn.before),
            "after": list(drawn.after),
            "missing": list(drawn.missing),
            "dates": drawn.kind in ("date", "datetime"),
        }
    return {
        "shape": "names",
        "labels": list(drawn.labels),
        "before": None if drawn.before is None else list(drawn.before),
        "after": list(drawn.after),
        "others": list(drawn.pooled),
        "missing": list(drawn.missing),
    }


def _figures(figures: Figures) -> dict[str, float | str | None]:
    names = ("mean_before", "mean_after", "sd_before", "sd_after", "distance")
    per = MICROSECONDS_OF_DAY if figures.kind == "datetime" else 1.0
    values = {name: getattr(figures, name) for name in names}
    told: dict[str, float | str | None] = {
        name: None if value is None else value if name == "distance" else value / per for name, value in values.items()
    }
    return {**told, "changed": figures.changed}
