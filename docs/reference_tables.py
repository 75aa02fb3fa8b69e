"""The pages of types, of the plan and of the command line, made from the code; see reference.py."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

from shoal.fields import COMMAND_LINE, SDCMICRO
from shoal.job_files import ACCESS_KEYS, JOB_KEYS
from shoal.options.option import Option, flags_of
from shoal.options.table import PLAN
from shoal.plan import KINDS, Plan
from shoal.tables import embedding
from shoal.tables.representatives import REPRESENTATIVES, represent
from shoal.tables.schema import RECODED

NOTE = "<!-- Written by docs/reference.py. Do not edit: change {source}. -->"

# --- types ---

TYPES_HEAD = f"""\
# Types

{NOTE.format(source="the code, or this text in docs/reference_tables.py")}

Every quasi-identifier has a type. It says how far apart two values are, and what a group may publish in their place.
[Roles and types](../how-to/roles-and-types.md) says how types are inferred and declared,
[How a table becomes coordinates](../explanation/tables.md) has the reasons.
"""

# What each type is for, where it is inferred, and how many coordinates it takes; everything else on the page is taken
# from the code.
MEANT_FOR = {
    "continuous": ("measurements, amounts", "floating-point and decimal columns; texts that are all numbers", "1"),
    "integer": ("counts, years, codes", "integer columns; few different whole numbers; texts that are all digits", "1"),
    "ordinal": ("levels in an order", "ordered categories; SPSS measure ordinal; columns with declared `levels`", "1"),
    "nominal": (
        "names and codes without an order",
        "other texts and categories; digits with leading zeros; value labels of SPSS and Stata; SPSS measure nominal",
        "one a level",
    ),
    "hierarchical": ("values in a tree: regions, codes", "columns with a declared hierarchy", "one an edge"),
    "boolean": ("yes or no", "boolean columns; texts that are all true or false", "1"),
    "date": ("days", "date columns; times that are all at midnight; texts or digits that are all dates", "1"),
    "datetime": ("moments", "time stamps; texts that are all dates with a time", "1"),
    "place": ("points on the globe", "never: `places` names the two columns", "up to 3"),
}
COORDINATES = """\
Levels that do not occur, and edges above all records or above none, take no coordinate; two levels take one. Where
values are missing there is one more. `coordinates` sets a limit for nominal and hierarchical attributes.
"""
DEFAULTS = """\
The default comes first; for whole numbers of which few are different and whose type is inferred, it is the median. The
two recodings publish what stands in the last column."""


def types_page() -> str:
    """Return the page of types."""
    if set(MEANT_FOR) != set(KINDS) or set(REPRESENTATIVES) != set(KINDS) or set(RECODED) != set(KINDS):
        raise SystemExit("Every type must be described in docs/reference_tables.py, and have its representatives.")
    parts = [TYPES_HEAD, "| Type | For | Inferred for | Coordinates |", "|---|---|---|---|"]
    parts += [f"| `{kind}` | {' | '.join(MEANT_FOR[kind])} |" for kind in KINDS]
    parts += ["", COORDINATES, "## Distance { #distance }", "", _first_sentences(), ""]
    parts += ["| Type | Squared distance of two values *a* and *b*, before scaling |", "|---|---|"]
    parts += [f"| {names} | {words} |" for names, words in _distances()]
    parts += ["", _after_the_table(), "", "## What a group publishes { #representatives }", ""]
    parts += [DEFAULTS, ""]
    parts += ["| Type | `representatives` | Recodings |", "|---|---|---|"]
    for kind in KINDS:
        choices = ", ".join(f"`{how}`" for how in REPRESENTATIVES[kind])
        parts.append(f"| `{kind}` | {choices} | `{RECODED[kind]}` |")
    parts += ["", *_representatives(), "", _missing_rule(), ""]
    return "\n".join(parts)


def _paragraphs(thing: Any) -> list[str]:
    return re.split(r"\n\s*\n", inspect.getdoc(thing) or "")


def _first_sentences() -> str:
    first, second = _paragraphs(embedding)[:2]
    return _plain(f"{first} {second.rstrip()}:")


def _distances() -> list[tuple[str, str]]:
    """Return the rows of the table in the docstring of shoal.tables.embedding."""
    table = next(part for part in _paragraphs(embedding) if part.startswith("===="))
    rows = [re.split(r"\s{2,}", line, maxsplit=1) for line in table.splitlines() if not line.startswith("==")]
    known = {name for names, _ in rows for name in names.split(", ")}
    if known != set(KINDS):
        raise SystemExit("The docstring of shoal.tables.embedding must give the distance of every type.")
    return [(", ".join(f"`{name}`" for name in names.split(", ")), _plain(words)) for names, words in rows]


def _after_the_table() -> str:
    paragraphs = _paragraphs(embedding)
    at = next(i for i, part in enumerate(paragraphs) if part.startswith("===="))
    return _plain("\n\n".join(paragraphs[at + 1 :]))


def _representatives() -> list[str]:
    """Return the list of representatives in the docstring of `represent`."""
    text = (inspect.getdoc(represent) or "").split("how : str")[1].split("kind : str")[0]
    items = [" ".join(item.split()) for item in re.split(r"\n\s+- ", text)[1:]]
    told = {name for item in items for name in re.findall(r"\*([a-z-]+)\*", item)}
    if told != {how for choices in REPRESENTATIVES.values() for how in choices}:
        raise SystemExit("The docstring of represent must describe every representative.")
    return [f"- {_plain(item)}" for item in items]


def _missing_rule() -> str:
    module = inspect.getmodule(represent)
    return _plain("\n\n".join(_paragraphs(module)[1:]))


def _plain(text: str) -> str:
    """Return reStructuredText as Markdown: code in single backticks, powers raised."""
    return re.sub(r"\^2\b", "²", text.replace("``", "`"))


# --- the plan ---

PLAN_HEAD = f"""\
# The plan

