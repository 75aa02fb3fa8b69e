"""Describes the demands on a release, in a line and in the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shoal.privacy.findings import Finding
    from shoal.release.release import Release
    from shoal.release.report.render import DemandFacts

# Largest number of named values in a drawing, and number of parts of an order.
NAMED, PARTS = 12, 10


def demand_in_words(finding: Finding) -> str:
    """Return the attribute and the parameters of a demand, in a line."""
    return finding.model.short if finding.attribute is None else f"{finding.attribute}: {finding.model.short}"


def three_digits(measured: float) -> str:
    """Return a measured value with three digits."""
    return f"{measured:.3g}"


def held_in_words(finding: Finding) -> str:
    """Return what holds in the worst group; of a population, which is not published, no counts are told."""
    if finding.attribute is None:
        return f"in all {finding.groups:,} groups, this holds"
    return f"in the worst of {finding.groups:,} groups, it is {three_digits(finding.held)}"


def demand_facts(release: Release) -> tuple[DemandFacts, ...]:
    """Return the facts of the report on each demand."""
    return tuple(_facts(finding, release) for finding in release.audit.models)


def _facts(finding: Finding, release: Release) -> DemandFacts:
    from shoal.release.report.render import (
        DemandFacts,
    )  # with all that draws, which a release without a report needs not

    return DemandFacts(
        attribute=finding.attribute or "",
        short=finding.model.short,
        words=finding.model.explanation(finding.attribute or ""),
        held=held_in_words(finding).capitalize() + ".",
        size=finding.worst_size,
        bars=_bars(finding, release.plan.k),
        ordered=finding.words is None,
    )


def _bars(finding: Finding, k: int) -> tuple[tuple[str, float, float], ...]:
    """Return label, share in the table and share in the worst group; values of few records are not named."""
    if finding.shares is None:
        return ()
    (worst, missing_there), (whole, missing) = ((shares[:-1], float(shares[-1])) for shares in finding.shares)
    if finding.words is None:
        # Tenths of the table have no names, because their borders are values of the data.
        middle = (np.cumsum(whole) - whole / 2) / (whole.sum() or 1.0)
        part = np.minimum((PARTS * middle).astype(int), PARTS - 1)
        in_table, in_worst = (np.bincount(part, shares, PARTS) for shares in (whole, worst))
        rows = [(f"{at + 1}", float(in_table[at]), float(in_worst[at])) for at in range(PARTS) if in_table[at]]
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
