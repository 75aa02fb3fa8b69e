"""Measures of what is lost: of a partition, of recoding, and of all that an analyst does with a release.

To add a measure of a partition, write a function of values or labels here; releases show it once `shoal.release` puts
it into `Utility`. To add a measure of utility, write a function of two tables that returns arrays and floats in a
frozen dataclass, and an entry of the registry, from which the page of measures is made; tables are read by `Compared`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.measure.bounds import gap, lower_bound
    from shoal.measure.distributions import DistanceLoss, Moments, Quantiles, distance_loss, moments, quantiles
    from shoal.measure.loss import information_loss, sse, sst
    from shoal.measure.models import Prediction, Regression, prediction, regression
    from shoal.measure.pairs import Compared
    from shoal.measure.queries import RangeQueries, Subgroups, range_queries, subgroups
    from shoal.measure.registry import Measure, measures
    from shoal.measure.relations import Associations, associations
    from shoal.measure.sizes import GroupSizes, average_group_size, discernability, group_sizes
    from shoal.measure.tables_of_counts import CrossTabulations, cross_tabulations
    from shoal.measure.telling_apart import Propensity, propensity
    from shoal.measure.utility import Penalty, certainty_penalty, closeness_utility, total_information_loss

# Where each name is: a release needs few of these modules, and they are loaded when they are first used.
_HOME = {
    "Associations": "relations",
    "Compared": "pairs",
    "CrossTabulations": "tables_of_counts",
    "DistanceLoss": "distributions",
    "GroupSizes": "sizes",
    "Measure": "registry",
    "Moments": "distributions",
    "Penalty": "utility",
    "Prediction": "models",
    "Propensity": "telling_apart",
    "Quantiles": "distributions",
    "RangeQueries": "queries",
    "Regression": "models",
    "Subgroups": "queries",
    "associations": "relations",
    "average_group_size": "sizes",
    "certainty_penalty": "utility",
    "closeness_utility": "utility",
    "cross_tabulations": "tables_of_counts",
    "discernability": "sizes",
    "distance_loss": "distributions",
    "gap": "bounds",
    "group_sizes": "sizes",
    "information_loss": "loss",
    "lower_bound": "bounds",
    "measures": "registry",
    "moments": "distributions",
    "prediction": "models",
    "propensity": "telling_apart",
    "quantiles": "distributions",
    "range_queries": "queries",
    "regression": "models",
    "sse": "loss",
    "sst": "loss",
    "subgroups": "queries",
    "total_information_loss": "utility",
}

__all__ = [
    "Associations",
    "Compared",
    "CrossTabulations",
    "DistanceLoss",
    "GroupSizes",
    "Measure",
    "Moments",
    "Penalty",
    "Prediction",
    "Propensity",
    "Quantiles",
    "RangeQueries",
    "Regression",
    "Subgroups",
    "associations",
    "average_group_size",
    "certainty_penalty",
    "closeness_utility",
    "cross_tabulations",
    "discernability",
    "distance_loss",
    "gap",
    "group_sizes",
    "information_loss",
    "lower_bound",
    "measures",
    "moments",
    "prediction",
    "propensity",
    "quantiles",
    "range_queries",
    "regression",
    "sse",
    "sst",
    "subgroups",
    "total_information_loss",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shoal.measure' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"shoal.measure.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
