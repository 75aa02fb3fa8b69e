"""Describes how far a release is from the best possible."""

from __future__ import annotations

from math import ceil, floor, isinf, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.release.release import Release

PROVEN = "0\N{NO-BREAK SPACE}%: proven to be the best possible"
TOO_LARGE = "unknown: the table is too large to compute a bound in the time allowed"


def in_short(release: Release) -> str:
    """Return how far a release is from the best possible, in a few words; an empty text if the plan has no bound."""
    gap = release.gap
    if release.plan.bound == "none":
        return ""
    if gap is None:
        return "unknown: there is no bound on a weighted loss" if release.plan.weight else TOO_LARGE
    if isinf(gap):
        return "unknown: the bound is 0"
    return PROVEN if gap == 0 else f"at most {at_most(gap)} above the best possible"


def rough(release: Release) -> bool:
    """Return whether a better bound is likely to exist."""
    return release.plan.bound == "quick" and release.gap is not None and release.gap > 0


def in_full(release: Release) -> str:
    """Return how far a release is from the best possible, in sentences."""
    plan, gap, bound = release.plan, release.gap, release.lower_bound
    if plan.bound == "none":
        return ""
    if gap is None or bound is None:
        if plan.weight:
            return "It is unknown how far this is from the best possible: there is no bound on a weighted loss."
        return (
            "It is unknown how far this is from the best possible: the table is too large to compute a bound in the "
            "time allowed. A longer time_limit makes it possible."
        )
    if gap == 0:
        return f"This is proven to be the best possible: no groups of at least {plan.k} records lose less."
    if isinf(gap):
        words = "It is unknown how far this is from the best possible: the computed bound is 0."
    else:
        words = (
            f"This is at most {at_most(gap)} above the best possible: it is proven that any groups of at least "
            f"{plan.k} records lose {100 * bound:.4g}\N{NO-BREAK SPACE}% or more."
        )
    if not rough(release):
        return words
    return (
        f"{words} This bound is rough, and the groups are probably much closer to the best possible than it suggests; "
        "bound: lp (--bound lp) gives a better one."
    )


def at_most(fraction: float) -> str:
    """Return a fraction in per cent, rounded up, with three digits and at most three decimal places."""
    percent = 100 * fraction
    digits = min(3, max(0, 2 - floor(log10(percent)))) if percent > 0 else 0
    rounded = ceil(percent * 10**digits - 1e-6) / 10**digits
    return f"{rounded:,.{digits}f}\N{NO-BREAK SPACE}%"
