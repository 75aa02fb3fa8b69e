"""Lower bounds on the loss of a release."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from shoal.arrays import Array
from shoal.measure.certificates import certificate
from shoal.measure.loss import information_loss, sst
from shoal.plan import Plan
from shoal.progress import Progress, part, silent
from shoal.release.groups.blocks import Block
from shoal.release.groups.coordinates import Coordinates
from shoal.release.groups.grouping import patience

EQUAL_WITHIN = 1e-12


def bound_of(
    coordinates: Coordinates,
    blocks: Sequence[Block],
    plan: Plan,
    weights: Array | None,
    loss: float,
    report: Progress = silent,
) -> float | None:
    """Return a lower bound on the loss of any release of this plan, or None if there is none.

    The bound holds for all partitions into groups of at least k records. Strata, units and equal records that stay
    together can only raise the smallest loss. Blocks are partitioned independently of each other, each on its own
    coordinates, so their smallest squared errors add up. For weighted losses, no bound is known. A bound in projected
    coordinates would be none on true distances, so attributes that were projected are bounded by themselves.

    Parameters
    ----------
    coordinates : Coordinates
    blocks : blocks of attributes with their partitions
    plan : Plan
    weights : float64[n] or None
    loss : float
        Loss of these blocks.
    report : callable
    """
    if plan.bound == "none" or weights is not None:
        return None
    if coordinates.coded:
        # No groups of the original values lose less than their best ones, whatever they publish.
        coordinates, blocks = coordinates.uncoded(), [block._replace(optimal=False) for block in blocks]
    error, total, known = 0.0, 0.0, False
    for at, block in enumerate(blocks):
        progress = part(report, at / len(blocks), (at + 1) / len(blocks))
        least, spread = _bounded(coordinates, block, plan, len(blocks), progress)
        known = known or least is not None
        # The bound of a block for which none is known is 0.
        error += least or 0.0
        total += spread
    if not known:
        return None
    bound = error / total if total > 0 else 0.0
    return loss if bound >= loss * (1 - EQUAL_WITHIN) else bound


def _bounded(
    coordinates: Coordinates, block: Block, plan: Plan, blocks: int, report: Progress
) -> tuple[float | None, float]:
    """Return a lower bound on the squared error of a block, or None, and its squared error as one group."""
    spreads = {name: coordinates.projected[name] for name in block.attributes if name in coordinates.projected}
    least: float | None = fsum(coordinates.importance[name] * one.least_error(plan.k) for name, one in spreads.items())
    total = fsum(coordinates.importance[name] * one.squared_error() for name, one in spreads.items())
    others = [name for name in block.attributes if name not in spreads]
    if others:
        X = coordinates.together(others)
        share = information_loss(X, block.labels) if block.optimal else _share(X, block, plan, blocks, report)
        spread = sst(X)
        least = None if share is None or least is None else least + share * spread
        total += spread
    return least, total


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
