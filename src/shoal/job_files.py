"""Job files: a plan, and the files and databases it is for, in YAML, TOML or JSON.

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

# What a job file may say besides the plan.
JOB_KEYS = ("input", "output", "report", "manifest")
# And how the input is read and the output written, where that has to be said.
ACCESS_KEYS = tuple(option.key for option in (*READING, *WRITING))
_ROLES = tuple(option.field for option in PLAN if option.role)


def read_job(path: str | Path) -> tuple[Plan, dict[str, str]]:
    """Return the plan of a job file (YAML, TOML or JSON by its suffix), and what it says about files and databases.

    Paths in it, of hierarchies too, are relative to the job file.
    """
    path = Path(path)
    said = _parsed(path)
    if not isinstance(said, dict):
        raise DataError(f"A job file must hold names and values. Got something else in {path.name}.")
    files = {key: str(said.pop(key)) for key in JOB_KEYS if key in said}
    for key in files:
        if "://" not in files[key] and files[key] != "-":
            files[key] = str(path.parent / files[key])
    files.update({key: str(said.pop(key)) for key in ACCESS_KEYS if key in said})
    _change_paths(said, lambda where: where if "://" in where else str(path.parent / where))
    return Plan.of(**said), files


def job_text(plan: Plan, files: Mapping[str, str | None], access: Mapping[str, str], path: str | Path) -> str:
    """Return the text of a job file at `path` that asks for the same again.

    Parameters
    ----------
    plan : Plan
    files : {key of JOB_KEYS: path, address or None}
    access : {key of ACCESS_KEYS: text}
    path : path
        Paths are written as seen from its folder, addresses without their passwords.
    """
    folder = Path(path).parent
    said: dict[str, Any] = {key: _seen_from(folder, where) for key, where in files.items() if where is not None}
    said |= access
    said |= plan.job()
    _change_paths(said, lambda where: _seen_from(folder, where))
    return yaml_of(said)


def override(job: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a job with others in their place: mappings are merged, the rest is replaced."""
    found = dict(job)
    named = {name for role in _ROLES if role in fields for name in _listed(fields[role])}
    for role in _ROLES:
        # A column with another role now has lost that of the job.
        if role in found and role not in fields:
            left = [name for name in _listed(found[role]) if name not in named]
            found[role] = left if not isinstance(found[role], str) else left[0] if left else None
    if fields.get("method", found.get("method")) != found.get("method"):
        # Both belong to the method of the job.
        found.pop("options", None)
        found.pop("time_limit", None)
    for field, value in fields.items():
        merged = isinstance(value, dict) and isinstance(found.get(field), dict)
        found[field] = {**found[field], **value} if merged else value
    return found


def _listed(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _change_paths(said: dict[str, Any], change: Callable[[str], str]) -> None:
    """Change the paths among the fields of a plan: of the population, and of hierarchies that are files."""
    if isinstance(said.get("population"), str):
        said["population"] = change(said["population"])
    if isinstance(said.get("hierarchies"), dict):
        said["hierarchies"] = {
            name: change(one) if isinstance(one, str) and ":" not in one and one != "prefixes" else one
            for name, one in said["hierarchies"].items()
        }


def _seen_from(folder: Path, where: str) -> str:
    """Return a path as seen from a folder, an address without its password."""
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
