"""What groups must have besides k records, in the form in which partitioning takes it.

Demands on sensitive values are turned into this by those who know models of privacy: arrays for kernels, and plain
callables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from shoal.kernels.rules import Rules

Array = np.ndarray[Any, Any]

FallsShort = Callable[[Array, Array], Array]
"""Takes rows and their labels 0 .. m - 1, returns bool[m]: which groups lack something, k records included."""


class Tally(Protocol):
    """What groups have of what is required, kept up to date while they are merged."""

    def falls_short(self, labels: Array, means: Array) -> Array:
        """Return bool[m]: which groups lack something besides k records.

        Parameters
        ----------
        labels : int64[n]
            The group of each record, 0 .. m - 1.
        means : float64[m, d]
        """

    def gaps(self, first: Array, second: Array) -> Array | None:
        """Return float64[p]: how much the union of groups first[i] and second[i] lacks; 0 if it lacks nothing.

        None if this cannot be said of a union before all groups are known.
        """

    def merge(self, target: Array) -> None:
        """Make group g part of group target[g], int64[m]; the new groups are 0, 1, .. without a gap."""

    def refuse(self) -> None:
        """Raise what a single group of all records lacks; return if it lacks nothing but k records or units."""


class Requirements(NamedTuple):
    """What is required of groups besides k records.

    Attributes
    ----------
    rules : Rules or None
        As kernels take it; None if there is no rule for some of it: then groups are merged and cut only.
    falls_short : callable
        Which groups lack anything, k records included.
    tally : callable
        Returns the tally of groups, given their labels.
    local : bool
        Whether what a group has depends on its own records alone, and merging groups that satisfy everything gives one
        that does.
    """

    rules: Rules | None
    falls_short: FallsShort
    tally: Callable[[Array], Tally]
    local: bool
