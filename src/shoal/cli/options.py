"""The options that commands share, each said once."""

from __future__ import annotations

from typing import Annotated

import typer

ROLES = "What the columns are"
MODELS = "More than k"
VALUES = "Types and values"
GROUPS = "How records are grouped"
FILES = "Files"
INPUT = "How the input is read"
TALK = "What is said"

Many = list[str] | None
One = str | None

Input = Annotated[
    str, typer.Argument(metavar="IN", help="A file, [cyan]postgresql://..[/cyan], or [cyan]-[/cyan] for CSV.")
]
MaybeInput = Annotated[
    str | None, typer.Argument(metavar="IN", help="A file, [cyan]postgresql://..[/cyan], or [cyan]-[/cyan] for CSV.")
]

Qi = Annotated[
    Many,
    typer.Option(
        "--qi",
        metavar="COL",
        help="Quasi-identifier: what others may know. Repeat it, or [cyan]a,b,c[/cyan]. "
        "Default: every column without another role.",
        rich_help_panel=ROLES,
    ),
]
Sensitive = Annotated[
    Many, typer.Option("--sensitive", metavar="COL", help="Passed on as it is.", rich_help_panel=ROLES)
]
Id = Annotated[Many, typer.Option("--id", metavar="COL", help="Identifier: dropped.", rich_help_panel=ROLES)]
Other = Annotated[
    Many, typer.Option("--other", metavar="COL", help="Neither: passed on as it is.", rich_help_panel=ROLES)
]
Diversity = Annotated[
    int | None,
    typer.Option(
        "--l",
        metavar="L",
        help="Least number of different values of each sensitive column in every group.",
        rich_help_panel=MODELS,
    ),
]
Closeness = Annotated[
    float | None,
    typer.Option(
        "--t",
        metavar="T",
        help="Greatest distance of a sensitive column in any group from the whole table, 0 to 1.",
        rich_help_panel=MODELS,
    ),
]
Model = Annotated[
    Many,
    typer.Option(
        "--model",
        metavar="COL=MODEL",
        help="Others, such as [cyan]'illness=entropy-diversity l=3'[/cyan]; see [cyan]shoal methods[/cyan].",
        rich_help_panel=MODELS,
    ),
]
Enforce = Annotated[
    One,
    typer.Option(
        "--enforce",
        metavar="WAY",
        help="How: [cyan]best[/cyan], [cyan]repair[/cyan], growth, merge, k-first, t-first or mondrian.",
        rich_help_panel=MODELS,
    ),
]
Population = Annotated[
    One,
    typer.Option(
        "--population", metavar="FILE", help="Those who may be in the table, for the next two.", rich_help_panel=MODELS
    ),
]
KMap = Annotated[
    int | None,
    typer.Option("--k-map", metavar="K", help="Least matches of any record in it.", rich_help_panel=MODELS),
]
Presence = Annotated[
    One,
    typer.Option(
        "--presence", metavar="LOW,HIGH", help="Share of the matches that are in the table.", rich_help_panel=MODELS
    ),
]
Weight = Annotated[
    One,
    typer.Option("--weight", metavar="COL", help="Sampling weights: in means and losses.", rich_help_panel=ROLES),
]
Unit = Annotated[
    One,
    typer.Option(
        "--unit", metavar="COL", help="Whose row it is: k counts different ones. Dropped.", rich_help_panel=ROLES
    ),
]
Stratum = Annotated[
    Many, typer.Option("--stratum", metavar="COL", help="Groups never cross its values.", rich_help_panel=ROLES)
]
Place = Annotated[
    Many,
    typer.Option("--place", metavar="LAT,LON", help="Two columns that are one place.", rich_help_panel=ROLES),
]

Type = Annotated[
    Many,
    typer.Option(
        "--type",
        metavar="COL=TYPE",
        help="continuous, integer, ordinal, nominal, hierarchical, boolean, date, datetime.",
        rich_help_panel=VALUES,
    ),
]
Levels = Annotated[
    Many,
    typer.Option("--levels", metavar="COL=A,B,..", help="Of an ordinal column, lowest first.", rich_help_panel=VALUES),
]
Hierarchy = Annotated[
    Many,
    typer.Option(
        "--hierarchy",
        metavar="COL=H",
        help="A file, [cyan]prefixes[/cyan], [cyan]prefixes:2,3[/cyan] or [cyan]widths:5,10[/cyan].",
        rich_help_panel=VALUES,
    ),
]
Importance = Annotated[
    Many,
    typer.Option("--importance", metavar="COL=2", help="Weight of a column in distances.", rich_help_panel=VALUES),
]
Coordinates = Annotated[
    int | None,
    typer.Option(
        "--coordinates",
        metavar="N",
        help="Most coordinates of a column of words; more are projected. Default: 128.",
        rich_help_panel=VALUES,
    ),
]
Representative = Annotated[
    Many,
    typer.Option(
        "--representative",
        metavar="COL=HOW",
        help="What groups publish: mean, median, mode, interval, ..; of a column or a type.",
        rich_help_panel=VALUES,
    ),
]
Digits = Annotated[
    Many,
    typer.Option("--digits", metavar="COL=0", help="Decimal places that are published.", rich_help_panel=VALUES),
]
DateFormat = Annotated[
    Many,
    typer.Option("--format", metavar="COL=%d/%m/%Y", help="How dates are written.", rich_help_panel=VALUES),
]
Missing = Annotated[
    One,
    typer.Option(
        "--missing",
        metavar="RULE",
        help="[cyan]value[/cyan]: a missing value is a value (default); [cyan]error[/cyan]; [cyan]drop[/cyan] the row.",
        rich_help_panel=VALUES,
    ),
]
Na = Annotated[
    Many,
    typer.Option(
        "--na",
        metavar="[COL=]VALUE",
        help="Stands for a missing value. Nothing but an empty field does by itself.",
        rich_help_panel=VALUES,
    ),
]

