"""Tables and bars: the schema before the work, progress during it, a summary after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from shoal.progress import Standing

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shoal.cli.shell import Shell
    from shoal.privacy.findings import Finding
    from shoal.release.release import Release
    from shoal.tables.schema import Attribute, Column

# More columns than this that are passed on by default are not listed one by one.
MANY = 12
COMPILING = "Compiling for first use; this takes some seconds and happens only once."


def plain_table(*headers: str, numbers: Sequence[str] = ()) -> Table:
    """Return an empty table in the style of the house; the columns of `numbers` are aligned to the right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for header in headers:
        table.add_column(header, justify="right" if header in numbers else "left", overflow="fold")
    return table


def pairs(rows: Sequence[tuple[str, RenderableType]]) -> Table:
    """Return names and what they stand for, side by side."""
    table = Table.grid(padding=(0, 2), expand=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, value)
    return table


def schema_table(columns: Sequence[Column], attributes: Sequence[Attribute], *, all_of_them: bool = False) -> Table:
    """Return every column, its role, its type and what is published of it; a star marks what was inferred."""
    owner = {name: attribute for attribute in attributes for name in attribute.columns}
    table = plain_table("column", "role", "type", "published")
    passed = [column for column in columns if column.role == "other" and column.inferred]
    hidden = {column.name for column in passed} if len(passed) > MANY and not all_of_them else set()
    for column in columns:
        if column.name in hidden:
            continue
        attribute = owner.get(column.name)
        role = column.role + ("*" if column.inferred else "")
        if attribute is not None:
            kind = attribute.kind + ("*" if attribute.inferred else "")
            how = attribute.representative
            how += f" x{attribute.importance:g}" if attribute.importance != 1 else ""
            table.add_row(Text(column.name), Text(role, style="cyan"), kind, how)
        elif column.role in ("identifier", "unit"):
            table.add_row(Text(column.name, style="dim"), Text(role, style="dim"), "", Text("not published", "dim"))
        else:
            style = {"sensitive": "magenta", "stratum": "cyan"}.get(column.role, "")
            table.add_row(Text(column.name), Text(role, style=style), "", "unchanged")
    if hidden:
        table.add_row(Text(f"{len(hidden)} more columns"), "other*", "", "unchanged")
    return table


def schema_notes(columns: Sequence[Column], attributes: Sequence[Attribute], named: bool) -> Iterator[str]:
    """Yield what should be said about a schema."""
    if any(column.inferred for column in columns) or any(attribute.inferred for attribute in attributes):
        yield "* inferred; override it with --type or with the options for roles."
    for attribute in attributes:
        if attribute.note:
            yield f"{attribute.name}: {attribute.note}."
    if not named:
        count = sum(column.role == "quasi-identifier" and column.inferred for column in columns)
        columns_are = "the only column without another role is treated as a quasi-identifier"
        if count != 1:
            columns_are = f"all {count} columns without another role are treated as quasi-identifiers"
        yield f"No --qi given: {columns_are}."


def summary(release: Release, files: Sequence[str], seconds: float) -> Table:
    """Return what was done, in a few lines."""
    found = release.audit
    rows: list[tuple[str, RenderableType]] = []
    dropped = f" ({release.rows_dropped:,} with missing values dropped)" if release.rows_dropped else ""
    rows.append(("rows", f"{found.rows:,} in {found.classes:,} groups{dropped}"))
    if release.rows_removed:
        rows.append(("removed", removed(release.rows_removed, release.plan.k)))
    rows.append(("k", held(release)))
    rows += models(release.audit.models)
    rows.append(("loss", Text(f"{percent(release.loss)} of the variation") + worst(release)))
    if release.plan.bound != "none":
        rows.append(("gap", nearness(release)))
    rows.append(("method", " / ".join(dict.fromkeys(f"{b.method}: {b.why}" for b in release.blocks))))
    for at, name in enumerate(files):
        rows.append(("files" if at == 0 else "", Text(name, style="bold")))
    rows.append(("time", f"{seconds:.1f} s"))
    return pairs(rows)


def removed(count: int, k: int) -> str:
    """Return how many records a strongly-safe release leaves out."""
    from shoal.release.groups.cells import said_of

    return f"{said_of(count, k)} records, because their cells have fewer than {k} records"


