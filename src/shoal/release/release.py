"""What comes out: the table that may be published, and all that is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.plan import Plan
from shoal.privacy.audit import Audit, require_privacy
from shoal.progress import Progress
from shoal.release.groups.blocks import Block
from shoal.release.measures.losses import Losses
from shoal.release.measures.utility import Utility
from shoal.release.report.evidence import Evidence
from shoal.release.verified import Verified
from shoal.tables.schema import Attribute, Column

if TYPE_CHECKING:
    from os import PathLike

    from shoal.io import Source, Written

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release:
    """A table in which k has been verified.

    It cannot be changed: arrays and mappings are read-only, and `table`, `missing` and `manifest` are made anew each
    time.

    Attributes
    ----------
    table : data frame
        To be published, of the kind that came in.
    verified : Verified
        The table and its audit, kept together.
    labels : int64[n]
        Group of each published row. Not to be published.
    plan : Plan
    columns, attributes : roles of the columns; the quasi-identifiers and how they were published
    audit : Audit
        What was counted on the published table.
    blocks : blocks of attributes with their partitions
    losses : Losses
    lower_bound : float or None
        No groups that the plan allows have a smaller loss; None if nothing is known.
    missing, missing_counts : {name: int}, pairs of name and int
        Missing values of each quasi-identifier.
    rows_in, rows_dropped, rows_removed : int
        Dropped for a missing value; removed with a cell of fewer than k.
    warnings : tuple of str
        What weakens the protection.
    timings : {step: seconds}
    evidence : Evidence
        Aggregates before and after, none of which gives a record away.
    utility : Utility
        What is left, in the units of recoding schemes: NCP, Total-IL, C_AVG, C_DM.
    text : bool
        Whether the table holds text as written in a CSV file.
    people : pyarrow.Table or None
        The population that it was held against.
    source, written : Source and Written, or None
        The files.
    """

    verified: Verified
    labels: Array
    plan: Plan
    columns: tuple[Column, ...]
    attributes: tuple[Attribute, ...]
    blocks: tuple[Block, ...]
    losses: Losses
    missing_counts: tuple[tuple[str, int], ...]
    rows_in: int
    rows_dropped: int
    rows_removed: int
    warnings: tuple[str, ...]
    timings: Mapping[str, float]
    evidence: Evidence
    utility: Utility
    lower_bound: float | None = None
    text: bool = False
    people: Any = None
    source: Source | None = None
    written: Written | None = None
    created: str = field(default_factory=lambda: _now())

    def __post_init__(self) -> None:
        for array in (self.labels, *(block.labels for block in self.blocks)):
            array.flags.writeable = False
        object.__setattr__(self, "timings", MappingProxyType(dict(self.timings)))

    @property
    def table(self) -> Any:
        """Return the table to be published, a data frame of its own each time."""
        return self.verified.table

    @property
    def audit(self) -> Audit:
        """Return what was counted on the published table."""
        return self.verified.audit

    @property
    def missing(self) -> dict[str, int]:
        """Return the number of missing values of each quasi-identifier."""
        return dict(self.missing_counts)

    @property
    def loss(self) -> float:
        """Return SSE / SST over all quasi-identifiers, from 0 (nothing lost) to 1."""
        return self.losses.total

    @property
    def gap(self) -> float | None:
        """Return by how much the loss is above the best possible at most, as a fraction of that.

        0 if it is proven to be the best possible, infinity if any smaller loss may be possible, None if no bound is
        known.
        """
        from shoal.measure.bounds import gap

        return None if self.lower_bound is None else gap(self.loss, self.lower_bound)

    @property
    def k(self) -> int:
        """Return the k that holds on the published table: in units, if they were counted."""
        return self.audit.k if self.audit.k_units is None else self.audit.k_units

    @property
    def risk(self) -> float:
        """Return the highest chance of picking the right record of somebody whose quasi-identifiers are known."""
        return 1 / self.k

    @property
    def quasi_identifiers(self) -> list[str]:
        """Return the published columns that others may know, strata among them."""
        return [name for a in self.attributes for name in a.columns] + list(self.plan.stratum)

    @property
    def manifest(self) -> dict[str, Any]:
        """Return the record of what was done, without any value of the table."""
        from shoal.release.manifest import manifest_of

        return manifest_of(self)

    def report(self, path: str | PathLike[str] | None = None, *, force: bool = False) -> str:
        """Return the report as HTML; it is written to `path` if one is given."""
        from shoal.release.report.facts import facts_of
        from shoal.release.report.render import render

        page = render(facts_of(self))
        if path is not None:
            from shoal.release.files import write_text

            write_text(page, path, force=force)
        return page

    def save(
        self,
        path: str | PathLike[str],
        *,
        manifest: str | PathLike[str] | None = None,
        report: str | PathLike[str] | None = None,
        force: bool = False,
        progress: Progress | None = None,
        **options: Any,
    ) -> Release:
        """Write the release, re-read and verified before the file gets its name.

        Parameters
        ----------
        path : path or address
            A file or a database, see :func:`shoal.io.write`.
        manifest, report : path or None
            Where to write them.
        force : bool
            Whether what is there is replaced.
        progress : callable or None
        **options
            Of :func:`shoal.io.write`.

        Returns
        -------
        Release
            This one, with the hash of the file in its manifest.
        """
        from shoal.release.files import save

        return save(self, path, manifest=manifest, report=report, force=force, progress=progress, **options)

    def check(self, source: Source) -> None:
        """Raise unless k holds in a table that was read again, by rows and in every block, and all models do."""
        from shoal.release.files import audit_of

        for block in self.blocks:
            names = [*block.columns, *self.plan.stratum]
            require_privacy(audit_of(source, names, self.plan.k, self.plan, self.people), "The file")

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
