"""What a private release consists of, before it is written as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import TooLargeError

if TYPE_CHECKING:
    from shoal.dp.domain import Domain

# The column of noisy counts of an aggregated release.
COUNT = "count"
# Noisy counts of a tiny epsilon may be anything: more values than these are not drawn.
MOST_VALUES = 100_000_000


@dataclass(frozen=True, eq=False)
class Released:
    """Rows made from noisy answers alone.

    Attributes
    ----------
    domain : Domain
    positions : float64[m, d]
        A place on the grid of each attribute; categories are whole.
    counts : int64[m] or None
        How many records each row stands for, as noisy as paid for. None: each row is a record.
    said : tuple of str
        Sentences for the report, which hold nothing that was not paid for.
    """

    domain: Domain
    positions: Array
    counts: Array | None = None
    said: tuple[str, ...] = ()

    def table(self) -> Any:
        """Return a pyarrow.Table: the declared columns, and `count` if rows stand for several records."""
        import pyarrow as pa

        columns = {
            name: one.decode(self.positions[:, at]) for at, (name, one) in enumerate(self.domain.columns.items())
        }
        if self.counts is not None:
            columns[COUNT] = pa.array(self.counts, pa.int64())
        return pa.table(columns)


def repeated(counts: Array, columns: int) -> Array:
    """Return int64[n]: the number of each row as often as it counts, for records that are drawn from noisy counts.

    Raises
    ------
    TooLargeError
        If the records would not fit into memory.
    """
    # As floating-point numbers, because the sum may be beyond all integers.
    values = columns * float(counts.sum(dtype=np.float64))
    if values > MOST_VALUES:
        raise TooLargeError(
            f"The records of a release must have at most {MOST_VALUES:,} values. Got {values:,.0f} by noisy counts.",
            hint='epsilon may be too small to count anything; form="aggregated" releases the counts.',
        )
    return np.repeat(np.arange(len(counts)), counts)
