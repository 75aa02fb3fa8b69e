"""Points in blocks of sixteen, for searches among so few that a tree would not be worth its upkeep.

Sixteen points lie side by side, coordinate by coordinate, so that a loop over them vectorises, and a block is given up
as soon as the coordinates added so far are too much for all of it. Squares are added in the order of the columns, and
what is left out would only have made the sums larger: all that is compared are the squared distances of
`shoal.kernels.sums.square_distance`, to the bit.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import inner, lent

BLOCK = 16


@inner
def new_blocks(m, d):  # type: ignore[no-untyped-def]
    """Room for m points, all of them infinitely far away: float64[b, d, BLOCK]."""
    return np.full(((m + BLOCK - 1) // BLOCK, d, BLOCK), np.inf)


@lent
def write(blocks, i, x):  # type: ignore[no-untyped-def]
    """Make x the point i of the blocks."""
    for j in range(x.shape[0]):
        blocks[i // BLOCK, j, i % BLOCK] = x[j]


@lent
def wipe(blocks, i):  # type: ignore[no-untyped-def]
    """Put the point i of the blocks infinitely far away: no search finds it."""
    for j in range(blocks.shape[1]):
        blocks[i // BLOCK, j, i % BLOCK] = np.inf


@lent
def measure(block, q, acc, limits):  # type: ignore[no-untyped-def]
    """Write the squared distances of the points of a block float64[d, BLOCK] from q to `acc`; return True.

    Given up, with values that are too low, once all of them are above `limits`: False is returned then.
    """
    d = q.shape[0]
    for p in range(BLOCK):
        acc[p] = 0.0
    j = 0
    while j < d:
        if j + 4 <= d:
            q0, q1, q2, q3 = q[j], q[j + 1], q[j + 2], q[j + 3]
            x0, x1, x2, x3 = block[j], block[j + 1], block[j + 2], block[j + 3]
            for p in range(BLOCK):
                a, b, c, e = x0[p] - q0, x1[p] - q1, x2[p] - q2, x3[p] - q3
                acc[p] = (((acc[p] + a * a) + b * b) + c * c) + e * e
            j += 4
        else:
            q0, x0 = q[j], block[j]
            for p in range(BLOCK):
                a = x0[p] - q0
                acc[p] += a * a
            j += 1
            if j < d:
                continue
        hits = 0
        for p in range(BLOCK):
            hits += acc[p] <= limits[p]
        if hits == 0:
            return False
    return True


@lent
def nearest_in(blocks, q, skip, acc, limits):  # type: ignore[no-untyped-def]
    """(squared distance, number) of the point nearest to q, the lowest on ties, `skip` left out.

    `acc` and `limits` float64[BLOCK] are for work.
    """
    least, best = np.inf, np.int64(-1)
    for b in range(blocks.shape[0]):
        for p in range(BLOCK):
            limits[p] = least
        if measure(blocks[b], q, acc, limits):
            for p in range(BLOCK):
                if acc[p] < least and b * BLOCK + p != skip:
                    least, best = acc[p], np.int64(b * BLOCK + p)
    return least, best
