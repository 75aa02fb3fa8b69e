"""Private Mondrian: boxes that are cut at noisy medians, with noisy counts and sums.

Thaeter (2021, section 10.3) leaves a private Mondrian as a sketch. Here it is finished; that it is epsilon-private is
proven in docs/explanation/differential-privacy.md. In a box,

- the attribute to cut is the noisy maximum of squared deviations from the middle of the box: one answer for all
  attributes (:mod:`shoal.dp.cuts`). To every score is added what an evenly filled box of the same noisy count would
  have, which is public, so that boxes with few records are cut where they are widest and not where the noise says;
- the cut is at a private median;
- it is cut at all only if its noisy count is high enough, which is below a depth that follows from a noisy count of the
  whole table.

Deeper boxes have fewer records and get more of the budget, geometrically (Cormode et al. 2012), and counts are made
consistent afterwards. In the boxes that are left, sums are taken relative to the box.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from shoal.arrays import Array
from shoal.dp import mechanisms
from shoal.dp.budget import Budget, Ledger, Number
from shoal.dp.cuts import UNIT, Cut, candidates, places, scores
from shoal.dp.domain import Coded, Domain
from shoal.dp.leaves import described, released
from shoal.dp.released import Released
from shoal.dp.trees import Tree
from shoal.progress import Progress, part, silent

# Shares of the budget: the number of records, attributes to cut, medians, counts. What is left pays for sums.
NUMBER, ATTRIBUTES, MEDIANS, COUNTS = Fraction(2, 100), Fraction(10, 100), Fraction(15, 100), Fraction(13, 100)
SUMS = 1 - NUMBER - ATTRIBUTES - MEDIANS - COUNTS
# By how much the budget of a depth is above that of the depth before: the cube root of 2.
GROWTH = Fraction(126, 100)
# Boxes are cut this often at most, and not with fewer records, however large epsilon is: every box takes a millisecond.
DEEPEST = 14
SMALLEST = 20.0
# Positions that a median is chosen from: many where boxes are few.
CANDIDATES = 1024, 128
SHALLOW = 5


@dataclass(frozen=True)
class Grants:
    """What may be spent at each depth."""

    attributes: tuple[Fraction, ...]
    medians: tuple[Fraction, ...]
    counts: tuple[Fraction, ...]


def mondrian(
    coded: Coded, ledger: Ledger, *, leaf: float = 200.0, form: str = "records", report: Progress = silent
) -> Released:
    """Release noisy centres of boxes, or records drawn from them.

    Parameters
    ----------
    coded : Coded
    ledger : Ledger
        Its whole budget is spent.
    leaf : float
        A box is cut as long as it has about this many records, divided by epsilon; but not below `SMALLEST` records.
    form : "records" or "aggregated"
        Records drawn within boxes around their centres; or the centre of each box, with its noisy count.
    report : callable
    """
    epsilon = ledger.remaining[0]
    tree = grown(
        coded, ledger, epsilon * (1 - SUMS), records=max(leaf / float(epsilon), SMALLEST), report=part(report, 0.0, 0.6)
    )
    # Depths that were not reached have paid nothing: sums get what is left.
    answers = described(coded, tree, ledger, ledger.remaining[0])
    report(0.9)
    return released(answers, form)


def grown(coded: Coded, ledger: Ledger, epsilon: Number, *, records: float, report: Progress = silent) -> Tree:
    """Return a private tree of boxes with noisy counts, for at most this epsilon.

    Parameters
    ----------
    coded : Coded
    ledger : Ledger
    epsilon : number
    records : float
        Boxes with fewer records, by their noisy counts, are not cut.
    report : callable
    """
    granted = ledger.afford("a private tree", epsilon).epsilon
    whole = Budget(granted).split([NUMBER, ATTRIBUTES, MEDIANS, COUNTS])
    rows = ledger.neighbours.rows
    total = mechanisms.laplace(ledger, np.array([len(coded.codes)]), whole[0], what="the number of records")[0]
    tree = Tree.of(coded.domain.sizes, len(coded.codes), float(total), _variance(whole[0], rows))
    depth = max(0, min(DEEPEST, math.ceil(math.log2(max(float(total) / records, 1.0)))))
    if not depth:
        # The one box that there is gets the budget of all counts.
        tree.counts, tree.variances = _once_more(coded, ledger, tree, whole[3])
    grants = Grants(*(_geometric(share, depth) for share in whole[1:]))
    codes = np.array(coded.codes, order="C")
    open_ = [0]
    for level in range(depth):
        open_ = [box for box in open_ if tree.counts[box] >= records]
        open_ = _level(coded.domain, codes, tree, open_, ledger, grants, level)
        report((level + 1) / depth)
        if not open_:
            break
    return tree


def _once_more(coded: Coded, ledger: Ledger, tree: Tree, epsilon: Fraction) -> tuple[list[float], list[float]]:
    """Return the noisy number of records, averaged with a second one, each weighted by its precision."""
    again = mechanisms.laplace(ledger, np.array([len(coded.codes)]), epsilon, what="the number of records, once more")[
        0
    ]
    variance = _variance(epsilon, ledger.neighbours.rows)
    weight = tree.variances[0] / (tree.variances[0] + variance)
    return [weight * float(again) + (1 - weight) * tree.counts[0]], [weight * variance]


@lru_cache(maxsize=256)
def _geometric(share: Fraction, depth: int) -> tuple[Fraction, ...]:
    """Return shares of each depth, growing geometrically; their sum is the whole, exactly."""
    return Budget(share).split([GROWTH**level for level in range(depth)]) if depth else ()


def _level(
    domain: Domain, codes: Array, tree: Tree, boxes: list[int], ledger: Ledger, grants: Grants, level: int
) -> list[int]:
    """Cut boxes of one depth, which share no record, and return their halves with noisy counts."""
    found = {box: places(domain, tree.lower[box], tree.upper[box]) for box in boxes}
    boxes = [box for box in boxes if found[box].cuts]
    if not boxes:
        return []
    attributes = ledger.parallel(f"which attribute to cut, in boxes of depth {level}", grants.attributes[level])
    medians = ledger.parallel(f"where to cut it, in boxes of depth {level}", grants.medians[level])
    halves: list[int] = []
    for box in boxes:
        start, end = tree.rows[box]
        inside = codes[start:end]
        score = scores(domain, found[box], tree.lower[box], tree.upper[box], inside)
        score += np.rint(found[box].expected * max(tree.counts[box], 1.0)).astype(np.int64)
        chosen = mechanisms.noisy_maximum(
            attributes[box], score, attributes.budget.epsilon, sensitivity=UNIT, monotonic=True
        )
        cut = found[box].cuts[chosen]
        before = cut.before
        if before is None:
            before = _median(tree, box, cut, inside, medians[box], level)
        left = inside[:, cut.attribute] < before
        moved = np.concatenate([np.flatnonzero(left), np.flatnonzero(~left)])
        codes[start:end] = inside[moved]
        tree.order[start:end] = tree.order[start:end][moved]
        halves += tree.divide(box, cut.attribute, before, int(left.sum()))
    sizes = np.array([tree.rows[box][1] - tree.rows[box][0] for box in halves])
    counts = mechanisms.laplace(ledger, sizes, grants.counts[level], what=f"counts of boxes of depth {level + 1}")
    for box, count in zip(halves, counts.tolist(), strict=True):
        tree.counts[box], tree.variances[box] = float(count), _variance(grants.counts[level], ledger.neighbours.rows)
    return halves


def _median(tree: Tree, box: int, cut: Cut, inside: Array, ledger: Ledger, level: int) -> int:
    low, high = int(tree.lower[box][cut.attribute]), int(tree.upper[box][cut.attribute])
    chosen = candidates(low, high, CANDIDATES[0] if level < SHALLOW else CANDIDATES[1])
    return mechanisms.quantile(ledger, inside[:, cut.attribute], chosen, ledger.budget.epsilon)


def _variance(epsilon: Fraction, rows: int) -> float:
    """Return the variance of the noise of a count; that of the discrete distribution differs little."""
    return 2.0 * (rows / float(epsilon)) ** 2
