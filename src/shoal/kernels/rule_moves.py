"""Moves between groups that must satisfy demands on their sensitive values, with exact costs.

The moves are those of `shoal.kernels.moves`: *shift* a record, *swap* two, *dissolve* a group into those around it,
*cut* one in two. The cost is looked at first, the demands only where a move pays.

Groups are cut along a line, or *in pairs*: by sensitive value, of two records that follow each other one goes to either
side, so that both sides have much the same values.

Coordinates of categories and hierarchies are nearly all at their usual value. Where the records have them in a *thin*
form as well, by what is unusual, inner products and distances are computed from that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.kernels.jit import inlined, lent
from shoal.kernels.moves import MOST_TAKERS, may_shift
from shoal.kernels.rules import LINE, SLACK, Desk, change_holds, members_hold, values_of
from shoal.kernels.search_state import EPSILON, FREE, ZERO, dot, save, settle, square_apart, take_number

# How many groups a record of a dissolved group is offered to, the cheapest first.
OFFERS = 4
# Ways to cut a group: along the line between its ends, around either, and in pairs.
WAYS, PAIRS = 4, 3
# Swaps between two groups are looked at if they are no more than this; shifts always are.
MOST_SWAPS = 1 << 14


class Thin(NamedTuple):
    """Records by their differences from a usual one; of no width (z = 0) if these are too many.

    Attributes
    ----------
    usual : float64[1, d]
    at : uint16[n, z], apart : float64[n, z]
        In which coordinates each record differs, and by how much; 0 in places that are left over.
    norms : float64[n]
        Squared distances from the usual record.
    """

    usual: Array
    at: Array
    apart: Array
    norms: Array


class Room(NamedTuple):
    """Room to work, for groups of less than w records.

    Attributes
    ----------
    u : float64[d], part : float64[1, d]
    ahead, behind, keys, along : float64[w], places : float64[2, w]
    values : int64[2, g, w], sums : float64[2, g, 2]
        Of two groups, as `values_of` gives them.
    trial, order, best : int64[w + 1]
    found : int64[r]
        Groups around one.
    ends : int64[3]
        A group that was put together to be cut (-1: none), and between which records.
    takers, sizes : int64[w], int64[MOST_TAKERS]
    means : float64[MOST_TAKERS, d]
    desk : Desk
    thin : Thin
    """

    u: Array
    part: Array
    ahead: Array
    behind: Array
    keys: Array
    along: Array
    places: Array
    values: Array
    sums: Array
    trial: Array
    order: Array
    best: Array
    found: Array
    ends: Array
    takers: Array
    sizes: Array
    means: Array
    desk: Desk
    thin: Thin


def room(rules: Any, desk: Desk, thin: Thin, r: int, w: int) -> Room:
    """Return room for r groups of less than w records."""
    g, d = len(rules.kinds), thin.usual.shape[1]
    return Room(
        u=np.empty(d),
        part=np.empty((1, d)),
        ahead=np.empty(w),
        behind=np.empty(w),
        keys=np.empty(w),
        along=np.empty(w),
        places=np.empty((2, w)),
        values=np.empty((2, g, w), np.int64),
        sums=np.empty((2, g, 2)),
        trial=np.empty(w + 1, np.int64),
        order=np.empty(w + 1, np.int64),
        best=np.empty(w + 1, np.int64),
        found=np.empty(r, np.int64),
        ends=np.full(3, -1),
        takers=np.empty(w, np.int64),
        sizes=np.empty(MOST_TAKERS, np.int64),
        means=np.empty((MOST_TAKERS, d)),
        desk=desk,
        thin=thin,
    )


@lent
def _project(s, thin, g, u, along):  # type: ignore[no-untyped-def]
    """Fill `along` with the inner products of u and the members of a group, less that of u and the usual record."""
    z = thin.at.shape[1]
    for p in range(s.sizes[g]):
        i = np.int64(s.members[g, p])
        s0, s1 = 0.0, 0.0
        for t in range(0, z, 2):
            s0 += thin.apart[i, t] * u[thin.at[i, t]]
            s1 += thin.apart[i, t + 1] * u[thin.at[i, t + 1]]
        along[p] = s0 + s1 if z > 0 else dot(s.X, i, u)


@lent
def _between(s, thin, i, j):  # type: ignore[no-untyped-def]
    """Squared distance of two records: v.v + w.w - 2 v.w, where v and w are how they differ from the usual one."""
    z = thin.at.shape[1]
    if z == 0:
        return square_apart(s.X, i, s.X, j)
    s0, s1 = 0.0, 0.0
    for t in range(0, z, 2):
        one, other = thin.at[j, t], thin.at[j, t + 1]
        s0 += thin.apart[j, t] * (s.X[i, one] - thin.usual[0, one])
        s1 += thin.apart[j, t + 1] * (s.X[i, other] - thin.usual[0, other])
    return max(0.0, thin.norms[i] + thin.norms[j] - 2.0 * (s0 + s1))


@lent
def may(s, rules, w, A, B, out, into):  # type: ignore[no-untyped-def]
    """Whether A and B hold after `out` went from A to B and `into` from B to A (-1: none)."""
    for side in range(2):
        g, gone, came = (A, out, into) if side == 0 else (B, into, out)
        if not change_holds(rules, w.values[side], w.sums[side], s.sizes[g], gone, came, w.trial, w.desk):
            return False
    return True


@inlined
def _window(s, rules, A, B, w):  # type: ignore[no-untyped-def]
    """By how much the place of a record that comes to A may exceed that of the one it is swapped for: least and most.

    So far the mean place in both groups stays near that of the table, for the first demand along a line: a test
    of two numbers that refuses nearly all swaps which the demand refuses. `places` of both groups are filled.
    """
    lane = -1
    for g in range(rules.kinds.shape[0]):
        whole = rules.kinds[g] == LINE and rules.shifts[g] == 0
        if lane < 0 and whole and rules.table[rules.starts[g] + 4 * rules.values[g]] == 0:
            lane = g
    low, high = -np.inf, np.inf
    for side in range(2):
        G, total = A if side == 0 else B, 0.0
        size = s.sizes[G]
        for p in range(size):
            v = rules.table[rules.starts[lane] + rules.codes[lane, s.members[G, p]]] if lane >= 0 else 0.0
            w.places[side, p] = v
            total += v
        if lane >= 0:
            mean = rules.table[rules.starts[lane] + 4 * rules.values[lane] + 1]
            least = size * (mean - rules.limits[lane] - SLACK) - total
            most = size * (mean + rules.limits[lane] + SLACK) - total
            low, high = (least, most) if side == 0 else (max(low, -most), min(high, -least))
    return low, high


@lent
def best_between(s, rules, A, B, k, w):  # type: ignore[no-untyped-def]
    """Find the best shift or swap between two groups that leaves both as demanded; the values of A are known.

    Returns
    -------
    int, int
        The record that goes from A to B and the one that goes from B to A (-1: none).
    """
    a, b, d, u = s.sizes[A], s.sizes[B], s.X.shape[1], w.u
    square = square_apart(s.means, A, s.means, B)
    least, out, into = -s.totals[EPSILON], np.int64(-1), np.int64(-1)
    h, widest = 1.0 / a + 1.0 / b, s.radii[A] + s.radii[B]
    far = np.sqrt(square)
    swaps = far < widest and a * b <= MOST_SWAPS
    give = a > k and b + 1 < w.along.shape[0] and may_shift(far, s.radii[A], a, b)
    take = b > k and a + 1 < w.along.shape[0] and may_shift(far, s.radii[B], b, a)
    if not (swaps or give or take):
        return out, into
    for j in range(d):
        u[j] = s.means[B, j] - s.means[A, j]
    shift = dot(s.means, A, u)
    if w.thin.at.shape[1] > 0:
        shift -= dot(w.thin.usual, ZERO, u)
    low, high = np.inf, -np.inf
    _project(s, w.thin, A, u, w.ahead)
    for p in range(a):
        w.ahead[p] -= shift
        high = max(high, w.ahead[p])
    _project(s, w.thin, B, u, w.behind)
    for q in range(b):
        w.behind[q] -= shift + square
        low = min(low, w.behind[q])
    base, slope = (2.0 - h) * square, 2.0 - 2.0 * h
    swaps = swaps and base + slope * (low - high) - h * widest * widest < least
    # What a swap can change by at least is a number of the one record and a number of the other, as |w|^2 is at most
    # 2 (|e|^2 + |f|^2), in the notation of `shoal.kernels.moves`.
    lowest_key = np.inf
    for q in range(b if swaps else 0):
        w.keys[q] = slope * w.behind[q] - 2.0 * h * s.squares[s.members[B, q]]
        lowest_key = min(lowest_key, w.keys[q])
    known = False
    lowest, highest = _window(s, rules, A, B, w)
    # Place -1 is that of nobody: then it is a shift.
    for p in range(-1, a):
        i = np.int64(s.members[A, p] if p >= 0 else -1)
        key = base - slope * w.ahead[p] - 2.0 * h * s.squares[i] if p >= 0 and swaps else 0.0
        some = p < 0 or (
            swaps
            and key + lowest_key < least
            and base + slope * (low - w.ahead[p]) - h * (np.sqrt(s.squares[i]) + s.radii[B]) ** 2 < least
        )
        for q in range(-1, b if some else 0):
            if p >= 0 and q >= 0 and key + w.keys[q] >= least:
                continue
            if (p < 0 and not take) or (q < 0 and not (p >= 0 and give)):
                continue
            back = np.int64(s.members[B, q] if q >= 0 else -1)
            if p < 0:
                change = (square + 2.0 * w.behind[q] + s.squares[back]) * a / (a + 1.0) - s.squares[back] * b / (
                    b - 1.0
                )
            elif q < 0:
                change = (square - 2.0 * w.ahead[p] + s.squares[i]) * b / (b + 1.0) - s.squares[i] * a / (a - 1.0)
            elif not lowest <= w.places[1, q] - w.places[0, p] <= highest:
                continue
            else:
                change = 2.0 * (square + w.behind[q] - w.ahead[p]) - h * _between(s, w.thin, i, back)
            if change < least:
                if not known:
                    values_of(rules, s.members[B], b, w.values[1], w.sums[1])
                    known = True
                if may(s, rules, w, A, B, i, back):
                    least, out, into = change, i, back
    return out, into


@inlined
def _arrange(s, rules, g, one, other, way, w):  # type: ignore[no-untyped-def]
    """Put the members of a group into `order`, as a cut is to part them."""
    size, order, along = s.sizes[g], w.order, w.along
    for p in range(size):
        i = np.int64(s.members[g, p])
        v = 0.0
        if way != 2:
            v += _between(s, w.thin, one, i)
        if way != 1:
            v -= _between(s, w.thin, other, i)
        # Insertion: groups are small.
        q = p
        code = rules.codes[0, i] if way == PAIRS else np.int64(0)
        while q > 0 and (w.trial[q - 1] > code or (w.trial[q - 1] == code and along[q - 1] > v)):
            order[q], along[q], w.trial[q] = order[q - 1], along[q - 1], w.trial[q - 1]
            q -= 1
        order[q], along[q], w.trial[q] = i, v, code
    if way == PAIRS:
        half = size // 2
        for p in range(half):
            first = along[2 * p] <= along[2 * p + 1]
            w.trial[p] = order[2 * p if first else 2 * p + 1]
            w.trial[half + p] = order[2 * p + 1 if first else 2 * p]
        if size % 2 == 1:
            w.trial[size - 1] = order[size - 1]
        for p in range(size):
            order[p] = w.trial[p]


@inlined
def _ends(s, g, w):  # type: ignore[no-untyped-def]
    """The record furthest from the mean of a group and the one furthest from that, unless a kick has chosen two."""
    if w.ends[0] == g:
        w.ends[0] = -1
        return w.ends[1], w.ends[2]
    one = np.int64(s.members[g, 0])
    for p in range(s.sizes[g]):
        if s.squares[s.members[g, p]] > s.squares[one]:
            one = np.int64(s.members[g, p])
    other, furthest = one, -1.0
    for p in range(s.sizes[g]):
        square = _between(s, w.thin, one, np.int64(s.members[g, p]))
        if square > furthest:
            other, furthest = np.int64(s.members[g, p]), square
    return one, other


@lent
def cut_in_two(s, rules, g, k, w):  # type: ignore[no-untyped-def]
    """Cut a group in two at the cheapest position that leaves both sides as demanded; return whether one does."""
    size, d, part = s.sizes[g], s.X.shape[1], w.part
    one, other = _ends(s, g, w)
    if s.counts[FREE] == 0:
        return False
    most, left = -1.0, np.int64(0)
    for way in range(WAYS):
        _arrange(s, rules, g, one, other, way, w)
        for j in range(d):
            part[0, j] = 0.0
        for a in range(1, size - k + 1):
            for j in range(d):
                part[0, j] += s.X[w.order[a - 1], j] - s.means[g, j]
            if a < k or (way == PAIRS and a != size // 2):
                continue
            gain = dot(part, ZERO, part[0]) * size / (a * (size - a))
            good = gain > most
            for side in range(2):
                low, high = (0, a) if side == 0 else (a, size)
                good = good and members_hold(rules, w.order[low:high], high - low, w.trial, w.desk)
            if good:
                most, left = gain, np.int64(a)
                for p in range(size):
                    w.best[p] = w.order[p]
    if left == 0:
        return False
    save(s, g)
    new = take_number(s)
    for p in range(size):
        if p < left:
            s.members[g, p] = w.best[p]
        else:
            s.members[new, p - left] = w.best[p]
    s.sizes[g], s.sizes[new] = left, size - left
    settle(s, g)
    settle(s, new)
    return True


@lent
def takers(s, rules, A, count, w):  # type: ignore[no-untyped-def]
    """Find who would take the records of A, one by one; return whether dissolving A pays and is allowed."""
    gain, found, most = s.costs[A], w.found, w.along.shape[0] - 1
    for p in range(s.sizes[A]):
        i, least = np.int64(s.members[A, p]), np.inf
        for t in range(count):
            B = found[t]
            if s.sizes[B] < most:
                least = min(least, square_apart(s.X, i, s.means, B) * s.sizes[B] / (s.sizes[B] + 1.0))
        gain -= least
        if gain <= s.totals[EPSILON]:
            return False
    # That was with each taker as it is now, and would be the change if no two records went to the same group.
    gain = s.costs[A]
    for t in range(count):
        w.sizes[t] = s.sizes[found[t]]
        for j in range(w.means.shape[1]):
            w.means[t, j] = s.means[found[t], j]
    for p in range(s.sizes[A]):
        i = np.int64(s.members[A, p])
        before, taker = -1.0, -1
        for _ in range(OFFERS):
            least, at = np.inf, -1
            for t in range(count):
                if w.sizes[t] < most:
                    change = square_apart(s.X, i, w.means, t) * w.sizes[t] / (w.sizes[t] + 1.0)
                    if before < change < least:
                        least, at = change, t
            if at < 0 or gain - least <= s.totals[EPSILON]:
                return False
            if _takes(s, rules, A, p, at, w):
                taker = at
                break
            before = least
        if taker < 0:
            return False
        gain -= least
        w.takers[p] = taker
        w.sizes[taker] += 1
        for j in range(w.means.shape[1]):
            w.means[taker, j] += (s.X[i, j] - w.means[taker, j]) / w.sizes[taker]
    return True


@inlined
def _takes(s, rules, A, p, at, w):  # type: ignore[no-untyped-def]
    """Whether a group around A holds with member p of A and those before it that it takes."""
    B, size = w.found[at], s.sizes[w.found[at]]
    for q in range(size):
        w.order[q] = s.members[B, q]
    for q in range(p + 1):
        if q == p or w.takers[q] == at:
            w.order[size] = s.members[A, q]
            size += 1
    return members_hold(rules, w.order, size, w.trial, w.desk)
