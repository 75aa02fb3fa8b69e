"""Which fields of a plan apply to its form of release; all others are refused."""

from __future__ import annotations

from shoal.errors import OptionError
from shoal.plan import Plan
from shoal.release.groups import cells, full_domain

NO_PLACE = {cells.FORM: cells.NO_PLACE, full_domain.FORM: full_domain.NO_PLACE}
# Forms without a method, which group records by cells, and what is said in its place.
BY_CELLS = {cells.FORM: cells.METHOD, full_domain.FORM: full_domain.METHOD}
_IN_WORDS = {cells.FORM: "a strongly-safe release", full_domain.FORM: "a full-domain release"}
# Fields of a plan that do not go together with others, and why.
_ONE_CHOICE = "which records are left out is one decision for all quasi-identifiers"
_AS_THEY_ARE = "matches in a population are counted for values as they are"
NOT_SUPPRESSED = {"blocks": _ONE_CHOICE, "population": "matches in a population are not part of the choice"}


def checked(plan: Plan) -> Plan:
    """Return the plan, without a bound if none is known; refuse fields that do not apply to its form."""
    if plan.cells and plan.release != cells.FORM:
        raise OptionError(
            f"The 'cells' of a plan must be given for strongly-safe releases only. Got them for {plan.release!r}.",
            hint=f"use release={cells.FORM!r}, or leave them out.",
        )
    for field, why in NO_PLACE.get(plan.release, {}).items():
        allowed = (Plan.model_fields[field].default, *(["none"] if field == "bound" else []))
        if getattr(plan, field) not in allowed:
            raise OptionError(f"The {field!r} of a plan must not be given for {_IN_WORDS[plan.release]}: {why}.")
    if plan.coded and plan.population is not None:
        field = next(name for name in ("top_coding", "bottom_coding", "rounding") if getattr(plan, name))
        raise OptionError(f"The {field!r} of a plan must not be given with a population: {_AS_THEY_ARE}.")
    if plan.suppress:
        _refuse_with_suppression(plan)
    without_bound = plan.release in BY_CELLS or plan.suppress > 0
    return plan.model_copy(update={"bound": "none"}) if without_bound else plan


def _refuse_with_suppression(plan: Plan) -> None:
    for field, why in NOT_SUPPRESSED.items():
        if getattr(plan, field) != Plan.model_fields[field].default:
            raise OptionError(f"The {field!r} of a plan must not be given with 'suppress': {why}.")
    if plan.bound in ("lp", "regions"):
        raise OptionError(
            "The 'bound' of a plan must be 'quick' or 'none' if records may be left out ('suppress'): no bound on the "
            f"best possible choice of them is known. Got {plan.bound!r}."
        )
