"""An option, and what was given to the options of a command."""

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
        Such as ``--k-map``, or ``--shuffle/--no-shuffle``; without dashes it is a positional argument.
    help : str
        One or two sentences, with the markup of Rich.
    metavar : str or None
        What stands for the value in the help; None for switches.
    form : Form
        How its values are written.
    panel : str or None
        Under which heading the help lists it; None: among the first.
    part : "plan", "reading", "writing" or "command"
        What it belongs to: the plan, keywords of :func:`shoal.io.read` or of :func:`shoal.io.write`, or the command.
    field : str
        The field of the plan, or the keyword.
    role : bool
        Whether it gives columns a role, of which every column has one.
    short : str
        A second flag of one letter.
    default : value or None
        If the option is not given; None: nothing was said.
    required : bool
        Of a positional argument.
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
        """Return the flag that is shown to users, without the one that negates it."""
        return self.flag.partition("/")[0]

    @property
    def key(self) -> str:
        """Return the name under which a command finds the value; of files, the key of a job file too."""
        return self.name.lstrip("-").replace("-", "_")

    @property
    def positional(self) -> bool:
        """Return whether this is an argument without a flag."""
        return not self.flag.startswith("-")

    def arguments(self, value: Any) -> list[str] | None:
        """Return the arguments of a command that give this value; None if it must be left to a job file."""
        if self.form.type is bool:
            return [self.name] if value else None
        texts = self.form.texts(value)
        return None if texts is None else [word for text in texts for word in (self.name, text)]


def switch(flag: str, help: str, panel: str | None = None, *, short: str = "") -> Option:
    """Return an option of a command that is on if it is given, and off otherwise."""
    return Option(flag, help, form=SWITCH, panel=panel, short=short, default=False)


class Given(Mapping[str, Any]):
    """What a command was given: a mapping from the keys of its options to values, None where nothing was said.

    Parameters
    ----------
    options : sequence of Option
    values : mapping
        By the keys of the options; what is left out was not given.
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
        """Return what was said about a part, parsed, by the names of its fields."""
        return {
            option.field: option.form.parse(self[option.key], option.name)
            for option in self.options
            if option.part == part and self[option.key] is not None and self[option.key] != []
        }


def flags_of(options: Iterable[Option]) -> dict[str, str]:
    """Return the flag of each field."""
    return {option.field: option.name for option in options if option.field}


def arguments_of(said: Mapping[str, Any], options: Iterable[Option]) -> list[str] | None:
    """Return the arguments of a command that say these fields; None if one must be left to a job file."""
    by_field = {option.field: option for option in options if option.part == "plan"}
    words: list[str] = []
    for field, value in said.items():
        found = by_field[field].arguments(value) if field in by_field else None
        if found is None:
            return None
        words += found
    return words
