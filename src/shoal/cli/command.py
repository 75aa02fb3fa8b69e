"""Turns a table of options into a command: typer gets the parameters, the command their values."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import Annotated, Any

import typer

from shoal.cli.completion import completer
from shoal.options.option import Given, Option
from shoal.options.table import FILES

SOURCE = Option(
    "source", "The table: a file, [cyan]postgresql://..[/cyan], or [cyan]-[/cyan] for CSV on standard input.", "IN"
)
JOB = Option("--job", "Read settings from a job file (YAML, TOML or JSON); options override it.", "FILE", panel=FILES)


def takes(*options: Option) -> Callable[[Callable[[Given], None]], Callable[..., None]]:
    """Return a decorator for a command that takes one keyword per option, and receives them as a :class:`Given`."""
    keys = {_parameter_name(option): option.key for option in options}

    def decorate(command: Callable[[Given], None]) -> Callable[..., None]:
        def run(**values: Any) -> None:
            command(Given(options, {keys[name]: value for name, value in values.items()}))

        run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
        # typer reads the parameters of a command from its signature.
        run.__signature__ = Signature([_parameter(option) for option in options])  # type: ignore[attr-defined]
        return run

    return decorate


def _parameter(option: Option) -> Parameter:
    kind: Any = list[option.form.type] if option.form.many else option.form.type  # type: ignore[name-defined]
    if option.default is None and not option.required:
        kind = kind | None
    how: Any = {"metavar": option.metavar, "help": option.help, "autocompletion": completer(option)}
    shown: Any = (
        typer.Argument(**how)
        if option.positional
        else typer.Option(*filter(None, (option.flag, option.short)), rich_help_panel=option.panel, **how)
    )
    default = Parameter.empty if option.required else option.default
    return Parameter(
        _parameter_name(option), Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, shown]
    )


def _parameter_name(option: Option) -> str:
    return f"{option.key}_" if iskeyword(option.key) else option.key
