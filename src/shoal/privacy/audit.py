"""k and the models of sensitive attributes, counted on the published table alone.

Nothing of how the table was made is used: rows are alike if all their quasi-identifiers are, as published, value by
value, a missing value being like a missing value and like nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError, DisclosureError, OptionError, near_names
from shoal.privacy.classes import classes_of, codes_of
from shoal.tables.frames import to_arrow

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.privacy.demands import Demand
    from shoal.privacy.findings import Finding

Array = np.ndarray[Any, Any]

# What is asked of a table and how its values are read: fields of a plan.
WANTED = (
    *("sensitive_attributes", "l", "t", "models", "k_map", "presence"),
    *("types", "levels", "hierarchies", "formats", "missing_values"),
)


@dataclass(frozen=True)
class Audit:
    """What was counted.

    Attributes
    ----------
    rows, classes : int
        Rows, and sets of rows that are alike.
    k : int
        What holds: every row is like at least k - 1 others.
    k_units : int or None
        The same in units: the rows that are alike belong to at least so many different ones.
    wanted : int or None
    classes_below, rows_below : int
        Classes with fewer rows (units) than wanted, and the rows in them.
    sizes : {size: int}
        How many classes there are of each size.
    models : tuple of Finding
        What was found of each model that was asked for.
    glances : tuple of Finding
        What sensitive attributes have where nothing was asked of them.
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

    @property
    def holds(self) -> bool:
        """Return whether the wanted k holds, and all models that were asked for."""
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
    """Count the k that holds in a table, and check models of privacy on its sensitive attributes.

    Parameters
    ----------
    table : data frame
        Of pandas, polars, pyarrow, ..; as it is published.
    quasi_identifiers : names or None
        None: all columns but `unit` and the sensitive ones.
    k : int or None
        What is wanted: the classes below it are counted.
    unit : name or None
        A column that says whose row it is: k then counts different units.
    population : data frame or None
        Those who may be in the table, for `k_map` and `presence`.
    text, decimal : bool, str
        Whether types are read out of text, and its decimal mark.
    **fields
        What is wanted of sensitive attributes and how they are read, as in :class:`shoal.Plan`:
        ``sensitive_attributes``, ``l``, ``t``, ``models``, ``k_map``, ``presence``, ``types``, ``levels``,
        ``hierarchies``, ``formats``, ``missing_values``. If sensitive attributes are named and nothing is wanted, what
        they have is in `glances`.

    Returns
    -------
    Audit
        True if k holds, and everything else that is wanted.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> table = pa.table({"age": [30, 30, 41, 41, 41], "sex": ["f", "f", "m", "m", "m"], "ill": [0, 1, 0, 0, 1]})
    >>> shoal.verify(table, ["age", "sex"]).k
    2
    >>> [finding.held for finding in shoal.verify(table, ["age", "sex"], sensitive_attributes=["ill"], l=2).models]
    [2.0]
    """
    from shoal.plan import Plan
    from shoal.privacy.demands import demands_of, glances_of

    for name in fields:
        if name not in WANTED:
            hint = near_names(name, WANTED, f"there are {', '.join(WANTED)}.")
            raise OptionError(f"The check of a table has no option {name!r}.", hint=hint)
    plan = Plan.of(**fields, **({} if population is None else {"population": "given"}))
    data = to_arrow(table, "verify")
    others = (unit, *plan.demanded_of)
    names = (
        [name for name in data.column_names if name not in others] if quasi_identifiers is None else quasi_identifiers
    )
    names = [names] if isinstance(names, str) else list(names)
    for name in [*names, *plan.demanded_of, *([] if unit is None else [unit])]:
        if name not in data.column_names:
            hint = near_names(name, data.column_names, f"it has {len(data.column_names)} columns.")
            raise OptionError(f"The table has no column {name!r}.", hint=hint)
    if not names:
        raise OptionError("At least one quasi-identifier must be named. Got none.")
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise OptionError(f"The 'k' option of verify must be a positive integer. Got {k!r}.")
    units = None if unit is None else codes_of(data.column(unit))
    demands = demands_of(data, plan, text=text, decimal=decimal)
    found = audit(data, names, k, units=units, demands=demands)
    if population is not None:
        found = replace(found, models=found.models + counted(data, population, names, plan, text=text, decimal=decimal))
    if plan.sensitive_attributes and not demands:
        found = replace(found, glances=findings(data, names, glances_of(data, plan, text=text, decimal=decimal)))
    return found


