"""``shoal demo``: anonymises an invented survey, with certificate and report, or writes one to try things on."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.table import Table
from rich.text import Text

from shoal.cli import shows
from shoal.cli.command import takes
from shoal.cli.shell import Shell, current, reports_errors
from shoal.cli.words import shown
from shoal.errors import DisclosureWarning, OptionError, ShoalError
from shoal.options.option import Given, Option, switch
from shoal.options.table import QUIET, VERBOSE
from shoal.options.values import WHOLE

if TYPE_CHECKING:
    from shoal.release.release import Release

EXAMPLES = """
[bold]Examples[/bold]

[cyan]shoal demo[/cyan]

[cyan]shoal demo --out /tmp/survey --force[/cyan]

[dim]Only write a table to try things on, in any format that Shoal writes:[/dim]

[cyan]shoal demo --write people.csv[/cyan]
"""
K = 5
FOLDER = "shoal-demo"
ROWS = 1000
# People in the table of --write, which the examples of the documentation begin with.
FEW = 300
COLUMNS = ("person_id", "birth_date", "sex", "postcode", "education", "income", "diagnosis")
WIDE = 79  # characters that all columns take
FILES = ("survey.csv", "release.csv", "release.csv.manifest.json", "release.csv.record.json", "report.html")


@reports_errors
@takes(
    Option("--out", f"Folder to write to. Default: {FOLDER}.", "DIR"),
    Option("--write", "Only write the survey to this file, to try things on; release nothing.", "FILE"),
    Option("--rows", f"Number of people. Default: {ROWS}, and {FEW} with --write.", "N", WHOLE),
    switch("--force", "Overwrite existing files."),
    QUIET,
    VERBOSE,
)
def demo(given: Given) -> None:
    """Anonymise an invented survey and show the result."""
    shell, force, start = current(), given["force"], time.perf_counter()
    if given["rows"] is not None and given["rows"] < 1:
        raise OptionError(f"The option --rows must be at least 1. Got {given['rows']}.")
    if given["write"] is not None:
        if given["out"] is not None:
            raise OptionError("The demo must write one file (--write) or a folder (--out). Got both.")
        rows = FEW if given["rows"] is None else given["rows"]
        write_people(Path(given["write"]), rows, force)
        _show_next(shell, given["write"], rows)
        return
    folder = Path(FOLDER if given["out"] is None else given["out"])
    _prepare_folder(folder, force)
    _write_survey(folder / "survey.csv", COLUMNS, ROWS if given["rows"] is None else given["rows"], force)
    with shows.bars(shell) as bar, shows.compiling_noted(shell), warnings.catch_warnings():
        warnings.simplefilter("ignore", DisclosureWarning)
        release = _released(folder, force, bar("working"))
    _show(shell, release, folder, time.perf_counter() - start)


def _prepare_folder(folder: Path, force: bool) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ShoalError(f"The folder {folder} must exist or be created. Got: {error.strerror}.") from None
    taken = [name for name in FILES if (folder / name).exists()]
    if taken and not force:
        raise ShoalError(
            f"The demo must not overwrite files. Got {', '.join(taken)} in {folder}; nothing was changed.",
            "name another folder (--out), or add --force.",
        )


def write_people(path: Path, rows: int = FEW, force: bool = False) -> None:
    """Write the table of ``--write``, which is always the same for the same number of rows."""
    from shoal.datasets.survey import PEOPLE

    _write_survey(path, PEOPLE, rows, force)


def _write_survey(path: Path, columns: tuple[str, ...], rows: int, force: bool) -> None:
    import pyarrow as pa

    from shoal.datasets.survey import survey
    from shoal.io import write

    people = survey(rows)
    write(pa.table({name: people[name] for name in columns}), path, force=force)


def _show_next(shell: Shell, name: str, rows: int) -> None:
    from shoal.datasets.survey import PEOPLE

    out = "release" + "".join(Path(name).suffixes)
    shell.show(
        f"{shown(name)}: {rows:,} people of an invented health survey, {len(PEOPLE)} columns",
        Text.assemble(
            "Release it with ",
            (f"shoal anonymize {shown(name)} -k {K} -o {out} --id person_id --sensitive diagnosis", "bold cyan"),
        ),
    )


def _released(folder: Path, force: bool, progress: Any) -> Release:
    from shoal.datasets.survey import EDUCATION
    from shoal.engines.pipeline import anonymize_file

    made = anonymize_file(
        folder / "survey.csv",
        folder / "release.csv",
        k=K,
        identifiers=["person_id"],
        quasi_identifiers=["birth_date", "sex", "postcode", "education", "income"],
        sensitive_attributes=["diagnosis"],
        levels={"education": EDUCATION},
        hierarchies={"postcode": "prefixes"},
        certificate=folder / "release.csv.manifest.json",
        report=folder / "report.html",
        force=force,
        progress=progress,
    )
    return cast("Release", made)  # small enough for memory


def _show(shell: Shell, release: Release, folder: Path, seconds: float) -> None:
    source = release.source
    if source is None:
        return
    rows = _diverse_group(release)
    before = COLUMNS if shell.out.width >= WIDE else tuple(n for n in COLUMNS if n not in ("person_id", "education"))
    after = tuple(name for name in before if name != "person_id")
    shell.show(
        Text.assemble(
            (f"{release.rows_in:,} people answered a health survey. ", "bold"),
            "(None of them exists.) Here are five. Someone who knows when a neighbour was born and where she lives can "
            "find her row, and with it her income and her illness:",
        ),
        "",
        _people(source.table.take(rows), before, "red"),
        "",
        Text.assemble(
            (f"The same five, published with k = {K}. ", "bold"),
            "They now share everything that others may know, so nobody can tell which row is whose:",
        ),
        "",
        _people(release.table.take(rows), after, "green"),
        "",
        shows.summary(release, [str(folder / name) for name in FILES], seconds),
        "",
        Text.assemble("Open ", ((folder / "report.html").resolve().as_uri(), "bold cyan"), " in a browser."),
        Text.assemble("Repeat the audit with ", (f"shoal verify {folder / 'release.csv'}", "bold cyan"), "."),
        Text.assemble(
            "Try your own table: ", ("shoal anonymize people.csv -k 5 -o release.csv --dry-run", "bold cyan")
        ),
    )


def _diverse_group(release: Release) -> list[int]:
    """Return the rows of the group of five with the most different sensitive values."""
    import numpy as np

    illness = release.table.column("diagnosis").to_pylist()
    best: list[int] = []
    for label in np.flatnonzero(np.bincount(release.labels) == K):
        rows = np.flatnonzero(release.labels == label).tolist()
        if len({illness[row] for row in rows}) > len({illness[row] for row in best}):
            best = rows
    return best or list(range(K))


def _people(table: Any, names: tuple[str, ...], style: str) -> Table:
    lines = shows.plain_table(*names, numbers=("income",))
    styles = {name: "" if name in ("person_id", "diagnosis") else style for name in names}
    for row in table.select(list(names)).to_pylist():
        lines.add_row(*(Text(row[name] or "-", style=styles[name]) for name in names))
    return lines
