"""How far the loss of a release is from the least possible, at most."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, isinf, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.measure.certificates import certificate
from shoal.measure.loss import information_loss, sst
from shoal.plan import Plan
from shoal.progress import Progress, part, silent
from shoal.release.blocks import Block
from shoal.release.coordinates import Coordinates
from shoal.release.grouping import patience

if TYPE_CHECKING:
    from shoal.release.release import Release

Array = np.ndarray[Any, Any]

# Relative difference between a bound and a loss up to which only rounding sets them apart.
EQUAL_WITHIN = 1e-12


def bound_of(
    coordinates: Coordinates,
    blocks: Sequence[Block],
    plan: Plan,
    weights: Array | None,
    loss: float,
    report: Progress = silent,
) -> float | None:
    """Return a loss that no release by this plan goes below, or None if nothing is known.

    The bound is that of all partitions into groups of at least k records. Strata, units and equal records that stay
    together can only raise the least loss. Blocks are partitioned independently of each other, each on coordinates of
    its own, so that their least squared errors add up. With weights the loss is another one, of which no bound is
    known.

    Parameters
    ----------
    coordinates : Coordinates
    blocks : blocks of attributes with their partitions
    plan : Plan
    weights : float64[n] or None
    loss : float
        Of these blocks.
    report : callable
    """
    if plan.bound == "none" or weights is not None:
        return None
    error, total, some = 0.0, 0.0, False
    for at, block in enumerate(blocks):
        X = coordinates.together(block.attributes)
        told = part(report, at / len(blocks), (at + 1) / len(blocks))
        share = information_loss(X, block.labels) if block.optimal else _share(X, block, plan, len(blocks), told)
        spread = sst(X)
        some = some or share is not None
        # Where nothing is known of a block, nothing is lost in it at best.
        error += (share or 0.0) * spread
        total += spread
    if not some:
        return None
    bound = error / total if total > 0 else 0.0
    return loss if bound >= loss * (1 - EQUAL_WITHIN) else bound


def _share(X: Array, block: Block, plan: Plan, blocks: int, report: Progress) -> float | None:
    limit = plan.time_limit
    if limit is None and plan.bound == "quick":
        limit = patience(len(X))
    return certificate(
        X,
        plan.k,
        plan.bound,
        labels=block.labels,
        time_limit=None if limit is None else limit / blocks,
        n_jobs=plan.n_jobs,
        progress=report,
    )


def in_short(release: Release) -> str:
    """Return how far from the best possible a release is, in a few words; nothing if nobody asked."""
    gap = release.gap
    if release.plan.bound == "none":
        return ""
    if gap is None:
        return "not known with weights" if release.plan.weight else "not known: the table is too large for the time"
    if isinf(gap):
        return "not known: the bound is 0"
    return "none: proven to be the best possible" if gap == 0 else f"at most {at_most(gap)} above the best possible"


def rough(release: Release) -> bool:
    """Return whether a better bound is likely to be had."""
    return release.plan.bound == "quick" and release.gap is not None and release.gap > 0


def in_full(release: Release) -> str:
    """Return the same in sentences, with what it means."""
    plan, gap, bound = release.plan, release.gap, release.lower_bound
    if plan.bound == "none":
        return ""
    if gap is None or bound is None:
        if plan.weight:
            return "How far this is from the best possible is not known: there is no bound on a loss with weights."
        return (
            "How far this is from the best possible is not known: the table is too large for a bound in the time "
            "(a longer time_limit would allow for one)."
        )
    if gap == 0:
        return f"This is proven to be the best possible: no other groups of at least {plan.k} records lose less."
    if isinf(gap):
        words = "How far this is from the best possible is not known: the bound that was computed is 0."
    else:
        words = (
            f"This is at most {at_most(gap)} above the best possible: it is proven that groups of at least {plan.k} "
            f"records, however they are made, lose {100 * bound:.4g}\N{NO-BREAK SPACE}% or more."
        )
    if not rough(release):
        return words
    return (
        f"{words} The bound is a rough one, and the groups are likely to be much nearer to the best possible than it "
        "says; bound: lp (--bound lp) looks for a better one."
    )


def at_most(fraction: float) -> str:
    """Return a fraction in per cent with three digits, rounded up, at most three of them decimal."""
    percent = 100 * fraction
    digits = min(3, max(0, 2 - floor(log10(percent)))) if percent > 0 else 0
    rounded = ceil(percent * 10**digits - 1e-6) / 10**digits
    return f"{rounded:,.{digits}f}\N{NO-BREAK SPACE}%"
