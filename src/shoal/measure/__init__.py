"""What a partition costs: information loss, how far that is from the least possible, and sizes of groups."""

from shoal.measure.bounds import gap, lower_bound
from shoal.measure.loss import information_loss, sse, sst
from shoal.measure.sizes import GroupSizes, average_group_size, discernability, group_sizes

__all__ = [
    "GroupSizes",
    "average_group_size",
    "discernability",
    "gap",
    "group_sizes",
    "information_loss",
    "lower_bound",
    "sse",
    "sst",
]
