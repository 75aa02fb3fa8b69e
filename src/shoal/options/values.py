"""Conversion between values of a plan and their texts on the command line."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import OptionError


def _unchanged(value: Any, flag: str) -> Any:
    return value


def _plain(value: Any) -> list[str] | None:
    return None if value is None else [str(value)]


def _job_file_only(value: Any) -> None:
    return None


@dataclass(frozen=True)
class Form:
    """How the values of an option are written.

    Attributes
    ----------
    type : type
        Type of a single value: str, int, float, or bool for a switch.
    many : bool
        Whether the option may be repeated.
    parse : callable
        Turns what was given (a list if `many`) into the value of the field. Also takes the flag, for messages.
    texts : callable
        Turns the value of the field into texts, each of which follows the flag once; None if only a job file can set
        the value.
    """

    type: type = str
    many: bool = False
    parse: Callable[[Any, str], Any] = _unchanged
    texts: Callable[[Any], list[str] | None] = _plain


def split(text: str) -> list[str]:
    """Return the names in a comma-separated list; names that contain a comma are in double quotes."""
    # Names may have line ends: the lines of the text belong to one list.
    rows = csv.reader(text.splitlines(keepends=True), skipinitialspace=True)
    return [part for row in rows for part in row if part]


def names(texts: Sequence[str] | None) -> list[str]:
    """Return the names given to an option, one or several at a time."""
    return [name for text in texts or () for name in split(text)]


def quoted(name: str) -> str:
    """Return a name, quoted if `split` would change it otherwise."""
    plain = name == name.strip() and not any(c in name for c in ',"\n\r')
    return name if plain else f'"{name.replace(chr(34), 2 * chr(34))}"'


def pairs(convert: Callable[[str], Any], what: str, *, owner: str = "COLUMN", written: bool = True) -> Form:
    """Return the form of a mapping: COLUMN=VALUE or A,B=VALUE, repeated.

    Parameters
    ----------
    convert : callable
        Turns the text after the equals sign into the value, or raises ValueError.
    what : str
        What must follow the equals sign, for messages.
    owner : str
        What precedes the equals sign, for messages.
    written : bool
        Whether commands can contain such values, or only job files.
    """

    def parse(texts: Sequence[str], flag: str) -> dict[str, Any]:
        given = (_pair(text, flag, convert, what, owner) for text in texts)
        return {name: value for listed, value in given for name in (split(listed) if written else [listed])}

    return Form(many=True, parse=parse, texts=_texts_of_pairs if written else _job_file_only)


def _pair(text: str, flag: str, convert: Callable[[str], Any], what: str, owner: str = "COLUMN") -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    try:
        if sign and name and value:
            return name.strip(), convert(value)
    except ValueError:
        pass
    raise OptionError(f"The option {flag} must be {owner}=.. with {what} after the equals sign. Got {text!r}.")


def _texts_of_pairs(mapping: Mapping[str, Any]) -> list[str] | None:
    if any(isinstance(value, dict | list) for value in mapping.values()):
        return None
    return [f"{quoted(name)}={value}" for name, value in mapping.items()]


def scalar(text: str) -> int | float | str:
    """Return the number that the text represents, else the text."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def _models(texts: Sequence[str], flag: str) -> dict[str, list[str]]:
    """Return the models of each column; a column may have several."""
    by_column: dict[str, list[str]] = {}
    for text in texts:
        name, model = _pair(text, flag, str, "a model, such as entropy-diversity l=3,")
        by_column.setdefault(name, []).append(model)
    return by_column


def _places(texts: Sequence[str], flag: str) -> list[list[str]]:
    places = []
    for text in texts:
        pair = split(text)
        if len(pair) != 2:
            raise OptionError(f"The option {flag} must be two columns, LATITUDE,LONGITUDE. Got {text!r}.")
        places.append(pair)
    return places


def _markers(texts: Sequence[str], flag: str) -> list[str] | dict[str, list[str]]:
    """Return the markers of missing values, for all columns or by column."""
    by_column: dict[str, list[str]] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if sign and name:
            by_column.setdefault(name, []).append(value)
    if not by_column:
        return list(texts)
    if sum(map(len, by_column.values())) < len(texts):
        raise OptionError(
            f"The option {flag} must be VALUE for all columns, or COLUMN=VALUE each time. Got both.",
            hint="use COLUMN=VALUE for every column.",
        )
    return by_column


def _blocks(text: str, flag: str) -> str | list[list[str]]:
    return text if text in ("joint", "each") else [split(block) for block in text.split(";")]


TEXT = Form()
WHOLE = Form(type=int)
NUMBER = Form(type=float)
SWITCH = Form(type=bool)
TEXTS = Form(many=True)
WHOLES = Form(type=int, many=True)
NUMBERS = Form(type=float, many=True)
NAMES = Form(many=True, parse=lambda texts, flag: names(texts), texts=lambda value: [quoted(str(v)) for v in value])
RANGE = Form(parse=lambda text, flag: split(text), texts=lambda value: [",".join(map(str, value))])
MODELS = Form(many=True, parse=_models, texts=_job_file_only)
PLACES = Form(many=True, parse=_places, texts=_job_file_only)
MARKERS = Form(many=True, parse=_markers, texts=_job_file_only)
DOMAIN = Form(texts=lambda value: [value] if isinstance(value, str) else None)
BLOCKS = Form(parse=_blocks, texts=_job_file_only)
