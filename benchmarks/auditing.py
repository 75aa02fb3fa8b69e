"""An audit of what a mechanism gives away: how far its outputs on two neighbouring tables are apart, for certain.

A mechanism is run many times on each of two tables that differ in one record. If it is (epsilon, delta)-differentially
private, no set of outputs has a probability p on one and q on the other with p > exp(epsilon) q + delta. The audit
looks for such a set on one half of the runs, and counts it on the other half, so that the choice does not flatter what
was chosen. From these counts it computes a lower bound of epsilon that is wrong with a probability of at most 5 %, by
the intervals of Clopper and Pearson. A bound above the claim means that the claim is false.

The sets are looked for by figures of the outputs. The most telling figure is the likelihood ratio of all answers that a
release was given (`Tape`): by the lemma of Neyman and Pearson, no set separates two tables better than those in which
it is high. It is used to choose sets only. How often an output is in them is counted, whatever the noise really was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.stats import beta as beta_distribution

from shoal.arrays import Array
from shoal.dp import mechanisms, sampling
from shoal.dp.calculators import sampling_delta

# How many thresholds, and how many single outputs, are tried.
THRESHOLDS = 60
OUTPUTS = 60
# Points at which an integral is evaluated: exact for noisy maxima of up to 1000 scores.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(500)

Sampler = Callable[[Any, Any], Any]


def share_interval(hits: int, runs: int, doubt: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson: each side is wrong with a probability of at most `doubt`."""
    low = float(beta_distribution.ppf(doubt, hits, runs - hits + 1)) if hits else 0.0
    high = float(beta_distribution.ppf(1 - doubt, hits + 1, runs - hits)) if hits < runs else 1.0
    return low, high


