"""Membership: does the release tell who is in it? Distances to the nearest group, of members and of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.partitioning import door
from shoal.risk.nearest import nearest_groups
from shoal.risk.pairs import Settings, groups_of
from shoal.risk.shares import CONFIDENCE, Interval, difference
from shoal.tables.embedding import stack
from shoal.tables.frames import names_of
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.inputs import chosen, columns, count_of
from shoal.tables.pairs import side_by_side

# The share of others that a careful intruder takes for members.
STRICT = 0.01


@dataclass(frozen=True, repr=False)
class Membership:
    """How well one attack tells members of a release from others.

    Attributes
    ----------
    advantage : float
        The share of members who are taken for such, less that of others who are, from 0 (a guess) to 1. The limit of
        the distance is set on half of the records and tried on the other half, and the other way round.
    interval : tuple of two floats
        The 95 % interval of `advantage`, of the attack with the limits that it found.
    area : float
        The chance that a member is nearer to a group than somebody else: the area below the curve, 0.5 for a guess.
    area_interval : tuple of two floats
        The 95 % interval of `area`.
    strict : float
        The share of members who are found if no more than one other in a hundred is taken for one.
    false_alarms, found : float64[c]
        The curve (ROC): the shares of others and of members within each distance, ascending.
    members, others : int
        The numbers of records.
    """

    advantage: float
    interval: Interval
    area: float
    area_interval: Interval
    strict: float
    false_alarms: Array
    found: Array
    members: int
    others: int

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"Membership({self.members} members, {self.others} others: advantage {self.advantage:.3g} ({low:.3g} to "
            f"{high:.3g}), area {self.area:.3g}; this is one attack)"
        )


def membership(
    members: Any,
    others: Any,
    release: Any,
    columns: Any = None,
    *,
    types: Mapping[str, str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    random_state: int = 0,
    n_jobs: int | None = -1,
) -> Membership:
    """Return how well an intruder tells who is in a release, by the distance to the nearest published row.

    This is one attack. A low advantage is no proof that nobody can tell: another attack may do better.

    `others` must be people like the members who were set aside *before* the release was made, drawn at random from the
    same table. If they are different people, or were in the table that was grouped, the figures mean nothing.
    Distances are those of :func:`linkage`, scaled by the spread of all three tables together.

    Yeom, S., Giacomelli, I., Fredrikson, M., Jha, S. (2018): Privacy risk in machine learning: analyzing the connection
    to overfitting. CSF. DeLong, E. R., DeLong, D. M., Clarke-Pearson, D. L. (1988): Comparing the areas under two or
    more correlated receiver operating characteristic curves. Biometrics 44.

    Parameters
    ----------
    members : data frame
        Original records of people who are in the release, in any order: all of them, or some drawn at random.
    others : data frame
        Original records of people who are not.
    release : data frame
    columns : names, optional
        What the intruder knows. By default all columns that the three tables have.
    types, hierarchies, n_jobs
        As in :func:`linkage`.
    random_state : int
        The seed of the two halves.

    Examples
    --------
    >>> import shoal, numpy as np, pandas as pd
    >>> table = pd.DataFrame(np.random.default_rng(0).normal(size=(400, 3)), columns=list("abc"))
    >>> found = shoal.risk.membership(table[:200], table[200:], table[:200])
    >>> found.advantage
    1.0
    """
    caller = "shoal.risk.membership"
    seed = count_of(random_state, "random_state", caller, least=0)
    threads = door.threads(n_jobs, caller)
    tables = _tables(members, others, release, columns, caller)
    made = side_by_side(tables, caller, Settings(None, types or {}, hierarchies or {}))
    points = stack([one.points for one in made])
    m, o, _ = (len(next(iter(table.values()))) for table in tables)
    groups = groups_of(np.ascontiguousarray(points[m + o :]))
    squares = nearest_groups(points[: m + o], groups.points, n_jobs=threads).squares
    # Distances that rounding alone tells apart are equal.
    distances = np.round(np.sqrt(squares), 9)
    return told(distances[:m], distances[m:], np.random.default_rng(seed))


def _tables(members: Any, others: Any, release: Any, wanted: Any, caller: str) -> tuple[dict[str, Any], ...]:
    """Return the columns of the three tables."""
    tables = ((members, "members"), (others, "others"), (release, "release"))
    if wanted is None:
        known = [names_of(table, f"{caller} ({word})") for table, word in tables]
        wanted = [name for name in known[0] if name in known[1] and name in known[2]]
        if not wanted:
            raise DataError(f"The tables of {caller} must have columns in common. Got none.")
    read = []
    for table, word in tables:
        names = chosen(table, wanted, "columns", f"{caller} ({word})")
        read.append(columns(table, names, f"{caller} ({word})"))
    m, o, _ = (len(next(iter(table.values()))) for table in read)
    if min(m, o) < 2:
        raise DataError(f"There must be at least 2 members and 2 others for {caller}. Got {m} and {o}.")
    return tuple(read)


def told(members: Array, others: Array, rng: np.random.Generator) -> Membership:
    """Return how well distances of members, float64[m], are told from those of others, float64[o]."""
    m, o = len(members), len(others)
    limits = np.unique(np.concatenate([members, others]))
    found, false = (np.searchsorted(np.sort(side), limits, "right") / len(side) for side in (members, others))
    # The chance of each member to be nearer than an other, and of each other to be farther than a member.
    won = 1.0 - _mid_shares(others, members)
    lost = _mid_shares(members, others)
    area = float(won.mean())
    half = CONFIDENCE * sqrt(float(won.var(ddof=1)) / m + float(lost.var(ddof=1)) / o)
    hits, alarms = _crossed(members, others, rng)
    few = found[false <= STRICT]
    return Membership(
        advantage=hits / m - alarms / o,
        interval=difference((hits, m), (alarms, o)),
        area=area,
        area_interval=(max(0.0, area - half), min(1.0, area + half)),
        strict=float(few[-1]) if len(few) else 0.0,
        false_alarms=false,
        found=found,
        members=m,
        others=o,
    )


def _mid_shares(among: Array, values: Array) -> Array:
    """Return the share of `among` below each value, with half of those at it."""
    ordered = np.sort(among)
    return np.asarray(
        (np.searchsorted(ordered, values) + np.searchsorted(ordered, values, "right")) / (2 * len(ordered))
    )


def _crossed(members: Array, others: Array, rng: np.random.Generator) -> tuple[int, int]:
    """Return how many members and others are within the limit that the other half of the records sets."""
    halves = [rng.permutation(len(side)) % 2 for side in (members, others)]
    hits = alarms = 0
    for half in (0, 1):
        limit = _limit(members[halves[0] != half], others[halves[1] != half])
        hits += int((members[halves[0] == half] <= limit).sum())
        alarms += int((others[halves[1] == half] <= limit).sum())
    return hits, alarms


def _limit(members: Array, others: Array) -> float:
    """Return the distance within which the most members and the fewest others are, by their shares."""
    limits = np.unique(np.concatenate([members, others]))
    shares = [np.searchsorted(np.sort(side), limits, "right") / len(side) for side in (members, others)]
    return float(limits[int(np.argmax(shares[0] - shares[1]))])
