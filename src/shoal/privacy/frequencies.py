"""alpha, delta-disclosure and beta-likeness: how frequent values are in groups, alone or against the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.arrays import Array
from shoal.privacy.model import SensitiveModel, up
from shoal.privacy.spectrum import Sensitive, Spectrum


@dataclass(frozen=True)
class AlphaFrequency(SensitiveModel):
    """No value has a greater share than alpha of the known values of a group.

    It protects against guessing the value of a person with more confidence than alpha from the group alone. It does not
    look at the table: a value that is rare elsewhere may be frequent in a group. Together with k-anonymity it is
    (alpha, k)-anonymity, here with the same alpha for all values. A group without any known value has the share 0.

    Monotone: the share of a value in a union lies between those in its parts.

    Wong, R. C.-W., Li, J., Fu, A. W.-C., Wang, K. (2006): (alpha, k)-anonymity: an enhanced k-anonymity model for
    privacy preserving data publishing. KDD.
    """

    name: ClassVar[str] = "alpha"
    letter: ClassVar[str] = "alpha"
    rising: ClassVar[bool] = False
    alpha: float

    def __post_init__(self) -> None:
        self._real("alpha", above=0, most=1)

    def explanation(self, attribute: str) -> str:
        """Return what the model ensures."""
        return (
            f"In no group is a value of {attribute!r} more frequent than {100 * self.alpha:.4g} %. Guessing the "
            "most frequent value of a person's group is right in at most that share of cases."
        )

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: the greatest share of a value."""
        return spectrum.greatest(spectrum.shares, 0.0)

    def out_of_reach(self, sensitive: Sensitive, k: int = 1) -> str | None:
        """Return the bound: the greatest share in the whole table."""
        least = self.reachable(sensitive)
        if self.allows(np.array([least]))[0]:
            return None
        reason = f"a value of {sensitive.name!r} has a share of {up(least)} in the whole table"
        return f"{reason}: alpha must be at least {up(least)}"


@dataclass(frozen=True)
class DeltaDisclosure(SensitiveModel):
    """The share of every value in a group equals that in the table up to a factor of exp(delta), in either direction.

    It protects against learning much about the value of a person from the group, in both directions, and so against the
    skewness that l-diversity allows. The price is high: every group must have every value. A missing value counts as a
    value of its own.

    Monotone: the share of a value in a union lies between those in its parts.

    Brickell, J., Shmatikov, V. (2008): The cost of privacy: destruction of data-mining utility in anonymized data
    publishing. KDD. The paper demands less than delta; here at most delta is enough.
    """

    name: ClassVar[str] = "delta-disclosure"
    letter: ClassVar[str] = "delta"
    rising: ClassVar[bool] = False
    delta: float

    def __post_init__(self) -> None:
        self._real("delta", above=0)

    def explanation(self, attribute: str) -> str:
        """Return what the model ensures."""
        return (
            f"In every group every value of {attribute!r} occurs, and none is more than {np.exp(self.delta):.4g} times "
            "more, or that many times less, frequent than in the whole table. So a group tells little about its "
            "members that the table does not tell about everybody."
        )

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: the greatest difference of log shares from the table; infinite if a value is absent."""
        full = spectrum.with_missing()
        ratios = full.shares / full.whole_shares[full.codes]
        lacking = np.diff(full.starts) < np.count_nonzero(full.whole)
        return np.where(lacking, np.inf, full.greatest(np.abs(np.log(ratios)), 0.0))


@dataclass(frozen=True)
class BetaLikeness(SensitiveModel):
    """No share in a group exceeds that in the table by more than beta times the latter (the basic form).

    It protects against a gain of confidence in a value, above all in a rare one, which t-closeness may overlook. It
    does not limit how much rarer a value becomes in a group: one may learn that somebody does not have a disease. A
    value whose share in the table is at least 1 / (1 + beta) is not protected at all: everybody in a group may have it.
    A missing value counts as a value of its own.

    Monotone: the share of a value in a union lies between those in its parts.

    Cao, J., Karras, P. (2012): Publishing microdata with a robust privacy guarantee. PVLDB 5(11).
    """

    name: ClassVar[str] = "beta-likeness"
    letter: ClassVar[str] = "beta"
    rising: ClassVar[bool] = False
    beta: float

    def __post_init__(self) -> None:
        self._real("beta", above=0)

    def explanation(self, attribute: str) -> str:
        """Return what the model ensures."""
        return (
            f"In no group is a value of {attribute!r} more than {1 + self.beta:.6g} times as frequent as in the "
            "whole table. So nobody's group makes a rare value much more likely than it is for everybody."
        )

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: the greatest relative gain of a value; losses do not count."""
        full = spectrum.with_missing()
        return np.maximum(full.greatest(full.shares / full.whole_shares[full.codes] - 1, 0.0), 0.0)


@dataclass(frozen=True)
class EnhancedBetaLikeness(BetaLikeness):
    """The basic form, with frequent values protected too: none gains more than -ln of its share in the table.

    The gain of each value is measured relative to the gain that is allowed, so it must be at most 1.

    Monotone: the allowed gain does not depend on the group, and a share in a union lies between those in its parts.
    """

    name: ClassVar[str] = "enhanced-beta-likeness"
    letter: ClassVar[str] = "beta"
    kind: ClassVar[str] = "enhanced"

    @property
    def required(self) -> float:
        """Return 1: gains are measured relative to those allowed."""
        return 1.0

    def explanation(self, attribute: str) -> str:
        """Return what the model ensures."""
        return (
            f"{super().explanation(attribute)} Values that are frequent in the table are held closer to their share in "
            "it, so that no group consists of one value only."
        )

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: the greatest gain of a value, relative to its allowed gain."""
        full = spectrum.with_missing()
        shares = full.whole_shares
        # The only value of a table has nothing to gain.
        allowed = np.minimum(self.beta, -np.log(np.where((shares > 0) & (shares < 1), shares, 0.5)))[full.codes]
        return np.maximum(full.greatest((full.shares / shares[full.codes] - 1) / allowed, 0.0), 0.0)