{NOTE.format(source="the docstring of shoal.Plan")}

A plan says what is to be released and how. Its fields are the keywords of [`shoal.anonymize`](api.md#shoalanonymize)
and [`shoal.anonymize_file`](api.md#shoalanonymize_file), the keys of a [job file](../how-to/command-line.md#job-files),
and options of the command line. `shoal.Plan.of(..)` builds one; it is frozen, and the same plan on the same table gives
the same release, but for the order of rows that are shuffled, and for the groups of a search that the clock ends.
"""

JOBS = """\
## What else a job file may say {{ #job-file }}

{files} are paths, seen from the folder of the job file, or addresses of databases. {access} say how the input is read
and where the output goes, as the options of the same names do (`to_table` is `--to-table`).

## Other names {{ #other-names }}

In Python, the names of the options of the command line are taken too, and everywhere those of sdcMicro:

| Name | Field | Taken from |
|---|---|---|
{names}
"""


def plan_page(options: Sequence[Option] = PLAN) -> str:
    """Return the page of the plan, with the flags of these options."""
    flags = flags_of(options)
    told = _attributes()
    if set(told) != set(Plan.model_fields):
        odd = sorted(set(told) ^ set(Plan.model_fields))
        raise SystemExit(f"The docstring of Plan must describe every field. Look at {', '.join(odd)}.")
    parts = [PLAN_HEAD, "| Field | Command line | Takes | Meaning |", "|---|---|---|---|"]
    for name, field in Plan.model_fields.items():
        flag = f"`{flags[name]}`" if name in flags else "job file"
        takes, meaning = (_cell(words) for words in told[name])
        takes = re.sub(r"\{[^}]*\}", r"`\g<0>`", takes)  # braces of their own would be taken for attributes of the cell
        default = f" Default: `{_default(field.default)}`." if field.default not in ((), {}, None) else ""
        parts.append(f"| `{name}` | {flag} | {takes} | {meaning}{default} |")
    sources = (("the command line", COMMAND_LINE), ("sdcMicro", SDCMICRO))
    names = "\n".join(
        f"| `{name}` | `{ours}` | {source} |" for source, table in sources for name, ours in table.items()
    )
    listed = [", ".join(f"`{key}`" for key in keys) for keys in (JOB_KEYS, ACCESS_KEYS)]
    return "\n".join([*parts, "", JOBS.format(files=listed[0], access=listed[1], names=names)])


def _default(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _attributes() -> dict[str, tuple[str, str]]:
    """Return, of each field, its type in words and its meaning, out of the numpydoc section Attributes."""
    section = (inspect.getdoc(Plan) or "").split("Attributes\n----------\n")[1]
    found: dict[str, tuple[str, str]] = {}
    for item in re.split(r"\n(?=\S)", section):
        head, _, body = item.partition("\n")
        names, _, words = head.partition(" : ")
        meaning = " ".join(body.split())
        found.update(dict.fromkeys(names.split(", "), (words, meaning)))
    return found


def _cell(text: str) -> str:
    """Return text for a cell of a table: roles of Sphinx are code."""
    return _plain(re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)).replace("|", "\\|")


# --- the command line ---

COMMANDS_HEAD = f"""\
# Command line

{NOTE.format(source="the help of the commands")}

What `shoal COMMAND --help` says. [Use the command line](../how-to/command-line.md) shows how the commands are used.
"""


def command_line_page(app: Any = None) -> str:
    """Return the page of the commands of an app, Shoal's if None, and their options."""
    from typer.main import get_command

    if app is None:
        from shoal.cli.app import app

    group: Any = get_command(app)
    parts = [COMMANDS_HEAD]
    for name, command in group.commands.items():
        parts += [f"## shoal {name} {{ #{name} }}", "", _markup(inspect.cleandoc(command.help or "")), ""]
        panels: dict[str, list[str]] = {}
        for parameter in command.params:
            if parameter.name == "help" or getattr(parameter, "hidden", False):
                continue
            panel = getattr(parameter, "rich_help_panel", None) or "Options"
            panels.setdefault("" if parameter.param_type_name == "argument" else panel, []).append(_row(parameter))
        for panel, rows in panels.items():
            parts += [f"**{panel}**", ""] if panel else []
            parts += ["| Option | Meaning |" if panel else "| Argument | Meaning |", "|---|---|", *rows, ""]
    return "\n".join(parts)


def _row(parameter: Any) -> str:
    shown = parameter.metavar if parameter.param_type_name == "argument" else ", ".join(parameter.opts)
    takes = "" if parameter.param_type_name == "argument" or parameter.is_flag else f" {parameter.metavar or '..'}"
    meaning = _markup(parameter.help or "").replace("|", "\\|").replace("\n", " ")
    return f"| `{shown or parameter.name}{takes}` | {meaning} |"


def _markup(text: str) -> str:
    """Return Rich's markup as Markdown."""
    text = re.sub(r"\[(cyan|green)\](.*?)\[/\1\]", r"`\2`", text)
    text = re.sub(r"\[bold\](.*?)\[/bold\]", r"**\1**", text)
    return re.sub(r"\[/?(?:dim|bold|cyan|green)\]", "", text).replace("\\[", "[")


MODELS_HEAD = """\
# Privacy models

<!-- Written by docs/reference.py. Do not edit: change the models or their docstrings. -->

What can be asked of the sensitive values of every group, beside *k*. [Protect sensitive
values](../how-to/sensitive-values.md) shows how, [More than k](../explanation/models.md) which model is for what, [the
price of models](model-prices.md) what they cost. A model is *monotone* if the union of groups that satisfy it satisfies
it: then merging always helps.

| Model | Written | In short | Monotone |
|---|---|---|---|
"""


def models_page() -> str:
    """Return the page of privacy models."""
    from shoal.privacy.models import MODELS, written

    rows = [
        f"| [`{name}`](#{name}) | `{written(kind)}` | {_whole(kind).partition(chr(10) * 2)[0]} | "
        f"{'yes' if kind.monotone else 'no'} |"
        for name, kind in MODELS.items()
    ]
    parts = [f"## `{name}` {{ #{name} }}\n\n{_whole(kind)}\n" for name, kind in MODELS.items()]
    return MODELS_HEAD + "\n".join([*rows, "", *parts])


def _whole(thing: Any) -> str:
    """Return a docstring, its paragraphs in one line each."""
    text = inspect.getdoc(thing) or ""
    return "\n\n".join(_plain(" ".join(part.split())) for part in text.split("\n\n"))
