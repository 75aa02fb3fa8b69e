"""Requirements on groups besides k records, in the form that partitioning takes.

Partitioning knows no privacy models. Its callers translate demands on sensitive values into arrays for kernels and
plain callables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from shoal.arrays import Array
from shoal.kernels.rules import Rules

FallsShort = Callable[[Array, Array], Array]
"""Takes rows and their labels (0 to m - 1), returns bool[m]: which groups fall short, be it of k records."""


class Tally(Protocol):
    """How far groups satisfy the requirements, kept up to date while groups are merged."""

    def falls_short(self, labels: Array, means: Array) -> Array:
        """Return bool[m]: which groups fall short of a requirement other than k records.

        Parameters
        ----------
        labels : int64[n]
            The group of each record, from 0 to m - 1.
        means : float64[m, d]
        """

    def gaps(self, first: Array, second: Array) -> Array | None:
        """Return float64[p]: the shortfall of the union of groups first[i] and second[i]; 0 if there is none.

        None if a union cannot be judged before all groups are known.
        """

    def merge(self, target: Array) -> None:
        """Merge group g into group target[g] (int64[m]). The new groups are numbered 0, 1, ... without gaps."""

    def refuse(self) -> None:
        """Raise DataError if a single group of all records falls short of anything but k records or units."""


class Requirements(NamedTuple):
    """Requirements on groups besides k records.

    Attributes
    ----------
    rules : Rules or None
        The requirements as arrays for kernels. None if there is no rule for one of them: groups are then merged and
        cut only.
    falls_short : callable
        Which groups fall short of a requirement, k records included.
    tally : callable
        Returns the tally of groups, given their labels.
    local : bool
        Whether the requirements depend on the records of a group alone, and merging groups that satisfy them gives a
        group that does.
    among : callable or None
        Returns the requirements on groups of some records (int64[m]) alone. None: there are none.
    """

    rules: Rules | None
    falls_short: FallsShort
    tally: Callable[[Array], Tally]
    local: bool
    among: Callable[[Array], Requirements] | None = None
