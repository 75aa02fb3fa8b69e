"""Local search over partitions in which every group must satisfy demands on its sensitive values.

A climb applies moves that gain (`shoal.kernels.rule_moves`). A kick swaps a few records at any cost, or puts two
groups together and cuts them elsewhere; a climb follows, and the kick is taken back if the squared error has risen by
more than the temperature allows. A group may have any number of records from k on: what is demanded may need more than
2k - 1.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import inlined, kernel, lent
from shoal.kernels.moves import MOST_TAKERS, around, enter, exchange, ruled, share_out
from shoal.kernels.rule_moves import best_between, cut_in_two, may, takers
from shoal.kernels.rules import values_of
from shoal.kernels.search_state import DIRTY, NOW, draw, keep, push_number, save, settle, undo


@inlined
def _climb(s, rules, k, w, reach, visits, step):  # type: ignore[no-untyped-def]
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
        code, place = ruled(s, A, A)
        if s.sizes[A] >= 2 * k and s.ruled[place] != code:
            made = w.ends[0] == A
            if cut_in_two(s, rules, A, k, w):
                if not step:
                    keep(s)
                continue
            if made:
                return 0  # what the kick put together stays so: it is taken back
            s.ruled[place] = code
        count = around(s, A, w.found, reach)
        moved, sorted_too = False, False
        for t in range(count):
            B = w.found[t]
            code, place = ruled(s, A, B)
            if s.ruled[place] == code:
                continue
            if not sorted_too:
                values_of(rules, s.members[A], s.sizes[A], w.values[0], w.sums[0])
                sorted_too = True
            out, into = best_between(s, rules, A, B, k, w)
            if out < 0 and into < 0:
                s.ruled[place] = code
                continue
            exchange(s, A, B, out, into)
            moved = True
            break
        if not moved and takers(s, rules, A, min(count, MOST_TAKERS), w):
            share_out(s, A, w.found, w.takers)
        if not step:
            keep(s)
    return visits


@lent
def _random_neighbour(s, A, reach):  # type: ignore[no-untyped-def]
    """A member of A, a record near it in another group, and whether there is one."""
    for _ in range(8):
        i = s.members[A, int(draw(s.random) * s.sizes[A])]
        j = s.near[i, int(draw(s.random) * reach)]
        if j >= 0 and s.labels[j] != A:
            return np.int64(i), np.int64(j), True
    return np.int64(0), np.int64(0), False


@lent
def _exchange(s, rules, A, w, reach):  # type: ignore[no-untyped-def]
    """Swap a few records of A for near ones of other groups, at any cost, as far as that is allowed."""
    done = False
    for _ in range(1 + int(draw(s.random) * 3)):
        i, j, there = _random_neighbour(s, A, reach)
        if there:
            B = s.labels[j]
            values_of(rules, s.members[A], s.sizes[A], w.values[0], w.sums[0])
            values_of(rules, s.members[B], s.sizes[B], w.values[1], w.sums[1])
            if may(s, rules, w, A, B, i, j):
                exchange(s, A, B, i, j)
                done = True
    return done


@lent
def _remake(s, A, w, reach):  # type: ignore[no-untyped-def]
    """Put A and a group near it together; the climb is to cut them between two records drawn at random."""
    _, j, there = _random_neighbour(s, A, reach)
    B = s.labels[j]
    if not there or s.sizes[A] + s.sizes[B] >= w.along.shape[0]:
        return False
    save(s, A)
    save(s, B)
    for p in range(s.sizes[B]):
        enter(s, A, np.int64(s.members[B, p]))
    push_number(s, B)
    settle(s, A)
    w.ends[0] = A
    for end in range(1, 3):
        w.ends[end] = s.members[A, int(draw(s.random) * s.sizes[A])]
    # Whether it was tried before says nothing about these ends.
    s.ruled[ruled(s, A, A)[1]] = 0
    return True


@kernel
def search(s, rules, k, w, reach, visits, steps, temperature, cooling):  # type: ignore[no-untyped-def]
    """Climb from the groups on the stack, then kick.

    Parameters
    ----------
    s : State
    rules : Rules
    k : int
    w : Room
    reach : int
        How many neighbours of a record are looked at.
    visits : int
        How many groups are looked at at most, at first and after each kick.
    steps : int
        Kicks, each followed by a climb. There are none as long as groups are left on the stack.
    temperature, cooling : float
        By how much a kick may raise the squared error, on average; by how much less after each kick.

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
                done = _exchange(s, rules, A, w, reach)
            else:
                done = _remake(s, A, w, reach)
        if done:
            _climb(s, rules, k, w, reach, visits, step > 0)
        if step == 0:
            keep(s)
            if s.counts[DIRTY] > 0:
                return True
            continue
        allowed = before
        if temperature > 0.0:
            allowed -= temperature * np.log(1.0 - draw(s.random))
            temperature -= cooling
        if done and s.totals[NOW] <= allowed:
            keep(s)
        else:
            undo(s)
            s.totals[NOW], w.ends[0] = before, -1
    return False
