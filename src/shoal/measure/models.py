"""What a release keeps of models: coefficients of regressions, and predictions for records that nobody has seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError
from shoal.measure.pairs import Compared
from shoal.tables.inputs import choice_of, chosen, columns, count_of, fraction_of
from shoal.tables.pairs import Attribute, Pair, Settings

# Categories beyond this number, the rarest, are one.
MOST_CATEGORIES = 20
TREES = 100
# A column of which others leave no larger share of the variance follows from them.
DEPENDENT = 1e-10


@dataclass(frozen=True, repr=False)
class Regression:
    """A linear regression on original and release.

    Attributes
    ----------
    target : str
    terms : tuple of str
        "constant", the names of numbers, and for each category but the most frequent one its column and a number.
    coefficients : float64[2, p]
        On the original and on the release.
    intervals : float64[2, p, 2]
        Their confidence intervals.
    overlaps : float64[p]
        How much the two intervals of each term overlap: 1 if they are equal, 0 if they have nothing in common.
    determination : tuple of two floats
        R squared on the original and on the release.
    """

    target: str
    terms: tuple[str, ...]
    coefficients: Array
    intervals: Array
    overlaps: Array
    determination: tuple[float, float]

    def __repr__(self) -> str:
        before, after = self.determination
        return (
            f"Regression({self.target!r}, {len(self.terms)} terms: overlap {self.overlap:.3g}, R squared {before:.3g} "
            f"before and {after:.3g} after)"
        )

    @property
    def overlap(self) -> float:
        """Return the mean overlap of all terms but the constant."""
        return float(self.overlaps[1:].mean()) if len(self.terms) > 1 else float(self.overlaps.mean())

    @property
    def same_sign(self) -> float:
        """Return the share of terms, without the constant, whose coefficient has the same sign in both."""
        before, after = np.sign(self.coefficients[:, 1:])
        return float((before == after).mean()) if len(self.terms) > 1 else 1.0


def regression(
    original: Any,
    release: Any,
    target: str,
    columns: Any = None,
    *,
    confidence: float = 0.95,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    weight: Any = None,
) -> Regression:
    """Return the coefficients of a linear regression on both tables, with confidence intervals and their overlap.

    By least squares, with weights if there are any. Records with a missing value are left out. A term that follows from
    others, in either table, is left out of both. Categories are indicators; beyond 20 the rarest are one. Intervals are
    those of a reader who takes the release for a sample of independent records: group means make them too narrow.

    The overlap of two intervals is the mean of the shares of each that lie in the other, 0 if they are apart.

    Karr, A. F., Kohnen, C. N., Oganian, A., Reiter, J. P., Sanil, A. P. (2006): A framework for evaluating the utility
    of data altered to protect confidentiality. The American Statistician 60(3).

    Parameters
    ----------
    original, release, by, types, weight
        As in :func:`distance_loss`.
    target : str
        The column to explain, with numbers.
    columns : names, optional
        The columns that explain it; by default all others that both tables have.
    confidence : float
        Of the intervals.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 32, 50, 58, 61, 44], "income": [20, 24, 30, 38, 41, 26]})
    >>> shoal.measure.regression(people, people, "income")
    Regression('income', 2 terms: overlap 1, R squared 0.929 before and 0.929 after)
    """
    caller = "shoal.measure.regression"
    confidence = fraction_of(confidence, "confidence", caller, most=0.999999)
    wanted = None if columns is None else [target, *([columns] if isinstance(columns, str) else columns)]
    both = Compared.of(original, release, wanted, caller, by=by, types=types, weight=weight)
    known = {one.name: one for one in both.pair.attributes}
    if target not in known or not known[target].numeric:
        raise OptionError(f"The 'target' of {caller} must be a column of numbers in both tables. Got {target!r}.")
    n = len(both.weights)
    others = [one for one in both.pair.attributes if one.name != target]
    parts = [part for one in others for part in _indicators(one)]
    names = [name for name, _ in parts]
    columns_of = np.column_stack([*(values for _, values in parts), known[target].numbers()])
    sides = [_side(columns_of[half], both.weights) for half in (slice(n), slice(n, 2 * n))]
    kept = _independent(sides)
    if min(len(side.weights) for side in sides) <= len(kept) + 1:
        raise DataError(f"The tables of {caller} must have more complete records than terms ({len(kept) + 1}).")
    fits = [_least_squares(side, kept, confidence) for side in sides]
    intervals = np.array([one[1] for one in fits])
    return Regression(
        target=target,
        terms=("constant", *(names[at] for at in kept)),
        coefficients=np.array([one[0] for one in fits]),
        intervals=intervals,
        overlaps=overlaps_of(intervals[0], intervals[1]),
        determination=(fits[0][2], fits[1][2]),
    )


def _indicators(one: Attribute) -> list[tuple[str, Array]]:
    """Return the terms of an attribute, with names that quote no values."""
    if one.numeric:
        return [(one.name, one.numbers())]
    codes = one.values.codes  # type: ignore[union-attr]
    counts = np.bincount(codes[codes >= 0])
    frequent = np.argsort(-counts, kind="stable")[: min(len(counts), MOST_CATEGORIES)]
    return [
        (f"{one.name} ({number})", np.where(codes < 0, np.nan, codes == code))
        for number, code in enumerate(frequent[1:], 2)
    ]


class _Side(NamedTuple):
    """The complete records of one table: columns with the target last, weights of 1 on average, and their products."""

    columns: Array  # float64[m, p + 1], without the constant
    weights: Array
    means: Array
    spreads: Array  # square roots of the sums of squares around the means; 1 for columns that do not vary
    products: Array  # float64[p + 1, p + 1], of columns around their means, divided by the spreads


def _side(columns: Array, weights: Array) -> _Side:
    kept = ~np.isnan(columns).any(axis=1)
    columns, w = columns[kept], weights[kept]
    if len(w) == 0:
        width = columns.shape[1]
        return _Side(columns, w, np.zeros(width), np.ones(width), np.zeros((width, width)))
    w = w / w.mean()
    means = w @ columns / len(w)
    steps = (columns - means) * np.sqrt(w)[:, None]
    steps[:, (columns == columns[0]).all(axis=0)] = 0.0
    spreads = np.sqrt((steps**2).sum(axis=0))
    spreads[spreads == 0] = 1.0
    steps /= spreads
    return _Side(columns, w, means, spreads, steps.T @ steps)


def _independent(sides: list[_Side]) -> list[int]:
    """Return the columns that do not follow from those before them, in any of the tables: by Cholesky's method."""
    from scipy.linalg import solve_triangular

    kept = list(range(len(sides[0].means) - 1))
    for side in sides:
        found: list[int] = []
        lower = np.zeros((len(kept), len(kept)))
        for at in kept:
            m = len(found)
            row = solve_triangular(lower[:m, :m], side.products[found, at], lower=True) if m else np.empty(0)
            rest = side.products[at, at] - row @ row
            if rest > DEPENDENT:
                lower[m, :m], lower[m, m] = row, np.sqrt(rest)
                found.append(at)
        kept = found
    return kept


