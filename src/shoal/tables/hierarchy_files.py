"""Reading hierarchies from files. Incomplete or contradictory files are refused, with the lines at fault.

- ``.csv``: as ARX writes it. There is no header; each line has a value, then its ancestors upwards, separated by ``;``,
  ``,`` or tabs; cells may be quoted.
- ``.yaml``, ``.yml``: nested mappings and lists. Labels are taken as written (no is "no", 01 is "01").
- ``.json``: the same in JSON.
- ``.hrc``: as tau-ARGUS writes it. Each line has a code, after one ``@`` for each level that it lies below the top.
- ``.owl``: the classes and named individuals of an ontology in RDF/XML, each of which must have a single parent. Labels
  are the last part of their names.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from os import PathLike
from pathlib import Path
from typing import Any

from shoal.errors import DataError, OptionError, near_names
from shoal.tables.trees import Branch, branches, capital, grown, of_rows, some_lines

Nodes = tuple[list[str], list[int]]
"""The label and the parent of each node of a tree."""

DELIMITERS = (";", ",", "\t")
# Bytes of a packed file: a few must not fill the memory.
LARGEST = 2**28
SUFFIXES = (".csv", ".yaml", ".yml", ".json", ".hrc", ".owl")

_OWL = "http://www.w3.org/2002/07/owl#"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"


def read(path: str | PathLike[str]) -> Nodes:
    """Return the nodes of the hierarchy in a file whose suffix gives its format."""
    path = Path(path)
    suffix = Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()
    if suffix not in SUFFIXES:
        raise OptionError(
            f"The file of a hierarchy must end in one of {', '.join(SUFFIXES)} (or that with .gz). Got {path.name!r}.",
            hint=_near(path.name, suffix),
        )
    if suffix == ".csv":
        return read_csv(path)
    name = f"the hierarchy {path.name!r}"
    data = _bytes(path, name)
    if suffix == ".owl":
        return _from_owl(data, name)
    text = _text(data, name)
    if suffix == ".hrc":
        return _from_indented(text, name)
    return _from_json(text, name) if suffix == ".json" else _from_yaml(text, name)


def _near(name: str, suffix: str) -> str:
    """Return the hint for a name that is none of a file: rules are given in its place, and may be mistyped."""
    if suffix:
        return near_names(suffix, SUFFIXES, "a CSV file as ARX writes it is the most common one.")
    rules = {"prefixes": "prefixes or prefixes:2,3 for codes", "widths": "widths:5,10 for numbers"}
    return near_names(name.partition(":")[0], rules, f"a rule is written {', '.join(rules.values())}.")


def read_csv(path: str | PathLike[str]) -> Nodes:
    """Return the nodes of the hierarchy in a CSV file as ARX writes it."""
    path = Path(path)
    name = f"the hierarchy {path.name!r}"
    text = _text(_bytes(path, name), name)
    read, errors = [], []
    for delimiter in DELIMITERS:
        try:
            read.append(_cells(text, delimiter, name))
        except DataError as error:
            errors.append(error)
    # The first delimiter that gives all lines the same number of cells; else the one that splits most lines.
    alike = [rows for rows in read if len({len(row) for row, _ in rows}) == 1 and len(rows[0][0]) > 1]
    rows = max(alike[:1] or read, key=lambda rows: sum(len(row) > 1 for row, _ in rows), default=[])
    if errors and not any(len(row) > 1 for row, _ in rows):
        raise errors[0]
    return of_rows([row for row, _ in rows], [line for _, line in rows], name)


def _bytes(path: Path, name: str) -> bytes:
    try:
        if path.suffix.lower() != ".gz":
            return path.read_bytes()
        with gzip.open(path) as file:
            data = file.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or "not a complete gzip file"
        raise DataError(f"{capital(name)} must be a file that can be read. Got: {reason}.") from error
    if len(data) > LARGEST:
        raise DataError(
            f"{capital(name)} must have at most {LARGEST >> 20} MiB when it is unpacked. Got one that has more.",
            hint="unpack it yourself, if you trust it.",
        )
    return data


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{capital(name)} must be text in UTF-8. Got other bytes in line {line}.",
            hint="save it as UTF-8.",
        ) from error


def _cells(text: str, delimiter: str, name: str) -> list[tuple[list[str], int]]:
    """Return the cells and the line number of every line that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return [(row, reader.line_num) for row in reader if row]
    except csv.Error as error:
        raise DataError(
            f"{capital(name)} must be a CSV file. Got in line {reader.line_num}: {error}.",
            hint="close quotes, and double those inside of quoted cells.",
        ) from error


