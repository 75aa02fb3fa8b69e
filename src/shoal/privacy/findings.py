"""Checks of privacy models on a published table: which groups fall short, and by how much.

How the table was made plays no part. Rows are in one group if all their published quasi-identifiers are equal; neither
labels nor the order of rows matter. Groups are numbered by their first row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError
from shoal.privacy.classes import by_first_row, classes_of, named
from shoal.privacy.demands import Demand, spectra
from shoal.privacy.diversity import KAnonymity
from shoal.privacy.model import Model, SensitiveModel
from shoal.privacy.population import Counts, PopulationModel, population_counts
from shoal.privacy.spectrum import Sensitive, Spectrum, spectrum_of
from shoal.tables import columns as _columns
from shoal.tables.frames import names_of, to_arrow
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.sensitive import sensitive as sensitive_of


@dataclass(frozen=True, eq=False)
class Finding:
    """The result of checking a model on a table; true if the model holds.

    Attributes
    ----------
    model : Model
    attribute : str or None
        The sensitive attribute.
    held : float
        The measured value of the worst group.
    groups, rows : int
    offending, offending_sizes : int64[b]
        The groups that fall short, in ascending order, and the number of rows in each.
    worst_group, worst_size : int
        The worst group (the first of several), and its number of rows.
    worst, whole : int64[values] or None
        Number of rows of the worst group, and of the table, with each value of the attribute.
    words : tuple of str or None
        Names of the values; None for numbers and dates.
    unmatched : int
        Number of people of the population who break the model because no group fits them.
    """

    model: Model
    attribute: str | None
    held: float
    groups: int
    rows: int
    offending: Array = field(repr=False)
    offending_sizes: Array = field(repr=False)
    worst_group: int
    worst_size: int
    worst: Array | None = field(default=None, repr=False)
    whole: Array | None = field(default=None, repr=False)
    words: tuple[str, ...] | None = field(default=None, repr=False)
    unmatched: int = 0

    @property
    def groups_below(self) -> int:
        """Return the number of groups that fall short."""
        return len(self.offending)

    @property
    def rows_below(self) -> int:
        """Return the number of rows in them."""
        return int(self.offending_sizes.sum())

    @property
    def shares(self) -> tuple[Array, Array] | None:
        """Return the share of each value in the worst group and in the table: two arrays float64[values + 1].

        The last entry is the share of missing values.
        """
        if self.worst is None or self.whole is None:
            return None
        group, table = (
            np.append(counts, rows - counts.sum()) / rows
            for counts, rows in ((self.worst, self.worst_size), (self.whole, self.rows))
        )
        return group, table

    @property
    def holds(self) -> bool:
        """Return whether no group falls short, and nobody is left without one."""
        return self.groups_below == 0 and self.unmatched == 0

    def __bool__(self) -> bool:
        return self.holds


def check_demands(
    table: Any,
    quasi_identifiers: Sequence[str] | None,
    demands: Sequence[Demand],
    centres: Array | None = None,
    units: Array | None = None,
) -> tuple[Finding, ...]:
    """Check demands on a published table, each on its attribute. The groups are formed once for all of them.

    With `units` (int64[n]), a model must hold for records and for units. The finding is that for units, unless only the
    one for records falls short.

    Parameters
    ----------
    table : data frame
    quasi_identifiers : names or None
        None: all columns but the attributes of the demands.
    demands : sequence of Demand
        At least one, with attributes read from this table (:func:`shoal.tables.sensitive.sensitive`).
    centres : float64[groups, d] or None
        Centres of the groups, in the order of their first rows. None: computed from the numbers and dates among the
        quasi-identifiers.
    """
    names = named(table, quasi_identifiers, "check", without=[demand.sensitive.name for demand in demands])
    data = to_arrow(table, "check", names)
    for demand in demands:
        if len(demand.sensitive.codes) != data.num_rows:
            raise DataError(
                f"A sensitive attribute must have a value for each row. Got {len(demand.sensitive.codes)} of "
                f"{demand.sensitive.name!r} for {data.num_rows} rows."
            )
    labels, first = by_first_row(classes_of(data, names))
    if centres is None and not all(demand.model.monotone for demand in demands):
        centres = _centres(data, names, first)
    findings, of_rows = [], spectra(labels, demands)
    for demand, spectrum in zip(demands, of_rows, strict=True):
        measured = demand.model.measure(spectrum, centres)
        findings.append(finding(demand.model, demand.sensitive, measured, spectrum.sizes, spectrum))
    if units is not None and len(np.unique(units)) < len(units):
        for at, demand in enumerate(demands):
            counted = spectrum_of(labels, demand.sensitive._replace(units=units))
            measured = demand.model.measure(counted, centres)
            # Sizes and shares are those of the rows, which the reader of a report can count.
            found = finding(demand.model, demand.sensitive, measured, of_rows[at].sizes, of_rows[at])
            if findings[at] or not found:
                findings[at] = found
    return tuple(findings)


def check_model(
    model: SensitiveModel,
    table: Any,
    sensitive: str | None = None,
    quasi_identifiers: Any = None,
    *,
    centres: Array | None = None,
    **reading: Any,
) -> Finding:
    """Check a model on a published table.

    Parameters
    ----------
    model : SensitiveModel
    table : data frame
        The table as published, of pandas, polars, pyarrow, ...
    sensitive : name
        The sensitive attribute.
    quasi_identifiers : names or None
        Rows that are equal in all of them form a group. None: all columns but the sensitive one.
    centres : float64[groups, d] or None
        Centres of the groups, in the order of their first rows. None: computed from the numbers and dates among the
        quasi-identifiers.
    **reading
        How the attribute is read: options of :func:`shoal.tables.sensitive.sensitive`.

    Returns
    -------
    Finding
        True if the model holds.
    """
    if sensitive is None:
        if not isinstance(model, KAnonymity):
            raise OptionError(f"The check of {model.name} must name a sensitive attribute. Got none.")
        rows = to_arrow(table, "check", names_of(table, "check")[:1]).num_rows
        attribute = Sensitive("", np.full(rows, -1, np.int64), 0)
    else:
        named(table, [sensitive], "check")
        attribute = sensitive_of(to_arrow(table, "check", [sensitive]), sensitive, **reading)
    return check_demands(table, quasi_identifiers, [Demand(model, attribute)], centres)[0]


def check_population(
    model: PopulationModel,
    table: Any,
    population: Any,
    quasi_identifiers: Any = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    **reading: Any,
) -> Finding:
    """Check a model on a published table; see :func:`shoal.privacy.population.population_counts` for parameters."""
    return population_finding(model, population_counts(table, population, quasi_identifiers, hierarchies, **reading))


def population_finding(model: PopulationModel, counts: Counts) -> Finding:
    """Return the finding for a model of classes and their matches in a population."""
    found = finding(model, None, model.measure(counts), counts.sizes)
    unmatched = model.unmatched(counts)
    return replace(found, held=0.0, unmatched=unmatched) if unmatched else found


def finding(
    model: Model, attribute: Sensitive | None, measured: Array, sizes: Array, spectrum: Spectrum | None = None
) -> Finding:
    """Return the finding, given the measured value (float64[m]) and the size (int64[m]) of each group."""
    below = np.flatnonzero(~model.allows(measured))
    worst = model.worst(measured)
    distribution: dict[str, Any] = {}
    if attribute is not None and attribute.name and spectrum is not None:
        one = spectrum.take(np.array([worst]))
        counts = np.zeros(attribute.values, np.int64)
        counts[one.codes] = one.counts
        distribution = {"worst": counts, "whole": spectrum.whole, "words": attribute.words}
    return Finding(
        model=model,
        attribute=attribute.name or None if attribute is not None else None,
        held=float(measured[worst]),
        groups=len(sizes),
        rows=int(sizes.sum()),
        offending=below,
        offending_sizes=sizes[below],
        worst_group=worst,
        worst_size=int(sizes[worst]),
        **distribution,
    )


def _centres(data: Any, names: Sequence[str], first: Array) -> Array | None:
    """Return float64[m, d]: the centres of groups in the columns of numbers and dates, None if there are none."""
    import pyarrow as pa

    coordinates = []
    for name in names:
        column = data.column(name).take(pa.array(first))
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = _columns.typed(column, ".", name)
        kind = column.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            numbers = np.array(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
        elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            stamps = column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
            numbers = np.where(stamps.is_null().to_numpy(), np.nan, stamps.cast(pa.int64()).fill_null(0).to_numpy())
        else:
            continue
        missing = ~np.isfinite(numbers)
        if not missing.all():
            coordinates.append(np.where(missing, numbers[~missing].mean(), numbers))
    return np.column_stack(coordinates) if coordinates else None
