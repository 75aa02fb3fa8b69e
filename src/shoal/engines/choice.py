"""Which engine a file needs, and which method its blocks are grouped by.

The method depends on the plan and on the number of rows alone, never on the machine: an engine gives the same groups
whatever the memory or the number of threads. Which engine is chosen, if the plan names none, also depends on the memory
that is free.
"""

from __future__ import annotations

from typing import NamedTuple

from shoal.errors import OptionError
from shoal.partitioning.memory import available
from shoal.plan import Plan
from shoal.plan_checks import bytes_of

# Records of a block, whatever the memory.
BLOCK_RECORDS = 50_000
# Shifted rounds in which groups are searched, and those in which they are formed anew, with demands or units.
ROUNDS, ANEW = 1, 3
# Kicks for each k^2 records in a round, and in the search that follows the first grouping. More of them gain little for
# the time they take: a table that is cut into many blocks then loses about as much as by ONA* in memory.
KICKS = 1.0
# Rows up to which blocks are grouped by a method that takes long, with demands or units and otherwise. On two cores,
# either takes about an hour at most for tables of ten attributes.
MOST_ANEW, MOST_GOOD = 20_000_000, 60_000_000
# A file of fewer bytes is read into memory; in memory, a table of CSV takes about this many times its file.
LARGE = 1 << 30
IN_MEMORY = {"parquet": 6.0}
OTHERWISE = 4.0
# The least memory that a stream can work in, and what it takes before any row is read.
LEAST, BASE = 700 * 10**6, 450 * 10**6


class Way(NamedTuple):
    """How the blocks of a table are grouped.

    Attributes
    ----------
    plan : Plan
        With a method that is not "auto".
    rounds : int
        Shifted rounds after the first groups.
    why : str
    kicks : float
        For each k^2 records, of the short search that follows the first grouping; 0: there is none.
    """

    plan: Plan
    rounds: int
    why: str
    kicks: float = 0.0

    def in_words(self, rounds: int) -> str:
        """Return the method for certificate and report; how many blocks there are depends on the originals."""
        from shoal.release.groups.grouping import method_in_words

        method = method_in_words(self.plan) + (" and a short search" if self.kicks else "")
        return f"{method} in blocks, then {rounds} round{'s' * (rounds > 1)}" if rounds else method


def way_of(plan: Plan, rows: int) -> Way:
    """Return how the blocks of a table are grouped: as the plan says, else the best that fits the time."""
    seed = 0 if plan.random_state is None else plan.random_state
    update: dict[str, object] = {"random_state": seed, "n_jobs": 1, "engine": None, "bound": "none"}
    formed_anew = plan.has_demands or plan.unit is not None
    if plan.method != "auto":
        return Way(plan.model_copy(update=update), ANEW if formed_anew else ROUNDS, "the plan asks for it")
    update["enforcement"] = plan.enforcement or ("repair" if plan.has_demands else None)
    why = "it loses least of those that are quick enough for so many records"
    if rows > MOST_GOOD:
        return Way(plan.model_copy(update={**update, "method": "cbfs"}), 0, why)
    if not formed_anew:
        return Way(plan.model_copy(update={**update, "method": "mdav*"}), ROUNDS, why, KICKS)
    if rows > MOST_ANEW:
        return Way(plan.model_copy(update={**update, "method": "cbfs"}), 1, why)
    return Way(plan.model_copy(update={**update, "method": "ona*"}), ANEW, why)


def engine_of(plan: Plan, size: int | None, format: str) -> tuple[str, str]:
    """Return the engine for a file, and a line that says so if the size decided; otherwise an empty one.

    Parameters
    ----------
    plan : Plan
    size : int or None
        Bytes of the file; None if it is none.
    format : str
    """
    if plan.engine is not None:
        return plan.engine, ""
    if plan.memory is not None:
        return "stream", ""
    free = available()
    if size is None or size < LARGE or free is None or plan.dp is not None:
        return "memory", ""
    needed = size * IN_MEMORY.get(format, OTHERWISE)
    if needed <= 0.8 * free:
        return "memory", ""
    return "stream", (
        f"The file has {size / 1e9:.1f} GB and would take about {needed / 1e9:.0f} GB of memory, of which "
        f"{free / 1e9:.0f} GB are free: it is read in pieces (--engine stream). --engine memory reads it whole."
    )


def memory_of(plan: Plan) -> int:
    """Return the bytes that a stream may take, or refuse too few."""
    given = bytes_of(plan.memory) if plan.memory is not None else None
    if given is None:
        free = available()
        return max(LEAST, 4 * 10**9 if free is None else free // 2)
    if given < LEAST:
        raise OptionError(
            f"The 'memory' of a plan must be at least {LEAST // 10**6} MB, of which a part is the program itself. "
            f"Got {plan.memory!r}.",
            hint="give more (--memory 2GB).",
        )
    return given
