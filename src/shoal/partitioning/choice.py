"""What the method `auto` stands for."""

from __future__ import annotations

from typing import Any, NamedTuple

# Seconds of one core on ordinary tables: for each n^1.5 d of one run of ONA* and of MDAV, each n^1.5 (d + 8) of MONA
# with rho = 0.5, and each k^1.6 (d + 8) of a kick of the search. Many independent columns, where an index helps least,
# take ONA* several times as long.
ONA_STAR_SECONDS = 4e-8
MDAV_SECONDS = 1.5e-8
MONA_SECONDS = 3e-9
KICK_SECONDS = 1.7e-7
# About how many seconds `auto` and `anytime` take if no limit is given.
DEFAULT_SECONDS = 60.0
# Kicks for each k records: what is enough if nobody asks for more, what must be possible for a search to pay, and
# what is hardly worth exceeding.
KICKS, FEWEST_KICKS, MOST_KICKS = 100, 20, 20_000
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


def quick_start(n: int, d: int, seconds: float) -> tuple[str, dict[str, Any]]:
    """Return the method, with its options, that makes the best start of a search within about `seconds`."""
    if d == 1:
        return "univariate", {}
    # Better starts are overtaken at once.
    if MDAV_SECONDS * n**1.5 * d <= seconds:
        return "mdav", {}
    if MONA_SECONDS * n**1.5 * (d + 8) <= 2 * seconds:
        return "mona-2d", {}
    return "mondrian-v2d", {"whole": "2k-1"}


def choose(n: int, d: int, k: int, seconds: float | None = None, patience: float = DEFAULT_SECONDS) -> Choice:
    """Choose the method of least expected loss that ends within about `seconds` on one core.

    By estimates and not by the clock, so that the choice, and what it gives, does not depend on how busy a machine is.

    Parameters
    ----------
    n, d, k : int
        Records, coordinates, least group size.
    seconds : float or None
        To be used as well as possible. None: what takes longer than `patience` is not chosen, but a search is not
        longer than it need be.
    patience : float
    """
    limit = patience if seconds is None else seconds
    if d == 1:
        return Choice("univariate", {}, "a single coordinate has an exact optimum")
    if n <= EXACT_RECORDS and limit >= EXACT_SECONDS:
        return Choice("exact", {}, f"{n} records are few enough to prove the optimum")
    once = ONA_STAR_SECONDS * n**1.5 * d
    kicks = _kicks_of_each(n, d, k, limit - once, KICKS if seconds is None else MOST_KICKS)
    if kicks >= FEWEST_KICKS:
        steps = n // k * kicks
        return Choice("anytime", {"max_steps": steps}, f"{n:,} records allow a search of {steps:,} steps", seconds)
    if once <= limit:
        return Choice("ona*", {}, f"{n:,} records allow one run over the whole table, but no longer search")
    if MONA_SECONDS * n**1.5 * (d + 8) <= limit:
        return Choice("mona-2d", {}, f"{n:,} records are too many for a run over the whole table")
    return Choice("mondrian-v2d", {"whole": "2k-1"}, f"{n:,} records allow median cuts only")


def _kicks_of_each(n: int, d: int, k: int, seconds: float, most: int) -> int:
    """Return how many kicks for every k records fit into the time, at most `most`."""
    each = KICK_SECONDS * k**1.6 * (d + 8) * max(1, n // k)
    return min(most, int(max(0.0, seconds) / each))
