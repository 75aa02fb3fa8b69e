"""Models of privacy in a release: what is demanded, whether it can be had, and what is said about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import OptionError
from shoal.privacy.closeness import NTCloseness, TCloseness
from shoal.privacy.demands import Demand, offending
from shoal.privacy.wishes import wishes_of
from shoal.release.report import Guarantee

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.privacy.findings import Finding
    from shoal.privacy.model import Model
    from shoal.release.release import Release

Array = np.ndarray[Any, Any]

# Bars of a picture: values that are named at most, and parts of an order.
NAMED, PARTS = 12, 10


def models_of(
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
            "Groups that keep equal records together are made to satisfy models by merging. "
            f"Got enforcement={plan.enforcement!r}.",
            hint="leave it out (--enforce), or say release='local-recoding'.",
        )
    demands = wishes_of(table, plan, text=text, decimal=decimal)
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


def implying(model: Model) -> Model:
    """Return t-closeness for (n, t)-closeness, which follows from it; any other model as it is."""
    return TCloseness(model.t, model.ground) if isinstance(model, NTCloseness) else model


def in_words(finding: Finding) -> str:
    """Return what a model asks for, in a line."""
    return finding.model.short if finding.attribute is None else f"{finding.attribute}: {finding.model.short}"


def shown(measured: float) -> str:
    """Return a measure with three digits."""
    return f"{measured:.3g}"


def guarantees_of(release: Release) -> tuple[Guarantee, ...]:
    """Return what the report says of each model."""
    return tuple(_guarantee(finding, release) for finding in release.audit.models)


def _guarantee(finding: Finding, release: Release) -> Guarantee:
    return Guarantee(
        attribute=finding.attribute or "",
        short=finding.model.short,
        words=finding.model.explanation(finding.attribute or ""),
        held=f"In the worst of {finding.groups:,} groups it is {shown(finding.held)}.",
        size=finding.worst_size,
        bars=_bars(finding, release.plan.k),
        ordered=finding.words is None,
    )


def _bars(finding: Finding, k: int) -> tuple[tuple[str, float, float], ...]:
    """Return label, share in the table and share in the worst group; what few records have is not named."""
    if finding.shares is None:
        return ()
    (worst, missing_there), (whole, missing) = ((shares[:-1], float(shares[-1])) for shares in finding.shares)
    if finding.words is None:
        # Tenths of the table: their borders would be values of somebody.
        middle = (np.cumsum(whole) - whole / 2) / (whole.sum() or 1.0)
        part = np.minimum((PARTS * middle).astype(int), PARTS - 1)
        here, there = (np.bincount(part, shares, PARTS) for shares in (whole, worst))
        rows = [(f"{at + 1}", float(here[at]), float(there[at])) for at in range(PARTS) if here[at]]
    else:
        order = np.argsort(-worst, kind="stable")
        named = [at for at in order.tolist() if whole[at] * finding.rows >= k][:NAMED]
        rows = [(finding.words[at], float(whole[at]), float(worst[at])) for at in named]
        rest = np.setdiff1d(np.arange(len(whole)), named)
        if len(rest):
            rows.append(("other values", float(whole[rest].sum()), float(worst[rest].sum())))
    if missing:
        rows.append(("missing", missing, missing_there))
    most = max(max(a, b) for _, a, b in rows)
    return tuple((label, a / most, b / most) for label, a, b in rows)
