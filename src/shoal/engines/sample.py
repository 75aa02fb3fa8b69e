"""A sample of a table: the different rows whose hashes are smallest, with the number of times each occurs.

It depends on the rows alone, not on their order or on how they were cut into pieces: samples of parts are merged in any
order. A row that occurs a million times takes as much room as one that occurs once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.engines.hashing import mixed, row_hashes
from shoal.engines.layout import STRATUM

# Rows that are kept by default.
MOST = 400_000
# Rows that may wait to be sorted.
WAITING = 1_600_000
_SALT = np.uint64(0x5851F42D4C957F2D)


@dataclass
class Sample:
    """A sample of values tables.

    Attributes
    ----------
    most : int
        Different rows that are kept.
    rows : pyarrow.Table or None
        Quasi-identifiers and stratum, with ``__hash`` (ascending) and ``__count``.
    """

    most: int = MOST
    rows: Any = None
    limit: int = 2**64 - 1  # hashes above it are not among the smallest

    def add(self, values: Any) -> None:
        """Add the rows of a values table."""
        import pyarrow as pa

        if values.num_rows == 0:
            return  # all rows of a piece may have been dropped
        names = [name for name in values.column_names if name.startswith("q") or name == STRATUM]
        own = values.select(names)
        # Mixed once more: rows are spread over buckets by the plain hash, and the sample must not be one bucket.
        hashes = mixed(row_hashes(own, names) + _SALT)
        below = np.flatnonzero(hashes <= np.uint64(self.limit))
        own = own.take(pa.array(below))
        own = own.append_column("__hash", pa.array(hashes[below]))
        self._put(own.append_column("__count", pa.array(np.ones(len(below), np.int64))))

    def merge(self, other: Sample) -> None:
        """Add the sample of other rows."""
        if other.rows is not None and other.rows.num_rows:
            self._put(other.finished())

    def __getstate__(self) -> dict[str, Any]:
        """Rows that wait to be sorted do not travel: most of them would be left out."""
        if self.rows is not None:
            self.finished()
        return self.__dict__

    def _put(self, rows: Any) -> None:
        import pyarrow as pa

        self.rows = rows if self.rows is None else pa.concat_tables([self.rows, rows])
        if self.rows.num_rows > max(2 * self.most, min(WAITING, 4 * self.most)):
            self.finished()

    def finished(self) -> Any:
        """Return the rows of the sample by hash, each once, with its count."""
        import pyarrow as pa

        if self.rows is None:
            raise ValueError("nothing was sampled")
        hashes = self.rows.column("__hash").to_numpy()
        order = np.argsort(hashes, kind="stable")
        sorted_ = hashes[order]
        first = np.flatnonzero(np.append(True, sorted_[1:] != sorted_[:-1]))
        counts = np.add.reduceat(self.rows.column("__count").to_numpy()[order], first)
        first, counts = first[: self.most], counts[: self.most]
        kept = self.rows.take(pa.array(order[first])).combine_chunks()
        at = kept.schema.get_field_index("__count")
        self.rows = kept.set_column(at, "__count", pa.array(counts))
        if len(first) == self.most:
            self.limit = int(sorted_[first[-1]])
        return self.rows

    @property
    def counts(self) -> Array:
        """Return int64[m]: how often each row of the sample occurs."""
        return np.asarray(self.finished().column("__count").to_numpy())
