"""The audit: k and the privacy models, checked on the published table alone.

How the table was made plays no part. Two rows are alike if all their published quasi-identifiers are equal, value by
value, for every reader of the table: a missing value is equal to one of its own kind only (null, NaN, the codes of
statistics packages), and 1, 1.0 and '1' are three values where a column can hold all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, DisclosureError, OptionError, near_names
from shoal.fields import COMMAND_LINE
from shoal.privacy.classes import Units, classes_of, told_apart, units_of
from shoal.privacy.whole import Whole, whole_of
from shoal.tables.apart import apart_in
from shoal.tables.frames import to_arrow

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.privacy.demands import Demand
    from shoal.privacy.findings import Finding


# The fields of a plan that `verify` takes: what is required of a table, and how its values are read.
WANTED = (
    *("sensitive_attributes", "l", "t", "models", "k_map", "presence"),
    *("types", "levels", "hierarchies", "formats", "thousands", "missing_values"),
)
# Its parameters that are fields of a plan too.
PARAMETERS = ("quasi_identifiers", "k", "unit", "population")
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    Attributes
    ----------
    rows, classes : int
        Number of rows, and of classes of rows that are alike.
    k : int
        Every row is like at least k - 1 others.
    k_units : int or None
        The same in units: rows that are alike belong to at least this many different units.
    wanted : int or None
        The required k.
    classes_below, rows_below : int
        Number of classes with fewer rows (units) than required, and of rows in them.
    sizes : {size: int}
        Number of classes of each size.
    models : tuple of Finding
        The finding for each required model.
    glances : tuple of Finding
        Measured values of sensitive attributes for which nothing was required.
    notes : tuple of str
        What was counted as one: spellings of sensitive values and units, rows without a unit.
    whole : Whole or None
        The `k` that holds for all published columns together, and the number of rows that are `unique` in them. It
        is that of somebody who knows the unchanged columns as well.
    """

    rows: int
    classes: int
    k: int
    k_units: int | None
    wanted: int | None
    classes_below: int
    rows_below: int
    sizes: Mapping[int, int]
    models: tuple[Finding, ...] = ()
    glances: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    whole: Whole | None = None

    @property
    def holds(self) -> bool:
        """Return whether the required k and all required models hold."""
        return (self.wanted is None or self.classes_below == 0) and all(self.models)

    def __bool__(self) -> bool:
        return self.holds


def verify(
    table: Any,
    quasi_identifiers: Sequence[str] | None = None,
    k: int | None = None,
    *,
    unit: str | None = None,
    population: Any = None,
    text: bool = False,
    decimal: str = ".",
    **fields: Any,
) -> Audit:
    """Count the k that holds in a table, and check privacy models on its sensitive attributes.

    Parameters
    ----------
    table : data frame
        The table as published, of pandas, polars, pyarrow, ...
    quasi_identifiers : names or None
        None: all columns but `unit` and the sensitive ones.
    k : int or None
        The required k. Classes below it are counted.
    unit : name or None
        Column with the unit (person, household, ...) of each row. k then counts different units. Texts that a person
        reads as one are one unit, and so are all rows without a unit.
    population : data frame or None
        Everybody who may be in the table, for `k_map` and `presence`.
    text, decimal : bool, str
        Whether to infer types from text, and the decimal mark of numbers in it.
    **fields
        What is required of sensitive attributes and how they are read, as in :class:`shoal.Plan`:
        ``sensitive_attributes``, ``l``, ``t``, ``models``, ``k_map``, ``presence``, ``types``, ``levels``,
        ``hierarchies``, ``formats``, ``thousands``, ``missing_values``; their names on the command line are taken too.
        If sensitive attributes are named and nothing is required of them, `glances` has their measured values.

    Returns
    -------
    Audit
        True if the required k and everything else that is required hold.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> table = pa.table({"age": [30, 30, 41, 41, 41], "sex": ["f", "f", "m", "m", "m"], "ill": [0, 1, 0, 0, 1]})
    >>> shoal.verify(table, ["age", "sex"]).k
    2
    >>> [finding.held for finding in shoal.verify(table, ["age", "sex"], sensitive_attributes=["ill"], l=2).models]
    [2.0]
    """
    data = to_arrow(table, "verify")
    how: dict[str, Any] = {"text": text, "decimal": decimal, "apart": apart_in(table, data.column_names)}
    return verify_table(data, quasi_identifiers, k, unit=unit, population=population, **how, **fields)


