"""Which fields of a plan a table that is read in pieces supports; all others are refused before any work."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.errors import OptionError
from shoal.plan import Plan
from shoal.privacy.closeness import NTCloseness
from shoal.privacy.demands import models_of
from shoal.privacy.diversity import DistinctDiversity, KAnonymity, PSensitive
from shoal.privacy.model import SensitiveModel
from shoal.release.omission import open_columns
from shoal.tables.schema import Column

FORMS = ("microaggregation", "local-recoding")
# Fields that must be left at their defaults, and why.
_IN_MEMORY = {
    "places": "the coordinates of places are computed in memory",
    "blocks": "all quasi-identifiers are grouped together",
    "population": "matches are counted in memory",
    "k_map": "matches are counted in memory",
    "presence": "matches are counted in memory",
    "suppress": "which records are left out is decided in memory",
    "cells": "cells are counted in memory",
    "top_coding": "values are changed in memory",
    "bottom_coding": "values are changed in memory",
    "rounding": "values are changed in memory",
    "dp": "noisy answers are computed in memory",
}
# Models of sensitive attributes that need not be compared with the units of the whole table.
_OF_GROUPS = (DistinctDiversity, PSensitive, KAnonymity)


def refuse_unsupported(plan: Plan, roles: Sequence[Column]) -> None:
    """Raise OptionError, which names the field, if a plan needs the whole table in memory."""
    for field, why in _IN_MEMORY.items():
        if getattr(plan, field) != Plan.model_fields[field].get_default(call_default_factory=True):
            raise _refused(field, why)
    if plan.release not in FORMS:
        raise _refused("release", f"of the forms, {' and '.join(FORMS)} can be made in pieces")
    if plan.small_strata != "error":
        raise _refused("small_strata", "strata are merged in memory")
    if plan.bound == "lp":
        raise _refused("bound", "a bound is computed in memory")
    unsaid = open_columns(roles, plan)
    if unsaid:
        raise OptionError(
            f"Every column must have a role if the table is read in pieces. Got {len(unsaid)} without one, "
            f"{unsaid[0]!r} first.",
            hint="say what they are: quasi_identifiers=[..], other=[..], drop=[..]; rest='other', 'qi' or 'drop' says "
            "it for all other columns.",
        )
    for name in plan.demanded_of if plan.has_demands else ():
        for model in models_of(plan, name):
            if isinstance(model, NTCloseness):
                raise _refused("models", "(n, t)-closeness compares groups with others near them, in memory")
            if plan.unit is not None:
                _refuse_of_units(model)


def _refuse_of_units(model: SensitiveModel) -> None:
    if not isinstance(model, _OF_GROUPS):
        raise OptionError(
            f"With 'unit', a table that is read in pieces can have the models distinct-diversity (l), p-sensitive and "
            f"k-anonymity only. Got {str(model)!r}, which is compared with all units of the table.",
            hint="leave out 'unit' or the model, or use engine='memory'.",
        )


def _refused(field: str, why: str) -> OptionError:
    return OptionError(
        f"The {field!r} of a plan must be left out if the table is read in pieces: {why}. Got one.",
        hint="leave it out, or use engine='memory'.",
    )
