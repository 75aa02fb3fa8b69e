"""Measures of a partition: information loss, its distance from the optimum, group sizes, measures of recoding.

To add a measure, write a function of values or labels here; releases show it once `shoal.release` puts it into
`Utility`.
"""

from shoal.measure.bounds import gap, lower_bound
from shoal.measure.loss import information_loss, sse, sst
from shoal.measure.sizes import GroupSizes, average_group_size, discernability, group_sizes
from shoal.measure.utility import Penalty, certainty_penalty, closeness_utility, total_information_loss

__all__ = [
    "GroupSizes",
    "Penalty",
    "average_group_size",
    "certainty_penalty",
    "closeness_utility",
    "discernability",
    "gap",
    "group_sizes",
    "information_loss",
    "lower_bound",
    "sse",
    "sst",
    "total_information_loss",
]
