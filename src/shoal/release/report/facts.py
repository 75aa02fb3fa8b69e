"""The facts that the report shows of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import shoal
from shoal.partitioning.registry import find, find_refinement
from shoal.plan import yaml_of
from shoal.release.certificate import base_name, public_plan, unchanged, versions, withheld
from shoal.release.groups import full_domain
from shoal.release.groups.cells import FORM
from shoal.release.measures.told import sentences, told_of
from shoal.release.report.demands import demand_facts, demand_in_words, held_in_words
from shoal.release.report.nearness import Nearness
from shoal.release.report.reach import columns_in_words, of_all
from shoal.release.report.render import Check, ColumnFacts, Facts, File
from shoal.release.report.standing import standing_of
from shoal.tables.coding import in_words
from shoal.tables.schema import UNPUBLISHED

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
    "full-domain": "each column publishes one level of its hierarchy, the same for all records",
    "strongly-safe": "each record publishes the cell that contains it; cells do not depend on the data",
}


def facts_of(release: Release, *, complete: bool = False) -> Facts:
    """Return the facts that the report shows: no more of the originals than the certificate tells.

    Parameters
    ----------
    release : Release
    complete : bool
        Whether to count on the published table what is still at risk, which summaries do not show.
    """
    plan, audit, told = release.plan, release.audit, told_of(release)
    several = len(release.blocks) > 1
    nearness = Nearness.told(release, told)
    return Facts(
        title="A release" if release.written is None else f"Release {base_name(release.written.name)}",
        created=release.created[:10],
        version=shoal.__version__,
        rows=audit.rows,
        k=plan.k,
        k_held=audit.k,
        k_all=release.whole.k,
        reach=f"For {columns_in_words(release.whole.columns)}, k = {release.whole.k} holds. "
        + of_all(release.whole, audit.k, audit.rows),
        n_groups=audit.classes,
        method=" / ".join(dict.fromkeys(block.method for block in release.blocks)),
        why=release.blocks[0].why,
        columns=_columns(release),
        left_out=_left_out(release),
        checks=_checks(release),
        k_units=audit.k_units,
        k_blocks=plan.k if several else None,
        loss=told.loss,
        gap="" if nearness is None else nearness.in_short,
        nearness="" if nearness is None else nearness.in_full,
        by_clock=release.stopped or by_the_clock(plan),
        loss_by_attribute=tuple(told.by_attribute.items()),
        utility=tuple(sentences(told, release.utility.left_out)),
        by_cells=plan.release == FORM,
        by_levels=plan.release == full_domain.FORM,
        demands=demand_facts(release),
        missing_rule=MISSING[plan.missing],
        notes=_notes(release),
        warnings=release.warnings,
        plan=yaml_of(public_plan(plan)),
        withheld=withheld(plan),
        output=None
        if release.written is None
        else File(base_name(release.written.name), audit.rows, release.written.sha256),
        versions=tuple(versions().items()),
        evidence=release.evidence,
        standing=standing_of(release, told) if complete else None,
    )


def _left_out(release: Release) -> int:
    """Return the number of columns that are not published. Their names are not told."""
    return sum(column.role in UNPUBLISHED for column in release.columns)


def _columns(release: Release) -> tuple[ColumnFacts, ...]:
    owner = {name: attribute for attribute in release.attributes for name in attribute.columns}
    shown = []
    for column in release.columns:
        attribute = owner.get(column.name)
        if attribute is not None:
            words = ["type inferred"] if attribute.inferred else []
            words += ["role by default"] if column.inferred else []
            shown.append(
                ColumnFacts(
                    column.name,
                    column.role,
                    attribute.kind,
                    attribute.told,
                    attribute.importance,
                    "; ".join(words),
                )
            )
        elif column.role not in UNPUBLISHED:
            note = "role by default" if column.inferred else ""
            shown.append(ColumnFacts(column.name, column.role, "", unchanged(release.plan, column.name), None, note))
    return tuple(shown)


def _checks(release: Release) -> tuple[Check, ...]:
    audit, plan = release.audit, release.plan
    where = "on the file, read again from the disk" if release.written is not None else "on the table to be published"
    checks = []
    if len(release.blocks) == 1:
        words = f"{audit.classes} groups of equal rows, the smallest with {audit.k}, counted {where}"
        checks.append(
            Check(
                f"Every record equals at least {plan.k - 1} others in all quasi-identifiers", audit.k >= plan.k, words
            )
        )
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
        words = f"{held_in_words(finding)}, counted {where}"
        checks.append(Check(f"{demand_in_words(finding)} in every group", bool(finding), words))
    if left_out := _left_out(release):
        words = f"{left_out} column{'s were' if left_out > 1 else ' was'} left out"
        checks.append(Check("Columns to be left out are not in the release", True, words))
    if release.written is not None and release.written.sha256:
        checks.append(Check("The file was read again and equals the release", True))
    return tuple(checks)


def _notes(release: Release) -> tuple[str, ...]:
    plan = release.plan
    notes = [f"Form of the release: {RELEASES[plan.release]}."]
    if plan.stratum:
        names = ", ".join(plan.stratum)
        merged = "; strata with fewer than k records were merged" if plan.small_strata == "merge" else ""
        notes.append(f"Groups do not cross the strata of {names}, which are published{merged}.")
    if plan.unit:
        notes.append("k counts different units, such as people or households: several rows of one count once.")
    if plan.weight:
        notes.append(f"Published values and the loss use the weights {plan.weight}; k counts records.")
    if plan.blocks != "joint":
        notes.append(f"Attributes were grouped in {len(release.blocks)} blocks, each with a partition of its own.")
    notes += [f"Values of {name} were changed before anything else: {in_words(plan, name)}." for name in plan.coded]
    if plan.suppress:
        notes.append(
            f"At most {100 * plan.suppress:.4g} % of the records were left out. Figures are those of the others."
        )
    if plan.shuffle:
        notes.append("Rows are published in random order. The order is not stored, and another run has another order.")
    elif plan.engine == "spark":
        notes.append("Rows are published in an order that follows from what is published alone.")
    else:
        notes.append(
            "Rows are published in their original order, which may itself reveal something; 'shuffle' changes it."
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
