"""Local search over partitions in which every group must satisfy demands on its sensitive values.

The moves are those of `shoal.kernels.moves`, with their exact costs: *shift* a record, *swap* two, *dissolve* a group
into those around it, *cut* one in two. The cost is looked at first, the demands only where a move pays. A group may
have any number of records from k on: what is demanded may need more than 2k - 1.

Groups are cut along a line, or *in pairs*: by sensitive value, of two records that follow each other one goes to either
side, so that both sides have much the same values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.guards import Desk, change_holds, members_hold, values_of
from shoal.kernels.jit import inner, kernel
from shoal.kernels.moves import MOST_TAKERS, enter, leave
from shoal.kernels.search_state import (
    CLOCK,
    DIRTY,
    EPSILON,
    FREE,
    NOW,
    dot,
    draw,
    keep,
    push_number,
    save,
    settle,
    square_apart,
    take_number,
    undo,
)

Array = np.ndarray[Any, Any]
# How many groups a record of a dissolved group is offered to, the cheapest first.
OFFERS = 4
# Ways to cut a group: along the line between its ends, around either, and in pairs.
WAYS, PAIRS = 4, 3


class Room(NamedTuple):
    """Room to work, for groups of less than w records.

    Attributes
    ----------
    u : float64[d], part : float64[1, d]
    ahead, behind, along : float64[w]
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
    """

    u: Array
    part: Array
    ahead: Array
    behind: Array
    along: Array
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


def room(guards: Any, desk: Desk, r: int, w: int, d: int) -> Room:
    """Return room for r groups of less than w records of d coordinates."""
    g = len(guards.rules)
    return Room(
        u=np.empty(d),
        part=np.empty((1, d)),
        ahead=np.empty(w),
        behind=np.empty(w),
        along=np.empty(w),
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
    )


@inner
def _may(s, guards, w, A, B, out, into):  # type: ignore[no-untyped-def]
    """Whether A and B hold after `out` went from A to B and `into` from B to A (-1: none)."""
    for side in range(2):
        g, gone, came = (A, out, into) if side == 0 else (B, into, out)
        if not change_holds(guards, w.values[side], w.sums[side], s.sizes[g], gone, came, w.trial, w.desk):
            return False
    return True


@inner
def _best_between(s, guards, A, B, k, w):  # type: ignore[no-untyped-def]
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
    swaps = np.sqrt(square) < widest
    give, take = a > k and b + 1 < w.along.shape[0], b > k and a + 1 < w.along.shape[0]
    if not (swaps or give or take):
        return out, into
    for j in range(d):
        u[j] = s.means[B, j] - s.means[A, j]
    shift = dot(s.means, A, u)
    low, high = np.inf, -np.inf
    for p in range(a):
        w.ahead[p] = dot(s.X, s.members[A, p], u) - shift
        high = max(high, w.ahead[p])
    for q in range(b):
        w.behind[q] = dot(s.X, s.members[B, q], u) - shift - square
        low = min(low, w.behind[q])
    base, slope = (2.0 - h) * square, 2.0 - 2.0 * h
    swaps = swaps and base + slope * (low - high) - h * widest * widest < least
    known = False
    # Place -1 is that of nobody: then it is a shift.
    for p in range(-1, a):
        i = np.int64(s.members[A, p] if p >= 0 else -1)
        some = p < 0 or base + slope * (low - w.ahead[p]) - h * (np.sqrt(s.squares[i]) + s.radii[B]) ** 2 < least
        for q in range(-1, b if p < 0 or (swaps and some) else 0):
            if (p < 0 and not take) or (q < 0 and not (p >= 0 and give)):
                continue
            back = np.int64(s.members[B, q] if q >= 0 else -1)
            if p < 0:
                change = (square + 2.0 * w.behind[q] + s.squares[back]) * a / (a + 1.0) - s.squares[back] * b / (
                    b - 1.0
                )
            elif q < 0:
                change = (square - 2.0 * w.ahead[p] + s.squares[i]) * b / (b + 1.0) - s.squares[i] * a / (a - 1.0)
            elif base + slope * (w.behind[q] - w.ahead[p]) - h * 2.0 * (s.squares[i] + s.squares[back]) >= least:
                continue
            else:
                change = 2.0 * (square + w.behind[q] - w.ahead[p]) - h * square_apart(s.X, i, s.X, back)
            if change < least:
                if not known:
                    values_of(guards, s.members[B], b, w.values[1], w.sums[1])
                    known = True
                if _may(s, guards, w, A, B, i, back):
                    least, out, into = change, i, back
    return out, into


@inner
def _apply(s, A, B, out, into):  # type: ignore[no-untyped-def]
    """Let `out` go from A to B and `into` from B to A (-1: none)."""
    save(s, A)
    save(s, B)
    if out >= 0:
        leave(s, A, out)
    if into >= 0:
        leave(s, B, into)
        enter(s, A, into)
    if out >= 0:
        enter(s, B, out)
    settle(s, B)
    settle(s, A)


@inner
def _around(s, A, found, reach):  # type: ignore[no-untyped-def]
    """List the groups of the neighbours of A's records."""
    s.counts[CLOCK] += 1
    now, count = s.counts[CLOCK], 0
    s.marks[A] = now
    for p in range(s.sizes[A]):
        for t in range(reach):
            j = s.near[s.members[A, p], t]
            if j < 0:
                break
            B = s.labels[j]
            if s.marks[B] != now:
                s.marks[B] = now
                found[count] = B
                count += 1
    return count


