"""What the tests of the command line share."""

import random

SECRETS = ("Zebediah", "Quillfeather")  # parts of names that no message may repeat
ROLES = ("--id", "name", "--qi", "age,zip,income,sex", "--sensitive", "illness")


def write_people(path, n=40):
    """Write a table of n people, drawn from a seed."""
    draw = random.Random(7)
    lines = (
        f"{SECRETS[0]} {SECRETS[1]} {i},{draw.randint(20, 80)},{draw.choice(['0110', '0120', '2210'])},"
        f"{draw.uniform(1000, 5000):.2f},{draw.choice('fm')},{draw.choice(['flu', 'none'])}"
        for i in range(n)
    )
    path.write_text("\n".join(["name,age,zip,income,sex,illness", *lines]) + "\n")


def flat(result):
    """Return what a command said on standard error, in one line."""
    return " ".join(result.stderr.split())
