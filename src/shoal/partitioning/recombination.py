"""The best partition made of groups met before: set partitioning over windows of neighbouring groups.

Chains of the search end in different partitions, each better than the others somewhere. A window is some tens of groups
next to each other; of all groups met that lie within its records, the cheapest choice that holds each record once is
found by an integer programme. A whole table at once would take too long, a window takes a moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from shoal.arrays import Array, group_means
from shoal.partitioning.chains import Field, Met
from shoal.partitioning.cover_programme import choice

# Records in a window, and groups at least.
WINDOW_RECORDS, WINDOW_GROUPS = 200, 8
# Groups that a window chooses from, and groups that are kept at most, the latest first.
MOST_COLUMNS, MOST_KEPT = 3000, 60_000
NODES = 200
SECONDS = 2.0
# What the programme has to gain, relatively, to be believed.
GAIN = 1e-9


class Memory:
    """Groups met in good partitions, each once.

    Parameters
    ----------
    place : Field
    """

    def __init__(self, place: Field) -> None:
        self.place = place
        width = 2 * place.k - 1
        self.met = Met(np.zeros((0, width), np.int32), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.uint64))

    def add(self, *met: Met) -> None:
        """Add groups; the latest are kept if there are too many."""
        joined = Met(*(np.concatenate(parts) for parts in zip(*met[::-1], self.met, strict=True)))
        _, first = np.unique(joined.keys, return_index=True)
        first = np.sort(first)[:MOST_KEPT]
        self.met = Met(*(part[first] for part in joined))

    def add_partition(self, labels: Array) -> None:
        """Add the groups of a partition."""
        X, width = self.place.X, 2 * self.place.k - 1
        order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels)
        starts = np.cumsum(sizes) - sizes
        rows = np.zeros((len(sizes), width), np.int32)
        rows[labels[order], np.arange(len(labels)) - starts[labels[order]]] = order
        means = group_means(X, labels)
        costs = np.bincount(labels, ((X - means[labels]) ** 2).sum(axis=1))
        keys = np.zeros(len(sizes), np.uint64)
        np.add.at(keys, labels, self.place.keys)
        self.add(Met(rows, sizes, costs, keys))

    def recombine(
        self, labels: Array, rng: np.random.Generator, until: float | None, ended: Callable[[], bool]
    ) -> Array:
        """Return a partition made of the groups met that is at least as good.

        Parameters
        ----------
        labels : int64[n]
        rng : Generator
        until : float or None
            A time by the clock; None: windows until all records were in one, each to the end.
        ended : callable
            Whether to stop.

        Returns
        -------
        int64[n]
            Labels, not numbered without gaps.
        """
        self.add_partition(np.unique(labels, return_inverse=True)[1])
        X, k, met = self.place.X, self.place.k, self.met
        labels, n = labels.copy(), len(labels)
        unused = np.arange(met.rows.shape[1]) >= met.sizes[:, None]
        tried = np.zeros(n, bool)
        count = max(WINDOW_GROUPS, WINDOW_RECORDS // k)
        while not tried.all() and not ended():
            left = None if until is None else until - time.perf_counter()
            if left is not None and left <= 0:
                break
            seed = rng.choice(np.flatnonzero(~tried))
            window = self._window(labels, seed, count)
            # Windows overlap: only the middle of this one is done with.
            distances = ((X[window] - X[seed]) ** 2).sum(axis=1)
            tried[window[np.argsort(distances, kind="stable")[: max(1, len(window) // 3)]]] = True
            tried[seed] = True
            here = np.zeros(n, bool)
            here[window] = True
            inside = np.flatnonzero((here[met.rows] | unused).all(axis=1))
            found = self._solve(labels, window, inside, left)
            if found is not None:
                fresh = int(labels.max()) + 1
                for group in found:
                    labels[met.rows[group, : met.sizes[group]]] = fresh
                    fresh += 1
        return labels

    def _window(self, labels: Array, seed: int, count: int) -> Array:
        """Return the records of the groups nearest to a record, in ascending order."""
        X = self.place.X
        distances = ((X - X[seed]) ** 2).sum(axis=1)
        numbers = np.unique(labels, return_inverse=True)[1]
        nearest = np.full(int(numbers.max()) + 1, np.inf)
        np.minimum.at(nearest, numbers, distances)
        chosen = np.zeros(len(nearest), bool)
        chosen[np.argsort(nearest, kind="stable")[:count]] = True
        return np.flatnonzero(chosen[numbers])

    def _solve(self, labels: Array, window: Array, inside: Array, seconds: float | None) -> Array | None:
        """Return which of the groups met make the best partition of the window, None if it is the one there is."""
        from scipy.sparse import csc_array

        met, n = self.met, len(labels)
        own = np.unique(labels[window], return_inverse=True)[1]
        keys = np.zeros(int(own.max()) + 1, np.uint64)
        np.add.at(keys, own, self.place.keys[window])
        now = np.isin(met.keys[inside], keys)
        ceiling = float(met.costs[inside[now]].sum())
        if ceiling == 0 or len(inside) == int(now.sum()):
            return None
        # What a group costs beyond the shares of its records in the present ones.
        shares = np.zeros(n)
        for group in inside[now]:
            shares[met.rows[group, : met.sizes[group]]] = met.costs[group] / met.sizes[group]
        used = np.arange(met.rows.shape[1]) < met.sizes[inside, None]
        excess = met.costs[inside] - np.where(used, shares[met.rows[inside]], 0.0).sum(axis=1)
        excess[now] = -np.inf
        best = np.sort(np.argsort(excess, kind="stable")[:MOST_COLUMNS])
        columns, now = inside[best], now[best]
        places = np.zeros(n, np.int32)
        places[window] = np.arange(len(window))
        rows = places[met.rows[columns][used[best]]]
        starts = np.concatenate([[0], np.cumsum(met.sizes[columns])])
        matrix = csc_array((np.ones(len(rows)), rows, starts), shape=(len(window), len(columns)))
        costs = met.costs[columns] * (len(window) / ceiling)
        limit = None if seconds is None else min(seconds, SECONDS)
        right = np.ones(len(window))
        chosen, _ = choice(costs, matrix, len(window), right, now.astype(float), seconds=limit, nodes=NODES)
        # The solver works with tolerances: its choice is looked at, not believed.
        whole = bool((matrix[:, chosen].sum(axis=1) == 1).all())
        return columns[chosen] if whole and costs[chosen].sum() < len(window) * (1 - GAIN) else None
