"""The pages of measures of risk and of utility, made from their registries; see reference.py."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence

from shoal.entry import Entry
from shoal.measure.registry import measures as utility_measures
from shoal.risk.registry import measures as risk_measures

HEAD = """\
# Measures of risk

<!-- Written by docs/reference.py. Do not edit: change the registry of measures or a docstring. -->

All are functions of `shoal.risk`. Tables are data frames of any kind; results hold NumPy arrays and floats, with a
figure for each record in the order of the table. [Assess a release](../how-to/assess-risk.md) shows them at
work, [What the risk figures mean](../explanation/risk.md) says how to read them. `shoal.risk.measures()` has the
facts of this page.
"""
KINDS = {
    "keys": "## Keys\n\nWhat an intruder may know of a record, and how many share it. One table is enough.\n",
    "links": "## Links\n\nFrom an original record to its published row. Original and release are compared.\n",
    "attributes": "## Attributes\n\nWhat is learnt about somebody without finding the record.\n",
}
UTILITY_HEAD = """\
# Measures of utility

<!-- Written by docs/reference.py. Do not edit: change the registry of measures or a docstring. -->

All are functions of `shoal.measure` of an original and its release. Tables are data frames of any kind; results hold
NumPy arrays and floats. [Assess a release](../how-to/assess-risk.md) shows them at work. `shoal.measure.measures()` has
the facts of this page; the measures of a partition, such as the loss, are in [the Python API](api.md).
"""
UTILITY_KINDS = {
    "numbers": "## Numbers\n\nWhat is left of single columns.\n",
    "relations": "## Relations\n\nWhat is left of columns together.\n",
    "work": "## Work\n\nWhat an analyst would do with the table.\n",
}


def risk_page() -> str:
    """Return the page of measures of risk."""
    return _page(HEAD, KINDS, risk_measures())


def utility_page() -> str:
    """Return the page of measures of utility."""
    return _page(UTILITY_HEAD, UTILITY_KINDS, utility_measures())


def _page(top: str, kinds: dict[str, str], found: Sequence[Entry]) -> str:
    lines = ["| Measure | Question |", "|---|---|"]
    lines += [f"| [`{one.name}`](#{one.name}) | {one.question} |" for one in found]
    parts = [top, "\n".join(lines) + "\n"]
    for kind, head in kinds.items():
        parts.append(head)
        parts += [section(one) for one in found if one.kind == kind]
    return "\n".join(parts)


def section(one: Entry) -> str:
    """Return what the page says of one measure."""
    function = one.load()
    described, parameters = parts_of(function)
    facts = [
        f"- Question: {one.question}",
        f"- Read first: {fields(one.figure)}",
        f"- Formula: `{one.formula}`",
        f"- Compare with: {one.baseline}",
        f"- Paper: {one.paper}",
        f"- Cost: {one.cost}",
        f"- May be published: {one.shareable}",
    ]
    return (
        "\n\n".join(
            [
                f"### `{one.name}` {{ #{one.name} }}",
                f"```text\nshoal.{one.package}.{one.name}{signature(function)}\n```",
                described,
                "\n".join(facts),
                "\n".join(["| Parameter | Meaning |", "|---|---|", *parameters]),
                f"It returns {returned(function)}",
            ]
        )
        + "\n"
    )


def signature(function: object) -> str:
    """Return the parameters of a function and their defaults, without types."""
    plain = inspect.signature(function)  # type: ignore[arg-type]
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in plain.parameters.values()]
    return str(plain.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def parts_of(function: object) -> tuple[str, list[str]]:
    """Return the prose of a docstring, and the rows of the table of its parameters."""
    text = inspect.getdoc(function) or ""
    prose, *rest = re.split(r"\n\n(Parameters)\n-+\n", text)
    described = "\n\n".join(part for part in _paragraphs(prose) if not _is_paper(part))
    listed = re.split(r"\n\nExamples\n-+\n", rest[1])[0] if rest else ""
    entries: list[tuple[str, list[str]]] = []
    for line in listed.splitlines():
        if line and not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            entries.append((", ".join(f"`{part.strip()}`" for part in name.split(",")), [f"{kind}."] if kind else []))
        elif line.strip():
            entries[-1][1].append(line.strip())
    return described, [f"| {names} | {marked(' '.join(text)).replace('|', chr(92) + '|')} |" for names, text in entries]


def marked(text: str) -> str:
    """Return text of a docstring with its references and its code in Markdown."""
    names = {one.name for one in (*risk_measures(), *utility_measures())}
    text = re.sub(
        r":\w+:`([\w.]+)`", lambda found: f"[`{found[1]}`](#{found[1]})" if found[1] in names else f"`{found[1]}`", text
    )
    return re.sub(r"``([^`]+)``", r"`\1`", text)


def _paragraphs(prose: str) -> list[str]:
    """Return the paragraphs of a docstring; formulas, which are indented, as code."""
    made = []
    for part in prose.split("\n\n"):
        if part.startswith("    "):
            made.append("```text\n" + inspect.cleandoc(part) + "\n```")
        else:
            made.append(marked(part))
    return made


def _is_paper(part: str) -> bool:
    return bool(re.match(r"[A-Z][\w -]+, [A-Z]\..*\(\d{4}\)", part))


def fields(figure: str) -> str:
    """Return names of fields as code."""
    return re.sub(r"\b([a-z_]+)\b", r"`\1`", figure)


def returned(function: object) -> str:
    """Return what a function returns, and the fields of that."""
    import shoal

    named = str(inspect.signature(function).return_annotation)  # type: ignore[arg-type]
    name = re.sub(r"tuple\[(\w+), \.\.\.\]", r"\1", named)
    kind = getattr(shoal.risk, name, None) or getattr(shoal.measure, name)
    text = inspect.getdoc(kind) or ""
    listed = re.split(r"\n\nAttributes\n-+\n", text)[1]
    found = []
    for line in listed.splitlines():
        if line and not line.startswith(" "):
            found.append(f"- `{line.partition(' : ')[0]}`: ".replace(", ", "`, `"))
        elif line.strip():
            found[-1] += line.strip() + " "
    article = "an" if name[0] in "AEIOU" else "a"
    head = (
        f"{article} `{name}` for each sensitive attribute, with"
        if named.startswith("tuple")
        else f"{article} `{name}` with"
    )
    return head + "\n\n" + marked("\n".join(line.strip() for line in found))
