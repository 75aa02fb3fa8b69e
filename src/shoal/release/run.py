"""Carries out a plan on a table: coordinates, groups, representatives, and the audit of the result."""

from __future__ import annotations

import warnings
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from shoal.arrays import Array
from shoal.errors import DisclosureError, DisclosureWarning, OptionError
from shoal.fields import Fields, OfPrivacy
from shoal.plan import Plan, with_fields
from shoal.privacy.audit import Audit, audit, counted, require_privacy
from shoal.privacy.demands import demands_of
from shoal.privacy.whole import nearly_unique, whole_of
from shoal.progress import Progress, drawn, part, throttled
from shoal.release.groups.blocks import Block, joint
from shoal.release.groups.demands import one_group_in_words
from shoal.release.groups.population import IN_MEMORY
from shoal.release.later import Later
from shoal.release.measures.bounds import bound_of
from shoal.release.measures.losses import loss_in_all, losses
from shoal.release.measures.utility import Utility, utility_of
from shoal.release.omission import refuse_early, refuse_open
from shoal.release.preparation import Prepared, prepare
from shoal.release.publishing import published, without_metadata
from shoal.release.release import Release
from shoal.release.report.evidence import Evidence, Measured, gather_evidence
from shoal.release.report.positions import positions_of
from shoal.release.suppression import formed
from shoal.release.verified import Verified
from shoal.tables import frames
from shoal.tables.apart import apart_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shoal.release.private.table import PrivateTable

# Records of a table whose report is measured when it is needed.
SMALL = 20_000


@overload
def anonymize(
    table: Any,
    *,
    dp: str,
    epsilon: float,
    domain: Any,
    progress: Progress | bool | None = None,
    **fields: Unpack[OfPrivacy],
) -> PrivateTable: ...


@overload
def anonymize(
    table: Any,
    k: int | None = None,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive_attributes: Sequence[str] | None = (),
    identifiers: Sequence[str] | None = (),
    population: Any = None,
    plan: None = None,
    progress: Progress | bool | None = None,
    **fields: Unpack[Fields],
) -> Release: ...


@overload
def anonymize(table: Any, *, plan: Plan, progress: Progress | bool | None = None) -> Release | PrivateTable: ...


@with_fields
def anonymize(
    table: Any,
    k: int | None = None,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive_attributes: Sequence[str] | None = (),
    identifiers: Sequence[str] | None = (),
    population: Any = None,
    plan: Plan | None = None,
    progress: Progress | bool | None = None,
    **fields: Unpack[Fields],
) -> Release | PrivateTable:
    """Hide every record of a table in a group of at least k similar records.

    Parameters
    ----------
    table : data frame
        From pandas, polars, pyarrow or another library that narwhals supports.
    k : int
        Smallest number of records that share their published quasi-identifiers. Default: 5.
    quasi_identifiers : names or None
        Columns that others may know. None: every column without another role. If some are named, ``rest="other"``,
        ``"qi"`` or ``"drop"`` says what becomes of the columns without a role.
    sensitive_attributes : names
        Published unchanged; ``l=3`` and ``t=0.2`` demand l-diversity and t-closeness of them.
    identifiers : names
        Dropped.
    population : data frame, file or None
        People who may be in the table, for ``k_map`` and ``presence``.
    plan : Plan or None
        The plan, in place of all other arguments except `table` and `progress`.
    progress : callable, True or None
        A callable receives the fraction done. True draws a bar in a notebook or on a terminal.
    **fields
        The other fields of :class:`shoal.Plan`: ``other``, ``drop``, ``rest``, ``l``, ``t``, ``models``, ``weight``,
        ``unit``, ``stratum``, ``types``, ``hierarchies``, ``missing``, ``release``, ``method``, ``random_state``, ..
        The names of the command line (``qi``, ``sensitive``, ``id``, ``seed``, ..) and those of sdcMicro are taken too.

    Returns
    -------
    Release
        With ``table``, a data frame of the same kind, in which k has been verified. With ``dp``, a ``PrivateTable``
        with ``table``, ``ledger``, ``certificate``, ``record``, ``report`` and ``save``.

    Raises
    ------
    ShoalError
        If the release cannot be made. It is a :class:`ValueError` with a hint.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> people = pa.table({"age": [31, 33, 58, 60], "income": [2100.0, 2300.0, 4000.0, 4400.0], "ill": [0, 1, 0, 0]})
    >>> release = shoal.anonymize(people, k=2, quasi_identifiers=["age", "income"], sensitive_attributes=["ill"])
    >>> release.table.to_pydict()
    {'age': [32, 32, 59, 59], 'income': [2200.0, 2200.0, 4200.0, 4200.0], 'ill': [0, 1, 0, 0]}
    """
    named = str(population) if isinstance(population, str | PathLike) else ""
    given: dict[str, Any] = {
        **({} if k is None else {"k": k}),
        **({} if quasi_identifiers is None else {"quasi_identifiers": quasi_identifiers}),
        **({"sensitive_attributes": sensitive_attributes} if _some(sensitive_attributes) else {}),
        **({"identifiers": identifiers} if _some(identifiers) else {}),
        **({} if population is None else {"population": named or IN_MEMORY}),
        **fields,
    }
    if plan is not None and given:
        raise OptionError(
            f"With a plan, no other fields may be given. Got {next(iter(given))!r}.",
            hint="plan.model_copy(update={..}) returns a changed plan.",
        )
    people = None if named else population
    wanted = Plan.of(**given) if plan is None else plan
    with drawn(progress, "anonymize") as report:
        if wanted.dp is not None:
            from shoal.release.private.run import private_release_of

            return private_release_of(table, wanted, progress=report)
        return release_of(table, wanted, progress=report, population=people)


