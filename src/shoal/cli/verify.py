"""``shoal verify``: which k and which privacy models hold in a published file, with or without its certificate."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from shoal.cli import shows
from shoal.cli.command import takes
from shoal.cli.shell import REFUSED, current, reports_errors
from shoal.errors import OptionError, ShoalError
from shoal.options.option import Given, Option, flags_of
from shoal.options.table import PLAN, READING, TALKING

if TYPE_CHECKING:
    from shoal.engines.batches import Batches
    from shoal.io import Source
    from shoal.privacy.audit import Audit
    from shoal.release.certificate import Certificate

EXAMPLES = """
[bold]Examples[/bold]

[dim]With release.csv.manifest.json, if it is in the same folder:[/dim]

[cyan]shoal verify release.csv[/cyan]

[cyan]shoal verify release.csv --certificate release.json[/cyan]

[dim]A release that promises something of a population:[/dim]

[cyan]shoal verify release.csv --population register.csv[/cyan]

[dim]An update: what it tells together with the earlier release, too:[/dim]

[cyan]shoal verify release-2.csv --earlier release.csv[/cyan]

[dim]Any other table, without a certificate:[/dim]

[cyan]shoal verify other.csv --qi age,zip,sex -k 5[/cyan]

[cyan]shoal verify other.csv --qi age,zip,sex -k 5 --sensitive illness --l 3 --t 0.2[/cyan]

