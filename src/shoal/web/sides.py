"""Runs side by side: their figures, and what tells their plans apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.web.jobs import Job

Plain = dict[str, Any]


def side_by_side(runs: Sequence[tuple[Job, Plain, Plain | None]]) -> Plain:
    """Return the figures of runs, each with its result and its assessment if there is one.

    Risk is the highest chance of finding a record whose quasi-identifiers are known, as in every release; the points of
    a map are `risk` and `loss`.
    """
    plans = [job.plan for job, _, _ in runs]
    named = list(dict.fromkeys(name for plan in plans for name in plan))
    told_apart = [name for name in named if any(plan.get(name) != plans[0].get(name) for plan in plans)]
    return {
        "runs": [_one(*run) for run in runs],
        "differences": [{"field": name, "values": [plan.get(name) for plan in plans]} for name in told_apart],
    }


def _one(job: Job, result: Plain, assessed: Plain | None) -> Plain:
    if result.get("private"):  # no groups, and nothing of the original to compare with
        none = dict.fromkeys(("k", "risk", "loss", "gap", "groups", "figures"))
        rows, told = result["rows"]["published"], {"epsilon": job.plan["epsilon"], "certainty": result["certainty"]}
        return {"id": job.id, "name": job.name, **none, "rows": rows, "by_attribute": {}, **told, "plan": job.plan}
    return {
        "id": job.id,
        "name": job.name,
        "k": result["k"]["held"],
        "risk": result["risk"],
        "loss": result["loss"],
        "gap": result["gap"],
        "groups": result["groups"],
        "rows": result["rows"]["published"],
        "by_attribute": {one["name"]: one["loss"] for one in result["columns"] if one["loss"] is not None},
        "figures": None if assessed is None else _figures(assessed),
        "plan": job.plan,
    }


def _figures(assessed: Plain) -> Plain:
    """Return the first figure of every question: the one to read first."""
    return {
        one["name"]: {"asks": one["asks"], "kind": one["kind"], **one["figures"][0]}
        for one in assessed["questions"]
        if one["figures"]
    }
