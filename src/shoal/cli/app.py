"""The application: all commands of ``shoal``."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.anonymize import EXAMPLES as ANONYMIZE
from shoal.cli.anonymize import anonymize
from shoal.cli.assess import EXAMPLES as ASSESS
from shoal.cli.assess import assess
from shoal.cli.compare import EXAMPLES as COMPARE
from shoal.cli.compare import compare
from shoal.cli.demo import EXAMPLES as DEMO
from shoal.cli.demo import demo
from shoal.cli.methods import EXAMPLES as METHODS
from shoal.cli.methods import methods
from shoal.cli.serve import EXAMPLES as SERVE
from shoal.cli.serve import serve
from shoal.cli.tune import EXAMPLES as TUNE
from shoal.cli.tune import tune
from shoal.cli.usage import Command, Group
from shoal.cli.verify import EXAMPLES as VERIFY
from shoal.cli.verify import verify
from shoal.cli.warm import EXAMPLES as WARM
from shoal.cli.warm import warm

EXAMPLES = """
[bold]Examples[/bold]

[dim]Try it on an invented survey:[/dim]

[cyan]shoal demo[/cyan]

[dim]Publish a table, with a report for those who approve the release:[/dim]

[cyan]shoal anonymize people.csv -k 5 -o release.csv --id name --qi age,zip,income --report report.html[/cyan]

[dim]Repeat the audit later, and compare methods:[/dim]

[cyan]shoal verify release.csv[/cyan]

[cyan]shoal compare people.csv -k 3 -k 10 --qi age,income[/cyan]

[dim]Exit codes: 0 done, 1 refused because a guarantee does not hold, 2 wrong usage or input.[/dim]
"""

app = typer.Typer(
    name="shoal",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXAMPLES,
)


def _version(asked: bool) -> None:
    if asked:
        import shoal

        typer.echo(f"shoal {shoal.__version__}")
        raise typer.Exit


@app.callback()
def shoal(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Publish tables about people without revealing who is who.

    Every record is hidden in a group of at least [bold]k[/bold] similar records that publish the same values.
    """


app.command(cls=Command, epilog=ANONYMIZE)(anonymize)
app.command(cls=Command, epilog=VERIFY)(verify)
app.command(cls=Command, epilog=ASSESS)(assess)
app.command(cls=Command, epilog=COMPARE)(compare)
app.command(cls=Command, epilog=TUNE)(tune)
app.command(cls=Command, epilog=METHODS)(methods)
app.command(cls=Command, epilog=DEMO)(demo)
app.command(cls=Command, epilog=SERVE)(serve)
app.command(cls=Command, epilog=WARM)(warm)
