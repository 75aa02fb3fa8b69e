"""What a model that is trained on the release guesses of sensitive values, with and without the target's record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, TooLargeError
from shoal.partitioning import door
from shoal.risk.pairs import Attribute, Pair, Settings, groups_of
from shoal.risk.shares import Interval, mean_interval
from shoal.tables.inputs import choice_of, chosen, count_of

# More records are not learnt from unless a sample of them is asked for.
MOST_RECORDS = 100_000
# Categories beyond this number, the rarest, are one.
MOST_CATEGORIES = 20
TREES = 50


@dataclass(frozen=True, repr=False)
class ModelGain:
    """How well models guess a sensitive value of records from their original quasi-identifiers.

    Attributes
    ----------
    name : str
        Of the sensitive attribute.
    guessed : float
        The share of right guesses of a model trained on published rows, those of the record's group among them.
    without : float
        The same of a model trained on as many published rows, without the record's group and others of its part.
    interval : tuple of two floats
        The 95 % interval of `gain`, for people like those in the table.
    baseline : float
        The share of the most frequent value: right guesses without any model.
    untouched, untouched_without : float
        The same as `guessed` and `without`, of models trained on the original.
    records, groups : int
        How many records were guessed, and in how many groups they are.
    """

    name: str
    guessed: float
    without: float
    interval: Interval
    baseline: float
    untouched: float
    untouched_without: float
    records: int
    groups: int

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"ModelGain({self.name!r}, {self.records} records: guessed {self.guessed:.3g}, without {self.without:.3g}, "
            f"gain {self.gain:.3g} ({low:.3g} to {high:.3g}), baseline {self.baseline:.3g}, untouched "
            f"{self.untouched:.3g})"
        )

    @property
    def gain(self) -> float:
        """Return how many more records are guessed than without their groups, as a share: what being there costs."""
        return self.guessed - self.without


def model_gain(
    original: Any,
    release: Any,
    keys: Any,
    sensitive: Any,
    *,
    model: str = "forest",
    folds: int = 5,
    bins: int = 10,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    sample: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = -1,
) -> tuple[ModelGain, ...]:
    """Return how much better a model trained on the release guesses sensitive values of those who are in it.

    A model learns sensitive values from published quasi-identifiers, and guesses those of a target from the target's
    original ones. It is compared with one that learnt without the target's record. In a release of groups that is more
    than one row: the record has left its mark on everything that its group publishes. So the groups are dealt into
    `folds` parts at random. Each model learns from all parts but one: the one *without* the target leaves out the
    part with the target's group, the other one leaves out the next part instead. Both learn from about as many rows,
    so that their difference is due to the group alone. The price: both learn from a part less than an intruder has;
    with the group those leave who are most like the target, so that the gain is rather too high; and groups are not
    made anew without the record: neighbours that its absence would have moved stay.

    Numbers with more than 24 different values are guessed by interval: between which two of `bins` quantiles of the
    original they lie. A missing value counts as a value.

    Yeom, S., Giacomelli, I., Fredrikson, M., Jha, S. (2018): Privacy risk in machine learning: analyzing the connection
    to overfitting. CSF.

    Parameters
    ----------
    original, release, by, types
        As in :func:`linkage`. Records that were not released are not guessed.
    keys : names
        The quasi-identifiers, which the intruder knows.
    sensitive : names
        The attributes to guess.
    model : {"forest", "linear"}
        A forest of 50 trees, or logistic regression, of scikit-learn.
    folds : int
    bins : int
        The number of intervals of numbers.
    sample : int, optional
        Learn from and guess so many records only: whole groups, drawn at random. Needed beyond 100,000 records.
    random_state : int
        The seed of the parts and of the forest.
    n_jobs : int or None
        Threads of the forest, by default all cores. The result does not depend on it.

    Examples
    --------
    >>> import shoal, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"age": rng.normal(size=60), "illness": rng.choice(["flu", "cold"], 60)})
    >>> found, = shoal.risk.model_gain(people, people, ["age"], ["illness"])
    >>> found.guessed > 0.7 > found.without
    True
    """
    caller = "shoal.risk.model_gain"
    choice_of(model, "model", caller, ("forest", "linear"))
    folds, bins = count_of(folds, "folds", caller, least=2), count_of(bins, "bins", caller, least=2)
    seed = count_of(random_state, "random_state", caller, least=0)
    pair, names, secrets = _read(original, release, keys, sensitive, caller, Settings(by, types or {}))
    n = len(pair.rows)
    at = {one.name: place for place, one in enumerate(pair.attributes)}
    which = [at[name] for name in names]
    rng = np.random.default_rng(seed)
    own = groups_of(pair.coordinates(which)[1]).of
    rows = _drawn(own, n, sample, rng, caller)
    _, own = np.unique(own[rows], return_inverse=True)
    count = int(own.max()) + 1
    if count < folds:
        raise DataError(
            f"A release must have at least {folds} groups for {caller} with {folds} folds. Got {count}.",
            hint="ask for fewer folds.",
        )
    part = (rng.permutation(count) % folds)[own]
    features = np.column_stack([column for place in which for column in _features(pair.attributes[place])])
    before, after = features[:n][rows], features[n:][rows]
    values = [one.categories(bins) for one in pair.attributes]
    made = []
    for name in secrets:
        truth, published = values[at[name]][0], values[at[name]][1]
        share = float(np.bincount(truth).max()) / n
        fit = _Fit(model, seed, door.threads(n_jobs, caller), part, folds, before)
        hits = [fit.right(X, y[rows], truth[rows]) for X, y in ((after, published), (before, truth))]
        made.append(_gain(name, hits, own, share))
    return tuple(made)


def _gain(name: str, hits: list[tuple[Array, Array]], own: Array, share: float) -> ModelGain:
    (there, away), (plain, plain_away) = hits
    return ModelGain(
        name=name,
        guessed=float(there.mean()),
        without=float(away.mean()),
        interval=mean_interval(there - away, own, lowest=-1.0),
        baseline=share,
        untouched=float(plain.mean()),
        untouched_without=float(plain_away.mean()),
        records=len(own),
        groups=int(own.max()) + 1,
    )


def _read(
    original: Any, release: Any, keys: Any, sensitive: Any, caller: str, settings: Settings
) -> tuple[Pair, list[str], list[str]]:
    if isinstance(original, Pair):
        known = [one.name for one in original.attributes]
        names, secrets = ([given] if isinstance(given, str) else list(given) for given in (keys, sensitive))
        for name in (*names, *secrets):
            if name not in known:
                raise OptionError(f"The columns of {caller} must be among those of the pair. Got {name!r}.")
        pair = original
    else:
        names = chosen(original, keys, "keys", caller)
        secrets = chosen(original, sensitive, "sensitive", caller)
        pair = Pair.of(original, release, list(dict.fromkeys([*names, *secrets])), caller, settings)
    both = sorted(set(names) & set(secrets))
    if both:
        raise DataError(f"The sensitive attributes of {caller} must not be keys. Got {both[0]!r} as both.")
    return pair, names, secrets


def _drawn(own: Array, n: int, sample: int | None, rng: np.random.Generator, caller: str) -> Array:
    """Return the records to learn from and to guess, ascending: all, or those of groups drawn at random."""
    if sample is None:
        if n > MOST_RECORDS:
            raise TooLargeError(
                f"The models of {caller} must learn from at most {MOST_RECORDS:,} records. Got {n:,}.",
                hint="sample=20000 draws groups with that many.",
            )
        return np.arange(n)
    sample = count_of(sample, "sample", caller, least=2)
    if sample >= n:
        return np.arange(n)
    sizes = np.bincount(own)
    order = rng.permutation(len(sizes))
    last = int(np.searchsorted(np.cumsum(sizes[order]), sample)) + 1
    return np.flatnonzero(np.isin(own, order[:last]))


def _features(one: Attribute) -> list[Array]:
    """Return the columns that models get of an attribute of both tables: a scaled number, or indicators."""
    if one.numeric:
        numbers = one.numbers()
        gaps = np.isnan(numbers)
        present = numbers[~gaps]
        if len(present) == 0:
            return [np.zeros(len(numbers))]
        scaled = np.where(gaps, 0.0, (numbers - present.mean()) / (present.std() or 1.0))
        return [scaled, *([gaps.astype(np.float64)] if gaps.any() else [])]
    codes = one.values.codes + 1  # type: ignore[union-attr]
    frequent = np.argsort(-np.bincount(codes), kind="stable")[:MOST_CATEGORIES]
    return [(codes == code).astype(np.float64) for code in frequent]


@dataclass(frozen=True)
class _Fit:
    """Models that leave out one part each, and what they guess of targets with these features."""

    model: str
    seed: int
    n_jobs: int
    part: Array
    folds: int
    targets: Array

    def right(self, X: Array, y: Array, truth: Array) -> tuple[Array, Array]:
        """Return float64[n] twice: which values are guessed by models that learnt with the group, and without."""
        guesses = np.empty((2, len(truth)), np.int64)
        for out in range(self.folds):
            kept = self.part != out
            # Without their group, the records of this part are guessed; with it, those of the part before.
            made = self._learnt(X[kept], y[kept])
            for side, part in ((1, out), (0, (out - 1) % self.folds)):
                asked = self.part == part
                guesses[side, asked] = made(self.targets[asked])
        return (guesses[0] == truth).astype(np.float64), (guesses[1] == truth).astype(np.float64)

    def _learnt(self, X: Array, y: Array) -> Any:
        if bool((y == y[0]).all()):
            return lambda targets: np.full(len(targets), y[0])
        if self.model == "forest":
            from sklearn.ensemble import RandomForestClassifier

            return RandomForestClassifier(TREES, random_state=self.seed, n_jobs=self.n_jobs).fit(X, y).predict
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=1000).fit(X, y).predict
