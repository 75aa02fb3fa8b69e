"""Building trees of labels. Incomplete or inconsistent ones are refused, with the lines at fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from shoal.errors import DataError

ROOT = "*"


class Branch(NamedTuple):
    """A node of a tree under construction."""

    label: str
    below: Any  # from which `children` makes the branches below
    line: int | None = None  # of the file


def grown(top: Sequence[Branch], children: Callable[[Any], Sequence[Branch]], name: str) -> tuple[list[str], list[int]]:
    """Return labels and parents of the tree below the branches at the top, and refuse labels that occur twice.

    They are refused at once, so that this ends even for a tree that contains itself.
    """
    if not top:
        raise DataError(f"{capital(name)} must have at least one value. Got none.")
    labels, parents, lines = ([ROOT], [-1], [None]) if len(top) > 1 else ([], [], [])
    seen = dict.fromkeys(labels, 0)
    stack = [(branch, len(labels) - 1) for branch in reversed(top)]
    while stack:
        branch, above = stack.pop()
        below = children(branch.below)
        if branch.label == "":
            raise DataError(f"Labels of {name} must not be empty. Got an empty one{_at(branch.line)}.")
        if branch.label in seen:
            ancestor = above
            while ancestor > seen[branch.label]:
                ancestor = parents[ancestor]
            if below or ancestor != seen[branch.label]:
                raise DataError(
                    f"A label of {name} must have one place. Got {branch.label!r} twice"
                    f"{_at(lines[seen[branch.label]], branch.line)}.",
                    hint="only a leaf may have the name of a node above it.",
                )
        seen[branch.label] = len(labels)
        stack.extend((child, len(labels)) for child in reversed(below))
        labels.append(branch.label)
        parents.append(above)
        lines.append(branch.line)
    return labels, parents


def of_rows(rows: Sequence[Sequence[str]], lines: Sequence[int], name: str) -> tuple[list[str], list[int]]:
    """Return labels and parents of the tree whose leaves have these paths to the root; a node is a label on a level."""
    _check_rows(rows, lines, name)
    index: dict[tuple[int, str], int] = {}
    labels: list[str] = []
    parents: list[int] = []
    first: list[int] = []
    torn: list[str] = []
    for row, line in zip(rows, lines, strict=True):
        above = -1
        for level in range(len(row) - 1, -1, -1):
            node = index.setdefault((level, row[level]), len(labels))
            if node == len(labels):
                labels.append(row[level])
                parents.append(above)
                first.append(line)
            elif parents[node] != above:
                torn.append(f"{row[level]!r} (column {level + 1}) in lines {first[node]} and {line}")
                break
            above = node
    if torn:
        raise DataError(
            f"On each level of {name} a label must have one parent. Got two for {_some(torn)}.",
            hint="give different things different labels, and the same thing the same path.",
        )
    return _in_preorder(labels, parents)


def some_lines(lines: Sequence[int]) -> str:
    """Return 'line 3' or 'lines 3, 5, 8 and 20 more'."""
    return ("line " if len(lines) == 1 else "lines ") + _some([str(line) for line in lines], ", ")


def _some(things: Sequence[str], comma: str = "; ", limit: int = 5) -> str:
    shown = comma.join(things[:limit])
    return shown if len(things) <= limit else f"{shown} and {len(things) - limit} more"


def _at(*lines: int | None) -> str:
    known = sorted(line for line in lines if line is not None)
    return f" in {some_lines(known)}" if known else ""


def capital(name: str) -> str:
    """Return the name as a sentence begins with it."""
    return name[:1].upper() + name[1:]


def _check_rows(rows: Sequence[Sequence[str]], lines: Sequence[int], name: str) -> None:
    if not rows:
        raise DataError(f"{capital(name)} must have at least one line. Got none.")
    # The width of most rows is taken to be the right one.
    widths = [len(row) for row in rows]
    width = max(dict.fromkeys(widths), key=widths.count)
    ragged = [line for line, w in zip(lines, widths, strict=True) if w != width]
    if ragged or width < 2:
        raise DataError(
            f"All lines of {name} must have the same number of cells, at least two. "
            f"Got {width} in most, and another number in {len(ragged)}{_at(*ragged)}.",
            hint="each line has a value, then its generalisations, level by level, up to one that all values share.",
        )
    empty = [line for line, row in zip(lines, rows, strict=True) if "" in row]
    if empty:
        raise DataError(
            f"No cell of {name} must be empty. Got empty ones{_at(*empty)}.",
            hint="repeat the label on levels where a value is not generalised further.",
        )


def is_preorder(labels: list[Any], parents: Any) -> bool:
    """Return whether `parents` are those of a tree whose nodes are in preorder."""
    if not isinstance(parents, list) or not labels or len(parents) != len(labels) or parents[0] != -1:
        return False
    path = [0]
    for node, parent in enumerate(parents[1:], 1):
        while path and path[-1] != parent:
            path.pop()
        if not path:
            return False
        path.append(node)
    return True


def _in_preorder(labels: Sequence[str], parents: Sequence[int]) -> tuple[list[str], list[int]]:
    """Return labels and parents, given in any order, in preorder; several roots get a common one above them."""
    children: list[list[int]] = [[] for _ in labels]
    roots: list[int] = []
    for node, above in enumerate(parents):
        (roots if above < 0 else children[above]).append(node)
    new_labels, new_parents = ([ROOT], [-1]) if len(roots) > 1 else ([], [])
    stack = [(root, len(new_labels) - 1) for root in reversed(roots)]
    while stack:
        node, above = stack.pop()
        stack.extend((child, len(new_labels)) for child in reversed(children[node]))
        new_labels.append(labels[node])
        new_parents.append(above)
    return new_labels, new_parents


def branches(tree: Any, name: str) -> list[Branch]:
    """Return the branches that a dict, a list, a single value or None holds."""
    if tree is None:
        return []
    if isinstance(tree, Mapping):
        return [Branch(_label(key, name), below) for key, below in tree.items()]
    if isinstance(tree, list | tuple):
        return [
            branch
            for item in tree
            for branch in (branches(item, name) if isinstance(item, Mapping) else [Branch(_label(item, name), None)])
        ]
    return [Branch(_label(tree, name), None)]


def _label(thing: Any, name: str) -> str:
    if isinstance(thing, bool) or not isinstance(thing, str | int | float):
        raise DataError(
            f"Labels of {name} must be text or numbers. Got a {type(thing).__name__}.",
            hint="put words such as yes, no, true and null in quotes; lists hold values or mappings, not lists.",
        )
    return str(thing)
