"""How far groups satisfy several demands, kept up to date while groups are merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.privacy.demands import Demand, satisfied, spectra
from shoal.privacy.spectrum import Spectrum

# Least and greatest gap that counts. A gap is the shortfall relative to what is required.
GAP, WIDEST = 1e-9, 5.0


class DemandTally:
    """The spectra of groups: which groups fall short of a demand, and by how much unions would.

    Parameters
    ----------
    labels : int64[n]
        From 0 to m - 1 without gaps.
    demands : sequence of Demand
        At least one, on attributes of the whole table.
    rows : int64[n] or None
        The records of the table that have these labels. None: all of them.
    """

    def __init__(self, labels: Array, demands: Sequence[Demand], rows: Array | None = None) -> None:
        self.demands = demands
        self.local = local(demands)
        self.spectra = spectra(labels, demands, rows)
        # If all demands are local, only groups that changed are measured again.
        self.holds = satisfied(self.spectra, demands) if self.local else None

    def falls_short(self, labels: Array, means: Array) -> Array:
        """Return bool[m]: which groups do not satisfy a demand."""
        return ~(satisfied(self.spectra, self.demands, means) if self.holds is None else self.holds)

    def gaps(self, first: Array, second: Array) -> Array | None:
        """Return float64[p]: the shortfall of unions of two groups, relative to what is required; 0 if none."""
        if not self.local:
            return None
        if len(first) == 0:
            return np.zeros(0)
        pairs = np.arange(len(first))
        both, target = np.concatenate([first, second]), np.concatenate([pairs, pairs])
        gaps = np.zeros(len(first))
        unions = _each(self.spectra, lambda one: one.take(both).pooled(target))
        for spectrum, demand in zip(unions, self.demands, strict=True):
            measured, required = demand.model.measure(spectrum), demand.model.required
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = required / measured if demand.model.rising else measured / required
            gap = np.where(ratio - 1 < WIDEST, np.maximum(ratio - 1, 0.0), WIDEST) + GAP
            gaps = np.maximum(gaps, np.where(demand.model.allows(measured), 0.0, gap))
        return gaps

    def merge(self, target: Array) -> None:
        """Merge group g into group target[g]."""
        self.spectra = _each(self.spectra, lambda one: one.pooled(target))
        if self.holds is not None:
            changed = np.flatnonzero(np.bincount(target) > 1)
            holds = np.zeros(self.spectra[0].groups, bool)
            holds[target] = self.holds
            holds[changed] = satisfied(_each(self.spectra, lambda one: one.take(changed)), self.demands)
            self.holds = holds

    def refuse(self) -> None:
        """Raise DataError if a single group of all records does not satisfy a demand."""
        for spectrum, demand in zip(self.spectra, self.demands, strict=True):
            measured = demand.model.measure(spectrum, np.zeros((1, 1)))
            if not demand.model.allows(measured)[0]:
                raise DataError(
                    f"Groups must satisfy {demand.model} on {demand.sensitive.name!r}. "
                    f"Got {measured[0]:.6g} for all {int(spectrum.sizes[0])} records in one group.",
                    hint="no partition of these records does better; ask for less, or merge strata.",
                )


def local(demands: Sequence[Demand]) -> bool:
    """Return whether all demands depend on the records of a group alone and survive merging."""
    return all(demand.model.monotone for demand in demands)


def _each(by_demand: Sequence[Spectrum], change: Callable[[Spectrum], Spectrum]) -> list[Spectrum]:
    """Return the changed spectra; demands on the same attribute share one."""
    changed = {key: change(spectrum) for key, spectrum in {id(one): one for one in by_demand}.items()}
    return [changed[id(spectrum)] for spectrum in by_demand]
