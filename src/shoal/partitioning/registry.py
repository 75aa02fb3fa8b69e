"""Look up methods and refinements by name.

Entries are defined in :mod:`shoal.partitioning.definitions` and listed in :mod:`shoal.partitioning.catalogue` and
:mod:`shoal.partitioning.refinements`. Nothing here loads NumPy or Numba.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.errors import OptionError, UnknownMethodError, near_names
from shoal.partitioning.catalogue import METHODS
from shoal.partitioning.definitions import Method, MethodOption, Refinement
from shoal.partitioning.refinements import REFINEMENTS

__all__ = [
    "METHODS",
    "REFINEMENTS",
    "Method",
    "MethodOption",
    "Refinement",
    "check_options",
    "find",
    "find_refinement",
    "methods",
    "refinements",
]


def refinements() -> tuple[Refinement, ...]:
    """Return all refinements, each with its name, summary, paper and options.

    Examples
    --------
    >>> import shoal
    >>> [refinement.name for refinement in shoal.refinements()]
    ['tfrp2', 'decompose-shrink', 'ona-rounds', 'anytime']
    """
    return REFINEMENTS


def find_refinement(name: object) -> Refinement:
    """Return the refinement called `name`; raise UnknownMethodError with similar names if there is none."""
    for refinement in REFINEMENTS:
        if refinement.name == name:
            return refinement
    names = [refinement.name for refinement in REFINEMENTS]
    raise UnknownMethodError(
        f"The 'refine' option must be None or the name of a refinement. Got {name!r}.",
        hint=near_names(name, names, f"there are {', '.join(names)}."),
    )


def methods() -> tuple[Method, ...]:
    """Return all methods, each with its name, summary, paper, options and cost.

    Examples
    --------
    >>> import shoal
    >>> [method.name for method in shoal.methods()][:4]
    ['md', 'mdav', 'mdav-nc', 'mdav+']
    """
    return METHODS


def find(name: object) -> Method:
    """Return the method called `name`; raise UnknownMethodError with similar names if there is none."""
    for method in METHODS:
        if method.name == name:
            return method
    everything = "shoal.methods() lists all of them."
    raise UnknownMethodError(
        f"The 'method' option must be the name of a method. Got {name!r}.",
        hint=near_names(name, [method.name for method in METHODS] + ["auto"], everything),
    )


def check_options(owner: Method | Refinement, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options of a method or refinement: those in `given`, checked, and the defaults of the others."""
    known = {option.name: option for option in owner.options}
    for name in given:
        if name not in known:
            kind = "method" if isinstance(owner, Method) else "refinement"
            raise OptionError(f"The {kind} {owner.name!r} has no option {name!r}.", hint=_option_hint(name, known))
    return {name: option.check(given.get(name, option.default), owner.name) for name, option in known.items()}


def _option_hint(name: str, known: Mapping[str, MethodOption]) -> str:
    everything: tuple[Method | Refinement, ...] = (*METHODS, *REFINEMENTS)
    owners = dict.fromkeys(one.name for one in everything if any(option.name == name for option in one.options))
    if owners:
        return f"{name!r} is an option of {', '.join(repr(owner) for owner in owners)}."
    return near_names(name, list(known), f"its options: {', '.join(known)}.") if known else "it has none."
