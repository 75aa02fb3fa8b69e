"""Tables and progress bars: the schema first, then the progress, then a summary."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from shoal.cli.words import shown
from shoal.progress import Pace, Standing

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shoal.cli.shell import Shell
    from shoal.engines.result import LargeRelease
    from shoal.plan import Plan
    from shoal.privacy.audit import Audit
    from shoal.privacy.findings import Finding
    from shoal.progress import Tried
    from shoal.release.release import Release
    from shoal.tables.schema import Attribute, Column

# If more columns than this are unchanged by default, they are not listed.
MANY = 12
# In a table with fewer rows, few groups surprise nobody.
SMALL = 30
OPEN = "unchanged, if k holds"
# A note on a type: the number that it begins with, if any, and the rest.
COUNTED = re.compile(r"(\d* ?)(.*)", re.DOTALL)
# Roles that a name may tell, and the hint on their option.
TELLING = {
    "weight": (
        re.compile(r"(^|[^a-z])(weights?|wgt|pweight)([^a-z]|$)", re.IGNORECASE),
        "If {0} holds sampling weights, say --weight {1}: means and losses are weighted then.",
    ),
    "unit": (
        re.compile(r"(^|[^a-z])(hid|hh_?id|household_?(id|no|number)|person_?(id|no|number))([^a-z]|$)", re.IGNORECASE),
        "If {0} numbers households or persons, say --unit {1}: k counts them then, and the column is dropped.",
    ),
}
COMPILING = "Compiling for first use; this takes some seconds and happens only once."


class _Table(Table):
    """A table whose texts are taken as they are, without markup, and are safe to print."""

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        """Add a row."""
        super().add_row(*(Text(shown(cell)) if isinstance(cell, str) else cell for cell in cells), **options)


def plain_table(*headers: str, numbers: Sequence[str] = ()) -> Table:
    """Return an empty table without a frame; the columns of `numbers` are aligned to the right."""
    table = _Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for header in headers:
        table.add_column(header, justify="right" if header in numbers else "left", overflow="fold")
    return table


def pairs(rows: Sequence[tuple[str, RenderableType]]) -> Table:
    """Return names and values in two columns."""
    table = _Table.grid(padding=(0, 2), expand=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, value)
    return table


def schema_table(
    columns: Sequence[Column], attributes: Sequence[Attribute], plan: Plan, *, complete: bool = False
) -> Table:
    """Return a table of the columns with role, type and representative; a star marks what was inferred.

    If many columns have no role of their own, only a `complete` table lists those that are not grouped.
    """
    from shoal.release.omission import open_columns
    from shoal.tables.schema import UNPUBLISHED

    owner = {name: attribute for attribute in attributes for name in attribute.columns}
    table = plain_table("column", "role", "type", "published")
    open_ones = open_columns(columns, plan)
    star = "*" if plan.rest is None else ""  # what `rest` says is not inferred
    others = [column for column in columns if column.role in ("other", "dropped") and column.inferred]
    hidden = {column.name for column in others} if len(others) > MANY and not complete else set()
    for column in columns:
        if column.name in hidden:
            continue
        attribute = owner.get(column.name)
        role = column.role + (star if column.inferred else "")
        if attribute is not None:
            kind = attribute.kind + ("*" if attribute.inferred else "")
            how = attribute.published
            how += f" x{attribute.importance:g}" if attribute.importance != 1 else ""
            table.add_row(column.name, Text(role, style="cyan"), kind, how)
        elif column.role in UNPUBLISHED:
            table.add_row(
                Text(shown(column.name), style="dim"), Text(role, style="dim"), "", Text("not published", "dim")
            )
        elif column.name in open_ones:
            table.add_row(column.name, Text("not said", style="yellow"), "", Text(OPEN, "yellow"))
        else:
            style = {"sensitive": "magenta", "stratum": "cyan"}.get(column.role, "")
            table.add_row(column.name, Text(role, style=style), "", "unchanged")
    if hidden:
        how = {"other": "unchanged", "dropped": "not published"}[others[0].role]
        table.add_row(
            f"{len(hidden)} more columns", *(("not said", "", OPEN) if open_ones else (others[0].role, "", how))
        )
    return table


def schema_notes(columns: Sequence[Column], attributes: Sequence[Attribute], plan: Plan) -> Iterator[str]:
    """Yield notes on a schema."""
    from shoal.release.omission import open_columns

    open_ones = open_columns(columns, plan)
    inferred = plan.rest is None and any(column.inferred and column.name not in open_ones for column in columns)
    if inferred or any(attribute.inferred for attribute in attributes):
        yield "* inferred; override it with --type or with the options for roles."
    yield from _notes_on_types(attributes)
    yield from _notes_on_names(columns)
    if open_ones:
        yield (
            f"Columns without a role are published only if k = {plan.k} holds with them too; --rest qi, other or drop "
            "says what they are."
        )
    if plan.quasi_identifiers is None and plan.rest is None:
        count = sum(column.role == "quasi-identifier" and column.inferred for column in columns)
        treated = "the only column without another role is treated as a quasi-identifier"
        if count > 1:
            treated = f"all {count} columns without another role are treated as quasi-identifiers"
        if count:
            yield f"No --qi given: {treated}."


def _notes_on_types(attributes: Sequence[Attribute]) -> Iterator[str]:
    """Yield why types are as they are; attributes with the same reason, but for a number, share a note."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for attribute in attributes:
        if attribute.note:
            number, reason = COUNTED.fullmatch(attribute.note).groups()  # type: ignore[union-attr]
            alike.setdefault(reason, []).append((attribute.name, number))
    for reason, of in alike.items():
        if len(of) == 1:
            (name, number), *_ = of
            yield f"{name}: {number}{reason}."
        else:
            names = ", ".join(f"{name} ({number.strip()})" if number else name for name, number in of)
            yield f"{names}: {reason}."


