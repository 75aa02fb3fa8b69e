"""The command line: ``shoal anonymize people.csv -k 5 -o release.csv``.

Exit codes: 0 done, 1 refused because a guarantee does not hold, 2 wrong usage or input or a refusal of the system (such
as a full disk), 3 a defect of Shoal, 130 stopped by Ctrl-C (129 and 143: by SIGHUP and SIGTERM), 141 nobody reads the
output. Results go to standard output, everything else to standard error.

To add a command, write a module and name it in `application`. Rules belong in the library, not here.
"""

from __future__ import annotations

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line with these arguments, by default those of the process, which is then taken for its own."""
    if arguments is None:
        _settle_process()
    import os
    import sys

    import typer

    from shoal.cli.application import application_for
    from shoal.cli.completion import join_words
    from shoal.cli.shell import reports_errors
    from shoal.kernels.jit import leave_the_rest

    join_words()
    app = application_for(sys.argv[1:] if arguments is None else arguments, os.environ)

    @reports_errors
    def run() -> None:  # outside of the commands, there are --help and --version
        app(args=arguments, prog_name="shoal")

    try:
        run()
    except typer.Exit as ended:
        sys.exit(ended.exit_code)
    finally:
        if arguments is None:
            leave_the_rest()


def _settle_process() -> None:
    """Settle what holds for the whole process of a command."""
    import os

    from shoal.io.lean import do_without_pandas
    from shoal.kernels.jit import collect_rarely

    collect_rarely()
    do_without_pandas()
    # Looking for plugins, of which commands need none, takes longer than reading a small table.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
