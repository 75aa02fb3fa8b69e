"""Hierarchies of values: from the values of a table up to ``*``, which stands for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import localcontext
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError
from shoal.tables.trees import ROOT, Branch, branches, grown, of_rows


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """A tree of labels.

    Nodes are numbered in preorder: the root is 0, and each node is directly followed by its first child. Any node may
    be a value of a table, not only a leaf. If several nodes have the same label (ARX repeats a label on the levels
    above), a value of that name is the leaf, or else the lowest of them.

    Parameters
    ----------
    labels : tuple of str
        The label of each node.
    parents : int64[nodes]
        The parent of each node, -1 for the root.
    lengths : float64[nodes]
        Length of the edge to the parent, 0 for the root.
    """

    labels: tuple[str, ...]
    parents: Array
    lengths: Array

    # --- ways to build one ---

    @classmethod
    def from_csv(cls, path: str | PathLike[str]) -> Hierarchy:
        """Read a CSV file as ARX writes it: no header; each line has a leaf, then its ancestors upwards.

        The delimiter (``;``, ``,`` or tab) is detected, cells may be quoted, and ``.gz`` is decompressed.
        """
        from shoal.tables.hierarchy_files import read_csv

        return _frozen(*read_csv(path))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Hierarchy:
        """Read a file by its suffix: .csv .yaml .yml .json .hrc .owl, each also with .gz.

        :mod:`shoal.tables.hierarchy_files` describes the formats.
        """
        from shoal.tables.hierarchy_files import read

        return _frozen(*read(path))

    @classmethod
    def from_rows(
        cls, rows: Sequence[Sequence[str]], *, lines: Sequence[int] | None = None, name: str = "the hierarchy"
    ) -> Hierarchy:
        """Build from rows of equal length: a leaf and its ancestors upwards.

        The same label on different levels stands for different nodes; within a level it must have one parent. If rows
        end in different labels, ``*`` is put above them.

        Parameters
        ----------
        rows : sequence of sequences of str
        lines : sequence of int, optional
            The line of each row, for messages; by default 1, 2, ...
        name : str
            The name of the hierarchy in messages.
        """
        return _frozen(*of_rows(rows, range(1, len(rows) + 1) if lines is None else lines, name))

    @classmethod
    def from_nested(cls, tree: Any, *, name: str = "the hierarchy") -> Hierarchy:
        """Build from nested dicts and lists, as read from YAML or JSON.

        A key is the parent of what it holds, and a key that holds nothing is a leaf: ``{"Europe": ["France", "Italy"],
        "Asia": {"East": ["Japan"], "West": None}}``. Several keys at the top get the root ``*``. A label must occur
        only once, except that a leaf may have the name of a node above it.
        """
        return cls.from_branches(branches(tree, name), lambda below: branches(below, name), name)

    @classmethod
    def from_branches(
        cls, top: Sequence[Branch], children: Callable[[Any], Sequence[Branch]], name: str = "the hierarchy"
    ) -> Hierarchy:
        """Build from the branches at the top and a function that returns the branches below one."""
        return _frozen(*grown(top, children, name))

    @classmethod
    def from_prefixes(cls, codes: Iterable[str], lengths: Sequence[int] | None = None, mask: str = ROOT) -> Hierarchy:
        """Build from codes whose first characters matter most: 47677, 4767*, 476**, ..., ``*``.

        Parameters
        ----------
        codes : iterable of str
            Shorter codes are padded with the mask to the length of the longest (ICD: E11 and E11.9 meet in ``E11**``).
        lengths : sequence of int, optional
            How many characters the levels keep, such as (3, 1). By default from one less than the longest down to 1.
        mask : str
            The character in place of hidden ones.
        """
        leaves = list(dict.fromkeys(codes))
        if len(mask) != 1:
            raise OptionError(f"The 'mask' of a hierarchy of prefixes must be one character. Got {len(mask)}.")
        bad = sum(not code or mask in code for code in leaves)
        if bad or not leaves:
            raise DataError(
                f"A hierarchy of prefixes must have codes, none of them empty or with the mask {mask!r} in it. "
                f"Got {bad} such of {len(leaves)}."
            )
        longest = max(map(len, leaves))
        kept = list(range(longest - 1, 0, -1)) if lengths is None else [int(length) for length in lengths]
        if kept != sorted(set(kept), reverse=True) or (kept and not 0 < kept[-1] <= kept[0] <= longest):
            raise OptionError(
                "The 'lengths' of a hierarchy of prefixes must fall, from the longest code down to at least 1. "
                f"Got {kept} for codes of up to {longest} characters."
            )
        return cls.from_rows([[c, *(c[:keep].ljust(longest, mask) for keep in kept), ROOT] for c in leaves])

    @classmethod
    def intervals(
        cls,
        numbers: Iterable[str | float],
        widths: Sequence[float | str] | None = None,
        *,
        edges: Sequence[Sequence[float | str]] | None = None,
        origin: float | str = 0,
    ) -> Hierarchy:
        """Build intervals above numbers: 23, ``[20, 25)``, ``[20, 30)``, ``[20, 40)``, ``*``.

        Parameters
        ----------
        numbers : iterable of str or numbers
            The leaves. Texts are kept as they are.
        widths : sequence of numbers
            The width of the intervals on each level, each a multiple of the one before. Intervals start at `origin`.
        edges : sequence of sequences of numbers
            Instead of widths: the bounds of the intervals on each level, which must be among those of the level before.
            Numbers outside of them go to ``(-inf, a)`` and ``[b, inf)``.
        origin : number
        """
        from shoal.tables.ladders import decimal, ladder

        texts = list(dict.fromkeys(str(x) for x in numbers))
        # 800 digits hold every quotient of the numbers allowed, so nothing is rounded: 0.3 is not in [0.2, 0.3).
        with localcontext(prec=800):
            places = ladder(widths, edges, origin)
            values = [decimal(text) for text in texts]
            bad = sum(value is None for value in values)
            if bad or not texts:
                raise DataError(f"A ladder of intervals must stand on numbers. Got {bad} other of {len(texts)} values.")
            rows = [
                [text, *(place(value) for place in places), ROOT]
                for text, value in zip(texts, values, strict=True)
                if value is not None
            ]
        return cls.from_rows(rows)

    def with_lengths(self, lengths: Sequence[float] | Array) -> Hierarchy:
        """Return the same tree with other lengths of the edges to the parents, one for each node."""
        given = np.array(lengths, np.float64)
        if given.shape != (len(self.labels),) or not np.isfinite(given).all() or (given < 0).any():
            raise OptionError(
                f"The 'lengths' of a hierarchy must be {len(self.labels)} finite numbers >= 0, one for each node. "
                f"Got an array of shape {given.shape}."
            )
        given[0] = 0.0
        return _frozen(self.labels, self.parents, given)

    # --- properties ---

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"<Hierarchy of {len(self.leaves)} leaves, {len(self)} nodes, {int(self.depths.max()) + 1} levels>"

    @cached_property
    def depths(self) -> Array:
        """int64[nodes]: number of edges to the root."""
        return self._sums_from_the_root(np.ones(len(self), np.int64))

    @cached_property
    def heights(self) -> Array:
        """float64[nodes]: length of the path to the root."""
        return self._sums_from_the_root(self.lengths)

    @cached_property
    def leaf_nodes(self) -> Array:
        """int64[leaves]: the nodes without children."""
        inner = np.zeros(len(self), bool)
        inner[self.parents[1:]] = True
        return np.flatnonzero(~inner)

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The labels of the leaves."""
        return tuple(self.labels[i] for i in self.leaf_nodes)

    @cached_property
    def _index(self) -> dict[str, int]:
        inner = sorted(range(len(self)), key=lambda node: int(self.depths[node]))
        return {self.labels[i]: i for i in [*inner, *self.leaf_nodes.tolist()]}

    def _sums_from_the_root(self, steps: Array) -> Array:
        total: Array = steps.copy()
        total[0] = 0
        for node in range(1, len(self)):
            total[node] += total[self.parents[node]]
        return total

    # --- queries ---

    def uncovered(self, values: Iterable[str]) -> tuple[str, ...]:
        """Return the values that are not nodes of the hierarchy."""
        return tuple(value for value in values if value not in self._index)

    def nodes_of(self, values: Sequence[str], name: str = "a column") -> Array:
        """Return int64[len(values)]: the node of each value. Raise DataError if some have none.

        Parameters
        ----------
        values : sequence of str
        name : str
            Whose values they are, for the message, which gives their number but not the values.
        """
        lost = self.uncovered(values)
        if lost:
            raise DataError(
                f"Every value of {name} must be in its hierarchy. Got {len(lost)} of {len(values)} that are not.",
                hint="Hierarchy.uncovered lists them; complete the hierarchy, or declare what stands for missing.",
            )
        return np.fromiter((self._index[value] for value in values), np.int64, len(values))

    def ancestors(self, value: str) -> tuple[str, ...]:
        """Return the labels above a value, up to the root."""
        node = self.parents[self.nodes_of([value])[0]]
        path = []
        while node >= 0:
            path.append(self.labels[node])
            node = self.parents[node]
        return tuple(path)

    def meet(self, a: Array, b: Array) -> Array:
        """Return the closest common ancestors of pairs of nodes, elementwise."""
        a, b = np.broadcast_arrays(a, b)
        low, high = np.minimum(a, b).ravel(), np.maximum(a, b).ravel()
        open_ = np.flatnonzero(low != high)
        while len(open_):
            # The node with the higher number is not an ancestor of the other, so it can be replaced by its parent.
            x, y = low[open_], self.parents[high[open_]]
            low[open_], high[open_] = np.minimum(x, y), np.maximum(x, y)
            open_ = open_[x != y]
        return np.asarray(low.reshape(a.shape))

    def common_ancestor(self, nodes: Array, starts: Array) -> Array:
        """Return int64[m]: the closest common ancestor of each group.

        Parameters
        ----------
        nodes : int64[n]
            Group by group.
        starts : int64[m]
            Where groups begin; no group may be empty.
        """
        # In preorder the descendants of a node are consecutive: the first and the last node of a group are enough.
        return self.meet(np.minimum.reduceat(nodes, starts), np.maximum.reduceat(nodes, starts))

    def distance(self, a: Array, b: Array) -> Array:
        """Return the length of the paths between pairs of nodes, elementwise."""
        return np.asarray(self.heights[a] + self.heights[b] - 2.0 * self.heights[self.meet(a, b)])

    def to_plain(self) -> dict[str, Any]:
        """Return plain lists from which :meth:`from_plain` builds the same hierarchy."""
        plain: dict[str, Any] = {"labels": list(self.labels), "parents": self.parents.tolist()}
        return plain if (self.lengths[1:] == 1).all() else {**plain, "lengths": self.lengths.tolist()}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], name: str = "the hierarchy") -> Hierarchy:
        """Build from the lists of :meth:`to_plain`."""
        from shoal.tables.trees import capital, is_preorder

        labels, parents = plain.get("labels"), plain.get("parents") or []
        if not isinstance(labels, list) or not is_preorder(labels, parents):
            raise DataError(
                f"{capital(name)} must list its nodes, each before those below it, and the positions of their parents.",
                hint="Hierarchy.to_plain returns such lists.",
            )
        tree = _frozen([str(label) for label in labels], parents)
        return tree.with_lengths(plain["lengths"]) if "lengths" in plain else tree

    def to_rows(self) -> list[list[str]]:
        """Return a row for each leaf, leaf first; leaves above the lowest level are repeated to fill their rows."""
        depth = int(self.depths.max())
        rows = []
        for node in self.leaf_nodes.tolist():
            row = [self.labels[node]] * (depth - int(self.depths[node]))
            while node >= 0:
                row.append(self.labels[node])
                node = int(self.parents[node])
            rows.append(row)
        return rows


def _frozen(labels: Sequence[str], parents: Sequence[int] | Array, lengths: Array | None = None) -> Hierarchy:
    parents = np.array(parents, np.int64)
    if lengths is None:
        lengths = np.ones(len(labels))
        lengths[0] = 0.0
    parents.flags.writeable = lengths.flags.writeable = False
    return Hierarchy(tuple(labels), parents, lengths)
