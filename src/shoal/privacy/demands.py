"""Demands: models of privacy, each on a sensitive attribute; those of a plan, and which groups do not satisfy them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.plan import Plan
from shoal.privacy.closeness import TCloseness
from shoal.privacy.diversity import DistinctDiversity
from shoal.privacy.model import SensitiveModel
from shoal.privacy.models import model
from shoal.privacy.spectrum import Sensitive, Spectrum, spectrum_of
from shoal.tables.schema import attribute
from shoal.tables.sensitive import sensitive_of

Array = np.ndarray[Any, Any]


class Demand(NamedTuple):
    """A model that the values of a sensitive attribute must satisfy in every group."""

    model: SensitiveModel
    sensitive: Sensitive


# --- those of a plan ---


def demands_of(table: Any, plan: Plan, *, text: bool = False, decimal: str = ".") -> tuple[Demand, ...]:
    """Return the demands of a plan on the sensitive attributes of a pyarrow.Table: none if it has none.

    Parameters
    ----------
    table : pyarrow.Table
    plan : Plan
    text : bool
        Whether types are read out of text, with this `decimal` mark.
    """
    if not plan.has_demands:
        return ()
    found = []
    for name in plan.demanded_of:
        wanted = models_of(plan, name)
        if wanted:
            values = attribute_of(table, name, plan, text=text, decimal=decimal)
            found += [Demand(one, values) for one in wanted]
    return tuple(found)


def glances_of(table: Any, plan: Plan, *, text: bool = False, decimal: str = ".") -> tuple[Demand, ...]:
    """Return demands by which to see what sensitive attributes have; whether they are satisfied says nothing."""
    found = []
    for name in plan.demanded_of:
        values = attribute_of(table, name, plan, text=text, decimal=decimal)
        found += [Demand(DistinctDiversity(2), values), Demand(TCloseness(1), values)]
    return tuple(found)


def models_of(plan: Plan, name: str) -> list[SensitiveModel]:
    """Return the models that a plan has for a sensitive attribute."""
    wanted: list[SensitiveModel] = []
    if plan.l is not None:
        wanted.append(DistinctDiversity(plan.l))
    if plan.t is not None:
        wanted.append(TCloseness(plan.t))
    return wanted + [model(spec) for spec in plan.models.get(name, ())]


def attribute_of(table: Any, name: str, plan: Plan, *, text: bool = False, decimal: str = ".") -> Sensitive:
    """Return a sensitive attribute of a table, of the kind that the plan says or that is inferred."""
    found = attribute(table, name, plan, text=text, decimal=decimal)
    return sensitive_of(name, found.values, found.attribute.kind, found.attribute.hierarchy)


# --- which groups satisfy them ---


def spectra(labels: Array, demands: Sequence[Demand], rows: Array | None = None) -> list[Spectrum]:
    """Return the spectrum of each demand, one object for demands on the same attribute."""
    made: dict[int, Spectrum] = {}
    for demand in demands:
        if id(demand.sensitive) not in made:
            made[id(demand.sensitive)] = spectrum_of(labels, demand.sensitive, rows)
    return [made[id(demand.sensitive)] for demand in demands]


def satisfied(found: Sequence[Spectrum], demands: Sequence[Demand], centres: Array | None = None) -> Array:
    """Return bool[m]: which groups satisfy all demands, given their spectra."""
    good = np.ones(found[0].groups, bool)
    for spectrum, demand in zip(found, demands, strict=True):
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
        The records of the table that the labels are of; all of them if not said.
    X : float64[n, d] or None
        Their coordinates, for models that compare groups with their surroundings.
    """
    return ~satisfied(spectra(labels, demands, rows), demands, None if X is None else centres_of(X, labels))


def centres_of(X: Array, labels: Array) -> Array:
    """Return float64[m, d]: the mean of each group."""
    sizes = np.bincount(labels)
    return np.column_stack([np.bincount(labels, column) / sizes for column in X.T])
