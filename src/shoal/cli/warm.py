"""``shoal warm``: compile everything at once, so that no later run has to."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import options as o
from shoal.cli import shows
from shoal.cli.shell import current, guarded

EXAMPLES = """
[bold]Examples[/bold]

[dim]In a container file, with a cache that lies in the image:[/dim]

[cyan]NUMBA_CACHE_DIR=/opt/shoal-cache shoal warm[/cyan]
"""


@guarded
def warm(
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes at a time (default: all cores).")] = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Compile everything that any method needs, so that no later run has to: for containers, workers and CI."""
    from shoal.release.warming import warm_up

    shell = current()
    with shows.bars(shell) as bar:
        warmed = warm_up(jobs, bar("compile"))
    for name in warmed.failed:
        shell.warn(f"The task {name!r} failed; what it needs is compiled when it is first used.")
    if warmed.folder is None:
        shell.warn("No folder for the cache can be written to: every run compiles anew. Set NUMBA_CACHE_DIR.")
    else:
        shell.show(f"Compiled kernels are in {warmed.folder}")
