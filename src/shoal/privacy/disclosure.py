"""delta-disclosure: in no group is any value much more, or much less, frequent than in the table.

It protects against learning much about the value of a person from the group, in both directions, and so against the
skewness that l-diversity allows. The price is high: every group must have every value. A missing value counts as a
value of its own.

Brickell, J., Shmatikov, V. (2008): The cost of privacy: destruction of data-mining utility in anonymized data
publishing. KDD. The paper demands less than delta, here at most delta is enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.privacy.model import Model
from shoal.privacy.spectrum import Spectrum

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class DeltaDisclosure(Model):
    """The share of every value in a group is that in the table, up to a factor of exp(delta) in either direction.

    Monotone: the share of a value in a union lies between those in its parts.
    """

    name: ClassVar[str] = "delta-disclosure"
    letter: ClassVar[str] = "delta"
    rising: ClassVar[bool] = False
    delta: float

    def __post_init__(self) -> None:
        self._real("delta", above=0)

    def explanation(self, attribute: str) -> str:
        """Return what is promised."""
        return (
            f"In every group every value of {attribute!r} occurs, and none is more than {np.exp(self.delta):.4g} times "
            "more, or that many times less, frequent than in the whole table. So a group tells little about its "
            "members that the table does not tell about everybody."
        )

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: how far the logarithm of a share is from that in the table; infinite if a value lacks."""
        full = spectrum.with_missing()
        ratios = full.shares / full.whole_shares[full.codes]
        lacking = np.diff(full.starts) < np.count_nonzero(full.whole)
        return np.where(lacking, np.inf, full.greatest(np.abs(np.log(ratios)), 0.0))
