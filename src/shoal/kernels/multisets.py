"""Multisets of records whose cuts a fractional solution violates; see :mod:`shoal.partitioning.cover_cuts`.

A multiset U has a divisor p. A group that meets U h times counts floor(h / p); all groups of a partition together count
at most floor(|U| / p). Multisets are grown at random around fractional groups, and then improved by exchanges.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.jit import inner, kernel
from shoal.kernels.search_state import draw

MOST_EXCHANGES = 30
# What a group counts that meets U, but does not yet count one more; and a record that is in U already.
PROMISE, AGAIN = 0.3, 0.6


class Meeting(NamedTuple):
    """Fractional groups, and how a multiset meets them.

    The groups of record i are ids[starts[i]:starts[i + 1]]; `groups` is padded with n; `held` is how often U meets
    each group, `times` how often it has each record. `reach` lists the records of groups that it meets, with their
    number in the last place, `listed` says which these are.
    """

    starts: Any
    ids: Any
    groups: Any
    fractions: Any
    held: Any
    times: Any
    reach: Any
    listed: Any


@inner
def _put(s, i):  # type: ignore[no-untyped-def]
    """Put record i into the multiset."""
    n = s.times.shape[0]
    s.times[i] += 1
    for t in range(s.starts[i], s.starts[i + 1]):
        g = s.ids[t]
        s.held[g] += 1
        if s.held[g] == 1:
            for j in s.groups[g]:
                if j < n and not s.listed[j]:
                    s.listed[j] = True
                    s.reach[s.reach[n]] = j
                    s.reach[n] += 1


@inner
def _take(s, i):  # type: ignore[no-untyped-def]
    """Take record i out of the multiset."""
    s.times[i] -= 1
    for t in range(s.starts[i], s.starts[i + 1]):
        s.held[s.ids[t]] -= 1


@inner
def _gain(s, divisor, i):  # type: ignore[no-untyped-def]
    """Return by how much the fractions count more with record i."""
    gain = 0.0
    for t in range(s.starts[i], s.starts[i + 1]):
        if (s.held[s.ids[t]] + 1) % divisor == 0:
            gain += s.fractions[s.ids[t]]
    return gain


@inner
def _next(s, divisor, random):  # type: ignore[no-untyped-def]
    """Return a record to put in, by what it adds now and promises to add, and by chance; -1: there is none."""
    n = s.times.shape[0]
    best, chosen = -1.0, -1
    for q in range(s.reach[n]):
        i = s.reach[q]
        if s.times[i] >= divisor - 1:
            continue
        promise = 0.0
        for t in range(s.starts[i], s.starts[i + 1]):
            g = s.ids[t]
            if s.held[g] > 0:
                promise += s.fractions[g] * (s.held[g] % divisor + 1)
        score = (_gain(s, divisor, i) + PROMISE * promise / divisor) * (0.6 + 0.4 * draw(random))
        if s.times[i] > 0:
            score *= AGAIN
        if score > best:
            best, chosen = score, i
    return chosen


@inner
def _exchange(s, divisor, rows):  # type: ignore[no-untyped-def]
    """Exchange a record of the multiset for another while the fractions count more; return how much more."""
    n, more = s.times.shape[0], 0.0
    for _ in range(MOST_EXCHANGES):
        best, place, joining = 1e-9, -1, -1
        for p in range(rows.shape[0]):
            i = rows[p]
            _take(s, i)
            lost = _gain(s, divisor, i)
            for q in range(s.reach[n]):
                j = s.reach[q]
                if j != i and s.times[j] < divisor - 1:
                    gain = _gain(s, divisor, j) - lost
                    if gain > best:
                        best, place, joining = gain, p, j
            _put(s, i)
        if place < 0:
            break
        _take(s, rows[place])
        _put(s, joining)
        rows[place] = joining
        more += best
    return more


@kernel
def violated_multisets(s, divisor, tries, least, random, rows, values):  # type: ignore[no-untyped-def]
    """List multisets whose cuts are violated; return their number.

    Parameters
    ----------
    s : Meeting
        With `held`, `times` and `reach` all 0.
    divisor : int
        At least 2. A record is in a multiset less often.
    tries : int
        Multisets grown around each group.
    least : float
        The least violation.
    random : uint64[1]
        The state of the generator.
    rows : int32[c, m]
        Filled with multisets of m records, ascending.
    values : float64[c]
        Filled with by how much each is violated.
    """
    n, total = s.times.shape[0], rows.shape[1]
    count, chosen = 0, np.empty(total, np.int64)
    for root in range(s.groups.shape[0]):
        for _ in range(tries):
            value, m = -float(total // divisor), 0
            i = s.groups[root, int(draw(random) * s.groups.shape[1])]
            while i == n:
                i = s.groups[root, int(draw(random) * s.groups.shape[1])]
            while i >= 0 and m < total:
                value += _gain(s, divisor, i)
                _put(s, i)
                chosen[m] = i
                m += 1
                i = _next(s, divisor, random)
            if m == total:
                value += _exchange(s, divisor, chosen)
                if value >= least and count < values.shape[0]:
                    rows[count] = np.sort(chosen)
                    values[count] = value
                    count += 1
            for p in range(m):
                _take(s, chosen[p])
            for q in range(s.reach[n]):
                s.listed[s.reach[q]] = False
            s.reach[n] = 0
    return count
