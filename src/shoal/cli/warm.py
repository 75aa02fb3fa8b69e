"""``shoal warm``: compile everything at once, so that no later run has to."""

from __future__ import annotations

from shoal.cli import shows
from shoal.cli.command import takes
from shoal.cli.shell import current, reports_errors
from shoal.errors import OptionError
from shoal.options.option import Given, Option
from shoal.options.table import QUIET, VERBOSE
from shoal.options.values import WHOLE

EXAMPLES = """
[bold]Examples[/bold]

[dim]In a container file, with a cache that lies in the image:[/dim]

[cyan]NUMBA_CACHE_DIR=/opt/shoal-cache shoal warm[/cyan]
"""


@reports_errors
@takes(Option("--jobs", "Processes at a time. Default: all cores.", "N", WHOLE), QUIET, VERBOSE)
def warm(given: Given) -> None:
    """Compile everything that any method needs, so that no later run has to: for containers, workers and CI."""
    from shoal.release.warming import warm_up

    jobs = given["jobs"]
    if jobs is not None and jobs < 1:
        raise OptionError(f"The number of processes (--jobs) must be at least 1. Got {jobs}.")
    shell = current()
    with shows.bars(shell) as bar:
        warmed = warm_up(jobs, bar("compile"))
    for name in warmed.failed:
        shell.warn(f"The task {name!r} failed; what it needs is compiled when it is first used.")
    if warmed.folder is None:
        shell.warn("No folder for the cache can be written to: every run compiles anew. Set NUMBA_CACHE_DIR.")
    else:
        shell.show(f"Compiled kernels are in {warmed.folder}")
