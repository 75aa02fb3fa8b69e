"""Mistakes on the command line: each is answered in one sentence, in the words of the command line."""

import os
import re

import pytest
from cli_tables import ROLES, flat

from shoal.cli import shows

OUT = ("-o", "out.csv")


def wrong(run, *arguments, code=2):
    """Return the only sentence that a command answers with."""
    said = run(*arguments, code=code)
    words = flat(said)
    assert words.startswith("error: ")
    assert "╭" not in said.output  # no panel, no usage
    assert not re.search(r"\b\w+_\w+=|quasi_identifiers|sensitive_attributes|Input should", words)
    return words.removeprefix("error: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-k", "abc"), "The option -k must be a whole number. Got 'abc'."),
        (("-k2.5",), "The option -k must be a whole number. Got '2.5'."),
        (("-k", "0"), "The option -k must be at least 2. Got 0."),
        (("-k",), "The option -k must have a value. Got none."),
        (("--qi",), "The option --qi must have a value. Got none."),
        (("--t=much",), "The option --t must be a number. Got 'much'."),
        (("--json=yes",), "The option --json must have no value. Got one."),
        (("--quasi-identifiers", "age"), "has no option --quasi-identifiers. Hint: did you mean '--qi'"),
        (("--random_state", "1"), "has no option --random_state. Hint: did you mean '--seed'"),
        (("--sensitve", "ill"), "'shoal anonymize' has no option --sensitve. Hint: did you mean '--sensitive'"),
        (("other.csv",), "'shoal anonymize' must be given one name besides options. Got 'other.csv' as well."),
        (("--rest", "keep"), "The option --rest must be 'qi', 'other' or 'drop'. Got 'keep'."),
        (("--type", "age=nomnal"), "Got 'nomnal'. Hint: did you mean 'nominal'"),
        (("--presence", "0.5"), "The option --presence must be two shares from 0 to 1, the lower one first."),
        (("--k-map", "3"), "The option --k-map must come with a --population. Got none."),
        (("--enforce", "best"), "Got none of --l, --t and --model."),
    ],
)
def test_mistakes_are_answered_in_one_sentence(people, run, arguments, words):
    assert words in wrong(run, "anonymize", "people.csv", *OUT, *arguments)


def test_l_without_a_sensitive_column_asks_for_one(people, run):
    words = wrong(run, "anonymize", "people.csv", *OUT, "--qi", "age", "--rest", "drop", "--l", 3)
    assert words == (
        "The option --l must be about a sensitive attribute that is not a quasi-identifier. Got none. "
        "Hint: name it with --sensitive."
    )
    words = wrong(run, "anonymize", "people.csv", *OUT, "--qi", "age", "--sensitive", "age", "--t", 0.2)
    assert "Got only some that are both." in words


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("anonimize", "people.csv"), "Shoal has no command 'anonimize'. Hint: did you mean 'anonymize'?"),
        (("--verson",), "'shoal' has no option --verson. Hint: did you mean '--version'"),
        (("verify",), "FILE must be named. Got none."),
        (("verify", "empty"), "The folder empty must have Parquet or CSV files in it. Got none."),
        (("verify", "people.xyz"), "The input must have a known suffix"),
        (("demo", "here"), "'shoal demo' must be given options only. Got 'here'."),
        (("compare", "people.csv", "-k", "3", "-k", "x"), "The option -k must be a whole number. Got 'x'."),
    ],
)
def test_so_are_those_of_other_commands(people, run, arguments, words):
    (people / "empty").mkdir()
    assert words in wrong(run, *arguments)


def test_nothing_at_all_is_answered_by_the_help(run):
    assert "anonymize" in run(code=2).output


def test_a_hierarchy_that_lacks_values_names_rows_and_no_values(people, run):
    table = "\n".join(
        ["town,age", *(f"{town},{30 + at}" for at, town in enumerate(["Xanadu", "Utopia", "Avalon"] * 4))]
    )
    (people / "towns.csv").write_text(table + "\n")
    (people / "tree.csv").write_text("Utopia;*\n")
    words = wrong(run, "anonymize", "towns.csv", *OUT, "-k", 3, "--hierarchy", "town=tree.csv")
    assert words == (
        "Every value of column 'town' must be in its hierarchy. Got 2 of 3 that are not, first in rows 1, 3 of the "
        "table. Hint: complete its file, or declare what stands for missing with --na."
    )


