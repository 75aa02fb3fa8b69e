"""The registry of private releases: plan, command line, pages and tests read it.

An entry names a function ``f(coded, ledger, *, report, **options) -> Released``: it spends the budget of the ledger on
what it asks of a `Coded` table. Nothing here loads NumPy or OpenDP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from shoal.errors import OptionError, UnknownMethodError, near_names
from shoal.partitioning.definitions import MethodOption


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
        module, name = self.function.split(":")
        loaded: Callable[..., Any] = getattr(import_module(f"shoal.dp.{module}"), name)
        return loaded

    def checked(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options, defaults included; raise OptionError if one is unknown or wrong."""
        known = {option.name: option for option in self.options}
        for name in options:
            if name not in known:
                all_of_them = f"it has {', '.join(known) or 'none'}."
                raise OptionError(
                    f"The private release {self.name!r} has no option {name!r}.", near_names(name, known, all_of_them)
                )
        return {
            name: option.check(options[name], self.name) if name in options else option.default
            for name, option in known.items()
        }


_FORM = MethodOption("form", "records", "records, or rows with a noisy count", choices=("records", "aggregated"))
_ALPHA = MethodOption(
    "alpha",
    "auto",
    "intervals have a share of about alpha / 6 of the records that they divide",
    choices=("auto",),
    least=0.01,
    most=3,
)
_SAFE_K = MethodOption("k", 20, "the least count that is published", least=2, whole=True)
_BETA = MethodOption(
    "beta", "auto", "sampling rate; auto: the highest that delta allows", choices=("auto",), least=1e-9, most=0.999
)

_RELEASES: tuple[PrivateRelease, ...] = (
    PrivateRelease(
        "intervals",
        "Cuts one attribute after the other into intervals with about equally many records, and counts.",
        "Blum, Ligett, Roth (2013), ReleaseIntervals; Thaeter (2021), algorithm 25 (mended)",
        "n log n a column, and some thousand noisy counts",
        "intervals:release_intervals",
        (_ALPHA, _FORM),
    ),
    PrivateRelease(
        "noisy-means",
        "Groups of k neighbours on a curve through the domain, with noise on their means that shrinks with k.",
        "Soria-Comas, Domingo-Ferrer, Sanchez, Martinez (2014), with a smaller sensitivity",
        "n log n",
        "insensitive:noisy_means",
        (
            MethodOption("k", "auto", "records in a group", choices=("auto",), least=2, whole=True),
            _FORM,
        ),
        kinds=("integer", "continuous", "date", "datetime", "ordinal"),
    ),
    PrivateRelease(
        "strongly-safe",
        "Counts a random sample in the cells of a fixed grid, and leaves out cells with fewer than k.",
        "Li, Qardaji, Su (2012); Thaeter (2021), definition 3.16 and theorem 10.24",
        "n log n",
        "sampling:strongly_safe",
        (
            _SAFE_K,
            _BETA,
            MethodOption("cells", 8, "ranges that each column is cut into", least=1, whole=True),
            _FORM,
        ),
        delta=True,
        units=False,
    ),
    PrivateRelease(
        "epsilon-safe",
        "As strongly-safe, in boxes that follow the data, for which a share of epsilon pays.",
        "Li, Qardaji, Su (2012); Thaeter (2021), remark 3.18",
        "as intervals",
        "sampling:epsilon_safe",
        (
            _SAFE_K,
            _BETA,
            _ALPHA,
            MethodOption("share", 0.5, "of epsilon, for the boxes", least=0.01, most=0.99),
            _FORM,
        ),
        delta=True,
        units=False,
    ),
    PrivateRelease(
        "small-db",
        "Chooses the small database that answers all range queries about as the table does; for tiny universes.",
        "Blum, Ligett, Roth (2013), SmallDB; Thaeter (2021), algorithm 24",
        "grows as the number of databases; refused above 2,000,000",
        "small_db:small_db",
        (
            MethodOption("alpha", 0.5, "error to aim at; less means a larger database", least=0.01, most=1),
            MethodOption("cells", 4, "ranges that each column is cut into", least=1, whole=True),
            _FORM,
        ),
    ),
)


def releases() -> tuple[PrivateRelease, ...]:
    """Return all private releases."""
    return _RELEASES


def find(name: str) -> PrivateRelease:
    """Return the private release of this name; raise UnknownMethodError if there is none."""
    for release in _RELEASES:
        if release.name == name:
            return release
    names = [release.name for release in _RELEASES]
    raise UnknownMethodError(
        f"The 'dp' of a plan must be a private release. Got {name!r}.",
        hint=near_names(name, names, f"there are {', '.join(names)}."),
    )
