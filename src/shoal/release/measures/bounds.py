"""Lower bounds on the loss of a release."""

from __future__ import annotations

from collections.abc import Sequence

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
    coordinates, so their smallest squared errors add up. For weighted losses, no bound is known.

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
    error, total, known = 0.0, 0.0, False
    for at, block in enumerate(blocks):
        X = coordinates.together(block.attributes)
        progress = part(report, at / len(blocks), (at + 1) / len(blocks))
        share = information_loss(X, block.labels) if block.optimal else _share(X, block, plan, len(blocks), progress)
        spread = sst(X)
        known = known or share is not None
        # The bound of a block for which none is known is 0.
        error += (share or 0.0) * spread
        total += spread
    if not known:
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