def _least_squares(side: _Side, kept: list[int], confidence: float) -> tuple[Array, Array, float]:
    """Return the coefficients of the constant and of the columns kept, their intervals and R squared."""
    from scipy.special import stdtrit

    n, p = len(side.weights), len(kept) + 1
    inverse = np.linalg.inv(side.products[np.ix_(kept, kept)])
    scale = side.spreads[kept]
    slopes = inverse @ side.products[kept, -1] * side.spreads[-1] / scale
    constant = side.means[-1] - slopes @ side.means[kept]
    y = side.columns[:, -1]
    rest = float((side.weights * (y - constant - side.columns[:, kept] @ slopes) ** 2).sum())
    inverse = inverse / np.outer(scale, scale)
    errors = np.append(1 / n + side.means[kept] @ inverse @ side.means[kept], np.diag(inverse))
    half = float(stdtrit(n - p, (1 + confidence) / 2)) * np.sqrt(errors * rest / (n - p))
    beta = np.append(constant, slopes)
    whole = float((side.weights * (y - side.means[-1]) ** 2).sum())
    return beta, np.column_stack([beta - half, beta + half]), 1 - rest / whole if whole > 0 else 0.0


def overlaps_of(ours: Array, theirs: Array) -> Array:
    """Return float64[p]: how much intervals overlap, the mean of the shares of each that lie in the other."""
    shared = np.minimum(ours[:, 1], theirs[:, 1]) - np.maximum(ours[:, 0], theirs[:, 0])
    lengths = [one[:, 1] - one[:, 0] for one in (ours, theirs)]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [np.where(length > 0, shared / length, shared >= 0) for length in lengths]
    return np.clip((shares[0] + shares[1]) / 2, 0.0, 1.0)


