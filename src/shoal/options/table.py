"""The rows: every option that says something about the plan, the input or the output.

A field of :class:`shoal.Plan` has a row here, or is listed in `JOB_FILE_ONLY`. The order is that of the help.
"""

from __future__ import annotations

from functools import partial

from shoal.options.option import Option, switch
from shoal.options.values import (
    BLOCKS,
    MARKERS,
    MODELS,
    NAMES,
    NUMBER,
    PLACES,
    RANGE,
    SWITCH,
    TEXT,
    WHOLE,
    Form,
    pairs,
    scalar,
    split,
)

# The headings of the help.
ROLES = "What the columns are"
MORE = "More than k"
VALUES = "Types and values"
GROUPS = "How records are grouped"
FILES = "Files"
INPUT = "How the input is read"
TALK = "What is said"


def _field(
    field: str, flag: str, form: Form, metavar: str | None, help: str, *, panel: str | None, role: bool = False
) -> Option:
    return Option(flag, help, metavar, form, panel, part="plan", field=field, role=role)


_role = partial(_field, panel=ROLES, role=True)
_more = partial(_field, panel=MORE)
_value = partial(_field, panel=VALUES)
_group = partial(_field, panel=GROUPS)

PLAN: tuple[Option, ...] = (
    _field("k", "-k", WHOLE, "K", "Least number of look-alikes. Default: 5.", panel=None),
    _role(
        *("quasi_identifiers", "--qi", NAMES, "COL"),
        "Quasi-identifier: what others may know. Repeat it, or [cyan]a,b,c[/cyan]. "
        "Default: every column without another role.",
    ),
    _role("sensitive_attributes", "--sensitive", NAMES, "COL", "Passed on as it is."),
    _role("identifiers", "--id", NAMES, "COL", "Identifier: dropped."),
    _role("other", "--other", NAMES, "COL", "Neither: passed on as it is."),
    _more("l", "--l", WHOLE, "L", "Least number of different values of each sensitive column in every group."),
    _more(
        *("t", "--t", NUMBER, "T"),
        "Greatest distance of a sensitive column in any group from the whole table, 0 to 1.",
    ),
    _more(
        *("models", "--model", MODELS, "COL=MODEL"),
        "Others, such as [cyan]'illness=entropy-diversity l=3'[/cyan]; see [cyan]shoal methods[/cyan].",
    ),
    _more(
        *("enforcement", "--enforce", TEXT, "WAY"),
        "How: [cyan]best[/cyan], [cyan]repair[/cyan], growth, merge, k-first, t-first or mondrian.",
    ),
    _more("population", "--population", TEXT, "FILE", "Those who may be in the table, for the next two."),
    _more("k_map", "--k-map", WHOLE, "K", "Least matches of any record in it."),
    _more("presence", "--presence", RANGE, "LOW,HIGH", "Share of the matches that are in the table."),
    _role("weight", "--weight", TEXT, "COL", "Sampling weights: in means and losses."),
    _role("unit", "--unit", TEXT, "COL", "Whose row it is: k counts different ones. Dropped."),
    _role("stratum", "--stratum", NAMES, "COL", "Groups never cross its values."),
    _field("places", "--place", PLACES, "LAT,LON", "Two columns that are one place.", panel=ROLES),
    _value(
        *("types", "--type", pairs(str, "a type"), "COL=TYPE"),
        "continuous, integer, ordinal, nominal, hierarchical, boolean, date, datetime.",
    ),
    _value(
        *("levels", "--levels", pairs(split, "the levels, lowest first"), "COL=A,B,.."),
        "Of an ordinal column, lowest first.",
    ),
    _value(
        *("hierarchies", "--hierarchy", pairs(str, "a hierarchy"), "COL=H"),
        "A file, [cyan]prefixes[/cyan], [cyan]prefixes:2,3[/cyan] or [cyan]widths:5,10[/cyan].",
    ),
    _value("importance", "--importance", pairs(float, "a number"), "COL=2", "Weight of a column in distances."),
    _value(
        *("coordinates", "--coordinates", WHOLE, "N"),
        "Most coordinates of a column of words; more are projected. Default: 128.",
    ),
    _value(
        *("representatives", "--representative", pairs(str, "what groups publish"), "COL=HOW"),
        "What groups publish: mean, median, mode, interval, ..; of a column or a type.",
    ),
    _value("digits", "--digits", pairs(int, "a whole number"), "COL=0", "Decimal places that are published."),
    _value(
        *("formats", "--format", pairs(str, "a pattern such as %d/%m/%Y"), "COL=%d/%m/%Y"),
        "How dates are written.",
    ),
    _value(
        *("missing", "--missing", TEXT, "RULE"),
        "[cyan]value[/cyan]: a missing value is a value (default); [cyan]error[/cyan]; [cyan]drop[/cyan] the row.",
    ),
    _value(
        *("missing_values", "--na", MARKERS, "[COL=]VALUE"),
        "Stands for a missing value. Nothing but an empty field does by itself.",
    ),
    _group(
        *("release", "--release", TEXT, "FORM"),
        "[cyan]microaggregation[/cyan] (default), [cyan]local-recoding[/cyan], [cyan]global-recoding[/cyan], "
        "[cyan]strongly-safe[/cyan].",
    ),
    _group(
        *("cells", "--cell", pairs(scalar, "a width, a number of levels, value or *"), "COL=CELL"),
        "Of a strongly-safe release: a width, [cyan]month[/cyan], [cyan]year[/cyan], levels up a hierarchy, "
        "[cyan]value[/cyan] or [cyan]*[/cyan].",
    ),
    _group(
        *("blocks", "--blocks", BLOCKS, "BLOCKS"),
        "Group columns apart: [cyan]each[/cyan] or [cyan]a,b;c,d[/cyan]. k then holds within blocks only.",
    ),
    _group(
        *("small_strata", "--small-strata", TEXT, "RULE"),
        "Strata below k: [cyan]error[/cyan] (default) or [cyan]merge[/cyan].",
    ),
    _group("method", "--method", TEXT, "M", "See [cyan]shoal methods[/cyan]. Default: auto."),
    _group(
        *("options", "--option", pairs(scalar, "a value", owner="NAME", written=False), "NAME=VALUE"),
        "An option of the method.",
    ),
    _group("refine", "--refine", TEXT, "R", "tfrp2, decompose-shrink, ona-rounds or anytime afterwards."),
    _group("time_limit", "--time-limit", NUMBER, "S", "Seconds that auto (10), anytime (60) or exact (600) may take."),
    _group(
        *("bound", "--bound", TEXT, "HOW"),
        "How far from the best possible: [cyan]quick[/cyan] (default), [cyan]lp[/cyan] (slower, far better), "
        "[cyan]none[/cyan].",
    ),
    _group("random_state", "--seed", WHOLE, "N", "Of whatever is drawn at random."),
    _group("n_jobs", "--jobs", WHOLE, "N", "Threads. Default: all cores."),
    _group("shuffle", "--shuffle/--no-shuffle", SWITCH, None, "Publish rows in random order."),
)
# Fields of the plan that have no option.
JOB_FILE_ONLY = ("trim",)

_reading = partial(Option, panel=INPUT, part="reading")
_writing = partial(Option, panel=FILES, part="writing")

READING: tuple[Option, ...] = (
    _reading("--from", "Where the suffix does not say it.", "FORMAT", field="format"),
    _reading("--table", "Of a database.", "T", field="table"),
    _reading("--query", "Of a database.", "SQL", field="query"),
    _reading("--sheet", "Of a workbook.", "S", field="sheet"),
    _reading("--delimiter", "Of CSV. Default: detected.", "C", field="delimiter"),
    _reading("--encoding", "Of CSV. Default: detected.", "E", field="encoding"),
    _reading("--decimal", "Decimal mark of CSV. Default: detected.", "C", field="decimal"),
)
WRITING: tuple[Option, ...] = (
    _writing("--to", "Where the suffix of OUT does not say it.", "FORMAT", field="format"),
    _writing("--to-table", "Of the database that is written to.", "T", field="name_of_table"),
)
JSON = switch("--json", "One JSON object on standard output.", TALK)
QUIET = switch("--quiet", "Errors and warnings only.", TALK, short="-q")
VERBOSE = switch("--verbose", "More, and tracebacks.", TALK, short="-v")
TALKING = (JSON, QUIET, VERBOSE)
