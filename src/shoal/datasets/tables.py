"""The class of benchmark tables, and the one table that is small enough to print."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import OptionError, near_names

__all__ = ["Table", "companies"]


# eq=False: comparing arrays gives no single truth value, so a table equals itself only.
@dataclass(frozen=True, eq=False)
class Table:
    """A numeric table with named columns.

    Attributes
    ----------
    name : str
        The name of the table.
    columns : tuple of str, length d
        The names of the columns of `data`, in order.
    data : ndarray of float64, shape (n, d)
        The values, C-contiguous, as a copy that belongs to the caller.
    quasi_identifiers : tuple of str
        The columns that the literature microaggregates, by default all of `columns`.
    source : str
        Where the table comes from.
    row_names : tuple of str, length n, or None
        Names of the records, if the source has them.
    """

    name: str
    columns: tuple[str, ...]
    data: NDArray[np.float64]
    quasi_identifiers: tuple[str, ...]
    source: str
    row_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        # Without values, as the representation may appear in a log or a traceback.
        n, d = self.data.shape
        return f"Table({self.name!r}, {n} records, {d} columns)"

    def select(self, *columns: str) -> NDArray[np.float64]:
        """Return the named columns, in the given order.

        Parameters
        ----------
        *columns : str
            Names from `columns`. If none is given, the quasi-identifiers.

        Returns
        -------
        ndarray of float64, shape (n, number of names)
            A C-contiguous copy.

        Raises
        ------
        OptionError
            If the table has no column of a given name.

        Examples
        --------
        >>> companies().select("employees", "surface").shape
        (11, 2)
        """
        wanted = columns or self.quasi_identifiers
        for column in wanted:
            if column not in self.columns:
                raise OptionError(
                    f"The 'columns' option of select must name columns of the table {self.name!r}. Got {column!r}.",
                    near_names(column, self.columns, f"the columns are {', '.join(self.columns)}."),
                )
        return np.ascontiguousarray(self.data[:, [self.columns.index(column) for column in wanted]])


# Surface (m2), employees, turnover (Euros), net profit (Euros).
_COMPANIES = (
    ("A&A Ltd", 790, 55, 3_212_334, 313_250),
    ("B&B SpA", 710, 44, 2_283_340, 299_876),
    ("C&C Inc", 730, 32, 1_989_233, 200_213),
    ("D&D BV", 810, 17, 984_983, 143_211),
    ("E&E SL", 950, 3, 194_232, 51_233),
    ("F&F GmbH", 510, 25, 119_332, 20_333),
    ("G&G AG", 400, 45, 3_012_444, 501_233),
    ("H&H SA", 330, 50, 4_233_312, 777_882),
    ("I&I LLC", 510, 5, 159_999, 60_388),
    ("J&J Co", 760, 52, 5_333_442, 1_001_233),
    ("K&K Sarl", 50, 12, 645_223, 333_010),
)


def companies() -> Table:
    """Return the eleven small companies of an early example of k-anonymous microaggregation.

    Surface and number of employees are the quasi-identifiers, turnover and net profit are
    confidential, and the company's name, an identifier, is in `row_names`.

    Returns
    -------
    Table
        `data` of shape (11, 4).

    Notes
    -----
    With both quasi-identifiers standardised (mean 0, variance 1 with divisor n, so that SST = 22)
    the optimum for k = 3 is known by enumeration: records {1, 2, 3, 10}, {4, 5, 9} and
    {6, 7, 8, 11}, with SSE = 7.4848 (printed as 7.484), a loss of 0.34.

    References
    ----------
    Josep Domingo-Ferrer, Antoni Martínez-Ballesté, Josep Maria Mateo-Sanz, Francesc Sebé: Efficient
    multivariate data-oriented microaggregation. The VLDB Journal 15 (2006), table 1 and example 1.
    """
    return Table(
        name="companies",
        columns=("surface", "employees", "turnover", "net_profit"),
        data=np.array([row[1:] for row in _COMPANIES], dtype=np.float64),
        quasi_identifiers=("surface", "employees"),
        source="Domingo-Ferrer et al., The VLDB Journal 15 (2006), table 1",
        row_names=tuple(row[0] for row in _COMPANIES),
    )
