"""The table of options that describe the plan, the input and the output.

A field of :class:`shoal.Plan` has a row here, or is listed in `JOB_FILE_ONLY`; rows of one type (``--nominal``) set
entries of its `types`. The help lists them in this order.
"""

from __future__ import annotations

from functools import partial

from shoal.options.option import Option, switch
from shoal.options.values import (
    BLOCKS,
    DOMAIN,
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

# Headings of the help.
ROLES = "Roles of columns"
MORE = "Privacy models"
VALUES = "Types and values"
GROUPS = "Grouping"
PRIVATE = "Differential privacy"
FILES = "Files"
INPUT = "Reading the input"
TALK = "Display"


def _field(
    field: str, flag: str, form: Form, metavar: str | None, help: str, *, panel: str | None, role: bool = False
) -> Option:
    return Option(flag, help, metavar, form, panel, part="plan", field=field, role=role)


_role = partial(_field, panel=ROLES, role=True)
_more = partial(_field, panel=MORE)
_value = partial(_field, panel=VALUES)
_group = partial(_field, panel=GROUPS)
_private = partial(_field, panel=PRIVATE)

PLAN: tuple[Option, ...] = (
    _field("k", "-k", WHOLE, "K", "Smallest group size. Default: 5.", panel=None),
    _role(
        *("quasi_identifiers", "--qi", NAMES, "COL"),
        "Quasi-identifier: others may know it. Repeat the option, or write [cyan]a,b,c[/cyan]. "
        "Default: every column without another role.",
    ),
    _role("sensitive_attributes", "--sensitive", NAMES, "COL", "Sensitive: published unchanged."),
    _role("identifiers", "--id", NAMES, "COL", "Identifier: dropped."),
    _role("other", "--other", NAMES, "COL", "None of these: published unchanged."),
    _role("drop", "--drop", NAMES, "COL", "Not published, whatever it holds: dropped."),
    _field(
        *("rest", "--rest", TEXT, "ROLE"),
        "Role of all other columns: [cyan]qi[/cyan] groups on them, [cyan]other[/cyan] publishes them unchanged, "
        "[cyan]drop[/cyan] drops them. Default: qi without --qi; with it, such a column is refused unless k holds for "
        "it too.",
        panel=ROLES,
    ),
    _more("l", "--l", WHOLE, "L", "l-diversity: smallest number of different sensitive values in a group."),
    _more(
        *("t", "--t", NUMBER, "T"),
        "t-closeness: largest distance between the sensitive values of a group and of the whole table, 0 to 1.",
    ),
    _more(
        *("models", "--model", MODELS, "COL=MODEL"),
        "Another model, such as [cyan]'illness=entropy-diversity l=3'[/cyan]; [cyan]shoal methods[/cyan] lists them.",
    ),
    _more(
        *("enforcement", "--enforce", TEXT, "WAY"),
        "How to enforce models: [cyan]best[/cyan], [cyan]repair[/cyan], growth, merge, k-first, t-first, buckets or "
        "mondrian.",
    ),
    _more("population", "--population", TEXT, "FILE", "People who may be in the table, for --k-map and --presence."),
    _more("k_map", "--k-map", WHOLE, "K", "Smallest number of people in the population that match a record."),
    _more("presence", "--presence", RANGE, "LOW,HIGH", "Allowed share of the matching people that are in the table."),
    _role("weight", "--weight", TEXT, "COL", "Sampling weights, used in means and losses."),
    _role("unit", "--unit", TEXT, "COL", "Person or household of a row: k counts different ones. Dropped."),
    _role("stratum", "--stratum", NAMES, "COL", "Groups never cross its values."),
    _field("places", "--place", PLACES, "LAT,LON", "Two columns that form one place.", panel=ROLES),
    _value(
        *("types", "--type", pairs(str, "a type"), "COL=TYPE"),
        "Type of columns: continuous, integer, ordinal, nominal, hierarchical, boolean, date, datetime. "
        "Several: [cyan]a,b=nominal[/cyan].",
    ),
    _value("nominal", "--nominal", NAMES, "COL", "Columns of names or codes without an order: --type COL=nominal."),
    _value("ordinal", "--ordinal", NAMES, "COL", "Columns of numbers that are levels in an order: --type COL=ordinal."),
    _value("continuous", "--continuous", NAMES, "COL", "Columns of numbers to be averaged: --type COL=continuous."),
    _value(
        *("levels", "--levels", pairs(split, "the levels, lowest first"), "COL=A,B,.."),
        "Values of an ordinal column, lowest first.",
    ),
    _value(
        *("hierarchies", "--hierarchy", pairs(str, "a hierarchy"), "COL=H"),
        "Hierarchy of a column: a file, [cyan]prefixes[/cyan], [cyan]prefixes:2,3[/cyan] or [cyan]widths:5,10[/cyan].",
    ),
    _value("importance", "--importance", pairs(float, "a number"), "COL=2", "Weight of a column in distances."),
    _value(
        *("coordinates", "--coordinates", WHOLE, "N"),
        "Largest number of coordinates of a categorical column. Default: 128.",
    ),
    _value(
        *("representatives", "--representative", pairs(str, "what groups publish"), "COL=HOW"),
        "What groups publish for a column or a type: mean, median, mode, interval, ..",
    ),
    _value("digits", "--digits", pairs(int, "a whole number"), "COL=0", "Decimal places of published values."),
    _value(
        *("outward", "--outward", pairs(scalar, "a step, month or year"), "COL=STEP"),
        "Let intervals end at multiples of a step (days for dates, [cyan]month[/cyan], [cyan]year[/cyan]), not at "
        "values of members.",
    ),
    _value(
        *("top_coding", "--top", pairs(scalar, "a number or a date"), "COL=VALUE"),
        "Replace values above this one by it, before anything else: a number, or a date such as 1990-12-31.",
    ),
    _value(
        *("bottom_coding", "--bottom", pairs(scalar, "a number or a date"), "COL=VALUE"),
        "Replace values below this one by it, before anything else.",
    ),
    _value(
        *("rounding", "--round", pairs(scalar, "a step"), "COL=STEP"),
        "Round numbers to multiples of a step, before anything else.",
    ),
    _value(
        *("formats", "--format", pairs(str, "a pattern such as %d/%m/%Y"), "COL=%d/%m/%Y"),
        "Format of the dates of a column.",
    ),
    _value(
        *("thousands", "--thousands", TEXT, "C"),
        "Mark between thousands of numbers in text, such as [cyan],[/cyan] in 1,234. Default: recognised if clear.",
    ),
    _value(
        *("missing", "--missing", TEXT, "RULE"),
        "Missing values: [cyan]value[/cyan] treats them as values (default), [cyan]error[/cyan] refuses them, "
        "[cyan]drop[/cyan] drops the rows.",
    ),
    _value(
        *("missing_values", "--na", MARKERS, "[COL=]VALUE"),
        "Treat this value as missing. By default, only empty fields are missing.",
    ),
    _group(
        *("release", "--release", TEXT, "FORM"),
        "Form of the release: [cyan]microaggregation[/cyan] (default), [cyan]local-recoding[/cyan], "
        "[cyan]global-recoding[/cyan], [cyan]full-domain[/cyan], [cyan]strongly-safe[/cyan].",
    ),
    _group(
        *("suppress", "--suppress", NUMBER, "SHARE"),
        "Largest share of the records that may be left out, such as [cyan]0.05[/cyan]. Default: 0.",
    ),
    _group(
        *("cells", "--cell", pairs(scalar, "a width, a number of levels, value or *"), "COL=CELL"),
        "Cells of a strongly-safe release: a width, [cyan]month[/cyan], [cyan]year[/cyan], levels up a hierarchy, "
        "[cyan]value[/cyan] or [cyan]*[/cyan].",
    ),
    _group(
        *("blocks", "--blocks", BLOCKS, "BLOCKS"),
        "Group columns separately: [cyan]each[/cyan] or [cyan]a,b;c,d[/cyan]. k then holds within each block only.",
    ),
    _group(
        *("small_strata", "--small-strata", TEXT, "RULE"),
        "Strata with fewer than k records: [cyan]error[/cyan] (default) or [cyan]merge[/cyan].",
    ),
    _group("method", "--method", TEXT, "M", "Method; [cyan]shoal methods[/cyan] lists them. Default: auto."),
    _group(
        *("options", "--option", pairs(scalar, "a value", owner="NAME", written=False), "NAME=VALUE"),
        "An option of the method.",
    ),
    _group(
        "refine", "--refine", TEXT, "R", "Refine the groups afterwards: tfrp2, decompose-shrink, ona-rounds or anytime."
    ),
    _group(
        "time_limit", "--time-limit", NUMBER, "S", "Time limit in seconds for auto (10), anytime (60) or exact (600)."
    ),
    _group(
        *("bound", "--bound", TEXT, "HOW"),
        "Bound on the best possible loss: [cyan]quick[/cyan] (default), [cyan]lp[/cyan] (slower, much better), "
        "[cyan]regions[/cyan] (the same region by region, for many rows), [cyan]none[/cyan].",
    ),
    _group("random_state", "--seed", WHOLE, "N", "Seed of random numbers."),
    _group("n_jobs", "--jobs", WHOLE, "N", "Threads. Default: all cores."),
    _private(
        *("dp", "--dp", TEXT, "NAME"),
        "Make a differentially private release in place of groups: [cyan]mondrian[/cyan], [cyan]histogram[/cyan], ..; "
        "[cyan]shoal methods[/cyan] lists them.",
    ),
    _private("epsilon", "--epsilon", NUMBER, "E", "Its budget: the smaller, the more private, and the less exact."),
    _private("delta", "--delta", NUMBER, "D", "Probability that is exempt, for releases that need it. Default: 0."),
    _private(
        *("domain", "--domain", DOMAIN, "FILE"),
        "Columns and the values that they can have, as YAML. [cyan]--dry-run[/cyan] writes a template if there is no "
        "such file.",
    ),
    _group(
        *("engine", "--engine", TEXT, "ENGINE"),
        "[cyan]memory[/cyan]; [cyan]stream[/cyan] in pieces, for files larger than memory; [cyan]spark[/cyan]. "
        "Default: by the size of the file.",
    ),
    _group("memory", "--memory", TEXT, "SIZE", "Most memory that --engine stream may take, such as [cyan]2GB[/cyan]."),
    _group("master", "--master", TEXT, "URL", "Spark's master for --engine spark, such as [cyan]local[4][/cyan]."),
    _group("shuffle", "--shuffle/--no-shuffle", SWITCH, None, "Publish rows in random order."),
)
# Fields of the plan without an option.
JOB_FILE_ONLY = ("trim",)

_reading = partial(Option, panel=INPUT, part="reading")
_writing = partial(Option, panel=FILES, part="writing")

READING: tuple[Option, ...] = (
    _reading("--from", "Format of IN, if its suffix does not tell.", "FORMAT", field="format"),
    _reading("--table", "Table of a database, or data frame of an R file.", "T", field="table"),
    _reading("--query", "SQL query of a database.", "SQL", field="query"),
    _reading("--sheet", "Sheet of a workbook.", "S", field="sheet"),
    _reading("--delimiter", "Delimiter of CSV. Default: detected.", "C", field="delimiter"),
    _reading("--encoding", "Encoding of CSV. Default: detected.", "E", field="encoding"),
    _reading("--decimal", "Decimal mark of CSV. Default: detected.", "C", field="decimal"),
    _reading(
        *("--quote", "Quotation mark of CSV, or [cyan]none[/cyan]. Default: detected.", "C"),
        field="quote",
        form=Form(parse=lambda text, flag: "" if text == "none" else text),
    ),
    _reading(
        "--header/--no-header",
        "The first line of CSV or of a sheet holds the names of the columns, or a record. Default: names, and a line "
        "that looks like a record is refused.",
        field="header",
        form=SWITCH,
    ),
)
WRITING: tuple[Option, ...] = (
    _writing("--to", "Format of OUT, if its suffix does not tell.", "FORMAT", field="format"),
    _writing("--to-table", "Table to write to, if OUT is a database.", "T", field="name_of_table"),
    _writing(
        "--escape-formulas",
        "Put an apostrophe before texts of CSV that a spreadsheet would take for formulas.",
        field="escape_formulas",
        form=SWITCH,
    ),
)
JSON = switch("--json", "Print one JSON object on standard output.", TALK)
QUIET = switch("--quiet", "Show errors and warnings only.", TALK, short="-q")
VERBOSE = switch("--verbose", "Show more, and tracebacks.", TALK, short="-v")
TALKING = (JSON, QUIET, VERBOSE)
