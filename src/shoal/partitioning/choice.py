"""What the method `auto` stands for."""

from __future__ import annotations

from typing import Any, NamedTuple

from shoal.partitioning.extent import Extent

# Seconds of one core on ordinary tables of n records, of which m are different, in d coordinates. For each m^1.25 times
# the width of the table (see `_size`): of MDAV+, and of a search for each of the neighbours of a record, tens of them.
# For each n^1.25 times the width: of the first round of ONA; the second takes RATIO of that. For each n^1.5 (d + 8): of
# MONA with rho = 0.5. For each k^1.6 (d / 4 + 16): of a step of the search. Many independent columns, where an index
# helps least, take several times as long.
MDAV_SECONDS = 1.4e-8
NEIGHBOUR_SECONDS = 2.2e-8
ROUND_SECONDS, RATIO = 2.6e-8, 0.7
MONA_SECONDS = 3e-9
STEP_SECONDS = 1.6e-7
# About how many seconds `auto` and `anytime` take if no limit is given.
DEFAULT_SECONDS = 60.0
# Steps of the search for each k records: what is enough if nobody asks for more, what must be possible for a search to
# pay, and what is hardly worth exceeding.
STEPS, FEWEST_STEPS, MOST_STEPS = 100, 1, 20_000
# Rounds of ONA that pay before a search; later ones gain little.
ROUNDS = 2
# Up to so many records a table is searched as a whole, and the search needs no help at its start.
WHOLE = 6000
# The highest rank of a neighbour that the search looks at. From so many records on, it looks at near ones alone.
FURTHEST, LARGE = 200, 50_000
# Up to so many records the optimum is found within so many seconds.
EXACT_RECORDS = 30
EXACT_SECONDS = 20.0


class Choice(NamedTuple):
    """What `auto` chose, and why.

    Attributes
    ----------
    method : str
    options : {name: value}
    reason : str
    seconds : float or None
        After which a search is ended even if it has not made all of its steps.
    """

    method: str
    options: dict[str, Any]
    reason: str
    seconds: float | None = None


def quick_start(n: int, d: int, seconds: float, extent: Extent | None = None) -> tuple[str, dict[str, Any]]:
    """Return the method, with its options, that makes the best start of a search within about `seconds`."""
    if d == 1:
        return "univariate", {}
    # Better starts are overtaken at once.
    if _sweep(*_size(n, d, extent)) <= seconds:
        return ("mdav" if n <= WHOLE else "mdav+"), {}
    return _cuts(n, d, 2 * seconds, extent)


