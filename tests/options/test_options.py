"""The table of options: from texts to fields of a plan and back, and everything that is made from its rows."""

import shlex
import subprocess
import sys

import pytest
import typer
from docs.reference_tables import command_line_page, plan_page
from typer.testing import CliRunner

from shoal.cli import anonymize, compare, verify
from shoal.cli.command import takes
from shoal.cli.words import FLAGS
from shoal.errors import OptionError
from shoal.fields import OF_ONE_TYPE
from shoal.options.option import Given, Option, arguments_of, flags_of
from shoal.options.table import JOB_FILE_ONLY, PLAN, READING, VALUES, WRITING
from shoal.options.values import NUMBER
from shoal.plan import Plan
from shoal.release.record import command_line


def plan(**values):
    return Plan.of(**Given(PLAN, values).of("plan"))


def test_options_become_fields():
    found = plan(
        k=7,
        qi=["age,zip", '"last, first"'],
        id=["name"],
        weight="w",
        type=["zip=nominal"],
        levels=["school=low,mid,high"],
        hierarchy=["zip=prefixes:2,3", "job=a=b.csv"],
        importance=["age=2"],
        digits=["age=0"],
        outward=["income=500", "born=month"],
        top=["age=90", "born=1990-12-31"],
        bottom=["age=17.5"],
        round=["income=100"],
        suppress=0.05,
        format=["born=%d/%m/%Y"],
        place=["lat,lon"],
        na=["NA", "-9"],
        blocks="age,zip;lat,lon",
        option=["gamma=0.5", "closest=mean", "n=3"],
        method="ona*",
        release="local-recoding",
        seed=3,
        shuffle=True,
    )
    assert found == Plan(
        k=7,
        quasi_identifiers=("age", "zip", "last, first"),
        identifiers=("name",),
        weight="w",
        types={"zip": "nominal"},
        levels={"school": ("low", "mid", "high")},
        hierarchies={"zip": "prefixes:2,3", "job": "a=b.csv"},
        importance={"age": 2.0},
        digits={"age": 0},
        outward={"income": 500, "born": "month"},
        top_coding={"age": 90, "born": "1990-12-31"},
        bottom_coding={"age": 17.5},
        rounding={"income": 100},
        suppress=0.05,
        formats={"born": "%d/%m/%Y"},
        places=(("lat", "lon"),),
        missing_values=("NA", "-9"),
        blocks=(("age", "zip"), ("lat", "lon")),
        options={"gamma": 0.5, "closest": "mean", "n": 3},
        method="ona*",
        release="local-recoding",
        random_state=3,
        shuffle=True,
    )
    assert plan(blocks="each").blocks == "each"
    assert plan(na=["age=NA", "age=-9", "zip=0"]).missing_values == {"age": ("NA", "-9"), "zip": ("0",)}
    assert plan() == Plan()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"digits": ["age=many"]}, "--digits must be COLUMN=.. with a whole number"),
        ({"type": ["age"]}, "--type must be COLUMN=.."),
        ({"option": ["gamma"]}, "--option must be NAME=.."),
        ({"format": ["born="]}, "--format must be COLUMN=.."),
        ({"place": ["lat"]}, "--place must be two columns"),
        ({"na": ["NA", "age=0"]}, "--na must be VALUE for all columns, or COLUMN=VALUE"),
    ],
)
def test_what_cannot_be_understood_is_refused(said, words):
    with pytest.raises(OptionError, match=words):
        plan(**said)


def test_several_columns_at_once():
    assert plan(type=["a,b=nominal", "c=date"]).types == {"a": "nominal", "b": "nominal", "c": "date"}
    assert plan(type=['"last, first",b=nominal']).types == {"last, first": "nominal", "b": "nominal"}
    assert plan(nominal=["a,b"], ordinal=["c"]).types == {"a": "nominal", "b": "nominal", "c": "ordinal"}
    assert plan(digits=["a,b=0"]).digits == {"a": 0, "b": 0}
    assert arguments_of({"types": {"last, first": "nominal"}}, PLAN) == ["--type", '"last, first"=nominal']


def test_every_field_of_the_plan_has_one_row_or_is_left_to_job_files():
    fields = [option.field for option in PLAN]
    assert len(set(fields)) == len(fields)
    assert not set(fields) & set(JOB_FILE_ONLY)
    assert {*fields, *JOB_FILE_ONLY} == {*Plan.model_fields, *OF_ONE_TYPE}
    assert all(option.part == "plan" for option in PLAN)


