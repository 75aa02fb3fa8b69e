"""t-closeness: the distribution of values in a group against that in the table or in a set around the group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import OptionError, near_names
from shoal.privacy.model import SensitiveModel, as_text, up
from shoal.privacy.spectrum import Line, Sensitive, Spectrum, Tree, spectrum_of
from shoal.tables.sensitive import GROUNDS, grounded

# Most terms of the bound on t that are added up. Leaving out the rest makes the bound weaker, not wrong.
WORK, AT_ONCE = 20_000_000, 1 << 18


@dataclass(frozen=True)
class TCloseness(SensitiveModel):
    """The distance of every group from the table is at most t.

    It protects against learning much from a group that the table does not tell about everybody, even where values are
    diverse but close to each other in meaning. The distance between two distributions is the earth mover's distance,
    from 0 to 1: the least work that turns one into the other. It takes no account of how rare a value is. A rare value
    may become several times more frequent at little work (see beta-likeness).

    A missing value is a value of its own, at distance 1 from all others. Where values lie on a line, the distance is
    that between the shares of missing values plus that between the known parts, as far as both have known parts. This
    is the work of one way to move, so it is never below the least work.

    Monotone: the distribution in a union lies between those in its parts, and the distance is convex in it. With
    missing values on a line it is not convex, but still never above the larger distance of the parts.

    Li, N., Li, T., Venkatasubramanian, S. (2007): t-closeness: privacy beyond k-anonymity and l-diversity. ICDE.
    """

    name: ClassVar[str] = "t-closeness"
    letter: ClassVar[str] = "t"
    rising: ClassVar[bool] = False
    t: float
    ground: str = "auto"

    def __post_init__(self) -> None:
        self._real("t", least=0, most=1)
        _check_ground(self.name, self.ground)

    def explanation(self, attribute: str) -> str:
        """Return what the model ensures."""
        return (
            f"In every group the values of {attribute!r} are spread nearly as in the whole table: turning one "
            f"distribution into the other takes at most {as_text(self.t)} of the work of moving everything from one "
            "end to the other. So a group tells little about its members that the table does not tell about everybody."
        )

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: the distance of each group from the table."""
        spectrum = _on_ground(spectrum, self.ground)
        return distances(spectrum, spectrum.in_one(), np.zeros(spectrum.groups, np.int64))

    def out_of_reach(self, sensitive: Sensitive, k: int = 1) -> str | None:
        """Return the bound: the least distance of a group of at most half of the records."""
        n = len(sensitive.codes)
        least = least_distance(sensitive, k, self.ground, self.t)
        if self.allows(np.array([least]))[0]:
            return None
        return (
            f"any group of {k} to {n // 2} of the {n} records is at least {up(least)} from the table in "
            f"{sensitive.name!r}: t must be at least {up(least)}, or all records form one group"
        )


