"""Several models at once, each on an attribute of its own: which groups fall short of any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.privacy.model import Model
from shoal.privacy.spectrum import Sensitive, Spectrum, spectrum_of

Array = np.ndarray[Any, Any]


class Demand(NamedTuple):
    """What is demanded of a sensitive attribute in every group."""

    model: Model
    sensitive: Sensitive


def spectra(labels: Array, demands: Sequence[Demand], rows: Array | None = None) -> list[Spectrum]:
    """Return the spectrum of each demand, one object for demands on the same attribute."""
    made: dict[int, Spectrum] = {}
    for demand in demands:
        if id(demand.sensitive) not in made:
            made[id(demand.sensitive)] = spectrum_of(labels, demand.sensitive, rows)
    return [made[id(demand.sensitive)] for demand in demands]


def satisfied(found: Sequence[Spectrum], demands: Sequence[Demand], centres: Array | None = None) -> Array:
    """Return bool[m]: which groups satisfy all demands, given their spectra."""
    good = np.ones(found[0].groups, bool)
    for spectrum, demand in zip(found, demands, strict=True):
        good &= demand.model.holds(spectrum, centres)
    return good


def offending(labels: Array, demands: Sequence[Demand], rows: Array | None = None, X: Array | None = None) -> Array:
    """Return bool[m]: which groups fall short of a demand.

    Parameters
    ----------
    labels : int64[n]
        0 .. m - 1 without a gap.
    demands : sequence of Demand
        At least one.
    rows : int64[n] or None
        The records of the table that the labels are of; all of them if not said.
    X : float64[n, d] or None
        Their coordinates, for models that compare groups with their surroundings.
    """
    return ~satisfied(spectra(labels, demands, rows), demands, None if X is None else centres_of(X, labels))


def centres_of(X: Array, labels: Array) -> Array:
    """Return float64[m, d]: the mean of each group."""
    sizes = np.bincount(labels)
    return np.column_stack([np.bincount(labels, column) / sizes for column in X.T])
