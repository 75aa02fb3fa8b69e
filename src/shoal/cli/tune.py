"""``shoal tune``: asks for a risk, and finds the plan that has it at the lowest loss."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.text import Text

from shoal.cli import shows
from shoal.cli.command import JOB, SOURCE, takes
from shoal.cli.shell import Shell, current, reports_errors, stoppable
from shoal.cli.task import check_method, plan_of, reading_of
from shoal.cli.words import shown
from shoal.errors import DisclosureError, OptionError
from shoal.options.option import Given, Option, switch
from shoal.options.table import FILES, GROUPS, MORE, PLAN, READING, TALK, TALKING
from shoal.options.values import TEXTS, WHOLE, WHOLES, Form, names

if TYPE_CHECKING:
    from rich.table import Table

    from shoal.plan import Plan
    from shoal.release.tuning.search import Trial
    from shoal.release.tuning.tuning import Tuning

EXAMPLES = """
[bold]Examples[/bold]

[cyan]shoal tune people.csv --want "linkage <= 0.02" --id name --qi age,zip,income[/cyan]

[cyan]shoal tune people.csv --want "linkage <= 2 %, l >= 3" --sensitive illness -o job.yaml[/cyan]

[cyan]shoal anonymize --job job.yaml -o release.csv[/cyan]

[dim]The lowest risk that a loss of 10 % buys:[/dim]

[cyan]shoal tune people.csv --want "loss <= 10 %" --minimise linkage[/cyan]

