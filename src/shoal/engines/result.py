"""A release that was made in pieces: all that is known of it but its rows, which are in its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.plan import Plan
from shoal.privacy.audit import Audit
from shoal.release.counted import Measured
from shoal.release.groups.blocks import Block
from shoal.release.measures.losses import Losses
from shoal.release.measures.utility import Utility
from shoal.release.report.comparison import Comparison
from shoal.release.saving import Reported
from shoal.tables.schema import Attribute, Column

if TYPE_CHECKING:
    from shoal.io import Source, Written
    from shoal.release.report.evidence import Evidence


@dataclass(frozen=True, eq=False, repr=False)
class LargeRelease(Measured, Reported):
    """A release in a file, which was verified there.

    It has the figures of :class:`shoal.Release`, but neither rows nor groups, and of the measures only those that
    blocks add up to: groups are not drawn in the report, and nothing is told of how wide they are.

    Attributes
    ----------
    plan, columns, attributes, blocks, audit, losses, utility, warnings, timings
        As of :class:`shoal.Release`; the blocks have no labels.
    cells : pyarrow.Table or None
        The different values of each sensitive column with demands.
    comparison : Comparison
        Distributions, figures and correlations before and after.
    way : str
        In how many blocks and rounds the groups were formed.
    """

    plan: Plan
    columns: tuple[Column, ...]
    attributes: tuple[Attribute, ...]
    blocks: tuple[Block, ...]
    audit: Audit
    losses: Losses
    utility: Utility
    missing_counts: tuple[tuple[str, int], ...]
    rows_in: int
    rows_dropped: int
    warnings: tuple[str, ...]
    timings: Mapping[str, float]
    comparison: Comparison = field(default_factory=Comparison)
    way: str = ""
    cells: Mapping[str, Any] = field(default_factory=dict)
    text: bool = False
    source: Source | None = None
    written: Written | None = None
    created: str = field(default_factory=lambda: datetime.now().astimezone().isoformat(timespec="seconds"))

    rows_removed = 0
    lower_bound = None
    gap = None
    stopped = False
    people = None

    @property
    def loss_in_all(self) -> float:
        """Return the loss of all records: none was left out."""
        return self.losses.total

    @property
    def evidence(self) -> Evidence:
        """Return the aggregates that the report shows: the sizes of groups, and attributes before and after."""
        from shoal.release.report.drawn_groups import sizes_of
        from shoal.release.report.evidence import Evidence

        found = sorted(self.audit.sizes.items())
        sizes = sizes_of(*np.array(found, np.int64).reshape(-1, 2).T)
        return Evidence(self.audit.rows, self.plan.k, sizes, *self.comparison, None)

    def columns_of(self, names: list[str]) -> dict[str, Any]:
        """Return the different values of sensitive columns with demands, each as a table of one column."""
        return {name: self.cells[name] for name in names}

    def _page(self) -> str:
        from shoal.release.report.facts import facts_of
        from shoal.release.report.render import render

        return render(facts_of(self))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        where = "" if self.written is None else f" in {self.written.name}"
        return (
            f"LargeRelease({self.audit.rows} rows in {self.audit.classes} groups{where}, k = {self.k}, "
            f"loss {100 * self.loss:.3g} %)"
        )