def verify_table(
    data: Any,
    quasi_identifiers: Sequence[str] | None,
    k: int | None,
    *,
    unit: str | None = None,
    population: Any = None,
    text: bool = False,
    decimal: str = ".",
    apart: Mapping[str, Any] = NOTHING,
    **fields: Any,
) -> Audit:
    """Verify a pyarrow.Table; see :func:`verify`, and `shoal.io.Source` for `apart`."""
    from shoal.privacy.demands import demands_of, glances_of, said_of

    if population is not None:
        fields = fields | {"population": "given"}
    plan = asked_of(fields)
    data = to_arrow(data, "verify")  # refuses a table without rows
    names = names_asked(data.column_names, quasi_identifiers, k, unit, plan)
    units = None if unit is None else units_of(data.column(unit), unit, decimal)
    demands = demands_of(data, plan, text=text, decimal=decimal)
    result = audit(data, names, k, units=None if units is None else units.codes, demands=demands, apart=apart)
    everything = [name for name in data.column_names if name != unit]
    result = replace(result, whole=whole_of(data, everything, apart))
    if units is not None:
        result = replace(result, notes=result.notes + _said_of(units))
    if population is not None:
        models = counted(data, population, names, plan, text=text, decimal=decimal, apart=apart)
        result = replace(result, models=result.models + models)
    if plan.sensitive_attributes and not demands:
        glances = glances_of(data, plan, text=text, decimal=decimal)
        counted_in = None if units is None else units.codes
        found = findings(*told_apart(data, names, apart), glances, counted_in)
        result = replace(result, glances=found, notes=result.notes + said_of(glances))
    return result


def asked_of(fields: Mapping[str, Any]) -> Plan:
    """Return what options of :func:`verify` ask for, as a plan; refuse other options."""
    from shoal.plan import Plan

    for name in fields:
        ours = COMMAND_LINE.get(name, name)
        if ours not in WANTED and (name, fields[name]) != ("population", "given"):
            hint = near_names(ours, (*WANTED, *PARAMETERS), f"there are {', '.join(WANTED)}.")
            raise OptionError(f"The check of a table has no option {name!r}.", hint=hint)
    return Plan.of(**fields)


def names_asked(
    columns: Sequence[str], quasi_identifiers: Sequence[str] | None, k: int | None, unit: str | None, plan: Plan
) -> list[str]:
    """Return the quasi-identifiers that :func:`verify` counts; refuse columns that a table does not have."""
    others = (unit, *plan.demanded_of)
    names = [name for name in columns if name not in others] if quasi_identifiers is None else quasi_identifiers
    names = [names] if isinstance(names, str) else list(names)
    for name in [*names, *plan.demanded_of, *([] if unit is None else [unit])]:
        if name not in columns:
            hint = near_names(name, list(columns), f"it has {len(columns)} columns.")
            raise OptionError(f"The table has no column {name!r}.", hint=hint)
    if not names:
        raise OptionError("At least one quasi-identifier must be named. Got none.")
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise OptionError(f"The 'k' option of verify must be a positive integer. Got {k!r}.")
    return names


def _said_of(units: Units) -> tuple[str, ...]:
    alone = f"{units.missing} rows have no unit: they count as one unit together." if units.missing else ""
    return tuple(filter(None, (units.note, alone)))


