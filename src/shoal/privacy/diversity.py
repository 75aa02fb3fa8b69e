"""k-anonymity and the forms of l-diversity: how many records and how many different values groups have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.arrays import Array
from shoal.privacy.model import SensitiveModel, as_text, down, up
from shoal.privacy.spectrum import Sensitive, Spectrum, spectrum_of


@dataclass(frozen=True)
class KAnonymity(SensitiveModel):
    """Every group has at least k records; missing sensitive values count.

    It protects against finding the record of a known person among fewer than k. It does not hide what the group has in
    common: k people with the same disease do not hide it.

    Monotone: a union has as many records as its parts together.

    Samarati, P. (2001): Protecting respondents' identities in microdata release. IEEE TKDE 13(6); Sweeney, L. (2002):
    k-anonymity: a model for protecting privacy. IJUFKS 10(5).
    """

    name: ClassVar[str] = "k-anonymity"
    letter: ClassVar[str] = "k"
    k: int

    def __post_init__(self) -> None:
        self._whole("k", 1)

    def explanation(self, attribute: str) -> str:
        """Return what the model ensures."""
        return (
            f"Every record shares its published quasi-identifiers with at least {self.k - 1} others. Someone who knows "
            f"these values of a person finds at least {self.k} records that fit, and cannot tell which of them is "
            "the person's. What all of them have in common is not hidden."
        )

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: the sizes of the groups."""
        return spectrum.sizes.astype(np.float64)

    def out_of_reach(self, sensitive: Sensitive, k: int = 1) -> str | None:
        """Return the bound: the number of records."""
        n = len(sensitive.codes)
        return None if self.k <= n else f"the table has {n} records: k can be at most {n}"


@dataclass(frozen=True)
class _DifferentValues(SensitiveModel):
    """The number of different known values in a group."""

    def __post_init__(self) -> None:
        self._whole(self.letter, 2)

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: the number of different known values in each group."""
        return different(spectrum)

    def out_of_reach(self, sensitive: Sensitive, k: int = 1) -> str | None:
        """Return the bound: the number of values."""
        return too_few_values(sensitive, self.letter, int(self.required))


@dataclass(frozen=True)
class DistinctDiversity(_DifferentValues):
    """Every group has at least l different values. Its most frequent one may still dominate it.

    It protects against learning the value from the group alone, which k-anonymity allows where all members share it. It
    takes no account of how frequent values are in the table, nor of how similar they are in meaning: a group with three
    kinds of cancer is diverse. Only known values are counted. Missing ones add no diversity.

    Monotone: a union has the values of its parts.

    Machanavajjhala, A., Kifer, D., Gehrke, J., Venkitasubramaniam, M. (2007): l-diversity: privacy beyond k-anonymity.
    ACM TKDD 1(1).
    """

    name: ClassVar[str] = "distinct-diversity"
    letter: ClassVar[str] = "l"
    kind: ClassVar[str] = "distinct"
    l: int  # noqa: E741

    def explanation(self, attribute: str) -> str:
        """Return what the model ensures."""
        return (
            f"In every group at least {self.l} different values of {attribute!r} occur. Someone who knows which group "
            "a person is in is left with that many possible values, though one of them may be by far the most frequent."
        )


@dataclass(frozen=True)
class PSensitive(_DifferentValues):
    """Every group has at least p different known values.

    With k-anonymity this is p-sensitive k-anonymity. For one attribute it is distinct l-diversity under another name,
    and protects no more: one of the p values may be by far the most frequent.

    Monotone: a union has the values of its parts.

    Truta, T. M., Vinay, B. (2006): Privacy protection: p-sensitive k-anonymity property. ICDE Workshops.
    """

    name: ClassVar[str] = "p-sensitive"
    letter: ClassVar[str] = "p"
    p: int

    def explanation(self, attribute: str) -> str:
        """Return what the model ensures."""
        return (
            f"Every group has at least {self.p} different values of {attribute!r}, so that the group alone does not "
            "tell the value of a person. One of them may still be far more frequent than the others."
        )


@dataclass(frozen=True)
class EntropyDiversity(SensitiveModel):
    """The values of every group are as hard to guess as l equally frequent ones: their entropy is at least log l.

    Monotone: entropy is concave, so that of a union is not below the mean of those of its parts.
    """

    name: ClassVar[str] = "entropy-diversity"
    letter: ClassVar[str] = "l"
    kind: ClassVar[str] = "entropy"
    l: float  # noqa: E741

    def __post_init__(self) -> None:
        self._real("l", above=1)

    def explanation(self, attribute: str) -> str:
        """Return what the model ensures."""
        return (
            f"In every group the values of {attribute!r} are at least as mixed as {as_text(self.l)} values that are "
            "equally frequent. This also limits how far the most frequent value of a group may dominate it, not only "
            "how many values there are."
        )

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: the number of equally frequent values with the same entropy; 0 if no value is known."""
        known = spectrum.known
        some = np.where(known > 0, known, 1)
        entropy = np.log(some) - spectrum.totals(spectrum.counts * np.log(spectrum.counts)) / some
        return np.where(known > 0, np.exp(entropy), 0.0)

    def out_of_reach(self, sensitive: Sensitive, k: int = 1) -> str | None:
        """Return the bound: the diversity of the whole table."""
        most = self.reachable(sensitive)
        if self.allows(np.array([most]))[0]:
            return None
        return (
            f"the values of {sensitive.name!r} are as mixed as {down(most)} equal ones: l can be at most {down(most)}"
        )