[dim]shoal tune --figures lists what can be wanted and minimised. Everything shown is for the data holder.[/dim]
"""
# Options that are tried one after the other, in place of those of the plan.
TRIED = {
    "k": Option("-k", "A k to try; may be repeated. Default: from 2 to half of the rows.", "K", WHOLES),
    "l": Option("--l", "An l to demand; may be repeated. What is wanted of l is demanded anyway.", "L", WHOLES, MORE),
    "t": Option(
        "--t",
        "A t to demand; may be repeated. What is wanted of t is demanded anyway.",
        "T",
        Form(type=float, many=True),
        MORE,
    ),
    "method": Option("--method", "A method to try; may be repeated. Default: mdav, ona*, auto.", "M", TEXTS, GROUPS),
    "release": Option(
        "--release", "A form of release to try; may be repeated. Default: microaggregation.", "FORM", TEXTS, GROUPS
    ),
}


def options(plan: Sequence[Option] = PLAN) -> tuple[Option, ...]:
    """Return the options of the command, including those of the plan."""
    return (
        SOURCE,
        Option(
            "--want",
            "What the release must have: figures, each compared with a number, such as "
            "[cyan]linkage <= 0.02, l >= 3[/cyan]. May be repeated.",
            "WANT",
            TEXTS,
        ),
        Option("--minimise", "The figure that is to be as low as possible. Default: loss.", "FIGURE", default="loss"),
        *(TRIED.get(option.field, option) for option in plan),
        switch("--thorough", "Try every plan that no proof excludes.", GROUPS),
        Option("--most", "Plans that are carried out at most. Default: 60.", "N", WHOLE, GROUPS),
        JOB,
        Option("--output", "Write the plan to a job file, for shoal anonymize --job.", "FILE", panel=FILES, short="-o"),
        switch("--force", "Overwrite an existing job file.", FILES),
        *READING,
        switch("--figures", "List all figures, and end.", TALK),
        *TALKING,
    )


@reports_errors
@takes(*options())
def tune(given: Given) -> None:
    """Ask for a risk: find the plan that has it at the lowest loss.

    Plans are carried out and measured as by [cyan]shoal anonymize[/cyan] and [cyan]shoal assess[/cyan], few of them:
    the others are excluded by proofs, or by the direction in which figures change with k. Nothing is released.
    """
    if given["figures"]:
        current().show(figures())
        return
    shell, start = current(), time.perf_counter()
    from shoal.release.tuning.wants import wants_of
    from shoal.release.tuning.yardsticks import minimised

    wants, cost = wants_of(given["want"] or []), minimised(given["minimise"])
    plan, files = plan_of(given)
    check_method(plan)
    where = given["source"] or files.get("input")
    if where is None:
        raise OptionError("The input must be named. Got none.", hint='shoal tune people.csv --want "linkage <= 0.02"')
    reading = reading_of(given, files)
    job = _job(plan, where, reading, given)
    found = _tuned(shell, where, reading, plan, given, (wants, cost))
    if given["json"]:
        shows.print_json({**found.to_dict(), "command": _again(found.plan, where, None) if found.plan else None})
    shell.show(_table(found.evidence, list(found.figures)))
    for note in found.notes:
        shell.note(f"{note[0].upper()}{note[1:]}.")
    if found.plan is None:
        raise DisclosureError(_not_met(found))
    if job is not None:
        from shoal.release.files import write_job_file

        write_job_file(replace(job, plan=found.plan))
    shell.show("", _answer(found, found.plan, where, given["output"], time.perf_counter() - start))


def figures() -> Table:
    """Return a table of all figures."""
    from shoal.release.tuning.yardsticks import YARDSTICKS

    table = shows.plain_table("figure", "what it is", "better")
    for one in YARDSTICKS.values():
        table.add_row(one.name, one.words, one.better)
    return table


def _job(plan: Plan, where: str, reading: dict[str, Any], given: Given) -> Any:
    """Return the job whose file is written, or refuse the file before any work is done."""
    if given["output"] is None:
        return None
    from shoal.job_files import SUFFIXES
    from shoal.release.job import Job

    name = str(given["output"])
    if not name.endswith(SUFFIXES[:2]):
        raise OptionError(f"The job file must end in {' or '.join(SUFFIXES[:2])}. Got {name!r}.")
    inputs = () if given["job"] is None else (given["job"],)
    job = Job(plan, where, job_file=name, reading=reading, force=given["force"], inputs=inputs)
    job.check_targets(dry_run=True)
    return job


def _tuned(shell: Shell, where: str, reading: dict[str, Any], plan: Plan, given: Given, asked: Any) -> Tuning:
    import warnings

    from shoal.release.job import read_input
    from shoal.release.tuning.tuning import MOST, tuned
    from shoal.tables.inputs import count_of

    most = MOST if given["most"] is None else count_of(given["most"], "most", "tune")
    listed = {name: values for name in ("release", "l", "t") if (values := _listed(given[name]))}
    with shows.bars(shell) as bar:
        source = read_input(where, reading, bar("reading"))
        progress = bar("trying")
        with stoppable(shell), shows.compiling_noted(shell), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = tuned(
                source,
                plan,
                *asked,
                ks=_listed(given["k"]),
                methods=_listed(given["method"]),
                listed=listed,
                thorough=given["thorough"],
                most=most,
                progress=progress,
            )
    for words in found.release.warnings if found.release is not None else ():
        shell.warn(words)
    return found


def _listed(given: Any) -> list[Any]:
    values = list(given or ())
    return list(dict.fromkeys(names(values) if values and isinstance(values[0], str) else values))


def _table(trials: Sequence[Trial], wanted: Sequence[str]) -> Table:
    from shoal.release.tuning.search import in_words
    from shoal.release.tuning.yardsticks import YARDSTICKS

    table = shows.plain_table("k", "plan", *wanted, "has it", "tried because", numbers=("k", *wanted))
    several = len({(one.plan.l, one.plan.t) for one in trials}) > 1
    for one in trials:
        numbers = [YARDSTICKS[name].shown(one.figures.get(name)) for name in wanted]
        state = Text("yes", "green") if one.met else Text("refused" if one.error else "no", "yellow")
        table.add_row(str(one.plan.k), in_words(one.plan, demands=several), *numbers, state, Text(one.why, "dim"))
    return table


def _answer(found: Tuning, plan: Plan, where: str, job: str | None, seconds: float) -> Table:
    from shoal.release.tuning.search import in_words
    from shoal.release.tuning.yardsticks import YARDSTICKS

    wanted = {want.split()[0]: want for want in found.want}
    rows: list[tuple[str, Any]] = [("plan", Text(f"k = {plan.k}, {in_words(plan, demands=True)}", style="bold green"))]
    for name, value in found.figures.items():
        why = f"wanted: {wanted[name]}" if name in wanted else "the lowest of those that have it"
        rows.append((name, f"{YARDSTICKS[name].shown(value)} ({why})"))
    rows.append(("tried", f"{len(found.evidence)} plans in {seconds:.1f} s"))
    if job is not None:
        rows.append(("job file", Text(shown(job), style="bold")))
    rows.append(("to do it", Text(shown(_again(plan, where, job)), style="cyan")))
    return shows.pairs(rows)


def _again(plan: Plan | None, where: str, job: str | None) -> str:
    """Return the command that makes the release."""
    import shlex

    from shoal.release.record import command_line

    if job is not None:
        return shlex.join(["shoal", "anonymize", "--job", job, "-o", "release.csv"])
    return "" if plan is None else command_line(plan, where)


def _not_met(found: Tuning) -> str:
    from shoal.release.tuning.search import in_words
    from shoal.release.tuning.yardsticks import YARDSTICKS

    nearest = found.nearest
    head = f"A plan must have all that is wanted ({', '.join(found.want)}). Got none in {len(found.evidence)} plans"
    if nearest is None:
        return f"{head}, and none could be carried out."
    listed = ", ".join(f"{name} {YARDSTICKS[name].shown(value)}" for name, value in found.figures.items())
    return f"{head}; the nearest is k = {nearest.k}, {in_words(nearest, demands=True)}: {listed}."
