"""A table to publish, with the audit that it passed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.privacy.audit import Audit
from shoal.tables import frames


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Verified:
    """A table with its audit. They are kept together, so that no other table gets this audit.

    Parameters
    ----------
    frame : data frame
        The table that was audited. There must be no other reference to it.
    audit : Audit
    """

    frame: Any
    audit: Audit

    @property
    def table(self) -> Any:
        """Return a copy of the table."""
        return frames.duplicate(self.frame)