@pytest.mark.parametrize("options", [anonymize.options(), compare.options(), verify.OPTIONS])
def test_the_options_of_a_command_do_not_collide(options):
    flags = [flag for option in options for flag in (*option.flag.split("/"), option.short) if flag]
    assert len(set(flags)) == len(flags)
    keys = [option.key for option in options]
    assert len(set(keys)) == len(keys)


def test_anonymize_takes_every_option_and_compare_all_but_its_own():
    assert set(PLAN) <= set(anonymize.options())
    assert {option.field for option in set(PLAN) - set(compare.options())} == {*compare.TRIED, *compare.LEFT_OUT}


def test_the_parts_of_what_was_given():
    given = Given((*PLAN, *READING, *WRITING), {"k": 3, "from": "csv", "to_table": "t", "qi": []})
    assert given.of("plan") == {"k": 3}
    assert given.of("reading") == {"format": "csv"}
    assert given.of("writing") == {"name_of_table": "t"}
    assert given["delimiter"] is None
    with pytest.raises(KeyError):
        given["no_such_option"]


SAID = {
    "quasi_identifiers": ("age", "last, first", 'the "best"'),
    "identifiers": ("name",),
    "sensitive_attributes": ("illness",),
    "l": 2,
    "population": "all.csv",
    "presence": (0.1, 0.5),
    "types": {"age": "integer"},
    "hierarchies": {"age": "widths:5,10"},
    "importance": {"age": 2.5},
    "digits": {"age": 0},
    "outward": {"age": 5},
    "cells": {"age": 10},
    "missing": "drop",
    "time_limit": 3.0,
    "random_state": 1,
    "shuffle": True,
}


def run_with(options, *words):
    """Return the fields of the plan that a command with these options finds."""
    app, seen = typer.Typer(rich_markup_mode="rich"), []
    app.command("anonymize")(takes(*options)(lambda given: seen.append(given.of("plan"))))
    app.command("other")(lambda: None)
    result = CliRunner().invoke(app, words, env={"COLUMNS": "200"}, catch_exceptions=False)
    return seen[0] if seen else result.output


def test_the_command_that_does_it_again_says_the_same_plan():
    first = Plan(k=4, **SAID)
    words = shlex.split(command_line(first, "people.csv"))
    assert Plan.of(**run_with(anonymize.options(), *words[1:])) == first


@pytest.mark.parametrize(
    "fields",
    [
        {"trim": 0.1},
        {"options": {"gamma": 0.5}},
        {"levels": {"a": ["x", "y"]}},
        {"hierarchies": {"a": {"widths": [5]}}},
        {"models": {"a": "alpha alpha=0.5"}},
        {"places": [["a", "b"]]},
        {"missing_values": ["NA"]},
        {"blocks": "each"},
        {"n_jobs": None},
    ],
)
def test_what_a_command_has_no_room_for_is_left_to_a_job_file(fields):
    said = {field: value for field, value in Plan.of(**fields).job().items() if field != "k"}
    assert arguments_of(said, PLAN) is None
    assert command_line(Plan.of(**fields), "a b.csv") == "shoal anonymize 'a b.csv' --job job.yaml -o release.csv"


EXTRA = Option("--trim", "Share that is left out.", "SHARE", NUMBER, VALUES, part="plan", field=JOB_FILE_ONLY[0])


@pytest.mark.parametrize("options", [anonymize.options, compare.options])
def test_a_new_row_is_in_the_help_the_parser_the_command_and_the_reference(options):
    assert "--trim" not in run_with(options(), "anonymize", "--help")
    table = (*PLAN, EXTRA)
    shown = run_with(options(table), "anonymize", "--help")
    assert "--trim" in shown
    assert "Share that is left out." in shown
    assert run_with(options(table), "anonymize", "people.csv", "--trim", "0.1") == {"trim": 0.1}
    assert arguments_of({"trim": 0.1}, table) == ["--trim", "0.1"]
    assert flags_of(table).items() - FLAGS.items() == {("trim", "--trim")}

    assert "| `trim` | job file |" in plan_page()
    assert "| `trim` | `--trim` |" in plan_page(table)
    app = typer.Typer()
    app.command("anonymize")(takes(*options(table))(lambda given: None))
    app.command("other")(lambda: None)
    assert "| `--trim SHARE` | Share that is left out. |" in command_line_page(app)


def test_the_table_needs_no_other_package():
    """Reports, web pages and the reference read it."""
    others = ("typer", "rich", "numpy", "pydantic")
    code = f"import sys, shoal.options.table; print([name for name in {others} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
