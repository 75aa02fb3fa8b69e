"""The release: the table to publish, and all that is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from shoal.arrays import Array
from shoal.plan import Plan
from shoal.privacy.audit import Audit, require_privacy
from shoal.release.counted import Measured
from shoal.release.groups.blocks import Block
from shoal.release.later import Later
from shoal.release.measures.losses import Losses
from shoal.release.measures.utility import Utility
from shoal.release.report.evidence import Evidence
from shoal.release.saving import Saved
from shoal.release.verified import Verified
from shoal.tables.schema import Attribute, Column

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shoal.io import Source, Written
    from shoal.release.assessments.assessment import Assessment


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release(Measured, Saved):
    """A table in which k has been verified.

    A release is immutable: arrays and mappings are read-only, and `table`, `missing`, `certificate` and
    `record` return a new object each time.

    Attributes
    ----------
    table : data frame
        The table to publish, of the same kind as the original.
    verified : Verified
        The table with its audit.
    labels : int64[n]
        The group of each published row. Do not publish it.
    plan : Plan
    columns, attributes : roles of the columns; the quasi-identifiers and how they were published
    audit : Audit
        The audit of the published table.
    blocks : blocks of attributes with their partitions
    losses : Losses
    loss_in_all : float
        The loss of all records, with those that were left out counted as lost: replaced by the mean of the table.
    lower_bound : float or None
        A loss that no groups allowed by the plan can go below; None if unknown.
    missing, missing_counts : {name: int}, pairs of name and int
        The number of missing values of each quasi-identifier.
    rows_in, rows_dropped, rows_removed : int
        Rows of the input; dropped because of a missing value; removed because their cells have fewer than k records, or
        left out within the limit of the plan (`suppress`).
    warnings : tuple of str
        What weakens the protection.
    timings : {step: seconds}
    evidence : Evidence
        Aggregates before and after, none of which reveals a record.
    utility : Utility
        Measures of recoding schemes: NCP, Total-IL, C_AVG, C_DM. Of a small table, both are computed when they are
        first asked for; until then, the release keeps the values that they are computed from.
    text : bool
        Whether the table contains text as in a CSV file.
    people : pyarrow.Table or None
        The population in which matches were counted.
    kept : int64[n] or None
        The row of the input of each published row, if some were left out and rows were not shuffled: with it, a release
        can be assessed. Do not publish it.
    source, written : Source and Written, or None
        The files that were read and written.
    stopped : bool
        Whether somebody ended the search early, so that the same plan may give other groups.
    """

    verified: Verified
    labels: Array
    plan: Plan
    columns: tuple[Column, ...]
    attributes: tuple[Attribute, ...]
    blocks: tuple[Block, ...]
    losses: Losses
    loss_in_all: float
    missing_counts: tuple[tuple[str, int], ...]
    rows_in: int
    rows_dropped: int
    rows_removed: int
    warnings: tuple[str, ...]
    timings: Mapping[str, float]
    later_evidence: Later[Evidence] = field(repr=False)
    later_utility: Later[Utility] = field(repr=False)
    lower_bound: float | None = None
    text: bool = False
    people: Any = None
    kept: Array | None = field(default=None, repr=False)
    source: Source | None = None
    written: Written | None = None
    stopped: bool = False
    created: str = field(default_factory=lambda: _now())

    def __post_init__(self) -> None:
        own = () if self.kept is None else (self.kept,)
        for array in (self.labels, *own, *(block.labels for block in self.blocks)):
            array.flags.writeable = False
        object.__setattr__(self, "timings", MappingProxyType(dict(self.timings)))

    @property
    def table(self) -> Any:
        """Return the table to publish, a new data frame each time."""
        return self.verified.table

    @property
    def audit(self) -> Audit:
        """Return the audit of the published table."""
        return self.verified.audit

    @property
    def evidence(self) -> Evidence:
        """Return the aggregates that the report shows; those of small tables are computed when they are needed."""
        return self.later_evidence()

    @property
    def utility(self) -> Utility:
        """Return the measures of recoding schemes; those of small tables are computed when they are needed."""
        return self.later_utility()

    @property
    def gap(self) -> float | None:
        """Return an upper limit on how far the loss is above the best possible, as a fraction of it.

        0 if the loss is proven to be the best possible, infinity if the bound is 0, None if there is no bound.
        """
        from shoal.measure.bounds import gap

        return None if self.lower_bound is None else gap(self.loss, self.lower_bound)

    def columns_of(self, names: list[str]) -> dict[str, Any]:
        """Return published columns, each as a pyarrow.Table."""
        from shoal.tables.frames import to_arrow

        return {name: to_arrow(self.table, "certificate", [name]) for name in names}

    def _page(self) -> str:
        from shoal.release.report.facts import facts_of
        from shoal.release.report.render import render

        return render(facts_of(self, complete=True))

    def assess(self, original: Any, **options: Any) -> Assessment:
        """Assess the release: what an intruder can still do with it, and what an analyst can.

        Parameters
        ----------
        original : path, Source or data frame
            The table that the release was made from.
        **options
            Of :func:`shoal.assess`. Roles, weights and types are those of the plan.
        """
        import shoal

        plan = self.plan
        types = {name: kind for name, kind in plan.types.items() if name in self.quasi_identifiers}
        ours = {"sensitive_attributes": plan.sensitive_attributes, "weight": plan.weight, "types": types}
        return shoal.assess(original, self, **{**ours, **options})

    def plot(self, what: str = "all") -> Figure:
        """Draw the release with matplotlib, from the figures of the report.

        Every picture may be published with the release: it shows what the report shows, which tells nothing of the
        originals that the certificate does not. Figures that the report does not tell are not drawn.

        Parameters
        ----------
        what : "all", "loss", "sizes" or "columns"
            The loss of each attribute, the sizes of groups, each quasi-identifier before and after, or all of them.

        Returns
        -------
        matplotlib.figure.Figure
            Notebooks show it; ``savefig`` writes it to a file.

        Raises
        ------
        ShoalError
            If matplotlib is not installed: ``pip install 'shoal[plot]'``.
        """
        from shoal.release.report.facts import facts_of
        from shoal.release.report.plots import figure_of

        return figure_of(facts_of(self), what)

    def check(self, source: Source) -> None:
        """Raise an error unless k, counting rows, and all models hold in every block of a table that was read again."""
        from shoal.release.verification import audit_of

        for block in self.blocks:
            names = [*block.columns, *self.plan.stratum]
            require_privacy(audit_of(source, names, self.plan.k, self.plan, self.people), "The file")

    def _repr_html_(self) -> str:
        """Return what notebooks show: the main figures, none of which says more than the certificate."""
        from shoal.release.report.facts import facts_of
        from shoal.release.report.render import render_summary

        return render_summary(facts_of(self))

    def __repr__(self) -> str:
        from shoal.release.report.demands import demand_in_words

        units = "" if self.audit.k_units is None else f", k = {self.audit.k_units} in units"
        units += "".join(f", {demand_in_words(finding)}" for finding in self.audit.models)
        return (
            f"Release({self.audit.rows} rows in {self.audit.classes} groups, k = {self.audit.k}{units}, "
            f"loss {100 * self.loss:.3g} %)"
        )


def _now() -> str:
    from datetime import datetime

    return datetime.now().astimezone().isoformat(timespec="seconds")