def _some(names: Sequence[str] | None) -> bool:
    return names is not None and len(names) > 0


def release_of(
    native: Any,
    plan: Plan,
    *,
    text: bool = False,
    decimal: str = ".",
    population: Any = None,
    progress: Progress | None = None,
) -> Release:
    """Carry out a plan on a data frame; with `text`, types are inferred from text with this decimal mark."""
    return carry_out(prepare(native, plan, text=text, decimal=decimal, population=population), progress=progress)


def carry_out(prepared: Prepared, *, progress: Progress | None = None) -> Release:
    """Group the records of a prepared table, publish what groups have in common, and verify the result."""
    refuse_early(prepared)
    try:
        return _carried_out(prepared, progress)
    except DisclosureError:
        stricter = prepared.stricter()
        if stricter is None:
            raise
        return _carried_out(stricter, progress)


def _carried_out(prepared: Prepared, progress: Progress | None) -> Release:
    report, watch = throttled(progress), prepared.watch
    plan = prepared.plan
    report(0.0)
    coordinates = prepared.embedded()
    report(0.15)
    with watch("partitioning"):
        groups = formed(prepared, coordinates, plan, part(report, 0.15, 0.8))
        prepared, coordinates, blocks = groups.prepared, groups.coordinates, groups.blocks
    table, constraints, weights = prepared.table, prepared.constraints, prepared.weights
    with watch("bounding"):
        labels_of = {name: block.labels for block in blocks for name in block.attributes}
        lost = losses(coordinates, labels_of, weights, constraints.units)
        bound = bound_of(coordinates, blocks, plan, weights, lost.total, part(report, 0.8, 0.85))
    with watch("publishing"):
        order = _order(table.num_rows, plan)
        result, measured = table_of(prepared, blocks, order)
    report(0.9)
    with watch("verifying"):
        units = constraints.units if constraints.units is None or order is None else constraints.units[order]
        audited = _audited(result, prepared, blocks, units)
        messages = [*prepared.warnings, *_of_values(result, prepared)]
    with watch("measuring"):
        labels = joint(blocks)
        evidence, utility = _measures(prepared, blocks, measured, labels, audited, lost.most)
        in_all = lost.total if prepared.left_out is None else loss_in_all(prepared.left_out, labels, plan)
    held = audited.k if audited.k_units is None else audited.k_units
    if len(blocks) > 1 and held < plan.k:
        messages.append(
            f"The attributes were grouped in {len(blocks)} blocks: k = {plan.k} holds within each of them. For all "
            f"quasi-identifiers together, only k = {held} holds."
        )
    alone = one_group_in_words(labels, constraints.strata)
    if alone is not None:
        messages.append(alone)
    for words in messages:
        warnings.warn(words, DisclosureWarning, stacklevel=5)
    report(1.0)
    return Release(
        verified=Verified(result, audited),
        labels=labels if order is None else labels[order],
        plan=plan,
        columns=prepared.columns,
        attributes=prepared.attributes,
        blocks=tuple(blocks),
        losses=lost,
        loss_in_all=in_all,
        lower_bound=bound,
        missing_counts=tuple(prepared.missing.items()),
        rows_in=prepared.rows_in,
        rows_dropped=prepared.rows_dropped,
        rows_removed=prepared.rows_removed,
        warnings=tuple(messages),
        timings=watch.seconds,
        later_evidence=evidence,
        later_utility=utility,
        text=prepared.text,
        people=prepared.people,
        # The order of shuffled rows is stored nowhere.
        kept=None if prepared.keep is None or order is not None else np.array(prepared.keep),
    )


