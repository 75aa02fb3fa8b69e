"""Messages of the library in the words of the command line."""

import pytest

from shoal.cli.words import in_words_of_the_command_line


@pytest.mark.parametrize(
    ("library", "ours"),
    [
        ("The 'types' of a plan, at 'a', must be x.", "The option --type, at 'a', must be x."),
        ("declare it: missing_values=['NA'].", "declare it: --na 'NA'."),
        ("or say types={'a b': 'nominal'}.", "or say --type 'a b=nominal'."),
        ("say levels={'a': [lowest, .., highest]}.", "say --levels 'a=lowest,..,highest'."),
        ("say formats={'a': '%d/%m/%Y'}.", "say --format 'a=%d/%m/%Y'."),
        ("missing='drop' leaves rows out", "--missing drop leaves rows out"),
        ("identifiers=['a'] drops it (--id), other=[..] passes", "--id 'a' drops it, --other passes"),
        ("name them with quasi_identifiers (--qi on the command line).", "name them with --qi."),
        ("say hierarchies={'a': 'file.csv'} (--hierarchy a=file.csv).", "say --hierarchy 'a=file.csv'."),
        ("places=[('latitude', 'longitude')] (--place latitude,longitude).", "--place latitude,longitude."),
        ("shoal.methods() lists all of them.", "'shoal methods' lists all of them."),
        ("or pass force (--force) to replace it.", "or add --force to replace it."),
        ("must be named (name_of_table, --to-table). Got none.", "must be named (--to-table). Got none."),
        ("The column 'missing' has 3 other values.", "The column 'missing' has 3 other values."),
    ],
)
def test_messages_are_put_into_the_words_of_the_command_line(library, ours):
    assert in_words_of_the_command_line(library) == ours
