"""What a plan demands of sensitive attributes, read from the table that it is demanded of."""

from __future__ import annotations

from typing import Any

from shoal.plan import Plan
from shoal.privacy.closeness import TCloseness
from shoal.privacy.demands import Demand
from shoal.privacy.diversity import DistinctDiversity
from shoal.privacy.model import Model
from shoal.privacy.models import model
from shoal.tables.schema import attribute
from shoal.tables.sensitive import Sensitive, sensitive_of


def wishes_of(table: Any, plan: Plan, *, text: bool = False, decimal: str = ".") -> tuple[Demand, ...]:
    """Return the demands of a plan on the sensitive attributes of a pyarrow.Table: none if it has none.

    Parameters
    ----------
    table : pyarrow.Table
    plan : Plan
    text : bool
        Whether types are read out of text, with this `decimal` mark.
    """
    if not plan.guarded_at_all:
        return ()
    found = []
    for name in plan.guarded:
        asked = models_of(plan, name)
        if asked:
            values = read(table, name, plan, text=text, decimal=decimal)
            found += [Demand(one, values) for one in asked]
    return tuple(found)


def glances_of(table: Any, plan: Plan, *, text: bool = False, decimal: str = ".") -> tuple[Demand, ...]:
    """Return demands by which to see what sensitive attributes have: whether they hold says nothing."""
    found = []
    for name in plan.guarded:
        values = read(table, name, plan, text=text, decimal=decimal)
        found += [Demand(DistinctDiversity(2), values), Demand(TCloseness(1), values)]
    return tuple(found)


def models_of(plan: Plan, name: str) -> list[Model]:
    """Return the models that a plan has for a sensitive attribute."""
    asked: list[Model] = []
    if plan.l is not None:
        asked.append(DistinctDiversity(plan.l))
    if plan.t is not None:
        asked.append(TCloseness(plan.t))
    return asked + [model(spec) for spec in plan.models.get(name, ())]


def read(table: Any, name: str, plan: Plan, *, text: bool = False, decimal: str = ".") -> Sensitive:
    """Return a sensitive attribute of a table, of the kind that the plan says or that is inferred."""
    found = attribute(table, name, plan, text=text, decimal=decimal)
    return sensitive_of(name, found.values, found.attribute.kind, found.attribute.hierarchy)
