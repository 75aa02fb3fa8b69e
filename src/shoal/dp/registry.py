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


_RELEASES: tuple[PrivateRelease, ...] = ()


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
