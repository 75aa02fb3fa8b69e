"""(alpha, k)-anonymity: no value of a sensitive attribute is more frequent in a group than a share alpha.

It protects against guessing the value of a person with more confidence than alpha from the group alone. It does not
look at the table: a value that is rare everywhere may be frequent in a group. Together with k-anonymity it is (alpha,
k)-anonymity, here for all values alike. Shares are of the known values: a group without any has the share 0.

Wong, R. C.-W., Li, J., Fu, A. W.-C., Wang, K. (2006): (alpha, k)-anonymity: an enhanced k-anonymity model for privacy
preserving data publishing. KDD.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.privacy.model import Model, up
from shoal.privacy.spectrum import Sensitive, Spectrum

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class AlphaFrequency(Model):
    """No value has a greater share than alpha of the known values of a group.

    Monotone: the share of a value in a union lies between those in its parts.
    """

    name: ClassVar[str] = "alpha"
    letter: ClassVar[str] = "alpha"
    rising: ClassVar[bool] = False
    alpha: float

    def __post_init__(self) -> None:
        self._real("alpha", above=0, most=1)

    def explanation(self, attribute: str) -> str:
        """Return what is promised."""
        return (
            f"In no group is a value of {attribute!r} more frequent than {100 * self.alpha:.4g} %. Who guesses the "
            "most frequent value of a person's group is right in at most that share of the cases."
        )

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: the greatest share of a value."""
        return spectrum.greatest(spectrum.shares, 0.0)

    def out_of_reach(self, sensitive: Sensitive, k: int = 1) -> str | None:
        """Return the bound: the greatest share in the whole table."""
        least = self.reachable(sensitive)
        if self.allows(np.array([least]))[0]:
            return None
        tell = f"a value of {sensitive.name!r} has a share of {up(least)} in the whole table"
        return f"{tell}: alpha must be at least {up(least)}"
