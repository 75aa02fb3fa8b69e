"""Carries out updates: groups new records, adds them to an earlier release, and verifies both tables together."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError, DisclosureWarning, OptionError
from shoal.io import Source
from shoal.plan import Plan
from shoal.privacy.audit import Audit, audit, require_privacy
from shoal.privacy.demands import demands_of
from shoal.privacy.intersection import Intersection, Rule, asked, intersected, require_intersection
from shoal.privacy.whole import whole_of
from shoal.progress import Progress, drawn, part, throttled
from shoal.release.files import warn_of, write_release
from shoal.release.hooks import Hooks
from shoal.release.job import Job, read_input, record_for
from shoal.release.release import Release
from shoal.release.targets import Target
from shoal.release.updates.earlier import Earlier, earlier_of, plan_for, read_earlier
from shoal.release.updates.grouping import grouped, of_the_table
from shoal.release.updates.placing import placed
from shoal.release.updates.remaking import remade
from shoal.release.updates.tables import combined, refuse_other_dates
from shoal.release.updates.update import Update
from shoal.release.verified import Verified
from shoal.tables import frames

if TYPE_CHECKING:
    from os import PathLike

# What may be said anew about how new records are grouped.
EFFORT = ("method", "options", "refine", "time_limit", "random_state", "n_jobs", "enforcement")


@dataclass(frozen=True)
class Wanted:
    """What is wanted of an update; see :func:`update`."""

    newcomers: int | None = None
    invariance: int | None = None
    allow_differences: bool = False
    allow_changes: bool = False
    effort: tuple[tuple[str, Any], ...] = ()

    def rule(self, k: int) -> Rule:
        """Return what is wanted of the two releases, or refuse it."""
        least = k if self.newcomers is None else self.newcomers
        if isinstance(least, bool) or not isinstance(least, int | np.integer) or not 1 <= least <= k:
            raise OptionError(
                f"The 'newcomers' of an update must be a number from 1 to the k of the release. Got {least!r} for "
                f"k = {k}."
            )
        m = self.invariance
        if m is not None and (isinstance(m, bool) or not isinstance(m, int | np.integer) or m < 2):
            raise OptionError(f"The 'invariance' of an update must be a number of at least 2. Got {m!r}.")
        if m is not None and self.allow_differences:
            raise OptionError("An update must not have both invariance and allow_differences. Got both.")
        if least < k and self.allow_changes:
            raise OptionError("An update with allow_changes must have newcomers of k. Got fewer.")
        return Rule(k, int(least), m is not None, not self.allow_differences)


def update(
    release: Release | Update,
    new: Any,
    *,
    newcomers: int | None = None,
    invariance: int | None = None,
    allow_differences: bool = False,
    allow_changes: bool = False,
    progress: Progress | bool | None = None,
    **effort: Any,
) -> Update:
    """Add new records to an earlier release, whose rows stay as they are.

    New records are grouped by the plan of the earlier release. Whoever has both releases, and knows when a person
    joined, finds them among at least k rows, and finds what was demanded of sensitive values among these.

    Parameters
    ----------
    release : Release or Update
        The earlier release. Its original table is not needed.
    new : data frame
        New records, of the same kind and with the same columns as the original table.
    newcomers : int or None
        How many rows of a group must be new if some are. None: the k of the plan. With fewer, new records may join
        groups of the earlier release, which publish what they did before. Less than k is weaker: somebody who knows
        that a person is new finds them among this many.
    invariance : int or None
        The m of a rule like m-invariance: among the new rows of a group, and among the others, no sensitive value has
        a share above 1 / m, and no group of the earlier release gets sensitive values that it did not have.
    allow_differences : bool
        Whether what the plan demands of sensitive values need hold for groups as a whole only, and not among their new
        rows. Weaker: the difference of both releases shows the sensitive values of newcomers.
    allow_changes : bool
        Whether groups of the earlier release may be merged, where they no longer satisfy a model that compares them
        with the whole table (`t` and kin), because new records are in it. No others change, and nobody is easier to
        find; the rows keep their order, so that this can be verified.
    progress : callable, True or None
        A callable receives the fraction done. True draws a bar in a notebook or on a terminal.
    **effort
        How to group new records, if not as the plan says: ``method``, ``options``, ``refine``, ``time_limit``,
        ``random_state``, ``n_jobs``, ``enforcement``.

    Returns
    -------
    Update
        With ``table``, ``audit``, ``intersection``, ``certificate``, ``record`` and ``save``.

    Raises
    ------
    ShoalError
        If the update cannot be made, naming the field of the plan that does not allow it.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> first = shoal.anonymize(pa.table({"age": [31, 33, 58, 60]}), k=2)
    >>> later = shoal.update(first, pa.table({"age": [40, 44]}))
    >>> later.table.to_pydict()
    {'age': [32, 32, 59, 59, 42, 42]}
    >>> later.intersection.kept.k, later.intersection.new.k
    (2, 2)
    """
    if not isinstance(release, Release | Update):
        raise OptionError(
            f"The release to update must be one of this session. Got {type(release).__name__}.",
            hint="shoal.update_file updates a file with its record.",
        )
    wanted = Wanted(newcomers, invariance, allow_differences, allow_changes, tuple(effort.items()))
    with drawn(progress, "update") as report:
        made = carry_out_update(earlier_of(release), new, wanted, progress=report)
    for words in made.warnings:
        if words not in release.warnings:
            warnings.warn(words, DisclosureWarning, stacklevel=2)
    return made


def update_file(
    release: Target | Source,
    new: Target | Source,
    output: Target | None = None,
    *,
    newcomers: int | None = None,
    invariance: int | None = None,
    allow_differences: bool = False,
    allow_changes: bool = False,
    earlier_record: Target | None = None,
    certificate: Target | None = None,
    record: Target | bool = True,
    force: bool = False,
    progress: Progress | bool | None = None,
    **effort: Any,
) -> Update:
    """Add the new records of a file to an earlier release, and write the result as another file.

    Parameters
    ----------
    release, new : path, address or Source
        The earlier release, and the new records; see :func:`shoal.io.read`.
    output : path, address or None
        Where to write the table, in the format of the earlier release. None to only return it.
    newcomers, invariance, allow_differences, allow_changes
        See :func:`update`.
    earlier_record : path or None
        The record of the earlier release. None: beside it, as ``FILE.record.json``.
    certificate : path or None
        Where to write the certificate, which may be published.
    record : path or bool
        Where to write the record, which is not to be published. True: beside the output if there is a certificate.
    force : bool
        Whether to overwrite existing files, but never one that is read.
    progress : callable, True or None
    **effort
        See :func:`update`.

    Returns
    -------
    Update
    """
    wanted = Wanted(newcomers, invariance, allow_differences, allow_changes, tuple(effort.items()))
    job = job_of(release, new, output, certificate, record_for(record, output, certificate), earlier_record, force)
    with drawn(progress, "update_file") as shown:
        report = throttled(shown)
        made = run(job, release, wanted, _Overall(report), earlier_record)
        warn_of(made)
        report(1.0)
    return made


class _Overall(Hooks):
    """Reports the overall progress of all steps."""

    def __init__(self, report: Progress) -> None:
        self.report = report

    def on_step(self, step: str) -> Progress:
        return part(self.report, *{"reading": (0.0, 0.1), "grouping": (0.1, 0.8), "writing": (0.8, 1.0)}[step])


def job_of(
    release: Target | Source,
    new: Target | Source,
    output: Target | None,
    certificate: Target | None,
    record: Target | None,
    earlier_record: Target | None,
    force: bool,
    **access: Any,
) -> Job:
    """Return the job that writes an update; it never overwrites the earlier release, nor its documents."""
    from shoal.release.job import certificate_beside, record_beside

    named = [release.name if isinstance(release, Source) else release]
    beside = [certificate_beside(named[0]), record_beside(named[0])]
    inputs = [*named, *([] if earlier_record is None else [earlier_record]), *filter(None, beside)]
    return Job(Plan.of(), new, output, certificate, record, inputs=tuple(inputs), force=force, **access)


def run(
    job: Job,
    release: Target | Source,
    wanted: Wanted,
    hooks: Hooks,
    record: str | PathLike[str] | None = None,
) -> Update:
    """Run the job of an update: read both tables, group, verify, write."""
    if not isinstance(release, Source) and os.path.isdir(release):
        raise DataError(
            "The release to update must be one file. Got a folder, such as Spark writes.",
            hint="write its parts as one file, and name the record of the folder with earlier_record "
            "(--earlier-record).",
        )
    job.check_targets()
    start = time.perf_counter()
    reading = hooks.on_step("reading")
    published = release if isinstance(release, Source) else read_input(release, {"header": True})
    earlier = read_earlier(published, record)
    # Files of CSV do not always tell their decimal mark; both must have the same.
    how = {"decimal": earlier.decimal, **job.reading} if earlier.text and _is_csv(job) else job.reading
    source = job.source if isinstance(job.source, Source) else read_input(job.source or "", how, reading)
    if source.text != earlier.text or (source.text and source.decimal != earlier.decimal):
        raise DataError(
            "The new records must be in a file like the earlier release: both with types, or both CSV with the same "
            f"decimal mark. Got {source.format} for a release in {published.format}.",
            hint="write the new records in the format of the release.",
        )
    seconds = time.perf_counter() - start
    with hooks.grouping():
        progress = hooks.on_step("grouping")
        made = carry_out_update(earlier, source.table, wanted, apart=source.apart, progress=progress)
    for words in made.warnings:
        if words not in earlier.warnings:
            hooks.on_warning(words)
    made = replace(made, newcomers=source, timings={"reading": seconds, **made.timings})
    return write_release(made, replace(job, plan=made.plan), hooks)


def _is_csv(job: Job) -> bool:
    from shoal.io.formats import locate

    if job.source is None or isinstance(job.source, Source):
        return False
    return locate(job.source, job.reading.get("format"), "source").format.name == "csv"


def carry_out_update(
    earlier: Earlier, new: Any, wanted: Wanted, *, apart: Any = None, progress: Progress | None = None
) -> Update:
    """Group new records, add them to an earlier release, and verify the result on both tables."""
    report = throttled(progress)
    report(0.0)
    start = time.perf_counter()
    rule = wanted.rule(earlier.plan.k)
    plan = _planned(earlier, new, wanted)
    joining = rule.newcomers is not None and rule.newcomers < plan.k
    grown = placed(earlier, new, plan, rule) if joining else grouped(earlier, new, plan, part(report, 0.05, 0.85))
    before = earlier
    if of_the_table(plan):
        names = [*(name for one in grown.attributes for name in one.columns), *plan.stratum]
        before = remade(earlier, grown.table, names, plan, allowed=wanted.allow_changes)
    refuse_other_dates(earlier, grown.table, plan)
    grouping = time.perf_counter() - start
    # Rows that change can be followed by their position only.
    rule = replace(rule, in_order=before is not earlier)
    table = combined(before, grown.table, shuffle=earlier.plan.shuffle, in_order=rule.in_order)
    audited, found = _verified(earlier, table, asked(earlier.plan, wanted.invariance), rule, grown.blocks)
    if earlier.k_units is not None:
        least = earlier.k_units if grown.k_units is None else min(earlier.k_units, grown.k_units)
        audited = replace(audited, k_units=least)
    report(1.0)
    return Update(
        verified=Verified(table, audited),
        intersections=found,
        earlier=earlier,
        plan=earlier.plan,
        rule=rule,
        invariance=wanted.invariance,
        columns=earlier.columns,
        attributes=grown.attributes,
        blocks=grown.blocks,
        methods=grown.methods,
        loss=grown.loss,
        rows_in=grown.rows_in,
        rows_dropped=grown.rows_dropped,
        rows_removed=grown.rows_removed,
        rows_joined=grown.rows_joined,
        warnings=tuple(dict.fromkeys((*earlier.warnings, *grown.warnings, *_weaker(earlier.plan, rule, found)))),
        timings={"grouping": grouping, "verifying": time.perf_counter() - start - grouping},
        text=earlier.text,
    )


def _weaker(plan: Plan, rule: Rule, found: tuple[Intersection, ...]) -> list[str]:
    """Return what must be said of a rule that is weaker than that of the plan."""
    words = []
    new = min((one.new.k for one in found if one.new.k is not None), default=plan.k)
    if new < plan.k:
        words.append(
            f"k = {plan.k} holds in this release. Somebody who also has the earlier one, and knows that a person is "
            f"new, may find them among {new} row{'s' if new > 1 else ''}."
        )
    if not rule.parts and plan.has_demands:
        words.append(
            "What is demanded of sensitive values holds for groups as a whole. The difference of this release and the "
            "earlier one shows the values of those who are new in a group."
        )
    return words


def _planned(earlier: Earlier, new: Any, wanted: Wanted) -> Plan:
    """Return the plan for new records, with the effort that is wanted."""
    effort = dict(wanted.effort)
    for name in effort:
        if name not in EFFORT:
            raise OptionError(
                f"An update has no option {name!r}.",
                hint=f"there are {', '.join(EFFORT)}; all else is as in the plan of the earlier release.",
            )
    plan = plan_for(earlier, frames.names_of(new, "update"))
    if effort:
        plan = Plan.of(**{**plan.model_dump(exclude_unset=True), **effort})
    if wanted.invariance is not None:
        if not plan.demanded_of:
            raise OptionError("The 'invariance' of an update must be about a sensitive attribute. Got none.")
        if plan.blocks != "joint":
            raise OptionError("The 'invariance' of an update must be for plans without 'blocks'. Got some.")
    return asked(plan, wanted.invariance)


def _verified(
    earlier: Earlier, table: Any, plan: Plan, rule: Rule, blocks: Sequence[tuple[str, ...]]
) -> tuple[Audit, tuple[Intersection, ...]]:
    """Return the audit of the table to publish, and what both tables tell together, after checking all of it."""
    how: dict[str, Any] = {"text": earlier.text, "decimal": earlier.decimal}
    later = frames.to_arrow(table, "update")
    names = [*(name for block in blocks for name in block), *plan.stratum]
    together = audit(later, names, plan.k, demands=demands_of(later, plan, **how))
    if len(blocks) == 1:
        require_privacy(together, "The update")
    found = []
    for block in blocks:
        within = [*block, *plan.stratum]
        require_privacy(audit(later, within, plan.k), f"The update, in the block of {', '.join(block)},")
        found.append(intersected(earlier.table, later, within, plan, rule, **how))
        require_intersection(found[-1], "The update")
    return replace(together, whole=whole_of(table, later.column_names)), tuple(found)
