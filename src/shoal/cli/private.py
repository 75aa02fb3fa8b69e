"""``shoal anonymize --dp``: what a differentially private release shows on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from shoal.cli import shows
from shoal.cli.shown import Shown
from shoal.dp.budget import shown
from shoal.options.option import Given

if TYPE_CHECKING:
    from shoal.cli.shell import Shell
    from shoal.release.job import Job
    from shoal.release.pipeline import PrivateRehearsal
    from shoal.release.private.table import PrivateTable


def anonymize_privately(job: Job, shell: Shell, given: Given) -> None:
    """Run a job with `dp`, or its dry run."""
    from shoal.release import pipeline

    with shows.bars(shell) as bar:
        hooks = Shown(shell, bar)
        if given["dry_run"]:
            found = pipeline.rehearse_private(job, hooks)
        else:
            made = pipeline.run_private(job, hooks)
    if given["dry_run"]:
        _show_rehearsal(job, shell, found, json=given["json"])
        return
    if given["json"]:
        shows.print_json(made.record)
    files = [str(made.written.name)] if made.written is not None else []
    shell.show("", summary(made, [*files, *map(str, job.documents)]))


def summary(made: PrivateTable, files: list[str]) -> Any:
    """Return what is shown of a private release."""
    budget, entries = made.ledger.budget, len(made.ledger.entries)
    answers = "1 answer" if entries == 1 else f"{entries} answers"
    rows: list[tuple[str, Any]] = [
        ("rows", f"{made.rows:,}, drawn from noisy answers, none copied"),
        ("promised", Text(f"{budget}: {made.ledger.neighbours}", "green")),
        (
            "in words",
            f"nobody becomes surer than {100 * made.certainty:.3g} % that a person is in the table (from 50 %)"
            + (f", but for a chance of delta = {shown(budget.delta)}" if budget.delta else ""),
        ),
        ("spent on", f"{answers}, listed in certificate and report"),
        *(("note", Text(words)) for words in made.said),
        *(("written", Text(name)) for name in files),
    ]
    return shows.pairs(rows)


def _show_rehearsal(job: Job, shell: Shell, found: PrivateRehearsal, *, json: bool) -> None:
    """Show what a dry run found, and what to do next; write the job file."""
    from shoal.release.files import write_job_file

    write_job_file(job)
    plan = job.plan
    rows: list[tuple[str, Any]] = [("release", f"{plan.dp}, epsilon {plan.epsilon:g}")]
    rows += list(found.kinds.items())
    if found.written:
        words = f"{plan.domain} was written: fill in bounds and values, from what is known about the subject."
    else:
        words = "The table fits its declared domain."
    if found.left_out:
        rows.append(("left out", Text(", ".join(found.left_out))))
    rows.append(("domain", Text(words)))
    shell.show("", shows.pairs(rows), "", Text("Dry run: no release was made, and nothing was spent.", style="yellow"))
    if json:
        shows.print_json({"dry_run": True, "plan": plan.job(), "kinds": found.kinds, "template_written": found.written})
