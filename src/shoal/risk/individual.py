"""The chance that a record is re-identified: from sampling weights, and for three kinds of intruders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError
from shoal.risk.keys import Keys, combined, counted
from shoal.tables.inputs import choice_of, chosen, codes_of, column_of, columns, fraction_of, together, weights_of

# Up to so many records of a key, SciPy's hypergeometric function; beyond, so many terms of its series are exact.
MOST_CLOSED, TERMS = 40, 40


@dataclass(frozen=True, repr=False)
class IndividualRisk:
    """The risk of re-identification, record by record.

    Attributes
    ----------
    record : float64[n]
        The chance that a link of the record to somebody in the population with the same key is right.
    household : float64[n] or None
        The chance that somebody in the record's household is re-identified. None without households.
    """

    record: Array
    household: Array | None

    def __repr__(self) -> str:
        return f"IndividualRisk({len(self.record)} records, {self.reidentifications:.3g} expected re-identifications)"

    @property
    def reidentifications(self) -> float:
        """Return the expected number of re-identified records: the sum of the risks."""
        return float(self.record.sum())

    @property
    def household_reidentifications(self) -> float | None:
        """Return the same with the risks of households."""
        return None if self.household is None else float(self.household.sum())


def individual_risk(
    table: Any, keys: Any, weight: Any, household: Any = None, *, formula: str = "exact", missing: str = "value"
) -> IndividualRisk:
    """Return the individual risk of Franconi and Polettini, and that of households.

    A key with f records in the sample, whose weights sum to F, has f + X bearers in the population, where X is negative
    binomial with the chance p = f / F. The risk is the mean of 1 / (f + X):

        p^f / f * 2F1(f, f; f + 1; 1 - p) = p / f * 2F1(1, 1; f + 1; 1 - p)

    It is computed in the second form, which does not cancel; for p = 1 it is 1 / f, which also holds where weights
    below 1 make F less than f. A household is at risk if any of its members is: 1 - product of (1 - risk).

    sdcMicro replaces the mean by p / (f - (1 - p)) if f > 2, which is up to 4 % higher; `formula="approximate"` does
    the same.

    Franconi, L., Polettini, S. (2004): Individual risk estimation in mu-Argus: a review. PSD, LNCS 3050.

    Parameters
    ----------
    table : data frame
    keys : names
    weight : str or array-like of shape (n,)
        The column of sampling weights, or the weights, which must be above 0.
    household : str or array-like of shape (n,), optional
        The column that names the household of each record, or these names.
    formula : {"exact", "approximate"}
    missing : {"value", "any"}
        As in :func:`key_counts`.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 30, 40], "weight": [10, 20, 5]})
    >>> shoal.risk.individual_risk(people, ["age"], "weight").record.round(3).tolist()
    [0.058, 0.058, 0.402]
    """
    caller = "shoal.risk.individual_risk"
    choice_of(formula, "formula", caller, ("exact", "approximate"))
    choice_of(missing, "missing", caller, ("value", "any"))
    prepared = Keys.of(table, keys, caller)
    counts = counted(prepared, weights_of(table, weight, prepared.records, caller), missing)
    at = prepared.firsts()
    risk = _risks(counts.sample[at], counts.population[at], exact=formula == "exact")  # type: ignore[index]
    risk = risk[prepared.classes]
    return IndividualRisk(risk, None if household is None else _of_households(risk, table, household, caller))


def _risks(sample: Array, population: Array, *, exact: bool) -> Array:
    """Return the risk for each sample count and weighted count."""
    p = np.minimum(1.0, sample / population)
    risk = p / sample * _mean_inverse(sample, 1.0 - p)
    if not exact:
        risk = np.where(sample > 2, p / (sample - (1.0 - p)), risk)
    return np.where(p == 1.0, 1.0 / sample, risk)


def _mean_inverse(f: Array, q: Array) -> Array:
    """Return 2F1(1, 1; f + 1; q) for whole f of at least 1 and q from 0 to below 1."""
    from scipy.special import hyp2f1

    few = f <= MOST_CLOSED
    result = np.ones(len(f))
    result[few] = hyp2f1(1.0, 1.0, f[few] + 1.0, q[few])
    # The series, whose terms are k! q^k / ((f + 1) .. (f + k)); SciPy overflows for large f.
    f, q = f[~few], q[~few]
    term, total = np.ones(len(f)), np.ones(len(f))
    for k in range(1, TERMS):
        term = term * (k * q / (f + k))
        total = total + term
    result[~few] = total
    return result


def _of_households(risk: Array, table: Any, household: Any, caller: str) -> Array:
    codes, count = codes_of(column_of(table, household, "household", len(risk), caller), "household")
    missing = int((codes < 0).sum())
    if missing:
        raise DataError(
            f"The households of {caller} must be known for all records. Got {missing} without one.",
            hint="give records that live alone households of their own.",
        )
    with np.errstate(divide="ignore"):
        logs = np.bincount(codes, np.log1p(-risk), count)
    return np.asarray(-np.expm1(logs)[codes])


class Attack(NamedTuple):
    """What an intruder achieves.

    Attributes
    ----------
    highest : float
        The greatest chance of any record to be re-identified.
    average : float
        The mean chance: the expected share of records that are re-identified if the intruder tries all of them.
    at_risk : float
        The share of records whose chance is above the threshold.
    """

    highest: float
    average: float
    at_risk: float


@dataclass(frozen=True)
class Reidentification:
    """The risk of re-identification for three kinds of intruders (El Emam and Dankar 2008).

    Attributes
    ----------
    prosecutor : Attack
        Knows that a person is in the table: 1 / f for a key with f records.
    journalist : Attack or None
        Knows the population, but not who is in the table: 1 / F for a key with F people. None if neither weights nor a
        population are given.
    marketer : float
        Wants as many as possible: the share of records that are linked correctly, which is the average of the
        prosecutor, or of the journalist where the population is known.
    expected : float
        The expected number of records that are linked correctly.
    uniques : int
        The number of records that share their key with nobody in the table.
    smallest : int
        The smallest number of records with one key: the k of k-anonymity.
    """

    prosecutor: Attack
    journalist: Attack | None
    marketer: float
    expected: float
    uniques: int
    smallest: int


def reidentification(
    table: Any, keys: Any, weight: Any = None, *, population: Any = None, threshold: float = 0.2
) -> Reidentification:
    """Return prosecutor, journalist and marketer risk.

    The journalist's risk needs the number of people of the population with each key. It is counted in `population`, or
    estimated by the sum of weights; the counts of the table itself would overstate it.

    El Emam, K., Dankar, F. K. (2008): Protecting privacy using k-anonymity. JAMIA 15(5).

    Parameters
    ----------
    table : data frame
    keys : names
    weight : str or array-like of shape (n,), optional
        The column of sampling weights, or the weights.
    population : data frame, optional
        The keys of everybody the records are drawn from.
    threshold : float
        The chance above which a record counts as being at risk.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 30, 40, 40, 40]})
    >>> risk = shoal.risk.reidentification(people, ["age"])
    >>> risk.prosecutor.highest, risk.marketer
    (0.5, 0.4)
    """
    caller = "shoal.risk.reidentification"
    threshold = fraction_of(threshold, "threshold", caller)
    if weight is not None and population is not None:
        raise OptionError(f"The population of {caller} must be given by weights or by a table. Got both.")
    if population is not None and isinstance(table, Keys):
        raise OptionError(f"The table of {caller} must be a data frame if there is a population. Got keys.")
    prepared = Keys.of(table, keys, caller)
    sizes = prepared.sizes
    if population is not None:
        people = _found(table, prepared, population, caller)
    elif weight is not None:
        weights = weights_of(table, weight, prepared.records, caller)
        # A key has no fewer bearers than records, however small the weights.
        people = np.maximum(sizes, np.bincount(prepared.classes, weights, len(sizes)))
    else:
        people = None
    prosecutor = _attack(sizes, sizes, threshold)
    journalist = None if people is None else _attack(sizes, people, threshold)
    share = (journalist or prosecutor).average
    return Reidentification(
        prosecutor, journalist, share, share * prepared.records, int((sizes == 1).sum()), int(sizes.min())
    )


def _attack(sizes: Array, bearers: Array, threshold: float) -> Attack:
    """Return what an intruder achieves on classes of these sizes whose keys have so many bearers."""
    chances = 1.0 / bearers
    n = sizes.sum()
    return Attack(float(chances.max()), float((sizes / bearers).sum() / n), float(sizes[chances > threshold].sum() / n))


def _found(table: Any, keys: Keys, population: Any, caller: str) -> Array:
    """Return int64[m]: how many rows of the population have the key of each class."""
    names = chosen(population, list(keys.names), "keys", f"{caller} (population)")
    ours, theirs = columns(table, names, caller), columns(population, names, caller)
    read = [codes_of(together(ours[name], theirs[name], name), name) for name in names]
    kinds, count = combined([codes for codes, _ in read], [count for _, count in read])
    found = np.bincount(kinds[keys.records :], minlength=count)[kinds[keys.firsts()]]
    short = int((found < keys.sizes).sum())
    if short:
        raise DataError(
            f"The population of {caller} must contain all records of the table. Got fewer of its rows than records in "
            f"{short} of {len(keys.sizes)} classes.",
            hint="for a release with means or recoded values there is no such table: estimate by weights.",
        )
    return found