@inner
def _ruled(s, A, B):  # type: ignore[no-untyped-def]
    """A code of two groups as they are, whatever their order, and its place among those that were ruled out."""
    one, other = s.codes[A], s.codes[B]
    z = (one + other) * np.uint64(0xBF58476D1CE4E5B9) ^ (one ^ other)
    z = (z ^ (z >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    return z, np.int64(z & np.uint64(s.ruled.shape[0] - 1))


@inner
def _arrange(s, guards, g, one, other, way, w):  # type: ignore[no-untyped-def]
    """Put the members of a group into `order`, as a cut is to part them."""
    size, order, along = s.sizes[g], w.order, w.along
    for p in range(size):
        i = s.members[g, p]
        v = 0.0
        if way != 2:
            v += square_apart(s.X, i, s.X, one)
        if way != 1:
            v -= square_apart(s.X, i, s.X, other)
        # Insertion: groups are small.
        q = p
        code = guards.codes[0, i] if way == PAIRS else np.int64(0)
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


@inner
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
        square = square_apart(s.X, s.members[g, p], s.X, one)
        if square > furthest:
            other, furthest = np.int64(s.members[g, p]), square
    return one, other


@inner
def _cut(s, guards, g, k, w):  # type: ignore[no-untyped-def]
    """Cut a group in two at the cheapest position that leaves both sides as demanded; return whether one does."""
    size, d, part = s.sizes[g], s.X.shape[1], w.part
    one, other = _ends(s, g, w)
    if s.counts[FREE] == 0:
        return False
    most, left = -1.0, np.int64(0)
    for way in range(WAYS):
        _arrange(s, guards, g, one, other, way, w)
        for j in range(d):
            part[0, j] = 0.0
        for a in range(1, size - k + 1):
            for j in range(d):
                part[0, j] += s.X[w.order[a - 1], j] - s.means[g, j]
            if a < k or (way == PAIRS and a != size // 2):
                continue
            gain = dot(part, 0, part[0]) * size / (a * (size - a))
            good = gain > most
            for side in range(2):
                low, high = (0, a) if side == 0 else (a, size)
                good = good and members_hold(guards, w.order[low:high], high - low, w.trial, w.desk)
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


@inner
def _takers(s, guards, A, count, w):  # type: ignore[no-untyped-def]
    """Find who would take the records of A, one by one; return whether dissolving A pays and is allowed."""
    gain, found, most = s.costs[A], w.found, w.along.shape[0] - 1
    for p in range(s.sizes[A]):
        i, least = s.members[A, p], np.inf
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
        i = s.members[A, p]
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
            if _takes(s, guards, A, p, at, w):
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


@inner
def _takes(s, guards, A, p, at, w):  # type: ignore[no-untyped-def]
    """Whether a group around A holds with member p of A and those before it that it takes."""
    B, size = w.found[at], s.sizes[w.found[at]]
    for q in range(size):
        w.order[q] = s.members[B, q]
    for q in range(p + 1):
        if q == p or w.takers[q] == at:
            w.order[size] = s.members[A, q]
            size += 1
    return members_hold(guards, w.order, size, w.trial, w.desk)


@inner
def _climb(s, guards, k, w, reach, visits, step):  # type: ignore[no-untyped-def]
    """Look at groups on the stack, at most `visits`, and apply moves that gain; return how many visits are left.

    `step` says whether what was may be asked for again: else it is forgotten at once.
    """
    while s.counts[DIRTY] > 0 and visits > 0:
        visits -= 1
        s.counts[DIRTY] -= 1
        A = s.stack[s.counts[DIRTY]]
        s.dirty[A] = False
        if s.sizes[A] == 0:
            continue
        code, place = _ruled(s, A, A)
        if s.sizes[A] >= 2 * k and s.ruled[place] != code:
            made = w.ends[0] == A
            if _cut(s, guards, A, k, w):
                if not step:
                    keep(s)
                continue
            if made:
                return 0  # what the kick put together stays so: it is taken back
            s.ruled[place] = code
        count = _around(s, A, w.found, reach)
        moved, sorted_too = False, False
        for t in range(count):
            B = w.found[t]
            code, place = _ruled(s, A, B)
            if s.ruled[place] == code:
                continue
            if not sorted_too:
                values_of(guards, s.members[A], s.sizes[A], w.values[0], w.sums[0])
                sorted_too = True
            out, into = _best_between(s, guards, A, B, k, w)
            if out < 0 and into < 0:
                s.ruled[place] = code
                continue
            _apply(s, A, B, out, into)
            moved = True
            break
        if not moved and _takers(s, guards, A, min(count, MOST_TAKERS), w):
            size = s.sizes[A]
            save(s, A)
            for p in range(size):
                save(s, w.found[w.takers[p]])
                enter(s, w.found[w.takers[p]], s.members[A, p])
            push_number(s, A)
            for p in range(size):
                settle(s, w.found[w.takers[p]])
        if not step:
            keep(s)
    return visits


@inner
def _random_neighbour(s, A, reach):  # type: ignore[no-untyped-def]
    """A member of A, a record near it in another group, and whether there is one."""
    for _ in range(8):
        i = s.members[A, int(draw(s.random) * s.sizes[A])]
        j = s.near[i, int(draw(s.random) * reach)]
        if j >= 0 and s.labels[j] != A:
            return np.int64(i), np.int64(j), True
    return np.int64(0), np.int64(0), False


@inner
def _exchange(s, guards, A, w, reach):  # type: ignore[no-untyped-def]
    """Swap a few records of A for near ones of other groups, at any cost, as far as that is allowed."""
    done = False
    for _ in range(1 + int(draw(s.random) * 3)):
        i, j, there = _random_neighbour(s, A, reach)
        if there:
            B = s.labels[j]
            values_of(guards, s.members[A], s.sizes[A], w.values[0], w.sums[0])
            values_of(guards, s.members[B], s.sizes[B], w.values[1], w.sums[1])
            if _may(s, guards, w, A, B, i, j):
                _apply(s, A, B, i, j)
                done = True
    return done


@inner
def _remake(s, A, w, reach):  # type: ignore[no-untyped-def]
    """Put A and a group near it together; the climb is to cut them between two records drawn at random."""
    _, j, there = _random_neighbour(s, A, reach)
    B = s.labels[j]
    if not there or s.sizes[A] + s.sizes[B] >= w.along.shape[0]:
        return False
    save(s, A)
    save(s, B)
    for p in range(s.sizes[B]):
        enter(s, A, s.members[B, p])
    push_number(s, B)
    settle(s, A)
    w.ends[0] = A
    for end in range(1, 3):
        w.ends[end] = s.members[A, int(draw(s.random) * s.sizes[A])]
    # Whether it was tried before says nothing about these ends.
    s.ruled[_ruled(s, A, A)[1]] = 0
    return True


@kernel
def search(s, guards, k, w, reach, visits, steps):  # type: ignore[no-untyped-def]
    """Climb from the groups on the stack, then kick.

    Parameters
    ----------
    s : State
    guards : Guards
    k : int
    w : Room
    reach : int
        How many neighbours of a record are looked at.
    visits : int
        How many groups are looked at at most, at first and after each kick.
    steps : int
        Kicks, each followed by a climb and taken back if it does not gain. There are none as long as groups are left
        on the stack.

    Returns
    -------
    bool
        Whether groups are left.
    """
    n = s.X.shape[0]
    for step in range(steps + 1):
        before = s.totals[NOW]
        done = step == 0
        if step > 0:
            i, j = int(draw(s.random) * n), int(draw(s.random) * n)
            A = s.labels[i] if s.squares[i] >= s.squares[j] else s.labels[j]
            if draw(s.random) < 0.5:
                done = _exchange(s, guards, A, w, reach)
            else:
                done = _remake(s, A, w, reach)
        if done:
            _climb(s, guards, k, w, reach, visits, step > 0)
        if step == 0:
            keep(s)
            if s.counts[DIRTY] > 0:
                return True
        elif done and s.totals[NOW] <= before:
            keep(s)
        else:
            undo(s)
            s.totals[NOW], w.ends[0] = before, -1
    return False
