"""Shoal: k-anonymous microaggregation, complete, exact and fast.

The public names; what they need is loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import datasets, dp, io, measure, risk, spark
    from shoal.engines.pipeline import anonymize_file
    from shoal.errors import DisclosureError, DisclosureWarning, ShoalError
    from shoal.estimator import Microaggregator
    from shoal.measure.bounds import lower_bound
    from shoal.measure.loss import information_loss
    from shoal.partitioning.registry import methods, refinements
    from shoal.partitioning.run import partition, refine
    from shoal.plan import Plan
    from shoal.privacy.audit import verify
    from shoal.privacy.intersection import intersect
    from shoal.release.assessments.assessment import Assessment, assess
    from shoal.release.release import Release
    from shoal.release.run import anonymize
    from shoal.release.tuning.mapping import compare_releases
    from shoal.release.tuning.tuning import Tuning, tune
    from shoal.release.updates.run import update, update_file
    from shoal.release.updates.update import Update
    from shoal.release.verification import verify_file
    from shoal.tables.hierarchy import Hierarchy

__version__ = "0.1.0"

_HOME = {
    "Assessment": "shoal.release.assessments.assessment",
    "DisclosureError": "shoal.errors",
    "DisclosureWarning": "shoal.errors",
    "Hierarchy": "shoal.tables.hierarchy",
    "Microaggregator": "shoal.estimator",
    "Plan": "shoal.plan",
    "Release": "shoal.release.release",
    "ShoalError": "shoal.errors",
    "Tuning": "shoal.release.tuning.tuning",
    "Update": "shoal.release.updates.update",
    "anonymize": "shoal.release.run",
    "anonymize_file": "shoal.engines.pipeline",
    "assess": "shoal.release.assessments.assessment",
    "compare_releases": "shoal.release.tuning.mapping",
    "information_loss": "shoal.measure.loss",
    "intersect": "shoal.privacy.intersection",
    "lower_bound": "shoal.measure.bounds",
    "methods": "shoal.partitioning.registry",
    "partition": "shoal.partitioning.run",
    "refine": "shoal.partitioning.run",
    "refinements": "shoal.partitioning.registry",
    "tune": "shoal.release.tuning.tuning",
    "update": "shoal.release.updates.run",
    "update_file": "shoal.release.updates.run",
    "verify": "shoal.privacy.audit",
    "verify_file": "shoal.release.verification",
}
_MODULES = ("datasets", "dp", "io", "measure", "risk", "spark")

__all__ = [
    "Assessment",
    "DisclosureError",
    "DisclosureWarning",
    "Hierarchy",
    "Microaggregator",
    "Plan",
    "Release",
    "ShoalError",
    "Tuning",
    "Update",
    "__version__",
    "anonymize",
    "anonymize_file",
    "assess",
    "compare_releases",
    "datasets",
    "dp",
    "information_loss",
    "intersect",
    "io",
    "lower_bound",
    "measure",
    "methods",
    "partition",
    "refine",
    "refinements",
    "risk",
    "spark",
    "tune",
    "update",
    "update_file",
    "verify",
    "verify_file",
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
