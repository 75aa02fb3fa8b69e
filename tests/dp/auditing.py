"""Noise with a seed, for audits (`benchmarks.auditing`) that must come out alike in every test run."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from benchmarks.auditing import known


def largest_change(function: Callable[[Any], Any], tables: Any, neighbours: Any, *, order: float = 1) -> float:
    """Return the largest distance between what a function gives for a table and for a neighbour of it.

    `order` is that of the norm: 1 for the Laplace mechanism, infinity for a noisy maximum.
    """
    return max(
        float(np.linalg.norm(np.ravel(function(table)).astype(float) - np.ravel(function(near)), ord=order))
        for table, near in zip(tables, neighbours, strict=True)
    )


class Sampler:
    """Noise of NumPy, with a seed, in place of OpenDP's: for tests that must give the same result each time.

    ``monkeypatch.setattr(mechanisms, "drawn", Sampler(0))``. How much noise is due is read from the measurement that
    OpenDP would have run, so that what a mechanism asks for is still what is tested.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, measurement: Any, data: Any) -> Any:
        """Return a noisy answer."""
        metric, unit = known(measurement)
        if metric.startswith("L1"):
            chance = -math.expm1(-unit)
            return data + self.rng.geometric(chance, len(data)) - self.rng.geometric(chance, len(data))
        if metric.startswith("LInf"):
            scale = (1 if "monotonic" in metric else 2) / unit
            return int(np.argmax(data + self.rng.exponential(scale, len(data))))
        return measurement(data)


def seeded(monkeypatch: Any, seed: int = 0) -> None:
    """Make what `shoal.dp` draws the same in every run, and quicker."""
    from shoal.dp import mechanisms, sampling

    monkeypatch.setattr(mechanisms, "drawn", Sampler(seed))
    # What does not depend on the table is computed once.
    monkeypatch.setattr(mechanisms, "_calibrated", lru_cache(None)(mechanisms._calibrated))
    monkeypatch.setattr(sampling, "sampling_delta", lru_cache(None)(sampling.sampling_delta))