def test_a_hierarchy_that_has_values_in_another_spelling_says_so(people, run):
    (people / "towns.csv").write_text("town,age\n" + "utopia ,30\nAvalon,31\nXanadu,32\n" * 4)
    for leaves, words in (
        ("Utopia;*\nXanadu;*\n", "1 of them is there in another spelling (case, spaces, leading zeros); complete"),
        ("Utopia;*\nXanadu;*\nAvalon;*\n", "Hint: it is there in another spelling"),
        ("UTOPIA;*\nXanadu;*\navalon;*\n", "2 of them are there in another spelling"),
    ):
        (people / "tree.csv").write_text(leaves)
        found = wrong(run, "anonymize", "towns.csv", *OUT, "-k", 3, "--hierarchy", "town=tree.csv")
        assert words in found
        assert "utopia" not in found


@pytest.mark.parametrize(
    ("given", "near"), [("prefixs", "'prefixes'"), ("prefix:2,3", "'prefixes'"), ("width:5", "'widths'")]
)
def test_a_mistyped_rule_of_a_hierarchy_is_recognised(people, run, given, near):
    words = wrong(run, "anonymize", "people.csv", *OUT, "-k", 3, "--qi", "age", "--hierarchy", f"age={given}")
    assert f"did you mean {near}?" in words
    assert "a rule is written prefixes or prefixes:2,3 for codes, widths:5,10 for numbers." in words


def test_an_empty_table_is_no_table_of_a_function(people, run):
    (people / "empty.csv").write_text("a,b\n")
    assert wrong(run, "anonymize", "empty.csv", *OUT) == "The table must have rows. Got none."


def test_a_table_of_one_column_may_have_another_delimiter(people, run):
    words = wrong(run, "anonymize", "people.csv", *OUT, "--qi", "age", "--delimiter", ";")
    assert "the table has 1 column: is its delimiter another one?" in words


def test_a_k_that_leaves_hardly_any_groups_is_warned_of(people, run):
    assert "at most 1 group is possible" in shows.few_groups(300, 200)
    assert "at most 2 groups are possible" in shows.few_groups(300, 101)
    assert shows.few_groups(300, 100) == shows.few_groups(29, 20) == ""
    rows = (people / "people.csv").read_text().count("\n") - 1
    said = flat(run("anonymize", "people.csv", "-k", rows // 2, *ROLES, "--dry-run"))
    assert f"warning: k = {rows // 2} is more than a third of the {rows} rows: at most 2 groups are possible" in said
    assert "more than a third" not in flat(run("anonymize", "people.csv", "-k", rows // 3, *ROLES, "--dry-run"))


def test_help_has_no_types_of_python(run):
    for command in ((), ("anonymize",), ("verify",), ("compare",), ("methods",), ("demo",), ("warm",)):
        said = run(*command, "--help").stdout
        assert not re.search(r"<\w+>|\[\[|BOOLEAN|TEXT", said)


# --- columns without a role ---


def test_columns_without_a_role_are_refused_with_three_ways_out(people, run):
    said = run("anonymize", "people.csv", "-k", 4, *OUT, "--id", "name", "--qi", "age,zip", "--method", "mdav", code=1)
    assert "not said" in said.stdout
    assert "unchanged, if k holds" in said.stdout
    words = flat(said)
    assert "error: Columns without a role must not single records out. Got " in words
    hint = "Hint: say what they are: --qi if others may know them, --other if nobody does (published unchanged), --drop"
    assert hint in words
    assert "--rest other says it for all other columns" in words
    assert not os.path.exists("out.csv")


def test_a_dry_run_refuses_them_too(people, run):
    said = run("anonymize", "people.csv", "-k", 4, "--id", "name", "--qi", "age", "--dry-run", code=1)
    assert "Columns without a role" in flat(said)


def test_the_console_says_what_each_k_is_about(people, run):
    options = ("--qi", "age,zip", "--rest", "drop", "--method", "mdav")
    said = " ".join(run("anonymize", "people.csv", "-k", 4, *OUT, *options).stdout.split())
    assert "Anyone who knows a person's quasi-identifiers is left with at least 4 records." in said
    assert "all k = 4 for both published columns together As many as for the quasi-identifiers alone." in said
    said = " ".join(run("verify", "out.csv").stdout.split())
    assert "all k = 4 for both published columns together" in said
    assert "checked k = 4 for all columns together: holds" in said


# --- verify without a certificate ---


def test_verify_says_loudly_what_it_assumes(people, run):
    said = run("verify", "people.csv", "--quiet")
    columns = (people / "people.csv").read_text().splitlines()[0].count(",") + 1
    assert f"warning: There is no certificate of people.csv, and no --qi: k was counted for all {columns} columns." in (
        flat(said)
    )
    assert "warning" not in flat(run("verify", "people.csv", "--qi", "age"))
    said = flat(run("verify", "people.csv", "--sensitive", "age"))
    assert f"for all {columns - 1} columns without another role" in said