@dataclass(frozen=True, repr=False)
class Prediction:
    """How well a model that has learnt from the release predicts, beside one that has learnt from the original.

    Attributes
    ----------
    target : str
    before, after : float
        The score of the model that learnt from the original, and from the release: the share of right predictions of a
        category, or R squared for a number.
    baseline : float
        The score of the most frequent category, or of the mean, of the original.
    records : int
        Of the test.
    interval : tuple of two floats
        The 95 % interval of `after`, for people like those of the test.
    """

    target: str
    before: float
    after: float
    baseline: float
    records: int
    interval: tuple[float, float]

    def __repr__(self) -> str:
        return (
            f"Prediction({self.target!r}, {self.records} records: before {self.before:.3g}, after {self.after:.3g}, "
            f"baseline {self.baseline:.3g})"
        )


def prediction(
    original: Any,
    release: Any,
    test: Any,
    target: str,
    columns: Any = None,
    *,
    model: str = "linear",
    random_state: int = 0,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    weight: Any = None,
) -> Prediction:
    """Return how well a model predicts new records that has learnt from the release.

    The test must be records that were set aside *before* the release was made. A record that is in a group has left its
    mark on the published values: tested on it, any model looks better than it is. So there is no test without `test`.

    Hundepool, A. et al. (2012): Statistical disclosure control, section 3. Wiley.

    Parameters
    ----------
    original, release, by, types, weight
        As in :func:`distance_loss`.
    test : data frame
        Original records that are neither in `original` nor in `release`.
    target : str
        The column to predict.
    columns : names, optional
        The columns to predict it from; by default all others that both tables have.
    model : {"linear", "forest"}
        Linear or logistic regression, or a forest of 100 trees, of scikit-learn.
    random_state : int
        The seed of the forest.
    """
    caller = "shoal.measure.prediction"
    choice_of(model, "model", caller, ("linear", "forest"))
    seed = count_of(random_state, "random_state", caller, least=0)
    wanted = None if columns is None else [target, *([columns] if isinstance(columns, str) else columns)]
    both = Compared.of(original, release, wanted, caller, by=by, types=types, weight=weight)
    names = list(both.names)
    if target not in names or len(names) < 2:
        raise OptionError(f"The 'target' of {caller} must be a column of both tables, beside others. Got {target!r}.")
    n = len(both.weights)
    held = _test(test, both.pair, names, caller)
    numeric = {one.name: one.numeric for one in held.attributes}[target]
    rows = {name: _read(one) for name, one in zip(names, held.attributes, strict=True)}
    train = {one.name: _read(one) for one in both.pair.attributes}
    X, new = _features(both.pair, held, target)
    y, truth = train[target], rows[target][: len(rows[target]) // 2]
    new = new[: len(truth)]
    known = ~_missing(truth)
    if not known.any():
        raise DataError(f"The test of {caller} must have records with a known {target!r}. Got none.")
    scores = []
    for part in (slice(n), slice(n, 2 * n)):
        present = ~_missing(y[part])
        if len(set(y[part][present].tolist())) < 2:
            raise DataError(f"The 'target' of {caller} must have at least two values in both tables. Got {target!r}.")
        made = _model(model, numeric, seed).fit(X[part][present], y[part][present], sample_weight=both.weights[present])
        guesses = made.predict(new[known])
        scores.append(_score(guesses, truth[known], numeric))
    present = ~_missing(y[:n])
    guess = _guess(y[:n][present], both.weights[present], truth[known], numeric)
    interval = _interval(guesses, truth[known], scores[1], numeric)
    return Prediction(target, scores[0], scores[1], guess, int(known.sum()), interval)


def _test(test: Any, pair: Pair, names: list[str], caller: str) -> Pair:
    """Return the held-out records, read as the columns of the original are."""
    types = {one.name: one.kind for one in pair.attributes if one.kind not in ("ordinal", "hierarchical")}
    table = columns(test, chosen(test, names, "columns", f"{caller} (test)"), caller)
    import pyarrow as pa

    held = pa.table(table)
    return Pair.of(held, held, names, f"{caller} (test)", Settings(types=types))


def _read(one: Attribute) -> Array:
    """Return numbers, NaN where missing; or names of categories as objects, None where missing."""
    if one.numeric:
        return one.numbers()
    levels = np.array([*one.values.levels, None], dtype=np.object_)  # type: ignore[union-attr]
    return np.asarray(levels[one.values.codes])  # type: ignore[union-attr]


def _missing(values: Array) -> Array:
    return np.isnan(values) if values.dtype.kind == "f" else np.array([value is None for value in values])


def _features(pair: Pair, held: Pair, target: str) -> tuple[Array, Array]:
    """Return float64[2 n, p] of both tables and float64[2 m, p] of the test: scaled numbers and indicators."""
    ours, theirs = [], []
    for one, other in zip(pair.attributes, held.attributes, strict=True):
        if one.name == target:
            continue
        if one.numeric:
            a, b = one.numbers(), other.numbers()
            mean, spread = (0.0, 1.0) if np.isnan(a).all() else (float(np.nanmean(a)), float(np.nanstd(a)) or 1.0)
            ours.append(np.nan_to_num((a - mean) / spread))
            theirs.append(np.nan_to_num((b - mean) / spread))
            continue
        counts = np.bincount(one.values.codes + 1)[1:]  # type: ignore[union-attr]
        frequent = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
        for code in frequent:
            ours.append((one.values.codes == code).astype(float))  # type: ignore[union-attr]
            theirs.append((_read(other) == one.values.levels[code]).astype(float))  # type: ignore[union-attr]
    return np.column_stack(ours), np.column_stack(theirs)


def _model(name: str, numeric: bool, seed: int) -> Any:
    if name == "forest":
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        return (RandomForestRegressor if numeric else RandomForestClassifier)(TREES, random_state=seed)
    from sklearn.linear_model import LogisticRegression, Ridge

    return Ridge(1e-6) if numeric else LogisticRegression(max_iter=1000)


def _score(guess: Array, truth: Array, numeric: bool) -> float:
    if not numeric:
        return float(np.mean(guess == truth))
    whole = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((truth - guess) ** 2).sum()) / whole if whole > 0 else 0.0


def _interval(guess: Array, truth: Array, score: float, numeric: bool) -> tuple[float, float]:
    """Return the 95 % interval of a score: Wilson's of a share, or that of a ratio of means by linearisation."""
    n, z = len(truth), 1.959963984540054
    if not numeric:
        middle = (score + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z * np.sqrt(score * (1 - score) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
        return max(0.0, float(middle - half)), min(1.0, float(middle + half))
    whole = (truth - truth.mean()) ** 2
    if n < 2 or whole.sum() == 0:
        return float("-inf"), 1.0
    parts = ((truth - guess) ** 2 - (1.0 - score) * whole) / whole.mean()
    half = z * float(parts.std(ddof=1)) / np.sqrt(n)
    return score - half, min(1.0, score + half)


def _guess(y: Array, weights: Array, truth: Array, numeric: bool) -> float:
    if numeric:
        return _score(np.full(len(truth), (y * weights).sum() / weights.sum()), truth, numeric)
    kinds, place = np.unique(y.astype(str), return_inverse=True)
    return float(np.mean(truth.astype(str) == kinds[np.bincount(place, weights).argmax()]))
