"""Prices of records from pairs: what each record pays at least for the pairs that it is in, whoever they are.

A group of s records has the squared error 1/s times the sum over its pairs of D_ij, their squared distance. A pair {i,
j} is divided between its two records: i pays c_ij and j pays c_ji, with c_ij + c_ji = D_ij. A record i in the group
pays the c_ij of s - 1 others, at least the s - 1 smallest of all, over s. So

    price(i) = least over s = k .. 2k - 1 of (c_ii + sum of the s - 1 smallest c_ij) / s

with c_ii = 0 is a price for which no group is cheaper than its records, however pairs are divided: halves give the
neighbour bound.

*Triangles.* If i is in a group with j, and with l, then j and l are in a group: [ij] + [il] <= [i] + [jl], with 1 for
what is in the group and 0 for the rest. A multiplier tau >= 0 adds tau to the pairs ij and il and takes it from jl and
from c_ii; no group becomes dearer by that.

*Others.* Pairs that are not in the list are divided so that i pays at least far_i, with far_i + far_j <= D_ij.

All this is in double precision; each c_ij is lowered by CAUTION times the numbers that it is made of, far more than
rounding can do.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import inner, kernel, lent

CAUTION = 1e-12
# How fast averages follow.
DRIFT = 0.03
# Steps without success before they become shorter.
PATIENCE = 80
# How far multipliers may go, relative to the ease of a pair.
FURTHEST = 1e3


@lent
def _load(triangles, tau, added, spread, own):  # type: ignore[no-untyped-def]
    """Add up what triangles add to pairs, and take from records; `spread` has the sum of the absolute values."""
    added[:] = 0.0
    spread[:] = 0.0
    own[:] = 0.0
    for t in range(triangles.shape[0]):
        x = tau[t]
        if x > 0:
            own[triangles[t, 0]] -= x * (1 + CAUTION)
            for u in range(1, 4):
                added[triangles[t, u]] += x if u < 3 else -x
                spread[triangles[t, u]] += x


@inner
def _pay(k, lists, squares, skew, far, added, spread, own, seen, prices, need):  # type: ignore[no-untyped-def]
    """Fill prices, what is the most that a record may pay for a pair, and `seen`; return the sum of prices.

    `seen` is how much of each pair its two records chose (float64[pairs]), the first less the second, and how much of
    itself each record chose.
    """
    starts, pairs, first = lists
    both, lean, self = seen
    n, most = starts.shape[0] - 1, 2 * k - 1
    least, who = np.empty(most - 1), np.empty(most - 1, np.int64)
    both[:] = 0.0
    lean[:] = 0.0
    total = 0.0
    for i in range(n):
        least[:] = far[i]
        who[:] = -1
        for p in range(starts[i], starts[i + 1]):
            e = pairs[p]
            c = 0.5 * (squares[e] + added[e])
            c += skew[e] if first[p] else -skew[e]
            c -= CAUTION * (squares[e] + abs(skew[e]) + spread[e])
            if c < least[most - 2]:
                q = most - 2
                while q > 0 and least[q - 1] > c:
                    least[q], who[q] = least[q - 1], who[q - 1]
                    q -= 1
                least[q], who[q] = c, p
        paid, prices[i], size = own[i], np.inf, k
        for s in range(2, most + 1):
            paid += least[s - 2]
            if s >= k and paid / s < prices[i]:
                prices[i], size = paid / s, s
        need[i] = least[size - 2]
        total += prices[i]
        self[i] = 1.0 / size
        for q in range(size - 1):
            if who[q] >= 0:
                e = pairs[who[q]]
                both[e] += self[i]
                lean[e] += self[i] if first[who[q]] else -self[i]
    return total


@kernel
def pay(k, lists, squares, skew, far, triangles, tau, prices, need):  # type: ignore[no-untyped-def]
    """Fill the price of each record, and the most that it pays for a pair, at one division of all pairs.

    Parameters
    ----------
    k : int
    lists : (int64[n + 1], int32[2m], bool[2m])
        The pairs of record i, from starts[i] to starts[i + 1], and whether it is their first record.
    squares, skew : float64[m]
        Squared distances of pairs, and by how much more than half the first record pays.
    far : float64[n]
    triangles : int32[t, 4], tau : float64[t]
        Record i and the pairs ij, il and jl; their multipliers.
    prices, need : float64[n]
    """
    n, m = lists[0].shape[0] - 1, squares.shape[0]
    added, spread, own = np.empty(m), np.empty(m), np.empty(n)
    _load(triangles, tau, added, spread, own)
    _pay(k, lists, squares, skew, far, added, spread, own, (np.empty(m), np.empty(m), np.empty(n)), prices, need)


@kernel
def ascend(k, lists, squares, ease, far, triangles, now, best, averages, control, steps):  # type: ignore[no-untyped-def]
    """Take some steps towards a higher sum of prices; in place.

    A step goes along the subgradient, as far as would raise the sum by `control[1]` above the best one if it were
    linear (Polyak). If that leads nowhere for a while, the rise is halved, and the way goes on from the best point.

    Parameters
    ----------
    k, lists, squares, far, triangles
        As for `pay`.
    ease : float64[m]
        How fast the division of each pair may change; 0: not at all.
    now, best : (float64[m], float64[t])
        The current and the best skew and tau.
    averages : (float64[m], float64[n])
        Of how much of each pair, and of itself, records chose.
    control : float64[4]
        The best sum, the rise to aim at, steps without success, and the sum that the next success must exceed.
    steps : int
    """
    skew, tau = now
    n, m, c = lists[0].shape[0] - 1, squares.shape[0], tau.shape[0]
    added, spread, own, prices, need = np.empty(m), np.empty(m), np.empty(n), np.empty(n), np.empty(n)
    both, lean, self, rise = np.empty(m), np.empty(m), np.empty(n), np.empty(c)
    for _ in range(steps):
        _load(triangles, tau, added, spread, own)
        total = _pay(k, lists, squares, skew, far, added, spread, own, (both, lean, self), prices, need)
        control[2] += 1
        if total > control[0]:
            control[0] = total
            best[0][:] = skew
            best[1][:] = tau
            if total > control[3]:
                control[2], control[3] = 0, total + 0.05 * control[1]
        if control[2] > PATIENCE:
            control[1], control[2] = control[1] / 2, 0
            control[3] = control[0] + 0.05 * control[1]
            skew[:] = best[0]
            tau[:] = best[1]
            continue
        norm = 0.0
        for i in range(n):
            averages[1][i] += DRIFT * (self[i] - averages[1][i])
        for e in range(m):
            averages[0][e] += DRIFT * (both[e] - averages[0][e])
            norm += ease[e] * lean[e] ** 2
        for t in range(c):
            i, a, b, e = triangles[t]
            rise[t] = 0.5 * (both[a] + both[b] - both[e]) - self[i]
            if tau[t] > 0 or rise[t] > 0:
                norm += ease[e] * rise[t] ** 2
        if norm <= 0:
            return
        length = (control[0] + control[1] - total) / norm
        for e in range(m):
            away = FURTHEST * ease[e]
            skew[e] = min(away, max(-away, skew[e] + length * ease[e] * lean[e]))
        for t in range(c):
            least = ease[triangles[t, 3]]
            tau[t] = min(FURTHEST * least, max(0.0, tau[t] + length * least * rise[t]))


@kernel
def violated(lists, others, ease, averages, least, most, triples, values):  # type: ignore[no-untyped-def]
    """List the triangles that averages violate, up to `most` for each record; return their number.

    Parameters
    ----------
    lists
        As for `pay`.
    others : int32[2m]
        The other record of each pair in the lists, ascending for each record.
    ease : float64[m]
    averages : (float64[m], float64[n])
    least : float
        The least violation.
    most : int
    triples : int32[c, 3], values : float64[c]
        Filled with records i, j, l, and by how much [ij] + [il] exceeds [i] + [jl].
    """
    starts, pairs, _ = lists
    both, self = averages
    count = 0
    for i in range(starts.shape[0] - 1):
        begun = count
        for p in range(starts[i], starts[i + 1]):
            x = both[pairs[p]]
            if x <= least or ease[pairs[p]] == 0:
                continue
            for q in range(p + 1, starts[i + 1]):
                v = 0.5 * (x + both[pairs[q]]) - self[i]
                if v <= least or ease[pairs[q]] == 0:
                    continue
                j, o = others[p], others[q]
                low, high = starts[j], starts[j + 1]
                while low < high:
                    middle = (low + high) // 2
                    if others[middle] < o:
                        low = middle + 1
                    else:
                        high = middle
                if low < starts[j + 1] and others[low] == o:
                    v -= 0.5 * both[pairs[low]]
                if v <= least:
                    continue
                place = count
                if count - begun == most:
                    place = begun + int(np.argmin(values[begun:count]))
                    if values[place] >= v:
                        continue
                elif count == values.shape[0]:
                    return count
                else:
                    count += 1
                triples[place, 0], triples[place, 1], triples[place, 2], values[place] = i, j, o, v
    return count


@kernel
def reach(columns, rows, radii, far):  # type: ignore[no-untyped-def]
    """Raise `far` of some records as far as all pairs allow that are in no list; in place, one after the other.

    Parameters
    ----------
    columns : float64[d, n]
        Coordinates of the records, transposed.
    rows : int64[r]
        Whose.
    radii : float64[n]
        Pairs with a smaller squared distance than that of either record are in the list.
    far : float64[n]
    """
    d, n = columns.shape
    squares = np.empty(n)
    for i in rows:
        squares[:] = 0.0
        for c in range(d):
            x, column = columns[c, i], columns[c]
            for j in range(n):
                step = column[j] - x
                squares[j] += step * step
        least = np.inf
        for j in range(n):
            if j != i and squares[j] >= radii[i] and squares[j] >= radii[j]:
                least = min(least, squares[j] * (1 - CAUTION) - far[j])
        if least < np.inf:
            far[i] = max(far[i], least)
