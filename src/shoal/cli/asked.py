"""From options and a job file to a plan, and from a plan to a job file."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError

if TYPE_CHECKING:
    from shoal.plan import Plan

# Options of the command line (as parameters of a command) and the fields of a plan that they are.
LISTS = {
    "qi": "quasi_identifiers",
    "sensitive": "sensitive_attributes",
    "id": "identifiers",
    "other": "other",
    "stratum": "stratum",
}
SINGLE = {
    "k": "k",
    "l_": "l",
    "t": "t",
    "enforce": "enforcement",
    "population": "population",
    "k_map": "k_map",
    "weight": "weight",
    "unit": "unit",
    "coordinates": "coordinates",
    "missing": "missing",
    "form": "release",
    "small_strata": "small_strata",
    "method": "method",
    "refine": "refine",
    "time_limit": "time_limit",
    "bound": "bound",
    "seed": "random_state",
    "jobs": "n_jobs",
    "shuffle": "shuffle",
}
PAIRS: dict[str, tuple[str, Callable[[str], Any], str]] = {
    "type": ("types", str, "a type"),
    "levels": ("levels", lambda text: _split(text), "the levels, lowest first"),
    "hierarchy": ("hierarchies", str, "a hierarchy"),
    "importance": ("importance", float, "a number"),
    "representative": ("representatives", str, "what groups publish"),
    "digits": ("digits", int, "a whole number"),
    "date_format": ("formats", str, "a pattern such as %d/%m/%Y"),
    "cell": ("cells", lambda text: _scalar(text), "a width, a number of levels, value or *"),
    "option": ("options", lambda text: _scalar(text), "a value"),
}
ROLES = (*LISTS.values(), "weight", "unit")
# What is said about reading, by the parameters of a command, of io.read and of a job file.
READING = {
    "from": "format",
    "table": "table",
    "query": "query",
    "sheet": "sheet",
    "delimiter": "delimiter",
    "encoding": "encoding",
    "decimal": "decimal",
}


def plan_of(said: Mapping[str, Any]) -> tuple[Plan, dict[str, str]]:
    """Return the plan that options ask for, those of a job file below them, and what the job file says about files.

    Parameters
    ----------
    said : {parameter: value}
        Of a command; None is what was not said.
    """
    from shoal.plan import Plan, read_job

    own = fields(said)
    files: dict[str, str] = {}
    if said.get("job") is not None:
        plan, files = read_job(said["job"])
        own = _over(plan.model_dump(mode="json", exclude_unset=True), own)
    return Plan.of(**own), files


def reading(said: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, str]:
    """Return what is said about reading the input, by the names of a job file."""
    other_input = said.get("source") is not None and "input" in files
    found = {key: files[key] for key in READING if key in files and not other_input}
    return found | {key: said[_parameter(key)] for key in READING if said.get(_parameter(key)) is not None}


def _parameter(key: str) -> str:
    return {"from": "from_"}.get(key, key)


def read_source(where: str, how: Mapping[str, str], progress: Callable[[float], None] | None = None) -> Any:
    """Read the input; a sheet that is no name may be a position."""
    from shoal.io import read
    from shoal.io.files import checked_input

    if os.path.isdir(where):
        checked_input(Path(where))
    options: dict[str, Any] = {READING[key]: value for key, value in how.items()}
    if options.get("delimiter") in ("\\t", "tab"):
        options["delimiter"] = "\t"
    try:
        return read(where, **options, progress=progress)
    except OptionError:
        if not str(options.get("sheet")).isdigit():
            raise
        options["sheet"] = int(options["sheet"])
        return read(where, **options, progress=progress)


def job_file(plan: Plan, files: Mapping[str, str | None], how: Mapping[str, str], path: str) -> str:
    """Return the text of a job file at `path` that asks for the same again.

    Parameters
    ----------
    plan : Plan
    files : {"input", "output", "report", "manifest": path or address or None}
    how : {key: text}
        The rest of what a job file may say about them.
    path : str
    """
    import yaml

    folder = Path(path).parent
    said: dict[str, Any] = {key: _from(folder, value) for key, value in files.items() if value is not None}
    said |= how
    said |= plan.job()
    if "population" in said:
        said["population"] = _from(folder, said["population"])
    for name, hierarchy in said.get("hierarchies", {}).items():
        if isinstance(hierarchy, str) and ":" not in hierarchy and hierarchy != "prefixes":
            said["hierarchies"][name] = _from(folder, hierarchy)
    return yaml.safe_dump(said, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)


def _from(folder: Path, where: str) -> str:
    """Return a path as seen from a folder, an address without its password."""
    if "://" in where:
        from shoal.io.sql import Address

        return Address(where).name if where.startswith("postgres") else where
    if where == "-" or os.path.isabs(where):
        return where
    return os.path.relpath(where, folder)


def names(texts: list[str] | None) -> list[str]:
    """Return the names that an option was given, one or several each time."""
    return [name for text in texts or () for name in _split(text)]


def models(texts: list[str] | None) -> dict[str, list[str]]:
    """Return the models of each column, of which one may have several."""
    found: dict[str, list[str]] = {}
    for text in texts or ():
        name, model = _pair(text, "--model", str, "a model, such as entropy-diversity l=3,")
        found.setdefault(name, []).append(model)
    return found


def fields(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a plan that were said, by the parameters of a command."""
    found: dict[str, Any] = {}
    for parameter, field in LISTS.items():
        if said.get(parameter):
            found[field] = names(said[parameter])
    for parameter, field in SINGLE.items():
        if said.get(parameter) is not None:
            found[field] = said[parameter]
    for parameter, (field, convert, what) in PAIRS.items():
        if said.get(parameter):
            flag = {"date_format": "--format"}.get(parameter, f"--{parameter}")
            found[field] = dict(_pair(text, flag, convert, what) for text in said[parameter])
    if said.get("model"):
        found["models"] = models(said["model"])
    if said.get("presence") is not None:
        found["presence"] = _split(said["presence"])
    if said.get("place"):
        found["places"] = [_place(text) for text in said["place"]]
    if said.get("na"):
        found["missing_values"] = _markers(said["na"])
    if said.get("blocks") is not None:
        text = said["blocks"]
        found["blocks"] = text if text in ("joint", "each") else [_split(block) for block in text.split(";")]
    return found