def audit(
    table: Any,
    names: Sequence[str],
    wanted: int | None,
    *,
    units: Array | None = None,
    demands: Sequence[Demand] = (),
    apart: Mapping[str, Any] = NOTHING,
    classes: Array | None = None,
    counts: Array | None = None,
) -> Audit:
    """Count the k that holds in a pyarrow.Table, in rows and in `units` (int64[n]) if given, and check demands.

    With `apart`, as in `shoal.io.Source`, values that were different in the file are different here. The `classes`
    (int64[n]) of rows with equal quasi-identifiers are counted anew, unless the caller has done so. With `counts`
    (int64[n]), each row stands for so many equal ones; then there must be no demands.
    """
    if table.num_rows == 0:
        raise DataError("A published table must have rows. Got none.")
    table, names = told_apart(table, names, apart)
    classes = classes_of(table, names) if classes is None else classes
    sizes = np.bincount(classes, counts).astype(np.int64)
    by_units, k_units = sizes, None
    if units is not None:
        pairs = np.unique(np.column_stack([classes, units]), axis=0)[:, 0] if len(units) else classes
        by_units = np.bincount(pairs, minlength=len(sizes))
        k_units = int(by_units.min())
    below = by_units < (wanted or 0)
    kinds, numbers = np.unique(sizes, return_counts=True)
    return Audit(
        rows=int(sizes.sum()),
        classes=len(sizes),
        k=int(sizes.min()),
        k_units=k_units,
        wanted=wanted,
        classes_below=int(below.sum()),
        rows_below=int(sizes[below].sum()),
        sizes=MappingProxyType(dict(zip(kinds.tolist(), numbers.tolist(), strict=True))),
        models=findings(table, names, demands, units),
        notes=_said_of_demands(demands),
    )


def _said_of_demands(demands: Sequence[Demand]) -> tuple[str, ...]:
    if not demands:
        return ()
    from shoal.privacy.demands import said_of

    return said_of(demands)


def findings(
    table: Any, names: Sequence[str], demands: Sequence[Demand], units: Array | None = None
) -> tuple[Finding, ...]:
    """Return the finding for each demand on a pyarrow.Table, in records and in `units` (int64[n])."""
    from shoal.privacy.findings import check_demands

    return check_demands(table, names, demands, units=units) if demands else ()


def counted(
    table: Any,
    population: Any,
    names: Sequence[str],
    plan: Plan,
    *,
    text: bool = False,
    decimal: str = ".",
    apart: Mapping[str, Any] = NOTHING,
) -> tuple[Finding, ...]:
    """Return the findings for k-map and delta-presence: a pyarrow.Table against its population.

    Columns with values that were read as one and differ in the file (see `shoal.io.Source`) are refused: whoever knows
    which is which matches fewer people, and how many cannot be told, as the population may come from another format.
    """
    from shoal.privacy.findings import population_finding
    from shoal.privacy.population import DeltaPresence, KMap, PopulationModel, population_counts
    from shoal.tables.schema import attribute, markers

    for name in filter(apart.__contains__, names):
        strict = classes_of(*told_apart(table, [name], apart))
        if strict.max() > classes_of(table, [name]).max():
            raise DataError(
                f"The column {name!r} must hold values of one type, and one kind of missing value, to be matched with "
                "a population. Got several, which a reader can tell apart.",
                hint="write the table anew, with one type and one kind of missing value in each column.",
            )
    theirs = to_arrow(population, "a population", list(names))
    trees = [name for name in plan.hierarchies if name in names]
    attributes = [attribute(theirs, name, plan, text=text, decimal=decimal).attribute for name in trees]
    hierarchies = {one.name: one.hierarchy for one in attributes if one.hierarchy is not None}
    means_missing = {name: markers(plan, name) for name in names}
    how: dict[str, Any] = {"levels": plan.levels, "text": text, "decimal": decimal, "markers": means_missing}
    counts = population_counts(table, theirs, names, hierarchies, **how)
    models: list[PopulationModel] = []
    if plan.k_map is not None:
        models.append(KMap(plan.k_map))
    if plan.presence is not None:
        models.append(DeltaPresence(*plan.presence))
    return tuple(population_finding(model, counts) for model in models)


def require_privacy(result: Audit, what: str) -> None:
    """Raise DisclosureError unless the required k and all required models hold."""
    if result.classes_below:
        held = result.k if result.k_units is None else result.k_units
        raise DisclosureError(
            f"{what} must hide every record among {result.wanted}. Got {result.classes_below} groups below, "
            f"the smallest of {held}.",
            hint="nothing was published.",
        )
    for finding in result.models:
        if finding.unmatched:
            raise DisclosureError(
                f"{what} must satisfy {str(finding.model)!r}. Got {finding.unmatched} people of the population whom no "
                "row fits, so that they are certainly not in it.",
                hint="nothing was published.",
            )
        if not finding:
            where = "" if finding.attribute is None else f" in {finding.attribute!r}"
            raise DisclosureError(
                f"{what} must satisfy {str(finding.model)!r}{where}. Got {finding.groups_below} groups that do not, "
                f"{finding.held:.4g} in the worst.",
                hint="nothing was published.",
            )
