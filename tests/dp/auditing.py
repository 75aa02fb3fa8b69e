"""An audit of what a mechanism gives away: how far its outputs on two neighbouring tables are apart, for certain.

A mechanism is run many times on each of two tables that differ in one record. If it is (epsilon, delta)-differentially
private, no set of outputs has a probability p on one and q on the other with p > exp(epsilon) q + delta. The audit
looks for such a set on one half of the runs, and counts it on the other half, so that the choice does not flatter what
was chosen. From these counts it computes a lower bound of epsilon that is wrong with a probability of at most 5 %, by
the intervals of Clopper and Pearson. A bound above the claim means that the claim is false.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import beta as beta_distribution

# How many thresholds, and how many single outputs, are tried.
THRESHOLDS = 60
OUTPUTS = 60


def share_interval(hits: int, runs: int, doubt: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson: each side is wrong with a probability of at most `doubt`."""
    low = float(beta_distribution.ppf(doubt, hits, runs - hits + 1)) if hits else 0.0
    high = float(beta_distribution.ppf(1 - doubt, hits + 1, runs - hits)) if hits < runs else 1.0
    return low, high


def lower_epsilon(
    hits: tuple[int, int], runs: tuple[int, int], *, delta: float = 0.0, confidence: float = 0.95
) -> float:
    """Return a lower bound of epsilon from how often an event was seen on each of the two tables; at least 0."""
    doubt = (1 - confidence) / 2
    low, _ = share_interval(hits[0], runs[0], doubt)
    _, high = share_interval(hits[1], runs[1], doubt)
    return math.log((low - delta) / high) if low - delta > high else 0.0


