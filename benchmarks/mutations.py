"""Mutants of modules: one place of the source changed in one way, by the operators of Cosmic Ray and some of our own.

Cosmic Ray exchanges operators, comparisons, numbers, booleans and the like. What it does not do is to leave something
out, which is how guarantees get lost: a part of a condition, a check that is called for what it raises. These
operators are added here.
"""

from __future__ import annotations

import ast
import difflib
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names

Position = tuple[tuple[int, int], tuple[int, int]]


class WithoutOperand(Operator):  # type: ignore[misc]
    """Leaves out one part of a condition joined by and, or."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield the place of every part."""
        if node.type in ("and_test", "or_test"):
            for operand in node.children[::2]:
                yield operand.start_pos, operand.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Remove a part, and the word before or after it."""
        children = node.children
        gone = slice(0, 2) if index == 0 else slice(2 * index - 1, 2 * index + 1)
        prefix = children[0].get_first_leaf().prefix
        del children[gone]
        children[0].get_first_leaf().prefix = prefix
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        """Return none: tests of Shoal have them."""
        return ()


class WithoutCall(Operator):  # type: ignore[misc]
    """Leaves out a statement that is nothing but a call."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield the place of the call."""
        statement = node.parent is not None and node.parent.type == "simple_stmt"
        if statement and node.type in ("atom_expr", "power") and node.children[-1].type == "trailer":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Put `pass` in its place."""
        nothing = parso.parse("pass").children[0]
        nothing.get_first_leaf().prefix = node.get_first_leaf().prefix
        return nothing

    @classmethod
    def examples(cls) -> tuple[()]:
        """Return none: tests of Shoal have them."""
        return ()


@dataclass(frozen=True)
class Mutant:
    """A change of one place of one module.

    Attributes
    ----------
    module : str
        Path below the folder of the package.
    operator : str
    occurrence : int
        Which of the places and ways of the operator.
    line, last : int
        First and last line of the place.
    source : str
        The module with the change.
    before, after : str
        The lines that differ.
    """

    module: str
    operator: str
    occurrence: int
    line: int
    last: int
    source: str
    before: str
    after: str


def operators() -> dict[str, Operator]:
    """Return all operators that need no arguments, by name."""
    theirs = {name: get_operator(name) for name in operator_names()}
    plain = {name.partition("/")[2]: kind() for name, kind in theirs.items() if not kind.arguments()}
    plain.pop("NoOp", None)
    return {**plain, "WithoutOperand": WithoutOperand(), "WithoutCall": WithoutCall()}


def places(code: str) -> dict[Position, list[tuple[str, int]]]:
    """Return every place that can be changed, with the ways to change it: an operator and an occurrence of it.

    Annotations are left alone, as nothing runs them, and the ``strict`` of `zip`, which guards against ourselves.
    """
    nodes, silent = list(ast_nodes(get_ast(code))), _silent(code)
    found: dict[Position, list[tuple[str, int]]] = defaultdict(list)
    for name, operator in operators().items():
        positions = (position for node in nodes for position in operator.mutation_positions(node))
        for occurrence, position in enumerate(positions):
            if not any(start <= position[0] and position[1] <= stop for start, stop in silent):
                found[position].append((name, occurrence))
    return dict(found)


def _silent(code: str) -> list[Position]:
    """Return where annotations are, blocks for the checker of types, and the ``strict=`` of calls."""
    parts: list[ast.expr | ast.stmt | None] = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef):
            parts.append(node.returns)
        elif isinstance(node, ast.arg | ast.AnnAssign):
            parts.append(node.annotation)
        elif isinstance(node, ast.keyword) and node.arg == "strict":
            parts.append(node.value)
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            parts.append(node)
    return [
        ((part.lineno, part.col_offset), (part.end_lineno or 0, part.end_col_offset or 0))
        for part in parts
        if part is not None
    ]


def drawn(package: Path, folders: Iterable[str], draw: random.Random) -> list[tuple[str, Position, tuple[str, int]]]:
    """Return every place of the modules in some folders of a package, in random order, with one way to change it.

    A place counts once: else arithmetic, which can be changed in eleven ways, would count eleven times as much as a
    condition.
    """
    found = [
        (path.relative_to(package).as_posix(), position, draw.choice(ways))
        for folder in folders
        for path in sorted((package / folder).rglob("*.py"))
        for position, ways in sorted(places(path.read_text(encoding="utf-8")).items())
    ]
    draw.shuffle(found)
    return found


def mutant(package: Path, module: str, position: Position, way: tuple[str, int]) -> Mutant | None:
    """Return the mutant of a place, None if nothing that runs is changed or the change is no Python."""
    code = (package / module).read_text(encoding="utf-8")
    operator, occurrence = way
    try:
        source = mutate_code(code, operators()[operator], occurrence)
    except AttributeError:  # ExceptionReplacer stumbles over names with a dot
        return None
    if source is None or not _differs(code, source):
        return None
    before, after = _lines(code, source)
    return Mutant(module, operator, occurrence, position[0][0], position[1][0], source, before, after)


def _differs(code: str, source: str) -> bool:
    """Return whether a change is one for the compiler, and one that it takes."""
    try:
        return ast.dump(ast.parse(code)) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def _lines(code: str, source: str) -> tuple[str, str]:
    """Return what differs, without indentation."""
    changes = [line for line in difflib.ndiff(code.splitlines(), source.splitlines()) if line[0] in "+-"]
    before, after = ([line[2:].strip() for line in changes if line[0] == sign] for sign in "-+")
    return " ".join(before), " ".join(after)
