"""The updated release: the earlier table with new rows, and what was counted on both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError
from shoal.plan import Plan
from shoal.privacy.audit import Audit, require_privacy
from shoal.privacy.intersection import (
    Intersection,
    Rule,
    asked,
    intersected,
    refuse_several_types,
    require_intersection,
)
from shoal.progress import Progress
from shoal.release.counted import Counted
from shoal.release.updates.earlier import Earlier
from shoal.release.verified import Verified
from shoal.tables.schema import Attribute, Column

if TYPE_CHECKING:
    from os import PathLike

    from shoal.io import Source, Written


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Update(Counted):
    """An earlier release that new records have joined; none of its rows has changed.

    Attributes
    ----------
    table : data frame
        The table to publish: the rows of the earlier release, then the new ones, unless the plan shuffles them.
    audit : Audit
        The audit of this table.
    intersection : Intersection
        What somebody who has both releases can find out, counted on both tables alone. With several blocks, the
        smallest counts of all of them.
    earlier : Earlier
        The earlier release.
    plan : Plan
        That of the earlier release.
    rule : Rule
        What was wanted of the two releases.
    invariance : int or None
        The m of the rule for sensitive values.
    columns, attributes : roles of the columns; the quasi-identifiers and how they were published
    blocks : tuple of names
        Columns within which k holds.
    methods : tuple of str
    loss : float
        The share of the variance of the new records that is lost, from 0 to 1.
    rows_in, rows_dropped, rows_removed, rows_joined : int
        New records; those dropped because of a missing value; those left out, as in the plan; those that share the
        values of a group of the earlier release.
    warnings : tuple of str
        What weakens the protection, of both releases.
    """

    verified: Verified
    intersections: tuple[Intersection, ...]
    earlier: Earlier
    plan: Plan
    rule: Rule
    invariance: int | None
    columns: tuple[Column, ...]
    attributes: tuple[Attribute, ...]
    blocks: tuple[tuple[str, ...], ...]
    methods: tuple[str, ...]
    loss: float
    rows_in: int
    rows_dropped: int
    rows_removed: int
    rows_joined: int
    warnings: tuple[str, ...]
    timings: Mapping[str, float]
    text: bool = False
    newcomers: Source | None = None
    written: Written | None = None
    created: str = field(default_factory=lambda: _now())

    def __post_init__(self) -> None:
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
    def source(self) -> Source | None:
        """Return the file of the earlier release, which the new one is written like."""
        return self.earlier.source

    @property
    def intersection(self) -> Intersection:
        """Return what somebody who has both releases can find out; of several blocks, the worst."""
        return min(self.intersections, key=lambda one: one.k)

    def columns_of(self, names: list[str]) -> dict[str, Any]:
        """Return published columns, each as a pyarrow.Table."""
        from shoal.tables.frames import to_arrow

        return {name: to_arrow(self.table, "certificate", [name]) for name in names}

    @property
    def certificate(self) -> dict[str, Any]:
        """Return what was promised and counted, for everyone; it names the earlier release by its hash."""
        from shoal.release.updates.documents import certificate_of

        return certificate_of(self)

    @property
    def record(self) -> dict[str, Any]:
        """Return everything about how the update was made, with exact figures. Do not publish it."""
        from shoal.release.updates.documents import record_of

        return record_of(self)

    def save(
        self,
        path: str | PathLike[str],
        *,
        certificate: str | PathLike[str] | None = None,
        record: str | PathLike[str] | bool = True,
        force: bool = False,
        progress: Progress | bool | None = None,
        **options: Any,
    ) -> Update:
        """Write the table with its documents; see :meth:`shoal.Release.save`. There is no report."""
        from shoal.release.files import save

        if options.get("report") is not None:
            raise OptionError("An update must be saved without a report. Got a path for one.")
        how: dict[str, Any] = {"certificate": certificate, "record": record, "force": force, "progress": progress}
        saved: Update = save(self, path, **how, **options)
        return saved

    def check(self, source: Source) -> None:
        """Raise an error unless a table that was read again holds all that was verified."""
        from shoal.release.verification import audit_of

        refuse_several_types(source.apart)
        for names in self.blocks:
            require_privacy(audit_of(source, [*names, *self.plan.stratum], self.plan.k, self.plan), "The file")
        if self.earlier.source is None:
            return  # types of data frames and of files differ: the rows were compared before they were written
        if self.earlier.source.format != source.format:
            raise OptionError(
                f"An update must be written in the format of the earlier release, {self.earlier.source.format}, to be "
                f"compared with it. Got {source.format}."
            )
        how: dict[str, Any] = {"text": source.text, "decimal": source.decimal}
        for names in self.blocks:
            whole, demanded = [*names, *self.plan.stratum], asked(self.plan, self.invariance)
            found = intersected(self.earlier.table, source.table, whole, demanded, self.rule, **how)
            require_intersection(found, "The file")

    def __repr__(self) -> str:
        found = self.intersection
        return (
            f"Update({found.kept.rows} rows as before, {found.new.rows} new, k = {self.audit.k}, "
            f"k = {found.k} for those who have both releases)"
        )


def _now() -> str:
    from datetime import datetime

    return datetime.now().astimezone().isoformat(timespec="seconds")
