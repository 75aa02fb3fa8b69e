"""What hooks are shown of a table that is in no memory as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.engines.layout import Layout


@dataclass(frozen=True)
class Seen:
    """What hooks are shown of a table that was surveyed; it has the names of `Prepared`."""

    layout: Layout
    warnings: tuple[str, ...]

    @dataclass(frozen=True)
    class Rows:
        """The number of rows."""

        num_rows: int

    @property
    def plan(self) -> Any:
        """Return the plan."""
        return self.layout.plan

    @property
    def columns(self) -> Any:
        """Return the columns with their roles."""
        return self.layout.columns

    @property
    def attributes(self) -> Any:
        """Return the quasi-identifiers."""
        return tuple(part.attribute for part in self.layout.parts)

    @property
    def rows_in(self) -> int:
        """Return the number of rows of the input."""
        return self.layout.rows_in

    @property
    def table(self) -> Rows:
        """Return something that has the number of rows that are published."""
        return Seen.Rows(self.layout.rows)
