"""What an intruder can still learn: by joining files, by predicates, by guessing, by models, and who is there."""

from __future__ import annotations

from shoal.release.assessments.case import Case
from shoal.release.assessments.questions import Figure, Question
from shoal.risk import inference, linkability, membership, model_gain, singling_out

LIKE = "Intervals are of 95 %, for people like those in the table."


def joined(case: Case) -> Question:
    """Return how often two files are joined through the release."""
    found = linkability(case.pair, None, n_jobs=case.n_jobs, **case.drawn)
    return Question(
        "linkability",
        "risk",
        "Does the release join two files about the same people that have no column in common?",
        "One file has every other quasi-identifier, the second one the rest. A person of the first is joined to the "
        "record of the second that is nearest to what the nearest published row tells of it. Compare with a guess, and "
        f"with a release of the original as it is. {LIKE}{case.told}",
        (
            Figure("correct", "persons joined correctly", found.correct, interval=found.interval),
            Figure("baseline", "by a guess", found.baseline, compare=True),
            Figure("untouched", "in the untouched table", found.untouched, compare=True),
        ),
    )


def isolated(case: Case) -> Question:
    """Return how often predicates single out a record."""
    found = singling_out(case.pair, None, random_state=case.seed)
    figures = []
    for one, name, words in (
        (found.univariate, "univariate", "one column"),
        (found.multivariate, "multivariate", f"{found.known} columns"),
    ):
        if one is not None:
            figures += [
                Figure(name, f"predicates on {words}", one.share, interval=one.interval),
                Figure(f"{name}_baseline", "blind ones of the same weight", one.baseline, compare=True),
                Figure(f"{name}_untouched", "made of the untouched table", one.untouched, compare=True),
            ]
    return Question(
        "singling_out",
        "risk",
        "Can words be found in the release that are true of exactly one person of the original?",
        f"Of {found.univariate.tried:,} random predicates of each kind, those that are true of one record. They ask "
        "for values like those of a published row, so narrowly that a tenth of a record is expected by chance. Weights "
        "are those of independent columns: where columns go together, blind predicates would find more.",
        tuple(figures),
    )


def inferred(case: Case) -> Question:
    """Return how well an attribute is guessed through the nearest group."""
    known = list(case.tables.known)
    # A single one can be guessed from nothing.
    secrets = [*(known if len(known) > 1 else ()), *case.secrets]
    made = inference(case.guessed, None, known, secrets, n_jobs=case.n_jobs, **case.drawn)
    most = max(made, key=lambda one: one.gain)
    mean = sum(one.guessed for one in made) / len(made)
    plain = sum(one.baseline for one in made) / len(made)
    return Question(
        "inference",
        "risk",
        "How well does somebody who knows the other quasi-identifiers of a person guess a further attribute?",
        f"By the published rows nearest in what is known; numbers by tenths. Most is gained for {most.name}. Compare "
        "with guesses by the whole table. Some of the gain is what a release is for: what is true of people of this "
        f"kind. {LIKE}{case.told}",
        (
            Figure("highest", "right guesses where most is gained", most.guessed, interval=most.interval),
            Figure("baseline", "by the whole table", most.baseline, compare=True),
            Figure("untouched", "by the untouched table", most.untouched, compare=True),
            Figure("mean", "right guesses, on average over attributes", mean),
            Figure("mean_baseline", "by the whole table", plain, compare=True),
        ),
    )


def modelled(case: Case, name: str) -> Question:
    """Return what models trained on the release guess of a sensitive attribute."""
    keys = list(case.tables.known)
    (found,) = model_gain(case.guessed, None, keys, [name], n_jobs=case.n_jobs, **case.drawn)
    return Question(
        f"model:{name}",
        "risk",
        f"How much better does a model that learnt from the release guess {name} of those who are in it?",
        "A forest of trees guesses from original quasi-identifiers; another one learns from as many rows, without the "
        "group of the person. The difference is the price of being in the release. Compare also with the most frequent "
        f"value, and with models trained on the original. {LIKE}{case.told}",
        (
            Figure("guessed", "right guesses", found.guessed),
            Figure("without", "without the group of the person", found.without, compare=True),
            Figure("gain", "difference", found.gain, interval=found.interval),
            Figure("baseline", "the most frequent value", found.baseline, compare=True),
            Figure("untouched", "trained on the original", found.untouched, compare=True),
        ),
    )


def present(case: Case) -> Question:
    """Return how well an attack tells who is in the release."""
    members = case.tables.original.take(case.tables.rows)
    found = membership(
        members,
        case.held_out,
        case.tables.release,
        list(case.tables.known),
        random_state=case.seed,
        n_jobs=case.n_jobs,
    )
    return Question(
        "membership",
        "risk",
        "Does the release tell who is in it?",
        "Those who are near a published row are taken for members. The advantage is the share of members who are "
        "found, less that of others who are taken for such: 0 for a guess. This is one attack: a low advantage is no "
        f"proof that nobody can tell. {LIKE}",
        (
            Figure("advantage", "advantage", found.advantage, interval=found.interval),
            Figure("guess", "of a guess", 0.0, compare=True),
            Figure("strict", "members found at 1 % false alarms", found.strict),
            Figure("area", "area below the curve", found.area, interval=found.area_interval),
            Figure("area_guess", "of a guess", 0.5, compare=True),
        ),
    )