def held(release: Release) -> Text:
    """Return the wanted k and what holds."""
    found, plan = release.audit, release.plan
    if len(release.blocks) > 1:
        return Text(f"{plan.k} wanted and held in each of {len(release.blocks)} blocks; {found.k} over all of them")
    if found.k_units is not None:
        words = f"{plan.k} wanted, {found.k_units} held, counting {plan.unit!r} (rows: {found.k})"
    else:
        words = f"{plan.k} wanted, {found.k} held"
    return Text(words, style="green")


def models(findings: Sequence[Finding]) -> list[tuple[str, RenderableType]]:
    """Return what was asked of sensitive attributes, and what holds."""
    from shoal.release.report.demands import demand_in_words, three_digits

    rows: list[tuple[str, RenderableType]] = []
    for finding in findings:
        words = f"{demand_in_words(finding)} wanted, {three_digits(finding.held)} held"
        below = "" if finding else f"; {finding.groups_below:,} groups, {finding.rows_below:,} rows fall short"
        rows.append(("model" if not rows else "", Text(words + below, style="green" if finding else "red")))
    return rows


def nearness(release: Release) -> Text:
    """Return how far the loss is from the best possible, at most."""
    from shoal.release.report.nearness import in_short, rough

    words = Text(in_short(release).replace("\N{NO-BREAK SPACE}", " "))
    return (
        words.append("; this bound is rough, --bound lp gives a better one", style="dim") if rough(release) else words
    )


def worst(release: Release, most: int = 3) -> Text:
    """Return the attributes that lost most."""
    losses = sorted(release.losses.by_attribute.items(), key=lambda item: -item[1])
    if len(losses) < 2:
        return Text("")
    told = ", ".join(f"{name} {percent(loss)}" for name, loss in losses[:most])
    return Text(f"; highest: {told}", style="dim")


def percent(fraction: float) -> str:
    """Return a fraction in per cent, with three digits; what is due to rounding is nothing."""
    return f"{100 * fraction:.3g} %" if fraction > 1e-9 else "0 %"


@contextmanager
def bars(shell: Shell) -> Iterator[Callable[[str], Callable[[float], None] | None]]:
    """Give a function that starts a bar and returns what to tell the fraction; no bars but on a terminal."""
    if shell.quiet or not shell.err.is_terminal:
        yield lambda _: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        *(TextColumn("{task.description:<8}"), BarColumn(30), TextColumn("{task.percentage:>3.0f} %")),
        TextColumn("{task.fields[standing]}", style="dim"),
    )
    # What goes to the same terminal is printed above the bars; what goes to a file must not be diverted.
    both = shell.out.is_terminal
    with Progress(*columns, TimeElapsedColumn(), console=shell.err, transient=True, redirect_stdout=both) as progress:

        def start(what: str) -> Callable[[float], None]:
            task = progress.add_task(what, total=1.0, standing="")
            return lambda fraction: progress.update(task, completed=fraction, standing=standing(fraction))

        yield start


def standing(fraction: float) -> str:
    """Return the loss and the gap of a search that tells them, else nothing."""
    if not isinstance(fraction, Standing):
        return ""
    gap = f", gap {gap_percent(fraction.gap)}" if isfinite(fraction.gap) else ""
    return f"loss {percent(fraction.loss)}{gap}"


def gap_percent(gap: float) -> str:
    """Return a gap in per cent, rounded up."""
    from shoal.release.report.nearness import at_most

    return at_most(gap).replace("\N{NO-BREAK SPACE}", " ")


@contextmanager
def compiling_said(shell: Shell) -> Iterator[None]:
    """Say once that kernels are being compiled, if that happens meanwhile."""
    from shoal.kernels.jit import told_of_compiling

    said: list[bool] = []

    def say() -> None:
        if not said:
            said.append(True)
            shell.note(COMPILING)

    with told_of_compiling(say):
        yield


def print_json(thing: Any) -> None:
    """Print one JSON object on standard output."""
    import json

    import typer

    typer.echo(json.dumps(thing, indent=2, ensure_ascii=False, allow_nan=False))
