"""New records in groups of their own, by the plan of the earlier release."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, DisclosureWarning, OptionError
from shoal.plan import Plan
from shoal.privacy.demands import demands_of, in_units, models_of, offending
from shoal.privacy.spectrum import whole_of
from shoal.privacy.two_tables import stacked
from shoal.progress import Progress
from shoal.release.groups.demands import one_group_in_words
from shoal.release.preparation import Prepared, prepare
from shoal.release.run import carry_out
from shoal.release.updates.earlier import NUMERIC, OF_THE_TABLE, Earlier
from shoal.tables import frames
from shoal.tables.schema import Attribute


@dataclass(frozen=True)
class Grown:
    """New records as they are to be published, and how they were grouped.

    Attributes
    ----------
    table : data frame
    attributes : the quasi-identifiers and how they are published
    blocks : tuple of names
        Columns within which k holds.
    methods : tuple of str
    loss : float
        The share of the variance of the new records that is lost.
    rows_in, rows_dropped, rows_removed, rows_joined : int
        As in `Update`.
    warnings : tuple of str
    k_units : int or None
        The k that holds in units.
    labels : int64[n] or None
        Groups of the records among themselves, if none joined another.
    """

    table: Any
    attributes: tuple[Attribute, ...]
    blocks: tuple[tuple[str, ...], ...]
    methods: tuple[str, ...]
    loss: float
    rows_in: int
    rows_dropped: int
    rows_removed: int = 0
    rows_joined: int = 0
    warnings: tuple[str, ...] = ()
    k_units: int | None = None
    labels: Array | None = None


def of_the_table(plan: Plan) -> bool:
    """Return whether the plan has models that compare groups with the whole table."""
    return any(isinstance(model, OF_THE_TABLE) for name in plan.demanded_of for model in models_of(plan, name))


def grouped(earlier: Earlier, new: Any, plan: Plan, progress: Progress | None = None) -> Grown:
    """Group new records among themselves, by the plan of the earlier release."""
    n = frames.to_arrow(new, "update", frames.names_of(new, "update")[:1]).num_rows
    if n < plan.k:
        raise DataError(
            f"At least k = {plan.k} new records must join at once, so that each is hidden among the new ones. Got {n}.",
            hint="wait until there are more, or lower newcomers (--newcomers), which protects new records less.",
        )
    plan = plan.model_copy(update={"bound": "none", "shuffle": False})
    prepared = _prepared(earlier, new, plan)
    if of_the_table(plan):
        prepared = _against_all(prepared, earlier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisclosureWarning)  # they are told with those of the earlier release
        made = carry_out(prepared, progress=progress)
    strata = prepared.constraints.strata
    return Grown(
        table=made.table,
        attributes=made.attributes,
        blocks=tuple(tuple(block.columns) for block in made.blocks),
        methods=tuple(dict.fromkeys(block.method for block in made.blocks)),
        loss=made.loss,
        rows_in=made.rows_in,
        rows_dropped=made.rows_dropped,
        rows_removed=made.rows_removed,
        # That all new records are one group says nothing about the table.
        warnings=tuple(one for one in made.warnings if one != one_group_in_words(made.labels, strata)),
        k_units=made.audit.k_units,
        labels=made.labels,
    )


def _prepared(earlier: Earlier, new: Any, plan: Plan) -> Prepared:
    """Return the new records prepared, with numbers where the earlier release has numbers."""
    how: dict[str, Any] = {"text": earlier.text, "decimal": earlier.decimal}
    prepared = prepare(new, plan, **how)
    others = {
        one.name: earlier.kinds[one.name]
        for one in prepared.attributes
        if one.name in earlier.kinds and one.kind != earlier.kinds[one.name]
        if not {one.kind, earlier.kinds[one.name]} <= set(NUMERIC)
    }
    if not others:
        return prepared
    return prepare(new, plan.model_copy(update={"types": {**plan.types, **others}}), **how)


def _against_all(prepared: Prepared, earlier: Earlier) -> Prepared:
    """Return the same with demands that compare groups with all records, old and new.

    The demands are checked on the published table in the end, and not on the new records alone.
    """
    plan = prepared.plan
    if plan.suppress:
        raise OptionError(
            "A release with 'suppress' and a model that compares groups with the whole table cannot be updated: which "
            "records are left out would change the table.",
            hint="publish it anew.",
        )
    names = list(plan.demanded_of)
    both = stacked(earlier.table.select(names), frames.to_arrow(prepared.table, "update", names))
    n = earlier.table.num_rows
    demands = []
    for demand in demands_of(both, plan, text=prepared.text, decimal=prepared.decimal):
        codes = demand.sensitive.codes
        new = demand.sensitive._replace(codes=codes[n:], whole=whole_of(demand.sensitive))
        demands.append(demand._replace(sensitive=new))
        if offending(np.zeros(len(codes) - n, np.int64), demands[-1:])[0]:
            raise OptionError(
                f"The new records as one group must satisfy {str(demand.model)!r} in {demand.sensitive.name!r}, "
                "compared with all records. Got some that do not.",
                hint="wait until there are more, or publish the table anew.",
            )
    constraints = prepared.constraints._replace(demands=in_units(demands, prepared.constraints.units))
    without = plan.model_copy(update={"l": None, "t": None, "models": {}})
    return replace(prepared, constraints=constraints, plan=without)
