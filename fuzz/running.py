"""Carries out one input: calls Shoal, and keeps everything that comes out of it."""

from __future__ import annotations

import io
import json
import logging
import os
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fuzz import files, trees
from fuzz.case import Case, frame_of

# Options of the command line for some fields; the others go through a job file.
FLAGS = {
    **{"k": "-k", "quasi_identifiers": "--qi", "sensitive_attributes": "--sensitive", "identifiers": "--id"},
    **{"other": "--other", "drop": "--drop", "rest": "--rest"},
    **{"dp": "--dp", "epsilon": "--epsilon", "delta": "--delta", "domain": "--domain"},
    **{"l": "--l", "t": "--t", "method": "--method", "release": "--release", "unit": "--unit"},
    **{"stratum": "--stratum", "weight": "--weight", "missing": "--missing", "small_strata": "--small-strata"},
    **{"nominal": "--nominal", "ordinal": "--ordinal", "continuous": "--continuous", "thousands": "--thousands"},
    **{
        "bound": "--bound",
        "n_jobs": "--jobs",
        "random_state": "--seed",
        "enforcement": "--enforce",
        "refine": "--refine",
    },
}
DEFECT = "This should not have happened"


@dataclass
class Outcome:
    """What came out of one input.

    Attributes
    ----------
    kind : str
        "released", "refused" or "skipped" (the input could not be written in its format, or is not in a plan's reach).
    release : Release or None
        None if the command line made it.
    table : {name: values} or None
        The published table as a reader sees it.
    texts : {name: text}
        What came out beside the table: "error", "log", "warnings", "output", "certificate", "report", "metadata".
    certificate : mapping or None
    faults : list of str
        What must not happen at all: other exceptions, other warnings.
    """

    kind: str = "skipped"
    release: Any = None
    table: dict[str, list[Any]] | None = None
    texts: dict[str, str] = field(default_factory=dict)
    certificate: dict[str, Any] | None = None
    faults: list[str] = field(default_factory=list)
    format: str = ""


