"""The demands of a plan on a table, refused if no groups can satisfy them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import OptionError
from shoal.privacy.closeness import NTCloseness, TCloseness
from shoal.privacy.demands import Demand, demands_of, offending

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.privacy.model import SensitiveModel

Array = np.ndarray[Any, Any]


def checked_demands(
    table: Any, plan: Plan, strata: Array | None, *, text: bool = False, decimal: str = "."
) -> tuple[Demand, ...]:
    """Return what a plan demands of the sensitive attributes of a table; what no groups can have is refused.

    Parameters
    ----------
    table : pyarrow.Table
        The rows that are to be published.
    plan : Plan
    strata : int64[n] or None
        Which groups never cross.
    text : bool
        Whether types are read out of text, with this `decimal` mark.
    """
    if plan.blocks != "joint":
        raise OptionError(
            "Models of privacy are about all quasi-identifiers together. Got blocks of them.",
            hint="leave 'blocks' out, or 'l', 't' and 'models'.",
        )
    if plan.release == "global-recoding" and plan.enforcement not in (None, "best", "repair"):
        raise OptionError(
            f"In a global recoding, models are enforced by merging only. Got enforcement={plan.enforcement!r}.",
            hint="leave it out (--enforce), or use release='local-recoding'.",
        )
    demands = demands_of(table, plan, text=text, decimal=decimal)
    for demand in demands:
        demand.model.refuse_if_out_of_reach(demand.sensitive, plan.k)
    if strata is not None:
        for demand in demands:
            bad = int(offending(strata, [demand]).sum())
            if bad and demand.model.monotone:
                raise OptionError(
                    f"Groups do not cross strata, so that every stratum must satisfy {str(demand.model)!r} as a whole. "
                    f"Got {bad} of {int(strata.max()) + 1} that do not, in {demand.sensitive.name!r}.",
                    hint="ask for less, merge strata, or make the stratum a quasi-identifier.",
                )
    return demands


def implying(model: SensitiveModel) -> SensitiveModel:
    """Return t-closeness for (n, t)-closeness, which follows from it; any other model as it is."""
    return TCloseness(model.t, model.ground) if isinstance(model, NTCloseness) else model
