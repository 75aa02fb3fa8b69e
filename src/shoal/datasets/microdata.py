"""A synthetic census extract as statistical offices hold them: everything is a code, and drawn from a seed.

Where :func:`shoal.datasets.survey` is easy to read, this table has what makes real microdata hard: codes that are
numbers without being amounts, categories of which some are very frequent and most are rare, people who live together
and share answers, questions that were not asked or not answered as a block, and many equal records.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.datasets.generators import RandomState, _generator, _integer

__all__ = ["CODES", "microdata"]

# Columns that hold codes: numbers without an order, although they look like amounts.
CODES = ("region", "urban", "relation", "sex", "marital", "birth_country", "activity", "occupation", "industry")

_REGIONS = (10, 11, 12, 20, 21, 30, 31, 40, 50, 70)
_COUNTRIES = 60
# ISCO-like: major and minor groups.
_OCCUPATIONS = tuple(10 * major + minor for major in range(1, 10) for minor in range(1, 6))
_INDUSTRIES = (1, 5, 10, 35, 41, 45, 49, 55, 58, 64, 68, 69, 77, 84, 85, 86, 90, 94)
_EARLIEST = 1924


def microdata(n: int = 1000, *, random_state: RandomState = 0) -> dict[str, Any]:
    """Draw a census extract of `n` people, ordered by household.

    Parameters
    ----------
    n : int, default 1000
        The number of people.
    random_state : None, int or numpy.random.Generator, default 0
        The source of randomness. The same integer gives the same table.

    Returns
    -------
    dict
        Columns of length `n`, in this order; ``pandas.DataFrame`` and ``polars.DataFrame`` take it as it is.

        - `household` : int, number of the household; `relation` : int, code: 1 reference person, 2 partner, 3 child,
          4 other
        - `region`, `urban` : int, codes, the same for a household; regions are very unequal in size
        - `sex`, `marital` : int, codes
        - `born` : int, date of birth as digits, such as 19860328
        - `birth_country` : int, code of three digits; most people have one code, most codes have few people
        - `education` : int or None, levels 0 to 8; not asked below the age of 15
        - `activity`, `occupation`, `industry` : int or None, codes; the last two only of people who work
        - `hours` : int or None, hours of work in a week, mostly round numbers
        - `income`, `benefits`, `savings` : int or None; refused together, or not at all
        - `health`, `limited`, `visits` : int or None, asked of people aged 15 or more in half of the households
        - `weight` : float, the number of people that the record stands for

    Examples
    --------
    >>> people = microdata(5)
    >>> len(people), people["region"].dtype
    (20, dtype('int64'))
    """
    n = _integer("microdata", "n", n)
    rng = _generator("microdata", random_state)
    sizes = rng.choice(6, size=n, p=[0.36, 0.33, 0.14, 0.11, 0.04, 0.02]) + 1
    household = np.repeat(np.arange(n), sizes)[:n]
    homes = int(household[-1]) + 1
    place = np.arange(n) - np.searchsorted(household, household)  # 0 for the reference person
    age = _ages(rng, household, place)
    relation = np.select([place == 0, (place == 1) & (age >= 18), age < 27], [1, 2, 3], 4)
    region = _skewed(rng, homes, len(_REGIONS), 1.1)[household]
    urban = rng.choice(3, size=homes, p=[0.45, 0.35, 0.20])[household]
    country = np.where(rng.random(n) < 0.82, 0, _skewed(rng, n, _COUNTRIES, 1.4) + 1)
    adult, works = age >= 15, (age >= 16) & (age < 67) & (rng.random(n) < 0.74)
    education = np.clip(np.rint(rng.normal(3.6 - 0.02 * np.clip(age - 40, 0, None), 1.6, n)), 0, 8).astype(np.int64)
    education = np.minimum(education, np.select([age < 18, age < 22, age < 26], [2, 4, 6], 8))
    activity = np.select([works, age < 15, age < 25, age >= 65], [1, 4, 4, 5], 2 + (rng.random(n) < 0.45))
    occupation = np.array(_OCCUPATIONS)[_near(rng, 8 - education, 9, 5)]
    industry = np.array(_INDUSTRIES)[_skewed(rng, n, len(_INDUSTRIES), 0.9)]
    hours = np.where(rng.random(n) < 0.6, 40, 5 * rng.integers(1, 12, n)) + (rng.random(n) < 0.1) * rng.integers(
        -4, 5, n
    )
    money = _money(rng, education, works, household)
    refused = (rng.random(homes) < 0.18)[household] | (rng.random(n) < 0.04)
    asked = adult & (rng.random(homes) < 0.5)[household]
    sick = rng.poisson(np.clip((age - 20) / 25, 0.1, None))
    return {
        "household": household + 500_001,
        "relation": relation,
        "region": np.array(_REGIONS)[region],
        "urban": urban + 1,
        "sex": 1 + (rng.random(n) < 0.51).astype(np.int64),
        "marital": np.where(age < 18, 1, 1 + _near(rng, np.clip(age // 15 - 1, 0, 3), 4, 1)),
        "born": _dates(rng, age),
        "birth_country": np.concatenate([[276], 100 + 13 * np.arange(_COUNTRIES)])[country],
        "education": _asked(education, adult),
        "activity": activity,
        "occupation": _asked(occupation, works),
        "industry": _asked(industry, works),
        "hours": _asked(np.clip(hours, 1, 80), works),
        **{name: _asked(values, adult & ~refused) for name, values in money.items()},
        "health": _asked(np.clip(1 + sick // 2, 1, 5), asked),
        "limited": _asked(1 + (sick > 2).astype(np.int64), asked),
        "visits": _asked(rng.poisson(1 + sick), asked),
        "weight": np.round(np.array([80.0, 120.0, 200.0])[urban] * rng.choice([0.9, 1.0, 1.1], size=n), 2),
    }


def _ages(rng: np.random.Generator, household: Array, place: Array) -> Array:
    """Return ages: adults first, partners of a similar age, children a generation younger."""
    n = len(household)
    first = np.clip(18 + 75 * rng.beta(1.3, 1.6, size=n), 18, 98)[household]
    later = np.select(
        [place == 0, (place == 1) & (rng.random(n) < 0.85)],
        [first, first + rng.normal(scale=4, size=n)],
        first - 24 - 10 * rng.random(n),
    )
    # Children of people who are too young for children are other adults.
    later = np.where(later < 0, 18 + 60 * rng.random(n), later)
    return np.clip(later, 0, 99).astype(np.int64)


def _skewed(rng: np.random.Generator, n: int, values: int, power: float) -> Array:
    """Return n positions below `values`; the i-th has a share of i ** -power."""
    shares = np.arange(1, values + 1) ** -power
    return np.searchsorted(np.cumsum(shares / shares.sum())[:-1], rng.random(n))


def _near(rng: np.random.Generator, at: Array, groups: int, minor: int) -> Array:
    """Return positions in `groups` groups of `minor` places, mostly in the group `at` of each record."""
    group = np.clip(at + rng.integers(-1, 2, len(at)), 0, groups - 1)
    return np.asarray(group * minor + (minor * rng.random(len(at)) ** 2).astype(np.int64))


def _money(rng: np.random.Generator, education: Array, works: Array, household: Array) -> dict[str, Array]:
    """Return amounts: log-normal, often zero, and rounded as people round them."""
    n = len(education)
    luck = rng.standard_normal(n)[household]
    pay = np.exp(7.1 + 0.13 * education + 0.3 * luck + rng.normal(scale=0.35, size=n))
    income = np.where(works, pay, 0.45 * pay)
    income = np.where(rng.random(n) < 0.6, 100 * np.rint(income / 100), np.rint(income))
    benefits = np.where(rng.random(n) < np.where(works, 0.12, 0.55), 10 * np.rint(rng.gamma(2.0, 18.0, n)), 0)
    savings = np.where(rng.random(n) < 0.35, 0, 500 * np.rint(np.exp(8 + luck + rng.normal(size=n)) / 500))
    return {name: x.astype(np.int64) for name, x in (("income", income), ("benefits", benefits), ("savings", savings))}


def _dates(rng: np.random.Generator, age: Array) -> Array:
    """Return dates of birth as digits: year, month and day."""
    born = np.datetime64(f"{_EARLIEST + 100}-01-01") - (365.25 * (age + rng.random(len(age)))).astype("timedelta64[D]")
    months = born.astype("datetime64[M]")
    year = born.astype("datetime64[Y]").astype(np.int64) + 1970
    month, day = months.astype(np.int64) % 12 + 1, (born - months).astype(np.int64) + 1
    return np.asarray((year * 100 + month) * 100 + day)


def _asked(values: Array, of_whom: Array) -> list[Any]:
    """Return values with None where the question was not asked or not answered."""
    column = values.astype(object)
    column[~of_whom] = None
    return list(column)