class _Log(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def run(case: Case, folder: Path) -> Outcome:
    """Carry out an input in an empty folder."""
    import shoal

    outcome, log, output = Outcome(), _Log(), io.StringIO()
    for name, text in case.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    logger = logging.getLogger("shoal")
    before = logger.level
    logger.addHandler(log)
    logger.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as caught, redirect_stdout(output), redirect_stderr(output):
            warnings.simplefilter("always")
            try:
                _carried_out(case, folder, outcome)
            except shoal.ShoalError as error:
                outcome.kind, outcome.texts["error"] = "refused", str(error)
            except files.CannotWriteError:
                pass
            except Exception as error:
                outcome.kind = "failed"
                outcome.faults.append(f"{type(error).__name__} at {_place(error)}: {error}")
    finally:
        logger.removeHandler(log)
        logger.setLevel(before)
    for warning in caught:
        if not _is_allowed(warning, shoal.DisclosureWarning):
            where = f"{Path(warning.filename).name}:{warning.lineno}"
            outcome.faults.append(f"{warning.category.__name__} at {where}: {warning.message}")
    outcome.texts["warnings"] = "\n".join(str(warning.message) for warning in caught)
    outcome.texts["log"] = "\n".join(log.lines)
    outcome.texts["output"] = outcome.texts.get("output", "") + output.getvalue()
    return outcome


def _is_allowed(warning: warnings.WarningMessage, ours: type[Warning]) -> bool:
    """Return whether a warning is one that users are meant to see, or none of ours."""
    formulas = "begin like formulas" in str(warning.message)
    return issubclass(warning.category, (ours, ResourceWarning)) or formulas


def _place(error: BaseException) -> str:
    """Return the innermost line of Shoal in a traceback."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if f"{os.sep}shoal{os.sep}" in frame.filename
    ]
    frames = frames or list(traceback.extract_tb(error.__traceback__))
    return f"{Path(frames[-1].filename).name} in {frames[-1].name}" if frames else "nowhere"


def fields_of(case: Case, folder: Path) -> dict[str, Any]:
    """Return the keywords of the plan, with hierarchies built."""
    fields = dict(case.plan)
    if isinstance(fields.get("domain"), dict) and set(fields["domain"]) == {"file"}:
        fields["domain"] = str(folder / fields["domain"]["file"])
    if isinstance(fields.get("hierarchies"), dict):
        fields["hierarchies"] = {
            name: trees.built(tree, case.column(name).values if name in case.names else [], str(folder))
            for name, tree in fields["hierarchies"].items()
        }
    return fields


def _carried_out(case: Case, folder: Path, outcome: Outcome) -> None:
    import shoal

    fields = fields_of(case, folder)
    if case.way["frame"] == "file":
        _with_files(case, fields, folder, outcome)
        return
    table = frame_of(case.columns, case.way, case.metadata)
    people = None if case.population is None else frame_of(case.population, case.way)
    release = shoal.anonymize(table, population=people, **fields)
    outcome.kind, outcome.release = "released", release
    published = release.table
    outcome.table = files.frame_values(published)
    outcome.texts["categories"] = "\n".join(files.unused_categories(published))
    if case.way.get("twice"):
        _repeated(case, fields, table, people, outcome)
    metadata = getattr(published, "attrs", None) or getattr(getattr(published, "schema", None), "metadata", None)
    outcome.texts["metadata"] = repr(metadata)
    outcome.texts["repr"] = repr(release)
    if case.way.get("certificate"):
        outcome.certificate = certificate_of(release)
        outcome.texts["certificate"] = json.dumps(outcome.certificate, ensure_ascii=False)
    if case.way.get("report"):
        outcome.texts["report"] = release.report() + release._repr_html_()


def _repeated(case: Case, fields: dict[str, Any], table: Any, people: Any, outcome: Outcome) -> None:
    """Check that the input was not changed, and that the same plan on the same table gives the same release."""
    import shoal

    before = files.frame_values(frame_of(case.columns, case.way, case.metadata))
    if repr(files.frame_values(table)) != repr(before):
        outcome.faults.append("input: it was changed")
    again = files.frame_values(shoal.anonymize(table, population=people, **fields).table)
    if not case.plan.get("shuffle") and repr(again) != repr(outcome.table):
        outcome.faults.append("repeated: another release")


def certificate_of(release: Any) -> dict[str, Any]:
    """Return the document for everyone of a release."""
    found: dict[str, Any] = release.certificate
    return found


def _with_files(case: Case, fields: dict[str, Any], folder: Path, outcome: Outcome) -> None:
    way = case.way
    inside = folder / way["folder"]
    inside.mkdir()
    source = inside / f"people{files.SUFFIXES[way['input']]}"
    target = inside / f"release{files.SUFFIXES[way['output']]}"
    files.write(case.columns, source, way["input"], way["dialect"], case.metadata)
    if case.population is not None:
        register = inside / f"register{files.SUFFIXES[way['input']]}"
        files.write(case.population, register, way["input"], way["dialect"], {})
        fields["population"] = str(register)
    certificate, report = Path(f"{target}.manifest.json"), inside / "report.html"
    if way.get("stream"):
        from fuzz import streams

        shown = report if way["report"] else None
        outcome.release, found = streams.carried_out(case, fields, source, target, certificate, shown)
        outcome.kind = "released"
        outcome.faults += found
    elif way["cli"]:
        _by_command(way["cli"], fields, source, target, report if way["report"] else None, outcome)
    else:
        import shoal

        outcome.release = shoal.anonymize_file(
            source, target, certificate=certificate, report=report if way["report"] else None, **fields
        )
        outcome.kind = "released"
    if outcome.kind != "released":
        return
    outcome.format = way["output"]
    like = way["input"] == "csv" and "dp" not in case.plan  # a private file follows no other
    dialect = {**way["dialect"]} if like else {"delimiter": ",", "encoding": "utf-8"}
    outcome.table = files.read(target, way["output"], dialect)
    if certificate.exists():
        outcome.texts["certificate"] = certificate.read_text(encoding="utf-8")
        outcome.certificate = json.loads(outcome.texts["certificate"])
        if "population" not in fields:  # a certificate does not have it
            _verified(target, certificate, outcome)
    if way["report"]:
        outcome.texts["report"] = report.read_text(encoding="utf-8")


def _verified(target: Path, certificate: Path, outcome: Outcome) -> None:
    """Verify a written release by its certificate."""
    import shoal

    try:
        audit = shoal.verify_file(target, certificate)
    except shoal.ShoalError as error:
        outcome.faults.append(f"verify: {error}")
        return
    counted = getattr(audit, "k", None)  # a private table has none
    if counted is not None and outcome.certificate is not None:
        sizes = {str(size): count for size, count in getattr(audit, "sizes", {}).items()}
        if sizes != outcome.certificate["group_sizes"]:
            outcome.faults.append("verify: other groups than the certificate tells")
    if not audit:
        outcome.faults.append("verify: a table that does not hold")
    elif counted is not None and outcome.release is not None and counted != outcome.release.audit.k:
        outcome.faults.append(f"verify: k = {counted}, not {outcome.release.audit.k}")


def _by_command(
    how: str, fields: dict[str, Any], source: Path, target: Path, report: Path | None, outcome: Outcome
) -> None:
    """Run the command line in this process."""
    arguments = ["anonymize", str(source), "-o", str(target), *(["--report", str(report)] if report else [])]
    # Options cannot say that there are none.
    other = any(field not in FLAGS or "," in str(fields[field]) or fields[field] == [] for field in fields)
    if how == "job" or other or _is_inline(fields):
        job = source.parent / "job.json"
        job.write_text(json.dumps(fields, default=_as_plain), encoding="utf-8")
        arguments += ["--job", str(job)]
    else:
        for field, value in fields.items():
            for one in value if isinstance(value, list) else [value]:
                arguments += [FLAGS[field], str(one)]
    output, code = io.StringIO(), 0
    with redirect_stdout(output), redirect_stderr(output):
        try:
            _command().main(arguments, prog_name="shoal")
        except SystemExit as end:
            code = int(end.code or 0)
    written = outcome.texts["output"] = output.getvalue()
    outcome.kind = "released" if code == 0 else "refused"
    if outcome.kind == "refused":
        said = written.rpartition("error: ")[2]
        outcome.texts["error"] = " ".join(said.split()) or written
        if DEFECT in " ".join(written.split()):
            outcome.faults.append(f"defect: {said.strip()[:200]}")
        if code not in (1, 2):
            outcome.faults.append(f"exit code {code}")


@cache
def _command() -> Any:
    """Return the command line, whose commands take a while to build."""
    from typer.main import get_command

    from shoal.cli.app import app

    return get_command(app)


def _is_inline(fields: dict[str, Any]) -> bool:
    """Return whether a domain is written within a plan, which options cannot do."""
    return "domain" in fields and not isinstance(fields["domain"], str)


def _as_plain(value: Any) -> Any:
    return value.to_plain() if hasattr(value, "to_plain") else str(value)
