"""Messages of the library in the words of the command line."""

import pytest

from shoal.cli.words import in_words_of_the_command_line


@pytest.mark.parametrize(
    ("library", "ours"),
    [
        ("The 'types' of a plan, at 'a', must be x.", "The option --type, at 'a', must be x."),
        ("declare it: missing_values=['NA'].", "declare it: --na 'NA'."),
        ("declare them: missing_values=['-', 'n/a'].", "declare them: --na '-' --na 'n/a'."),
        (
            "pass thousands=','; if before decimals, decimal=',' (--decimal ,).",
            "pass --thousands ,; if before decimals, --decimal ,.",
        ),
        ("or pass types={'a b': 'nominal'}.", "or pass --type 'a b=nominal'."),
        ("pass levels={'a': [lowest, .., highest]}.", "pass --levels 'a=lowest,..,highest'."),
        ("state it with formats={'a': '%d/%m/%Y'}.", "state it with --format 'a=%d/%m/%Y'."),
        ("missing='drop' leaves rows out", "--missing drop leaves rows out"),
        ("identifiers=['a'] drops it (--id), other=[..] publishes", "--id 'a' drops it, --other publishes"),
        ("name them with quasi_identifiers (--qi on the command line).", "name them with --qi."),
        ("pass hierarchies={'a': 'file.csv'} (--hierarchy a=file.csv).", "pass --hierarchy 'a=file.csv'."),
        ("places=[('latitude', 'longitude')] (--place latitude,longitude).", "--place latitude,longitude."),
        ("shoal.methods() lists all of them.", "'shoal methods' lists all of them."),
        ("or pass force (--force) to replace it.", "or add --force to replace it."),
        ("must be named (name_of_table, --to-table). Got none.", "must be named (--to-table). Got none."),
        ("a line or pass header=False, which; pass header=True.", "a line or pass --no-header, which; pass --header."),
        ("or pass quote='' if the file", "or pass --quote none if the file"),
        ("name it with sensitive_attributes (--sensitive).", "name it with --sensitive."),
        ("Got none of l (--l), t (--t) and models (--model).", "Got none of --l, --t and --model."),
        ("A block must fit into memory. Got one", "A block must fit into memory. Got one"),
        ("The table of anonymize must have rows.", "The table must have rows."),
        ("rest='other' says it for all; drop=[..] leaves", "--rest other says it for all; --drop leaves"),
        ("The column 'missing' has 3 other values.", "The column 'missing' has 3 other values."),
    ],
)
def test_messages_are_put_into_the_words_of_the_command_line(library, ours):
    assert in_words_of_the_command_line(library) == ours
