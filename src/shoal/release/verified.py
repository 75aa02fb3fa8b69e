"""A table to be published together with the audit that it passed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.privacy.audit import Audit
from shoal.tables import frames


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Verified:
    """A table and what was counted on it. They are kept together, so that no other table gets this audit.

    Parameters
    ----------
    frame : data frame
        As it was audited. Nobody else may hold it.
    audit : Audit
    """

    frame: Any
    audit: Audit

    @property
    def table(self) -> Any:
        """Return the table as a data frame of its own: changing it changes nothing here."""
        return frames.duplicate(self.frame)
