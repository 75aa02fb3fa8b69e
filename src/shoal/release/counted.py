"""What is read off the audit of every release: one of a table, one in pieces, and an update."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.privacy.audit import Audit
    from shoal.privacy.whole import Whole
    from shoal.release.measures.losses import Losses
    from shoal.release.release import Release
    from shoal.tables.schema import Attribute


class Counted:
    """The part that all releases with groups have in common."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def plan(self) -> Plan:
            """Return the plan."""

        @property
        def audit(self) -> Audit:
            """Return the audit of the published table."""

        @property
        def attributes(self) -> tuple[Attribute, ...]:
            """Return the quasi-identifiers and how they were published."""

    @property
    def k(self) -> int:
        """Return the k that holds in the published table, counting units if the plan has them."""
        return self.audit.k if self.audit.k_units is None else self.audit.k_units

    @property
    def risk(self) -> float:
        """Return the highest chance of picking the record of a person whose quasi-identifiers are known."""
        return 1 / self.k

    @property
    def whole(self) -> Whole:
        """Return the k that holds for all published columns together, counting rows, and how many are unique."""
        if self.audit.whole is None:
            raise RuntimeError("a release is made with the count of all its columns")
        return self.audit.whole

    @property
    def quasi_identifiers(self) -> list[str]:
        """Return the published columns that others may know, including strata."""
        return [name for a in self.attributes for name in a.columns] + list(self.plan.stratum)


class Measured(Counted):
    """A release that was made from its originals, in memory or in pieces: what was lost is known."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def losses(self) -> Losses:
            """Return the loss of each attribute, and of all together."""

        @property
        def missing_counts(self) -> tuple[tuple[str, int], ...]:
            """Return the number of missing values of each quasi-identifier."""

    @property
    def missing(self) -> dict[str, int]:
        """Return the number of missing values of each quasi-identifier."""
        return dict(self.missing_counts)

    @property
    def loss(self) -> float:
        """Return SSE / SST over all quasi-identifiers, from 0 (nothing lost) to 1."""
        return self.losses.total

    @property
    def certificate(self) -> dict[str, Any]:
        """Return what was promised and counted, for everyone: it tells nothing that the release does not."""
        from shoal.release.certificate import certificate_of

        return certificate_of(cast("Release", self))

    @property
    def record(self) -> dict[str, Any]:
        """Return everything about how the release was made, with exact figures. Do not publish it."""
        from shoal.release.record import record_of

        return record_of(cast("Release", self))
