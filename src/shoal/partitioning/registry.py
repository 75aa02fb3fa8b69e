"""Look up methods and refinements by name.

Entries are defined in :mod:`shoal.partitioning.definitions` and listed in :mod:`shoal.partitioning.catalogue` and
:mod:`shoal.partitioning.refinements`. Nothing here loads NumPy or Numba.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.partitioning.catalogue import METHODS
from shoal.partitioning.definitions import Method, MethodOption, Refinement, checked_options, entry_called
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
    return entry_called(name, REFINEMENTS, "The 'refine' option must be None or the name of a refinement.")


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
    everything = "shoal.methods() lists all of them."
    return entry_called(name, METHODS, "The 'method' option must be the name of a method.", everything, ("auto",))


def check_options(owner: Method | Refinement, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options of a method or refinement: those in `given`, checked, and the defaults of the others."""
    kind = "method" if isinstance(owner, Method) else "refinement"
    return checked_options(kind, owner, given, _owners_of)


def _owners_of(name: str) -> str:
    """Say whose option a name is, if it is one at all."""
    everything: tuple[Method | Refinement, ...] = (*METHODS, *REFINEMENTS)
    owners = dict.fromkeys(one.name for one in everything if any(option.name == name for option in one.options))
    return f"{name!r} is an option of {', '.join(repr(owner) for owner in owners)}." if owners else ""
