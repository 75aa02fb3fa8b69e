"""What is asked about the boxes of a tree, and the release that is made from the answers."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.dp import mechanisms
from shoal.dp.budget import Ledger
from shoal.dp.cuts import UNIT
from shoal.dp.domain import Coded, Domain
from shoal.dp.released import Released, repeated
from shoal.dp.trees import Tree, consistent

# Categories of an attribute with more are not counted in every box: its most frequent one is asked for.
MOST_CATEGORIES = 256
# Fewer boxes are not compared among themselves.
FEW = 8


class Answers(NamedTuple):
    """Noisy answers about boxes.

    Attributes
    ----------
    domain : Domain
    lower, upper : int64[m, d]
        The boxes.
    counts : float64[m]
        Noisy counts, consistent with those of larger boxes.
    offsets : float64[m, d]
        Centres relative to the middle of the box, in halves of its width; NaN for categories.
    frequencies : {attribute: float64[m, size]}
        Noisy counts of categories, 0 outside of the box.
    modes : {attribute: int64[m]}
        The most frequent category, as far as noise tells, of attributes with many.
    """

    domain: Domain
    lower: Array
    upper: Array
    counts: Array
    offsets: Array
    frequencies: dict[int, Array]
    modes: dict[int, Array]


def described(coded: Coded, tree: Tree, ledger: Ledger, epsilon: Fraction) -> Answers:
    """Ask for sums and frequencies in all leaves of a tree, for this epsilon altogether."""
    attributes = list(coded.domain.columns.values())
    ordered = [at for at, one in enumerate(attributes) if one.ordered]
    counted = [at for at, one in enumerate(attributes) if not one.ordered and one.size <= MOST_CATEGORIES]
    large = [at for at, one in enumerate(attributes) if not one.ordered and one.size > MOST_CATEGORIES]
    leaves = tree.leaves
    lower = np.array([tree.lower[box] for box in leaves])
    upper = np.array([tree.upper[box] for box in leaves])
    counts = consistent(tree)[leaves]
    share = epsilon / len(attributes)
    modes = {at: _modes(coded, tree, at, ledger, share) for at in large}
    asked = len(ordered) + len(counted)
    offsets = np.full(lower.shape, np.nan)
    frequencies: dict[int, Array] = {}
    if asked:
        exact = _sums(coded, tree, ordered, counted, lower, upper)
        noisy = mechanisms.laplace(
            *(ledger, exact, share * asked),
            sensitivity=asked * UNIT,
            what="sums and frequencies in the boxes, relative to the box",
        ).astype(np.float64)
        noisy /= UNIT
        variance = 2.0 * (asked * ledger.neighbours.rows / float(share * asked)) ** 2
        sums, rest = np.split(noisy, [len(leaves) * len(ordered)])
        offsets[:, ordered] = centred(
            sums.reshape(len(leaves), -1), counts, variance, _sides(coded.domain, lower, upper)[:, ordered]
        )
        frequencies = _by_category(coded.domain, counted, lower, upper, rest)
    return Answers(coded.domain, lower, upper, counts, offsets, frequencies, modes)


def _sums(coded: Coded, tree: Tree, ordered: list[int], counted: list[int], lower: Array, upper: Array) -> Array:
    """Return int64: sums of every leaf, then its counts of categories; a record adds UNIT to each at most."""
    sums = np.zeros((len(lower), len(ordered)), np.int64)
    tallies: list[list[Array]] = [[] for _ in counted]
    for number, box in enumerate(tree.leaves):
        start, end = tree.rows[box]
        inside = coded.codes[tree.order[start:end]]
        for at, attribute in enumerate(ordered):
            low, high = lower[number, attribute], upper[number, attribute]
            if low < high:
                # From -UNIT at the lower end of the box to UNIT at the upper one.
                relative = (2 * inside[:, attribute] - (low + high)) / (high - low)
                sums[number, at] = int(np.rint(relative * UNIT).sum())
        for at, attribute in enumerate(counted):
            low, high = lower[number, attribute], upper[number, attribute]
            if low < high:  # otherwise all are alike, which the box tells
                tallies[at].append(UNIT * np.bincount(inside[:, attribute] - low, minlength=high + 1 - low))
    flat = [tally for of_attribute in tallies for tally in of_attribute]
    return np.concatenate([sums.ravel(), *flat]).astype(np.int64)


def _by_category(domain: Domain, counted: list[int], lower: Array, upper: Array, noisy: Array) -> dict[int, Array]:
    """Return the noisy counts of categories, laid out as `_sums` does, as a table for each attribute."""
    result, at = {}, 0
    for attribute in counted:
        table = np.zeros((len(lower), domain.sizes[attribute]))
        for number in range(len(lower)):
            low, high = int(lower[number, attribute]), int(upper[number, attribute])
            if low == high:
                table[number, low] = 1.0
                continue
            wide = high + 1 - low
            table[number, low : high + 1] = noisy[at : at + wide]
            at += wide
        result[attribute] = table
    return result


def _modes(coded: Coded, tree: Tree, attribute: int, ledger: Ledger, epsilon: Fraction) -> Array:
    """Return int64[leaves]: a frequent category of each leaf, by a noisy maximum of counts."""
    boxes = ledger.parallel("the most frequent category in the boxes", epsilon)
    modes = []
    for box in tree.leaves:
        low, high = int(tree.lower[box][attribute]), int(tree.upper[box][attribute])
        if low == high:
            modes.append(low)
            continue
        start, end = tree.rows[box]
        counts = np.bincount(coded.codes[tree.order[start:end], attribute] - low, minlength=high + 1 - low)
        modes.append(low + mechanisms.noisy_maximum(boxes[box], counts, epsilon, monotonic=True))
    return np.array(modes)


def centred(sums: Array, counts: Array, variance: float, sides: Array) -> Array:
    """Return float64[m, d]: centres relative to boxes, drawn towards those of similar boxes as noise demands.

    A centre is a noisy sum divided by a noisy count. Boxes that lie alike in an attribute (at its lower bound, at its
    upper one, between) have centres that are alike. How much they differ is the spread of the noisy centres beyond that
    of the noise, and the less they differ, the more a noisy centre is drawn towards their mean. It needs nothing but
    noisy answers, so that it costs no privacy.

    Parameters
    ----------
    sums : float64[m, d]
        Sums of records, each from -1 to 1.
    counts : float64[m]
    variance : float
        Of the noise of the sums.
    sides : int64[m, d]
        How a box lies in an attribute.
    """
    records = np.maximum(counts, 0.25 * max(float(np.median(counts)), 4.0))
    records = np.maximum(records, 1.0)
    noise = variance / records**2
    result = np.clip(sums / records[:, None], -1.0, 1.0)
    for at in range(sums.shape[1]):
        raw = sums[:, at] / records
        for side in np.unique(sides[:, at]):
            alike = np.flatnonzero(sides[:, at] == side)
            if len(alike) < FEW:
                alike, prior, spread = alike, 0.0, 1.0 / 3.0
            else:
                weights = 1.0 / (noise[alike] + 1.0 / 3.0)
                prior = float(np.clip(np.average(raw[alike], weights=weights), -1.0, 1.0))
                beyond = (raw[alike] - prior) ** 2 - noise[alike]
                spread = float(np.clip(np.average(beyond, weights=weights**2), 1e-3, 1.0))
            keep = spread / (spread + noise[alike])
            result[alike, at] = np.clip(prior + keep * (raw[alike] - prior), -1.0, 1.0)
    return result


def _sides(domain: Domain, lower: Array, upper: Array) -> Array:
    """Return int64[m, d]: whether boxes end at the lower bound (1) or the upper bound (2) of an attribute, or both."""
    sides: Array = (lower == 0).astype(np.int64) + 2 * (upper == np.array(domain.sizes) - 1)
    return sides


def released(answers: Answers, form: str, random: np.random.Generator | None = None) -> Released:
    """Return the centres of boxes with their counts, or records drawn from them.

    Parameters
    ----------
    answers : Answers
    form : "records" or "aggregated"
    random : Generator or None
        For the records; it need not be secret, because everything it is used on is noisy already.
    """
    counts = np.maximum(np.rint(answers.counts), 0).astype(np.int64)
    positions = np.where(np.isnan(answers.offsets), 0.0, _centres(answers))
    for at, table in answers.frequencies.items():
        positions[:, at] = table.argmax(axis=1)
    for at, modes in answers.modes.items():
        positions[:, at] = modes
    if form == "aggregated":
        kept = counts > 0
        return Released(answers.domain, positions[kept], counts[kept])
    generator = np.random.default_rng() if random is None else random
    box = repeated(counts, positions.shape[1])
    drawn = positions[box]
    for at in range(positions.shape[1]):
        if at in answers.frequencies:
            drawn[:, at] = _categories(np.maximum(answers.frequencies[at], 0.0), box, generator)
        elif at not in answers.modes:
            low, high = answers.lower[box, at], answers.upper[box, at]
            drawn[:, at] = _within(low - 0.5, high + 0.5, drawn[:, at], generator)
    return Released(answers.domain, drawn[generator.permutation(len(drawn))])


def _centres(answers: Answers) -> Array:
    centres: Array = (answers.lower + answers.upper) / 2 + answers.offsets * (answers.upper - answers.lower) / 2
    return centres


def _within(low: Array, high: Array, centre: Array, generator: np.random.Generator) -> Array:
    """Return numbers between bounds that have this mean: evenly spread on either side of it."""
    below = generator.random(len(centre)) * (high - low) < high - centre
    share = generator.random(len(centre))
    result: Array = np.where(below, low + share * (centre - low), centre + share * (high - centre))
    return result


def _categories(table: Array, box: Array, generator: np.random.Generator) -> Array:
    """Return int64[n]: categories drawn with the frequencies of their boxes, box by box."""
    total = table.sum(axis=1, keepdims=True)
    inside = np.where(total > 0, table, 0.0)
    shares = np.cumsum(inside / np.where(total > 0, total, 1.0), axis=1)
    result = np.empty(len(box), np.int64)
    for number in np.unique(box):
        rows = np.flatnonzero(box == number) if len(table) < 2 else slice(*np.searchsorted(box, [number, number + 1]))
        size = len(box[rows])
        result[rows] = np.minimum(np.searchsorted(shares[number], generator.random(size), "right"), table.shape[1] - 1)
    return result
