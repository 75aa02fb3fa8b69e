"""Write what is made from the code: methods, types, models, risk, plan, command line, the picture of the packages.

Run without arguments to write them, with ``--check`` to see whether those on disk are up to date
(exit code 1 if one is not).
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path

import house
from reference_private import private_page
from reference_risk import risk_page, utility_page
from reference_tables import command_line_page, models_page, plan_page, types_page

import shoal
from shoal.partitioning.registry import Method, MethodOption, Refinement

DOCS = Path(__file__).resolve().parent

HEAD = """\
# Methods

<!-- Written by docs/reference.py. Do not edit: change the registry of methods or a docstring. -->

A method takes coordinates of *n* records in *d* columns and a least group size *k*, and returns groups of at
least *k* records. [Choose a method](../how-to/choose-a-method.md) helps to pick one. In Python,
`shoal.methods()` has the same facts.

Where a paper leaves a choice open, or its printed losses contradict its text, the description or the line *Reading*
says what Shoal does. [Golden figures](golden.md) compares the results with print.
"""

SOURCES = """\
## Sources { #sources }

Letters stand for these works in the descriptions below.

- **D**: Josep Domingo-Ferrer, Antoni Martínez-Ballesté, Josep Maria Mateo-Sanz, Francesc Sebé: Efficient
  multivariate data-oriented microaggregation. The VLDB Journal 15 (2006).
- **F**: Ana Rodríguez-Hoyos, José Estrada-Jiménez, David Rebollo-Monedero, Ahmad Mohamad Mezher, Javier
  Parra-Arnau, Jordi Forné: The Fast Maximum Distance to Average Vector (F-MDAV): An algorithm for k-anonymous
  microaggregation in big data. Engineering Applications of Artificial Intelligence 90 (2020).
- **K**: Laksamee Khomnotai, Jun-Lin Lin, Zhi-Qiang Peng, Arpita Samanta Santra: Iterative Group Decomposition
  for Refining Microaggregation Solutions. Symmetry 10 (2018).
- **S**: Florian Thaeter, Rüdiger Reischuk: Scalable k-anonymous Microaggregation: Exploiting the Tradeoff
  between Computational Complexity and Information Loss. SECRYPT (2021).
- **T**: Florian Thaeter: k-anonymous Microaggregation. Dissertation, Universität zu Lübeck (2021).
"""

REFINEMENTS = """\
## Refinements { #refinements }

A refinement takes the groups of any method and makes them better, or leaves them as they are: `refine=` of
`shoal.partition` and of the estimator, and [`shoal.refine`](api.md#shoalrefine), which also takes options.
"""


def methods_page() -> str:
    """Return the page of methods."""
    methods = shoal.methods()
    parts = [HEAD, *table(methods), "", SOURCES, *(section(method) for method in methods), REFINEMENTS]
    return "\n".join([*parts, *(refinement_section(refinement) for refinement in shoal.refinements())])


def table(methods: tuple[Method, ...]) -> list[str]:
    """Return the lines of the table of all methods."""
    lines = ["| Method | In short | Options |", "|---|---|---|"]
    for method in methods:
        options = ", ".join(f"`{option.name}`" for option in method.options)
        lines.append(f"| [`{method.name}`](#{anchor(method.name)}) | {prose(method.summary)} | {options} |")
    return lines


def section(method: Method) -> str:
    """Return what the page says of one method."""
    text = description(method)
    summary = sentence(prose(method.summary))
    # Many docstrings begin with the summary.
    told = summary.rstrip(".").lower() in text.lower()
    parts = [
        f"## `{method.name}` {{ #{anchor(method.name)} }}",
        text if told else f"{summary}\n\n{text}",
        "\n".join(
            [
                f"- Paper: {prose(method.paper)}",
                *reading(method),
                f"- Cost: {prose(method.cost)}",
                f"- Threads: {'uses `n_jobs`' if method.parallel else 'one'}",
                *(["- Time: `time_limit` ends it"] if method.timed else []),
                *(["- Columns: exactly one"] if method.univariate else []),
            ]
        ),
    ]
    if method.options:
        parts.append("\n".join(options_table(method.options)))
    return "\n\n".join(parts) + "\n"


def refinement_section(refinement: Refinement) -> str:
    """Return what the page says of one refinement."""
    # One of them has the name of a method, which has the anchor.
    shared = any(method.name == refinement.name for method in shoal.methods())
    parts = [
        f"### `{refinement.name}` {{ #{'refine-' if shared else ''}{refinement.name} }}",
        f"{sentence(prose(refinement.summary))}\n\n{description(refinement)}",
        "\n".join(
            [
                f"- Paper: {prose(refinement.paper)}",
                *reading(refinement),
                *(["- Time: `time_limit` ends it"] if refinement.timed else []),
            ]
        ),
    ]
    if refinement.options:
        parts.append("\n".join(options_table(refinement.options)))
    return "\n\n".join(parts) + "\n"


def reading(entry: Method | Refinement) -> list[str]:
    """Return the line on how the paper is read, if there is something to say."""
    return [f"- Reading: {prose(entry.reading)}"] if entry.reading else []


def options_table(options: tuple[MethodOption, ...]) -> list[str]:
    """Return the lines of the table of a method's options."""
    lines = ["| Option | Default | Allowed | Meaning |", "|---|---|---|---|"]
    for option in options:
        allowed = re.sub(r"('[^']+')", r"`\1`", option.domain)
        lines.append(f"| `{option.name}` | `{option.default!r}` | {allowed} | {sentence(prose(option.summary))} |")
    return lines


def description(method: Method | Refinement) -> str:
    """Return the docstring of the method's function up to its first numpydoc section, as paragraphs."""
    text = inspect.getdoc(method.load())
    if not text:
        raise SystemExit(f"The function of the method {method.name!r} must have a docstring.")
    return prose(re.split(r"\n\n[^\n]+\n-{3,}\n", text)[0].strip())


def anchor(name: str) -> str:
    """Return the anchor of a method: its name in letters, digits and hyphens."""
    return name.replace("*", "-star").replace("+", "-plus")


def prose(text: str) -> str:
    """Return text in which the star of MDAV* is not taken for emphasis."""
    return re.sub(r"(?<!`)\b(MDAV|mdav)\*", r"\1\\*", text)


def sentence(text: str) -> str:
    """Return text with a capital first letter and a full stop."""
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def architecture_page() -> str:
    """Return the page on the architecture with its part on packages made anew."""
    return house.with_paragraphs((DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8"))


PAGES: dict[str, Callable[[], str]] = {
    "reference/methods.md": methods_page,
    "reference/types.md": types_page,
    "reference/models.md": models_page,
    "reference/risk.md": risk_page,
    "reference/utility.md": utility_page,
    "reference/private-releases.md": private_page,
    "reference/plan.md": plan_page,
    "reference/command-line.md": command_line_page,
    "explanation/house.svg": house.picture,
    "explanation/architecture.md": architecture_page,
}


def main() -> int:
    """Write the pages, or compare them with what is on disk."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is stale")
    check = parser.parse_args().check
    stale = []
    for name, page in PAGES.items():
        path, wanted = DOCS / name, page()
        if not check:
            path.write_text(wanted, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != wanted:
            stale.append(name)
    for name in stale:
        print(f"docs/{name} is stale: run python docs/reference.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
