"""What the questions about a release are asked of: both tables, read once, and how much may be looked at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shoal.release.assessments.tables import ROW, Tables
from shoal.risk import Pair
from shoal.risk.keys import Keys
from shoal.tables.pairs import Settings

CALLER = "shoal.assess"


@dataclass
class Case:
    """A release and its original, as questions are asked of them.

    Attributes
    ----------
    tables : Tables
    sample : int
        How many records attacks and models get.
    seed : int
    n_jobs : int or None
    people : int or None
        The size of the population; None: not known.
    held_out : pyarrow.Table or None
        Records that were set aside before the release was made, with the columns that can be compared.
    """

    tables: Tables
    sample: int
    seed: int
    n_jobs: int | None
    people: int | None = None
    held_out: Any = None

    @cached_property
    def before(self) -> Keys:
        """Return the keys of the original."""
        return Keys.of(self.tables.before, list(self.tables.roles.quasi_identifiers), CALLER)

    @cached_property
    def after(self) -> Keys:
        """Return the keys of the release."""
        return Keys.of(self.tables.after, list(self.tables.roles.quasi_identifiers), CALLER)

    @cached_property
    def pair(self) -> Pair:
        """Return the quasi-identifiers that can be compared."""
        return self.of(list(self.tables.known))

    @cached_property
    def guessed(self) -> Pair:
        """Return these and the sensitive attributes that can be compared."""
        return self.of([*self.tables.known, *self.secrets])

    @property
    def secrets(self) -> list[str]:
        """Return the sensitive attributes that can be compared."""
        return [name for name in self.tables.roles.sensitive if name in self.tables.compared]

    def of(self, names: list[str]) -> Pair:
        """Return some columns of both tables."""
        return Pair.of(self.tables.original, self.tables.release, names, CALLER, Settings(by=ROW))

    @property
    def drawn(self) -> dict[str, Any]:
        """Return the sample of records, and the seed, as measures take them."""
        return {"sample": self.sample, "random_state": self.seed}

    @property
    def told(self) -> str:
        """Return a sentence on the sample, if there is one."""
        n = len(self.tables.rows)
        return f" Of {self.sample:,} records, drawn at random." if self.sample < n else ""