def _notes_on_names(columns: Sequence[Column]) -> Iterator[str]:
    """Yield which options may be meant for columns whose role nobody has said, by their names."""
    taken = {column.role for column in columns}
    for role, (pattern, words) in TELLING.items():
        names = [column.name for column in columns if column.inferred and pattern.search(column.name)]
        if names and role not in taken:
            yield words.format(" or ".join(names), names[0])


def summary(release: Release | LargeRelease, files: Sequence[str], seconds: float) -> Table:
    """Return a summary of a release, in a few lines."""
    audit = release.audit
    rows: list[tuple[str, RenderableType]] = []
    dropped = f" ({release.rows_dropped:,} with missing values dropped)" if release.rows_dropped else ""
    rows.append(("rows", f"{audit.rows:,} in {audit.classes:,} group{'' if audit.classes == 1 else 's'}{dropped}"))
    if release.rows_removed:
        rows.append(("removed", removed(release.rows_removed, release.plan)))
    rows.append(("k", held(release)))
    rows += reach(release.audit)
    rows += models(release.audit.models)
    rows.append(("loss", Text(f"{percent(release.loss)} of the variation") + worst(release)))
    if release.rows_removed:
        rows.append(("in all", f"{percent(release.loss_in_all)}, counting the removed records as lost"))
    if release.plan.bound != "none":
        rows.append(("gap", nearness(release)))
    rows.append(("method", " / ".join(dict.fromkeys(f"{b.method}: {b.why}" for b in release.blocks))))
    # For a small table, there is one start and nothing to compare.
    rows += [("tried", tried(block.tried)) for block in release.blocks if len(block.tried) > 1]
    for at, name in enumerate(files):
        rows.append(("files" if at == 0 else "", Text(shown(name), style="bold")))
    rows.append(("time", f"{seconds:.1f} s"))
    return pairs(rows)


def tried(starts: Sequence[Tried]) -> str:
    """Return what a search looked at before it began, and what each would have lost."""
    *quick, last = [f"{one.how} {percent(one.loss)}" for one in starts]
    return f"{', '.join(quick)}, then {last}"


def few_groups(n: int, k: int) -> str:
    """Return a warning that k leaves room for hardly any groups, or an empty text if it does not."""
    if n < SMALL or n // k > 2:
        return ""
    groups = "1 group is" if n // k == 1 else "2 groups are"
    return (
        f"k = {k:,} is more than a third of the {n:,} rows: at most {groups} possible, and most of the information is "
        "lost. Is it meant? Usual values of -k are 3 to 20."
    )


def removed(count: int, plan: Plan) -> str:
    """Return how many records are left out, and why.

    The console is for whoever holds the data, and tells rows before and after; certificate and report tell neither.
    """
    why = f"because {'its cell has' if count == 1 else 'their cells have'} fewer than {plan.k} records"
    if plan.suppress:
        why = f"within the limit of {100 * plan.suppress:.4g} %"
    return f"{count:,} record{'' if count == 1 else 's'}, {why}"


def held(release: Release | LargeRelease) -> Text:
    """Return the k that was wanted and the k that holds."""
    audit, plan = release.audit, release.plan
    if len(release.blocks) > 1:
        return Text(
            f"{plan.k} wanted and held in each of {len(release.blocks)} blocks; {audit.k} held for all together"
        )
    if audit.k_units is not None:
        words = f"{plan.k} wanted, {audit.k_units} held, counting {plan.unit!r} (rows: {audit.k})"
    else:
        words = f"{plan.k} wanted, {audit.k} held"
    return Text(words, style="green")


