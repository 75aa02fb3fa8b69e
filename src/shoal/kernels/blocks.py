"""Points in blocks of 32, for searches among so few that a tree would not be worth its upkeep.

Its points lie side by side, coordinate by coordinate, so that a loop over them vectorises, and a block is given up
as soon as the coordinates added so far are too much for all of it. Squares are added in the order of the columns, and
what is left out would only have made the sums larger: all that is compared are the squared distances of
`shoal.kernels.sums.square_distance`, to the bit.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import inner, lent

BLOCK = 32


@inner
def new_blocks(m, d):  # type: ignore[no-untyped-def]
    """Room for m points, all of them infinitely far away: float64[b, d, BLOCK], d rounded up to a multiple of 4."""
    return np.full(((m + BLOCK - 1) // BLOCK, (d + 3) // 4 * 4, BLOCK), np.inf)


@lent
def write(blocks, i, x):  # type: ignore[no-untyped-def]
    """Make x the point i of the blocks."""
    for j in range(blocks.shape[1]):
        blocks[i // BLOCK, j, i % BLOCK] = x[j] if j < x.shape[0] else 0.0


@lent
def wipe(blocks, i):  # type: ignore[no-untyped-def]
    """Put the point i of the blocks infinitely far away: no search finds it."""
    for j in range(blocks.shape[1]):
        blocks[i // BLOCK, j, i % BLOCK] = np.inf


@lent
def measure(block, q, acc, limits):  # type: ignore[no-untyped-def]
    """Write the squared distances of the points of a block float64[d, BLOCK] from q to `acc`; return True.

    Given up, with values that are too low, once all of them are above `limits`: False is returned then. Where q has
    fewer coordinates than the block, the others are zero, and change no sum.
    """
    d = q.shape[0]
    for p in range(BLOCK):
        acc[p] = 0.0
    for j in range(0, block.shape[0], 4):
        # Unsigned numbers, which need not be checked for being negative.
        h, i, m, o = np.uint64(j), np.uint64(j + 1), np.uint64(j + 2), np.uint64(j + 3)
        x0, x1, x2, x3 = block[h], block[i], block[m], block[o]
        q0, q1 = q[h], q[i] if j + 1 < d else 0.0
        q2, q3 = q[m] if j + 2 < d else 0.0, q[o] if j + 3 < d else 0.0
        hits = 0
        for p in range(BLOCK):
            a, b, c, e = x0[p] - q0, x1[p] - q1, x2[p] - q2, x3[p] - q3
            total = (((acc[p] + a * a) + b * b) + c * c) + e * e
            hits += total <= limits[p]
            acc[p] = total
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