def _over(job: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a job with others above them: mappings are merged, the rest is replaced."""
    named = {name for role in ROLES if role in fields for name in _listed(fields[role])}
    for role in ROLES:
        # A column that was given a role on the command line has lost that of the job file.
        if role in job and role not in fields:
            left = [name for name in _listed(job[role]) if name not in named]
            if isinstance(job[role], str):
                job[role] = left[0] if left else None
            else:
                job[role] = left
    if fields.get("method", job.get("method")) != job.get("method"):
        # Both belong to the method of the job file.
        job.pop("options", None)
        job.pop("time_limit", None)
    for field, value in fields.items():
        merged = isinstance(value, dict) and isinstance(job.get(field), dict)
        job[field] = {**job[field], **value} if merged else value
    return job


def _listed(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _split(text: str) -> list[str]:
    """Return the names in a list with commas; a name with a comma stands in double quotes."""
    return [part for part in next(csv.reader([text], skipinitialspace=True), []) if part]


def _pair(text: str, flag: str, convert: Callable[[str], Any], what: str) -> tuple[str, Any]:
    name, mark, value = text.partition("=")
    try:
        if mark and name and value:
            return name.strip(), convert(value)
    except ValueError:
        pass
    owner = "NAME" if flag == "--option" else "COLUMN"
    raise OptionError(f"The option {flag} must be {owner}=.. with {what} after the sign. Got {text!r}.")


def _place(text: str) -> list[str]:
    pair = _split(text)
    if len(pair) != 2:
        raise OptionError(f"The option --place must be two columns, LATITUDE,LONGITUDE. Got {text!r}.")
    return pair


def _markers(texts: list[str]) -> Any:
    by_column: dict[str, list[str]] = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if mark and name:
            by_column.setdefault(name, []).append(value)
    if not by_column:
        return texts
    if sum(map(len, by_column.values())) < len(texts):
        raise OptionError(
            "The option --na must be VALUE for all columns, or COLUMN=VALUE each time. Got both.",
            hint="say COLUMN=VALUE for every column.",
        )
    return by_column


def _scalar(text: str) -> Any:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text
