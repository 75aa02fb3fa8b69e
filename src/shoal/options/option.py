"""Options of the command line, and the values given to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shoal.options.values import SWITCH, TEXT, Form

Part = Literal["plan", "reading", "writing", "command"]


@dataclass(frozen=True)
class Option:
    """An option of the command line.

    Attributes
    ----------
    flag : str
        Such as ``--k-map`` or ``--shuffle/--no-shuffle``; a positional argument has no dashes.
    help : str
        One or two sentences, with Rich markup.
    metavar : str or None
        Placeholder of the value in the help; None for switches.
    form : Form
        How values are written.
    panel : str or None
        Heading in the help; None for the first one.
    part : "plan", "reading", "writing" or "command"
        What it sets: the plan, keywords of :func:`shoal.io.read` or of :func:`shoal.io.write`, or the command itself.
    field : str
        The field of the plan, or the keyword.
    role : bool
        Whether it gives columns a role.
    short : str
        A second flag: one letter, or another word.
    default : value or None
        Value if the option is not given.
    required : bool
        Whether a positional argument must be given.
    """

    flag: str
    help: str
    metavar: str | None = None
    form: Form = TEXT
    panel: str | None = None
    part: Part = "command"
    field: str = ""
    role: bool = False
    short: str = ""
    default: Any = None
    required: bool = False

    @property
    def name(self) -> str:
        """Return the flag that is shown to users, without its negation."""
        return self.flag.partition("/")[0]

    @property
    def key(self) -> str:
        """Return the name of the value in a command and, for files, in a job file."""
        return self.name.lstrip("-").replace("-", "_")

    @property
    def positional(self) -> bool:
        """Return whether this is an argument without a flag."""
        return not self.flag.startswith("-")

    def arguments(self, value: Any) -> list[str] | None:
        """Return the command-line arguments that set this value; None if only a job file can."""
        if self.form.type is bool:
            return [self.name] if value else None
        texts = self.form.texts(value)
        return None if texts is None else [word for text in texts for word in (self.name, text)]


def switch(flag: str, help: str, panel: str | None = None, *, short: str = "") -> Option:
    """Return an option of a command that is on if it is given, and off otherwise."""
    return Option(flag, help, form=SWITCH, panel=panel, short=short, default=False)


class Given(Mapping[str, Any]):
    """The values given to a command, by the keys of its options; None if an option was not given.

    Parameters
    ----------
    options : sequence of Option
    values : mapping
        Values by the keys of the options; missing keys were not given.
    """

    def __init__(self, options: Sequence[Option], values: Mapping[str, Any]) -> None:
        self.options = options
        self._values = {option.key: values.get(option.key, option.default) for option in options}

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def of(self, part: Part) -> dict[str, Any]:
        """Return the parsed values of a part, by the names of its fields."""
        return {
            option.field: option.form.parse(self[option.key], option.name)
            for option in self.options
            if option.part == part and self[option.key] is not None and self[option.key] != []
        }


def flags_of(options: Iterable[Option]) -> dict[str, str]:
    """Return the flag of each field."""
    return {option.field: option.name for option in options if option.field}


def arguments_of(fields: Mapping[str, Any], options: Iterable[Option], part: Part = "plan") -> list[str] | None:
    """Return the command-line arguments that set these fields; None if one of them can only be set in a job file."""
    by_field = {option.field: option for option in options if option.part == part}
    arguments: list[str] = []
    for field, value in fields.items():
        of_field = by_field[field].arguments(value) if field in by_field else None
        if of_field is None:
            return None
        arguments += of_field
    return arguments