@dataclass(frozen=True)
class NTCloseness(SensitiveModel):
    """The distance of every group from some natural set of at least n records that contains it is at most t.

    Natural sets are the whole table, groups of at least n records themselves, and the boxes that result from halving
    the table along quasi-identifiers, again and again, as long as they keep n records. Other sets are not tried, so the
    distance may be too large, but never too small. If the centres of the groups are not given, only the table is tried.

    Not monotone: two groups may each be close to a small set, and their union to none.

    Li, N., Li, T., Venkatasubramanian, S. (2010): Closeness: a new privacy measure for data publishing. IEEE TKDE
    22(7).
    """

    name: ClassVar[str] = "n-t-closeness"
    letter: ClassVar[str] = "t"
    monotone: ClassVar[bool] = False
    rising: ClassVar[bool] = False
    n: int
    t: float
    ground: str = "auto"

    def __post_init__(self) -> None:
        self._whole("n", 1)
        self._real("t", least=0, most=1)
        _check_ground(self.name, self.ground)

    @property
    def short(self) -> str:
        """Return n and t."""
        return f"n = {self.n}, t = {as_text(self.t)}"

    def explanation(self, attribute: str) -> str:
        """Return what the model ensures."""
        return (
            f"In every group the values of {attribute!r} are spread nearly as in a larger set of at least {self.n} "
            f"similar records around it, or as in the whole table: they differ by at most {as_text(self.t)} of the "
            "greatest possible difference. So a group tells about its members only what is true of many."
        )

    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: the distance of each group from the closest natural set.

        Sets are tried from small to large. A group within t of one set is not compared with larger ones.
        """
        spectrum = _on_ground(spectrum, self.ground)
        sizes = spectrum.sizes
        least = distances(spectrum, spectrum.in_one(), np.zeros(len(sizes), np.int64))
        least[sizes >= self.n] = 0.0
        left = np.flatnonzero(~self.allows(least))
        levels = [] if centres is None or len(left) == 0 else _boxes(centres, sizes, self.n)
        union, below = spectrum, np.arange(len(sizes))
        for box in reversed(levels):
            # Boxes are nested: the spectrum of each level is pooled from that of the level below.
            target = np.empty(union.groups, np.int64)
            target[below] = box
            union, below = union.pooled(target), box
            least[left] = np.minimum(least[left], distances(spectrum.take(left), union, box[left]))
            left = left[~self.allows(least[left])]
            if len(left) == 0:
                break
        return least

    def out_of_reach(self, sensitive: Sensitive, k: int = 1) -> str | None:
        """Return the bound of t-closeness, which applies where only the whole table has n records."""
        few = len(sensitive.codes) <= self.n
        return TCloseness(self.t, self.ground).out_of_reach(sensitive, k) if few else None


def _check_ground(model: str, ground: str) -> None:
    if ground not in GROUNDS:
        raise OptionError(
            f"The 'ground' option of {model} must be one of {', '.join(GROUNDS)}. Got {ground!r}.",
            hint=near_names(ground, GROUNDS, f"the default is {GROUNDS[0]!r}."),
        )


def _on_ground(spectrum: Spectrum, ground: str) -> Spectrum:
    return spectrum._replace(ground=grounded(spectrum.ground, len(spectrum.whole), ground))


# --- the earth mover's distance ---


class _Shares(NamedTuple):
    """The share of the records of each group that has each value, or lies below each node."""

    starts: Array  # int64[m + 1]
    codes: Array  # int64[e], rising in each group
    amounts: Array  # float64[e]


def distances(spectrum: Spectrum, other: Spectrum, of: Array) -> Array:
    """Return float64[m]: the earth mover's distance of each group g from the group of[g] of `other`.

    Parameters
    ----------
    spectrum, other : Spectrum
        Both of the same attribute of the same table.
    of : int64[m]
        Group of `other` that each group is compared with, and is a part of.
    """
    if isinstance(spectrum.ground, Line):
        return _along(spectrum, other, of, spectrum.ground.positions)
    weights = np.ones(len(spectrum.whole) + 1)  # the last one is for missing values
    one, two = spectrum.with_missing(), other.with_missing()
    ours, theirs = (_Shares(each.starts, each.codes, each.shares) for each in (one, two))
    if isinstance(spectrum.ground, Tree):
        # What enters or leaves a node is moved between its height and that of its parent, and back down elsewhere.
        weights, paths = _weights(spectrum.ground), _paths(spectrum.ground)
        ours, theirs = _lifted(ours, paths), _lifted(theirs, paths)
    owners = np.repeat(np.arange(len(of)), np.diff(ours.starts))
    others = np.repeat(np.arange(other.groups), np.diff(theirs.starts))
    away = theirs.amounts[_places(of[owners], ours.codes, others, theirs.codes, len(weights))]
    change = np.abs(ours.amounts - away) - away
    # Values that a group lacks count through the entries of the other group, so only entries are visited.
    base = np.bincount(others, weights[theirs.codes] * theirs.amounts, other.groups)
    doubled = base[of] + np.bincount(owners, weights[ours.codes] * change, len(of))
    return np.asarray(np.maximum(0.5 * doubled, 0.0))


def _places(owners: Array, codes: Array, others: Array, other_codes: Array, width: int) -> Array:
    """Return int64[e]: the positions of the entries of the other spectrum with these owners and codes."""
    return np.searchsorted(others * width + other_codes, owners * width + codes)


def _weights(tree: Tree) -> Array:
    """Return float64[nodes + 1]: how far each node is below its parent; missing is one more child of the root."""
    above = np.where(tree.parents < 0, 0.0, tree.heights[tree.parents] - tree.heights)
    return np.append(above, 1.0)


def _paths(tree: Tree) -> Any:
    """Return a sparse matrix with 1 for each value and each node above it; the last row and column are missing."""
    from scipy.sparse import csr_array

    parents, leaves = tree.parents, tree.leaves
    value, node = np.arange(len(leaves)), leaves
    values, nodes = [np.array([len(leaves)])], [np.array([len(parents)])]
    while len(node):
        values.append(value)
        nodes.append(node)
        value, node = value[parents[node] >= 0], parents[node][parents[node] >= 0]
    ones = np.ones(sum(map(len, nodes)))
    return csr_array((ones, (np.concatenate(values), np.concatenate(nodes))), (len(leaves) + 1, len(parents) + 1))


def _lifted(shares: _Shares, paths: Any) -> _Shares:
    """Return the shares below the nodes of a tree."""
    from scipy.sparse import csr_array

    below = csr_array((shares.amounts, shares.codes, shares.starts), (len(shares.starts) - 1, paths.shape[0])) @ paths
    below.sort_indices()
    return _Shares(below.indptr.astype(np.int64), below.indices.astype(np.int64), below.data)


def _along(spectrum: Spectrum, other: Spectrum, of: Array, positions: Array) -> Array:
    """Return the distances of groups on a line: that of the known parts, plus that of the missing ones.

    The distance of the known parts is the area between two distribution functions, which are step functions. Between
    two values of a group its own function is constant while the other one rises. They cross once, so the area follows
    from two sums, one up to the crossing and one from there.
    """
    ours, theirs = spectrum.missing / spectrum.sizes, (other.missing / other.sizes)[of]
    work: Array = np.zeros(spectrum.groups)
    if len(spectrum.codes):
        owners, others = spectrum.owners, other.owners
        place = positions[other.codes]
        reached = _risen(other)
        steps = np.append(np.where(others[1:] == others[:-1], np.diff(place), 0.0), 0.0)
        area = np.concatenate(([0.0], np.cumsum(reached * steps)))  # below the other's function, up to each entry
        group = of[owners]
        at = _places(group, spectrum.codes, others, other.codes, len(spectrum.whole))
        first = np.append(True, owners[1:] != owners[:-1])
        until = np.append(at[1:], 0)
        last = np.append(first[1:], True)
        until[last] = other.starts[group[last] + 1] - 1
        level = _risen(spectrum)
        cross = np.clip(np.searchsorted(others + reached, group + level), at, until)
        above = level * (place[cross] - place[at]) - (area[cross] - area[at])
        below = area[until] - area[cross] - level * (place[until] - place[cross])
        work = np.bincount(owners, above + below, spectrum.groups)
        work[owners[first]] += area[at[first]] - area[other.starts[group[first]]]
    return np.asarray(np.maximum(np.abs(ours - theirs) + (1 - np.maximum(ours, theirs)) * work, 0.0))


def _risen(spectrum: Spectrum) -> Array:
    """Return float64[e]: the share of the known values of its group that are at most that of each entry."""
    total = np.concatenate(([0], np.cumsum(spectrum.counts)))
    lengths = np.diff(spectrum.starts)
    own = total[1:] - np.repeat(total[spectrum.starts[:-1]], lengths)
    return np.asarray(own / np.repeat(spectrum.known, lengths))


# --- natural sets of records ---


def _boxes(centres: Array, sizes: Array, n: int) -> list[Array]:
    """Return int64[m] for each level, the box of each group: from halves of the table to boxes of n records or more."""
    span = np.ptp(centres, axis=0)
    scaled = (centres - centres.min(axis=0)) / np.where(span > 0, span, 1.0)
    levels = [np.zeros(len(sizes), np.int64)]
    while True:
        finer = _halved(scaled, sizes, levels[-1], n)
        if finer.max() == levels[-1].max():
            return levels[1:]
        levels.append(finer)


def _halved(places: Array, sizes: Array, box: Array, n: int) -> Array:
    """Cut boxes along their widest side, as near to the middle as equal places and n records allow."""
    order = np.argsort(box, kind="stable")
    starts = np.flatnonzero(np.diff(box[order], prepend=-1))
    ordered = places[order]
    widest = (np.maximum.reduceat(ordered, starts) - np.minimum.reduceat(ordered, starts)).argmax(axis=1)
    x = places[np.arange(len(box)), widest[box]]
    order = np.lexsort((x, box))
    x, own = x[order], box[order]
    reached = np.cumsum(sizes[order])
    left = reached - (reached[starts] - sizes[order][starts])[own]
    total = np.bincount(own, sizes[order]).astype(np.int64)[own]
    allowed = np.append((x[1:] != x[:-1]) & (own[1:] == own[:-1]), False) & (left >= n) & (total - left >= n)
    uneven = np.where(allowed, np.abs(2 * left - total), np.iinfo(np.int64).max)
    best = allowed & (uneven == np.minimum.reduceat(uneven, starts)[own])
    cut = np.full(len(starts), len(box))
    where = np.flatnonzero(best)[::-1]
    cut[own[where]] = where  # the first of equally good cuts
    halves = np.empty(len(box), np.int64)
    halves[order] = 2 * own + (np.arange(len(box)) > cut[own])
    return np.unique(halves, return_inverse=True)[1].astype(np.int64)


# --- a lower bound on the distance of groups of at most half of the records ---


class Terms(NamedTuple):
    """The terms that add up to a distance from the table: weighted differences between shares of records."""

    counts: Array  # int64[v]: records of the table in each share
    weights: Array  # float64[v]
    records: int

    def least(self, sizes: Array) -> Array:
        """Return float64[s]: a lower bound on the distance of a group of each size.

        The shares of a group are multiples of 1 / size. Each differs from that of the table at least by the distance
        of the latter from the nearest multiple.
        """
        rest = sizes[:, None] * self.counts % self.records
        off = np.minimum(rest, self.records - rest) @ self.weights
        return np.asarray(off / (sizes * float(self.records)))


def least_distance(sensitive: Sensitive, k: int, ground: str = "auto", enough: float = 0.0) -> float:
    """Return a lower bound on the distance from the table of every group of at least k and at most half of the records.

    It is exact on a line of values that are all different. Soria-Comas et al. (2015, IEEE TKDE 27(11)) give a closed
    form for that case.

    Parameters
    ----------
    sensitive : Sensitive
        Of the whole table.
    k : int
    ground : str
        One of ``GROUNDS``.
    enough : float
        The search ends as soon as the bound of some size is at most this. That bound is then returned.

    Returns
    -------
    float
        0 if there are fewer than 2 k records.
    """
    terms = terms_of(sensitive, ground)
    sizes = np.arange(terms.records // 2, k - 1, -1)
    if len(sizes) == 0 or len(terms.counts) == 0:
        return 0.0
    many = max(1, min(len(terms.counts), WORK // len(sizes)))
    some = np.unique(np.linspace(0, len(terms.counts) - 1, many).astype(np.int64))
    terms = terms._replace(counts=terms.counts[some], weights=terms.weights[some])
    least = np.inf
    chunk = max(1, AT_ONCE // len(some))
    for start in range(0, len(sizes), chunk):
        least = min(least, float(terms.least(sizes[start : start + chunk]).min()))
        if least <= enough:
            break
    return least


def terms_of(sensitive: Sensitive, ground: str = "auto") -> Terms:
    """Return the terms of distances. On a line, missing values count as the lowest value, which is no further away."""
    whole = _on_ground(spectrum_of(np.zeros(len(sensitive.codes), np.int64), sensitive), ground)
    if isinstance(whole.ground, Line):
        counts, weights = whole.whole_missing + np.cumsum(whole.whole)[:-1], np.diff(whole.ground.positions)
        return Terms(counts, weights, len(sensitive.codes))
    full = whole.with_missing()
    if not isinstance(whole.ground, Tree):
        return Terms(full.whole, np.full(len(full.whole), 0.5), len(sensitive.codes))
    below = _lifted(_Shares(full.starts, full.codes, full.counts.astype(np.float64)), _paths(whole.ground))
    weights = 0.5 * _weights(whole.ground)[below.codes]
    return Terms(np.rint(below.amounts).astype(np.int64), weights, len(sensitive.codes))
