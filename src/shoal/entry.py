"""What the registries of `shoal.measure` and of `shoal.risk` say of a measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Entry:
    """A measure: what it answers, how it is computed, who described it, and what it costs.

    Attributes
    ----------
    package : str
        The package that has the function: "measure" or "risk".
    name : str
        Of the function.
    kind : str
        Under which it is listed; each registry has kinds of its own.
    question : str
        What it answers, as somebody would ask.
    figure : str
        The fields to read first.
    formula : str
    baseline : str
        What the figure should be compared with, such as what it is if nothing is lost.
    paper : str
    cost : str
        For n records, d attributes and g groups.
    shareable : str
        Which figures may be published with a release.
    """

    package: ClassVar[str]
    name: str
    kind: str
    question: str
    figure: str
    formula: str
    baseline: str
    paper: str
    cost: str
    shareable: str

    def load(self) -> Callable[..., Any]:
        """Return the function."""
        import shoal

        loaded: Callable[..., Any] = getattr(getattr(shoal, self.package), self.name)
        return loaded