def audit(
    table: Any,
    names: Sequence[str],
    wanted: int | None,
    *,
    units: Array | None = None,
    demands: Sequence[Demand] = (),
) -> Audit:
    """Count the k that holds in a pyarrow.Table, by rows and by `units` int64[n] if given, and check demands."""
    if table.num_rows == 0:
        raise DataError("A published table must have rows. Got none.")
    classes = classes_of(table, names)
    sizes = np.bincount(classes)
    by_units, k_units = sizes, None
    if units is not None:
        pairs = np.unique(np.column_stack([classes, units]), axis=0)[:, 0] if len(units) else classes
        by_units = np.bincount(pairs, minlength=len(sizes))
        k_units = int(by_units.min())
    below = by_units < (wanted or 0)
    kinds, numbers = np.unique(sizes, return_counts=True)
    return Audit(
        rows=table.num_rows,
        classes=len(sizes),
        k=int(sizes.min()),
        k_units=k_units,
        wanted=wanted,
        classes_below=int(below.sum()),
        rows_below=int(sizes[below].sum()),
        sizes=MappingProxyType(dict(zip(kinds.tolist(), numbers.tolist(), strict=True))),
        models=findings(table, names, demands),
    )


def findings(table: Any, names: Sequence[str], demands: Sequence[Demand]) -> tuple[Finding, ...]:
    """Return what is found of each demand in a pyarrow.Table."""
    from shoal.privacy.findings import check

    return check(table, names, demands) if demands else ()


def counted(
    table: Any, population: Any, names: Sequence[str], plan: Plan, *, text: bool = False, decimal: str = "."
) -> tuple[Finding, ...]:
    """Return what is found of k-map and delta-presence in a pyarrow.Table, against a population."""
    from shoal.privacy.findings import finding
    from shoal.privacy.population import DeltaPresence, KMap, PopulationModel, population_counts
    from shoal.tables.schema import attribute

    theirs = to_arrow(population, "a population", list(names))
    trees = [name for name in plan.hierarchies if name in names]
    read = [attribute(theirs, name, plan, text=text, decimal=decimal).attribute for name in trees]
    hierarchies = {one.name: one.hierarchy for one in read if one.hierarchy is not None}
    classes, matches = population_counts(
        table, theirs, names, hierarchies, levels=plan.levels, text=text, decimal=decimal
    )
    sizes = np.bincount(classes)
    models: list[PopulationModel] = []
    if plan.k_map is not None:
        models.append(KMap(plan.k_map))
    if plan.presence is not None:
        models.append(DeltaPresence(*plan.presence))
    return tuple(finding(model, None, model.measure(sizes, matches), sizes) for model in models)


def require(found: Audit, what: str) -> None:
    """Raise unless the wanted k holds, and all models."""
    if found.classes_below:
        held = found.k if found.k_units is None else found.k_units
        raise DisclosureError(
            f"{what} must hide every record among {found.wanted}. Got {found.classes_below} groups below, "
            f"the smallest of {held}.",
            hint="nothing was published.",
        )
    for finding in found.models:
        if not finding:
            where = "" if finding.attribute is None else f" in {finding.attribute!r}"
            raise DisclosureError(
                f"{what} must satisfy {str(finding.model)!r}{where}. Got {finding.groups_below} groups that do not, "
                f"{finding.held:.4g} in the worst.",
                hint="nothing was published.",
            )
