"""The picture of the house and a paragraph for each package, made from the imports and the docstrings of packages.

`docs/reference.py` writes them: the picture to docs/explanation/house.svg, the paragraphs into architecture.md.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parent.parent / "src" / "shoal"
BEGIN, END = "<!-- packages: begin (docs/house.py) -->", "<!-- packages: end -->"

# What everybody may import: the picture shows it as one strip.
BASE = ("arrays", "entry", "errors", "fields", "frozen", "options", "plan", "plan_checks", "progress")
# What the lower package gives to the upper one, for each arrow of the picture.
FLOWS = {
    ("cli", "web"): "settings",
    ("cli", "engines"): "Job ⇄ LargeRelease",
    ("spark", "engines"): "data frames",
    ("engines", "release"): "job in memory, documents",
    ("web", "datasets"): "demo table",
    ("web", "release"): "Plan ⇄ Release",
    ("estimator", "measure"): "labels, loss",
    ("measure", "partitioning"): "labels",
    ("measure", "tables"): "values before and after",
    ("dp", "tables"): "declared columns",
    ("dp", "partitioning"): "insensitive groups",
    ("partitioning", "kernels"): "arrays",
    ("privacy", "tables"): "published columns",
    ("io", "tables"): "plain types",
    ("job_files", "io"): "addresses",
    ("release", "job_files"): "job file",
    ("release", "measure"): "loss, bounds",
    ("release", "privacy"): "audit, demands",
    ("release", "risk"): "linkage",
    ("release", "dp"): "private tables, ledger",
    ("risk", "partitioning"): "the index",
    ("risk", "tables"): "coordinates",
}
# Where each package stands in the picture: column and floor, the top being 0; and what it is, in a few words. What a
# package imports stands below it.
PLACES = {
    "cli": (1.5, 0, "the command line"),
    "spark": (0.25, 0, "for data frames of Spark"),
    "web": (1.5, 1, "the page and its API"),
    "engines": (0.25, 1, "tables larger than memory"),
    "estimator": (0.25, 2, "for scikit-learn"),
    "release": (1.5, 2, "from plan to release"),
    "datasets": (2.75, 2, "tables to try it on"),
    "measure": (0.25, 3, "loss, bounds, utility"),
    "privacy": (1.5, 3, "audit, privacy models"),
    "risk": (2.75, 3, "what an intruder can do"),
    "dp": (4.0, 3, "differential privacy"),
    "job_files": (5.25, 3, "YAML, TOML, JSON"),
    "partitioning": (0.25, 4, "methods that make groups"),
    "tables": (1.5, 5, "columns ⇄ coordinates"),
    "io": (5.25, 4, "files and databases"),
    "kernels": (0.25, 5, "compiled loops"),
}
# Boxes, gaps between them, and the margin, in pixels.
WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 172, 58, 40, 58, 24


class Package(NamedTuple):
    """A package, or a module beside the packages: the others that it imports, and its docstring."""

    name: str
    imports: frozenset[str]
    docstring: str


def packages() -> dict[str, Package]:
    """Return all packages of Shoal and the modules beside them, without the front door."""
    made = {}
    for path in sorted(SOURCE.iterdir()):
        files = sorted(path.rglob("*.py")) if (path / "__init__.py").is_file() else [path]
        if path.suffix not in ("", ".py") or path.name.startswith("__"):
            continue
        trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
        name = path.stem
        targets = {target for file, tree in trees.items() for target in _targets(file, tree)}
        made[name] = Package(
            name,
            frozenset(targets - {name, ""}),
            ast.get_docstring(trees[files[0] if len(files) == 1 else path / "__init__.py"]) or "",
        )
    return {name: one._replace(imports=one.imports & made.keys()) for name, one in made.items()}


def _targets(path: Path, tree: ast.Module) -> Iterator[str]:
    """Yield the packages of Shoal that a module imports when it runs; what only type checkers read is left out."""
    skipped = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("shoal."))
        elif isinstance(node, ast.ImportFrom) and node.module == "shoal":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shoal."):
            yield (node.module or "").split(".")[1]


def arrows(house: dict[str, Package]) -> list[tuple[str, str]]:
    """Return the imports that do not follow from others: (upper, lower)."""
    rooms = {name: one.imports - set(BASE) for name, one in house.items() if name not in BASE}
    reach: dict[str, set[str]] = {}

    def below(name: str) -> set[str]:
        if name not in reach:
            reach[name] = set(rooms[name]).union(*(below(lower) for lower in rooms[name]))
        return reach[name]

    return [
        (upper, lower)
        for upper, lowers in sorted(rooms.items())
        for lower in sorted(lowers)
        if not any(lower in below(between) for between in lowers - {lower})
    ]


def picture() -> str:
    """Return the picture as SVG."""
    house = packages()
    missing = house.keys() - set(BASE) - PLACES.keys()
    if missing:
        raise SystemExit(f"PLACES of docs/house.py must have a place for {sorted(missing)}.")
    left, columns = (end(column for column, _, _ in PLACES.values()) for end in (min, max))
    rows = max(floor for _, floor, _ in PLACES.values())
    width = 2 * MARGIN + (columns - left) * (WIDTH + ACROSS) + WIDTH
    place = {
        name: (MARGIN + (column - left) * (WIDTH + ACROSS), MARGIN + floor * (HEIGHT + DOWN))
        for name, (column, floor, _) in PLACES.items()
    }
    ground = MARGIN + (rows + 1) * (HEIGHT + DOWN) - DOWN / 2
    height = ground + 44 + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        'font-family="system-ui, sans-serif" font-size="13">',
        "<title>The packages of Shoal: each imports only what stands below it</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#607d8b"/></marker></defs>',
        f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
    ]
    for upper, lower in arrows(house):
        if (upper, lower) not in FLOWS or place[upper][1] >= place[lower][1]:
            raise SystemExit(f"docs/house.py must place {upper!r} above {lower!r}, and say in FLOWS what flows.")
        lines += _arrow(place[upper], place[lower], FLOWS[upper, lower])
    for name, (x, y) in place.items():
        lines += _box(x, y, WIDTH, HEIGHT, name, PLACES[name][2])
    wide = width - 2 * MARGIN
    lines += _box(MARGIN, ground, wide, 44, " · ".join(BASE), "free to import for everybody", fill="#eceff1")
    return "\n".join([*lines, "</svg>", ""])


def _box(x: float, y: float, wide: float, high: float, name: str, note: str, fill: str = "#e0f2f1") -> list[str]:
    middle = x + wide / 2
    return [
        f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="7" fill="{fill}" stroke="#607d8b"/>',
        f'<text x="{middle:g}" y="{y + high / 2 - 3:g}" text-anchor="middle" font-weight="600" fill="#263238">'
        f"{escape(name)}</text>",
        f'<text x="{middle:g}" y="{y + high / 2 + 15:g}" text-anchor="middle" font-size="11" fill="#546e7a">'
        f"{escape(note)}</text>",
    ]


def _arrow(upper: tuple[float, float], lower: tuple[float, float], words: str) -> list[str]:
    """Return an arrow from the bottom of one box to the top of another, with what flows beside its middle."""
    (a, top), (b, bottom) = (upper[0] + WIDTH / 2, upper[1] + HEIGHT), (lower[0] + WIDTH / 2, lower[1])
    bend = (top + bottom) / 2
    # Arrows that arrive from both sides do not hide each other.
    b += max(-0.3 * WIDTH, min(0.3 * WIDTH, (a - b) / 6))
    x, y = (a + b) / 2, bend + 4
    return [
        f'<path d="M{a:g} {top:g} C{a:g} {bend:g} {b:g} {bend:g} {b:g} {bottom - 2:g}" fill="none" stroke="#607d8b" '
        'stroke-width="1.4" marker-end="url(#tip)"/>',
        f'<text x="{x:g}" y="{y:g}" text-anchor="middle" font-size="11" fill="#00695c" stroke="#ffffff" '
        f'stroke-width="4" paint-order="stroke">{escape(words)}</text>',
    ]


def paragraphs() -> str:
    """Return what the architecture page says of each package: what it knows, what it imports, where to add."""
    house = packages()
    lines = []
    for name in PLACES:
        knows, add = summary(house[name])
        touches = ", ".join(f"`{one}`" for one in sorted(house[name].imports)) or "nothing of Shoal"
        lines += [f"**`shoal.{name}`**", "", f"- Knows: {knows}", f"- Imports: {touches}.", f"- To add {add}", ""]
    return "\n".join(lines)


def summary(one: Package) -> tuple[str, str]:
    """Return the first paragraph of a package's docstring, and the one that begins with "To add"."""
    parts = [" ".join(part.split()) for part in one.docstring.split("\n\n")]
    add = [part.removeprefix("To add ").strip() for part in parts if part.startswith("To add ")]
    if not add:
        raise SystemExit(f"The docstring of shoal.{one.name} must have a paragraph that begins with 'To add'.")
    return parts[0].replace("``", "`"), add[0].replace("``", "`")


def with_paragraphs(page: str) -> str:
    """Return the architecture page with the paragraphs between its two marks made anew."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{paragraphs()}\n{END}{after}"
