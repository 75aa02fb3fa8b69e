"""Differentially private releases: budgets, declared domains, mechanisms, and tables made from noisy answers.

To add a release, write a function of a `Coded` table and a `Ledger` that returns a `Released`, and an entry of the
registry, from which plan, command line and pages take it. All noise is drawn by OpenDP, in `mechanisms`, and every
mechanism charges the ledger first. What is read from the records otherwise must not leave.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.dp.budget import Budget, Ledger, Neighbours
    from shoal.dp.domain import Coded, Domain
    from shoal.dp.mechanisms import exponential, histogram, laplace, mean, noisy_maximum, quantile, variance
    from shoal.dp.registry import PrivateRelease, releases
    from shoal.dp.released import Released

_HOME = {
    "Budget": "budget",
    "Coded": "domain",
    "Domain": "domain",
    "Ledger": "budget",
    "Neighbours": "budget",
    "PrivateRelease": "registry",
    "Released": "released",
    "exponential": "mechanisms",
    "histogram": "mechanisms",
    "laplace": "mechanisms",
    "mean": "mechanisms",
    "noisy_maximum": "mechanisms",
    "quantile": "mechanisms",
    "releases": "registry",
    "variance": "mechanisms",
}

__all__ = [
    "Budget",
    "Coded",
    "Domain",
    "Ledger",
    "Neighbours",
    "PrivateRelease",
    "Released",
    "exponential",
    "histogram",
    "laplace",
    "mean",
    "noisy_maximum",
    "quantile",
    "releases",
    "variance",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shoal.dp' has no attribute {name!r}")
    value = getattr(import_module(f"shoal.dp.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
