"""What the method `auto` stands for."""

from __future__ import annotations

from typing import Any, NamedTuple

# Seconds of one core on ordinary tables: for each n^1.5 d of one run of ONA*, each n^1.5 (d + 8) of MONA with rho =
# 0.5, and each n^2 (d + 8) / k of pcl. Many independent columns, where an index helps least, take ONA* several times as
# long.
# All 21 gain factors cost about 18 runs, as the starts are cheaper than the rounds.
ONA_STAR_SECONDS = 4e-8
MONA_SECONDS = 3e-9
PCL_SECONDS = 5e-8
RUNS_OF_BEST = 18
PATIENCE = 60.0
# Up to so many records the optimum is found within so many seconds.
EXACT_RECORDS = 30
EXACT_SECONDS = 20.0


class Choice(NamedTuple):
    """What `auto` chose, and why."""

    method: str
    options: dict[str, Any]
    reason: str


def choose(n: int, d: int, k: int, seconds: float = PATIENCE) -> Choice:
    """Choose the method of least expected loss that ends within about `seconds` on one core.

    Parameters
    ----------
    n, d, k : int
        Records, coordinates, least group size.
    seconds : float
    """
    if d == 1:
        return Choice("univariate", {}, "a single coordinate has an exact optimum")
    if n <= EXACT_RECORDS and seconds >= EXACT_SECONDS:
        return Choice("exact", {}, f"{n} records are few enough to prove the optimum")
    once = ONA_STAR_SECONDS * n**1.5 * d
    if PCL_SECONDS * n * n * (d + 8) / k <= seconds:
        return Choice("pcl", {}, f"{n} records are few enough for exact assignment rounds")
    if once * RUNS_OF_BEST <= seconds:
        return Choice("ona*-gamma", {"gamma": "best"}, f"{n} records are few enough to try all gain factors")
    if once <= seconds:
        return Choice("ona*", {}, f"{n} records leave time for one run of rounds over the whole table")
    if MONA_SECONDS * n**1.5 * (d + 8) <= seconds:
        return Choice("mona-2d", {}, f"{n} records are too many for rounds over the whole table")
    return Choice("mondrian-v2d", {"whole": "2k-1"}, f"{n} records leave time for median cuts only")
