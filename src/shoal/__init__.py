"""Shoal: k-anonymous microaggregation, complete, exact and fast.

The public names; what they need is loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import datasets, measure
    from shoal.errors import DisclosureWarning, ShoalError
    from shoal.estimator import Microaggregator
    from shoal.measure.loss import information_loss
    from shoal.partitioning.registry import methods, refinements
    from shoal.partitioning.run import partition, refine

__version__ = "0.1.0"

_HOME = {
    "DisclosureWarning": "shoal.errors",
    "Microaggregator": "shoal.estimator",
    "ShoalError": "shoal.errors",
    "information_loss": "shoal.measure.loss",
    "methods": "shoal.partitioning.registry",
    "partition": "shoal.partitioning.run",
    "refine": "shoal.partitioning.run",
    "refinements": "shoal.partitioning.registry",
}
_MODULES = ("datasets", "measure")

__all__ = [
    "DisclosureWarning",
    "Microaggregator",
    "ShoalError",
    "__version__",
    "datasets",
    "information_loss",
    "measure",
    "methods",
    "partition",
    "refine",
    "refinements",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"shoal.{name}")
    else:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
