"""Commands whose help is plain, and whose mistakes of usage are answered in one sentence, as all other errors are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from shoal.cli.shell import WRONG, Shell
from shoal.cli.words import FLAGS
from shoal.errors import ShoalError, near_names

# typer does not export them all under one name in all of its versions.
_UsageError: Any = typer.BadParameter.__mro__[1]
_NUMBERS = {int: "a whole number", float: "a number"}


class _Plain:
    """What commands and the application have in common: plain help, and errors in the words of the house."""

    params: list[Any]

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; the help says of a type only what the metavariable says."""
        return _plain(super().get_params(ctx))  # type: ignore[misc]

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse the arguments, or say what is wrong with them."""
        given = list(args)
        try:
            return super().make_context(info_name, args, parent, **extra)  # type: ignore[misc]
        except _UsageError as error:
            _refuse(error, given, _path(info_name, parent), self.params)


class Command(_Plain, TyperCommand):
    """A command."""


class Group(_Plain, TyperGroup):
    """The application."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, or say that there is none."""
        try:
            return super().resolve_command(ctx, args)
        except _UsageError:
            hint = near_names(args[0], self.list_commands(ctx), f"'{ctx.command_path} --help' lists all commands.")
            _fail(ShoalError(f"Shoal has no command {args[0]!r}.", hint))


def _plain(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
        elif param.param_type_name == "argument":
            param.display_type_rich = lambda ctx: ""
    return params


def _path(name: str | None, parent: Any) -> str:
    return " ".join(filter(None, (None if parent is None else parent.command_path, name)))


def _refuse(error: Any, args: Sequence[str], command: str, params: Sequence[Any]) -> None:
    """Say what is wrong in the shape of all errors, and end; no arguments at all are answered by the help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        raise error
    _fail(sentence(error, args, command, params))


def _fail(error: ShoalError) -> None:
    Shell().fail(str(error))
    raise typer.Exit(WRONG) from None


def sentence(error: Any, args: Sequence[str], command: str, params: Sequence[Any]) -> ShoalError:
    """Return a mistake of usage as an error of ours: what must hold, what was given, a hint.

    Parameters
    ----------
    error : click.UsageError
    args : what was given to the command
    command : its name, such as ``shoal anonymize``
    params : its parameters
    """
    helped = f"'{command} --help' explains all options."
    option, param = getattr(error, "option_name", None), getattr(error, "param", None)
    if hasattr(error, "possibilities"):
        flags = [flag for one in params for flag in (*one.opts, *one.secondary_opts) if flag.startswith("--")]
        fields = {f"--{field.replace('_', '-')}": flag for field, flag in FLAGS.items() if flag in flags}
        return ShoalError(f"'{command}' has no option {option}.", near_names(option, flags, helped, fields))
    if option is not None:
        words = "a value. Got none" if "requires" in error.message else "no value. Got one"
        return ShoalError(f"The option {option} must have {words}.", helped)
    if param is not None and type(error).__name__ == "MissingParameter":
        return ShoalError(f"{param.metavar or param.name} must be named. Got none.", helped)
    if param is not None:
        what = next((words for kind, words in _NUMBERS.items() if _is(kind, param)), "of another kind")
        got = next((value for value in _values(param.opts, args) if not _reads(value, what)), None)
        said = "" if got is None else f" Got {got!r}."
        return ShoalError(f"The option {param.opts[0]} must be {what}.{said}", helped)
    extra = re.search(r"extra arguments?(?:\(s\))? \((.*)\)", error.message)
    if extra and any(one.param_type_name == "argument" for one in params):
        hint = "lists of columns are written a,b,c without spaces; names with spaces stand in quotes."
        return ShoalError(f"'{command}' must be given one name besides options. Got {extra[1]!r} as well.", hint)
    if extra:
        return ShoalError(f"'{command}' must be given options only. Got {extra[1]!r}.", helped)
    return ShoalError(error.message.rstrip(".") + ".", helped)


def _is(kind: type, param: Any) -> bool:
    """Return whether a parameter holds numbers of a kind, as typer's versions name it."""
    described = getattr(param, "type_descriptor", None)
    names = {str(getattr(described, "annotation", "")), getattr(getattr(param, "type", None), "name", "")}
    word = "int" if kind is int else "float"
    return any(re.search(rf"\b{word}(?:eger)?\b", name) for name in names)


def _values(flags: Iterable[str], args: Sequence[str]) -> list[str]:
    """Return the values that follow an option."""
    found = []
    for at, word in enumerate(args):
        for flag in flags:
            if word == flag and at + 1 < len(args):
                found.append(args[at + 1])
            elif word.startswith(f"{flag}="):
                found.append(word[len(flag) + 1 :])
            elif word.startswith(flag) and not flag.startswith("--") and word != flag:
                found.append(word[len(flag) :])
    return found


def _reads(value: str, what: str) -> bool:
    try:
        int(value) if what == _NUMBERS[int] else float(value)
    except ValueError:
        return False
    return True
