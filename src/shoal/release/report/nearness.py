"""Describes how far a release is from the best possible."""

from __future__ import annotations

from math import ceil, floor, isinf, log10
from typing import TYPE_CHECKING, NamedTuple

from shoal.plan import Plan

if TYPE_CHECKING:
    from shoal.release.measures.told import Told
    from shoal.release.release import Release

PROVEN = "0\N{NO-BREAK SPACE}%: proven to be the best possible"
TOO_LARGE = "unknown: the table is too large to compute a bound in the time allowed"


class Nearness(NamedTuple):
    """What is known of the distance from the best possible."""

    plan: Plan
    gap: float | None  # None: there is no bound
    lower_bound: float | None
    digits: int = 3

    @classmethod
    def of(cls, release: Release) -> Nearness:
        """Return what is known, for whoever holds the data."""
        return cls(release.plan, release.gap, release.lower_bound)

    @classmethod
    def told(cls, release: Release, told: Told) -> Nearness | None:
        """Return what may be told to everyone; None if nothing may."""
        if told.loss is None:
            return None
        known = release.gap is not None and not isinf(release.gap)
        gap = told.gap if known else release.gap
        return cls(release.plan, gap, told.lower_bound, release.losses.digits)

    @property
    def rough(self) -> bool:
        """Return whether a better bound is likely to exist."""
        return self.plan.bound == "quick" and self.gap is not None and self.gap > 0

    @property
    def in_short(self) -> str:
        """Return how far a release is from the best possible, in a few words; an empty text without a bound."""
        if self.plan.bound == "none":
            return ""
        if self.gap is None:
            return "unknown: there is no bound on a weighted loss" if self.plan.weight else TOO_LARGE
        if isinf(self.gap):
            return "unknown: the bound is 0"
        return PROVEN if self.gap == 0 else f"at most {at_most(self.gap, self.digits)} above the best possible"

    @property
    def in_full(self) -> str:
        """Return how far a release is from the best possible, in sentences."""
        plan, gap, bound = self.plan, self.gap, self.lower_bound
        if plan.bound == "none":
            return ""
        if gap is None or bound is None:
            if plan.weight:
                return "It is unknown how far this is from the best possible: there is no bound on a weighted loss."
            return (
                "It is unknown how far this is from the best possible: the table is too large to compute a bound in "
                "the time allowed. A longer time_limit makes it possible."
            )
        if gap == 0:
            return f"This is proven to be the best possible: no groups of at least {plan.k} records lose less."
        if isinf(gap):
            words = "It is unknown how far this is from the best possible: the computed bound is 0."
        else:
            words = (
                f"This is at most {at_most(gap, self.digits)} above the best possible: it is proven that any groups of "
                f"at least {plan.k} records lose {100 * bound:.4g}\N{NO-BREAK SPACE}% or more."
            )
        if not self.rough:
            return words
        return (
            f"{words} This bound is rough, and the groups are probably much closer to the best possible than it "
            "suggests; bound: lp (--bound lp) gives a better one."
        )


def at_most(fraction: float, most: int = 3) -> str:
    """Return a fraction in per cent, rounded up, with three digits or fewer and at most three decimal places."""
    percent = 100 * fraction
    digits = min(3, max(0, most - 1 - floor(log10(percent)))) if percent > 0 else 0
    rounded = ceil(percent * 10**digits - 1e-6) / 10**digits
    return f"{rounded:,.{digits}f}\N{NO-BREAK SPACE}%"