def choose(
    n: int,
    d: int,
    k: int,
    seconds: float | None = None,
    patience: float = DEFAULT_SECONDS,
    extent: Extent | None = None,
) -> Choice:
    """Choose what has the least expected loss and ends within about `seconds` on one core.

    By estimates and not by the clock, so that the choice, and what it gives, does not depend on how busy a machine is.
    A table of at most WHOLE records is searched from a simple start. For a larger one, quick methods are tried, the
    best partition is improved by rounds of ONA, which also mend groups that lie scattered, and the time that is left
    goes to the search.

    Parameters
    ----------
    n, d, k : int
        Records, coordinates, least group size.
    seconds : float or None
        To be used as well as possible. None: what takes longer than `patience` is not chosen, but a search is not
        longer than it need be.
    patience : float
    extent : Extent or None
        None: all records are different, and all coordinates independent.
    """
    limit = patience if seconds is None else seconds
    if d == 1:
        return Choice("univariate", {}, "a single coordinate has an exact optimum")
    if n <= EXACT_RECORDS and limit >= EXACT_SECONDS:
        return Choice("exact", {}, f"{n} records are few enough to prove the optimum")
    m, width = _size(n, d, extent)
    left = limit - _sweep(m, width)
    if left < 0:
        name, options = _cuts(n, d, limit, extent)
        return Choice(name, options, f"{n:,} records are too many for anything but cuts")
    rounds = rounds_within(n, d, left, ROUNDS if n > WHOLE else 0, extent)
    left -= sum(_round(n, width, before) for before in range(rounds))
    steps = _steps(n, d, k, left - _neighbours(n, m, width, k), STEPS if seconds is None else MOST_STEPS)
    if n <= WHOLE:
        steps = max(steps, FEWEST_STEPS * (n // k))
        reason = f"{n:,} records allow a search of {steps:,} steps"
        return Choice("anytime", {"max_steps": steps}, reason, seconds)
    if rounds < ROUNDS:
        steps = 0
    start = "best" if 2 * m <= n else "mdav+"
    words = {0: "a quick method", 1: "a quick method and a round of exchanges"}.get(rounds, "rounds of exchanges")
    what = f"{words}, but no search" if steps == 0 else f"a search of {steps:,} steps"
    options = {"start": start, "rounds": rounds, "max_steps": steps}
    return Choice("anytime", options, f"{n:,} records allow {what}", seconds)


def far_ranks(n: int, k: int) -> list[int]:
    """Return the ranks of the neighbours that the search looks at: 0, .. 4, then ever further apart."""
    if n > LARGE:
        return list(range(near_ranks(k)))
    ranks, rank, most = list(range(5)), 5.0, min(6 * k + 20, FURTHEST)
    while (rank := 1.8 * rank) <= most:
        ranks.append(int(rank) - 1)
    return ranks


def near_ranks(k: int) -> int:
    """Return how many of its nearest neighbours the search looks at first."""
    return 6 + k // 3


def rounds_within(n: int, d: int, seconds: float, most: int, extent: Extent | None = None) -> int:
    """Return how many rounds of ONA fit into the time, at most `most`."""
    count, (_, width) = 0, _size(n, d, extent)
    while count < most and seconds >= _round(n, width, count):
        seconds -= _round(n, width, count)
        count += 1
    return count


def _size(n: int, d: int, extent: Extent | None) -> tuple[int, float]:
    """Return the different records, and the width of their table: the axes count most, and coordinates a little."""
    different, axes = (n, d) if extent is None else extent
    return different, axes + d / 8 + 8


def _sweep(m: int, width: float) -> float:
    """Return the seconds of MDAV+."""
    return float(MDAV_SECONDS * m**1.25 * width)


def _round(n: int, width: float, before: int) -> float:
    """Return the seconds of a round of ONA after others."""
    return float(ROUND_SECONDS * n**1.25 * width * RATIO**before)


def _neighbours(n: int, m: int, width: float, k: int) -> float:
    """Return the seconds in which the search finds the neighbours of all records."""
    return float(NEIGHBOUR_SECONDS * m**1.25 * width * (1 + far_ranks(n, k)[-1] / 20))


def _steps(n: int, d: int, k: int, seconds: float, most: int) -> int:
    """Return how many steps of the search fit into the time: at most `most` for every k records, 0 if too few."""
    groups = max(1, n // k)
    fitting = int(max(0.0, seconds) / (STEP_SECONDS * k**1.6 * (d / 4 + 16)))
    # Two digits: the number goes out with a release, and must not tell how many records are different.
    unit = 10 ** max(0, len(str(fitting)) - 2)
    return 0 if fitting < FEWEST_STEPS * groups else min(most * groups, fitting - fitting % unit)


def _cuts(n: int, d: int, seconds: float, extent: Extent | None) -> tuple[str, dict[str, Any]]:
    """Return the method for a table that is too large for all others."""
    # Median cuts separate equal records, and lose far more where there are many.
    if extent is not None and 2 * extent.different <= n:
        return "mondrian-strict", {}
    if MONA_SECONDS * n**1.5 * (d + 8) <= seconds:
        return "mona-2d", {}
    return "mondrian-v2d", {"whole": "2k-1"}
