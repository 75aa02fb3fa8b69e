"""Entries of the registry: a method or a refinement with its paper, options, cost and function.

Nothing here loads NumPy or Numba. The function of an entry is imported when it is first used.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, TypeVar

from shoal.errors import OptionError, UnknownMethodError, near_names

__all__ = ["Method", "MethodOption", "Refinement", "checked_options", "entry_called", "loaded"]


@dataclass(frozen=True)
class MethodOption:
    """An option of a method.

    Attributes
    ----------
    name, summary : str
    default : float or str
    choices : tuple of str
        Allowed words.
    least, most : float or None
        If `least` is given, numbers of at least `least`, and of at most `most` if given, are allowed.
    whole : bool
        Whether numbers must be integers.
    """

    name: str
    default: float | str
    summary: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    whole: bool = False

    @property
    def domain(self) -> str:
        """Return the allowed values, in words."""
        words = [repr(choice) for choice in self.choices]
        if self.least is not None:
            kind = "an integer" if self.whole else "a number"
            range_ = f"of at least {self.least:g}" if self.most is None else f"from {self.least:g} to {self.most:g}"
            words.insert(0, f"{kind} {range_}")
        return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)

    def check(self, value: Any, method: str) -> Any:
        """Return `value` if it is allowed, else raise OptionError."""
        if isinstance(value, str):
            if value in self.choices:
                return value
        elif self.least is not None and not isinstance(value, bool) and isinstance(value, numbers.Real):
            number = float(value)
            fits = math.isfinite(number) and self.least <= number <= (math.inf if self.most is None else self.most)
            if fits and (not self.whole or isinstance(value, numbers.Integral)):
                return int(number) if self.whole else number
        raise OptionError(f"The {self.name!r} option of {method!r} must be {self.domain}. Got {value!r}.")


@dataclass(frozen=True)
class Method:
    """A way to partition records into groups of at least k.

    Attributes
    ----------
    name, summary : str
    paper : str
        Where the method is described.
    options : tuple of MethodOption
    cost : str
        Time and memory.
    function : str
        ``module:function`` within this package.
    reading : str
        How Shoal reads the paper where it leaves a choice open or its printed losses contradict its text. Empty if
        the docstring of the function says so, or if there is nothing to say.
    parallel : bool
        Whether `n_jobs` can make the method faster.
    univariate : bool
        Whether it takes a single coordinate only.
    random : bool
        Whether it uses random numbers, so that `random_state` matters.
    timed : bool
        Whether it takes a `time_limit`.
    optimal : bool
        Whether its result is proven to have the least loss.
    """

    name: str
    summary: str
    paper: str
    cost: str
    function: str
    options: tuple[MethodOption, ...] = ()
    parallel: bool = False
    univariate: bool = False
    random: bool = False
    timed: bool = False
    optimal: bool = False
    reading: str = ""

    def load(self) -> Callable[..., Any]:
        """Return the function ``f(X, k, *, report, **options) -> labels``."""
        return loaded("shoal.partitioning", self.function)


@dataclass(frozen=True)
class Refinement:
    """A way to improve a given partition.

    Attributes
    ----------
    name, summary, paper : str
    function : str
        ``module:function`` within this package.
    options : tuple of MethodOption
    parallel, random, timed : bool
    reading : str
        As for a :class:`Method`.
    """

    name: str
    summary: str
    paper: str
    function: str
    options: tuple[MethodOption, ...] = ()
    parallel: bool = False
    random: bool = False
    timed: bool = False
    reading: str = ""

    def load(self) -> Callable[..., Any]:
        """Return the function ``f(X, k, labels, *, report, **options) -> labels``."""
        return loaded("shoal.partitioning", self.function)


class Owner(Protocol):
    """An entry of a registry."""

    @property
    def name(self) -> str:
        """Return its name."""

    @property
    def options(self) -> tuple[MethodOption, ...]:
        """Return its options."""


E = TypeVar("E", bound=Owner)


def loaded(package: str, function: str) -> Callable[..., Any]:
    """Return the function ``module:name`` of a package."""
    module, name = function.split(":")
    found: Callable[..., Any] = getattr(import_module(f"{package}.{module}"), name)
    return found


def checked_options(
    kind: str, owner: Owner, given: Mapping[str, Any], hint: Callable[[str], str] | None = None
) -> dict[str, Any]:
    """Return all options of an entry: those in `given`, checked, and the defaults of the others.

    Parameters
    ----------
    kind : str
        What the entry is, in words.
    owner : entry of a registry
    given : mapping
    hint : callable, optional
        Says for the name of an unknown option what was probably meant.
    """
    known = {option.name: option for option in owner.options}
    for name in given:
        if name not in known:
            all_of_them = f"its options: {', '.join(known)}." if known else "it has none."
            words = (hint(name) if hint is not None else "") or near_names(name, list(known), all_of_them)
            raise OptionError(f"The {kind} {owner.name!r} has no option {name!r}.", hint=words)
    return {name: option.check(given.get(name, option.default), owner.name) for name, option in known.items()}


def entry_called(name: object, entries: Iterable[E], must: str, hint: str = "", also: tuple[str, ...] = ()) -> E:
    """Return the entry of this name; raise UnknownMethodError, which says what `must` be, with similar names."""
    known = list(entries)
    for entry in known:
        if entry.name == name:
            return entry
    names = [entry.name for entry in known]
    words = near_names(name, [*names, *also], hint or f"there are {', '.join(names)}.")
    raise UnknownMethodError(f"{must} Got {name!r}.", hint=words)
