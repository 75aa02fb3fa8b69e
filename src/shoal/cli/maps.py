"""The map of risk and cost in a terminal: a plot of characters, and its legend."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from rich.text import Text

from shoal.cli import shows
from shoal.cli.shell import current
from shoal.options.option import Given, Option
from shoal.options.table import FILES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

    from shoal.release.front import Comparison, Point
    from shoal.release.tuning.yardsticks import Yardstick

# Rows and columns of the plot itself; its axis takes ten more columns.
ROWS, COLUMNS = 16, 66
OPTIONS = (
    Option(
        "--map",
        "Show the map of risk and utility with its front, and write it to a page for the data holder; "
        "[cyan]-[/cyan] only shows it.",
        "FILE",
        panel=FILES,
    ),
    Option("--risk", "The risk of the map. Default: linkage; shoal tune --figures lists all.", "FIGURE"),
    Option("--utility", "What the map has as lost utility. Default: loss.", "FIGURE"),
)


def wanted(given: Given) -> tuple[str, str] | None:
    """Return the figures of the map, or refuse them; None if no map is asked for."""
    from shoal.errors import OptionError
    from shoal.release.tuning.yardsticks import minimised

    if given["map"] is None:
        for name in ("risk", "utility"):
            if given[name] is not None:
                raise OptionError(f"The option --{name} must be given with a map. Got it without --map.")
        return None
    return minimised(given["risk"] or "linkage").name, minimised(given["utility"] or "loss").name


def check(given: Given, inputs: Iterable[Path]) -> None:
    """Refuse a page that exists already or that is an input, before any work is done."""
    from shoal.io.files import checked_target
    from shoal.release.targets import require_other_files

    if given["map"] not in (None, "-"):
        require_other_files([Path(given["map"])], inputs)
        checked_target(Path(given["map"]), given["force"])


def show(comparison: Comparison[Any], given: Given) -> None:
    """Show the map, and write its page."""
    shell = current()
    points = comparison.points
    if points:
        head = Text("Risk and utility, for the data holder", style="bold")
        shell.show("", head, plot(points, comparison.risk, comparison.utility), legend(comparison))
    for name in comparison.left_out:
        shell.note(f"{name} is not on the map: a figure is not defined for it.")
    if given["map"] != "-":
        comparison.map(given["map"], force=given["force"])
        shell.show("", Text.assemble("The map is in ", (str(given["map"]), "bold"), ", for the data holder."))


def marks_of(points: Sequence[Point]) -> list[str]:
    """Return a letter for each point; after the 26th, two points may share one."""
    return [ascii_lowercase[at % 26] for at in range(len(points))]


def plot(points: Sequence[Point], risk: Yardstick, utility: Yardstick) -> Text:
    """Return the plot: cost to the right, risk upwards; points of the front are bold, and dots are its line."""
    high = max(max(p.risk for p in points), 1e-12) * 1.04
    wide = max(max(p.cost for p in points), 1e-12) * 1.04

    def place(p: Point) -> tuple[int, int]:
        return ROWS - 1 - round((ROWS - 1) * p.risk / high), round((COLUMNS - 1) * p.cost / wide)

    grid = [[(" ", "")] * COLUMNS for _ in range(ROWS)]
    above, last = 0, None
    for row, column in sorted({place(p) for p in points if p.front}, key=lambda spot: spot[1]):
        for at in range(above, row):
            grid[at][column] = ("·", "dim")
        if last is not None:
            for at in range(last + 1, column + 1):
                grid[above][at] = ("·", "dim")
        above, last = row, column
    for at in range((last or 0) + 1, COLUMNS):
        grid[above][at] = ("·", "dim")
    for point, mark in reversed(list(zip(points, marks_of(points), strict=True))):
        row, column = place(point)
        taken = grid[row][column][0] not in (" ", "·")
        grid[row][column] = ("+" if taken else mark, "bold green" if point.front else "")
    text = Text(f"{risk.name}\n", style="dim")
    for at, line in enumerate(grid):
        ticked = at % 5 == 0
        label = risk.shown(high * (ROWS - 1 - at) / (ROWS - 1)) if ticked else ""
        text.append(f"{label:>8} {'┤' if ticked else '│'}", "dim")
        for character, style in line:
            text.append(character, style)
        text.append("\n")
    text.append(f"{'':>9}└{'─' * COLUMNS}\n", "dim")
    middle, end = utility.shown(wide / 2), utility.shown(wide)
    axis = f"{'0':<{COLUMNS // 2 - len(middle) // 2}}{middle}"
    text.append(f"{'':>10}{axis}{end:>{COLUMNS - len(axis)}}\n", "dim")
    text.append(f"{utility.name:>{COLUMNS + 10}}", "dim")
    return text


def legend(comparison: Comparison[Any]) -> Table:
    """Return the names and figures of the points."""
    points = comparison.points
    headers = ("", "plan", comparison.risk.name, comparison.utility.name, "front")
    table = shows.plain_table(*headers, numbers=(comparison.risk.name, comparison.utility.name))
    for point, mark in zip(points, marks_of(points), strict=True):
        style = "bold green" if point.front else ""
        table.add_row(
            Text(mark, style),
            point.name,
            comparison.risk.shown(point.risk),
            comparison.utility.shown(point.cost),
            "yes" if point.front else "",
        )
    return table
