"""The facts that the report shows of a release, and the code that reproduces it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import shoal
from shoal.options.option import arguments_of
from shoal.options.table import PLAN
from shoal.partitioning.registry import find, find_refinement
from shoal.release.certificate import versions
from shoal.release.groups.cells import FORM, shown_count
from shoal.release.measures.utility import sentences
from shoal.release.report.demands import demand_facts, demand_in_words, three_digits
from shoal.release.report.nearness import in_full, in_short
from shoal.release.report.render import Check, ColumnFacts, Facts, File

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.release.release import Release

MISSING = {
    "value": "Missing values are treated as values: records without a value are considered equal in this attribute, "
    "and a group publishes either a value or nothing for all of its members.",
    "error": "No quasi-identifier may have missing values, and none has.",
    "drop": "Rows with a missing quasi-identifier were dropped.",
}
RELEASES = {
    "microaggregation": "each group publishes typical values",
    "local-recoding": "each group publishes the range of its values",
    "global-recoding": "each group publishes the range of its values, and equal records are never separated",
    "strongly-safe": "each record publishes the cell that contains it; cells do not depend on the data",
}


def facts_of(release: Release) -> Facts:
    """Return the facts that the report shows."""
    plan, audit = release.plan, release.audit
    several = len(release.blocks) > 1
    source = release.source
    name = "a table" if source is None else source.name.rsplit("/", 1)[-1]
    return Facts(
        title=f"Release of {name}",
        created=release.created,
        version=shoal.__version__,
        n_in=release.rows_in,
        n_out=audit.rows,
        k=plan.k,
        k_held=audit.k,
        n_groups=audit.classes,
        method=" / ".join(dict.fromkeys(block.method for block in release.blocks)),
        why=release.blocks[0].why,
        columns=_columns(release),
        checks=_checks(release),
        k_units=audit.k_units,
        unit=plan.unit,
        k_blocks=plan.k if several else None,
        loss=release.loss,
        gap=in_short(release),
        nearness=in_full(release),
        by_clock=by_the_clock(plan),
        loss_by_attribute=tuple(release.losses.by_attribute.items()),
        utility=tuple(sentences(release.utility, release.rows_removed)),
        by_cells=plan.release == FORM,
        removed=_removed(release),
        demands=demand_facts(release),
        dropped=_dropped(release),
        missing_rule=MISSING[plan.missing],
        missing=tuple((name, count) for name, count in release.missing.items() if count),
        notes=_notes(release),
        warnings=release.warnings,
        plan=plan.to_yaml(),
        python=python_lines(plan, name if source is not None else None),
        command=command_line(plan, name) if source is not None else "",
        source=_file(source, release.rows_in),
        output=_file(release.written, audit.rows),
        timings=tuple(release.timings.items()),
        versions=tuple(versions().items()),
        evidence=release.evidence,
    )


def _file(thing: Any, rows: int) -> File | None:
    return None if thing is None else File(thing.name.rsplit("/", 1)[-1], rows, thing.sha256)


def _columns(release: Release) -> tuple[ColumnFacts, ...]:
    owner = {name: attribute for attribute in release.attributes for name in attribute.columns}
    shown = []
    for column in release.columns:
        attribute = owner.get(column.name)
        if attribute is not None:
            words = ["type inferred"] if attribute.inferred else []
            words += [attribute.note] if attribute.note else []
            words += ["role by default"] if column.inferred else []
            shown.append(
                ColumnFacts(
                    column.name,
                    column.role,
                    attribute.kind,
                    attribute.published,
                    attribute.importance,
                    "; ".join(words),
                )
            )
        else:
            gone = column.role in ("identifier", "unit")
            note = "role by default" if column.inferred else ""
            shown.append(ColumnFacts(column.name, column.role, "", "" if gone else "unchanged", None, note))
    return tuple(shown)


def _checks(release: Release) -> tuple[Check, ...]:
    audit, plan = release.audit, release.plan
    where = "on the file, read again from the disk" if release.written is not None else "on the table to be published"
    checks = []
    if len(release.blocks) == 1:
        words = f"{audit.classes} groups of equal rows, the smallest with {audit.k}, counted {where}"
        checks.append(Check(f"Every record equals at least {plan.k - 1} others", audit.k >= plan.k, words))
        if audit.k_units is not None:
            words = f"at least {audit.k_units} units in each group of equal rows"
            checks.append(
                Check(f"The records of a group belong to at least {plan.k} units", audit.k_units >= plan.k, words)
            )
    else:
        for block in release.blocks:
            words = f"counted {where}"
            checks.append(Check(f"k = {plan.k} within {', '.join(block.columns)}", True, words))
    for finding in audit.models:
        words = f"{three_digits(finding.held)} in the worst of {finding.groups} groups, counted {where}"
        checks.append(Check(f"{demand_in_words(finding)} in every group", bool(finding), words))
    dropped = [column.name for column in release.columns if column.role in ("identifier", "unit")]
    if dropped:
        checks.append(Check("Identifiers are not in the release", True, f"left out: {', '.join(dropped)}"))
    if release.written is not None and release.written.sha256:
        checks.append(Check("The file was read again and equals the release", True))
    return tuple(checks)


def _dropped(release: Release) -> tuple[str, ...]:
    reasons = []
    if release.rows_dropped:
        # A small number of rows would reveal that few people have missing values.
        count = release.rows_dropped
        shown = str(count) if count >= release.plan.k else f"fewer than {release.plan.k}"
        reasons.append(f"{shown} rows with a missing quasi-identifier were dropped.")
    if release.rows_removed:
        reasons.append(
            f"{shown_count(release.rows_removed, release.plan.k)} records were removed, because their cells have fewer "
            f"than {release.plan.k} records."
        )
    return tuple(reasons)


def _removed(release: Release) -> str:
    """Return a sentence on the share of removed records; a small number is not shown."""
    count, rest = release.rows_removed, release.audit.rows
    if not count:
        return ""
    share = f"{100 * count / (count + rest):.1f}\N{NO-BREAK SPACE}%" if count >= release.plan.k else "Some"
    return f"{share} of the records were removed with their cells; the loss is that of the remaining records."


def _notes(release: Release) -> tuple[str, ...]:
    plan = release.plan
    notes = [f"Form of the release: {RELEASES[plan.release]}."]
    if plan.stratum:
        names = ", ".join(plan.stratum)
        merged = "; strata with fewer than k records were merged" if plan.small_strata == "merge" else ""
        notes.append(f"Groups do not cross the strata of {names}, which are published{merged}.")
    if plan.unit:
        notes.append(f"k counts different values of {plan.unit}: several rows with the same value count once.")
    if plan.weight:
        notes.append(f"Published values and the loss use the weights {plan.weight}; k counts records.")
    if plan.blocks != "joint":
        notes.append(f"Attributes were grouped in {len(release.blocks)} blocks, each with a partition of its own.")
    if plan.shuffle:
        notes.append("Rows are published in random order. The order is not stored, and another run has another order.")
    else:
        notes.append(
            "Rows are published in their original order, which may itself reveal something; shuffle=True changes it."
        )
    if plan.time_limit is not None and plan.method == "auto":
        notes.append("The method was chosen to fit the time limit.")
    return tuple(notes)


def by_the_clock(plan: Plan) -> bool:
    """Return whether the clock may have stopped a search, so that the same plan may give other groups."""
    refined = plan.refine is not None and find_refinement(plan.refine).timed
    if plan.method == "auto":
        return refined or plan.time_limit is not None
    searched = find(plan.method).timed and find(plan.method).random
    return refined or (searched and (plan.time_limit is not None or plan.options.get("max_steps", "none") == "none"))


def python_lines(plan: Plan, name: str | None) -> str:
    """Return the Python code that makes this release."""
    fields = plan.job()
    lines = ["import shoal", ""]
    if name is None:
        lines.append("release = shoal.anonymize(")
        lines.append("    table,")
    else:
        lines.append("release = shoal.anonymize_file(")
        lines.append(f"    {name!r},")
    lines += [f"    {field}={value!r}," for field, value in fields.items()]
    return "\n".join([*lines, ")"])


def command_line(plan: Plan, name: str) -> str:
    """Return the command that makes this release, with a job file if options do not suffice."""
    fields = plan.job()
    words = arguments_of({field: value for field, value in fields.items() if field != "k"}, PLAN)
    if words is None:
        return f"shoal anonymize {shlex.quote(name)} --job job.yaml -o release.csv"
    return shlex.join(["shoal", "anonymize", name, "-k", str(plan.k), "-o", "release.csv", *words])