def lower_epsilon(
    hits: tuple[int, ...], runs: tuple[int, ...], *, delta: float = 0.0, confidence: float = 0.95
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
    chosen: tuple[float, Callable[[Any], Any], tuple[int, int]] | None = None
    halves = [(values[: len(values) // 2], values[len(values) // 2 :]) for values in tables]
    for event in _events(halves[0][0], halves[1][0]):
        hits = [int(event(half[0]).sum()) for half in halves]
        for order in ((0, 1), (1, 0)):
            counts, runs = tuple(hits[at] for at in order), tuple(len(halves[at][0]) for at in order)
            found = lower_epsilon(counts, runs, delta=delta, confidence=confidence)
            if chosen is None or found > chosen[0]:
                chosen = found, event, order
    if chosen is None:
        raise ValueError("an audit needs outputs")
    _, event, order = chosen
    counts = tuple(int(event(halves[at][1]).sum()) for at in order)
    return lower_epsilon(counts, tuple(len(halves[at][1]) for at in order), delta=delta, confidence=confidence)


def _events(one: Any, other: Any) -> Iterator[Callable[[Any], Any]]:
    """Yield sets of outputs, as functions from figures (runs, c) to bool[runs]."""
    both = np.concatenate([one, other])
    for column in range(both.shape[1]):
        values, counts = np.unique(both[:, column], return_counts=True)
        marks = np.unique(np.quantile(both[:, column], np.linspace(0, 1, THRESHOLDS + 2)[1:-1], method="nearest"))
        frequent = values[np.argsort(-counts, kind="stable")[:OUTPUTS]]
        yield from (
            partial(_holds, column, relation, mark) for mark in marks for relation in (np.less_equal, np.greater_equal)
        )
        yield from (partial(_holds, column, np.equal, value) for value in frequent)


def _holds(column: int, relation: Callable[[Any, Any], Any], mark: Any, figures: Any) -> Any:
    return relation(figures[:, column], mark)


def outputs(mechanism: Callable[[], Any], runs: int) -> Array:
    """Return what `runs` calls of a mechanism give, as an array of shape (runs,) or (runs, c)."""
    return np.array([mechanism() for _ in range(runs)])


# --- runs that cost little ---


@contextmanager
def made_once() -> Iterator[None]:
    """Keep what does not depend on the table: calibrated measurements, and deltas of samples. All noise is drawn."""
    calibrated, delta = mechanisms._calibrated, sampling_delta
    kept: dict[Any, Any] = {}

    def calibrate(make: Any, distance: int, epsilon: Any, kind: Any = None) -> Any:
        # That of a quantile is made with its candidates.
        key = getattr(make, "func", make), getattr(make, "args", ()), distance, epsilon
        if key not in kept:
            kept[key] = calibrated(make, distance, epsilon, kind)
        return kept[key]

    with replaced(mechanisms, "_calibrated", calibrate), replaced(sampling, "sampling_delta", lru_cache(None)(delta)):
        yield


class Batches:
    """OpenDP's noise, drawn for many answers in one call: that of a count does not depend on the count."""

    def __init__(self, size: int = 2000) -> None:
        self.size = size
        self._drawn: dict[int, tuple[Any, Array, int]] = {}

    def __call__(self, measurement: Any, data: Any) -> Any:
        """Return a noisy answer."""
        if not known(measurement)[0].startswith("L1"):
            return measurement(data)
        _, noise, at = self._drawn.get(id(measurement), (None, np.empty(0, np.int64), 0))
        if at + len(data) > len(noise):
            noise, at = np.array(measurement(np.zeros(max(self.size, len(data)), np.int64)), np.int64), 0
        self._drawn[id(measurement)] = measurement, noise, at + len(data)
        return data + noise[at : at + len(data)]


@contextmanager
def replaced(module: Any, name: str, value: Any) -> Iterator[None]:
    """Put something else in the place of a name of a module, for a while."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


# --- all that a release was told ---


class Parted(Exception):
    """A release asked other questions, although it was given the same answers."""


class Tape:
    """What a release was told, answer by answer; played to the same release of another table.

    All that a release may know of a table are noisy answers. So if it is told the same answers about a neighbouring
    table, it must ask the same questions and publish the same. Then the most that it can give away is the sum of what
    each answer gives away: its true values on both tables are known here, and so is its noise.

    Attributes
    ----------
    loss : float
        The most that the answers can give away, whatever they had been; infinite if anything else was given away.
    likelihood : float
        The logarithm of how much likelier the answers are for the first table than for the second.
    """

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self.answers: list[tuple[str, float, Array, Any]] = []
        self.loss = self.likelihood = 0.0
        self.at = 0
        self.candidates: Array | None = None

    def record(self, measurement: Any, data: Any) -> Any:
        """Answer by the sampler, and keep it."""
        told = self.sampler(measurement, data)
        self.answers.append((*known(measurement), np.array(data), told))
        return told

    def play(self, measurement: Any, data: Any) -> Any:
        """Answer as before, and add up what the answer tells about which of the two tables it is."""
        if self.at >= len(self.answers):
            raise Parted
        metric, unit, before, told = self.answers[self.at]
        self.at += 1
        is_quantile = metric.startswith("Symmetric")
        if known(measurement) != (metric, unit) or (len(data) != len(before) and not is_quantile):
            raise Parted
        if metric.startswith("L1"):
            self.loss += unit * float(np.abs(before - data).sum())
            self.likelihood += unit * float((np.abs(told - data) - np.abs(told - before)).sum())
            return told
        place = told
        if is_quantile:
            before, data = (_ranks(values, self.candidates) for values in (before, data))
            place = int(np.flatnonzero(np.asarray(self.candidates) == told)[0])
        self.loss += unit * float(np.abs(before - data).max())
        scale = (1.0 if "monotonic" in metric else 2.0) / unit
        self.likelihood += _chances(before.tobytes(), scale)[place] - _chances(data.tobytes(), scale)[place]
        return told

    def quantile(self, ledger: Any, values: Any, candidates: Any, *more: Any, **named: Any) -> Any:
        """Ask for a quantile, and keep what it is chosen from, which its measurement does not tell."""
        self.candidates = np.asarray(candidates)
        return _QUANTILE(ledger, values, candidates, *more, **named)


_QUANTILE = mechanisms.quantile
_KNOWN: dict[int, tuple[Any, str, float]] = {}


def known(measurement: Any) -> tuple[str, float]:
    """Return the metric of a measurement and what one step of it costs; they are asked once."""
    found = _KNOWN.get(id(measurement))
    if found is None or found[0] is not measurement:
        if len(_KNOWN) > 10_000:
            _KNOWN.clear()
        found = _KNOWN[id(measurement)] = measurement, str(measurement.input_metric), measurement.map(1)
    return found[1:]


def _ranks(values: Array, candidates: Any) -> Array:
    """Return int64[m]: how evenly each candidate divides values; the scores of a private median."""
    ordered = np.sort(values)
    below = np.searchsorted(ordered, candidates, "left")
    above = len(ordered) - np.searchsorted(ordered, candidates, "right")
    return np.asarray(-np.abs(below - above))


@lru_cache(4096)
def _chances(scores: bytes, scale: float) -> Array:
    """Return float64[m]: the logarithm of the probability that each of some scores is the noisy maximum.

    With exponential noise and a = exp((score - highest) / scale), score i wins with the probability of a[i] times the
    integral from 0 to 1 of the product over all other j of 1 - u a[j], a polynomial.
    """
    values = np.frombuffer(scores, np.int64).astype(float)
    a = np.exp((values - values.max()) / scale)
    u = (NODES + 1) / 2
    logs = np.log1p(-np.outer(u, a) * (1 - 1e-15))
    product = np.exp(logs.sum(axis=1, keepdims=True) - logs)
    found: Array = np.log(a) + np.log(WEIGHTS @ product / 2)
    return found


def told(release: Callable[[Any], Any], one: Any, other: Any, sampler: Sampler = mechanisms.drawn) -> Tape:
    """Return the tape of a release of `one`, played to `other`: infinite loss if that makes any difference."""
    tape = Tape(sampler)
    with replaced(mechanisms, "quantile", tape.quantile):
        with replaced(mechanisms, "drawn", tape.record):
            first = release(one)
        with replaced(mechanisms, "drawn", tape.play):
            try:
                second = release(other)
            except Parted:
                second = None
    same = second is not None and tape.at == len(tape.answers)
    if not (same and all(np.array_equal(a, b) for a, b in zip(_published(first), _published(second), strict=True))):
        tape.loss = tape.likelihood = math.inf
    return tape


def _published(released: Any) -> tuple[Any, ...]:
    """Return what a release, or a mechanism, made known."""
    if not hasattr(released, "positions"):
        return (np.asarray(released),)
    counts = released.counts if released.counts is not None else np.empty(0)
    return released.positions, counts, np.array(released.said)
