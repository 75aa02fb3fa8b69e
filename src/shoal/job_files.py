"""Job files: a plan, with its files and databases, in YAML, TOML or JSON.

To add a key, add a row to the table of options.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from shoal.errors import DataError
from shoal.options.table import PLAN, READING, WRITING
from shoal.plan import Plan, yaml_of

# Keys of a job file besides those of the plan.
JOB_KEYS = ("input", "output", "report", "certificate")
# Keys for how to read the input and write the output.
ACCESS_KEYS = tuple(option.key for option in (*READING, *WRITING))
_ROLES = tuple(option.field for option in PLAN if option.role)


def read_job(path: str | Path) -> tuple[Plan, dict[str, str]]:
    """Return the plan of a job file (YAML, TOML or JSON by its suffix), and its keys for files and databases.

    Paths in the job file, including those of hierarchies, are relative to it.
    """
    path = Path(path)
    content = _parsed(path)
    if not isinstance(content, dict):
        raise DataError(f"A job file must contain keys with values. Got something else in {path.name}.")
    files = {key: str(content.pop(key)) for key in JOB_KEYS if key in content}
    for key in files:
        if "://" not in files[key] and files[key] != "-":
            files[key] = str(path.parent / files[key])
    files.update({key: str(content.pop(key)) for key in ACCESS_KEYS if key in content})
    _change_paths(content, lambda where: where if "://" in where else str(path.parent / where))
    return Plan.of(**content), files


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
    """Change the paths among the fields of a plan: that of the population, and those of hierarchies in files."""
    if isinstance(fields.get("population"), str):
        fields["population"] = change(fields["population"])
    if isinstance(fields.get("hierarchies"), dict):
        fields["hierarchies"] = {
            name: change(value) if isinstance(value, str) and ":" not in value and value != "prefixes" else value
            for name, value in fields["hierarchies"].items()
        }


def _relative_to(folder: Path, where: str) -> str:
    """Return a path relative to a folder, or an address without its password."""
    if "://" in where:
        from shoal.io.sql import Address

        return Address(where).name if where.startswith("postgres") else where
    if where == "-" or os.path.isabs(where):
        return where
    return os.path.relpath(where, folder)


def _parsed(path: Path) -> Any:
    import tomllib

    import yaml

    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"The job file {path.name} cannot be read: {_reason(error)}.") from None
    try:
        if path.suffix == ".toml":
            return tomllib.loads(text)
        return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError) as error:
        words = " ".join(str(error).split())
        raise DataError(f"The job file {path.name} is not valid {path.suffix[1:].upper()}: {words}") from None


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or "it is not UTF-8 text")
