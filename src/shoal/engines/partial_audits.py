"""Audits of parts of a published table, and the audit of the whole that they give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import Array
from shoal.engines.order import ROW
from shoal.engines.whole_table import Known, WholeTable
from shoal.errors import DataError
from shoal.privacy.audit import Audit, audit
from shoal.privacy.classes import by_first_row, classes_of, units_of
from shoal.privacy.findings import Finding, finding
from shoal.privacy.model import SensitiveModel
from shoal.privacy.spectrum import spectrum_of
from shoal.privacy.whole import Whole, whole_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PartialAudit", "audit_partition", "merge"]


@dataclass(frozen=True)
class PartialAudit:
    """The audit of a part of a table.

    `findings` has two for each demand and glance: of records, and of units where units have several records. Groups
    are named by the number of their first row.
    """

    audit: Audit
    findings: tuple[tuple[Finding, Finding | None], ...] = field(default=())


def audit_partition(table: pa.Table, whole: WholeTable, row: str = ROW, counts: Array | None = None) -> PartialAudit:
    """Audit a part of a published table: all rows of every group that it has rows of.

    Parameters
    ----------
    table : pyarrow.Table
        The columns that `whole.needed` names, and perhaps the number of each row in the table, as a column `row`.
    whole : WholeTable
    counts : int64[n] or None
        How many equal rows each row stands for, the first of which has its number.
    """
    names = list(whole.names)
    units = None if whole.unit is None else units_of(table.column(whole.unit), whole.unit, whole.decimal).codes
    classes = classes_of(table, names)
    result = audit(table, names, whole.wanted, units=units, classes=classes, counts=counts)
    if whole.everything:
        known = (classes, names) if set(names) <= set(whole.everything) else None
        every = table.select(list(whole.everything))
        result = replace(result, whole=whole_of(every, whole.everything, known=known, counts=counts))
    asked = (*whole.demands, *whole.glances)
    if not asked:
        return PartialAudit(result)
    numbers = np.arange(table.num_rows) if row not in table.column_names else table.column(row).to_numpy()
    order = np.argsort(numbers, kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    # Groups in the order of their first rows, as in memory: the first of several worst groups is the worst.
    labels, first = by_first_row(classes[order])
    labels, first = labels[ranks], numbers[order][first]
    times = None if counts is None else np.repeat(np.arange(len(counts)), counts)
    spectra = {name: _spectra(labels, one, table.column(name), units, times) for name, one in whole.attributes.items()}
    return PartialAudit(result, tuple(_found(model, spectra[name], first) for model, name in asked))


def _spectra(
    labels: Array, known: Known, column: Any, units: Array | None, times: Array | None
) -> tuple[Any, Any, Any]:
    sensitive = known.part(column)
    if times is not None:
        labels, sensitive = labels[times], sensitive._replace(codes=sensitive.codes[times])
        units = None if units is None else units[times]
    of_units = None
    if units is not None and known.whole_in_units is not None:
        of_units = spectrum_of(labels, sensitive._replace(units=units, whole=known.whole_in_units))
    return sensitive, spectrum_of(labels, sensitive), of_units


def _found(model: SensitiveModel, of: tuple[Any, Any, Any], first: Array) -> tuple[Finding, Finding | None]:
    sensitive, rows, units = of
    found = []
    for spectrum in (rows, units):
        if spectrum is not None:
            # Sizes and shares are those of the rows, which the reader of a report can count.
            one = finding(model, sensitive, model.measure(spectrum), rows.sizes, rows)
            found.append(replace(one, offending=first[one.offending], worst_group=int(first[one.worst_group])))
    return found[0], found[1] if len(found) > 1 else None


def merge(parts: Iterable[PartialAudit], whole: WholeTable) -> Audit:
    """Return the audit of a table from those of its parts."""
    every = list(parts)
    if not every:
        raise DataError("A published table must have rows. Got none.")
    audits = [part.audit for part in every]
    sizes: Counter[int] = Counter()
    for one in audits:
        sizes.update(one.sizes)
    together = [one.whole for one in audits if one.whole is not None]
    findings = [_joined([part.findings[at] for part in every]) for at in range(len(every[0].findings))]
    required = len(whole.demands)
    return Audit(
        rows=sum(one.rows for one in audits),
        classes=sum(one.classes for one in audits),
        k=min(one.k for one in audits),
        k_units=None if whole.unit is None else min(one.k_units or 0 for one in audits),
        wanted=whole.wanted,
        classes_below=sum(one.classes_below for one in audits),
        rows_below=sum(one.rows_below for one in audits),
        sizes=MappingProxyType(dict(sorted(sizes.items()))),
        models=tuple(findings[:required]),
        glances=tuple(findings[required:]),
        notes=whole.notes,
        whole=None
        if not together
        else Whole(len(whole.everything), min(one.k for one in together), sum(one.unique for one in together)),
    )


def _joined(found: Sequence[tuple[Finding, Finding | None]]) -> Finding:
    """Return the finding of the whole table: that of units, unless only the one of records falls short."""
    rows = _worst([one for one, _ in found])
    units = [one for _, one in found if one is not None]
    if not units:
        return rows
    of_units = _worst(units)
    return of_units if rows or not of_units else rows


def _worst(found: Sequence[Finding]) -> Finding:
    model = found[0].model
    held = np.array([one.held for one in found])
    worst = held.min() if model.rising else held.max()
    tied = [one for one, value in zip(found, held, strict=True) if value == worst]
    first = min(tied, key=lambda one: one.worst_group)
    offending = np.concatenate([one.offending for one in found])
    order = np.argsort(offending, kind="stable")
    return replace(
        first,
        groups=sum(one.groups for one in found),
        rows=sum(one.rows for one in found),
        offending=offending[order],
        offending_sizes=np.concatenate([one.offending_sizes for one in found])[order],
    )
