"""The registry of private releases: plan, command line, pages and tests read it.

An entry names a function ``f(coded, ledger, *, report, **options) -> Released``: it spends the budget of the ledger on
what it asks of a `Coded` table. Nothing here loads NumPy or OpenDP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.partitioning.definitions import MethodOption, checked_options, entry_called, loaded


@dataclass(frozen=True)
class PrivateRelease:
    """A way to make a differentially private release.

    Attributes
    ----------
    name, summary : str
    paper : str
        Where it is described.
    cost : str
        Time and memory.
    function : str
        ``module:function`` within this package.
    options : tuple of MethodOption
    delta : bool
        Whether it needs a delta above 0; otherwise delta must be 0.
    units : bool
        Whether a unit may have several rows.
    kinds : tuple of str
        Kinds of columns that it takes; empty: all.
    """

    name: str
    summary: str
    paper: str
    cost: str
    function: str
    options: tuple[MethodOption, ...] = ()
    delta: bool = False
    units: bool = True
    kinds: tuple[str, ...] = ()

    def load(self) -> Callable[..., Any]:
        """Return the function ``f(coded, ledger, *, report, **options) -> Released``."""
        return loaded("shoal.dp", self.function)

    def checked(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options, defaults included; raise OptionError if one is unknown or wrong."""
        return checked_options("private release", self, options)


FORM = MethodOption(
    "form",
    "records",
    "Synthetic records, or one row for each box or cell with its noisy count.",
    ("records", "aggregated"),
)

ALPHA = MethodOption(
    "alpha",
    "auto",
    "Intervals have about alpha / 6 of the records of the box that they divide.",
    choices=("auto",),
    least=0.01,
    most=3,
)
SAFE_K = MethodOption("k", 20, "Least count that is published.", least=2, whole=True)
BETA = MethodOption(
    "beta", "auto", "Sampling rate; auto: the highest that delta allows.", choices=("auto",), least=1e-9, most=0.999
)

_RELEASES: tuple[PrivateRelease, ...] = (
    PrivateRelease(
        name="mondrian",
        summary="Boxes that are cut at private medians, with noisy counts and centres.",
        paper="Thaeter, F. (2021): k-Anonymous Microaggregation. Dissertation, Universität zu Lübeck, section 10.3 (a "
        "sketch, finished here); Cormode, G. et al. (2012): Differentially private spatial decompositions. ICDE",
        cost="n d log n, and a millisecond for each box",
        function="mondrian:mondrian",
        options=(
            MethodOption("leaf", 200.0, "Boxes with fewer records, times epsilon, are not cut.", least=1.0),
            FORM,
        ),
    ),
    PrivateRelease(
        name="histogram",
        summary="Noisy counts of all cells of a declared grid.",
        paper="Thaeter, F. (2021), section 10.2, algorithm 26 (corrected: noise 1 / epsilon for counts); Wasserman, "
        "L., Zhou, S. (2010): A statistical framework for differential privacy. JASA 105",
        cost="n d, and 15 microseconds for each cell of the grid",
        function="grids:histogram_release",
        options=(
            MethodOption("bins", 10, "Cells of an attribute with an order.", least=1, whole=True),
            FORM,
        ),
    ),
    PrivateRelease(
        name="intervals",
        summary="Intervals with about equally many records, of one attribute after the other, with noisy counts.",
        paper="Blum, A., Ligett, K., Roth, A. (2013): A learning theory approach to noninteractive database privacy. "
        "JACM 60 (ReleaseIntervals); Thaeter, F. (2021), section 10.2, algorithm 25 (mended)",
        cost="n log n for each attribute, and some thousand noisy counts",
        function="intervals:release_intervals",
        options=(ALPHA, FORM),
    ),
    PrivateRelease(
        name="noisy-means",
        summary="Groups of k neighbours on a curve through the domain, with noise on their means that shrinks with k.",
        paper="Soria-Comas, J. et al. (2014): Enhancing data utility in differential privacy via "
        "microaggregation-based k-anonymity. VLDB Journal 23 (with a smaller sensitivity)",
        cost="n log n",
        function="insensitive:noisy_means",
        options=(
            MethodOption("k", "auto", "Records in a group.", choices=("auto",), least=2, whole=True),
            FORM,
        ),
        kinds=("integer", "continuous", "date", "datetime", "ordinal"),
    ),
    PrivateRelease(
        name="strongly-safe",
        summary="Counts of a random sample in the cells of a fixed grid, without cells that have fewer than k.",
        paper="Li, N., Qardaji, W., Su, D. (2012): On sampling, anonymization, and differential privacy. ASIACCS; "
        "Thaeter, F. (2021), definition 3.16 and theorem 10.24",
        cost="n log n",
        function="sampling:strongly_safe",
        options=(
            SAFE_K,
            BETA,
            MethodOption("bins", 8, "Cells of an attribute.", least=1, whole=True),
            FORM,
        ),
        delta=True,
        units=False,
    ),
    PrivateRelease(
        name="epsilon-safe",
        summary="As strongly-safe, in boxes that follow the data, for which a share of epsilon pays.",
        paper="Li, N., Qardaji, W., Su, D. (2012); Thaeter, F. (2021), remark 3.18",
        cost="as intervals",
        function="sampling:epsilon_safe",
        options=(
            SAFE_K,
            BETA,
            ALPHA,
            MethodOption("share", 0.5, "Share of epsilon for the boxes.", least=0.01, most=0.99),
            FORM,
        ),
        delta=True,
        units=False,
    ),
    PrivateRelease(
        name="small-db",
        summary="The small database that answers all range queries about as the table does; for tiny universes.",
        paper="Blum, A., Ligett, K., Roth, A. (2013), SmallDB; Thaeter, F. (2021), section 10.2, algorithm 24",
        cost="grows with the number of databases; refused above 2,000,000",
        function="small_db:small_db",
        options=(
            MethodOption("alpha", 0.5, "Error to aim at; less means a larger database.", least=0.01, most=1),
            MethodOption("bins", 4, "Cells of an attribute.", least=1, whole=True),
            FORM,
        ),
    ),
)


def releases() -> tuple[PrivateRelease, ...]:
    """Return all private releases."""
    return _RELEASES


def find(name: str) -> PrivateRelease:
    """Return the private release of this name; raise UnknownMethodError if there is none."""
    return entry_called(name, _RELEASES, "The 'dp' of a plan must be a private release.")
