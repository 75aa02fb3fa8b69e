"""Job files: a plan, with its files and databases, in YAML, TOML or JSON.

To add a key, add a row to the table of options.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from shoal.errors import DataError, OptionError, near_names
from shoal.fields import COMMAND_LINE, OF_ONE_TYPE, SDCMICRO
from shoal.options.option import Option
from shoal.options.table import PLAN, READING, WRITING
from shoal.plan import Plan, yaml_of

# Keys of a job file besides those of the plan.
JOB_KEYS = ("input", "output", "report", "certificate", "record")
# Keys for how to read the input and write the output.
ACCESS_KEYS = tuple(option.key for option in (*READING, *WRITING))
_DEEP = 50  # levels of nesting; hierarchies may have a few
SUFFIXES = (".yaml", ".yml", ".toml", ".json")
_ROLES = tuple(option.field for option in PLAN if option.role)


def read_job(path: str | Path) -> tuple[Plan, dict[str, Any]]:
    """Return the plan of a job file (YAML, TOML or JSON by its suffix), and its keys for files and databases.

    Paths in the job file, including those of hierarchies, are relative to it. Errors do not quote the file: one that
    was named by mistake may hold records.
    """
    path = Path(path)
    content = _parsed(path)
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise DataError(f"A job file must contain keys with values. Got something else in {path.name}.")
    known = (*JOB_KEYS, *ACCESS_KEYS, *Plan.model_fields, *SDCMICRO, *OF_ONE_TYPE)
    for at, key in enumerate(content, 1):
        if key not in known:
            hint = near_names(key, known, "the keys are those of shoal.Plan, and those for files.")
            if key in COMMAND_LINE:
                hint = f"--{key} of the command line is {COMMAND_LINE[key]!r} in a job file."
            raise OptionError(f"The keys of a job file must be known. Got an unknown one, number {at}.", hint)
    files = {key: _text(key, content.pop(key)) for key in JOB_KEYS if key in content}
    for key in files:
        if "://" not in files[key] and files[key] != "-":
            files[key] = str(path.parent / files[key])
    access = {option.key: option for option in (*READING, *WRITING)}
    given = {key: _access(access[key], content.pop(key)) for key in access if key in content}
    _change_paths(content, lambda where: where if "://" in where else str(path.parent / where))
    return Plan.of_job(content), files | given


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise DataError(f"The {key!r} of a job file must be a text. Got something else.", "put it into quotes.")
    return value


def _access(option: Option, value: Any) -> Any:
    """Return the value of a key for reading or writing."""
    if option.form.type is bool:
        if not isinstance(value, bool):
            raise DataError(f"The {option.key!r} of a job file must be true or false. Got something else.")
        return value
    if value == "" and option.key == "quote":
        return value
    # YAML reads the position of a sheet, or a table called 2024, as a number.
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    return _text(option.key, str(value) if whole else value)


def job_text(plan: Plan, files: Mapping[str, str | None], access: Mapping[str, str], path: str | Path) -> str:
    """Return the text of a job file at `path` that repeats this job.

    Parameters
    ----------
    plan : Plan
    files : {key of JOB_KEYS: path, address or None}
    access : {key of ACCESS_KEYS: text}
    path : path
        Paths are written relative to its folder, addresses without their passwords.
    """
    folder = Path(path).parent
    content: dict[str, Any] = {key: _relative_to(folder, where) for key, where in files.items() if where is not None}
    content |= access
    content |= plan.job()
    _change_paths(content, lambda where: _relative_to(folder, where))
    return yaml_of(content)


def override(job: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a job, overridden by others: mappings are merged, other values are replaced."""
    result = dict(job)
    named = {name for role in _ROLES if role in fields for name in _listed(fields[role])}
    for role in _ROLES:
        # A column with a new role loses its role in the job.
        if role in result and role not in fields:
            left = [name for name in _listed(result[role]) if name not in named]
            result[role] = left if not isinstance(result[role], str) else left[0] if left else None
    if fields.get("method", result.get("method")) != result.get("method"):
        # Both belong to the method of the job.
        result.pop("options", None)
        result.pop("time_limit", None)
    for field, value in fields.items():
        merged = isinstance(value, dict) and isinstance(result.get(field), dict)
        result[field] = {**result[field], **value} if merged else value
    return result


def _listed(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _change_paths(fields: dict[str, Any], change: Callable[[str], str]) -> None:
    """Change the paths among the fields of a plan: of the population, of the domain, and of hierarchies in files."""
    for name in ("population", "domain"):
        if isinstance(fields.get(name), str):
            fields[name] = change(fields[name])
    if isinstance(fields.get("hierarchies"), dict):
        fields["hierarchies"] = {
            name: change(value) if isinstance(value, str) and ":" not in value and value != "prefixes" else value
            for name, value in fields["hierarchies"].items()
        }


def _relative_to(folder: Path, where: str) -> str:
    """Return a path relative to a folder, or an address without its password."""
    if "://" in where:
        from shoal.io.sql import named

        return named(where)
    if where == "-" or os.path.isabs(where):
        return where
    return os.path.relpath(where, folder)


def _parsed(path: Path) -> Any:
    import tomllib

    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(
            f"The name of a job file must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}. Got {path.name!r}.",
            "to anonymise a table, name it without --job.",
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise DataError(f"The job file {path.name} cannot be read: {_reason(error)}.") from None
    try:
        if suffix == ".toml":
            content: Any = tomllib.loads(text)
        else:
            content = json.loads(text, object_pairs_hook=_once) if suffix == ".json" else _yaml(text)
        return _shallow(content)
    except RecursionError:
        reason = "it is nested too deeply"
    except (ValueError, OverflowError) as error:
        # Not the message: it may quote the file.
        place = re.search(r"line \d+,? column \d+", str(error))
        reason = str(error) if isinstance(error, _Fault) else f"see {place[0]}" if place else "it cannot be parsed"
    raise DataError(f"The job file {path.name} is not valid {suffix[1:].upper()}: {reason}.")


class _Fault(ValueError):
    """What is wrong with a job file, in words that do not quote it."""


def _shallow(content: Any) -> Any:
    """Return the content of a job file, or refuse deep nesting, on which other code would fail."""
    layer = [content]
    for _ in range(_DEEP):
        layer = [one for each in layer if isinstance(each, list | dict) for one in _parts(each)]
        if not layer:
            return content
    raise RecursionError


def _parts(value: list[Any] | dict[Any, Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _once(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a mapping, or refuse a key that occurs twice."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise _Fault("a key occurs twice")
    return dict(pairs)


def _yaml(text: str) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """Refuses aliases, which can stand for more than any memory holds, and keys that occur twice."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise _Fault("it has an alias (*); write the value out")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            mapping = super().construct_mapping(node, deep=deep)
            if len(mapping) < len(node.value):
                raise _Fault("a key occurs twice")
            return mapping

    try:
        return yaml.load(text, Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"see line {mark.line + 1} column {mark.column + 1}" if mark is not None else "it cannot be parsed"
        raise _Fault(where) from None
    except (yaml.YAMLError, AttributeError, IndexError, KeyError, TypeError):
        # PyYAML fails on some texts, such as an impossible date or a tag without a value, with plain exceptions.
        raise _Fault("it cannot be parsed") from None


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return str(getattr(error, "strerror", None) or "its name cannot be that of a file")
