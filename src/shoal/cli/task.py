"""Builds plans and jobs from the options of a command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from shoal.cli.shell import current
from shoal.errors import OptionError
from shoal.options.option import Given, Option
from shoal.options.table import READING, WRITING

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.release.job import Job


def plan_of(given: Given) -> tuple[Plan, dict[str, str]]:
    """Return the plan of a job file, overridden by options, and the keys of the job file for files."""
    from shoal.fields import with_our_names
    from shoal.job_files import override, read_job
    from shoal.plan import Plan

    fields = with_our_names(given.of("plan"))
    files: dict[str, str] = {}
    if given["job"] is not None:
        plan, files = read_job(given["job"])
        fields = override(plan.model_dump(mode="json", exclude_unset=True), fields)
    return Plan.of(**fields), files


def reading_of(given: Given, files: Mapping[str, str]) -> dict[str, Any]:
    """Return how to read the input; the keys of the job file apply to its own input only."""
    other_input = given["source"] is not None and "input" in files
    return ({} if other_input else _by_field(READING, files)) | given.of("reading")


def _by_field(options: Iterable[Option], by_key: Mapping[str, Any]) -> dict[str, Any]:
    return {option.field: by_key[option.key] for option in options if option.key in by_key}


def job_of(given: Given) -> Job:
    """Return the job of the options of ``shoal anonymize``, or refuse them."""
    from shoal.release.job import Job, certificate_beside, record_for, seeded

    plan, files = plan_of(given)
    check_method(plan)
    plan = seeded(plan)
    source = given["source"] or files.get("input")
    output = given["output"] or files.get("output")
    if source is None:
        raise OptionError("The input must be named. Got none.", hint="shoal anonymize people.csv -k 5 -o release.csv")
    if output is None and not given["dry_run"]:
        raise OptionError("The output must be named. Got none.", hint="add -o release.csv, or --dry-run to look first.")
    if output == "-" and given["json"]:
        raise OptionError("Standard output can take either the release or the record. Got -o - and --json.")
    reading = reading_of(given, files)
    if given["output"] is not None:
        # The other files and the format in the job file belong to its own output.
        if "report" in files and given["report"] is None:
            current().note(
                "The report of the job file is not written, because it belongs to another output; --report writes one."
            )
        files = {}
    writing = _by_field(WRITING, files) | given.of("writing")
    certificate = given["certificate"] or files.get("certificate")
    if output is None or given["no_certificate"]:
        certificate = None
    elif certificate is None:
        beside = certificate_beside(output, writing.get("format")) if not _on_spark(plan) else None
        certificate = _document(plan, output, "manifest") or beside
    # Without a certificate too: exact figures are nowhere else.
    record = False if output is None or given["no_record"] else given["record"] or files.get("record") or True
    if record is True and _on_spark(plan):
        record = _document(plan, output, "record") or False
    return Job(
        plan=plan,
        source=source,
        output=output,
        certificate=certificate,
        record=record_for(record, output, output, writing.get("format")),
        report=(given["report"] or files.get("report")) if output else None,
        job_file=given["write_job"],
        reading=reading,
        writing=writing,
        force=given["force"],
        inputs=() if given["job"] is None else (given["job"],),
    )


def _on_spark(plan: Plan) -> bool:
    return plan.engine == "spark"


def _document(plan: Plan, output: str | None, what: str) -> str | None:
    """Return where a document of a release on Spark lies, which is a folder; none beside a folder elsewhere."""
    if not _on_spark(plan) or output is None or "://" in output:
        return None
    return f"{output.rstrip('/')}.{what}.json"


def check_method(plan: Plan) -> None:
    """Refuse unknown methods, refinements, options and privacy models before the table is read."""
    from shoal.partitioning.registry import find_refinement
    from shoal.partitioning.run import resolve
    from shoal.privacy.demands import models_of

    if plan.dp is not None:
        from shoal.release.private.run import check_plan

        check_plan(plan)
        return
    for name in plan.demanded_of:
        models_of(plan, name)

    if plan.method != "auto":
        resolve(plan.method, plan.options, plan.refine, plan.time_limit, (plan.k, 1), plan.k)
    elif plan.refine is not None:
        find_refinement(plan.refine)