@dataclass(frozen=True)
class RecursiveDiversity(SensitiveModel):
    """The most frequent value of every group is rarer than c times all but the l - 1 most frequent ones together.

    A group is measured by the value that c must exceed: infinite if the group has fewer than l values.

    Monotone: the most frequent value of a union is at most as frequent as those of its parts together, and so are its
    l - 1 most frequent ones. So the remaining values are at least as frequent as the remaining ones of the parts.
    """

    name: ClassVar[str] = "recursive-diversity"
    letter: ClassVar[str] = "c"
    rising: ClassVar[bool] = False
    c: float
    l: int  # noqa: E741

    def __post_init__(self) -> None:
        self._real("c", above=0)
        self._whole("l", 2)

    @property
    def short(self) -> str:
        """Return c and l."""
        return f"c = {as_text(self.c)}, l = {self.l} (recursive)"

    def explanation(self, attribute: str) -> str:
        """Return what the model ensures."""
        others = "the others" if self.l == 2 else f"all but the {self.l - 1} most frequent ones"
        return (
            f"In every group at least {self.l} different values of {attribute!r} occur, and its most frequent one "
            f"occurs less than {as_text(self.c)} times as often as {others} together. So the most frequent value does "
            "not dominate, and the rare ones are not too rare."
        )

    def allows(self, measured: Array) -> Array:
        """Return bool[m]: whether c exceeds the measured value; ratios of counts are exact enough to compare."""
        below: Array = measured < self.c
        return below

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: the count of the most frequent value divided by that of the tail."""
        if len(spectrum.counts) == 0:
            return np.full(spectrum.groups, np.inf)
        counts = spectrum.counts[np.lexsort((-spectrum.counts, spectrum.owners))]
        place = np.arange(len(counts)) - np.repeat(spectrum.starts[:-1], np.diff(spectrum.starts))
        tail = spectrum.totals(np.where(place >= self.l - 1, counts, 0))
        ratio = spectrum.greatest(counts, 0.0) / np.where(tail > 0, tail, 1)
        # Sums of parts of units are rounded, and what equals c must not seem to be below it.
        return np.where(tail > 0, ratio if spectrum.parts is None else np.round(ratio, 9), np.inf)

    def out_of_reach(self, sensitive: Sensitive, k: int = 1) -> str | None:
        """Return the bound: the number of values, or the c that the whole table needs."""
        least = self.reachable(sensitive)
        if self.allows(np.array([least]))[0]:
            return None
        reason = f"the most frequent value of {sensitive.name!r} in the whole table is too frequent"
        return too_few_values(sensitive, "l", self.l) or f"{reason}: c must be above {up(least)} for l = {self.l}"


def different(spectrum: Spectrum) -> Array:
    """Return float64[m]: the number of different known values in each group.

    If units are counted, every value must be that of another unit: it is the size of a largest matching of the values
    of a group and its units.
    """
    if spectrum.parts is None:
        return np.diff(spectrum.starts).astype(np.float64)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    owners, units, codes, _ = (one[spectrum.parts.codes >= 0] for one in spectrum.parts)
    if len(owners) == 0:
        return np.zeros(spectrum.groups)
    lines, line = np.unique(owners * (int(codes.max()) + 1) + codes, return_inverse=True)
    columns, column = np.unique(owners * (int(units.max()) + 1) + units, return_inverse=True)
    pairs = csr_array((np.ones(len(line), bool), (line, column)), (len(lines), len(columns)))
    matched = maximum_bipartite_matching(pairs, perm_type="column") >= 0
    return np.bincount((lines // (int(codes.max()) + 1))[matched], minlength=spectrum.groups).astype(np.float64)


def too_few_values(sensitive: Sensitive, option: str, required: int) -> str | None:
    """Return the reason for a refusal if more different values are required than there are, else None."""
    count = int(different(spectrum_of(np.zeros(len(sensitive.codes), np.int64), sensitive))[0])
    if required <= count:
        return None
    return f"{sensitive.name!r} has {count} different values: {option} can be at most {count}"
