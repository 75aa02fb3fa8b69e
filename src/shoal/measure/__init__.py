"""What a partition costs: information loss and sizes of groups."""

from shoal.measure.loss import information_loss, sse, sst
from shoal.measure.sizes import GroupSizes, average_group_size, discernability, group_sizes

__all__ = [
    "GroupSizes",
    "average_group_size",
    "discernability",
    "group_sizes",
    "information_loss",
    "sse",
    "sst",
]
