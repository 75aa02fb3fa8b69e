"""What an intruder can still do: keys, links, intervals, groups."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.release.assessments.questions import Figure, Question
from shoal.release.assessments.tables import ROW, Tables
from shoal.risk import (
    Pair,
    attribute_gain,
    deviation_disclosure,
    individual_risk,
    linkage,
    partial_linkage,
    rank_disclosure,
    reidentification,
    suda,
)
from shoal.risk.keys import Keys
from shoal.tables.pairs import Settings

# The sets of attributes grow by a factor of 2 with each: no more than so many are searched for special uniques.
MOST_FOR_SUDA = 10
# Subsets of the attributes that are tried for an intruder who knows few of them.
SUBSETS = 20
CALLER = "shoal.assess"


def risks(tables: Tables, sample: int, seed: int, n_jobs: int | None) -> Iterator[Question]:
    """Yield what can be asked about the risk of a release."""
    names = list(tables.roles.quasi_identifiers)
    before, after = (Keys.of(table, names, CALLER) for table in (tables.before, tables.after))
    yield _found(tables, before, after)
    if len(names) <= MOST_FOR_SUDA:
        yield _special(before, after)
    if tables.known:
        settings = Settings(by=ROW)
        pair = Pair.of(tables.original, tables.release, list(tables.known), CALLER, settings)
        yield _linked(pair, n_jobs)
        if len(tables.known) > 2:
            yield _partly_linked(pair, sample, seed, n_jobs)
        if any(one.numeric for one in pair.attributes):
            yield _close(pair)
    for name in tables.roles.sensitive:
        yield _learnt(tables, after, name, seed)


def _found(tables: Tables, before: Keys, after: Keys) -> Question:
    names = after.names
    weights = tables.weights
    old = reidentification(before, names, weights)
    new = reidentification(after, names, None if weights is None else weights[tables.rows])
    figures = [
        Figure("highest", "highest chance of any record", new.prosecutor.highest),
        Figure("average", "average chance of a record", new.prosecutor.average),
        Figure("original_highest", "highest chance in the original", old.prosecutor.highest, compare=True),
        Figure("original_average", "average chance in the original", old.prosecutor.average, compare=True),
    ]
    if weights is not None:
        for key, weight, word in ((after, weights[tables.rows], ""), (before, weights, "original_")):
            share = individual_risk(key, names, weight).record.mean()
            words = f"average chance {'in the original ' if word else ''}if only the population is known"
            figures.append(Figure(f"{word}population", words, float(share), compare=bool(word)))
    return Question(
        "keys",
        "risk",
        "Who is found by somebody who knows all quasi-identifiers as they are published?",
        "A record that shares its published values with others is found with a chance of 1 in their number. No figure "
        "may be above 1 / k.",
        tuple(figures),
    )


def _special(before: Keys, after: Keys) -> Question:
    old, new = (float((suda(keys, keys.names).scores > 0).mean()) for keys in (before, after))
    return Question(
        "special_uniques",
        "risk",
        "How many records are singled out by any set of quasi-identifiers?",
        "The share of records that are alone with their values in some of the columns. A k of 2 or more leaves none.",
        (
            Figure("share", "records in the release", new),
            Figure("original", "records in the original", old, compare=True),
        ),
    )


def _linked(pair: Pair, n_jobs: int | None) -> Question:
    found = linkage(pair, None, n_jobs=n_jobs)
    return Question(
        "linkage",
        "risk",
        "How many records are linked to the right row by somebody who has the original quasi-identifiers?",
        "Links go to the nearest published row; one to the right group is a guess among its records. Compare with what "
        "guessing gives if the group of everybody is known, and with a release of the original as it is.",
        (
            Figure("correct", "records linked correctly", found.correct),
            Figure("baseline", "if everybody's group were known", found.baseline, compare=True),
            Figure("untouched", "in the untouched table", found.untouched, compare=True),
            Figure("nearest", "records whose group is the nearest one", found.nearest),
        ),
    )


def _partly_linked(pair: Pair, sample: int, seed: int, n_jobs: int | None) -> Question:
    found = partial_linkage(pair, None, known=2, subsets=SUBSETS, sample=sample, random_state=seed, n_jobs=n_jobs)
    tried = "each two" if found.complete else f"{len(found.subsets)} pairs of"
    return Question(
        "partial_linkage",
        "risk",
        "And by somebody who knows two of them?",
        f"The same for {tried} quasi-identifiers: on average, and for the pair that links most.",
        (
            Figure("mean", "records linked correctly, on average", found.mean),
            Figure("highest", "by the pair that links most", found.highest),
            Figure("untouched", "in the untouched table, on average", float(found.untouched.mean()), compare=True),
        ),
    )


def _close(pair: Pair) -> Question:
    deviation, rank = deviation_disclosure(pair, None), rank_disclosure(pair, None)
    return Question(
        "intervals",
        "risk",
        "How many original numbers lie close to the published ones?",
        "Close is within 5 % of a standard deviation, or of all ranks. Compare with published rows that are dealt out "
        "at random: what lies close by chance.",
        (
            Figure("deviation", "values within 5 % of a standard deviation", deviation.values),
            Figure("deviation_baseline", "by chance", deviation.baseline, compare=True),
            Figure("rank", "values within 5 % of all ranks", rank.values),
            Figure("rank_baseline", "by chance", rank.baseline, compare=True),
        ),
    )


def _learnt(tables: Tables, keys: Keys, name: str, seed: int) -> Question:
    # Numbers as numbers, which are guessed by interval, where they can be read as such.
    values = tables.release if name in tables.compared else tables.after
    keyed = tables.after.select(list(keys.names)).append_column(name, values.column(name))
    (found,) = attribute_gain(keyed, list(keys.names), [name], random_state=seed)
    return Question(
        f"learnt:{name}",
        "risk",
        f"What does the group of a record reveal about {name}?",
        "Right guesses of the most frequent value of each group. Compare with those of somebody who knows no groups, "
        "and with groups of these sizes whose values are dealt out at random. Where a group has a single value, it is "
        "known for certain.",
        (
            Figure("guessed", "right guesses", found.guessed),
            Figure("baseline", "without groups", found.baseline, compare=True),
            Figure("shuffled", "with values dealt out at random", found.shuffled, compare=True),
            Figure("certain", "records in groups with a single value", found.certain),
        ),
    )
