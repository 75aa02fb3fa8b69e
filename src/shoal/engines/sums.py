"""Sums over all rows that the constants of coordinates follow from: exact, so that parts can be added in any order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from shoal.tables.scaling import ExactSum, Standard


class Range(NamedTuple):
    """The lowest and the highest of some numbers."""

    low: float = np.inf
    high: float = -np.inf

    def plus(self, other: Range) -> Range:
        """Return the range of both."""
        return Range(min(self.low, other.low), max(self.high, other.high))


@dataclass
class Sums:
    """What is to be summed next of some attributes: their range, their sum, or that of their squares.

    Attributes
    ----------
    standards : {position: Standard or None}
        What is known of each attribute; None if not even its range is.
    totals : {position: Range or ExactSum}
    """

    standards: dict[int, Standard | None]
    totals: dict[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.totals = {at: Range() if one is None else ExactSum() for at, one in self.standards.items()}

    def add(self, values: Any) -> None:
        """Add the rows of a values table."""
        for at, standard in self.standards.items():
            x = np.asarray(values.column(f"q{at}").to_numpy())
            x = x[~np.isnan(x)]
            if len(x) == 0:
                continue
            new = Range(float(x.min()), float(x.max())) if standard is None else standard.next_sum(x)
            self.totals[at] = self.totals[at].plus(new)

    def merge(self, other: Sums) -> None:
        """Add the sums over other rows."""
        for at, total in other.totals.items():
            self.totals[at] = self.totals[at].plus(total)
