"""The application ``shoal``, of all commands or of some: the options of a command take time to read."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer

from shoal.cli.completion import VARIABLE
from shoal.cli.usage import Command, Group

# Each is a function of the module of its name, in the order of the help.
COMMANDS = ("anonymize", "verify", "update", "assess", "compare", "tune", "methods", "demo", "serve", "warm")

EXAMPLES = """
[bold]Examples[/bold]

[dim]Try it on an invented survey:[/dim]

[cyan]shoal demo[/cyan]

[dim]Publish a table, with a report for those who approve the release:[/dim]

[cyan]shoal anonymize people.csv -k 5 -o release.csv --id name --qi age,zip,income --report report.html[/cyan]

[dim]Repeat the audit later, and compare methods:[/dim]

[cyan]shoal verify release.csv[/cyan]

[cyan]shoal compare people.csv -k 3 -k 10 --qi age,income[/cyan]

[dim]Add the records of the next year; or do all of it in the browser:[/dim]

[cyan]shoal update release.csv new.csv -o release-2.csv[/cyan]

[cyan]shoal serve people.csv[/cyan]

[dim]Exit codes: 0 done, 1 refused because a guarantee does not hold, 2 wrong usage or input.[/dim]
"""


def application(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """Return the application with these commands."""
    app = typer.Typer(
        name="shoal",
        cls=Group,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=EXAMPLES,
    )
    app.callback()(shoal)
    for name in commands:
        module = import_module(f".{name}", __package__)
        app.command(cls=Command, epilog=module.EXAMPLES)(getattr(module, name))
    return app


def application_for(arguments: list[str], environment: Iterable[str] = ()) -> typer.Typer:
    """Return the application with the one command that the arguments begin with; with all if that is another word.

    A shell that asks for completions does so in its environment, not in arguments.
    """
    named = arguments[:1]
    return application(named if named and named[0] in COMMANDS and VARIABLE not in environment else COMMANDS)


def _version(asked: bool) -> None:
    if asked:
        import shoal

        typer.echo(f"shoal {shoal.__version__}")
        raise typer.Exit


def shoal(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Publish tables about people without revealing who is who.

    Every record is hidden in a group of at least [bold]k[/bold] similar records that publish the same values.
    """
