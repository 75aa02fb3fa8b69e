"""k-anonymity: nobody can be told from fewer than k - 1 others by quasi-identifiers.

It protects against finding the record of a known person. It does not hide what the group has in common: k people with
the same disease do not hide it.

Samarati, P. (2001): Protecting respondents' identities in microdata release. IEEE TKDE 13(6); Sweeney, L. (2002):
k-anonymity: a model for protecting privacy. IJUFKS 10(5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.privacy.model import Model
from shoal.privacy.spectrum import Sensitive, Spectrum

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class KAnonymity(Model):
    """Every group has at least k records; missing sensitive values count.

    Monotone: a union has as many records as its parts together.
    """

    name: ClassVar[str] = "k-anonymity"
    letter: ClassVar[str] = "k"
    k: int

    def __post_init__(self) -> None:
        self._whole("k", 1)

    def explanation(self, attribute: str) -> str:
        """Return what is promised."""
        return (
            f"Every record shares its published quasi-identifiers with at least {self.k - 1} others. Who knows these "
            f"values of a person finds at least {self.k} records that fit, and cannot tell which of them is the "
            "person's. What all of them have in common is not hidden."
        )

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: the sizes of the groups."""
        return spectrum.sizes.astype(np.float64)

    def out_of_reach(self, sensitive: Sensitive, k: int = 1) -> str | None:
        """Return the bound: the number of records."""
        n = len(sensitive.codes)
        return None if self.k <= n else f"the table has {n} records: k can be at most {n}"
