"""p-sensitivity: every group has at least p different values of each sensitive attribute.

p-sensitive k-anonymity is k-anonymity and this; for one attribute it is distinct l-diversity under another name, found
at the same time. It protects, and does not, as that does: one of the p values may be by far the most frequent.

Truta, T. M., Vinay, B. (2006): Privacy protection: p-sensitive k-anonymity property. ICDE Workshops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.privacy.diversity import different, too_few_values
from shoal.privacy.model import Model
from shoal.privacy.spectrum import Sensitive, Spectrum

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class PSensitive(Model):
    """Every group has at least p different known values.

    Monotone: a union has the values of its parts.
    """

    name: ClassVar[str] = "p-sensitive"
    letter: ClassVar[str] = "p"
    p: int

    def __post_init__(self) -> None:
        self._whole("p", 2)

    def explanation(self, attribute: str) -> str:
        """Return what is promised."""
        return (
            f"Every group has at least {self.p} different values of {attribute!r}, so that the group alone does not "
            "tell the value of a person. One of them may still be far more frequent than the others."
        )

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: how many different known values groups have."""
        return different(spectrum)

    def out_of_reach(self, sensitive: Sensitive, k: int = 1) -> str | None:
        """Return the bound: the number of values."""
        return too_few_values(sensitive, "p", self.p)