Form = Annotated[
    One,
    typer.Option(
        "--release",
        metavar="FORM",
        help="[cyan]microaggregation[/cyan] (default), [cyan]local-recoding[/cyan], [cyan]global-recoding[/cyan], "
        "[cyan]strongly-safe[/cyan].",
        rich_help_panel=GROUPS,
    ),
]
Cell = Annotated[
    Many,
    typer.Option(
        "--cell",
        metavar="COL=CELL",
        help="Of a strongly-safe release: a width, [cyan]month[/cyan], [cyan]year[/cyan], levels up a hierarchy, "
        "[cyan]value[/cyan] or [cyan]*[/cyan].",
        rich_help_panel=GROUPS,
    ),
]
Blocks = Annotated[
    One,
    typer.Option(
        "--blocks",
        metavar="BLOCKS",
        help="Group columns apart: [cyan]each[/cyan] or [cyan]a,b;c,d[/cyan]. k then holds within blocks only.",
        rich_help_panel=GROUPS,
    ),
]
SmallStrata = Annotated[
    One,
    typer.Option(
        "--small-strata",
        metavar="RULE",
        help="Strata below k: [cyan]error[/cyan] (default) or [cyan]merge[/cyan].",
        rich_help_panel=GROUPS,
    ),
]
Method = Annotated[
    One,
    typer.Option(
        "--method", metavar="M", help="See [cyan]shoal methods[/cyan]. Default: auto.", rich_help_panel=GROUPS
    ),
]
MethodOption = Annotated[
    Many,
    typer.Option("--option", metavar="NAME=VALUE", help="An option of the method.", rich_help_panel=GROUPS),
]
Refine = Annotated[
    One,
    typer.Option(
        "--refine",
        metavar="R",
        help="tfrp2, decompose-shrink, ona-rounds or anytime afterwards.",
        rich_help_panel=GROUPS,
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="S",
        help="Seconds that auto (10), anytime (60) or exact (600) may take.",
        rich_help_panel=GROUPS,
    ),
]
Bound = Annotated[
    One,
    typer.Option(
        "--bound",
        metavar="HOW",
        help="How far from the best possible: [cyan]quick[/cyan] (default), [cyan]lp[/cyan] (slower, far better), "
        "[cyan]none[/cyan].",
        rich_help_panel=GROUPS,
    ),
]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="Of whatever is drawn at random.", rich_help_panel=GROUPS)
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", metavar="N", help="Threads. Default: all cores.", rich_help_panel=GROUPS)
]

Job = Annotated[
    One,
    typer.Option(
        "--job",
        metavar="FILE",
        help="YAML, TOML or JSON that says all of this; options override it.",
        rich_help_panel=FILES,
    ),
]

From = Annotated[
    One, typer.Option("--from", metavar="FORMAT", help="Where the suffix does not say it.", rich_help_panel=INPUT)
]
Table = Annotated[One, typer.Option("--table", metavar="T", help="Of a database.", rich_help_panel=INPUT)]
Query = Annotated[One, typer.Option("--query", metavar="SQL", help="Of a database.", rich_help_panel=INPUT)]
Sheet = Annotated[One, typer.Option("--sheet", metavar="S", help="Of a workbook.", rich_help_panel=INPUT)]
Delimiter = Annotated[
    One, typer.Option("--delimiter", metavar="C", help="Of CSV. Default: detected.", rich_help_panel=INPUT)
]
Encoding = Annotated[
    One, typer.Option("--encoding", metavar="E", help="Of CSV. Default: detected.", rich_help_panel=INPUT)
]
Decimal = Annotated[
    One, typer.Option("--decimal", metavar="C", help="Decimal mark of CSV. Default: detected.", rich_help_panel=INPUT)
]

Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.", rich_help_panel=TALK)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Errors and warnings only.", rich_help_panel=TALK)]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="More, and tracebacks.", rich_help_panel=TALK)]
