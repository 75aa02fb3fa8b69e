"""Sampling weights as columns hold them."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.tables.columns import decode_numbers
from shoal.tables.notation import Notation


def weights_in(column: Any, name: str, decimal: str) -> Array:
    """Return float64[n]: the weights in a column, or in a piece of it; refuse what cannot be weights."""
    weights = np.asarray(decode_numbers(column, Notation(column.type, True, decimal), "continuous", name)[0].values)
    if not (weights >= 0).all():
        raise no_weights(name, "other values")
    return weights


def no_weights(name: str, got: str) -> DataError:
    """Return the error for a column that does not hold weights."""
    return DataError(
        f"The weights {name!r} must be numbers of at least 0, and not all 0. Got {got}.",
        hint="drop these records, or give them a weight.",
    )
