"""The demands of a plan, refused if no groups can satisfy them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import OptionError
from shoal.privacy.closeness import NTCloseness, TCloseness
from shoal.privacy.demands import Demand, demands_of, offending

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.privacy.model import SensitiveModel


def checked_demands(
    table: Any, plan: Plan, strata: Array | None, *, text: bool = False, decimal: str = "."
) -> tuple[Demand, ...]:
    """Return the demands of a plan on the sensitive attributes of a table, or refuse those that no groups can satisfy.

    Parameters
    ----------
    table : pyarrow.Table
        The rows to publish.
    plan : Plan
    strata : int64[n] or None
        Groups never cross strata.
    text : bool
        Whether types are inferred from text, with this `decimal` mark.
    """
    if plan.blocks != "joint":
        raise OptionError(
            "Privacy models need all quasi-identifiers in one block. Got several blocks.",
            hint="leave out 'blocks', or 'l', 't' and 'models'.",
        )
    if plan.release == "global-recoding" and plan.enforcement not in (None, "best", "repair"):
        raise OptionError(
            f"In a global recoding, models are enforced by merging only. Got enforcement={plan.enforcement!r}.",
            hint="leave it out (--enforce), or use release='local-recoding'.",
        )
    demands = demands_of(table, plan, text=text, decimal=decimal)
    together = np.zeros(table.num_rows, np.int64)
    for demand in demands:
        # If nothing but one group of all records is possible, that is published, and the release says so.
        if offending(together, [demand], X=np.zeros((len(together), 1)))[0]:
            demand.model.refuse_if_out_of_reach(demand.sensitive, plan.k)
    if strata is not None:
        for demand in demands:
            bad = int(offending(strata, [demand]).sum())
            if bad and demand.model.monotone:
                raise OptionError(
                    f"Every stratum as a whole must satisfy {str(demand.model)!r}, because groups do not cross strata. "
                    f"Got {bad} of {int(strata.max()) + 1} strata that do not, in {demand.sensitive.name!r}.",
                    hint="demand less, merge strata, or make the stratum a quasi-identifier.",
                )
    return demands


def one_group_in_words(labels: Array, strata: Array | None) -> str | None:
    """Return the warning for a release in which all records, or all of every stratum, are in one group; else None."""
    groups = int(labels.max()) + 1
    if groups > (1 if strata is None else int(strata.max()) + 1):
        return None
    whose = "the table" if strata is None else "each stratum"
    return (
        f"All {len(labels)} records {'' if strata is None else 'of every stratum '}are in one group: the "
        f"quasi-identifiers are published as a single summary of {whose}, and every record has the same values. No "
        "smaller groups were found that satisfy k and the privacy models; demand less to publish more."
    )


def implying(model: SensitiveModel) -> SensitiveModel:
    """Return t-closeness in place of (n, t)-closeness, which it implies; return other models unchanged."""
    return TCloseness(model.t, model.ground) if isinstance(model, NTCloseness) else model
