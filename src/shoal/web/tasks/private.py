"""Differentially private releases: their domains, their rehearsal, and what the page shows of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.dp.budget import shown
from shoal.dp.domain import template as written
from shoal.errors import OptionError
from shoal.plan import Plan
from shoal.release import pipeline
from shoal.release.job import Job
from shoal.release.private import run as private
from shoal.release.private.documents import meaning
from shoal.web.tasks.sources import read_table
from shoal.web.worker import Line

if TYPE_CHECKING:
    from shoal.release.hooks import Hooks
    from shoal.release.private.table import PrivateTable


def template(line: Line, where: str, reading: Mapping[str, Any], plan: dict[str, Any]) -> dict[str, Any]:
    """Return a domain to be filled in: names and kinds of columns, and no value of the table."""
    source = read_table(where, reading)
    kinds = private.kinds_of(source.table, Plan.of(**plan), text=source.text, decimal=source.decimal)
    text = written(kinds)
    return {"text": text, **read_domain(line, text)}


def read_domain(line: Line, text: str) -> dict[str, Any]:
    """Return a domain that is written as YAML or JSON, as plain values; what is to be filled in stays as it is."""
    import yaml

    from shoal.dp.domain import plain_of

    try:
        return {"domain": plain_of(yaml.safe_load(text))}
    except (yaml.YAMLError, RecursionError, ValueError):
        raise OptionError("A domain must be readable YAML or JSON, with 'columns'. Got something else.") from None


def check(job: Job, hooks: Hooks) -> dict[str, Any]:
    """Check a plan with `dp` on its table; nothing is spent."""
    found = pipeline.rehearse_private(job, hooks)
    domain = private.domain_of(job.plan)
    return {
        "private": True,
        "columns": [{"name": name, "kind": one.kind, "values": one.size} for name, one in domain.columns.items()],
        "left_out": list(found.left_out),
        "warnings": [],
    }


def result_of(made: PrivateTable) -> dict[str, Any]:
    """Return the figures of a private release: those of its certificate, and none of the original."""
    certificate, budget = made.certificate, made.ledger.budget
    return {
        "private": True,
        "release": made.release.name,
        "words": made.release.summary,
        "rows": {"published": made.rows},
        "epsilon": shown(budget.epsilon),
        "delta": shown(budget.delta) if budget.delta else None,
        "neighbours": str(made.ledger.neighbours),
        "certainty": made.certainty,
        "meaning": list(meaning(made)),
        "ledger": certificate["ledger"],
        "spent": certificate["spent"],
        "columns": [{"name": name, "type": one.kind, "values": one.size} for name, one in made.domain.columns.items()],
        "warnings": list(made.warnings),
        "notes": list(made.said),
    }


def summary_of(made: PrivateTable) -> dict[str, Any]:
    """Return what a list of runs shows of a private release: it has no groups, and its loss is not known."""
    none = dict.fromkeys(("k", "loss", "risk", "groups"))
    return {**none, "rows": made.rows, "epsilon": float(made.ledger.budget.epsilon), "certainty": made.certainty}