def reach(audit: Audit) -> list[tuple[str, RenderableType]]:
    """Return what k means, and the k of all published columns with what it means."""
    from shoal.release.report.reach import columns_in_words, of_all, of_known

    rows: list[tuple[str, RenderableType]] = [("", Text(of_known(audit.k), style="dim"))]
    if audit.whole is not None:
        rows.append(("all", f"k = {audit.whole.k} for {columns_in_words(audit.whole.columns)}"))
        rows.append(("", Text(of_all(audit.whole, audit.k, audit.rows), style="dim")))
    return rows


def models(findings: Sequence[Finding]) -> list[tuple[str, RenderableType]]:
    """Return the demands on sensitive attributes, and what holds."""
    from shoal.release.report.demands import demand_in_words, three_digits

    rows: list[tuple[str, RenderableType]] = []
    for finding in findings:
        words = f"{demand_in_words(finding)} wanted, {three_digits(finding.held)} held"
        below = "" if finding else f"; {finding.groups_below:,} groups, {finding.rows_below:,} rows fall short"
        rows.append(("model" if not rows else "", Text(shown(words + below), style="green" if finding else "red")))
    return rows


def nearness(release: Release | LargeRelease) -> Text:
    """Return an upper limit on how far the loss is from the best possible."""
    from shoal.release.report.nearness import Nearness

    known = Nearness(release.plan, release.gap, release.lower_bound)
    words = Text(known.in_short.replace("\N{NO-BREAK SPACE}", " "))
    return words.append("; this bound is rough, --bound lp gives a better one", style="dim") if known.rough else words


def worst(release: Release | LargeRelease, most: int = 3) -> Text:
    """Return the attributes with the highest losses."""
    losses = sorted(release.losses.by_attribute.items(), key=lambda item: -item[1])
    if len(losses) < 2:
        return Text("")
    highest = ", ".join(f"{name} {percent(loss)}" for name, loss in losses[:most])
    return Text(shown(f"; highest: {highest}"), style="dim")


def percent(fraction: float) -> str:
    """Return a fraction in per cent, with three digits; rounding errors become 0."""
    return f"{100 * fraction:.3g} %" if fraction > 1e-9 else "0 %"


@contextmanager
def bars(shell: Shell) -> Iterator[Callable[[str], Callable[[float], None] | None]]:
    """Yield a function that starts a progress bar and returns its reporter, or None if there is no terminal."""
    if shell.quiet or not shell.err.is_terminal:
        yield lambda _: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        *(TextColumn("{task.description:<8}"), BarColumn(30), TextColumn("{task.percentage:>3.0f} %")),
        TextColumn("{task.fields[standing]}", style="dim"),
    )
    # Output to the same terminal is printed above the bars; output to a file must not be redirected.
    both = shell.out.is_terminal
    with Progress(*columns, TimeElapsedColumn(), console=shell.err, transient=True, redirect_stdout=both) as progress:

        def start(what: str) -> Callable[[float], None]:
            task = progress.add_task(what, total=1.0, standing="")
            return lambda fraction: progress.update(task, completed=fraction, standing=standing(fraction))

        yield start


def standing(fraction: float) -> str:
    """Return the loss and the gap of a search, or the phase and the pace of a long run; else an empty text."""
    if isinstance(fraction, Pace):
        return fraction.words
    if not isinstance(fraction, Standing):
        return ""
    gap = f", gap {gap_percent(fraction.gap)}" if isfinite(fraction.gap) else ""
    return f"loss {percent(fraction.loss)}{gap}"


def gap_percent(gap: float) -> str:
    """Return a gap in per cent, rounded up."""
    from shoal.release.report.nearness import at_most

    return at_most(gap).replace("\N{NO-BREAK SPACE}", " ")


@contextmanager
def compiling_noted(shell: Shell) -> Iterator[None]:
    """Note once that kernels are being compiled, if this happens."""
    from shoal.kernels.jit import told_of_compiling

    noted: list[bool] = []

    def note() -> None:
        if not noted:
            noted.append(True)
            shell.note(COMPILING)

    with told_of_compiling(note):
        yield


def print_json(thing: Any) -> None:
    """Print one JSON object on standard output."""
    import json

    import typer

    text = json.dumps(thing, indent=2, ensure_ascii=False, allow_nan=False)
    if not text.replace("\n", "").isprintable():  # what is left may change what a terminal shows
        text = json.dumps(thing, indent=2, allow_nan=False)
    typer.echo(text)
