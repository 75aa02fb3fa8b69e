"""Random hierarchies in every form that Shoal takes, and their plain meaning: the ancestors of each value."""

from __future__ import annotations

import json
from decimal import Decimal
from random import Random
from typing import Any

from fuzz import markers

ROOT = "*"
Paths = dict[str, list[str]]


def text_of(value: Any) -> str:
    """Return a value as a label of a hierarchy."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def random_paths(random: Random, labels: list[str]) -> Paths:
    """Return ancestors of labels, all of the same number, with markers among the nodes and some unused leaves."""
    leaves = list(dict.fromkeys([*labels, *(markers.word(random) for _ in range(random.randint(0, 3)))]))
    paths: Paths = {leaf: [] for leaf in leaves}
    level = leaves
    for _ in range(random.randint(0, 2)):
        nodes = [markers.word(random) for _ in range(random.randint(1, max(1, len(level) // 2)))]
        above = {node: random.choice(nodes) for node in level}
        for leaf in leaves:
            paths[leaf].append(above[paths[leaf][-1] if paths[leaf] else leaf])
        level = list(dict.fromkeys(above.values()))
    for leaf in leaves:
        paths[leaf].append(ROOT)
    return paths


def _nested(paths: Paths) -> Any:
    """Return paths as nested mappings and lists."""
    tree: dict[str, Any] = {}
    for leaf, above in paths.items():
        at = tree
        for node in reversed(above[:-1]):
            at = at.setdefault(node, {})
        at[leaf] = None
    return _lists(tree)


def _lists(tree: dict[str, Any]) -> Any:
    if all(below is None for below in tree.values()):
        return list(tree)
    return {node: None if below is None else _lists(below) for node, below in tree.items()}


def _indented(tree: Any, depth: int = 0) -> list[str]:
    lines = []
    for node in tree:
        lines.append("@" * depth + node)
        below = tree[node] if isinstance(tree, dict) else None
        lines += _indented(below, depth + 1) if below else []
    return lines


def random_hierarchy(random: Random, values: list[Any], name: str, files: dict[str, str]) -> Any:
    """Return a hierarchy of words for a plan; files that it needs are added to `files`."""
    labels = list(dict.fromkeys(text_of(value) for value in values if value is not None))
    paths = random_paths(random, labels or ["x"])
    how = random.choice(("nested", "rows", "rows", "csv", "json", "hrc", "lengths"))
    if how in ("rows", "lengths"):
        rows = [[leaf, *above] for leaf, above in paths.items()]
        return {"build": how, "rows": rows, "seed": random.randrange(10**6)}
    nested = _nested(paths)
    awkward = any(c in label for label in paths for c in ';,\t\n\r"@') or any(
        not p.strip() or p != p.strip() for p in paths
    )
    if how == "nested" or awkward:
        return nested
    file = f"{name}.{how}"
    if how == "csv":
        files[file] = "".join(";".join([leaf, *above]) + "\n" for leaf, above in paths.items())
    else:
        files[file] = json.dumps(nested) if how == "json" else "\n".join(_indented(nested)) + "\n"
    return {"file": file}


def random_prefixes(random: Random) -> Any:
    """Return a hierarchy of prefixes for a plan."""
    return random.choice(("prefixes", "prefixes:1", "prefixes:2,1", {"prefixes": [1]}, {"prefixes": []}))


def random_widths(random: Random) -> Any:
    """Return a hierarchy of intervals for a plan."""
    edges = [[0, 10, 20, 50, 100], [0, 20, 100]]
    return random.choice(("widths:5,10,20", {"widths": [10]}, {"widths": [2, 10]}, {"build": "edges", "edges": edges}))


def built(given: Any, values: list[Any], folder: str) -> Any:
    """Return the hierarchy to put into a plan: an object where `given` describes one, the path where it is a file."""
    import shoal

    if not isinstance(given, dict) or not {"build", "file"} & set(given):
        return given
    if "file" in given:
        return f"{folder}/{given['file']}"
    if given["build"] == "edges":
        known = [text_of(value) for value in values if value is not None]
        return shoal.Hierarchy.intervals(known, edges=given["edges"])
    tree = shoal.Hierarchy.from_rows(given["rows"])
    if given["build"] == "lengths":
        random = Random(given["seed"])
        return tree.with_lengths([random.choice((0.5, 1, 2)) for _ in tree.labels])
    return tree


def plain_paths(given: Any, values: list[Any], files: dict[str, str]) -> Paths | None:
    """Return the ancestors of all nodes, upwards and ending in the root; None where only Shoal can tell."""
    labels = list(dict.fromkeys(text_of(value) for value in values if value is not None))
    if isinstance(given, dict) and "file" in given:
        text = files[given["file"]]
        if given["file"].endswith(".csv"):
            return _closed({row[0]: row[1:] for row in (line.split(";") for line in text.splitlines())})
        return _closed(_walk(json.loads(text), [ROOT])) if given["file"].endswith(".json") else None
    if isinstance(given, dict) and "rows" in given:
        return _closed({row[0]: list(row[1:]) for row in given["rows"]})
    if isinstance(given, str | dict) and "prefixes" in str(given):
        lengths = given.partition(":")[2].split(",") if isinstance(given, str) else given["prefixes"]
        return _prefixes(labels, sorted((int(length) for length in lengths if length), reverse=True))
    if isinstance(given, str | dict) and "widths" in str(given):
        widths = given.partition(":")[2].split(",") if isinstance(given, str) else given["widths"]
        return _intervals(labels, sorted(int(width) for width in widths))
    if isinstance(given, dict) and "build" in given:
        return None
    return _closed(_walk(given, [ROOT])) if isinstance(given, dict | list) else None


def _walk(tree: Any, above: list[str]) -> Paths:
    paths: Paths = {}
    for node in tree:
        below = tree[node] if isinstance(tree, dict) else None
        paths[node] = above
        if below:
            paths.update(_walk(below, [node, *above]))
    return paths


def _closed(paths: Paths) -> Paths | None:
    """Return the paths of inner nodes too; None if a label stands for several nodes."""
    result: Paths = {}
    for leaf, above in paths.items():
        chain = [leaf, *above]
        if len(set(chain)) < len(chain):
            return None
        for at, node in enumerate(chain):
            if result.setdefault(node, chain[at + 1 :]) != chain[at + 1 :]:
                return None
    return result


def _prefixes(labels: list[str], lengths: list[int]) -> Paths | None:
    longest = max(map(len, labels), default=0)
    kept = lengths or list(range(longest - 1, 0, -1))
    if any(len(label) < longest for label in labels):
        return None
    return _closed({label: [*(label[:n].ljust(longest, ROOT) for n in kept), ROOT] for label in labels})


def _intervals(labels: list[str], widths: list[int]) -> Paths | None:
    try:
        numbers = {label: Decimal(label) for label in labels}
    except ArithmeticError:
        return None
    paths = {}
    for label, number in numbers.items():
        lows = [int(number // width * width) if number >= 0 else -int(-(-number // width) * width) for width in widths]
        if number < 0:
            return None
        paths[label] = [*(f"[{low}, {low + width})" for low, width in zip(lows, widths, strict=True)), ROOT]
    return _closed(paths)
