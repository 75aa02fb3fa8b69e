"""beta-likeness: in no group is a value much more frequent than in the table, measured by how frequent it is there.

It protects against a gain of confidence in a value, rare ones above all, which t-closeness may lose sight of. It does
not limit how much rarer values become in a group: that somebody does not have a disease may be learned. A missing value
counts as a value of its own.

Cao, J., Karras, P. (2012): Publishing microdata with a robust privacy guarantee. PVLDB 5(11).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.privacy.model import Model
from shoal.privacy.spectrum import Spectrum

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class BetaLikeness(Model):
    """No share in a group exceeds that in the table by more than beta times the latter (the basic form).

    A value whose share in the table is at least 1 / (1 + beta) is not protected at all: all of a group may have it.

    Monotone: the share of a value in a union lies between those in its parts.
    """

    name: ClassVar[str] = "beta-likeness"
    letter: ClassVar[str] = "beta"
    rising: ClassVar[bool] = False
    beta: float

    def __post_init__(self) -> None:
        self._real("beta", above=0)

    def explanation(self, attribute: str) -> str:
        """Return what is promised."""
        return (
            f"In no group is a value of {attribute!r} more than {1 + self.beta:.6g} times as frequent as in the "
            "whole table. So nobody's group makes a rare value much more likely than it is for everybody."
        )

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: the greatest relative gain of a value; values that lose do not count."""
        full = spectrum.with_missing()
        return np.maximum(full.greatest(full.shares / full.whole_shares[full.codes] - 1, 0.0), 0.0)


@dataclass(frozen=True)
class EnhancedBetaLikeness(BetaLikeness):
    """As the basic form, and frequent values are protected too: none gains more than -ln of its share in the table.

    Measured in terms of what each value may gain: at most 1.

    Monotone: what a value may gain does not depend on the group, its share in a union lies between those in the parts.
    """

    name: ClassVar[str] = "enhanced-beta-likeness"
    letter: ClassVar[str] = "beta"
    kind: ClassVar[str] = "enhanced"

    @property
    def wish(self) -> float:
        """Return 1: what is measured is relative to what is allowed."""
        return 1.0

    def explanation(self, attribute: str) -> str:
        """Return what is promised."""
        return (
            f"{super().explanation(attribute)} Values that are frequent in the table are held closer to their share in "
            "it, so that no group consists of one value only."
        )

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: the greatest gain of a value, as a part of what it may gain."""
        full = spectrum.with_missing()
        shares = full.whole_shares
        # The only value of a table has nothing to gain.
        may = np.minimum(self.beta, -np.log(np.where((shares > 0) & (shares < 1), shares, 0.5)))[full.codes]
        return np.maximum(full.greatest((full.shares / shares[full.codes] - 1) / may, 0.0), 0.0)
