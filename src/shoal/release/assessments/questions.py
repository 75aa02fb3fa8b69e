"""Questions and their answers: figures, each beside what it should be compared with."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, NamedTuple


class Figure(NamedTuple):
    """A number.

    Attributes
    ----------
    name : str
        Of the field of a measure, such as "correct".
    words : str
        What it is, in a few words.
    value : float
        NaN where it is not defined.
    share : bool
        Whether it is a share of 1, and shown in per cent.
    compare : bool
        Whether it is there to be compared with.
    interval : tuple of two floats, or None
        The 95 % confidence interval, where the value comes from a sample.
    """

    name: str
    words: str
    value: float
    share: bool = True
    compare: bool = False
    interval: tuple[float, float] | None = None

    def plain(self) -> float | None:
        """Return the value for JSON: None where it is not defined."""
        return self.value if isfinite(self.value) else None


@dataclass(frozen=True)
class Question:
    """A question about a release, and its answer.

    Attributes
    ----------
    name : str
        Short, such as "linkage".
    kind : "risk" or "utility"
    asks : str
        As somebody would ask.
    reads : str
        A sentence on how to read the figures.
    figures : tuple of Figure
        The one to read first comes first.
    """

    name: str
    kind: Literal["risk", "utility"]
    asks: str
    reads: str
    figures: tuple[Figure, ...]

    def __getitem__(self, name: str) -> float:
        """Return a figure by its name."""
        for figure in self.figures:
            if figure.name == name:
                return figure.value
        raise KeyError(name)

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "kind": self.kind,
            "question": self.asks,
            "figures": {one.name: one.plain() for one in self.figures if not one.compare},
            "compare_with": {one.name: one.plain() for one in self.figures if one.compare},
            "intervals": {one.name: list(one.interval) for one in self.figures if one.interval is not None},
        }
