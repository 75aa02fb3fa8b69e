"""The page of differentially private releases, made from their registry; see reference.py."""

from __future__ import annotations

from shoal.dp.registry import PrivateRelease, releases

HEAD = """\
# Differentially private releases

<!-- Written by docs/reference.py. Do not edit: change the registry of private releases. -->

Each is a value of `dp` (`--dp`); its options are `options` (`--option NAME=VALUE`).
[Differential privacy](../how-to/differential-privacy.md) shows them at work, [how it
works](../explanation/differential-privacy.md) has the proofs. `shoal.dp.releases()` has the facts of this page.
"""


def private_page() -> str:
    """Return the page of private releases."""
    rows = [f"| [`{one.name}`](#{one.name}) | {one.summary} |" for one in releases()]
    return "\n".join([HEAD, "| Release | What it publishes |", "|---|---|", *rows, "", *map(_section, releases())])


def _section(one: PrivateRelease) -> str:
    kinds = ", ".join(one.kinds) if one.kinds else "all kinds"
    lines = [
        f"## {one.name}",
        "",
        one.summary,
        "",
        f"- Paper: {one.paper}",
        f"- Cost: {one.cost}",
        f"- Delta: {'above 0' if one.delta else '0'}",
        f"- Rows of a unit: {'any declared number' if one.units else '1'}",
        f"- Columns: {kinds}",
        "",
    ]
    if one.options:
        lines += ["| Option | Allowed | Default | Meaning |", "|---|---|---|---|"]
        lines += [f"| `{o.name}` | {o.domain} | `{o.default}` | {o.summary} |" for o in one.options]
        lines.append("")
    return "\n".join(lines)
