"""What is still at risk in a release, and what it is still good for: in figures that anybody may see.

Chances and guesses are counted on the published table, as whoever has it can do. What is left of columns comes from the
losses and correlations that the report tells anyway, rounded by the one rule. Nothing else of the originals is here:
how many links by distance would be right is for whoever holds them to know, and no business of an intruder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.privacy.classes import classes_of, codes_of
from shoal.release.report.evidence import Evidence
from shoal.tables import frames

if TYPE_CHECKING:
    from shoal.arrays import Array
    from shoal.release.measures.told import Told
    from shoal.release.release import Release

# Sensitive attributes with more values than this are not guessed by their most frequent one.
FEW = 50
# Attributes that are drawn.
MOST = 12


class Bar(NamedTuple):
    """A line of a picture: words, a number, the length of a bar as a share, and whether it is there to compare.

    What was drawn at random has an interval: its words, and the places where it begins and ends, as shares.
    """

    words: str
    number: str
    length: float
    compare: bool = False
    interval: str = ""
    low: float = 0.0
    high: float = 0.0


class Answer(NamedTuple):
    """A question about a release, its picture, and a sentence on how to read it."""

    asks: str
    bars: tuple[Bar, ...]
    reads: str


class Standing(NamedTuple):
    """What is still at risk, and what the release is still good for."""

    risk: tuple[Answer, ...]
    use: tuple[Answer, ...]


def standing_of(release: Release, told: Told) -> Standing:
    """Return what may be told to everyone of the risk and the use of a release."""
    use = [_kept(told), _related(release.evidence)]
    return Standing((_found(release), *_learnt(release)), tuple(one for one in use if one is not None))


def _found(release: Release) -> Answer:
    audit = release.audit
    bars = (
        Bar("highest chance of any record", _percent(1 / release.k), 1 / release.k),
        Bar("average chance of a record", _percent(audit.classes / audit.rows), audit.classes / audit.rows),
        Bar(f"limit by k = {release.plan.k}, which was wanted", _percent(1 / release.plan.k), 1 / release.plan.k, True),
    )
    return Answer(
        "How likely is it that somebody’s record is found?",
        bars,
        "Someone who knows all quasi-identifiers of a person is left with the records of a group, and guesses among "
        "them. However the group was found, by equal values or by the nearest ones, the chance is no higher than this.",
    )


def _learnt(release: Release) -> Iterator[Answer]:
    """Yield what groups reveal about sensitive attributes of few values: the share of right guesses."""
    known = release.quasi_identifiers
    names = [c.name for c in release.columns if c.role == "sensitive" and c.name not in known]
    if not names:
        return
    table = frames.to_arrow(release.table, "report", [*known, *names])
    first, of = np.unique(release.labels, return_index=True, return_inverse=True)[1:]
    # Records of a group publish the same: one of each is enough to see which groups do so as well.
    classes = classes_of(table.select(known).take(first), known)[of]
    for name in names:
        codes = codes_of(table.column(name))
        if int(codes.max()) < FEW:
            yield _guessed(name, classes, codes)


def _guessed(name: str, classes: Array, codes: Array) -> Answer:
    values = int(codes.max()) + 1
    pairs, counts = np.unique(classes * values + codes, return_counts=True)
    starts = np.unique(pairs // values, return_index=True)[1]
    guessed = float(np.maximum.reduceat(counts, starts).sum()) / len(codes)
    without = float(np.bincount(codes).max()) / len(codes)
    return Answer(
        f"What does the group of a record reveal about {name}?",
        (
            Bar("right guesses by the most frequent value of the group", _percent(guessed), guessed),
            Bar("right guesses without groups", _percent(without), without, True),
        ),
        "The closer both bars are, the less a group reveals. In small groups, the first is longer by chance alone: the "
        "most frequent of a few values is a large part of them.",
    )


def _kept(told: Told) -> Answer | None:
    shares = {name: round(1 - loss, 6) for name, loss in told.by_attribute.items() if loss is not None}
    if not shares:
        return None
    listed = sorted(shares.items(), key=lambda pair: pair[1])
    bars = [Bar(name, _percent(share), share) for name, share in listed[:MOST]]
    more = f" {len(listed) - MOST} more columns keep more than these." if len(listed) > MOST else ""
    return Answer(
        "How much of each column’s variation is left?",
        tuple(bars),
        "What is left between groups is what tables, models and comparisons of larger parts of the table rest on; "
        f"differences within groups are gone. Figures are rounded.{more}",
    )


def _related(evidence: Evidence) -> Answer | None:
    changes = _changes(evidence)
    if not changes:
        return None
    average, most = sum(changes) / len(changes), max(changes)
    return Answer(
        "Are columns related as they were?",
        (
            Bar("change of correlations, on average", f"{average:.2f}", min(1.0, average)),
            Bar("change of the pair that changed most", f"{most:.2f}", min(1.0, most)),
        ),
        "Correlations go from −1 to 1, so that a change of 0.05 is small and one of 0.5 is large. Averages within "
        "groups remove noise and make most correlations stronger.",
    )


def _changes(evidence: Evidence) -> Sequence[float]:
    found = evidence.correlations
    if found is None:
        return []
    return [
        abs(round(after - before, 2))
        for i in range(len(found.names))
        for before, after in zip(found.before[i][:i], found.after[i][:i], strict=True)
        if before is not None and after is not None
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.3g}\N{NO-BREAK SPACE}%" if share < 0.9995 else f"{100 * share:.4g}\N{NO-BREAK SPACE}%"