def _from_json(text: str, name: str) -> Nodes:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        kept = dict(items)
        if len(kept) < len(items):
            keys = [key for key, _ in items]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise DataError(f"A label of {name} must have one place. Got {twice!r} twice in one mapping.")
        return kept

    try:
        tree = json.loads(text, object_pairs_hook=pairs, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        raise DataError(f"{capital(name)} must be JSON. Got {error.msg} in line {error.lineno}.") from error
    except RecursionError as error:
        raise DataError(f"{capital(name)} must not be nested deeper than some hundred levels.") from error
    return grown(branches(tree, name), lambda below: branches(below, name), name)


def _from_yaml(text: str, name: str) -> Nodes:
    import yaml

    def label(node: yaml.Node) -> str:
        line = node.start_mark.line + 1
        if not isinstance(node, yaml.ScalarNode):
            raise DataError(
                f"Labels of {name} must be text. Got a list or a mapping as one in line {line}.",
                hint="a list holds values or mappings, not lists.",
            )
        return str(node.value)

    def below(node: yaml.Node | None) -> list[Branch]:
        if node is None:
            return []
        if isinstance(node, yaml.MappingNode):
            return [Branch(label(key), value, key.start_mark.line + 1) for key, value in node.value]
        if isinstance(node, yaml.SequenceNode):
            return [b for n in node.value for b in (below(n) if isinstance(n, yaml.MappingNode) else [leaf(n)])]
        # A key without a value is a leaf.
        return [] if node.tag == "tag:yaml.org,2002:null" and node.value in ("", "~") else [leaf(node)]

    def leaf(node: yaml.Node) -> Branch:
        return Branch(label(node), None, node.start_mark.line + 1)

    try:
        top = below(yaml.compose(text, Loader=yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or "something else"
        raise DataError(f"{capital(name)} must be YAML. Got {problem}{where}.") from error
    except RecursionError as error:
        raise DataError(f"{capital(name)} must not be nested deeper than some hundred levels.") from error
    return grown(top, below, name)


def _from_indented(text: str, name: str) -> Nodes:
    """Read codes with one @ before them for each level below the top."""
    top: list[Branch] = []
    path: list[list[Branch]] = [top]
    jumps = []
    for number, line in enumerate(text.splitlines(), start=1):
        code = line.strip()
        if not code:
            continue
        label = code.lstrip("@").strip()
        depth = len(code) - len(code.lstrip("@"))
        if depth >= len(path):
            jumps.append(number)
            continue
        below: list[Branch] = []
        path[depth].append(Branch(label, below, number))
        path[depth + 1 :] = [below]
    if jumps:
        raise DataError(
            f"In {name} a code must lie at most one level below the line before. Got more in {some_lines(jumps)}."
        )
    return grown(top, lambda below: below or [], name)


def _from_owl(data: bytes, name: str) -> Nodes:
    """Read the parents of classes and individuals; everything else in an ontology is ignored."""
    parents, lines = _links(data, name)
    torn = [node for node, above in parents.items() if len(above) > 1]
    if torn:
        listed = "; ".join(f"{node!r} in {some_lines(lines[node])}" for node in torn[:5])
        raise DataError(
            f"In {name} everything must be of one kind, or it is no tree. Got {len(torn)} with several: {listed}."
        )
    children: dict[str, list[Branch]] = {node: [] for node in parents}
    top: list[Branch] = []
    for node, above in parents.items():
        branch = Branch(node, node, lines[node][0])
        (children[next(iter(above))] if above else top).append(branch)
    result = grown(top, lambda node: children[node], name) if top or not parents else None
    lost = [lines[node][0] for node in parents if result is None or node not in result[0]]
    if result is None or lost:
        raise DataError(f"In {name} nothing must be a kind of itself. Got a circle in {some_lines(sorted(lost))}.")
    return result


def _links(data: bytes, name: str) -> tuple[dict[str, dict[str, None]], dict[str, list[int]]]:
    """Return the parents of each class and individual, and the lines that mention it."""
    from xml.parsers import expat

    parents: dict[str, dict[str, None]] = {}
    lines: dict[str, list[int]] = {}
    open_: list[str | None] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        about = attributes.get(f"{_RDF} about") or attributes.get(f"{_RDF} ID")
        subject = open_[-1] if open_ else None
        open_.append(_last_part(about) if about and tag in (f"{_OWL} Class", f"{_OWL} NamedIndividual") else None)
        kind = attributes.get(f"{_RDF} resource")
        mentioned = [open_[-1]]
        if subject and kind and tag in (f"{_RDFS} subClassOf", f"{_RDF} type") and not kind.startswith(_OWL):
            mentioned = [subject, _last_part(kind)]
            parents[subject][_last_part(kind)] = None
        for thing in mentioned:
            if thing:
                parents.setdefault(thing, {})
                lines.setdefault(thing, []).append(parser.CurrentLineNumber)

    def end(_: str) -> None:
        open_.pop()

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise DataError(f"{capital(name)} must be RDF/XML. Got an error in line {error.lineno}.") from error
    return parents, lines


def _last_part(address: str) -> str:
    return address.replace("#", "/").rstrip("/").rsplit("/", 1)[-1]
