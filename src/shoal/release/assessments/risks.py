"""What an intruder can still do: keys, links, intervals, groups."""

from __future__ import annotations

from shoal.release.assessments.case import Case
from shoal.release.assessments.questions import Figure, Question
from shoal.risk import (
    attribute_gain,
    deviation_disclosure,
    individual_risk,
    linkage,
    partial_linkage,
    population_uniques,
    probabilistic_linkage,
    rank_disclosure,
    reidentification,
    robust_disclosure,
    suda,
)

# Subsets of the attributes that are tried for an intruder who knows few of them.
SUBSETS = 20


def found(case: Case) -> Question:
    """Return who is found by published quasi-identifiers."""
    tables, before, after = case.tables, case.before, case.after
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


def special(case: Case) -> Question:
    """Return who is singled out by few quasi-identifiers."""
    old, new = (float((suda(keys, keys.names).scores > 0).mean()) for keys in (case.before, case.after))
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


def unique(case: Case) -> Question:
    """Return how many people have a key of their own in the population."""
    people = case.people or case.before.records
    after, before = (population_uniques(keys, keys.names, people) for keys in (case.after, case.before))
    figures = [
        Figure(f"{word}{model}", f"{words}{title}", getattr(one, model) / people, compare=bool(word))
        for one, word, words in ((after, "", ""), (before, "original_", "in the original, "))
        for model, title in (("pitman", "by Pitman's model"), ("zayatz", "by Zayatz's"), ("snb", "by the SNB model"))
    ]
    return Question(
        "population_uniques",
        "risk",
        "How many people of the population have quasi-identifiers that nobody else has?",
        f"Shares of {people:,} people, estimated by three models that often differ widely: take the order of "
        "magnitude, and the highest of them if in doubt. A dash: the model does not fit. A k of 2 or more leaves no "
        "unique record to draw conclusions from.",
        tuple(figures),
    )


def linked(case: Case) -> Question:
    """Return the links by distance."""
    found = linkage(case.pair, None, n_jobs=case.n_jobs)
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


def partly_linked(case: Case) -> Question:
    """Return the links by two quasi-identifiers."""
    found = partial_linkage(case.pair, None, known=2, subsets=SUBSETS, n_jobs=case.n_jobs, **case.drawn)
    worst = None if found.intervals is None else found.intervals[int(found.correct.argmax())]
    tried = "each two" if found.complete else f"{len(found.subsets)} pairs of"
    return Question(
        "partial_linkage",
        "risk",
        "And by somebody who knows two of them?",
        f"The same for {tried} quasi-identifiers: on average, and for the pair that links most.{case.told}",
        (
            Figure("mean", "records linked correctly, on average", found.mean, interval=found.interval),
            Figure(
                "highest",
                "by the pair that links most",
                found.highest,
                interval=None if worst is None else (float(worst[0]), float(worst[1])),
            ),
            Figure("untouched", "in the untouched table, on average", float(found.untouched.mean()), compare=True),
        ),
    )


def weighed(case: Case) -> Question:
    """Return the links by weights of agreement."""
    found = probabilistic_linkage(case.pair, None, **case.drawn)
    return Question(
        "probabilistic_linkage",
        "risk",
        "And by somebody who learns from the tables what agreement in each column is worth?",
        "Links go to the rows of the highest weight (Fellegi and Sunter); numbers agree if they lie in the same tenth. "
        f"Compare as with links by distance.{case.told}",
        (
            Figure("correct", "records linked correctly", found.correct, interval=found.interval),
            Figure("baseline", "if everybody's group were known", found.baseline, compare=True),
            Figure("untouched", "in the untouched table", found.untouched, compare=True),
            Figure("nearest", "records whose rows have the highest weight", found.nearest),
        ),
    )


def close(case: Case) -> Question:
    """Return how many original numbers are close to the published ones."""
    deviation, rank = deviation_disclosure(case.pair, None), rank_disclosure(case.pair, None)
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


def far_out(case: Case) -> Question:
    """Return how many outliers are close to their published values."""
    found = robust_disclosure(case.pair, None)
    words = {
        "robust": "robust",
        "ordinary": "ordinary, since the robust covariance is singular",
        "reduced": "ordinary without the directions in which nothing varies, since the covariance is singular",
    }
    return Question(
        "robust_intervals",
        "risk",
        "Are outliers, which are easy to find, still close to their published values?",
        "The farther a record is from the centre, the wider the interval that counts as close: from the centre, "
        f"distances are {words[found.covariance]}. Isolated records have no other published row near theirs. Compare "
        "with a release of the original as it is, of which all records are close.",
        (
            Figure("records", "records with a number that is close", found.records),
            Figure("isolated", "of these, isolated ones, as a share of all", found.isolated),
            Figure("untouched", "in the untouched table", 1.0, compare=True),
        ),
    )


def learnt(case: Case, name: str) -> Question:
    """Return what groups reveal of a sensitive attribute."""
    tables, keys = case.tables, case.after
    # Numbers as numbers, which are guessed by interval, where they can be read as such.
    values = tables.release if name in tables.compared else tables.after
    keyed = tables.after.select(list(keys.names)).append_column(name, values.column(name))
    (found,) = attribute_gain(keyed, list(keys.names), [name], random_state=case.seed)
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
