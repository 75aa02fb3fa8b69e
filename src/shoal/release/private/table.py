"""A differentially private table, with its ledger and its documents."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from shoal.dp.budget import Ledger, shown
from shoal.dp.domain import Domain
from shoal.dp.registry import PrivateRelease
from shoal.errors import DataError
from shoal.plan import Plan
from shoal.release.saving import Saved
from shoal.tables import frames

if TYPE_CHECKING:
    from shoal.io import Source, Written


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PrivateTable(Saved):
    """A table made from noisy answers about another one.

    Everything here may be published but `rows_in`, `rows_left_out`, `timings`, `source` and the `record`.

    Attributes
    ----------
    table : data frame
        The table to publish, of the same kind as the original; its rows are no records of it.
    plan : Plan
    release : PrivateRelease
        How it was made.
    domain : Domain
    ledger : Ledger
        What the budget was spent on.
    rows : int
        Of the published table.
    said : tuple of str
        Further sentences for the report.
    rows_in, rows_left_out : int
        Rows of the input, and those beyond the declared number of a unit. Private.
    """

    frame: Any
    plan: Plan
    release: PrivateRelease
    domain: Domain
    ledger: Ledger
    rows: int
    said: tuple[str, ...]
    rows_in: int
    rows_left_out: int
    timings: Mapping[str, float]
    warnings: tuple[str, ...] = ()
    text: bool = False
    attributes: tuple[Any, ...] = ()
    source: Source | None = None
    written: Written | None = None
    created: str = field(default_factory=lambda: _now())

    def __post_init__(self) -> None:
        object.__setattr__(self, "timings", MappingProxyType(dict(self.timings)))

    @property
    def table(self) -> Any:
        """Return the table to publish, a new data frame each time."""
        return frames.duplicate(self.frame)

    @property
    def epsilon(self) -> float:
        """Return the epsilon that was spent."""
        return float(self.ledger.spent[0])

    @property
    def certainty(self) -> float:
        """Return how sure somebody can become that a person is in the table, who held it for as likely as not."""
        return certainty_of(float(self.ledger.budget.epsilon), float(self.ledger.budget.delta))

    @property
    def certificate(self) -> dict[str, Any]:
        """Return what was promised and paid, for everyone."""
        from shoal.release.private.documents import certificate_of

        return certificate_of(self)

    @property
    def record(self) -> dict[str, Any]:
        """Return everything about how the release was made, with exact figures. Do not publish it."""
        from shoal.release.private.documents import record_of

        return record_of(self)

    def _page(self) -> str:
        from shoal.release.private.documents import report_of

        return report_of(self)

    def check(self, source: Source) -> None:
        """Raise an error unless a table that was read again has the rows and columns of this one, within its domain."""
        names = frames.names_of(self.frame, "save")
        if source.table.column_names != names or source.table.num_rows != self.rows:
            raise DataError("The file must have the rows and columns of the release. Got others.")
        from shoal.release.private.verification import require_domain

        require_domain(source, self.domain)

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        from html import escape

        return f"<p>{escape(repr(self))}</p><pre>{escape(str(self.ledger))}</pre>"

    def __repr__(self) -> str:
        budget = self.ledger.budget
        delta = f", delta = {shown(budget.delta)}" if budget.delta else ""
        return f"PrivateTable({self.rows} rows by {self.release.name}, epsilon = {shown(budget.epsilon)}{delta})"


def certainty_of(epsilon: float, delta: float = 0.0) -> float:
    """Return the highest chance of being right about whether a person is in a table, from even odds."""
    return min(1.0, 1 / (1 + math.exp(-epsilon)) + delta / (1 + math.exp(epsilon)) if epsilon < 700 else 1.0)


def _now() -> str:
    from datetime import datetime

    return datetime.now().astimezone().isoformat(timespec="seconds")