[dim]Exit code 1: a demand does not hold, or the file is not the one that was released.[/dim]
"""

HASH = "SHA-256"
# Fields of a plan that may be set for a table without a certificate.
FIELDS = (
    *("sensitive_attributes", "l", "t", "models", "population", "k_map", "presence"),
    *("types", "levels", "hierarchies", "thousands", "missing_values"),
)
# Those of a population, which is not published with a release and its certificate.
OF_POPULATION = ("population", "hierarchies", "levels")
_ROWS = {option.field: option for option in PLAN}
OPTIONS = (
    Option("source", "The published file or database.", "FILE", required=True),
    Option(
        "--certificate",
        "The certificate of the release. Default: FILE.manifest.json, if it exists.",
        "C",
        short="--manifest",
    ),
    Option("--earlier", "The release that this one adds rows to: what both tell together is verified, too.", "FILE"),
    replace(
        _ROWS["quasi_identifiers"],
        help="Quasi-identifier. Default: those of the certificate, or all columns.",
        panel=None,
    ),
    replace(_ROWS["k"], help="The k to check. Default: that of the certificate."),
    replace(_ROWS["unit"], help="Count different values of this column instead of rows.", panel=None),
    *(option for option in PLAN if option.field in FIELDS),
    replace(
        _ROWS["memory"],
        help="Read the file in pieces, in at most so much memory, such as [cyan]2GB[/cyan]. Default: by its size.",
        panel=None,
    ),
    *READING,
    *TALKING,
)


@reports_errors
@takes(*OPTIONS)
def verify(given: Given) -> None:
    """Count which [bold]k[/bold] holds in a published table, and which [bold]l[/bold] and [bold]t[/bold].

    Rows form a group if they have the same quasi-identifiers. A missing value equals missing values of its kind only.
    """
    from shoal.release.job import read_input

    source, certificate, earlier = given["source"], given["certificate"], given["earlier"]
    fields = given.of("plan")
    names, k = fields.pop("quasi_identifiers", None), fields.pop("k", None)
    demands = names or any(field not in (*OF_POPULATION, "memory") for field in fields)
    if certificate is not None and demands:
        raise OptionError(
            "With a certificate, columns and demands are taken from it. Got options that set them as well.",
            hint="leave out --certificate to check what they say, or leave them out.",
        )
    if certificate is None and not demands:
        certificate = _beside(source, given["from"])
    if earlier is not None and certificate is None:
        raise OptionError(
            "The earlier release must be given with the certificate of an update. Got none.",
            hint="name it with --certificate; shoal.intersect compares any two tables.",
        )
    reading = given.of("reading")
    if certificate is not None:
        reading.setdefault("header", True)  # the certificate has the names
    memory = _memory(fields.pop("memory", None), source, reading.get("format"))
    if memory is not None and earlier is not None:
        raise OptionError(
            "An update and its earlier release must be read whole to be compared (--earlier). Got a table that is read "
            "in pieces (--memory).",
            hint="leave out --memory, on a machine that can hold both.",
        )
    published: Source | Batches
    if memory is not None:
        published, audit, checks = _in_pieces(source, reading, memory, certificate, names, k, fields)
    else:
        with shows.bars(current()) as bar:
            published = whole = read_input(source, reading, bar("reading"))
        if certificate is not None and _verified_privately(whole, certificate, given):
            return
        if certificate is not None:
            audit, checks = _against(whole, certificate, k, fields, earlier)
        else:
            from shoal.release.verification import verify_source

            audit, checks = verify_source(whole, names, k, **fields), []
    if certificate is None and not names:
        _say_assumed(published, fields)
    holds = all(passed for _, passed in checks) if checks else audit.holds
    if given["json"]:
        shows.print_json(_facts(published, audit, checks, holds))
    current().show(_shown(published, audit, checks, certificate))
    if not holds:
        from shoal.release.report.demands import demand_in_words

        broken = [demand_in_words(finding) for finding in audit.models if not finding]
        wanted = next((what for what, passed in checks if not passed), broken[0] if broken else f"k = {audit.wanted}")
        current().fail(f"{published.name}: {wanted} does not hold.")
        raise typer.Exit(REFUSED)


def _memory(given: str | None, source: str, format: str | None) -> int | None:
    """Return the bytes that the audit of a file may use; None if the file is read whole."""
    from shoal.engines.choice import BASE, engine_of, memory_of
    from shoal.io.formats import locate
    from shoal.plan import Plan

    plan = Plan.of(memory=given)
    if given is None:
        try:
            kind = "parquet" if os.path.isdir(source) else locate(source, format, "source").format.name
            size = os.stat(source).st_size if os.path.isfile(source) else None
        except (ShoalError, OSError, ValueError):
            return None  # what is wrong with the name is said when the file is read
        engine, words = ("stream", "") if os.path.isdir(source) else engine_of(plan, size, kind)
        if engine == "memory":
            return None
        if words:
            current().warn(words)
    return memory_of(plan) - BASE


def _in_pieces(
    source: str,
    reading: Mapping[str, Any],
    memory: int,
    certificate: str | None,
    names: list[str] | None,
    k: int | None,
    fields: Mapping[str, Any],
) -> tuple[Batches, Audit, list[tuple[str, bool]]]:
    """Return a published table that is larger than memory, its audit, and the checks against its certificate."""
    from shoal.engines.verification import open_published, verify_batches, verify_promised
    from shoal.release.certificate import read_certificate
    from shoal.release.private.documents import read_private

    if certificate is None:
        published = open_published(source, reading, memory)
        return published, verify_batches(published, names, k, memory=memory, **fields), []
    if read_private(certificate) is not None or fields:
        raise OptionError(
            "A table that is read in pieces (--memory) must be checked without a population, and must not be "
            "differentially private. Got one of both.",
            hint="leave out --memory.",
        )
    promised = read_certificate(certificate)
    published = open_published(source, reading, memory)
    audit, held = verify_promised(published, promised, memory=memory, k=k)
    compared = promised.output is not None and promised.output.sha256 and published.sha256
    return published, audit, _checks(promised, k, bool(compared), held)


def _checks(promised: Certificate, k: int | None, compared: bool, held: list[bool]) -> list[tuple[str, bool]]:
    """Return the checks of a certificate, and whether each holds: of the hash, and of k in every block."""
    wanted, blocks = promised.k.wanted if k is None else k, promised.k.blocks
    checks = [(HASH, True)] if compared else []
    for block, holds in zip(blocks, held, strict=True):
        where = f" within {', '.join(block)}" if len(blocks) > 1 else ""
        checks.append((f"k = {wanted}{where}", holds))
    checks.append((f"k = {promised.k.held_for_all} for all columns together", True))  # or it is refused
    return checks


def _verified_privately(source: Source, certificate: str, given: Given) -> bool:
    """Verify a differentially private release, and show what can be verified; return whether this is one."""
    from shoal.release.private.documents import read_private
    from shoal.release.private.verification import refuse_groups, verify_private

    promised = read_private(certificate)
    if promised is None:
        return False
    asked = [flags_of(PLAN)[field] for field in given.of("plan")]
    refuse_groups([*asked, *(["--earlier"] if given["earlier"] is not None else [])])
    found = verify_private(source, promised)
    if given["json"]:
        facts = {"file": source.name, "sha256": source.sha256, "rows": found.rows, "epsilon": found.epsilon}
        shows.print_json({**facts, "delta": found.delta, "checks": list(found.checked), "holds": True})
    rows: list[tuple[str, Any]] = [
        ("file", Text(source.name, style="bold")),
        ("rows", f"{found.rows:,}, drawn from noisy answers, none copied"),
        ("promised", f"epsilon {found.epsilon}, delta {found.delta}: {promised.neighbours}"),
        ("certificate", Text(certificate)),
        *(("checked", Text(words, "green")) for words in found.checked),
        ("not checked", Text(found.cannot)),
    ]
    current().show(shows.pairs(rows))
    return True


def _say_assumed(source: Source | Batches, fields: Mapping[str, Any]) -> None:
    """Warn that nobody has said what others may know."""
    taken = {fields.get("unit"), *fields.get("sensitive_attributes", ()), *fields.get("models", {})}
    columns_of = source.names if hasattr(source, "names") else source.table.column_names
    count = sum(name not in taken for name in columns_of)
    columns = "its only column" if count == 1 else f"all {count} columns"
    other = " without another role" if count < len(columns_of) else ""
    current().warn(
        f"There is no certificate of {source.name}, and no --qi: k was counted for {columns}{other}. Name the columns "
        "that others may know with --qi, or the certificate with --certificate."
    )


def _beside(source: str, format: str | None) -> str | None:
    from shoal.release.job import certificate_beside

    try:
        path = certificate_beside(source, format)
    except ShoalError:
        return None  # what is wrong with the name is said when the file is read
    return path if path is not None and os.path.isfile(path) else None


def _against(
    source: Source, certificate: str, k: int | None, fields: Mapping[str, Any], earlier: str | None
) -> tuple[Audit, list[tuple[str, bool]]]:
    """Return the audit of all quasi-identifiers, and the checks: of the hash, and of k in every block."""
    from shoal.privacy.audit import audit
    from shoal.release.certificate import read_certificate
    from shoal.release.verification import verify_file

    promised = read_certificate(certificate)
    verified = verify_file(source, promised, earlier=earlier, **fields)
    compared = promised.output is not None and promised.output.sha256 and source.sha256
    wanted = promised.k.wanted if k is None else k
    every = ([*block, *promised.k.strata] for block in promised.k.blocks)
    held = [audit(source.table, names, wanted, apart=source.apart).holds for names in every]
    checks = _checks(promised, k, bool(compared), held)
    if earlier is not None and promised.earlier is not None:
        kept, new = promised.earlier.kept, promised.earlier.new
        checks.append((f"with {earlier}, {kept} rows as before and {new} new ones in each group that has any", True))
    elif promised.earlier is not None:
        current().note("This release adds rows to an earlier one: --earlier verifies what both tell together.")
    if k is None:
        return verified, checks
    found = audit(source.table, promised.quasi_identifiers, wanted, apart=source.apart)
    return replace(found, whole=verified.whole), checks


def _shown(source: Source | Batches, audit: Audit, checks: list[tuple[str, bool]], certificate: str | None) -> Any:
    held = f"k = {audit.k}" if audit.k_units is None else f"k = {audit.k_units} counting units, {audit.k} counting rows"
    good = audit.classes_below == 0 or (bool(checks) and all(passed for _, passed in checks))
    rows: list[tuple[str, Any]] = [
        ("file", Text(source.name, style="bold")),
        ("rows", f"{audit.rows:,} in {audit.classes:,} groups of equal rows"),
        ("holds", Text(held, style="green" if good else "red")),
        *shows.reach(audit),
    ]
    if audit.wanted is not None:
        below = f"{audit.classes_below:,} groups, {audit.rows_below:,} rows" if audit.classes_below else "none"
        rows.append((f"below {audit.wanted}", below))
    rows += shows.models(audit.models)
    rows += [(word, Text(glance)) for word, glance in _glances(audit)]
    sizes = sorted(audit.sizes.items())
    groups = ", ".join(f"{count:,} of {size:,}" for size, count in sizes[:5]) + (", .." if len(sizes) > 5 else "")
    rows.append(("groups", groups))
    if certificate is not None:
        rows.append(("certificate", Text(certificate)))
    rows += [("note", Text(note)) for note in audit.notes]
    for what, passed in checks:
        result = "does not hold" if not passed else "matches the certificate" if what == HASH else "holds"
        rows.append(("checked", Text(f"{what}: {result}", "green" if passed else "red")))
    return shows.pairs(rows)


def _glances(audit: Audit) -> list[tuple[str, str]]:
    """Return the l and t that hold for sensitive attributes without demands."""
    from shoal.release.report.demands import three_digits

    by_name: dict[str, list[str]] = {}
    for finding in audit.glances:
        letter = "l" if finding.model.rising else "t"
        by_name.setdefault(str(finding.attribute), []).append(f"{letter} = {three_digits(finding.held)}")
    return [("sensitive", f"{name}: {', '.join(held)}") for name, held in by_name.items()]


def _facts(source: Source | Batches, audit: Audit, checks: list[tuple[str, bool]], holds: bool) -> dict[str, Any]:
    return {
        "file": source.name,
        "sha256": source.sha256,
        "rows": audit.rows,
        "groups": audit.classes,
        "k": {
            "wanted": audit.wanted,
            "held": audit.k,
            "held_in_units": audit.k_units,
            "held_for_all": None if audit.whole is None else audit.whole.k,
            "unique": None if audit.whole is None else audit.whole.unique,
        },
        "models": [
            {
                "attribute": finding.attribute,
                "model": str(finding.model),
                "held": finding.held if isfinite(finding.held) else None,
                "groups_below": finding.groups_below,
                "rows_below": finding.rows_below,
                "asked": asked_for,
            }
            for asked_for, findings in ((True, audit.models), (False, audit.glances))
            for finding in findings
        ],
        "groups_below": audit.classes_below,
        "rows_below": audit.rows_below,
        "group_sizes": {str(size): count for size, count in audit.sizes.items()},
        "notes": list(audit.notes),
        "checks": [{"what": what, "holds": passed} for what, passed in checks],
        "holds": holds,
    }
