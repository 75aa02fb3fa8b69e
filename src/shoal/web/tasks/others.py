"""Assessments of runs, and comparisons of methods, forms and k."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.plan import Plan
from shoal.release.assessments.assessment import assess as assessed
from shoal.release.comparison import Measure, Trial, compare_methods, planned
from shoal.web.tasks.runs import RESULT, paced
from shoal.web.tasks.sources import named, put_beside, read_table
from shoal.web.worker import Line

if TYPE_CHECKING:
    from shoal.io import Source

# Records of a table whose links are counted for every point of a map.
LINKED = 20_000


def assess(
    line: Line,
    where: str,
    label: str | None,
    reading: Mapping[str, Any],
    files: Mapping[str, str],
    plan: dict[str, Any],
    release: str,
) -> dict[str, Any]:
    """Assess a release: what an intruder can still do with it, and what an analyst can."""
    line.say(phase="reading")
    original = read_table(named(where, label), reading, paced(line))
    line.say(phase="measuring")
    wanted = Plan.of(**plan)
    dropped = {*wanted.identifiers, *wanted.drop, wanted.unit}
    types = {name: kind for name, kind in wanted.types.items() if name not in dropped}
    found = assessed(
        original, release, sensitive_attributes=wanted.sensitive_attributes, weight=wanted.weight, types=types
    )
    answer = {
        "records": found.records,
        "released": found.released,
        "k": found.k,
        "questions": [
            {
                "name": question.name,
                "kind": question.kind,
                "asks": question.asks,
                "reads": question.reads,
                "figures": [
                    {
                        "name": one.name,
                        "words": one.words,
                        "value": one.plain(),
                        "share": one.share,
                        "compare": one.compare,
                    }
                    for one in question.figures
                ],
            }
            for question in found.questions
        ],
        "notes": list(found.notes),
    }
    Path(RESULT).write_text(json.dumps(answer, ensure_ascii=False, allow_nan=False), encoding="utf-8")
    return {"summary": {"k": found.k, "rows": found.released}}


def compare(
    line: Line,
    where: str,
    label: str | None,
    reading: Mapping[str, Any],
    files: Mapping[str, str],
    plan: dict[str, Any],
    ks: Sequence[int],
    methods: Sequence[str],
    forms: Sequence[str],
) -> dict[str, Any]:
    """Compare methods, forms and k on a table."""
    line.say(phase="reading")
    put_beside(files)
    source = read_table(named(where, label), reading, paced(line))
    line.say(phase="grouping")
    wanted = Plan.of(**plan)
    trials = compare_methods(
        *(source.table, wanted, methods, ks),
        forms=forms,
        text=source.text,
        decimal=source.decimal,
        progress=paced(line),
        measure=_links(source),
    )
    answer = {"trials": [_plain(trial, wanted) for trial in trials]}
    Path(RESULT).write_text(json.dumps(answer, ensure_ascii=False, allow_nan=False), encoding="utf-8")
    return {"summary": {"trials": len(answer["trials"])}}


def _links(source: Source) -> Measure | None:
    """Return what measures how many records are linked to their originals; None for a table on which it takes long."""
    from shoal.release.tuning.mapping import figures_of_groups
    from shoal.release.tuning.yardsticks import find

    if source.table.num_rows > LINKED:
        return None
    return partial(figures_of_groups, original=source, wanted=[find("linkage")])


def _plain(trial: Trial, plan: Plan) -> dict[str, Any]:
    """Return a trial, and the plan that it stands for; risk is that of its smallest group."""
    method = trial.method if trial.form in ("microaggregation", "local-recoding", "global-recoding") else "auto"
    values = {name: _finite(value) for name, value in trial._asdict().items()}
    risk = None if trial.smallest is None else 1 / trial.smallest
    values["figures"] = None if trial.figures is None else {n: _finite(v) for n, v in trial.figures.items()}
    return {**values, "risk": risk, "plan": planned(plan, method, trial.k, trial.form).job()}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value
