"""What a private release consists of, before it is written as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.arrays import Array

if TYPE_CHECKING:
    from shoal.dp.domain import Domain

# The column of noisy counts of an aggregated release.
COUNT = "count"


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
