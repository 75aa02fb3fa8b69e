"""Demands: privacy models, each on a sensitive attribute. The demands of a plan, and which groups satisfy them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array, group_means
from shoal.plan import Plan
from shoal.privacy.closeness import TCloseness
from shoal.privacy.diversity import DistinctDiversity, KAnonymity, PSensitive
from shoal.privacy.model import SensitiveModel
from shoal.privacy.models import model
from shoal.privacy.spectrum import Sensitive, Spectrum, spectrum_of
from shoal.tables.schema import attribute
from shoal.tables.sensitive import refuse_finer, sensitive_of
from shoal.tables.spelling import said


class Demand(NamedTuple):
    """A model that the values of a sensitive attribute must satisfy in every group."""

    model: SensitiveModel
    sensitive: Sensitive


# --- those of a plan ---


def demands_of(table: Any, plan: Plan, *, text: bool = False, decimal: str = ".") -> tuple[Demand, ...]:
    """Return the demands of a plan on the sensitive attributes of a pyarrow.Table.

    Parameters
    ----------
    table : pyarrow.Table
    plan : Plan
    text, decimal : bool, str
        Whether to infer types from text, and the decimal mark of numbers in it.
    """
    if not plan.has_demands:
        return ()
    demands = []
    for name in plan.demanded_of:
        models = models_of(plan, name)
        if models:
            values = attribute_of(table, name, plan, text=text, decimal=decimal)
            demands += [Demand(one, values) for one in models]
    return tuple(demands)


def glances_of(table: Any, plan: Plan, *, text: bool = False, decimal: str = ".") -> tuple[Demand, ...]:
    """Return demands that only serve to measure l and t of sensitive attributes; they need not be satisfied."""
    demands = []
    for name in plan.demanded_of:
        values = attribute_of(table, name, plan, text=text, decimal=decimal)
        demands += [Demand(DistinctDiversity(2), values), Demand(TCloseness(1), values)]
    return tuple(demands)


# Models that hold of records if they hold of units.
_IMPLIED = (DistinctDiversity, PSensitive, KAnonymity)


def in_units(demands: Sequence[Demand], units: Array | None) -> tuple[Demand, ...]:
    """Return demands that count units (int64[n]), besides those that count records.

    Readers of a release do not see which of its rows are of one unit: a model must hold for those who count rows, and
    for those who know the units. Where the second implies the first, it is enough.
    """
    if units is None or len(np.unique(units)) == len(units):
        return tuple(demands)
    numbers = np.unique(units, return_inverse=True)[1].astype(np.int64)
    changed = {id(demand.sensitive): demand.sensitive._replace(units=numbers) for demand in demands}
    of_rows = [demand for demand in demands if not isinstance(demand.model, _IMPLIED)]
    return (*of_rows, *(demand._replace(sensitive=changed[id(demand.sensitive)]) for demand in demands))


def models_of(plan: Plan, name: str) -> list[SensitiveModel]:
    """Return the models that a plan requires of a sensitive attribute."""
    models: list[SensitiveModel] = []
    if plan.l is not None:
        models.append(DistinctDiversity(plan.l))
    if plan.t is not None:
        models.append(TCloseness(plan.t))
    return models + [model(spec) for spec in plan.models.get(name, ())]


def attribute_of(
    table: Any, name: str, plan: Plan, *, text: bool = False, decimal: str = ".", counts: Array | None = None
) -> Sensitive:
    """Return a sensitive attribute of a table, of the kind given in the plan or else inferred.

    If the table holds different rows of a larger one, `counts` int64[n] says how often each occurs there.
    """
    column = attribute(table, name, plan, text=text, decimal=decimal, sensitive=True, counts=counts)
    refuse_finer(table.column(name), column.attribute.kind, name)
    return sensitive_of(name, column.values, column.attribute.kind, column.attribute.hierarchy, decimal=decimal)


def said_of(demands: Sequence[Demand]) -> tuple[str, ...]:
    """Return what must be said of the attributes of demands: which have several spellings that count as one value."""
    attributes = {demand.sensitive.name: demand.sensitive for demand in demands if demand.sensitive.spellings}
    return tuple(said(name, one.spellings, one.values, "values") for name, one in attributes.items())


# --- which groups satisfy them ---


def spectra(labels: Array, demands: Sequence[Demand], rows: Array | None = None) -> list[Spectrum]:
    """Return the spectrum for each demand; demands on the same attribute share one."""
    by_attribute: dict[int, Spectrum] = {}
    for demand in demands:
        if id(demand.sensitive) not in by_attribute:
            by_attribute[id(demand.sensitive)] = spectrum_of(labels, demand.sensitive, rows)
    return [by_attribute[id(demand.sensitive)] for demand in demands]


def satisfied(by_demand: Sequence[Spectrum], demands: Sequence[Demand], centres: Array | None = None) -> Array:
    """Return bool[m]: which groups satisfy all demands, given the spectrum for each demand."""
    good = np.ones(by_demand[0].groups, bool)
    for spectrum, demand in zip(by_demand, demands, strict=True):
        good &= demand.model.holds(spectrum, centres)
    return good


def offending(labels: Array, demands: Sequence[Demand], rows: Array | None = None, X: Array | None = None) -> Array:
    """Return bool[m]: which groups fall short of a demand.

    Parameters
    ----------
    labels : int64[n]
        0 .. m - 1 without a gap.
    demands : sequence of Demand
        At least one.
    rows : int64[n] or None
        The records of the table that have these labels. None: all of them.
    X : float64[n, d] or None
        Coordinates of these records, for models that compare groups with their surroundings.
    """
    return ~satisfied(spectra(labels, demands, rows), demands, None if X is None else group_means(X, labels))
