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
    from shoal.dp.calculators import (
        release_intervals_size,
        sampling_delta,
        small_db_dimension,
        small_db_error,
        small_db_queries,
        small_db_size,
        small_db_size_by_dimension,
    )
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
    "release_intervals_size": "calculators",
    "releases": "registry",
    "sampling_delta": "calculators",
    "small_db_dimension": "calculators",
    "small_db_error": "calculators",
    "small_db_queries": "calculators",
    "small_db_size": "calculators",
    "small_db_size_by_dimension": "calculators",
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
    "release_intervals_size",
    "releases",
    "sampling_delta",
    "small_db_dimension",
    "small_db_error",
    "small_db_queries",
    "small_db_size",
    "small_db_size_by_dimension",
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