def empirical_epsilon(one: Any, other: Any, *, delta: float = 0.0, confidence: float = 0.95) -> float:
    """Return a lower bound of the epsilon of a mechanism from its outputs on two neighbouring tables.

    Parameters
    ----------
    one, other : array-like of shape (runs,) or (runs, c)
        Outputs, or c figures computed from each. Of each figure, "at most", "at least" and "equal" are tried.
    delta : float
        What the mechanism is allowed besides epsilon.
    confidence : float
        The probability with which the bound holds, if it is used for one pair of tables.
    """
    tables = [np.asarray(values).reshape(len(values), -1) for values in (one, other)]
    chosen: tuple[float, Callable[[Any], Any], bool] | None = None
    halves = [(values[: len(values) // 2], values[len(values) // 2 :]) for values in tables]
    for event in _events(halves[0][0], halves[1][0]):
        hits = [int(event(half[0]).sum()) for half in halves]
        for turned in (False, True):
            order = (1, 0) if turned else (0, 1)
            counts, runs = tuple(hits[at] for at in order), tuple(len(halves[at][0]) for at in order)
            found = lower_epsilon(counts, runs, delta=delta, confidence=confidence)
            if chosen is None or found > chosen[0]:
                chosen = found, event, turned
    assert chosen is not None
    _, event, turned = chosen
    order = (1, 0) if turned else (0, 1)
    counts = tuple(int(event(halves[at][1]).sum()) for at in order)
    return lower_epsilon(counts, tuple(len(halves[at][1]) for at in order), delta=delta, confidence=confidence)


def _events(one: Any, other: Any) -> Iterator[Callable[[Any], Any]]:
    """Yield sets of outputs, as functions from figures (runs, c) to bool[runs]."""
    both = np.concatenate([one, other])
    for column in range(both.shape[1]):
        values, counts = np.unique(both[:, column], return_counts=True)
        marks = np.unique(np.quantile(both[:, column], np.linspace(0, 1, THRESHOLDS + 2)[1:-1], method="nearest"))
        frequent = values[np.argsort(-counts, kind="stable")[:OUTPUTS]]
        for mark in marks:
            yield lambda figures, column=column, mark=mark: figures[:, column] <= mark
            yield lambda figures, column=column, mark=mark: figures[:, column] >= mark
        for value in frequent:
            yield lambda figures, column=column, value=value: figures[:, column] == value


def outputs(mechanism: Callable[[], Any], runs: int) -> Any:
    """Return what `runs` calls of a mechanism give, as an array of shape (runs,) or (runs, c)."""
    return np.array([mechanism() for _ in range(runs)])


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
        self._known: dict[int, tuple[Any, str, float]] = {}

    def __call__(self, measurement: Any, data: Any) -> Any:
        """Return a noisy answer."""
        if id(measurement) not in self._known:
            self._known[id(measurement)] = measurement, str(measurement.input_metric), measurement.map(1)
        _, metric, unit = self._known[id(measurement)]
        if metric.startswith("L1"):
            chance = -math.expm1(-unit)
            return data + self.rng.geometric(chance, len(data)) - self.rng.geometric(chance, len(data))
        if metric.startswith("LInf"):
            scale = (1 if "monotonic" in metric else 2) / unit
            return int(np.argmax(data + self.rng.exponential(scale, len(data))))
        return measurement(data)


def seeded(monkeypatch: Any, seed: int = 0, *, noise: bool = True) -> None:
    """Make what `shoal.dp` draws the same in every run, unless `noise` is false, and quicker."""
    from shoal.dp import mechanisms, sampling

    if noise:
        monkeypatch.setattr(mechanisms, "drawn", Sampler(seed))
    # What does not depend on the table is computed once.
    monkeypatch.setattr(mechanisms, "_calibrated", lru_cache(None)(mechanisms._calibrated))
    monkeypatch.setattr(sampling, "sampling_delta", lru_cache(None)(sampling.sampling_delta))


class Tape:
    """What a release was told, answer by answer; played to the same release of another table.

    All that a release may know of a table are noisy answers. So if it is told the same answers about a neighbouring
    table, it must ask the same questions and publish the same. Then the most that it can give away is the sum of what
    each answer gives away: its true values on both tables are known here, and so is its noise.
    """

    def __init__(self, sampler: Callable[[Any, Any], Any]) -> None:
        self.sampler = sampler
        self.answers: list[tuple[Any, str, float, Any, Any]] = []
        self.loss = self.likelihood = 0.0
        self.at = 0

    def record(self, measurement: Any, data: Any) -> Any:
        """Answer by the sampler, and keep it."""
        told = self.sampler(measurement, data)
        self.answers.append((measurement, str(measurement.input_metric), measurement.map(1), np.array(data), told))
        return told

    def play(self, measurement: Any, data: Any) -> Any:
        """Answer as before, and add up what the answer tells about which of the two tables it is."""
        if self.at >= len(self.answers):
            raise Parted
        _, metric, unit, before, told = self.answers[self.at]
        self.at += 1
        if str(measurement.input_metric) != metric or measurement.map(1) != unit or len(data) != len(before):
            raise Parted
        if metric.startswith("L1"):
            self.loss += unit * float(np.abs(before - data).sum())
            self.likelihood += unit * float((np.abs(told - data) - np.abs(told - before)).sum())
        else:
            self.loss += unit * float(np.abs(before - data).max())
        return told


class Parted(Exception):
    """A release asked other questions, although it was given the same answers."""


def told(release: Callable[[Any], Any], one: Any, other: Any, monkeypatch: Any, sampler: Any) -> Tape:
    """Return the tape of a release of `one`, played to `other`: infinite loss if that makes any difference."""
    from shoal.dp import mechanisms

    tape = Tape(sampler)
    monkeypatch.setattr(mechanisms, "drawn", tape.record)
    first = release(one)
    monkeypatch.setattr(mechanisms, "drawn", tape.play)
    try:
        second = release(other)
    except Parted:
        second = None
    same = second is not None and tape.at == len(tape.answers)
    if not (same and all(np.array_equal(a, b) for a, b in zip(_published(first), _published(second), strict=True))):
        tape.loss = tape.likelihood = math.inf
    return tape


def _published(released: Any) -> tuple[Any, ...]:
    counts = released.counts if released.counts is not None else np.empty(0)
    return released.positions, counts, np.array(released.said)