def _measures(
    prepared: Prepared, blocks: list[Block], measured: list[Measured], labels: Array, audited: Audit, most: int
) -> tuple[Later[Evidence], Later[Utility]]:
    """Return what is measured on originals and groups: of a small table when it is needed, else now.

    Many never ask for it. The values were read into arrays of their own, so that changes of the table do not matter,
    but those of a large table would take too much memory until somebody asks.
    """
    plan, reads, left_out = prepared.plan, prepared.reads, prepared.left_out
    small = len(labels) <= SMALL and left_out is None and prepared.cells is None
    sizes = np.repeat(*(np.array(part) for part in zip(*audited.sizes.items(), strict=True)))

    def evidence() -> Evidence:
        X = positions_of(measured, labels, plan.coordinates)
        return gather_evidence(measured, labels=labels, k=plan.k, X=X, sizes=sizes, most=most)

    later = Later(evidence), Later(lambda: utility_of(reads, blocks, plan.k, left_out))
    if not small:
        for one in later:
            one()
    return later


def table_of(prepared: Prepared, blocks: list[Block], order: Array | None) -> tuple[Any, list[Measured]]:
    """Return the table to publish, and every attribute before and after."""
    plan, keep = prepared.plan, prepared.keep
    changed, measured = published(prepared.table, prepared.reads, blocks, prepared.weights, plan.trim, prepared.cells)
    changed.update(prepared.merged_strata)
    changed.update({name: prepared.table.column(name) for name in prepared.coded})
    rows = keep if order is None else order if keep is None else keep[order]
    if order is not None:
        changed = {name: column.take(order) for name, column in changed.items()}
    kept = prepared.published
    # Row numbers would reveal which rows were left out.
    relabel = plan.shuffle or (keep is not None and not frames.has_labels(prepared.native))
    table = frames.rebuilt(prepared.native, kept, rows, changed, relabel=relabel)
    return without_metadata(table), measured


def _order(n: int, plan: Plan) -> Array | None:
    """Return the order in which to publish rows. It does not use the seed, which the certificate contains."""
    return np.random.default_rng().permutation(n) if plan.shuffle else None


def shuffled(release: Release) -> Release:
    """Return a release with the same rows in random order, as its plan makes it with `shuffle`."""
    plan = release.plan.model_copy(update={"shuffle": True})
    order = np.random.default_rng().permutation(release.audit.rows)
    table = release.table
    table = frames.rebuilt(table, frames.names_of(table, "anonymize"), order, {}, relabel=True)
    verified = Verified(without_metadata(table), release.audit)
    return replace(release, verified=verified, labels=release.labels[order], plan=plan, kept=None)


def _audited(result: Any, prepared: Prepared, blocks: list[Block], units: Array | None) -> Audit:
    """Return the audit of all quasi-identifiers of the table to publish, after checking k and all demands."""
    plan, strata = prepared.plan, prepared.strata
    names = [name for read in prepared.reads for name in read.attribute.columns] + strata
    demanded = plan.demanded_of if plan.has_demands else ()
    table = frames.to_arrow(result, "anonymize", [*names, *demanded])
    how: dict[str, Any] = {"text": prepared.text, "decimal": prepared.decimal}
    apart = apart_in(result, prepared.published)
    together = audit(table, names, plan.k, units=units, demands=demands_of(table, plan, **how), apart=apart)
    if prepared.people is not None:
        together = replace(together, models=together.models + counted(table, prepared.people, names, plan, **how))
    if len(blocks) == 1:
        require_privacy(together, "The release")
    for block in blocks if len(blocks) > 1 else ():
        of_block = audit(table, [*block.columns, *strata], plan.k, units=units, apart=apart)
        require_privacy(of_block, f"The release, in the block of {', '.join(block.columns)},")
    refuse_open(result, prepared, blocks, units, apart)
    return replace(together, whole=whole_of(result, prepared.published, apart))


def _of_values(result: Any, prepared: Prepared) -> Iterator[str]:
    """Yield warnings of columns that are published unchanged and single most records out by themselves."""
    unchanged = [column.name for column in prepared.columns if column.role in ("sensitive", "other")]
    found = nearly_unique(result, unchanged)
    if found:
        counts = ", ".join(f"{name!r} ({alone:,} of {len(result):,} records)" for name, alone in found.items())
        yield (
            f"Published unchanged, with values that nearly all differ: {counts}. Whoever knows such a value finds the "
            "record. Make it coarser, group on it, or drop it."
        )
